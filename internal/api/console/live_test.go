package console_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/server"
)

// stream opens the stream of an operation. next returns the name and the data of the next event, "" at the end.
func (b *browser) stream(path string) (code int, next func() (event, data string)) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.ctx, http.MethodGet, b.url+path, nil)
	b.must(err)
	r.Header.Set("Accept", "text/event-stream")
	reply, err := b.client.Do(r)
	b.must(err)
	b.t.Cleanup(func() { _ = reply.Body.Close() })
	lines := bufio.NewScanner(reply.Body)
	return reply.StatusCode, func() (event, data string) {
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "event":
				event = value
			case "data":
				data = value
			case "":
				return event, data
			}
		}
		return "", ""
	}
}

// TestLive checks that a stream reports every change until its operation has finished, and then ends.
func TestLive(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource(""), "B", resource("", `"DependsOn": "A"`)), engine.Options{})
	b := w.as(console.Viewer)
	path := pathOf(stack, "operations", "1", "live")
	_, first := b.stream(path)
	_, second := b.stream(path)
	for _, next := range []func() (string, string){first, second} {
		if event, data := next(); event != "begin" || !strings.Contains(data, "CREATE_IN_PROGRESS") {
			t.Fatalf("%s: %s", event, data)
		}
	}
	w.succeed("A", "a")
	for _, next := range []func() (string, string){first, second} {
		if event, data := next(); event != "change" || !strings.Contains(data, `"running":1`) {
			t.Errorf("%s: %s", event, data)
		}
	}
	w.succeed("B", "b")
	for _, next := range []func() (string, string){first, second} {
		event, data := next()
		for event == "change" { // a state from before the last answer
			event, data = next()
		}
		if event != "end" || !strings.Contains(data, "CREATE_COMPLETE") {
			t.Errorf("%s: %s", event, data)
		}
		if event, _ := next(); event != "" {
			t.Errorf("after the end: %s", event)
		}
	}
	_, late := b.stream(path)
	if event, _ := late(); event != "end" {
		t.Errorf("of an operation that has ended: %s", event)
	}
}

// TestStreams checks that streams are limited, end with the server, and require a session.
func TestStreams(t *testing.T) {
	w := newWorld(t, func(c *console.Config, _ *server.Config) { c.Streams = 1 })
	stack := w.create("s", resources("A", resource("")), engine.Options{})
	path := pathOf(stack, "operations", "1", "live")
	if code, _ := w.browser().stream(path); code != 401 {
		t.Errorf("without a session: %d", code)
	}
	b := w.as(console.Viewer)
	_, next := b.stream(path)
	next()
	if code, _ := b.stream(path); code != 503 {
		t.Errorf("one too many: %d", code)
	}
	w.stop() // the test fails if a stream has to be aborted
	for {
		event, _ := next()
		if event == "" {
			return
		}
	}
}
