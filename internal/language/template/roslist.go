package template

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

func rosListNamed(name string) (function, bool) {
	switch name {
	case "Fn::Select":
		g := signature{
			name: name, usage: "[index, slice or key, list or map, default value]",
			wants: []want{wantText, wantAny, wantAny}, least: 2, keeps: true,
		}
		return g.function(rosAnywhere, selected)
	case "Fn::Index":
		g := signature{name: name, usage: "[item, [item, …]]", wants: []want{wantAny, wantList}, least: 2}
		return g.function(rosAnywhere, func(_ *evaluation, a arguments) (value.Value, error) {
			if i := indexOf(a.values[1].Items(), a.values[0]); i >= 0 {
				return value.Num(strconv.Itoa(i)), nil
			}
			return value.Value{}, nil
		})
	case "Fn::Length":
		return oneArgument(name, "a text, a list or a map", wantAny, length)
	case "Fn::ListMerge":
		g := signature{name: name, usage: "[[item, …], [item, …], …]", wants: []want{wantList}, least: 1, rest: true, keeps: true}
		return g.function(rosAnywhere, func(e *evaluation, a arguments) (value.Value, error) { return a.concatenated(e) })
	case "Fn::FindInMap":
		return function{places: rosAnywhere, check: checkROSFindInMap, evaluate: evaluateFindInMap}, true
	}
	return function{}, false
}

// length returns the number of characters of a text, items of a list, or members of a map.
func length(e *evaluation, at Node, v value.Value) (value.Value, error) {
	n := 0
	switch v.Kind() {
	case value.Null:
	case value.String:
		return value.Num(strconv.Itoa(utf8.RuneCountInString(v.Text()))).Tainted(v.Secrecy()), nil
	case value.List:
		n = len(v.Items())
	case value.Map:
		n = len(v.Members())
	case value.Bool, value.Number:
		return value.Value{}, e.fail(at, "Fn::Length takes a text, a list or a map.")
	}
	return value.Num(strconv.Itoa(n)), nil
}

// selected returns an item of a list, several items, or a member of a map. A text is a list of items separated by
// commas. For a missing item it returns the third argument, or the empty text.
func selected(e *evaluation, a arguments) (value.Value, error) {
	by := strings.TrimSpace(a.text(0))
	secrecy := a.values[0].Secrecy()
	missing := value.Str("")
	if len(a.values) == 3 {
		missing = a.values[2]
	}
	var items []value.Value
	switch from := a.values[1]; from.Kind() {
	case value.Null:
		return missing, nil
	case value.Map:
		if v, ok := from.Get(a.text(0)); ok {
			return v.Tainted(secrecy), nil
		}
		return missing.Tainted(secrecy), nil
	case value.List:
		items = from.Items()
	case value.String:
		if from.Text() == "" {
			return missing, nil
		}
		if err := e.spend(a.at, nodeBytes*strings.Count(from.Text(), ",")); err != nil {
			return value.Value{}, err
		}
		items = value.Strs(members(from.Text())...).Tainted(from.Secrecy()).Items()
	case value.Bool, value.Number:
		return value.Value{}, a.fail(e, "argument 2 is neither a list nor a map")
	}
	if strings.Contains(by, ":") {
		picked, err := a.slice(e, by, items)
		return picked.Tainted(secrecy), err
	}
	index, err := strconv.Atoi(by)
	if err != nil {
		return value.Value{}, a.fail(e, "argument 1 is not a list index, such as 0, -1 or 1:3")
	}
	if index < 0 {
		index += len(items)
	}
	if index < 0 || index >= len(items) {
		return missing.Tainted(secrecy), nil
	}
	return items[index].Tainted(secrecy), nil
}

// slice returns the items from start to stop, with an optional step, by Python's rules.
func (a arguments) slice(e *evaluation, text string, items []value.Value) (value.Value, error) {
	fields := strings.Split(text, ":")
	var bounds [3]*int
	for i, field := range fields {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil || i > 2 {
			return value.Value{}, a.fail(e, "argument 1 is not a slice, such as 1:3 or ::2")
		}
		bounds[i] = &n
	}
	step := 1
	if bounds[2] != nil {
		step = *bounds[2]
	}
	if len(fields) > 3 || step == 0 {
		return value.Value{}, a.fail(e, "argument 1 is not a slice, such as 1:3 or ::2")
	}
	lowest, highest := 0, len(items)
	if step < 0 {
		lowest, highest = -1, len(items)-1
	}
	bound := func(given *int, fallback int) int {
		switch {
		case given == nil:
			return fallback
		case *given < 0:
			return max(*given+len(items), lowest)
		}
		return min(*given, highest)
	}
	start, stop := bound(bounds[0], lowest), bound(bounds[1], highest)
	if step < 0 {
		start, stop = bound(bounds[0], highest), bound(bounds[1], lowest)
	}
	picked := []value.Value{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if !items[i].IsNull() {
			picked = append(picked, items[i])
		}
		if step > len(items) || step < -len(items) {
			break // the next index would be out of range, and a step can be as large as an integer
		}
	}
	return value.Items(picked...), nil
}

// checkROSFindInMap checks [mapping, key, key], to which the parser adds the reachable part of the mapping.
func checkROSFindInMap(s *shapes, argument Node, where path) {
	count := 3
	if s.linked {
		count = lookupReach + 1
	}
	if argument.kind != value.List || len(argument.items) != count {
		s.at(argument, where, "Fn::FindInMap takes [mapping, key, key].")
		return
	}
	for i, key := range argument.items[:3] {
		if _, _, call := key.call(); !call && !key.isScalar() {
			s.at(key, where.to(strconv.Itoa(i)), "Fn::FindInMap takes [mapping, key, key]: argument %d is not a text.", i+1)
			continue
		}
		s.node(key, where.to(strconv.Itoa(i)))
	}
}
