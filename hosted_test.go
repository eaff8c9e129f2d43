package pintle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

// lasting is a provider whose operations are done at the third poll.
type lasting struct {
	hang <-chan bool // blocks the second poll; nil: none
}

type lastingProperties struct {
	Do     string
	Secret pintle.Secret
}

func (lasting) Create(context.Context, *pintle.CreateRequest[lastingProperties]) (pintle.Response[map[string]string], error) {
	return pintle.Response[map[string]string]{ID: "it", Attributes: map[string]string{"A": "1"}, State: "job 7"}, nil
}

func (lasting) Update(context.Context, *pintle.UpdateRequest[lastingProperties]) (pintle.Response[map[string]string], error) {
	return pintle.Response[map[string]string]{}, nil
}

func (lasting) Delete(context.Context, *pintle.DeleteRequest[lastingProperties]) error { return nil }

func (l lasting) Poll(_ context.Context, r *pintle.PollRequest[lastingProperties]) (pintle.Progress[map[string]string], error) {
	if r.Type == pintle.Create && string(r.State) != `"job 7"` {
		return pintle.Progress[map[string]string]{}, fmt.Errorf("state %s", r.State)
	}
	p := pintle.Progress[map[string]string]{Done: r.Try >= 3, Reason: fmt.Sprintf("asked %d times, with %s", r.Try, r.Properties.Secret.Reveal()), After: time.Second}
	if l.hang != nil && r.Try == 2 {
		<-l.hang
	}
	if r.Properties.Do == "quick" {
		p.After = time.Millisecond
	}
	return p, nil
}

// running runs a program until the test ends.
func running(t *testing.T, c pintle.RunConfig) *bytes.Buffer {
	t.Helper()
	var log bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- pintle.Run(ctx, c) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		for _, secret := range []string{"5ec2e7", "hunter2"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("the log shows %s:\n%s", secret, &log)
			}
		}
	})
	return &log
}

// An engine that hosts the program keeps the wait.
func TestHostedWait(t *testing.T) {
	l := newLambda(t)
	l.waits = true
	running(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: []pintle.Handler{pintle.New(lasting{})}, Client: l.Client()}, LambdaRuntimeAPI: l.api()})
	event := l.event(t, pintle.Create, "", "", "")
	var last []byte
	for try := 1; try <= 3; try++ {
		l.events <- event
		got := <-l.results
		if try == 3 {
			if got != (result{"invocation/i-1/response", "{}"}) {
				t.Errorf("the runtime received %v", got)
			}
			break
		}
		w, ok, err := wire.ParseWaiting([]byte(got.body))
		if !ok || err != nil || got.path != "invocation/i-1/response" {
			t.Fatalf("the runtime received %v: %v", got, err)
		}
		if want := fmt.Sprintf("asked %d times, with ****", try); w.Reason != want || w.After != time.Second || w.PhysicalResourceID != "it" {
			t.Errorf("%v, %q, want %q", w, w.Reason, want)
		}
		if try == 1 { // delivered again, because the reply was lost
			l.events <- event
			again, ok, err := wire.ParseWaiting([]byte((<-l.results).body))
			if !ok || err != nil || string(again.Pending) != string(w.Pending) {
				t.Errorf("again: %v, %v", again, err)
			}
		}
		request, err := wire.ParseRequest([]byte(l.event(t, pintle.Create, "", "", "&fresh="+fmt.Sprint(try))))
		if err != nil {
			t.Fatal(err)
		}
		resume, err := wire.Resume{Pending: w.Pending, Try: try, Request: request}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		event, last = string(resume), resume
	}
	if body := <-l.puts; !strings.Contains(string(body), `"SUCCESS","Reason":"asked 3 times, with ****","PhysicalResourceId":"it"`) ||
		!strings.HasSuffix(string(body), `"Data":{"A":"1"}}`) {
		t.Errorf("response %s", body)
	}
	// Once more, after the answer.
	l.events <- string(last)
	if body := <-l.puts; !strings.Contains(string(body), "SUCCESS") {
		t.Errorf("response %s", body)
	}
	<-l.results
	for event, want := range map[string]string{
		`{"pintleResume":{"try":1},"request":{}}`:             "Pintle.BadEvent",
		`{"pintleResume":{"try":1,"pending":1},"request":{}}`: "Pintle.BadEvent",
	} {
		l.events <- event
		if got := <-l.results; !strings.HasSuffix(got.path, "/error") || !strings.Contains(got.body, want) {
			t.Errorf("the runtime received %v", got)
		}
	}
	if len(l.puts) != 0 {
		t.Errorf("%d responses more", len(l.puts))
	}
}

// If an engine shortens the time of a request, it gets an answer in that time, with the ID of the new resource.
func TestHostedWaitWithShorterTimeout(t *testing.T) {
	l := newLambda(t)
	l.waits = true
	running(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: []pintle.Handler{pintle.New(lasting{})}, Client: l.Client()}, LambdaRuntimeAPI: l.api()})
	event := l.event(t, pintle.Create, "", "", "")
	l.events <- event
	w, ok, err := wire.ParseWaiting([]byte((<-l.results).body))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	request, err := wire.ParseRequest([]byte(event))
	if err != nil {
		t.Fatal(err)
	}
	// The clock of the engine may be ahead. This is its last poll.
	resume, err := wire.Resume{Pending: w.Pending, Try: 1, Until: time.Now().Add(1900 * time.Millisecond), Request: request}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	l.events <- string(resume)
	if body := <-l.puts; !strings.Contains(string(body), `"FAILED","Reason":"Operation timed out: not ready after `) ||
		!strings.Contains(string(body), `"PhysicalResourceId":"it"`) {
		t.Errorf("response %s", body)
	}
	<-l.results
}

// Without the engine's header, the program does not reply with a wait, and an event that polls is not a request.
func TestHostedWaitWithoutHeader(t *testing.T) {
	l := newLambda(t)
	running(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: []pintle.Handler{pintle.New(lasting{})}, Client: l.Client()}, LambdaRuntimeAPI: l.api()})
	l.events <- l.event(t, pintle.Create, "", "quick", "")
	if got := <-l.results; got != (result{"invocation/i-1/response", "{}"}) {
		t.Errorf("the runtime received %v", got)
	}
	if body := <-l.puts; !strings.Contains(string(body), `"SUCCESS"`) {
		t.Errorf("response %s", body)
	}
	request, err := wire.ParseRequest([]byte(l.event(t, pintle.Create, "", "", "")))
	if err != nil {
		t.Fatal(err)
	}
	resume, err := wire.Resume{Pending: []byte(`{"version":1}`), Try: 1, Request: request}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	l.events <- string(resume)
	if got := <-l.results; !strings.HasSuffix(got.path, "/error") || !strings.Contains(got.body, "request is not valid") {
		t.Errorf("the runtime received %v", got)
	}
}

// resumer is a waiter that resumes immediately, in this process and by events.
type resumer struct {
	pending chan pintle.Pending
	err     error // of Run, which then returns immediately
}

func (r *resumer) Wait(_ context.Context, p pintle.Pending) error {
	r.pending <- p
	return nil
}

func (r *resumer) Waits(context.Context, string) (bool, error) { return false, nil }

func (r *resumer) Run(ctx context.Context, resume pintle.ResumeFunc) error {
	for r.err == nil {
		select {
		case <-ctx.Done():
			return nil
		case p := <-r.pending:
			next, err := resume(ctx, p)
			if err != nil {
				return err
			}
			if next != nil {
				r.pending <- *next
			}
		}
	}
	return r.err
}

func (r *resumer) Event(ctx context.Context, event []byte, resume pintle.ResumeFunc) ([]byte, bool, error) {
	if !strings.HasPrefix(string(event), `{"tick"`) {
		return nil, false, nil
	}
	if _, ok := ctx.Deadline(); !ok {
		return nil, true, errors.New("the context has no deadline")
	}
	next, err := resume(ctx, <-r.pending)
	if next != nil {
		r.pending <- *next
	}
	return fmt.Appendf(nil, `{"waits":%v}`, next != nil), true, err
}

// Run runs a waiter that works in this process.
func TestRunningWaiter(t *testing.T) {
	l := newLambda(t)
	running(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.New(lasting{})},
		Client:   l.Client(),
		Waiter:   &resumer{pending: make(chan pintle.Pending, 1)},
	}, LambdaRuntimeAPI: l.api()})
	l.events <- l.event(t, pintle.Create, "", "", "")
	if got := <-l.results; got != (result{"invocation/i-1/response", "{}"}) {
		t.Errorf("the runtime received %v", got)
	}
	if body := <-l.puts; !strings.Contains(string(body), `"SUCCESS","Reason":"asked 3 times, with ****","PhysicalResourceId":"it"`) {
		t.Errorf("response %s", body)
	}
	broken := errors.New("database is away")
	err := pintle.Run(t.Context(), pintle.RunConfig{ServerConfig: pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.New(lasting{})},
		Client:   l.Client(),
		Waiter:   &resumer{err: broken},
	}, LambdaRuntimeAPI: l.api()})
	if !errors.Is(err, broken) {
		t.Errorf("Run: %v", err)
	}
}

// onlyEvents has no method Run.
type onlyEvents struct{ r *resumer }

func (o onlyEvents) Wait(ctx context.Context, p pintle.Pending) error { return o.r.Wait(ctx, p) }
func (o onlyEvents) Waits(ctx context.Context, key string) (bool, error) {
	return o.r.Waits(ctx, key)
}
func (o onlyEvents) Event(ctx context.Context, event []byte, resume pintle.ResumeFunc) ([]byte, bool, error) {
	return o.r.Event(ctx, event, resume)
}

// A waiter that handles events gets them, and the function returns its result.
func TestEventWaiter(t *testing.T) {
	l := newLambda(t)
	running(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.New(lasting{})},
		Client:   l.Client(),
		Waiter:   onlyEvents{&resumer{pending: make(chan pintle.Pending, 1)}},
	}, LambdaRuntimeAPI: l.api()})
	for n, event := range []string{l.event(t, pintle.Create, "", "", ""), `{"tick":1}`, `{"tick":2}`} {
		l.events <- event
		want := []string{"{}", `{"waits":true}`, `{"waits":false}`}[n]
		if got := <-l.results; got != (result{"invocation/i-1/response", want}) {
			t.Errorf("the runtime received %v, want %s", got, want)
		}
	}
	if body := <-l.puts; !strings.Contains(string(body), "SUCCESS") {
		t.Errorf("response %s", body)
	}
}

// A handler that was abandoned during an event of the waiter ends the program, like any other.
func TestEventWaiterRunaway(t *testing.T) {
	l := newLambda(t)
	l.timeout = 5 * time.Second // a fifth of it is for the response, on a machine that may be busy
	hang := make(chan bool)
	defer close(hang)
	ended := make(chan error, 1)
	go func() {
		ended <- pintle.Run(t.Context(), pintle.RunConfig{ServerConfig: pintle.ServerConfig{
			Handlers: []pintle.Handler{pintle.New(lasting{hang})},
			Client:   l.Client(),
			Logger:   slog.New(slog.DiscardHandler),
			Waiter:   onlyEvents{&resumer{pending: make(chan pintle.Pending, 1)}},
		}, LambdaRuntimeAPI: l.api()})
	}()
	for _, event := range []string{l.event(t, pintle.Create, "", "", ""), `{"tick":1}`} {
		l.events <- event
		<-l.results
	}
	if body := <-l.puts; !strings.Contains(string(body), `"FAILED","Reason":"ran out of time`) || !strings.Contains(string(body), `"PhysicalResourceId":"it"`) {
		t.Errorf("response %s", body)
	}
	if err := <-ended; !errors.Is(err, pintle.ErrHandlerStuck) {
		t.Errorf("Run: %v", err)
	}
}
