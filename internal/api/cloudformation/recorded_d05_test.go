package cloudformation_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

func thing(property string) *string {
	return aws.String(`{"Resources": {"C": ` + resource(property) + `}}`)
}

// described returns a stack as in DescribeStacks.
func (w *world) described(name *string) types.Stack {
	w.t.Helper()
	out, err := w.client.DescribeStacks(w.t.Context(), &sdk.DescribeStacksInput{StackName: name})
	w.must(err)
	return out.Stacks[0]
}

// TestRecordedD5 checks that updates without capabilities keep those of the stack, that a direct update or a rollback
// clears ChangeSetId, and that a stack in ROLLBACK_COMPLETE has a DeletionTime.
func TestRecordedD5(t *testing.T) {
	w, ctx, name := newWorld(t), t.Context(), aws.String("stack")
	w.create(&sdk.CreateStackInput{StackName: name, TemplateBody: thing(`"K": "1"`), Capabilities: []types.Capability{types.CapabilityCapabilityIam}})
	executed := func(template *string) string {
		made, err := w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{StackName: name, ChangeSetName: aws.String("set"), TemplateBody: template})
		w.must(err)
		_, err = w.client.ExecuteChangeSet(ctx, &sdk.ExecuteChangeSetInput{ChangeSetName: made.Id})
		w.must(err)
		return *made.Id
	}
	set := executed(thing(`"K": "2"`))
	w.provide(succeeds)
	if got := w.described(name); aws.ToString(got.ChangeSetId) != set {
		t.Errorf("after its execution the change set is %q, want %q", aws.ToString(got.ChangeSetId), set)
	}
	_, err := w.client.UpdateStack(ctx, &sdk.UpdateStackInput{StackName: name, TemplateBody: thing(`"K": "3"`)})
	w.must(err)
	w.provide(succeeds)
	got := w.described(name)
	if got.ChangeSetId != nil || len(got.Capabilities) != 1 || got.DeletionTime != nil {
		t.Errorf("after a direct update: change set %v, capabilities %v, deleted %v", got.ChangeSetId, got.Capabilities, got.DeletionTime)
	}
	executed(thing(`"K": "4"`))
	w.answerOnce(fails)
	w.provide(succeeds)
	if got := w.described(name); got.StackStatus != types.StackStatusUpdateRollbackComplete || got.ChangeSetId != nil || got.DeletionTime != nil {
		t.Errorf("after a rollback: %s, change set %v, deleted %v", got.StackStatus, got.ChangeSetId, got.DeletionTime)
	}
	name = aws.String("failed")
	_, err = w.client.CreateStack(ctx, &sdk.CreateStackInput{StackName: name, TemplateBody: thing("")})
	w.must(err)
	w.answerOnce(fails)
	w.provide(succeeds)
	if got := w.described(name); got.StackStatus != types.StackStatusRollbackComplete || got.DeletionTime == nil {
		t.Errorf("after a create that failed: %s, deleted %v", got.StackStatus, got.DeletionTime)
	}
}

// TestRecordedD10 checks that {} clears a stack policy, that StackPolicyURL is fetched, and that GetStackPolicy returns
// the policy of a running update.
func TestRecordedD10(t *testing.T) {
	const allows = `{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"}]}`
	denies := strings.Replace(allows, "Allow", "Deny", 1)
	policies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, denies)
	}))
	t.Cleanup(policies.Close)
	w, ctx, name := newWorld(t), t.Context(), aws.String("stack")
	policy := func() string {
		out, err := w.client.GetStackPolicy(ctx, &sdk.GetStackPolicyInput{StackName: name})
		w.must(err)
		return aws.ToString(out.StackPolicyBody)
	}
	w.create(&sdk.CreateStackInput{StackName: name, TemplateBody: thing(`"K": "1"`), StackPolicyURL: aws.String(policies.URL + "/policy")})
	if got := policy(); got != denies {
		t.Errorf("the policy behind the URL was not taken: %q", got)
	}
	_, err := w.client.UpdateStack(ctx, &sdk.UpdateStackInput{
		StackName: name, TemplateBody: thing(`"K": "2"`), StackPolicyDuringUpdateBody: aws.String(allows),
	})
	w.must(err)
	if got := policy(); got != allows {
		t.Errorf("while the update runs the policy is %q", got)
	}
	w.provide(succeeds)
	if got := policy(); got != denies {
		t.Errorf("after the update the policy is %q", got)
	}
	_, err = w.client.SetStackPolicy(ctx, &sdk.SetStackPolicyInput{StackName: name, StackPolicyBody: aws.String("{}")})
	w.must(err)
	_, err = w.client.UpdateStack(ctx, &sdk.UpdateStackInput{StackName: name, TemplateBody: thing(`"K": "3"`)})
	w.must(err)
	w.provide(succeeds)
	if got := w.described(name); got.StackStatus != types.StackStatusUpdateComplete {
		t.Errorf("with a policy that was cleared the stack is %s", got.StackStatus)
	}
	refused := w.refusal("Action=SetStackPolicy&StackName=stack&StackPolicyURL=" + escape(policies.URL+"/none"))
	if !strings.Contains(refused, "400 ValidationError: StackPolicyURL") || !strings.Contains(refused, "404") {
		t.Errorf("a URL with nothing behind it: %s", refused)
	}
	refused = w.refusal("Action=SetStackPolicy&StackName=stack&StackPolicyBody=" + escape(`{"Statement": 1}`))
	if !strings.HasPrefix(refused, "400 ValidationError: Error validating stack policy: Invalid stack policy") || strings.Contains(refused, "Go ") {
		t.Errorf("an invalid policy: %s", refused)
	}
}

// TestRollbackConfiguration checks that a RollbackConfiguration is stored and shown, also in a change set, until it is
// replaced.
func TestRollbackConfiguration(t *testing.T) {
	w, ctx, name := newWorld(t), t.Context(), aws.String("stack")
	shown := func(c *types.RollbackConfiguration) string {
		text := fmt.Sprint(aws.ToInt32(c.MonitoringTimeInMinutes))
		for _, trigger := range c.RollbackTriggers {
			text += " " + *trigger.Arn + " " + *trigger.Type
		}
		return text
	}
	w.create(&sdk.CreateStackInput{StackName: name, TemplateBody: thing(`"K": "1"`), RollbackConfiguration: &types.RollbackConfiguration{
		MonitoringTimeInMinutes: aws.Int32(5),
		RollbackTriggers:        []types.RollbackTrigger{{Arn: aws.String("arn:a"), Type: aws.String("AWS::CloudWatch::Alarm")}},
	}})
	const given = "5 arn:a AWS::CloudWatch::Alarm"
	if got := shown(w.described(name).RollbackConfiguration); got != given {
		t.Errorf("the stack has %s", got)
	}
	_, err := w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{StackName: name, ChangeSetName: aws.String("kept"), TemplateBody: thing(`"K": "2"`)})
	w.must(err)
	set, err := w.client.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{StackName: name, ChangeSetName: aws.String("kept")})
	w.must(err)
	if got := shown(set.RollbackConfiguration); got != given {
		t.Errorf("the change set has %s", got)
	}
	_, err = w.client.UpdateStack(ctx, &sdk.UpdateStackInput{
		StackName: name, UsePreviousTemplate: aws.Bool(true),
		RollbackConfiguration: &types.RollbackConfiguration{RollbackTriggers: []types.RollbackTrigger{}, MonitoringTimeInMinutes: aws.Int32(7)},
	})
	w.must(err)
	if got := shown(w.described(name).RollbackConfiguration); got != "7" {
		t.Errorf("after an update that takes the triggers away it is %s", got)
	}
}
