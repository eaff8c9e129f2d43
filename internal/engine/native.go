package engine

import (
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// request splits an evaluated declaration into what is sent and what it says of its provider.
func (m *machine) request(declared *template.Resource, properties, policy value.Value) (asked, error) {
	schema := m.native.Schema(declared.Type)
	if schema == nil {
		return m.dialect.request(properties)
	}
	if properties.IsNull() {
		properties = value.Object()
	}
	properties = schema.Normal(properties)
	wanted, err := m.native.Declare(declared.Type, native.Declaration{
		StackID: m.stack.ID, Properties: properties, CreationPolicy: policy,
	})
	return asked{properties: properties, timeout: wanted.Timeout, await: wanted.Await}, err
}

// change brings a resource from the properties that it has to others.
func (m *machine) change(s *store.Step, i *store.Instance, ask asked, metadata value.Value) error {
	change, reason := native.InPlace, ""
	words := m.dialect.texts()
	if schema := m.native.Schema(i.Body.Type); schema != nil {
		change, reason = schema.Change(i.Body.Properties, ask.properties)
	}
	if m.dialect.rules().idsStay && change != native.InPlace {
		if m.replaces() {
			return m.startOver(s, i, s.Plan.New, ask.properties)
		}
		change, reason = native.Refused, m.failure(failedAsChanged, i.Logical, words.notUpdatable(reason))
	}
	action := plan.ActionModify
	if change == native.Replaces {
		action = plan.ActionReplace
	}
	denied, err := m.denied(action, i)
	switch {
	case err != nil:
		return err
	case denied != "" && !(m.isNested(i.Body.Type) && ask.properties.Equal(i.Body.Properties)):
		m.touchForUpdate(s, i, ask.properties)
		return m.fail(s, i, store.VerbUpdate, m.failure(failedByPolicy, i.Logical, denied), ask.properties)
	}
	switch change {
	case native.Replaces:
		m.recreate(s, i, ask, metadata)
	case native.Refused:
		m.touchForUpdate(s, i, ask.properties)
		return m.fail(s, i, store.VerbUpdate, reason, ask.properties)
	case native.InPlace:
		m.touchForUpdate(s, i, ask.properties)
		m.update(s, i, ask, metadata)
	}
	return nil
}

// recreate asks for a new resource in the place of one that cannot be changed. Until it is there the old one stands for
// the logical ID and the new one is condemned, so that whatever happens there is one to keep and one to clean up.
func (m *machine) recreate(s *store.Step, old *store.Instance, ask asked, metadata value.Value) {
	s.Touched = true
	m.changeStep(s)
	m.resourceEvent(old, store.VerbUpdate, store.ProgressRunning, m.dialect.texts().recreating, ask.properties, false)
	fresh := m.newInstance(s.Logical, store.InstanceBody{
		Type: old.Body.Type, Token: ask.token, Timeout: ask.timeout, Properties: ask.properties, Metadata: metadata,
	})
	fresh.Role, fresh.Replaced, fresh.Reached = store.RoleCondemned, true, true
	fresh.Verb, fresh.Progress, fresh.Changed = old.Verb, old.Progress, old.Changed
	s.Instance = fresh.Number
	m.ask(s, fresh, wire.Create, ask, value.Value{})
	m.begin(s)
}

// concludeRecreate ends the Create of what is to take another one's place.
func (m *machine) concludeRecreate(s *store.Step, fresh *store.Instance, r *store.Request, v verdict) error {
	m.absorb(s, fresh, r, v)
	old := m.current(s.Logical)
	if !v.success {
		if !v.reached {
			fresh.Role = store.RoleGone // it never came to be
		}
		s.Instance = old.Number
		m.changeStep(s)
		return m.fail(s, old, store.VerbUpdate, v.reason, r.Body.Properties)
	}
	m.exchange(s, fresh, old)
	m.initiated(fresh, store.VerbUpdate, r)
	m.resourceEvent(fresh, store.VerbUpdate, store.ProgressSucceeded, "", r.Body.Properties, false)
	m.done(s)
	return nil
}

// exchange makes another instance the one that the step's logical ID stands for.
func (m *machine) exchange(s *store.Step, winner, loser *store.Instance) {
	loser.Role, loser.Replaced = store.RoleCondemned, true
	winner.Role, winner.Replaced = store.RoleCurrent, false
	m.changeInstance(loser)
	m.changeInstance(winner)
	s.Instance = winner.Number
	m.changeStep(s)
}

// reinstate brings back the instance that a native replacement has put aside and nobody has touched since, so that no
// provider need be asked to undo it. It returns the one that stands for the logical ID then.
func (m *machine) reinstate(s *store.Step, i *store.Instance, properties value.Value) *store.Instance {
	if m.native.Schema(i.Body.Type) == nil {
		return i
	}
	var old *store.Instance
	for _, other := range m.condemned(s.Logical) {
		made := other.Replaced && other.Number < i.Number && other.Body.AnsweredBy != ""
		if made && (old == nil || other.Body.Properties.Equal(properties)) {
			old = other
		}
	}
	if old == nil {
		return i
	}
	m.exchange(s, old, i)
	old.Verb, old.Progress, old.Reason, old.Changed = i.Verb, i.Progress, i.Reason, i.Changed
	s.Touched = true
	return old
}

// attributeError is the error of whoever reads an attribute that a native type does not have.
type attributeError struct{ at template.Error }

// Error is CloudFormation's text; of an output it names the place.
func (e *attributeError) Error() string {
	if e.at.Path == "" {
		return e.at.Message
	}
	return "[Error] " + e.at.Path + "/Fn::GetAtt: " + e.at.Message
}

// Unwrap lets package template note where the attribute is read.
func (e *attributeError) Unwrap() error { return &e.at }

func unsupportedAttribute(resourceType, name string) error {
	return &attributeError{template.Error{
		Message: "Resource type " + resourceType + " does not support attribute {" + name + "}.",
	}}
}
