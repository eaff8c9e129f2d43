package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

// readerServer is a server with the provider reader behind the name File, whose Reads the test can hold.
type readerServer struct {
	*served

	shelf string // the directory of the provider
	hall  *net.TCPListener
}

// onBothStores runs a test on SQLite and on PostgreSQL. args are arguments of serve.
func onBothStores(t *testing.T, test func(t *testing.T, args ...string)) {
	t.Run("sqlite", func(t *testing.T) { test(t) })
	t.Run("postgres", func(t *testing.T) {
		test(t, "--database", pgtest.Start(t, pgtest.Options{}).Database(t), "--key-file", filepath.Join(t.TempDir(), "keys"))
	})
}

func serveReader(t *testing.T, args ...string) *readerServer {
	t.Helper()
	dir := t.TempDir()
	hall, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hall.Close() }) // nothing was written
	s := &readerServer{shelf: filepath.Join(dir, "shelf"), hall: hall}
	t.Setenv("SHELF", s.shelf)
	t.Setenv("MEETING", hall.Addr().String())
	program, err := exec.LookPath("reader")
	if err != nil {
		t.Fatal(err)
	}
	s.served = serve(t, filepath.Join(dir, "data"), append(args, "--provider", "File="+program)...)
	return s
}

func (s *readerServer) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// holdRead makes the provider wait in its next Read.
func (s *readerServer) holdRead() {
	s.t.Helper()
	s.check(os.WriteFile(filepath.Join(s.shelf, "meet"), nil, 0o600))
}

// restartInRead waits until the provider reads, kills the server, and starts another one. No later Read is held.
func (s *readerServer) restartInRead() {
	s.t.Helper()
	s.check(s.hall.SetDeadline(time.Now().Add(patience)))
	guest, err := s.hall.Accept()
	s.check(err)
	_, err = bufio.NewReader(guest).ReadString('\n')
	s.check(err)
	s.kill()
	s.check(os.Remove(filepath.Join(s.shelf, "meet")))
	s.check(guest.Close())
	s.start()
}

// wantRequests fails the test unless the provider got exactly these requests.
func (s *readerServer) wantRequests(want ...string) {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.shelf, "log"))
	s.check(err)
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(log)), "\n")); diff != "" {
		s.t.Errorf("requests of the provider (-want +got):\n%s", diff)
	}
}
