package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// table holds ready requests, and counts the rows read.
type table struct {
	ready map[store.StackKey][]store.Turn // oldest first
	read  int
}

func newTable(stacks, each int) *table {
	t := &table{ready: map[store.StackKey][]store.Turn{}}
	for n := range each {
		for key := store.StackKey(1); key <= store.StackKey(stacks); key++ {
			id := wire.RequestID(fmt.Sprintf("%d-%d", key, n))
			t.ready[key] = append(t.ready[key], store.Turn{Stack: key, ID: id, Age: int64(n*stacks) + int64(key)})
		}
	}
	return t
}

func (t *table) heads(after store.StackKey, n int) (turns []store.Turn, err error) {
	keys := slices.Sorted(maps.Keys(t.ready))
	at, _ := slices.BinarySearch(keys, after+1)
	for _, key := range append(keys[at:len(keys):len(keys)], keys[:at]...) {
		if len(turns) < n {
			turns = append(turns, t.ready[key][0])
		}
	}
	t.read += len(turns)
	return turns, nil
}

func (t *table) oldest(stacks []store.StackKey, depth int) (turns []store.Turn, err error) {
	for _, key := range stacks {
		turns = append(turns, t.ready[key][:min(depth, len(t.ready[key]))]...)
	}
	t.read += len(turns)
	return turns, nil
}

func (t *table) settle(id wire.RequestID) {
	for key, turns := range t.ready {
		if t.ready[key] = slices.DeleteFunc(turns, func(t store.Turn) bool { return t.ID == id }); len(t.ready[key]) == 0 {
			delete(t.ready, key)
		}
	}
}

// TestRingBound claims again and again from far more stacks than one claim takes. The number of rows read is bounded by
// the requests claimed and held, and the stacks take turns.
func TestRingBound(t *testing.T) {
	const stacks, limit, hand = 900, 16, 64
	rows := newTable(stacks, 2)
	var ring store.Ring
	var held []wire.RequestID // in progress, oldest first
	turns := map[byte]int{}
	for claims := 0; len(rows.ready) > 0; claims++ {
		rows.read = 0
		got, err := ring.Choose(limit, func(id wire.RequestID) bool { return slices.Contains(held, id) }, rows.heads, rows.oldest)
		if err != nil || len(got) == 0 && len(held) == 0 {
			t.Fatalf("%d claimed, error %v", len(got), err)
		}
		if most := 3 * (2*limit + hand); rows.read > most {
			t.Fatalf("claim %d of %d requests read %d rows, more than %d", claims, limit, rows.read, most)
		}
		for _, id := range got {
			turns[id[len(id)-1]]++
			if id[len(id)-1] == '1' && turns['0'] < stacks {
				t.Fatalf("%s is claimed after %d of %d first turns", id, turns['0'], stacks)
			}
		}
		for held = append(held, got...); len(held) > hand-limit || len(got) < limit && len(held) > 0; held = held[1:] {
			rows.settle(held[0])
		}
	}
	if turns['0'] != stacks || turns['1'] != stacks {
		t.Errorf("%v requests were claimed of %d stacks", turns, stacks)
	}
}

// TestRingOfOne claims all requests of one large stack, next to small ones.
func TestRingOfOne(t *testing.T) {
	rows := newTable(1, 1000)
	for key := store.StackKey(2); key < 5; key++ {
		rows.ready[key] = []store.Turn{{Stack: key, ID: wire.RequestID(fmt.Sprint(key, "-0")), Age: 1000 + int64(key)}}
	}
	var ring store.Ring
	got, err := ring.Choose(8, nil, rows.heads, rows.oldest)
	if want := "[1-0 2-0 3-0 4-0 1-1 1-2 1-3 1-4]"; fmt.Sprint(got) != want || err != nil {
		t.Errorf("claimed %v, want %s, error %v", got, want, err)
	}
	if rows.read > 40 {
		t.Errorf("%d rows were read", rows.read)
	}
	none, err := ring.Choose(8, func(wire.RequestID) bool { return true }, rows.heads, rows.oldest)
	if len(none) > 0 || err != nil {
		t.Errorf("claimed %v of what is in hand, error %v", none, err)
	}
}
