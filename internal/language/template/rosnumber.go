package template

import (
	"math/big"

	"github.com/pintle-dev/pintle/internal/language/value"
)

func rosNumberNamed(name string) (function, bool) {
	switch name {
	case "Fn::Add":
		g := signature{name: name, usage: "[value, value, …], all numbers, all lists or all maps", wants: []want{wantAny}, least: 2, rest: true, keeps: true}
		return g.function(rosAnywhere, add)
	case "Fn::Avg":
		g := signature{name: name, usage: "[decimal places, [number, …]]", wants: []want{wantNumber, wantList}, least: 2}
		return g.function(rosAnywhere, average)
	case "Fn::Max":
		g := signature{name: name, usage: "[number, …]", wants: []want{wantNumber}, least: 1, rest: true}
		return g.function(rosAnywhere, func(e *evaluation, a arguments) (value.Value, error) { return a.most(e, 1) })
	case "Fn::Min":
		g := signature{name: name, usage: "[number, …]", wants: []want{wantNumber}, least: 1, rest: true}
		return g.function(rosAnywhere, func(e *evaluation, a arguments) (value.Value, error) { return a.most(e, -1) })
	case "Fn::Calculate":
		return calculate()
	}
	return function{}, false
}

// add adds numbers, concatenates lists, or merges maps, in which the last of two members with the same key wins.
func add(e *evaluation, a arguments) (value.Value, error) {
	switch a.values[0].Kind() {
	case value.List:
		return a.concatenated(e)
	case value.Map:
		var members []value.Member
		for i, v := range a.values {
			if v.Kind() != value.Map {
				return value.Value{}, a.fail(e, "argument %d is not a map like the first", i+1)
			}
			if err := e.spend(a.at, extent(v)); err != nil {
				return value.Value{}, err
			}
			members = append(members, v.Members()...)
		}
		return value.Object(members...), nil
	case value.Number, value.String:
		numbers, err := a.decimals(e, a.values)
		if err != nil {
			return value.Value{}, err
		}
		sum := decimal{rat: new(big.Rat)}
		for _, n := range numbers {
			sum.rat.Add(sum.rat, n.rat)
			sum.float = sum.float || n.float
		}
		return sum.value().Tainted(a.secrecy()), nil
	case value.Null, value.Bool:
	}
	return value.Value{}, a.fail(e, "the first is none of them")
}

// concatenated returns the items of all lists in one list.
func (a arguments) concatenated(e *evaluation) (value.Value, error) {
	var items []value.Value
	for i, v := range a.values {
		if v.Kind() != value.List {
			return value.Value{}, a.fail(e, "argument %d is not a list", i+1)
		}
		if err := e.spend(a.at, extent(v)); err != nil {
			return value.Value{}, err
		}
		items = append(items, present(v)...)
	}
	return value.Items(items...), nil
}

func average(e *evaluation, a arguments) (value.Value, error) {
	places, err := a.whole(e, 0, 0, maxPlaces, 0)
	if err != nil {
		return value.Value{}, err
	}
	list := present(a.values[1])
	if len(list) == 0 {
		return value.Value{}, a.fail(e, "there is no number")
	}
	numbers, err := a.decimals(e, list)
	if err != nil {
		return value.Value{}, err
	}
	sum := new(big.Rat)
	for _, n := range numbers {
		sum.Add(sum, n.rat)
	}
	sum.Quo(sum, new(big.Rat).SetInt64(int64(len(numbers))))
	return decimal{sum, true}.rounded(places), nil
}

// most returns the largest number if sign is 1, the smallest if it is -1, as it was written.
func (a arguments) most(e *evaluation, sign int) (value.Value, error) {
	numbers, err := a.decimals(e, a.values)
	if err != nil {
		return value.Value{}, err
	}
	most := 0
	for i, n := range numbers {
		if n.rat.Cmp(numbers[most].rat) == sign {
			most = i
		}
	}
	return a.values[most], nil
}
