package node_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
)

// TestExists checks that a directory without read permission does not count as empty.
func TestExists(t *testing.T) {
	if os.Geteuid() < 1 {
		t.Skip("root may look into every folder, and Windows knows no such")
	}
	dir := filepath.Join(t.TempDir(), "data")
	if node.Exists(dir) {
		t.Error("a directory that is not there exists")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if node.Exists(dir) {
		t.Error("an empty directory was used before")
	}
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	hidden := node.Exists(dir)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if !hidden {
		t.Error("a directory that may not be looked into is taken for an empty one")
	}
}
