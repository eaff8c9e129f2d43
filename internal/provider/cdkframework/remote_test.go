package cdkframework_test

import (
	"context"
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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/cdkframework"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// patience is how long a test waits before it fails.
const patience = 30 * time.Second

// kit is a runtime with a Python function F. It records the outcomes of other events.
type kit struct {
	*local.Runtime
	t     *testing.T
	calls *cdkframework.Calls
	done  chan local.Outcome

	mu    sync.Mutex
	lines []string
}

func newKit(t *testing.T, function string, change func(*local.Config)) *kit {
	t.Helper()
	require.Tool(t, "python3")
	file := filepath.Join(t.TempDir(), "f.py")
	if err := os.WriteFile(file, []byte(function), 0o600); err != nil {
		t.Fatal(err)
	}
	provider, err := local.ParseFunction("", project.Provider{Name: "F", Target: file, Concurrency: 1}, bootstrap.OnEvent)
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{t: t, calls: cdkframework.NewCalls(), done: make(chan local.Outcome, 100)}
	config := local.Config{
		Providers: []local.Provider{provider}, CacheDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Done: func(id string, o local.Outcome) {
			if !k.calls.Done(id, o) {
				k.done <- o
			}
		},
		Log: func(_, id, line string) {
			request, _ := k.calls.Request(id)
			k.mu.Lock()
			defer k.mu.Unlock()
			k.lines = append(k.lines, request+": "+line)
		},
	}
	if change != nil {
		change(&config)
	}
	if k.Runtime, err = local.New(config); err != nil {
		t.Fatal(err)
	}
	k.calls.Use(k)
	t.Cleanup(func() { k.Close() })
	return k
}

func (k *kit) function() func(context.Context, []byte) ([]byte, error) {
	return k.calls.Function("onEvent", func() (string, error) { return "F", nil })
}

func (k *kit) next() local.Outcome {
	k.t.Helper()
	select {
	case o := <-k.done:
		return o
	case <-time.After(patience):
		k.t.Fatal("no outcome was reported")
		return local.Outcome{}
	}
}

const answering = `
def on_event(event, context):
    do = event.get("Do")
    if do == "raise":
        raise ValueError("not with " + event["Secret"])
    if do == "exit":
        raise SystemExit(3)
    if do == "print":
        print("printed", event["Secret"])
    return event
`

func TestFunction(t *testing.T) {
	k := newKit(t, answering, nil)
	k.calls.Begin(local.Event{ID: "r1", Secrets: []string{"open-sesame"}})
	tests := []struct{ event, result, err string }{
		{`{"RequestId":"r1"}`, `{"RequestId": "r1"}`, ""},
		{`{"RequestId":"r1","Do":"print","Secret":"open-sesame"}`, `{"RequestId": "r1", "Do": "print", "Secret": "open-sesame"}`, ""},
		{`{"RequestId":"r1","Do":"raise","Secret":"open-sesame"}`, "", "onEvent: ValueError: not with *****"},
		{`{"RequestId":"r1","Do":"exit"}`, "", "onEvent: the provider's process exited with code 3 while it handled the event"},
	}
	for _, test := range tests {
		result, err := k.function()(t.Context(), []byte(test.event))
		if string(result) != test.result || fmt.Sprint(err) != test.err && (err != nil || test.err != "") {
			t.Errorf("%s: got %s, %v", test.event, result, err)
		}
		if ended := (*cdkframework.FunctionError)(nil); test.err != "" && !errors.As(err, &ended) {
			t.Errorf("%s: got a %T", test.event, err)
		}
	}
	want := []string{"r1: printed *****", "r1: [ERROR] ValueError: not with *****", "r1: Traceback (most recent call last):"}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lines) < len(want) {
		t.Fatalf("logged %q", k.lines)
	}
	if diff := cmp.Diff(want, k.lines[:len(want)]); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionIsFoundAtEachCall(t *testing.T) {
	k := newKit(t, answering, nil)
	gone := errors.New("there is no such provider")
	names := []string{"F", "G", ""}
	f := k.calls.Function("isComplete", func() (string, error) {
		name := names[0]
		if names = names[1:]; name == "" {
			return "", gone
		}
		return name, nil
	})
	for _, want := range []error{nil, local.ErrUnknown, gone} {
		if _, err := f(t.Context(), []byte("{}")); !errors.Is(err, want) || err != nil && !strings.HasPrefix(err.Error(), "isComplete: ") {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// TestFunctionIsBusy checks that calls wait if the function's processes and queue are full.
func TestFunctionIsBusy(t *testing.T) {
	k := newKit(t, answering, func(c *local.Config) { c.Queue = 1 })
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			event := fmt.Sprintf(`{"RequestId": "%d"}`, i)
			if result, err := k.function()(t.Context(), []byte(event)); err != nil || string(result) != event {
				t.Errorf("%d: got %s, %v", i, result, err)
			}
		})
	}
	all.Wait()
}

func TestFunctionTimesOut(t *testing.T) {
	k := newKit(t, "import threading\ndef on_event(event, context): threading.Event().wait()", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := k.function()(ctx, []byte("{}"))
	// Both deadlines expire at the same time.
	if !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(fmt.Sprint(err), "at the event's deadline") &&
		!strings.Contains(fmt.Sprint(err), "the event's deadline passed") {
		t.Errorf("got %v", err)
	}
}

// answers returns a response URL and the answers that it receives.
func answers(t *testing.T) (url string, got <-chan string) {
	bodies := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	}))
	t.Cleanup(server.Close)
	return server.URL, bodies
}

func request(t *testing.T, url string) []byte {
	text, err := json.Marshal(map[string]any{
		"RequestType": "Create", "ResponseURL": url, "StackId": "arn:aws:cloudformation:us-east-1:000000000000:stack/s/1",
		"RequestId": "r1", "LogicalResourceId": "Thing", "ResourceType": "Custom::Thing",
		"ResourceProperties": map[string]any{"ServiceToken": "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// serve makes P a provider whose handler calls F.
func (k *kit) serve() {
	k.t.Helper()
	handler := pintle.HandlerFunc(func(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
		event, err := json.Marshal(map[string]any{"RequestId": r.RequestID})
		if err != nil {
			return pintle.Answer{}, err
		}
		_, err = k.function()(ctx, event)
		return pintle.Answer{ID: "made"}, err
	})
	memory, err := pintle.NewMemoryStore(0)
	if err == nil {
		err = k.Set(local.Provider{Name: "P", Serve: cdkframework.Serve(handler, memory, cdkframework.Brief)})
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

func TestServe(t *testing.T) {
	k := newKit(t, answering, nil)
	k.serve()
	url, got := answers(t)
	// A second delivery gets the answer again.
	for range 2 {
		if err := k.Invoke("P", local.Event{ID: "r1", Payload: request(t, url)}); err != nil {
			t.Fatal(err)
		}
		if o := k.next(); o.Kind != local.Returned {
			t.Fatalf("got %s: %v", o, o.Log)
		}
		if body := <-got; !strings.Contains(body, `"SUCCESS"`) || !strings.Contains(body, `"made"`) {
			t.Errorf("answered %s", body)
		}
	}
}

// TestStopped checks that a stopping process sends no answer for a request whose function it has finished. The next one
// handles the request again.
func TestStopped(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	function := fmt.Sprintf("import socket, threading\ndef on_event(event, context):\n"+
		"  socket.create_connection(('127.0.0.1', %d))\n  threading.Event().wait()", listener.Addr().(*net.TCPAddr).Port)
	k := newKit(t, function, func(c *local.Config) { c.Grace = 500 * time.Millisecond })
	k.serve()
	url, got := answers(t)
	if err := k.Invoke("P", local.Event{ID: "r1", Payload: request(t, url)}); err != nil {
		t.Fatal(err)
	}
	begun, err := listener.Accept() // the function is running
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Close()
	k.Close()
	if o := k.next(); o.Kind != local.Stopped {
		t.Errorf("got %s", o)
	}
	if len(got) != 0 {
		t.Errorf("answered %s", <-got)
	}
}
