package engine

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// crossStack resolves references between stacks: exports, imports and outputs of other stacks.
type crossStack struct{ *decision }

// resolve reads the imports of a revision's template, and the outputs of other stacks that it refers to, and freezes
// them in the revision. A missing value is not an error here. The operation that uses the revision starts, and fails
// because of the missing value.
func (d crossStack) resolve(t *template.Template, scope *template.Scope, revision *store.Revision) error {
	d.missing = ""
	wanted, err := t.Wanted(scope)
	if err != nil {
		return refused(d.dialect, err)
	}
	known, err := d.exports(wanted.Imports)
	if err != nil {
		return err
	}
	outside := scope.Outside
	outside.Imports = make(map[string]value.Value, len(wanted.Imports))
	for _, name := range wanted.Imports {
		switch e := known[name]; e.Stack {
		case 0:
			d.lack(template.NoExport(name))
		case d.stack.Key:
			d.lack(template.NoExport(name) + " but by the stack itself, which cannot import it")
		default:
			outside.Imports[name] = e.Value
		}
	}
	if outside.StackOutputs, err = d.outputs(wanted.StackOutputs); err != nil {
		return err
	}
	scope.Outside, revision.Outside = outside, outside.Value()
	return nil
}

// lack records the reason why an operation fails at its start. Only the first reason counts.
func (d crossStack) lack(reason string) {
	if d.missing == "" {
		d.missing = reason
	}
}

// exports returns the stored exports with the given names.
func (d crossStack) exports(names []string) (map[string]store.Exported, error) {
	var unknown []string
	for _, name := range names {
		if _, ok := d.view.Exports[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return nil, &store.More{Exports: unknown}
	}
	return d.view.Exports, nil
}

// outputs returns outputs of other stacks of the account, by their keys.
func (d crossStack) outputs(wanted []template.StackOutput) (map[string]value.Value, error) {
	named := func(o template.StackOutput) store.StackName {
		return store.StackName{Account: d.stack.Account, Region: o.Region, Name: o.Stack}
	}
	var unknown []store.StackName
	for _, o := range wanted {
		if _, ok := d.view.Others[named(o)]; !ok && !slices.Contains(unknown, named(o)) {
			unknown = append(unknown, named(o))
		}
	}
	if unknown != nil {
		return nil, &store.More{Others: unknown}
	}
	found := make(map[string]value.Value, len(wanted))
	for _, o := range wanted {
		if elsewhere(o.RoleARN, d.stack.Account) {
			d.lack("Fn::GetStackOutput with the RoleArn " + o.RoleARN + ": only stacks of the account " + d.stack.Account + " can be read")
			continue
		}
		other := d.view.Others[named(o)]
		v, ok := other.OutputValues.Get(o.Output)
		switch {
		case o.Optional && (!settled(&other) || other.Key == d.stack.Key):
		case ok:
			found[o.Key()] = v
		case !o.Optional:
			d.lack(template.NoStackOutput(o))
		}
	}
	return found, nil
}

// settled reports whether a stack's last operation has finished; a failed delete has not. Source: ROS,
// Fn::GetStackOutput, which returns no value for unsettled stacks.
func settled(s *store.Stack) bool {
	return s.Phase.Final() && (s.Kind != store.KindDelete || s.Phase == store.PhaseSucceeded)
}

// elsewhere reports whether a role is set and belongs to another account.
func elsewhere(role, account string) bool {
	fields := strings.Split(role, ":")
	return role != "" && (len(fields) < 6 || fields[4] != account)
}

// importsOf returns the names that revisions import, sorted.
func (d crossStack) importsOf(revisions ...int) []string {
	names := []string{}
	for _, number := range revisions {
		revision := d.view.Revisions[number]
		for name := range template.NewOutside(revision.Outside).Imports {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// holdImports protects the imported values that an operation uses, or may roll back to, against changes while it
// runs. It releases the values that an earlier failed operation held.
func (d crossStack) holdImports(op *store.Operation) {
	names := d.importsOf(tried(op)...)
	if before := d.importsOf(tried(&d.view.Operation)...); len(names)+len(before) > 0 {
		d.delta.Imports = &names
	}
}

// releaseImports releases the imports that the operation held and the stack no longer uses. A failed operation
// without a rollback keeps all of them, because the stack may still use either revision.
func (d crossStack) releaseImports() {
	gone := d.op.Kind == store.KindDelete && d.op.Phase == store.PhaseSucceeded
	if !gone && len(d.importsOf(tried(&d.op)...)) == 0 {
		return
	}
	names := []string{}
	switch d.op.Phase {
	case store.PhaseSucceeded:
		if !gone {
			names = d.importsOf(d.op.To)
		}
	case store.PhaseReverted:
		if d.op.Kind == store.KindUpdate {
			names = d.importsOf(d.op.From)
		}
	case store.PhasePrepare, store.PhaseApply, store.PhaseCleanup, store.PhaseRevert, store.PhaseRevertCleanup, store.PhaseFailed,
		store.PhaseRevertFailed:
		return
	}
	d.delta.Imports = &names
}

// export determines the exports of the stack from new outputs. problem is the reason why it cannot export them.
func (d crossStack) export(outputs []template.Output) (problem string, err error) {
	var rows []store.Export
	after := make(map[string]value.Value)
	var names []string
	for _, o := range outputs {
		if o.ExportName == "" {
			continue
		}
		if _, twice := after[o.ExportName]; twice {
			return d.dialect.texts().exportTaken(o.ExportName, d.stack.Name), nil
		}
		after[o.ExportName] = o.Value
		rows, names = append(rows, store.Export{Name: o.ExportName, Output: o.Key}), append(names, o.ExportName)
	}
	before := d.ownExports()
	if len(names)+len(before) == 0 {
		return "", nil
	}
	known, err := d.exports(append(slices.Clip(names), before...))
	if err != nil {
		return "", err
	}
	for _, name := range append(names, before...) {
		e := known[name]
		v, stays := after[name]
		switch {
		case e.Stack == 0:
		case e.Stack != d.stack.Key && stays:
			return d.dialect.texts().exportTaken(name, e.StackName), nil
		case e.Stack != d.stack.Key || len(e.Importers) == 0:
		case !stays:
			return d.dialect.texts().exportDropped(name, e.Importers), nil
		case !v.Equal(e.Value):
			return d.dialect.texts().exportChanged(name, e.Importers), nil
		}
	}
	d.delta.Exports = &rows
	return "", nil
}

// ownExports returns the export names in the stack's outputs. Old versions did not check names, so another stack may
// own one of them.
func (d crossStack) ownExports() []string {
	var names []string
	for _, o := range d.stack.Outputs {
		if o.ExportName != "" && !slices.Contains(names, o.ExportName) {
			names = append(names, o.ExportName)
		}
	}
	return names
}

// endExports ends the exports of a stack that is being deleted. inUse is the reason why it cannot, or "".
func (d crossStack) endExports() (inUse string, err error) {
	names := d.ownExports()
	if len(names) == 0 {
		return "", nil
	}
	known, err := d.exports(names)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if e := known[name]; e.Stack == d.stack.Key && len(e.Importers) > 0 {
			return d.dialect.texts().deleteCancelled(name, e.Importers), nil
		}
	}
	d.delta.Exports = &[]store.Export{}
	return "", nil
}
