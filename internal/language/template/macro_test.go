package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// expand runs all macro calls of a template with functions by name. It returns the order of the calls with their input,
// and the result.
func expand(t *testing.T, text string, macros map[string]func(fragment template.Node) string) (order []string, result string, err error) {
	t.Helper()
	u, err := template.ReadUnexpanded(text, template.Limits{})
	if err != nil {
		return nil, "", err
	}
	for call := u.Next(); call != nil; call = u.Next() {
		order = append(order, call.Name+" "+call.Path+" "+call.Fragment.Value().String())
		fragment, err := template.Read(macros[call.Name](call.Fragment), template.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if u, err = u.Replaced(call, fragment); err != nil {
			return order, "", err
		}
	}
	return order, u.Text(), nil
}

func TestExpand(t *testing.T) {
	mark := func(name string) func(template.Node) string {
		return func(n template.Node) string {
			text := n.Value().String()
			if text == "{}" {
				return `{"` + name + `": true}`
			}
			return `{"` + name + `": true, ` + text[1:]
		}
	}
	macros := map[string]func(template.Node) string{
		"A": mark("a"), "B": mark("b"), "123456789012::C": mark("c"), "Text": func(template.Node) string { return `["x", 1]` },
		"AWS::Serverless-2016-10-31": mark("s"), "Sam": func(template.Node) string { return `{"Globals":{}}` },
	}
	tests := []struct {
		name, text string
		order      []string
		result     string
	}{
		{"none", `{"Resources": {}}`, nil, `{"Resources":{}}`},
		{"one listed", "Transform: A\nResources: {R: {Type: T}}", []string{`A  {"Resources":{"R":{"Type":"T"}}}`}, `{"a":true,"Resources":{"R":{"Type":"T"}}}`},
		{
			"listed in order", `{"Resources": {"R": 1}, "Transform": ["A", {"Name": "B", "Parameters": {"P": 1}}]}`,
			[]string{`A  {"Resources":{"R":1}}`, `B  {"a":true,"Resources":{"R":1}}`}, `{"b":true,"a":true,"Resources":{"R":1}}`,
		},
		{
			"innermost first, then listed",
			`{"Transform": "123456789012::C", "Resources": {"R": {"Fn::Transform": {"Name": "A"}, "P": [0, {"Fn::Transform": {"Name": "B"}, "Q": 1}]}}}`,
			[]string{
				`B /Resources/R/P/1/Fn::Transform {"Q":1}`, `A /Resources/R/Fn::Transform {"P":[0,{"b":true,"Q":1}]}`,
				`123456789012::C  {"Resources":{"R":{"a":true,"P":[0,{"b":true,"Q":1}]}}}`,
			},
			`{"c":true,"Resources":{"R":{"a":true,"P":[0,{"b":true,"Q":1}]}}}`,
		},
		{"next to the sections", `{"Fn::Transform": {"Name": "A"}, "Resources": {}}`, []string{`A /Fn::Transform {"Resources":{}}`}, `{"a":true,"Resources":{}}`},
		{"no object", `{"Resources": {"R": {"Fn::Transform": {"Name": "Text"}}}}`, []string{`Text /Resources/R/Fn::Transform {}`}, `{"Resources":{"R":["x",1]}}`},
		{"short form", "Resources:\n  R: !Transform {Name: A}\n", []string{`A /Resources/R/Fn::Transform {}`}, `{"Resources":{"R":{"a":true}}}`},
		{
			"serverless", "Transform: [A, AWS::Serverless-2016-10-31]\nResources: {R: {Type: AWS::Serverless::Api}}",
			[]string{`A  {"Resources":{"R":{"Type":"AWS::Serverless::Api"}}}`, `AWS::Serverless-2016-10-31  {"a":true,"Resources":{"R":{"Type":"AWS::Serverless::Api"}}}`},
			`{"s":true,"a":true,"Resources":{"R":{"Type":"AWS::Serverless::Api"}}}`,
		},
		{"serverless without a use", "Transform: AWS::Serverless-2016-10-31\nResources: {R: {Type: T}}", nil, `{"Transform":"AWS::Serverless-2016-10-31","Resources":{"R":{"Type":"T"}}}`},
		{"serverless for the result of a macro", "Transform: [Sam, AWS::Serverless-2016-10-31]\nResources: {}", []string{`Sam  {"Resources":{}}`, `AWS::Serverless-2016-10-31  {"Globals":{}}`}, `{"s":true,"Globals":{}}`},
		{
			"in its own parameters", `{"R": {"Fn::Transform": {"Name": "A", "Parameters": {"Fn::Transform": {"Name": "B"}}}}}`,
			[]string{`B /R/Fn::Transform/Parameters/Fn::Transform {}`, `A /R/Fn::Transform {}`}, `{"R":{"a":true}}`,
		},
	}
	for _, test := range tests {
		order, result, err := expand(t, test.text, macros)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.order, order); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if diff := cmp.Diff(test.result, result); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	returns := func(text string) map[string]func(template.Node) string {
		return map[string]func(template.Node) string{"A": func(template.Node) string { return text }}
	}
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	tests := []struct{ name, text, reply, want string }{
		{"no object for a template", "Transform: A\nResources: {}", "[]", "Template format error: unsupported structure."},
		{"a macro in the reply", "Transform: A\nResources: {}", `{"R": {"Fn::Transform": {"Name": "A"}}}`, `the result calls a macro at "/R/Fn::Transform": macros run once, and not in their results`},
		{"a section in the reply", "Transform: A\nResources: {}", `{"Transform": "A", "Resources": {}}`, `the result calls a macro at "/Transform": macros run once, and not in their results`},
		{"no name", "Resources: {R: {'Fn::Transform': {Parameters: {}}}}", "", "Key Name of transform definition must be a string."},
		{"a number", "Transform: [3]\nResources: {}", "", "Key Name of transform definition must be a string."},
		{"too long", `{"L": "and then some more", "R": {"Fn::Transform": "A"}}`, `{"R": "` + strings.Repeat("x", 999_990) + `"}`, "Template may not exceed 1000000 bytes in size."},
		{"too deep", `{"R": ` + strings.Repeat(`{"a":`, 10) + `{"Fn::Transform": {"Name": "A"}}` + strings.Repeat("}", 10) + "}", deep, "Template format error: lists and objects nest deeper than 48 levels."},
		{"no map", "[]", "", "Template format error: unsupported structure."},
		{"too many calls", `{"R": [` + strings.Repeat(`{"Fn::Transform": "A"},`, 500) + `{"Fn::Transform": "A"}]}`, "", "Template format error: the template calls macros 501 times, the maximum allowed is 500."},
	}
	for _, test := range tests {
		_, _, err := expand(t, test.text, returns(test.reply))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
}

func TestInclude(t *testing.T) {
	tests := []struct{ name, text, snippet, location, result string }{
		{
			"beside others", `{"R": {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://b/k"}}, "A": 1}}`,
			"B: [2]\nC: {Ref: P}", "s3://b/k", `{"R":{"A":1,"B":[2],"C":{"Ref":"P"}}}`,
		},
		{"a list", `{"R": {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://b/k"}}}}`, "[1, 2]", "s3://b/k", `{"R":[1,2]}`},
		{
			"listed, with parameters in its location",
			`{"Transform": {"Name": "AWS::Include", "Parameters": {"Location": {"Fn::Sub": "s3://${P}/${AWS::Region}"}}}, "Parameters": {"P": {"Type": "String", "Default": "d"}}, "Resources": {"R": 1}}`,
			`{"Resources": {"S": 2}, "Outputs": {}}`, "s3://d/eu-west-1",
			`{"Parameters":{"P":{"Type":"String","Default":"d"}},"Resources":{"R":1,"S":2},"Outputs":{}}`,
		},
	}
	for _, test := range tests {
		u, err := template.ReadUnexpanded(test.text, template.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		scope, err := u.Bind(nil, nil, template.Pseudo{Region: "eu-west-1"})
		if err != nil {
			t.Fatal(err)
		}
		call := u.Next()
		location, err := call.Location(scope)
		if err != nil || location != test.location || !call.Include() {
			t.Errorf("%s: got %q, %v", test.name, location, err)
		}
		fragment, err := call.Included(test.snippet)
		if err == nil {
			u, err = u.Replaced(call, fragment)
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if diff := cmp.Diff(test.result, u.Text()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestIncludeRefuses(t *testing.T) {
	const malformed = "Transform AWS::Include failed with: The specified S3 object's content should be valid Yaml/JSON"
	beside := func(location string) string {
		return `{"R": {"A": 1, "Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": ` + location + `}}}}`
	}
	const noURI = "Transform AWS::Include failed with: The location parameter is not a valid S3 uri."
	tests := []struct{ name, text, snippet, want string }{
		{"no text", beside(`"l"`), "", malformed},
		{"no YAML", beside(`"l"`), "a: [", malformed},
		{"a short form", beside(`"l"`), "B: !Ref P", malformed},
		{"another include", beside(`"l"`), `{"B": {"Fn::Transform": {"Name": "AWS::Include"}}}`, malformed},
		{"list next to other members", beside(`"l"`), "[1]", malformed},
		{"no location", `{"R": {"Fn::Transform": {"Name": "AWS::Include"}}}`, "", noURI},
		{"a list for a location", beside(`["l"]`), "", noURI},
		{"a secret in the location", beside(`{"Ref": "S"}`), "", noURI},
		{"a resource in the location", beside(`{"Fn::GetAtt": ["A", "B"]}`), "", noURI},
	}
	for _, test := range tests {
		u, err := template.ReadUnexpanded(test.text, template.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		scope := template.NewScope(map[string]value.Value{"S": value.Str("s").Tainted(value.OfParameter)}, nil, template.Pseudo{})
		call := u.Next()
		if _, err = call.Location(scope); err == nil {
			_, err = call.Included(test.snippet)
		}
		var problem *template.IncludeError
		if !errors.As(err, &problem) || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
}

func FuzzUnexpanded(f *testing.F) {
	f.Add("Transform: [A, AWS::Include]\nResources: {R: {Fn::Transform: {Name: B}}}", "a: b")
	f.Add(`{"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": {"Fn::Sub": "${P}"}}}}`, `{"Resources": {}}`)
	f.Fuzz(func(t *testing.T, text, reply string) {
		u, err := template.ReadUnexpanded(text, template.Limits{Bytes: 1 << 16})
		if err != nil {
			return
		}
		again, err := template.ReadUnexpanded(u.Text(), template.Limits{})
		if err != nil || again.Text() != u.Text() {
			t.Fatalf("%s is read as something else: %v", u.Text(), err)
		}
		call := u.Next()
		if call == nil {
			return
		}
		_, _ = call.Location(template.NewScope(nil, nil, template.Pseudo{}))
		fragment, err := call.Included(reply)
		if err != nil {
			return
		}
		if next, err := u.Replaced(call, fragment); err == nil && len(next.Transforms()) > len(u.Transforms()) {
			t.Fatalf("%s has as many calls as %s", next.Text(), u.Text())
		}
	})
}

// TestExtendedServerless checks that AWS::LanguageExtensions expands a template for AWS::Serverless, with its section
// Globals, functions in loops, and references to resources that only AWS::Serverless adds.
func TestExtendedServerless(t *testing.T) {
	u, err := template.ReadUnexpanded(`
Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
Globals: {Function: {Timeout: 5}}
Resources:
  "Fn::ForEach::Functions": [Name, [A, B], {"F${Name}": {Type: "AWS::Serverless::Function", Properties: {Role: !GetAtt FARole.Arn}}}]
  T: {Type: "Custom::T", DependsOn: FBRole, Properties: {N: {"Fn::Length": [1, 2]}}}
Outputs: {Url: {Value: !Sub "https://${ServerlessRestApi}"}}
`, template.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Check(); err != nil {
		t.Fatal(err)
	}
	scope, err := u.Bind(nil, nil, template.Pseudo{})
	if err != nil {
		t.Fatal(err)
	}
	if u, err = u.Extended(scope); err != nil {
		t.Fatal(err)
	}
	const want = `{"Transform":["AWS::Serverless-2016-10-31"],"Resources":{` +
		`"FA":{"Type":"AWS::Serverless::Function","Properties":{"Role":{"Fn::GetAtt":["FARole","Arn"]}}},` +
		`"FB":{"Type":"AWS::Serverless::Function","Properties":{"Role":{"Fn::GetAtt":["FARole","Arn"]}}},` +
		`"T":{"Type":"Custom::T","DependsOn":"FBRole","Properties":{"N":2}}},` +
		`"Outputs":{"Url":{"Value":{"Fn::Sub":"https://${ServerlessRestApi}"}}},"Globals":{"Function":{"Timeout":5}}}`
	if diff := cmp.Diff(want, u.Text()); diff != "" {
		t.Errorf("extended (-want +got):\n%s", diff)
	}
	if call := u.Next(); call == nil || call.Name != template.Serverless {
		t.Errorf("the next call is %+v", call)
	}
}

func TestParseServerless(t *testing.T) {
	const transform = "Transform: AWS::Serverless-2016-10-31\n"
	parsed, ok, err := template.ParseServerless(transform+`
Globals: {Function: {Timeout: 5, Runtime: python3.13, Environment: {Variables: {A: global, B: global}}}, Api: {Name: x}}
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties: {Timeout: 7, CodeUri: src/, Environment: {Variables: {B: own, C: own}}}
  G: {Type: "AWS::Serverless::Function"}
  T: {Type: "Custom::T", Properties: {ServiceToken: !GetAtt F.Arn, Timeout: 1}}
Outputs: {Url: {Value: !Ref ServerlessRestApi}}
`, template.Limits{})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	got := map[string]string{}
	for _, r := range parsed.Resources {
		got[r.LogicalID] = r.Type + " " + r.Properties.Value().String()
	}
	want := map[string]string{
		"F": `AWS::Serverless::Function {"Timeout":7,"Runtime":"python3.13","Environment":{"Variables":{"A":"global","B":"own","C":"own"}},"CodeUri":"src/"}`,
		"G": `AWS::Serverless::Function {"Timeout":5,"Runtime":"python3.13","Environment":{"Variables":{"A":"global","B":"global"}}}`,
		"T": `Custom::T {"ServiceToken":{"Fn::GetAtt":["F","Arn"]},"Timeout":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if _, ok, err := template.ParseServerless(`
Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
Resources:
  F: {Type: AWS::Serverless::Function}
  T: {Type: "Custom::T", Properties: {ServiceToken: !GetAtt F.Arn, Role: !GetAtt FRole.Arn, Version: !Ref F.Version}}
`, template.Limits{}); !ok || err != nil {
		t.Errorf("with AWS::LanguageExtensions: %t, %v", ok, err)
	}
	for name, text := range map[string]string{
		"no transform": "Resources: {R: {Type: T}}", "nothing to expand": transform + "Resources: {R: {Type: T}}",
		"a macro": "Transform: [AWS::Serverless-2016-10-31, A]\nResources: {R: {Type: AWS::Serverless::Function}}", "no template": "[]",
	} {
		if _, ok, err := template.ParseServerless(text, template.Limits{}); ok || err != nil {
			t.Errorf("%s: %t, %v", name, ok, err)
		}
	}
	for name, text := range map[string]string{
		"no properties": "Resources: {F: {Type: AWS::Serverless::Function}, G: {Type: AWS::Serverless::Function, Properties: 1}}",
		"no resource":   "Globals: {}\nResources: {F: 1}", "no resources": "Globals: {}",
	} {
		if _, ok, _ := template.ParseServerless(transform+text, template.Limits{}); !ok {
			t.Errorf("%s: it is not a SAM template", name)
		}
	}
}
