package template

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

func rosMapNamed(name string) (function, bool) {
	switch name {
	case "Fn::MergeMapToList":
		g := signature{name: name, usage: "[{key: [value, …]}, …]", wants: []want{wantMap}, least: 1, rest: true, keeps: true}
		return g.function(rosAnywhere, mergeMapToList)
	case "Fn::SelectMapList":
		g := signature{name: name, usage: "[key, [map, …]]", wants: []want{wantText, wantList}, least: 2, keeps: true}
		return g.function(rosAnywhere, selectMapList)
	case "Fn::MergeMap":
		g := signature{name: name, usage: "[map, map, …]", wants: []want{wantMap}, least: 1, rest: true, keeps: true}
		return g.function(rosAnywhere, func(e *evaluation, a arguments) (value.Value, error) {
			merged := value.Object()
			for _, v := range a.values {
				if err := e.spend(a.at, extent(merged)+extent(v)); err != nil {
					return value.Value{}, err
				}
				merged = mergedMaps(merged, v)
			}
			return merged, nil
		})
	case "Fn::MemberListToMap":
		g := signature{
			name: name, usage: "[name of the keys, name of the values, [\".member.0.Name=…\", \".member.0.Value=…\", …]]",
			wants: []want{wantText, wantText, wantList}, least: 3,
		}
		return g.function(rosAnywhere, memberListToMap)
	}
	return function{}, false
}

// mergeMapToList turns maps of lists into a list of maps: the first map has the first item under every key, and so on.
// A list that is shorter than others repeats its last item; an empty one adds nothing.
func mergeMapToList(e *evaluation, a arguments) (value.Value, error) {
	var columns []value.Member
	rows := 0
	for i, v := range a.values {
		for _, m := range v.Members() {
			if m.Value.Kind() != value.List {
				return value.Value{}, a.fail(e, "a value in argument %d is not a list", i+1)
			}
			columns = append(columns, m)
			rows = max(rows, len(m.Value.Items()))
		}
	}
	size := 0 // size of the longest item in each column, times the number of rows
	for _, column := range columns {
		most := 0
		for _, item := range column.Value.Items() {
			most = max(most, extent(item))
		}
		size += len(column.Key) + most
	}
	if err := e.spend(a.at, min(rows, MaxEvaluated)*min(size, MaxEvaluated)); err != nil {
		return value.Value{}, err
	}
	list := make([]value.Value, rows)
	for row := range list {
		var members []value.Member
		for _, column := range columns {
			if items := column.Value.Items(); len(items) > 0 {
				members = append(members, value.Member{Key: column.Key, Value: items[min(row, len(items)-1)]})
			}
		}
		list[row] = value.Object(members...)
	}
	return value.Items(list...), nil
}

// selectMapList returns the values under a key in those maps that have it.
func selectMapList(e *evaluation, a arguments) (value.Value, error) {
	picked := []value.Value{}
	for i, item := range present(a.values[1]) {
		if item.Kind() != value.Map {
			return value.Value{}, a.fail(e, "item %d of the list is not a map", i+1)
		}
		if v, ok := item.Get(a.text(0)); ok {
			picked = append(picked, v.Tainted(a.values[0].Secrecy()))
		}
	}
	return value.Items(picked...), nil
}

// mergedMaps merges two maps. If both have a key, maps are merged recursively, and otherwise the second value wins.
func mergedMaps(a, b value.Value) value.Value {
	members := slices.Clone(a.Members())
	at := make(map[string]int, len(members))
	for i, m := range members {
		at[m.Key] = i
	}
	for _, m := range b.Members() {
		i, both := at[m.Key]
		switch {
		case !both:
			at[m.Key] = len(members)
			members = append(members, m)
		case members[i].Value.Kind() == value.Map && m.Value.Kind() == value.Map:
			members[i].Value = mergedMaps(members[i].Value, m.Value)
		default:
			members[i].Value = m.Value
		}
	}
	return value.Object(members...)
}

// memberListToMap makes a map from texts such as .member.0.Name=colour and .member.0.Value=blue. It leaves out members
// that lack one of the two. Source: OpenStack Heat, Fn::MemberListToMap, which ROS adopted.
func memberListToMap(e *evaluation, a arguments) (value.Value, error) {
	type pair struct{ key, value *string }
	pairs := make(map[int]*pair)
	for i, item := range present(a.values[2]) {
		place, text, ok := strings.Cut(item.Text(), "=")
		fields := strings.Split(strings.TrimPrefix(place, "."), ".")
		if !ok || item.Kind() != value.String || len(fields) != 3 || fields[0] != "member" {
			return value.Value{}, a.fail(e, "item %d of the list is not of that form", i+1)
		}
		number, err := strconv.Atoi(fields[1])
		if err != nil {
			return value.Value{}, a.fail(e, "item %d of the list is not of that form", i+1)
		}
		if pairs[number] == nil {
			pairs[number] = &pair{}
		}
		switch fields[2] {
		case a.text(0):
			if item.Secret() {
				return value.Value{}, a.fail(e, "item %d of the list is secret, and is to be a key, which everyone may read", i+1)
			}
			pairs[number].key = &text
		case a.text(1):
			pairs[number].value = &text
		}
	}
	var members []value.Member
	for _, number := range slices.Sorted(maps.Keys(pairs)) {
		if p := pairs[number]; p.key != nil && p.value != nil {
			members = append(members, value.Member{Key: *p.key, Value: value.Str(*p.value)})
		}
	}
	return value.Object(members...), nil
}
