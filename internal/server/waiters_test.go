package server_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/engine"
)

// The longest waits for events that must occur, and for events that must not.
const (
	ample = time.Minute
	scant = 50 * time.Millisecond
)

// waited is a stack on which a waiter waits.
type waited struct {
	*world
	client *cloudformation.Client
	name   string
	// between runs after the waiter's first check, if it will check again.
	between func()
}

// answers answers the next requests, one after the other.
func (w *waited) answers(statuses ...string) {
	w.t.Helper()
	for _, status := range statuses {
		r := w.take()
		body := strings.Replace(success(r, "id"), "SUCCESS", status, 1)
		w.must(w.engine.Answer(w.t.Context(), r.ID, []byte(body), 0))
	}
}

func (w *waited) creates(disableRollback bool) {
	w.t.Helper()
	body := template("1")
	_, err := w.client.CreateStack(w.t.Context(), &cloudformation.CreateStackInput{
		StackName: &w.name, TemplateBody: &body, DisableRollback: &disableRollback,
	})
	w.must(err)
}

func (w *waited) updates(disableRollback bool) {
	w.t.Helper()
	body := template("2")
	_, err := w.client.UpdateStack(w.t.Context(), &cloudformation.UpdateStackInput{
		StackName: &w.name, TemplateBody: &body, DisableRollback: &disableRollback,
	})
	w.must(err)
}

// plans creates a change set with the name of the stack and the template of creates.
func (w *waited) plans(kind types.ChangeSetType) {
	w.t.Helper()
	body := template("1")
	_, err := w.client.CreateChangeSet(w.t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: &w.name, ChangeSetName: &w.name, ChangeSetType: kind, TemplateBody: &body,
	})
	w.must(err)
}

func (w *waited) deletes() {
	w.t.Helper()
	_, err := w.client.DeleteStack(w.t.Context(), &cloudformation.DeleteStackInput{StackName: &w.name})
	w.must(err)
}

// byARN makes the waiter use the stack's ID.
func (w *waited) byARN() {
	w.t.Helper()
	stack, err := w.engine.Find(w.t.Context(), engine.Ref{Account: "000000000000", Region: region, Stack: w.name})
	w.must(err)
	w.name = string(stack.ID)
}

// look wraps the waiter's evaluation of a check.
func look[In, Out any](w *waited, judge func(context.Context, In, Out, error) (bool, error)) func(context.Context, In, Out, error) (bool, error) {
	return func(ctx context.Context, in In, out Out, err error) (bool, error) {
		again, err := judge(ctx, in, out, err)
		if again && w.between != nil {
			between := w.between
			w.between = nil
			between()
		}
		return again, err
	}
}

// TestGoWaiters runs every waiter of the SDK to each possible end.
func TestGoWaiters(t *testing.T) {
	type waiter func(*waited, time.Duration) error
	exists := func(w *waited, most time.Duration) error {
		return cloudformation.NewStackExistsWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &w.name}, most,
			func(o *cloudformation.StackExistsWaiterOptions) {
				o.MinDelay, o.MaxDelay, o.Retryable = time.Millisecond, time.Millisecond, look(w, o.Retryable)
			})
	}
	created := func(w *waited, most time.Duration) error {
		return cloudformation.NewStackCreateCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &w.name}, most,
			func(o *cloudformation.StackCreateCompleteWaiterOptions) {
				o.MinDelay, o.MaxDelay, o.Retryable = time.Millisecond, time.Millisecond, look(w, o.Retryable)
			})
	}
	updated := func(w *waited, most time.Duration) error {
		return cloudformation.NewStackUpdateCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &w.name}, most,
			func(o *cloudformation.StackUpdateCompleteWaiterOptions) {
				o.MinDelay, o.MaxDelay, o.Retryable = time.Millisecond, time.Millisecond, look(w, o.Retryable)
			})
	}
	deleted := func(w *waited, most time.Duration) error {
		return cloudformation.NewStackDeleteCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &w.name}, most,
			func(o *cloudformation.StackDeleteCompleteWaiterOptions) {
				o.MinDelay, o.MaxDelay, o.Retryable = time.Millisecond, time.Millisecond, look(w, o.Retryable)
			})
	}
	rolledBack := func(w *waited, most time.Duration) error {
		return cloudformation.NewStackRollbackCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &w.name}, most,
			func(o *cloudformation.StackRollbackCompleteWaiterOptions) {
				o.MinDelay, o.MaxDelay, o.Retryable = time.Millisecond, time.Millisecond, look(w, o.Retryable)
			})
	}
	imported := func(w *waited, most time.Duration) error {
		return cloudformation.NewStackImportCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &w.name}, most,
			func(o *cloudformation.StackImportCompleteWaiterOptions) {
				o.MinDelay, o.MaxDelay, o.Retryable = time.Millisecond, time.Millisecond, look(w, o.Retryable)
			})
	}
	changeSet := func(w *waited, most time.Duration) error {
		return cloudformation.NewChangeSetCreateCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeChangeSetInput{
			StackName: &w.name, ChangeSetName: &w.name,
		}, most)
	}
	refactored := func(w *waited, most time.Duration) error {
		return cloudformation.NewStackRefactorCreateCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeStackRefactorInput{StackRefactorId: &w.name}, most)
	}
	refactorRun := func(w *waited, most time.Duration) error {
		return cloudformation.NewStackRefactorExecuteCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeStackRefactorInput{StackRefactorId: &w.name}, most)
	}
	registered := func(w *waited, most time.Duration) error {
		return cloudformation.NewTypeRegistrationCompleteWaiter(w.client).Wait(t.Context(), &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &w.name}, most)
	}
	stands := func(w *waited) { w.creates(false); w.answers("SUCCESS") }

	const (
		failure = "waiter state transitioned to Failure"
	)
	for name, test := range map[string]struct {
		wait    waiter
		before  func(*waited)
		between func(*waited)
		// want is part of the waiter's error, or empty. status is the final status of the stack.
		want, status string
	}{
		"exists":                         {exists, nil, func(w *waited) { w.creates(false) }, "", "CREATE_IN_PROGRESS"},
		"never exists":                   {exists, nil, nil, "exceeded", ""},
		"created":                        {created, func(w *waited) { w.creates(false) }, func(w *waited) { w.answers("SUCCESS") }, "", "CREATE_COMPLETE"},
		"created, then updated":          {created, func(w *waited) { stands(w); w.updates(false) }, nil, "", "UPDATE_IN_PROGRESS"},
		"not created":                    {created, func(w *waited) { w.creates(false) }, func(w *waited) { w.answers("FAILED", "SUCCESS") }, failure, "ROLLBACK_COMPLETE"},
		"not created, stuck":             {created, func(w *waited) { w.creates(false) }, func(w *waited) { w.answers("FAILED", "FAILED") }, failure, "ROLLBACK_FAILED"},
		"create failed, not rolled back": {created, func(w *waited) { w.creates(true) }, func(w *waited) { w.answers("FAILED") }, failure, "CREATE_FAILED"},
		"created, missing":               {created, nil, nil, failure, ""},
		"updated":                        {updated, func(w *waited) { stands(w); w.updates(false) }, func(w *waited) { w.answers("SUCCESS") }, "", "UPDATE_COMPLETE"},
		"not updated":                    {updated, func(w *waited) { stands(w); w.updates(false) }, func(w *waited) { w.answers("FAILED", "SUCCESS") }, failure, "UPDATE_ROLLBACK_COMPLETE"},
		"not updated, stuck":             {updated, func(w *waited) { stands(w); w.updates(false) }, func(w *waited) { w.answers("FAILED", "FAILED") }, failure, "UPDATE_ROLLBACK_FAILED"},
		"update failed, not rolled back": {updated, func(w *waited) { stands(w); w.updates(true) }, func(w *waited) { w.answers("FAILED") }, failure, "UPDATE_FAILED"},
		"updated, missing":               {updated, nil, nil, failure, ""},
		"deleted":                        {deleted, func(w *waited) { stands(w); w.deletes() }, func(w *waited) { w.answers("SUCCESS") }, "", ""},
		"deleted, by ARN":                {deleted, func(w *waited) { stands(w); w.byARN(); w.deletes() }, func(w *waited) { w.answers("SUCCESS") }, "", "DELETE_COMPLETE"},
		"not deleted":                    {deleted, func(w *waited) { stands(w); w.deletes() }, func(w *waited) { w.answers("FAILED") }, failure, "DELETE_FAILED"},
		"updated instead of deleted":     {deleted, func(w *waited) { stands(w); w.updates(false); w.answers("SUCCESS") }, nil, failure, "UPDATE_COMPLETE"},
		"deleted, missing":               {deleted, nil, nil, "", ""},
		"rolled back":                    {rolledBack, func(w *waited) { stands(w); w.updates(false) }, func(w *waited) { w.answers("FAILED", "SUCCESS") }, "", "UPDATE_ROLLBACK_COMPLETE"},
		"not rolled back":                {rolledBack, func(w *waited) { stands(w); w.updates(false) }, func(w *waited) { w.answers("FAILED", "FAILED") }, failure, "UPDATE_ROLLBACK_FAILED"},
		"update failed, not rolled back, waits for rollback": {rolledBack, func(w *waited) { stands(w); w.updates(true) }, func(w *waited) { w.answers("FAILED") }, failure, "UPDATE_FAILED"},
		"rolled back, missing":                               {rolledBack, nil, nil, failure, ""},
		"not imported":                                       {imported, func(w *waited) { w.creates(false) }, func(w *waited) { w.answers("FAILED", "SUCCESS") }, failure, "ROLLBACK_COMPLETE"},
		"imported, missing":                                  {imported, nil, nil, failure, ""},
		"change set":                                         {changeSet, func(w *waited) { w.plans(types.ChangeSetTypeCreate) }, nil, "", "REVIEW_IN_PROGRESS"},
		"change set, the same":                               {changeSet, func(w *waited) { stands(w); w.plans(types.ChangeSetTypeUpdate) }, nil, failure, "CREATE_COMPLETE"},
		"change set, missing":                                {changeSet, nil, nil, failure, ""},
		"refactor":                                           {refactored, nil, nil, "not supported by this version", ""},
		"refactor, executed":                                 {refactorRun, nil, nil, "not supported by this version", ""},
		"registration of a type":                             {registered, nil, nil, "not supported by this version", ""},
	} {
		w := &waited{world: newWorld(t, nil), name: "stack"}
		w.client = w.world.client()
		if test.before != nil {
			test.before(w)
		}
		if test.between != nil {
			w.between = func() { test.between(w) }
		}
		most := ample
		if name == "never exists" {
			most = scant
		}
		err := test.wait(w, most)
		if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if test.between != nil && w.between != nil {
			t.Errorf("%s: the waiter did not wait", name)
		}
		out, err := w.client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &w.name})
		if test.status == "" {
			if err == nil {
				t.Errorf("%s: the stack is %s, want none", name, out.Stacks[0].StackStatus)
			}
			continue
		}
		if err != nil || out.Stacks[0].StackStatus != types.StackStatus(test.status) {
			t.Errorf("%s: stack %+v (%v), want %s", name, out, err, test.status)
		}
	}
}

const botoWaiters = `
import boto3, botocore.exceptions, sys
cfn, body = boto3.client("cloudformation"), open(sys.argv[1]).read()
quick = {"Delay": 0.01, "MaxAttempts": 6000}
number = 0

def fail(kind): return [{"ParameterKey": "Fail", "ParameterValue": kind}]

def create(kind="never", **more):
    global number
    number += 1
    name = f"s{number}"
    cfn.create_stack(StackName=name, TemplateBody=body, Parameters=fail(kind), **more)
    return name

def discarded():
    return cfn.create_stack(StackName="gone", TemplateBody=body, Parameters=fail("Create"), OnFailure="DELETE")["StackId"]

def stands(kind="never"):
    name = create(kind)
    cfn.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig=quick)
    return name

def update(name, kind="never", **more):
    parameters = fail(kind) + [{"ParameterKey": "Name", "ParameterValue": "other"}]
    cfn.update_stack(StackName=name, UsePreviousTemplate=True, Parameters=parameters, **more)
    return name

def delete(name):
    stack = cfn.describe_stacks(StackName=name)["Stacks"][0]["StackId"]
    cfn.delete_stack(StackName=name)
    return stack

def succeeds(waiter, stack, status, **arguments):
    cfn.get_waiter(waiter).wait(StackName=stack, WaiterConfig=quick, **arguments)
    got = cfn.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
    assert got in status, (waiter, got)
    done.add(waiter)

def fails(waiter, reason, config=quick, **arguments):
    try:
        cfn.get_waiter(waiter).wait(WaiterConfig=config, **arguments)
    except botocore.exceptions.WaiterError as e:
        said = str(e) + e.last_response.get("Error", {}).get("Message", "")
        assert reason in said, (waiter, reason, said)
        done.add(waiter)
        return
    sys.exit(f"{waiter} took {reason} for a success")

done = set()
succeeds("stack_exists", create(), ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"])
fails("stack_exists", "Max attempts exceeded", {"Delay": 0.01, "MaxAttempts": 3}, StackName="nobody")
succeeds("stack_create_complete", create(), ["CREATE_COMPLETE"])
fails("stack_create_complete", "ROLLBACK_COMPLETE", StackName=create("Create"))
fails("stack_create_complete", "DELETE_COMPLETE", StackName=discarded())
fails("stack_create_complete", "CREATE_FAILED", StackName=create("Create", OnFailure="DO_NOTHING"))
fails("stack_create_complete", "Stack with id nobody does not exist", StackName="nobody")
succeeds("stack_update_complete", update(stands()), ["UPDATE_COMPLETE"])
fails("stack_update_complete", "UPDATE_ROLLBACK_COMPLETE", StackName=update(stands(), "Update"))
fails("stack_update_complete", "UPDATE_FAILED", StackName=update(stands(), "Update", DisableRollback=True))
fails("stack_update_complete", "Stack with id nobody does not exist", StackName="nobody")
succeeds("stack_delete_complete", delete(stands()), ["DELETE_COMPLETE"])
gone = stands()
delete(gone)
cfn.get_waiter("stack_delete_complete").wait(StackName=gone, WaiterConfig=quick)
fails("stack_delete_complete", "DELETE_FAILED", StackName=delete(stands("Delete")))
succeeds("stack_rollback_complete", update(stands(), "Update"), ["UPDATE_ROLLBACK_COMPLETE"])
fails("stack_rollback_complete", "UPDATE_FAILED", StackName=update(stands(), "Update", DisableRollback=True))
fails("stack_import_complete", "ROLLBACK_COMPLETE", StackName=create("Create"))
fails("stack_import_complete", "Stack with id nobody does not exist", StackName="nobody")
cfn.create_change_set(StackName="planned", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body)
succeeds("change_set_create_complete", "planned", ["REVIEW_IN_PROGRESS"], ChangeSetName="c")
same = stands()
cfn.create_change_set(StackName=same, ChangeSetName="c", UsePreviousTemplate=True, Parameters=fail("never"))
fails("change_set_create_complete", "FAILED", StackName=same, ChangeSetName="c")
fails("change_set_create_complete", "Stack [nobody] does not exist", StackName="nobody", ChangeSetName="c")
fails("stack_refactor_create_complete", "not supported by this version", StackRefactorId="r")
fails("stack_refactor_execute_complete", "not supported by this version", StackRefactorId="r")
fails("type_registration_complete", "not supported by this version", RegistrationToken="t")
assert done == set(cfn.waiter_names), set(cfn.waiter_names) - done
`

// TestBoto3Waiters does the same with boto3, whose waiters are implemented independently.
func TestBoto3Waiters(t *testing.T) {
	python := require.Python(t, "boto3")
	w := newClientWorld(t)
	p := newThing(t)
	p.answered = make(chan string, 1024) // nothing reads from it
	file := filepath.Join(t.TempDir(), "hello.yaml")
	w.must(os.WriteFile(file, []byte(greeting(p.url)), 0o600))
	cmd := exec.CommandContext(t.Context(), python, "-c", botoWaiters, file)
	cmd.Env = w.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
