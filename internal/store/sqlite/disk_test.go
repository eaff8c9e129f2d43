package sqlite_test

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
)

var diskEvery = flag.Int("disk.every", 8, "TestDiskErrors lets every Nth access fail, each in a life of its own")

// TestDiskErrors makes one file access of a database fail in each run of a store: acknowledged writes survive, the
// error names the file and the remedy, and the store continues when the disk works again.
func TestDiskErrors(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			failed := 0
			for at := 1; ; at += *diskEvery {
				dir := t.TempDir()
				d := &failingDisk{kind: kind, at: at}
				faulty.Store(dir, d)
				diskLife(t, filepath.Join(dir, "p.db"), d)
				if d.seen < at {
					break // the run has fewer accesses
				}
				failed++
				if t.Failed() {
					t.Fatalf("access %d", at)
				}
			}
			if least := kinds[kind].least / *diskEvery; failed < least {
				t.Errorf("%d accesses failed, want %d at least", failed, least)
			}
			t.Logf("%d accesses failed in turn", failed)
		})
	}
}

// diskLife writes to a database, opens it again, and compares its contents with the acknowledged writes.
func diskLife(t *testing.T, path string, d *failingDisk) {
	t.Helper()
	ctx := context.Background()
	// refused reports whether an error comes from the disk, which may fail once.
	refused := func(err error) bool {
		if err == nil {
			return false
		}
		if !d.hasFailed() || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "look for a disk that fails") {
			t.Errorf("the error of a disk: %v", err)
		}
		return true
	}
	open := func() *sqlite.Store {
		s, err := sqlite.Open(ctx, sqlite.Config{Path: path, Codec: codec(t, 'a')})
		if refused(err) {
			s, err = sqlite.Open(ctx, sqlite.Config{Path: path, Codec: codec(t, 'a')})
		}
		if err != nil {
			t.Fatalf("opened again: %v", err)
		}
		return s
	}
	acknowledged, tried := 0, 0
	there := func(s *sqlite.Store) {
		o, err := s.Operation(ctx, 1, 1)
		if refused(err) {
			o, err = s.Operation(ctx, 1, 1)
		}
		if err != nil || o.Events < acknowledged || o.Events > tried {
			t.Errorf("%d of %d writes were acknowledged, and %d are there; error %v", acknowledged, tried, o.Events, err)
		}
	}
	target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: "1"}}
	for range 3 {
		s := open()
		for range 4 {
			number := 0
			write := func() error {
				return s.Apply(ctx, target, func(v *store.View) (store.Delta, error) {
					delta := advance(1, v)
					number = delta.Operation.Events
					tried = max(tried, number)
					return delta, nil
				})
			}
			err := write()
			if refused(err) {
				err = write()
			}
			if err != nil {
				t.Fatalf("with a disk that is well again: %v", err)
			}
			acknowledged = number
			there(s)
		}
		refused(s.Close())
	}
	s := open()
	there(s)
	refused(s.Close())
}

// kinds are the ways in which a disk fails: SQLite's code for each, and the minimum number of such accesses in a run.
var kinds = map[string]struct {
	code  int32
	least int
}{
	"read":  {sqlite3.SQLITE_IOERR_READ, 100},
	"write": {sqlite3.SQLITE_IOERR_WRITE, 200},
	"sync":  {sqlite3.SQLITE_IOERR_FSYNC, 24},
}

// failingDisk fails one access of a kind.
type failingDisk struct {
	kind string
	at   int

	mu     sync.Mutex
	seen   int
	failed bool
}

func (d *failingDisk) fails(kind string) bool {
	if kind != d.kind {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen++
	d.failed = d.failed || d.seen == d.at
	return d.seen == d.at
}

func (d *failingDisk) hasFailed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// faulty has the *failingDisk of each directory whose files can fail.
var faulty sync.Map

type (
	openFunc   = func(tls *libc.TLS, vfs, path, file uintptr, flags int32, outFlags uintptr) int32
	accessFunc = func(tls *libc.TLS, file, buffer uintptr, size int32, offset int64) int32
	syncFunc   = func(tls *libc.TLS, file uintptr, flags int32) int32
)

// init inserts failing disks between SQLite and the operating system: it replaces SQLite's functions for files on such
// a disk.
func init() {
	tls := libc.NewTLS()
	system := at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
	open := function[openFunc](system.FxOpen)
	system.FxOpen = pointer(func(tls *libc.TLS, vfs, path, file uintptr, flags int32, outFlags uintptr) int32 {
		code := open(tls, vfs, path, file, flags, outFlags)
		methods := &at[sqlite3.Tsqlite3_file](file).FpMethods
		if code != sqlite3.SQLITE_OK || path == 0 || *methods == 0 {
			return code
		}
		if found, ok := faulty.Load(filepath.Dir(libc.GoString(path))); ok {
			*methods = found.(*failingDisk).methods(tls, *methods)
		}
		return code
	})
}

// methods returns SQLite's functions for a file, replaced by versions that can fail. They are never freed.
func (d *failingDisk) methods(tls *libc.TLS, system uintptr) uintptr {
	table := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	m := at[sqlite3.Tsqlite3_io_methods](table)
	*m = *at[sqlite3.Tsqlite3_io_methods](system)
	read, write, synced := function[accessFunc](m.FxRead), function[accessFunc](m.FxWrite), function[syncFunc](m.FxSync)
	m.FxRead = pointer(func(tls *libc.TLS, file, buffer uintptr, size int32, offset int64) int32 {
		if d.fails("read") {
			return kinds["read"].code
		}
		return read(tls, file, buffer, size, offset)
	})
	m.FxWrite = pointer(func(tls *libc.TLS, file, buffer uintptr, size int32, offset int64) int32 {
		if d.fails("write") {
			write(tls, file, buffer, size/2, offset) // it may have been done in part
			return kinds["write"].code
		}
		return write(tls, file, buffer, size, offset)
	})
	m.FxSync = pointer(func(tls *libc.TLS, file uintptr, flags int32) int32 {
		if d.fails("sync") {
			return kinds["sync"].code
		}
		return synced(tls, file, flags)
	})
	return table
}

// kept references the functions that C memory points to, so that they are not garbage-collected.
var kept sync.Map

// pointer returns a function as a C pointer.
func pointer[F any](f F) uintptr {
	held := &f
	kept.Store(held, nil)
	return *(*uintptr)(unsafe.Pointer(held))
}

// function returns the function behind a C pointer.
func function[F any](pointer uintptr) F { return *(*F)(unsafe.Pointer(&pointer)) }

// at returns the value at an address in C memory.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }
