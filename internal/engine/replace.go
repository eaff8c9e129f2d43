package engine

import (
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// IDChange is what becomes of an answer to an Update that has another id than the resource, where that is no replacement. The set
// is closed.
type IDChange string

// The ways with such answers.
const (
	// IDChangeRefused takes it for a failure, which says so.
	IDChangeRefused IDChange = "refuse"
	// IDChangeIgnored takes the answer without its id.
	IDChangeIgnored IDChange = "ignore"
)

// replaces reports whether what cannot be updated is deleted and created anew: if the client wants that, and in any case when an
// update that did so is undone.
func (m *machine) replaces() bool {
	return m.dialect.rules().idsStay && (m.op.Replace || m.op.Phase == store.PhaseRevert)
}

// startOver deletes a resource that another one is to take the place of. Once it is gone the step is launched again, and creates
// that one. From then on there is no way back: whether the Delete succeeds or not, what undoes it deletes what there may be, and
// creates the resource anew. made is the declaration whose policy counts.
func (m *machine) startOver(s *store.Step, i *store.Instance, made []byte, properties value.Value) error {
	denied, err := m.denied(plan.ActionReplace, i)
	if err != nil {
		return err
	}
	if denied != "" {
		m.touchForUpdate(s, i, properties)
		return m.fail(s, i, store.VerbUpdate, m.failure(failedByPolicy, s.Logical, denied), properties)
	}
	policy, err := m.deletionPolicy(made)
	if err != nil {
		return err
	}
	s.Touched, s.Instance = true, i.Number
	m.changeStep(s)
	if policy == policyRetain {
		m.retain(i, leftByDeletionPolicy)
		return m.launch(s)
	}
	i.Role = store.RoleCondemned
	m.startedOver.add(i.Number)
	m.askDelete(s, i, false)
	return nil
}

// bringBack creates the resource of a step anew, from its old declaration, after what was to take its place has been deleted. i is
// what is left of that, or of the resource; nil if nothing is. What the stack stood without, since the failure of its Create was
// ignored, is not created now either.
func (m *machine) bringBack(s *store.Step, i *store.Instance) error {
	if i != nil {
		return m.discard(s, i)
	}
	if err := m.whole(); err != nil { // what is gone is in no other view
		return err
	}
	stood := m.stoodWith(s.Logical)
	switch {
	case stood == nil:
		m.done(s)
		return nil
	case stood.Role == store.RoleRetained: // it was to be replaced, and is still there
		stood.Role, stood.Left, stood.Shown = store.RoleCurrent, "", false
		m.changeInstance(stood)
		s.Touched = true
		return m.launch(s)
	}
	declared, err := declaration(s.Plan.Old)
	if err != nil {
		return err
	}
	properties, metadata, ask, problem, err := m.resolve(declared, m.op.From)
	if err != nil {
		return err
	}
	return m.create(s, properties, metadata, ask, problem)
}

// neverStood notes of an instance that the stack has never stood with it: no rollback has to bring it back.
func (m *machine) neverStood(i *store.Instance) {
	if i.Body.AnsweredBy != "" {
		i.Body.AnsweredBy = ""
		m.changeBody(i)
	}
}

// stoodWith returns the instance of a logical ID with which the stack last stood, nil if there was none: of those it is known who
// answered for them. The view is whole.
func (m *machine) stoodWith(logical wire.LogicalID) *store.Instance {
	var stood *store.Instance
	for _, number := range m.numbers[logical] {
		if i := m.instances[number]; number <= m.op.Stood {
			stood = i
		}
	}
	if stood != nil && stood.Body.AnsweredBy == "" {
		return nil
	}
	return stood
}

// checkTaint refuses to have resources created anew that are not there.
func (m *machine) checkTaint(named []wire.LogicalID, to plan.Side) error {
	var missing []wire.LogicalID
	for _, logical := range named {
		if to.Template.Resource(string(logical)) == nil {
			missing = append(missing, logical)
		}
	}
	if missing == nil {
		return nil
	}
	return noResource(missing, &m.stack)
}
