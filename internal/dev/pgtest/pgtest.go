//go:build unix

// Package pgtest runs PostgreSQL servers for tests. Without PostgreSQL the test is skipped; see package require.
//
// [Start] gives a test a server that it may kill, and [Server.Standby] adds a standby that can take over. Tests that
// only need a database share one server per package. They use a [Shared], whose Main their TestMain calls.
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

// patience bounds all waits in this package. It is not an assertion: it only ends a test that hangs.
const patience = 2 * time.Minute

// Options configure a server. The zero Options make the fastest server.
type Options struct {
	// Durable makes the server flush writes to the disk, as in production. Tests that only kill processes do not need
	// it, because the operating system keeps their writes.
	Durable bool
	// Settings are further settings in the form name=value.
	Settings []string
}

// Server is a PostgreSQL server. Only [Server.Database] is safe for concurrent use.
type Server struct {
	bin, dir, data string
	settings       []string
	port           int
	who            *syscall.SysProcAttr

	process *process // nil if it is not running
	made    sync.Mutex
	count   int // of created databases
}

// Start creates and starts a server, which is stopped and removed when the test ends.
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

// Shared is a server shared by all tests of a package. It starts on first use.
type Shared struct {
	// Options must be set before the first call of Server.
	Options Options

	once   sync.Once
	server *Server
	err    error
}

// Server returns the server, and starts it on first use.
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

// New creates and starts a server with the programs in the directory bin. It is for programs other than tests, such
// as benchmarks, which must call [Server.Remove].
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

// place creates the directory of a server. PostgreSQL refuses to run as root, so root runs servers as the user
// nobody.
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

// folder is place for other programs of a test. It removes the directory when the test ends.
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

// own gives a file to the user of the server.
func (s *Server) own(file string) error {
	if s.who.Credential == nil {
		return nil
	}
	return os.Chown(file, int(s.who.Credential.Uid), int(s.who.Credential.Gid))
}

// run runs a PostgreSQL program until it exits.
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

// environment returns the environment of PostgreSQL programs. It contains no setting that would redirect a client.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "LC_ALL=C"}
}

// Start starts a stopped or killed server, on its previous port if it had one.
func (s *Server) Start() error {
	var err error
	for range 20 { // the port may be taken, and the last processes of a killed server may still lock the directory
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
	go func() { // until the server has exited and closed its standard error
		defer close(ended) // the child processes, which share standard error, have exited too
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			said.add(lines.Text())
			if strings.Contains(lines.Text(), "database system is ready to accept") {
				select {
				case ready <- true:
				default: // a standby prints this again when it is promoted
				}
			}
		}
		_ = cmd.Wait() // a killed server is not an error
	}()
	select {
	case <-ready:
		s.process = &process{cmd, ended}
		return nil
	case <-ended:
		if !bytes.Contains(said.text(), []byte("pre-existing shared memory")) {
			s.port = 0 // most likely the port was taken
		}
		return fmt.Errorf("%s ended:\n%s", cmd, said.text())
	case <-time.After(patience):
		err := cmd.Process.Kill()
		<-ended
		return errors.Join(fmt.Errorf("%s is not ready:\n%s", cmd, said.text()), err)
	}
}

// Kill kills the server as a crash would (SIGKILL), and returns when it has exited.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Stop shuts the server down and closes its connections.
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

// Remove stops the server and removes its files.
func (s *Server) Remove() error { return errors.Join(s.end(syscall.SIGQUIT), os.RemoveAll(s.dir)) }

// Port returns the server's port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// DSN returns the address of a database of the server.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("postgres://pintle@127.0.0.1:%d/%s", s.port, database)
}

// Database creates a database and returns its address. It is safe for concurrent use.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	dsn, err := s.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// NewDatabase is [Server.Database] for programs other than tests.
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
