package template_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// foreseen binds a template and returns the properties of A.
func foreseen(t *testing.T, expression string) (*template.Template, *template.Scope, template.Node) {
	t.Helper()
	parsed, err := template.Parse(foresight + "      P: " + expression + "\n")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.Bind(nil, nil, template.Pseudo{Region: "eu-central-1"})
	if err != nil {
		t.Fatal(err)
	}
	return parsed, scope, parsed.Resource("A").Properties
}

const foresight = `
Parameters:
  Open: {Type: String, Default: seen}
  Name: {Type: String, Default: text}
  Hidden: {Type: String, NoEcho: true, Default: hush}
Mappings: {M: {seen: {k: v}}}
Conditions:
  Inner: !Equals [!Ref Open, seen]
  Outer: !And [{Condition: Inner}, !Not [!Equals [!Ref Name, x]]]
  Never: !Equals [a, b]
Resources:
  Old: {Type: Custom::B}
  New: {Type: Custom::B}
  A:
    Type: Custom::A
    Properties:
`

func TestForesee(t *testing.T) {
	known := func(r template.Reference) bool { return r.Resource == "Old" }
	there := world{"Old": value.Str("old-1"), "Old.text": value.Str("att"), "Old.list": value.Strs("p", "q")}
	for _, test := range []struct{ expression, want string }{
		{`{a: 1, b: [x, !Ref AWS::NoValue, !Ref Open]}`, `{"a":1,"b":["x","seen"]}`},
		{`!Ref Old`, `"old-1"`},
		{`!Ref New`, `"?"`},
		{`{here: !GetAtt Old.text, there: !GetAtt New.text}`, `{"here":"att","there":"?"}`},
		{`!Sub "${Old} and ${New.text}"`, `"?"`},
		{`!Sub "${Old} and ${Open}"`, `"old-1 and seen"`},
		{`!Sub ["${x}", {x: !Ref New}]`, `"?"`},
		{`!Select [5, !Split [",", !Ref New]]`, `"?"`}, // it has no item 5 yet, and may never have one
		{`!Join ["", [a, !GetAtt [New, !Ref Name]]]`, `"?"`},
		{`!GetAtt [Old, !Ref Name]`, `"att"`},
		{`!Base64 {Ref: New}`, `"?"`},
		{`!If [Outer, !Ref Old, !Ref New]`, `"old-1"`},
		{`!If [Never, !Ref Old, {deep: [!Ref New, !Ref Old]}]`, `{"deep":["?","old-1"]}`},
		{`!FindInMap [M, !Ref Open, k]`, `"v"`},
		{`[!Ref AWS::Region, !Ref Hidden]`, `["eu-central-1","****"]`},
	} {
		_, scope, properties := foreseen(t, test.expression)
		got, err := template.Foresee(properties.Get("P"), scope, there, known)
		shown := strings.ReplaceAll(got.String(), template.Unknown, "?")
		if err != nil || shown != test.want {
			t.Errorf("%s: got %s (%v), want %s", test.expression, shown, err, test.want)
		}
		// If everything is known, Foresee gives the result of Evaluate.
		all := world{"New": value.Str("new-1"), "New.text": value.Str("x")}
		maps.Copy(all, there)
		want, wrong := template.Evaluate(properties, scope, all)
		got, err = template.Foresee(properties, scope, all, func(template.Reference) bool { return true })
		if !got.Equal(want) || (err == nil) != (wrong == nil) {
			t.Errorf("%s: foreseen %s (%v), evaluated %s (%v)", test.expression, got, err, want, wrong)
		}
	}
	_, scope, properties := foreseen(t, `!Select [5, !Split [",", !Ref Old]]`)
	if got, err := template.Foresee(properties, scope, there, known); err == nil {
		t.Errorf("a selection that cannot be made came to %s", got)
	}
}

func TestCauses(t *testing.T) {
	for _, test := range []struct{ expression, path, want string }{
		{`{a: {b: [x, !Ref Open]}, c: !Ref Name}`, "P a b 1", "Open"},
		{`{a: {b: [x, !Ref Open]}, c: !Ref Name}`, "P a b 0", ""},
		{`{a: {b: [x, !Ref Open]}, c: !Ref Name}`, "P", "Open Name"},
		{`[!Ref AWS::NoValue, !If [Never, x, !Ref AWS::NoValue], !Ref Open, !Ref Name]`, "P 1", "Name"},
		{`!Sub "${New.text} ${Old} ${Open} ${AWS::Region}"`, "P", "Open New.text Old"},
		{`!GetAtt [Old, !Ref Name]`, "P deeper in it", "Name Old.text"},
		{`!If [Outer, {a: !Ref Old, b: x}, !Ref New]`, "P a", "Open Name Old"},
		{`!If [Outer, {a: !Ref Old, b: x}, !Ref New]`, "P b", "Open Name"},
		{`!Join ["", [!If [Inner, !Ref Hidden, !Ref New]]]`, "P", "Open Hidden"},
		{`{a: x}`, "P nothing there", ""},
	} {
		parsed, scope, properties := foreseen(t, test.expression)
		causes := parsed.Causes(properties, scope, strings.Fields(test.path)...)
		got := causes.Parameters
		for _, r := range causes.Resources {
			got = append(got, strings.TrimSuffix(r.Resource+"."+r.Attribute, "."))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s at %s (-want +got):\n%s", test.expression, test.path, diff)
		}
	}
}

func TestAt(t *testing.T) {
	for _, test := range []struct{ expression, path, want string }{
		{`{a: {b: [x, !Ref Open]}}`, "P a b 1", `{"Ref":"Open"}`},
		{`{a: {b: [x, !Ref Open]}}`, "P a b 2", `null`},
		{`{a: {b: [x, !Ref Open]}}`, "P a b z", `null`},
		{`!Ref Open`, "P a", `{"Ref":"Open"}`},
		{`!If [Outer, {a: 1}, 2]`, "P a", `1`},
		{`!If [Outer, {a: 1}, 2]`, "P", `{"a":1}`},
		{`!If [Never, {a: 1}, 2]`, "P a", `null`},
	} {
		_, scope, properties := foreseen(t, test.expression)
		if got := properties.At(scope, strings.Fields(test.path)...).Value().String(); got != test.want {
			t.Errorf("%s at %s: got %s, want %s", test.expression, test.path, got, test.want)
		}
	}
}
