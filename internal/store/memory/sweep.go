package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

// Root implements [store.Store].
func (s *Store) Root() store.Root { return s.root }

// SealingKeys implements [store.Store]. The memory store does not encrypt.
func (s *Store) SealingKeys(ctx context.Context) ([]store.SealingKey, error) {
	return nil, s.do(ctx, func() error { return nil })
}

// Reseal implements [store.Store]. The memory store does not encrypt.
func (s *Store) Reseal(ctx context.Context, _ store.Cursor, _ int) (store.Resealed, error) {
	return store.Resealed{Done: true}, s.do(ctx, func() error { return nil })
}

// Sweep implements [store.Store]. A step is one stack; the last step is all requests. A cursor is the key of the last
// finished stack.
func (s *Store) Sweep(ctx context.Context, keep store.Keep, from store.Cursor, limit int) (swept store.Swept, err error) {
	after, _ := strconv.ParseInt(string(from), 10, 64)
	err = s.do(ctx, func() error {
		room, now := max(limit, 1), s.time()
		for _, key := range slices.Sorted(maps.Keys(s.stacks)) {
			if int64(key) <= after {
				continue
			}
			swept.Rows = s.trim(s.stacks[key], keep, now, room)
			if swept.Rows == room { // perhaps more remain
				key--
			}
			swept.Next = store.Cursor(strconv.FormatInt(int64(key), 10))
			return nil
		}
		for id, r := range s.requests {
			if swept.Rows < room && keep.RequestOver(&r.row, now) {
				delete(s.requests, id)
				swept.Rows++
			}
		}
		if swept.Rows == room {
			swept.Next = cmp.Or(from, "0")
		}
		return nil
	})
	return swept, err
}

// trim removes up to room rows of a stack, or all of it, and returns the number of removed rows.
func (s *Store) trim(st *stack, keep store.Keep, now time.Time, room int) (rows int) {
	if len(st.operations) == 0 {
		return 0
	}
	gone := func(n int) { rows, room = rows+n, room-n }
	if n := min(len(st.audit)-keep.Audit, room); n > 0 {
		st.audit = slices.Delete(st.audit, 0, n)
		gone(n)
	}
	newest := &st.operations[len(st.operations)-1]
	if !st.row.Live {
		if len(st.open) == 0 && keep.StackOver(&st.row, newest, now) {
			delete(s.stacks, st.row.Key)
			delete(s.ids, st.row.ID)
			for id := range st.sets {
				delete(s.sets, id)
			}
			maps.DeleteFunc(s.operations, func(_ string, p place) bool { return p.stack == st.row.Key })
			gone(1)
		}
		return rows
	}
	many := min(len(st.events)-keep.Events, room)
	old, _ := slices.BinarySearchFunc(st.events, newest.Number, func(r store.EventRow, n int) int { return cmp.Compare(r.Place.Operation, n) })
	if n := min(many, old); n > 0 {
		st.events = slices.Delete(st.events, 0, n)
		gone(n)
	}
	oldest := 0 // the first operation with events
	if len(st.events) > 0 {
		oldest = st.events[0].Place.Operation
	}
	for id, set := range st.sets {
		if room > 0 && keep.ChangeSetOver(&set.row, newest, oldest, now) {
			delete(st.sets, id)
			delete(s.sets, id)
			gone(1)
		}
	}
	for i := range st.operations[:newest.Number-1] {
		if o := &st.operations[i]; room > 0 && o.Number > 0 && o.Number < oldest {
			maps.DeleteFunc(s.operations, func(_ string, p place) bool { return p.stack == st.row.Key && p.number == o.Number })
			*o = store.Operation{}
			gone(1)
		}
	}
	if !newest.Phase.Final() {
		return rows
	}
	for number := range st.revisions {
		if room > 0 && !slices.Contains(st.row.Needs(newest), number) {
			delete(st.revisions, number)
			gone(1)
		}
	}
	for number, i := range st.instances {
		if room > 0 && len(st.open) == 0 && keep.InstanceOver(&i, now) {
			delete(st.instances, number)
			gone(1)
		}
	}
	return rows
}
