// Package require finds the outside programs that some tests drive: the AWS CLI, Python and its libraries.
//
// A test that needs one calls [Tool] or [Python] first. Where the program is not installed the test is skipped with
// the reason, so that a plain go test needs nothing but Go. [Variable] names what must be there: for those names the
// skip becomes a failure, and a run in CI cannot go green by testing nothing.
package require

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Variable is the environment variable that lists, separated by commas, the names whose absence fails a test,
// e.g. "aws,boto3".
const Variable = "PINTLE_REQUIRE"

// Tool returns the path of the program name on PATH. If there is none, it skips the test, or fails it when
// [Variable] lists name.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name, name+" is not on PATH")
	}
	return path
}

// Python returns the path of a python3 on PATH that can import module. If there is none, it skips the test, or fails
// it when [Variable] lists module.
func Python(t testing.TB, module string) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		missing(t, module, "python3 is not on PATH")
	}
	script := "import importlib, sys; importlib.import_module(sys.argv[1])"
	if out, err := exec.Command(path, "-c", script, module).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		missing(t, module, path+" cannot import "+module+": "+lines[len(lines)-1])
	}
	return path
}

// missing ends the test: skipped, or failed if name is required.
func missing(t testing.TB, name, reason string) {
	t.Helper()
	if required(os.Getenv(Variable), name) {
		t.Fatalf("%s, and %s requires it", reason, Variable)
	}
	t.Skip(reason)
}

func required(list, name string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(item string) bool {
		return strings.TrimSpace(item) == name
	})
}
