package template_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
)

const partly = `
Parameters:
  Open: {Type: String}
  Given: {Type: String, Default: d}
  Key: {Type: String, NoEcho: true, Default: secret-name}
Conditions:
  Never: !Equals [a, b]
  Sure: !Equals [!Ref Given, g]
  Perhaps: !Equals [!Ref Open, o]
  Also: !And [!Condition Sure, !Condition Perhaps]
Mappings: {M: {g: {a: mapped}}}
Resources:
  B: {Type: Custom::B}
  C: {Type: Custom::C, Condition: Perhaps}
  D: {Type: Custom::C, Condition: Sure}
  E: {Type: Custom::C, Condition: Never}
  A:
    Type: Custom::A
    Properties:
      literal: 5
      given: !Ref Given
      mapped: !FindInMap [M, !Ref Given, a]
      taken: !If [Sure, [1, 2], !Ref B]
      nothing: !If [Sure, !Ref AWS::NoValue, 1]
      open: !Ref Open
      openInSub: !Sub "${Given}-${Open}"
      undecided: !If [Perhaps, 1, 2]
      undecidedBelow: !Join ["", [!If [Also, a, b]]]
      resource: !GetAtt B.x
      resourceInSub: !Sub "${B.y}"
      stack: !Ref AWS::StackId
      untaken: !If [Sure, !GetAtt B.t, !GetAtt B.u]
      perhaps: !If [Perhaps, !GetAtt B.v, !GetAtt B.w]
      named: !GetAtt [B, !Ref Given]
      namedOpen: !GetAtt [B, !Ref Open]
      namedSecret: !GetAtt [B, !Ref Key]
      account: !Ref AWS::AccountId
      beyond: !Select [7, [a]]
Outputs:
  O: {Value: !Ref B, Condition: Perhaps}
  P: {Value: !Ref B, Condition: Never}
`

func TestPartial(t *testing.T) {
	parsed, err := template.Parse(partly)
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsed.BindPartly(map[string]template.Input{"Given": {Value: "g"}}, []string{"AWS::StackId"},
		template.Pseudo{AccountID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Open"}, p.Missing()); diff != "" {
		t.Error(diff)
	}
	if _, whole := p.Scope(); whole {
		t.Error("a scope without all parameters is none")
	}
	var names []string
	for _, r := range p.Resources() {
		names = append(names, r.LogicalID)
	}
	for _, o := range p.Outputs() {
		names = append(names, o.Key)
	}
	if diff := cmp.Diff([]string{"B", "C", "D", "A", "O"}, names); diff != "" {
		t.Error(diff)
	}
	properties := parsed.Resource("A").Properties
	got := map[string]string{}
	for _, m := range properties.Members() {
		literal, v, known, err := p.Look(m.Value)
		switch {
		case err != nil:
			got[m.Key] = err.Error()
		case !known:
			got[m.Key] = "?"
		case literal.IsZero():
			got[m.Key] = v.String()
		default:
			got[m.Key] = "literal " + literal.Value().String()
		}
	}
	if diff := cmp.Diff(map[string]string{
		"literal": "literal 5", "given": `"g"`, "mapped": `"mapped"`, "taken": "literal [1,2]", "nothing": "null", "open": "?",
		"openInSub": "?", "undecided": "?", "undecidedBelow": "?", "resource": "?", "resourceInSub": "?", "stack": "?",
		"untaken": "?", "perhaps": "?", "named": "?", "namedOpen": "?", "namedSecret": "?", "account": `"1"`,
		"beyond": "Template error: Fn::Select cannot select nonexistent value at index 7",
	}, got); diff != "" {
		t.Error(diff)
	}
	var used []string
	for _, r := range p.References(properties) {
		used = append(used, r.Resource+"."+r.Attribute)
	}
	if diff := cmp.Diff([]string{"B.x", "B.y", "B.t", "B.v", "B.w", "B.g"}, used); diff != "" {
		t.Error(diff)
	}
}

func TestPartialProblems(t *testing.T) {
	parsed, err := template.Parse(`
Parameters: {Many: {Type: Number, MaxValue: 3}, Open: {Type: String, MinLength: 1}}
Conditions:
  Bad: !Equals [!Select [3, [a]], b]
  Worse: !Equals [!Select [4, [a]], b]
Resources: {A: {Type: Custom::A}}
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		inputs map[string]template.Input
		want   []string
	}{
		{map[string]template.Input{"Many": {Value: "5"}, "Other": {Value: "1"}}, []string{
			"Parameters: [Other] do not exist in the template", "Parameter 'Many' must be a number not greater than 3",
			"Template error: Fn::Select cannot select nonexistent value at index 3",
			"Template error: Fn::Select cannot select nonexistent value at index 4",
		}},
		{nil, []string{
			"Template error: Fn::Select cannot select nonexistent value at index 3",
			"Template error: Fn::Select cannot select nonexistent value at index 4",
		}},
	} {
		_, err := parsed.BindPartly(test.inputs, nil, template.Pseudo{})
		var found template.Errors
		if !errors.As(err, &found) {
			t.Fatalf("got %v, want Errors", err)
		}
		var got []string
		for _, e := range found {
			got = append(got, e.Message)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Error(diff)
		}
	}
}
