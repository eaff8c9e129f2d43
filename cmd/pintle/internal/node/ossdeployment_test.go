package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// withPython puts a python3 on PATH that finds the modules of a directory, as that of a virtual environment does.
func withPython(t *testing.T, modules string) {
	t.Helper()
	python, dir := require.Tool(t, "python3"), t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nPYTHONPATH='%s' exec '%s' \"$@\"\n", modules, python)
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// TestBucketDeploymentOfROS creates, updates, rolls back and deletes a stack of Alibaba Cloud's BucketDeployment, with its own
// library, its own clients, and its own function, which names endpoints of Alibaba Cloud.
func TestBucketDeploymentOfROS(t *testing.T) {
	dir, node := require.OSS(t), require.Tool(t, "node")
	script, err := filepath.Abs(filepath.Join("testdata", "ossdeployment.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	withPython(t, filepath.Join(dir, "python"))
	n := serving(t, Config{Cloud: true, Dev: true})
	command := exec.Command(node, script)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"), "ENDPOINT="+n.record.URL, "NO_PROXY=*", "no_proxy=*")
	out, err := command.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
