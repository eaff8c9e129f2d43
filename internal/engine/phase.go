package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// phases moves an operation from phase to phase.
type phases struct{ *decision }

// end ends a phase when no step is running. It starts the next phase, or ends the operation.
func (d phases) end() error {
	if err := d.whole(); err != nil {
		return err
	}
	words := d.dialect.texts()
	switch d.op.Phase {
	case store.PhaseApply:
		return d.endApply()
	case store.PhaseCleanup:
		operation(d).end(store.PhaseSucceeded, operation(d).orphanedReason())
	case store.PhaseRevert:
		if operation(d).failed() {
			if !d.awaitCancelled() {
				operation(d).end(store.PhaseRevertFailed, words.revertFailed(&d.op, operation(d).firstFailure()))
			}
			return nil
		}
		if d.op.Kind == store.KindCreate {
			operation(d).end(store.PhaseReverted, "")
			return nil
		}
		return d.endRevert()
	case store.PhaseRevertCleanup:
		operation(d).end(store.PhaseReverted, operation(d).orphanedReason())
	case store.PhasePrepare: // it ends when the last macro has returned
	case store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted, store.PhaseRevertFailed:
	}
	return nil
}

func (d phases) endApply() error {
	words := d.dialect.texts()
	if d.op.Kind == store.KindDelete {
		if operation(d).failed() {
			if !d.awaitCancelled() {
				operation(d).end(store.PhaseFailed, words.deleteFailed(&d.op, operation(d).firstFailure()))
			}
			return nil
		}
		d.stack.Live, d.stack.ChangeSet = false, ""
		changeSetDeletion(d).removeOthers("")
		executions(d).abortAll()
		operation(d).end(store.PhaseSucceeded, "")
		return nil
	}
	switch {
	case (operation(d).failed() || d.op.Expired) && operation(d).onFailure() == keepFailed && d.awaitCancelled():
		return nil
	case d.op.Expired:
		operation(d).fail(words.expired(&d.op, operation(d).onFailure()))
		return nil
	case operation(d).failed():
		operation(d).fail(words.applyFailed(&d.op, operation(d).onFailure(), operation(d).firstFailure()))
		return nil
	}
	problem, err := operation(d).publish(d.op.To)
	switch {
	case err != nil:
		return err
	case problem != "":
		operation(d).fail(words.outputFailed(&d.op, problem, operation(d).onFailure()))
	case d.op.Kind == store.KindCreate && d.op.Tried == nil:
		timers(d).stop()
		operation(d).end(store.PhaseSucceeded, "")
	default:
		timers(d).stop()
		d.enterCleanup(store.PhaseCleanup)
	}
	return nil
}

// endRevert continues the rollback of an update after its resources are restored.
func (d phases) endRevert() error {
	// A restored resource may have another id, or other attributes, than before.
	problem, err := operation(d).publish(d.op.From)
	if err != nil {
		return err
	}
	// A held nested stack has already published its new outputs, and other stacks may have started to use its
	// exports.
	if stands := d.stack.Published; problem != "" && stands != 0 && stands != d.op.From && !d.op.Force {
		operation(d).end(store.PhaseRevertFailed, problem)
		return nil
	}
	d.enterCleanup(store.PhaseRevertCleanup)
	return nil
}

// enterCleanup moves to a clean-up. In a nested stack, the clean-up starts when the parent releases it.
func (d phases) enterCleanup(phase store.Phase) {
	d.stackEvent(phase, "")
	if d.op.Parent != nil {
		d.hold()
		return
	}
	d.beginCleanup()
}

// awaitCancelled makes the phase wait for cancelled requests that their providers still hold, so that they cannot
// interfere with the next operation. It returns false if no such request exists.
func (d phases) awaitCancelled() bool {
	waits := false
	for _, s := range d.sortedSteps() {
		if s.Request != "" {
			s.State = store.StepAwaited
			d.changeStep(s)
			scheduler(d).count(+1)
			waits = true
		}
	}
	return waits
}

// beginApply prepares the steps for the phase in which the operation makes its changes.
func (d phases) beginApply() {
	if operation(d).deletesFailedCreate() {
		d.scheduleDelete()
		return
	}
	d.schedule(func(s *store.Step) (waits, next []wire.LogicalID, takesPart bool) {
		if d.op.Kind == store.KindDelete {
			return s.Plan.OldFeeds, s.Plan.OldNeeds, true
		}
		return s.Plan.NewNeeds, s.Plan.NewFeeds, s.Plan.New != nil
	})
}

// beginRollback starts to undo the operation. The resources of a create are deleted, dependents first. Those of an update are
// restored to their old declarations in the order of the old template.
func (d phases) beginRollback(reason string) {
	d.op.RollbackID = d.newID()
	d.reserveEnd()
	if d.op.From == 0 {
		d.op.Kind = store.KindCreate // an update of a stack that was never complete has nothing to go back to
	}
	d.stack.ChangeSet, d.stackChanged = "", true
	if d.op.Kind == store.KindCreate && !d.op.Import {
		d.stack.Deleted = d.now
	}
	d.stackEvent(store.PhaseRevert, reason)
	d.op.RollbackStarted = d.op.Latest
	d.op.FailedCreates, d.op.FailedUpdates, d.op.FailedDeletes = nil, nil, nil
	d.scheduleRollback()
	if d.op.Tried != nil {
		d.revisitAll()
	}
}

// reserveEnd keeps the millisecond before the first event of a rollback free. DescribeEvents shows the failure of the
// operation itself at that time.
func (d phases) reserveEnd() { d.op.Latest = d.op.Latest.Add(time.Millisecond) }

// beginDelete turns a failed create into a delete. The policies apply as in a rollback, because the resources never
// belonged to a complete stack.
func (d phases) beginDelete(reason string) {
	d.op.RollbackID = d.newID()
	d.reserveEnd()
	d.op.Kind, d.op.From, d.op.To = store.KindDelete, d.op.To, 0
	d.stack.Deleted = d.now
	d.stackEvent(store.PhaseApply, reason)
	d.op.RollbackStarted = d.op.Latest
	d.op.FailedCreates, d.op.FailedUpdates, d.op.FailedDeletes = nil, nil, nil
	d.beginApply()
}

// beginCleanup starts to delete the instances that are marked for deletion, dependents first. After an update it uses
// the order of the old graph. After a rollback it uses that of the new graph, because the instances to delete were
// created from it. Nested stacks that wait for the clean-up are released along with the other work of their steps.
func (d phases) beginCleanup() {
	for _, s := range d.sortedSteps() {
		if d.op.Phase == store.PhaseCleanup && s.Plan.New == nil || d.op.Phase == store.PhaseRevertCleanup && s.Plan.Old == nil {
			removal(d).mark(s)
		}
	}
	idle := true
	for _, s := range d.steps {
		idle = idle && !s.Held
	}
	for _, i := range d.instances {
		idle = idle && i.Role != store.RoleCondemned
	}
	if idle {
		return // and run ends the phase at once
	}
	d.schedule(func(s *store.Step) (waits, next []wire.LogicalID, takesPart bool) {
		if d.op.Phase == store.PhaseRevertCleanup {
			return s.Plan.NewFeeds, s.Plan.NewNeeds, true
		}
		return s.Plan.OldFeeds, s.Plan.OldNeeds, true
	})
}

// schedule gives each step its part in a phase: the number of steps that it waits for, and the steps that wait for
// it.
func (d phases) schedule(part func(*store.Step) (waits, next []wire.LogicalID, takesPart bool)) {
	for _, s := range d.sortedSteps() {
		waits, next, takesPart := part(s)
		s.State, s.Waiting, s.Next, s.Stirred = store.StepIdle, 0, nil, false
		d.changeStep(s)
		if !takesPart {
			continue
		}
		s.State, s.Waiting, s.Next = store.StepPending, len(waits), next
		if s.Waiting == 0 {
			d.todo = append(d.todo, s.Logical)
		}
	}
}

// scheduleDelete schedules the deletion of the resources that a create made.
func (d phases) scheduleDelete() {
	d.schedule(func(s *store.Step) (waits, next []wire.LogicalID, takesPart bool) {
		return s.Plan.NewFeeds, s.Plan.NewNeeds, true
	})
}

// scheduleRollback schedules a rollback.
func (d phases) scheduleRollback() {
	if d.op.Kind == store.KindCreate {
		d.scheduleDelete()
		return
	}
	d.stack.Revision, d.stackChanged = d.op.From, true
	d.keepTags()
	d.schedule(func(s *store.Step) (waits, next []wire.LogicalID, takesPart bool) {
		return s.Plan.OldNeeds, s.Plan.OldFeeds, s.Plan.Old != nil
	})
}

// revisitAll makes a rollback visit every resource, because earlier operations may have changed those that this one did not.
func (d phases) revisitAll() {
	for _, s := range d.sortedSteps() {
		s.Stirred = true
		if i := d.current(s.Logical); i != nil {
			s.Touched = s.Touched || i.Progress == store.ProgressFailed
		}
	}
}

// revisitsAll reports whether the operation also undoes earlier operations. A nested stack may then have changes to
// undo that this operation does not know.
func (d phases) revisitsAll() bool {
	return d.op.Call == store.CallContinue || d.op.Call == store.CallRollback || d.op.Tried != nil
}

// keepTags keeps the tags that a call gave the stack during an update that is now rolled back.
func (d phases) keepTags() {
	if t := d.stack.Tagging; t != nil && t.Revision == d.op.To {
		d.stack.Tagging = &store.Tagging{Revision: d.op.From, Tags: t.Tags}
	}
}

// hold pauses the operation at the start of its clean-up, before anything is deleted, until its parent releases it or
// rolls it back.
func (d phases) hold() {
	d.op.Held = true
	scheduler(d).count(+1)
}

func (d phases) release() {
	d.op.Held = false
	scheduler(d).count(-1)
}
