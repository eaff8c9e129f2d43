package engine

import (
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// result is the effect of an outcome on the resource.
type result struct {
	success bool
	// id is the ID that the provider reported, or empty.
	id wire.PhysicalID
	// reason is the redacted text for the event of a failed request.
	reason string
	// reached means that the provider may have acted.
	reached bool
	data    value.Value
	noEcho  bool
	// ref is the new result of Ref; null if that is the ID, or stays.
	ref value.Value
	// held means that a nested stack waits to be released.
	held bool
}

// results applies the result of a request to its step and instance.
type results struct{ *decision }

// apply applies the result of a step's request.
func (d results) apply(s *store.Step, i *store.Instance, r *store.Request, v result) error {
	switch r.Type {
	case wire.Create:
		return d.created(s, i, r, v)
	case wire.Update:
		return d.updated(s, i, r, v)
	case wire.Delete:
		return removal(d).finish(s, i, v)
	case store.TypeImport:
		return importing(d).finish(s, i, r, v)
	case store.TypeRelease:
		return scheduler(d).start(s) // there may be instances to delete
	case store.TypeRead, wire.Plan: // no step has one
	}
	return fmt.Errorf("request %s of stack %s has type %q", r.ID, d.stack.ID, r.Type)
}

func (d results) created(s *store.Step, i *store.Instance, r *store.Request, v result) error {
	if i.Role == store.RoleCondemned {
		return replacement(d).created(s, i, r, v)
	}
	d.record(s, i, r, v)
	if !v.success {
		return scheduler(d).fail(s, i, store.VerbCreate, v.reason, r.Body.Properties)
	}
	d.initiated(i, store.VerbCreate, r)
	d.resourceEvent(i, store.VerbCreate, store.ProgressSucceeded, "", r.Body.Properties, false)
	scheduler(d).complete(s)
	return nil
}

// initiated writes the event that a resource has an ID, unless it was written when the resource began to wait for
// signals.
func (d results) initiated(i *store.Instance, verb store.Verb, r *store.Request) {
	text := d.dialect.texts().createInitiated
	if text != "" && (r.Body.Await == nil && r.Body.Aim == "" || r.Delivered.IsZero()) {
		d.resourceEvent(i, verb, store.ProgressRunning, text, r.Body.Properties, false)
	}
}

func (d results) updated(s *store.Step, i *store.Instance, r *store.Request, v result) error {
	before := i
	d.record(s, i, r, v)
	i = d.current(s.Logical)
	s.Instance = i.Number
	if !v.success {
		if d.op.Phase == store.PhaseRevert && v.reached {
			// The next try undoes the same attempt. If old and new properties were equal, the provider would do
			// nothing.
			i.Body.Attempted, i.Body.Back = r.Body.OldProperties, false
		}
		return scheduler(d).fail(s, i, store.VerbUpdate, v.reason, r.Body.Properties)
	}
	if i != before {
		d.resourceEvent(i, store.VerbUpdate, store.ProgressRunning, d.dialect.texts().replaced, r.Body.Properties, false)
	}
	denied, err := stackPolicy(d).deniesReplacement(i)
	switch {
	case err != nil:
		return err
	case denied != "":
		return scheduler(d).fail(s, i, store.VerbUpdate, denied, r.Body.Properties)
	}
	d.resourceEvent(i, store.VerbUpdate, store.ProgressSucceeded, "", r.Body.Properties, false)
	scheduler(d).complete(s)
	return nil
}

// record stores a result in an instance. It writes events only for a Delete. s is nil if the operation of the request
// has finished.
func (d results) record(s *store.Step, i *store.Instance, r *store.Request, v result) {
	d.changeInstance(i)
	switch r.Type {
	case wire.Create:
		i.Reached = v.reached
		if v.id != "" {
			i.PhysicalID = v.id
		}
		if i.PhysicalID == "" && i.Reached && !d.dialect.rules().idsAsGiven {
			i.PhysicalID = d.dialect.generateID(d.stack, i.Logical, d.random)
		}
		if v.success {
			d.confirm(i, r, v)
		}
	case store.TypeRead, wire.Plan: // see reads; a Plan has no row
	case store.TypeImport:
		if v.success {
			if v.id != "" && r.Body.Forwarded != nil { // it is known only now
				i.PhysicalID = v.id
			}
			d.confirm(i, r, v)
		}
	case wire.Update:
		if !v.reached {
			return
		}
		if v.id != "" && v.id != i.PhysicalID && (i.Role == store.RoleCurrent || i.Role == store.RoleCondemned) {
			i = replacement(d).record(s, i, r, v.id)
		}
		if v.success {
			d.confirm(i, r, v)
			return
		}
		i.Body.Attempted, i.Body.Back = r.Body.Properties, i.Number == r.Instance && r.Body.Properties.Equal(i.Body.Properties)
		if i.Body.Back {
			i.Body.Attempted = r.Body.OldProperties // it may still have its old properties
		}
		d.changeBody(i)
	case wire.Delete:
		if v.success {
			removal(d).deleted(i, true)
		} else {
			d.resourceEvent(i, store.VerbDelete, store.ProgressFailed, v.reason, i.Body.Properties, true)
			if !removal(d).cleaningUp() { // a clean-up evaluates the policy itself
				removal(d).unmark(i.Logical)
			}
		}
	}
}

// confirm stores the properties and attributes that a provider has confirmed.
func (d results) confirm(i *store.Instance, r *store.Request, v result) {
	again(d).remember(i, r)
	i.Body.Properties, i.Body.Timeout, i.Body.Attempted, i.Body.Back = r.Body.Properties, r.Body.Timeout, value.Value{}, false
	i.Body.Data, i.Body.NoEcho, i.Body.AnsweredBy = v.data, v.noEcho, r.ID
	i.Body.HTTPConfig, i.Body.Tags, i.Body.Forwarded = r.Body.HTTPConfig, r.Body.Tags, r.Body.Forwarded
	if !v.ref.IsNull() {
		i.Body.Ref = v.ref
	}
	d.changeBody(i)
}
