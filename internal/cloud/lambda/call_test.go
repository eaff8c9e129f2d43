package lambda_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// TestMatch checks that delivery can send requests to a function by the name from Match.
func TestMatch(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, nil)
	w.create("f", node("index.handler"), inline("exports.handler = async (e, c) => c.invokedFunctionArn"))
	const arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
	for token, want := range map[wire.ServiceToken]string{
		arn: arn, arn + ":$LATEST": arn, arn + ":1": "", arn + "2": "", "f": "", "": "",
		"arn:aws:lambda:eu-west-1:000000000000:function:f": "", "arn:aws:sns:us-east-1:000000000000:f": "",
	} {
		if got, ok, err := w.Match(t.Context(), token); got != want || ok != (want != "") || err != nil {
			t.Errorf("%s: %q, %v, %v", token, got, ok, err)
		}
	}
	done := make(chan local.Outcome, 1)
	r, err := local.New(local.Config{Done: func(_ string, o local.Outcome) { done <- o }, CacheDir: w.cache})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fresh := newNode(t, w.catalog, w.dir, func(c *lambda.Config) { c.Runtime = r })
	name, ok, err := fresh.Match(t.Context(), arn)
	if !ok || err != nil {
		t.Fatal("no match")
	}
	if err := r.Invoke(name, local.Event{ID: "1", Payload: []byte("{}"), FunctionARN: arn, WantResult: true}); err != nil {
		t.Fatal(err)
	}
	if o := <-done; string(o.Result) != `"`+arn+`"` {
		t.Errorf("%+v", o)
	}
	// A function with a reserved concurrency of 0 fails at once. Lambda would retry for hours.
	of, zero := node("index.handler"), 0
	of.Concurrency = &zero
	w.create("off", of, inline(""))
	if name, ok, err = fresh.Match(t.Context(), "arn:aws:lambda:us-east-1:000000000000:function:off"); !ok || err != nil {
		t.Fatal("no match")
	}
	if err := r.Invoke(name, local.Event{ID: "2", Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.Kind != local.InitFailed || o.Message != "none of its calls may run: its reserved concurrency is 0" {
		t.Errorf("%+v", o)
	}
}

// gate creates a function "gated". Each call of it signals its start and waits until the gate is open.
func gate(w *world, concurrency *int) (arrived <-chan string, open func()) {
	names, opened := make(chan string, 100), make(chan struct{})
	w.mux.HandleFunc("PUT /gate", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a partial body is fine
		names <- string(body)
		select {
		case <-opened:
		case <-r.Context().Done():
		}
	})
	of := node("index.handler")
	of.Environment, of.Concurrency = map[string]string{"GATE": w.url + "/gate"}, concurrency
	w.create("gated", of, inline("exports.handler = async (event) => { await fetch(process.env.GATE, {method: 'PUT', body: event.name}); return event.name }"))
	return names, sync.OnceFunc(func() { close(opened) })
}

// observed is a runtime that signals accepted events.
type observed struct {
	lambda.Runtime
	taken chan<- struct{}
}

func (o observed) Invoke(name string, event local.Event) error {
	err := o.Runtime.Invoke(name, event)
	if err == nil {
		o.taken <- struct{}{}
	}
	return err
}

// TestBusy checks that calls wait for a process, up to a limit, and that they do not with reserved concurrency.
func TestBusy(t *testing.T) {
	require.Tool(t, "node")
	one := 1
	for name, test := range map[string]struct {
		concurrency *int
		queue       int
		memory      int64
		want        string // of the third call
	}{
		"waits":    {nil, 2, 0, `"third"`},
		"queue":    {nil, 1, 0, "ConcurrentInvocationLimitExceeded"},
		"reserved": {&one, 2, 0, "ReservedFunctionConcurrentInvocationLimitExceeded"},
		"memory":   {nil, 2, 40, "ConcurrentInvocationLimitExceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			taken := make(chan struct{}, 10)
			w := newWorld(t, func(c *lambda.Config) {
				c.Concurrency, c.Memory, c.Queue = 1, test.memory, test.queue
				c.Runtime = observed{c.Runtime, taken}
			})
			arrived, open := gate(w, test.concurrency)
			defer open()
			var wg sync.WaitGroup
			wg.Go(func() {
				if got := w.invoke("gated", `{"name":"first"}`); got != `"first"` {
					t.Errorf("first: %s", got)
				}
			})
			<-arrived
			<-taken
			if test.concurrency == nil {
				// A call continues after its caller has stopped waiting.
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-taken
					cancel()
				}()
				_, err := w.Invoke(ctx, lambda.Call{Scope: home, Function: "gated", Payload: []byte(`{"name":"second"}`)})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("second: %v", err)
				}
			}
			if test.want == `"third"` {
				wg.Go(func() {
					if got := w.invoke("gated", `{"name":"third"}`); got != test.want {
						t.Errorf("third: %s", got)
					}
				})
				open()
				if second := <-arrived; second != "second" {
					t.Errorf("%s came after the first", second)
				}
			} else {
				_, err := w.Invoke(t.Context(), lambda.Call{Scope: home, Function: "gated", Payload: []byte(`{"name":"third"}`)})
				var reported *lambda.Error
				if !errors.As(err, &reported) || reported.Reason != test.want || reported.Status != http.StatusTooManyRequests {
					t.Errorf("third: %v", err)
				}
				open()
			}
			wg.Wait()
		})
	}
	zero := 0
	w := newWorld(t, nil)
	of := node("index.handler")
	of.Concurrency = &zero
	w.create("off", of, inline(""))
	if got := w.invoke("off", ""); got != "error: Rate Exceeded." {
		t.Errorf("reserved 0: %s", got)
	}
}

// TestEvents checks that an event is tried three times, with the same ID.
func TestEvents(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, func(c *lambda.Config) {
		c.Pauses, c.Concurrency = []time.Duration{time.Millisecond, time.Millisecond}, 1
	})
	of := node("index.handler")
	of.Environment = map[string]string{"URL": w.url + "/tries"}
	w.create("f", of, inline(`
let tries = 0
exports.handler = async (event, context) => {
  tries++
  await fetch(process.env.URL, {method: 'PUT', body: event.name + tries + ' ' + context.awsRequestId})
  if (tries < event.until) throw new Error('not yet')
  tries = 0
}`))
	tries := make(chan string, 10)
	w.mux.HandleFunc("PUT /tries", puts(tries))
	send := func(payload string) error {
		return w.InvokeEvent(t.Context(), lambda.Call{Scope: home, Function: "f", Payload: []byte(payload)})
	}
	receive := func() (what, id string) {
		t.Helper()
		select {
		case text := <-tries:
			what, id, _ = strings.Cut(text, " ")
			return what, id
		case <-time.After(patience):
			t.Fatal("no try")
			return "", ""
		}
	}
	if err := send(`{"name":"a","until":3}`); err != nil {
		t.Fatal(err)
	}
	first, id := receive()
	got := []string{first}
	for range 2 {
		next, same := receive()
		if got = append(got, next); same != id {
			t.Errorf("tried again as %s, not %s", same, id)
		}
	}
	if diff := cmp.Diff([]string{"a1", "a2", "a3"}, got); diff != "" {
		t.Error(diff)
	}
	// An event that fails three times is dropped. The next message is from another event.
	if err := send(`{"name":"b","until":9}`); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"b1", "b2", "b3"} {
		if got, _ := receive(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if err := send(`{"name":"c","until":1}`); err != nil {
		t.Fatal(err)
	}
	if got, _ := receive(); got != "c4" {
		t.Errorf("%s, want c4", got)
	}
	if err := send(`{"name":"` + strings.Repeat("x", 1<<20) + `"}`); err == nil ||
		err.Error() != "1048587 byte payload is too large for the Event invocation type (limit 1048576 bytes)" {
		t.Errorf("too large: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := send("{}"); err == nil {
		t.Error("it takes events when it is closed")
	}
}

// TestLogFormat checks the JSON log format, which the CDK's framework requests to suppress its log.
func TestLogFormat(t *testing.T) {
	require.Tool(t, "node")
	require.Tool(t, "python3")
	w := newWorld(t, nil)
	for name, code := range map[string]string{
		"node":   "exports.handler = async () => { console.debug('d'); console.log('a %s', 'b', {x: 1}); console.error(new Error('bad')); throw new Error('no') }",
		"python": "import logging\ndef handler(e, c):\n  logging.debug('d')\n  logging.info('a %s', 'b')\n  logging.error('bad')\n  raise ValueError('no')",
	} {
		for _, level := range []string{"", "ERROR", "FATAL"} {
			of := node("index.handler")
			if name == "python" {
				of = python("index.handler")
			}
			of.LogFormat, of.LogLevel = "JSON", level
			w.create(name+level, of, inline(code))
			if got := w.invoke(name+level, ""); !strings.HasPrefix(got, "Unhandled") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	counts := map[string]int{}
	for _, line := range w.logged() {
		name, text, _ := strings.Cut(line, ": ")
		counts[name]++
		if !strings.HasPrefix(text, `{"timestamp":`) || !strings.Contains(strings.ReplaceAll(text, `": "`, `":"`), `"requestId":"`) {
			t.Errorf("%s", line)
		}
	}
	if diff := cmp.Diff(map[string]int{"node": 3, "nodeERROR": 2, "python": 3, "pythonERROR": 2}, counts); diff != "" {
		t.Errorf("%s\n%s", diff, strings.Join(w.logged(), "\n"))
	}
}

// TestSecretsInLogs checks that neither known secrets nor values of secret-sounding variables appear in a log.
func TestSecretsInLogs(t *testing.T) {
	require.Tool(t, "python3")
	w := newWorld(t, nil)
	of := python("index.handler")
	of.Environment = map[string]string{"DB_PASSWORD": "swordfish", "TOKEN_COUNT": "12", "GIVEN": "by-a-parameter", "SECRET_ARN": "arn:aws:s"}
	of.Hidden = []string{"GIVEN"}
	w.create("f", of, inline("import os\ndef handler(e, c): print(*[os.environ[n] for n in ('DB_PASSWORD', 'TOKEN_COUNT', 'GIVEN', 'SECRET_ARN')])"))
	reply, err := w.Invoke(t.Context(), lambda.Call{Scope: home, Function: "f", Tail: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"f: ***** 12 ***** arn:aws:s"}, w.logged()); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"START RequestId: " + reply.ID + " Version: $LATEST\n***** 12 ***** arn:aws:s\nEND RequestId: ", "\tMemory Size: 128 MB\t\n"} {
		if !strings.Contains(string(reply.Log), want) {
			t.Errorf("%q is not in\n%s", want, reply.Log)
		}
	}
}

// TestKeysInLogs checks that a function that prints its environment does not print its keys, which may be the user's
// own. A word such as "test", which servers that stand in for AWS accept as a key, is not masked.
func TestKeysInLogs(t *testing.T) {
	require.Tool(t, "python3")
	w := newWorld(t, func(c *lambda.Config) {
		c.Environment = func(registry.Scope, string, map[string]string) map[string]string {
			return map[string]string{"AWS_ACCESS_KEY_ID": key.ID, "AWS_SECRET_ACCESS_KEY": "hunter2&more+swordfish", "AWS_SESSION_TOKEN": "test", "AWS_CONFIG_FILE": "/dev/null"}
		}
	})
	w.create("f", python("index.handler"), inline("import os\ndef handler(e, c): print(*[os.environ[n] for n in "+
		"('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_CONFIG_FILE')], 'latest')"))
	w.invoke("f", "")
	if diff := cmp.Diff([]string{"f: " + key.ID + " ***** /dev/null latest"}, w.logged()); diff != "" {
		t.Error(diff)
	}
}

// TestInvokeByARN checks that a caller without an account and region must name a function by its ARN.
func TestInvokeByARN(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, nil)
	w.create("f", node("index.handler"), inline("exports.handler = async () => 1"))
	reply, err := w.Invoke(t.Context(), lambda.Call{Function: "arn:aws:lambda:us-east-1:000000000000:function:f"})
	if err != nil || string(reply.Payload) != "1" {
		t.Errorf("%+v, %v", reply, err)
	}
	if _, err := w.Invoke(t.Context(), lambda.Call{Function: "f"}); err == nil {
		t.Error("a name of no place")
	}
}

func TestCallRefused(t *testing.T) {
	w := newWorld(t, nil)
	w.create("f", node("index.handler"), inline(""))
	for _, test := range []struct{ function, qualifier, payload, want string }{
		{"f", "", "{", "InvalidRequestContentException 400"},
		{"f", "", `"` + strings.Repeat("x", 6<<20) + `"`, "RequestTooLargeException 413"},
		{"f:1", "2", "", "InvalidParameterValueException 400"},
		{"f!", "", "", "ValidationException 400"},
		{"none", "", "", "ResourceNotFoundException 404"},
	} {
		_, err := w.Invoke(t.Context(), lambda.Call{Scope: home, Function: test.function, Qualifier: test.qualifier, Payload: []byte(test.payload)})
		var reported *lambda.Error
		if !errors.As(err, &reported) || reported.Code+" "+map[int]string{400: "400", 404: "404", 413: "413"}[reported.Status] != test.want {
			t.Errorf("%s: %v, want %s", test.function, err, test.want)
		}
	}
	if _, err := lambda.New(lambda.Config{Catalog: &registry.Catalog{}}); err == nil {
		t.Error("functions without a runtime")
	}
}
