package template

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// rosResolver resolves the names in a ROS template.
type rosResolver struct{ *parser }

// resolveROS is resolve for a template of ROS.
func (p rosResolver) resolveROS() {
	resolver(p).gatherNames()
	for _, r := range p.template.Resources {
		if p.parameterNames[r.LogicalID] {
			p.add(&Error{
				Message: r.LogicalID + " is both a parameter and a resource.", Code: rosValidationFailed,
				Path: path{"Resources", r.LogicalID}.String(), Line: r.Line, Column: r.Column,
			})
		}
	}
	p.resolveROSConditions()
	p.resolveROSRules()
	p.resolveROSResources()
	p.resolveROSOutputs()
	if (len(p.found) == 0 || p.lenient) && !p.template.counted { // the dependencies of counted resources are known later
		resolver(p).refuseCycles()
	}
}

// missing adds the problem that a name is unknown.
func (p rosResolver) missing(name string, at Node, where path) {
	if name == "" && p.unsound[member(where)] {
		return // already reported
	}
	p.coded(rosInvalidReference, at, where, "%s", rosReference(name, where))
	if name == rosIndex {
		p.explain("ALIYUN::Index is known only in the Properties of a resource with Count")
	}
	p.spoil(where)
}

// isResource reports whether a name is a resource, or a copy of a counted resource.
func (p rosResolver) isResource(name string) bool {
	if p.resourceNames[name] {
		return true
	}
	of, _, ok := indexed(name)
	return ok && p.countedNames[of]
}

// indexed splits a name such as A[0].
func indexed(name string) (of, index string, ok bool) {
	of, rest, found := strings.Cut(name, "[")
	index, closed := strings.CutSuffix(rest, "]")
	return of, index, found && closed && isIndex(index)
}

func (p rosResolver) resolveROSConditions() {
	needs := make(map[string][]string)
	for _, c := range p.template.Conditions {
		where := path{"Conditions", c.Name}
		c.Expression = p.decidedEarly(c.Expression, where, func(name string) { needs[c.Name] = append(needs[c.Name], name) })
	}
	resolver(p).orderConditions(needs)
}

func (p rosResolver) resolveROSRules() {
	for _, r := range p.template.Rules {
		where := path{"Rules", r.Name}
		if !r.Condition.IsZero() {
			r.Condition = p.ruleEarly(r.Condition, where.to("RuleCondition"))
		}
		for i := range r.Assertions {
			r.Assertions[i].Assert = p.ruleEarly(r.Assertions[i].Assert, where.to("Assertions", strconv.Itoa(i)))
		}
	}
}

// ruleEarly is decidedEarly for a part of a rule, which may be the name of a condition.
func (p rosResolver) ruleEarly(n Node, where path) Node {
	if n.kind != value.String {
		return p.decidedEarly(n, where, func(string) {})
	}
	if !p.conditionNames[n.text] {
		p.missing(n.text, n, where)
	}
	return n
}

// decidedEarly links a tree that is decided before resources exist, and checks its names.
func (p rosResolver) decidedEarly(n Node, where path, condition func(name string)) Node {
	n = p.linked(n, where)
	w := &walk{truth: true, found: func(u use) {
		switch {
		case u.kind == useCondition:
			if !p.conditionNames[u.name] {
				p.missing(u.name, u.at, where)
			}
			condition(u.name)
		case p.template.Language.isPseudo(u.name) || p.parameterNames[u.name]:
		case p.isResource(u.name):
			p.missing(u.name, u.at, where)
			p.explain("it is a resource, and this is decided before there are any")
		default:
			p.missing(u.name, u.at, where)
		}
	}}
	w.node(n, false)
	return n
}

func (p rosResolver) resolveROSResources() {
	for _, r := range p.template.Resources {
		where := path{"Resources", r.LogicalID}
		at := Node{line: r.Line, column: r.Column}
		if r.Condition != "" && !p.conditionNames[r.Condition] {
			p.missing(r.Condition, at, where.to("Condition"))
		}
		r.Properties = p.rosTree(r.Properties, where.to("Properties"), &r.parameters, !r.count.IsZero())
		if !r.count.IsZero() {
			r.count = p.decidedEarly(r.count, where.to("Count"), func(string) {})
		}
		r.Metadata = p.rosTree(r.Metadata, where.to("Metadata"), &r.parameters, false)
		for _, name := range r.DependsOn {
			if !p.isResource(name) {
				p.missing(name, at, where.to("DependsOn"))
			}
		}
	}
}

func (p rosResolver) resolveROSOutputs() {
	for _, o := range p.template.Outputs {
		where := path{"Outputs", o.Key}
		if o.Condition != "" && !p.conditionNames[o.Condition] {
			p.missing(o.Condition, Node{line: o.Line, column: o.Column}, where.to("Condition"))
		}
		o.Value = p.rosTree(o.Value, where.to("Value"), &o.parameters, false)
	}
}

// rosTree links a tree and checks its names. It adds those of parameters to the list. In the properties of a counted
// resource, its index has a value.
func (p rosResolver) rosTree(n Node, where path, parameters *[]string, counted bool) Node {
	if n.IsZero() {
		return n
	}
	n = p.linked(n, where)
	uses(n, nil, func(u use) {
		switch {
		case u.kind == useCondition:
			if !p.conditionNames[u.name] {
				p.missing(u.name, u.at, where)
			}
		case u.kind == useGetAtt:
			if !p.isResource(u.name) {
				p.missing(u.name, u.at, where)
			}
		case u.kind == useRef && (p.template.Language.isPseudo(u.name) || counted && u.name == rosIndex):
		case u.kind == useRef && p.parameterNames[u.name]:
			if !slices.Contains(*parameters, u.name) {
				*parameters = append(*parameters, u.name)
			}
		case !p.isResource(u.name):
			p.missing(u.name, u.at, where)
		}
	})
	slices.Sort(*parameters)
	w := &walk{found: func(use) {}, call: func(name string, argument Node) {
		if fetches(name) {
			uses(argument, nil, func(u use) {
				if u.kind != useCondition && p.isResource(u.name) {
					p.coded(rosValidationFailed, u.at, where, "%s cannot depend on the resource %s.", name, u.name)
				}
			})
		}
	}}
	w.node(n, false)
	return n
}
