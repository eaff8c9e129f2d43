package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/server"
)

// TestConsoleTimes checks that a console stream has no time limit, and that every other page has one, regardless of
// its Accept header.
func TestConsoleTimes(t *testing.T) {
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Console = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := "unbounded"
			if _, ok := r.Context().Deadline(); ok {
				answer = "bounded"
			}
			_, _ = io.WriteString(w, answer)
		})
	})
	for _, test := range []struct{ path, accept, want string }{
		{"/console/", "text/html", "bounded"},
		{"/console/", "text/event-stream", "bounded"},
		{"/console/stacks/s/operations/1/live", "text/html", "bounded"},
		{"/console/stacks/s/operations/1/live", "text/event-stream", "unbounded"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+test.path, nil)
		w.must(err)
		r.Header.Set("Accept", test.accept)
		reply, err := http.DefaultClient.Do(r)
		w.must(err)
		body, err := io.ReadAll(reply.Body)
		w.must(err)
		w.must(reply.Body.Close())
		if got := string(body); got != test.want {
			t.Errorf("%s as %s: %s, want %s", test.path, test.accept, got, test.want)
		}
	}
}

// TestConsoleSlowForms checks that slow forms do not block other requests.
func TestConsoleSlowForms(t *testing.T) {
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Concurrency, c.Wait = 1, time.Millisecond
		c.Console = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %v", body, err)
		})
	})
	slow, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	w.must(err)
	defer slow.Close()
	_, err = fmt.Fprint(slow, "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	w.must(err)
	lines := bufio.NewReader(slow)
	line, err := lines.ReadString('\n') // it is reading the body now
	w.must(err)
	if !strings.Contains(line, "100 Continue") {
		t.Fatal(line)
	}
	reply, err := http.Get(w.url + "/console/")
	w.must(err)
	w.must(reply.Body.Close())
	if reply.StatusCode != http.StatusOK {
		t.Errorf("a page while a form comes: %d", reply.StatusCode)
	}
	_, err = fmt.Fprint(slow, "form")
	w.must(err)
	_, err = lines.ReadString('\n')
	w.must(err)
	answer, err := http.ReadResponse(lines, nil)
	w.must(err)
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "form <nil>" {
		t.Errorf("the form came as %q, %v", body, err)
	}
}

// stuck is the writer of a client that does not read. It signals writes.
type stuck struct {
	http.ResponseWriter
	writes chan struct{}
	until  <-chan struct{}
}

func (s *stuck) Write(text []byte) (int, error) {
	close(s.writes)
	<-s.until
	return len(text), nil
}

// TestConsoleSlowReaders checks that clients that do not read pages do not block other requests.
func TestConsoleSlowReaders(t *testing.T) {
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Concurrency, c.Wait = 1, time.Millisecond
		c.Console = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, strings.Repeat("page ", 2000))
		})
	})
	slow := &stuck{httptest.NewRecorder(), make(chan struct{}), t.Context().Done()}
	go w.server.Handler().ServeHTTP(slow, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/console/", nil))
	<-slow.writes
	reply, err := http.Get(w.url + "/console/")
	w.must(err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusTeapot || len(body) != 10000 {
		t.Errorf("a page while another is not read: %d, %d bytes, %v", reply.StatusCode, len(body), err)
	}
}
