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

// Path is where metrics are, on whichever listener.
const Path = "/metrics"

// Bounds of scraping.
const (
	maxScrapes    = 4                // at a time
	maxConns      = 128              // to the listener of scrapes, half of them from one address
	scrapeTimeout = 20 * time.Second // of one
	maxHeader     = 16 << 10         // bytes
)

// Token is what a scraper has to show. It is never printed. The zero Token asks for nothing.
type Token struct{ digest []byte }

// The length of a token, in bytes.
const (
	minToken = 16
	maxToken = 4096
)

// ReadToken reads a token from a file: its text without the space around it, 16 to 4,096 bytes.
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

// IsZero reports whether the token asks for nothing.
func (t Token) IsZero() bool { return t.digest == nil }

// shown reports whether a request shows the token.
func (t Token) shown(r *http.Request) bool {
	if t.IsZero() {
		return true
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], t.digest) == 1
}

// Handler returns what answers scrapes, which have to show the token.
func (m *Metrics) Handler(token Token) http.Handler {
	// The timeout has the text written to memory first, so a client that reads slowly does not hold its turn.
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

// Serve answers scrapes on a listener of their own until ctx ends, and closes it. A scrape that is being served then is cut
// off. If too many connections are open, the oldest makes way for a new one.
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
