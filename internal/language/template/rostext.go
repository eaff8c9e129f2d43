package template

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

func rosTextNamed(name string) (function, bool) {
	switch name {
	case "Fn::Sub":
		return function{places: rosAnywhere, check: checkROSSub, evaluate: evaluateROSSub}, true
	case "Fn::Join":
		g := signature{name: name, usage: "[delimiter, [text, …]]", wants: []want{wantText, wantList}, least: 2}
		return g.function(rosAnywhere, join)
	case "Fn::Split":
		g := signature{name: name, usage: "[delimiter, text]", wants: []want{wantText, wantText}, least: 2}
		return g.function(rosAnywhere, split)
	case "Fn::Replace":
		g := signature{name: name, usage: "[{old: new, …}, text]", wants: []want{wantMap, wantText}, least: 2}
		return g.function(rosAnywhere, replace)
	case "Fn::Indent":
		g := signature{
			name: name, usage: "[text, level, spaces per level, whether the first line too]",
			wants: []want{wantText, wantNumber, wantNumber, wantText}, least: 2,
		}
		return g.function(rosAnywhere, indent)
	case "Fn::Str":
		return oneArgument(name, "a value", wantAny, func(_ *evaluation, _ Node, v value.Value) (value.Value, error) {
			return value.Str(asText(v)).Tainted(v.Secrecy()), nil
		})
	case "Fn::Base64Encode":
		return oneArgument(name, "a text", wantText, func(_ *evaluation, _ Node, v value.Value) (value.Value, error) {
			return value.Str(base64.StdEncoding.EncodeToString([]byte(v.Text()))).Tainted(v.Secrecy()), nil
		})
	case "Fn::Base64Decode":
		return oneArgument(name, "a text in Base64", wantText, func(e *evaluation, at Node, v value.Value) (value.Value, error) {
			clear, err := base64.StdEncoding.DecodeString(v.Text())
			if err != nil || !utf8.Valid(clear) {
				return value.Value{}, e.fail(at, "Fn::Base64Decode takes a text in Base64: here is none, or it is not an encoded text.")
			}
			return value.Str(string(clear)).Tainted(v.Secrecy()), nil
		})
	}
	return function{}, false
}

// oneArgument returns a function whose argument is a single value instead of a list.
func oneArgument(name, takes string, wanted want, apply func(e *evaluation, at Node, v value.Value) (value.Value, error)) (function, bool) {
	return function{
		places: rosAnywhere,
		check: func(s *shapes, argument Node, where path) {
			if _, _, call := argument.call(); !call && !wanted.fits(argument.kind, argument.text) {
				s.at(argument, where, "%s takes %s.", name, takes)
				return
			}
			s.node(argument, where)
		},
		evaluate: func(e *evaluation, argument Node) (value.Value, error) {
			v, err := e.node(argument)
			if err != nil {
				return value.Value{}, err
			}
			if !v.IsNull() && !wanted.fits(v.Kind(), v.Text()) {
				return value.Value{}, e.fail(argument, "%s takes %s.", name, takes)
			}
			return apply(e, argument, v)
		},
	}, true
}

// asText returns the text of a scalar, and lists and maps as JSON; "" for null.
func asText(v value.Value) string {
	switch v.Kind() {
	case value.Null:
		return ""
	case value.Bool, value.Number, value.String:
		return v.Text()
	case value.List, value.Map:
	}
	return string(v.JSON())
}

func checkROSSub(s *shapes, argument Node, where path) {
	text, variables := subParts(argument)
	_, _, call := variables.call()
	if text.kind != value.String || call || !variables.IsZero() && variables.kind != value.Map {
		s.at(argument, where, "Fn::Sub takes a text, or [text, {variable: value, …}].")
		return
	}
	s.node(text, where)
	for _, part := range splitSub(text.text) {
		if part.variable && (part.text == "" || strings.ContainsAny(part.text, " \t\r\n$")) {
			s.at(text, where, "Fn::Sub: ${%s} names no variable; write ${!%s} for a text that is to stay as it is.", part.text, part.text)
			return
		}
	}
	for _, m := range variables.members {
		s.node(m.Value, where.to(m.Key))
	}
}

func evaluateROSSub(e *evaluation, argument Node) (value.Value, error) {
	text, variables := subParts(argument)
	if err := e.spend(text, len(text.text)); err != nil { // it is parsed again each time
		return value.Value{}, err
	}
	own := subVariables(variables)
	var b strings.Builder
	secrecy := value.Open
	for _, part := range splitSub(text.text) {
		if !part.variable {
			b.WriteString(part.text)
			continue
		}
		v, err := e.subVariable(text, own, part.text)
		if err != nil {
			return value.Value{}, err
		}
		shown := asText(v)
		if err := e.spend(text, len(shown)); err != nil {
			return value.Value{}, err
		}
		b.WriteString(shown)
		secrecy = max(secrecy, v.Secrecy())
	}
	return value.Str(b.String()).Tainted(secrecy), nil
}

func join(e *evaluation, a arguments) (value.Value, error) {
	items := present(a.values[1])
	texts := make([]string, len(items))
	for i, item := range items {
		if !item.IsScalar() {
			return value.Value{}, a.fail(e, "item %d of the list is not a text", i+1)
		}
		if err := e.spend(a.at, len(a.text(0))+len(item.Text())); err != nil {
			return value.Value{}, err
		}
		texts[i] = item.Text()
	}
	return value.Str(strings.Join(texts, a.text(0))), nil
}

func split(e *evaluation, a arguments) (value.Value, error) {
	if a.text(0) == "" {
		return value.Value{}, a.fail(e, "the delimiter is empty")
	}
	if err := e.spend(a.at, nodeBytes*strings.Count(a.text(1), a.text(0))); err != nil {
		return value.Value{}, err
	}
	return value.Strs(strings.Split(a.text(1), a.text(0))...), nil
}

// replace replaces texts in one pass from left to right. If several keys match at one position, the longest wins. It
// does not search inserted text.
func replace(e *evaluation, a arguments) (value.Value, error) {
	members := slices.Clone(a.values[0].Members())
	for _, m := range members {
		if m.Key == "" || !m.Value.IsScalar() && !m.Value.IsNull() {
			return value.Value{}, a.fail(e, "the old text must not be empty, and the new one must be a text")
		}
	}
	slices.SortStableFunc(members, func(x, y value.Member) int { return len(y.Key) - len(x.Key) })
	var b strings.Builder
	text := a.text(1)
	if err := e.spend(a.at, len(members)*(1+len(text)/nodeBytes)); err != nil { // each key is searched in the whole text
		return value.Value{}, err
	}
	copied := 0 // length of the text copied so far
	next := make([]int, len(members))
	for i, m := range members {
		next[i] = strings.Index(text, m.Key)
	}
	for {
		if err := e.spend(a.at, len(members)); err != nil {
			return value.Value{}, err
		}
		first := -1
		for i, m := range members {
			if next[i] >= 0 && next[i] < copied {
				if next[i] = strings.Index(text[copied:], m.Key); next[i] >= 0 {
					next[i] += copied
				}
			}
			if next[i] >= 0 && (first < 0 || next[i] < next[first]) {
				first = i
			}
		}
		if first < 0 {
			b.WriteString(text[copied:])
			return value.Str(b.String()), nil
		}
		b.WriteString(text[copied:next[first]])
		replacement := members[first].Value.Text()
		if err := e.spend(a.at, len(replacement)); err != nil {
			return value.Value{}, err
		}
		b.WriteString(replacement)
		copied = next[first] + len(members[first].Key)
	}
}

// indent indents the lines of a text that are not empty.
func indent(e *evaluation, a arguments) (value.Value, error) {
	level, err := a.whole(e, 1, 0, 20, 0)
	if err != nil {
		return value.Value{}, err
	}
	size, err := a.whole(e, 2, 0, 4, 2)
	if err != nil {
		return value.Value{}, err
	}
	first := true
	if given := strings.ToLower(a.text(3)); given != "" {
		if first = given == "true"; !first && given != "false" {
			return value.Value{}, a.fail(e, "argument 4 is neither true nor false")
		}
	}
	space := strings.Repeat(" ", level*size)
	lines := strings.Split(a.text(0), "\n")
	if err := e.spend(a.at, len(a.text(0))+len(lines)*len(space)); err != nil {
		return value.Value{}, err
	}
	for i, line := range lines {
		if line != "" && (i > 0 || first) {
			lines[i] = space + line
		}
	}
	return value.Str(strings.Join(lines, "\n")), nil
}
