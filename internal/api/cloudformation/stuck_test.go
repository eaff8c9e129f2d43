package cloudformation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

const (
	succeeds = `"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`
	fails    = `"Status": "FAILED", "PhysicalResourceId": "id-of-%s", "Reason": "stuck"`
)

// answerOnce answers the pending requests, but not the ones that follow.
func (w *world) answerOnce(members string) {
	w.t.Helper()
	for _, r := range w.take() {
		w.answer(r, members)
	}
}

// status returns a stack's status from DescribeStacks.
func (w *world) status(name string) types.StackStatus {
	w.t.Helper()
	out, err := w.client.DescribeStacks(w.t.Context(), &sdk.DescribeStacksInput{StackName: &name})
	w.must(err)
	return out.Stacks[0].StackStatus
}

// since returns the events after the first skip ones, oldest first, without request IDs.
func (w *world) since(skip int, name string) []string {
	w.t.Helper()
	out, err := w.client.DescribeStackEvents(w.t.Context(), &sdk.DescribeStackEventsInput{StackName: &name})
	w.must(err)
	var lines []string
	for _, e := range slices.Backward(out.StackEvents) {
		line := fmt.Sprintf("%s %s", *e.LogicalResourceId, e.ResourceStatus)
		if reason := aws.ToString(e.ResourceStatusReason); len(reason) > 0 && *e.ResourceType == "AWS::CloudFormation::Stack" {
			line += fmt.Sprintf(" %q", reason)
		}
		lines = append(lines, line)
	}
	return lines[skip:]
}

// TestDeleteOfAStuckStack deletes a stack while retaining a resource, and force-deletes another stack.
func TestDeleteOfAStuckStack(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		in     sdk.DeleteStackInput
		events []string
	}{
		"retained": {sdk.DeleteStackInput{RetainResources: []string{"R"}}, []string{
			`retained DELETE_IN_PROGRESS "User Initiated"`, `R DELETE_SKIPPED`, `retained DELETE_COMPLETE`}},
		"forced": {sdk.DeleteStackInput{DeletionMode: types.DeletionModeForceDeleteStack}, []string{
			`forced DELETE_IN_PROGRESS "User Initiated"`, `R DELETE_IN_PROGRESS`, `R DELETE_FAILED`, `R DELETE_SKIPPED`,
			`forced DELETE_COMPLETE`}},
	} {
		id := w.create(&sdk.CreateStackInput{StackName: &name, TemplateBody: &fixed})
		_, err := w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: &name})
		w.must(err)
		w.answerOnce(fails)
		if got := w.status(id); got != types.StackStatusDeleteFailed {
			t.Fatalf("%s: %s", name, got)
		}
		n := len(w.since(0, id))
		test.in.StackName = &name
		_, err = w.client.DeleteStack(t.Context(), &test.in)
		w.must(err)
		w.answerOnce(fails)
		if diff := cmp.Diff(test.events, w.since(n, id)); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
		resource, err := w.client.DescribeStackResource(t.Context(), &sdk.DescribeStackResourceInput{StackName: &id, LogicalResourceId: str("R")})
		w.must(err)
		if got := resource.StackResourceDetail.ResourceStatus; got != types.ResourceStatusDeleteSkipped {
			t.Errorf("%s: R is shown as %s", name, got)
		}
	}
}

// updatable returns a template of one resource with a property to change.
func updatable(v string) *string {
	return str(`{"Resources": {"R": ` + resource(`"V": "`+v+`"`) + `}}`)
}

// TestContinueUpdateRollback is transcript H with the SDK's client: a retry, a skip, and a forced one.
func TestContinueUpdateRollback(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		in     sdk.ContinueUpdateRollbackInput
		called []string
	}{
		"again":   {sdk.ContinueUpdateRollbackInput{}, []string{`R UPDATE_IN_PROGRESS`}},
		"skipped": {sdk.ContinueUpdateRollbackInput{ResourcesToSkip: []string{"R"}}, nil},
		"forced":  {sdk.ContinueUpdateRollbackInput{ForceRollback: new(true)}, nil},
	} {
		w.create(&sdk.CreateStackInput{StackName: &name, TemplateBody: updatable("1")})
		_, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: &name, TemplateBody: updatable("2")})
		w.must(err)
		w.answerOnce(fails)
		w.answerOnce(fails)
		if got := w.status(name); got != types.StackStatusUpdateRollbackFailed {
			t.Fatalf("%s: %s", name, got)
		}
		n := len(w.since(0, name))
		test.in.StackName, test.in.ClientRequestToken = &name, str("t")
		_, err = w.client.ContinueUpdateRollback(t.Context(), &test.in)
		w.must(err)
		w.provide(succeeds)
		want := slices.Concat([]string{name + ` UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`}, test.called, []string{
			`R UPDATE_COMPLETE`, name + ` UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, name + ` UPDATE_ROLLBACK_COMPLETE`,
		})
		if diff := cmp.Diff(want, w.since(n, name)); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
	if _, body := w.post("Action=ContinueUpdateRollback&ClientRequestToken=t&StackName=again"); !strings.Contains(body, "<ContinueUpdateRollbackResult/>") &&
		!strings.Contains(body, "<ContinueUpdateRollbackResult></ContinueUpdateRollbackResult>") {
		t.Errorf("no empty result: %s", body)
	}
}

// TestCancelUpdateStack cancels an update whose provider has not answered yet.
func TestCancelUpdateStack(t *testing.T) {
	w := newWorld(t)
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: updatable("1")})
	_, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("s"), TemplateBody: updatable("2")})
	w.must(err)
	n := len(w.since(0, "s"))
	_, err = w.client.CancelUpdateStack(t.Context(), &sdk.CancelUpdateStackInput{StackName: str("s"), ClientRequestToken: str("t")})
	w.must(err)
	if status, body := w.post("Action=CancelUpdateStack&ClientRequestToken=t&StackName=s"); status != 200 || strings.Contains(body, "Result") {
		t.Errorf("the same request once more, which has no result: %d %s", status, body)
	}
	w.provide(succeeds)
	want := []string{
		`R UPDATE_FAILED`, `s UPDATE_ROLLBACK_IN_PROGRESS "Stack update cancelled"`, `R UPDATE_IN_PROGRESS`, `R UPDATE_COMPLETE`,
		`s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `s UPDATE_ROLLBACK_COMPLETE`,
	}
	if diff := cmp.Diff(want, w.since(n, "s")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestOnFailureDelete follows a stack that is deleted because it cannot be created.
func TestOnFailureDelete(t *testing.T) {
	w := newWorld(t)
	out, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{
		StackName: str("s"), TemplateBody: &fixed, OnFailure: types.OnFailureDelete,
	})
	w.must(err)
	w.answerOnce(fails)
	w.provide(succeeds)
	want := []string{
		`s CREATE_IN_PROGRESS "User Initiated"`, `R CREATE_IN_PROGRESS`, `R CREATE_FAILED`,
		`s DELETE_IN_PROGRESS "The following resource(s) failed to create: [R]. Delete requested by user."`,
		`R DELETE_IN_PROGRESS`, `R DELETE_COMPLETE`, `s DELETE_COMPLETE`,
	}
	if diff := cmp.Diff(want, w.since(0, *out.StackId)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestRollbackStack rolls back a failed create and a failed update.
func TestRollbackStack(t *testing.T) {
	w := newWorld(t)
	retained := str(`{"Resources": {"R": ` + resource("", `"DeletionPolicy": "Retain"`) + `}}`)
	_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("c"), TemplateBody: retained, OnFailure: types.OnFailureDoNothing})
	w.must(err)
	w.answerOnce(fails)
	w.create(&sdk.CreateStackInput{StackName: str("u"), TemplateBody: updatable("1")})
	_, err = w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("u"), TemplateBody: updatable("2"), DisableRollback: new(true)})
	w.must(err)
	w.answerOnce(fails)
	for name, test := range map[string]struct {
		from   types.StackStatus
		events []string
	}{
		"c": {types.StackStatusCreateFailed, []string{
			`c ROLLBACK_IN_PROGRESS "User Initiated"`, `R DELETE_IN_PROGRESS`, `R DELETE_COMPLETE`, `c ROLLBACK_COMPLETE`}},
		"u": {types.StackStatusUpdateFailed, []string{
			`u UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`, `R UPDATE_IN_PROGRESS`, `R UPDATE_COMPLETE`,
			`u UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `u UPDATE_ROLLBACK_COMPLETE`}},
	} {
		if got := w.status(name); got != test.from {
			t.Fatalf("%s: %s", name, got)
		}
		n := len(w.since(0, name))
		out, err := w.client.RollbackStack(t.Context(), &sdk.RollbackStackInput{StackName: &name, RetainExceptOnCreate: new(true)})
		w.must(err)
		if !strings.HasPrefix(aws.ToString(out.StackId), "arn:") || aws.ToString(out.OperationId) == "" {
			t.Errorf("%s: stack %q, operation %q", name, aws.ToString(out.StackId), aws.ToString(out.OperationId))
		}
		w.provide(succeeds)
		if diff := cmp.Diff(test.events, w.since(n, name)); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
}
