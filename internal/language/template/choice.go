package template

import (
	"errors"
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	selectMessage  = "Template error: Fn::Select requires a list argument with two elements: an integer index and a list"
	selectMissing  = "Template error: Fn::Select cannot select nonexistent value at index "
	ifTestMessage  = "Template error: Fn::If requires a list argument with the first element being a condition"
	ifCountMessage = "Template error: Fn::If requires a list argument with three elements"
)

func checkSelect(s *shapes, argument Node, where path) {
	items := s.list(argument, where, []int{2}, selectMessage)
	if items == nil {
		return
	}
	if items[0].isScalar() {
		if _, err := strconv.Atoi(items[0].text); err != nil {
			s.at(items[0], where.to("0"), selectMessage)
		}
	} else {
		s.string(items[0], where.to("0"), selectMessage)
	}
	if _, _, call := items[1].call(); !call && items[1].kind != value.List {
		s.at(items[1], where.to("1"), selectMessage)
		return
	}
	s.node(items[1], where.to("1"))
}

func evaluateSelect(e *evaluation, argument Node) (value.Value, error) {
	index, err := e.string(argument.items[0], selectMessage)
	if err != nil {
		return value.Value{}, err
	}
	at, err := strconv.Atoi(index.Text())
	if err != nil {
		return value.Value{}, e.fail(argument, selectMessage)
	}
	choices, err := e.choices(argument.items[1])
	if err != nil {
		return value.Value{}, err
	}
	if at < 0 || at >= len(choices) || choices[at].IsNull() {
		shown := strconv.Itoa(at)
		if index.Secret() {
			shown = value.ParameterMask
		}
		err := e.fail(argument, "%s%s", selectMissing, shown)
		if templateErr, ok := errors.AsType[*Error](err); ok && e.scope.Language == CloudFormation {
			templateErr.Answer = selectMessage
		}
		return value.Value{}, err
	}
	return choices[at].Tainted(index.Secrecy()), nil
}

// choices evaluates the list of Fn::Select. A literal AWS::NoValue keeps its position, so that the others keep theirs.
func (e *evaluation) choices(n Node) ([]value.Value, error) {
	if n.kind == value.List {
		choices := make([]value.Value, len(n.items))
		for i, item := range n.items {
			var err error
			if choices[i], err = e.node(item); err != nil {
				return nil, err
			}
		}
		return choices, nil
	}
	v, err := e.node(n)
	if err != nil {
		return nil, err
	}
	if v.Kind() != value.List {
		return nil, e.fail(n, selectMessage)
	}
	return v.Items(), nil
}

func checkIf(s *shapes, argument Node, where path) {
	if !s.ifShape(argument, where) {
		return
	}
	_, then, otherwise := ifParts(argument)
	s.node(then, where.to("1"))
	s.node(otherwise, where.to("2"))
}

// ifShape checks everything of Fn::If except its branches.
func (s *shapes) ifShape(argument Node, where path) bool {
	if argument.kind != value.List || len(argument.items) == 0 {
		s.at(argument, where, ifTestMessage)
		return false
	}
	if len(argument.items) != 3 {
		s.at(argument, where, ifCountMessage)
		return false
	}
	if test, _, _ := ifParts(argument); test.text == "" {
		s.at(argument.items[0], where.to("0"), ifTestMessage)
		return false
	}
	return true
}

// ifParts returns the name of the condition of Fn::If, which may be wrapped as {Condition: name}, and both branches.
func ifParts(argument Node) (test, then, otherwise Node) {
	if len(argument.items) != 3 {
		return Node{}, Node{}, Node{}
	}
	test = argument.items[0]
	if wrapped := test.Get("Condition"); len(test.members) == 1 && wrapped.kind == value.String {
		test = wrapped
	}
	return test, argument.items[1], argument.items[2]
}

func evaluateIf(e *evaluation, argument Node) (value.Value, error) {
	branch, err := e.branch(argument)
	if err != nil {
		return value.Value{}, err
	}
	return e.node(branch)
}

// branch returns the selected branch of Fn::If.
func (e *evaluation) branch(argument Node) (Node, error) {
	test, then, otherwise := ifParts(argument)
	holds, ok := e.scope.Conditions[test.text]
	switch {
	case !ok:
		return Node{}, e.fail(test, "Template error: unresolved condition dependency %s in Fn::If", test.text)
	case holds:
		return then, nil
	}
	return otherwise, nil
}
