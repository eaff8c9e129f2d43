package clienttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// Classes compiles a Java 11 source into dir, with AWS's libraries for Java on its class path. With libraries, it
// also copies those into dir/lib, the layout of Lambda packages. It skips the test if javac or the libraries are not
// installed.
func Classes(t testing.TB, dir, source string, libraries bool) {
	t.Helper()
	lib := filepath.Join(require.Java(t), "lib")
	compiler := require.Tool(t, "javac")
	compile := exec.Command(compiler, "--release", "11", "-cp", filepath.Join(lib, "*"), "-d", dir, source)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("javac %s: %v\n%s", source, err, out)
	}
	if libraries {
		if err := os.CopyFS(filepath.Join(dir, "lib"), os.DirFS(lib)); err != nil {
			t.Fatal(err)
		}
	}
}
