package engine

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// An update of a stack that was left as it failed tries again. Its plan comes from where the stack last stood, and what the
// operations in between have made of the stack is to be found in the instances.

// stillTried returns those of an operation's tried revisions that it has to know: the newest, and those that alone declare
// something that is there. However often a stack is tried again, there are no more of them than resources.
func (m *machine) stillTried(op *store.Operation) ([]int, error) {
	declared := set[wire.LogicalID]{}
	for _, number := range []int{op.From, op.To} {
		ids, err := m.declares(number)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			declared.add(id)
		}
	}
	var still []int
	for i, number := range op.Tried {
		ids, err := m.declares(number)
		if err != nil {
			return nil, err
		}
		alone := func(id wire.LogicalID) bool {
			return !declared[id] && (m.current(id) != nil || len(m.condemned(id)) > 0)
		}
		if i > 0 && !slices.ContainsFunc(ids, alone) {
			continue
		}
		still = append(still, number)
		for _, id := range ids {
			declared.add(id)
		}
	}
	return still, nil
}

// declares returns the resources of a revision; 0 is nothing and has none.
func (m *machine) declares(number int) ([]wire.LogicalID, error) {
	if number == 0 {
		return nil, nil
	}
	side, err := m.side(number)
	if err != nil {
		return nil, err
	}
	var ids []wire.LogicalID
	for _, r := range side.Template.Active(side.Scope) {
		ids = append(ids, wire.LogicalID(r.LogicalID))
	}
	return ids, nil
}

// checkTypes refuses to change the type of what an operation that failed has left.
func (m *machine) checkTypes(candidates []plan.Candidate) error {
	var changed []string
	for _, c := range candidates {
		i := m.current(wire.LogicalID(c.Logical))
		if c.New != nil && i != nil && !i.Unborn() && i.Body.Type != c.New.Type {
			changed = append(changed, c.Logical)
		}
	}
	if changed == nil {
		return nil
	}
	slices.Sort(changed)
	return &plan.TypeError{Resources: changed}
}

// keep leaves a resource as it is, for it is as it is to be.
func (m *machine) keep(s *store.Step, i *store.Instance, ask asked, metadata value.Value) error {
	properties := ask.properties
	denied, err := m.deniedReplacement(i)
	switch {
	case err != nil:
		return err
	case denied != "":
		m.touchForUpdate(s, i, properties)
		return m.fail(s, i, store.VerbUpdate, denied, properties)
	}
	told := i.Progress == store.ProgressFailed // an update that was left as it failed had something else in mind
	changed := !metadata.Equal(i.Body.Metadata)
	m.redeclare(i, ask, metadata)
	if changed {
		schema := m.native.Schema(i.Body.Type)
		told = told || schema != nil && !schema.Fixed
	}
	if told {
		m.touchForUpdate(s, i, properties)
		m.resourceEvent(i, store.VerbUpdate, store.ProgressSucceeded, "", properties, false)
	}
	m.done(s)
	return nil
}

// redeclare notes what a declaration says besides the properties that its provider is sent: of that nobody is told.
func (m *machine) redeclare(i *store.Instance, ask asked, metadata value.Value) {
	body := i.Body
	if m.native.Schema(body.Type) == nil && (body.Timeout != ask.timeout || !body.HTTPConfig.Equal(ask.httpConfig)) {
		body.Timeout, body.HTTPConfig = ask.timeout, ask.httpConfig
		m.changeBody(i)
	}
	if !metadata.Equal(body.Metadata) {
		body.Metadata = metadata
		m.changeBody(i)
	}
}

// discard deletes what a Create that failed has left, before the resource is created anew.
func (m *machine) discard(s *store.Step, i *store.Instance) error {
	s.Touched = true
	if i.Imported {
		m.letGo(i)
		return m.launch(s)
	}
	if !i.Reached {
		m.gone(i, false)
		return m.launch(s)
	}
	i.Role = store.RoleCondemned
	m.askDelete(s, i, false)
	return nil
}
