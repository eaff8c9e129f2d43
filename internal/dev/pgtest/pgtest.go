//go:build unix

// Package pgtest runs PostgreSQL servers for tests. Where there is no PostgreSQL the test is skipped; see package
// require.
//
// [Start] gives a test a server that it may kill, and [Server.Standby] another one that stands ready to take its place.
// Tests that only need a database share one server for a package: they have a [Shared], whose Main their TestMain calls.
package pgtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// patience bounds everything that is waited for here. It is no assertion: it only ends a test that hangs.
const patience = 2 * time.Minute

// Options are what a server is started with. The zero Options make the quickest one.
type Options struct {
	// Durable makes the server write through to the disk, as one in earnest does. It need not be set to test what a
	// killed process leaves behind: that lies with the operating system.
	Durable bool
	// Settings are further ones, each name=value.
	Settings []string
}

// Server is a PostgreSQL server. It is not safe for concurrent use, but for [Server.Database].
type Server struct {
	bin, dir, data string
	settings       []string
	port           int
	who            *syscall.SysProcAttr

	process *process // nil if it does not run
	made    sync.Mutex
	count   int // of databases made
}

// Start makes and starts a server, which is stopped and removed when the test ends.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	s, err := New(require.Postgres(t), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Shared is one server for all tests of a package, started when the first one asks for it.
type Shared struct {
	// Options must be set before the first call of Server.
	Options Options

	once   sync.Once
	server *Server
	err    error
}

// Server returns the server.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	bin := require.Postgres(t)
	s.once.Do(func() { s.server, s.err = New(bin, s.Options) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Main runs a package's tests, stops the server and returns the exit code for the package's TestMain.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.server != nil {
		if err := s.server.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			return max(code, 1)
		}
	}
	return code
}

// New makes and starts a server with the programs of the directory bin. It is for programs that are no tests, such as
// benchmarks, and they have to call [Server.Remove].
func New(bin string, options Options) (*Server, error) {
	s, err := place(bin)
	if err != nil {
		return nil, err
	}
	s.settings = options.Settings
	if !options.Durable {
		s.settings = append([]string{"fsync=off", "full_page_writes=off"}, s.settings...)
	}
	err = s.run("initdb", "-D", s.data, "-U", "pintle", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// place makes the directory of a server. PostgreSQL does not run as root, so the servers of root run as the user nobody.
func place(bin string) (*Server, error) {
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, data: filepath.Join(dir, "data"), who: &syscall.SysProcAttr{}}
	if os.Getuid() == 0 {
		if err := s.disown(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return s, nil
}

// directory is place for other programs that a test starts: the directory is removed when the test ends.
func folder(t testing.TB, bin string) *Server {
	t.Helper()
	s, err := place(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Server) disown() error {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return fmt.Errorf("postgres does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.who.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return s.own(s.dir)
}

// own gives a file to the user that the server runs as.
func (s *Server) own(file string) error {
	if s.who.Credential == nil {
		return nil
	}
	return os.Chown(file, int(s.who.Credential.Uid), int(s.who.Credential.Gid))
}

// run runs one of PostgreSQL's programs to its end.
func (s *Server) run(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, program), args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = s.dir, s.who, environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// environment is what PostgreSQL's programs get of ours: nothing that would lead a client elsewhere.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "LC_ALL=C"}
}

// Start starts a server that was stopped or killed, at the same port if it had one.
func (s *Server) Start() error {
	var err error
	for range 20 { // somebody may take the port, and a killed server's last processes may hold the directory for a moment
		if err = s.start(); err == nil {
			return nil
		}
	}
	return err
}

func (s *Server) start() error {
	if s.port == 0 {
		ports, err := free(1)
		if err != nil {
			return err
		}
		s.port = ports[0]
	}
	args := []string{"-D", s.data, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-c", "unix_socket_directories=",
		"-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "log_min_messages=log", "-c", "dynamic_shared_memory_type=mmap"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.dir, environment(), dies(s.who)
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ready, ended := make(chan bool, 1), make(chan struct{})
	var said tail
	go func() { // until the process has closed its standard error, so until it has ended
		defer close(ended) // also the last of its children has ended, which hold the same standard error
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			said.add(lines.Text())
			if strings.Contains(lines.Text(), "database system is ready to accept") {
				select {
				case ready <- true:
				default: // a standby says so again when it is promoted
				}
			}
		}
		_ = cmd.Wait() // a killed server is no error
	}()
	select {
	case <-ready:
		s.process = &process{cmd, ended}
		return nil
	case <-ended:
		if !bytes.Contains(said.text(), []byte("pre-existing shared memory")) {
			s.port = 0 // most likely somebody was quicker
		}
		return fmt.Errorf("%s ended:\n%s", cmd, said.text())
	case <-time.After(patience):
		err := cmd.Process.Kill()
		<-ended
		return errors.Join(fmt.Errorf("%s is not ready:\n%s", cmd, said.text()), err)
	}
}

// Kill ends the server as a crash would (SIGKILL), and returns when it is gone.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Stop ends the server in order, and its connections with it.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

func (s *Server) end(signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	if err := s.process.end(signal); err != nil {
		return err
	}
	s.process = nil
	return nil
}

// Remove ends the server and removes all that it has.
func (s *Server) Remove() error { return errors.Join(s.end(syscall.SIGQUIT), os.RemoveAll(s.dir)) }

// Port returns where the server listens on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// DSN returns the address of a database of the server.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("postgres://pintle@127.0.0.1:%d/%s", s.port, database)
}

// Database makes a new database and returns its address. It is safe for concurrent use.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	dsn, err := s.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// NewDatabase is [Server.Database] for programs that are no tests.
func (s *Server) NewDatabase() (string, error) {
	s.made.Lock()
	s.count++
	name := "test" + strconv.Itoa(s.count)
	s.made.Unlock()
	return s.DSN(name), s.exec("postgres", "CREATE DATABASE "+name)
}

// Exec runs SQL in a database as its superuser.
func (s *Server) Exec(t testing.TB, database, sql string) {
	t.Helper()
	if err := s.exec(database, sql); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) exec(database, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN(database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > 30 {
		t.lines = t.lines[1:]
	}
}

func (t *tail) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return []byte(strings.Join(t.lines, "\n"))
}
