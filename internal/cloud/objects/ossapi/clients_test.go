package ossapi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestPython runs the OSS SDKs for Python against an endpoint, with both signatures.
func TestPython(t *testing.T) {
	dir, python := require.OSS(t), require.Tool(t, "python3")
	for _, client := range []string{"oss2_client.py", "oss_v2_client.py"} {
		for _, version := range []string{"v1", "v4"} {
			t.Run(client+"/"+version, func(t *testing.T) {
				run(t, "PYTHONPATH="+filepath.Join(dir, "python"), python, client, newDoor(t).url, version)
			})
		}
	}
}

// TestJavaScript runs ali-oss against an endpoint, with both signatures and with the bucket in the host and in the
// path.
func TestJavaScript(t *testing.T) {
	dir, node := require.OSS(t), require.Tool(t, "node")
	for _, version := range []string{"v1", "v4"} {
		for _, style := range []string{"host", "path"} {
			t.Run(version+"/"+style, func(t *testing.T) {
				url := newDoor(t).url
				if style == "path" { // for an IP address, ali-oss writes the bucket into the host
					url = strings.Replace(url, "127.0.0.1", "localhost", 1)
				}
				run(t, "NODE_PATH="+filepath.Join(dir, "node_modules"), node, "client.cjs", url, version, style)
			})
		}
	}
}

func run(t *testing.T, variable, program, script string, args ...string) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, append([]string{script}, args...)...)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), variable, "NO_PROXY=*", "no_proxy=*")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
