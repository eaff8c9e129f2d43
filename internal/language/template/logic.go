package template

import (
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	equalsMessage    = "Template error: every Fn::Equals object requires a list of 2 string parameters."
	andMessage       = "Template error: every Fn::And object requires a list of at least 2 and at most 10 boolean parameters."
	orMessage        = "Template error: every Fn::Or object requires a list of at least 2 and at most 10 boolean parameters."
	notMessage       = "Template error: every Fn::Not object requires a list with exactly 1 boolean parameter."
	conditionMessage = "Template format error: Every Condition member must be a string."
	logicMessage     = "Template format error: Conditions can only be boolean operations on parameters and other conditions"
)

// truthCall returns the call in n where a truth value is expected: Condition is a function there too.
func (n Node) truthCall() (name string, argument Node, ok bool) {
	if len(n.members) == 1 && n.members[0].Key == "Condition" {
		return "Condition", n.members[0].Value, true
	}
	return n.call()
}

// truth checks a tree that must become a truth value; message is the error if it cannot.
func (s *shapes) truth(n Node, where path, message string) {
	if s.language == ROS {
		s.rosTruth(n, where)
		return
	}
	name, argument, ok := n.truthCall()
	if !ok {
		s.at(n, where, "%s", message)
		return
	}
	below := where.to(name)
	if name == "Fn::If" && s.in != inRules {
		if s.ifShape(argument, below) {
			_, then, otherwise := ifParts(argument)
			s.truth(then, below.to("1"), message)
			s.truth(otherwise, below.to("2"), message)
		}
		return
	}
	if f, known := functionNamed(name); known && f.truth == nil && (s.in != inRules || f.places&inRules != 0) {
		s.at(n, where, "%s", message)
		return
	}
	s.call(n, name, argument, below)
}

// truth decides a tree that shapes.truth has accepted.
func (e *evaluation) truth(n Node) (bool, error) {
	if e.scope.Language == ROS {
		return e.rosTruth(n)
	}
	name, argument, _ := n.truthCall()
	if name == "Fn::If" {
		branch, err := e.branch(argument)
		if err != nil {
			return false, err
		}
		return e.truth(branch)
	}
	f, _ := functionNamed(name)
	if f.truth == nil {
		return false, e.fail(n, logicMessage)
	}
	return f.truth(e, argument)
}

func checkEquals(s *shapes, argument Node, where path) {
	for i, item := range s.list(argument, where, []int{2}, equalsMessage) {
		s.string(item, where.to(strconv.Itoa(i)), equalsMessage)
	}
}

// decideEquals compares texts, so that true and "true" are equal.
func decideEquals(e *evaluation, argument Node) (bool, error) {
	left, err := e.string(argument.items[0], equalsMessage)
	if err != nil {
		return false, err
	}
	right, err := e.string(argument.items[1], equalsMessage)
	if err != nil {
		return false, err
	}
	return left.Text() == right.Text(), nil
}

func checkAnd(s *shapes, argument Node, where path) { s.operands(argument, where, 2, 10, andMessage) }

func decideAnd(e *evaluation, argument Node) (bool, error) { return e.operands(argument, false) }

func checkOr(s *shapes, argument Node, where path) { s.operands(argument, where, 2, 10, orMessage) }

func decideOr(e *evaluation, argument Node) (bool, error) { return e.operands(argument, true) }

func checkNot(s *shapes, argument Node, where path) { s.operands(argument, where, 1, 1, notMessage) }

func decideNot(e *evaluation, argument Node) (bool, error) {
	holds, err := e.truth(argument.items[0])
	return !holds, err
}

func (s *shapes) operands(argument Node, where path, least, most int, message string) {
	if argument.kind != value.List || len(argument.items) < least || len(argument.items) > most {
		s.at(argument, where, "%s", message)
		return
	}
	for i, item := range argument.items {
		s.truth(item, where.to(strconv.Itoa(i)), message)
	}
}

// operands returns stop as soon as one operand equals it, and the opposite otherwise.
func (e *evaluation) operands(argument Node, stop bool) (bool, error) {
	for _, item := range argument.items {
		holds, err := e.truth(item)
		if err != nil {
			return false, err
		}
		if holds == stop {
			return stop, nil
		}
	}
	return !stop, nil
}

func checkCondition(s *shapes, argument Node, where path) {
	if argument.kind != value.String {
		s.at(argument, where, conditionMessage)
	}
}

func decideCondition(e *evaluation, argument Node) (bool, error) {
	holds, ok := e.scope.Conditions[argument.text]
	if !ok {
		return false, e.fail(argument, "%s", unresolvedCondition(argument.text, "Conditions"))
	}
	return holds, nil
}
