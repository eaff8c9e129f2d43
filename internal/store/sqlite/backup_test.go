package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
)

// TestBackup copies a database while it is written: the copy has everything that was acknowledged before it began, and
// no partial writes.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.db")
	s := open(t, path, nil)
	defer closeStore(t, s)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var acknowledged [4]atomic.Int64
	var all sync.WaitGroup
	begun := make(chan struct{}, len(acknowledged))
	for i := range acknowledged {
		key := store.StackKey(i + 1)
		target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: string(rune('a' + i))}}
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				var number int
				err := s.Apply(context.Background(), target, func(v *store.View) (store.Delta, error) {
					d := advance(key, v)
					if d.Stack != nil {
						d.Stack.Name = target.Name.Name
					}
					number = d.Operation.Events
					return d, nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				acknowledged[i].Store(int64(number))
				if n == 20 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range acknowledged {
		<-begun
	}
	for _, name := range []string{"first.db", "second.db"} {
		want := make(map[store.StackKey]int)
		for i := range acknowledged {
			want[store.StackKey(i+1)] = int(acknowledged[i].Load())
		}
		into := filepath.Join(dir, name)
		if err := sqlite.Backup(context.Background(), path, into); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(into); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("others can read the copy: %v, error %v", info.Mode(), err)
		}
		checkChild(t, into, want)
	}
	stop()
	all.Wait()
}

func TestBackupErrors(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "p.db")
	closeStore(t, open(t, good, nil))
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	taken := write("taken", "precious")
	for name, test := range map[string]struct{ path, into, want string }{
		"no database":  {filepath.Join(dir, "no.db"), filepath.Join(dir, "a"), "no such file"},
		"empty":        {write("empty.db", ""), filepath.Join(dir, "b"), "empty"},
		"text":         {write("text.db", strings.Repeat("no database\n", 1000)), filepath.Join(dir, "c"), "not a SQLite database"},
		"taken":        {good, taken, "file exists"},
		"no directory": {good, filepath.Join(dir, "no", "d"), "no such file"},
	} {
		err := sqlite.Backup(context.Background(), test.path, test.into)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if _, err := os.Stat(test.into); err == nil && test.into != taken {
			t.Errorf("%s: a file was left", name)
		}
	}
	if text, err := os.ReadFile(taken); err != nil || string(text) != "precious" {
		t.Errorf("a file was overwritten: %q, error %v", text, err)
	}
	if err := sqlite.Backup(context.Background(), good, filepath.Join(dir, "e")); err != nil {
		t.Error(err)
	}
}
