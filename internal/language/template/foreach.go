package template

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// loopPrefix begins the key of a loop; the rest of the key is the loop's name.
const loopPrefix = "Fn::ForEach::"

const (
	layoutMessage     = extensionFailed + "Fn::ForEach layout is incorrect"
	collectionMessage = extensionFailed + "Could not find a collection or could not be resolved for Fn::ForEach"
)

// expansion expands the loops of a template. It stops with a problem when the result exceeds the size limit of a
// template.
type expansion struct {
	problems
	// collection returns the items of a collection, or of one item of it, that is a function call. It returns false if
	// there are none; it has then added a problem or recorded that the value is unknown so far.
	collection func(n Node, where path, whole bool) ([]Node, bool)
	// logical are the keys of the Resources section.
	logical map[string]bool
	// names are the names of loops with the place of the first one of each name.
	names map[string]Node
	// left is the number of bytes that may still be written.
	left, limit int
}

// bound is the value of an identifier inside a loop, and those of the loops around it.
type bound struct {
	name  string
	value Node
	outer *bound
}

func (i *bound) find(name string) (Node, bool) {
	for ; i != nil; i = i.outer {
		if i.name == name {
			return i.value, true
		}
	}
	return Node{}, false
}

// spend counts written bytes; false if they exceed the limit.
func (x *expansion) spend(bytes int, at Node, where path) bool {
	if x.left < 0 {
		return false
	}
	if x.left -= bytes + 1; x.left >= 0 {
		return true
	}
	x.at(at, where, "Template format error: the template is more than %d bytes long after its transforms, which is the maximum allowed.", x.limit)
	return false
}

// room reports whether this many bytes may still be written, before they are.
func (x *expansion) room(bytes int, at Node, where path) bool {
	return x.left >= 0 && bytes <= x.left || x.spend(bytes, at, where)
}

// section expands the loops directly below n, whose keys are logical IDs and the like, and inside its members.
func (x *expansion) section(n Node, where path, ids *bound) Node {
	if n.kind != value.Map {
		return n
	}
	expanded := n
	expanded.members = x.members(n, where, ids, func(m Member, at path, ids *bound) Node { return x.declaration(m.Value, at, ids) })
	return expanded
}

// declaration expands the declaration below a logical ID. Only the properties of a resource may contain loops.
func (x *expansion) declaration(n Node, where path, ids *bound) Node {
	if n.kind != value.Map || where[0] != "Resources" {
		return x.tree(n, where, ids, false)
	}
	expanded := n
	expanded.members = make([]Member, 0, len(n.members))
	for _, m := range n.members {
		if !x.spend(len(m.Key), m.Value, where) {
			return n
		}
		m.Value = x.tree(m.Value, where.to(m.Key), ids, m.Key == "Properties")
		expanded.members = append(expanded.members, m)
	}
	return expanded
}

// tree returns n with the identifiers of loops replaced. If loops is true it also expands the loops in n.
func (x *expansion) tree(n Node, where path, ids *bound, loops bool) Node {
	if !x.spend(len(n.text), n, where) {
		return n
	}
	if name, argument, call := n.call(); call {
		switch {
		case name == "Ref":
			if v, ok := ids.find(argument.text); ok && argument.kind == value.String {
				return placedAt(v, n)
			}
		case name == "Fn::Sub":
			return x.sub(n, argument, where.to(name), ids, loops)
		}
	}
	expanded := n
	switch n.kind {
	case value.List:
		expanded.items = make([]Node, len(n.items))
		for i, item := range n.items {
			expanded.items[i] = x.tree(item, where.to(strconv.Itoa(i)), ids, loops)
		}
	case value.Map:
		below := func(m Member, at path, ids *bound) Node { return x.tree(m.Value, at, ids, loops) }
		if loops {
			expanded.members = x.members(n, where, ids, below)
			break
		}
		expanded.members = make([]Member, len(n.members))
		for i, m := range n.members {
			x.spend(len(m.Key), m.Value, where)
			m.Value = below(m, where.to(m.Key), ids)
			expanded.members[i] = m
		}
	case value.Null, value.Bool, value.Number, value.String:
	}
	return expanded
}

// placedAt returns a scalar with the position of another node.
func placedAt(n, at Node) Node {
	n.line, n.column = at.line, at.column
	return n
}

// sub replaces the identifiers in the text of Fn::Sub. If no other variable is in it, only the text remains.
func (x *expansion) sub(n, argument Node, where path, ids *bound, loops bool) Node {
	text, variables := subParts(argument)
	if text.kind != value.String || !variables.IsZero() && variables.kind != value.Map {
		return n // reported later
	}
	parts, err := parseSub(text.text)
	if err != nil {
		return n
	}
	if ids != nil {
		var open bool
		if !x.room(ids.growth(parts), text, where) {
			return n
		}
		if text.text, open = ids.sub(text.text, parts, subVariables(variables)); !open {
			x.spend(len(text.text), text, where)
			return placedAt(text, n)
		}
	}
	if !x.spend(len(text.text), text, where) {
		return n
	}
	if argument.kind == value.String {
		argument = text
	} else {
		argument.items = []Node{text, x.tree(variables, where.to("1"), ids, loops)}
	}
	return n.calling(argument)
}

// growth returns the number of bytes that the values of identifiers add to a text of such parts.
func (i *bound) growth(parts []subPart) int {
	size := 0
	for _, part := range parts {
		if v, found := i.find(part.text); part.variable && found {
			size += len(v.text)
		}
	}
	return size
}

// keyGrowth returns an upper bound of the bytes that the values of identifiers add to a key.
func (i *bound) keyGrowth(key string) int {
	size := 0
	for ; i != nil; i = i.outer {
		size += strings.Count(key, "{"+i.name+"}") * len(i.value.text)
	}
	return size
}

// calling returns the call with another argument.
func (n Node) calling(argument Node) Node {
	m := n.members[0]
	m.Value = argument
	n.members = []Member{m}
	return n
}

// sub returns the text of Fn::Sub with the identifiers replaced that are not its own variables. If no variable remains,
// it is the string that the call returns; otherwise open is true.
func (i *bound) sub(text string, parts []subPart, own map[string]Node) (replaced string, open bool) {
	var plain, rest strings.Builder
	for _, part := range parts {
		_, defined := own[part.text]
		v, found := i.find(part.text)
		switch {
		case !part.variable:
			plain.WriteString(part.text)
		case found && !defined:
			plain.WriteString(v.text)
		default:
			open = true
		}
	}
	if !open {
		return plain.String(), false
	}
	for {
		before, after, opened := strings.Cut(text, "${")
		name, behind, closed := strings.Cut(after, "}")
		if !opened || !closed {
			rest.WriteString(text)
			return rest.String(), true
		}
		rest.WriteString(before)
		if v, found := i.find(name); found && own[name].IsZero() {
			rest.WriteString(strings.ReplaceAll(v.text, "${", "${!"))
		} else {
			rest.WriteString("${" + name + "}")
		}
		text = behind
	}
}

// members expands the loops among the members of an object; below computes the value of each.
func (x *expansion) members(n Node, where path, ids *bound, below func(Member, path, *bound) Node) []Member {
	expanded := make([]Member, 0, len(n.members))
	seen := make(map[string]bool)
	add := func(m Member, at path) {
		if seen[m.Key] {
			x.key(m, at, "%s", extensionFailed+"Fn::ForEach makes the key "+m.Key+" twice.")
		}
		seen[m.Key] = true
		expanded = append(expanded, m)
	}
	var walk func(members []Member, where path, ids *bound, inner string)
	walk = func(members []Member, where path, ids *bound, inner string) {
		for _, m := range members {
			at := where.to(m.Key)
			if x.left < 0 || len(x.found) >= maxProblems {
				return
			}
			if name, isLoop := strings.CutPrefix(m.Key, loopPrefix); isLoop {
				x.loop(m, name, at, ids, walk)
				continue
			}
			if inner != "" && !strings.Contains(m.Key, "${"+inner+"}") && !strings.Contains(m.Key, "&{"+inner+"}") {
				x.key(m, at, layoutMessage)
				x.explain("the key " + m.Key + " holds neither ${" + inner + "} nor &{" + inner + "}, so that it would be made again and again")
				continue
			}
			if inner != "" { // deeper keys keep text that looks like an identifier
				if !x.room(ids.keyGrowth(m.Key), m.Value, at) {
					return
				}
				m.Key = ids.key(m.Key)
			}
			if !x.spend(len(m.Key), m.Value, at) {
				return
			}
			m.Value = below(m, where.to(m.Key), ids)
			add(m, where.to(m.Key))
		}
	}
	walk(n.members, where, ids, "")
	return expanded
}

// key returns a key with the values of its identifiers: unchanged for ${name}, only letters and digits for &{name}.
func (i *bound) key(key string) string {
	if i == nil || !strings.Contains(key, "{") {
		return key
	}
	var b strings.Builder
	for rest := key; rest != ""; {
		at := strings.IndexAny(rest, "$&")
		if at < 0 || at+1 >= len(rest) {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:at])
		sign := rest[at]
		rest = rest[at+1:]
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
		v, known := i.find(name)
		if rest[0] != '{' || !closed || !known {
			b.WriteByte(sign)
			continue
		}
		text := v.text
		if sign == '&' {
			text = strings.Map(alphanumericOnly, text)
		}
		b.WriteString(text)
		rest = after
	}
	return b.String()
}

func alphanumericOnly(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}

// loop expands one loop: [identifier, collection, {key: value}].
func (x *expansion) loop(m Member, name string, where path, ids *bound, walk func([]Member, path, *bound, string)) {
	n := m.Value
	if !alphanumeric.MatchString(name) {
		x.key(m, where, layoutMessage)
		x.explain("the name of a loop is made of letters and digits, Fn::ForEach::Name")
		return
	}
	if n.kind != value.List || len(n.items) != 3 || n.items[0].kind != value.String || !alphanumeric.MatchString(n.items[0].text) ||
		n.items[2].kind != value.Map || len(n.items[2].members) == 0 {
		x.at(n, where, layoutMessage)
		x.explain("a loop is a list of three: an identifier of letters and digits, a collection, and an object")
		return
	}
	if _, shadows := ids.find(n.items[0].text); shadows {
		x.at(n.items[0], where, layoutMessage)
		x.explain("the identifier " + n.items[0].text + " is that of an outer loop already")
		return
	}
	if first, ok := x.names[name]; !ok {
		x.names[name] = n
	} else if first.line != n.line || first.column != n.column {
		x.key(m, where, layoutMessage)
		x.explain(fmt.Sprintf("the loop name %s is used already on line %d", name, first.line))
		return
	}
	if x.logical[name] {
		x.key(m, where, layoutMessage)
		x.explain("the loop name " + name + " is the logical ID of a resource")
		return
	}
	items, ok := x.items(n.items[1], where.to("1"), ids)
	if !ok {
		return
	}
	for _, item := range items {
		if !x.spend(len(item.text), n, where) {
			return
		}
		walk(n.items[2].members, where.to("2"), &bound{name: n.items[0].text, value: item, outer: ids}, n.items[0].text)
	}
}

// items returns the items of a collection: scalars, as strings.
func (x *expansion) items(n Node, where path, ids *bound) ([]Node, bool) {
	n = x.tree(n, where, ids, false)
	declared := []Node{n}
	if n.kind == value.List {
		declared = n.items
	} else if _, _, call := n.call(); !call {
		x.at(n, where, collectionMessage)
		return nil, false
	}
	var items []Node
	for i, item := range declared {
		at := where
		if n.kind == value.List {
			at = where.to(strconv.Itoa(i))
		}
		if _, _, call := item.call(); call {
			computed, ok := x.collection(item, at, n.kind != value.List)
			if !ok {
				return nil, false
			}
			items = append(items, computed...)
			continue
		}
		if !item.isScalar() {
			x.at(item, at, collectionMessage)
			return nil, false
		}
		item.kind = value.String
		items = append(items, item)
	}
	return items, true
}
