package engine

import (
	"cmp"
	"slices"
)

// set is allocated on the first add, because most decisions use few of their sets.
type set[K comparable] map[K]bool

func (s *set[K]) add(k K) {
	if *s == nil {
		*s = set[K]{}
	}
	(*s)[k] = true
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// cloneWith returns a copy of m with one more entry. It does not change the view's own maps.
func cloneWith[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	clone := make(map[K]V, len(m)+1)
	for k, v := range m {
		clone[k] = v
	}
	clone[k] = v
	return clone
}
