package template_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// bootstrapRule is the rule that the CDK puts into every template.
const bootstrapRule = `{
 "Parameters": {"BootstrapVersion": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/hnb659fds/version",
  "Description": "Version of the CDK Bootstrap resources in this environment, automatically retrieved from SSM Parameter Store. [cdk:skip]"}},
 "Rules": {"CheckBootstrapVersion": {"Assertions": [
  {"Assert": {"Fn::Not": [{"Fn::Contains": [["1", "2", "3", "4", "5"], {"Ref": "BootstrapVersion"}]}]},
   "AssertDescription": "CDK bootstrap stack version 6 required. Please run 'cdk bootstrap' with a recent version of the CDK CLI."}]}},
 "Resources": {"A": {"Type": "Custom::A"}}
}`

func TestBootstrapRule(t *testing.T) {
	const name = "/cdk-bootstrap/hnb659fds/version"
	parsed := mustParse(t, bootstrapRule)
	if diff := cmp.Diff([]string{name}, parsed.StoredNames(nil, nil)); diff != "" {
		t.Fatal(diff)
	}
	for _, c := range []struct {
		stored template.Stored
		want   string
	}{
		{template.Stored{State: template.StoredText, Value: "33"}, ""},
		{template.Stored{State: template.StoredText, Value: "5"}, "Template validation error: Rule CheckBootstrapVersion failed: " +
			"CDK bootstrap stack version 6 required. Please run 'cdk bootstrap' with a recent version of the CDK CLI."},
		{template.Stored{}, "Unable to fetch parameters [" + name + "] from parameter store for this account."},
		{template.Stored{State: template.StoredSecret, Value: "33"}, "Parameters [" + name + "] referenced by template have types not supported by CloudFormation."},
	} {
		scope, err := parsed.BindWith(nil, nil, template.Pseudo{}, template.Outside{Stored: map[string]template.Stored{name: c.stored}})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("with %+v: %q, want %q", c.stored, got, c.want)
		}
		if err == nil && (scope.Parameters["BootstrapVersion"].Text() != name || scope.Outside.Parameters["BootstrapVersion"].Text() != "33") {
			t.Errorf("passed %s, read %s", scope.Parameters["BootstrapVersion"], scope.Outside.Parameters["BootstrapVersion"])
		}
	}
	if _, err := parsed.BindPartly(nil, nil, template.Pseudo{}); err != nil {
		t.Errorf("while it is not known: %v", err)
	}
}

func TestRules(t *testing.T) {
	const parameters = `
Parameters:
  Env: {Type: String, Default: prod}
  Zones: {Type: CommaDelimitedList, Default: "a,b"}
  V1: {Type: 'AWS::EC2::VPC::Id', Default: vpc-00000001}
  V2: {Type: 'AWS::EC2::VPC::Id', Default: vpc-00000002}
  S: {Type: 'List<AWS::EC2::Subnet::Id>', Default: "subnet-00000001,subnet-00000002"}
Rules:
  R:
`
	for _, c := range []struct{ rule, want string }{
		{"Assertions: [{Assert: !Equals [!Ref Env, prod]}]", ""},
		{"Assertions: [{Assert: !Equals [!Ref Env, dev]}]", "assertion 1 does not hold."},
		{"{RuleCondition: !Equals [!Ref Env, dev], Assertions: [{Assert: !Equals [a, b]}]}", ""},
		{"{RuleCondition: !Equals [!Ref Env, prod], Assertions: [{Assert: !Equals [a, a]}, {Assert: !Equals [a, b], AssertDescription: not so}]}", "not so"},
		{"{AssertDescription: what the rule is for, Assertions: [{Assert: !Equals [a, b]}]}", "assertion 1 does not hold."},
		{"Assertions: [{Assert: !Equals [!Ref 'AWS::Region', eu-west-1]}]", ""},
		{"Assertions: [{Assert: !Not [!Equals [a, a]]}]", "assertion 1 does not hold."},
		{"Assertions: [{Assert: !And [!Equals [a, a], !Equals [a, b]]}]", "assertion 1 does not hold."},
		{"Assertions: [{Assert: !Or [!Equals [a, b], !Equals [a, a]]}]", ""},
		{"Assertions: [{Assert: {'Fn::Contains': [[dev, prod], !Ref Env]}}]", ""},
		{"Assertions: [{Assert: {'Fn::Contains': [!Ref Zones, b]}}]", ""},
		{"Assertions: [{Assert: {'Fn::Contains': [!Ref Zones, c]}}]", "assertion 1 does not hold."},
		{"Assertions: [{Assert: {'Fn::EachMemberIn': [!Ref Zones, [a, b, c]]}}]", ""},
		{"Assertions: [{Assert: {'Fn::EachMemberIn': [!Ref Zones, [a]]}}]", "assertion 1 does not hold."},
		{"Assertions: [{Assert: {'Fn::EachMemberEquals': [[x, x], x]}}]", ""},
		{"Assertions: [{Assert: {'Fn::EachMemberEquals': [[x, y], x]}}]", "assertion 1 does not hold."},
		{"Assertions: [{Assert: {'Fn::EachMemberIn': [{'Fn::RefAll': 'AWS::EC2::VPC::Id'}, [vpc-00000001, vpc-00000002]]}}]", ""},
		{"Assertions: [{Assert: {'Fn::Contains': [{'Fn::RefAll': 'AWS::EC2::VPC::Id'}, vpc-00000003]}}]", "assertion 1 does not hold."},
		{"Assertions: [{Assert: {'Fn::Contains': [{'Fn::RefAll': 'List<AWS::EC2::Subnet::Id>'}, subnet-00000002]}}]", ""},
		// A rule that depends on an attribute of a resource in an account is unknown, and unknown rules pass.
		{"Assertions: [{Assert: !Equals [{'Fn::ValueOf': [V1, Tags.Env]}, x]}]", ""},
		{"Assertions: [{Assert: {'Fn::EachMemberEquals': [{'Fn::ValueOfAll': ['AWS::EC2::VPC::Id', Tags.Env]}, x]}}]", ""},
		{"Assertions: [{Assert: !And [!Equals [{'Fn::ValueOf': [V1, Tags.Env]}, x], !Equals [a, b]]}]", "assertion 1 does not hold."},
		{"Assertions: [{Assert: !Not [!Equals [{'Fn::ValueOf': [V1, Tags.Env]}, x]]}]", ""},
	} {
		parsed := mustParse(t, parameters+"    "+c.rule+"\nResources: {A: {Type: 'Custom::A'}}")
		_, err := parsed.Bind(nil, nil, template.Pseudo{Region: "eu-west-1"})
		want := c.want
		if want != "" {
			want = "Template validation error: Rule R failed: " + want
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", c.rule, got, want)
		}
	}
}

func TestRuleOfAList(t *testing.T) {
	for _, rule := range []string{
		"Assertions: [{Assert: !Equals [!Ref P, a]}]",
		"{RuleCondition: !Equals [!Ref P, a], Assertions: [{Assert: !Equals [a, a]}]}",
	} {
		parsed := mustParse(t, "Parameters: {P: {Type: CommaDelimitedList, Default: a}}\nRules:\n  R:\n    "+rule+"\nResources: {A: {Type: 'Custom::A'}}")
		_, err := parsed.Bind(nil, nil, template.Pseudo{})
		if all := (template.Errors)(nil); !errors.As(err, &all) || len(all) != 1 || all[0].Message != "Template error: a list stands where a rule wants a string." || all[0].Line != 4 {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestRulesWithUnknownParameters(t *testing.T) {
	parsed := mustParse(t, `
Parameters: {P: {Type: String}, Q: {Type: String, Default: a}}
Rules:
  R: {Assertions: [{Assert: !Equals [!Ref P, a]}, {Assert: !Equals [!Ref Q, a]}]}
Resources: {A: {Type: 'Custom::A'}}`)
	if _, err := parsed.BindPartly(nil, nil, template.Pseudo{}); err != nil {
		t.Error(err)
	}
	_, err := parsed.BindPartly(map[string]template.Input{"Q": {Value: "b"}}, nil, template.Pseudo{})
	if all := (template.Errors)(nil); !errors.As(err, &all) || len(all) != 1 || all[0].Path != "/Rules/R/Assertions/1" {
		t.Errorf("error %v", err)
	}
}

func TestStoredParameters(t *testing.T) {
	parsed := mustParse(t, `
Parameters:
  Text: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /text, AllowedValues: [/text, /other]}
  List: {Type: 'AWS::SSM::Parameter::Value<List<String>>', Default: /list}
  Comma: {Type: 'AWS::SSM::Parameter::Value<CommaDelimitedList>', Default: /list}
  Image: {Type: 'AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>', Default: /image, NoEcho: true}
  Name: {Type: 'AWS::SSM::Parameter::Name', Default: /secret}
Conditions: {C: !Equals [!Ref Text, one]}
Resources: {A: {Type: 'Custom::A', Properties: {Text: !Ref Text, List: !Ref List, Comma: !Ref Comma, Image: !Ref Image, Name: !Ref Name}}}`)
	stored := map[string]template.Stored{
		"/text": {State: template.StoredText, Value: "one"}, "/other": {State: template.StoredText, Value: "two"},
		"/list": {State: template.StoredText, Value: "a, b"}, "/image": {State: template.StoredText, Value: "ami-0123456789abcdef0"},
		"/secret": {State: template.StoredSecret},
	}
	if diff := cmp.Diff([]string{"/image", "/list", "/other", "/secret"}, parsed.StoredNames(map[string]template.Input{"Text": {Value: "/other"}}, nil)); diff != "" {
		t.Error(diff)
	}
	scope, err := parsed.BindWith(nil, nil, template.Pseudo{}, template.Outside{Stored: stored})
	if err != nil {
		t.Fatal(err)
	}
	if !scope.Conditions["C"] || scope.Outside.Stored != nil {
		t.Errorf("conditions %v, outside %v", scope.Conditions, scope.Outside)
	}
	v, err := template.Evaluate(parsed.Resource("A").Properties, scope, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Text":"one","List":["a","b"],"Comma":["a","b"],"Image":"****","Name":"/secret"}`
	if got := string(v.Masked().JSON()); got != want {
		t.Errorf("properties %s, want %s", got, want)
	}
	// The previous value of such a parameter is the name that was passed.
	names := parsed.StoredNames(map[string]template.Input{"Text": {UsePrevious: true}}, map[string]value.Value{"Text": value.Str("/other")})
	if diff := cmp.Diff([]string{"/image", "/list", "/other", "/secret"}, names); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ name, given, want string }{
		{"Text", "/not/allowed", "Parameter 'Text' must be one of AllowedValues"},
		{"List", "no name", "Unable to fetch parameters [no name] from parameter store for this account."},
		{"Image", "/text", "Parameter 'Image' must be the ID of an image, such as ami-0123456789abcdef0"},
		{"Image", "/gone", "Unable to fetch parameters [****] from parameter store for this account."},
		{"Name", "/gone", "Unable to fetch parameters [/gone] from parameter store for this account."},
		{"Comma", "/secret", "Parameters [/secret] referenced by template have types not supported by CloudFormation."},
	} {
		_, err := parsed.BindWith(map[string]template.Input{c.name: {Value: c.given}}, nil, template.Pseudo{}, template.Outside{Stored: stored})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s given %s: %v, want %s", c.name, c.given, err, c.want)
		}
	}
	none := mustParse(t, declared("{Type: 'AWS::SSM::Parameter::Value<String>'}"))
	if _, err := none.Bind(nil, nil, template.Pseudo{}); err == nil || err.Error() != "Parameter P should either have input value or default value" {
		t.Errorf("without a name: %v", err)
	}
}
