package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
)

// ExecuteChangeSet is the input of [Planner.ExecuteChangeSet].
type ExecuteChangeSet struct {
	ChangeSet ChangeSetRef
	Token     string
	// DisableRollback keeps the state of a stack that failed. It does not apply to a set that has its own OnFailure.
	// Nil means the default.
	DisableRollback *bool
	// Caller identifies the client in ROS requests.
	Caller string
	// RetainExceptOnCreate makes a rollback delete new resources even if their policy is Retain.
	RetainExceptOnCreate bool
}

// ExecuteChangeSet starts the create or the update that a change set describes, with the inputs of the set. It
// deletes the other change sets of the stack. The change sets of nested stacks that belong to it are executed when
// the operation reaches their resources. Errors that the client can fix are of type [Error].
func (p Planner) ExecuteChangeSet(ctx context.Context, in ExecuteChangeSet) (Started, error) {
	row, stack, err := p.findChangeSet(ctx, in.ChangeSet)
	if err != nil {
		return Started{}, err
	}
	if err := p.checkOwn(ctx, &row, "executed"); err != nil {
		return Started{}, err
	}
	var before *store.Operation
	if row.Operation > 0 {
		op, err := p.store.Operation(ctx, row.Stack, row.Operation)
		if err != nil {
			return Started{}, err
		}
		before = &op
	}
	others, err := p.nestedOf(ctx, stack.Key, row.ID)
	if err != nil {
		return Started{}, err
	}
	started, err := p.start(ctx, store.Target{Stack: stack.Key}, func(d *decision) error { return changeSetExecution{d}.start(&in, &row, before) })
	if err == nil {
		p.dropNested(ctx, others)
	}
	return started, err
}

// changeSetExecution starts the operation that a change set describes.
type changeSetExecution struct{ *decision }

// start decides to execute a change set. row is the stored set with its body, and before is the operation of an
// earlier execution, or nil.
func (d changeSetExecution) start(in *ExecuteChangeSet, row *store.ChangeSet, before *store.Operation) error {
	now, ok := d.view.ChangeSets[row.ID]
	if !ok {
		return d.dialect.refusals().noChangeSet(in.ChangeSet.Name)
	}
	call := store.CallUpdate
	if now.Kind == store.KindCreate {
		call = store.CallCreate
	}
	d.executing = row.ID
	if again, err := tokens(d).repeated(in.Token, call); again || err != nil {
		return err
	}
	op := &d.op
	if now.Operation != d.op.Number && before != nil {
		op = before
	}
	switch execution := executionOf(&now, &d.stack, op); {
	case execution == ExecutionUnavailable:
		return d.dialect.refusals().changeSetStatus(&now, "executed", d.dialect.ChangeSetStatus(now.State), false)
	case execution != ExecutionAvailable:
		return d.dialect.refusals().changeSetStatus(&now, "executed", d.dialect.ExecutionStatus(execution), true)
	case in.DisableRollback != nil && now.OnFailure != "":
		return invalid("You cannot specify DisableRollback for ChangeSet [" + string(row.ID) +
			"]: it was created with OnStackFailure " + now.OnFailure + ", which says what is done if it fails.")
	}
	disable := now.DisableRollback
	switch {
	case row.Import: // an import is never left half done
		disable = false
	case now.Kind == store.KindUpdate && d.dialect.rules().updatesRevert:
		disable = false
	case now.OnFailure != "":
		disable = now.OnFailure == "DO_NOTHING"
	case in.DisableRollback != nil:
		disable = *in.DisableRollback
	}
	if now.Kind == store.KindUpdate {
		if err := update(d).check(disable); err != nil {
			return err
		}
	}
	if len(row.Body.Capabilities) > 0 { // otherwise the stack keeps its own
		d.stack.Capabilities = row.Body.Capabilities
	}
	d.stack.RoleARN = row.Body.RoleARN
	if now.Kind == store.KindCreate || !d.dialect.rules().updatesRevert {
		d.stack.DisableRollback = disable
	}
	d.stack.ChangeSet = row.ID
	begun := store.Operation{
		Token: in.Token, DisableRollback: disable, RetainExceptOnCreate: in.RetainExceptOnCreate,
		DeleteOnFailure: now.OnFailure == "DELETE" && now.Kind == store.KindCreate,
		Import:          row.Import, Imports: row.Body.Imports,
		Caller: in.Caller, Parallelism: row.Body.Parallelism, Replace: row.Body.Replace, Taint: row.Body.Taint,
		Forced: row.Body.Revert,
	}
	if minutes := row.Body.TimeoutMinutes; now.Kind == store.KindCreate && minutes > 0 {
		d.stack.TimeoutMinutes = minutes
	}
	d.stack.Policy = cmp.Or(row.Body.Policy, d.stack.Policy) // the update itself uses the previous policy
	if err := d.begin(row, row.Body.TimeoutMinutes, begun); err != nil {
		return err
	}
	if d.stack.Live || !d.dialect.rules().executedStay { // otherwise the set failed and is deleted with its stack
		changeSetDeletion(d).removeOthers(row.ID)
		now.State, now.Operation, now.OperationID = store.ChangeSetExecuted, d.op.Number, d.op.ID
		d.delta.ChangeSets = append(d.delta.ChangeSets, now)
	}
	return nil
}

// begin starts the operation of a change set.
func (d changeSetExecution) begin(row *store.ChangeSet, timeoutMinutes int, op store.Operation) error {
	revision := row.Body.Revision
	revision.Stack, revision.Number = d.stack.Key, d.stack.Revisions+1
	t, err := d.parsed.of(d.dialect.language(), &revision)
	if err != nil {
		return fmt.Errorf("parse the template of %s: %w", row.ID, err)
	}
	scope := d.scopeOf(&revision)
	if err := crossStack(d).resolve(t, scope, &revision); err != nil { // exports may have changed since the set was created
		return err
	}
	if row.Kind == store.KindCreate {
		d.stack.Description, d.stack.Updated = t.Description, d.now
		return creation(d).begin(revision, plan.Side{Template: t, Scope: scope}, timeoutMinutes, op)
	}
	revision.Policy = d.view.Stack.Policy
	return update(d).begin(revision, t, timeoutMinutes, op)
}
