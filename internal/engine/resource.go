package engine

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// resource changes the resource of a step to its new declaration, or in a rollback back to the old one.
type resource struct{ *decision }

// apply creates or updates the resource of a step according to its new declaration.
func (d resource) apply(s *store.Step) error {
	if scheduler(d).stopping() {
		s.State = store.StepIdle // its remains may have been deleted by now, and nothing replaces it
		d.changeStep(s)
		return nil
	}
	declared, err := declaration(s.Plan.New)
	if err != nil {
		return err
	}
	instance := d.current(s.Logical)
	if instance != nil && instance.Unborn() {
		return removal(d).discard(s, instance)
	}
	if d.op.Import && instance != nil { // an import changes no resource of the stack
		s.Instance = instance.Number
		scheduler(d).complete(s)
		return nil
	}
	properties, metadata, ask, problem, err := evaluation(d).resolve(declared, d.op.To)
	if err != nil {
		return err
	}
	if instance == nil {
		if of, imported := d.op.Imports[s.Logical]; imported {
			return importing(d).start(s, of, properties, metadata, ask, problem)
		}
		return d.create(s, properties, metadata, ask, problem)
	}
	s.Instance = instance.Number
	if problem == "" {
		problem = d.pruneSignals(instance, ask.properties)
	}
	switch {
	case problem != "":
		d.beginUpdate(s, instance, properties)
		return scheduler(d).fail(s, instance, store.VerbUpdate, problem, properties)
	case d.isNested(instance.Body.Type): // its template may have changed even if its declaration has not
		return d.change(s, instance, ask, metadata)
	case slices.Contains(d.op.Taint, s.Logical):
		return replacement(d).deleteFirst(s, instance, s.Plan.New, ask.properties)
	case !ask.token.Equal(instance.Body.Token) && replacement(d).allowed():
		return replacement(d).deleteFirst(s, instance, s.Plan.New, ask.properties)
	case !ask.token.Equal(instance.Body.Token):
		d.beginUpdate(s, instance, properties)
		words := d.dialect.texts()
		return scheduler(d).fail(s, instance, store.VerbUpdate, d.failure(failedAsChanged, s.Logical, words.tokenChanged), properties)
	case instance.Body.Attempted.IsNull() && ask.matches(instance.Body) && !d.forced(s.Logical):
		return d.keep(s, instance, ask, metadata)
	}
	return d.change(s, instance, ask, metadata)
}

// forced reports whether the operation updates a resource even if its declared properties have not changed.
func (d resource) forced(logical wire.LogicalID) bool {
	return slices.Contains(d.op.Forced, logical)
}

// beginUpdate writes the first event of an update of a resource.
func (d resource) beginUpdate(s *store.Step, i *store.Instance, properties value.Value) {
	s.Touched = true
	d.changeStep(s)
	d.resourceEvent(i, store.VerbUpdate, store.ProgressRunning, "", properties, false)
}

// create requests a new resource.
func (d resource) create(s *store.Step, properties, metadata value.Value, ask asked, problem string) error {
	s.Touched = true
	instance := d.addInstance(s.Logical, store.InstanceBody{
		Type: s.Plan.Type, Token: ask.token, Timeout: ask.timeout, Properties: ask.properties, Metadata: metadata,
		HTTPConfig: ask.httpConfig, Forwarded: ask.forwarded,
	})
	s.Instance = instance.Number
	d.resourceEvent(instance, store.VerbCreate, store.ProgressRunning, "", properties, false)
	if problem != "" {
		return scheduler(d).fail(s, instance, store.VerbCreate, problem, properties)
	}
	instance.Reached = true // unless it turns out that the request never arrived
	requests(d).send(s, instance, wire.Create, ask, value.Value{})
	scheduler(d).wait(s)
	return nil
}

// change changes a resource to other properties.
func (d resource) change(s *store.Step, i *store.Instance, ask asked, metadata value.Value) error {
	change, reason := native.InPlace, ""
	words := d.dialect.texts()
	if schema := d.native.Schema(i.Body.Type); schema != nil {
		change, reason = schema.Change(i.Body.Properties, ask.properties)
	}
	if d.dialect.rules().idsStay && change != native.InPlace {
		if replacement(d).allowed() {
			return replacement(d).deleteFirst(s, i, s.Plan.New, ask.properties)
		}
		change, reason = native.Refused, d.failure(failedAsChanged, i.Logical, words.notUpdatable(reason))
	}
	action := plan.ActionModify
	if change == native.Replaces {
		action = plan.ActionReplace
	}
	denied, err := stackPolicy(d).denies(action, i)
	switch {
	case err != nil:
		return err
	case d.isNested(i.Body.Type) && ask.properties.Equal(i.Body.Properties):
	case (ask.matchesButTags(i.Body) || ask.onlyReads(i.Body)) && !d.forced(i.Logical): // the user has not changed it
	case denied != "":
		d.beginUpdate(s, i, ask.properties)
		return scheduler(d).fail(s, i, store.VerbUpdate, d.failure(failedByPolicy, i.Logical, denied), ask.properties)
	}
	switch change {
	case native.Replaces:
		replacement(d).createNew(s, i, ask, metadata)
	case native.Refused:
		d.beginUpdate(s, i, ask.properties)
		return scheduler(d).fail(s, i, store.VerbUpdate, reason, ask.properties)
	case native.InPlace:
		d.beginUpdate(s, i, ask.properties)
		d.update(s, i, ask, metadata)
	}
	return nil
}

// update sends an Update from the properties that the resource has, or may have, to the requested ones.
func (d resource) update(s *store.Step, i *store.Instance, ask asked, metadata value.Value) {
	old, before := i.Body.Properties, i.Body.Properties
	switch {
	case i.Body.Back:
		before = i.Body.Attempted
	case !i.Body.Attempted.IsNull():
		old = i.Body.Attempted
	}
	// If the old properties equal the requested ones, the provider would do nothing.
	if old.Equal(ask.properties) {
		old = before
	}
	again := d.forced(s.Logical) && i.Body.Attempted.IsNull() // no Update of it failed, so equal properties are correct
	if old.Equal(ask.properties) && !again {                  // an Update that failed created it, and the replaced one had other properties
		for _, other := range d.pendingDelete(s.Logical) {
			if other.Replaced && other.Number < i.Number {
				old = other.Body.Properties
			}
		}
	}
	i.Body.Metadata = metadata
	d.changeBody(i)
	requests(d).send(s, i, wire.Update, ask, old)
	scheduler(d).wait(s)
}

// keep keeps a resource that already has the declared properties.
func (d resource) keep(s *store.Step, i *store.Instance, ask asked, metadata value.Value) error {
	properties := ask.properties
	denied, err := stackPolicy(d).deniesReplacement(i)
	switch {
	case err != nil:
		return err
	case denied != "":
		d.beginUpdate(s, i, properties)
		return scheduler(d).fail(s, i, store.VerbUpdate, denied, properties)
	}
	reported := i.Progress == store.ProgressFailed // a failed update had other properties
	changed := !metadata.Equal(i.Body.Metadata)
	d.redeclare(i, ask, metadata)
	if changed {
		schema := d.native.Schema(i.Body.Type)
		reported = reported || schema != nil && !schema.Fixed
	}
	if reported {
		d.beginUpdate(s, i, properties)
		d.resourceEvent(i, store.VerbUpdate, store.ProgressSucceeded, "", properties, false)
	}
	scheduler(d).complete(s)
	return nil
}

// redeclare stores the parts of a declaration that no provider gets.
func (d resource) redeclare(i *store.Instance, ask asked, metadata value.Value) {
	body := i.Body
	if d.native.Schema(body.Type) == nil && (body.Timeout != ask.timeout || !body.HTTPConfig.Equal(ask.httpConfig)) {
		body.Timeout, body.HTTPConfig = ask.timeout, ask.httpConfig
		d.changeBody(i)
	}
	if !metadata.Equal(body.Metadata) {
		body.Metadata = metadata
		d.changeBody(i)
	}
}

// revert restores the old declaration of a step's resource.
func (d resource) revert(s *store.Step) error {
	instance := d.current(s.Logical)
	if d.dialect.rules().idsStay && (s.Touched || phases(d).revisitsAll()) && (instance == nil || instance.Unborn()) {
		return replacement(d).recreateOld(s, instance)
	}
	if d.dialect.rules().idsStay && instance != nil && instance.Unborn() {
		scheduler(d).complete(s) // the complete stack did not have it
		return nil
	}
	untouched := !s.Touched && (d.op.Import || !s.Stirred && instance != nil && instance.Body.Attempted.IsNull() && !again(d).restorable(instance))
	if instance == nil || untouched {
		scheduler(d).complete(s)
		return nil
	}
	s.Instance = instance.Number
	if s.Skip {
		return d.assumeReverted(s, instance)
	}
	declared, err := declaration(s.Plan.Old)
	if err != nil {
		return err
	}
	properties, metadata, ask, problem, err := evaluation(d).resolve(declared, d.op.From)
	if err != nil {
		return err
	}
	if d.isNested(instance.Body.Type) && (s.Touched || phases(d).revisitsAll()) {
		return d.revertNested(s, instance, ask, metadata, problem)
	}
	if problem == "" && d.dialect.rules().idsStay && !ask.token.Equal(instance.Body.Token) && instance.Number > d.op.Stood {
		return replacement(d).deleteFirst(s, instance, nil, ask.properties) // the operation that is rolled back created it
	}
	unchanged := func() bool {
		body := instance.Body
		return problem == "" && body.Attempted.IsNull() && (ask.matches(body) || ask.matchesButTags(body))
	}
	same := unchanged()
	switch {
	case !same:
		instance = replacement(d).reinstate(s, instance, ask.properties)
		same = unchanged()
	case d.forced(s.Logical):
		instance = replacement(d).reinstateForced(s, instance)
		same = unchanged()
	}
	if same {
		again(d).restore(s, instance)
	}
	if same && !s.Touched {
		scheduler(d).complete(s)
		return nil
	}
	if same { // no request was sent, or every request is already undone
		d.redeclare(instance, ask, metadata)
		d.resourceEvent(instance, store.VerbUpdate, store.ProgressSucceeded, "", properties, false)
		scheduler(d).complete(s)
		return nil
	}
	if problem != "" {
		d.beginUpdate(s, instance, properties)
		return scheduler(d).fail(s, instance, store.VerbUpdate, problem, properties)
	}
	return d.change(s, instance, ask, metadata)
}

// revertNested asks a nested stack to roll back its changes for this update, and for earlier failed updates.
func (d resource) revertNested(s *store.Step, i *store.Instance, ask asked, metadata value.Value, problem string) error {
	if problem != "" { // it goes back in any case
		ask.properties = i.Body.Properties
	}
	ask.aim = store.AimUndo
	d.beginUpdate(s, i, ask.properties)
	d.update(s, i, ask, metadata)
	return nil
}

// pruneSignals drops the signals that a ROS handle does not keep in an update. The text is the reason why it cannot.
func (d resource) pruneSignals(handle *store.Instance, properties value.Value) string {
	if handle.Body.Type != native.ROSWaitConditionHandle || len(handle.Body.Signals) == 0 {
		return ""
	}
	kept, err := native.ROSSignalsKept(properties, handle.Body.Signals)
	if err != nil {
		return d.failure(failedAsDeclared, handle.Logical, d.presentable(err.Error()))
	}
	if len(kept) < len(handle.Body.Signals) {
		handle.Body.Signals = kept
		d.changeBody(handle)
	}
	return ""
}

// assumeReverted records a resource as rolled back without a request, because the client wants the rollback to
// continue. From then on the old declaration applies, regardless of the resource's actual state.
func (d resource) assumeReverted(s *store.Step, i *store.Instance) error {
	declared, err := declaration(s.Plan.Old)
	if err != nil {
		return err
	}
	properties, metadata, ask, problem, err := evaluation(d).resolve(declared, d.op.From)
	if err != nil {
		return err
	}
	if problem == "" { // otherwise keep the last known properties
		i.Body.Properties, i.Body.Timeout, i.Body.Metadata, i.Body.Tags = ask.properties, ask.timeout, metadata, ask.tags
	}
	i.Body.Attempted, i.Body.Back = value.Value{}, false
	again(d).restore(s, i)
	d.changeBody(i)
	d.resourceEvent(i, store.VerbUpdate, store.ProgressSucceeded, "", properties, false)
	scheduler(d).complete(s)
	return nil
}
