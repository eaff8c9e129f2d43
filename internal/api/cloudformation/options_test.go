package cloudformation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// TestDeploymentConfig checks which failures are rolled back.
func TestDeploymentConfig(t *testing.T) {
	express, standard := types.DeploymentConfigModeExpress, types.DeploymentConfigModeStandard
	w := newWorld(t)
	for name, test := range map[string]struct {
		in   sdk.CreateStackInput
		left bool
	}{
		"standard":        {sdk.CreateStackInput{DeploymentConfig: &types.DeploymentConfig{Mode: standard}}, false},
		"standard-left":   {sdk.CreateStackInput{DeploymentConfig: &types.DeploymentConfig{Mode: standard, DisableRollback: new(true)}}, true},
		"express":         {sdk.CreateStackInput{DeploymentConfig: &types.DeploymentConfig{Mode: express}}, true},
		"express-rolled":  {sdk.CreateStackInput{DeploymentConfig: &types.DeploymentConfig{Mode: express, DisableRollback: new(false)}}, false},
		"express-member":  {sdk.CreateStackInput{DeploymentConfig: &types.DeploymentConfig{Mode: express}, DisableRollback: new(false)}, false},
		"express-failure": {sdk.CreateStackInput{DeploymentConfig: &types.DeploymentConfig{Mode: express}, OnFailure: types.OnFailureRollback}, false},
		"agreed":          {sdk.CreateStackInput{DeploymentConfig: &types.DeploymentConfig{DisableRollback: new(true)}, DisableRollback: new(true)}, true},
	} {
		test.in.StackName, test.in.TemplateBody = &name, &fixed
		_, err := w.client.CreateStack(t.Context(), &test.in)
		w.must(err)
		w.answerOnce(fails)
		w.provide(succeeds)
		want := types.StackStatusRollbackComplete
		if test.left {
			want = types.StackStatusCreateFailed
		}
		if got := w.status(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		// Deletes and rollbacks are the same in both modes.
		if test.left {
			_, err := w.client.RollbackStack(t.Context(), &sdk.RollbackStackInput{StackName: &name, DeploymentConfig: test.in.DeploymentConfig})
			w.must(err)
			w.provide(succeeds)
		}
		_, err = w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: &name, DeploymentConfig: test.in.DeploymentConfig})
		w.must(err)
		w.provide(succeeds)
	}
}

// TestResourceTypes checks which types a list allows. TestMessages checks the rejected ones.
func TestResourceTypes(t *testing.T) {
	w := newWorld(t)
	plain := strings.ReplaceAll(fixed, "Custom::Thing", "AWS::CloudFormation::CustomResource")
	for i, test := range []struct {
		template string
		types    []string
	}{
		{fixed, []string{"Custom::Thing"}}, {fixed, []string{"AWS::*", "Custom::*"}}, {fixed, []string{}}, {fixed, []string{"*"}},
		{plain, []string{"Custom::*"}}, {plain, []string{"AWS::CloudFormation::*"}},
	} {
		_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{
			StackName: str(fmt.Sprint("s", i)), TemplateBody: &test.template, ResourceTypes: test.types,
		})
		if err != nil {
			t.Errorf("%v: %v", test.types, err)
		}
	}
	_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("no"), TemplateBody: &plain, ResourceTypes: []string{"Custom::T*"}})
	if code(err) != "ValidationError" {
		t.Errorf("a type that is not on the list: %v", err)
	}
}

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// TestTokens repeats requests with their tokens, immediately and after other requests. Only the first one starts an
// operation, and each repetition returns its result.
func TestTokens(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	sized := func(n int) *string {
		return str(fmt.Sprintf(`{"Resources": {"R": %s}}`, resource(fmt.Sprintf(`"N": %d`, n))))
	}
	stack, create := str("s"), str("create")
	events := func() int {
		t.Helper()
		return len(w.since(0, "s"))
	}
	// again makes a request twice, answers for the provider after the first time, and returns the operation.
	again := func(name string, call func() (*string, error)) *string {
		t.Helper()
		first, err := call()
		w.must(err)
		during, err := call()
		if err != nil || aws.ToString(during) != aws.ToString(first) {
			t.Errorf("%s while it runs: %v, operation %s, want %s", name, err, aws.ToString(during), aws.ToString(first))
		}
		w.provide(succeeds)
		n := events()
		after, err := call()
		if err != nil || aws.ToString(after) != aws.ToString(first) || events() != n || len(w.take()) > 0 {
			t.Errorf("%s when it is over: %v, operation %s, want %s; %d events, want %d", name, err, aws.ToString(after), aws.ToString(first), events(), n)
		}
		return first
	}
	createStack := func() (*string, error) {
		out, err := w.client.CreateStack(ctx, &sdk.CreateStackInput{StackName: stack, TemplateBody: &fixed, ClientRequestToken: create})
		if err != nil {
			return nil, err
		}
		return out.OperationId, nil
	}
	update := func(token string, n int) func() (*string, error) {
		return func() (*string, error) {
			out, err := w.client.UpdateStack(ctx, &sdk.UpdateStackInput{StackName: stack, TemplateBody: sized(n), ClientRequestToken: &token})
			if err != nil {
				return nil, err
			}
			return out.OperationId, nil
		}
	}
	created := again("create", createStack)
	first := again("update", update("one", 1))
	again("update", update("two", 2))

	// Repeating an earlier request does not change the stack back.
	n := events()
	for name, call := range map[string]struct {
		again func() (*string, error)
		want  *string
	}{"create": {createStack, created}, "update": {update("one", 1), first}} {
		got, err := call.again()
		if err != nil || aws.ToString(got) != *call.want || events() != n {
			t.Errorf("an earlier %s: %v, operation %s, want %s; %d events, want %d", name, err, aws.ToString(got), *call.want, events(), n)
		}
	}

	// A token is valid for one kind of request.
	taken := "TokenAlreadyExistsException"
	_, err := update("create", 3)()
	if code(err) != taken {
		t.Errorf("an update under the token of the create: %v", err)
	}
	if _, err := w.client.DeleteStack(ctx, &sdk.DeleteStackInput{StackName: stack, ClientRequestToken: str("two")}); code(err) != taken {
		t.Errorf("a delete under the token of an update: %v", err)
	}
	if _, err := w.client.RollbackStack(ctx, &sdk.RollbackStackInput{StackName: stack, ClientRequestToken: str("two")}); code(err) != taken {
		t.Errorf("a rollback under the token of an update: %v", err)
	}
	if _, err := w.client.ContinueUpdateRollback(ctx, &sdk.ContinueUpdateRollbackInput{StackName: stack, ClientRequestToken: str("two")}); code(err) != taken {
		t.Errorf("a continued rollback under the token of an update: %v", err)
	}

	// A cancel, whose token is in the events of the rollback.
	_, err = update("three", 3)()
	w.must(err)
	cancel := func(token string) error {
		_, err := w.client.CancelUpdateStack(ctx, &sdk.CancelUpdateStackInput{StackName: stack, ClientRequestToken: &token})
		return err
	}
	if err := cancel("three"); code(err) != taken {
		t.Errorf("a cancel under the token of its update: %v", err)
	}
	for range 2 {
		w.must(cancel("stop"))
	}
	w.provide(succeeds)
	w.must(cancel("stop"))
	if got := w.status("s"); got != types.StackStatusUpdateRollbackComplete {
		t.Errorf("cancelled: %s", got)
	}
	if _, err := update("stop", 4)(); code(err) != taken {
		t.Errorf("an update under the token of a cancel: %v", err)
	}

	// A failed call does not use up its token.
	if _, err := update("five", 2)(); code(err) != "ValidationError" {
		t.Errorf("an update without a change: %v", err)
	}
	again("update", update("five", 5))

	out, err := w.client.DescribeStacks(ctx, &sdk.DescribeStacksInput{StackName: stack})
	w.must(err)
	stack = out.Stacks[0].StackId
	for range 3 {
		_, err := w.client.DeleteStack(ctx, &sdk.DeleteStackInput{StackName: stack, ClientRequestToken: str("gone")})
		w.must(err)
		w.provide(succeeds)
	}
}
