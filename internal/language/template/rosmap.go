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

// mergeMapToList makes a list of maps of maps of lists: its first has the first item under every key, and so on. A list that ends
// earlier than others repeats its last item; one without items has none.
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
	size := 0 // of the longest item in each column, so many times
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

// selectMapList returns what maps have under a key, of those that have it.
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

// mergedMaps returns both maps in one. Where both have a key, maps are merged in their turn, and of other values the second counts.
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

// memberListToMap makes a map of texts such as .member.0.Name=colour and .member.0.Value=blue. Members that lack one of the two are
// left out. Source: OpenStack Heat, Fn::MemberListToMap, from which ROS has it.
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
