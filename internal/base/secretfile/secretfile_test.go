package secretfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestPrivate(t *testing.T) {
	const root, pintle, other = 0, 65532, 1000
	for _, c := range []struct {
		mode          fs.FileMode
		owner, reader uint32
		want          bool
	}{
		{0o600, pintle, pintle, true},
		{0o400, pintle, pintle, true},
		{0o640, pintle, pintle, false},
		{0o604, pintle, pintle, false},
		{0o440, root, pintle, true}, // a Kubernetes secret with an fsGroup
		{0o640, root, pintle, true},
		{0o460, root, pintle, false}, // its group may write to it
		{0o450, root, pintle, false},
		{0o444, root, pintle, false},
		{0o600, root, root, true},
		{0o640, root, root, false},
		{0o600, other, pintle, true},
		{0o640, other, pintle, false},
	} {
		if got := private(c.mode, c.owner, c.reader); got != c.want {
			t.Errorf("mode %04o of user %d, read by %d: private is %t, want %t", c.mode, c.owner, c.reader, got, c.want)
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[fs.FileMode]bool{0o600: true, 0o644: runtime.GOOS == "windows"} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := Private(info); got != want {
			t.Errorf("mode %04o: private is %t, want %t", mode, got, want)
		}
	}
}

// TestLike checks that a replacement gets the owner, group and mode of the old file, or stays private to its creator.
func TestLike(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file has no such bits there")
	}
	dir := t.TempDir()
	old, draft := filepath.Join(dir, "old"), filepath.Join(dir, "draft")
	for _, path := range []string{old, draft} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantOwner := self()
	if wantOwner == 0 {
		wantOwner = 65532
		if err := os.Chown(old, int(wantOwner), 65532); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(old, 0o400); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(old)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(draft, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Like(file, info), file.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(draft); err != nil {
		t.Fatal(err)
	}
	if owner, _ := ownerOf(info); owner != wantOwner || info.Mode() != 0o400 {
		t.Errorf("it is of user %d with mode %v, want %d and 0400", owner, info.Mode(), wantOwner)
	}
}

// TestLikeWithoutRight checks that a process without the right to change owners remains the owner and keeps mode 0600.
func TestLikeWithoutRight(t *testing.T) {
	if runtime.GOOS == "windows" || self() == 0 {
		t.Skip("everybody who runs this may give files away")
	}
	info, err := os.Stat(string(filepath.Separator)) // owned by root
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "draft"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := Like(file, info); err != nil {
		t.Error(err)
	}
	made, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if owner, _ := ownerOf(made); owner != self() || made.Mode() != 0o600 {
		t.Errorf("it is of user %d with mode %v", owner, made.Mode())
	}
}
