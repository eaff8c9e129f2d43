package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// scheduler runs the steps of a phase in the order of the graph.
type scheduler struct{ *decision }

// addSteps turns the candidates into steps.
func (d scheduler) addSteps(candidates []plan.Candidate) error {
	clear(d.steps)
	for _, c := range candidates {
		s := &store.Step{Stack: d.stack.Key, Logical: wire.LogicalID(c.Logical), State: store.StepIdle, Plan: &store.StepPlan{
			OldNeeds: logicalIDs(c.OldNeeds), NewNeeds: logicalIDs(c.NewNeeds),
			OldFeeds: logicalIDs(c.OldFeeds), NewFeeds: logicalIDs(c.NewFeeds),
		}}
		for _, side := range []struct {
			declared *template.Resource
			text     *json.RawMessage
		}{{c.Old, &s.Plan.Old}, {c.New, &s.Plan.New}, {c.Tried, &s.Plan.Tried}} {
			if side.declared == nil {
				continue
			}
			text, err := json.Marshal(side.declared)
			if err != nil {
				return fmt.Errorf("write the declaration of %s: %w", c.Logical, err)
			}
			*side.text, s.Plan.Type = text, side.declared.Type
		}
		d.steps[s.Logical] = s
		d.changeStep(s)
		d.newPlans.add(s.Logical)
	}
	d.delta.DropSteps = true
	return nil
}

func logicalIDs(names []string) []wire.LogicalID {
	if names == nil {
		return nil
	}
	ids := make([]wire.LogicalID, len(names))
	for i, name := range names {
		ids[i] = wire.LogicalID(name)
	}
	return ids
}

// run starts every step that is ready, and ends the phase when no step is in progress any more. It continues through
// the phases until it has to wait for something.
func (d scheduler) run() error {
	for !d.op.Phase.Final() {
		if err := d.enqueue(); err != nil {
			return err
		}
		for len(d.todo) > 0 && d.hasRoom() {
			step := d.steps[d.todo[0]]
			d.todo = d.todo[1:]
			if err := d.start(step); err != nil {
				return err
			}
		}
		if d.op.Running > 0 || len(d.more) > 0 {
			return nil
		}
		if err := phases(d).end(); err != nil {
			return err
		}
	}
	return nil
}

// hasRoom reports whether another step may run.
func (d scheduler) hasRoom() bool { return d.op.Parallelism == 0 || d.op.Running < d.op.Parallelism }

// enqueue queues the steps that wait for no other. Only an operation with limited parallelism needs it, because no
// other row records which steps have not started.
func (d scheduler) enqueue() error {
	if d.op.Parallelism == 0 || !d.hasRoom() {
		return nil
	}
	if err := d.whole(); err != nil {
		return err
	}
	if d.stopping() {
		return nil
	}
	for _, s := range d.sortedSteps() {
		if s.State == store.StepPending && s.Waiting == 0 && !slices.Contains(d.todo, s.Logical) {
			d.todo = append(d.todo, s.Logical)
		}
	}
	return nil
}

// start starts the work of a step in the current phase.
func (d scheduler) start(s *store.Step) error {
	if s.Request != "" {
		// The provider still has the step's cancelled request. Its result determines the next action.
		s.State = store.StepHeld
		d.changeStep(s)
		d.count(+1)
		return nil
	}
	switch d.op.Phase {
	case store.PhaseApply:
		switch {
		case operation(d).deletesFailedCreate():
			return removal(d).remove(s, s.Plan.Made())
		case d.op.Kind == store.KindDelete:
			return removal(d).remove(s, s.Plan.Old)
		}
		return resource(d).apply(s)
	case store.PhaseRevert:
		if d.op.Kind == store.KindCreate {
			return removal(d).remove(s, s.Plan.Made())
		}
		return resource(d).revert(s)
	case store.PhaseCleanup, store.PhaseRevertCleanup:
		return removal(d).cleanUp(s)
	case store.PhasePrepare, store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted, store.PhaseRevertFailed:
	}
	return fmt.Errorf("launch %s of stack %s in phase %s", s.Logical, d.stack.ID, d.op.Phase)
}

// count changes the number of running steps.
func (d scheduler) count(n int) {
	d.op.Running += n
	d.opChanged = true
}

// wait makes a step wait for its request.
func (d scheduler) wait(s *store.Step) {
	s.State = store.StepRunning
	d.changeStep(s)
	d.count(+1)
}

// complete ends a step that succeeded and releases the steps that wait for it.
func (d scheduler) complete(s *store.Step) {
	s.State = store.StepDone
	d.changeStep(s)
	d.release(s)
}

// release lets the dependents of s continue.
func (d scheduler) release(s *store.Step) {
	for _, id := range s.Next {
		next := d.steps[id]
		if next == nil || next.Plan == nil {
			d.more = append(d.more, s.Logical) // its neighbours were not loaded
			return
		}
		next.Waiting--
		next.Stirred = next.Stirred || s.Touched || s.Stirred
		d.changeStep(next)
		if next.Waiting == 0 && next.State == store.StepPending && !d.stopping() {
			d.todo = append(d.todo, id)
		}
	}
}

// stopping reports whether the phase starts no more steps because of a failure.
func (d scheduler) stopping() bool {
	return d.op.Phase == store.PhaseApply && d.op.Kind != store.KindDelete && operation(d).failed()
}

// fail ends a failed step. It writes the event of the resource and cancels the siblings if the operation will be
// rolled back.
func (d scheduler) fail(s *store.Step, i *store.Instance, verb store.Verb, reason string, properties value.Value) error {
	first := !operation(d).failed()
	d.resourceEvent(i, verb, store.ProgressFailed, reason, properties, false)
	s.State = store.StepFailed
	d.changeStep(s)
	if d.op.Phase == store.PhaseRevert && d.op.Force {
		return resource(d).assumeReverted(s, i)
	}
	d.recordFailure(s.Logical, verb)
	if d.op.Phase != store.PhaseApply || !first || d.op.DisableRollback {
		return nil
	}
	if err := d.whole(); err != nil {
		return err
	}
	d.cancelRunning()
	return nil
}

func (d scheduler) recordFailure(logical wire.LogicalID, verb store.Verb) {
	if verb == store.VerbCreate || verb == store.VerbImport {
		d.op.FailedCreates = append(d.op.FailedCreates, logical)
	} else {
		d.op.FailedUpdates = append(d.op.FailedUpdates, logical)
	}
	d.opChanged = true
}

// cancelRunning cancels every running step. Steps that wait for the result of an earlier cancellation no longer delay
// the end of the phase: the caller starts another phase, or ends this one again. The view is whole.
func (d scheduler) cancelRunning() {
	for _, s := range d.sortedSteps() {
		switch s.State {
		case store.StepRunning:
			d.cancel(s)
		case store.StepAwaited:
			s.State = store.StepCancelled
			d.changeStep(s)
			d.count(-1)
		case store.StepIdle, store.StepPending, store.StepHeld, store.StepDone, store.StepFailed, store.StepCancelled:
		}
	}
}

// cancel cancels a running step because another step failed or at a client's request. The request stays with the
// provider. Only its answer shows which resource exists, so the rollback of the step waits a limited time for it.
func (d scheduler) cancel(s *store.Step) {
	request, instance := d.requests[s.Request], d.instances[s.Instance]
	s.State = store.StepCancelled
	d.changeStep(s)
	d.count(-1)

	verb, reason, shown := store.VerbUpdate, d.dialect.texts().updateCancelled, instance
	switch {
	case request.Type == wire.Create && instance.Role == store.RoleCondemned: // it was to replace another one
		shown = d.current(s.Logical)
	case request.Type == wire.Create:
		verb, reason = store.VerbCreate, d.dialect.texts().createCancelled
	case request.Type == store.TypeImport:
		verb, reason = store.VerbImport, d.dialect.texts().createCancelled
	case request.Type == wire.Delete: // it was to make room for a Create
		verb, reason = store.VerbDelete, d.dialect.texts().createCancelled
	}
	if request.Type == wire.Create && instance.PhysicalID == "" && !d.dialect.rules().idsAsGiven {
		instance.PhysicalID = d.dialect.generateID(d.stack, s.Logical, d.random)
		d.changeInstance(instance)
	}
	// No provider has a Create or Update that waits for signals, so no answer will come.
	atOnce := request.Type != wire.Delete && request.Body.Await != nil ||
		request.Type == wire.Create && d.fidelity == FidelityAWS && !request.Body.Native()
	switch {
	case d.newReq[request.ID]: // this decision created it, so no provider has it
		delete(d.requests, request.ID)
		delete(d.changedReq, request.ID)
		delete(d.newReq, request.ID)
		instance.Reached = request.Type != wire.Create && request.Type != store.TypeImport
		if request.Type == wire.Delete && d.dialect.rules().idsStay { // it is still the current one
			instance.Role = store.RoleCurrent
			d.changeInstance(instance)
		}
		if d.startedOver[instance.Number] { // and still intact
			verb, reason = store.VerbUpdate, d.dialect.texts().updateCancelled
		}
		if instance != shown {
			instance.Role = store.RoleGone
		}
		s.Request = ""
	case atOnce: // the Delete does not wait, so the result of a provider's Create leaks
		request.State, request.Owner, request.Executor, request.Due = store.RequestSettled, 0, 0, zeroTime
		request.Ending, request.Settled, request.Cancelled = "cancelled", d.now, true
		d.changeRequest(request)
		pollRequests(d).stop(request)
		s.Request = ""
	default: // keep polling, because the answer has the ID
		request.Cancelled = true
		switch {
		case request.Body.Aim != "":
			nestedRequests(d).wait(request)
		case request.State == store.RequestWaiting:
			request.Due = minTime(request.Due, d.now.Add(d.cancelledWait))
			pollRequests(d).shorten(request)
		}
		d.changeRequest(request)
	}
	if request.Type != wire.Delete || s.Request == "" { // otherwise the result is reported later
		reason = d.failure(failedByAnother, s.Logical, reason)
		d.resourceEvent(shown, verb, store.ProgressFailed, reason, request.Body.Properties, false)
	}
	if verb == store.VerbDelete {
		verb = store.VerbCreate
	}
	d.recordFailure(s.Logical, verb)
}
