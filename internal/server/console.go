package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// ConsolePath is the path of the console.
const ConsolePath = "/console"

// streams is the media type that a page accepts when it subscribes to changes.
const streams = "text/event-stream"

// streamPath is the suffix of stream paths. A request for any other page takes a slot, even if it accepts a stream.
const streamPath = "/live"

// maxForm is how many bytes of a form are read before the request takes a slot. It is more than the console accepts.
const maxForm = 128 << 10

// rest is a body whose beginning was read before.
type rest struct {
	io.Reader
	io.Closer
}

// console serves the console. It has slots of its own, so that pages and API calls do not wait for each other.
func (s *Server) console(w http.ResponseWriter, r *http.Request) {
	if s.config.Dev && !isLoopback(r.Host) {
		http.Error(w, "this is a development server: it is reached as localhost, 127.0.0.1 or [::1] only", http.StatusForbidden)
		return
	}
	if r.Method == http.MethodGet && r.Header.Get("Accept") == streams && strings.HasSuffix(r.URL.Path, streamPath) {
		// The console limits the number of streams, and every write sets its own deadline. Shutdown ends all streams.
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.soft, cancel)()
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a writer without deadlines needs no change
		s.config.Console.ServeHTTP(&live{ResponseWriter: w, begins: func() { s.connections.Verified(ctx) }}, r.WithContext(ctx))
		return
	}
	if r.Method == http.MethodPost {
		// Read the form before taking a slot. Otherwise a few slow senders could block everyone else. The console
		// refuses a form that is longer than this.
		head, err := io.ReadAll(io.LimitReader(r.Body, maxForm))
		if err != nil {
			http.Error(w, "the form did not come", http.StatusBadRequest)
			return
		}
		r.Body = &rest{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}
	}
	if !s.pages.take(r.Context()) {
		w.Header().Set("Retry-After", retryAfter)
		http.Error(w, "the server is busy: please try again", http.StatusServiceUnavailable)
		return
	}
	held := &heldPage{ResponseWriter: w}
	func() {
		defer s.pages.give()
		ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
		defer cancel()
		defer context.AfterFunc(s.hard, cancel)()
		s.config.Console.ServeHTTP(held, r.WithContext(ctx))
	}()
	_ = held.send() // the browser may have disconnected
}

// maxHeld limits how many bytes of a page are buffered until its slot is released. Pages for browsers that are not
// signed in are shorter.
const maxHeld = 64 << 10

// heldPage buffers the beginning of a page until send, which is called after the slot is released. Anyone may request
// pages, and a browser that does not read them must not hold a slot.
type heldPage struct {
	http.ResponseWriter
	status int
	text   bytes.Buffer
	sent   bool
}

// Unwrap is for [http.ResponseController].
func (h *heldPage) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (h *heldPage) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
}

// Write implements [http.ResponseWriter].
func (h *heldPage) Write(text []byte) (int, error) {
	if h.text.Len()+len(text) > maxHeld {
		if err := h.send(); err != nil {
			return 0, err
		}
	}
	if h.sent {
		return h.ResponseWriter.Write(text)
	}
	return h.text.Write(text)
}

// FlushError is for [http.ResponseController].
func (h *heldPage) FlushError() error {
	if err := h.send(); err != nil {
		return err
	}
	return http.NewResponseController(h.ResponseWriter).Flush()
}

// send sends the buffered output.
func (h *heldPage) send() error {
	if h.sent {
		return nil
	}
	h.sent = true
	if h.status != 0 {
		h.ResponseWriter.WriteHeader(h.status)
	}
	_, err := h.ResponseWriter.Write(h.text.Bytes())
	return err
}

// live is the writer of a stream. The console starts streams only for signed-in browsers.
type live struct {
	http.ResponseWriter
	begins func()
}

// WriteHeader implements [http.ResponseWriter].
func (l *live) WriteHeader(status int) {
	if status == http.StatusOK {
		l.begins()
	}
	l.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (l *live) Unwrap() http.ResponseWriter { return l.ResponseWriter }
