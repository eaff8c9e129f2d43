package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestAction runs the commands of the GitHub Action as a runner does, and looks for the program on the path that they add.
func TestAction(t *testing.T) {
	shell := require.Tool(t, "bash")
	var action struct {
		Runs struct {
			Using string
			Steps []struct{ ID, Uses, Shell, Run string }
		}
	}
	readYAML(t, "action.yml", &action)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	added, outputs := filepath.Join(dir, "path"), filepath.Join(dir, "output")
	ran := 0
	for _, step := range action.Runs.Steps {
		if step.Run == "" {
			continue
		}
		ran++
		cmd := exec.CommandContext(t.Context(), shell, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "ACTION_PATH="+root, "RUNNER_TEMP="+dir, "GITHUB_PATH="+added, "GITHUB_OUTPUT="+outputs)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if action.Runs.Using != "composite" || ran == 0 {
		t.Errorf("the action is %+v", action)
	}
	path, err := os.ReadFile(added)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(strings.TrimSpace(string(path)), "pintle"), "check", "--list").Output()
	if err != nil || !strings.Contains(string(out), "id-changed") {
		t.Errorf("pintle on the path that was added: %v\n%s", err, out)
	}
	if text, err := os.ReadFile(outputs); err != nil || !strings.HasPrefix(string(text), "version=pintle ") {
		t.Errorf("the output is %q, %v", text, err)
	}
}

// TestPreCommitHooks runs the entry of each hook on files, as pre-commit does.
func TestPreCommitHooks(t *testing.T) {
	var hooks []struct {
		ID, Entry, Language string
		PassFilenames       *bool `yaml:"pass_filenames"`
	}
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	args := map[string][]string{
		"pintle-validate": {filepath.Join("..", "..", "examples", "walkthrough", "template.yaml"), filepath.Join("..", "..", "examples", "minimal", "template.yaml")},
		"pintle-check":    {"--list"},
	}
	for _, hook := range hooks {
		given, ok := args[hook.ID]
		words := strings.Fields(hook.Entry)
		if !ok || words[0] != "pintle" || hook.Language != "golang" {
			t.Errorf("hook %+v is not tested", hook)
			continue
		}
		command := append(words[1:], given...)
		if out, err := exec.CommandContext(t.Context(), "pintle", command...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", hook.ID, err, out)
		}
	}
	if len(hooks) != len(args) {
		t.Errorf("%d hooks", len(hooks))
	}
}

// TestWorkflow runs the commands of the workflow of a new project, with a local clone instead of the checkout.
func TestWorkflow(t *testing.T) {
	shell := require.Tool(t, "bash")
	clone, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	create := exec.CommandContext(t.Context(), "pintle", "new", "site", "--pintle", clone)
	create.Dir = filepath.Dir(dir)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Symlink(clone, filepath.Join(dir, ".pintle-source")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ".github", "workflows", "ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Uses, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, step := range workflow.Jobs["test"].Steps {
		if step.Run == "" {
			continue
		}
		command, _, _ := strings.Cut(step.Run, " .")
		ran[command] = true
		cmd := exec.CommandContext(t.Context(), shell, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", step.Run, err, out)
		}
	}
	if !ran["go test"] || !ran["pintle check"] {
		t.Errorf("the workflow has run %v", ran)
	}
}
