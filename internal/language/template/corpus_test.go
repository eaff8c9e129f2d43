package template_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

var update = flag.Bool("update", false, "write what is found into the corpus; read the difference before it is committed")

// TestCorpus runs the cases in testdata/corpus: one archive for each template, named AREA_SUBJECT.txtar. Its files are
//
//	template          the template, YAML or JSON
//	parameters.json   its inputs: names to texts
//	account.json      the values outside the stack, see account
//
// and either its results
//
//	processed.json    the template after its transforms, if it has any
//	evaluated.json    every existing resource and output, evaluated; secrets are masked
//
// or
//
//	transforms.json   the names of its transforms, if the result depends on macros
//
// or
//
//	error             every problem: LINE:COLUMN: TEXT, or TEXT alone if it has no position
//
// The comment before the first file describes the case. -update writes the results.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			given := make(map[string][]byte)
			for _, f := range archive.Files {
				given[f.Name] = f.Data
			}
			results := judge(t, given)
			if *update {
				rewrite(t, file, archive, results)
				return
			}
			for _, name := range []string{"error", "transforms.json", "processed.json", "evaluated.json"} {
				if diff := cmp.Diff(string(given[name]), results[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// account holds the values outside the stack of a case.
type account struct {
	Zones map[string][]string `json:"zones"`
	// Stored is the parameter store; a text that begins with "secret:" is a secret.
	Stored map[string]string `json:"stored"`
	// Exports are values by name; those of SecretExports are secret.
	Exports       map[string]string `json:"exports"`
	SecretExports map[string]string `json:"secretExports"`
	// Stacks are outputs by region, stack and key.
	Stacks map[string]map[string]map[string]string `json:"stacks"`
}

// outside adds the wanted values of the account to those found before.
func (a *account) outside(wanted template.Wanted, found template.Outside) template.Outside {
	found.Imports, found.StackOutputs = make(map[string]value.Value), make(map[string]value.Value)
	for _, name := range wanted.Imports {
		if text, ok := a.Exports[name]; ok {
			found.Imports[name] = value.Str(text)
		}
		if text, ok := a.SecretExports[name]; ok {
			found.Imports[name] = value.SecretStr(text)
		}
	}
	for _, o := range wanted.StackOutputs {
		if text, ok := a.Stacks[o.Region][o.Stack][o.Output]; ok {
			found.StackOutputs[o.Key()] = value.Str(text)
		}
	}
	return found
}

// judge returns the expected files of a case.
func judge(t *testing.T, given map[string][]byte) map[string]string {
	t.Helper()
	var around account
	var texts map[string]string
	for name, into := range map[string]any{"account.json": &around, "parameters.json": &texts} {
		if data, ok := given[name]; ok {
			decoder := json.NewDecoder(bytes.NewReader(data))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	results, err := evaluated(string(given["template"]), texts, &around)
	if err != nil {
		return map[string]string{"error": problems(err)}
	}
	return results
}

func evaluated(body string, texts map[string]string, around *account) (map[string]string, error) {
	if _, err := template.ReadUnexpanded(body, template.Limits{}); template.BadCall(err) {
		return nil, err
	}
	parsed, err := template.ParseSubmitted(body, template.Limits{})
	if err != nil {
		return nil, err
	}
	if parsed.Outlined() { // the rest is known only after its macros have run
		return map[string]string{"transforms.json": indented(value.Strs(parsed.Transforms()...).JSON())}, nil
	}
	inputs := make(map[string]template.Input, len(texts))
	for name, text := range texts {
		inputs[name] = template.Input{Value: text}
	}
	outside := template.Outside{Zones: around.Zones, Stored: make(map[string]template.Stored)}
	for name, text := range around.Stored {
		outside.Stored[name] = template.Stored{State: template.StoredText, Value: text}
		if strings.HasPrefix(text, "secret:") {
			outside.Stored[name] = template.Stored{State: template.StoredSecret}
		}
	}
	scope, err := parsed.BindWith(inputs, nil, pseudo, outside)
	if err != nil {
		return nil, err
	}
	results := make(map[string]string)
	if parsed, scope, err = parsed.Process(scope); err != nil {
		return nil, err
	}
	if text := parsed.Processed(); text != "" {
		results["processed.json"] = indented([]byte(text))
		// A template that is read back from a store gives the same result.
		if parsed, err = template.ParseProcessed(text, template.Limits{}); err != nil {
			return nil, err
		}
	}
	wanted, err := parsed.Wanted(scope)
	if err != nil {
		return nil, err
	}
	scope.Outside = around.outside(wanted, scope.Outside)
	if _, err := parsed.Graph(scope); err != nil {
		return nil, err
	}
	resources, err := evaluatedResources(parsed, scope)
	if err != nil {
		return nil, err
	}
	outputs, err := evaluatedOutputs(parsed, scope)
	if err != nil {
		return nil, err
	}
	whole := value.Object(value.Member{Key: "Resources", Value: resources})
	if len(outputs.Members()) > 0 {
		whole = whole.With("Outputs", outputs)
	}
	results["evaluated.json"] = indented(whole.Masked().JSON())
	return results, nil
}

func evaluatedResources(parsed *template.Template, scope *template.Scope) (value.Value, error) {
	var list []value.Member
	for _, r := range parsed.Active(scope) {
		var members []value.Member
		for _, tree := range []struct {
			name string
			node template.Node
		}{{"Properties", r.Properties}, {"Metadata", r.Metadata}, {"CreationPolicy", r.CreationPolicy}} {
			v, err := template.Evaluate(tree.node, scope, standIn{parsed})
			if err != nil {
				return value.Value{}, err
			}
			if !v.IsNull() {
				members = append(members, value.Member{Key: tree.name, Value: v})
			}
		}
		for _, policy := range []struct{ name, text string }{
			{"DeletionPolicy", r.DeletionPolicy}, {"UpdateReplacePolicy", r.UpdateReplacePolicy},
		} {
			if policy.text != "" {
				members = append(members, value.Member{Key: policy.name, Value: value.Str(policy.text)})
			}
		}
		if r.DependsOn != nil {
			members = append(members, value.Member{Key: "DependsOn", Value: value.Strs(r.DependsOn...)})
		}
		list = append(list, value.Member{Key: r.LogicalID, Value: value.Object(members...)})
	}
	return value.Object(list...), nil
}

func evaluatedOutputs(parsed *template.Template, scope *template.Scope) (value.Value, error) {
	outputs, err := parsed.EvaluateOutputs(scope, standIn{parsed})
	if err != nil {
		return value.Value{}, err
	}
	list := make([]value.Member, len(outputs))
	for i, o := range outputs {
		members := []value.Member{{Key: "Value", Value: o.Value}}
		if o.ExportName != "" {
			members = append(members, value.Member{Key: "Export", Value: value.Str(o.ExportName)})
		}
		list[i] = value.Member{Key: o.Key, Value: value.Object(members...)}
	}
	return value.Object(list...), nil
}

// standIn stands in for resources: the ID of A is "A-id", its attribute b "A.b". The attribute List is a list of two,
// Secret is secret.
type standIn struct{ template *template.Template }

func (s standIn) PhysicalID(logicalID string) (value.Value, bool) {
	return value.Str(logicalID + "-id"), s.template.Resource(logicalID) != nil
}

func (s standIn) Attribute(logicalID, name string) (value.Value, error) {
	switch name {
	case "List":
		return value.Strs(logicalID+".1", logicalID+".2"), nil
	case "Secret":
		return value.SecretStr(logicalID + ".Secret"), nil
	}
	return value.Str(logicalID + "." + name), nil
}

// problems lists problems, one a line.
func problems(err error) string {
	var all template.Errors
	var one *template.Error
	switch {
	case errors.As(err, &all):
	case errors.As(err, &one):
		all = template.Errors{one}
	default:
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, e := range all {
		if e.Line > 0 {
			fmt.Fprintf(&b, "%d:%d: ", e.Line, e.Column)
		}
		b.WriteString(e.Message + "\n")
	}
	return b.String()
}

func indented(text []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		panic(err) // value writes JSON
	}
	return b.String() + "\n"
}

// rewrite writes a case with the actual results.
func rewrite(t *testing.T, file string, archive *txtar.Archive, results map[string]string) {
	t.Helper()
	kept := archive.Files[:0]
	for _, f := range archive.Files {
		switch f.Name {
		case "template", "parameters.json", "account.json":
			kept = append(kept, f)
		}
	}
	for _, name := range []string{"error", "transforms.json", "processed.json", "evaluated.json"} {
		if text, ok := results[name]; ok {
			kept = append(kept, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	archive.Files = kept
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}
