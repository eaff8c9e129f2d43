package template

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Resource is the declaration of one resource. Its fields are read-only. It is self-contained: marshalled and read
// back, it evaluates without its template.
type Resource struct {
	LogicalID string
	// Type is the type's name as it is written. The caller checks that the type exists.
	Type string
	// DependsOn lists logical IDs in the order in which they are written; may be nil.
	DependsOn []string
	// Condition is the name of the condition under which the resource exists, "" if it always does.
	Condition string
	// DeletionPolicy is Delete, Retain, RetainExceptOnCreate, Snapshot, or "" if it is not declared. If Fn::If selects
	// it, it is "" until [Template.Active] returns the resource.
	DeletionPolicy string
	// UpdateReplacePolicy is Delete, Retain, Snapshot, or "" if it is not declared. Fn::If can select it like
	// DeletionPolicy.
	UpdateReplacePolicy string
	// Properties and Metadata are objects, absent if they are not declared.
	Properties, Metadata Node
	// CreationPolicy is an object that depends on no resource, absent if it is not declared. The caller checks that the
	// type supports it.
	CreationPolicy Node
	// Line and Column are the position of the logical ID.
	Line, Column int

	// parameters are the names in the trees that are parameters instead of resources, sorted.
	parameters []string
	language   Language
	// deletionChoice and updateReplaceChoice are calls of Fn::If that select a policy; may be absent.
	deletionChoice, updateReplaceChoice Node
	// count is the number of copies of the resource, absent for one. It is only set in ROS, before the template is
	// processed.
	count Node
}

func (p *parser) resources(section Node, where path) {
	if !p.object(section, where, "Resources") {
		return
	}
	if len(section.members) == 0 {
		p.at(section, where, "Template format error: At least one Resources member must be defined.")
	}
	p.count(section, where, "resources", p.template.limits.Resources)
	for _, m := range section.members {
		at := where.to(m.Key)
		if p.loopOutOfPlace(m, at, "resource") {
			continue
		}
		p.name(m, at, "Resource")
		if m.Value.kind != value.Map {
			p.at(m.Value, at, "Template format error: Any Resources member must be an object.")
			p.explain("resource " + m.Key)
			continue
		}
		r := p.resource(m, at)
		p.template.Resources, p.template.byID[r.LogicalID] = append(p.template.Resources, r), r
	}
}

func (p *parser) resource(declared Member, where path) *Resource {
	r := &Resource{LogicalID: declared.Key, Line: declared.line, Column: declared.column}
	for _, m := range declared.Value.members {
		at := where.to(m.Key)
		switch m.Key {
		case "Type":
			r.Type = p.text(m.Value, at, m.Key)
		case "Properties":
			r.Properties = p.functions(m.Value, at, m.Key, inProperties)
		case "Metadata":
			r.Metadata = p.functions(m.Value, at, m.Key, inMetadata)
		case "DependsOn":
			r.DependsOn = p.dependsOn(m.Value, at)
		case "Condition":
			r.Condition = p.text(m.Value, at, m.Key)
		case "DeletionPolicy":
			r.DeletionPolicy, r.deletionChoice = p.policy(m, at, r.LogicalID, "Delete", "Retain", "RetainExceptOnCreate", "Snapshot")
		case "UpdateReplacePolicy":
			r.UpdateReplacePolicy, r.updateReplaceChoice = p.policy(m, at, r.LogicalID, "Delete", "Retain", "Snapshot")
		case "Version", "Description":
			p.scalarText(m.Value, at, m.Key) // old templates have them; they have no effect
		case "CreationPolicy":
			r.CreationPolicy = p.functions(m.Value, at, m.Key, inCreationPolicy)
		case "UpdatePolicy":
			p.functions(m.Value, at, m.Key, inMetadata) // it applies only to types that are recorded
		default:
			p.key(m, at, "Invalid template resource property '%s'", m.Key)
		}
	}
	if declared.Value.Get("Type").IsZero() {
		p.key(declared, where, "Template format error: [%s] Every Resources object must contain a Type member.", where)
	}
	return r
}

// functions returns an object in which functions may be called, after it checked the shape of the calls.
func (p *parser) functions(n Node, where path, name string, in place) Node {
	if n.kind != value.Map {
		p.at(n, where, "Template format error: [%s] Every %s member must be an object.", where, name)
		return Node{}
	}
	s := &shapes{problems: &p.problems, language: p.template.Language, in: in, dynamic: &p.dynamic, extended: p.extended, limit: p.template.limits.DynamicReferences}
	s.node(n, where)
	return n
}

func (p *parser) dependsOn(n Node, where path) []string {
	const message = "Template format error: DependsOn must be a string or list of strings."
	switch n.kind {
	case value.String:
		return []string{n.text}
	case value.List:
		var all names
		for i, item := range n.items {
			if item.kind != value.String {
				p.at(item, where.to(strconv.Itoa(i)), message)
				return nil
			}
			all.add(item.text)
		}
		return all.list
	case value.Null, value.Bool, value.Number, value.Map:
	}
	p.at(n, where, message)
	return nil
}

// policy reads a policy: a string, or a call of Fn::If that selects one, which is returned as choice.
func (p *parser) policy(m Member, where path, resource string, allowed ...string) (policy string, choice Node) {
	if name, _, call := m.Value.call(); call && name == "Fn::If" {
		s := &shapes{problems: &p.problems, language: p.template.Language, in: inProperties, extended: p.extended}
		p.policyChoice(s, m.Key, m.Value, where, resource, allowed)
		return "", m.Value
	}
	policy = p.text(m.Value, where, m.Key)
	if m.Value.kind == value.String && !slices.Contains(allowed, policy) {
		p.unrecognizedPolicy(m.Value, where, m.Key, resource)
	}
	return policy, Node{}
}

// policyChoice checks the possible results of Fn::If for a policy: an allowed one, AWS::NoValue, or another Fn::If.
// Source: recorded answers, D4 (2026-01-23).
func (p *parser) policyChoice(s *shapes, key string, n Node, where path, resource string, allowed []string) {
	name, argument, call := n.call()
	switch {
	case call && name == "Fn::If":
		where = where.to(name)
		if !s.ifShape(argument, where) {
			return
		}
		_, then, otherwise := ifParts(argument)
		p.policyChoice(s, key, then, where.to("1"), resource, allowed)
		p.policyChoice(s, key, otherwise, where.to("2"), resource, allowed)
	case call && name == "Ref" && isNoValue(argument.text):
	case n.kind != value.String:
		p.text(n, where, key)
	case !slices.Contains(allowed, n.text):
		p.unrecognizedPolicy(n, where, key, resource)
	}
}

func (p *parser) unrecognizedPolicy(n Node, where path, key, resource string) {
	p.at(n, where, "Template format error: Unrecognized %s %s for resource %s", key, n.text, resource)
}

// in returns the resource with the policies selected in a scope.
func (r *Resource) in(s *Scope) *Resource {
	if r.deletionChoice.IsZero() && r.updateReplaceChoice.IsZero() {
		return r
	}
	chosen := *r
	e := &evaluation{scope: s}
	for _, policy := range []struct {
		choice *Node
		text   *string
	}{{&chosen.deletionChoice, &chosen.DeletionPolicy}, {&chosen.updateReplaceChoice, &chosen.UpdateReplacePolicy}} {
		if policy.choice.IsZero() {
			continue
		}
		// The branches are literals, and an undeclared condition was rejected when the template was read.
		if v, err := e.node(*policy.choice); err == nil {
			*policy.text = v.Text()
		}
		*policy.choice = Node{}
	}
	return &chosen
}
