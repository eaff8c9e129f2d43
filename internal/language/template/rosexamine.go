package template

import (
	"errors"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// examineROS is [Examine] for a template of ROS.
func examineROS(body string, limits Limits) (*Template, Errors) {
	t, err := ParseROS(body, limits)
	if err == nil {
		return t, nil
	}
	refused := first(err, nil)
	limits = limits.withROSDefaults()
	if len(body) > limits.Bytes {
		return nil, refused
	}
	root, err := ROS.read(body)
	if err != nil || root.kind != value.Map {
		return nil, refused
	}
	p := newROSParser(body, limits, false)
	if _, ok := transformed(root); ok {
		return nil, refused
	}
	t, found := rosResolver(p).examineROS(p.plainROS(root))
	return t, first(asROS(refused, rosValidationFailed), first(asROS(found.orNil(), rosValidationFailed), nil))
}

// examineROS is examine for a template of ROS.
func (p rosResolver) examineROS(root Node) (*Template, Errors) {
	p.lenient, p.unsound = true, make(map[string]bool)
	rosParser(p).rosSections(root)
	if p.template.counted {
		p.template.source = root
	}
	if len(p.found) >= maxProblems || !p.readable(root) {
		return nil, p.found
	}
	p.declared = root
	p.spoilFound()
	p.resolveROS()
	if len(p.found) >= maxProblems {
		return nil, p.found
	}
	p.spoilFound()
	p.keepSound()
	return p.template, p.found
}

// rosParameter binds one parameter of a template of ROS, as far as it is known.
func (p *Partial) rosParameter(b *binding, declared *Parameter) {
	name := declared.Name
	if p.open[name] || p.template.unsound["Parameters/"+name] || !b.rosParameter(declared) {
		p.open[name] = true
		b.values[name] = value.Value{}
		return
	}
	p.open[name] = declared.Stored()
}

// multiply multiplies the counted resources, if their number is known, and returns its problems.
func (p *Partial) multiply() Errors {
	t := p.template
	open := make(map[string]bool)
	for _, names := range []map[string]bool{p.open, p.undecided} {
		for name, is := range names {
			open[name] = is
		}
	}
	depends := t.dependence(open)
	for _, r := range t.Resources {
		if !r.count.IsZero() && depends(r.count) {
			p.vague = true
			return nil
		}
	}
	made, err := t.multiply(p.scope)
	var found Errors
	if errors.As(err, &found) {
		p.vague = true
		return found
	}
	p.template = made
	return nil
}
