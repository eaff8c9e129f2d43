package template_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
)

func TestROSDecisions(t *testing.T) {
	parsed := parsedROS(t, `
Parameters: {Env: {Type: String, Default: prod}, Maybe: {Type: String, Default: null}, Flag: {Type: Boolean, Default: true}}
Conditions:
  Neither: {'Fn::Not': {'Fn::Or': [Test, {Condition: Dev}]}}
  Dev: {'Fn::Equals': [dev, {Ref: Env}]}
  Test: {'Fn::Equals': [test, {Ref: Env}]}
  Nothing: {'Fn::Equals': [{Ref: Maybe}, null]}
  NotNothing: {'Fn::Not': Nothing}
  Flagged: {Ref: Flag}
  Nested: {'Fn::Equals': [true, {'Fn::Contains': [[null, ''], {Ref: Maybe}]}]}
  Chosen: {'Fn::If': [Dev, false, {Ref: Flag}]}
Resources:
  A: {Type: Custom::A, Condition: Neither, DependsOn: [B, C]}
  B: {Type: Custom::B, Condition: Dev}
  C: {Type: Custom::C, Properties: {b: {'Fn::If': [Dev, {Ref: B}, {Ref: 'ALIYUN::NoValue'}]}}}
Outputs:
  B: {Condition: Dev, Value: {Ref: B}}
  C: {Value: {a: {Ref: C}}, NoEcho: true}
  Nothing: {Value: {Ref: 'ALIYUN::NoValue'}}
`)
	scope, err := parsed.Bind(nil, nil, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	want := map[string]bool{
		"Neither": true, "Dev": false, "Test": false, "Nothing": true, "NotNothing": false, "Flagged": true, "Nested": true, "Chosen": true,
	}
	if diff := cmp.Diff(want, scope.Conditions); diff != "" {
		t.Error(diff)
	}
	needs, err := parsed.Graph(scope)
	if err != nil {
		t.Fatal(describe(err))
	}
	if diff := cmp.Diff(map[string][]string{"A": {"C"}, "C": nil}, needs); diff != "" {
		t.Error(diff)
	}
	outputs, err := parsed.EvaluateOutputs(scope, rosMade{})
	if err != nil {
		t.Fatal(describe(err))
	}
	if len(outputs) != 2 || outputs[0].Value.String() != `{"a":"****"}` || !outputs[1].Value.IsNull() {
		t.Errorf("outputs %v", outputs)
	}
}

func TestROSRules(t *testing.T) {
	const body = `
Parameters: {A: {Type: String}, B: {Type: String, Default: b}}
Conditions: {Same: {'Fn::Equals': [{Ref: A}, {Ref: B}]}, Wanted: {'Fn::Equals': [{Ref: A}, x]}}
Rules:
  Different: {Assertions: [{Assert: {'Fn::Not': Same}, AssertDescription: {en: A and B must differ.}}]}
  OnlyIf:
    RuleCondition: Wanted
    Assertions: [{Assert: Same}, {Assert: {'Fn::Contains': [[b, c], {Ref: B}]}, AssertDescription: B is b or c.}]
`
	parsed := parsedROS(t, body)
	for name, test := range map[string]struct {
		a, b string
		want []string
	}{
		"fine": {"a", "b", nil},
		"same": {"b", "b", []string{"StackValidationFailed /Rules/Different/Assertions/0 Rule Different failed: A and B must differ."}},
		"under a condition": {"x", "d", []string{
			"StackValidationFailed /Rules/OnlyIf/Assertions/0 Rule OnlyIf failed: assertion 1 does not hold.",
			"StackValidationFailed /Rules/OnlyIf/Assertions/1 Rule OnlyIf failed: B is b or c.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsed.Bind(map[string]template.Input{"A": {Value: test.a}, "B": {Value: test.b}}, nil, rosPseudo)
			if diff := cmp.Diff(test.want, problemsOf(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
	// An assertion about an unknown value is not an error.
	if _, err := parsed.BindPartly(map[string]template.Input{"B": {Value: "d"}}, nil, rosPseudo); err != nil {
		t.Error(describe(err))
	}
}

// TestROSFalseCondition refers to a resource whose condition is false.
func TestROSFalseCondition(t *testing.T) {
	parsed := parsedROS(t, `
Conditions: {Never: {'Fn::Equals': [1, 2]}}
Resources: {A: {Type: Custom::A, Condition: Never}, B: {Type: Custom::B, Properties: {a: {Ref: A}}}}
Outputs: {O: {Value: {'Fn::GetAtt': [A, x]}}}
`)
	scope, err := parsed.Bind(nil, nil, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	_, err = parsed.Graph(scope)
	want := []string{
		`InvalidTemplateReference /Resources/B The specified reference "A" (in B) is incorrect.`,
		`InvalidTemplateReference /Outputs/O The specified reference "A" (in O) is incorrect.`,
	}
	if diff := cmp.Diff(want, problemsOf(err)); diff != "" {
		t.Error(diff)
	}
}

func TestROSPartly(t *testing.T) {
	const body = `
Parameters: {N: {Type: Number}, Size: {Type: Number, Default: 3}, S: {Type: String, NoEcho: true, Default: x}}
Resources:
  A: {Type: Custom::A, Count: {Ref: N}, Properties: {i: {Ref: 'ALIYUN::Index'}, s: {Ref: Size}}}
`
	parsed := parsedROS(t, body)
	p, err := parsed.BindPartly(nil, []string{"ALIYUN::StackId"}, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	if _, whole := p.Scope(); whole || !cmp.Equal(p.Missing(), []string{"N"}) {
		t.Errorf("whole %t, missing %v", whole, p.Missing())
	}
	p, err = parsed.BindPartly(map[string]template.Input{"N": {Value: "2"}}, nil, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	if _, whole := p.Scope(); !whole || len(p.Resources()) != 2 {
		t.Errorf("whole %t, resources %v", whole, p.Resources())
	}
	second := p.Resources()[1]
	literal, v, known, err := p.Look(second.Properties.Get("s"))
	if err != nil || !known || v.String() != "3" {
		t.Errorf("%v %v %t %v", literal, v, known, err)
	}
	_, err = parsed.BindPartly(map[string]template.Input{"N": {Value: "-2"}, "Z": {}}, nil, rosPseudo)
	if diff := cmp.Diff([]string{"UnknownUserParameter The Parameter (Z) was not defined in template."}, problemsOf(err)[:1]); diff != "" {
		t.Error(diff)
	}
}

func TestROSExamine(t *testing.T) {
	sound, found := template.ROS.Examine(rosVersion+`
Parameters: {P: {Type: X}}
Resources:
  A: {Type: Custom::A, Properties: {p: {Ref: P}, q: {Ref: Nobody}}}
  B: {Type: Custom::B, Frob: 1}
  C: {Type: Custom::C, DependsOn: [Nobody, A]}
  D: {Type: Custom::D}
`, template.Limits{})
	want := []string{
		"StackValidationFailed /Parameters/P/Type The parameter type X is none of ROS.",
		"StackValidationFailed /Resources/B/Frob The attribute Frob of the resource B is not supported.",
		`InvalidTemplateReference /Resources/A/Properties The specified reference "Nobody" (in A.Properties) is incorrect.`,
		`InvalidTemplateReference /Resources/C/DependsOn The specified reference "Nobody" (in C.DependsOn) is incorrect.`,
	}
	if diff := cmp.Diff(want, problemsOf(found)); diff != "" {
		t.Error(diff)
	}
	if sound == nil || len(sound.Resources) != 1 || sound.Resources[0].LogicalID != "D" {
		t.Errorf("sound: %+v", sound)
	}
	if sound, found = template.ROS.Examine("x: [", template.Limits{}); sound != nil || len(found) != 1 {
		t.Errorf("%v %v", sound, found)
	}
	if sound, found = template.ROS.Examine(rosSite, template.Limits{}); sound == nil || found != nil {
		t.Errorf("%v %v", sound, found)
	}
}

// TestROSRecord reads stored declarations back; those of CloudFormation have no language.
func TestROSRecord(t *testing.T) {
	parsed := parsedROS(t, "Resources: {A: {Type: Custom::A, Properties: {a: {'Fn::Base64Encode': x}}}}")
	stored, err := json.Marshal(parsed.Resource("A"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(stored), `"language":"ros"`) {
		t.Errorf("stored: %s", stored)
	}
	var read template.Resource
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(read)
	if err != nil || string(again) != string(stored) {
		t.Errorf("%s, %v", again, err)
	}
	scope := template.NewScope(nil, nil, rosPseudo)
	scope.Language = template.ROS
	v, err := template.Evaluate(read.Properties, scope, rosMade{})
	if err != nil || v.String() != `{"a":"eA=="}` {
		t.Errorf("%s, %v", v, err)
	}
	of := strings.Replace(string(stored), `"language":"ros",`, "", 1)
	if err := json.Unmarshal([]byte(of), new(template.Resource)); err == nil {
		t.Error("a function of ROS was read as one of CloudFormation")
	}
	aws, err := template.Parse("Resources: {A: {Type: Custom::A}}")
	if err != nil {
		t.Fatal(err)
	}
	if stored, err = json.Marshal(aws.Resource("A")); err != nil || strings.Contains(string(stored), "language") {
		t.Errorf("%s, %v", stored, err)
	}
}

// TestROSUses has a Fn::GetAtt whose attribute name is computed.
func TestROSUses(t *testing.T) {
	parsed := parsedROS(t, `
Parameters: {P: {Type: String, Default: name}}
Resources:
  A: {Type: Custom::A}
  B:
    Type: Custom::B
    Properties: {a: {'Fn::GetAtt': [A, {Ref: P}]}, b: !GetAtt A.Outputs, c: {'Fn::GetAtt': [A, 'x.y']}}
`)
	scope, err := parsed.Bind(nil, nil, rosPseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	var got []string
	for _, r := range parsed.Resource("B").ReferencesIn(scope) {
		got = append(got, r.Resource+" "+r.Attribute)
	}
	if diff := cmp.Diff([]string{"A name", "A Outputs", "A x.y"}, got); diff != "" {
		t.Error(diff)
	}
	v, err := template.Foresee(parsed.Resource("B").Properties, scope, rosMade{}, func(r template.Reference) bool { return r.Attribute != "name" })
	want := `{"a":"` + template.Unknown + `","b":"A/Outputs","c":"A/x.y"}`
	if err != nil || v.String() != want {
		t.Errorf("%s, %v", v, err)
	}
	causes := parsed.Causes(parsed.Resource("B").Properties, scope, "a")
	if diff := cmp.Diff([]string{"P"}, causes.Parameters); diff != "" {
		t.Error(diff)
	}
}
