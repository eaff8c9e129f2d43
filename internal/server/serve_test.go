package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
)

// gate is a store whose decisions about requests wait until the test opens it, or their context ends.
type gate struct {
	store.Store
	entered chan struct{} // one for each waiting decision
	open    chan struct{}
	inside  atomic.Int32 // decisions that have not returned
}

func (g *gate) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	if target.Request != "" && !target.Alone {
		g.inside.Add(1)
		defer g.inside.Add(-1)
		g.entered <- struct{}{}
		select {
		case <-g.open:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.Store.Apply(ctx, target, decide)
}

func newGate(w *world) *gate {
	g := &gate{Store: w.store, entered: make(chan struct{}, 16), open: make(chan struct{})}
	w.store = g
	return g
}

type outcome struct {
	status int
	header http.Header
	err    error
}

// putLater answers in the background.
func (w *world) putLater(target, body string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		r, err := http.NewRequest(http.MethodPut, target, strings.NewReader(body))
		if err != nil {
			done <- outcome{err: err}
			return
		}
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			done <- outcome{err: err}
			return
		}
		reply.Body.Close()
		done <- outcome{status: reply.StatusCode, header: reply.Header}
	}()
	return done
}

// TestDrain checks that an answer that is being recorded when the server is stopped is still acknowledged.
func TestDrain(t *testing.T) {
	var g *gate
	w := newWorld(t, func(w *world, _ *server.Config) { g = newGate(w) })
	r := w.create("s")
	answered := w.putLater(w.responseURL(r), success(r, "x"))
	<-g.entered
	w.stop()
	// The listener closes first, so a refused connection means that the drain has started.
	for {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			break
		}
		conn.Close()
	}
	select {
	case err := <-w.ended:
		t.Fatalf("Serve returned (%v) before the answer was recorded", err)
	default:
	}
	close(g.open)
	if got := <-answered; got.status != 200 {
		t.Errorf("the answer got %+v", got)
	}
	if err := w.end(); err != nil {
		t.Error(err)
	}
	if got := w.status("s"); got != "CREATE_COMPLETE" {
		t.Errorf("the stack is %s", got)
	}
}

// TestDrainIsBounded checks that a request that does not finish is cancelled, and never acknowledged.
func TestDrainIsBounded(t *testing.T) {
	var g *gate
	w := newWorld(t, func(w *world, c *server.Config) {
		g = newGate(w)
		c.Drain = time.Millisecond
	})
	r := w.create("s")
	answered := w.putLater(w.responseURL(r), success(r, "x"))
	<-g.entered
	err := w.end()
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("Serve returned %v", err)
	}
	if n := g.inside.Load(); n != 0 {
		t.Errorf("Serve returned and left %d handlers behind", n)
	}
	if got := <-answered; got.err == nil && got.status != 503 {
		t.Errorf("the answer got %+v", got)
	}
	if got := w.status("s"); got != "CREATE_IN_PROGRESS" {
		t.Errorf("the stack is %s", got)
	}
}

// TestHangUp checks that an answer counts even if its sender disconnects afterwards.
func TestHangUp(t *testing.T) {
	var g *gate
	w := newWorld(t, func(w *world, _ *server.Config) { g = newGate(w) })
	r := w.create("s")
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, w.responseURL(r), strings.NewReader(success(r, "x")))
	w.must(err)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if reply, err := http.DefaultClient.Do(request); err == nil {
			reply.Body.Close()
		}
	}()
	<-g.entered
	cancel()
	<-gone
	close(g.open)
	if err := w.end(); err != nil {
		t.Error(err)
	}
	if got := w.status("s"); got != "CREATE_COMPLETE" {
		t.Errorf("the stack is %s", got)
	}
}

// TestBusy checks that senders of answers beyond the limit get a retry status, and that calls are still served.
func TestBusy(t *testing.T) {
	var g *gate
	w := newWorld(t, func(w *world, c *server.Config) {
		g = newGate(w)
		c.Concurrency, c.Wait = 1, time.Millisecond
	})
	r := w.create("s")
	first := w.putLater(w.responseURL(r), success(r, "x"))
	<-g.entered
	if got := <-w.putLater(w.responseURL(r), success(r, "x")); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("the second answer got %+v", got)
	}
	if status, body := w.call("cloudformation", "Action=ListStacks&Version=2010-05-15"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := w.send(http.MethodGet, w.url+"/healthz", "", nil); status != 200 {
		t.Errorf("health: %d", status)
	}
	close(g.open)
	if got := <-first; got.status != 200 {
		t.Errorf("the first answer got %+v", got)
	}
}

// TestBusyCalls checks the same for calls.
func TestBusyCalls(t *testing.T) {
	entered, open := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Concurrency, c.Wait = 1, time.Millisecond
		c.Hooks.Providers = func(context.Context) ([]provider, error) {
			entered <- struct{}{}
			<-open
			return nil, nil
		}
	})
	done := make(chan int, 1)
	go func() {
		status, _, _ := w.send(http.MethodGet, w.url+"/pintle/v1/providers", "", http.Header{"Authorization": {anyKey("pintle")}})
		done <- status
	}()
	<-entered
	status, body := w.call("cloudformation", "Action=ListStacks&Version=2010-05-15")
	if status != 503 || !strings.Contains(body, "<Code>ServiceUnavailable</Code><Message>The server is busy") {
		t.Errorf("%d %s", status, body)
	}
	close(open)
	if got := <-done; got != 200 {
		t.Errorf("the first call got %d", got)
	}
}

// TestPanic checks that a panic fails only one request, without details in the reply.
func TestPanic(t *testing.T) {
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Hooks.Providers = func(context.Context) ([]provider, error) { panic("index out of cheese") }
	})
	status, _, body := w.send(http.MethodGet, w.url+"/pintle/v1/providers", "", http.Header{"Authorization": {anyKey("pintle")}})
	if status != 500 || strings.Contains(body, "cheese") {
		t.Errorf("%d %s", status, body)
	}
	if log := w.log.String(); !strings.Contains(log, "serve_test.go") || strings.Contains(log, "cheese") {
		t.Errorf("the log, in which the stack should be and not the text, which may hold secrets: %s", log)
	}
	if status, body := w.call("cloudformation", "Action=ListStacks&Version=2010-05-15"); status != 200 {
		t.Errorf("after a panic: %d %s", status, body)
	}
}

// TestReadiness checks that the server is not ready while the check fails, and that it checks at most once a second
// and reports no details.
func TestReadiness(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	checks, failure := 0, error(nil)
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Now = func() time.Time { return now }
		c.ReadyCheck = func(context.Context) error {
			checks++
			return failure
		}
	})
	for _, step := range []struct {
		after   time.Duration
		failure error
		status  int
		body    string
		checks  int
	}{
		{0, nil, 200, "ready\n", 1},
		{999 * time.Millisecond, errors.New("disk full"), 200, "ready\n", 1},
		{time.Millisecond, errors.New("disk full"), 503, "not ready\n", 2},
		{time.Second, nil, 200, "ready\n", 3},
	} {
		now, failure = now.Add(step.after), step.failure
		status, _, body := w.send(http.MethodGet, w.url+"/readyz", "", nil)
		if status != step.status || body != step.body || checks != step.checks {
			t.Errorf("%d %q after %d checks, want %d %q after %d", status, body, checks, step.status, step.body, step.checks)
		}
	}
	if !strings.Contains(w.log.String(), "disk full") {
		t.Error("the log does not tell why")
	}
}

// TestServeFails checks that a failed listener ends Serve with an error.
func TestServeFails(t *testing.T) {
	var listener net.Listener
	w := newWorld(t, func(_ *world, c *server.Config) { listener = c.Listener })
	listener.Close()
	if err := <-w.ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v", err)
	}
	w.ended <- nil
}
