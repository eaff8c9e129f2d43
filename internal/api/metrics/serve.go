package metrics

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pintle-dev/pintle/internal/api/intake"
)

// Path is the path of the metrics on any listener.
const Path = "/metrics"

// Limits of scrapes.
const (
	maxScrapes    = 4                // concurrent
	maxConns      = 128              // to the listener of scrapes, half of them from one address
	scrapeTimeout = 20 * time.Second // of one scrape
	maxHeader     = 16 << 10         // bytes
)

// Token is the secret that a scraper must send. It is never printed. The zero Token allows every scraper.
type Token struct{ digest []byte }

// The length of a token, in bytes.
const (
	minToken = 16
	maxToken = 4096
)

// ReadToken reads a token from a file and trims white space around it. A token has 16 to 4,096 bytes.
func ReadToken(path string) (Token, error) {
	file, err := os.Open(path)
	if err != nil {
		return Token{}, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxToken+2))
	if err != nil {
		return Token{}, err
	}
	text = bytes.TrimSpace(text)
	if len(text) < minToken || len(text) > maxToken || bytes.ContainsAny(text, " \t\r\n") {
		return Token{}, fmt.Errorf("%s: a token is one word of %d to %d bytes; openssl rand -hex 32 makes one", path, minToken, maxToken)
	}
	sum := sha256.Sum256(text)
	return Token{sum[:]}, nil
}

// IsZero reports whether the token allows every scraper.
func (t Token) IsZero() bool { return t.digest == nil }

// shown reports whether a request contains the token.
func (t Token) shown(r *http.Request) bool {
	if t.IsZero() {
		return true
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], t.digest) == 1
}

// Handler returns the handler of scrapes, which must contain the token.
func (m *Metrics) Handler(token Token) http.Handler {
	// TimeoutHandler buffers the response, so a client that reads slowly does not hold its turn.
	answer := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	turns := make(chan struct{}, maxScrapes)
	scrape := http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			answer.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}), scrapeTimeout, "the metrics were not gathered in time")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		case !token.shown(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, "scrapes need the header Authorization: Bearer TOKEN, with the token of --metrics-token-file", http.StatusUnauthorized)
		default:
			w.Header().Set("Cache-Control", "no-store")
			scrape.ServeHTTP(w, r)
		}
	})
}

// Serve answers scrapes on its own listener until ctx ends, and then closes the listener and aborts scrapes in
// progress. If too many connections are open, the oldest is closed for a new one.
func (m *Metrics) Serve(ctx context.Context, listener net.Listener, token Token) error {
	mux := http.NewServeMux()
	connections := intake.NewConnections(maxConns)
	handler := m.Handler(token)
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		connections.Parsed(r.Context())
		if !token.IsZero() && token.shown(r) {
			connections.Verified(r.Context())
		}
		handler.ServeHTTP(w, r)
	})
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: scrapeTimeout + 10*time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true,
		ConnState: connections.State, ConnContext: connections.Context,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve metrics at %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	err := server.Close()
	if last := <-served; !errors.Is(last, http.ErrServerClosed) { // no connection is added after this
		err = errors.Join(err, last)
	}
	connections.Wait()
	return err
}
