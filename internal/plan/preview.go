package plan

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/template"
	"github.com/pintle-dev/pintle/internal/value"
)

// Now is what there is of a resource.
type Now struct {
	PhysicalID string
	Type       string
	// Properties and Metadata are those that its provider confirmed last.
	Properties, Metadata value.Value
	// Unsettled says that a later update of it failed, so that it is updated in any case.
	Unsettled bool
	// Unborn says that its creation failed: it is deleted, and created anew if it is still declared.
	Unborn bool
}

// World is what a preview has to know besides the templates.
type World struct {
	// Now returns what there is of a resource, nil if there is nothing.
	Now func(logicalID string) *Now
	// Resources are the ids and attributes that there are.
	Resources template.Resources
	// Form brings properties into the form in which providers see them and in which they are compared, or says what is
	// wrong with them.
	Form func(properties value.Value) (value.Value, error)
	// Fixed are the properties that cannot be changed, each with what the update of a resource fails with.
	Fixed map[string]string
}

// Preview says what the candidates of a plan would come to, in their order; what would stay as it is is left out. Nobody is
// asked: what depends on an answer of a provider is [Unknown], and what depends on that may change.
func Preview(from *Side, to Side, candidates []Candidate, world World) []Change {
	p := &preview{from: from, to: to, world: world, candidates: map[string]*Candidate{}, changes: map[string]*Change{}}
	for i := range candidates {
		p.candidates[candidates[i].Logical] = &candidates[i]
	}
	var list []Change
	for _, c := range candidates {
		if change := p.change(c.Logical); change.Action != "" {
			list = append(list, *change)
		}
	}
	return list
}

// preview is one run of [Preview].
type preview struct {
	from       *Side
	to         Side
	world      World
	candidates map[string]*Candidate
	// changes are those found so far; one that stays as it is has no action.
	changes map[string]*Change
}

// change returns what becomes of a resource, and looks first at those it depends on. The graph has no cycles.
func (p *preview) change(logicalID string) *Change {
	if known := p.changes[logicalID]; known != nil {
		return known
	}
	c, now := p.candidates[logicalID], p.world.Now(logicalID)
	change := &Change{LogicalID: logicalID}
	switch {
	case c.New == nil && now == nil:
	case c.New == nil:
		p.remove(change, c, now)
	case now == nil || now.Unborn:
		change.Action, change.Type = Add, c.New.Type
		properties, metadata, problem := p.foresee(c)
		if change.Problem = problem; problem == "" {
			change.After = context(properties, metadata)
		}
	default:
		p.modify(change, c, now)
	}
	p.changes[logicalID] = change
	return change
}

func (p *preview) remove(change *Change, c *Candidate, now *Now) {
	change.Action, change.PhysicalID, change.Type = Remove, now.PhysicalID, now.Type
	change.PolicyAction = "Delete"
	declared := c.Old
	if declared == nil {
		declared = c.Tried
	}
	if declared != nil && strings.HasPrefix(declared.DeletionPolicy, "Retain") { // RetainExceptOnCreate too: nothing is rolled back
		change.PolicyAction = "Retain"
	}
	change.Before = context(now.Properties, now.Metadata)
}

func (p *preview) modify(change *Change, c *Candidate, now *Now) {
	properties, metadata, problem := p.foresee(c)
	if problem != "" {
		change.Problem, change.Scope = problem, []string{Properties} // it is tried, and fails
	} else {
		p.details(change, c, Properties, now.Properties, properties)
		p.details(change, c, Metadata, now.Metadata, metadata)
	}
	policies(change, c)
	if now.Unsettled && !slices.Contains(change.Scope, Properties) {
		change.Scope = append([]string{Properties}, change.Scope...)
	}
	if len(change.Scope) == 0 {
		return
	}
	change.Action, change.PhysicalID, change.Type = Modify, now.PhysicalID, c.New.Type
	change.Before = context(now.Properties, now.Metadata)
	if problem == "" {
		change.After = context(properties, metadata)
	}
	change.Replacement = ReplacementFalse
	if slices.Contains(change.Scope, Properties) && change.Problem == "" {
		change.Replacement, change.KeepsReplaced = ReplacementConditional, c.New.UpdateReplacePolicy == "Retain"
	}
}

// foresee evaluates what a resource is to be, as far as that is known.
func (p *preview) foresee(c *Candidate) (properties, metadata value.Value, problem string) {
	for _, need := range c.NewNeeds {
		p.change(need)
	}
	properties, err := template.Foresee(c.New.Properties, p.to.Scope, p.world.Resources, p.known)
	if err == nil {
		metadata, err = template.Foresee(c.New.Metadata, p.to.Scope, p.world.Resources, p.known)
	}
	if err == nil {
		properties, err = p.world.Form(properties)
	}
	if err != nil {
		return value.Value{}, value.Value{}, err.Error()
	}
	return properties, metadata, ""
}

// known reports whether a reference is to something that stays as it is. A provider that is asked for anything may answer
// with another id and other attributes.
func (p *preview) known(r template.Reference) bool {
	change := p.changes[r.Resource]
	if change == nil {
		return false
	}
	return change.Action == "" || change.Action == Modify && !slices.Contains(change.Scope, Properties)
}

// details adds the places in which an attribute changes.
func (p *preview) details(change *Change, c *Candidate, attribute string, before, after value.Value) {
	declared, was := c.New.Properties, template.Node{}
	if attribute == Metadata {
		declared = c.New.Metadata
	}
	switch {
	case c.Old == nil:
	case attribute == Metadata:
		was = c.Old.Metadata
	default:
		was = c.Old.Properties
	}
	start := len(change.Details)
	differences(nil, before, after, func(path []string, before, after *value.Value) {
		d := Detail{Attribute: attribute, Path: pointer(attribute, path), Before: text(before), After: text(after)}
		if attribute == Properties && len(path) > 0 {
			d.Name = path[0]
		}
		unknown := after != nil && hasUnknown(*after)
		d.Conditional = attribute == Properties
		if fails, fixed := p.world.Fixed[d.Name]; fixed && d.Conditional && !unknown {
			d.Conditional = false
			change.Problem = d.Name + " cannot be changed: the update of this resource will fail with \"" + fails + "\""
		}
		change.Details = append(change.Details, p.causes(d, was, declared, path, unknown)...)
	})
	if len(change.Details) > start {
		change.Scope = append(change.Scope, attribute)
	}
}

// causes returns a detail for every reason why a place changes.
func (p *preview) causes(d Detail, was, declared template.Node, path []string, unknown bool) []Detail {
	var list []Detail
	add := func(source Source, cause string, dynamic bool) {
		d.Source, d.Cause, d.Dynamic = source, cause, dynamic
		list = append(list, d)
	}
	causes := p.to.Template.Causes(declared, p.to.Scope, path...)
	for _, name := range causes.Parameters {
		if !p.parameter(name) {
			add(ParameterReference, name, false)
		}
	}
	for _, r := range causes.Resources {
		if !p.known(r) {
			add(reference(r))
		}
	}
	if !was.At(p.to.Scope, path...).Equal(declared.At(p.to.Scope, path...)) {
		add(DirectModification, "", unknown && d.Before != nil && list != nil)
	}
	if list == nil && len(causes.Resources) > 0 {
		// It has changed since the resource was told of it last.
		source, cause, _ := reference(causes.Resources[0])
		add(source, cause, false)
	}
	if list == nil {
		add(DirectModification, "", false)
	}
	return list
}

func reference(r template.Reference) (source Source, cause string, dynamic bool) {
	if r.Attribute == "" {
		return ResourceReference, r.Resource, true
	}
	return ResourceAttribute, r.Resource + "." + r.Attribute, true
}

// parameter reports whether a parameter has the value it had.
func (p *preview) parameter(name string) bool {
	if p.from == nil {
		return false
	}
	before, had := p.from.Scope.Parameters[name]
	return had && before.Equal(p.to.Scope.Parameters[name])
}

// policies adds what changes of a resource's policies.
func policies(change *Change, c *Candidate) {
	if c.Old == nil {
		return
	}
	for _, policy := range []struct{ name, before, after string }{
		{DeletionPolicy, c.Old.DeletionPolicy, c.New.DeletionPolicy},
		{UpdateReplacePolicy, c.Old.UpdateReplacePolicy, c.New.UpdateReplacePolicy},
	} {
		if policy.before == policy.after {
			continue
		}
		d := Detail{Attribute: policy.name, Path: "/" + policy.name, Source: DirectModification}
		if policy.before != "" {
			d.Before = &policy.before
		}
		if policy.after != "" {
			d.After = &policy.after
		}
		change.Scope, change.Details = append(change.Scope, policy.name), append(change.Details, d)
	}
}

// context is a resource as one object.
func context(properties, metadata value.Value) value.Value {
	if properties.IsNull() {
		properties = value.Object()
	}
	v := value.Object(value.Member{Key: Properties, Value: properties})
	if !metadata.IsNull() {
		v = v.With(Metadata, metadata)
	}
	return v
}
