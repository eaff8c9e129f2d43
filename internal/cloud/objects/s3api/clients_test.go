package s3api_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestBoto3 runs the calls of handlers and the CDK's own tools, with the SDK that many of them use.
func TestBoto3(t *testing.T) {
	python := require.Python(t, "boto3")
	d := newDoor(t, 0)
	d.make(t, "strange", stranger)
	command := exec.Command(python, filepath.Join("testdata", "boto3_client.py"), d.url)
	command.Env = d.env()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestJavaScript runs the calls of the CDK's handlers, with their SDK.
func TestJavaScript(t *testing.T) {
	dir, node := require.CDK(t), require.Tool(t, "node")
	d := newDoor(t, 0)
	command := exec.Command(node, filepath.Join("testdata", "client.cjs"))
	command.Env = append(d.env(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestCLI runs the commands of BucketDeployment and of users.
func TestCLI(t *testing.T) {
	aws := require.Tool(t, "aws")
	d := newDoor(t, 0)
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		command := exec.Command(aws, args...)
		command.Env, command.Dir = d.env(), dir
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, longAgo, longAgo)); err != nil {
			t.Fatal(err)
		}
	}
	keys := func() []string {
		return strings.Fields(run("s3api", "list-objects-v2", "--bucket", "site", "--query", "Contents[].Key", "--output", "text"))
	}
	same := func(name, other string) {
		t.Helper()
		is, err := os.ReadFile(filepath.Join(dir, name))
		was, otherErr := os.ReadFile(filepath.Join(dir, other))
		if err = errors.Join(err, otherErr); err != nil || !bytes.Equal(is, was) {
			t.Errorf("%s and %s are not the same: %v", name, other, err)
		}
	}
	run("s3", "mb", "s3://site")
	write("from/index.html", "<p>hello</p>")
	write("from/a/grüße.txt", "Grüße")
	write("from/a/old.txt", "old")
	run("s3", "sync", "from", "s3://site/web", "--cache-control", "max-age=60")
	if diff := cmp.Diff([]string{"web/a/grüße.txt", "web/a/old.txt", "web/index.html"}, keys()); diff != "" {
		t.Error(diff)
	}
	if out := run("s3", "sync", "from", "s3://site/web"); out != "" {
		t.Errorf("what is the same is sent again: %s", out)
	}
	if got := run("s3api", "head-object", "--bucket", "site", "--key", "web/index.html", "--query", "[CacheControl,ContentType]", "--output", "text"); got != "max-age=60\ttext/html" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(dir, "from/a/old.txt")); err != nil {
		t.Fatal(err)
	}
	run("s3", "sync", "from", "s3://site/web", "--delete")
	run("s3", "cp", "s3://site/web", "s3://site/copy", "--recursive")
	if diff := cmp.Diff([]string{"copy/a/grüße.txt", "copy/index.html", "web/a/grüße.txt", "web/index.html"}, keys()); diff != "" {
		t.Error(diff)
	}
	run("s3", "cp", "s3://site/web", "to", "--recursive")
	same("from/index.html", "to/index.html")
	same("from/a/grüße.txt", "to/a/grüße.txt")

	// A multipart upload.
	write("big", strings.Repeat("0123456789abcdef", 10<<16))
	run("s3", "cp", "big", "s3://site/big")
	run("s3", "cp", "s3://site/big", "s3://site/big2")
	run("s3", "cp", "s3://site/big2", "big2")
	same("big", "big2")
	if got := run("s3api", "head-object", "--bucket", "site", "--key", "big", "--query", "ETag", "--output", "text"); !strings.HasSuffix(got, `-2"`) {
		t.Error(got)
	}

	run("s3", "rm", "s3://site", "--recursive")
	if got := keys(); len(got) != 1 || got[0] != "None" {
		t.Errorf("left: %q", got)
	}
	run("s3", "rb", "s3://site")
	if got := run("s3", "ls"); got != "" {
		t.Error(got)
	}
}
