package scaffold_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/author/scaffold"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// place writes a project for AWS, which uses this source, and returns its directory.
func place(t *testing.T) string {
	t.Helper()
	clone, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scaffold.New(scaffold.Config{Name: "site", Clone: clone, AWS: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The same source makes the same zip file, wherever it lies.
func TestZip(t *testing.T) {
	require.Tool(t, "zip")
	var made [][]byte
	for _, dir := range []string{place(t), place(t)} {
		build := exec.Command("sh", "build.sh", "amd64")
		build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "provider.zip"))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, text)
	}
	if len(made[0]) < 1<<20 || !bytes.Equal(made[0], made[1]) {
		t.Errorf("zip files of %d and %d bytes are not the same", len(made[0]), len(made[1]))
	}
}

func TestLint(t *testing.T) {
	tool := require.Tool(t, "cfn-lint")
	if out, err := exec.Command(tool, filepath.Join(place(t), "aws.yaml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
