package store

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pintle-dev/pintle/wire"
)

// Turn is a ready request as [Ring] sees it. It is for implementations of [Store].
type Turn struct {
	Stack StackKey
	ID    wire.RequestID
	// Age orders the requests of one stack, and the requests of different stacks within a round: a lower Age is older.
	// Requests of equal Age are ordered by ID.
	Age int64
}

// Ring chooses the requests that [Store.Claim] returns without reading all ready requests. The stacks form a ring,
// ordered by key. Each call continues where the last one ended and takes one request of each stack; only after a whole
// round does it take further ones. So a call reads at most a few times the requests that it returns and skips, and no
// stack starves. The zero Ring is ready for use, and safe for concurrent use.
type Ring struct {
	mu    sync.Mutex
	after StackKey // the last stack that had its turn
}

// Choose returns the IDs of up to limit requests in the order in which they are claimed.
//
// heads returns the oldest request of each of the next n stacks after the stack after that have any. The keys are in
// ascending order, and continue with the lowest when there is no higher one, up to after itself. Fewer than n results
// mean that this is the whole ring. oldest returns the oldest requests of these stacks, up to depth of each.
func (r *Ring) Choose(
	limit int, skip func(wire.RequestID) bool,
	heads func(after StackKey, n int) ([]Turn, error), oldest func(stacks []StackKey, depth int) ([]Turn, error),
) ([]wire.RequestID, error) {
	if limit <= 0 {
		return nil, nil
	}
	skipped := func(t Turn) bool { return skip != nil && skip(t.ID) }
	r.mu.Lock()
	defer r.mu.Unlock()
	var chosen []Turn
	var stacks []StackKey // had their turn in this round
	round := make(map[StackKey]bool)
	for after, whole := r.after, false; !whole; {
		turns, err := heads(after, limit)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(turns, func(a, b Turn) int { return cmp.Or(behind(after, a.Stack, b.Stack), cmp.Compare(a.Stack, b.Stack)) })
		whole = len(turns) < limit
		for _, t := range turns {
			if round[t.Stack] {
				whole = true
				break
			}
			if !skipped(t) {
				if len(chosen) == limit {
					return sorted(chosen), nil
				}
				chosen = append(chosen, t)
			}
			round[t.Stack] = true
			stacks = append(stacks, t.Stack)
			after, r.after = t.Stack, t.Stack
		}
		if len(chosen) == limit {
			return sorted(chosen), nil
		}
	}
	if len(stacks) == 0 {
		return nil, nil
	}
	for depth := max(2, (limit+len(stacks)-1)/len(stacks)); len(chosen) < limit; depth *= 2 {
		turns, err := oldest(stacks, depth)
		if err != nil {
			return nil, err
		}
		highest := 0
		chosen, highest = byTurn(turns)
		chosen = slices.DeleteFunc(chosen, skipped)
		if highest < depth {
			break
		}
		chosen = chosen[:min(limit, len(chosen))]
	}
	return ids(chosen[:min(limit, len(chosen))]), nil
}

// behind compares two stacks in the ring that begins after the stack after.
func behind(after, a, b StackKey) int {
	switch {
	case a > after && b <= after:
		return -1
	case a <= after && b > after:
		return 1
	}
	return 0
}

func older(a, b Turn) int { return cmp.Or(cmp.Compare(a.Age, b.Age), cmp.Compare(a.ID, b.ID)) }

func sorted(turns []Turn) []wire.RequestID {
	slices.SortFunc(turns, older)
	return ids(turns)
}

// byTurn sorts requests: first the oldest of every stack, then the second oldest, and so on. It returns the largest
// number of requests of one stack.
func byTurn(turns []Turn) (ordered []Turn, highest int) {
	slices.SortFunc(turns, older)
	type numbered struct {
		Turn
		number int // position within its stack
	}
	had := make(map[StackKey]int)
	list := make([]numbered, len(turns))
	for i, t := range turns {
		had[t.Stack]++
		list[i] = numbered{t, had[t.Stack]}
		highest = max(highest, had[t.Stack])
	}
	slices.SortStableFunc(list, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	for i := range list {
		turns[i] = list[i].Turn
	}
	return turns, highest
}

func ids(turns []Turn) []wire.RequestID {
	list := make([]wire.RequestID, len(turns))
	for i, t := range turns {
		list[i] = t.ID
	}
	return list
}
