package template

import (
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// maxROSAssertions is the maximum number of assertions in the rules of a template. Source: ROS, template section Rules.
const maxROSAssertions = 100

func (p rosParser) rosConditions(section Node, where path) {
	if !p.rosMap(section, where) {
		return
	}
	s := p.rosShapes(inConditions)
	for _, m := range section.members {
		at := where.to(m.Key)
		p.rosName(m, at, "a condition")
		s.decision(m.Value, at)
		p.template.Conditions = append(p.template.Conditions, &Condition{m.Key, m.Value, m.line, m.column})
	}
}

const rosDecisionMessage = "What is to be decided must be a function that returns true or false, or the name of a condition."

// decision checks a tree that must become a truth value.
func (s *shapes) decision(n Node, where path) {
	if _, _, call := n.call(); !call && n.kind != value.Bool {
		s.coded(rosInvalidType, n, where, "%s", rosDecisionMessage)
		return
	}
	s.truth(n, where, rosDecisionMessage)
}

// ruleDecision is decision for a rule, where the name of a condition is a truth value too.
func (s *shapes) ruleDecision(n Node, where path) {
	if n.kind != value.String {
		s.decision(n, where)
	}
}

func (p rosParser) rosRules(section Node, where path) {
	if !p.rosMap(section, where) {
		return
	}
	assertions := 0
	for _, m := range section.members {
		at := where.to(m.Key)
		p.rosName(m, at, "a rule")
		if !p.rosMap(m.Value, at) {
			continue
		}
		r := p.rosRule(m, at)
		p.template.Rules = append(p.template.Rules, r)
		if assertions += len(r.Assertions); assertions > maxROSAssertions && assertions-len(r.Assertions) <= maxROSAssertions {
			p.codedKey(rosValidationFailed, m, at, "The rules have more than %d assertions, which is the maximum allowed.", maxROSAssertions)
		}
	}
}

func (p rosParser) rosRule(declared Member, where path) *Rule {
	r := &Rule{Name: declared.Key, Line: declared.line, Column: declared.column}
	s := p.rosShapes(inRules)
	for _, m := range declared.Value.members {
		at := where.to(m.Key)
		switch m.Key {
		case "RuleCondition":
			r.Condition = m.Value
			s.ruleDecision(m.Value, at)
		case "Assertions":
			r.Assertions = p.rosAssertions(s, m.Value, at)
		default:
			p.codedKey(rosValidationFailed, m, at, "The attribute %s of the rule %s is not supported.", m.Key, r.Name)
			p.explain("a rule has RuleCondition and Assertions")
		}
	}
	if declared.Value.Get("Assertions").IsZero() {
		p.codedKey(rosValidationFailed, declared, where, "The rule %s has no Assertions.", r.Name)
	}
	return r
}

func (p rosParser) rosAssertions(s *shapes, n Node, where path) []Assertion {
	if n.kind != value.List || len(n.items) == 0 {
		p.wrongType(n, where, "a list of one assertion at least")
		return nil
	}
	list := make([]Assertion, 0, len(n.items))
	for i, item := range n.items {
		at := where.to(strconv.Itoa(i))
		if !p.rosMap(item, at) {
			continue
		}
		var a Assertion
		for _, m := range item.members {
			switch m.Key {
			case "Assert":
				a.Assert = m.Value
				s.ruleDecision(m.Value, at.to(m.Key))
			case "AssertDescription":
				a.Description = p.rosDescription(m.Value, at.to(m.Key))
			default:
				p.codedKey(rosValidationFailed, m, at.to(m.Key), "The attribute %s of an assertion is not supported.", m.Key)
			}
		}
		if a.Assert.IsZero() {
			p.coded(rosValidationFailed, item, at, "The assertion %d of a rule has no Assert.", i+1)
			continue
		}
		list = append(list, a)
	}
	return list
}

func (p rosParser) rosMappings(section Node, where path) {
	if !p.rosMap(section, where) {
		return
	}
	limits := p.template.limits
	p.rosCount(section, where, limits.Mappings)
	for _, m := range section.members {
		at := where.to(m.Key)
		p.rosName(m, at, "a mapping")
		if !p.rosMap(m.Value, at) {
			continue
		}
		for _, top := range m.Value.members {
			below := at.to(top.Key)
			if !p.rosMap(top.Value, below) {
				continue
			}
			p.rosCount(top.Value, below, limits.MappingAttributes)
			for _, second := range top.Value.members {
				p.rosData(second.Value, below.to(second.Key))
			}
		}
		p.template.mappings[m.Key] = m.Value
		p.template.mappingOrder = append(p.template.mappingOrder, m)
	}
}

// rosData checks that a value of a mapping is data without nulls and function calls.
func (p rosParser) rosData(n Node, where path) {
	if n.IsZero() {
		p.wrongType(n, where, "data, not null")
		return
	}
	if name, _, call := n.call(); call {
		p.coded(rosInvalidType, n, where, "The function %s cannot be called in Mappings.", name)
		return
	}
	for i, item := range n.items {
		p.rosData(item, where.to(strconv.Itoa(i)))
	}
	for _, m := range n.members {
		p.rosData(m.Value, where.to(m.Key))
	}
}

// enforceROS is enforce for a ROS template: its rules may call every function. It skips parts that depend on a
// parameter without a value.
func (t *Template) enforceROS(s *Scope, open map[string]bool) error {
	var found Errors
	e := &evaluation{scope: s}
	dependsOnOpen := t.dependence(open)
	decide := func(n Node, where path) bool {
		holds, err := false, error(nil)
		if n.kind == value.String {
			holds, err = decideCondition(e, n)
		} else {
			holds, err = e.truth(n)
		}
		if err != nil {
			found = append(found, placed(err, where))
		}
		return holds && err == nil
	}
	for _, r := range t.Rules {
		where := path{"Rules", r.Name}
		if !r.Condition.IsZero() && (dependsOnOpen(r.Condition) || !decide(r.Condition, where.to("RuleCondition"))) {
			continue
		}
		for i, a := range r.Assertions {
			at, before := where.to("Assertions", strconv.Itoa(i)), len(found)
			if dependsOnOpen(a.Assert) || decide(a.Assert, at) || len(found) > before {
				continue
			}
			why := a.Description
			if why == "" {
				why = "assertion " + strconv.Itoa(i+1) + " does not hold."
			}
			found = append(found, &Error{
				Message: "Rule " + r.Name + " failed: " + why, Code: rosValidationFailed,
				Path: at.String(), Line: a.Assert.line, Column: a.Assert.column,
			})
		}
	}
	return found.orNil()
}

// dependence returns a function that reports whether a tree depends on an open parameter or condition, or on the time.
// If open is nil, the function always returns false. Conditions are sorted so that each comes after those that it
// depends on, so one pass is enough.
func (t *Template) dependence(open map[string]bool) func(Node) bool {
	if open == nil {
		return func(Node) bool { return false }
	}
	conditions := make(map[string]bool)
	depends := func(n Node) bool {
		found := n.kind == value.String && conditions[n.text]
		untimed := func(name string, _ Node) { found = found || name == "Fn::FormatTime" }
		w := &walk{truth: true, call: untimed, found: func(u use) {
			found = found || open[u.name] || u.kind == useCondition && conditions[u.name]
		}}
		w.node(n, false)
		return found
	}
	for _, c := range t.Conditions {
		conditions[c.Name] = open[c.Name] || depends(c.Expression)
	}
	return depends
}
