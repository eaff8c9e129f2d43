package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
		t.Errorf("%s %s in %s: %s\n  sent %s\n  came %s", f.Severity, f.ID, f.Scenario, f.Detail, f.Sent, f.Came)
	}
	for _, o := range report.Outcomes {
		if o.Verdict != check.Passed {
			t.Errorf("%s: %s %s", o.ID, o.Verdict, o.Reason)
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
			"PYTHONPATH": dir, "PYTHONDONTWRITEBYTECODE": "1",
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
