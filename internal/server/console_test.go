package server_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/server"
)

// A stream of the console lasts as long as it is let. Every other page has a bounded time, whatever it is asked for as.
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
