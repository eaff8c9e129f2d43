package example_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestREADME runs the commands of the README in a copy of this directory.
func TestREADME(t *testing.T) {
	require.Tool(t, "node")
	npm := require.Tool(t, "npm")
	tools := require.CDKCLI(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cdk")
	for _, name := range []string{"app.js", "cdk.json", "package.json", "page/page.js", "with-pintle"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(dir, "node_modules")); err != nil { // instead of npm install
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "bin")
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "pintle"), "../../cmd/pintle").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	run := func(script string, context ...string) (string, error) {
		args := []string{"run", "--silent", script, "--"}
		for _, c := range context {
			args = append(args, "-c", c)
		}
		cmd := exec.CommandContext(t.Context(), npm, args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "NO_PROXY=127.0.0.1,localhost",
			"PINTLE_LISTEN=127.0.0.1:0", "CI=1", "CDK_DISABLE_CLI_TELEMETRY=true", "CDK_DISABLE_VERSION_CHECK=1", "CDK_VALIDATION=false", "npm_config_update_notifier=false"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	prints := func(out string, err error, patterns ...string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, pattern := range patterns {
			if !regexp.MustCompile(pattern).MatchString(out) {
				t.Errorf("not to be seen: %s\n%s", pattern, out)
			}
		}
	}

	out, err := run("deploy")
	prints(out, err, `Site\.Page = s3://site-bucket[a-z0-9-]+/welcome\.html`, `Site\.Words = 17`)
	out, err = run("diff", "title=Hello")
	prints(out, err, `\[~\] Custom::Page`, `Hello`)
	out, err = run("deploy", "title=Hello", "name=hi")
	prints(out, err, `Site\.Page = s3://site-bucket[a-z0-9-]+/hi\.html`)
	if out, err = run("deploy", "name=Hi!"); err == nil || !strings.Contains(out, "a page is named by small letters") {
		t.Errorf("a deploy that the provider refuses: %v\n%s", err, out)
	}
	out, err = run("show")
	prints(out, err, `UPDATE_ROLLBACK_COMPLETE`, `hi\.html`)
	out, err = run("destroy") // including the bucket, which must be empty
	prints(out, err, `destroyed`)
}

// TestPins checks that the example has the versions that other tests use.
func TestPins(t *testing.T) {
	pins := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(regexp.MustCompile(`"(aws-cdk|aws-cdk-lib|constructs|@aws-sdk/client-s3)": "[^"]+"`).FindAllString(string(text), -1), "\n")
	}
	if got, want := pins("package.json"), pins("../../tools/cdkapps/package.json"); got != want || strings.Count(got, "\n") != 3 {
		t.Errorf("pinned here:\n%s\nand in tools/cdkapps:\n%s", got, want)
	}
}
