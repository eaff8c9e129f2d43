package scaffold_test

import (
	"errors"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/author/scaffold"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/statemachine"
)

// write returns the files of a project, by name.
func write(t *testing.T, c scaffold.Config) map[string]string {
	t.Helper()
	p, err := scaffold.New(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new", p.Name())
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range p.Files() {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

func TestProject(t *testing.T) {
	for _, test := range []struct {
		config                       scaffold.Config
		module, stack, provider, sdk string
	}{
		{scaffold.Config{Name: "site", Clone: "/clone"}, "example.com/site", "site", "Site", "v0.0.0\n"},
		{scaffold.Config{Name: "my-long_site.v2", Version: "v1.2.3"}, "example.com/my-long_site.v2", "my-long-site-v2", "MyLongSiteV2", "v1.2.3\n"},
		{scaffold.Config{Name: "github.com/you/fmt", Version: "v1.2.3"}, "github.com/you/fmt", "fmt", "Fmt", "v1.2.3\n"},
		{scaffold.Config{Name: "Site9", Module: "a.b/c", Version: "v1.2.3"}, "a.b/c", "Site9", "Site9", "v1.2.3\n"},
	} {
		files := write(t, test.config)
		for name, text := range files {
			if strings.HasSuffix(name, ".go") {
				if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
					t.Errorf("%s: %s is not formatted: %v", test.config.Name, name, err)
				}
			}
			if strings.Contains(text, "<<") || strings.Contains(text, "<no value>") || !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
				t.Errorf("%s: %s is\n%s", test.config.Name, name, text)
			}
		}
		if want := "module " + test.module + "\n"; !strings.HasPrefix(files["go.mod"], want) ||
			!strings.Contains(files["go.mod"], "require github.com/pintle-dev/pintle "+test.sdk) {
			t.Errorf("%s: go.mod is\n%s", test.config.Name, files["go.mod"])
		}
		if got := strings.Contains(files["go.mod"], "\nreplace github.com/pintle-dev/pintle => /clone\n"); got != (test.config.Clone != "") {
			t.Errorf("%s: go.mod is\n%s", test.config.Name, files["go.mod"])
		}
		p, err := project.Parse("pintle.yaml", []byte(files["pintle.yaml"]))
		if err != nil {
			t.Fatal(err)
		}
		if p.Stack != test.stack || len(p.Providers) != 1 || p.Providers[0].Name != test.provider || p.Providers[0].Target != "." {
			t.Errorf("%s: the project is %+v", test.config.Name, p)
		}
		parsed, err := template.Parse(files["template.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.Resources[0].Type; got != "Custom::"+test.provider {
			t.Errorf("%s: the type is %s", test.config.Name, got)
		}
	}
}

// A project is for the same Go as the module that it requires.
func TestGoVersion(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "go ") {
			want = line
		}
	}
	if got := write(t, scaffold.Config{Name: "a", Version: "v1.0.0"})["go.mod"]; want == "" || !strings.Contains(got, "\n"+want) {
		t.Errorf("want %q in\n%s", want, got)
	}
}

func TestClonePath(t *testing.T) {
	got := write(t, scaffold.Config{Name: "a", Clone: `/my "clones"/pintle`})["go.mod"]
	if !strings.Contains(got, `=> "/my \"clones\"/pintle"`) {
		t.Errorf("got\n%s", got)
	}
}

func TestProblems(t *testing.T) {
	for name, want := range map[string]string{
		"":                             `name "": use letters`,
		".":                            "use letters",
		"..":                           "use letters",
		"../x":                         "use letters",
		"/x":                           "use letters",
		"a//b":                         "use letters",
		"a/":                           "use letters",
		".hidden":                      "use letters",
		"a b":                          "use letters",
		"a\nb":                         "use letters",
		"ä":                            "use letters",
		"9lives":                       "its last element must start with a letter",
		"--":                           "use letters",
		"-x":                           "use letters",
		"~x":                           "use letters",
		"github.com/-you/x":            "use letters",
		"CON":                          `"CON" is a device name on Windows`,
		"a/nul.v2":                     `"nul.v2" is a device name on Windows`,
		"site~1":                       "use letters",
		"github.com/pintle-dev/pintle": "the project itself requires this module",
		"a" + strings.Repeat("b", 100): "60 are allowed",
	} {
		if _, err := scaffold.New(scaffold.Config{Name: name, Version: "v1.0.0"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
	if _, err := scaffold.New(scaffold.Config{Name: "a", Module: "a b", Version: "v1.0.0"}); err == nil || !strings.Contains(err.Error(), "module") {
		t.Errorf("got %v", err)
	}
	if _, err := scaffold.New(scaffold.Config{Name: "a", Module: scaffold.SDK, Version: "v1.0.0"}); err == nil || !strings.Contains(err.Error(), "requires") {
		t.Errorf("got %v", err)
	}
	if _, err := scaffold.New(scaffold.Config{Name: "a"}); err == nil || !strings.Contains(err.Error(), "no clone of it is set") {
		t.Errorf("got %v", err)
	}
}

func TestWrite(t *testing.T) {
	p, err := scaffold.New(scaffold.Config{Name: "a", Version: "v1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".github/workflows/ci.yml", ".gitignore", "README.md", "go.mod", "main.go", "main_test.go", "pintle.yaml", "template.yaml"}
	if diff := cmp.Diff(want, p.Files()); diff != "" {
		t.Error(diff)
	}
	dir := t.TempDir() // empty, which is fine
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(dir); !errors.Is(err, scaffold.ErrNotEmpty) {
		t.Errorf("got %v, want ErrNotEmpty", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(file); err == nil || errors.Is(err, scaffold.ErrNotEmpty) {
		t.Errorf("got %v, want that a file is no folder", err)
	}
	if err := p.Write(filepath.Join(file, "below")); err == nil {
		t.Error("a file has nothing below it")
	}
}

// With AWS the project has a template for the function, including the state machine, and a script that builds the zip file.
func TestAWS(t *testing.T) {
	files := write(t, scaffold.Config{Name: "site", Version: "v1.0.0", AWS: true})
	if formatted, err := format.Source([]byte(files["main.go"])); err != nil || string(formatted) != files["main.go"] || !strings.Contains(files["main.go"], "statemachine.Main(") {
		t.Errorf("main.go is not as it should be: %v\n%s", err, files["main.go"])
	}
	if !strings.Contains(files["README.md"], "sh build.sh") || strings.Contains(files["README.md"], "<<") || files["build.sh"] == "" {
		t.Errorf("README.md is\n%s", files["README.md"])
	}
	parsed, err := template.Parse(files["aws.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	// The token of template.yaml ends with the name that the function has by default.
	if name := parsed.Parameter("Name"); name == nil || !strings.Contains(files["template.yaml"], ":function:"+*name.Default+"\n") {
		t.Errorf("template.yaml does not name the function %+v", name)
	}
	types := map[string]string{}
	for _, r := range parsed.Resources {
		types[r.LogicalID] = r.Type
	}
	want := map[string]string{"Function": "AWS::Lambda::Function", "Log": "AWS::Logs::LogGroup", "FunctionRole": "AWS::IAM::Role",
		"StateKey": "AWS::SecretsManager::Secret", "Machine": "AWS::StepFunctions::StateMachine", "MachineLog": "AWS::Logs::LogGroup",
		"MachineRole": "AWS::IAM::Role"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	var raw struct {
		Resources struct {
			Machine struct {
				Properties struct {
					DefinitionString string `yaml:"DefinitionString"`
				} `yaml:"Properties"`
			} `yaml:"Machine"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(files["aws.yaml"]), &raw); err != nil {
		t.Fatal(err)
	}
	definition, err := statemachine.Definition("")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(definition)+"\n", raw.Resources.Machine.Properties.DefinitionString); diff != "" {
		t.Error(diff)
	}
}
