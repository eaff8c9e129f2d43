package template

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Limits of a template after its counted resources are multiplied. Source: ours.
const (
	// maxMultiplied is its maximum size relative to the submitted template's limit.
	maxMultiplied = 8
	// mostBytes and mostResources apply in addition to the configured limits.
	mostBytes     = 64 << 20
	mostResources = 100_000
)

// processedBytes returns the size limit of a template after its counted resources are multiplied.
func processedBytes(limit int) int {
	if limit > math.MaxInt/maxMultiplied {
		return limit
	}
	return limit * maxMultiplied
}

const countMessage = "The Count of the resource %s must be a natural number."

// rosCounted reads the count of a resource.
func (p rosParser) rosCounted(r *Resource, n Node, where path) {
	if p.processed {
		p.coded(rosValidationFailed, n, where, "A template that was processed has no Count.")
		return
	}
	r.count, p.template.counted = n, true
	if _, _, call := n.call(); call {
		p.rosShapes(inConditions).node(n, where)
		w := &walk{found: func(use) {}, call: func(name string, argument Node) {
			if fetches(name) {
				p.coded(rosValidationFailed, argument, where, "%s cannot be used in Count.", name)
			}
		}}
		w.node(n, false)
		return
	}
	if _, ok := natural(n.Value()); !ok {
		p.coded(rosValidationFailed, n, where, countMessage, r.LogicalID)
	}
}

// natural returns a value as a natural number; the value may be a text. It returns false for anything else, and for a
// number that does not fit an int.
func natural(v value.Value) (int, bool) {
	if v.Kind() != value.Number && v.Kind() != value.String {
		return 0, false
	}
	text := v.Text()
	if whole, fraction, ok := strings.Cut(text, "."); ok && strings.Trim(fraction, "0") == "" {
		text = whole
	}
	number, err := strconv.Atoi(text)
	return number, err == nil && number >= 0 && !strings.HasPrefix(text, "+") && !strings.HasPrefix(text, "-")
}

// multiply returns the template with as many copies of every counted resource as its Count gives in a scope. A becomes
// A[0], A[1] and so on, and references to A refer to all of them. Source: ROS, template section Resources, Count.
func (t *Template) multiply(s *Scope) (*Template, error) {
	limit := min(processedBytes(t.limits.Bytes), mostBytes)
	m := &multiplication{scope: s, counts: make(map[string]int), left: limit, limit: limit}
	m.count(t)
	if len(m.found) > 0 {
		return nil, asROS(m.found, rosValidationFailed)
	}
	made := t.source
	made.members = slices.Clone(t.source.members)
	for i, section := range made.members {
		switch section.Key {
		case "Resources":
			made.members[i].Value = m.resources(section.Value, path{section.Key})
		case "Outputs":
			made.members[i].Value = m.outputs(section.Value, path{section.Key})
		}
	}
	if m.left < 0 {
		m.found = nil // the rest is incomplete
		m.tooLong(made)
	} else if _, deep := made.extent(MaxDepth - 1); deep {
		m.coded(rosInvalidSchema, made, nil, "Lists and maps nest deeper than %d levels when counted resources are multiplied.", MaxDepth)
	}
	if len(m.found) > 0 {
		m.found.sort()
		return nil, asROS(m.found, rosValidationFailed)
	}
	text := made.Value().String()
	if len(text) > m.limit {
		m.tooLong(made)
		return nil, m.found
	}
	return newROSParser(text, t.limits, true).wholeROS(made)
}

func (m *multiplication) tooLong(made Node) {
	m.coded(rosValidationFailed, made, nil, "The template with its counted resources is longer than %d bytes, which is the maximum allowed.", m.limit)
}

// multiplication is one run of [Template.multiply].
type multiplication struct {
	problems
	scope *Scope
	// counts are the counts of the counted resources.
	counts map[string]int
	// left is the number of bytes that may still be created.
	left, limit int
}

// notCounted is the index of resources without a Count.
const notCounted = -1

// count evaluates the count of each counted resource, and checks the resulting names.
func (m *multiplication) count(t *Template) {
	e := &evaluation{scope: m.scope}
	total := 0
	for _, r := range t.Resources {
		where := path{"Resources", r.LogicalID, "Count"}
		number := 1
		if !r.count.IsZero() {
			v, err := e.node(r.count)
			if err != nil {
				m.add(placed(err, where))
				continue
			}
			var ok bool
			if number, ok = natural(v); !ok {
				m.coded(rosValidationFailed, r.count, where, countMessage, r.LogicalID)
				continue
			}
			m.counts[r.LogicalID] = number
		}
		if limit := min(t.limits.Resources, mostResources); number > limit-total {
			m.coded(rosValidationFailed, Node{line: r.Line, column: r.Column}, path{"Resources"},
				"The template has more than %d resources when they are counted, which is the maximum allowed.", limit)
			return
		}
		total += number
	}
	for _, r := range t.Resources {
		of, index, ok := indexed(r.LogicalID)
		if number, counted := m.counts[of]; ok && counted {
			if at, err := strconv.Atoi(index); err == nil && at < number && strconv.Itoa(at) == index {
				m.coded(rosValidationFailed, Node{line: r.Line, column: r.Column}, path{"Resources", r.LogicalID},
					"The resource %s is also one of those that %s becomes by its Count.", r.LogicalID, of)
			}
		}
	}
}

// spend counts created bytes, and reports whether the limit is not reached yet.
func (m *multiplication) spend(size int) bool {
	if m.left >= 0 {
		m.left -= size
	}
	return m.left >= 0
}

func (m *multiplication) resources(section Node, where path) Node {
	made := section
	made.members = nil
	for _, declared := range section.members {
		number, counted := m.counts[declared.Key]
		if !counted {
			declared.Value = m.resource(declared.Value, where.to(declared.Key), notCounted)
			made.members = append(made.members, declared)
			continue
		}
		for i := range number {
			if m.left < 0 {
				break
			}
			found := len(m.found)
			one := declared
			one.Key = indexedName(declared.Key, i)
			one.Value = m.resource(declared.Value, where.to(declared.Key), i)
			made.members = append(made.members, one)
			if len(m.found) > found {
				break // all others would give the same problem
			}
		}
	}
	return made
}

func (m *multiplication) outputs(section Node, where path) Node {
	made := section
	made.members = slices.Clone(section.members)
	for i, declared := range made.members {
		output := declared.Value
		output.members = slices.Clone(output.members)
		for j, attribute := range output.members {
			if attribute.Key == "Value" {
				output.members[j].Value = m.tree(attribute.Value, where.to(declared.Key, attribute.Key), notCounted)
			}
		}
		made.members[i].Value = output
	}
	return made
}

func indexedName(name string, index int) string { return name + "[" + strconv.Itoa(index) + "]" }

func (m *multiplication) resource(declared Node, where path, index int) Node {
	made := declared
	made.members = nil
	for _, attribute := range declared.members {
		at := where.to(attribute.Key)
		switch attribute.Key {
		case "Count":
			continue
		case "Properties":
			attribute.Value = m.tree(attribute.Value, at, index)
		case "Metadata":
			attribute.Value = m.tree(attribute.Value, at, notCounted)
		case "DependsOn":
			if attribute.Value = m.dependsOn(attribute.Value); len(attribute.Value.items) == 0 && attribute.Value.kind == value.List {
				continue
			}
		}
		m.spend(len(attribute.Key) + nodeBytes)
		made.members = append(made.members, attribute)
	}
	return made
}

func (m *multiplication) dependsOn(n Node) Node {
	all := n
	if n.kind == value.String {
		if _, counted := m.counts[n.text]; !counted {
			return n
		}
		all = Node{kind: value.List, items: []Node{n}, line: n.line, column: n.column}
	}
	made := all
	made.items = nil
	for _, item := range all.items {
		number, counted := m.counts[item.text]
		if !counted {
			made.items = append(made.items, item)
			continue
		}
		for i := range number {
			if !m.spend(len(item.text) + nodeBytes) {
				break
			}
			one := item
			one.text = indexedName(item.text, i)
			made.items = append(made.items, one)
		}
	}
	return made
}

// tree returns a tree with its index replaced by the value, and with references to counted resources replaced by lists.
func (m *multiplication) tree(n Node, where path, index int) Node {
	if !m.spend(len(n.text) + 4) {
		return n
	}
	name, argument, call := n.call()
	if call {
		switch name {
		case "Ref":
			return m.ref(n, argument, index)
		case "Fn::GetAtt":
			return m.getAtt(n, argument, where, index)
		case "Fn::Sub":
			return n.calling(m.sub(argument, where, index))
		case "Fn::Select":
			return m.choice(n, argument, where, index)
		}
	}
	made := n
	made.items, made.members = nil, nil
	for i, item := range n.items {
		made.items = append(made.items, m.tree(item, where.to(strconv.Itoa(i)), index))
	}
	for _, member := range n.members {
		m.spend(len(member.Key) + 4)
		member.Value = m.tree(member.Value, where.to(member.Key), index)
		made.members = append(made.members, member)
	}
	return made
}

func (m *multiplication) ref(n, argument Node, index int) Node {
	if argument.text == rosIndex && index != notCounted {
		return Node{kind: value.Number, text: strconv.Itoa(index), line: n.line, column: n.column}
	}
	number, counted := m.counts[argument.text]
	if !counted || argument.kind != value.String {
		m.spend(len(argument.text))
		return n
	}
	return m.each(n, number, func(i int) Node {
		one := argument
		one.text = indexedName(argument.text, i)
		return one
	})
}

func (m *multiplication) getAtt(n, argument Node, where path, index int) Node {
	logical, attribute := getAttParts(argument)
	if argument.kind == value.List && len(argument.items) == 2 {
		attribute = m.tree(attribute, where.to("1"), index)
		argument.items = []Node{argument.items[0], attribute}
		n = n.calling(argument)
	}
	number, counted := m.counts[logical]
	if !counted {
		m.spend(len(argument.text) + len(logical))
		return n
	}
	return m.each(n, number, func(i int) Node {
		resource := Node{kind: value.String, text: indexedName(logical, i), line: argument.line, column: argument.column}
		return Node{kind: value.List, items: []Node{resource, attribute}, line: argument.line, column: argument.column}
	})
}

// each returns a list of number calls like n, each with its own argument.
func (m *multiplication) each(n Node, number int, argument func(i int) Node) Node {
	list := Node{kind: value.List, line: n.line, column: n.column}
	for i := range number {
		one := argument(i)
		size, _ := one.extent(MaxDepth)
		if !m.spend(size + nodeBytes) {
			break
		}
		list.items = append(list.items, n.calling(one))
	}
	return list
}

// choice returns a call of Fn::Select. If it selects a single copy of a counted resource, choice returns that
// reference, so that it depends on no other copy.
func (m *multiplication) choice(n, argument Node, where path, index int) Node {
	made := m.tree(argument, where, index)
	if len(made.items) == 2 && made.items[0].kind == value.Number {
		function, _, call := argument.items[1].call()
		at, ok := natural(made.items[0].Value())
		if list := made.items[1]; call && ok && (function == "Ref" || function == "Fn::GetAtt") && list.kind == value.List && at < len(list.items) {
			return list.items[at]
		}
	}
	return n.calling(made)
}

// sub returns the argument of Fn::Sub. A name in its text cannot stand for several resources.
func (m *multiplication) sub(argument Node, where path, index int) Node {
	text, variables := subParts(argument)
	if text.kind != value.String {
		return argument
	}
	m.spend(len(text.text))
	w := &walk{found: func(u use) {
		if _, counted := m.counts[u.name]; counted {
			m.coded(rosInvalidReference, text, where, "%s", rosReference(u.name, where))
			m.explain("the resource " + u.name + " has a Count: name one, such as ${" + indexedName(u.name, 0) + "}, or use Fn::Join")
		}
	}}
	alone := argument
	if argument.kind == value.List {
		alone.items = []Node{text, {kind: value.Map, members: bare(variables)}}
	}
	w.sub(alone, false)
	if index != notCounted {
		text.text = strings.ReplaceAll(text.text, "${"+rosIndex+"}", strconv.Itoa(index))
	}
	if argument.kind != value.List {
		return text
	}
	made := argument
	made.items = []Node{text, m.tree(variables, where.to("1"), index)}
	return made
}

// bare returns the members of an object without their values.
func bare(n Node) []Member {
	members := slices.Clone(n.members)
	for i := range members {
		members[i].Value = Node{}
	}
	return members
}
