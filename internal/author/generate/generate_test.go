package generate_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/author/generate"
)

var update = flag.Bool("update", false, "write what is generated to testdata")

func read(t *testing.T, text string, only ...string) []generate.Resource {
	t.Helper()
	resources, err := generate.Read([]byte(text), only)
	if err != nil {
		t.Fatal(err)
	}
	return resources
}

// The text of each format is that in testdata, which tests with compilers use as well (internal/dev/cdk).
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	resources := read(t, string(text))
	formats := map[string]generate.Format{"ros": generate.ROSCDK(), "markdown": generate.Markdown()}
	for _, language := range generate.CDKLanguages() {
		if formats[language], err = generate.CDK(language); err != nil {
			t.Fatal(err)
		}
	}
	for name, f := range formats {
		files, err := f.Write(resources, "")
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %d files, %v", name, len(files), err)
		}
		path := filepath.Join("testdata", name, files[0].Name+".golden")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, files[0].Text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(files[0].Text, want) {
			t.Errorf("%s differs; go test ./internal/author/generate -update writes it", path)
		}
	}
}

// Names of properties, objects and types that meet those of other properties, of imports or of keywords get names of their own.
func TestNames(t *testing.T) {
	document := `{"resourceTypes": {
		"Custom::Duration": {"properties": {"properties": {"a-b": {}, "a_b": {}, "AB": {}, "ServiceToken": {}, "removalPolicy": {}}}},
		"Custom::Site": {"properties": {"properties": {"Props": {"properties": {"X": {}}}, "Origin": {"properties": {"X": {}}}, "名前": {}, "": {}, "1": {}}}},
		"Custom::SiteOrigin": {"properties": {"properties": {"type": {}}}}
	}}`
	resources := read(t, document)
	var names []string
	for _, r := range resources {
		names = append(names, r.Name)
		for _, o := range r.Objects {
			names = append(names, r.Name+"."+o.Name)
		}
	}
	want := "Duration2 Site Site.Origin2 Site.PropsObject SiteOrigin"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got the names %s, want %s", got, want)
	}
	f, err := generate.CDK("go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Write(resources, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"AB", "AB2", "AB3", "RemovalPolicy2"} {
		if !strings.Contains(string(files[0].Text), "\n\t"+text+" ") {
			t.Errorf("there is no field %d %s in\n%s", i, text, files[0].Text)
		}
	}
	if strings.Contains(string(files[0].Text), `"ServiceToken"`) {
		t.Error("the property ServiceToken of the service is one of the provider")
	}
	for _, file := range files {
		if _, err := parser.ParseFile(token.NewFileSet(), file.Name, file.Text, parser.AllErrors); err != nil {
			t.Error(err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	deep := strings.Repeat(`{"type": "array", "items": `, 100) + "{}" + strings.Repeat("}", 100)
	for name, test := range map[string]struct {
		text string
		only []string
		want string
	}{
		"not JSON":      {"{", nil, "is not JSON"},
		"no types":      {`{}`, nil, "no resourceTypes"},
		"empty":         {`{"resourceTypes": {}}`, nil, "no resource types"},
		"any type":      {`{"resourceTypes": {"*": {"properties": {}}}}`, nil, "--resource-type Custom::Name"},
		"unknown":       {`{"resourceTypes": {"Custom::A": {"properties": {}}}}`, []string{"Custom::B"}, "no resource type Custom::B; it has Custom::A"},
		"native":        {`{"resourceTypes": {"*": {"properties": {}}}}`, []string{"AWS::S3::Bucket"}, "not the name of a custom resource type"},
		"no properties": {`{"resourceTypes": {"Custom::A": {}}}`, nil, "has no properties"},
		"a form":        {`{"resourceTypes": {"Custom::A": {"properties": {"required": "X"}}}}`, nil, "unexpected form"},
		"an endless":    {`{"resourceTypes": {"Custom::A": {"properties": {"$defs": {"L": {"type": "array", "items": {"$ref": "#/$defs/L"}}}, "properties": {"X": {"$ref": "#/$defs/L"}}}}}}`, nil, "deeper than 64"},
		"a deep":        {`{"resourceTypes": {"Custom::A": {"properties": {"properties": {"X": ` + deep + `}}}}}`, nil, "deeper than 64"},
		"many objects":  {many(1001), nil, "more than 1000 objects"},
		"larger":        {strings.Repeat(" ", 1<<20) + "{}", nil, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := generate.Read([]byte(test.text), test.only); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// many returns a document with a number of objects.
func many(n int) string {
	var properties []string
	for i := range n {
		properties = append(properties, fmt.Sprintf(`"P%d": {"properties": {"X": {}}}`, i))
	}
	return `{"resourceTypes": {"Custom::A": {"properties": {"properties": {` + strings.Join(properties, ",") + `}}}}}`
}

func TestWriteErrors(t *testing.T) {
	resources := read(t, `{"resourceTypes": {"*": {"properties": {}}}}`, "Custom::A")
	for _, test := range [][2]string{{"typescript", "x"}, {"python", "x"}, {"go", "A b"}, {"go", "func"}, {"java", "a..b"}, {"java", "a.int"}} {
		f, err := generate.CDK(test[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(resources, test[1]); err == nil || !strings.Contains(err.Error(), "package") {
			t.Errorf("%s accepts the package %q: %v", test[0], test[1], err)
		}
	}
	if _, err := generate.CDK("cobol"); err == nil || !strings.Contains(err.Error(), "want typescript, python, go, java") {
		t.Errorf("got %v", err)
	}
}

// Texts of a schema stay in comments and literals, without characters that compilers reject or that show a reader something else.
func TestHostileTexts(t *testing.T) {
	const text = `a\u0000\u001b\ufeff\u202e\u2028b\n\rinjected() */ \"\"\" \\`
	document := `{"resourceTypes": {"Custom::Site": {
		"properties": {"description": "` + text + `", "properties": {"` + text + `": {"description": "` + text + `"}, "__proto__": {},
			"E": {"enum": ["` + text + `", "a\/b", "\ud83d\ude00"]}, "Null": {"const": null}}},
		"attributes": {"properties": {"` + text + `": {"description": "` + text + `"}}}}}}`
	for _, f := range formats(t) {
		files, err := f.Write(read(t, document), "")
		if err != nil {
			t.Fatal(err)
		}
		got := string(files[0].Text)
		if i := strings.IndexAny(got, "\x00\x1b\ufeff\u202e\u2028\r"); i >= 0 {
			t.Errorf("%s has the character %q", files[0].Name, got[i:i+1])
		}
		for line := range strings.Lines(got) {
			if strings.HasPrefix(strings.TrimSpace(line), "injected()") && !strings.HasSuffix(files[0].Name, ".py") /* which has it in a docstring */ {
				t.Errorf("%s has the line %q", files[0].Name, line)
			}
		}
		if strings.Contains(got, `"a\/b"`) || strings.Contains(got, `\ud83d`) {
			t.Errorf("%s has escapes of JSON in a literal", files[0].Name)
		}
		if strings.HasSuffix(files[0].Name, ".ts") && !strings.Contains(got, `["__proto__"]: props.proto`) {
			t.Errorf("%s sets a prototype", files[0].Name)
		}
		if strings.HasSuffix(files[0].Name, ".go") {
			parsed, err := parser.ParseFile(token.NewFileSet(), files[0].Name, files[0].Text, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Comments {
				if !strings.HasPrefix(d.List[0].Text, "// ") {
					t.Errorf("got the comment %q", d.List[0].Text)
				}
			}
		}
	}
}

func formats(t *testing.T) []generate.Format {
	t.Helper()
	all := []generate.Format{generate.ROSCDK(), generate.Markdown()}
	for _, language := range generate.CDKLanguages() {
		f, err := generate.CDK(language)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// Each type has a file of its own, which the toolchain of the language does not treat in a special way.
func TestFileNames(t *testing.T) {
	const empty = `{"properties": {}}`
	resources := read(t, `{"resourceTypes": {"Custom::Site": `+empty+`, "Custom::SITE": `+empty+`, "Custom::LoadTest": `+empty+`,
		"Custom::AppLinux": `+empty+`, "Custom::Import": `+empty+`}}`, "Custom::Site", "Custom::SITE", "Custom::Site", "Custom::LoadTest",
		"Custom::AppLinux", "Custom::Import")
	for _, f := range formats(t) {
		files, err := f.Write(resources, "")
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, file := range files {
			names[strings.ToLower(file.Name)] = true
			switch file.Name {
			case "load_test.go", "app_linux.go", "import.py":
				t.Errorf("got a file %s", file.Name)
			}
		}
		if len(files) != 5 || len(names) != 5 {
			t.Errorf("got %d files with %d names: %v", len(files), len(names), names)
		}
	}
}

// Properties do not hide the names that generated code uses itself, and an object is not named like its resource.
func TestOwnNames(t *testing.T) {
	resources := read(t, `{"resourceTypes": {"Custom::Site": {"properties": {"properties": {"Site": {"properties": {"X": {}}},
		"cdk": {}, "typing": {}, "super": {}, "properties": {"properties": {"Y": {}}}}}}}}`)
	if name := resources[0].Objects[0].Name; name != "SiteObject" {
		t.Errorf("an object of Site is named %s", name)
	}
	for language, names := range map[string][]string{
		"python": {"cdk2: ", "typing2: ", "super2: ", "properties2: "}, "java": {"builder.properties_;"},
	} {
		f, err := generate.CDK(language)
		if err != nil {
			t.Fatal(err)
		}
		files, err := f.Write(resources, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(files[0].Text), name) {
				t.Errorf("there is no %s in\n%s", name, files[0].Text)
			}
		}
	}
}

// A value that may be an object or a list, or something else, has no narrower type.
func TestUnions(t *testing.T) {
	for text, want := range map[string]generate.Kind{
		`{"type": ["object", "string"], "properties": {"X": {}}}`: generate.Any,
		`{"type": ["array", "string"]}`:                           generate.Any,
		`{"type": ["object", "null"], "properties": {"X": {}}}`:   generate.Struct,
		`{"type": ["string", "null"]}`:                            generate.Text,
		`{"const": null}`:                                         generate.Any,
	} {
		resources := read(t, `{"resourceTypes": {"Custom::A": {"properties": {"properties": {"P": `+text+`}}}}}`)
		if got := resources[0].Properties[0].Type.Kind; got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
