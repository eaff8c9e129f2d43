package engine

import (
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// endPhase is called when nothing is at work: it decides what the phase has come to and begins the next one, or ends
// the operation.
func (m *machine) endPhase() error {
	if err := m.whole(); err != nil {
		return err
	}
	words := m.dialect.texts()
	switch m.op.Phase {
	case store.PhaseApply:
		return m.endApply()
	case store.PhaseCleanup:
		m.end(store.PhaseSucceeded, m.orphanedReason())
	case store.PhaseRevert:
		if m.failed() {
			if !m.awaitCancelled() {
				m.end(store.PhaseRevertFailed, words.revertFailed(&m.op, m.firstFailure()))
			}
			return nil
		}
		if m.op.Kind == store.KindCreate {
			m.end(store.PhaseReverted, "")
			return nil
		}
		return m.endRevert()
	case store.PhaseRevertCleanup:
		m.end(store.PhaseReverted, m.orphanedReason())
	case store.PhasePrepare: // it ends when the last macro has returned
	case store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted, store.PhaseRevertFailed:
	}
	return nil
}

// endRevert goes on with the rollback of an update whose resources are what they were.
func (m *machine) endRevert() error {
	// What was brought back may have another id, or other attributes, than it had.
	problem, err := m.publish(m.op.From)
	if err != nil {
		return err
	}
	// A nested stack that was held has had its new outputs, and others may go by its exports since.
	if stands := m.stack.Published; problem != "" && stands != 0 && stands != m.op.From && !m.op.Force {
		m.end(store.PhaseRevertFailed, problem)
		return nil
	}
	m.cleanUp(store.PhaseRevertCleanup)
	return nil
}

func (m *machine) endApply() error {
	words := m.dialect.texts()
	if m.op.Kind == store.KindDelete {
		if m.failed() {
			if !m.awaitCancelled() {
				m.end(store.PhaseFailed, words.deleteFailed(&m.op, m.firstFailure()))
			}
			return nil
		}
		m.stack.Live, m.stack.ChangeSet = false, ""
		m.dropChangeSets("")
		m.abortExecutions()
		m.end(store.PhaseSucceeded, "")
		return nil
	}
	switch {
	case (m.failed() || m.op.Expired) && m.sequel() == isLeft && m.awaitCancelled():
		return nil
	case m.op.Expired:
		m.applyFailed(words.expired(&m.op, m.sequel()))
		return nil
	case m.failed():
		m.applyFailed(words.applyFailed(&m.op, m.sequel(), m.firstFailure()))
		return nil
	}
	problem, err := m.publish(m.op.To)
	switch {
	case err != nil:
		return err
	case problem != "":
		m.applyFailed(words.outputFailed(&m.op, problem, m.sequel()))
	case m.op.Kind == store.KindCreate && m.op.Tried == nil:
		m.stopTimer()
		m.end(store.PhaseSucceeded, "")
	default:
		m.stopTimer()
		m.cleanUp(store.PhaseCleanup)
	}
	return nil
}

// cleanUp moves to a clean-up. That of a nested stack begins when its parent says so.
func (m *machine) cleanUp(phase store.Phase) {
	m.stackEvent(phase, "")
	if m.op.Parent != nil {
		m.hold()
		return
	}
	m.beginCleanup()
}

// sequel says what becomes of a create or an update if it fails.
func (m *machine) sequel() sequel {
	switch {
	case m.op.DisableRollback:
		return isLeft
	case m.op.Parent != nil && m.op.Kind == store.KindCreate:
		return isLeft // its parent deletes it, or leaves it
	case m.op.DeleteOnFailure:
		return isDeleted
	}
	return isReverted
}

// applyFailed ends the apply phase of a create or an update that failed.
func (m *machine) applyFailed(reason string) {
	m.stopTimer()
	switch m.sequel() {
	case isLeft:
		m.end(store.PhaseFailed, reason)
	case isReverted:
		m.beginRevert(reason)
	case isDeleted:
		m.beginDiscard(reason)
	}
}

// firstFailure is what failed first in the phase, of the resources that have. The view is whole.
func (m *machine) firstFailure() failed {
	var first *store.Instance
	for _, logical := range slices.Concat(m.op.FailedCreates, m.op.FailedUpdates, m.op.FailedDeletes) {
		for _, number := range m.numbers[logical] {
			i := m.instances[number]
			left := i.Role == store.RoleOrphan || i.Changed.Before(m.op.Earliest) // by an operation before
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

// awaitCancelled makes the phase wait for the requests that were cancelled and are still with their providers, so that
// the next operation does not meet them. It returns false if there are none.
func (m *machine) awaitCancelled() bool {
	waits := false
	for _, s := range m.sortedSteps() {
		if s.Request != "" {
			s.State = store.StepAwaited
			m.changeStep(s)
			m.working(+1)
			waits = true
		}
	}
	return waits
}

func (m *machine) orphanedReason() string {
	if m.op.Orphaned {
		return m.dialect.texts().orphaned
	}
	return ""
}

// condemn marks the current instance of a step for the clean-up that begins.
func (m *machine) condemn(s *store.Step) {
	if i := m.current(s.Logical); i != nil {
		i.Role = store.RoleCondemned
		m.changeInstance(i)
	}
}

// end ends the operation.
func (m *machine) end(phase store.Phase, reason string) {
	m.stackEvent(phase, reason)
	m.settleImports()
	m.delta.DropSteps = true
	clear(m.steps)
	clear(m.changedSteps)
}

// beginApply sets the steps up for the phase in which the operation goes for its aim.
func (m *machine) beginApply() {
	if m.discarding() {
		m.setOutDiscard()
		return
	}
	m.setOut(func(s *store.Step) (waits, next []wire.LogicalID, takesPart bool) {
		if m.op.Kind == store.KindDelete {
			return s.Plan.OldFeeds, s.Plan.OldNeeds, true
		}
		return s.Plan.NewNeeds, s.Plan.NewFeeds, s.Plan.New != nil
	})
}

// beginRevert begins to undo what the operation did. A create's resources are deleted, dependents first; those of an
// update are brought back to their old declarations in the order of the old template.
func (m *machine) beginRevert(reason string) {
	m.op.RollbackID = m.newID()
	m.reserveEnd()
	if m.op.From == 0 {
		m.op.Kind = store.KindCreate // an update of what never stood: there is nothing to go back to
	}
	m.stack.ChangeSet, m.stackChanged = "", true
	if m.op.Kind == store.KindCreate && !m.op.Import {
		m.stack.Deleted = m.now
	}
	m.stackEvent(store.PhaseRevert, reason)
	m.op.RollbackStarted = m.op.Latest
	m.op.FailedCreates, m.op.FailedUpdates, m.op.FailedDeletes = nil, nil, nil
	m.setOutRevert()
	if m.op.Tried != nil {
		m.lookAtAll()
	}
}

// reserveEnd keeps a millisecond before the first event of a rollback free: the time at which DescribeEvents shows the
// failure of the operation itself.
func (m *machine) reserveEnd() { m.op.Latest = m.op.Latest.Add(time.Millisecond) }

// lookAtAll makes a rollback look at every resource: operations before this one have touched what this one need not have.
func (m *machine) lookAtAll() {
	for _, s := range m.sortedSteps() {
		s.Stirred = true
		if i := m.current(s.Logical); i != nil {
			s.Touched = s.Touched || i.Progress == store.ProgressFailed
		}
	}
}

// beginDiscard makes a create that failed a delete of what there is. What was created goes by its policies as in a
// rollback: it never belonged to a stack that stood.
func (m *machine) beginDiscard(reason string) {
	m.op.RollbackID = m.newID()
	m.reserveEnd()
	m.op.Kind, m.op.From, m.op.To = store.KindDelete, m.op.To, 0
	m.stack.Deleted = m.now
	m.stackEvent(store.PhaseApply, reason)
	m.op.RollbackStarted = m.op.Latest
	m.op.FailedCreates, m.op.FailedUpdates, m.op.FailedDeletes = nil, nil, nil
	m.beginApply()
}

// discarding reports whether the operation is a create that became a delete.
func (m *machine) discarding() bool {
	return m.op.Kind == store.KindDelete && m.op.Call == store.CallCreate
}

// setOutDiscard sets the steps up for the deletion of what a create has made.
func (m *machine) setOutDiscard() {
	m.setOut(func(s *store.Step) (waits, next []wire.LogicalID, takesPart bool) {
		return s.Plan.NewFeeds, s.Plan.NewNeeds, true
	})
}

// setOutRevert sets the steps up for a rollback.
func (m *machine) setOutRevert() {
	if m.op.Kind == store.KindCreate {
		m.setOutDiscard()
		return
	}
	m.stack.Revision, m.stackChanged = m.op.From, true
	m.keepTags()
	m.setOut(func(s *store.Step) (waits, next []wire.LogicalID, takesPart bool) {
		return s.Plan.OldNeeds, s.Plan.OldFeeds, s.Plan.Old != nil
	})
}

// beginCleanup begins to delete what is condemned, dependents first: after an update in the order of the old graph,
// after its rollback in that of the new one, for it is what was made of the new one that is to go. Nested stacks that wait
// for it have their turn with what else there is of their steps.
func (m *machine) beginCleanup() {
	for _, s := range m.sortedSteps() {
		if m.op.Phase == store.PhaseCleanup && s.Plan.New == nil || m.op.Phase == store.PhaseRevertCleanup && s.Plan.Old == nil {
			m.condemn(s)
		}
	}
	idle := true
	for _, s := range m.steps {
		idle = idle && !s.Held
	}
	for _, i := range m.instances {
		idle = idle && i.Role != store.RoleCondemned
	}
	if idle {
		return // and run ends the phase at once
	}
	m.setOut(func(s *store.Step) (waits, next []wire.LogicalID, takesPart bool) {
		if m.op.Phase == store.PhaseRevertCleanup {
			return s.Plan.NewFeeds, s.Plan.NewNeeds, true
		}
		return s.Plan.OldFeeds, s.Plan.OldNeeds, true
	})
}

// setOut gives every step its part in a phase: for whom it waits and who waits for it.
func (m *machine) setOut(part func(*store.Step) (waits, next []wire.LogicalID, takesPart bool)) {
	for _, s := range m.sortedSteps() {
		waits, next, takesPart := part(s)
		s.State, s.Waiting, s.Next, s.Stirred = store.StepIdle, 0, nil, false
		m.changeStep(s)
		if !takesPart {
			continue
		}
		s.State, s.Waiting, s.Next = store.StepPending, len(waits), next
		if s.Waiting == 0 {
			m.todo = append(m.todo, s.Logical)
		}
	}
}

// publish resolves the outputs of a revision. problem says why they cannot be, and those of before then stay.
func (m *machine) publish(revision int) (problem string, err error) {
	t, err := m.template(revision)
	if err != nil {
		return "", err
	}
	scope, err := m.scope(revision)
	if err != nil {
		return "", err
	}
	outputs, failure := t.EvaluateOutputs(scope, attributes{m})
	if failure != nil {
		return m.presentable(failure.Error()), nil
	}
	if problem, err := m.export(outputs); err != nil || problem != "" {
		return problem, err
	}
	m.stack.Outputs, m.stack.OutputValues = outputRows(outputs)
	m.stack.Description, m.stack.Published, m.stackChanged = t.Description, revision, true
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
