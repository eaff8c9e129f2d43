package template

import (
	"errors"
	"math"
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Unprocessed reports whether the template has transforms that are not yet applied, see [Template.Process]. Until then
// it has no resources, conditions and outputs. A ROS template is unprocessed while it has resources with a Count: it
// contains each of them once, and they cannot be created.
func (t *Template) Unprocessed() bool { return len(t.transforms) > 0 || t.counted }

// Processed returns the text of a template after its transforms: JSON with its keys in the order in which they were
// written. It is "" if the template is the submitted one.
func (t *Template) Processed() string { return t.processed }

// ParseProcessed parses the result of [Template.Processed], within the same limits. Lines and columns are those of that
// text.
func ParseProcessed(text string, limits Limits) (*Template, error) {
	return parse(text, limits.withDefaults(), true)
}

// Process applies the transforms of the template in a scope that [Template.Bind] returned. It returns the result and
// the scope with the conditions of the result. For a ROS template it multiplies the counted resources. It returns a
// template without transforms and counted resources, and its scope, unchanged. The new template contains no secret: an
// expression with a secret remains a call. Errors in it have the position of their origin.
//
// The error is an [Errors].
func (t *Template) Process(s *Scope) (*Template, *Scope, error) {
	if !t.Unprocessed() {
		return t, s, nil
	}
	if t.counted {
		made, err := t.multiply(s)
		if err != nil {
			return nil, nil, err
		}
		return made, s, nil
	}
	p := t.processing(s)
	made, err := p.run()
	if err != nil {
		return nil, nil, err
	}
	return made, p.scope, nil
}

// rehearse applies the transforms without the parameters' values, as far as possible, to find problems that do not
// depend on them.
func (t *Template) rehearse() error {
	_, err := t.rehearsal().run()
	return err
}

func (t *Template) rehearsal() *processing {
	p := t.processing(NewScope(nil, nil, Pseudo{}))
	p.rehearse(func(name string) bool { return t.Language.isPseudo(name) && !isNoValue(name) })
	return p
}

// rehearse makes unknown values acceptable. Those of pseudo parameters for which open is true are unknown.
func (p *processing) rehearse(open func(name string) bool) { p.rehearsal, p.without = true, open }

// processing is one application of the transforms of a template.
type processing struct {
	problems
	template *Template
	// scope has the parameters whose values are known, and the conditions that are decided.
	scope *Scope
	// rehearsal says that an unknown value is not a problem. open says that one was needed: the result is then
	// incomplete.
	rehearsal, open bool
	without         func(name string) bool // names without a value, even if the scope has one
	// conditions are the names of all conditions, once they are expanded.
	conditions map[string]bool
	expansion  *expansion
	// evaluation is shared, because its results are stored together.
	evaluation *evaluation
	lookups    int // nodes of mappings that lookups reached
	// lenient says that the result is wanted even if it has problems: see [Examine].
	lenient bool
}

// maxProcessingLookups limits the number of mapping nodes that are visited to resolve lookups. The remaining lookups
// stay calls, to which [maxLookups] applies.
const maxProcessingLookups = 20 * maxLookups

func (t *Template) processing(s *Scope) *processing {
	scope := *s
	scope.Conditions = make(map[string]bool)
	p := &processing{template: t, scope: &scope, conditions: make(map[string]bool)}
	// A template with a higher size limit may also compute more.
	p.evaluation = &evaluation{scope: p.scope, most: 2 * max(MaxEvaluated, min(t.limits.Bytes, math.MaxInt/4))}
	p.expansion = &expansion{
		collection: p.collection, names: make(map[string]Node), logical: make(map[string]bool), left: t.limits.Bytes, limit: t.limits.Bytes,
	}
	for _, m := range t.source.Get("Resources").members {
		p.expansion.logical[m.Key] = true
	}
	return p
}

// run returns the processed template, or nil without an error if a rehearsal lacks values for it.
func (p *processing) run() (*Template, error) {
	source := p.template.source
	conditions := p.section(source, "Conditions")
	if err := p.decide(conditions); err != nil || p.open {
		return nil, err
	}
	made := source
	made.members = nil
	for _, m := range source.members {
		switch m.Key {
		case "Transform":
			continue
		case "Conditions":
			m.Value = conditions
		case "Resources", "Outputs":
			m.Value = p.declarations(p.section(source, m.Key), path{m.Key})
		}
		made.members = append(made.members, m)
	}
	if len(p.found) > 0 || p.open {
		p.found.sort()
		return nil, p.found.orNil()
	}
	text := made.Value().JSON()
	if limit := p.template.limits.Bytes; len(text) > limit {
		p.at(made, nil, "Template format error: the template is %d bytes long after its transforms, the maximum allowed is %d.", len(text), limit)
		return nil, p.found
	}
	last := &parser{template: newTemplate(string(text), p.template.limits), extended: true}
	last.template.processed, last.template.incomplete = string(text), p.template.incomplete
	t, err := last.whole(made)
	if err == nil || !p.lenient {
		return t, err
	}
	again := &parser{template: newTemplate(string(text), p.template.limits), extended: true}
	again.template.processed, again.template.incomplete = string(text), p.template.incomplete
	t, found := again.examine(made)
	return t, first(err, found)
}

// section returns a section with its loops expanded.
func (p *processing) section(source Node, name string) Node {
	n := p.expansion.section(source.Get(name), path{name}, nil)
	p.found = append(p.found, p.expansion.found...)
	p.expansion.found = nil
	return n
}

// decide resolves the transform's functions in the Conditions section, and decides the conditions that can be decided.
func (p *processing) decide(section Node) error {
	if section.kind == value.Map {
		for i, m := range section.members {
			section.members[i].Value = p.tree(m.Value, path{"Conditions", m.Key})
		}
	}
	if len(p.found) > 0 || p.open {
		p.found.sort()
		return p.found.orNil()
	}
	c := &parser{template: newTemplate("", p.template.limits), extended: true}
	c.template.Parameters, c.template.mappings, c.template.mappingOrder = p.template.Parameters, p.template.mappings, p.template.mappingOrder
	if section.kind == value.Map {
		c.conditions(section, path{"Conditions"})
	}
	if len(c.found) == 0 {
		resolver{c}.resolve()
	}
	if len(c.found) > 0 {
		return c.found
	}
	e := &evaluation{scope: p.scope}
	for _, d := range c.template.Conditions {
		p.conditions[d.Name] = true
		if p.rehearsal && !p.decidable(d.Expression) {
			continue
		}
		holds, err := e.truth(d.Expression)
		if err != nil {
			return Errors{placed(err, path{"Conditions", d.Name})}
		}
		p.scope.Conditions[d.Name] = holds
	}
	return nil
}

// decidable reports whether everything that a condition depends on is known.
func (p *processing) decidable(expression Node) bool {
	decidable := true
	w := &walk{truth: true, found: func(u use) {
		known := false
		if u.kind == useCondition {
			_, known = p.scope.Conditions[u.name]
		} else {
			known = p.hasValue(u.name)
		}
		decidable = decidable && known
	}}
	w.node(expression, false)
	return decidable
}

// hasValue reports whether a parameter, or pseudo parameter, has a value.
func (p *processing) hasValue(name string) bool {
	if p.rehearsal && p.without(name) {
		return false
	}
	_, ok := p.scope.variable(name)
	return ok
}

// declarations resolves the transform's functions in resources or outputs.
func (p *processing) declarations(section Node, where path) Node {
	made := section
	made.members = make([]Member, len(section.members))
	for i, m := range section.members {
		at := where.to(m.Key)
		if m.Value.kind == value.Map {
			m.Value = p.declaration(m.Value, at)
		}
		made.members[i] = m
	}
	return made
}

func (p *processing) declaration(declared Node, where path) Node {
	made := declared
	made.members = nil
	for _, m := range declared.members {
		at := where.to(m.Key)
		switch m.Key {
		case "DeletionPolicy", "UpdateReplacePolicy", "Condition":
			v, state := p.evaluate(m.Value)
			switch {
			case state == notYet:
				p.open = true
			case state == resolved && v.IsNull():
				continue
			case state == resolved && v.Kind() == value.String:
				m.Value = nodeOf(v, m.Value)
			}
			if m.Key == "Condition" && m.Value.kind == value.String && !p.conditions[m.Value.text] {
				p.at(m.Value, at, "%sKey %s is missing in the map.", extensionFailed, m.Value.text)
			}
		case "DependsOn":
			m.Value = p.dependsOn(m.Value)
		default:
			m.Value = p.tree(m.Value, at)
		}
		made.members = append(made.members, m)
	}
	return made
}

func (p *processing) dependsOn(n Node) Node {
	if n.kind == value.List {
		made := n
		made.items = make([]Node, len(n.items))
		for i, item := range n.items {
			made.items[i] = p.dependsOn(item)
		}
		return made
	}
	v, state := p.evaluate(n)
	switch {
	case state == notYet:
		p.open = true
	case state == resolved && (v.Kind() == value.String || v.Kind() == value.List):
		return nodeOf(v, n)
	}
	return n
}

// tree resolves calls of the transform's functions, the innermost first.
func (p *processing) tree(n Node, where path) Node {
	made := n
	if n.items != nil {
		made.items = make([]Node, len(n.items))
	}
	if n.members != nil {
		made.members = make([]Member, len(n.members))
	}
	for i, item := range n.items {
		made.items[i] = p.tree(item, where.to(strconv.Itoa(i)))
	}
	for i, m := range n.members {
		m.Value = p.tree(m.Value, where.to(m.Key))
		made.members[i] = m
	}
	name, argument, call := made.call()
	if !call {
		return made
	}
	switch name {
	case "Ref":
		return made.calling(p.name(argument, where, refMessage))
	case "Fn::GetAtt":
		if argument.kind == value.List && len(argument.items) == 2 {
			logical := p.name(argument.items[0], where, getAttMessage)
			attribute := argument.items[1]
			switch v, state := p.evaluate(attribute); {
			case state == notYet:
				p.open = true
			case state == resolved && v.IsScalar():
				attribute = nodeOf(v.Stringified(), attribute)
			}
			argument.items = []Node{logical, attribute}
		}
		return made.calling(argument)
	case "Fn::Length":
		v, state := p.evaluate(made)
		switch state {
		case resolved:
			return nodeOf(v, made)
		case beyond, failed:
			p.at(made, where, lengthMessage)
		case hidden, notYet, wrong:
		}
	case "Fn::ToJsonString", "Fn::FindInMap":
		if v, state := p.evaluate(made); state == resolved && !v.IsNull() {
			return nodeOf(v, made)
		}
	}
	return made
}

// name returns the name that an argument, maybe a call, evaluates to.
func (p *processing) name(n Node, where path, message string) Node {
	if _, _, call := n.call(); !call {
		return n
	}
	v, state := p.evaluate(n)
	switch {
	case state == resolved && v.Kind() == value.String:
		return nodeOf(v, n)
	case state == notYet:
		p.open = true
	default:
		p.at(n, where, "%s", message)
		p.explain("the name does not follow from the parameters, mappings and conditions alone")
	}
	return n
}

// collection implements [expansion].collection.
func (p *processing) collection(n Node, where path, whole bool) ([]Node, bool) {
	v, state := p.evaluate(n)
	switch {
	case state == notYet:
		p.open = true
		return nil, false
	case state == hidden:
		p.at(n, where, collectionMessage)
		p.explain("the collection is secret, and would show in the template that the loop makes")
		return nil, false
	case state == resolved && v.Kind() == value.List, state == resolved && !whole && v.IsScalar():
	case state == resolved && !whole && v.IsNull():
		return nil, true
	default:
		p.at(n, where, collectionMessage)
		return nil, false
	}
	list := v.Items()
	if v.Kind() != value.List {
		list = []value.Value{v}
	}
	items := make([]Node, len(list))
	for i, item := range list {
		if !item.IsScalar() {
			p.at(n, where, collectionMessage)
			return nil, false
		}
		items[i] = nodeOf(item.Stringified(), n)
	}
	return items, true
}

// state is the outcome of an evaluation.
type state uint8

const (
	resolved state = iota
	notYet         // it depends on a value that is not known yet
	beyond         // it depends on a resource, or on a value from outside the stack
	hidden         // it is secret
	failed         // it has no value
	wrong          // it is not a tree of functions; the template check reports it
)

// evaluate computes a tree from parameters, mappings and conditions.
func (p *processing) evaluate(n Node) (value.Value, state) {
	if !n.Computed() {
		return n.Value(), resolved
	}
	if !p.hasValue("AWS::Region") && n.calls("Fn::GetAZs") {
		return value.Value{}, notYet
	}
	if n.calls("Fn::ImportValue") || n.calls("Fn::GetStackOutput") {
		return value.Value{}, beyond
	}
	check := &shapes{problems: &problems{}, in: inProperties, extended: true}
	check.node(n, nil)
	if len(check.found) > 0 {
		return value.Value{}, wrong
	}
	linker := &parser{template: p.template}
	n = resolver{linker}.link(n, nil)
	if p.lookups += linker.lookups; len(linker.found) > 0 || p.lookups > maxProcessingLookups {
		return value.Value{}, wrong
	}
	state := resolved
	w := &walk{scope: p.scope, undecided: map[string]bool{}, found: func(u use) {
		switch _, decided := p.scope.Conditions[u.name]; {
		case u.kind == useCondition && decided, u.kind != useCondition && u.kind != useGetAtt && p.hasValue(u.name):
		case u.kind == useCondition && p.conditions[u.name], p.template.Parameter(u.name) != nil, p.template.Language.isPseudo(u.name):
			state = max(state, notYet)
		default:
			state = beyond
		}
	}}
	w.node(n, false)
	if state != resolved {
		return value.Value{}, state
	}
	e := p.evaluation
	spent := e.exhausted()
	v, err := e.node(n)
	switch {
	case err != nil && e.exhausted():
		if !spent { // report it once
			if templateErr, ok := errors.AsType[*Error](err); ok {
				p.add(templateErr)
			}
		}
		return value.Value{}, failed
	case err != nil:
		return value.Value{}, failed
	case v.HasSecret():
		return value.Value{}, hidden
	}
	return v, resolved
}

// nodeOf returns a value as a node at the position of the call that returned it.
func nodeOf(v value.Value, at Node) Node {
	n := Node{kind: v.Kind(), text: v.Text(), line: at.line, column: at.column}
	for _, item := range v.Items() {
		n.items = append(n.items, nodeOf(item, at))
	}
	for _, m := range v.Members() {
		n.members = append(n.members, Member{Key: m.Key, Value: nodeOf(m.Value, at), line: at.line, column: at.column})
	}
	return n
}
