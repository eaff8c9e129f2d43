package cdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// app is an app in testdata, with the directory from which it is deployed.
type app struct {
	t      *testing.T
	cloud  *cloud
	source string // its program
	// assembly is the directory of the synthesized app. If it is empty, each command runs the program.
	assembly string
	dir      string
	tools    string // where the CDK is installed
	seen     int    // bytes of the ledger that were already checked
}

// newApp returns the app in a testdata directory, with a server for it. Its functions find only the AWS SDK packages
// of the server.
func newApp(t *testing.T, name string, serve ...string) *app {
	t.Helper()
	tools := requireCDK(t)
	t.Parallel()
	return &app{t: t, cloud: newCloud(t, serve...),
		source: absolute(t, filepath.Join("testdata", name, "app.js")), dir: t.TempDir(), tools: tools}
}

// requireCDK returns the directory where the CDK is installed, or skips the test.
func requireCDK(t *testing.T) string {
	t.Helper()
	require.Tool(t, "node")
	return require.CDKCLI(t)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command returns a CDK command, with the app's context as KEY=VALUE.
func (a *app) command(context []string, args ...string) *exec.Cmd {
	cdk := filepath.Join(a.tools, "node_modules", ".bin", "cdk")
	program := a.assembly
	if program == "" {
		program = fmt.Sprintf("node '%s'", a.source)
	}
	args = append(args, "--no-notices", "--no-color", "--app", program, "-c", "ledger="+a.ledger())
	for _, c := range context {
		args = append(args, "-c", c)
	}
	cmd := exec.CommandContext(a.t.Context(), cdk, args...)
	cmd.Dir = a.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + a.dir, "TMPDIR=" + os.TempDir(), "NODE_PATH=" + filepath.Join(a.tools, "node_modules"),
		"NO_PROXY=127.0.0.1,localhost", "CI=1", "CDK_DISABLE_CLI_TELEMETRY=true", "CDK_DISABLE_VERSION_CHECK=1",
		"CDK_VALIDATION=false", // takes seconds per command, to validate CDK's own template
		"AWS_ENDPOINT_URL=" + a.cloud.url, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=" + region, "AWS_EC2_METADATA_DISABLED=true",
	}
	return cmd
}

// cdk runs a command and returns its output.
func (a *app) cdk(context []string, args ...string) (string, error) {
	out, err := a.command(context, args...).CombinedOutput()
	return string(out), err
}

// does runs a command that must succeed.
func (a *app) does(context []string, args ...string) string {
	a.t.Helper()
	out, err := a.cdk(context, args...)
	if err != nil {
		a.t.Fatalf("cdk %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// outputs are stack outputs, by stack name.
type outputs map[string]map[string]string

// deploys runs cdk deploy for all stacks, which must succeed, and returns their outputs.
func (a *app) deploys(context []string, more ...string) outputs {
	a.t.Helper()
	file := filepath.Join(a.dir, "outputs.json")
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.t.Fatal(err)
	}
	a.does(context, append([]string{"deploy", "--all", "--require-approval", "never", "--progress", "events", "--outputs-file", file}, more...)...)
	text, err := os.ReadFile(file)
	if err != nil {
		a.t.Fatal(err)
	}
	var o outputs
	if err := json.Unmarshal(text, &o); err != nil {
		a.t.Fatal(err)
	}
	return o
}

// fails runs cdk deploy, which must fail with a reason.
func (a *app) fails(reason string, context []string, more ...string) {
	a.t.Helper()
	out, err := a.cdk(context, append([]string{"deploy", "--all", "--require-approval", "never", "--progress", "events"}, more...)...)
	if err == nil || !strings.Contains(out, reason) {
		a.t.Fatalf("cdk deploy: %v, want it to fail with %q\n%s", err, reason, out)
	}
}

// differs runs cdk diff, which must print the texts.
func (a *app) differs(context []string, texts ...string) {
	a.t.Helper()
	out := a.does(context, "diff")
	for _, text := range texts {
		if !strings.Contains(out, text) {
			a.t.Errorf("cdk diff does not print %q:\n%s", text, out)
		}
	}
}

// destroys runs cdk destroy for all stacks.
func (a *app) destroys() {
	a.t.Helper()
	a.does(nil, "destroy", "--all", "--force")
}

func (a *app) ledger() string { return filepath.Join(a.dir, "ledger") }

// entries returns the ledger entries since the last call.
func (a *app) entries() []map[string]any {
	a.t.Helper()
	text, err := os.ReadFile(a.ledger())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.t.Fatal(err)
	}
	var list []map[string]any
	for line := range bytes.Lines(text[a.seen:]) {
		var entry map[string]any
		if err := json.Unmarshal(line, &entry); err != nil {
			a.t.Fatalf("%v in the ledger's line %s", err, line)
		}
		list = append(list, entry)
	}
	a.seen = len(text)
	return list
}

// saw compares the ledger entries since the last call. For each entry it compares the named members, with - for a
// missing one.
func (a *app) saw(names string, want ...string) {
	a.t.Helper()
	var got []string
	for _, entry := range a.entries() {
		var words []string
		for _, name := range strings.Fields(names) {
			if v, ok := entry[name]; ok && v != nil {
				words = append(words, fmt.Sprint(v))
			} else {
				words = append(words, "-")
			}
		}
		got = append(got, strings.Join(words, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		a.t.Errorf("the handlers saw (-want +got):\n%s", diff)
	}
}

// same compares the outputs of a deployment.
func (a *app) same(got, want outputs) {
	a.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		a.t.Errorf("outputs (-want +got):\n%s", diff)
	}
}
