package template

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Rule is the declaration of one rule: conditions on the parameters that are checked before resources are created. Its
// fields are read-only. Source: CloudFormation User Guide, "CloudFormation template Rules syntax", "Rule-specific
// intrinsic functions".
type Rule struct {
	Name string
	// Condition says when the rule applies; absent if it always does.
	Condition  Node
	Assertions []Assertion
	// Line and Column are the position of the name.
	Line, Column int
}

// Assertion is one condition that must be true.
type Assertion struct {
	// Assert must be true.
	Assert Node
	// Description is the error message if it is false; may be "".
	Description string
}

const (
	ruleMessage             = "Template format error: Rules can only be boolean operations on parameters"
	containsMessage         = "Template error: every Fn::Contains object requires two parameters, (1) a list of strings and (2) a string."
	eachMemberEqualsMessage = "Template error: every Fn::EachMemberEquals object requires two parameters, (1) a list of strings and (2) a string."
	eachMemberInMessage     = "Template error: every Fn::EachMemberIn object requires two parameters, both lists of strings."
	refAllMessage           = "Template error: every Fn::RefAll object requires the name of a parameter type."
	valueOfMessage          = "Template error: every Fn::ValueOf object requires two parameters, (1) the name of a parameter and (2) the name of an attribute."
	valueOfAllMessage       = "Template error: every Fn::ValueOfAll object requires two parameters, (1) the name of a parameter type and (2) the name of an attribute."
)

func (p *parser) rules(section Node, where path) {
	if !p.object(section, where, "Rules") {
		return
	}
	for _, m := range section.members {
		at := where.to(m.Key)
		p.name(m, at, "Rule")
		if m.Value.kind != value.Map {
			p.at(m.Value, at, "Template format error: Any Rules member must be an object.")
			continue
		}
		p.template.Rules = append(p.template.Rules, p.rule(m, at))
	}
}

func (p *parser) rule(declared Member, where path) *Rule {
	r := &Rule{Name: declared.Key, Line: declared.line, Column: declared.column}
	s := &shapes{problems: &p.problems, language: p.template.Language, in: inRules}
	for _, m := range declared.Value.members {
		at := where.to(m.Key)
		switch m.Key {
		case "RuleCondition":
			s.truth(m.Value, at, ruleMessage)
			r.Condition = m.Value
		case "Assertions":
			r.Assertions = p.assertions(s, m.Value, at)
		case "AssertDescription":
			if p.template.Language == ROS {
				p.key(m, at, "Invalid template rule property '%s'", m.Key)
				break
			}
			// Published templates, such as those of Datadog, describe a rule this way. No error shows it.
			p.scalarText(m.Value, at, m.Key)
		default:
			p.key(m, at, "Invalid template rule property '%s'", m.Key)
		}
	}
	if declared.Value.Get("Assertions").IsZero() {
		p.key(declared, where, "Template format error: [%s] Every Rules object must contain an Assertions member.", where)
	}
	return r
}

func (p *parser) assertions(s *shapes, n Node, where path) []Assertion {
	if n.kind != value.List || len(n.items) == 0 {
		p.at(n, where, "Template format error: [%s] Every Assertions member must be a list of one assertion at least.", where)
		return nil
	}
	list := make([]Assertion, 0, len(n.items))
	for i, item := range n.items {
		at := where.to(strconv.Itoa(i))
		assert := item.Get("Assert")
		if assert.IsZero() {
			p.at(item, at, "Template format error: [%s] Every Assertions object must contain an Assert member.", at)
			continue
		}
		a := Assertion{Assert: assert}
		for _, m := range item.members {
			switch m.Key {
			case "Assert":
				s.truth(m.Value, at.to(m.Key), ruleMessage)
			case "AssertDescription":
				a.Description = p.scalarText(m.Value, at.to(m.Key), m.Key)
			default:
				p.key(m, at.to(m.Key), "Invalid template rule property '%s'", m.Key)
			}
		}
		list = append(list, a)
	}
	return list
}

// resolveRules checks the names in the Rules section.
func (p resolver) resolveRules() {
	for _, r := range p.template.Rules {
		where := path{"Rules", r.Name}
		trees := []Node{r.Condition}
		for _, a := range r.Assertions {
			trees = append(trees, a.Assert)
		}
		for _, n := range trees {
			ruleNames(n, func(name string, at Node) {
				if !p.parameterNames[name] && !p.template.Language.isPseudo(name) {
					p.at(at, where, "Template format error: Unresolved dependencies [%s]. Cannot reference resources in the Rules block of the template", name)
					p.spoil(where)
				}
			}, nil)
		}
	}
}

// ruleNames calls parameter for the parameters in a tree of a rule, and all for the types whose parameters it reads.
func ruleNames(n Node, parameter, all func(name string, at Node)) {
	if name, argument, ok := n.call(); ok {
		switch {
		case name == "Ref" && argument.kind == value.String:
			parameter(argument.text, argument)
			return
		case name == "Fn::ValueOf" && len(argument.items) == 2:
			parameter(argument.items[0].text, argument.items[0])
			return
		case (name == "Fn::RefAll" || name == "Fn::ValueOfAll") && all != nil:
			all(argument.text, argument)
			return
		}
	}
	for _, item := range n.items {
		ruleNames(item, parameter, all)
	}
	for _, m := range n.members {
		ruleNames(m.Value, parameter, all)
	}
}

func checkContains(s *shapes, argument Node, where path) {
	s.listAndString(argument, where, containsMessage)
}

func checkEachMemberEquals(s *shapes, argument Node, where path) {
	s.listAndString(argument, where, eachMemberEqualsMessage)
}

func (s *shapes) listAndString(argument Node, where path, message string) {
	if items := s.list(argument, where, []int{2}, message); items != nil {
		s.strings(items[0], where.to("0"), message)
		s.string(items[1], where.to("1"), message)
	}
}

func checkEachMemberIn(s *shapes, argument Node, where path) {
	for i, item := range s.list(argument, where, []int{2}, eachMemberInMessage) {
		s.strings(item, where.to(strconv.Itoa(i)), eachMemberInMessage)
	}
}

func checkRefAll(s *shapes, argument Node, where path) {
	s.parameterType(argument, where, refAllMessage)
}

func checkValueOfAll(s *shapes, argument Node, where path) {
	if items := s.list(argument, where, []int{2}, valueOfAllMessage); items != nil {
		s.parameterType(items[0], where.to("0"), valueOfAllMessage)
		if items[1].kind != value.String {
			s.at(items[1], where.to("1"), valueOfAllMessage)
		}
	}
}

func checkValueOf(s *shapes, argument Node, where path) {
	for i, item := range s.list(argument, where, []int{2}, valueOfMessage) {
		if item.kind != value.String {
			s.at(item, where.to(strconv.Itoa(i)), valueOfMessage)
		}
	}
}

func (s *shapes) parameterType(n Node, where path, message string) {
	if n.kind != value.String {
		s.at(n, where, "%s", message)
	} else if _, ok := parseType(n.text); !ok {
		s.at(n, where, "Template format error: Unrecognized parameter type: %s", n.text)
	}
}

// decideRule implements the functions of rules outside rules, where the shape check rejects them.
func decideRule(e *evaluation, argument Node) (bool, error) {
	return false, e.fail(argument, ruleMessage)
}

// holding is the result of a rule. It is unknown for a rule that depends on an attribute of a resource in an account.
type holding int8

const (
	fails holding = iota - 1
	unknown
	holds
)

func holdingOf(yes bool) holding {
	if yes {
		return holds
	}
	return fails
}

// enforce returns, as an [Errors], every assertion that is false in a scope. open are parameters without a value.
// Results that depend on them are unknown and not reported.
func (t *Template) enforce(s *Scope, open map[string]bool) error {
	if t.Language == ROS {
		return t.enforceROS(s, open)
	}
	var found Errors
	for _, r := range t.Rules {
		e := &ruling{template: t, scope: s, open: open, where: path{"Rules", r.Name}}
		if !r.Condition.IsZero() && e.truth(r.Condition) != holds {
			found = append(found, e.found...)
			continue
		}
		for i, a := range r.Assertions {
			decided := e.truth(a.Assert)
			found = append(found, e.found...)
			e.found = nil
			if decided != fails {
				continue
			}
			why := a.Description
			if why == "" {
				why = fmt.Sprintf("assertion %d does not hold.", i+1)
			}
			found = append(found, &Error{
				Message: "Template validation error: Rule " + r.Name + " failed: " + why,
				Path:    path{"Rules", r.Name, "Assertions", strconv.Itoa(i)}.String(), Line: a.Assert.line, Column: a.Assert.column,
			})
		}
	}
	return found.orNil()
}

// ruling decides rules. It relies on the shape checks.
type ruling struct {
	problems
	where    path
	template *Template
	scope    *Scope
	open     map[string]bool
}

func (r *ruling) truth(n Node) holding {
	name, argument, _ := n.call()
	switch name {
	case "Fn::And":
		return r.operands(argument, fails)
	case "Fn::Or":
		return r.operands(argument, holds)
	case "Fn::Not":
		return -r.truth(argument.items[0])
	case "Fn::Equals":
		left, ok := r.string(argument.items[0])
		right, also := r.string(argument.items[1])
		if !ok || !also {
			return unknown
		}
		return holdingOf(left == right)
	case "Fn::Contains":
		list, ok := r.strings(argument.items[0])
		wanted, also := r.string(argument.items[1])
		if !ok || !also {
			return unknown
		}
		return holdingOf(slices.Contains(list, wanted))
	case "Fn::EachMemberEquals":
		list, ok := r.strings(argument.items[0])
		wanted, also := r.string(argument.items[1])
		if !ok || !also {
			return unknown
		}
		return holdingOf(!slices.ContainsFunc(list, func(text string) bool { return text != wanted }))
	case "Fn::EachMemberIn":
		list, ok := r.strings(argument.items[0])
		among, also := r.strings(argument.items[1])
		if !ok || !also {
			return unknown
		}
		return holdingOf(!slices.ContainsFunc(list, func(text string) bool { return !slices.Contains(among, text) }))
	}
	return unknown
}

// operands returns stop if one operand equals it, the opposite if all operands do, and otherwise unknown.
func (r *ruling) operands(argument Node, stop holding) holding {
	all := -stop
	for _, item := range argument.items {
		if got := r.truth(item); got == stop {
			return stop
		} else if got == unknown {
			all = unknown
		}
	}
	return all
}

// string returns the text of an argument; false if it is unknown, or not a text.
func (r *ruling) string(n Node) (string, bool) {
	if n.isScalar() {
		return n.text, true
	}
	v, ok := r.reference(n)
	if ok && !v.IsScalar() {
		r.at(n, r.where, "Template error: a list stands where a rule wants a string.")
	}
	return v.Text(), ok && v.IsScalar()
}

// strings returns the texts of an argument that is a list; false if it is unknown. A text counts as a list of one.
func (r *ruling) strings(n Node) ([]string, bool) {
	if n.kind == value.List {
		var list []string
		for _, item := range n.items {
			if v, ok := r.reference(item); ok && v.Kind() == value.List {
				list = append(list, texts(v)...)
				continue
			}
			text, ok := r.string(item)
			if !ok {
				return nil, false
			}
			list = append(list, text)
		}
		return list, true
	}
	if name, argument, _ := n.call(); name == "Fn::RefAll" {
		return r.all(argument.text)
	}
	v, ok := r.reference(n)
	if !ok {
		return nil, false
	}
	if v.Kind() != value.List {
		return []string{v.Text()}, true
	}
	return texts(v), true
}

// reference returns the value of a Ref; false if n is not a Ref, or its value is unknown.
func (r *ruling) reference(n Node) (value.Value, bool) {
	name, argument, _ := n.call()
	if name != "Ref" || r.open[argument.text] {
		return value.Value{}, false
	}
	return r.scope.variable(argument.text)
}

// all returns the values of all parameters of a type.
func (r *ruling) all(parameterType string) ([]string, bool) {
	var list []string
	for _, p := range r.template.Parameters {
		if p.Type != parameterType {
			continue
		}
		v, ok := r.scope.variable(p.Name)
		if !ok || r.open[p.Name] {
			return nil, false
		}
		if v.Kind() == value.List {
			list = append(list, texts(v)...)
		} else {
			list = append(list, v.Text())
		}
	}
	return list, true
}

func texts(v value.Value) []string {
	list := make([]string, len(v.Items()))
	for i, item := range v.Items() {
		list[i] = item.Text()
	}
	return list
}
