package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
)

func TestROSErrors(t *testing.T) {
	for name, test := range map[string]struct {
		body string // without the version, if it does not begin with one
		want []string
	}{
		"no YAML":         {"Resources: [", []string{"InvalidSchema YAML not well-formed."}},
		"a list":          {"ROSTemplateFormatVersion\n", []string{"InvalidSchema The template is not a map of sections."}},
		"no version":      {"{}", []string{"InvalidTemplateVersion The template version is invalid: ROSTemplateFormatVersion is missing."}},
		"another version": {"ROSTemplateFormatVersion: 2010-09-09", []string{"InvalidTemplateVersion /ROSTemplateFormatVersion The template version is invalid: ROSTemplateFormatVersion must be 2015-09-01."}},
		"Terraform": {"Transform: Aliyun::Terraform-v1.5\nWorkspace: {main.tf: x}\nHooks: {}\nResources: {A: {}}", []string{
			"NotSupported /Transform The transform Aliyun::Terraform-v1.5 is not supported: only ROS runs the Terraform configuration of a template.",
		}},
		"OpenTofu": {"Transform: Aliyun::OpenTofu-v1.8", []string{
			"NotSupported /Transform The transform Aliyun::OpenTofu-v1.8 is not supported: only ROS runs the Terraform configuration of a template.",
		}},
		"Serverless": {"Transform: [Aliyun::Serverless-2018-04-03]\nResources: {A: {Type: 'Aliyun::Serverless::Service', F: {}}}", []string{
			"NotSupported /Transform The transform Aliyun::Serverless-2018-04-03 is not supported: only ROS expands serverless applications; " +
				"write out the ALIYUN::FC resources that they stand for.",
		}},
		"a module": {"Resources: {A: {Type: 'MODULE::ACS::OOS::Extension', Version: default, Properties: {X: 1}}}\n" +
			"Outputs: {X: {Value: {'Fn::GetAtt': [A, X]}}}", []string{
			"NotSupported /Resources/A/Type The module MODULE::ACS::OOS::Extension of the resource A is not supported: only ROS expands modules; " +
				"write out the resources that it stands for.",
		}},
		"sections": {"Hooks: {}\nTransform: null\nWorkspace: {}\nMetadata: x\nDescription: []", []string{
			"InvalidTemplateSection /Hooks The template section is invalid: Hooks.",
			"NotSupported /Workspace The section Workspace is not supported.",
			"InvalidTemplatePropertyType /Metadata The specified value type of (Metadata) is incorrect.",
			"InvalidTemplatePropertyType /Description The specified value type of (Description) is incorrect.",
		}},
		"parameters": {`Parameters:
  A: {Type: List<String>}
  B: {Default: 1}
  C: {Type: Number, MinLength: 1, MaxValue: x, Sort: 1}
  D: {Type: 'ALIYUN::OOS::SecretParameter::Value'}
  E: x
  F: {Type: String, MinLength: 3, MaxLength: 2, AllowedValues: x, AllowedPattern: '(a', NoEcho: maybe}`, []string{
			"StackValidationFailed /Parameters/A/Type The parameter type List<String> is none of ROS.",
			"StackValidationFailed /Parameters/B The parameter B has no Type.",
			"InvalidTemplatePropertyType /Parameters/C/MaxValue The specified value type of (C MaxValue) is incorrect.",
			"StackValidationFailed /Parameters/C/Sort A parameter has no attribute Sort.",
			"StackValidationFailed /Parameters/C/MinLength The attribute MinLength of the parameter C is for texts and lists only, its type is Number.",
			"NotSupported /Parameters/D/Type The parameter type ALIYUN::OOS::SecretParameter::Value is not supported.",
			"InvalidTemplatePropertyType /Parameters/E The specified value type of (Parameters.E) is incorrect.",
			"InvalidTemplatePropertyType /Parameters/F/AllowedValues The specified value type of (F AllowedValues) is incorrect.",
			"StackValidationFailed /Parameters/F/AllowedPattern The AllowedPattern is not a regular expression.",
			"InvalidTemplatePropertyType /Parameters/F/NoEcho The specified value type of (F NoEcho) is incorrect.",
			"StackValidationFailed /Parameters/F The parameter F allows no value: its least is more than its most.",
		}},
		"resources": {`Resources:
  A: {Type: 1, Properties: [], DependsOn: [1], DeletionPolicy: Snapshot, UpdatePolicy: {}}
  B: {}
  C: null
  'ALIYUN::Region': {Type: Custom::A}
  D: {Type: Custom::A, Count: -1}
  E: {Type: Custom::A, Count: 1.5, Condition: []}`, []string{
			"InvalidTemplatePropertyType /Resources/A/Type The specified value type of (A Type) is incorrect.",
			"InvalidTemplatePropertyType /Resources/A/Properties The specified value type of (A Properties) is incorrect.",
			"InvalidTemplatePropertyType /Resources/A/DependsOn/0 The specified value type of (A DependsOn[0]) is incorrect.",
			"StackValidationFailed /Resources/A/DeletionPolicy The DeletionPolicy Snapshot of the resource A is neither Delete nor Retain.",
			"StackValidationFailed /Resources/A/UpdatePolicy The attribute UpdatePolicy of the resource A is not supported.",
			"StackValidationFailed /Resources/B The resource B has no Type.",
			"InvalidTemplatePropertyType /Resources/C The specified value type of (Resources.C) is incorrect.",
			"StackValidationFailed /Resources/ALIYUN::Region The name ALIYUN::Region of a resource is one of pseudo parameters.",
			"StackValidationFailed /Resources/D/Count The Count of the resource D must be a natural number.",
			"StackValidationFailed /Resources/E/Count The Count of the resource E must be a natural number.",
			"InvalidTemplatePropertyType /Resources/E/Condition The specified value type of (E Condition) is incorrect.",
		}},
		"outputs": {`Outputs:
  A: {Description: x}
  B: {Value: 1, Export: {Name: x}, Sort: 1, Condition: 1}`, []string{
			"StackValidationFailed /Outputs/A The output A has no Value.",
			"NotSupported /Outputs/B/Export The attribute Export of an output is not supported.",
			"StackValidationFailed /Outputs/B/Sort The attribute Sort of the output B is not supported.",
			"InvalidTemplatePropertyType /Outputs/B/Condition The specified value type of (B Condition) is incorrect.",
		}},
		"conditions, rules and mappings": {`Conditions: {A: x, B: null}
Rules:
  A: {RuleCondition: 1, Sort: 1}
  B: {Assertions: []}
  C: {Assertions: [{Assert: []}, {AssertDescription: x}, x]}
Mappings: {A: x, B: {a: x}, C: {a: {b: {Ref: x}, c: null}}}`, []string{
			"InvalidTemplatePropertyType /Conditions/A What is to be decided must be a function that returns true or false, or the name of a condition.",
			"InvalidTemplatePropertyType /Conditions/B What is to be decided must be a function that returns true or false, or the name of a condition.",
			"InvalidTemplatePropertyType /Rules/A/RuleCondition What is to be decided must be a function that returns true or false, or the name of a condition.",
			"StackValidationFailed /Rules/A/Sort The attribute Sort of the rule A is not supported.",
			"StackValidationFailed /Rules/A The rule A has no Assertions.",
			"InvalidTemplatePropertyType /Rules/B/Assertions The specified value type of (B Assertions) is incorrect.",
			"InvalidTemplatePropertyType /Rules/C/Assertions/0/Assert What is to be decided must be a function that returns true or false, or the name of a condition.",
			"StackValidationFailed /Rules/C/Assertions/1 The assertion 2 of a rule has no Assert.",
			"InvalidTemplatePropertyType /Rules/C/Assertions/2 The specified value type of (C Assertions[2]) is incorrect.",
			"InvalidTemplatePropertyType /Mappings/A The specified value type of (Mappings.A) is incorrect.",
			"InvalidTemplatePropertyType /Mappings/B/a The specified value type of (B a) is incorrect.",
			"InvalidTemplatePropertyType /Mappings/C/a/b The function Ref cannot be called in Mappings.",
			"InvalidTemplatePropertyType /Mappings/C/a/c The specified value type of (C a.c) is incorrect.",
		}},
		"names": {`Parameters: {P: {Type: String}}
Conditions: {C: {'Fn::Equals': [{Ref: R}, {Ref: X}]}}
Rules: {R: {Assertions: [{Assert: D}]}}
Resources:
  R: {Type: Custom::A, Condition: E, DependsOn: [F, R2], Properties: {a: {Ref: G}, b: {Ref: 'AWS::Region'}, c: !GetAtt H.x, d: {Ref: 'ALIYUN::Index'}}}
  R2: {Type: Custom::A, Count: {Ref: R}, DependsOn: 'R2[0]'}
  P: {Type: Custom::A}
Outputs: {O: {Value: [{Ref: I}, {Ref: 'R[0]'}, {Ref: 'R2[0]'}], Condition: J}}`, []string{
			"StackValidationFailed /Resources/P P is both a parameter and a resource.",
			`InvalidTemplateReference /Conditions/C The specified reference "R" (in C) is incorrect.`,
			`InvalidTemplateReference /Conditions/C The specified reference "X" (in C) is incorrect.`,
			`InvalidTemplateReference /Rules/R/Assertions/0 The specified reference "D" (in R.Assertions[0]) is incorrect.`,
			`InvalidTemplateReference /Resources/R/Condition The specified reference "E" (in R.Condition) is incorrect.`,
			`InvalidTemplateReference /Resources/R/Properties The specified reference "G" (in R.Properties) is incorrect.`,
			`InvalidTemplateReference /Resources/R/Properties The specified reference "AWS::Region" (in R.Properties) is incorrect.`,
			`InvalidTemplateReference /Resources/R/Properties The specified reference "H" (in R.Properties) is incorrect.`,
			`InvalidTemplateReference /Resources/R/Properties The specified reference "ALIYUN::Index" (in R.Properties) is incorrect.`,
			`InvalidTemplateReference /Resources/R/DependsOn The specified reference "F" (in R.DependsOn) is incorrect.`,
			`InvalidTemplateReference /Resources/R2/Count The specified reference "R" (in R2.Count) is incorrect.`,
			`InvalidTemplateReference /Outputs/O/Condition The specified reference "J" (in O.Condition) is incorrect.`,
			`InvalidTemplateReference /Outputs/O/Value The specified reference "I" (in O.Value) is incorrect.`,
			`InvalidTemplateReference /Outputs/O/Value The specified reference "R[0]" (in O.Value) is incorrect.`,
		}},
		"cycles": {`Conditions: {C: {'Fn::Or': [D, {'Fn::Equals': [1, 2]}]}, D: {'Fn::Not': C}}
Resources: {A: {Type: Custom::A, DependsOn: B}, B: {Type: Custom::A, Properties: {a: {Ref: A}}}}`, []string{
			"CircularDependency /Conditions/C Circular Dependency Found: C, D.",
		}},
		"cycles of resources": {`Resources: {A: {Type: Custom::A, DependsOn: B}, B: {Type: Custom::A, Properties: {a: {Ref: A}}}}`, []string{
			"CircularDependency /Resources/A Circular Dependency Found: A, B.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			body := test.body
			if !strings.HasPrefix(body, "ROSTemplateFormatVersion") && body != "{}" {
				body = rosVersion + body
			}
			_, err := template.ParseROS(body, template.Limits{})
			if diff := cmp.Diff(test.want, problemsOf(err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestROSQuotas(t *testing.T) {
	var resources, assertions strings.Builder
	for i := range 301 {
		fmt.Fprintf(&resources, "  A%d: {Type: Custom::A}\n", i)
	}
	for range 101 {
		assertions.WriteString("{Assert: {'Fn::Equals': [1, 1]}},")
	}
	for name, test := range map[string]struct{ body, want string }{
		"bytes":      {"Description: " + strings.Repeat("x", 524_288), "InvalidSchema The template is 524340 bytes long, the maximum allowed is 524288."},
		"resources":  {"Resources:\n" + resources.String(), "StackValidationFailed /Resources The section Resources has 301 members, the maximum allowed is 300."},
		"assertions": {"Rules: {R: {Assertions: [" + assertions.String() + "]}}", "StackValidationFailed /Rules/R The rules have more than 100 assertions, which is the maximum allowed."},
		"names":      {"Outputs: {" + strings.Repeat("x", 256) + ": {Value: 1}}", "StackValidationFailed /Outputs/" + strings.Repeat("x", 256) + " The name of an output is longer than 255 characters."},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := template.ParseROS(rosVersion+test.body, template.Limits{})
			if diff := cmp.Diff([]string{test.want}, problemsOf(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := template.ROSQuotas(); got.Bytes != 524_288 || got.Resources != 300 || got.Parameters != template.Quotas().Parameters {
		t.Errorf("%+v", got)
	}
}

func TestLanguageOf(t *testing.T) {
	for body, want := range map[string]template.Language{
		"":              template.CloudFormation,
		"Resources: {}": template.CloudFormation,
		rosVersion:      template.ROS,
		"\ufeff# x\n---\n\n  'ROSTemplateFormatVersion' : x\n":                     template.ROS,
		"Description: |\n  ROSTemplateFormatVersion: x\n":                          template.CloudFormation,
		"A: 1\n\"ROSTemplateFormatVersion\":\n  x\n":                               template.ROS,
		"ROSTemplateFormatVersions: x":                                             template.CloudFormation,
		` {"A": {"ROSTemplateFormatVersion": 1}, "B": "ROSTemplateFormatVersion"}`: template.CloudFormation,
		`{"A": [{}, 1, {"a": []}], "B": true, "ROSTemplateFormatVersion": 1}`:      template.ROS,
		`{"ROSTemplateFormatVersion": `:                                            template.ROS,
		`{"A": "`:                                                                  template.CloudFormation,
	} {
		if got := template.LanguageOf(body); got != want {
			t.Errorf("%q: %v, want %v", body, got, want)
		}
	}
}
