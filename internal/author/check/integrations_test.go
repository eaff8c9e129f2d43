package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// integration returns the directory of a library of this repository for authors in another language.
func integration(t *testing.T, path ...string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "..", "integrations"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// wantPerfect checks a note on such a library: every scenario runs, and there is not even a note.
func wantPerfect(t *testing.T, c check.Config) {
	t.Helper()
	c.Properties = []byte(`{"Name": "a", "Text": "b", "Lines": 2, "Password": "pw-5e5e5e"}`)
	c.Update = []byte(`{"Name": "a", "Text": "c", "Lines": 3, "Password": "pw-6f6f6f"}`)
	c.Replace, c.Bad = []byte(`{"Name": "z", "Text": "b"}`), []byte(`{"Name": "../x", "Text": "b"}`)
	report := run(t, c)
	for _, f := range report.Findings {
		t.Errorf("%s %s in %s: %s\n  request %s\n  response %s", f.Severity, f.ID, f.Scenario, f.Detail, f.Request, f.Response)
	}
	if !slices.ContainsFunc(report.Outcomes, func(o check.Outcome) bool { return o.ID == "read" }) ||
		!slices.ContainsFunc(report.Outcomes, func(o check.Outcome) bool { return o.ID == "plan" }) {
		t.Error("the scenarios read and plan were left out")
	}
	for _, o := range report.Outcomes {
		if o.Result != check.Passed {
			t.Errorf("%s: %s %s", o.ID, o.Result, o.Reason)
		}
	}
	for _, left := range report.Left {
		t.Errorf("left behind: %+v", left)
	}
}

// TestPythonLibrary checks a handler on pintle-provider, and runs the tests of that library.
func TestPythonLibrary(t *testing.T) {
	python := require.Tool(t, "python3")
	dir := integration(t, "python")
	t.Run("check", func(t *testing.T) {
		t.Parallel()
		wantPerfect(t, target(t, filepath.Join("testdata", "handlers", "pintle_provider_note.py"), map[string]string{
			"PYTHONPATH": dir, "PYTHONDONTWRITEBYTECODE": "1", "NOTES": t.TempDir(),
		}))
	})
	t.Run("unit tests", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), python, "-W", "error", "-m", "unittest")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "HTTP_PROXY=", "http_proxy=")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "\nOK") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// withNodeLibrary returns a new directory in which @pintle-dev/provider is installed.
func withNodeLibrary(t *testing.T, library string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "node_modules", "@pintle-dev"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(library, filepath.Join(dir, "node_modules", "@pintle-dev", "provider")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNodeLibrary checks handlers on @pintle-dev/provider in JavaScript and TypeScript, and runs the tests of that library and of its types.
func TestNodeLibrary(t *testing.T) {
	node := require.Tool(t, "node")
	dir := integration(t, "node", "provider")
	t.Run("check", func(t *testing.T) {
		t.Parallel()
		modules := filepath.Join(withNodeLibrary(t, dir), "node_modules")
		wantPerfect(t, target(t, filepath.Join("testdata", "handlers", "pintle-provider.js"), map[string]string{"NODE_PATH": modules, "NOTES": t.TempDir()}))
	})
	t.Run("unit tests", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), node, "--test", "provider.test.js")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "pass 0\n") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("check of TypeScript", func(t *testing.T) {
		t.Parallel()
		installed := filepath.Join(require.CDKLanguages(t), "node_modules")
		project := withNodeLibrary(t, dir)
		if err := os.Symlink(filepath.Join(installed, "@types"), filepath.Join(project, "node_modules", "@types")); err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(filepath.Join("testdata", "handlers", "pintle-provider.ts"))
		if err == nil {
			err = os.WriteFile(filepath.Join(project, "notes.ts"), source, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), node, filepath.Join(installed, "typescript", "bin", "tsc"), "--strict", "--target", "es2022", "--module", "node16",
			"--skipLibCheck", "--types", "node", "notes.ts")
		cmd.Dir = project
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		wantPerfect(t, target(t, filepath.Join(project, "notes.js"), map[string]string{"NOTES": t.TempDir()}))
	})
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		compiler := filepath.Join(require.CDKLanguages(t), "node_modules", "typescript", "bin", "tsc")
		files := []string{filepath.Join(dir, "types.test.ts"), filepath.Join(integration(t, "node", "testing"), "testing.d.ts")}
		args := append([]string{compiler, "--noEmit", "--strict", "--target", "es2022", "--module", "node16", "--lib", "es2022,dom"}, files...)
		cmd := exec.CommandContext(t.Context(), node, args...)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
