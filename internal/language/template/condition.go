package template

import (
	"errors"
	"fmt"
	"strings"
)

// Condition is the declaration of one condition. Its fields are read-only.
type Condition struct {
	Name string
	// Expression is its definition.
	Expression Node
	// Line and Column are the position of the name.
	Line, Column int
}

func (p *parser) conditions(section Node, where path) {
	if !p.object(section, where, "Conditions") {
		return
	}
	s := &shapes{problems: &p.problems, language: p.template.Language, in: inConditions, extended: p.extended}
	for _, m := range section.members {
		at := where.to(m.Key)
		if p.loopOutOfPlace(m, at, "condition") {
			continue
		}
		p.name(m, at, "Condition")
		s.truth(m.Value, at, logicMessage)
		p.template.Conditions = append(p.template.Conditions, &Condition{m.Key, m.Value, m.line, m.column})
	}
}

func unresolvedCondition(name, block string) string {
	return "Template format error: Unresolved condition dependency " + name + " in the " + block + " block of the template"
}

// resolveConditions checks the names in the Conditions section and sorts it.
func (p resolver) resolveConditions() {
	needs := make(map[string][]string)
	var bad names
	var first Node
	for _, c := range p.template.Conditions {
		where := path{"Conditions", c.Name}
		c.Expression = p.linked(c.Expression, where)
		w := &walk{truth: true, found: func(u use) {
			switch {
			case u.name == "" && p.unsound[member(where)]:
				// already reported
			case u.kind == useCondition:
				if !p.conditionNames[u.name] {
					p.at(u.at, where, "%s", unresolvedCondition(u.name, "Conditions"))
					p.spoil(where)
				}
				needs[c.Name] = append(needs[c.Name], u.name)
			case p.template.Language.isPseudo(u.name) || p.parameterNames[u.name]:
			default:
				if len(bad.list) == 0 {
					first = u.at
				}
				bad.add(u.name)
				p.spoil(where)
			}
		}}
		w.node(c.Expression, false)
	}
	if len(bad.list) > 0 {
		p.at(first, path{"Conditions"}, "Template format error: Unresolved dependencies [%s]. Cannot reference resources in the Conditions block of the template", strings.Join(bad.list, ", "))
	}
	p.orderConditions(needs)
}

// orderConditions sorts the conditions so that each comes after those that it depends on.
func (p resolver) orderConditions(needs map[string][]string) {
	all := make([]string, len(p.template.Conditions))
	byName := make(map[string]*Condition, len(all))
	for i, c := range p.template.Conditions {
		all[i] = c.Name
		byName[c.Name] = c
	}
	order, cycle := sortByNeeds(all, needs)
	if len(cycle) > 0 {
		for name := range byName {
			p.spoil(path{"Conditions", name}) // they have no order
		}
		c := byName[cycle[0]]
		if p.template.Language == ROS {
			p.add(&Error{
				Message: fmt.Sprintf("Circular Dependency Found: %s.", strings.Join(cycle, ", ")), Code: rosCircular,
				Path: path{"Conditions", c.Name}.String(), Line: c.Line, Column: c.Column,
			})
			return
		}
		p.add(&Error{
			Message: fmt.Sprintf("Template format error: Circular dependency between conditions: [%s]", strings.Join(cycle, ", ")),
			Path:    path{"Conditions", c.Name}.String(), Line: c.Line, Column: c.Column,
		})
		return
	}
	for i, name := range order {
		p.template.Conditions[i] = byName[name]
	}
}

// decide computes the conditions of a scope that holds the parameters.
func (t *Template) decide(s *Scope) error {
	e := &evaluation{scope: s}
	for _, c := range t.Conditions {
		holds, err := e.truth(c.Expression)
		if err != nil {
			return Errors{placed(err, path{"Conditions", c.Name})}
		}
		s.Conditions[c.Name] = holds
	}
	return nil
}

// placed returns an evaluation's error with the path where it occurred.
func placed(err error, where path) *Error {
	var e *Error
	if errors.As(err, &e) {
		e.Path = where.String()
		return e
	}
	return &Error{Message: err.Error(), Path: where.String()}
}
