package template

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/jq"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// jqFunction returns Fn::Jq: the first result, or all results, of a jq script for a value. The whole result is as
// secret as its most secret argument.
func jqFunction() (function, bool) {
	g := signature{name: "Fn::Jq", usage: "[First or All, script, JSON]", wants: []want{wantText, wantText, wantAny}, least: 3}
	f, ok := g.function(rosAnywhere, func(e *evaluation, a arguments) (value.Value, error) {
		if method := a.text(0); method != "First" && method != "All" {
			return value.Value{}, a.fail(e, "argument 1 is neither First nor All")
		}
		input, err := a.fromJSON(e, 2)
		if err != nil {
			return value.Value{}, err
		}
		if err := e.spend(a.at, extent(input)+jq.Reading(a.text(1))); err != nil {
			return value.Value{}, err
		}
		made, err := jq.Run(a.text(1), input, MaxDepth, a.text(0) == "First")
		if err := e.spend(a.at, made.Work); err != nil {
			return value.Value{}, err
		}
		switch {
		case made.Exhausted:
			return value.Value{}, a.fail(e, "the script does too much")
		case err != nil && a.secrecy() != value.Open:
			return value.Value{}, a.fail(e, "the script failed")
		case err != nil:
			return value.Value{}, a.fail(e, "%v", err)
		case a.secrecy() != value.Open && !a.keysShown(input, made.Values):
			return value.Value{}, a.fail(e, "a key in the result would be made of a secret, and everyone may read it")
		case a.text(0) == "All":
			return value.Items(made.Values...), nil
		case len(made.Values) == 0:
			return value.Value{}, nil
		}
		return made.Values[0], nil
	})
	check := f.check
	f.check = func(s *shapes, argument Node, where path) {
		before := len(s.found)
		if check(s, argument, where); len(s.found) > before || argument.kind != value.List {
			return
		}
		if method := argument.items[0]; method.isScalar() && method.text != "First" && method.text != "All" {
			s.at(method, where.to("0"), "%s", g.misused("argument 1 is neither First nor All"))
		}
		if script := argument.items[1]; script.isScalar() && !s.linked && s.try(jq.Reading(script.text)) {
			if err := jq.Check(script.text); err != nil {
				s.at(script, where.to("1"), "%s", g.misused("%v", err))
			}
		}
	}
	return f, ok
}

// keysShown reports whether all keys in the results may be shown to everyone. Such keys are those of the input, its
// texts that are not secret, and the text of a script that is not secret.
func (a arguments) keysShown(input value.Value, results []value.Value) bool {
	script := ""
	if !a.values[1].Secret() {
		script = a.text(1)
	}
	shown := make(map[string]bool)
	var gather func(v value.Value)
	gather = func(v value.Value) {
		if v.Kind() == value.String && !v.Secret() {
			shown[v.Text()] = true
		}
		for _, item := range v.Items() {
			gather(item)
		}
		for _, m := range v.Members() {
			shown[m.Key] = true
			gather(m.Value)
		}
	}
	gather(input)
	var all func(v value.Value) bool
	all = func(v value.Value) bool {
		for _, item := range v.Items() {
			if !all(item) {
				return false
			}
		}
		for _, m := range v.Members() {
			if !shown[m.Key] && !strings.Contains(script, m.Key) || !all(m.Value) {
				return false
			}
		}
		return true
	}
	return !slices.ContainsFunc(results, func(v value.Value) bool { return !all(v) })
}
