package cloudformation_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

// TestHooks deploys a template with a hook, as CodeDeploy's blue/green deployments declare it. No hook is registered,
// so the template is deployed as if it had none, and its change set lists no hooks.
func TestHooks(t *testing.T) {
	w, ctx, name := newWorld(t), t.Context(), aws.String("s")
	body := `{"Transform": ["AWS::CodeDeployBlueGreen"], "Hooks": {"BlueGreen": {"Type": "AWS::CodeDeploy::BlueGreen", "Properties":
		{"TrafficRoutingConfig": {"Type": "AllAtOnce"}, "Applications": [{"Target": {"Type": "AWS::ECS::Service", "LogicalID": "R"}}]}}},
		"Resources": {"R": ` + resource("") + `}}`
	checked, err := w.client.ValidateTemplate(ctx, &sdk.ValidateTemplateInput{TemplateBody: &body})
	w.must(err)
	if diff := cmp.Diff([]string{"AWS::CodeDeployBlueGreen"}, checked.DeclaredTransforms); diff != "" {
		t.Errorf("declared transforms (-want +got):\n%s", diff)
	}
	set, err := w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
		StackName: name, ChangeSetName: aws.String("c"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: &body,
		Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand},
	})
	w.must(err)
	hooks, err := w.client.DescribeChangeSetHooks(ctx, &sdk.DescribeChangeSetHooksInput{ChangeSetName: set.Id})
	w.must(err)
	if hooks.Status != types.ChangeSetHooksStatusPlanned || len(hooks.Hooks) > 0 {
		t.Errorf("hooks %+v", hooks)
	}
	_, err = w.client.ExecuteChangeSet(ctx, &sdk.ExecuteChangeSetInput{ChangeSetName: set.Id})
	w.must(err)
	w.provide(succeeds)
	if got := w.status("s"); got != types.StackStatusCreateComplete {
		t.Errorf("the stack is %s", got)
	}
	template, err := w.client.GetTemplate(ctx, &sdk.GetTemplateInput{StackName: name})
	w.must(err)
	if *template.TemplateBody != body {
		t.Errorf("the template is %s", *template.TemplateBody)
	}
}
