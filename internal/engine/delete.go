package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// DeleteStack is the input of [Engine.Delete].
type DeleteStack struct {
	Stack Ref
	Token string
	// RoleARN replaces the stack's role; empty keeps it.
	RoleARN string
	// Retain lists resources to leave in place. Force leaves resources in place that fail again. Both require that
	// the stack's last delete failed.
	Retain []wire.LogicalID
	Force  bool
	// RetainAll leaves every resource in place. Only for ROS, where Retain does not need a failed delete either.
	RetainAll bool
	// StopCreate also deletes a ROS stack whose create is in progress, as CloudFormation always does. The ROS API
	// rejects that.
	StopCreate bool
	// Caller identifies the client in ROS requests.
	Caller string
	// Parallelism limits the number of resources in progress at a time; 0 means no limit. Only for ROS.
	Parallelism int

	// nested identifies the parent and the request of a nested delete, or is nil. unclaimed marks a nested stack that
	// no resource stands for.
	nested    *nesting
	unclaimed bool
}

// Delete starts a delete. Deleting a stack that is deleted, or is being deleted, is not an error. In CloudFormation,
// a stack that never existed is not an error either. Errors that the client can fix are of type [Error].
func (e *Engine) Delete(ctx context.Context, in DeleteStack) (Started, error) {
	stack, err := e.Find(ctx, in.Stack)
	if errors.Is(err, store.ErrNotFound) && in.Stack.dialect() == CloudFormation {
		return Started{}, nil
	} else if errors.Is(err, store.ErrNotFound) {
		return Started{}, noStack(in.Stack)
	} else if err != nil {
		return Started{}, err
	}
	if err := (nestedStacks{e}).checkRoot(ctx, &stack); err != nil {
		return Started{}, err
	}
	nested, err := e.nestedOf(ctx, stack.Key, "")
	if err != nil {
		return Started{}, err
	}
	started, err := e.start(ctx, store.Target{Stack: stack.Key}, func(d *decision) error { return deletion{d}.start(&in) })
	if err == nil {
		e.dropNested(ctx, nested)
	}
	return started, err
}

// deletion starts the delete of a stack.
type deletion struct{ *decision }

// start decides a delete. It returns nil, and starts nothing, if the stack is deleted or being deleted.
func (d deletion) start(in *DeleteStack) error {
	if again, err := tokens(d).repeated(in.Token, store.CallDelete); again || err != nil {
		return err
	}
	if !d.stack.Live {
		return nil
	}
	if err := d.checkRetain(in); err != nil {
		return err
	}
	switch {
	case d.op.Kind == store.KindDelete && !d.op.Phase.Final():
		return nil
	case d.op.Phase == store.PhasePrepare && d.op.Kind == store.KindCreate && !d.stack.TerminationProtection && d.op.Parent == nil:
		return d.startUnprepared(in)
	case in.nested == nil && !in.unclaimed && (in.StopCreate || d.dialect.rules().deletesCreates) &&
		cancellation(d).stopsCreate():
		return d.startUnfinished(in)
	case !d.op.Phase.Final():
		return d.dialect.refusals().busy(&d.stack, &d.op, d.status(), "deleted")
	case d.stack.TerminationProtection:
		return d.dialect.refusals().protected(&d.stack)
	}
	if inUse, err := crossStack(d).endExports(); err != nil {
		return err
	} else if inUse != "" {
		return d.refuseInUse(in, inUse)
	}
	others := d.triedRevisions()
	numbers := append([]int{d.stack.Revision}, others...)
	if d.stack.Revision == 0 {
		numbers = others // a stack in review has no resources
	}
	sides, err := d.sides(numbers)
	if err != nil {
		return err
	}
	var extra []string
	for _, number := range sortedKeys(d.instances) {
		if i := d.instances[number]; i.Role == store.RoleCurrent || i.Role == store.RoleCondemned {
			extra = append(extra, string(i.Logical))
		}
	}
	candidates, err := plan.Delete(sides, extra)
	if err != nil {
		return refused(d.dialect, err)
	}
	operation(d).open(store.PhaseApply, store.Operation{
		Call: store.CallDelete, Kind: store.KindDelete, Token: in.Token, From: d.stack.Revision, Tried: others, Force: in.Force,
		Parent: in.nested.row(), Caller: in.Caller, Parallelism: in.Parallelism,
	})
	d.stack.Deleted = d.now
	if in.RoleARN != "" {
		d.stack.RoleARN = in.RoleARN
	}
	if err := scheduler(d).addSteps(candidates); err != nil {
		return err
	}
	for _, logical := range in.Retain {
		d.steps[logical].Skip = true
	}
	if in.RetainAll {
		for _, s := range d.steps {
			s.Skip = true
		}
	}
	phases(d).beginApply()
	return scheduler(d).run()
}

// startUnprepared turns a create whose macros are running into a delete. No resource exists yet.
func (d deletion) startUnprepared(in *DeleteStack) error {
	macroRequests(d).withdraw("")
	timers(d).stop()
	d.op.RollbackToken = in.Token
	if in.RoleARN != "" {
		d.stack.RoleARN = in.RoleARN
	}
	phases(d).beginDelete(d.dialect.texts().begun(store.KindDelete, store.PhaseApply))
	tokens(d).remember(in.Token, store.CallDelete, d.op.RollbackID)
	return scheduler(d).run()
}

// startUnfinished stops a create in progress and turns it into a delete.
func (d deletion) startUnfinished(in *DeleteStack) error {
	if d.stack.TerminationProtection {
		return d.dialect.refusals().protected(&d.stack)
	}
	cancellation(d).stop(in.Token)
	if in.RoleARN != "" {
		d.stack.RoleARN = in.RoleARN
	}
	phases(d).beginDelete(d.dialect.texts().begun(store.KindDelete, store.PhaseApply))
	tokens(d).remember(in.Token, store.CallDelete, d.op.RollbackID)
	return scheduler(d).run()
}

// checkRetain rejects a retain of resources unless a delete has failed on them.
func (d deletion) checkRetain(in *DeleteStack) error {
	failed := d.stack.Kind == store.KindDelete && d.stack.Phase == store.PhaseFailed
	anyTime := d.dialect.rules().leavesAny
	switch {
	case len(in.Retain) > 0 && !failed && !anyTime:
		return invalid("Invalid operation on stack [" + string(d.stack.ID) + "]. When you delete a stack, " +
			"specify which resources to retain only when the stack is in the DELETE_FAILED state.")
	case in.Force && !failed:
		return invalid("Invalid operation on stack [" + string(d.stack.ID) + "]. You can activate DeletionMode " +
			"FORCE_DELETE_STACK in a delete stack operation only when the stack is in the DELETE_FAILED state.")
	}
	var gone []wire.LogicalID
	for _, logical := range in.Retain {
		if d.current(logical) == nil && len(d.pendingDelete(logical)) == 0 {
			gone = append(gone, logical)
		}
	}
	switch {
	case gone == nil:
		return nil
	case anyTime:
		return noResource(gone, &d.stack)
	}
	return d.refusal("The specified resources to retain must be in a valid state. Do not specify resources that are in "+
		"the DELETE_COMPLETE state.", "There is nothing left of "+list(gone)+".")
}

// refusal returns the service's text about a client error, followed by details that only Pintle reports.
func (d deletion) refusal(text, more string) error {
	if d.fidelity == FidelityAWS {
		return invalid(text)
	}
	return invalid(text + " " + more)
}

// triedRevisions returns the revisions, apart from the one in force, that may still have instances: those of
// operations that neither completed nor rolled back.
func (d deletion) triedRevisions() []int {
	if d.op.Kind != store.KindDelete && (d.op.Phase == store.PhaseSucceeded || d.op.Phase == store.PhaseReverted) {
		return nil
	}
	var others []int
	for _, number := range append([]int{d.op.To, d.op.From}, d.op.Tried...) {
		if number != 0 && number != d.stack.Revision && !slices.Contains(others, number) {
			others = append(others, number)
		}
	}
	return others
}

// refuseInUse rejects a delete. The real service accepts the call and adds an event without a status change, so a
// client that waits for the delete waits forever. A parent must not wait forever, and the clean-up of an unclaimed
// stack repeats the delete.
func (d deletion) refuseInUse(in *DeleteStack, reason string) error {
	if d.fidelity != FidelityAWS || in.nested != nil || in.unclaimed {
		return invalid(reason)
	}
	ended := d.op.Ended
	d.stackEvent(d.op.Phase, reason)
	d.op.Ended = ended
	return nil
}
