package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// operation opens, fails and ends operations.
type operation struct{ *decision }

// open starts an operation in its first phase. op contains the request.
func (d operation) open(phase store.Phase, op store.Operation) {
	op.Stack, op.Number, op.ID, op.Instances = d.stack.Key, d.stack.Operation+1, d.newID(), d.op.Instances
	op.Stood = d.op.Instances
	if goesOn := op.Call == store.CallContinue || op.Call == store.CallRollback; goesOn || len(op.Tried) > 0 {
		op.Stood = d.op.Stood
	}
	op.Started, op.Earliest = d.now, d.now
	op.Trace = cmp.Or(d.trace, d.op.Trace) // a follow-up operation inherits the trace
	d.op = op
	if last := d.view.Operation.Latest; !d.now.After(last) {
		d.op.Earliest = last.Add(time.Millisecond)
	}
	d.stack.Operation = d.op.Number
	if d.executing == "" {
		d.stack.ChangeSet = ""
	}
	if op.Parent != nil {
		timers(d).tie()
	}
	tokens(d).remember(op.Token, op.Call, op.ID)
	d.stackEvent(phase, d.dialect.texts().begun(op.Kind, phase))
}

// begin starts the apply phase of an opened operation, or fails it at once if an external value is missing.
func (d operation) begin(candidates []plan.Candidate) error {
	if d.missing == "" {
		return d.proceed(candidates)
	}
	if err := scheduler(d).addSteps(candidates); err != nil {
		return err
	}
	d.fail(d.dialect.texts().outputFailed(&d.op, d.presentable(d.missing), d.onFailure()))
	return scheduler(d).run()
}

// proceed turns the candidates into steps and starts the first of them.
func (d operation) proceed(candidates []plan.Candidate) error {
	if err := scheduler(d).addSteps(candidates); err != nil {
		return err
	}
	phases(d).beginApply()
	if err := removal(d).checkPolicy(); err != nil {
		return err
	}
	return scheduler(d).run()
}

// onFailure returns the action after a create or an update fails.
func (d operation) onFailure() failureAction {
	switch {
	case d.op.DisableRollback:
		return keepFailed
	case d.op.Parent != nil && d.op.Kind == store.KindCreate:
		return keepFailed // its parent deletes it, or keeps it
	case d.op.DeleteOnFailure:
		return deleteStack
	}
	return rollBack
}

// fail ends the apply phase of a create or an update that failed.
func (d operation) fail(reason string) {
	timers(d).stop()
	switch d.onFailure() {
	case keepFailed:
		d.end(store.PhaseFailed, reason)
	case rollBack:
		phases(d).beginRollback(reason)
	case deleteStack:
		phases(d).beginDelete(reason)
	}
}

func (d operation) failed() bool {
	return len(d.op.FailedCreates)+len(d.op.FailedUpdates)+len(d.op.FailedDeletes) > 0
}

// firstFailure returns the resource that failed first in the phase. The view is whole.
func (d operation) firstFailure() failed {
	var first *store.Instance
	for _, logical := range slices.Concat(d.op.FailedCreates, d.op.FailedUpdates, d.op.FailedDeletes) {
		for _, number := range d.numbers[logical] {
			i := d.instances[number]
			left := i.Role == store.RoleOrphan || i.Changed.Before(d.op.Earliest) // by an earlier operation
			if !left && i.Progress == store.ProgressFailed && (first == nil || i.Changed.Before(first.Changed)) {
				first = i
			}
		}
	}
	if first == nil {
		return failed{}
	}
	return failed{first.Verb, first.Reason}
}

// deletesFailedCreate reports whether the operation is a create that became a delete.
func (d operation) deletesFailedCreate() bool {
	return d.op.Kind == store.KindDelete && d.op.Call == store.CallCreate
}

func (d operation) orphanedReason() string {
	if d.op.Orphaned {
		return d.dialect.texts().orphaned
	}
	return ""
}

// end ends the operation.
func (d operation) end(phase store.Phase, reason string) {
	d.stackEvent(phase, reason)
	crossStack(d).releaseImports()
	d.delta.DropSteps = true
	clear(d.steps)
	clear(d.changedSteps)
}

// publish resolves the outputs of a revision. If that fails, problem is the reason and the previous outputs stay.
func (d operation) publish(revision int) (problem string, err error) {
	t, err := d.template(revision)
	if err != nil {
		return "", err
	}
	scope, err := d.scope(revision)
	if err != nil {
		return "", err
	}
	outputs, failure := t.EvaluateOutputs(scope, attributes{d.decision})
	if failure != nil {
		return d.presentable(failure.Error()), nil
	}
	if problem, err := crossStack(d).export(outputs); err != nil || problem != "" {
		return problem, err
	}
	d.stack.Outputs, d.stack.OutputValues = outputRows(outputs)
	d.stack.Description, d.stack.Published, d.stackChanged = t.Description, revision, true
	return "", nil
}

func outputRows(outputs []template.Output) ([]store.Output, value.Value) {
	rows := make([]store.Output, len(outputs))
	members := make([]value.Member, len(outputs))
	for i, o := range outputs {
		rows[i] = store.Output{Key: o.Key, Description: o.Description, ExportName: o.ExportName}
		members[i] = value.Member{Key: o.Key, Value: o.Value}
	}
	return rows, value.Object(members...)
}
