package template

import (
	"cmp"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Resources resolves references to resources. Its results may be secret, and taint the values that are made from them.
type Resources interface {
	// PhysicalID returns the value of a Ref to a resource; false if the resource does not exist.
	PhysicalID(logicalID string) (value.Value, bool)
	// Attribute returns the value of Fn::GetAtt of a resource. The evaluation returns its error unchanged.
	Attribute(logicalID, name string) (value.Value, error)
}

// MaxEvaluated is the maximum size in bytes of all results of the functions of one declaration. Each list, object and
// scalar counts some extra bytes, and a result that one function passes to another counts for both. The limit exists
// because a short template can use a large parameter many times. Source: ours, more than any provider can receive.
const MaxEvaluated = 8 << 20

// nodeBytes is the size of a list, an object or a scalar in addition to its text.
const nodeBytes = 16

// Evaluate returns the value of a declaration: it replaces calls of functions by their results and leaves out members
// and items that are AWS::NoValue. Booleans and numbers keep their kind and text. The value is null if n is absent or
// AWS::NoValue itself. The error is an [Error], or an error of r.
func Evaluate(n Node, s *Scope, r Resources) (value.Value, error) {
	return (&evaluation{scope: s, resources: r}).whole(n)
}

// whole evaluates a declaration as node does, and checks the depth of the result.
func (e *evaluation) whole(n Node) (value.Value, error) {
	v, err := e.node(n)
	if err != nil {
		return value.Value{}, err
	}
	if deeper(v, MaxDepth) {
		return value.Value{}, e.fail(n, "Template error: lists and objects nest deeper than %d levels.", MaxDepth)
	}
	return v, nil
}

// deeper reports whether v nests deeper than levels.
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

// evaluation computes values in one scope. A null always stands for AWS::NoValue.
type evaluation struct {
	scope     *Scope
	resources Resources
	// spent is the size of the results of functions so far. most is its limit, 0 for [MaxEvaluated].
	spent, most int
	// missing are the imports without an export. If lenient is true, foresee replaces a call that uses one by
	// [Unknown].
	missing []string
	lenient bool
}

// spend counts the size of a function's result, maybe before it is computed. The error says that the limit is exceeded.
func (e *evaluation) spend(n Node, size int) error {
	most := cmp.Or(e.most, MaxEvaluated)
	if e.spent > most || size > most-e.spent {
		e.spent = most + 1
		return e.fail(n, "Template error: what the functions return here is more than %d bytes together, which is the maximum allowed.", most)
	}
	e.spent += size
	return nil
}

// exhausted reports whether the results exceed the limit.
func (e *evaluation) exhausted() bool { return e.spent > cmp.Or(e.most, MaxEvaluated) }

// extent returns the size of a value for spend.
func extent(v value.Value) int {
	size := nodeBytes + len(v.Text())
	for _, item := range v.Items() {
		size += extent(item)
	}
	for _, m := range v.Members() {
		size += len(m.Key) + extent(m.Value)
	}
	return size
}

func (e *evaluation) fail(n Node, format string, args ...any) error {
	if e.scope.Language == ROS {
		return &Error{Message: rosText(fmt.Sprintf(format, args...)), Code: rosValidationFailed, Line: n.line, Column: n.column}
	}
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
	if e.scope.Language == ROS {
		return e.rosCall(n, name, argument)
	}
	f, ok := functionNamed(name)
	if !ok || f.evaluate == nil {
		return value.Value{}, e.fail(n, "Template error: %s cannot be evaluated here.", name)
	}
	v, err := f.evaluate(e, argument)
	if err == nil {
		err = e.spend(n, extent(v))
	}
	if err != nil {
		return value.Value{}, err
	}
	return v, nil
}

// string evaluates an argument that must be a scalar; anything else gives an error with the message.
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
