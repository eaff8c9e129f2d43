package engine

import (
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
	// Caller is who asks, as requests of ROS tell it.
	Caller string
	// Parallelism bounds how many resources are at work at once; 0 does not. Of ROS.
	Parallelism int

	// nested says for which request of which parent; nil for none. unclaimed says of a nested stack that no resource stands
	// for it.
	nested    *nesting
	unclaimed bool
}

// startDelete decides a delete. It returns nil, and starts nothing, if the stack is gone or going.
func (m *machine) startDelete(in *DeleteStack) error {
	if again, err := m.repeated(in.Token, store.CallDelete); again || err != nil {
		return err
	}
	if !m.stack.Live {
		return nil
	}
	if err := m.checkLeaving(in); err != nil {
		return err
	}
	switch {
	case m.op.Kind == store.KindDelete && !m.op.Phase.Final():
		return nil
	case m.op.Phase == store.PhasePrepare && m.op.Kind == store.KindCreate && !m.stack.TerminationProtection && m.op.Parent == nil:
		return m.deleteUnprepared(in)
	case !m.op.Phase.Final():
		return m.dialect.refusals().busy(&m.stack, &m.op, m.status(), "deleted")
	case m.stack.TerminationProtection:
		return m.dialect.refusals().protected(&m.stack)
	}
	if inUse, err := m.endExports(); err != nil {
		return err
	} else if inUse != "" {
		return m.cancelDelete(in, inUse)
	}
	others := m.others()
	numbers := append([]int{m.stack.Revision}, others...)
	if m.stack.Revision == 0 {
		numbers = others // a stack in review holds nothing
	}
	sides, err := m.sides(numbers)
	if err != nil {
		return err
	}
	var extra []string
	for _, number := range sortedKeys(m.instances) {
		if i := m.instances[number]; i.Role == store.RoleCurrent || i.Role == store.RoleCondemned {
			extra = append(extra, string(i.Logical))
		}
	}
	candidates, err := plan.Delete(sides, extra)
	if err != nil {
		return refused(m.dialect, err)
	}
	m.open(store.PhaseApply, store.Operation{
		Call: store.CallDelete, Kind: store.KindDelete, Token: in.Token, From: m.stack.Revision, Tried: others, Force: in.Force,
		Parent: in.nested.row(), Caller: in.Caller, Parallelism: in.Parallelism,
	})
	m.stack.Deleted = m.now
	if in.RoleARN != "" {
		m.stack.RoleARN = in.RoleARN
	}
	if err := m.layOut(candidates); err != nil {
		return err
	}
	for _, logical := range in.Retain {
		m.steps[logical].Skip = true
	}
	if in.RetainAll {
		for _, s := range m.steps {
			s.Skip = true
		}
	}
	m.beginApply()
	return m.run()
}

// deleteUnprepared makes a create whose macros are running a delete: there is nothing yet.
func (m *machine) deleteUnprepared(in *DeleteStack) error {
	m.withdrawMacros("")
	m.stopTimer()
	m.op.RollbackToken = in.Token
	if in.RoleARN != "" {
		m.stack.RoleARN = in.RoleARN
	}
	m.beginDiscard(m.dialect.texts().begun(store.KindDelete, store.PhaseApply))
	m.remember(in.Token, store.CallDelete, m.op.RollbackID)
	return m.run()
}

// checkLeaving refuses to leave resources behind unless a delete has failed at them.
func (m *machine) checkLeaving(in *DeleteStack) error {
	failed := m.stack.Kind == store.KindDelete && m.stack.Phase == store.PhaseFailed
	anyTime := m.dialect.rules().leavesAny
	switch {
	case len(in.Retain) > 0 && !failed && !anyTime:
		return invalid("Invalid operation on stack [" + string(m.stack.ID) + "]. When you delete a stack, " +
			"specify which resources to retain only when the stack is in the DELETE_FAILED state.")
	case in.Force && !failed:
		return invalid("Invalid operation on stack [" + string(m.stack.ID) + "]. You can activate DeletionMode " +
			"FORCE_DELETE_STACK in a delete stack operation only when the stack is in the DELETE_FAILED state.")
	}
	var gone []wire.LogicalID
	for _, logical := range in.Retain {
		if m.current(logical) == nil && len(m.condemned(logical)) == 0 {
			gone = append(gone, logical)
		}
	}
	switch {
	case gone == nil:
		return nil
	case anyTime:
		return noResource(gone, &m.stack)
	}
	return m.refusal("The specified resources to retain must be in a valid state. Do not specify resources that are in "+
		"the DELETE_COMPLETE state.", "There is nothing left of "+list(gone)+".")
}

// refusal is the service's text for what the client did wrong, followed by what we know besides.
func (m *machine) refusal(text, more string) error {
	if m.fidelity == FidelityAWS {
		return invalid(text)
	}
	return invalid(text + " " + more)
}

// others returns the revisions besides the one in force of which there may still be instances: those that operations went
// for, or came from, which neither got there nor back.
func (m *machine) others() []int {
	if m.op.Kind != store.KindDelete && (m.op.Phase == store.PhaseSucceeded || m.op.Phase == store.PhaseReverted) {
		return nil
	}
	var others []int
	for _, number := range append([]int{m.op.To, m.op.From}, m.op.Tried...) {
		if number != 0 && number != m.stack.Revision && !slices.Contains(others, number) {
			others = append(others, number)
		}
	}
	return others
}

// leftByOrder is why a resource was left that a delete was told to leave.
const leftByOrder = "the delete of the stack was told to leave it"

// leave takes all there is of a step's resource off the stack without a word to its provider.
func (m *machine) leave(s *store.Step) {
	left := m.condemned(s.Logical)
	if instance := m.current(s.Logical); instance != nil {
		instance.Shown = true
		left = append(left, instance)
	}
	for _, instance := range left {
		if instance.Reached {
			m.retain(instance, leftByOrder)
		} else {
			m.gone(instance, instance.Replaced)
		}
	}
	m.done(s)
}

// abandon gives up an instance whose Delete failed, so that the stack can go without it.
func (m *machine) abandon(i *store.Instance, reason string) {
	i.Role, i.Left = store.RoleOrphan, reason
	m.resourceEvent(i, store.VerbDelete, store.ProgressSkipped, m.dialect.texts().left(reason), i.Body.Properties, false)
}
