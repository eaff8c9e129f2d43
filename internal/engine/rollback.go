package engine

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ContinueRollback is what it takes to go on with the rollback of an update.
type ContinueRollback struct {
	Stack Ref
	Token string
	// RoleARN is kept with the stack; empty leaves the one it has.
	RoleARN string
	// Skip are resources to be taken as rolled back without a call: their rollback has failed. Force takes all of those so,
	// and whichever fails from now on. Only one of the two may be given.
	Skip  []wire.LogicalID
	Force bool

	// nested says for which request of which parent; nil for none.
	nested *nesting
}

// startContinue decides to go on with a rollback that failed. Everything is looked at again: what is as it was needs no
// call, and what failed, or had to wait for what failed, gets one.
func (m *machine) startContinue(in *ContinueRollback) error {
	if again, err := m.repeated(in.Token, store.CallContinue); again || err != nil {
		return err
	}
	imports := m.stack.Kind == store.KindImport && m.op.From != 0
	if m.stack.Kind != store.KindUpdate && !imports || m.stack.Phase != store.PhaseRevertFailed {
		return invalid("RollbackUpdatedStack cannot be called from current stack status") // the call's old name
	}
	own, within, unknown := m.within(in.Skip)
	if err := m.checkSkipping(in, own, unknown); err != nil {
		return err
	}
	skip := func(i *store.Instance) bool {
		return i.Stuck && (in.Force || slices.Contains(own, i.Logical))
	}
	op := store.Operation{
		Call: store.CallContinue, Token: in.Token, Force: in.Force, RetainExceptOnCreate: m.op.RetainExceptOnCreate,
		Parent: in.nested.row(),
	}
	return m.rollBack(op, in.RoleARN, skip, within)
}

// RollbackStack is what it takes to roll back a stack that was left as it was when it failed.
type RollbackStack struct {
	Stack Ref
	Token string
	// RoleARN is kept with the stack; empty leaves the one it has.
	RoleARN string
	// RetainExceptOnCreate deletes what was created since the stack last stood, though its policy is Retain.
	RetainExceptOnCreate bool
}

// startRollback decides to roll back a create or an update that failed and was left.
func (m *machine) startRollback(in *RollbackStack) error {
	if again, err := m.repeated(in.Token, store.CallRollback); again || err != nil {
		return err
	}
	if m.stack.Kind == store.KindDelete || m.stack.Phase != store.PhaseFailed {
		return invalid("RollbackStack cannot be called from current stack status")
	}
	op := store.Operation{Call: store.CallRollback, Token: in.Token, RetainExceptOnCreate: in.RetainExceptOnCreate}
	return m.rollBack(op, in.RoleARN, skipsNone, nil)
}

func skipsNone(*store.Instance) bool { return false }

// rollBack begins an operation that undoes the one before. The steps of that one are gone, and with them what it touched,
// so every resource is looked at. within are resources of nested stacks that are to be skipped there.
func (m *machine) rollBack(
	op store.Operation, role string, skip func(*store.Instance) bool, within map[wire.LogicalID][]string,
) error {
	op.Kind, op.From, op.To, op.Tried, op.Import = m.op.Kind, m.op.From, m.op.To, m.op.Tried, m.op.Import
	if op.From == 0 {
		op.Kind = store.KindCreate // the stack never stood: there is nothing to go back to
	}
	candidates, err := m.between(&op)
	if err != nil {
		return err
	}
	if role != "" {
		m.stack.RoleARN = role
	}
	m.open(store.PhaseRevert, op)
	if err := m.layOut(candidates); err != nil {
		return err
	}
	m.setOutRevert()
	m.lookAtAll()
	for _, s := range m.sortedSteps() {
		if i := m.current(s.Logical); i != nil {
			s.Skip, s.Within = skip(i), within[s.Logical]
		}
	}
	return m.run()
}

// between makes the plan of an operation from its From, maybe nothing, to its To.
func (m *machine) between(op *store.Operation) ([]plan.Candidate, error) {
	to, err := m.side(op.To)
	if err != nil {
		return nil, err
	}
	tried, err := m.sides(op.Tried)
	if err != nil {
		return nil, err
	}
	if op.From == 0 {
		return plan.Retry(nil, to, tried)
	}
	from, err := m.side(op.From)
	if err != nil {
		return nil, err
	}
	return plan.Retry(&from, to, tried)
}

func (m *machine) checkSkipping(in *ContinueRollback, own []wire.LogicalID, wrong []string) error {
	if in.Force && len(in.Skip) > 0 {
		return invalid("You can specify either ForceRollback or ResourcesToSkip, but not both")
	}
	for _, logical := range own {
		if i := m.current(logical); i == nil || !i.Stuck {
			wrong = append(wrong, string(logical))
		}
	}
	if wrong == nil {
		return nil
	}
	return invalid("ResourcesToSkip: [" + strings.Join(wrong, ", ") + "] cannot be skipped. Specify only resources that are in " +
		"the UPDATE_FAILED state because their rollback failed.")
}

// assume takes a resource as rolled back without a call, because the client wants the rollback to go on. From then on the
// stack goes by the old declaration, whatever the resource really is.
func (m *machine) assume(s *store.Step, i *store.Instance) error {
	declared, err := declaration(s.Plan.Old)
	if err != nil {
		return err
	}
	properties, metadata, ask, problem, err := m.resolve(declared, m.op.From)
	if err != nil {
		return err
	}
	if problem == "" { // else nothing better is known than what it had
		i.Body.Properties, i.Body.Timeout, i.Body.Metadata = ask.properties, ask.timeout, metadata
	}
	i.Body.Attempted, i.Body.Back = value.Value{}, false
	m.changeBody(i)
	m.resourceEvent(i, store.VerbUpdate, store.ProgressSucceeded, "", properties, false)
	m.done(s)
	return nil
}
