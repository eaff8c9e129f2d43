package template_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

func mustParse(t testing.TB, body string) *template.Template {
	t.Helper()
	parsed, err := template.Parse(body)
	if err != nil {
		t.Fatalf("Parse: %s\n%s", describe(err), body)
	}
	return parsed
}

// describe shows every problem of an error on a line of its own.
func describe(err error) string {
	var all template.Errors
	if !errors.As(err, &all) {
		return fmt.Sprint(err)
	}
	lines := make([]string, len(all))
	for i, e := range all {
		lines[i] = e.Describe()
	}
	return strings.Join(lines, "\n")
}

var pseudo = template.Pseudo{
	AccountID: "000000000000", Region: "eu-central-1", Partition: "aws", StackID: "arn:aws:cloudformation:eu-central-1:000000000000:stack/s/1",
	StackName: "s", URLSuffix: "amazonaws.com", NotificationARNs: []string{"arn:aws:sns:eu-central-1:000000000000:n"},
}

func bind(t testing.TB, parsed *template.Template, inputs map[string]string) *template.Scope {
	t.Helper()
	given := make(map[string]template.Input)
	for name, text := range inputs {
		given[name] = template.Input{Value: text}
	}
	scope, err := parsed.Bind(given, nil, pseudo)
	if err != nil {
		t.Fatalf("Bind: %s", describe(err))
	}
	return scope
}

// world holds the results of resources: logical ID to physical ID, and "ID.attribute" to attribute.
type world map[string]value.Value

func (w world) PhysicalID(logicalID string) (value.Value, bool) {
	v, ok := w[logicalID]
	return v, ok
}

func (w world) Attribute(logicalID, name string) (value.Value, error) {
	if v, ok := w[logicalID+"."+name]; ok {
		return v, nil
	}
	return value.Value{}, fmt.Errorf("no attribute %s of %s", name, logicalID)
}

// walkthrough is the template with which CloudFormation's guide introduces custom resources.
const walkthrough = `{
"AWSTemplateFormatVersion" : "2010-09-09",
"Resources" : {
"myCustomResource" : {
"Type": "AWS::CloudFormation::CustomResource",
"Version" : "1.0",
"Properties" : {
"ServiceToken": "arn:aws:sns:us-east-1:84969EXAMPLE:CRTest",
"seleniumTester" : "SeleniumTest()",
"endpoints" : [ "http://mysite.com", "http://myecommercesite.com/", "http://search.mysite.com" ],
"frequencyOfTestsPerHour" : [ "3", "2", "4" ]
}
}
},
"Outputs" : {
"topItem" : {
"Value" : { "Fn::GetAtt" : ["myCustomResource", "resultsPage"] }
},
"numRespondents" : {
"Value" : { "Fn::GetAtt" : ["myCustomResource", "lastUpdate"] }
}
}
}`

func TestWalkthrough(t *testing.T) {
	parsed := mustParse(t, walkthrough)
	scope := bind(t, parsed, nil)
	needs, err := parsed.Graph(scope)
	if err != nil {
		t.Fatal(describe(err))
	}
	if diff := cmp.Diff(map[string][]string{"myCustomResource": nil}, needs); diff != "" {
		t.Errorf("Graph (-want +got):\n%s", diff)
	}
	resource := parsed.Active(scope)[0]
	if resource.Type != "AWS::CloudFormation::CustomResource" || resource.Line != 4 || resource.Column != 1 {
		t.Errorf("resource %+v", resource)
	}
	properties, err := template.Evaluate(resource.Properties, scope, world{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"ServiceToken":"arn:aws:sns:us-east-1:84969EXAMPLE:CRTest","seleniumTester":"SeleniumTest()",` +
		`"endpoints":["http://mysite.com","http://myecommercesite.com/","http://search.mysite.com"],"frequencyOfTestsPerHour":["3","2","4"]}`
	if got := string(properties.JSON()); got != want {
		t.Errorf("properties\n%s\nwant\n%s", got, want)
	}
	outputs, err := parsed.EvaluateOutputs(scope, world{
		"myCustomResource.resultsPage": value.Str("http://www.myexampledomain/test-results/guid"),
		"myCustomResource.lastUpdate":  value.Str("2012-11-14T03:30Z"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]template.Output{
		{Key: "topItem", Value: value.Str("http://www.myexampledomain/test-results/guid")},
		{Key: "numRespondents", Value: value.Str("2012-11-14T03:30Z")},
	}, outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// TestOneTree compares the same template in JSON and in YAML, with short forms and without.
func TestOneTree(t *testing.T) {
	asJSON := mustParse(t, `{
  "AWSTemplateFormatVersion": "2010-09-09", "Description": "two spellings",
  "Parameters": {"Env": {"Type": "String", "Default": "dev", "AllowedValues": ["dev", "prod"]}},
  "Mappings": {"Size": {"dev": {"n": 1}, "prod": {"n": 3}}},
  "Conditions": {"Prod": {"Fn::Equals": [{"Ref": "Env"}, "prod"]}, "Not": {"Fn::Not": [{"Condition": "Prod"}]}},
  "Resources": {
    "A": {"Type": "Custom::A", "Properties": {"ServiceToken": "t", "On": true, "Port": 10000000, "Ratio": 1.0, "Date": "2012-10-17"}},
    "B": {"Type": "Custom::B", "Condition": "Not", "DependsOn": ["A"], "DeletionPolicy": "Retain", "Properties": {
      "Id": {"Ref": "A"}, "Attribute": {"Fn::GetAtt": ["A", "a.b.0.c"]}, "Text": {"Fn::Sub": "${Env}-${A.x}-${!Raw}"},
      "Own": {"Fn::Sub": ["${V}", {"V": {"Ref": "A"}}]}, "Joined": {"Fn::Join": [",", ["a", {"Ref": "Env"}]]},
      "One": {"Fn::Select": [0, {"Fn::Split": ["-", {"Ref": "A"}]}]}, "N": {"Fn::FindInMap": ["Size", {"Ref": "Env"}, "n"]},
      "Maybe": {"Fn::If": ["Prod", "yes", {"Ref": "AWS::NoValue"}]}, "Packed": {"Fn::Base64": {"Ref": "Env"}}}}},
  "Outputs": {"O": {"Value": {"Ref": "A"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-o"}}}}
}`)
	asYAML := mustParse(t, `
AWSTemplateFormatVersion: 2010-09-09
Description: two spellings
Parameters:
  Env: {Type: String, Default: dev, AllowedValues: [dev, prod]}
Mappings:
  Size: {dev: {n: 1}, prod: {n: 3}}
Conditions:
  Prod: !Equals [!Ref Env, prod]
  Not: !Not [!Condition Prod]
Resources:
  A:
    Type: Custom::A
    Properties: {ServiceToken: t, On: yes, Port: 10000000, Ratio: 1.0, Date: 2012-10-17}
  B:
    Type: Custom::B
    Condition: Not
    DependsOn: [A]
    DeletionPolicy: Retain
    Properties:
      Id: !Ref A
      Attribute: !GetAtt A.a.b.0.c
      Text: !Sub ${Env}-${A.x}-${!Raw}
      Own: !Sub ["${V}", {V: !Ref A}]
      Joined: !Join [",", [a, !Ref Env]]
      One: !Select [0, !Split ["-", !Ref A]]
      N: !FindInMap [Size, !Ref Env, n]
      Maybe: !If [Prod, "yes", !Ref AWS::NoValue]
      Packed: !Base64 {Ref: Env}
Outputs:
  O:
    Value: !Ref A
    Export: {Name: !Sub "${AWS::StackName}-o"}
`)
	for i, a := range asJSON.Resources {
		b := asYAML.Resources[i]
		if !a.Properties.Equal(b.Properties) {
			t.Errorf("%s:\nJSON %s\nYAML %s", a.LogicalID, a.Properties.Value(), b.Properties.Value())
		}
		ignored := cmp.FilterPath(func(p cmp.Path) bool {
			name := p.Last().String()
			return name == ".Line" || name == ".Column" || name == ".Properties" || name == ".Metadata"
		}, cmp.Ignore())
		if diff := cmp.Diff(a, b, ignored, cmp.AllowUnexported(template.Resource{})); diff != "" {
			t.Errorf("%s (-JSON +YAML):\n%s", a.LogicalID, diff)
		}
	}
	for i, c := range asJSON.Conditions {
		if !c.Expression.Equal(asYAML.Conditions[i].Expression) {
			t.Errorf("condition %s: %s and %s", c.Name, c.Expression.Value(), asYAML.Conditions[i].Expression.Value())
		}
	}
	if !asJSON.Outputs[0].Value.Equal(asYAML.Outputs[0].Value) || !asJSON.Outputs[0].ExportName.Equal(asYAML.Outputs[0].ExportName) {
		t.Error("outputs differ")
	}

	scope := bind(t, asYAML, map[string]string{"Env": "dev"})
	got, err := template.Evaluate(asYAML.Resource("B").Properties, scope, world{
		"A": value.Str("x-y"), "A.a.b.0.c": value.Num("1.50"), "A.x": value.Str("att"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Id":"x-y","Attribute":1.50,"Text":"dev-att-${Raw}","Own":"x-y","Joined":"a,dev","One":"x","N":1,"Packed":"ZGV2"}`
	if string(got.JSON()) != want {
		t.Errorf("evaluated\n%s\nwant\n%s", got, want)
	}
}

func TestHash(t *testing.T) {
	if got := mustParse(t, walkthrough).Hash(); got != template.Hash(walkthrough) || len(got) != 64 || got == template.Hash(walkthrough+" ") {
		t.Errorf("Hash() = %s", got)
	}
}

func TestSummary(t *testing.T) {
	parsed := mustParse(t, `
Description: what it is
Parameters:
  Open: {Type: Number, Default: 10, Description: a number}
  Hidden: {Type: String, NoEcho: true, Default: hunter2}
  Needed: {Type: CommaDelimitedList}
Resources:
  B: {Type: Custom::B}
  A: {Type: Custom::A}
  C: {Type: Custom::B}
`)
	ten, mask := "10", "****"
	want := template.Summary{
		Description: "what it is",
		Parameters: []template.ParameterSummary{
			{Key: "Open", Type: "Number", Description: "a number", Default: &ten},
			{Key: "Hidden", Type: "String", NoEcho: true, Default: &mask},
			{Key: "Needed", Type: "CommaDelimitedList"},
		},
		ResourceTypes: []string{"Custom::A", "Custom::B"},
	}
	if diff := cmp.Diff(want, parsed.Summary(false)); diff != "" {
		t.Errorf("Summary (-want +got):\n%s", diff)
	}
}

func TestRecord(t *testing.T) {
	parsed := mustParse(t, `
Parameters: {P: {Type: String, NoEcho: true}}
Mappings: {M: {a: {x: [1, two], Ref: unused}, b: {x: [3]}}}
Resources:
  Other: {Type: Custom::Other}
  R:
    Type: Custom::R
    DependsOn: Other
    DeletionPolicy: RetainExceptOnCreate
    UpdateReplacePolicy: Retain
    Metadata: {note: !Ref P}
    CreationPolicy: {ResourceSignal: {Count: !FindInMap [M, b, x], Timeout: !Ref P}}
    Properties:
      zebra: 1.0
      apple: {big: 10000000, hex: 0x1F, on: on, text: "007", empty: {}, none: [], html: "<&>"}
      used: !Sub "${P}/${Other.url}"
      found: !Select [1, !FindInMap [M, a, x]]
`)
	r := parsed.Resource("R")
	stored, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var read template.Resource
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(places(r.Properties), places(read.Properties)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(places(r.CreationPolicy), places(read.CreationPolicy)); diff != "" {
		t.Errorf("nodes of the creation policy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.References(), read.References()); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	again, err := json.Marshal(&read)
	if err != nil || string(again) != string(stored) {
		t.Errorf("stored again as\n%s\nfirst\n%s (%v)", again, stored, err)
	}
	scope := template.NewScope(map[string]value.Value{"P": value.SecretStr("s3cret")}, nil, pseudo)
	got, err := template.Evaluate(read.Properties, scope, world{"Other.url": value.Str("u")})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"zebra":1.0,"apple":{"big":10000000,"hex":31,"on":true,"text":"007","empty":{},"none":[],"html":"<&>"},"used":"s3cret/u","found":"two"}`
	if string(got.JSON()) != want {
		t.Errorf("evaluated\n%s\nwant\n%s", got.JSON(), want)
	}
	if diff := cmp.Diff([]string{"s3cret/u"}, got.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// TestRecordDepth stores the deepest possible tree, with the mapping that a lookup adds to it.
func TestRecordDepth(t *testing.T) {
	levels := template.MaxDepth - 7 // the sections above it, and the list of the call
	parsed := mustParse(t, "Mappings: {M: {a: {x: [1]}}}\n"+r(strings.Repeat("[", levels)+"!FindInMap [M, !Ref AWS::Region, x]"+strings.Repeat("]", levels)))
	stored, err := json.Marshal(parsed.Resources[0])
	if err != nil {
		t.Fatal(err)
	}
	var read template.Resource
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	if !read.Properties.Equal(parsed.Resources[0].Properties) {
		t.Errorf("read %s", read.Properties.Value())
	}
}

// places lists every node of a tree with its position.
func places(n template.Node) []string {
	list := []string{fmt.Sprintf("%d:%d %s %s", n.Line(), n.Column(), n.Kind(), n.Text())}
	for _, item := range n.Items() {
		list = append(list, places(item)...)
	}
	for _, m := range n.Members() {
		list = append(append(list, m.Key), places(m.Value)...)
	}
	return list
}

func TestRecordRefuses(t *testing.T) {
	for _, stored := range []string{
		`{}`, `{"id":"A","at":[1]}`, `{"id":"A","at":[1,1],"properties":{"a":1}}`, `{"id":"A","at":[1,1,2,2,3,3,4,4],"properties":{"a":1}}`,
		`{"id":"A","at":[1,1,1,1,1,1],"properties":{"a":null}}`, `{"id":"A","at":[1,1,1,1,1,1],"properties":{"Fn::Join":"x"}}`, `[]`,
	} {
		var r template.Resource
		if err := json.Unmarshal([]byte(stored), &r); err == nil {
			t.Errorf("%s was read as %+v", stored, r)
		}
	}
}
