package template

import (
	"errors"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	subMessage     = "Template error: One or more Fn::Sub intrinsic functions don't specify expected arguments. Specify a string as first argument, and an optional second argument to specify a mapping of values to replace in the string"
	subNameMessage = "Template error: variable names in Fn::Sub syntax must contain only alphanumeric characters, underscores, periods, and colons"
	subTextMessage = "Template error: every variable of Fn::Sub must be a string, number or boolean."
)

func checkSub(s *shapes, argument Node, where path) {
	text, variables := subParts(argument)
	if text.kind != value.String || !variables.IsZero() && variables.kind != value.Map {
		s.at(argument, where, subMessage)
		return
	}
	if _, _, call := variables.call(); call {
		s.at(variables, where, subMessage)
		return
	}
	s.node(text, where)
	if _, err := parseSub(text.text); err != nil {
		s.at(text, where, "%s", err.Error())
	}
	for _, m := range variables.members {
		s.string(m.Value, where.to(m.Key), subTextMessage)
	}
}

// subParts returns the text of Fn::Sub and the variables it defines itself; absent if it has the wrong shape.
func subParts(argument Node) (text, variables Node) {
	switch {
	case argument.kind == value.String:
		return argument, Node{}
	case argument.kind == value.List && len(argument.items) == 2:
		return argument.items[0], argument.items[1]
	}
	return Node{}, Node{}
}

// subPart is a piece of the text of Fn::Sub: literal text, or the name of a variable.
type subPart struct {
	text     string
	variable bool
}

var subName = regexp.MustCompile(`^[0-9A-Za-z_.:]+$`)

// parseSub is splitSub with a check for CloudFormation's syntax of names.
func parseSub(text string) ([]subPart, error) {
	parts := splitSub(text)
	for _, part := range parts {
		if part.variable && !subName.MatchString(part.text) {
			return nil, errors.New(subNameMessage)
		}
	}
	return parts, nil
}

// splitSub splits the text of Fn::Sub. ${!x} is the literal ${x}; an unclosed brace is literal too.
func splitSub(text string) []subPart {
	var parts []subPart
	for {
		before, rest, opened := strings.Cut(text, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !opened || !closed {
			return appendLiteral(parts, text)
		}
		parts = appendLiteral(parts, before)
		if literal, escaped := strings.CutPrefix(name, "!"); escaped {
			parts = appendLiteral(parts, "${"+literal+"}")
		} else {
			parts = append(parts, subPart{name, true})
		}
		text = after
	}
}

func appendLiteral(parts []subPart, text string) []subPart {
	if text == "" {
		return parts
	}
	return append(parts, subPart{text: text})
}

func evaluateSub(e *evaluation, argument Node) (value.Value, error) {
	text, variables := subParts(argument)
	if err := e.spend(text, len(text.text)); err != nil { // it is parsed again each time
		return value.Value{}, err
	}
	own := subVariables(variables)
	parts, err := parseSub(text.text)
	if err != nil {
		return value.Value{}, e.fail(text, "%s", err.Error())
	}
	var b strings.Builder
	secrecy := value.Open
	for _, part := range parts {
		if !part.variable {
			b.WriteString(part.text)
			continue
		}
		v, err := e.subVariable(text, own, part.text)
		if err != nil {
			return value.Value{}, err
		}
		if v.IsNull() {
			continue // AWS::NoValue is an empty string here
		}
		if !v.IsScalar() {
			return value.Value{}, e.fail(text, subTextMessage)
		}
		if err := e.spend(text, len(v.Text())); err != nil {
			return value.Value{}, err
		}
		b.WriteString(v.Text())
		secrecy = max(secrecy, v.Secrecy())
	}
	return value.Str(b.String()).Tainted(secrecy), nil
}

// subVariables returns the variables that Fn::Sub defines itself, by name.
func subVariables(variables Node) map[string]Node {
	own := make(map[string]Node, len(variables.members))
	for _, m := range variables.members {
		own[m.Key] = m.Value
	}
	return own
}

func (e *evaluation) subVariable(text Node, own map[string]Node, name string) (value.Value, error) {
	if n, ok := own[name]; ok {
		return e.node(n)
	}
	if logical, attribute, dotted := strings.Cut(name, "."); dotted {
		return e.attribute(text, logical, attribute)
	}
	return e.reference(text, name)
}
