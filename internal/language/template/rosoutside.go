package template

import (
	"strings"
	"unicode"

	"github.com/pintle-dev/pintle/internal/language/value"
)

func rosOutsideNamed(name string) (function, bool) {
	places := rosAnywhere &^ (inConditions | inRules)
	switch name {
	case "Fn::GetStackOutput":
		return function{places: places, check: checkROSStackOutput, evaluate: evaluateROSStackOutput}, true
	case "Fn::MarketplaceImage":
		return function{
			places: rosAnywhere,
			check: func(s *shapes, argument Node, where path) {
				s.at(argument, where, "Fn::MarketplaceImage asks the marketplace of Alibaba Cloud, which is not reached from here: "+
					"pass the ID of the image in a parameter instead.")
			},
			evaluate: func(e *evaluation, argument Node) (value.Value, error) {
				return value.Value{}, e.fail(argument, "Fn::MarketplaceImage cannot be evaluated here.")
			},
		}, true
	}
	return function{}, false
}

// stackOutputOf returns the signature of Fn::GetStackOutput.
func stackOutputOf() signature {
	return signature{
		name: "Fn::GetStackOutput", usage: "[name or ID of a stack, output, region]", wants: []want{wantText, wantText, wantText}, least: 2,
	}
}

func checkROSStackOutput(s *shapes, argument Node, where path) {
	before := len(s.found)
	g := stackOutputOf()
	g.check(s, argument, where)
	if len(s.found) == before {
		s.early(argument, where, g.misused("none of them may depend on a resource, the output of a stack, or Fn::GetAZs"))
	}
}

// rosStackOutput returns the requested output; the zero StackOutput if a name is empty.
func (e *evaluation) rosStackOutput(argument Node) (StackOutput, error) {
	a, err := stackOutputOf().evaluate(e, argument)
	if err != nil {
		return StackOutput{}, err
	}
	if a.secrecy() != value.Open {
		return StackOutput{}, a.fail(e, "none of them may be made of a NoEcho parameter")
	}
	for i := range a.values {
		if text := a.text(i); len(text) > maxAsked || strings.ContainsFunc(text, unicode.IsControl) {
			return StackOutput{}, a.fail(e, "argument %d has more than %d bytes, or control characters", i+1, maxAsked)
		}
	}
	output := StackOutput{Stack: a.text(0), Output: a.text(1), Region: a.text(2), Optional: true}
	if output.Stack == "" || output.Output == "" {
		return StackOutput{}, nil
	}
	if output.Region == "" {
		output.Region = e.scope.Pseudo.Region
	}
	return output, nil
}

// evaluateROSStackOutput returns an output of another stack, null if it does not exist.
func evaluateROSStackOutput(e *evaluation, argument Node) (value.Value, error) {
	output, err := e.rosStackOutput(argument)
	if err != nil || output.Stack == "" {
		return value.Value{}, err
	}
	return e.scope.Outside.StackOutputs[output.Key()], nil
}
