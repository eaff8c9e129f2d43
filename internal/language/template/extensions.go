package template

import (
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// languageExtensions is the transform that adds loops and functions to the language.
const languageExtensions = "AWS::LanguageExtensions"

// extensionFailed begins the transform's error messages.
const extensionFailed = "Transform AWS::LanguageExtensions failed with: "

const (
	lengthMessage       = extensionFailed + "The Fn::Length value could not be resolved for properties"
	toJSONStringMessage = extensionFailed + "Fn::ToJsonString requires an object or an array."
)

func checkLength(s *shapes, argument Node, where path) {
	if _, _, call := argument.call(); !call && argument.kind != value.List {
		s.at(argument, where, lengthMessage)
		return
	}
	s.node(argument, where)
}

// evaluateLength counts the items of a list. The length of a list that contains a secret is secret too.
func evaluateLength(e *evaluation, argument Node) (value.Value, error) {
	list, err := e.node(argument)
	if err != nil {
		return value.Value{}, err
	}
	if list.Kind() != value.List {
		return value.Value{}, e.fail(argument, lengthMessage)
	}
	return value.Num(strconv.Itoa(len(list.Items()))).Tainted(list.Secrecy()), nil
}

func checkToJSONString(s *shapes, argument Node, where path) {
	if argument.kind != value.List && argument.kind != value.Map {
		s.at(argument, where, toJSONStringMessage)
		return
	}
	s.node(argument, where)
}

// evaluateToJSONString writes JSON, with the keys in the order of the template.
func evaluateToJSONString(e *evaluation, argument Node) (value.Value, error) {
	v, err := e.node(argument)
	if err != nil {
		return value.Value{}, err
	}
	if v.Kind() != value.List && v.Kind() != value.Map {
		return value.Value{}, e.fail(argument, toJSONStringMessage)
	}
	return value.Str(string(v.JSON())).Tainted(v.Secrecy()), nil
}
