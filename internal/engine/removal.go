package engine

import (
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// removal deletes resources, or retains them as their policies require.
type removal struct{ *decision }

// remove deletes all instances of a step's resource. declared is the declaration whose policy applies, or nil.
func (d removal) remove(s *store.Step, declared []byte) error {
	if s.Skip {
		d.retainAll(s)
		return nil
	}
	if instance := d.current(s.Logical); importing(d).undone(instance) {
		importing(d).undo(instance)
	} else if instance != nil {
		policy, err := deletionPolicy(d).of(declared)
		if err != nil {
			return err
		}
		if instance.Reached &&
			(policy == policyRetain || (policy == policyRetainExceptOnCreate && d.op.Call == store.CallDelete)) {
			instance.Shown = true
			d.retain(instance, leftByDeletionPolicy)
		} else {
			instance.Role, instance.Shown = store.RoleCondemned, true
			d.changeInstance(instance)
		}
	}
	for _, instance := range d.pendingDelete(s.Logical) {
		if !instance.Replaced || !instance.Reached {
			continue
		}
		// An instance that an update replaced and could not clean up is still protected by its UpdateReplacePolicy.
		policy, err := replacePolicy(declared)
		if err != nil {
			return err
		}
		if policy == policyRetain {
			d.retain(instance, leftByReplacePolicy)
		}
	}
	return d.deleteNext(s, false)
}

// cleanUp deletes the remains of a step's resource after an update: replaced instances and, if the template no longer
// declares the resource, the current one.
func (d removal) cleanUp(s *store.Step) error {
	if i := d.current(s.Logical); s.Held && i != nil {
		return d.sendRelease(s, i)
	}
	for _, instance := range d.pendingDelete(s.Logical) {
		if importing(d).undone(instance) {
			importing(d).undo(instance)
			continue
		}
		policy, err := deletionPolicy(d).atCleanup(s, instance)
		if err != nil {
			return err
		}
		if instance.Reached &&
			(policy == policyRetain || (policy == policyRetainExceptOnCreate && d.op.Phase == store.PhaseCleanup)) {
			why := leftByDeletionPolicy
			if instance.Replaced {
				why = leftByReplacePolicy
			}
			d.retain(instance, why)
		}
	}
	return d.deleteNext(s, true)
}

// deleteNext sends the Delete of the step's next instance that is marked for deletion. Without such an instance, the
// step is done. detached means that the instance is no longer the one of its logical ID.
func (d removal) deleteNext(s *store.Step, detached bool) error {
	for _, instance := range d.pendingDelete(s.Logical) {
		if !instance.Reached {
			d.deleted(instance, detached)
			continue
		}
		d.sendDelete(s, instance, detached)
		return nil
	}
	scheduler(d).complete(s)
	return nil
}

// sendDelete requests the Delete of an instance.
func (d removal) sendDelete(s *store.Step, i *store.Instance, detached bool) {
	s.Instance = i.Number
	d.resourceEvent(i, store.VerbDelete, store.ProgressRunning, "", i.Body.Properties, detached)
	requests(d).send(s, i, wire.Delete, d.askedToDelete(i), value.Value{})
	scheduler(d).wait(s)
}

// askedToDelete returns the last request of a resource for its Delete. The endpoint of a forwarded type applies a
// DeletionPolicy of its own, so a replaced resource takes its UpdateReplacePolicy as that.
func (d removal) askedToDelete(i *store.Instance) asked {
	ask := askedOf(i)
	if ask.forwarded != nil && i.Replaced {
		own := *ask.forwarded
		own.DeletionPolicy = own.UpdateReplacePolicy
		ask.forwarded = &own
	}
	return ask
}

// checkPolicy fails an update at its start if it would remove protected resources. Their removal comes only in the
// clean-up, which is too late for a rollback.
func (d removal) checkPolicy() error {
	for _, s := range d.sortedSteps() {
		i := d.current(s.Logical)
		if s.Plan.Old == nil || s.Plan.New != nil || i == nil {
			continue
		}
		denied, err := stackPolicy(d).denies(plan.ActionDelete, i)
		if err != nil {
			return err
		}
		if denied == "" {
			continue
		}
		resource(d).beginUpdate(s, i, i.Body.Properties)
		reason := d.failure(failedByPolicy, i.Logical, denied)
		if err := scheduler(d).fail(s, i, store.VerbUpdate, reason, i.Body.Properties); err != nil {
			return err
		}
	}
	return nil
}

// sendRelease lets a nested stack continue with the clean-up at which it is held. Other deletes of the step's
// resource wait for that.
func (d removal) sendRelease(s *store.Step, i *store.Instance) error {
	s.Instance = i.Number
	requests(d).send(s, i, store.TypeRelease, asked{properties: i.Body.Properties, timeout: i.Body.Timeout}, value.Value{})
	scheduler(d).wait(s)
	return nil
}

func (d removal) finish(s *store.Step, i *store.Instance, v result) error {
	cleanup := d.cleaningUp()
	if v.success {
		d.deleted(i, cleanup)
		return scheduler(d).start(s) // there may be another one
	}
	d.resourceEvent(i, store.VerbDelete, store.ProgressFailed, v.reason, i.Body.Properties, cleanup)
	switch {
	case !cleanup && d.op.Force:
		d.orphan(i, v.reason)
		return scheduler(d).start(s)
	case !cleanup:
		d.unmark(s.Logical)
		s.State = store.StepFailed
		d.changeStep(s)
		if d.op.Phase == store.PhaseApply && d.op.Kind == store.KindUpdate {
			scheduler(d).recordFailure(s.Logical, store.VerbCreate) // it was to make room for a new Create
			return nil
		}
		d.op.FailedDeletes = append(d.op.FailedDeletes, s.Logical)
		d.opChanged = true
		return nil
	}
	if i.Tries++; i.Tries < cleanupTries {
		again := requests(d).send(s, i, wire.Delete, d.askedToDelete(i), value.Value{})
		again.State, again.Owner, again.Due = store.RequestDelayed, 0, d.now.Add(d.cleanupPause)
		scheduler(d).wait(s)
		return nil
	}
	i.Role, i.Left = store.RoleOrphan, v.reason
	d.op.Orphaned, d.opChanged = true, true
	return scheduler(d).start(s)
}

// deleted records that an instance is deleted.
func (d removal) deleted(i *store.Instance, detached bool) {
	i.Role = store.RoleGone
	i.Shown = !detached && d.op.Kind != store.KindUpdate // an update does not show deleted instances
	if d.dialect.rules().idsStay && i.Number > d.op.Stood && (d.op.Phase == store.PhaseRevert || d.op.Phase == store.PhaseRevertCleanup) {
		replacement(d).forget(i)
	}
	d.resourceEvent(i, store.VerbDelete, store.ProgressSucceeded, "", i.Body.Properties, detached)
}

// The reasons for a resource that a policy retains.
const (
	leftByDeletionPolicy = "its DeletionPolicy keeps it"
	leftByReplacePolicy  = "its UpdateReplacePolicy keeps it"
)

// leftByOrder is the reason for a resource that the client asked to retain.
const leftByOrder = "the delete of the stack retained it on request"

// retain leaves an instance in place and records the reason.
func (d removal) retain(i *store.Instance, why string) {
	i.Role, i.Left = store.RoleRetained, why
	d.resourceEvent(i, store.VerbDelete, store.ProgressSkipped, d.dialect.texts().left(why), i.Body.Properties, false)
}

// retainAll removes all instances of a step from the stack without a request to their provider.
func (d removal) retainAll(s *store.Step) {
	left := d.pendingDelete(s.Logical)
	if instance := d.current(s.Logical); instance != nil {
		instance.Shown = true
		left = append(left, instance)
	}
	for _, instance := range left {
		if instance.Reached {
			d.retain(instance, leftByOrder)
		} else {
			d.deleted(instance, instance.Replaced)
		}
	}
	scheduler(d).complete(s)
}

// orphan abandons an instance whose Delete failed, so that the delete of the stack can continue.
func (d removal) orphan(i *store.Instance, reason string) {
	i.Role, i.Left = store.RoleOrphan, reason
	d.resourceEvent(i, store.VerbDelete, store.ProgressSkipped, d.dialect.texts().left(reason), i.Body.Properties, false)
}

// discard deletes the remains of a failed Create, before the resource is created again.
func (d removal) discard(s *store.Step, i *store.Instance) error {
	s.Touched = true
	if i.Imported {
		importing(d).release(i) // the next request, a Create or an Import, finds it unchanged
		return scheduler(d).start(s)
	}
	if !i.Reached {
		d.deleted(i, false)
		return scheduler(d).start(s)
	}
	i.Role = store.RoleCondemned
	d.sendDelete(s, i, false)
	return nil
}

// mark marks the current instance of a step for deletion in the clean-up.
func (d removal) mark(s *store.Step) {
	if i := d.current(s.Logical); i != nil {
		i.Role = store.RoleCondemned
		d.changeInstance(i)
	}
}

// unmark makes instances current again after their Delete failed, so that the next delete evaluates their policies
// again. Replaced instances stay marked.
func (d removal) unmark(logical wire.LogicalID) {
	for _, i := range d.pendingDelete(logical) {
		if !i.Replaced {
			i.Role = store.RoleCurrent
			d.changeInstance(i)
		}
	}
}

// cleaningUp reports whether the phase deletes the remains of an update.
func (d removal) cleaningUp() bool {
	return d.op.Phase == store.PhaseCleanup || d.op.Phase == store.PhaseRevertCleanup
}
