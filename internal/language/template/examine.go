package template

import (
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Examine is [ParseWithin] for callers that want every problem at once. It looks up names even if another part of the
// template is malformed, and reports each unknown name at its place.
//
// In addition to the problems, it returns the valid part of the template for further checks. That part lacks the
// resources and outputs that have problems of their own; parameters and conditions with problems count as unknown. The
// template is nil if too much of it is invalid. Use it only with [Template.BindPartly] and its results, and never
// deploy it.
func Examine(body string, limits Limits) (*Template, Errors) {
	return CloudFormation.Examine(body, limits)
}

// Examine is [Examine] for a template in the language.
func (l Language) Examine(body string, limits Limits) (*Template, Errors) {
	if l == ROS {
		return examineROS(body, limits)
	}
	limits = limits.withDefaults()
	root, err := Read(body, limits)
	if err != nil {
		return nil, first(err, nil)
	}
	t, err := ParseWithin(body, limits)
	if err == nil {
		return t, nil
	}
	if root.kind != value.Map {
		return nil, first(err, nil)
	}
	p := &parser{template: newTemplate(body, limits)}
	t, found := p.examine(root)
	return t, first(err, found)
}

// examine does everything that [parser.whole] does, even after problems, and returns the valid part.
func (p *parser) examine(root Node) (*Template, Errors) {
	p.lenient, p.unsound = true, make(map[string]bool)
	p.sections(root)
	if len(p.found) >= maxProblems || !p.readable(root) {
		return nil, p.found
	}
	p.declared = root
	p.spoilFound()
	resolver{p}.resolve()
	if p.template.Unprocessed() && len(p.found) == 0 {
		q := p.template.rehearsal()
		q.lenient = true
		_, err := q.run()
		p.found = first(err, nil)
	}
	if len(p.found) >= maxProblems {
		return nil, p.found
	}
	p.keepSound()
	return p.template, p.found
}

// first returns found or, if that is empty, the problems in err.
func first(err error, found Errors) Errors {
	if len(found) == 0 {
		errors.As(err, &found)
	}
	return found
}

// naming are the sections whose members have names that other parts use.
var naming = []string{"Parameters", "Mappings", "Conditions", "Resources"}

// readable reports whether the names in a template can be read.
func (p *parser) readable(root Node) bool {
	return root.kind == value.Map && !slices.ContainsFunc(naming, func(section string) bool {
		n := root.Get(section)
		return !n.IsZero() && n.kind != value.Map
	})
}

// member returns the member of a section that a place belongs to.
func member(where path) string {
	if len(where) < 2 {
		return ""
	}
	return where[0] + "/" + where[1]
}

// spoil records a problem in the member of a section that where belongs to. Only Examine continues after that.
func (p *parser) spoil(where path) {
	if p.lenient {
		p.unsound[member(where)] = true
	}
}

// spoilFound records the members of all problems found.
func (p *parser) spoilFound() {
	for _, e := range p.found {
		p.unsound[memberOf(e.Path)] = true
	}
}

// memberOf is [member] for the path of an [Error].
func memberOf(where string) string {
	return member(strings.SplitN(strings.TrimPrefix(where, "/"), "/", 3))
}

// spoilt reports whether a section has any problem.
func (p *parser) spoilt(section string) bool {
	for name := range p.unsound {
		if strings.HasPrefix(name, section+"/") {
			return true
		}
	}
	return false
}

// looksUp reports whether a tree calls Fn::FindInMap.
func (n Node) looksUp() bool {
	if name, _, call := n.call(); call && name == "Fn::FindInMap" {
		return true
	}
	return slices.ContainsFunc(n.items, Node.looksUp) ||
		slices.ContainsFunc(n.members, func(m Member) bool { return m.Value.looksUp() })
}

// linked is [parser.link], except for members with problems, and for lookups when a mapping has one.
func (p *parser) linked(n Node, where path) Node {
	switch {
	case !p.lenient:
		return resolver{p}.link(n, where)
	case p.unsound[member(where)]:
		return n
	case p.spoilt("Mappings") && n.looksUp():
		p.spoil(where)
		return n
	}
	before := len(p.found)
	n = resolver{p}.link(n, where)
	if len(p.found) > before {
		p.spoil(where)
	}
	return n
}

// keepSound removes the parts with problems, which further checks could not handle.
func (p *parser) keepSound() {
	t := p.template
	t.unsound = p.unsound
	t.Resources = slices.DeleteFunc(t.Resources, func(r *Resource) bool { return p.unsound["Resources/"+r.LogicalID] })
	for name := range t.byID {
		if p.unsound["Resources/"+name] {
			delete(t.byID, name)
		}
	}
	t.Rules = slices.DeleteFunc(t.Rules, func(r *Rule) bool { return p.unsound["Rules/"+r.Name] })
	t.Outputs = slices.DeleteFunc(t.Outputs, func(o *DeclaredOutput) bool { return p.unsound["Outputs/"+o.Key] })
}
