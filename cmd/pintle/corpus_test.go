package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// beyondValidate are cases of the corpus with a problem that validate cannot know, and why.
var beyondValidate = map[string]string{
	"exports_export-empty":           "names of exports are checked when outputs are made",
	"exports_export-of-secret":       "names of exports are checked when outputs are made",
	"exports_import-missing":         "other stacks are not known",
	"exports_import-of-secret":       "other stacks are not known",
	"exports_stack-output-missing":   "other stacks are not known",
	"parameters_missing":             "a parameter without a value may get one",
	"parameters_stored-image":        "the parameter store is not asked",
	"parameters_stored-missing":      "the parameter store is not asked",
	"parameters_stored-secret":       "the parameter store is not asked",
	"parameters_stored-without-name": "a parameter without a value may get one",
	"rules_bootstrap-old":            "the parameter store is not asked",
}

// TestCorpus checks that validate reports the problems that package template finds in its corpus, at the same places, and none in valid
// templates.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("../../internal/language/template/testdata/corpus/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			given := map[string]string{}
			for _, f := range archive.Files {
				given[f.Name] = string(f.Data)
			}
			found, code := validated(t, given["template"], given["parameters.json"])
			wrong, isWrong := given["error"]
			if beyondValidate[name] != "" {
				isWrong = false
			}
			switch {
			case isWrong != (code == exitFailed):
				t.Errorf("exit code %d, found:\n%s", code, strings.Join(found, "\n"))
			case isWrong:
				for line := range strings.Lines(wrong) {
					if line = strings.TrimSuffix(line, "\n"); !reported(line, found) {
						t.Errorf("not found: %s\nfound:\n%s", line, strings.Join(found, "\n"))
					}
				}
			}
		})
	}
	for name := range beyondValidate {
		if !slices.Contains(files, "../../internal/language/template/testdata/corpus/"+name+".txtar") {
			t.Errorf("there is no case %s", name)
		}
	}
}

// noToken is the report of validate for the resources of the cases, which are short on purpose.
const noToken = "property ServiceToken is missing"

// validated runs the command on a template, and returns the errors as lines and the exit code. That a resource has no service
// token does not count.
func validated(t *testing.T, template, parameters string) (found []string, code int) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("t.yaml", template)
	args := []string{"validate", "t.yaml", "-o", "json", "--no-schema", "--unknown-types", "record", "--region", "eu-central-1"}
	if parameters != "" {
		write("parameters.json", parameters)
		args = append(args, "--parameter-file", "parameters.json")
	}
	var stdout, stderr bytes.Buffer
	code = newApp(&shell{
		terminal: terminal{stdout: &stdout, stderr: &stderr}, variables: variables{func(string) string { return "" }}, workdir: workdir{dir},
	}).run(t.Context(), args)
	var document validationsDocument
	if err := json.Unmarshal(stdout.Bytes(), &document); err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, stdout.String(), stderr.String())
	}
	for _, p := range document.Files[0].Problems {
		line := p.Message
		if p.Line > 0 {
			line = fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
		}
		if p.Level == "error" && p.Message != noToken {
			found = append(found, line)
		}
		if p.Rule == "template" || p.Rule == "" {
			t.Errorf("no rule is about: %s", line)
		}
	}
	if len(found) == 0 && code == exitFailed {
		code = exitDone
	}
	return found, code
}

var several = regexp.MustCompile(`^(?:\d+:\d+: )?(.*Unresolved resource dependencies )\[([^\]]*)\](.*)$`)

// reported reports whether a problem was found. The service lists all undefined names in one message, Pintle reports each.
func reported(line string, found []string) bool {
	if slices.Contains(found, line) {
		return true
	}
	parts := several.FindStringSubmatch(line)
	if parts == nil {
		return false
	}
	for name := range strings.SplitSeq(parts[2], ", ") {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasSuffix(f, parts[1]+"["+name+"]"+parts[3]) }) {
			return false
		}
	}
	return true
}
