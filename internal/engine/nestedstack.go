package engine

import (
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// tiePause is the time after which the tie synchronizes a nested stack and its parent, if one missed the other's
// report.
const tiePause = 30 * time.Second

// nesting identifies the parent that an operation of a nested stack belongs to.
type nesting struct {
	parent store.Parent
	// root and depth are those of a new nested stack.
	root  wire.StackID
	depth int
	// planned is the change set for the operation, or "", and imports are its imports.
	planned store.ChangeSetID
	imports map[wire.LogicalID]store.Import
}

// row returns the stored form of n; nil if n is nil.
func (n *nesting) row() *store.Parent {
	if n == nil {
		return nil
	}
	row := n.parent
	return &row
}

// nestedStack starts, in a nested stack, the operations that its parent requests.
type nestedStack struct{ *decision }

// repeated reports whether the stack already has an operation for this request, which may be delivered more than once.
func (d nestedStack) repeated(n *nesting) bool {
	if n == nil || d.op.Parent == nil || d.op.Parent.Request != n.parent.Request {
		return false
	}
	d.again = d.op.ID
	return true
}

// isOf reports whether the newest operation belongs to that parent.
func (d nestedStack) isOf(n *nesting) bool {
	return d.op.Parent != nil && d.op.Parent.Stack == n.parent.Stack
}

// adopt assigns the newest operation to another request of the parent.
func (d nestedStack) adopt(n *nesting) {
	row := n.row()
	if before := d.op.Parent; before != nil {
		row.Reason = before.Reason
	} else {
		timers(d).tie()
	}
	d.op.Parent, d.opChanged = row, true
}

// attendLater makes the engine attend the nested stack after the commit if its operation may have finished the
// parent's request.
func (d nestedStack) attendLater() {
	before := &d.view.Operation
	if d.op.Parent == nil {
		return
	}
	if before.Number == d.op.Number && before.Phase == d.op.Phase && before.Held == d.op.Held && before.Parent == d.op.Parent {
		return
	}
	d.attend = append(d.attend, d.stack.ID)
}

// parentGoesBack is the reason in a nested stack that is rolled back although it did not fail.
const parentGoesBack = "The update of the parent stack is rolled back."

// leavePreparing abandons a retry whose macros are running, because its parent rolls back. The rollback starts from
// the state that the previous attempt left.
func (d nestedStack) leavePreparing(n *nesting) error {
	if d.op.Phase == store.PhasePrepare && d.op.Retry && d.isOf(n) {
		macros(d).abandon(parentGoesBack)
	}
	return nil
}

// undo decides to undo what the stack did for its parent, up to the clean-up. It returns false if the stack did
// nothing.
func (d nestedStack) undo(n *nesting, skip []string, force bool) (bool, error) {
	switch {
	case !d.stack.Live || !d.isOf(n) || d.op.Kind != store.KindUpdate:
		return false, nil
	case d.repeated(n):
		return true, nil
	}
	switch d.op.Phase {
	case store.PhasePrepare, store.PhaseApply:
		d.adopt(n)
		scheduler(d).cancelRunning()
		macroRequests(d).withdraw("")
		phases(d).beginRollback(parentGoesBack)
		return true, scheduler(d).run()
	case store.PhaseCleanup:
		if !d.op.Held {
			return false, nil // the clean-up has started
		}
		d.adopt(n)
		phases(d).release()
		phases(d).beginRollback(parentGoesBack)
		return true, scheduler(d).run()
	case store.PhaseRevert, store.PhaseRevertCleanup:
		d.adopt(n)
		return true, nil
	case store.PhaseRevertFailed:
		in := ContinueRollback{Force: force, nested: n}
		for _, name := range skip {
			in.Skip = append(in.Skip, wire.LogicalID(name))
		}
		if force {
			in.Skip = nil
		}
		return true, rollback(d).resume(&in)
	case store.PhaseFailed:
		op := store.Operation{Call: store.CallRollback, Parent: n.row()}
		return true, rollback(d).begin(op, "", skipsNone, nil)
	case store.PhaseSucceeded, store.PhaseReverted:
	}
	return false, nil
}

// release lets the stack continue with the clean-up at which it is held. It returns false if the stack is not held.
func (d nestedStack) release(n *nesting) (bool, error) {
	switch {
	case !d.isOf(n):
		return false, nil
	case d.repeated(n):
		return true, nil
	case !d.op.Held:
		return false, nil
	}
	d.adopt(n)
	phases(d).release()
	phases(d).beginCleanup()
	return true, scheduler(d).run()
}

// leaveHeld ends a held operation without a clean-up, because its parent failed and was left as it was, and has
// started another operation or no longer wants the stack. A later operation then does the clean-up.
func (d nestedStack) leaveHeld(n *nesting) error {
	if !d.op.Held || !d.isOf(n) || d.op.Parent.Operation == n.parent.Operation && n.parent.Aim != store.AimRemove {
		return nil
	}
	phase := store.PhaseFailed
	if d.op.Phase == store.PhaseRevertCleanup {
		phase = store.PhaseRevertFailed
	}
	phases(d).release()
	operation(d).end(phase, "The update of the parent stack failed.")
	return nil
}

// remove decides to delete the stack. The parent takes over a delete that a client has started. An operation that the
// stack runs for its parent is aborted first.
func (d nestedStack) remove(n *nesting, in *DeleteStack) error {
	switch {
	case !d.stack.Live, d.repeated(n) && d.op.Kind == store.KindDelete:
		return nil
	case d.op.Kind == store.KindDelete && !d.op.Phase.Final():
		d.adopt(n)
		return nil
	case d.isOf(n) && !d.op.Phase.Final():
		d.adopt(n)
		return d.abort(n.parent.Request)
	}
	in.nested = n
	return deletion(d).start(in)
}

// abort cancels the operation that the stack runs for a cancelled request. An update is rolled back. A create keeps
// its resources: the parent deletes the stack.
func (d nestedStack) abort(request wire.RequestID) error {
	if d.op.Parent == nil || d.op.Parent.Request != request {
		return nil
	}
	switch d.op.Phase {
	case store.PhaseApply:
	case store.PhasePrepare:
		macros(d).abandon(d.dialect.texts().stackCancelled)
		return scheduler(d).run()
	case store.PhaseCleanup, store.PhaseRevert, store.PhaseRevertCleanup, store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted,
		store.PhaseRevertFailed:
		return nil
	}
	switch d.op.Kind {
	case store.KindUpdate:
		scheduler(d).cancelRunning()
		phases(d).beginRollback(d.dialect.texts().stackCancelled)
	case store.KindCreate:
		scheduler(d).cancelRunning()
	case store.KindDelete, store.KindReview, store.KindImport:
		return nil
	}
	return scheduler(d).run()
}

// abandon rolls back or deletes what the stack did for a request that no parent waits for any more. A node started
// the operation too late, after it was declared dead.
func (d nestedStack) abandon(request wire.RequestID) error {
	if d.op.Parent == nil || d.op.Parent.Request != request || d.op.Phase.Final() {
		return nil
	}
	held := d.op.Held
	d.op.Parent, d.opChanged = nil, true
	if held {
		phases(d).release()
	}
	d.op.DisableRollback, d.op.DeleteOnFailure = false, d.op.Kind == store.KindCreate
	switch {
	case d.op.Phase == store.PhasePrepare:
		macros(d).abandon(parentGoesBack)
	case d.op.Kind == store.KindCreate && d.op.Phase == store.PhaseApply:
		scheduler(d).cancelRunning()
	case d.op.Kind == store.KindUpdate && d.op.Phase == store.PhaseApply:
		scheduler(d).cancelRunning()
		phases(d).beginRollback(parentGoesBack)
	case held && d.op.Phase == store.PhaseCleanup:
		phases(d).beginRollback(parentGoesBack)
	case held:
		phases(d).beginCleanup()
	}
	return scheduler(d).run()
}

// cameTo returns the outcome of a nested stack's operation for the request that waits for it; false before it has
// one.
func cameTo(stack *store.Stack, op *store.Operation) (Outcome, bool) {
	outcome := Outcome{Kind: Provided, Delivered: true, Held: op.Held}
	outcome.Result.PhysicalID = wire.PhysicalID(stack.ID)
	final := op.Phase.Final()
	switch op.Parent.Aim {
	case store.AimReach:
		switch {
		case op.Kind == store.KindCreate && !final, op.Phase == store.PhasePrepare, op.Phase == store.PhaseApply:
			return Outcome{}, false
		case op.Phase == store.PhaseSucceeded, op.Phase == store.PhaseCleanup:
			outcome.Result.Attributes = outputsOf(stack)
		case op.Kind == store.KindCreate:
			outcome.Text = embedded(stack, "created") + op.Parent.Reason
		default:
			outcome.Text = backward(stack, op)
		}
	case store.AimUndo:
		switch op.Phase {
		case store.PhaseRevertCleanup, store.PhaseReverted:
			outcome.Result.Attributes = outputsOf(stack)
		case store.PhaseRevertFailed, store.PhaseFailed:
			outcome.Text = backward(stack, op)
		case store.PhasePrepare, store.PhaseApply, store.PhaseCleanup, store.PhaseRevert, store.PhaseSucceeded:
			return Outcome{}, false
		}
	case store.AimRelease:
		return outcome, final
	case store.AimRemove:
		if op.Kind != store.KindDelete {
			return Outcome{}, false // the delete has not started
		}
		if final && op.Phase != store.PhaseSucceeded {
			outcome.Text = embedded(stack, "deleted") + op.Parent.Reason
		}
		return outcome, final
	}
	return outcome, true
}

// embedded returns the start of the reason for a nested stack's failure. Source: published reasons of nested stacks.
func embedded(stack *store.Stack, what string) string {
	if dialectOf(stack) == ROS {
		return "The nested stack " + stack.Name + " (" + string(stack.ID) + ") was not successfully " + what + ": "
	}
	return "Embedded stack " + string(stack.ID) + " was not successfully " + what + ": "
}

// backward returns the reason for an update that is, or was, rolled back.
func backward(stack *store.Stack, op *store.Operation) string {
	return strings.TrimSuffix(embedded(stack, "updated"), ": ") + ". Currently in " +
		dialectOf(stack).StackStatus(op.Kind, op.Phase) + " with reason: " + op.Parent.Reason
}

// outputsOf returns the outputs of a nested stack as attributes of its parent's resource. Secret outputs stay secret.
func outputsOf(stack *store.Stack) value.Value {
	var members []value.Member
	for _, o := range stack.OutputValues.Members() {
		members = append(members, value.Member{Key: native.OutputPrefix + o.Key, Value: o.Value})
	}
	return value.Object(members...)
}
