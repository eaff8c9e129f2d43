package cloudformation_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestRecordedD4 checks that Fn::If selects a DeletionPolicy and an UpdateReplacePolicy without a transform. Recorded
// on 2026-01-23.
func TestRecordedD4(t *testing.T) {
	const keep = `{"Fn::If": ["Keep", "Retain", "Delete"]}`
	policies := func(deletion, replace string) string {
		return `{"Parameters": {"Keep": {"Type": "String"}}, "Conditions": {"Keep": {"Fn::Equals": [{"Ref": "Keep"}, "yes"]}},
			"Resources": {"R": ` + resource("", `"DeletionPolicy": `+deletion, `"UpdateReplacePolicy": `+replace) + `}}`
	}
	for keeps, want := range map[string]types.ResourceStatus{"yes": types.ResourceStatusDeleteSkipped, "no": types.ResourceStatusDeleteComplete} {
		t.Run(keeps, func(t *testing.T) {
			w := newWorld(t)
			body := policies(keep, keep)
			id := w.create(&sdk.CreateStackInput{
				StackName: str("s"), TemplateBody: &body, Parameters: []types.Parameter{{ParameterKey: str("Keep"), ParameterValue: &keeps}},
			})
			_, err := w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: &id})
			w.must(err)
			w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
			resources, err := w.client.DescribeStackResources(t.Context(), &sdk.DescribeStackResourcesInput{StackName: &id})
			w.must(err)
			if got := resources.StackResources[0].ResourceStatus; got != want {
				t.Errorf("the resource is %s, want %s", got, want)
			}
		})
	}
	w := newWorld(t)
	w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
	for _, test := range []struct{ name, body, want string }{
		{"a policy that does not exist", policies(`{"Fn::If": ["Keep", "Keep", "Delete"]}`, keep),
			"Template format error: Unrecognized DeletionPolicy Keep for resource R"},
		{"a condition that does not exist", policies(keep, `{"Fn::If": ["No", "Retain", "Delete"]}`),
			"Template error: unresolved condition dependency No in Fn::If"},
		{"another function", policies(`{"Ref": "Keep"}`, keep),
			"Template format error: [/Resources/R/DeletionPolicy] Every DeletionPolicy member must be a string."},
		{"two branches", policies(`{"Fn::If": ["Keep", "Retain"]}`, keep), "Template error: Fn::If requires a list argument with three elements"},
	} {
		for call, got := range w.refusals(test.body) {
			if got != errPrefix+test.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", test.name, call, got, test.want)
			}
		}
	}
	if got := w.refusal("Action=ValidateTemplate&TemplateBody=" + escape(policies(`{"Fn::If": ["Keep", "Retain", {"Ref": "AWS::NoValue"}]}`, keep))); !strings.HasPrefix(got, "200 ") {
		t.Errorf("no policy in a branch: %s", got)
	}
}
