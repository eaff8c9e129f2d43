//go:build unix

package systemd

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listen opens a manager's end of a socket. It returns a function that reads the next message.
func listen(t *testing.T, socket string) func() string {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		message := make([]byte, 4096)
		n, err := conn.Read(message)
		if err != nil {
			t.Fatal(err)
		}
		return string(message[:n])
	}
}

func TestMessages(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	next := listen(t, socket)
	m, err := New(socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Ready("serving at\nMAINPID=1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("READY=1\nSTATUS=serving at MAINPID=1", next()); diff != "" {
		t.Error(diff)
	}
	if err := m.Stopping(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("STOPPING=1\nSTATUS=stopping", next()); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutServiceManager(t *testing.T) {
	m, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Ready("serving"); err != nil {
		t.Error(err)
	}
}

func TestWrongSockets(t *testing.T) {
	if _, err := New("vsock:2:1234"); err == nil || !strings.Contains(err.Error(), "NOTIFY_SOCKET") {
		t.Errorf("a socket of another kind: %v", err)
	}
	m, err := New(filepath.Join(t.TempDir(), "gone"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Ready("serving"); err == nil {
		t.Error("a manager that has exited was notified")
	}
}
