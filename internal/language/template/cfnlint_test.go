package template_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// lintDiffers are the cases of the corpus that evaluate although cfn-lint 1.51.0 reports errors, with the reasons.
// docs/validate.md has the same list.
var lintDiffers = map[string]string{
	"exports_stack-output":            "the linter does not take `Fn::GetStackOutput` for a string in an output",
	"extensions_collections-computed": "the linter takes literal lists and `Ref` for the collection of a loop, no other function",
	"extensions_empty":                "the linter wants one turn of a loop at least",
	"extensions_parameters":           "the linter does not replace the name of a loop in all the places where the transform does",
	"extensions_zones":                "the linter takes literal lists and `Ref` for the collection of a loop, no other function",
	"functions_cidr":                  "the linter knows IPv4 only",
	"functions_getazs":                "the linter knows the regions of AWS, and an empty region is a mistake for it; zones here are those of the server",
	"functions_if":                    "the linter does not know `{Condition: Name}` as the first argument of `Fn::If`",
	"language_depends":                "the linter minds `DependsOn` of a resource that a condition takes away, which CloudFormation leaves out",
	"references_kept":                 "the linter reports unresolved references, which Pintle passes on unchanged",
	"rules_attributes":                "the linter does not take `Fn::ValueOf` for a string",
	"yaml_keys":                       "the linter takes a key without quotes for null, which is a text here",
	"yaml_scalars":                    "the linter breaks down at `.inf`",
}

// TestCFNLint checks the corpus with the linter that AWS publishes: a case that evaluates must not be an error for the
// linter. Errors of E3003 are ignored. The linter reports a missing ServiceToken of custom resources, which most cases
// leave out for brevity and which the engine checks.
func TestCFNLint(t *testing.T) {
	tool := require.Tool(t, "cfn-lint")
	files, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	dir := t.TempDir()
	arguments := []string{"--format", "json", "--regions", "us-east-1", "--ignore-checks", "W", "I", "E3003", "--"}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, valid := "", false
		for _, f := range archive.Files {
			if f.Name == "template" {
				text = string(f.Data)
			}
			valid = valid || f.Name == "evaluated.json"
		}
		if !valid {
			continue
		}
		extension := ".yaml"
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			extension = ".json"
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar") + extension
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, name)
	}
	cmd := exec.Command(tool, arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir) // without a configuration of its own
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode()&1 != 0) {
		t.Fatalf("%v\n%s", err, out)
	}
	var matches []struct {
		Filename, Message string
		Rule              struct{ ID string }
		Location          struct{ Start struct{ LineNumber int } }
	}
	if err := json.Unmarshal(out, &matches); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]bool{}
	for _, m := range matches {
		name := strings.TrimSuffix(m.Filename, filepath.Ext(m.Filename))
		found[name] = true
		if lintDiffers[name] == "" {
			t.Errorf("%s, line %d: %s %s", m.Filename, m.Location.Start.LineNumber, m.Rule.ID, m.Message)
		}
	}
	want := slices.Sorted(maps.Keys(lintDiffers))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("cases with errors of the linter (-listed +found):\n%s", diff)
	}
}

// TestCFNLintDocumentation checks that the documentation has the same list as the test.
func TestCFNLintDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, why := range lintDiffers {
		if row := "| `" + name + "` | " + why + " |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/validate.md lacks %s", row)
		}
	}
}
