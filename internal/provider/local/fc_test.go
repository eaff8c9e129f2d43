package local_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

const fcToken = "acs:fc:cn-beijing:1234567890123456:services/shop.v2/functions/thing"

// sendFC invokes P with an event for a Function Compute token.
func (k *kit) sendFC(id, payload string, secrets ...string) local.Outcome {
	k.t.Helper()
	event := local.Event{
		ID: id, Invocation: "i-" + id, Payload: []byte(payload), Secrets: secrets, WantResult: true, FunctionARN: fcToken, Contract: local.ContractOf(fcToken),
	}
	if err := k.Invoke("P", event); err != nil {
		k.t.Fatal(err)
	}
	return k.next().outcome
}

// reported returns the program's description of an event.
func (k *kit) reported(o local.Outcome) (header, env map[string]string, reported fcTold) {
	k.t.Helper()
	if err := json.Unmarshal(o.Result, &reported); err != nil {
		k.t.Fatalf("%v: %+v", err, o)
	}
	header, env = map[string]string{}, map[string]string{}
	for name := range reported.Header {
		if strings.HasPrefix(name, "X-Fc-") {
			header[strings.ToLower(name)] = reported.Header.Get(name)
		}
	}
	for _, kv := range reported.Env {
		name, text, _ := strings.Cut(kv, "=")
		env[name] = text
	}
	return header, env, reported
}

// TestFCPrograms checks that programs that ask for events and programs that listen get the same data and have the same
// outcomes.
func TestFCPrograms(t *testing.T) {
	for _, behaviour := range []string{"fc", "fc-http"} {
		t.Run(behaviour, func(t *testing.T) {
			k := newKit(t, behaviour, func(c *local.Config, p *local.Provider) {
				c.Environ = []string{
					"PATH=/bin", "FC_FUNCTION_NAME=outer", "AWS_LAMBDA_FUNCTION_NAME=outer", "_HANDLER=outer", "http_proxy=http://proxy.example:1",
					"ALIBABA_CLOUD_ACCESS_KEY_ID=key", "ALIBABA_CLOUD_ACCESS_KEY_SECRET=hush-hush-secret", "ALIBABA_CLOUD_SECURITY_TOKEN=hush-hush-token",
				}
				p.Timeout, p.Initializer = 90*time.Second, "index.start"
			})
			o := k.sendFC("1", `{"Do": "describe", "Print": ["it is hush-hush-secret and hush-hush-token"]}`)
			header, env, reported := k.reported(o)
			deadline, err := strconv.ParseInt(header["x-fc-function-deadline"], 10, 64)
			if left := time.Until(time.UnixMilli(deadline)); err != nil || left <= 0 || left > 90*time.Second {
				t.Errorf("the deadline is %s away, %v", left, err)
			}
			delete(header, "x-fc-function-deadline")
			delete(header, "x-fc-control-path")
			wantHeader := map[string]string{
				"x-fc-request-id": "i-1", "x-fc-function-type": "0", "x-fc-function-name": "thing", "x-fc-function-handler": "bootstrap",
				"x-fc-function-memory": "128", "x-fc-function-timeout": "90", "x-fc-service-name": "shop", "x-fc-qualifier": "v2",
				"x-fc-region": "cn-beijing", "x-fc-account-id": "1234567890123456", "x-fc-retry-count": "0",
				"x-fc-function-initializer": "index.start", "x-fc-initialization-timeout": "60",
				"x-fc-access-key-id": "key", "x-fc-access-key-secret": "hush-hush-secret", "x-fc-security-token": "hush-hush-token",
			}
			if diff := cmp.Diff(wantHeader, header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if env["FC_SERVER_PORT"] == "" || env["FC_CUSTOM_LISTEN_PORT"] != env["FC_SERVER_PORT"] || !strings.HasPrefix(env["FC_INSTANCE_ID"], "c-") {
				t.Errorf("port %q and %q, instance %q", env["FC_SERVER_PORT"], env["FC_CUSTOM_LISTEN_PORT"], env["FC_INSTANCE_ID"])
			}
			for _, name := range []string{"FC_RUNTIME_API", "FC_SERVER_PORT", "FC_CUSTOM_LISTEN_PORT", "FC_INSTANCE_ID", behaviourVar} {
				delete(env, name)
			}
			dir := filepath.Dir(os.Args[0])
			wantEnv := map[string]string{
				"PATH": "/bin", "PWD": dir, "FC_FUNC_CODE_PATH": dir, "FC_FUNCTION_NAME": "thing", "FC_FUNCTION_HANDLER": "bootstrap",
				"FC_FUNCTION_MEMORY_SIZE": "128", "FC_INITIALIZER_HANDLER": "index.start", "FC_REGION": "cn-beijing",
				"FC_ACCOUNT_ID": "1234567890123456", "FC_SERVICE_NAME": "shop", "FC_QUALIFIER": "v2",
				"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
				"http_proxy": "http://proxy.example:1", "no_proxy": "localhost,127.0.0.1", "NO_PROXY": "localhost,127.0.0.1",
				"ALIBABA_CLOUD_ACCESS_KEY_ID": "key", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "hush-hush-secret",
				"ALIBABA_CLOUD_SECURITY_TOKEN": "hush-hush-token",
			}
			if diff := cmp.Diff(wantEnv, env); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			if reported.Inits != 1 || !strings.Contains(reported.Body, `"Do": "describe"`) {
				t.Errorf("%d calls of the initializer; the event %s", reported.Inits, reported.Body)
			}
			if diff := cmp.Diff([]string{"1: it is ***** and *****"}, k.logged()); diff != "" {
				t.Error(diff)
			}
			for _, test := range []struct {
				name, payload string
				want          local.Outcome
			}{
				{"answer", `{"Do":"answer","Answer":"not even JSON"}`, local.Outcome{Kind: local.Returned, Result: []byte("not even JSON")}},
				{"again", `{"Do":"answer"}`, local.Outcome{Kind: local.Returned, Result: []byte{}}},
				{"error", `{"Do":"error","Answer":"{\"errorMessage\":\"no such user\",\"errorType\":\"errorString\"}"}`, local.Outcome{
					Kind: local.Errored, Type: "errorString", Message: "no such user",
					Result: []byte(`{"errorMessage":"no such user","errorType":"errorString"}`),
				}},
				{"exit", `{"Do":"exit","Code":3}`, local.Outcome{
					Kind: local.Exited, ExitCode: 3, Message: "the provider's process exited with code 3 while it handled the event",
				}},
				{"after", `{"Do":"answer","Answer":"1"}`, local.Outcome{Kind: local.Returned, Result: []byte("1")}},
			} {
				test.want.Delivered = true
				got := k.sendFC(test.name, test.payload)
				if len(got.Result) == 0 && len(test.want.Result) == 0 {
					got.Result, test.want.Result = nil, nil
				}
				if diff := cmp.Diff(test.want, got, withoutLog); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.name, diff)
				}
			}
		})
	}
}

// TestFCProgramsFail checks that failed and slow starts are reported immediately.
func TestFCProgramsFail(t *testing.T) {
	for _, behaviour := range []string{"fc", "fc-http"} {
		t.Run(behaviour, func(t *testing.T) {
			k := newKit(t, behaviour, func(_ *local.Config, p *local.Provider) {
				p.Initializer, p.Env["TEST_INIT"], p.Contract = "x", "fails", bootstrap.FC
			})
			o := k.run("1", task{Do: "answer"})
			want := local.Outcome{Kind: local.InitFailed, Type: "InitError", Message: "no database", Result: []byte(`{"errorType":"InitError","errorMessage":"no database"}`)}
			if diff := cmp.Diff(want, o, withoutLog); diff != "" {
				t.Error(diff)
			}
			k = newKit(t, behaviour, func(_ *local.Config, p *local.Provider) { p.Contract, p.Timeout = bootstrap.FC, time.Millisecond })
			if o := k.run("1", task{Do: "hang"}); o.Kind != local.TimedOut || !o.Delivered {
				t.Errorf("got %+v", o)
			}
		})
	}
	k := newKit(t, "init-hang", func(c *local.Config, p *local.Provider) {
		p.Contract, c.InitTimeout = bootstrap.FC, 50*time.Millisecond
	})
	o := k.run("1", task{Do: "answer"})
	if want := "the provider's process did not ask FC_RUNTIME_API for an event, nor listen at the port FC_SERVER_PORT, within 50ms"; o.Message != want {
		t.Errorf("got %+v", o)
	}
	k = newKit(t, "init-exit", func(_ *local.Config, p *local.Provider) { p.Contract = bootstrap.FC })
	if o := k.run("1", task{Do: "answer"}); o.Kind != local.InitFailed || o.ExitCode != 3 {
		t.Errorf("got %+v", o)
	}
}

// TestFCAsksEarly checks that a request for the next event does not end the current one.
func TestFCAsksEarly(t *testing.T) {
	k := newKit(t, "fc", func(_ *local.Config, p *local.Provider) { p.Contract, p.Concurrency = bootstrap.FC, 1 })
	for i := range 20 {
		k.invoke(strconv.Itoa(i), task{Do: "answer", Answer: strconv.Itoa(i)})
	}
	for range 20 {
		if r := k.next(); r.outcome.Kind != local.Returned || string(r.outcome.Result) != r.id {
			t.Errorf("%s: %+v", r.id, r.outcome)
		}
	}
}

const (
	fcPython = `
import json, logging, os, sys
from urllib.request import urlopen

started = []

def start(context):
    started.append(context.request_id)

def handler(event, context):
    assert type(event) is bytes
    do = json.loads(event)["do"]
    if do == "context":
        c, f, s = context.credentials, context.function, context.service
        assert os.getcwd() == os.environ["FC_FUNC_CODE_PATH"] == sys.path[0]
        assert "AWS_LAMBDA_RUNTIME_API" not in os.environ
        return [context.request_id, c.access_key_id, c.access_key_secret, c.security_token, c.accessKeyId, f.name, f.handler, f.memory, f.timeout,
                s.name, s.qualifier, context.region, context.account_id, os.environ["FC_FUNCTION_HANDLER"], len(started)]
    if do == "text":
        return "grüße"
    if do == "bytes":
        return b"\xff\x00"
    if do == "nothing":
        return
    if do == "raise":
        raise ValueError("no such user: me")
    if do == "lambda":
        return event["do"]
    if do == "lambda get":
        return event.get("do")
    if do == "log":
        context.logger.info("logged")
        logging.getLogger("x").warning("warned")
        print("printed")
`
	fcNode = `
let started = 0;
exports.start = (context, callback) => { started++; callback(null, ''); };
exports.handler = (event, context, callback) => {
  if (!Buffer.isBuffer(event)) throw new Error('no Buffer');
  switch (JSON.parse(event.toString()).do) {
    case 'context': {
      const {credentials: c, function: f, service: s} = context;
      if (process.env.AWS_LAMBDA_RUNTIME_API) throw new Error('a Runtime API of Lambda');
      callback(null, [context.requestId, c.accessKeyId, c.accessKeySecret, c.securityToken, c.accessKeyId, f.name, f.handler, f.memory, f.timeout,
        s.name, s.qualifier, context.region, context.accountId, process.env.FC_FUNCTION_HANDLER, started]);
      setTimeout(() => {}, 3600000); // nobody waits for it
      break;
    }
    case 'text':
      return Promise.resolve('grüße');
    case 'bytes':
      callback(null, Buffer.from([255, 0]));
      break;
    case 'nothing':
      return Promise.resolve();
    case 'raise':
      return Promise.reject(new RangeError('no such user: me'));
    case 'log':
      context.logger.info('logged');
      console.log('printed');
      callback();
  }
};
`
)

func fcCredentials(_ *local.Config, p *local.Provider) {
	p.Timeout, p.Initializer = 2*time.Minute, "user.start"
	p.Env = map[string]string{"ALIBABA_CLOUD_ACCESS_KEY_ID": "key", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s-secret", "ALIBABA_CLOUD_SECURITY_TOKEN": "t-secret"}
}

func TestFCHandlers(t *testing.T) {
	for _, test := range []struct{ tool, file, code, errorType string }{
		{"python3", "user.py", fcPython, "ValueError"}, {"node", "user.js", fcNode, "RangeError"},
	} {
		t.Run(test.tool, func(t *testing.T) {
			require.Tool(t, test.tool)
			k := newScriptKit(t, map[string]string{test.file: test.code}, project.Provider{Target: test.file}, fcCredentials)
			var reported []any
			o := k.sendFC("context", `{"do":"context"}`)
			if err := json.Unmarshal(o.Result, &reported); err != nil {
				t.Fatalf("%v: %+v", err, o)
			}
			want := []any{"i-context", "key", "s-secret", "t-secret", "key", "thing", "user.handler", 128.0, 120.0, "shop", "v2", "cn-beijing", "1234567890123456", "user.handler", 1.0}
			if diff := cmp.Diff(want, reported); diff != "" {
				t.Error(diff)
			}
			for payload, want := range map[string]string{`{"do":"text"}`: "grüße", `{"do":"bytes"}`: "\xff\x00", `{"do":"nothing"}`: "null", `{"do":"log"}`: "null"} {
				if o := k.sendFC("x", payload); o.Kind != local.Returned || string(o.Result) != want {
					t.Errorf("%s: got %q, %s", payload, o.Result, o)
				}
			}
			o = k.sendFC("raise", `{"do":"raise"}`)
			if o.Kind != local.Errored || o.Type != test.errorType || o.Message != "no such user: me" {
				t.Errorf("got %+v", o)
			}
			k.wantLogged("x: printed", "logged")
			if test.tool == "node" {
				return
			}
			k.wantLogged("x: [INFO] logged", "x: [WARNING] warned", "raise: [ERROR] ValueError: no such user: me")
			for _, payload := range []string{`{"do":"lambda"}`, `{"do":"lambda get"}`} {
				if o := k.sendFC("x", payload); !strings.HasSuffix(o.Message, "the event is bytes: json.loads(event) makes an object of it)") {
					t.Errorf("%s: got %+v", payload, o)
				}
			}
		})
	}
}

// TestFCInitializer checks an initializer in a separate file, and one that does not exist.
func TestFCInitializer(t *testing.T) {
	for _, test := range []struct{ tool, file, code, other, otherCode string }{
		{"python3", "user.py", "import shared\ndef handler(event, context):\n    return shared.started\n", "more/first.py",
			"import shared\ndef start(context):\n    shared.started = context.function.initializer\n"},
		{"node", "user.js", "exports.handler = async () => global.started;", "more/first.mjs",
			"export const start = async (context) => { global.started = context.function.initializer; };"},
	} {
		t.Run(test.tool, func(t *testing.T) {
			require.Tool(t, test.tool)
			files := map[string]string{test.file: test.code, test.other: test.otherCode, "shared.py": ""}
			for initializer, want := range map[string]string{"more/first.start": "more/first.start", "more/first.none": "", "none.start": "", "none": ""} {
				k := newScriptKit(t, files, project.Provider{Target: test.file}, func(_ *local.Config, p *local.Provider) {
					p.Contract, p.Initializer = bootstrap.FC, initializer
				})
				o := k.send("1", `{}`)
				switch {
				case want != "" && string(o.Result) != want:
					t.Errorf("%s: %+v", initializer, o)
				case want == "" && (o.Kind != local.InitFailed || o.Type != "Runtime.HandlerNotFound" && o.Type != "Runtime.ImportModuleError"):
					t.Errorf("%s: %+v", initializer, o)
				}
			}
		})
	}
}

// TestContractFollowsTheEvent checks that a provider without a contract uses that of each event, in separate processes.
func TestContractFollowsTheEvent(t *testing.T) {
	require.Tool(t, "python3")
	files := map[string]string{"user.py": "import os\ndef handler(event, context):\n    return type(event).__name__ + ' ' + str(os.getpid())\n"}
	k := newScriptKit(t, files, project.Provider{Target: "user.py"}, nil)
	kinds := map[string][]string{}
	for _, token := range []wire.ServiceToken{
		fcToken, "arn:aws:lambda:us-east-1:000000000000:function:P", "acs:mns:cn-beijing:1:queues/P", "web:http://127.0.0.1/", "P", fcToken,
	} {
		event := local.Event{ID: "1", Payload: []byte(`{}`), WantResult: true, FunctionARN: string(token), Contract: local.ContractOf(token)}
		if err := k.Invoke("P", event); err != nil {
			t.Fatal(err)
		}
		kind, pid, _ := strings.Cut(strings.Trim(string(k.next().outcome.Result), `"`), " ")
		kinds[kind] = append(kinds[kind], pid)
	}
	if len(kinds["bytes"]) != 4 || len(kinds["dict"]) != 2 || len(slices.Compact(kinds["bytes"])) != 1 || kinds["bytes"][0] == kinds["dict"][0] {
		t.Errorf("got %v", kinds)
	}
	// A provider with a contract always uses it.
	for contract, want := range map[bootstrap.Contract]string{bootstrap.Lambda: "dict", bootstrap.FC: "bytes"} {
		k := newScriptKit(t, files, project.Provider{Target: "user.py"}, func(_ *local.Config, p *local.Provider) { p.Contract = contract })
		for _, o := range []local.Outcome{k.sendFC("1", "{}"), k.send("1", "{}")} {
			if !strings.Contains(string(o.Result), want) {
				t.Errorf("%s: got %+v", contract, o)
			}
		}
	}
}

func TestFCTarget(t *testing.T) {
	require.Tool(t, "node")
	require.Tool(t, "python3")
	dir := tree(t, map[string]string{"index.js": "", "bootstrap": "", "main": "", "bin/server": "", "plain/x": ""})
	for _, name := range []string{"bootstrap", "main", "bin/server"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		folder, runtime, handler string
		command                  []string
		want                     string // the kind and path, or the error
	}{
		{"", "nodejs20", "index.handler", nil, "Python or Node handler DIR"},
		{"", "python3", "none.handler", nil, "Python or Node handler DIR"}, // its process reports this
		{"", "python3.10", "handler", nil, `bad handler "handler": want FILE.FUNCTION, such as index.handler`},
		{"", "go1", "main", nil, "executable DIR/main"},
		{"", "go1", "index.handler", nil, "executable DIR/bootstrap"},
		{"", "go1", "../main", nil, "executable DIR/bootstrap"},
		{"", "custom.debian12", "", nil, "executable DIR/bootstrap"},
		{"", "custom", "", []string{"bin/server", "--port", "1"}, "executable DIR/bin/server"},
		{"", "custom", "", []string{"/code/bin/server"}, "executable DIR/bin/server"},
		{"", "custom", "", []string{"python3", "app.py"}, "executable PYTHON"},
		{"plain", "custom", "", nil, "the code holds no file bootstrap, which the runtime custom runs"},
		{"plain", "go1", "main", nil, "the code holds no file bootstrap, which the runtime go1 runs"},
		{"plain", "custom", "", []string{"./server"}, "the command ./server: the code holds no such file"},
		{"plain", "custom", "", []string{"no-such-program"}, "the command no-such-program is neither in the code nor on PATH"},
		{"plain", "custom", "", []string{"x"}, "x is not executable: run chmod +x DIR/x"},
		{"", "java8", "a.B::c", nil, "the runtime java8 is not supported: use nodejs*, python*, go1 or custom*"},
		{"", "custom-container", "", nil, "the runtime custom-container is not supported: use nodejs*, python*, go1 or custom*"},
	} {
		folder := filepath.Join(dir, test.folder)
		target, err := local.FCTarget(local.FCCode{Dir: folder, Runtime: test.runtime, Handler: test.handler, Command: test.command})
		path := target.Path()
		if filepath.Base(path) == "python3" {
			path = "PYTHON"
		}
		got := target.Kind().String() + " " + path
		if err != nil {
			got = err.Error()
		}
		if got = strings.ReplaceAll(got, folder, "DIR"); got != test.want {
			t.Errorf("%s %s %q: %s, want %s", test.runtime, test.handler, test.command, got, test.want)
		}
	}
}

// TestFCFunction checks that a template's function has its own identity, and that its command starts in its code
// directory.
func TestFCFunction(t *testing.T) {
	require.Tool(t, "python3")
	dir := tree(t, map[string]string{"app.py": `
import http.server, json, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers["Content-Length"])
        assert self.path == "/invoke" and json.loads(self.rfile.read(length)) == {"a": 1}, self.path
        text = json.dumps([os.getcwd(), sys.argv[1], self.headers["x-fc-function-name"], self.headers["x-fc-region"], os.environ.get("OWN"),
            self.headers["x-fc-service-logproject"], self.headers["x-fc-qualifier"], os.environ["TZ"]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *args):
        pass
http.server.HTTPServer(("127.0.0.1", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
`})
	target, err := local.FCTarget(local.FCCode{Dir: dir, Runtime: "custom.debian12", Command: []string{"python3", "app.py", "a b"}})
	if err != nil {
		t.Fatal(err)
	}
	k := newKit(t, "", func(c *local.Config, p *local.Provider) {
		c.Environ = append(slices.Clone(os.Environ()), "OWN=1")
		p.Target, p.Env, p.Contract = target, nil, bootstrap.FC
		p.Function = &local.Function{Name: "f", Region: "cn-hangzhou", Runtime: "custom.debian12", LogProject: "logs"}
	})
	o := k.sendFC("1", `{"a": 1}`)
	var got []any
	if err := json.Unmarshal(o.Result, &got); err != nil {
		t.Fatalf("%v: %+v", err, o)
	}
	if diff := cmp.Diff([]any{dir, "a b", "f", "cn-hangzhou", nil, "logs", "v2", ":UTC"}, got); diff != "" {
		t.Error(diff)
	}
	if !o.Over {
		t.Error("nothing says that it is over")
	}
}

func TestFCEnv(t *testing.T) {
	target, err := local.ParseTarget("", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = local.New(local.Config{Done: func(string, local.Outcome) {}, Providers: []local.Provider{{
		Name: "P", Target: target, Contract: bootstrap.FC, Env: map[string]string{"FC_REGION": "x"},
	}}})
	if err == nil || err.Error() != `provider "P": env: FC_REGION is set by the runtime: remove it` {
		t.Errorf("got %v", err)
	}
}

// TestFCWaits checks that a Function Compute function can wait if that is allowed.
func TestFCWaits(t *testing.T) {
	for _, behaviour := range []string{"fc", "fc-http"} {
		k := newKit(t, behaviour, func(_ *local.Config, p *local.Provider) { p.Contract = bootstrap.FC })
		for _, waits := range []bool{false, true} {
			if err := k.Invoke("P", local.Event{ID: "1", Payload: task{Do: "describe"}.payload(), WantResult: true, Waits: waits}); err != nil {
				t.Fatal(err)
			}
			if _, _, reported := k.reported(k.next().outcome); waits != (reported.Header.Get(wire.HeaderWaits) == wire.Waits) {
				t.Errorf("%s: waits %t: header %q", behaviour, waits, reported.Header)
			}
			answer := task{Do: "answer", Answer: `{"pintleWaiting": {"afterSeconds": 2, "until": "2026-11-21T10:00:00Z", "pending": 1}}`}
			if err := k.Invoke("P", local.Event{ID: "2", Payload: answer.payload(), Waits: waits}); err != nil {
				t.Fatal(err)
			}
			if o := k.next().outcome; waits != (o.Kind == local.Waiting && o.Waiting.After == 2*time.Second) {
				t.Errorf("%s: waits %t: %+v", behaviour, waits, o)
			}
		}
		large := local.Event{ID: "3", Payload: task{Do: "large"}.payload()}
		if err := k.Invoke("P", large); err != nil {
			t.Fatal(err)
		}
		if o := k.next().outcome; o.Type != "Function.ResponseSizeTooLarge" {
			t.Errorf("%s: %+v", behaviour, o)
		}
	}
}

// TestFCPortTaken takes the port of a custom runtime before the runtime listens on it.
func TestFCPortTaken(t *testing.T) {
	take := func(n int) (list []net.Listener) {
		for range n {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			go func() { // ends with the listener
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					got := make([]byte, 1)
					if n, _ := conn.Read(got); n > 0 {
						t.Error("the other program got an event")
					}
					conn.Close()
				}
			}()
			list = append(list, l)
		}
		return list
	}
	fc := func(_ *local.Config, p *local.Provider) { p.Contract = bootstrap.FC }
	k := newKit(t, "fc-http", fc)
	k.TakePorts(take(3)...)
	if o := k.sendFC("1", `{"Do": "answer", "Answer": "42"}`); o.Kind != local.Returned || string(o.Result) != "42" {
		t.Errorf("%+v", o)
	}
	k = newKit(t, "fc-http", fc)
	taken := take(4)
	k.TakePorts(taken...)
	_, port, _ := net.SplitHostPort(taken[3].Addr().String())
	if o := k.sendFC("1", `{"Do": "answer"}`); o.Kind != local.InitFailed || !strings.HasSuffix(o.Message, "another program listens at the port "+port+", which FC_SERVER_PORT named") {
		t.Errorf("%+v", o)
	}
}
