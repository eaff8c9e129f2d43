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
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

func snippetFile(name string) string { return filepath.Join("snippets", name) }

// TestFixes checks that every rule has a remedy, in sentences.
func TestFixes(t *testing.T) {
	for _, rule := range check.Rules() {
		for _, r := range []check.Rule{rule, rule.In(wire.ROS)} {
			if !strings.HasSuffix(r.Fix, ".") {
				t.Errorf("%s: fix %q is not a sentence", r.ID, r.Fix)
			}
		}
	}
}

// The snippets name existing rules, each once in a file, and their files compile.
func TestSnippets(t *testing.T) {
	var ids []string
	for _, r := range check.Rules() {
		ids = append(ids, r.ID)
	}
	files, err := os.ReadDir("snippets")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			text, err := os.ReadFile(snippetFile(f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for line := range strings.Lines(string(text)) {
				_, names, ok := strings.Cut(line, " --- ")
				for _, rule := range strings.Fields(names) {
					if !ok || !slices.Contains(ids, rule) || seen[rule] {
						t.Errorf("%s is not a rule, or named twice", rule)
					}
					seen[rule] = true
				}
				if len(line) > 120 && !ok {
					t.Errorf("long line: %s", line)
				}
			}
			for rule, code := range check.SnippetsOf(string(text)) {
				if strings.Count(code, "\n") > 20 {
					t.Errorf("%s: the snippet is too long:\n%s", rule, code)
				}
			}
			compile(t, f.Name(), text)
		})
	}
}

// compile fails if the tool of a language rejects a file of snippets.
func compile(t *testing.T, name string, text []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.TrimSuffix(name, ".txt"))
	write(t, path, string(text))
	var cmd *exec.Cmd
	switch filepath.Ext(path) {
	case ".py":
		require.Tool(t, "python3")
		cmd = exec.CommandContext(t.Context(), "python3", "-m", "py_compile", path)
	case ".js":
		require.Tool(t, "node")
		cmd = exec.CommandContext(t.Context(), "node", "--check", path)
	case ".go":
		cmd = exec.CommandContext(t.Context(), "go", "vet", path)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// sources are handlers, by file name, with a part of the snippet for id-changed that each gets.
var sources = []struct{ file, text, want string }{
	{"a.py", "import json\n", "def physical_id(event):"},
	{"b.py", "import cfnresponse\n", "cfnresponse.send("},
	{"c.py", "from crhelper import CfnResource\n", "@helper.create"},
	{"d.py", "# import cfnresponse\n" + strings.Repeat("#\n", 1<<16) + "import crhelper\n", "def physical_id(event):"},
	{"e.js", "const x = require('cfn-response');\n", "response.send("},
	{"f.js", "const x = require('fs');\n", "require('node:crypto')"},
	{"g.mjs", "import x from 'fs';\n", "import {createHash} from 'node:crypto';"},
	{"h/main.go", "package main\n\nimport _ \"github.com/aws/aws-lambda-go/cfn\"\n\nfunc main() {}\n", "cfn.Event"},
	{"i/main.go", "package main\n\nimport _ \"github.com/pintle-dev/pintle\"\n\nfunc main() {}\n", "pintle.UpdateRequest"},
}

// The snippet is for the language of the target and the library that its file imports.
func TestSnippetLanguage(t *testing.T) {
	dir := t.TempDir()
	for _, source := range sources {
		t.Run(source.file, func(t *testing.T) {
			path := filepath.Join(dir, filepath.FromSlash(source.file))
			write(t, path, source.text)
			text := path
			if filepath.Ext(path) == ".go" {
				text = filepath.Dir(path)
				write(t, filepath.Join(text, "go.mod"), "module x\n")
			}
			parsed, err := local.ParseTarget("", text)
			if err != nil {
				t.Fatal(err)
			}
			if got := check.SnippetFor(parsed, "id-changed"); !strings.Contains(got, source.want) {
				t.Errorf("want a snippet with %s, got:\n%s", source.want, got)
			}
			if filepath.Ext(path) == ".mjs" {
				write(t, path, check.SnippetFor(parsed, "crash")+"\n"+check.SnippetFor(parsed, "id-changed"))
				if out, err := exec.CommandContext(t.Context(), "node", "--check", path).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
	away, err := local.ParseTarget("", "https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	if got := check.SnippetFor(away, "id-changed"); got != "" {
		t.Errorf("a URL gets the snippet:\n%s", got)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// applied are seeded bugs, and how the snippet that the check prints is applied to their source: SNIPPET replaces a text of it, and
// glue follows at the end.
var applied = []struct {
	source, bug, rule string
	old, with, glue   string
	library           bool
}{
	{source: "catalogue/note.py", bug: "uncaught", rule: "crash", glue: `SNIPPET

work = handle


def handle(event):
    return work(event, None)


def send(url, answer):
    put(url, json.dumps(answer).encode())
`},
	{source: "catalogue/note.py", bug: "swallows-503", rule: "gives-up", glue: `SNIPPET


def respond(event, answer):
    send(event["ResponseURL"], answer)
`},
	{
		source: "catalogue/note.py", bug: "log-stream-id", rule: "id-changed",
		old: "new = context.log_stream_name", with: "new = physical_id(event)", glue: "SNIPPET\n",
	},
	{
		source: "catalogue/note.py", bug: "random-id", rule: "created-twice",
		old:  `new = note if note and note.startswith(name) else f"{name}-{uuid.uuid4()}"`,
		with: "new = physical_id(event)", glue: "SNIPPET\n",
	},
	{
		source: "catalogue/note.py", bug: "remove-raises", rule: "delete-unknown-refused",
		old: "return delete(event, properties, note)", with: "return delete(event)", glue: `SNIPPET

NotFound = FileNotFoundError


def delete_resource(note):
    os.remove(path(note))
`},
	{
		source: "catalogue/note.js", bug: "unchecked-status", rule: "gives-up",
		old: "  await respond(event, answer);\n", with: "  await send(event.ResponseURL, answer);\n", glue: "SNIPPET\n",
	},
	{
		source: "catalogue/note.js", bug: "console-log", rule: "url-in-log",
		old: "console.log('request', JSON.stringify(event, null, 2));", with: "SNIPPET",
	},
	{
		source: "handlers/cfnresponse_note.py", rule: "id-changed-on-failure", library: true,
		old:  "        cfnresponse.send(event, context, cfnresponse.FAILED, {\"Error\": str(error)})",
		with: "SNIPPET",
	},
	{
		source: "handlers/crhelper_note.py", rule: "url-in-log", library: true,
		old: "helper = CfnResource()", with: "SNIPPET",
	},
}

// The snippet that the check prints for a seeded bug makes the finding disappear.
func TestSnippetsApplied(t *testing.T) {
	for _, a := range applied {
		t.Run(filepath.Base(a.source)+"/"+a.rule+a.bug, func(t *testing.T) {
			t.Parallel()
			require.Tool(t, map[string]string{".py": "python3", ".js": "node"}[filepath.Ext(a.source)])
			text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(a.source)))
			if err != nil {
				t.Fatal(err)
			}
			config := func(source string) check.Config {
				path := filepath.Join(t.TempDir(), filepath.Base(a.source))
				write(t, path, source)
				if !a.library {
					return processConfig(t, path, a.bug)
				}
				env := map[string]string{"PYTHONPATH": filepath.Join(require.Handlers(t), "python"), "PYTHONDONTWRITEBYTECODE": "1"}
				return noteOf(target(t, path, env))
			}
			c := config(string(text))
			c.Only = []string{a.rule}
			var scenarios []string
			var remedy check.Remedy
			for _, f := range run(t, c).Findings {
				if scenarios = append(scenarios, f.Scenario); len(scenarios) == 1 {
					remedy = f.Remedy
				} else if f.Remedy.Snippet != "" {
					t.Errorf("the snippet is in %s too", f.Scenario)
				}
			}
			if remedy.Snippet == "" || remedy.Language == "" {
				t.Fatalf("no snippet for %s in %v", a.rule, scenarios)
			}
			indent := a.old[:len(a.old)-len(strings.TrimLeft(a.old, " "))]
			snippet := indent + strings.ReplaceAll(remedy.Snippet, "\n", "\n"+indent)
			source := string(text)
			if a.old != "" && strings.Count(source, a.old) != 1 {
				t.Fatalf("the source has %q %d times", a.old, strings.Count(source, a.old))
			}
			if a.old != "" {
				source = strings.Replace(source, a.old, strings.Replace(a.with, "SNIPPET", snippet, 1), 1)
			}
			c = config(source + "\n\n" + strings.Replace(a.glue, "SNIPPET", remedy.Snippet, 1))
			c.Only = append(scenarios, "life")
			for _, f := range run(t, c).Findings {
				if f.ID == a.rule || f.ID == "crash" || f.ID == "silence" {
					t.Errorf("with the snippet: %s in %s: %s\n%s", f.ID, f.Scenario, f.Detail, remedy.Snippet)
				}
			}
		})
	}
}

// An ID that changes because it is the name of the log stream is one finding.
func TestLogStreamIsReportedOnce(t *testing.T) {
	require.Tool(t, "python3")
	report := run(t, processConfig(t, catalogueFile("note.py"), "log-stream-id"))
	if !has(report, "id-changed") || has(report, "id-log-stream") {
		t.Errorf("found %v", found(report))
	}
	for _, f := range report.Findings {
		if f.ID == "id-changed" && !strings.Contains(f.Remedy.Text, "log stream") {
			t.Errorf("the remedy does not name the log stream: %s", f.Remedy.Text)
		}
	}
	for _, o := range report.Outcomes {
		broken := slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.Scenario == o.ID && f.Severity != check.Note })
		if broken != (o.Result == check.Broken) {
			t.Errorf("%s is %s, findings: %t", o.ID, o.Result, broken)
		}
	}
}
