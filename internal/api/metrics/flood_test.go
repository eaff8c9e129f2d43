package metrics_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/metrics"
)

// TestScrapesInFlood checks that strangers cannot block scrapers or use up the server's file descriptors. They hold
// connections to the metrics listener open, or request metrics without reading them.
func TestScrapesInFlood(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- watched(&database{now: time.Now()}).Serve(ctx, listener, metrics.Token{}) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	address := listener.Addr().String()
	scrapes := strings.Repeat("GET /metrics HTTP/1.1\r\nHost: "+address+"\r\n\r\n", 100)
	var conns []net.Conn
	for i := range 300 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			_, _ = io.WriteString(conn, scrapes) // fails if it was closed in favour of others
		}
		conns = append(conns, conn)
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 5 {
		reply, err := client.Get("http://" + address + metrics.Path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode != http.StatusOK || !strings.Contains(string(body), "pintle_") {
			t.Errorf("a scrape: %d %q, %v", reply.StatusCode, body, err)
		}
	}
	// The first connection sent nothing and was closed for others.
	_ = conns[1].SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := conns[1].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest connection is open: %v", err)
	}
}
