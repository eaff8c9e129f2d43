package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/server"
)

// TestManyHeaders sends headers with many fields, which take far more memory than their bytes. Complete ones are
// refused before their body is read, and connections with unfinished ones are closed when necessary.
func TestManyHeaders(t *testing.T) {
	const strangers = 64
	w := newWorld(t, func(_ *world, config *server.Config) { config.Connections = strangers })
	host := strings.TrimPrefix(w.url, "http://")
	var lines strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, "X%d: a\r\n", i)
	}
	begin := "POST / HTTP/1.1\r\nHost: " + host + "\r\n" + lines.String()

	conn, err := net.Dial("tcp", host)
	w.must(err)
	defer conn.Close()
	_, err = io.WriteString(conn, begin+"Content-Length: 10\r\n\r\n")
	w.must(err)
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	w.must(err)
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusRequestHeaderFieldsTooLarge || !reply.Close {
		t.Errorf("4000 fields: %s, close %v", reply.Status, reply.Close)
	}

	var conns []net.Conn
	for range strangers/4 + 1 {
		conn, err := net.Dial("tcp", host)
		w.must(err)
		defer conn.Close()
		_, err = io.WriteString(conn, begin)
		w.must(err)
		conns = append(conns, conn)
	}
	// A connection with a header that has been unfinished for a while is closed for the next connection.
	for end := time.Now().Add(8 * time.Second); ; { // shorter than the header timeout
		more, err := net.Dial("tcp", host)
		w.must(err)
		w.must(conns[0].SetReadDeadline(time.Now().Add(100 * time.Millisecond)))
		n, err := conns[0].Read(make([]byte, 1))
		w.must(more.Close())
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err == nil || time.Now().After(end) {
			t.Fatalf("the oldest unfinished header keeps its connection: %d, %v", n, err)
		}
	}
}

// TestBurst checks that a burst of ordinary clients is not treated as an attack: all are served, although their
// headers are briefly unfinished.
func TestBurst(t *testing.T) {
	const strangers = 64
	w := newWorld(t, func(_ *world, config *server.Config) { config.Connections = strangers })
	host := strings.TrimPrefix(w.url, "http://")
	var conns []net.Conn
	for range strangers / 2 {
		conn, err := net.Dial("tcp", host)
		w.must(err)
		defer conn.Close()
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		_, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		w.must(err)
		reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
		w.must(err)
		w.must(reply.Body.Close())
		if reply.StatusCode != http.StatusOK {
			t.Error(reply.Status)
		}
	}
}
