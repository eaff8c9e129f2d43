package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// withoutLog compares outcomes without their logs, and without the reports that their texts were made of.
var withoutLog = cmpopts.AcyclicTransformer("WithoutLog", func(o local.Outcome) local.Outcome {
	o.Log = nil
	switch o.Kind {
	case local.Errored, local.InitFailed:
		o.Result = nil
	case local.Returned, local.Exited, local.Crashed, local.TimedOut, local.Stopped, local.Waiting:
	}
	return o
})

func TestOutcomes(t *testing.T) {
	k := newKit(t, "handle", nil)
	tests := []struct {
		name string
		task task
		want local.Outcome
	}{
		{"answer", task{Do: "answer", Answer: `{"a":1}`}, local.Outcome{
			Kind: local.Returned, Delivered: true, Result: []byte(`{"a":1}`),
		}},
		{"error", task{Do: "error", Answer: `{"errorType":"Oops","errorMessage":"see X-Amz-Signature=abcdef0123"}`}, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: "Oops", Message: "see X-Amz-Signature=REDACTED",
		}},
		{"error without form", task{Do: "error", Answer: "went \x1b[31mwrong"}, local.Outcome{
			Kind: local.Errored, Delivered: true, Message: "went wrong",
		}},
		{"exit", task{Do: "exit", Code: 7}, local.Outcome{
			Kind: local.Exited, Delivered: true, ExitCode: 7,
			Message: "the provider's process exited with code 7 while it handled the event",
		}},
		{"exit with 0", task{Do: "exit"}, local.Outcome{
			Kind: local.Exited, Delivered: true,
			Message: "the provider's process exited with code 0 while it handled the event",
		}},
		{"panic", task{Do: "panic"}, local.Outcome{
			Kind: local.Exited, Delivered: true, ExitCode: 2,
			Message: "the provider's process exited with code 2 while it handled the event",
		}},
		{"signal", task{Do: "kill"}, local.Outcome{
			Kind: local.Crashed, Delivered: true, Signal: "killed",
			Message: "a signal (killed) ended the provider's process while it handled the event",
		}},
		{"no response", task{Do: "skip"}, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: "Runtime.NoResponse",
			Message: "the provider's process asked for its next event before it posted a response to this one",
		}},
		{"output too large", task{Do: "large"}, local.Outcome{
			Kind: local.Errored, Delivered: true, Type: "Function.ResponseSizeTooLarge",
			Message: "the handler returned more than 6291456 bytes",
		}},
		{"answer to another event", task{Do: "wrong-id"}, local.Outcome{
			Kind: local.Returned, Delivered: true, Result: []byte("400"),
		}},
		{"init error too late", task{Do: "late-init-error"}, local.Outcome{
			Kind: local.Returned, Delivered: true, Result: []byte("403"),
		}},
		{"calls from a browser", task{Do: "browser"}, local.Outcome{
			Kind: local.Returned, Delivered: true, Result: []byte("[403 403 403]"),
		}},
		{"answer and exit", task{Do: "answer-and-exit"}, local.Outcome{
			Kind: local.Returned, Delivered: true, Result: []byte(`"bye"`),
		}},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := k.run(strconv.Itoa(i), test.task)
			if diff := cmp.Diff(test.want, got, withoutLog); diff != "" {
				t.Error(diff)
			}
			// In all cases, the next event is handled.
			after := k.run("after", task{Do: "answer", Answer: "1"})
			if diff := cmp.Diff(local.Outcome{Kind: local.Returned, Delivered: true, Result: []byte("1")}, after); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResultIsDroppedUnlessWanted(t *testing.T) {
	k := newKit(t, "handle", nil)
	event := local.Event{ID: "1", Payload: task{Do: "answer", Answer: `"x"`}.payload()}
	if err := k.Invoke("P", event); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(local.Outcome{Kind: local.Returned, Delivered: true}, k.next().outcome); diff != "" {
		t.Error(diff)
	}
}

// TestOverIsSetByFunctions checks that Over is set after the return of a Lambda function, but not of other handlers.
func TestOverIsSetByFunctions(t *testing.T) {
	for _, function := range []bool{false, true} {
		k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) {
			if function {
				p.Function = &local.Function{}
			}
		})
		k.invoke("a", task{Do: "answer", Answer: `1`})
		if got := k.next().outcome; got.Kind != local.Returned || got.Over != function {
			t.Errorf("of a function: %v, got %v and over: %v", function, got, got.Over)
		}
		k.invoke("b", task{Do: "exit", Code: 3})
		if got := k.next().outcome; got.Kind == local.Returned || got.Over {
			t.Errorf("of a function that failed: %v, got %v and over: %v", function, got, got.Over)
		}
	}
}

func TestInitFailures(t *testing.T) {
	tests := map[string]local.Outcome{
		"init-exit": {
			Kind: local.InitFailed, ExitCode: 3, Log: []string{"no database"},
			Message: "the provider's process exited with code 3 before it asked for an event",
		},
		"init-kill": {
			Kind: local.InitFailed, Signal: "killed",
			Message: "a signal (killed) ended the provider's process before it asked for an event",
		},
		"init-error": {
			Kind: local.InitFailed, Type: "Import", Message: "cannot import X-Amz-Signature=REDACTED",
			Result: []byte(`{"errorType":"Import","errorMessage":"cannot import X-Amz-Signature=0123456789abcdef"}`),
		},
		"init-hang": {
			Kind: local.InitFailed, Message: "the provider's process did not ask for an event within 50ms",
		},
	}
	for behaviour, want := range tests {
		t.Run(behaviour, func(t *testing.T) {
			k := newKit(t, behaviour, func(c *local.Config, _ *local.Provider) {
				if behaviour == "init-hang" {
					c.InitTimeout = 50 * time.Millisecond
				}
			})
			for _, id := range []string{"1", "2"} { // the second after a pause
				if diff := cmp.Diff(want, k.run(id, task{Do: "answer"})); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestProgramCannotBeStarted(t *testing.T) {
	file := t.TempDir() + "/program"
	if err := os.WriteFile(file, []byte("\x00not a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	target, err := local.ParseTarget("", file)
	if err != nil {
		t.Fatal(err)
	}
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Target = target })
	got := k.run("1", task{})
	if got.Kind != local.InitFailed || got.Delivered || !strings.Contains(got.Message, "exec format error") {
		t.Errorf("got %+v, want InitFailed with the system's error", got)
	}
}

func TestTimeout(t *testing.T) {
	p := newPost(t)
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Timeout = 500 * time.Millisecond })
	got := k.run("1", task{Do: "hang", Dial: p.addr(), Print: []string{"waiting for the database"}})
	want := local.Outcome{
		Kind: local.TimedOut, Delivered: true, Log: []string{"waiting for the database"},
		Message: "the handler was still running after its timeout of 500ms, and its process was killed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first := p.accept()
	if err := syscall.Kill(first.pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("signal to the timed out process: %v, want that it has ended", err)
	}
	// The next process is a new one.
	k.run("2", task{Do: "hang", Dial: p.addr()})
	if second := p.accept(); second.pid == first.pid {
		t.Error("the killed process served again")
	}
}

func TestDeadline(t *testing.T) {
	const late = "the event's deadline passed before a process was ready for it"
	tests := []struct {
		name, behaviour string
		in              time.Duration
		want            local.Outcome
	}{
		{"passed", "handle", -time.Second, local.Outcome{Kind: local.TimedOut, Message: late}},
		{"passes at the start", "init-hang", 100 * time.Millisecond, local.Outcome{Kind: local.TimedOut, Message: late}},
		{"passes in the handler", "handle", 500 * time.Millisecond, local.Outcome{
			Kind: local.TimedOut, Delivered: true,
			Message: "the handler was still running at the event's deadline, and its process was killed",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			k := newKit(t, test.behaviour, nil)
			if test.want.Delivered { // then a process must exist in time
				k.run("warm", task{Do: "answer"})
			}
			event := local.Event{ID: "1", Payload: task{Do: "hang"}.payload(), Deadline: time.Now().Add(test.in)}
			if err := k.Invoke("P", event); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, k.next().outcome); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvironmentAndHeaders(t *testing.T) {
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) {
		c.Environ = []string{"PATH=" + os.Getenv("PATH"), "AWS_REGION=shell", "MINE=no", "GOCOVERDIR=" + t.TempDir(),
			"http_proxy=http://proxy:3128", "NO_PROXY=corp.example,127.0.0.1"}
		c.Env = map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "MINE": "no"}
		c.Region, c.Account = "eu-west-1", "123456789012"
		p.Env["MINE"] = "yes"
		p.Handler = "index.handler"
		p.Timeout = time.Hour
	})
	before := time.Now()
	var got struct {
		Env    []string
		Header map[string][]string
	}
	if err := json.Unmarshal(k.run("11111111-2222", task{Do: "describe"}).Result, &got); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	env := map[string]string{}
	for _, kv := range got.Env {
		name, text, _ := strings.Cut(kv, "=")
		env[name] = text
	}
	stream := env["AWS_LAMBDA_LOG_STREAM_NAME"]
	if !strings.Contains(stream, "/[$LATEST]") || len(stream) != len("2006/01/02/[$LATEST]")+32 {
		t.Errorf("log stream name %q", stream)
	}
	if !strings.HasPrefix(env["AWS_LAMBDA_RUNTIME_API"], "127.0.0.1:") {
		t.Errorf("runtime API at %q", env["AWS_LAMBDA_RUNTIME_API"])
	}
	dir := env["LAMBDA_TASK_ROOT"]
	if !strings.HasPrefix(os.Args[0], dir) || dir == "" {
		t.Errorf("task root %q", dir)
	}
	want := map[string]string{
		"_HANDLER": "index.handler", "AWS_LAMBDA_FUNCTION_NAME": "P", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128", "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/P",
		"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_EXECUTION_ENV": "AWS_Lambda_provided.al2023",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "pintle", "AWS_SECRET_ACCESS_KEY": "pintle",
		"MINE": "yes", "PWD": dir,
		"http_proxy": "http://proxy:3128", "NO_PROXY": "corp.example,127.0.0.1,localhost", "no_proxy": "corp.example,127.0.0.1,localhost",
	}
	for name, text := range want {
		if env[name] != text {
			t.Errorf("%s is %q, want %q", name, env[name], text)
		}
	}
	header := func(name string) string { return strings.Join(got.Header[name], ",") }
	if id := header("Lambda-Runtime-Aws-Request-Id"); id != "i-11111111-2222" {
		t.Errorf("request ID %q", id)
	}
	if arn := header("Lambda-Runtime-Invoked-Function-Arn"); arn != "arn:aws:lambda:eu-west-1:123456789012:function:P" {
		t.Errorf("function ARN %q", arn)
	}
	if id := header("Lambda-Runtime-Trace-Id"); !strings.HasPrefix(id, "Root=1-") {
		t.Errorf("trace ID %q", id)
	}
	ms, err := strconv.ParseInt(header("Lambda-Runtime-Deadline-Ms"), 10, 64)
	if err != nil || ms < before.Add(time.Hour).UnixMilli() || ms > after.Add(time.Hour).UnixMilli() {
		t.Errorf("deadline %d (%v), want an hour from now", ms, err)
	}
}

func TestTwoAtOnce(t *testing.T) {
	p := newPost(t)
	k := newKit(t, "handle", nil)
	k.invoke("1", task{Do: "release", Answer: p.addr()})
	k.invoke("2", task{Do: "release", Answer: p.addr()})
	first, second := p.accept(), p.accept() // both are in their handlers now
	if first.pid == second.pid {
		t.Error("one process got two events at once")
	}
	first.release(t)
	second.release(t)
	k.next()
	k.next()
}

func TestQueueIsBounded(t *testing.T) {
	p := newPost(t)
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) { c.Queue, p.Concurrency = 2, 1 })
	k.invoke("1", task{Do: "release", Answer: p.addr()})
	busy := p.accept()
	k.invoke("2", task{Do: "answer", Answer: "2"})
	k.invoke("3", task{Do: "answer", Answer: "3"})
	event := local.Event{ID: "4", Payload: task{Do: "answer"}.payload()}
	if err := k.Invoke("P", event); !errors.Is(err, local.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	busy.release(t)
	for _, id := range []string{"1", "2", "3"} { // in order
		if r := k.next(); r.id != id || r.outcome.Kind != local.Returned {
			t.Errorf("got %s %v, want %s returned", r.id, r.outcome, id)
		}
	}
}

func TestHundredEventsOverFewProcesses(t *testing.T) {
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) { c.Queue, p.Concurrency = 100, 3 })
	for i := range 100 {
		k.invoke(strconv.Itoa(i), task{Do: "describe"})
	}
	pids, ids := map[int]bool{}, map[string]bool{}
	for range 100 {
		r := k.next()
		var got struct {
			Pid    int
			Header map[string][]string
		}
		if err := json.Unmarshal(r.outcome.Result, &got); err != nil {
			t.Fatalf("%v: %v", r.outcome, err)
		}
		if id := got.Header["Lambda-Runtime-Aws-Request-Id"]; !slices.Equal(id, []string{"i-" + r.id}) {
			t.Errorf("the outcome of %s was reported for %s", id, r.id)
		}
		pids[got.Pid], ids[r.id] = true, true
	}
	if len(ids) != 100 || len(pids) > 3 {
		t.Errorf("%d events in %d processes, want 100 in at most 3", len(ids), len(pids))
	}
}

func TestIdleProcessEnds(t *testing.T) {
	p := newPost(t)
	k := newKit(t, "handle", func(c *local.Config, _ *local.Provider) { c.Idle = 50 * time.Millisecond })
	if got := k.run("1", task{Do: "answer", Dial: p.addr()}); got.Kind != local.Returned {
		t.Fatal(got)
	}
	p.accept().gone(t)
	if got := k.run("2", task{Do: "answer"}); got.Kind != local.Returned {
		t.Error(got)
	}
}

func TestWarmProcessThatDiedIsReplaced(t *testing.T) {
	p := newPost(t)
	k := newKit(t, "handle", nil)
	k.run("1", task{Do: "answer", Dial: p.addr()})
	first := p.accept()
	if err := syscall.Kill(first.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	first.gone(t)
	for i := range 3 {
		// The dying process's pending request may still get this event, but no later one.
		got := k.run(fmt.Sprint("again", i), task{Do: "answer", Dial: p.addr()})
		if got.Kind == local.Returned {
			if second := p.accept(); second.pid == first.pid {
				t.Error("a dead process answered")
			}
			return
		}
	}
	t.Error("the dead process was not replaced")
}

func TestCloseLeavesNoProcess(t *testing.T) {
	p := newPost(t)
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) {
		c.Grace = 100 * time.Millisecond
		p.Concurrency = 4
	})
	k.run("idle", task{Do: "answer", Dial: p.addr()})
	visitors := []*visitor{p.accept()}
	k.invoke("hang", task{Do: "hang", Dial: p.addr()}) // in the idle process
	k.invoke("stubborn", task{Do: "stubborn", Answer: p.addr()})
	k.invoke("child", task{Do: "child", Answer: p.addr()})
	k.invoke("last", task{Do: "answer", Dial: p.addr()})
	k.next()
	for range 5 { // hang, stubborn, child and its parent, last
		visitors = append(visitors, p.accept())
	}
	k.Close()
	kinds := map[string]local.OutcomeKind{}
	for range 3 {
		r := k.next()
		kinds[r.id] = r.outcome.Kind
		if !r.outcome.Delivered {
			t.Errorf("%s: not delivered", r.id)
		}
	}
	want := map[string]local.OutcomeKind{"hang": local.Stopped, "stubborn": local.Stopped, "child": local.Stopped}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	for _, v := range visitors {
		v.gone(t)
	}
	if err := syscall.Kill(visitors[0].pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("signal after Close: %v, want no such process", err)
	}
	if err := k.Invoke("P", local.Event{ID: "1"}); !errors.Is(err, local.ErrClosed) {
		t.Errorf("Invoke after Close: %v, want ErrClosed", err)
	}
	if err := k.Prepare(context.Background(), "P"); !errors.Is(err, local.ErrClosed) {
		t.Errorf("Prepare after Close: %v, want ErrClosed", err)
	}
}

func TestCloseReportsWhatIsQueued(t *testing.T) {
	p := newPost(t)
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Concurrency = 1 })
	k.invoke("1", task{Do: "last-answer", Answer: p.addr()})
	p.accept()
	k.invoke("2", task{Do: "answer"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.Run(ctx); err != nil {
		t.Fatal(err)
	}
	want := []report{
		{"1", local.Outcome{Kind: local.Returned, Delivered: true, Result: []byte(`"in time"`)}},
		{"2", local.Outcome{Kind: local.Stopped, Message: "the engine stopped before the event ended"}},
	}
	if diff := cmp.Diff(want, []report{k.next(), k.next()}, cmp.AllowUnexported(report{})); diff != "" {
		t.Error(diff)
	}
}

func TestProcessesDieWithTheirHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a process to its parent")
	}
	p := newPost(t)
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), behaviourVar+"=host", "TEST_DIAL="+p.addr())
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	provider := p.accept()
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	provider.gone(t)
}

func TestSetReplaces(t *testing.T) {
	p := newPost(t)
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Concurrency = 1 })
	k.invoke("1", task{Do: "release", Answer: p.addr()})
	old := p.accept()
	k.invoke("2", task{Do: "describe"}) // queued for the old provider

	target, err := local.ParseTarget("", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	err = k.Set(local.Provider{
		Name: "P", Target: target, Env: map[string]string{behaviourVar: "handle", "NEW": "yes"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := k.run("3", task{Do: "describe"}); !strings.Contains(string(got.Result), `"NEW=yes"`) {
		t.Errorf("the new provider was not used: %v", got)
	}
	old.release(t)
	k.next()
	if got := k.next(); got.id != "2" || strings.Contains(string(got.outcome.Result), `"NEW=yes"`) {
		t.Errorf("%s: %v, want that the old provider handles what it had accepted", got.id, got.outcome)
	}
	old.gone(t)
}

func TestInvokeRefuses(t *testing.T) {
	k := newKit(t, "handle", nil)
	if err := k.Invoke("Q", local.Event{ID: "1"}); !errors.Is(err, local.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	for _, id := range []string{"", "a/b", "a\r\nb", strings.Repeat("a", 129)} {
		if err := k.Invoke("P", local.Event{ID: id}); err == nil {
			t.Errorf("ID %q was accepted", id)
		}
	}
	if !k.Has("P") || k.Has("Q") {
		t.Error("Has: want P and not Q")
	}
}

func TestNewRefuses(t *testing.T) {
	target, err := local.ParseTarget("", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	address, err := local.ParseTarget("", "http://127.0.0.1:1/")
	if err != nil {
		t.Fatal(err)
	}
	done := func(string, local.Outcome) {}
	for name, config := range map[string]local.Config{
		"Done":     {},
		"negative": {Done: done, Queue: -1},
		"name":     {Done: done, Providers: []local.Provider{{Target: target}}},
		"target":   {Done: done, Providers: []local.Provider{{Name: "P"}}},
		"URL":      {Done: done, Providers: []local.Provider{{Name: "P", Target: address}}},
		"timeout":  {Done: done, Providers: []local.Provider{{Name: "P", Target: target, Timeout: -1}}},
		"reserved": {Done: done, Providers: []local.Provider{
			{Name: "P", Target: target, Env: map[string]string{"AWS_LAMBDA_RUNTIME_API": "x"}},
		}},
		"variable": {Done: done, Providers: []local.Provider{{Name: "P", Target: target, Env: map[string]string{"A=B": "x"}}}},
	} {
		if _, err := local.New(config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestTraceOfAnEvent checks that a process gets the trace of its event.
func TestTraceOfAnEvent(t *testing.T) {
	k := newKit(t, "handle", nil)
	event := local.Event{
		ID: "1", Payload: task{Do: "describe"}.payload(), WantResult: true, Trace: trace.Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
	}
	if err := k.Invoke("P", event); err != nil {
		t.Fatal(err)
	}
	var got struct{ Header map[string][]string }
	if err := json.Unmarshal(k.next().outcome.Result, &got); err != nil {
		t.Fatal(err)
	}
	if text, want := strings.Join(got.Header["Lambda-Runtime-Trace-Id"], ","), event.Trace.XRay(); text != want {
		t.Errorf("the event is of the trace %q, want %q", text, want)
	}
}
