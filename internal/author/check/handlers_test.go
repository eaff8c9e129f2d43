package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/dev/clienttest"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// library is a library of other people with a handler that uses it as its own pages show: a note whose text is changed in place and
// whose name replaces it. The list is testdata/libraries.json, which a test of the command reads as well.
type library struct {
	Library string
	// Handler is the file or directory in testdata/handlers.
	Handler string
}

func libraries(t *testing.T) []library {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "libraries.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []library
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// cdkNote is the handler that the CDK's entrypoint calls.
const cdkNote = `exports.handler = async (event) => {
  if (event.RequestType === 'Delete') return {};
  const { Name } = event.ResourceProperties;
  if (!/^[a-z0-9-]+$/.test(Name)) throw new Error('Name: want lower-case letters, got ' + Name);
  return { PhysicalResourceId: 'note-' + Name, Data: { Path: '/notes/' + Name } };
};
`

// broken is a rule that a library breaks, and where.
type broken struct {
	Rule      string         `json:"rule"`
	Severity  check.Severity `json:"severity"`
	Scenarios []string       `json:"scenarios"`
}

// TestHandlers compares the findings in handlers on foreign libraries with testdata/handlers.json and the page of the check.
func TestHandlers(t *testing.T) {
	dir := require.Handlers(t)
	cdk := require.CDK(t)
	require.Java(t)
	require.Tool(t, "node")
	require.Python(t, "boto3")
	others := libraries(t)
	got := make([][]broken, len(others))
	t.Run("each", func(t *testing.T) {
		for i, other := range others {
			t.Run(other.Handler, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join("testdata", "handlers", other.Handler)
				if other.Handler == "cdk-entrypoint" {
					path = cdkHandler(t, cdk)
				}
				if class, ok := strings.CutSuffix(other.Handler, ".java"); ok {
					got[i] = collect(run(t, noteOf(javaTarget(t, path, class))))
					return
				}
				c := target(t, path, map[string]string{
					"NODE_PATH": filepath.Join(dir, "node_modules"), "PYTHONPATH": filepath.Join(dir, "python"), "PYTHONDONTWRITEBYTECODE": "1",
				})
				got[i] = collect(run(t, noteOf(c)))
			})
		}
	})
	if t.Failed() {
		return
	}
	golden(t, others, got)
	page(t, others, got)
}

// noteOf adds the properties of a note.
func noteOf(c check.Config) check.Config {
	c.Properties, c.Update = []byte(`{"Name": "a", "Text": "b"}`), []byte(`{"Name": "a", "Text": "c"}`)
	c.Replace, c.Bad = []byte(`{"Name": "z", "Text": "b"}`), []byte(`{"Name": "../x", "Text": "b"}`)
	return c
}

// javaTarget is target for a class in Java, compiled from a source.
func javaTarget(t *testing.T, source, class string) check.Config {
	t.Helper()
	dir := t.TempDir()
	clienttest.Classes(t, dir, source, true)
	provider, err := local.ParseProvider("", project.Provider{Name: "P", Target: dir, Handler: class})
	if err != nil {
		t.Fatal(err)
	}
	return check.Config{
		Session: harness.SessionConfig{Provider: provider, Runtime: local.Config{CacheDir: t.TempDir()}},
		Log:     func(line string) { t.Log("|", line) },
	}
}

// cdkHandler returns a directory with the CDK's entrypoint and the handler it calls.
func cdkHandler(t *testing.T, cdk string) string {
	t.Helper()
	dir := t.TempDir()
	entry, err := os.ReadFile(filepath.Join(cdk, "core", "nodejs-entrypoint-handler", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"__entrypoint__.js": entry, "index.js": []byte(cdkNote)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "__entrypoint__.js")
}

// collect sums up the findings by rule.
func collect(r check.Report) []broken {
	all := []broken{}
	for _, f := range r.Findings {
		i := slices.IndexFunc(all, func(g broken) bool { return g.Rule == f.ID })
		if i < 0 {
			i = len(all)
			all = append(all, broken{Rule: f.ID, Severity: f.Severity})
		}
		all[i].Scenarios = append(all[i].Scenarios, f.Scenario)
	}
	slices.SortFunc(all, func(a, b broken) int { return strings.Compare(a.Rule, b.Rule) })
	return all
}

func golden(t *testing.T, others []library, got [][]broken) {
	t.Helper()
	byLibrary := map[string][]broken{}
	for i, other := range others {
		byLibrary[other.Library] = got[i]
	}
	text, err := json.MarshalIndent(byLibrary, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join("testdata", "handlers.json"), append(text, '\n'))
}

// page compares the table of docs/check.md with the findings.
func page(t *testing.T, others []library, got [][]broken) {
	t.Helper()
	const begin, end = "<!-- handlers: begin -->\n", "<!-- handlers: end -->\n"
	path := filepath.Join("..", "..", "..", "docs", "check.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has not the lines %q and %q", path, begin, end)
	}
	var table strings.Builder
	table.WriteString("\n| library | errors | warnings | notes |\n|---|---|---|---|\n")
	for i, other := range others {
		fmt.Fprintf(&table, "| %s |%s|%s|%s|\n", other.Library,
			cell(got[i], check.Error), cell(got[i], check.Warning), cell(got[i], check.Note))
	}
	table.WriteString("\n")
	wantFile(t, path, slices.Concat(before, []byte(begin), []byte(table.String()), []byte(end), after))
}

// cell returns the findings of one severity.
func cell(all []broken, severity check.Severity) string {
	var rules []string
	for _, f := range all {
		if f.Severity == severity {
			rules = append(rules, "`"+f.Rule+"`")
		}
	}
	if len(rules) == 0 {
		return " – "
	}
	return " " + strings.Join(rules, ", ") + " "
}

// wantFile compares a file, or writes it with -update.
func wantFile(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s differs (-there +found; if it is right, run with -update):\n%s", path, diff)
	}
}
