package engine

import (
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// tiePause is how long a nested stack and its parent go without being brought together, if one of them missed the other.
const tiePause = 30 * time.Second

// nesting is for whom an operation of a nested stack is asked for.
type nesting struct {
	parent store.Parent
	// root and depth are those of a nested stack that is to be created.
	root  wire.StackID
	depth int
	// planned is the change set that was made for the operation, "" for none, and imports are those of it.
	planned store.ChangeSetID
	imports map[wire.LogicalID]store.Import
}

// row returns what an operation keeps of n; nil if n is.
func (n *nesting) row() *store.Parent {
	if n == nil {
		return nil
	}
	row := n.parent
	return &row
}

// askedBefore reports whether the stack has an operation for this very request: a request may come any number of times.
func (m *machine) askedBefore(n *nesting) bool {
	if n == nil || m.op.Parent == nil || m.op.Parent.Request != n.parent.Request {
		return false
	}
	m.again = m.op.ID
	return true
}

// of reports whether the newest operation is one for that parent.
func (m *machine) of(n *nesting) bool {
	return m.op.Parent != nil && m.op.Parent.Stack == n.parent.Stack
}

// adopt makes the newest operation one for another request of the parent.
func (m *machine) adopt(n *nesting) {
	row := n.row()
	if before := m.op.Parent; before != nil {
		row.Reason = before.Reason
	} else {
		m.tie()
	}
	m.op.Parent, m.opChanged = row, true
}

// tie makes the row by which the operation that begins is brought together with its parent now and then.
func (m *machine) tie() { m.remind(store.TypeTie, tiePause) }

// comeTogether has a nested stack looked at after a decision by which its operation may have come to what its parent
// waits for.
func (m *machine) comeTogether() {
	before := &m.view.Operation
	if m.op.Parent == nil {
		return
	}
	if before.Number == m.op.Number && before.Phase == m.op.Phase && before.Held == m.op.Held && before.Parent == m.op.Parent {
		return
	}
	m.attend = append(m.attend, m.stack.ID)
}

// hold keeps the operation at the beginning of its clean-up, until its parent lets it go on, or back. Nothing has been
// deleted then: what was replaced, or removed, is still there.
func (m *machine) hold() {
	m.op.Held = true
	m.working(+1)
}

func (m *machine) unhold() {
	m.op.Held = false
	m.working(-1)
}

// noteForParent notes why the operation of a nested stack has failed, for its parent to tell.
func (m *machine) noteForParent(phase store.Phase, reason string) {
	if m.op.Parent == nil || reason == "" || phase == store.PhaseApply {
		return
	}
	row := *m.op.Parent
	row.Reason = reason
	m.op.Parent, m.opChanged = &row, true
}

// parentGoesBack is why a nested stack is rolled back that has done nothing wrong.
const parentGoesBack = "The update of the parent stack is rolled back."

// leavePreparing gives up a new try whose macros are running, because its parent goes back: what it has to go back from is what
// the try before has left.
func (m *machine) leavePreparing(n *nesting) error {
	if m.op.Phase == store.PhasePrepare && m.op.Anew && m.of(n) {
		m.unprepared(parentGoesBack)
	}
	return nil
}

// startUndo decides to take back what the stack did for its parent, up to the clean-up. It returns false if there is
// nothing to take back.
func (m *machine) startUndo(n *nesting, skip []string, force bool) (bool, error) {
	switch {
	case !m.stack.Live || !m.of(n) || m.op.Kind != store.KindUpdate:
		return false, nil
	case m.askedBefore(n):
		return true, nil
	}
	switch m.op.Phase {
	case store.PhasePrepare, store.PhaseApply:
		m.adopt(n)
		m.cancelRunning()
		m.withdrawMacros("")
		m.beginRevert(parentGoesBack)
		return true, m.run()
	case store.PhaseCleanup:
		if !m.op.Held {
			return false, nil // it is past that
		}
		m.adopt(n)
		m.unhold()
		m.beginRevert(parentGoesBack)
		return true, m.run()
	case store.PhaseRevert, store.PhaseRevertCleanup:
		m.adopt(n)
		return true, nil
	case store.PhaseRevertFailed:
		in := ContinueRollback{Force: force, nested: n}
		for _, name := range skip {
			in.Skip = append(in.Skip, wire.LogicalID(name))
		}
		if force {
			in.Skip = nil
		}
		return true, m.startContinue(&in)
	case store.PhaseFailed:
		op := store.Operation{Call: store.CallRollback, Parent: n.row()}
		return true, m.rollBack(op, "", skipsNone, nil)
	case store.PhaseSucceeded, store.PhaseReverted:
	}
	return false, nil
}

// startRelease lets the stack go on with the clean-up at which it is held. It returns false if it is not.
func (m *machine) startRelease(n *nesting) (bool, error) {
	switch {
	case !m.of(n):
		return false, nil
	case m.askedBefore(n):
		return true, nil
	case !m.op.Held:
		return false, nil
	}
	m.adopt(n)
	m.unhold()
	m.beginCleanup()
	return true, m.run()
}

// leaveHeld ends an operation that is held where it is, because its parent was left so, and has begun another one, or does
// not want the stack any more. What is to be cleaned up is then found by what comes next.
func (m *machine) leaveHeld(n *nesting) error {
	if !m.op.Held || !m.of(n) || m.op.Parent.Operation == n.parent.Operation && n.parent.Aim != store.AimRemove {
		return nil
	}
	phase := store.PhaseFailed
	if m.op.Phase == store.PhaseRevertCleanup {
		phase = store.PhaseRevertFailed
	}
	m.unhold()
	m.end(phase, "The update of the parent stack failed.")
	return nil
}

// startRemove decides to delete the stack. A delete that a client has begun is the parent's from now on; what the stack does
// for its parent comes to rest first.
func (m *machine) startRemove(n *nesting, in *DeleteStack) error {
	switch {
	case !m.stack.Live, m.askedBefore(n) && m.op.Kind == store.KindDelete:
		return nil
	case m.op.Kind == store.KindDelete && !m.op.Phase.Final():
		m.adopt(n)
		return nil
	case m.of(n) && !m.op.Phase.Final():
		m.adopt(n)
		return m.abort(n.parent.Request)
	}
	in.nested = n
	return m.startDelete(in)
}

// abort gives up what the stack is doing for a request that was cancelled: an update is rolled back, and what a create has
// made is left to its parent.
func (m *machine) abort(request wire.RequestID) error {
	if m.op.Parent == nil || m.op.Parent.Request != request {
		return nil
	}
	switch m.op.Phase {
	case store.PhaseApply:
	case store.PhasePrepare:
		m.unprepared(m.dialect.texts().stackCancelled)
		return m.run()
	case store.PhaseCleanup, store.PhaseRevert, store.PhaseRevertCleanup, store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted,
		store.PhaseRevertFailed:
		return nil
	}
	switch m.op.Kind {
	case store.KindUpdate:
		m.cancelRunning()
		m.beginRevert(m.dialect.texts().stackCancelled)
	case store.KindCreate:
		m.cancelRunning()
	case store.KindDelete, store.KindReview, store.KindImport:
		return nil
	}
	return m.run()
}

// forsake ends by itself what the stack is doing for a request that nobody waits for any more: it is one that was begun
// too late, by a node that had been taken for dead. There is nothing of it to be kept.
func (m *machine) forsake(request wire.RequestID) error {
	if m.op.Parent == nil || m.op.Parent.Request != request || m.op.Phase.Final() {
		return nil
	}
	held := m.op.Held
	m.op.Parent, m.opChanged = nil, true
	if held {
		m.unhold()
	}
	m.op.DisableRollback, m.op.DeleteOnFailure = false, m.op.Kind == store.KindCreate
	switch {
	case m.op.Phase == store.PhasePrepare:
		m.unprepared(parentGoesBack)
	case m.op.Kind == store.KindCreate && m.op.Phase == store.PhaseApply:
		m.cancelRunning()
	case m.op.Kind == store.KindUpdate && m.op.Phase == store.PhaseApply:
		m.cancelRunning()
		m.beginRevert(parentGoesBack)
	case held && m.op.Phase == store.PhaseCleanup:
		m.beginRevert(parentGoesBack)
	case held:
		m.beginCleanup()
	}
	return m.run()
}

// cameTo says what the operation of a nested stack has come to for the request that waits for it; false if to nothing yet.
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
			return Outcome{}, false // that is still to come
		}
		if final && op.Phase != store.PhaseSucceeded {
			outcome.Text = embedded(stack, "deleted") + op.Parent.Reason
		}
		return outcome, final
	}
	return outcome, true
}

// embedded begins the reason of a failure of a nested stack. Source: reasons of nested stacks in the wild.
func embedded(stack *store.Stack, what string) string {
	if dialectOf(stack) == ROS {
		return "The nested stack " + stack.Name + " (" + string(stack.ID) + ") was not successfully " + what + ": "
	}
	return "Embedded stack " + string(stack.ID) + " was not successfully " + what + ": "
}

// backward is the reason of an update that is, or was, taken back.
func backward(stack *store.Stack, op *store.Operation) string {
	return strings.TrimSuffix(embedded(stack, "updated"), ": ") + ". Currently in " +
		dialectOf(stack).StackStatus(op.Kind, op.Phase) + " with reason: " + op.Parent.Reason
}

// outputsOf returns the outputs of a nested stack as attributes of its parent's resource. What is secret stays so.
func outputsOf(stack *store.Stack) value.Value {
	var members []value.Member
	for _, o := range stack.OutputValues.Members() {
		members = append(members, value.Member{Key: native.OutputPrefix + o.Key, Value: o.Value})
	}
	return value.Object(members...)
}
