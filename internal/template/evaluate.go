package template

import (
	"fmt"

	"github.com/pintle-dev/pintle/internal/value"
)

// Resources is what references to resources become. What it returns may be secret, and taints what is made of it.
type Resources interface {
	// PhysicalID returns what Ref of a resource is; false if there is no such resource.
	PhysicalID(logicalID string) (value.Value, bool)
	// Attribute returns what Fn::GetAtt of a resource is. Its error is the error of the evaluation as it is.
	Attribute(logicalID, name string) (value.Value, error)
}

// Evaluate returns the value of a declaration: calls of functions replaced by their results, members and items that
// are AWS::NoValue left out. Booleans and numbers keep their kind and text. It is null if n is absent or AWS::NoValue
// itself. The error is an [Error], or what r returned.
func Evaluate(n Node, s *Scope, r Resources) (value.Value, error) {
	e := &evaluation{scope: s, resources: r}
	v, err := e.node(n)
	if err != nil {
		return value.Value{}, err
	}
	if deeper(v, MaxDepth) {
		return value.Value{}, e.fail(n, "Template error: lists and objects nest deeper than %d levels.", MaxDepth)
	}
	return v, nil
}

// deeper reports whether v nests deeper than so many levels.
func deeper(v value.Value, levels int) bool {
	if levels < 0 {
		return true
	}
	for _, item := range v.Items() {
		if deeper(item, levels-1) {
			return true
		}
	}
	for _, m := range v.Members() {
		if deeper(m.Value, levels-1) {
			return true
		}
	}
	return false
}

// evaluation computes values in one scope. A null stands for AWS::NoValue throughout.
type evaluation struct {
	scope     *Scope
	resources Resources
}

func (e *evaluation) fail(n Node, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Line: n.line, Column: n.column}
}

func (e *evaluation) node(n Node) (value.Value, error) {
	switch n.kind {
	case value.Null, value.Bool, value.Number, value.String:
		return n.Value(), nil
	case value.List:
		items := make([]value.Value, 0, len(n.items))
		for _, item := range n.items {
			v, err := e.node(item)
			if err != nil {
				return value.Value{}, err
			}
			if !v.IsNull() {
				items = append(items, v)
			}
		}
		return value.Items(items...), nil
	case value.Map:
		if name, argument, ok := n.call(); ok {
			return e.call(n, name, argument)
		}
		members := make([]value.Member, 0, len(n.members))
		for _, m := range n.members {
			v, err := e.node(m.Value)
			if err != nil {
				return value.Value{}, err
			}
			if !v.IsNull() {
				members = append(members, value.Member{Key: m.Key, Value: v})
			}
		}
		return value.Object(members...), nil
	}
	return value.Value{}, nil
}

func (e *evaluation) call(n Node, name string, argument Node) (value.Value, error) {
	f, ok := functionNamed(name)
	if !ok || f.evaluate == nil {
		return value.Value{}, e.fail(n, "Template error: %s cannot be evaluated here.", name)
	}
	return f.evaluate(e, argument)
}

// string evaluates an argument that must be a scalar; anything else is an error with the message.
func (e *evaluation) string(n Node, message string) (value.Value, error) {
	v, err := e.node(n)
	if err != nil {
		return value.Value{}, err
	}
	if !v.IsScalar() {
		return value.Value{}, e.fail(n, "%s", message)
	}
	return v, nil
}
