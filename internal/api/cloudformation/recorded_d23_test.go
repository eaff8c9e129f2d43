package cloudformation_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

// TestRecordedD23 checks that GetTemplateSummary and ValidateTemplate describe SAM templates and name their transform.
// This server has no functions and does not expand them.
func TestRecordedD23(t *testing.T) {
	w := newWorld(t)
	body := `{"Transform": "AWS::Serverless-2016-10-31", "Description": "d", "Parameters": {"P": {"Type": "String", "Default": "v"}},
		"Globals": {"Function": {"Timeout": 3}}, "Resources": {"F": {"Type": "AWS::Serverless::Function", "Properties": {"Handler": "h"}}}}`
	want := []string{"AWS::Serverless-2016-10-31"}
	summary, err := w.client.GetTemplateSummary(t.Context(), &sdk.GetTemplateSummaryInput{TemplateBody: &body})
	w.must(err)
	if diff := cmp.Diff(want, summary.DeclaredTransforms); diff != "" || len(summary.Parameters) != 1 || *summary.Description != "d" {
		t.Errorf("summary %+v (-want +got):\n%s", summary, diff)
	}
	checked, err := w.client.ValidateTemplate(t.Context(), &sdk.ValidateTemplateInput{TemplateBody: &body})
	w.must(err)
	if diff := cmp.Diff(want, checked.DeclaredTransforms); diff != "" || len(checked.Parameters) != 1 || *checked.Description != "d" {
		t.Errorf("validation %+v (-want +got):\n%s", checked, diff)
	}
	const refused = errPrefix + "Template format error: this server does not expand the transform AWS::Serverless-2016-10-31. Start it with --run-functions"
	for call, got := range w.refusals(body) {
		if call != "UpdateStack" && !strings.HasPrefix(got, refused) {
			t.Errorf("%s: %s", call, got)
		}
	}
}

// TestServerlessTransformWithoutServerlessResources checks the template of the SAM CLI's own bucket, which declares the
// transform without using it.
func TestServerlessTransformWithoutServerlessResources(t *testing.T) {
	w, ctx, name := newWorld(t), t.Context(), aws.String("managed")
	body := aws.String(`{"Transform": "AWS::Serverless-2016-10-31", "Resources": {"C": ` + resource(`"K": "1"`) + `}}`)
	made, err := w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
		StackName: name, ChangeSetName: aws.String("set"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: body,
		Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand},
	})
	w.must(err)
	_, err = w.client.ExecuteChangeSet(ctx, &sdk.ExecuteChangeSetInput{ChangeSetName: made.Id})
	w.must(err)
	w.provide(succeeds)
	if got := w.status("managed"); got != types.StackStatusCreateComplete {
		t.Errorf("the stack is %s", got)
	}
	summary, err := w.client.GetTemplateSummary(ctx, &sdk.GetTemplateSummaryInput{StackName: name})
	w.must(err)
	if diff := cmp.Diff([]string{"AWS::Serverless-2016-10-31"}, summary.DeclaredTransforms); diff != "" {
		t.Errorf("declared transforms (-want +got):\n%s", diff)
	}
}
