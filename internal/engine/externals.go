package engine

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// fetch reads what the template of a revision imports, and the outputs of other stacks that it asks for, and freezes it in
// the revision. What is not there is no error: the operation that goes to the revision begins, and fails with missing.
func (m *machine) fetch(t *template.Template, scope *template.Scope, revision *store.Revision) error {
	m.missing = ""
	wanted, err := t.Wanted(scope)
	if err != nil {
		return refused(m.dialect, err)
	}
	known, err := m.exports(wanted.Imports)
	if err != nil {
		return err
	}
	outside := scope.Outside
	outside.Imports = make(map[string]value.Value, len(wanted.Imports))
	for _, name := range wanted.Imports {
		switch e := known[name]; e.Stack {
		case 0:
			m.lacks(template.NoExport(name))
		case m.stack.Key:
			m.lacks(template.NoExport(name) + " but by the stack itself, which cannot import it")
		default:
			outside.Imports[name] = e.Value
		}
	}
	if outside.StackOutputs, err = m.stackOutputs(wanted.StackOutputs); err != nil {
		return err
	}
	scope.Outside, revision.Outside = outside, outside.Value()
	return nil
}

// lacks notes why an operation cannot go on from its beginning: the first reason counts.
func (m *machine) lacks(reason string) {
	if m.missing == "" {
		m.missing = reason
	}
}

// exports returns what is known of the names of exports.
func (m *machine) exports(names []string) (map[string]store.Exported, error) {
	var unknown []string
	for _, name := range names {
		if _, ok := m.view.Exports[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return nil, &store.More{Exports: unknown}
	}
	return m.view.Exports, nil
}

// stackOutputs returns outputs of other stacks of the account, by their keys.
func (m *machine) stackOutputs(wanted []template.StackOutput) (map[string]value.Value, error) {
	named := func(o template.StackOutput) store.StackName {
		return store.StackName{Account: m.stack.Account, Region: o.Region, Name: o.Stack}
	}
	var unknown []store.StackName
	for _, o := range wanted {
		if _, ok := m.view.Others[named(o)]; !ok && !slices.Contains(unknown, named(o)) {
			unknown = append(unknown, named(o))
		}
	}
	if unknown != nil {
		return nil, &store.More{Others: unknown}
	}
	found := make(map[string]value.Value, len(wanted))
	for _, o := range wanted {
		if elsewhere(o.RoleARN, m.stack.Account) {
			m.lacks("Fn::GetStackOutput with the RoleArn " + o.RoleARN + ": only stacks of the account " + m.stack.Account + " can be read")
			continue
		}
		other := m.view.Others[named(o)]
		v, ok := other.OutputValues.Get(o.Output)
		switch {
		case o.Optional && (!settled(&other) || other.Key == m.stack.Key):
		case ok:
			found[o.Key()] = v
		case !o.Optional:
			m.lacks(template.NoStackOutput(o))
		}
	}
	return found, nil
}

// settled reports whether a stack is as its last operation left it. Source: ROS, Fn::GetStackOutput, which has no value of other stacks.
func settled(s *store.Stack) bool {
	return s.Phase.Final() && (s.Kind != store.KindDelete || s.Phase == store.PhaseSucceeded)
}

// elsewhere reports whether a role, if there is one, is of another account.
func elsewhere(role, account string) bool {
	fields := strings.Split(role, ":")
	return role != "" && (len(fields) < 6 || fields[4] != account)
}

// beginOrFail begins the apply phase of an operation that was opened, or ends it at once if something is missing from outside.
func (m *machine) beginOrFail(candidates []plan.Candidate) error {
	if m.missing == "" {
		return m.proceed(candidates)
	}
	if err := m.layOut(candidates); err != nil {
		return err
	}
	m.applyFailed(m.dialect.texts().outputFailed(&m.op, m.presentable(m.missing), m.sequel()))
	return m.run()
}

// importsOf returns the names that revisions import, sorted.
func (m *machine) importsOf(revisions ...int) []string {
	names := []string{}
	for _, number := range revisions {
		revision := m.view.Revisions[number]
		for name := range template.NewOutside(revision.Outside).Imports {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tried are the revisions that an operation goes by, or may go back to.
func tried(op *store.Operation) []int { return append([]int{op.From, op.To}, op.Tried...) }

// holdImports keeps what an operation may have to go by, or to go back to, from being changed while it runs. It lets go of
// what an operation before, which was left as it failed, has held.
func (m *machine) holdImports(op *store.Operation) {
	names := m.importsOf(tried(op)...)
	if before := m.importsOf(tried(&m.view.Operation)...); len(names)+len(before) > 0 {
		m.delta.Imports = &names
	}
}

// settleImports lets go of what the operation has held and the stack, as it is now, does not go by. One that was left as it
// failed may go anywhere yet.
func (m *machine) settleImports() {
	gone := m.op.Kind == store.KindDelete && m.op.Phase == store.PhaseSucceeded
	if !gone && len(m.importsOf(tried(&m.op)...)) == 0 {
		return
	}
	names := []string{}
	switch m.op.Phase {
	case store.PhaseSucceeded:
		if !gone {
			names = m.importsOf(m.op.To)
		}
	case store.PhaseReverted:
		if m.op.Kind == store.KindUpdate {
			names = m.importsOf(m.op.From)
		}
	case store.PhasePrepare, store.PhaseApply, store.PhaseCleanup, store.PhaseRevert, store.PhaseRevertCleanup, store.PhaseFailed,
		store.PhaseRevertFailed:
		return
	}
	m.delta.Imports = &names
}

// export decides what the stack exports with new outputs. problem says why it cannot.
func (m *machine) export(outputs []template.Output) (problem string, err error) {
	var rows []store.Export
	after := make(map[string]value.Value)
	var names []string
	for _, o := range outputs {
		if o.ExportName == "" {
			continue
		}
		if _, twice := after[o.ExportName]; twice {
			return m.dialect.texts().exportTaken(o.ExportName, m.stack.Name), nil
		}
		after[o.ExportName] = o.Value
		rows, names = append(rows, store.Export{Name: o.ExportName, Output: o.Key}), append(names, o.ExportName)
	}
	before := m.ownExports()
	if len(names)+len(before) == 0 {
		return "", nil
	}
	known, err := m.exports(append(slices.Clip(names), before...))
	if err != nil {
		return "", err
	}
	for _, name := range append(names, before...) {
		e := known[name]
		v, stays := after[name]
		switch {
		case e.Stack == 0:
		case e.Stack != m.stack.Key && stays:
			return m.dialect.texts().exportTaken(name, e.StackName), nil
		case e.Stack != m.stack.Key || len(e.Importers) == 0:
		case !stays:
			return m.dialect.texts().exportDropped(name, e.Importers), nil
		case !v.Equal(e.Value):
			return m.dialect.texts().exportChanged(name, e.Importers), nil
		}
	}
	m.delta.Exports = &rows
	return "", nil
}

// ownExports returns the names that the stack's outputs export; of two stacks that have done so since before names were
// looked at, one does not have them.
func (m *machine) ownExports() []string {
	var names []string
	for _, o := range m.stack.Outputs {
		if o.ExportName != "" && !slices.Contains(names, o.ExportName) {
			names = append(names, o.ExportName)
		}
	}
	return names
}

// endExports ends all that the stack exports, as it is to be deleted. inUse says why it cannot, "" if it can.
func (m *machine) endExports() (inUse string, err error) {
	names := m.ownExports()
	if len(names) == 0 {
		return "", nil
	}
	known, err := m.exports(names)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if e := known[name]; e.Stack == m.stack.Key && len(e.Importers) > 0 {
			return m.dialect.texts().deleteCancelled(name, e.Importers), nil
		}
	}
	m.delta.Exports = &[]store.Export{}
	return "", nil
}

// cancelDelete refuses a delete. The real service takes the call, and says so by an event in which nothing changes: who waits
// for the delete to end waits for ever. A parent must not, and who deletes what is unclaimed does so again and again.
func (m *machine) cancelDelete(in *DeleteStack, reason string) error {
	if m.fidelity != FidelityAWS || in.nested != nil || in.unclaimed {
		return invalid(reason)
	}
	ended := m.op.Ended
	m.stackEvent(m.op.Phase, reason)
	m.op.Ended = ended
	return nil
}
