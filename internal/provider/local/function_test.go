package local_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

func TestFunctionTarget(t *testing.T) {
	require.Tool(t, "node")
	dir := tree(t, map[string]string{"app.js": "", "app.py": "", "pkg/mod.py": "", "bootstrap": "", "go/main": "", "plain/x": ""})
	for _, name := range []string{"bootstrap", "go/main"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		folder, runtime, handler string
		want                     string // the kind and path, or the error
	}{
		{"", "nodejs24.x", "app.handler", "Python or Node handler "},
		{"", "python3.13", "app.handler", "Python or Node handler "},
		{"", "python3.13", "pkg/mod.handler", "Python or Node handler "},
		{"", "nodejs22.x", "none.handler", "Python or Node handler "}, // its process reports this
		{"", "nodejs22.x", "handler", `bad handler "handler": want FILE.FUNCTION, such as index.handler`},
		{"", "nodejs22.x", "../app.handler", `bad handler "../app.handler": it leads out of the function's code`},
		{"", "python3.13", "..app.handler", "bad handler \"..app.handler\": it leads out of the function's code"},
		{"", "provided.al2023", "any", "folder with bootstrap "},
		{"", "provided", "any", "folder with bootstrap "},
		{"plain", "provided.al2", "any", "the code holds no file bootstrap, which the runtime provided.al2 runs"},
		{"plain", "provided.al2", "x", "the code holds no file bootstrap, which the runtime provided.al2 runs"},
		{"go", "go1.x", "main", "executable main"},
		{"go", "go1.x", "../app.js", "the code holds no file bootstrap, which the runtime go1.x runs"},
		{"plain", "go1.x", "x", "x is not executable: run chmod +x DIR/x"},
		{"", "java21", "a.B::c", "Java handler "},
		{"", "java8.al2", "a.B$C", "Java handler "},
		{"", "java11", "a/B::c", `bad handler "a/B::c": want PACKAGE.CLASS, or PACKAGE.CLASS::METHOD`},
		{"", "java17", "a.B::", `bad handler "a.B::": want PACKAGE.CLASS, or PACKAGE.CLASS::METHOD`},
		{"", "java17", "-version", `bad handler "-version": want PACKAGE.CLASS, or PACKAGE.CLASS::METHOD`},
		{"", "javascript", "a.b", "functions here do not run on javascript but on nodejs*, python*, java*, provided.* and go1.x: use one of these for it"},
		{"", "nodejsX", "app.handler", "functions here do not run on nodejsX but on nodejs*, python*, java*, provided.* and go1.x: use one of these for it"},
		{"", "ruby3.4", "app.handler", "functions here do not run on ruby3.4 but on nodejs*, python*, java*, provided.* and go1.x: " +
			"for Ruby, use provided.al2023 and an executable file bootstrap that runs aws_lambda_ric"},
		{"", "dotnet8", "A::B::C", "functions here do not run on dotnet8 but on nodejs*, python*, java*, provided.* and go1.x: " +
			"for .NET, use provided.al2023 and publish a self-contained executable named bootstrap with Amazon.Lambda.RuntimeSupport"},
	} {
		folder := filepath.Join(dir, test.folder)
		target, err := local.FunctionTarget(folder, test.runtime, test.handler)
		got := target.Kind().String() + " " + strings.TrimPrefix(strings.TrimPrefix(target.Path(), folder), "/")
		if err != nil {
			got = strings.ReplaceAll(err.Error(), folder, "DIR")
		}
		if got != test.want {
			t.Errorf("%s %s: %s, want %s", test.runtime, test.handler, got, test.want)
		}
	}
}

// TestFunctionEnvironment checks a function's name, settings, inherited variables, and layer directories in their
// order.
func TestFunctionEnvironment(t *testing.T) {
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) {
		c.Environ = []string{"PATH=/bin", "HOME=/me", "OWN=1", "AWS_PROFILE=p", "AWS_REGION=eu-west-3", "https_proxy=http://proxy", "LANG=C"}
		c.Env = map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
		p.Name = "arn:aws:lambda:eu-central-1:111111111111:function:f:7"
		p.Env = map[string]string{"MINE": "x", "TZ": "Europe/Berlin", "NODE_PATH": "/mine", behaviourVar: "handle"}
		p.Function = &local.Function{
			Name: "f", Version: "7", Account: "111111111111", Region: "eu-central-1", Runtime: "nodejs24.x", Memory: 512,
			LogGroup: "group", LogFormat: "JSON", Layers: []string{"/1", "/2"}, Modules: []string{"/more/node_modules"},
		}
	})
	if err := k.Invoke("arn:aws:lambda:eu-central-1:111111111111:function:f:7", local.Event{ID: "1", Payload: task{Do: "describe"}.payload(), WantResult: true}); err != nil {
		t.Fatal(err)
	}
	o := k.next().outcome
	var described struct{ Env []string }
	if err := json.Unmarshal(o.Result, &described); err != nil {
		t.Fatalf("%v: %+v", err, o)
	}
	of := map[string]string{}
	for _, kv := range described.Env {
		name, text, _ := strings.Cut(kv, "=")
		of[name] = text
	}
	dir := filepath.Dir(os.Args[0])
	stream := of["AWS_LAMBDA_LOG_STREAM_NAME"]
	if !strings.Contains(stream, "/f[7]") { // several functions use the group
		t.Errorf("the log stream is %s", stream)
	}
	for _, name := range []string{"AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API", behaviourVar} {
		delete(of, name)
	}
	want := map[string]string{
		"PATH": "/2/bin:/1/bin:/bin", "HOME": "/me", "MINE": "x", "TZ": "Europe/Berlin", "LANG": "en_US.UTF-8",
		"https_proxy": "http://proxy", "no_proxy": "localhost,127.0.0.1", "NO_PROXY": "localhost,127.0.0.1",
		"LD_LIBRARY_PATH": dir + ":" + dir + "/lib:/2/lib:/1/lib",
		"NODE_PATH":       "/mine:/2/nodejs/node24/node_modules:/2/nodejs/node_modules:/1/nodejs/node24/node_modules:/1/nodejs/node_modules:/more/node_modules",
		"AWS_REGION":      "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
		"AWS_ACCESS_KEY_ID": "pintle", "AWS_SECRET_ACCESS_KEY": "pintle", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
		"_HANDLER": "bootstrap", "LAMBDA_TASK_ROOT": dir, "LAMBDA_RUNTIME_DIR": dir, "PWD": dir,
		"AWS_LAMBDA_FUNCTION_NAME": "f", "AWS_LAMBDA_FUNCTION_VERSION": "7", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
		"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_LAMBDA_LOG_GROUP_NAME": "group", "AWS_EXECUTION_ENV": "AWS_Lambda_nodejs24.x",
		"AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "INFO",
	}
	if diff := cmp.Diff(want, of); diff != "" {
		t.Error(diff)
	}
}

// TestProviderQueue checks a provider's own queue length, and no queue.
func TestProviderQueue(t *testing.T) {
	post := newPost(t)
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Concurrency, p.Queue = 1, -1 })
	k.invoke("1", task{Do: "release", Answer: post.addr()})
	v := post.accept()
	if err := k.Invoke("P", local.Event{ID: "2", Payload: task{Do: "answer"}.payload()}); err == nil {
		t.Error("an event waits that may not")
	}
	v.release(t)
	if r := k.next(); r.id != "1" || r.outcome.Kind != local.Returned {
		t.Errorf("%+v", r)
	}
	k.Drop("P")
	if err := k.Invoke("P", local.Event{ID: "3", Payload: task{Do: "answer"}.payload()}); err == nil || k.Has("P") {
		t.Error("a provider that was dropped takes events")
	}
}
