package local_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// newScriptKit returns a runtime with a provider P made of the files.
func newScriptKit(t *testing.T, files map[string]string, declared project.Provider, change func(*local.Config, *local.Provider)) *kit {
	t.Helper()
	declared.Name = "P"
	provider, err := local.ParseProvider(tree(t, files), declared)
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{t: t, done: make(chan report, 100)}
	config := local.Config{
		CacheDir: t.TempDir(),
		Done:     func(id string, o local.Outcome) { k.done <- report{id, o} },
		Logger:   slog.New(slog.DiscardHandler),
		Log: func(_, id, line string) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.lines = append(k.lines, id+": "+line)
		},
	}
	if change != nil {
		change(&config, &provider)
	}
	config.Providers = []local.Provider{provider}
	if k.Runtime, err = local.New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// send invokes P with a payload and returns the outcome.
func (k *kit) send(id, payload string, secrets ...string) local.Outcome {
	k.t.Helper()
	event := local.Event{ID: id, Invocation: "i-" + id, Payload: []byte(payload), Secrets: secrets, WantResult: true}
	if err := k.Invoke("P", event); err != nil {
		k.t.Fatal(err)
	}
	return k.next().outcome
}

// Handlers in each language that execute the instructions in an event.
const (
	pythonHandler = `
import json, logging, os, sys

def handler(event, context):
    do = event["do"]
    if do == "echo":
        return {"got": event, "text": "grüße"}
    if do == "nothing":
        return
    if do == "context":
        assert 0 < context.get_remaining_time_in_millis() <= 60000
        assert context.identity.cognito_identity_id is None and context.client_context is None
        assert context.log_stream_name == os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        assert os.environ["AWS_EXECUTION_ENV"].startswith("AWS_Lambda_python3.")
        assert os.environ["_X_AMZN_TRACE_ID"].startswith("Root=1-")
        assert os.getcwd() == os.environ["LAMBDA_TASK_ROOT"] == sys.path[0]
        assert sys.argv == [os.path.abspath(__file__)], sys.argv
        return [context.aws_request_id, context.invoked_function_arn, context.function_name, context.function_version,
                context.memory_limit_in_mb, context.log_group_name, os.environ["_HANDLER"], os.environ["A"]]
    if do == "raise":
        raise ValueError("no such user: %s" % event.get("who"))
    if do == "unserializable":
        return {1, 2}
    if do == "nan":
        return float("nan")
    if do == "print":
        print("printed", event["secret"])
        print("on stderr", file=sys.stderr)
        logging.getLogger("x").warning("logged %s", "well")
        return len(event["secret"])
    if do == "exit":
        sys.exit(7)
    if do == "exit while a thread runs":
        import threading
        threading.Thread(target=threading.Event().wait).start()
        sys.exit(7)
    if do == "decimal":
        from decimal import Decimal
        return {"price": Decimal("1.50"), "many": [Decimal(5), Decimal("1E+30")], "s": "Decimal"}
    if do == "decimal nan":
        from decimal import Decimal
        return Decimal("nan")
    if do == "no text":
        class NoText(Exception):
            def __str__(self):
                raise RuntimeError("no")
        raise NoText()
    if do == "fork":
        if os.fork() == 0:
            return "from the child"
        os.wait()
        return "from the parent"
    if do == "close":
        sys.stdout.close()
        raise ValueError("its output is closed")
    if do == "hang":
        import threading
        threading.Event().wait()
`
	nodeHandler = `
const assert = require('node:assert');

exports.handler = async (event, context) => {
  switch (event.do) {
    case 'echo':
      return {got: event, text: 'grüße'};
    case 'nothing':
      return;
    case 'context': {
      const remaining = context.getRemainingTimeInMillis();
      assert(remaining > 0 && remaining <= 60000);
      assert.strictEqual(context.logStreamName, process.env.AWS_LAMBDA_LOG_STREAM_NAME);
      assert.match(process.env.AWS_EXECUTION_ENV, /^AWS_Lambda_nodejs\d+\.x$/);
      assert.match(process.env._X_AMZN_TRACE_ID, /^Root=1-/);
      assert.strictEqual(process.cwd(), process.env.LAMBDA_TASK_ROOT);
      assert.deepStrictEqual(process.argv.slice(1), [__filename]);
      return [context.awsRequestId, context.invokedFunctionArn, context.functionName, context.functionVersion,
        context.memoryLimitInMB, context.logGroupName, process.env._HANDLER, process.env.A];
    }
    case 'raise':
      throw new RangeError('no such user: ' + event.who);
    case 'raise a text':
      throw 'just a text';
    case 'raise nothing':
      return Promise.reject();
    case 'unserializable':
      return {big: 1n};
    case 'never':
      return new Promise(() => {});
    case 'print':
      console.log('printed', event.secret);
      console.error('on stderr');
      return event.secret.length;
    case 'exit':
      process.exit(7);
      break;
    case 'uncaught':
      setImmediate(() => { throw new TypeError('nobody caught it'); });
      return new Promise((resolve) => setTimeout(resolve, 60000));
    case 'unhandled':
      Promise.reject(new Error('nobody heard it'));
      return new Promise((resolve) => setTimeout(resolve, 60000));
    case 'no text': {
      const error = new Error('m');
      error.name = Symbol('none');
      throw error;
    }
    case 'no text either':
      throw {name: Object.create(null), message: Object.create(null)};
    case 'forgotten':
      Promise.reject(new Error('forgotten'));
      return {got: 'x'.repeat(3 << 20)};
    case 'hang':
      return new Promise((resolve) => setTimeout(resolve, 3600000));
  }
};
`
)

type scriptCase struct {
	name, payload string
	want          local.Outcome
}

// commonCases are the cases of both languages, which have different error texts.
func commonCases(handler, valueError string) []scriptCase {
	returned := func(result string) local.Outcome {
		return local.Outcome{Kind: local.Returned, Delivered: true, Result: []byte(result)}
	}
	return []scriptCase{
		{"echo", `{"do":"echo","n":1.5,"s":"ü\u0000"}`, returned(`{"got":{"do":"echo","n":1.5,"s":"ü\u0000"},"text":"grüße"}`)},
		{"nothing", `{"do":"nothing"}`, returned("null")},
		{"context", `{"do":"context"}`, returned(`["i-context","arn:aws:lambda:us-east-1:000000000000:function:P","P","$LATEST","128","/aws/lambda/P","` +
			handler + `","b"]`)},
		{"raise", `{"do":"raise","who":"me"}`, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: valueError, Message: "no such user: me",
		}},
		{"print", `{"do":"print","secret":"hunter2-hunter2"}`, returned("15")},
		{"exit", `{"do":"exit"}`, local.Outcome{
			Kind: local.Exited, Delivered: true, ExitCode: 7,
			Message: "the provider's process exited with code 7 while it handled the event",
		}},
	}
}

func runCases(t *testing.T, k *kit, cases []scriptCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			got := k.send(strings.ReplaceAll(test.name, " ", "-"), test.payload, "hunter2-hunter2")
			want := test.want
			if want.Result != nil { // compared as JSON, because the languages format it differently
				var gotValue, wantValue any
				if err := errors.Join(json.Unmarshal(got.Result, &gotValue), json.Unmarshal(want.Result, &wantValue)); err != nil {
					t.Fatalf("%v: %s", err, got.Result)
				}
				if diff := cmp.Diff(wantValue, gotValue); diff != "" {
					t.Error(diff)
				}
				got.Result, want.Result = nil, nil
			}
			if diff := cmp.Diff(want, got, withoutLog); diff != "" {
				t.Errorf("%s\n%s", diff, strings.Join(got.Log, "\n"))
			}
			// In all cases, the next event is handled.
			after := k.send("after", `{"do":"nothing"}`)
			if diff := cmp.Diff(local.Outcome{Kind: local.Returned, Delivered: true, Result: []byte("null")}, after, withoutLog); diff != "" {
				t.Error(diff)
			}
		})
	}
	if logged := strings.Join(k.logged(), "\n"); strings.Contains(logged, "hunter2") {
		t.Errorf("a secret is in the log:\n%s", logged)
	}
}

func (k *kit) wantLogged(lines ...string) {
	k.t.Helper()
	logged := k.logged()
	for _, line := range lines {
		if !slices.ContainsFunc(logged, func(l string) bool { return strings.Contains(l, line) }) {
			k.t.Errorf("%q is not in the log:\n%s", line, strings.Join(logged, "\n"))
		}
	}
}

func shortTimeout(_ *local.Config, p *local.Provider) { p.Timeout = time.Minute }

func TestPython(t *testing.T) {
	require.Tool(t, "python3")
	declared := project.Provider{Target: "user.py", Env: map[string]string{"A": "b"}}
	k := newScriptKit(t, map[string]string{"user.py": pythonHandler}, declared, shortTimeout)
	runCases(t, k, append(commonCases("user.handler", "ValueError"),
		scriptCase{"unserializable", `{"do":"unserializable"}`, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: "Runtime.MarshalError",
			Message: "Unable to marshal response: Object of type set is not JSON serializable",
		}},
		scriptCase{"nan", `{"do":"nan"}`, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: "Runtime.MarshalError",
			Message: "Unable to marshal response: Out of range float values are not JSON compliant",
		}},
		scriptCase{"exit while a thread runs", `{"do":"exit while a thread runs"}`, local.Outcome{
			Kind: local.Exited, Delivered: true, ExitCode: 7,
			Message: "the provider's process exited with code 7 while it handled the event",
		}},
		scriptCase{"decimal nan", `{"do":"decimal nan"}`, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: "Runtime.MarshalError",
			Message: "Unable to marshal response: Out of range float values are not JSON compliant",
		}},
		scriptCase{"no text", `{"do":"no text"}`, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: "NoText", Message: "an exception without a text",
		}},
		scriptCase{"fork", `{"do":"fork"}`, local.Outcome{
			Kind: local.Returned, Delivered: true, Result: []byte(`"from the parent"`),
		}},
		scriptCase{"close", `{"do":"close"}`, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: "ValueError", Message: "its output is closed",
		}},
	))
	k.wantLogged("close: [ERROR] ValueError: its output is closed")
	// DynamoDB's decimal numbers keep their precision.
	if o := k.send("decimal", `{"do":"decimal"}`); string(o.Result) != `{"price": 1.50, "many": [5, 1E+30], "s": "Decimal"}` {
		t.Errorf("got %+v", o)
	}
	k.wantLogged("print: printed ****", "print: on stderr", "print: [WARNING] logged well",
		"raise: [ERROR] ValueError: no such user: me", `raise:   File "`, "user.py")
	for _, line := range k.logged() {
		if strings.Contains(line, "bootstrap.py") {
			t.Errorf("a frame of ours is in the log: %s", line)
		}
	}
}

func TestNode(t *testing.T) {
	require.Tool(t, "node")
	declared := project.Provider{Target: "./user.js", Env: map[string]string{"A": "b"}}
	k := newScriptKit(t, map[string]string{"user.js": nodeHandler}, declared, shortTimeout)
	errored := func(kind, message string) local.Outcome {
		return local.Outcome{Kind: local.Errored, Delivered: true, Type: kind, Message: message}
	}
	runCases(t, k, append(commonCases("user.handler", "RangeError"),
		scriptCase{"raise a text", `{"do":"raise a text"}`, errored("string", "just a text")},
		scriptCase{"raise nothing", `{"do":"raise nothing"}`, errored("string", "the handler failed without an error")},
		scriptCase{"unserializable", `{"do":"unserializable"}`, errored("Runtime.MarshalError",
			"Unable to stringify response body: Do not know how to serialize a BigInt")},
		scriptCase{"never", `{"do":"never"}`, errored("Runtime.NeverSettled",
			"the promise of the handler was not settled, and nothing is left that could settle it")},
		scriptCase{"uncaught", `{"do":"uncaught"}`, errored("TypeError", "nobody caught it")},
		scriptCase{"unhandled", `{"do":"unhandled"}`, errored("Runtime.UnhandledPromiseRejection", "Error: nobody heard it")},
		scriptCase{"no text", `{"do":"no text"}`, errored("Error", "an error without a text")},
		scriptCase{"no text either", `{"do":"no text either"}`, errored("Error", "an error without a text")},
		scriptCase{"forgotten", `{"do":"forgotten"}`, local.Outcome{
			Kind: local.Returned, Delivered: true, Result: []byte(`{"got":"` + strings.Repeat("x", 3<<20) + `"}`),
		}},
	))
	k.wantLogged("print: printed ****", "print: on stderr", "raise: Invoke Error\tRangeError: no such user: me", "user.js")
}

// TestNodeStyles checks the ways in which a Node handler can be exported and can finish.
func TestNodeStyles(t *testing.T) {
	require.Tool(t, "node")
	tests := map[string]struct {
		file, text, handler string
		want                string // the result, or the error
	}{
		"callback":     {"f.js", `exports.handler = (event, context, callback) => callback(null, 'called')`, "", `"called"`},
		"error":        {"f.js", `exports.handler = (event, context, callback) => callback(new Error('no'))`, "", `Error: no`},
		"text":         {"f.cjs", `exports.handler = (event, context, callback) => callback('no')`, "", `string: no`},
		"done":         {"f.js", `exports.handler = (event, context) => context.done(null, 'done')`, "", `"done"`},
		"done badly":   {"f.js", `exports.handler = (event, context) => context.done(new Error('bad'))`, "", `Error: bad`},
		"succeed":      {"f.js", `exports.handler = (event, context) => { context.succeed(1); context.fail('later') }`, "", `1`},
		"fail":         {"f.js", `exports.handler = (event, context) => context.fail('failed')`, "", `string: failed`},
		"fail, silent": {"f.js", `exports.handler = (event, context) => context.fail()`, "", `string: the handler failed without an error`},
		"returns":      {"f.js", `exports.handler = () => 5`, "", `null`},
		"waits": {"f.js", `let n = 0; exports.handler = (event, context, callback) => {
			setTimeout(() => { n++ }, 20); callback(null, {get toJSON() { return () => n }}) }`, "", `1`},
		"does not wait": {"f.js", `exports.handler = (event, context, callback) => { context.callbackWaitsForEmptyEventLoop = false;
			setTimeout(() => {}, 3600000); callback(null, 'now') }`, "", `"now"`},
		"idle":                    {"f.js", `exports.handler = () => { setTimeout(() => {}, 5) }`, "", `null`},
		"throws":                  {"f.js", `exports.handler = () => { throw new TypeError('thrown') }`, "", `TypeError: thrown`},
		"module":                  {"f.mjs", `import {basename} from 'node:path'; export const handler = async () => basename(import.meta.url)`, "", `"f.mjs"`},
		"default":                 {"f.mjs", `export default async () => 'default'`, "", `"default"`},
		"one function":            {"f.cjs", `module.exports = async () => 'whole'`, "", `"whole"`},
		"top-level await":         {"f.mjs", `const x = await Promise.resolve(3); export async function handler() { return x }`, "", `3`},
		"named":                   {"f.js", `exports.other = async () => 'other'`, "other", `"other"`},
		"file and name":           {"f.js", `exports.other = async () => 'other'`, "f.other", `"other"`},
		"nested":                  {"f.js", `exports.a = {b: {n: 4, async c() { return this.n }}}`, "f.a.b.c", `4`},
		"handler of another name": {"f.js", `exports.handler = async () => 1`, "other", `Runtime.HandlerNotFound: f.js does not export 'other'`},
		"none": {"f.js", `exports.run = async () => 1`, "", `Runtime.HandlerNotFound: f.js does not export 'handler' or 'default': ` +
			`export one of these, or say which it is with handler: in pintle.yaml`},
		"function of another role": {"f.js", `exports.onEvent = async () => 1`, "", `Runtime.HandlerNotFound: f.js does not export 'handler' or 'default', ` +
			`but onEvent: a function that returns its result is declared as onEvent: in pintle.yaml`},
		"syntax":             {"f.js", `exports.handler = async () => {`, "", `Runtime.UserCodeSyntaxError: f.js: SyntaxError: Unexpected end of input`},
		"missing file":       {"f.js", `require('./no-such-file')`, "", `Runtime.ImportModuleError: f.js: Cannot find module './no-such-file'`},
		"throws when loaded": {"f.js", `throw new RangeError('at once')`, "", `RangeError: at once`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newScriptKit(t, map[string]string{test.file: test.text}, project.Provider{Target: test.file, Handler: test.handler}, nil)
			wantResult(t, k.send("1", "{}"), test.want)
		})
	}
}

// wantResult compares a handler's result or error.
func wantResult(t *testing.T, o local.Outcome, want string) {
	t.Helper()
	got := string(o.Result)
	if o.Kind != local.Returned {
		got = o.Type + ": " + o.Message
	}
	if got != want {
		t.Errorf("%s: got %s, want %s\n%s", o.Kind, got, want, strings.Join(o.Log, "\n"))
	}
}

func TestNodePackageType(t *testing.T) {
	require.Tool(t, "node")
	files := map[string]string{
		"package.json":     `{"type": "module"}`,
		"src/index.js":     `import {x} from './lib.js'; export const handler = async () => x`,
		"src/lib.js":       `export const x = 'esm'`,
		"old/package.json": `{}`,
		"old/index.js":     `exports.handler = async () => 'cjs'`,
		"old/wrong.js":     `export const handler = async () => 1`,
	}
	for target, want := range map[string]string{
		"src/index.js": `"esm"`,
		"old/index.js": `"cjs"`,
	} {
		k := newScriptKit(t, files, project.Provider{Target: target}, nil)
		wantResult(t, k.send("1", "{}"), want)
	}
	k := newScriptKit(t, files, project.Provider{Target: "old/wrong.js"}, nil)
	o := k.send("1", "{}")
	// Newer versions of Node detect modules by their syntax.
	if o.Kind != local.Returned && (o.Type != "Runtime.UserCodeSyntaxError" || !strings.HasSuffix(o.Message, `: call the file .mjs, or put "type": "module" into package.json`)) {
		t.Errorf("got %s", o)
	}
}

func TestPythonStyles(t *testing.T) {
	require.Tool(t, "python3")
	tests := map[string]struct {
		text, handler, want string
	}{
		"lambda_handler": {"def lambda_handler(event, context): return 1", "", "1"},
		"first":          {"def lambda_handler(event, context): return 1\ndef handler(event, context): return 2", "", "2"},
		"named":          {"def run(event, context): return 3", "run", "3"},
		"file and name":  {"def run(event, context): return 3", "f.run", "3"},
		"callable":       {"class C:\n  def __call__(self, event, context): return 4\nhandler = C()", "", "4"},
		"not callable":   {"run = 1", "run", "Runtime.HandlerNotFound: Handler 'run' missing on module 'f'"},
		"none": {"", "", "Runtime.HandlerNotFound: Handler 'handler' or 'lambda_handler' missing on module 'f': " +
			"give the function one of these names, or say which it is with handler: in pintle.yaml"},
		"function of another role": {"def on_event(event, context): pass", "", "Runtime.HandlerNotFound: Handler 'handler' or 'lambda_handler' " +
			"missing on module 'f', but there is on_event: a function that returns its result is declared as onEvent: in pintle.yaml"},
		"syntax":              {"def handler(:", "", "Runtime.UserCodeSyntaxError: Syntax error in module 'f': invalid syntax (f.py, line 1)"},
		"missing part":        {"import json.no_such", "", "Runtime.ImportModuleError: Unable to import module 'f': No module named 'json.no_such'"},
		"raises when loaded":  {"raise KeyError('at once')", "", "KeyError: 'at once'"},
		"next to the handler": {"import beside\nhandler = beside.answer", "", `"beside"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"f.py": test.text, "beside.py": "def answer(event, context): return 'beside'"}
			k := newScriptKit(t, files, project.Provider{Target: "f.py", Handler: test.handler}, nil)
			wantResult(t, k.send("1", "{}"), test.want)
		})
	}
	t.Run("name of a standard module", func(t *testing.T) {
		k := newScriptKit(t, map[string]string{"queue.py": "def handler(event, context): return __name__"}, project.Provider{Target: "queue.py"}, nil)
		wantResult(t, k.send("1", "{}"), `"queue"`)
	})
}

// TestScriptFolders checks a directory with the layout of an unpacked Lambda package.
func TestScriptFolders(t *testing.T) {
	require.Tool(t, "python3")
	require.Tool(t, "node")
	files := map[string]string{
		"js/index.js":           "exports.handler = async () => process.env._HANDLER + ' ' + require('path').basename(process.cwd())",
		"js/lib/other.js":       "exports.x = {run: async () => process.env._HANDLER + ' ' + require('path').basename(process.cwd())}",
		"py/lambda_function.py": "import os\ndef lambda_handler(event, context): return os.environ['_HANDLER']",
		"py/pkg/mod.py":         "from .rel import x\ndef run(event, context): return x",
		"py/pkg/rel.py":         "x = 'relative'",
	}
	for _, test := range []struct{ target, handler, want string }{
		{"js", "", `"index.handler js"`},
		{"js", "index.handler", `"index.handler js"`},
		{"js", "lib/other.x.run", `"lib/other.x.run js"`},
		{"py", "", `"lambda_function.lambda_handler"`},
		{"py", "pkg.mod.run", `"relative"`},
		{"py", "pkg/mod.run", `"relative"`},
	} {
		k := newScriptKit(t, files, project.Provider{Target: test.target, Handler: test.handler}, nil)
		wantResult(t, k.send("1", "{}"), test.want)
	}
	dir := tree(t, files)
	for _, test := range []struct{ target, handler, want string }{
		{"js", "handler", "handler handler: want FILE.FUNCTION, such as index.handler"},
		{"js", "../js/index.handler", "is not in the directory"},
		{"js", "other.handler", "handler other.handler: the directory has none of other.py, other.js, other.mjs, other.cjs"},
		{"js/index.js", "other.handler", "handler other.handler is not in the file index.js: want the name of a function there, or index.NAME"},
		{"js/index.js", "index.", `handler index.: "" is not the name of a Node function`},
		{"py/lambda_function.py", "lambda_function.a.b", `"a.b" is not the name of a Python function`},
	} {
		_, err := local.ParseProvider(dir, project.Provider{Name: "P", Target: test.target, Handler: test.handler})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: got %v, want %q in it", test.target, test.handler, err, test.want)
		}
	}
}

// TestPythonPackage checks the directory from which a Python file is imported.
func TestPythonPackage(t *testing.T) {
	require.Tool(t, "python3")
	const run = "\nimport os\ndef handler(event, context): return [__name__, os.path.basename(os.environ['LAMBDA_TASK_ROOT']), x]\n"
	for name, test := range map[string]struct {
		files      map[string]string
		file, want string
	}{
		"a file":         {map[string]string{"root/app/f.py": "x = 1" + run}, "root/app/f.py", `["f","app",1]`},
		"a package":      {map[string]string{"root/app/f.py": "from .util import x" + run, "root/app/util.py": "x = 1"}, "root/app/f.py", `["app.f","root",1]`},
		"its parent":     {map[string]string{"root/app/in/f.py": "from ..util import x" + run, "root/app/util.py": "x = 1"}, "root/app/in/f.py", `["app.in.f","root",1]`},
		"of packages":    {map[string]string{"root/app/in/f.py": "from . import x" + run, "root/app/in/x.py": "", "root/app/__init__.py": "", "root/app/in/__init__.py": "x = 1"}, "root/app/in/f.py", `["app.in.f","root",1]`},
		"optional":       {map[string]string{"root/app/f.py": "try:\n    from .util import x\nexcept ImportError:\n    from util import x" + run, "root/app/util.py": "x = 1"}, "root/app/f.py", `["f","app",1]`},
		"in a named one": {map[string]string{"root/app/f.py": "from .util import x" + strings.ReplaceAll(run, "handler", "run"), "root/app/util.py": "x = 1"}, "root/app/f.py", `["app.f","root",1]`},
	} {
		t.Run(name, func(t *testing.T) {
			declared := project.Provider{Target: test.file}
			if name == "in a named one" {
				declared.Handler = "f.run"
			}
			k := newScriptKit(t, test.files, declared, nil)
			o := k.send("1", "{}")
			if got := strings.ReplaceAll(string(o.Result), " ", ""); got != test.want {
				t.Errorf("got %s, want %s, %+v", got, test.want, o)
			}
		})
	}
}

// TestScriptOrProgram checks that an executable script with a #! line is a program, unless it has a named handler.
func TestScriptOrProgram(t *testing.T) {
	require.Tool(t, "python3")
	files := map[string]string{"f.py": "#!/usr/bin/env python3\ndef run(event, context): return 1\n"}
	k := newScriptKit(t, files, project.Provider{Target: "f.py"}, nil)
	const hint = ": it is executable and begins with #!, so it was run as a program;"
	o := k.send("1", "{}")
	if o.Kind != local.InitFailed || o.ExitCode != 0 || !strings.Contains(o.Message, hint) {
		t.Errorf("got %s", o)
	}
	importing := map[string]string{"f.py": "#!/usr/bin/env python3\nimport cfnresponse\ndef handler(event, context): return 1\n"}
	o = newScriptKit(t, importing, project.Provider{Target: "f.py"}, nil).send("1", "{}")
	if o.Kind != local.InitFailed || o.ExitCode != 1 || !strings.Contains(o.Message, hint) {
		t.Errorf("of a program that cannot import cfnresponse: got %s", o)
	}
	k = newScriptKit(t, files, project.Provider{Target: "f.py", Handler: "run"}, nil)
	wantResult(t, k.send("1", "{}"), "1")
}

func TestScriptTimesOut(t *testing.T) {
	for tool, test := range map[string]struct{ file, text string }{
		"python3": {"f.py", pythonHandler},
		"node":    {"f.js", nodeHandler},
	} {
		t.Run(tool, func(t *testing.T) {
			require.Tool(t, tool)
			k := newScriptKit(t, map[string]string{test.file: test.text}, project.Provider{Target: test.file}, func(_ *local.Config, p *local.Provider) {
				p.Timeout = 100 * time.Millisecond
			})
			if o := k.send("1", `{"do":"hang"}`); o.Kind != local.TimedOut {
				t.Errorf("got %s", o)
			}
		})
	}
}

func TestNoInterpreter(t *testing.T) {
	dir := tree(t, map[string]string{"f.py": pythonHandler, "f.js": nodeHandler})
	t.Setenv("PATH", t.TempDir())
	for target, want := range map[string]string{
		"f.py": "no interpreter: a Python handler needs python3, which is not on PATH: install Python 3.8 or later",
		"f.js": "no interpreter: a Node handler needs node, which is not on PATH: install Node.js 18 or later",
	} {
		_, err := local.ParseTarget(dir, target)
		if !errors.Is(err, bootstrap.ErrNoInterpreter) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", target, err, want)
		}
	}
}

// answers is the server for handlers' answers.
type answers struct {
	*httptest.Server
	got chan answer
}

type answer struct {
	Method, URI, Type string
	Body              map[string]any
}

func newAnswers(t *testing.T, status int) *answers {
	a := &answers{got: make(chan answer, 100)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		one := answer{Method: r.Method, URI: r.RequestURI, Type: fmt.Sprintf("%q", r.Header["Content-Type"])}
		_ = json.Unmarshal(text, &one.Body)
		a.got <- one
		w.WriteHeader(status)
	}))
	t.Cleanup(a.Close)
	return a
}

const answerPath = "/response/a%7Cb?X-Amz-Signature=0123456789abcdef&X-Amz-Date=1"

// request returns a Create event with a response URL on the server.
func (a *answers) request(t *testing.T) string {
	text, err := json.Marshal(map[string]any{
		"RequestType": "Create", "ResponseURL": a.URL + answerPath, "StackId": "arn:stack", "RequestId": "r1",
		"LogicalResourceId": "Thing", "ResourceType": "Custom::Thing", "ResourceProperties": map[string]any{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnswerModules(t *testing.T) {
	t.Setenv("http_proxy", "http://127.0.0.1:1") // must not be used for this machine
	inline := map[string]string{
		"cfnresponse": "import cfnresponse\ndef handler(event, context):\n" +
			"  cfnresponse.send(event, context, cfnresponse.SUCCESS, {'A': 'b'}, 'id-1', noEcho=True)\n",
		"cfn-response": "const response = require('cfn-response')\nexports.handler = (event, context) => " +
			"response.send(event, context, response.SUCCESS, {A: 'b'}, 'id-1', true)\n",
		"cfn-response, awaited": "import response from 'cfn-response'\nexport const handler = async (event, context) => {" +
			"await response.send(event, context, response.SUCCESS, {A: 'b'}, 'id-1', true)}\n",
	}
	files := map[string]string{"cfnresponse": "f.py", "cfn-response": "f.js", "cfn-response, awaited": "f.mjs"}
	tools := map[string]string{"f.py": "python3", "f.js": "node", "f.mjs": "node"}
	for name, text := range inline {
		t.Run(name, func(t *testing.T) {
			file := files[name]
			require.Tool(t, tools[file])
			taken := newAnswers(t, http.StatusOK)
			k := newScriptKit(t, map[string]string{file: text}, project.Provider{Target: file}, nil)
			wantResult(t, k.send("1", taken.request(t)), "null")
			want := answer{Method: "PUT", URI: answerPath, Type: `[""]`, Body: map[string]any{
				"Status": "SUCCESS", "PhysicalResourceId": "id-1", "StackId": "arn:stack", "RequestId": "r1", "LogicalResourceId": "Thing",
				"NoEcho": true, "Data": map[string]any{"A": "b"},
			}}
			reason := cmpopts.IgnoreMapEntries(func(name string, value any) bool {
				text, ok := value.(string)
				return name == "Reason" && ok && strings.HasPrefix(text, "See the details in CloudWatch Log Stream: 2")
			})
			if diff := cmp.Diff(want, <-taken.got, reason); diff != "" {
				t.Error(diff)
			}
			for status, word := range map[int]string{http.StatusForbidden: "status 403", http.StatusServiceUnavailable: "status 503"} {
				refused := newAnswers(t, status)
				o := k.send("2", refused.request(t))
				if o.Kind != local.Errored || !strings.Contains(o.Message, "the answer was refused with "+word) {
					t.Errorf("got %s", o)
				}
				if n := len(refused.got); n != map[int]int{http.StatusForbidden: 1, http.StatusServiceUnavailable: 3}[status] {
					t.Errorf("%s: %d tries", word, n)
				}
			}
			if logged := strings.Join(k.logged(), "\n"); strings.Contains(logged, "0123456789abcdef") {
				t.Errorf("a signature is in the log:\n%s", logged)
			}
		})
	}
}

// TestRerouted checks handlers of the CDK and others, which send their answer by https to the host and path of the
// response URL.
func TestRerouted(t *testing.T) {
	require.Tool(t, "node")
	const send = `
const send = (https, event, how) => new Promise((resolve, reject) => {
  const url = new URL(event.ResponseURL || JSON.parse(event.Records[0].Sns.Message).ResponseURL);
  const options = {hostname: url.hostname, path: url.pathname + url.search, method: 'PUT', headers: {'content-type': '', 'content-length': 2}};
  const answered = (answer) => { answer.resume(); answer.on('end', () => resolve(answer.statusCode)) };
  const text = 'https://' + url.hostname + url.pathname + url.search;
  const forms = {
    cdk: () => https.request(options, answered),
    port: () => https.request({...options, hostname: undefined, host: url.hostname, port: 443, agent: new https.Agent()}, answered),
    text: () => https.request(text, {method: 'PUT', headers: options.headers}, answered),
    url: () => https.request(new URL(text), {method: 'PUT', headers: options.headers}, answered),
    listener: () => https.request(options).on('response', answered),
  };
  const request = forms[how]();
  request.on('error', reject);
  request.end('{}');
});
`
	styles := map[string]string{
		"f.cjs": "const https = require('https');" + send + "exports.handler = (event) => send(https, event, process.env.HOW)",
		"d.mjs": "import https from 'https';" + send + "export const handler = (event) => send(https, event, process.env.HOW)",
		"n.mjs": "import {request, Agent} from 'node:https';" + send + "export const handler = (event) => send({request, Agent}, event, process.env.HOW)",
	}
	for file, text := range styles {
		for _, how := range []string{"cdk", "port", "text", "url", "listener"} {
			t.Run(file+" "+how, func(t *testing.T) {
				t.Parallel()
				taken := newAnswers(t, http.StatusOK)
				k := newScriptKit(t, map[string]string{file: text}, project.Provider{Target: file, Env: map[string]string{"HOW": how}}, nil)
				for _, event := range []string{taken.request(t), `{"Records":[{"Sns":{"Message":` + quote(t, taken.request(t)) + `}}]}`} {
					wantResult(t, k.send("1", event), "200")
					if diff := cmp.Diff(answer{Method: "PUT", URI: answerPath, Type: `[""]`, Body: map[string]any{}}, <-taken.got); diff != "" {
						t.Error(diff)
					}
				}
			})
		}
	}
	// Requests to URLs other than the response URL keep their address: here a port that does not speak TLS.
	t.Run("another", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte("this is no TLS\n"))
				conn.Close()
			}
		}()
		taken := newAnswers(t, http.StatusOK)
		text := `const https = require('https'); exports.handler = (event) => new Promise((resolve) => {
			https.get({hostname: '127.0.0.1', port: process.env.PORT, path: new URL(event.ResponseURL).pathname}, () => resolve('answered')).on('error', (e) => resolve('TLS')) })`
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		k := newScriptKit(t, map[string]string{"f.js": text}, project.Provider{Target: "f.js", Env: map[string]string{"PORT": port}}, nil)
		wantResult(t, k.send("1", taken.request(t)), `"TLS"`)
	})
}

func quote(t *testing.T, text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

// TestBootstrapIsInstalled checks that a deleted boot script is installed again, and that the handler's directory stays
// unchanged.
func TestBootstrapIsInstalled(t *testing.T) {
	require.Tool(t, "python3")
	dir := tree(t, map[string]string{"f.py": "import g\ndef handler(event, context): return 1", "g.py": ""})
	provider, err := local.ParseProvider(dir, project.Provider{Name: "P", Target: "f.py"})
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(t.TempDir(), "made", "when", "missing")
	k := &kit{t: t, done: make(chan report, 10)}
	k.Runtime, err = local.New(local.Config{
		CacheDir: cache, Providers: []local.Provider{provider}, Logger: slog.New(slog.DiscardHandler),
		Done: func(id string, o local.Outcome) { k.done <- report{id, o} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	for range 2 {
		if err := k.Prepare(t.Context(), "P"); err != nil {
			t.Fatal(err)
		}
		wantResult(t, k.send("1", "{}"), "1")
		wantPrivate(t, cache)
		if err := os.RemoveAll(cache); err != nil {
			t.Fatal(err)
		}
		if err := k.Set(provider); err != nil { // starts new processes
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("something was left in the handler's folder: %v", entries)
	}
	if _, err := local.New(local.Config{Providers: []local.Provider{provider}, Done: func(string, local.Outcome) {}}); err == nil ||
		!strings.Contains(err.Error(), "a Python or Node handler needs a cache directory") {
		t.Errorf("without a cache directory: got %v", err)
	}
}

// wantPrivate checks that files exist and that no other user may write them, because they are executed.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}
