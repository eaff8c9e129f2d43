package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// side parses a template in YAML whose Resources header may be omitted.
func side(t *testing.T, text string, parameters ...string) plan.Side {
	t.Helper()
	if !strings.Contains(text, "Resources") {
		text = "Resources:\n" + text
	}
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]template.Input{}
	for _, p := range parameters {
		name, value, _ := strings.Cut(p, "=")
		inputs[name] = template.Input{Value: value}
	}
	scope, err := parsed.Bind(inputs, nil, template.Pseudo{Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Side{Template: parsed, Scope: scope}
}

// show writes one candidate a line: which sides declare it, and its needs and feeds on either.
func show(list []plan.Candidate) []string {
	lines := make([]string, len(list))
	for i, c := range list {
		lines[i] = c.Logical
		if c.Old != nil || c.OldNeeds != nil || c.OldFeeds != nil {
			lines[i] += fmt.Sprintf(" old%v->%v", c.OldNeeds, c.OldFeeds)
		}
		if c.New != nil {
			lines[i] += fmt.Sprintf(" new%v->%v", c.NewNeeds, c.NewFeeds)
		}
	}
	return lines
}

const three = `
  C: {Type: Custom::T, Properties: {A: !Ref A, B: !GetAtt B.x, Again: !Ref A}}
  A: {Type: Custom::T}
  B: {Type: Custom::T, DependsOn: A}
`

func TestCreate(t *testing.T) {
	list, err := plan.Create(side(t, three))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"C new[A B]->[]", "A new[]->[B C]", "B new[A]->[C]"}
	if diff := cmp.Diff(want, show(list)); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}

func TestUpdate(t *testing.T) {
	list, err := plan.Update(side(t, three), side(t, `
  D: {Type: Custom::T, DependsOn: C}
  C: {Type: Custom::T}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"D new[C]->[]", "C old[A B]->[] new[]->[D]", "A old[]->[B C]", "B old[A]->[C]"}
	if diff := cmp.Diff(want, show(list)); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}

func TestUpdateRefusesAnotherType(t *testing.T) {
	_, err := plan.Update(side(t, three), side(t, strings.ReplaceAll(three, "Custom::T}", "Custom::U}")))
	var types *plan.TypeError
	if !errors.As(err, &types) || cmp.Diff([]string{"A"}, types.Resources) != "" {
		t.Errorf("got %v", err)
	}
}

// TestDelete deletes after an unfinished update, when there may be instances of both sides. The first side's order
// applies, the second's applies to what only it declares, and the result has no cycle.
func TestDelete(t *testing.T) {
	first := side(t, "  A: {Type: Custom::T, DependsOn: B}\n  B: {Type: Custom::T}\n")
	second := side(t, "  B: {Type: Custom::T, DependsOn: A}\n  A: {Type: Custom::T}\n  N: {Type: Custom::T, DependsOn: [A, M]}\n  M: {Type: Custom::T}\n")
	list, err := plan.Delete([]plan.Side{first, second}, []string{"Left", "A"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"A old[B]->[N]", "B old[]->[A]", "N old[A M]->[]", "M old[]->[N]", "Left"}
	if diff := cmp.Diff(want, show(list)); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}

func TestDiffers(t *testing.T) {
	const base = `
Parameters: {P: {Type: String, Default: x}}
Conditions: {Is: !Equals [!Ref P, x]}
Resources:
  A: {Type: Custom::T, DependsOn: B, Properties: {K: !If [Is, 1, 2], L: [1, 2]}, Metadata: {M: 1}, DeletionPolicy: Delete}
  B: {Type: Custom::T}
  S: {Type: Custom::T, Condition: Is}
Outputs:
  O: {Value: !Ref A, Description: d}
`
	for _, test := range []struct {
		name, old, new string
		want           bool
	}{
		{"nothing", "", "", false},
		{"a property", "L: [1, 2]", "L: [2, 1]", true},
		{"its kind", "L: [1, 2]", "L: ['1', 2]", true},
		{"metadata", "M: 1", "M: 2", true},
		{"an output", "Value: !Ref A", "Value: !Ref B", true},
		{"an output's description", "Description: d", "Description: e", true},
		{"a condition's outcome", "[!Ref P, x]", "[!Ref P, y]", true},
		{"a resource less", "  B: {Type: Custom::T}", "  C: {Type: Custom::T}", true},
		{"a policy", "DeletionPolicy: Delete", "DeletionPolicy: Retain", false},
		{"DependsOn", "DependsOn: B, ", "", false},
		{"a condition's text", "!Equals [!Ref P, x]", "!Not [!Equals [!Ref P, y]]", false},
	} {
		changed := strings.Replace(base, test.old, test.new, 1)
		if test.name == "a resource less" {
			changed = strings.Replace(changed, "DependsOn: B, ", "", 1)
		}
		if got := plan.Differs(side(t, base), side(t, changed)); got != test.want {
			t.Errorf("%s: differs = %v, want %v", test.name, got, test.want)
		}
	}
	reordered := `{"Outputs": {"O": {"Description": "d", "Value": {"Ref": "A"}}}, "Conditions": {"Is": {"Fn::Equals": [{"Ref": "P"}, "x"]}},
		"Parameters": {"P": {"Default": "x", "Type": "String"}}, "Resources": {
		"S": {"Condition": "Is", "Type": "Custom::T"}, "B": {"Type": "Custom::T"},
		"A": {"Metadata": {"M": 1}, "Properties": {"L": [1, 2], "K": {"Fn::If": ["Is", 1, 2]}}, "DependsOn": ["B"], "Type": "Custom::T"}}}`
	if plan.Differs(side(t, base), side(t, reordered)) {
		t.Error("the same template in JSON and in another order differs")
	}
}
