package server

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/pintle-dev/pintle/internal/base/panics"
	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/wire"
)

// requestID is the header with the request ID, which the log also contains. An API that makes its own IDs replaces
// it.
const requestID = "X-Amzn-Requestid"

// exchange wraps all handlers. It assigns the request an ID, logs it at debug level, and turns a panic into a 500.
// The log omits the query because it holds the signatures of response URLs. Some clients encode a URL twice and so
// send the query as part of the path.
func (s *Server) exchange(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.config.Now()
		reply := &reply{ResponseWriter: w}
		reply.Header().Set(requestID, rand.Text())
		parent := traceOf(r)
		r = r.WithContext(trace.NewContext(r.Context(), parent))
		defer func() {
			cause := recover()
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			if cause != nil {
				s.log.ErrorContext(r.Context(), "panic while serving", "request", reply.Header().Get(requestID),
					"method", r.Method, "path", wire.Redact(r.URL.Path), "cause", panics.Cause(cause), "stack", string(debug.Stack()))
				if reply.status == 0 {
					http.Error(reply, "internal error", http.StatusInternalServerError)
				}
			}
			took := s.config.Now().Sub(began)
			s.config.Served(s.endpointOf(r.URL.Path), reply.status, took)
			if !s.log.Enabled(r.Context(), slog.LevelDebug) {
				return
			}
			s.log.LogAttrs(r.Context(), slog.LevelDebug, "served", slog.String("request", reply.Header().Get(requestID)),
				slog.String("trace", parent.ID()), slog.String("method", r.Method), slog.String("path", wire.Redact(r.URL.Path)), slog.Int("status", reply.status),
				slog.Int64("bytes", reply.bytes), slog.Duration("took", took))
		}()
		s.connections.Parsed(r.Context())
		if fields(r.Header) > maxFields {
			reply.Header().Set("Connection", "close")
			http.Error(reply, "the request has too many header fields", http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		next.ServeHTTP(reply, r)
		// Without this, a connection with many buffered requests keeps its processor for 10 ms at a time. A hundred
		// such connections delay every step of all others by half a second.
		runtime.Gosched()
	})
}

// maxFields is the maximum number of header fields of a request. While the server waits for the body, each field
// takes far more memory than its bytes.
const maxFields = 500

// fields returns the number of fields in a header.
func fields(h http.Header) int {
	n := 0
	for _, values := range h {
		n += len(values)
	}
	return n
}

// traceOf returns the trace of a request: the one in its W3C or AWS header, or a new one.
func traceOf(r *http.Request) trace.Parent {
	if parent := trace.Parse(r.Header.Get(trace.Header)); parent != "" {
		return parent
	}
	if parent := trace.FromXRay(r.Header.Get(trace.XRayHeader)); parent != "" {
		return parent
	}
	return trace.New()
}

// reply records the status and the length of a reply.
type reply struct {
	http.ResponseWriter
	status int // 0 until the header is written
	bytes  int64
}

// WriteHeader implements [http.ResponseWriter].
func (r *reply) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *reply) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (r *reply) Unwrap() http.ResponseWriter { return r.ResponseWriter }
