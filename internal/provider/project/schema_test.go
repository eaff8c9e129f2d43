package project_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// TestSchemaKeys checks that the JSON Schema for editors has the same keys as the reader.
func TestSchemaKeys(t *testing.T) {
	type object struct {
		Properties map[string]any
		AnyOf      []object
	}
	var schema struct {
		object
		Definitions map[string]object
	}
	if err := json.Unmarshal(project.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	known := regexp.MustCompile(`known are (.*)`)
	for name, test := range map[string]struct {
		text   string
		schema object
	}{
		"file":     {"zzzzzzzzzzzz: 1", schema.object},
		"provider": {"providers: {P: {run: x, zzzzzzzzzzzz: 1}}", schema.Definitions["provider"]},
		"function": {"providers: {P: {onEvent: {run: x, zzzzzzzzzzzz: 1}}}", schema.Definitions["function"].AnyOf[1]},
		"macro":    {"macros: {P: {run: x, zzzzzzzzzzzz: 1}}", schema.Definitions["macro"]},
		"rule":     {"providers: {P: {builtin: aws, allow: [{calls: x, zzzzzzzzzzzz: 1}]}}", schema.Definitions["rule"]},
	} {
		_, err := project.Parse("pintle.yaml", []byte(test.text))
		if err == nil {
			t.Fatalf("%s: the reader accepts an unknown key", name)
		}
		found := known.FindStringSubmatch(err.Error())
		if found == nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := slices.Sorted(slices.Values(strings.Split(found[1], ", ")))
		if got := slices.Sorted(maps.Keys(test.schema.Properties)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the reader %v", name, got, want)
		}
	}
}

const validate = `import json, sys
from jsonschema import Draft7Validator
schema, files = json.load(sys.stdin)
Draft7Validator.check_schema(schema)
validator = Draft7Validator(schema)
print(json.dumps({name: [error.message for error in validator.iter_errors(file)] for name, file in files.items()}))`

// TestSchema checks that the schema accepts all project files of examples and tests that the reader accepts, and
// rejects those with formal errors.
func TestSchema(t *testing.T) {
	python := require.Python(t, "jsonschema")
	files, refused := projects(t), map[string]bool{}
	for _, text := range []string{
		"stak: x", "providers: {P: {run: x, concurency: 2}}", "providers: {P: {env: {A: b}}}", "providers: {P: {run: x, onEvent: y}}",
		"providers: {P: {run: x, timeout: 5}}", "ssm: there", "unknownTypes: maybe", "forward: aws", "forward: [{endpoint: aws}]", "providers: {P: {builtin: gcp}}", "providers: [x]",
		"providers: {P: {run: x, allow: ['s3:*']}}", "providers: {P: {isComplete: x}}", "macros: {M: {handler: x}}", "resolveSecrets: maybe",
	} {
		if _, err := project.Parse("pintle.yaml", []byte(text)); err == nil {
			t.Errorf("the reader accepts %s", text)
		}
		files[text], refused[text] = text, true
	}
	values := map[string]any{}
	for name, text := range files {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		values[name] = value
	}
	in, err := json.Marshal([]any{json.RawMessage(project.Schema), values})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", validate)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var problems map[string][]string
	if err := json.Unmarshal(out, &problems); err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if found := problems[name]; len(found) > 0 != refused[name] {
			t.Errorf("%s: %q", name, found)
		}
	}
	if len(files)-len(refused) < 20 {
		t.Errorf("only %d files were found", len(files)-len(refused))
	}
}

// projects returns the project files of examples and scripts that the reader accepts, by path.
func projects(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	found := map[string]string{}
	add := func(name string, text []byte) {
		if _, err := project.Parse("pintle.yaml", text); err == nil {
			found[name] = string(text)
		}
	}
	for _, dir := range []string{"examples", "cmd/pintle/testdata/script"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.IsDir():
				return err
			case d.Name() == project.FileName:
				text, err := os.ReadFile(path)
				add(path, text)
				return err
			case filepath.Ext(path) == ".txtar":
				archive, err := txtar.ParseFile(path)
				if err != nil {
					return err
				}
				for _, file := range archive.Files {
					if filepath.Base(file.Name) == project.FileName {
						add(path+" "+file.Name, file.Data)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
