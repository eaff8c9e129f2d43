package template

import (
	"regexp"
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const findInMapMessage = "Template error: every Fn::FindInMap object requires three parameters, the map name, map key and the attribute for return value"

// maxLookups limits the number of mapping nodes that the lookups of one template carry.
const maxLookups = 200_000

// mappingKey matches the valid keys inside a mapping.
var mappingKey = regexp.MustCompile(`^[0-9A-Za-z.-]+$`)

func (p *parser) mappings(section Node, where path) {
	if !p.object(section, where, "Mappings") {
		return
	}
	limits := p.template.limits
	p.count(section, where, "mappings", limits.Mappings)
	for _, m := range section.members {
		at := where.to(m.Key)
		p.name(m, at, "Mapping")
		if m.Value.kind != value.Map {
			p.at(m.Value, at, "Template format error: Every Mappings member %s must be a map", m.Key)
			continue
		}
		for _, top := range m.Value.members {
			p.mappingEntry(m.Key, top, at.to(top.Key))
		}
		p.template.mappings[m.Key] = m.Value
		p.template.mappingOrder = append(p.template.mappingOrder, m)
	}
}

func (p *parser) mappingEntry(mapping string, top Member, where path) {
	if top.Value.kind != value.Map {
		p.at(top.Value, where, "Template format error: Every Mappings member %s must be a map", mapping)
		return
	}
	p.count(top.Value, where, "mapping attributes", p.template.limits.MappingAttributes)
	for _, second := range top.Value.members {
		at := where.to(second.Key)
		if !mappingKey.MatchString(second.Key) {
			p.key(second, at, "Template format error: Mapping attribute name %s is non alphanumeric.", second.Key)
		}
		values := []Node{second.Value}
		if second.Value.kind == value.List {
			values = second.Value.items
		}
		for _, v := range values {
			if !v.isScalar() {
				p.at(v, at, "Template format error: Every Mappings attribute must be a String or a List.")
				break
			}
		}
	}
}

// The arguments of a lookup: name, key and attribute, then the one that the parser adds, then the one of the transform
// AWS::LanguageExtensions.
const (
	lookupReach   = 3 // in a parsed template: the part of its mappings that the lookup can reach, see parser.link
	lookupDefault = 4 // optional {DefaultValue: …}; at index 3 before the template is parsed
)

func checkFindInMap(s *shapes, argument Node, where path) {
	shortest := 3
	if s.linked {
		shortest = 4
	}
	lengths := []int{shortest}
	if s.extended {
		lengths = append(lengths, shortest+1)
	}
	items := s.list(argument, where, lengths, findInMapMessage)
	if items == nil {
		return
	}
	for i, key := range items[:3] {
		at := where.to(strconv.Itoa(i))
		name, _, call := key.call()
		if call && !s.extended && name != "Ref" && name != "Fn::FindInMap" || !call && !key.isScalar() {
			s.at(key, at, findInMapMessage)
			continue
		}
		s.node(key, at)
	}
	if len(items) == shortest {
		return
	}
	at := where.to(strconv.Itoa(shortest))
	fallback := items[shortest].Get(defaultValue)
	if len(items[shortest].members) != 1 || fallback.IsZero() {
		s.at(items[shortest], at, findInMapMessage)
		s.explain("the fourth parameter can be an object with the key " + defaultValue + " and no other")
		return
	}
	s.node(fallback, at.to(defaultValue))
}

// defaultValue is the key of the result of a lookup that finds no entry.
const defaultValue = "DefaultValue"

// link returns n with every lookup carrying the part of its mapping that it can reach, so that it evaluates without the
// template.
func (p resolver) link(n Node, where path) Node {
	if name, argument, ok := n.call(); ok && name == "Fn::FindInMap" {
		return p.linkLookup(n, argument, where.to(name))
	}
	linked := n
	linked.items, linked.members = nil, nil
	for i, item := range n.items {
		linked.items = append(linked.items, p.link(item, where.to(strconv.Itoa(i))))
	}
	for _, m := range n.members {
		m.Value = p.link(m.Value, where.to(m.Key))
		linked.members = append(linked.members, m)
	}
	return linked
}

func (p resolver) linkLookup(n, argument Node, where path) Node {
	if p.tooManyLookups {
		return n
	}
	name, top, second := argument.items[0], argument.items[1], argument.items[2]
	reach := Node{kind: value.Map, line: name.line, column: name.column}
	if name.isScalar() {
		mapping, ok := p.template.mappings[name.text]
		if !ok && len(argument.items) == 3 {
			p.at(name, where, "%s", missingMapping(name.text, keyText(top), keyText(second)))
			return n
		}
		reach = p.reachable(mapping, reach, top, second)
	} else {
		for _, m := range p.template.mappingOrder {
			m.Value = p.reachable(m.Value, reach, top, second)
			reach.members = append(reach.members, m)
		}
	}
	if p.lookups > maxLookups {
		p.at(n, where, "Template format error: the lookups of this template reach more than %d values of its mappings.", maxLookups)
		p.tooManyLookups = true
		return n
	}
	if name.isScalar() && top.isScalar() && second.isScalar() && len(argument.items) == 3 && reach.Get(top.text).Get(second.text).IsZero() {
		p.at(n, where, "%s", missingMapping(name.text, top.text, second.text))
	}
	linked := []Node{p.link(name, where.to("0")), p.link(top, where.to("1")), p.link(second, where.to("2")), reach}
	for _, fallback := range argument.items[3:] {
		linked = append(linked, p.link(fallback, where.to("3")))
	}
	argument.items = linked
	n.members = []Member{{Key: n.members[0].Key, Value: argument, line: n.members[0].line, column: n.members[0].column}}
	return n
}

// reachable returns, in place of an empty object, the part of a mapping that a lookup with these keys can find, and
// counts its nodes.
func (p resolver) reachable(mapping, part, top, second Node) Node {
	for _, t := range mapping.members {
		if top.isScalar() && t.Key != top.text {
			continue
		}
		entry := t.Value
		entry.members = nil
		for _, s := range t.Value.members {
			if !second.isScalar() || s.Key == second.text {
				entry.members = append(entry.members, s)
				p.lookups += 1 + len(s.Value.items)
			}
		}
		t.Value = entry
		part.members = append(part.members, t)
		p.lookups++
	}
	return part
}

// keyText returns the text of a lookup key, which may be a call.
func keyText(n Node) string {
	if n.isScalar() {
		return n.text
	}
	return n.Value().String()
}

func missingMapping(name, top, second string) string {
	return "Template error: Unable to get mapping for " + name + "::" + top + "::" + second
}

func evaluateFindInMap(e *evaluation, argument Node) (value.Value, error) {
	var keys [3]value.Value
	secrecy := value.Open
	for i := range keys {
		var err error
		if keys[i], err = e.string(argument.items[i], findInMapMessage); err != nil {
			return value.Value{}, err
		}
		secrecy = max(secrecy, keys[i].Secrecy())
	}
	mapping := argument.items[lookupReach]
	if !argument.items[0].isScalar() {
		mapping = mapping.Get(keys[0].Text())
	}
	if found := mapping.Get(keys[1].Text()).Get(keys[2].Text()); !found.IsZero() {
		return found.Value().Tainted(secrecy), nil
	}
	if len(argument.items) > lookupDefault {
		v, err := e.node(argument.items[lookupDefault].Get(defaultValue))
		return v.Tainted(secrecy), err
	}
	return value.Value{}, e.fail(argument, "%s", missingMapping(shown(keys[0]), shown(keys[1]), shown(keys[2])))
}

// shown returns the text of a scalar for use in messages, with secrets masked.
func shown(v value.Value) string {
	if v.Secret() {
		return value.ParameterMask
	}
	return v.Text()
}
