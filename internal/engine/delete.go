package engine

import (
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/store"
)

// DeleteStack is what it takes to delete a stack.
type DeleteStack struct {
	Stack Ref
	Token string
}

// startDelete decides a delete. It returns false if there is nothing to do.
func (m *machine) startDelete(in *DeleteStack) error {
	if again, err := m.repeated(in.Token, store.KindDelete); again || err != nil {
		return err
	}
	switch {
	case !m.stack.Live, m.op.Kind == store.KindDelete && !m.op.Phase.Final():
		return nil // it is gone, or going
	case !m.op.Phase.Final():
		return &Error{CodeOperationInProgress, "Stack:" + string(m.stack.ID) + " is in " +
			m.dialect.StackStatus(m.stack.Kind, m.stack.Phase) + " state and can not be deleted. " +
			"Wait until its operation has ended."}
	case m.stack.TerminationProtection:
		return invalid("Stack [" + m.stack.Name + "] cannot be deleted while TerminationProtection is enabled")
	}
	var sides []plan.Side
	leftover := m.leftover()
	for _, number := range []int{m.stack.Revision, leftover} {
		if number == 0 {
			continue
		}
		revision := m.view.Revisions[number]
		t, err := m.template(number)
		if err != nil {
			return err
		}
		sides = append(sides, plan.Side{Template: t, Scope: scopeOf(&m.stack, &revision)})
	}
	var extra []string
	for _, number := range sortedKeys(m.instances) {
		if i := m.instances[number]; i.Role == store.RoleCurrent || i.Role == store.RoleCondemned {
			extra = append(extra, string(i.Logical))
		}
	}
	candidates, err := plan.Delete(sides, extra)
	if err != nil {
		return refused(err)
	}
	m.open(store.KindDelete, in.Token, m.stack.Revision, leftover)
	m.stack.Deleted = m.now
	return m.proceed(candidates)
}

// leftover returns the revision besides the one in force from which there may still be instances: the other side of an
// update that neither got there nor back. A delete keeps it as its To, for the next delete if this one fails. 0 is none.
func (m *machine) leftover() int {
	switch {
	case m.op.Kind == store.KindDelete:
		return m.op.To
	case m.op.Kind == store.KindCreate || m.op.Phase == store.PhaseSucceeded || m.op.Phase == store.PhaseReverted:
		return 0
	case m.op.To == m.stack.Revision:
		return m.op.From
	}
	return m.op.To
}

