package require_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// outcome records how a test ended. Like the real one, Skip and Fatalf end the goroutine.
type outcome struct {
	testing.TB
	skipped, failed string
}

func (o *outcome) Helper() {}

func (o *outcome) Skip(args ...any) {
	o.skipped = args[0].(string)
	runtime.Goexit()
}

func (o *outcome) Fatalf(format string, args ...any) {
	o.failed = format
	for _, arg := range args {
		o.failed += " " + arg.(string)
	}
	runtime.Goexit()
}

// run runs f as a separate test and reports how it ended.
func run(f func(testing.TB)) *outcome {
	o := &outcome{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(o)
	}()
	<-done
	return o
}

func TestTool(t *testing.T) {
	dir := t.TempDir()
	present := filepath.Join(dir, "present")
	if err := os.WriteFile(present, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv(require.Variable, "other, wanted")

	var path string
	if o := run(func(t testing.TB) { path = require.Tool(t, "present") }); path != present || o.skipped+o.failed != "" {
		t.Errorf("present: path %q, outcome %+v", path, o)
	}
	if o := run(func(t testing.TB) { require.Tool(t, "absent") }); o.skipped != "absent is not on PATH" || o.failed != "" {
		t.Errorf("absent: %+v, want a skip with the reason", o)
	}
	if o := run(func(t testing.TB) { require.Tool(t, "wanted") }); o.skipped != "" || !strings.Contains(o.failed, "wanted is not on PATH") {
		t.Errorf("wanted: %+v, want a failure", o)
	}
}

// TestOldAWSCLI checks that an AWS CLI that would call AWS is not used.
func TestOldAWSCLI(t *testing.T) {
	for version, known := range map[string]bool{
		"aws-cli/1.28.9": false, "aws-cli/1.29.0": true, "aws-cli/2.9.19": false, "aws-cli/2.13.0": true, "aws-cli/3.0.0": true, "other": false,
	} {
		dir := t.TempDir()
		program := "#!/bin/sh\necho '" + version + " Python/3.11.2 Linux/6.1'\n"
		if err := os.WriteFile(filepath.Join(dir, "aws"), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		t.Setenv(require.Variable, "")
		o := run(func(t testing.TB) { require.Tool(t, "aws") })
		if o.failed != "" || (o.skipped == "") != known || !known && !strings.Contains(o.skipped, "AWS_ENDPOINT_URL") {
			t.Errorf("%s: %+v", version, o)
		}
	}
}

func TestPython(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv(require.Variable, "lib")
	if o := run(func(t testing.TB) { require.Python(t, "json") }); o.skipped != "python3 is not on PATH" {
		t.Errorf("no python3: %+v, want a skip", o)
	}

	// This script simulates an interpreter without the library: for every module but json it prints the reason and
	// exits with 1.
	script := "#!/bin/sh\n[ \"$3\" = json ] && exit 0\necho Traceback >&2\necho \"No module named $3\" >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var path string
	if o := run(func(t testing.TB) { path = require.Python(t, "json") }); path != filepath.Join(dir, "python3") {
		t.Errorf("json: path %q, outcome %+v", path, o)
	}
	if o := run(func(t testing.TB) { require.Python(t, "other") }); !strings.HasSuffix(o.skipped, "No module named other") {
		t.Errorf("other: %+v, want a skip with the interpreter's last line", o)
	}
	if o := run(func(t testing.TB) { require.Python(t, "lib") }); !strings.Contains(o.failed, "No module named lib") {
		t.Errorf("lib: %+v, want a failure", o)
	}
}

func TestPostgres(t *testing.T) {
	t.Setenv(require.Variable, "postgres")
	dir, empty := t.TempDir(), t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", empty)
	var path string
	t.Setenv(require.PostgresVariable, dir)
	if o := run(func(t testing.TB) { path = require.Postgres(t) }); path != dir || o.skipped+o.failed != "" {
		t.Errorf("named: path %q, outcome %+v", path, o)
	}
	t.Setenv(require.PostgresVariable, empty)
	if o := run(func(t testing.TB) { require.Postgres(t) }); !strings.Contains(o.failed, "no initdb") {
		t.Errorf("named wrongly: %+v, want a failure", o)
	}
	t.Setenv(require.PostgresVariable, "")
	t.Setenv("PATH", dir)
	if o := run(func(t testing.TB) { path = require.Postgres(t) }); path != dir || o.skipped+o.failed != "" {
		t.Errorf("on PATH: path %q, outcome %+v", path, o)
	}
}

func TestCDK(t *testing.T) {
	testFolder(t, "cdk", require.CDKVariable, "cdk.json", func(t testing.TB) string { return require.CDK(t) })
}

func TestCDKCLI(t *testing.T) {
	testFolder(t, "cdk.cli", require.CDKCLIVariable, "node_modules/.bin/cdk", func(t testing.TB) string { return require.CDKCLI(t) })
}

func TestCDKLanguages(t *testing.T) {
	testFolder(t, "cdk.languages", require.CDKLanguagesVariable, "cdklanguages.json", func(t testing.TB) string { return require.CDKLanguages(t) })
}

func TestPopcore(t *testing.T) {
	testFolder(t, "popcore", require.PopcoreVariable, "popcore.json", func(t testing.TB) string { return require.Popcore(t) })
	testFolder(t, "oss", require.OSSVariable, "oss.json", func(t testing.TB) string { return require.OSS(t) })
}

func TestPlaywright(t *testing.T) {
	testFolder(t, "playwright", require.PlaywrightVariable, "browser.json", func(t testing.TB) string { return require.Playwright(t) })
}

// testFolder tests a func that finds the directory in a variable, which is valid if it contains the file.
func testFolder(t *testing.T, name, variable, file string, find func(testing.TB) string) {
	t.Setenv(require.Variable, "")
	t.Setenv(require.WithoutVariable, "")
	dir, empty := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var path string
	t.Setenv(variable, dir)
	if o := run(func(t testing.TB) { path = find(t) }); path != dir || o.skipped+o.failed != "" {
		t.Errorf("named: path %q, outcome %+v", path, o)
	}
	t.Setenv(variable, empty)
	if o := run(func(t testing.TB) { find(t) }); !strings.Contains(o.failed, "has not made") {
		t.Errorf("named wrongly: %+v, want a failure", o)
	}
	t.Setenv(variable, "")
	if o := run(func(t testing.TB) { find(t) }); !strings.Contains(o.skipped, "names no folder") {
		t.Errorf("not named: %+v, want a skip", o)
	}
	t.Setenv(require.Variable, name)
	if o := run(func(t testing.TB) { find(t) }); !strings.Contains(o.failed, "names no folder") {
		t.Errorf("required: %+v, want a failure", o)
	}
}

// TestWithout checks that the variable excludes an installed program, unless that is required.
func TestWithout(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "present"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv(require.Variable, "")
	t.Setenv(require.WithoutVariable, "other,present")
	if o := run(func(t testing.TB) { require.Tool(t, "present") }); o.skipped != "PINTLE_WITHOUT leaves present out" {
		t.Errorf("left out: %+v, want a skip with the reason", o)
	}
	t.Setenv(require.Variable, "present")
	if o := run(func(t testing.TB) { require.Tool(t, "present") }); o.skipped+o.failed != "" {
		t.Errorf("left out and required: %+v, want it found", o)
	}
}

func TestHandlers(t *testing.T) {
	testFolder(t, "handlers", require.HandlersVariable, "handlers.json", func(t testing.TB) string { return require.Handlers(t) })
}

func TestDeployers(t *testing.T) {
	testFolder(t, "deployers", require.DeployersVariable, "deployers.json", func(t testing.TB) string { return require.Deployers(t) })
}
