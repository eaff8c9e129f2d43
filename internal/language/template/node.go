package template

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// MaxDepth is the maximum nesting depth of lists and objects, in a template and in evaluated values. It bounds every
// recursion, and is below [value.MaxDepth], so that results can be wrapped. Source: ours.
const MaxDepth = 48

// Node is one piece of a parsed template: a scalar, a list or an object. A call of a function is an object whose only
// key is the function's name, even if it was written in short form. The zero Node is absent: its kind is [value.Null],
// which no parsed node has, except a null of ROS in data that is not evaluated. Nodes are immutable.
type Node struct {
	kind    value.Kind
	text    string
	items   []Node
	members []Member
	line    int
	column  int
}

// Member is one key of an object and its value.
type Member struct {
	Key   string
	Value Node

	line, column int // of the key
}

// Line returns the line of the key in the template, counted from 1.
func (m Member) Line() int { return m.line }

// Column returns the column of the key, counted in characters from 1.
func (m Member) Column() int { return m.column }

// Kind returns the JSON type of n; [value.Null] if n is absent.
func (n Node) Kind() value.Kind { return n.kind }

// IsZero reports whether n is absent.
func (n Node) IsZero() bool { return n.kind == value.Null }

// Text returns the text of a scalar: the string, the number as written, "true" or "false". It is "" for anything else.
func (n Node) Text() string { return n.text }

// Items returns the items of a list, nil for any other kind. The caller must not change them.
func (n Node) Items() []Node { return n.items }

// Members returns the members of an object in the order in which they were written, nil for any other kind. The caller
// must not change them.
func (n Node) Members() []Member { return n.members }

// Get returns the member of an object by its key; an absent node if n is not an object or has no such member.
func (n Node) Get(key string) Node {
	for _, m := range n.members {
		if m.Key == key {
			return m.Value
		}
	}
	return Node{}
}

// Line returns the line of the template on which n begins, counted from 1; 0 if n is absent.
func (n Node) Line() int { return n.line }

// Column returns the column at which n begins, counted in characters from 1; 0 if n is absent.
func (n Node) Column() int { return n.column }

// Computed reports whether n is or contains a function call, so that its text alone does not determine its value.
func (n Node) Computed() bool {
	if _, _, call := n.call(); call {
		return true
	}
	return slices.ContainsFunc(n.items, Node.Computed) ||
		slices.ContainsFunc(n.members, func(m Member) bool { return m.Value.Computed() })
}

// calls reports whether n is or contains a call of the function.
func (n Node) calls(function string) bool {
	if name, _, call := n.call(); call && name == function {
		return true
	}
	return slices.ContainsFunc(n.items, func(item Node) bool { return item.calls(function) }) ||
		slices.ContainsFunc(n.members, func(m Member) bool { return m.Value.calls(function) })
}

// Equal reports whether both nodes have the same kinds, texts and members, in any order of the members. It ignores
// positions.
func (n Node) Equal(m Node) bool { return n.Value().Equal(m.Value()) }

// Value returns n as it is declared, with function calls as objects and without evaluation.
func (n Node) Value() value.Value {
	switch n.kind {
	case value.Null:
	case value.Bool:
		return value.Boolean(n.text == "true")
	case value.Number:
		return value.Num(n.text)
	case value.String:
		return value.Str(n.text)
	case value.List:
		items := make([]value.Value, len(n.items))
		for i, item := range n.items {
			items[i] = item.Value()
		}
		return value.Items(items...)
	case value.Map:
		members := make([]value.Member, len(n.members))
		for i, m := range n.members {
			members[i] = value.Member{Key: m.Key, Value: m.Value.Value()}
		}
		return value.Object(members...)
	}
	return value.Value{}
}

func (n Node) isScalar() bool {
	return n.kind == value.Bool || n.kind == value.Number || n.kind == value.String
}

// call returns the function that n calls and its argument; false if n is not a call. The caller must handle
// `Condition`, which is a function only in some places.
func (n Node) call() (name string, argument Node, ok bool) {
	if len(n.members) != 1 || !isFunctionKey(n.members[0].Key) {
		return "", Node{}, false
	}
	return n.members[0].Key, n.members[0].Value, true
}

func isFunctionKey(key string) bool { return key == "Ref" || strings.HasPrefix(key, "Fn::") }

// strayFunction returns a function key that has siblings in the object n.
func (n Node) strayFunction() (Member, bool) {
	if len(n.members) < 2 {
		return Member{}, false
	}
	i := slices.IndexFunc(n.members, func(m Member) bool { return isFunctionKey(m.Key) })
	if i < 0 {
		return Member{}, false
	}
	return n.members[i], true
}
