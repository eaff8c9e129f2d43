package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// block returns the n-th fenced block of a language in a page, counted from 0.
func block(t *testing.T, page, language string, n int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	if n >= len(found) {
		t.Fatalf("%s has %d blocks of %s, want number %d", page, len(found), language, n+1)
	}
	return found[n][1]
}

// write writes a file and the directories it is in.
func write(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// runIn runs pintle in a directory.
func runIn(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "pintle", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The provider and the project file of the guide are deployed as they are printed there, and the test passes.
func TestGuide(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	dir := t.TempDir()
	write(t, dir, "pintle.yaml", block(t, "docs/provider-guide.md", "yaml", 0), 0o600)
	write(t, dir, "provider/main.go", block(t, "docs/provider-guide.md", "go", 0), 0o600)
	write(t, dir, "provider/go.mod", "module example.com/notes\n\ngo 1.26\n\n"+
		"require github.com/pintle-dev/pintle v0.0.0\n\nreplace github.com/pintle-dev/pintle => "+root+"\n", 0o600)
	write(t, dir, "template.yaml", `
Resources:
  Note:
    Type: Custom::Note
    Properties:
      ServiceToken: arn:aws:lambda:us-east-1:123456789012:function:Notes
      Name: readme
Outputs:
  Path: {Value: !GetAtt Note.Path}
`, 0o600)
	t.Setenv("TMPDIR", dir)
	out, err := runIn(t, dir, "deploy")
	if err != nil || !strings.Contains(out, "Path  "+filepath.Join(dir, "note-readme.txt")+"\n") {
		t.Fatalf("deploy: %v\n%s", err, out)
	}
	if out, err := runIn(t, dir, "delete"); err != nil {
		t.Fatalf("delete: %v\n%s", err, out)
	}

	// Its test is the one that is printed there, too.
	write(t, dir, "provider/main_test.go", "package main\n\nimport (\n\t\"testing\"\n\n\t\"github.com/pintle-dev/pintle\"\n"+
		"\t\"github.com/pintle-dev/pintle/pintletest\"\n)\n\n"+block(t, "docs/provider-guide.md", "go", 1), 0o600)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-v", "-run", "^TestLife$", ".")
	cmd.Dir = filepath.Join(dir, "provider")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestLife") {
		t.Fatalf("its test: %v\n%s", err, out)
	}
}

// TestPythonProvider tests the provider without an SDK, including its refusals.
func TestPythonProvider(t *testing.T) {
	require.Tool(t, "python3")
	dir := t.TempDir()
	write(t, dir, "user.py", block(t, "docs/project.md", "python", 0), 0o700)
	write(t, dir, "pintle.yaml", "stack: demo\nproviders: {User: ./user.py}\n", 0o600)
	write(t, dir, "template.yaml", `
Parameters:
  Name: {Type: String, Default: alice}
Resources:
  User:
    Type: Custom::User
    Properties:
      ServiceToken: arn:aws:lambda:us-east-1:123456789012:function:User
      Name: !Ref Name
Outputs:
  Home: {Value: !GetAtt User.Home}
`, 0o600)
	out, err := runIn(t, dir, "deploy")
	if err != nil || !strings.Contains(out, "Home  /home/alice\n") {
		t.Fatalf("deploy: %v\n%s", err, out)
	}
	out, err = runIn(t, dir, "deploy", "--parameter", "Name=no/body")
	if err == nil || !strings.Contains(out, "Name is 'no/body': want letters and digits") {
		t.Fatalf("deploy of a wrong name: %v\n%s", err, out)
	}
	if out, err := runIn(t, dir, "delete"); err != nil {
		t.Fatalf("delete: %v\n%s", err, out)
	}
}
