package template

import (
	"encoding/base64"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	joinMessage   = "Template error: every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to be joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined."
	splitMessage  = "Template error: every Fn::Split object requires two parameters, (1) a string delimiter and (2) a string to be split or a function that returns a string to be split."
	base64Message = "Template error: every Fn::Base64 object must have a String-typed value."
)

func checkJoin(s *shapes, argument Node, where path) {
	items := s.list(argument, where, []int{2}, joinMessage)
	if items == nil {
		return
	}
	if items[0].kind != value.String {
		s.at(items[0], where.to("0"), joinMessage)
	}
	s.strings(items[1], where.to("1"), joinMessage)
}

func evaluateJoin(e *evaluation, argument Node) (value.Value, error) {
	list, err := e.node(argument.items[1])
	if err != nil {
		return value.Value{}, err
	}
	if list.Kind() != value.List {
		return value.Value{}, e.fail(argument, joinMessage)
	}
	delimiter := argument.items[0].text
	texts := make([]string, len(list.Items()))
	secrecy := value.Open
	for i, item := range list.Items() {
		if !item.IsScalar() {
			return value.Value{}, e.fail(argument, joinMessage)
		}
		if err := e.spend(argument, len(delimiter)+len(item.Text())); err != nil {
			return value.Value{}, err
		}
		texts[i] = item.Text()
		secrecy = max(secrecy, item.Secrecy())
	}
	return value.Str(strings.Join(texts, delimiter)).Tainted(secrecy), nil
}

func checkSplit(s *shapes, argument Node, where path) {
	items := s.list(argument, where, []int{2}, splitMessage)
	if items == nil {
		return
	}
	if items[0].kind != value.String || items[0].text == "" {
		s.at(items[0], where.to("0"), splitMessage)
	}
	s.string(items[1], where.to("1"), splitMessage)
}

func evaluateSplit(e *evaluation, argument Node) (value.Value, error) {
	v, err := e.string(argument.items[1], splitMessage)
	if err != nil {
		return value.Value{}, err
	}
	delimiter := argument.items[0].text
	if err := e.spend(argument, nodeBytes*strings.Count(v.Text(), delimiter)); err != nil {
		return value.Value{}, err
	}
	return value.Strs(strings.Split(v.Text(), delimiter)...).Tainted(v.Secrecy()), nil
}

func checkBase64(s *shapes, argument Node, where path) { s.string(argument, where, base64Message) }

func evaluateBase64(e *evaluation, argument Node) (value.Value, error) {
	v, err := e.string(argument, base64Message)
	if err != nil {
		return value.Value{}, err
	}
	return value.Str(base64.StdEncoding.EncodeToString([]byte(v.Text()))).Tainted(v.Secrecy()), nil
}
