package template

import (
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// The places where ROS expressions are tested.
const (
	ROSProperties = inProperties
	ROSConditions = inConditions
)

// TryROS checks and evaluates a ROS expression, written as JSON, as if it was at a place in a template with mappings.
// The error is an Errors if the shape is wrong, and an Error if the evaluation fails.
func TryROS(expression, mappings string, in place, s *Scope, r Resources) (value.Value, error) {
	n, err := jsonNode(expression)
	if err != nil {
		return value.Value{}, err
	}
	p := &parser{template: newTemplate("", Quotas())}
	p.template.Language = ROS
	if mappings != "" {
		section, err := jsonNode(mappings)
		if err != nil {
			return value.Value{}, err
		}
		p.mappings(section, path{"Mappings"})
	}
	sh := &shapes{problems: &p.problems, language: ROS, in: in}
	if in == inConditions {
		sh.truth(n, path{"Conditions", "C"}, "")
	} else {
		sh.node(n, path{"P"})
	}
	if len(p.found) == 0 {
		n = resolver{p}.link(n, path{"P"})
	}
	if len(p.found) > 0 {
		return value.Value{}, p.found
	}
	scope := *s
	scope.Language = ROS
	if in == inConditions {
		holds, err := (&evaluation{scope: &scope, resources: r}).truth(n)
		return value.Boolean(holds), err
	}
	return Evaluate(n, &scope, r)
}

// ROSWork evaluates a ROS expression without checking its shape, and returns the work counted for it.
func ROSWork(expression string, s *Scope) (int, error) {
	n, err := jsonNode(expression)
	if err != nil {
		return 0, err
	}
	scope := *s
	scope.Language = ROS
	e := &evaluation{scope: &scope}
	_, err = e.node(n)
	return e.spent, err
}

// jsonNode parses JSON, which may contain nulls.
func jsonNode(text string) (Node, error) {
	v, err := value.Parse([]byte(text))
	if err != nil {
		return Node{}, fmt.Errorf("%s: %w", text, err)
	}
	return valueNode(v), nil
}

func valueNode(v value.Value) Node {
	n := Node{kind: v.Kind(), text: v.Text(), line: 1, column: 1}
	for _, item := range v.Items() {
		n.items = append(n.items, valueNode(item))
	}
	for _, m := range v.Members() {
		n.members = append(n.members, Member{Key: m.Key, Value: valueNode(m.Value), line: 1, column: 1})
	}
	return n
}

// ROSFunctions returns the names of the ROS functions.
func ROSFunctions() []string { return rosFunctionNames() }

// IsROSFunction reports whether a ROS function of that name exists.
func IsROSFunction(name string) bool {
	_, ok := rosFunctionNamed(name)
	return ok
}
