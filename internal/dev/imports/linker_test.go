package imports_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinker checks that the linker leaves unused methods out of providers. It keeps the exported methods of all types in a program if
// a function looks methods up by a name that is not constant, as templates do. That adds 15 percent to a small provider.
func TestLinker(t *testing.T) {
	if testing.Short() {
		t.Skip("it links a program")
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "provider"), "./examples/minimal/provider")
	build.Dir = root
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if function, _, marked := strings.Cut(line, " <ReflectMethod>"); marked {
			if _, called, ok := strings.Cut(function, " -> "); ok {
				function = called
			}
			t.Fatalf("%s looks methods up by a name that is not constant", function)
		}
	}
}
