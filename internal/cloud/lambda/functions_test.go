package lambda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestInvoke checks every form of a handler, and every way in which a call can end.
func TestInvoke(t *testing.T) {
	require.Tool(t, "node")
	require.Tool(t, "python3")
	w := newWorld(t, nil)
	both := pack(t, map[string]string{
		"app.js": "exports.run = async () => 'Node'", "app.py": "def run(event, context): return 'Python'",
	})
	for n, test := range []struct {
		name string
		of   registry.Function
		code registry.Code
		want string
	}{
		{"promise", node("index.handler"), inline("exports.handler = async (event) => ({got: event.a})"), `{"got":1}`},
		{"callback", node("index.handler"), inline("exports.handler = (event, context, callback) => callback(null, event.a)"), "1"},
		{"context.done", node("index.handler"), inline("exports.handler = (event, context) => { setTimeout(() => context.done(null, 'done'), 1) }"), `"done"`},
		{"context.succeed", node("index.handler"), inline("exports.handler = (event, context) => context.succeed(2)"), "2"},
		{"context.fail", node("index.handler"), inline("exports.handler = (event, context) => context.fail('no')"),
			`Unhandled {"errorType":"string","errorMessage":"no","trace":[]}`},
		{"does not wait", node("index.handler"),
			inline("exports.handler = (e, context, callback) => { context.callbackWaitsForEmptyEventLoop = false; setTimeout(() => {}, 1e6); callback(null, 3) }"), "3"},
		{"time left", node("index.handler"), inline("exports.handler = async (e, context) => context.getRemainingTimeInMillis() > 20000"), "true"},
		{"module", node("index.handler"), inline("import {basename} from 'node:path'\nexport const handler = async () => basename('/a/module')"), `"module"`},
		{"module file", node("index.handler"), registry.Code{Zip: pack(t, map[string]string{"index.mjs": "export const handler = async () => import.meta.url.slice(-9)"})}, `"index.mjs"`},
		{"below a folder", node("lib/app.handler"), registry.Code{Zip: pack(t, map[string]string{"lib/app.js": "exports.handler = async () => process.env._HANDLER"})}, `"lib/app.handler"`},
		{"two languages, Node", node("app.run"), registry.Code{Zip: both}, `"Node"`},
		{"two languages, Python", python("app.run"), registry.Code{Zip: both}, `"Python"`},
		{"python", python("index.handler"), inline("def handler(event, context):\n  return [event['a'], context.function_name, context.memory_limit_in_mb, context.function_version]"),
			`[1, "f13", "128", "$LATEST"]`},
		{"package", python("pkg.mod.run"), registry.Code{Zip: pack(t, map[string]string{"pkg/mod.py": "from .rel import x\ndef run(e, c): return x", "pkg/rel.py": "x = 5"})}, "5"},
		{"program", registry.Function{Runtime: "provided.al2023", Handler: "any"}, registry.Code{Zip: pack(t, map[string]string{"bootstrap*": program})}, `{"handler":"any"}`},
		{"no program", registry.Function{Runtime: "provided.al2", Handler: "any"}, inlineZip(t, "other", ""),
			`Unhandled {"errorType":"Runtime.InvalidEntrypoint","errorMessage":"the code holds no file bootstrap, which the runtime provided.al2 runs"}`},
		{"no file", node("other.handler"), inline("exports.handler = 1"), `Unhandled {"errorType":"Runtime.ImportModuleError","errorMessage":"other.js: Cannot find module 'CACHE/other.js'"…`},
		{"no Python file", python("other.handler"), inline("pass"), `Unhandled {"errorType": "Runtime.ImportModuleError", "errorMessage": "Unable to import module 'other': No module named 'other'", "stackTrace": []}`},
		{"no function", python("index.other"), inline("pass"), `Unhandled {"errorType": "Runtime.HandlerNotFound", "errorMessage": "Handler 'other' missing on module 'index'", "stackTrace": []}`},
		{"bad handler", node("index"), inline("pass"), `Unhandled {"errorType":"Runtime.InvalidEntrypoint","errorMessage":"bad handler \"index\": want FILE.FUNCTION, such as index.handler"}`},
		{"thrown", node("index.handler"), inline("exports.handler = async () => { throw new RangeError('no') }"),
			`Unhandled {"errorType":"RangeError","errorMessage":"no","trace":["RangeError: no","    at exports.handler (CACHE/index.js:1:39)"]}`},
		{"exit", node("index.handler"), inline("exports.handler = () => process.exit(7)"),
			`Unhandled {"errorType":"Runtime.ExitError","errorMessage":"RequestId: ID Error: Runtime exited with error: exit status 7"}`},
		{"exit well", python("index.handler"), inline("import os\ndef handler(e, c): os._exit(0)"),
			`Unhandled {"errorType":"Runtime.ExitError","errorMessage":"RequestId: ID Error: Runtime exited without providing a reason"}`},
		{"killed", python("index.handler"), inline("import os\ndef handler(e, c): os.kill(os.getpid(), 9)"),
			`Unhandled {"errorType":"Runtime.ExitError","errorMessage":"RequestId: ID Error: Runtime exited with error: signal: killed"}`},
		{"timeout", registry.Function{Runtime: "nodejs24.x", Handler: "index.handler", Timeout: 1}, inline("exports.handler = () => new Promise(() => setInterval(() => {}, 1000))"),
			`Unhandled {"errorType":"Sandbox.Timedout","errorMessage":"RequestId: ID Error: Task timed out after 1.00 seconds"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := fmt.Sprintf("f%d", n+1)
			i := w.create(name, test.of, test.code)
			got := strings.ReplaceAll(w.invoke(name, `{"a":1}`), filepath.Join(w.cache, "unpacked", i.Of.Code), "CACHE")
			if want, begins := strings.CutSuffix(test.want, "…"); got != test.want && !(begins && strings.HasPrefix(got, want)) {
				t.Errorf("got  %s\nwant %s\n%s", got, test.want, strings.Join(w.logged(), "\n"))
			}
		})
	}
}

// program is a minimal custom runtime.
const program = `#!/bin/sh
exec python3 -c '
import http.client, json, os
while True:
    c = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    c.request("GET", "/2018-06-01/runtime/invocation/next")
    r = c.getresponse(); r.read()
    i = r.headers["Lambda-Runtime-Aws-Request-Id"]
    c = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    c.request("POST", "/2018-06-01/runtime/invocation/" + i + "/response", json.dumps({"handler": os.environ["_HANDLER"]}, separators=(",", ":")))
    c.getresponse().read()
'
`

func inlineZip(t *testing.T, name, text string) registry.Code {
	return registry.Code{Zip: pack(t, map[string]string{name: text})}
}

// TestLongErrorIsNotCut checks that a long error is returned in full, because the CDK's waiter sends its state in
// one.
func TestLongErrorIsNotCut(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, nil)
	w.create("f", node("index.handler"), inline("exports.handler = async () => { throw new Error('é'.repeat(1e6)) }"))
	got := w.invoke("f", "{}")
	if want := `Unhandled {"errorType":"Error","errorMessage":"` + strings.Repeat("é", 1e6) + `"`; !strings.HasPrefix(got, want) {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
}

// TestEnvironment checks that a function gets its own variables, and only the necessary ones of this process's
// environment.
func TestEnvironment(t *testing.T) {
	require.Tool(t, "python3")
	t.Setenv("OF_THE_SHELL", "1")
	t.Setenv("AWS_PROFILE", "production")
	w := newWorld(t, nil)
	of := python("index.handler")
	of.Environment, of.Memory, of.LogGroup = map[string]string{"MINE": "x", "PLACE": "here"}, 256, "mine"
	w.create("f", of, inline(`
import os
def handler(event, context):
    env = dict(os.environ)
    assert env.pop("AWS_LAMBDA_LOG_STREAM_NAME") == context.log_stream_name
    assert env["LAMBDA_TASK_ROOT"] == os.getcwd()
    names = ["MINE", "PLACE", "OF_THE_SHELL", "AWS_PROFILE", "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_LOG_GROUP_NAME", "AWS_REGION", "AWS_EXECUTION_ENV", "TZ",
        "PYTHONDONTWRITEBYTECODE", "AWS_ACCESS_KEY_ID"]
    return [context.invoked_function_arn] + [n + "=" + env[n] for n in names if n in env]
`))
	want := `["arn:aws:lambda:us-east-1:000000000000:function:f", "MINE=x", "PLACE=here", "AWS_LAMBDA_FUNCTION_NAME=f", ` +
		`"AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "AWS_LAMBDA_LOG_GROUP_NAME=mine", ` +
		`"AWS_REGION=us-east-1", "AWS_EXECUTION_ENV=AWS_Lambda_python3.13", "TZ=:UTC", "PYTHONDONTWRITEBYTECODE=1", "AWS_ACCESS_KEY_ID=AKIAFUNCTIONS"]`
	if diff := cmp.Diff(want, w.invoke("f", "{}")); diff != "" {
		t.Error(diff)
	}
}

// TestLayers checks that layers are found where each language looks, and that later layers take precedence. A deleted
// layer stays available to functions that use it.
func TestLayers(t *testing.T) {
	require.Tool(t, "node")
	require.Tool(t, "python3")
	w := newWorld(t, nil)
	layer := func(name string, files map[string]string) string {
		arn, err := w.CreateLayer(t.Context(), registry.Item[registry.Layer]{Scope: home, Name: name}, registry.Code{Zip: pack(t, files)})
		if err != nil {
			t.Fatal(err)
		}
		return arn
	}
	first := layer("l", map[string]string{
		"nodejs/node_modules/m/index.js": "exports.x = 'first'", "nodejs/node_modules/only/index.js": "exports.x = 'only'",
		"python/m.py": "x = 'first'", "bin/tool*": "#!/bin/sh\necho first",
	})
	second := layer("l", map[string]string{
		"nodejs/node_modules/m/index.js": "exports.x = 'second'", "python/m.py": "x = 'second'", "bin/tool*": "#!/bin/sh\necho second",
	})
	if want := "arn:aws:lambda:us-east-1:000000000000:layer:l:2"; second != want {
		t.Errorf("the second is %s", second)
	}
	of := node("index.handler")
	of.Layers = []string{first, second}
	w.create("common", of, inline(`exports.handler = async () => [require('m').x, require('only').x, require('child_process').execFileSync('tool').toString()]`))
	w.create("module", of, inline("import m from 'm'\nimport only from 'only'\nexport const handler = async () => [m.x, only.x]"))
	w.create("later", of, inline("exports.handler = async () => (await import('m')).default.x"))
	p := python("index.handler")
	p.Layers = of.Layers
	w.create("python", p, inline("import m\ndef handler(e, c): return m.x"))
	for name, want := range map[string]string{
		"common": `["second","only","second\n"]`, "module": `["second","only"]`, "later": `"second"`, "python": `"second"`,
	} {
		if got := w.invoke(name, "{}"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}

	if err := w.DeleteLayer(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteLayer(t.Context(), second); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
	i, err := w.Get(t.Context(), home, "common")
	if err != nil {
		t.Fatal(err)
	}
	i.Of.Description = "changed"
	if _, err := w.Update(t.Context(), i, nil); err != nil {
		t.Errorf("a function with a deleted layer: %v", err)
	}
	if _, err := w.Create(t.Context(), registry.Item[registry.Function]{Scope: home, Name: "new", Of: of}, inline("")); err == nil ||
		err.Error() != "Layer version "+second+" does not exist." {
		t.Errorf("a new function with a deleted layer: %v", err)
	}
	if third := layer("l", map[string]string{"a": ""}); third != strings.TrimSuffix(second, "2")+"3" {
		t.Errorf("after the deleted one comes %s", third)
	}
}

// TestAnotherNode checks that another node, and this one after a restart, serves existing functions, even if the
// unpacked code was deleted.
func TestAnotherNode(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, nil)
	w.create("f", node("index.handler"), inline("exports.handler = async () => 1"))
	other := newNode(t, w.catalog, w.dir, nil)
	if got := other.invoke("f", ""); got != "1" {
		t.Errorf("on another node: %s", got)
	}
	// The second node sees a change by the first one at its next call.
	i, err := w.Get(t.Context(), home, "f")
	if err != nil {
		t.Fatal(err)
	}
	code := inline("exports.handler = async () => 2")
	if _, err := w.Update(t.Context(), i, &code); err != nil {
		t.Fatal(err)
	}
	if got := other.invoke("f", ""); got != "2" {
		t.Errorf("on another node, after an update: %s", got)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "code")); err != nil {
		t.Fatal(err)
	}
	third := newNode(t, w.catalog, w.dir, nil)
	if got := third.invoke("f", ""); !strings.Contains(got, "which the nodes of one engine share") {
		t.Errorf("without the code: %s", got)
	}
	if err := w.Delete(t.Context(), home, "f"); err != nil {
		t.Fatal(err)
	}
	if got := other.invoke("f", ""); got != "error: Function not found: arn:aws:lambda:us-east-1:000000000000:function:f" {
		t.Errorf("on another node, after a delete: %s", got)
	}
}
