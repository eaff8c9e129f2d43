package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// Now is the current state of a resource.
type Now struct {
	PhysicalID string
	Type       string
	// Properties and Metadata are the values that its provider last confirmed.
	Properties, Metadata value.Value
	// Unsettled says that it is updated in any case: a later update of it failed, it drifted, or the client asked for it.
	Unsettled bool
	// Unborn says that its creation failed. It is deleted, and created again if it is still declared.
	Unborn bool
}

// World is the input of a preview in addition to the templates.
type World struct {
	// Now returns the current state of a resource, or nil if it does not exist.
	Now func(logicalID string) *Now
	// Resources are the existing IDs and attributes.
	Resources template.Resources
	// Form converts declared properties to the form in which providers receive them and in which they are compared, or
	// returns why they are invalid.
	Form func(declared *template.Resource, properties value.Value) (value.Value, error)
	// Consequence returns the effect of a difference between old and new properties, or some of them, on a resource of
	// a type. reason is the error of its update if the change is refused. Nil leaves everything to providers.
	Consequence func(resourceType string, before, after value.Value) (consequence Consequence, reason string)
	// ForceReplace reports whether a resource is replaced even if it does not change. Nil means that none is.
	ForceReplace func(logicalID string) bool
	// KeptBy is the policy that keeps a replaced resource: [UpdateReplacePolicy], also for "", or [DeletionPolicy].
	KeptBy string
	// Imports returns the physical ID of an existing resource that is imported as a logical ID; false for none. Nil
	// means that none is.
	Imports func(logicalID string) (physicalID string, ok bool)
	// Retagged reports whether the tags that a resource gets from its stack change, given its new properties. Nil means
	// that none do.
	Retagged func(logicalID string, properties value.Value) bool
	// Nested reports whether resources of a type are stacks, which are always updated. Nil means that none are.
	Nested func(resourceType string) bool
}

// Consequence is the effect of changed properties on a resource.
type Consequence int

// The effects.
const (
	// Decided leaves the decision to the provider.
	Decided Consequence = iota
	// InPlace changes the existing resource.
	InPlace
	// Replaces creates a new resource.
	Replaces
	// Refused fails the update.
	Refused
)

// Preview returns the changes that the candidates of a plan would make, in order. It leaves out unchanged resources. It
// calls no provider: values that depend on an answer are [Unknown], and whatever depends on them may change.
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
	// changes are the changes found so far; an unchanged resource has no action.
	changes map[string]*Change
}

// change returns the change of a resource, after those of its dependencies. The graph has no cycles.
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
		if p.world.Imports != nil {
			if id, ok := p.world.Imports(logicalID); ok {
				change.Action, change.PhysicalID = Import, id
			}
		}
		properties, metadata, problem := p.foresee(change, c)
		if change.Problem = problem; problem == "" {
			change.After = context(properties, metadata)
		}
		change.lack()
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
	if declared != nil && strings.HasPrefix(declared.DeletionPolicy, "Retain") { // also RetainExceptOnCreate: no rollback
		change.PolicyAction = "Retain"
	}
	change.Before = p.before(c, now)
}

// before returns the current resource for readers of the change set. Like CloudFormation, it shows [Unknown] for
// a value that the old template takes from another resource.
func (p *preview) before(c *Candidate, now *Now) value.Value {
	if c.Old == nil || p.from == nil {
		return context(now.Properties, now.Metadata)
	}
	none := func(template.Reference) bool { return false }
	show := func(declared template.Node, is value.Value) value.Value {
		foreseen, err := template.Foresee(declared, p.from.Scope, p.world.Resources, none)
		if err != nil {
			return is
		}
		return withUnknown(is, foreseen)
	}
	return context(show(c.Old.Properties, now.Properties), show(c.Old.Metadata, now.Metadata))
}

// withUnknown returns a value with [Unknown] at the places where a value of the same shape has it.
func withUnknown(v, pattern value.Value) value.Value {
	switch {
	case isUnknown(pattern):
		return pattern
	case !hasUnknown(pattern):
	case v.Kind() == value.Map && pattern.Kind() == value.Map:
		for _, m := range pattern.Members() {
			if is, ok := v.Get(m.Key); ok {
				v = v.With(m.Key, withUnknown(is, m.Value))
			}
		}
	case v.Kind() == value.List && pattern.Kind() == value.List && len(v.Items()) == len(pattern.Items()):
		items := slices.Clone(v.Items())
		for i := range items {
			items[i] = withUnknown(items[i], pattern.Items()[i])
		}
		return value.Items(items...)
	}
	return v
}

func (p *preview) modify(change *Change, c *Candidate, now *Now) {
	properties, metadata, problem := p.foresee(change, c)
	if problem != "" {
		change.Problem, change.Scope = problem, []string{Properties} // the update is attempted, and fails
	} else {
		p.details(change, c, Properties, now.Properties, properties)
		p.details(change, c, Metadata, now.Metadata, metadata)
		p.retag(change, properties)
	}
	if p.world.Nested != nil && p.world.Nested(now.Type) && problem == "" && !slices.Contains(change.Scope, Properties) {
		change.Scope = append([]string{Properties}, change.Scope...)
		change.Details = append(change.Details, Detail{
			Attribute: Properties, Path: "/" + Properties, Recreation: RecreationNever, Dynamic: true, Source: Automatic,
		})
	}
	policies(change, c)
	forced := p.world.ForceReplace != nil && p.world.ForceReplace(c.Logical)
	if change.Again = now.Unsettled; (change.Again || forced) && !slices.Contains(change.Scope, Properties) {
		change.Scope = append([]string{Properties}, change.Scope...)
	}
	if len(change.Scope) == 0 {
		return
	}
	change.Action, change.PhysicalID, change.Type = Modify, now.PhysicalID, c.New.Type
	change.Before = p.before(c, now)
	if problem == "" {
		change.After = context(properties, metadata)
	}
	if change.Replacement = p.replacement(change); forced && problem == "" {
		change.Replacement, change.Problem = ReplacementTrue, "" // an immutable property is then not a problem
	}
	policy := c.New.UpdateReplacePolicy
	if p.world.KeptBy == DeletionPolicy {
		policy = c.New.DeletionPolicy
	}
	change.KeepsReplaced = change.Replacement != ReplacementFalse && policy == "Retain"
	if change.Replacement == ReplacementTrue {
		change.PolicyAction = "ReplaceAndDelete"
		if change.KeepsReplaced {
			change.PolicyAction = "ReplaceAndRetain"
		}
	}
	change.lack()
}

// retag adds that the tags that a resource gets from its stack change.
func (p *preview) retag(change *Change, properties value.Value) {
	if p.world.Retagged == nil || !p.world.Retagged(change.LogicalID, properties) {
		return
	}
	change.Scope = append(change.Scope, Tags)
	change.Details = append(change.Details, Detail{
		Attribute: Tags, Path: "/" + Tags, Recreation: RecreationNever, Source: DirectModification,
	})
}

// lack sets the problem that an import has no export, unless the change already has a problem.
func (c *Change) lack() {
	if c.Import != "" && c.Problem == "" {
		c.Problem = template.NoExport(c.Import)
	}
}

// replacement returns the replacement that the details of a modified resource lead to.
func (p *preview) replacement(change *Change) Replacement {
	if !slices.Contains(change.Scope, Properties) || change.Problem != "" {
		return ReplacementFalse
	}
	result, seen := ReplacementFalse, false
	for _, d := range change.Details {
		seen = seen || d.Attribute == Properties
		switch {
		case d.Recreation == RecreationAlways && !d.Dynamic:
			return ReplacementTrue
		case d.Recreation != RecreationNever:
			result = ReplacementConditional
		}
	}
	if seen {
		return result
	}
	// A failed update is tried again, although the resource should already have these properties.
	if consequence, _ := p.consequence(change.Type, "", value.Object(), value.Object()); consequence != Decided {
		return ReplacementFalse
	}
	return ReplacementConditional
}

// foresee evaluates the known parts of the new properties and metadata of a resource. It records an import without an
// export in the change.
func (p *preview) foresee(change *Change, c *Candidate) (properties, metadata value.Value, problem string) {
	for _, need := range c.NewNeeds {
		p.change(need)
	}
	var open []template.Reference
	properties, change.Import, open, problem = p.evaluate(c.New.Properties)
	if problem != "" {
		return value.Value{}, value.Value{}, problem
	}
	if hasUnknown(properties) {
		change.await(open)
	}
	metadata, missing, _, problem := p.evaluate(c.New.Metadata)
	if problem != "" {
		return value.Value{}, value.Value{}, problem
	}
	change.Import = cmp.Or(change.Import, missing)
	properties, err := p.world.Form(c.New, properties)
	if err != nil {
		return value.Value{}, value.Value{}, err.Error()
	}
	return properties, metadata, ""
}

// evaluate returns the known parts of a value of the new template, and the first import in it without an export.
func (p *preview) evaluate(declared template.Node) (v value.Value, missing string, open []template.Reference, problem string) {
	known := func(r template.Reference) bool {
		ok := p.known(r)
		if !ok {
			open = append(open, r)
		}
		return ok
	}
	v, missing, err := template.ForeseeImports(declared, p.to.Scope, p.world.Resources, known)
	if err != nil {
		return v, "", nil, err.Error()
	}
	return v, missing, open, ""
}

// await notes the resources on which the properties depend and whose values are unknown.
func (c *Change) await(open []template.Reference) {
	for _, r := range open {
		if !slices.Contains(c.Awaits, r.Resource) {
			c.Awaits = append(c.Awaits, r.Resource)
		}
	}
	slices.Sort(c.Awaits)
}

// known reports whether a reference is to an unchanged value. A provider that gets a request may answer with another
// ID, unless it is known to update in place, and with other attributes.
func (p *preview) known(r template.Reference) bool {
	change := p.changes[r.Resource]
	if change == nil {
		return false
	}
	switch {
	case change.Action == "":
		return true
	case change.Action != Modify:
		return false
	case !slices.Contains(change.Scope, Properties):
		return true
	}
	return change.Replacement == ReplacementFalse && change.Problem == "" && r.Attribute == ""
}

// details adds the places at which an attribute changes.
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
	start, wholeBefore, wholeAfter := len(change.Details), before, after
	differences(nil, before, after, func(path []string, before, after *value.Value) {
		d := Detail{
			Attribute: attribute, Path: pointer(attribute, path), Recreation: RecreationNever, Before: text(before), After: text(after),
		}
		unknown := after != nil && hasUnknown(*after)
		// An unknown value may turn out to equal the existing one. A list of another length cannot, nor can an object
		// that replaces a text.
		open := before != nil && after != nil && isUnknown(*after)
		if attribute == Properties && len(path) > 0 {
			d.Name = path[0]
			consequence, reason := p.consequence(c.New.Type, d.Name, wholeBefore, wholeAfter)
			d.Recreation = consequence.recreation()
			if consequence == Refused && !unknown {
				change.Problem = d.Name + " cannot be changed: the update of this resource will fail with \"" + reason + "\""
			}
		}
		change.Details = append(change.Details, p.causes(d, was, declared, path, open)...)
	})
	if len(change.Details) > start {
		change.Scope = append(change.Scope, attribute)
	}
}

// consequence returns the effect of a change of one property.
func (p *preview) consequence(resourceType, name string, before, after value.Value) (Consequence, string) {
	if p.world.Consequence == nil {
		return Decided, ""
	}
	only := func(v value.Value) value.Value {
		if property, ok := v.Get(name); ok {
			return value.Object(value.Member{Key: name, Value: property})
		}
		return value.Object()
	}
	return p.world.Consequence(resourceType, only(before), only(after))
}

func (c Consequence) recreation() Recreation {
	switch c {
	case Decided:
		return RecreationConditional
	case Replaces:
		return RecreationAlways
	case InPlace, Refused:
	}
	return RecreationNever
}

// causes returns a detail for every reason why a place changes. open says that it may stay unchanged after all.
func (p *preview) causes(d Detail, was, declared template.Node, path []string, open bool) []Detail {
	var list []Detail
	add := func(source Source, cause string, dynamic bool) {
		d.Source, d.Cause, d.Dynamic = source, cause, dynamic
		list = append(list, d)
	}
	causes := p.to.Template.Causes(declared, p.to.Scope, path...)
	for _, name := range causes.Parameters {
		if !p.parameter(name) {
			add(ParameterReference, name, open)
		}
	}
	for _, r := range causes.Resources {
		if !p.known(r) {
			add(reference(r))
		}
	}
	if !was.At(p.to.Scope, path...).Equal(declared.At(p.to.Scope, path...)) {
		add(DirectModification, "", open && list != nil)
	}
	if list == nil && len(causes.Resources) > 0 {
		// It has changed since the resource last received it.
		source, cause, _ := reference(causes.Resources[0])
		add(source, cause, false)
	}
	if list == nil {
		add(DirectModification, "", false)
	}
	if !open && !slices.ContainsFunc(list, func(d Detail) bool { return !d.Dynamic }) {
		for i := range list {
			list[i].Dynamic = false // the new value differs in any case
		}
	}
	return list
}

func reference(r template.Reference) (source Source, cause string, dynamic bool) {
	if r.Attribute == "" {
		return ResourceReference, r.Resource, true
	}
	return ResourceAttribute, r.Resource + "." + r.Attribute, true
}

// parameter reports whether a parameter is unchanged.
func (p *preview) parameter(name string) bool {
	if p.from == nil {
		return false
	}
	before, had := p.from.Scope.Parameters[name]
	return had && before.Equal(p.to.Scope.Parameters[name])
}

// policies adds the changes of a resource's policies.
func policies(change *Change, c *Candidate) {
	if c.Old == nil {
		return
	}
	for _, policy := range []struct {
		name          string
		before, after value.Value
	}{
		{CreationPolicy, c.Old.CreationPolicy.Value(), c.New.CreationPolicy.Value()},
		{DeletionPolicy, policyValue(c.Old.DeletionPolicy), policyValue(c.New.DeletionPolicy)},
		{UpdateReplacePolicy, policyValue(c.Old.UpdateReplacePolicy), policyValue(c.New.UpdateReplacePolicy)},
	} {
		if policy.before.Equal(policy.after) {
			continue
		}
		d := Detail{Attribute: policy.name, Path: "/" + policy.name, Recreation: RecreationNever, Source: DirectModification}
		if !policy.before.IsNull() {
			d.Before = text(&policy.before)
		}
		if !policy.after.IsNull() {
			d.After = text(&policy.after)
		}
		change.Scope, change.Details = append(change.Scope, policy.name), append(change.Details, d)
	}
}

// policyValue returns a policy as a value, null if it is not declared.
func policyValue(policy string) value.Value {
	if policy == "" {
		return value.Value{}
	}
	return value.Str(policy)
}

// context returns a resource as one object.
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
