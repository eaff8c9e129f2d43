package template_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

var rosPseudo = template.Pseudo{
	AccountID: "111", TenantID: "222", Region: "cn-hangzhou", StackID: "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", StackName: "site",
	ResourceGroupID: "rg-1",
}

// rosMade resolves references to resources by their names.
type rosMade struct{}

func (rosMade) PhysicalID(name string) (value.Value, bool) { return value.Str("id-" + name), true }

func (rosMade) Attribute(name, attribute string) (value.Value, error) {
	return value.Str(name + "/" + attribute), nil
}

const rosSite = `
ROSTemplateFormatVersion: 2015-09-01
Description: {zh-cn: 站点, en: A site}
Metadata: {'ALIYUN::ROS::Interface': {TemplateTags: [a], Nothing: null}}
Parameters:
  Name: {Type: String, Default: www, Label: {en: The name}, AssociationProperty: x}
  Size: {Type: Number, Default: 2, MinValue: 1}
  Flag: {Type: Boolean, Default: true}
  Shape: {Type: Json, Default: {a: [1, null]}}
  Tags: {Type: CommaDelimitedList, Default: 'a, b'}
  Maybe: {Type: String, Default: null, MinLength: 3}
  Secret: {Type: String, NoEcho: true, Default: hidden}
Resources:
  Site:
    Type: Custom::Site
    Version: '1.0'
    Description: null
    Properties:
      ServiceToken: web:https://example.com/
      Timeout: 60
      Parameters:
        Name: !Ref Name
        Size: !Ref Size
        Flag: {Ref: Flag}
        Shape: {Ref: Shape}
        Tags: {Ref: Tags}
        Maybe: {Ref: Maybe}
        Nothing: null
        Region: {Ref: 'ALIYUN::Region'}
        Absent: {Ref: 'ALIYUN::NoValue'}
        Other: !GetAtt other_one.Outputs
  other_one: {Type: 'ALIYUN::ROS::CustomResource', DeletionPolicy: Retain}
Outputs:
  Id: {Value: {Ref: Site}, Description: {en: The id}}
  All: {Value: {'Fn::GetAtt': [Site, Outputs]}, Label: {en: everything}}
  List: {Value: [1, true, {Ref: Tags}]}
  Console.Url: {Value: {Ref: Secret}}
`

func TestROS(t *testing.T) {
	parsed, err := template.ParseROS(rosSite, template.Limits{})
	if err != nil {
		t.Fatal(describe(err))
	}
	if parsed.Language != template.ROS || parsed.Version != "2015-09-01" || parsed.Description != "A site" {
		t.Errorf("%v %q %q", parsed.Language, parsed.Version, parsed.Description)
	}
	scope, err := parsed.Bind(nil, nil, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	needs, err := parsed.Graph(scope)
	if err != nil {
		t.Fatal(describe(err))
	}
	if diff := cmp.Diff(map[string][]string{"Site": {"other_one"}, "other_one": nil}, needs); diff != "" {
		t.Error(diff)
	}
	stored, err := json.Marshal(parsed.Resource("Site"))
	if err != nil {
		t.Fatal(err)
	}
	var read template.Resource
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*template.Resource{parsed.Resource("Site"), &read} {
		v, err := template.Evaluate(r.Properties, scope, rosMade{})
		if err != nil {
			t.Fatal(describe(err))
		}
		want := `{"ServiceToken":"web:https://example.com/","Timeout":60,"Parameters":{"Name":"www","Size":2,"Flag":true,` +
			`"Shape":{"a":[1,null]},"Tags":["a","b"],"Region":"cn-hangzhou","Other":"other_one/Outputs"}}`
		if got := v.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	outputs, err := parsed.EvaluateOutputs(scope, rosMade{})
	if err != nil {
		t.Fatal(describe(err))
	}
	var got []string
	for _, o := range outputs {
		got = append(got, o.Key+" "+o.Value.String())
	}
	want := []string{`Id "id-Site"`, `All "Site/Outputs"`, `List [1,true,["a","b"]]`, `Console.Url "****"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestROSNested has a template inside a template, with separate names.
func TestROSNested(t *testing.T) {
	parsed := parsedROS(t, `
Resources:
  Inner:
    Type: ALIYUN::ROS::Stack
    Count: 2
    Properties:
      TemplateBody: {ROSTemplateFormatVersion: '2015-09-01', Parameters: {P: {Type: String, Default: null}}, Outputs: {O: {Value: {Ref: P}}}}
      Parameters: {P: {Ref: 'ALIYUN::Index'}}
`)
	scope, err := parsed.Bind(nil, nil, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	made, scope, err := parsed.Process(scope)
	if err != nil {
		t.Fatal(describe(err))
	}
	v, err := template.Evaluate(made.Resource("Inner[1]").Properties, scope, rosMade{})
	want := `{"TemplateBody":"{\"ROSTemplateFormatVersion\":\"2015-09-01\",\"Parameters\":{\"P\":{\"Type\":\"String\",\"Default\":null}},` +
		`\"Outputs\":{\"O\":{\"Value\":{\"Ref\":\"P\"}}}}","Parameters":{"P":1}}`
	if err != nil || v.String() != want {
		t.Errorf("got  %s, %v\nwant %s", v, err, want)
	}
}

// problemsOf returns the problems, each with its code, place and text.
func problemsOf(err error) []string {
	var all template.Errors
	if !errors.As(err, &all) {
		return nil
	}
	lines := make([]string, len(all))
	for i, e := range all {
		lines[i] = strings.Join(strings.Fields(strings.Join([]string{e.Code, e.Path, e.Message}, " ")), " ")
	}
	return lines
}
