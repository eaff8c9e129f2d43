package cloudformation_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// TestCDKDeploys makes the same calls as the CDK's CLI, in the same order and with the same checks of responses.
func TestCDKDeploys(t *testing.T) {
	w := newWorld(t)
	const stack = "App"
	template := func(k string) string { return `{"Resources": {"R": ` + resource(`"K": "`+k+`"`) + `}}` }
	succeed := `"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`
	fail := `"Status": "FAILED", "PhysicalResourceId": "id-of-%s", "Reason": "no"`
	for run, test := range []struct {
		name   string
		before func(c *cdk) // changes to the stack before the run
		k      string
		answer string
		want   []string // the displayed statuses, oldest first
	}{
		{"the first", nil, "1", succeed, []string{
			"App CREATE_IN_PROGRESS", "R CREATE_IN_PROGRESS", "R CREATE_IN_PROGRESS", "R CREATE_COMPLETE", "App CREATE_COMPLETE",
		}},
		{"the same", nil, "1", succeed, nil},
		{"another", nil, "2", succeed, []string{
			"App UPDATE_IN_PROGRESS", "R UPDATE_IN_PROGRESS", "R UPDATE_COMPLETE", "App UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "App UPDATE_COMPLETE",
		}},
		{"one that was planned and not executed", func(c *cdk) { c.plan(template("planned")) }, "3", succeed, []string{
			"App UPDATE_IN_PROGRESS", "R UPDATE_IN_PROGRESS", "R UPDATE_COMPLETE", "App UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "App UPDATE_COMPLETE",
		}},
		{"one that fails", nil, "4", fail, []string{
			"App UPDATE_IN_PROGRESS", "R UPDATE_IN_PROGRESS", "R UPDATE_FAILED", "App UPDATE_ROLLBACK_IN_PROGRESS", "R UPDATE_IN_PROGRESS",
			"R UPDATE_FAILED", "App UPDATE_ROLLBACK_FAILED",
		}},
		{"a stack that was planned and not executed", func(c *cdk) {
			c.destroy()
			c.plan(template("planned"))
		}, "5", succeed, []string{
			"App CREATE_IN_PROGRESS", "R CREATE_IN_PROGRESS", "R CREATE_IN_PROGRESS", "R CREATE_COMPLETE", "App CREATE_COMPLETE",
		}},
		{"a stack whose creation fails", (*cdk).destroy, "6", fail, []string{
			"App CREATE_IN_PROGRESS", "R CREATE_IN_PROGRESS", "R CREATE_FAILED", "App ROLLBACK_IN_PROGRESS", "R DELETE_IN_PROGRESS",
			"R DELETE_FAILED", "App ROLLBACK_FAILED",
		}},
		{"one instead of it", nil, "7", succeed, []string{
			"App CREATE_IN_PROGRESS", "R CREATE_IN_PROGRESS", "R CREATE_IN_PROGRESS", "R CREATE_COMPLETE", "App CREATE_COMPLETE",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.t = t
			c := &cdk{world: w, stack: stack, run: run}
			if test.before != nil {
				test.before(c)
			}
			if diff := cmp.Diff(test.want, c.deploy(template(test.k), test.answer)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// cdk is a client that behaves like the CDK's CLI.
type cdk struct {
	*world
	stack string
	run   int // of the CLI
}

const cdkChangeSet = "cdk-deploy-change-set"

// lookup returns the stack, or nil if the error tells the CLI that the stack does not exist.
func (c *cdk) lookup() *types.Stack {
	c.t.Helper()
	out, err := c.client.DescribeStacks(c.t.Context(), &sdk.DescribeStacksInput{StackName: &c.stack})
	if fault, ok := errors.AsType[smithy.APIError](err); ok && fault.ErrorCode() == "ValidationError" &&
		fault.ErrorMessage() == "Stack with id "+c.stack+" does not exist" {
		return nil
	}
	c.must(err)
	return &out.Stacks[0]
}

// destroy deletes the stack by its ID and waits until it is deleted.
func (c *cdk) destroy() {
	c.t.Helper()
	stack := c.lookup()
	_, err := c.client.DeleteStack(c.t.Context(), &sdk.DeleteStackInput{StackName: stack.StackId, DeploymentConfig: &types.DeploymentConfig{Mode: "STANDARD"}})
	c.must(err)
	c.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
	if c.lookup() != nil {
		c.t.Fatal("the stack is still there")
	}
}

// plan deletes an existing change set with the name, creates a new one, and waits until it is ready.
func (c *cdk) plan(template string) *sdk.DescribeChangeSetOutput {
	c.t.Helper()
	ctx, kind := c.t.Context(), types.ChangeSetTypeCreate
	set := &sdk.DescribeChangeSetInput{StackName: &c.stack, ChangeSetName: str(cdkChangeSet)}
	if stack := c.lookup(); stack != nil {
		_, err := c.client.DeleteChangeSet(ctx, &sdk.DeleteChangeSetInput{StackName: &c.stack, ChangeSetName: str(cdkChangeSet)})
		c.must(err)
		if _, err = c.client.DescribeChangeSet(ctx, set); !isChangeSetNotFound(err) {
			c.t.Fatalf("a change set that was deleted: %v", err)
		}
		if stack.StackStatus != types.StackStatusReviewInProgress {
			kind = types.ChangeSetTypeUpdate
		}
	}
	_, err := c.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
		StackName: &c.stack, ChangeSetName: str(cdkChangeSet), ChangeSetType: kind, TemplateBody: &template,
		ClientToken: str("create6f8a4f0e-3c39-4d0c-9a39-0d3f5b8c6a55"), Description: str("CDK Changeset for execution 6f8a4f0e-3c39-4d0c-9a39-0d3f5b8c6a55"),
		IncludeNestedStacks: aws.Bool(true), DeploymentConfig: &types.DeploymentConfig{Mode: "STANDARD"},
		ImportExistingResources: aws.Bool(true), // as in cdk bootstrap, and in cdk deploy with the flag of that name
		Capabilities:            []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityNamedIam, types.CapabilityCapabilityAutoExpand},
	})
	c.must(err)
	planned, err := c.client.DescribeChangeSet(ctx, set)
	c.must(err)
	if planned.Status == types.ChangeSetStatusCreatePending || planned.Status == types.ChangeSetStatusCreateInProgress {
		c.t.Fatalf("the CLI would wait: %s", planned.Status)
	}
	return planned
}

func isChangeSetNotFound(err error) bool {
	_, ok := errors.AsType[*types.ChangeSetNotFoundException](err)
	return ok
}

// deploy updates the stack to a template, and returns the events that the CLI shows, or nothing if the template has no
// changes. answer is the provider's answer.
func (c *cdk) deploy(template, answer string) []string {
	c.t.Helper()
	ctx := c.t.Context()
	stack := c.lookup()
	if stack != nil && slices.Contains([]types.StackStatus{types.StackStatusRollbackComplete, types.StackStatusRollbackFailed}, stack.StackStatus) {
		c.destroy()
		stack = nil
	}
	if stack != nil {
		text, err := c.client.GetTemplate(ctx, &sdk.GetTemplateInput{StackName: stack.StackId, TemplateStage: types.TemplateStageOriginal})
		c.must(err)
		if *text.TemplateBody == template {
			// The CLI skips this, unless it has --force or other tags.
			planned := c.plan(template)
			if planned.Status != types.ChangeSetStatusFailed || !strings.HasPrefix(*planned.StatusReason, "The submitted information didn't contain changes.") {
				c.t.Errorf("nothing to do: %s %s", planned.Status, aws.ToString(planned.StatusReason))
			}
			_, err = c.client.DeleteChangeSet(ctx, &sdk.DeleteChangeSetInput{StackName: &c.stack, ChangeSetName: planned.ChangeSetId})
			c.must(err)
			return nil
		}
	}
	seen := map[string]bool{} // the CLI starts at the time of the execution
	if stack != nil {
		c.events(*stack.StackId, seen)
	}
	planned := c.plan(template)
	if planned.Status != types.ChangeSetStatusCreateComplete {
		c.t.Fatalf("planned: %s %s", planned.Status, aws.ToString(planned.StatusReason))
	}
	c.events(*planned.StackId, seen) // REVIEW_IN_PROGRESS
	_, err := c.client.ExecuteChangeSet(ctx, &sdk.ExecuteChangeSetInput{
		StackName: &c.stack, ChangeSetName: str(cdkChangeSet), ClientRequestToken: str(fmt.Sprintf("exec6f8a4f0e-3c39-4d0c-9a39-%012d", c.run)),
	})
	c.must(err)
	shown := c.events(*planned.StackId, seen)
	c.provide(answer)
	shown = append(shown, c.events(*planned.StackId, seen)...)
	if c.lookup() == nil {
		c.t.Error("the stack is gone")
	}
	return shown
}

// events returns the new events, oldest first.
func (c *cdk) events(stack string, seen map[string]bool) []string {
	c.t.Helper()
	out, err := c.client.DescribeStackEvents(c.t.Context(), &sdk.DescribeStackEventsInput{StackName: &stack})
	c.must(err)
	var lines []string
	for _, e := range slices.Backward(out.StackEvents) {
		if !seen[*e.EventId] {
			seen[*e.EventId] = true
			lines = append(lines, *e.LogicalResourceId+" "+string(e.ResourceStatus))
		}
	}
	return lines
}
