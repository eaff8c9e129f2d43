//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby creates a synchronous standby of the running server. The standby is stopped and removed when the test ends.
// After Standby returns, committed transactions are durable on both servers: synchronous_standby_names is set.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby := folder(t, s.bin)
	standby.settings = s.settings
	standby.Follow(t, s)
	return standby
}

// Follow makes a stopped server the standby of a running one, as [Server.Standby] does, on its previous port. The
// data of the stopped server is deleted.
func (s *Server) Follow(t testing.TB, primary *Server) {
	t.Helper()
	err := os.RemoveAll(s.data)
	if err == nil {
		err = s.copy(primary)
	}
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	primary.Exec(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
	primary.Exec(t, "postgres", "SELECT pg_reload_conf()")
	primary.await(t, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
}

// Promote makes a standby whose primary is dead the primary. It does not wait for standbys.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, "postgres", "SELECT pg_promote()")
	s.await(t, "SELECT NOT pg_is_in_recovery()")
}

// await waits until a query returns true.
func (s *Server) await(t testing.TB, query string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for is := false; !is; <-tick.C {
		if err := conn.QueryRow(ctx, query).Scan(&is); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// Hosts returns the address of a database on several servers. Clients with this address connect to the writable one.
func Hosts(database string, servers ...*Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", s.port))
	}
	return "postgres://pintle@" + strings.Join(hosts, ",") + "/" + database + "?target_session_attrs=read-write"
}

// copy copies the data directory of a running server and configures the copy as a standby. Without pg_basebackup, it
// copies the files with the SQL backup functions.
func (s *Server) copy(primary *Server) error {
	_, err := os.Stat(filepath.Join(s.bin, "pg_basebackup"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = s.copyFiles(primary)
	case err == nil:
		err = s.run("pg_basebackup", "-h", "127.0.0.1", "-p", fmt.Sprint(primary.port), "-U", "pintle", "-D", s.data,
			"-X", "stream", "-c", "fast", "--no-sync", "-w")
	}
	if err != nil {
		return err
	}
	settings, err := os.OpenFile(filepath.Join(s.data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// The primary waits for synchronous standbys. The copy must not when it is promoted.
	_, err = fmt.Fprintf(settings, "primary_conninfo = 'host=127.0.0.1 port=%d user=pintle'\nsynchronous_standby_names = ''\n", primary.port)
	if err := errors.Join(err, settings.Close()); err != nil {
		return err
	}
	return s.write("standby.signal", nil)
}

// copyFiles copies the files while the server runs, between pg_backup_start and pg_backup_stop.
func (s *Server) copyFiles(primary *Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, primary.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "SELECT pg_backup_start('a standby', true)"); err != nil {
		return err
	}
	err = filepath.WalkDir(primary.data, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server just removed it
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(primary.data, path)
		switch {
		case err != nil || name == "postmaster.pid" || name == "postmaster.opts":
			return err
		case entry.IsDir():
			return s.folder(name)
		case entry.Type().IsRegular():
			return s.copyFile(path, name)
		}
		return fmt.Errorf("%s is no file", path)
	})
	if err != nil {
		return err
	}
	var label string
	if err := conn.QueryRow(ctx, "SELECT labelfile FROM pg_backup_stop(false)").Scan(&label); err != nil {
		return err
	}
	return s.write("backup_label", strings.NewReader(label))
}

func (s *Server) copyFile(path, name string) error {
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	return s.write(name, from)
}

// folder creates a subdirectory of the data directory, owned by the server's user.
func (s *Server) folder(name string) error {
	path := filepath.Join(s.data, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return s.give(path)
}

// write creates a file in the data directory, owned by the server's user. Without content it is empty.
func (s *Server) write(name string, content io.Reader) error {
	path := filepath.Join(s.data, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if content != nil {
		_, err = io.Copy(file, content)
	}
	return errors.Join(err, file.Close(), s.give(path))
}

func (s *Server) give(path string) error {
	if s.who.Credential == nil {
		return nil
	}
	return os.Chown(path, int(s.who.Credential.Uid), int(s.who.Credential.Gid))
}
