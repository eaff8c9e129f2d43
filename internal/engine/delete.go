package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// DeleteStack is what it takes to delete a stack.
type DeleteStack struct {
	Stack Ref
	Token string
	// RoleARN is kept with the stack; empty leaves the one it has.
	RoleARN string
	// Retain are resources to be left in place, and Force leaves those in place that fail again. Both are for a stack
	// whose last delete failed.
	Retain []wire.LogicalID
	Force  bool
	// RetainAll leaves every resource in place. Of ROS, where Retain needs no delete that failed before either.
	RetainAll bool
	// StopCreate also deletes a stack of ROS whose create is in progress, as CloudFormation always does. The API of ROS rejects it.
	StopCreate bool
	// Caller is who asks, as requests of ROS tell it.
	Caller string
	// Parallelism bounds how many resources are at work at once; 0 does not. Of ROS.
	Parallelism int

	// nested says for which request of which parent; nil for none. unclaimed says of a nested stack that no resource stands
	// for it.
	nested    *nesting
	unclaimed bool
}

// Delete starts a delete. A stack that was deleted, or is being deleted already, is no error, and in CloudFormation one that never
// was is none either. Errors that the client
// can fix are of type [Error].
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

// start decides a delete. It returns nil, and starts nothing, if the stack is gone or going.
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
		numbers = others // a stack in review holds nothing
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

// startUnprepared makes a create whose macros are running a delete: there is nothing yet.
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

// startUnfinished stops a create in progress, and makes it a delete.
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

// checkRetain refuses to leave resources behind unless a delete has failed at them.
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

// refusal is the service's text for what the client did wrong, followed by what we know besides.
func (d deletion) refusal(text, more string) error {
	if d.fidelity == FidelityAWS {
		return invalid(text)
	}
	return invalid(text + " " + more)
}

// triedRevisions returns the revisions besides the one in force of which there may still be instances: those that operations went
// for, or came from, which neither got there nor back.
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

// refuseInUse refuses a delete. The real service takes the call, and says so by an event in which nothing changes: who waits
// for the delete to end waits forever. A parent must not, and who deletes what is unclaimed does so again and again.
func (d deletion) refuseInUse(in *DeleteStack, reason string) error {
	if d.fidelity != FidelityAWS || in.nested != nil || in.unclaimed {
		return invalid(reason)
	}
	ended := d.op.Ended
	d.stackEvent(d.op.Phase, reason)
	d.op.Ended = ended
	return nil
}
