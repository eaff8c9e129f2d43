package schema_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/language/template"
)

type properties struct {
	Name    string `pintle:"required,pattern=^[a-z]+$,length=1..8"`
	Size    int    `pintle:"min=1,max=100"`
	Ratio   float64
	On      bool
	Wait    string            `pintle:"enum=a|b"`
	Level   int               `pintle:"enum=1|2"`
	Tags    map[string]string `pintle:"length=..2"`
	Ports   []uint16          `pintle:"length=1..3"`
	Inner   inner
	Key     pintle.Secret `pintle:"length=4.."`
	Free    any
	Tree    *tree
	Timeout pintle.PhysicalID
}

type inner struct {
	Zone string `pintle:"required"`
}

type tree struct {
	Name     string `pintle:"required"`
	Children []tree
}

type attributes struct{ URL, Host string }

type provider struct{}

func (provider) Create(context.Context, *pintle.CreateRequest[properties]) (r pintle.Response[attributes], err error) {
	return r, err
}

func (provider) Update(context.Context, *pintle.UpdateRequest[properties]) (r pintle.Response[attributes], err error) {
	return r, err
}
func (provider) Delete(context.Context, *pintle.DeleteRequest[properties]) error { return nil }

// migrating takes properties in an old format too.
type migrating struct{ provider }

func (migrating) Migrate(context.Context, *pintle.MigrateRequest) error { return nil }

func document(t *testing.T, handlers ...pintle.Handler) *schema.Document {
	t.Helper()
	text, err := pintle.Schema(handlers...)
	if err != nil {
		t.Fatal(err)
	}
	d, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// check returns the problems of a template whose first token ends with P, each as line:column: message.
func check(t *testing.T, d *schema.Document, text string) []string {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	partial, err := parsed.BindPartly(nil, []string{"AWS::StackId"}, template.Pseudo{Region: "r"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range schema.Check(parsed, partial, func(token string) *schema.Document {
		if strings.HasSuffix(token, "P") {
			return d
		}
		return nil
	}) {
		got = append(got, fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message))
	}
	return got
}

func TestProperties(t *testing.T) {
	d := document(t, pintle.New(provider{}))
	for _, test := range []struct {
		properties string // on a line of their own, the eighth; after Name and Inner
		want       []string
	}{
		{"Size: 5", nil},
		{"Size: '5'", nil},
		{"Size: 5.0", nil},
		{"Size: 1e1", nil},
		{"Size: five", []string{"8:7: property Size: want a whole number from 1 to 100"}},
		{"Size: 5.5", []string{"8:7: property Size: want a whole number from 1 to 100"}},
		{"Size: 101", []string{"8:7: property Size: want a whole number from 1 to 100"}},
		{"Size: [1]", []string{"8:7: property Size: want a whole number from 1 to 100"}},
		{"Size: {A: 1}", []string{"8:7: property Size: want a whole number from 1 to 100"}},
		{"Ratio: '0x10'", []string{"8:8: property Ratio: want a number"}},
		{"On: TRUE", nil},
		{"On: 'True'", nil},
		{"On: 1", []string{"8:5: property On: want true or false"}},
		{"Wait: c", []string{"8:7: property Wait: want one of a, b"}},
		{"Level: 2.0", nil},
		{"Level: 3", []string{"8:8: property Level: want one of 1, 2"}},
		{"Tags: {a: 1, b: true}", nil},
		{"Tags: {a: 1, b: 2, c: 3}", []string{"8:7: property Tags: want an object of 0 to 2 members"}},
		{"Tags: {a: [1]}", []string{"8:11: property Tags.a: want a text"}},
		{"Ports: [1, '2']", nil},
		{"Ports: [1, x, -1]", []string{
			"8:12: property Ports[1]: want a whole number, 0 or more", "8:15: property Ports[2]: want a whole number, 0 or more",
		}},
		{"Ports: [1, 2, 3, 4]", []string{"8:8: property Ports: want a list of 1 to 3 items"}},
		{"Ports: [1, 2, 3, !Ref AWS::NoValue]", nil},
		{"Ports: 80", []string{"8:8: property Ports: want a list of 1 to 3 items"}},
		{"Key: abc", []string{"8:6: property Key: want a text of 4 characters or more"}},
		{"Key: !Ref Hidden", []string{"8:6: property Key: want a text of 4 characters or more"}},
		{"Free: {a: [1, {b: c}]}", nil},
		{"Free: {a: !Select [9, [x]]}", []string{"8:11: Template error: Fn::Select cannot select nonexistent value at index 9"}},
		{"Tree: {Name: a, Children: [{Name: b, Children: [{}]}]}", []string{
			"8:49: property Tree.Children[0].Children[0].Name is missing",
		}},
		{"Sise: 5", []string{"8:1: property Sise is not known, did you mean Size?"}},
		{"size: 5", []string{"8:1: property size is not known, did you mean Size?"}},
		{"Whatever: 5", []string{"8:1: property Whatever is not known"}},
		{"ServiceTimout: 5", []string{"8:1: property ServiceTimout is not known, did you mean ServiceTimeout?"}},
		{"ServiceTimeout: 5", nil},
		{"Tree: {Naem: a}", []string{
			"8:7: property Tree.Name is missing", "8:8: property Tree.Naem is not known, did you mean Name?",
		}},

		// What functions make.
		{"Size: !Ref Number", []string{"8:7: property Size: want a whole number from 1 to 100"}},
		{"Size: !If [Always, 7, 700]", nil},
		{"Size: !If [Always, 700, 7]", []string{"8:20: property Size: want a whole number from 1 to 100"}},
		{"Size: !If [Perhaps, 700, 7]", nil},
		{"Size: !GetAtt B.N", nil},
		{"Size: !Ref Open", nil},
		{"Size: !Ref AWS::NoValue", nil},
		{"Wait: !Sub '${AWS::Region}'", []string{"8:7: property Wait: want one of a, b"}},
		{"Wait: !Sub '${AWS::StackId}'", nil},
		{"Ports: !Split [',', '1,x']", []string{"8:8: property Ports[1]: want a whole number, 0 or more"}},
		{"Inner: !FindInMap [M, inner, bad]", []string{"8:8: property Inner: want an object"}},
	} {
		text := `Parameters: {Number: {Type: Number, Default: 500}, Open: {Type: String}, Hidden: {Type: String, NoEcho: true, Default: xyz}}
Conditions: {Always: !Equals [a, a], Perhaps: !Equals [!Ref Open, a]}
Mappings: {M: {inner: {bad: [1]}}}
Resources:
  B: {Type: Custom::B}
  A: {Type: Custom::A, Properties: {ServiceToken: !Sub "${AWS::Region}:P", Name: a, INNER
` + "\n" + test.properties + "\n}}\n"
		inner := "Inner: {Zone: z},"
		if strings.HasPrefix(test.properties, "Inner") {
			inner = ""
		}
		text = strings.Replace(text, "INNER", inner, 1)
		if inner == "" {
			text = strings.Replace(text, "Name: a, \n", "Name: a,\n", 1)
		}
		if diff := cmp.Diff(test.want, check(t, d, text)); diff != "" {
			t.Errorf("%s: %s", test.properties, diff)
		}
	}
}

func TestMissing(t *testing.T) {
	d := document(t, pintle.New(provider{}))
	want := []string{
		"2:3: property Name is missing", "2:3: property Inner is missing", "3:3: property Inner is missing",
		"3:43: property Name: want a text of 1 to 8 characters that matches ^[a-z]+$",
	}
	if diff := cmp.Diff(want, check(t, d, `Resources:
  A: {Type: Custom::A, Properties: {ServiceToken: P}}
  B: {Type: Custom::B, Properties: {Name: "", ServiceToken: P}}
  C: {Type: Custom::C, Properties: {ServiceToken: Other, Naem: 5}}
  D: {Type: Custom::C, Properties: {ServiceToken: !GetAtt A.URL, Naem: 5}}
  E: {Type: AWS::CDK::Metadata, Properties: {ServiceToken: P}}
`)); diff != "" {
		t.Error(diff)
	}
}

func TestAttributes(t *testing.T) {
	d := document(t, pintle.For("Custom::A", pintle.New(provider{})))
	want := []string{
		"3:75: A has no attribute Hots, did you mean Host?",
		"4:75: A has no attribute Nothing, it has Host, URL",
		"8:12: A has no attribute URL.x, did you mean URL?",
	}
	if diff := cmp.Diff(want, check(t, d, `Resources:
  A: {Type: Custom::A, Properties: {ServiceToken: P, Name: a, Inner: {Zone: z}}}
  B: {Type: Custom::B, Properties: {ServiceToken: P, U: !GetAtt A.URL, H: !Sub "${A.Hots}"}}
  C: {Type: Custom::B, Metadata: {N: !GetAtt B.Whatever}, Properties: {N: !GetAtt [A, Nothing]}}
  D: {Type: Custom::A, Properties: {ServiceToken: P, Name: d, Inner: {Zone: !Ref A}}}
Outputs:
  O:
    Value: !GetAtt A.URL.x
`)); diff != "" {
		t.Error(diff)
	}
}

// A provider that migrates may know names that its schema does not.
func TestMigrating(t *testing.T) {
	d := document(t, pintle.New(migrating{}))
	want := []string{
		"3:54: property Naem is not known, did you mean Name?",
		"4:3: property Name is missing", "4:3: property Inner is missing",
	}
	if diff := cmp.Diff(want, check(t, d, `Resources:
  A: {Type: Custom::A, Properties: {ServiceToken: P, Domain: x}}
  B: {Type: Custom::A, Properties: {ServiceToken: P, Naem: x}}
  C: {Type: Custom::A, Properties: {ServiceToken: P}}
`)); diff != "" {
		t.Error(diff)
	}
}

// What other programs publish is checked as far as it is understood.
func TestOtherSchemas(t *testing.T) {
	for _, test := range []struct {
		schema, value string
		want          []string
	}{
		{`{}`, "{A: [1]}", nil},
		{`true`, "1", nil},
		{`false`, "1", []string{"1:67: property V: want nothing"}},
		{`{"type": "boolean"}`, "'yes'", []string{"1:67: property V: want true or false"}},
		{`{"type": "boolean"}`, "'false'", nil},
		{`{"type": ["array", "string"], "minItems": 2}`, "[1]", []string{"1:67: property V: want a text or a list of 2 items or more"}},
		{`{"type": ["array", "string"], "minItems": 2}`, "x", nil},
		{`{"const": "x"}`, "y", []string{"1:67: property V: want one of x"}},
		{`{"enum": [{"a": 1}]}`, "y", nil},
		{`{"enum": [null, "a", "b"]}`, "c", []string{"1:67: property V: want one of a, b"}},
		{`{"enum": [null, "a", "b"]}`, "a", nil},
		{`{"enum": [null]}`, "c", []string{"1:67: property V: want nothing"}},
		{`{"pattern": "(?=x)"}`, "y", nil},
		{`{"type": "string", "minLength": "two"}`, "y", nil},
		{`{"$ref": "other.json"}`, "y", nil},
		{`{"$ref": "#/$defs/none"}`, "y", nil},
		{`{"$ref": "#/$defs/loop"}`, "y", nil},
		{`{"$ref": "#/$defs/a~1b"}`, "y", []string{"1:67: property V: want a whole number"}},
		{`{"type": "string", "format": "date-time"}`, "soon", []string{"1:67: property V: want a time such as 2006-01-02T15:04:05Z"}},
		{`{"type": "object", "additionalProperties": {"type": "integer"}}`, "{A: 1, B: b}", []string{"1:77: property V.B: want a whole number"}},
		{`{"type": "object", "additionalProperties": false, "patternProperties": {"^x": true}}`, "{A: 1}", nil},
		{`{"type": "integer", "anyOf": [{"minimum": 5}]}`, "1", nil},
	} {
		d, err := schema.Parse([]byte(`{"resourceTypes": {"*": {"properties": {"type": "object", "properties": {"V": ` + test.schema + `},
			"$defs": {"loop": {"$ref": "#/$defs/loop"}, "a/b": {"type": "integer"}}}}}}`))
		if err != nil {
			t.Fatalf("%s: %v", test.schema, err)
		}
		got := check(t, d, "Resources: {A: {Type: Custom::A, Properties: {ServiceToken: P, V: "+test.value+"}}}")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s of %s: %s", test.value, test.schema, diff)
		}
	}
}

func TestParseProblems(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                      "not JSON from byte",
		`[]`:                     "invalid schema: ",
		`{}`:                     "no resourceTypes object",
		`{"resourceTypes": [1]}`: "invalid schema: ",
		`{"resourceTypes": {"A": {"properties": 5}}}`:                        "neither an object nor a boolean",
		`{"resourceTypes": {"A": {"properties": {"properties": {"B": 5}}}}}`: "neither an object nor a boolean",
		strings.Repeat(" ", schema.MaxSize+1):                                "larger than",
		strings.Repeat(`{"items": "\"[[", "resourceTypes": `, 200):           "deeper than 128 levels",
	} {
		if _, err := schema.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	text, err := pintle.Schema(pintle.New(provider{}))
	if err != nil {
		f.Fatal(err)
	}
	parsed, err := template.Parse(`Resources: {A: {Type: Custom::A, Properties: {ServiceToken: P, Name: [a, {b: 1}], Tree: {Name: x}, V: !Split [a, b]}}}`)
	if err != nil {
		f.Fatal(err)
	}
	partial, err := parsed.BindPartly(nil, nil, template.Pseudo{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"resourceTypes": {"*": {"properties": {"properties": {"V": {"$ref": "#"}, "Name": {"items": {"$ref": "#/$defs/a"}}}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := schema.Parse(text)
		if err != nil {
			return
		}
		for _, e := range schema.Check(parsed, partial, func(string) *schema.Document { return d }) {
			if e.Message == "" || e.Line == 0 {
				t.Errorf("a problem without a text or a place: %+v", e)
			}
		}
	})
}

func TestImmutable(t *testing.T) {
	d, err := schema.Parse([]byte(`{"resourceTypes": {"Custom::A": {"properties": {
		"createOnlyProperties": ["/properties/Name", "/properties/Origin/Region", "/properties/a~1b", "/other"]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		"/Name": "Name", "/Name/0": "Name", "/Names": "", "/Origin/Region": "Origin/Region", "/Origin/Port": "", "/Origin": "", "/a~1b": "a~1b", "": "",
	} {
		if got := d.Type("Custom::A").Properties.Immutable(place); got != want {
			t.Errorf("%q: got %q, want %q", place, got, want)
		}
	}
	for place, want := range map[string]bool{"/Name": true, "/Origin": true, "/Origin/Region": true, "/Origin/Port": false, "/Ori": false, "/x": false} {
		if got := d.Type("Custom::A").Properties.HoldsImmutable(place); got != want {
			t.Errorf("%q holds an immutable property: got %t, want %t", place, got, want)
		}
	}
	if (*schema.Schema)(nil).HoldsImmutable("/Name") {
		t.Error("no schema has an immutable property")
	}
}
