package filewatch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/filewatch"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// aged sets the time of a file to long ago, so that its hash is cached.
func aged(t *testing.T, path string) {
	t.Helper()
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func TestLook(t *testing.T) {
	dir := t.TempDir()
	file, sub := filepath.Join(dir, "a.txt"), filepath.Join(dir, "sub", "b.txt")
	groups := []filewatch.Group{
		{Name: "one", Files: []string{file}},
		{Name: "two", Trees: []filewatch.Tree{{Root: filepath.Join(dir, "sub"), Deep: true, Extensions: []string{".txt"}, Except: []string{"_x.txt"}}}},
	}
	var looker filewatch.Looker
	before, folders := looker.Look(groups)
	if diff := cmp.Diff([]string{dir}, folders); diff != "" { // the nearest existing ancestor
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one", "two"}, before.Changed(nil)); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"nothing", func() {}, nil},
		{"a new file", func() { write(t, file, "1") }, []string{"one"}},
		{"same contents", func() { write(t, file, "1") }, nil},
		{"same size and time", func() { write(t, file, "2") }, []string{"one"}},
		{"touched", func() { aged(t, file) }, nil},
		{"saved by renaming", func() { write(t, file+"~", "3"); check(t, os.Rename(file+"~", file)) }, []string{"one"}},
		{"executable", func() { check(t, os.Chmod(file, 0o700)) }, []string{"one"}},
		{"removed", func() { check(t, os.Remove(file)) }, []string{"one"}},
		{"in a new directory", func() { write(t, sub, "1") }, []string{"two"}},
		{"deeper", func() { write(t, filepath.Join(dir, "sub", "c", "d.txt"), "1") }, []string{"two"}},
		{"both", func() { write(t, file, "1"); write(t, sub, "22") }, []string{"one", "two"}},
		{"renamed", func() { check(t, os.Rename(sub, filepath.Join(dir, "sub", "z.txt"))) }, []string{"two"}},
		{"ignored files", func() {
			write(t, filepath.Join(dir, "sub", "b.md"), "1")
			write(t, filepath.Join(dir, "sub", "b_x.txt"), "1")
			write(t, filepath.Join(dir, "sub", "node_modules", "b.txt"), "1")
			write(t, filepath.Join(dir, "sub", ".git", "b.txt"), "1")
		}, nil},
		{"link to a parent directory", func() { check(t, os.Symlink(dir, filepath.Join(dir, "sub", "up"))) }, nil},
		{"directory removed", func() { check(t, os.RemoveAll(filepath.Join(dir, "sub"))) }, []string{"two"}},
	} {
		step.do()
		now, _ := looker.Look(groups)
		if diff := cmp.Diff(step.want, now.Changed(before)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		before = now
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLookAtLarge checks that a file larger than the read limit counts as changed if its size or time changes.
func TestLookAtLarge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large")
	write(t, file, "")
	check(t, os.Truncate(file, 17<<20))
	aged(t, file)
	groups := []filewatch.Group{{Name: "it", Files: []string{file}}}
	var looker filewatch.Looker
	before, _ := looker.Look(groups)
	if now, _ := looker.Look(groups); now.Changed(before) != nil {
		t.Error("nothing happened, and it has changed")
	}
	check(t, os.Chtimes(file, time.Time{}, time.Now()))
	if now, _ := looker.Look(groups); now.Changed(before) == nil {
		t.Error("it was written, and has not changed")
	}
}

// TestWait checks that a save ends the wait, with and without events.
func TestWait(t *testing.T) {
	for name, config := range map[string]filewatch.Config{
		"events":    {Quiet: time.Millisecond, Every: time.Hour},
		"no events": {NoEvents: true, Poll: time.Millisecond},
		"both":      {Quiet: time.Millisecond, Every: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "a.txt")
			w := filewatch.New(config)
			t.Cleanup(func() { check(t, w.Close()) })
			if broken := w.Broken(); (broken != nil) != config.NoEvents {
				t.Fatal(broken)
			}
			w.Watch([]string{t.TempDir(), dir})
			w.Watch([]string{dir})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for range 3 {
				write(t, file, "x")
				if err := w.Wait(ctx); err != nil {
					t.Fatal(err)
				}
			}
			// A directory that is removed and created again is watched again.
			check(t, os.RemoveAll(dir))
			check(t, os.MkdirAll(dir, 0o700))
			if err := w.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			w.Watch([]string{dir})
			write(t, file, "y")
			if err := w.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			for {
				if err := w.Wait(ctx); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					break
				}
			}
		})
	}
}

// TestBroken checks that polling speeds up for files that send no events, but not because of a directory that was
// just removed.
func TestBroken(t *testing.T) {
	w := filewatch.New(filewatch.Config{Poll: time.Millisecond, Every: time.Hour})
	dir := t.TempDir()
	w.Watch([]string{filepath.Join(dir, "nowhere"), dir})
	if err := w.Broken(); err != nil {
		t.Error(err)
	}
	w.Watch([]string{filepath.Join(dir, strings.Repeat("x", 5000))})
	if w.Broken() == nil {
		t.Fatal("what no folder can be called is watched")
	}
	if err := w.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	check(t, w.Close())
}
