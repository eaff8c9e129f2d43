package cloudformation_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// TestRecordedD3 checks that a template whose functions of parameters and mappings cannot be evaluated is refused at
// the call, before a stack exists, with AWS's text. FindInMap was recorded on 2023-06-12.
func TestRecordedD3(t *testing.T) {
	w := newWorld(t)
	w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
	of := func(property, output string) string {
		return `{"Mappings": {"M": {"a": {"k": "v"}}}, "Parameters": {"Key": {"Type": "String", "Default": "zz"},
			"At": {"Type": "Number", "Default": "3"}, "L": {"Type": "CommaDelimitedList", "Default": "a,b"}},
			"Conditions": {"No": {"Fn::Equals": ["a", "b"]}},
			"Resources": {"R": ` + resource(`"P": `+property) + `}, "Outputs": {"O": {"Value": ` + output + `}}}`
	}
	const missing = "Template error: Unable to get mapping for M::zz::k"
	const index = "Template error: Fn::Select requires a list argument with two elements: an integer index and a list"
	const lookup = `{"Fn::FindInMap": ["M", {"Ref": "Key"}, "k"]}`
	for _, test := range []struct{ name, body, want string }{
		{"a key that is not in the mapping", of(lookup, `"o"`), missing},
		{"the same in an output", of(`"p"`, lookup), missing},
		{"the same deep in a property", of(`[{"A": {"Fn::Join": ["-", ["a", `+lookup+`]]}}]`, `"o"`), missing},
		{"an index beyond a parameter's list", of(`{"Fn::Select": [{"Ref": "At"}, {"Ref": "L"}]}`, `"o"`), index},
		{"an index beyond a literal list", of(`{"Fn::Select": [2, ["a", "b"]]}`, `"o"`), index},
		{"a negative index", of(`"p"`, `{"Fn::Select": ["-1", {"Ref": "L"}]}`), index},
	} {
		for call, got := range w.refusals(test.body) {
			if got != errPrefix+test.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", test.name, call, got, errPrefix+test.want)
			}
		}
	}
	stacks, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{})
	w.must(err)
	if len(stacks.Stacks) != 1 {
		t.Errorf("refused calls left %d stacks, want the one that was there", len(stacks.Stacks))
	}
	// The branch that is not selected, and functions that depend on a resource, are not evaluated.
	body := of(`{"Fn::If": ["No", `+lookup+`, "p"]}`, `{"Fn::Select": [9, {"Fn::Split": [",", {"Ref": "R"}]}]}`)
	_, err = w.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("open"), TemplateBody: &body})
	w.must(err)
}
