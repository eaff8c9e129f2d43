package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
)

// TestFullDisk runs a process whose disk fills up, is freed again, and becomes read-only. The disk is a small in-memory
// file system in the process's own namespace, if the machine allows that. A limit on the size of files is the other way
// in which a file cannot grow.
func TestFullDisk(t *testing.T) {
	for _, kind := range []string{"disk", "limit"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fullEnv+"="+dir, "PINTLE_TEST_FULL_BY="+kind)
			if kind == "disk" {
				cmd.SysProcAttr = &syscall.SysProcAttr{
					Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
					UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
					GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
				}
			}
			out, err := cmd.CombinedOutput()
			switch {
			case err != nil && len(out) == 0 && kind == "disk":
				t.Skipf("this machine gives no namespaces to its users: %v", err)
			case bytes.HasPrefix(out, []byte("skip: ")):
				t.Skipf("%s", out)
			case err != nil || !strings.HasSuffix(string(out), "done\n"):
				t.Errorf("error %v\n%s", err, out)
			}
		})
	}
}

// disk is a disk that can be filled.
type disk interface {
	fill() error
	free() error
	// refusesOpen reports whether a database can never be opened on the disk while it is full.
	refusesOpen() bool
}

// balloon fills a small file system with one file.
type balloon struct{ dir string }

func (b balloon) fill() error {
	file, err := os.OpenFile(filepath.Join(b.dir, "balloon"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for chunk := make([]byte, 4096); err == nil; {
		_, err = file.Write(chunk)
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, file.Close())
}

func (b balloon) free() error { return os.Remove(filepath.Join(b.dir, "balloon")) }

func (balloon) refusesOpen() bool { return true }

// limit sets a limit on the size of files.
type limit struct {
	dir    string
	before syscall.Rlimit
}

func (l *limit) fill() error {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l.before); err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(l.dir, "p.db-wal"))
	if err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(info.Size()), Max: l.before.Max})
}

func (l *limit) free() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l.before) }

func (*limit) refusesOpen() bool { return false }

// fullChild is the main function of the process.
func fullChild(dir string) {
	if err := fullDisk(dir, os.Getenv("PINTLE_TEST_FULL_BY")); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("done")
}

func fullDisk(dir, kind string) error {
	var d disk = &limit{dir: dir}
	if kind == "disk" {
		if err := syscall.Mount("pintle", dir, "tmpfs", 0, "size=1536k,mode=700"); err != nil {
			fmt.Println("skip: no file system can be mounted:", err)
			os.Exit(0)
		}
		d = balloon{dir}
	}
	path := filepath.Join(dir, "p.db")
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte("a"), store.KeySize)})
	if err != nil {
		return err
	}
	ctx := context.Background()
	open := func() (*sqlite.Store, error) {
		return sqlite.Open(ctx, sqlite.Config{Path: path, Codec: store.NewCodec(keys)})
	}
	s, err := open()
	if err != nil {
		return err
	}
	target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: "1"}}
	acknowledged := 0
	write := func() error {
		number := 0
		err := s.Apply(ctx, target, func(v *store.View) (store.Delta, error) {
			d := advance(1, v)
			number = d.Operation.Events
			return d, nil
		})
		if err == nil {
			acknowledged = number
		}
		return err
	}
	there := func() error {
		o, err := s.Operation(ctx, 1, 1)
		if err != nil || o.Events != acknowledged {
			return fmt.Errorf("%d events were acknowledged and %d are there, error %w", acknowledged, o.Events, err)
		}
		return nil
	}
	for round := range 3 {
		for range 5 {
			if err := write(); err != nil {
				return fmt.Errorf("round %d: with space: %w", round, err)
			}
		}
		if err := d.fill(); err != nil {
			return err
		}
		var full error
		for n := 0; full == nil && n < 10_000; n++ { // the log may have free space from before
			full = write()
		}
		want := map[string]string{"disk": "the disk is full: free some space", "limit": "a limit on the size of files"}[kind]
		if full == nil || !strings.Contains(full.Error(), want) || !strings.Contains(full.Error(), path) {
			return fmt.Errorf("round %d: the error of a full disk is %w, want %q", round, full, want)
		}
		// There may be space for the small write of Ping, and a checkpoint frees its pages each time: fill it with
		// rows.
		for full, n := error(nil), 0; full == nil; n++ {
			if full = s.Ping(ctx); n == 10_000 || full != nil && !strings.Contains(full.Error(), want) {
				return fmt.Errorf("round %d: readiness with a full disk: %w, want %q", round, full, want)
			}
			if err := write(); err != nil && !strings.Contains(err.Error(), want) {
				return fmt.Errorf("round %d: the error of a full disk is %w, want %q", round, err, want)
			}
		}
		if err := there(); err != nil {
			return fmt.Errorf("round %d: with a full disk: %w", round, err)
		}
		if round == 1 { // the process ends and starts while the disk is full
			_ = s.Close() // its log remains, with all acknowledged writes
			if s, err = open(); err == nil && d.refusesOpen() {
				return errors.New("a database could be opened with a full disk")
			}
			if err != nil && !strings.Contains(err.Error(), want) {
				return fmt.Errorf("the error of opening with a full disk is %w", err)
			}
		}
		if err := d.free(); err != nil {
			return err
		}
		if s == nil {
			if s, err = open(); err != nil {
				return fmt.Errorf("opened with space again: %w", err)
			}
		}
		if err := there(); err != nil {
			return fmt.Errorf("round %d: with space again: %w", round, err)
		}
		if err := s.Ping(ctx); err != nil {
			return fmt.Errorf("round %d: readiness with space again: %w", round, err)
		}
	}
	if err := write(); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if kind == "disk" {
		if err := readOnlyDisk(dir, path, open); err != nil {
			return err
		}
	}
	if s, err = open(); err != nil {
		return err
	}
	if err := there(); err != nil {
		return err
	}
	return errors.Join(s.Close(), sqlite.Backup(ctx, path, filepath.Join(dir, "copy.db")))
}

// readOnlyDisk opens the database while its file system is read-only.
func readOnlyDisk(dir, path string, open func() (*sqlite.Store, error)) error {
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	if s, err := open(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "read-only") {
		return fmt.Errorf("opened on a read-only disk: %v, error %w", s, err)
	}
	return syscall.Mount("", dir, "", syscall.MS_REMOUNT, "")
}
