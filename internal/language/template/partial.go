package template

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Partial is a scope in which some parameters have no value yet. It holds the known part of a template before
// deployment. It is safe for concurrent use.
type Partial struct {
	template *Template
	scope    *Scope
	// vague says that the transforms could not be applied because a value is missing.
	vague bool
	// open are the parameters and pseudo parameters without a value; undecided are the conditions that depend on them.
	open, undecided map[string]bool
}

// BindPartly is [Template.Bind] for a new stack of which not all is known. A parameter without input and default is not
// an error, and neither is one that is named in open, as pseudo parameters may be. Values that depend on those are
// unknown.
//
// It returns a Partial even with an error, which is an [Errors]. In it everything that has a problem is unknown.
func (t *Template) BindPartly(inputs map[string]Input, open []string, pseudo Pseudo) (*Partial, error) {
	p := &Partial{template: t, open: make(map[string]bool), undecided: make(map[string]bool)}
	for _, name := range open {
		p.open[name] = true
	}
	b := newBinding(t, inputs, nil, nil)
	b.unknown()
	for _, declared := range t.Parameters {
		name := declared.Name
		if declared.ros {
			p.rosParameter(b, declared)
			continue
		}
		text, secret, ok := b.text(declared)
		switch {
		case !ok || p.open[name] || t.unsound["Parameters/"+name]:
			p.open[name] = true
			b.values[name] = declared.value("")
		default:
			b.check(declared, text)
			b.values[name] = declared.value(text)
			if secret {
				b.values[name] = b.values[name].Tainted(value.OfParameter)
			}
			// The value in the parameter store is unknown.
			p.open[name] = declared.Stored()
		}
	}
	p.scope = NewScope(b.values, make(map[string]bool), pseudo)
	p.scope.Language = t.Language
	found := b.found
	for _, wrong := range found {
		if declared := t.Parameter(strings.TrimPrefix(wrong.Path, "/Parameters/")); declared != nil {
			p.open[declared.Name] = true
		}
	}
	found = append(found, p.process()...)
	e := &evaluation{scope: p.scope}
	for _, c := range p.template.Conditions {
		w := &walk{truth: true, call: func(name string, _ Node) {
			if p.untimed(name) {
				p.undecided[c.Name] = true
			}
		}, found: func(u use) {
			if p.open[u.name] && u.kind != useCondition || p.undecided[u.name] && u.kind == useCondition {
				p.undecided[c.Name] = true
			}
		}}
		w.node(c.Expression, false)
		p.scope.Conditions[c.Name] = false
		if p.template.unsound["Conditions/"+c.Name] {
			p.undecided[c.Name] = true
		}
		if p.undecided[c.Name] {
			continue
		}
		holds, err := e.truth(c.Expression)
		if err != nil {
			found = append(found, placed(err, path{"Conditions", c.Name}))
			p.undecided[c.Name] = true
			continue
		}
		p.scope.Conditions[c.Name] = holds
	}
	if len(found) == 0 && p.template.counted {
		found = p.multiply()
	}
	if len(found) == 0 {
		found = first(t.enforce(p.scope, p.open), nil)
	}
	return p, t.inItsTerms(found.orNil())
}

// process applies the transforms of the template, if all that they need is known, and returns their problems.
func (p *Partial) process() Errors {
	if !p.template.Unprocessed() || p.template.counted {
		return nil // resources are counted when the conditions are decided
	}
	q := p.template.processing(p.scope)
	q.rehearse(func(name string) bool { return p.open[name] })
	q.lenient = true
	made, err := q.run()
	if p.vague = made == nil; !p.vague {
		p.template = made
	}
	return first(err, nil)
}

// untimed reports whether a function needs the time of an operation that has not begun.
func (p *Partial) untimed(function string) bool {
	return function == "Fn::FormatTime" && p.template.Language == ROS
}

// Template returns the template whose resources and outputs are checked: the result of the transforms. If they need an
// unknown value, it is the bound template, which has no resources and outputs.
func (p *Partial) Template() *Template { return p.template }

// Missing returns the parameters without a value, in the order of the template.
func (p *Partial) Missing() []string {
	var names []string
	for _, d := range p.template.Parameters {
		if p.open[d.Name] {
			names = append(names, d.Name)
		}
	}
	return names
}

// Scope returns the scope if every parameter has a value and every condition is decided; otherwise false.
func (p *Partial) Scope() (*Scope, bool) {
	return p.scope, !p.vague && len(p.Missing()) == 0 && len(p.undecided) == 0
}

// Resources returns the resources that exist, and those that may exist because their condition is not decided.
func (p *Partial) Resources() []*Resource {
	var list []*Resource
	for _, r := range p.template.Resources {
		if r.Condition == "" || p.undecided[r.Condition] || p.scope.Conditions[r.Condition] {
			list = append(list, r)
		}
	}
	return list
}

// Outputs is [Partial.Resources] for outputs.
func (p *Partial) Outputs() []*DeclaredOutput {
	var list []*DeclaredOutput
	for _, o := range p.template.Outputs {
		if o.Condition == "" || p.undecided[o.Condition] || p.scope.Conditions[o.Condition] {
			list = append(list, o)
		}
	}
	return list
}

// References returns the attributes and IDs that a resource or an output, by its own tree n, uses in the branches that
// may be selected. It leaves out a reference whose attribute is named by a parameter without a value, or by a secret
// one.
func (p *Partial) References(n Node) []Reference {
	var list []Reference
	p.walk(n, func(u use) {
		if u.kind == useCondition || p.template.Resource(u.name) == nil {
			return
		}
		if named, _ := p.scope.variable(u.parameter); named.Secret() || p.open[u.parameter] {
			return
		}
		if r := u.reference(p.scope); !slices.Contains(list, r) {
			list = append(list, r)
		}
	})
	return list
}

// Look evaluates n, a tree of the template. It returns a literal as a node: a scalar, or a list or object on whose
// items and members the caller calls Look in turn. It returns the result of a function as a value, null for
// AWS::NoValue. For Fn::If it returns the selected branch. known is false if n depends on a resource, or on a parameter
// without a value. The error is an [Error].
func (p *Partial) Look(n Node) (literal Node, computed value.Value, known bool, err error) {
	return p.look(&evaluation{scope: p.scope}, n)
}

func (p *Partial) look(e *evaluation, n Node) (literal Node, computed value.Value, known bool, err error) {
	for {
		name, argument, call := n.call()
		if !call {
			return n, value.Value{}, true, nil
		}
		if name != "Fn::If" {
			break
		}
		if test, _, _ := ifParts(argument); p.undecided[test.text] {
			return Node{}, value.Value{}, false, nil
		}
		if n, err = e.branch(argument); err != nil {
			return Node{}, value.Value{}, false, err
		}
	}
	known = true
	w := &walk{scope: p.scope, undecided: p.undecided, call: func(name string, _ Node) { known = known && !fetches(name) && !p.untimed(name) }, found: func(u use) {
		switch {
		case u.kind == useCondition:
			known = known && !p.undecided[u.name]
		case p.open[u.name] || p.open[u.parameter]:
			known = false
		default:
			if _, ok := p.scope.variable(u.name); !ok {
				known = false
			}
		}
	}}
	w.node(n, false)
	if !known {
		return Node{}, value.Value{}, false, nil
	}
	computed, err = e.node(n)
	if err == nil && deeper(computed, MaxDepth) {
		err = e.fail(n, "Template error: lists and objects nest deeper than %d levels.", MaxDepth)
	}
	return Node{}, computed, err == nil, err
}

// walk calls found for the names in a tree, in the branches that may be selected.
func (p *Partial) walk(n Node, found func(use)) {
	w := &walk{scope: p.scope, undecided: p.undecided, found: found}
	w.node(n, false)
}
