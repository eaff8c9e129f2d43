package engine

import (
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// IDChange is the handling of an answer to an Update that has another ID than the resource, in a dialect where that
// is not a replacement. The set is closed.
type IDChange string

// The ways to handle such answers.
const (
	// IDChangeRefused treats the answer as a failure.
	IDChangeRefused IDChange = "refuse"
	// IDChangeIgnored accepts the answer and ignores its ID.
	IDChangeIgnored IDChange = "ignore"
)

// replacement replaces a resource with a new one.
type replacement struct{ *decision }

// allowed reports whether a resource that cannot be updated is deleted and created again. That is so at the client's
// request, and in the rollback of such an update.
func (d replacement) allowed() bool {
	return d.dialect.rules().idsStay && (d.op.Replace || d.op.Phase == store.PhaseRevert)
}

// deleteFirst deletes a resource before its replacement is created. After the Delete, the step starts again and
// creates the replacement. Whether the Delete succeeds or not, a rollback then deletes any remains and creates the
// resource again. made is the declaration whose policy applies.
func (d replacement) deleteFirst(s *store.Step, i *store.Instance, made []byte, properties value.Value) error {
	denied, err := stackPolicy(d).denies(plan.ActionReplace, i)
	if err != nil {
		return err
	}
	if denied != "" {
		resource(d).beginUpdate(s, i, properties)
		return scheduler(d).fail(s, i, store.VerbUpdate, d.failure(failedByPolicy, s.Logical, denied), properties)
	}
	policy, err := deletionPolicy(d).of(made)
	if err != nil {
		return err
	}
	s.Touched, s.Instance = true, i.Number
	d.changeStep(s)
	if policy == policyRetain {
		removal(d).retain(i, leftByDeletionPolicy)
		return scheduler(d).start(s)
	}
	i.Role = store.RoleCondemned
	d.startedOver.add(i.Number)
	removal(d).sendDelete(s, i, false)
	return nil
}

// recreateOld creates the resource of a step again from its old declaration, after its replacement was deleted. i is
// the remaining instance of the replacement or of the resource, or nil. It does not create a resource that the stack
// did not have because the failure of its Create was ignored.
func (d replacement) recreateOld(s *store.Step, i *store.Instance) error {
	if i != nil {
		return removal(d).discard(s, i)
	}
	if err := d.whole(); err != nil { // only the whole view has deleted instances
		return err
	}
	stood := d.lastStood(s.Logical)
	switch {
	case stood == nil:
		scheduler(d).complete(s)
		return nil
	case stood.Role == store.RoleRetained: // it was to be replaced, and still exists
		stood.Role, stood.Left, stood.Shown = store.RoleCurrent, "", false
		d.changeInstance(stood)
		s.Touched = true
		return scheduler(d).start(s)
	}
	declared, err := declaration(s.Plan.Old)
	if err != nil {
		return err
	}
	properties, metadata, ask, problem, err := evaluation(d).resolve(declared, d.op.From)
	if err != nil {
		return err
	}
	return resource(d).create(s, properties, metadata, ask, problem)
}

// forget records that the stack was never complete with an instance, so that no rollback restores it.
func (d replacement) forget(i *store.Instance) {
	if i.Body.AnsweredBy != "" {
		i.Body.AnsweredBy = ""
		d.changeBody(i)
	}
}

// lastStood returns the instance of a logical ID that belonged to the last complete state of the stack; nil if there
// was none. The view is whole.
func (d replacement) lastStood(logical wire.LogicalID) *store.Instance {
	var stood *store.Instance
	for _, number := range d.numbers[logical] {
		if i := d.instances[number]; number <= d.op.Stood {
			stood = i
		}
	}
	if stood != nil && stood.Body.AnsweredBy == "" {
		return nil
	}
	return stood
}

// createNew requests a new resource to replace one that cannot be changed. Until the new one exists, the old one
// keeps the logical ID and the new one is marked for deletion. So there is always one to keep and one to clean up.
func (d replacement) createNew(s *store.Step, old *store.Instance, ask asked, metadata value.Value) {
	s.Touched = true
	d.changeStep(s)
	d.resourceEvent(old, store.VerbUpdate, store.ProgressRunning, d.dialect.texts().recreating, ask.properties, false)
	fresh := d.addInstance(s.Logical, store.InstanceBody{
		Type: old.Body.Type, Token: ask.token, Timeout: ask.timeout, Properties: ask.properties, Metadata: metadata,
		Forwarded: ask.forwarded,
	})
	fresh.Role, fresh.Replaced, fresh.Reached = store.RoleCondemned, true, true
	fresh.Verb, fresh.Progress, fresh.Changed = old.Verb, old.Progress, old.Changed
	s.Instance = fresh.Number
	requests(d).send(s, fresh, wire.Create, ask, value.Value{})
	scheduler(d).wait(s)
}

// created handles the result of the Create of a replacement.
func (d replacement) created(s *store.Step, fresh *store.Instance, r *store.Request, v result) error {
	results(d).record(s, fresh, r, v)
	old := d.current(s.Logical)
	if !v.success {
		if !v.reached {
			fresh.Role = store.RoleGone // it was never created
		}
		s.Instance = old.Number
		d.changeStep(s)
		return scheduler(d).fail(s, old, store.VerbUpdate, v.reason, r.Body.Properties)
	}
	d.swap(s, fresh, old)
	results(d).initiated(fresh, store.VerbUpdate, r)
	d.resourceEvent(fresh, store.VerbUpdate, store.ProgressSucceeded, "", r.Body.Properties, false)
	scheduler(d).complete(s)
	return nil
}

// swap makes another instance the current one of the logical ID of a step.
func (d replacement) swap(s *store.Step, winner, loser *store.Instance) {
	loser.Role, loser.Replaced = store.RoleCondemned, true
	winner.Role, winner.Replaced = store.RoleCurrent, false
	d.changeInstance(loser)
	d.changeInstance(winner)
	s.Instance = winner.Number
	d.changeStep(s)
}

// reinstate restores the instance that a native replacement superseded, if it was not touched since. So no provider
// has to undo the replacement. It returns the instance that is current afterwards.
func (d replacement) reinstate(s *store.Step, i *store.Instance, properties value.Value) *store.Instance {
	if d.native.Schema(i.Body.Type) == nil {
		return i
	}
	var old *store.Instance
	for _, other := range d.pendingDelete(s.Logical) {
		made := other.Replaced && other.Number < i.Number && other.Body.AnsweredBy != ""
		if made && (old == nil || other.Body.Properties.Equal(properties)) {
			old = other
		}
	}
	if old == nil {
		return i
	}
	return d.goBack(s, i, old)
}

// reinstateForced restores the instance that a forced Update replaced. Its properties are those of the replacement, so
// an Update could not tell the provider to undo anything, and the clean-up would delete the original. It returns the
// instance that is current afterwards.
func (d replacement) reinstateForced(s *store.Step, i *store.Instance) *store.Instance {
	if d.native.Schema(i.Body.Type) != nil || i.Number <= d.op.Stood {
		return i
	}
	var old *store.Instance
	for _, other := range d.pendingDelete(s.Logical) {
		if other.Replaced && other.Number <= d.op.Stood && other.Body.AnsweredBy != "" {
			old = other // the last one was current before the operation
		}
	}
	if old == nil || !old.Body.Attempted.IsNull() || !old.Body.Properties.Equal(i.Body.Properties) || !old.Body.Token.Equal(i.Body.Token) {
		return i
	}
	return d.goBack(s, i, old)
}

// goBack makes an instance current again that another one replaced.
func (d replacement) goBack(s *store.Step, i, old *store.Instance) *store.Instance {
	d.swap(s, old, i)
	old.Verb, old.Progress, old.Reason, old.Changed = i.Verb, i.Progress, i.Reason, i.Changed
	s.Touched = true
	return old
}

// record replaces a physical resource, which is current or marked for deletion, with the one that has the given ID:
// an existing instance, or a new one. The loser is marked for deletion.
func (d replacement) record(
	s *store.Step, loser *store.Instance, r *store.Request, id wire.PhysicalID,
) *store.Instance {
	role := loser.Role
	loser.Role, loser.Replaced = store.RoleCondemned, true
	d.changeInstance(loser)
	var winner *store.Instance
	for _, other := range d.pendingDelete(loser.Logical) {
		if other != loser && other.PhysicalID == id {
			winner = other
		}
	}
	if winner == nil {
		body := *loser.Body
		// Those that it was created with.
		body.Properties, body.Timeout, body.Forwarded = r.Body.Properties, r.Body.Timeout, r.Body.Forwarded
		body.Signals, body.Ref = nil, value.Value{}
		winner = d.addInstance(loser.Logical, body)
		winner.Role, winner.PhysicalID, winner.Reached = role, id, true
		winner.Verb, winner.Progress, winner.Changed = loser.Verb, loser.Progress, loser.Changed
	} else {
		winner.Role, winner.Replaced = role, false
	}
	if s != nil {
		s.Instance = winner.Number
		d.changeStep(s)
	}
	return winner
}
