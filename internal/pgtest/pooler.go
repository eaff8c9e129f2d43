//go:build unix

package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/require"
)

// Pooler starts PgBouncer before the server, with settings such as "pool_mode = session", and returns the address at which it
// serves the database of an address. It is stopped when the test ends. Without a pgbouncer on PATH or in /usr/sbin the test is
// skipped; see package require.
func (s *Server) Pooler(t testing.TB, dsn string, settings ...string) string {
	t.Helper()
	program := require.PgBouncer(t)
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(s.dir, "pooler-")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	for range 20 { // somebody may take the port
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := free.Addr().(*net.TCPAddr).Port
		if err := free.Close(); err != nil {
			t.Fatal(err)
		}
		lines := append([]string{
			"[databases]", fmt.Sprintf("* = host=127.0.0.1 port=%d user=%s", s.port, address.User.Username()),
			"[pgbouncer]", "listen_addr = 127.0.0.1", fmt.Sprintf("listen_port = %d", port), "unix_socket_dir =",
			"auth_type = any", "max_client_conn = 100",
		}, settings...)
		err = errors.Join(os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600), s.own(dir), s.own(file))
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		process := exec.Command(program, file)
		process.Dir, process.Env, process.SysProcAttr = dir, environment(), dies(s.who)
		process.Stdout, process.Stderr = &log, &log
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = process.Wait() // it is killed
			close(ended)
		}()
		if listens(port, ended) {
			t.Cleanup(func() {
				_ = process.Process.Signal(syscall.SIGKILL)
				<-ended
				if t.Failed() {
					t.Logf("PgBouncer:\n%s", log.Bytes())
				}
			})
			address.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
			return address.String()
		}
		t.Logf("PgBouncer ended:\n%s", log.Bytes())
	}
	t.Fatal("PgBouncer does not start")
	return ""
}

// listens waits until a port accepts connections, and reports false if the process ends before.
func listens(port int, ended <-chan struct{}) bool {
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return conn.Close() == nil
		}
		select {
		case <-ended:
			return false
		case <-tick.C:
		}
	}
}
