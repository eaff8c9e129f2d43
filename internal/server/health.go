package server

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// readyFor is how long the result of a check is cached, so that outside probes cannot overload the store.
	readyFor = time.Second
	// readyTimeout bounds one check.
	readyTimeout = 5 * time.Second
)

// readiness is the result of the last check.
type readiness struct {
	mu  sync.Mutex // held during a check, so that only one runs at a time
	at  time.Time
	err error
}

// health answers the probes of load balancers.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		s.healthz(w, r)
		return
	}
	s.readyz(w, r)
}

// healthz reports that the process is running.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	respond(w, r, http.StatusOK, "ok\n")
}

// readyz reports whether requests can be served. The reason for a failure is only logged, because anyone may send a
// probe.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() || s.check(r.Context()) != nil {
		respond(w, r, http.StatusServiceUnavailable, "not ready\n")
		return
	}
	respond(w, r, http.StatusOK, "ready\n")
}

func (s *Server) check(ctx context.Context) error {
	s.ready.mu.Lock()
	defer s.ready.mu.Unlock()
	now := s.config.Now()
	if age := now.Sub(s.ready.at); !s.ready.at.IsZero() && age >= 0 && age < readyFor {
		return s.ready.err
	}
	// Other callers share the result, so a client that disconnects must not cancel the check.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	defer context.AfterFunc(s.hard, cancel)()
	s.ready.at, s.ready.err = now, s.config.ReadyCheck(ctx)
	if s.ready.err != nil {
		s.log.WarnContext(ctx, "not ready", "error", s.ready.err)
	}
	return s.ready.err
}

func respond(w http.ResponseWriter, r *http.Request, status int, text string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		status, text = http.StatusMethodNotAllowed, "method not allowed\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A failed write means that the client has disconnected.
	_, _ = io.WriteString(w, text)
}
