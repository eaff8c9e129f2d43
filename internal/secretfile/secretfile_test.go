package secretfile

import (
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
		{0o440, root, pintle, true}, // a secret of Kubernetes with an fsGroup
		{0o640, root, pintle, true},
		{0o460, root, pintle, false}, // its group may change it
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
