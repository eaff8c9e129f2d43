package server

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// ConsolePath is the path of pages for people.
const ConsolePath = "/console"

// streams is what a page says that it takes when it wants to be told of changes for as long as there are any.
const streams = "text/event-stream"

// streamPath is what the paths of streams end with. A page that is asked for as if it were one takes its turn as others do.
const streamPath = "/live"

// console serves pages for people. They have turns of their own, so that neither they nor calls wait for the other.
func (s *Server) console(w http.ResponseWriter, r *http.Request) {
	if s.config.Dev && !isLoopback(r.Host) {
		http.Error(w, "this is a development server: it is reached as localhost, 127.0.0.1 or [::1] only", http.StatusForbidden)
		return
	}
	if r.Method == http.MethodGet && r.Header.Get("Accept") == streams && strings.HasSuffix(r.URL.Path, streamPath) {
		// The console bounds how many there are, and every write sets its own deadline; the end of the server ends them.
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.soft, cancel)()
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a writer that has none needs none
		s.config.Console.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	if !s.pages.take(r.Context()) {
		w.Header().Set("Retry-After", retryAfter)
		http.Error(w, "the server is busy: please try again", http.StatusServiceUnavailable)
		return
	}
	defer s.pages.give()
	ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
	defer cancel()
	defer context.AfterFunc(s.hard, cancel)()
	s.config.Console.ServeHTTP(w, r.WithContext(ctx))
}
