package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Join implements [store.Store]. It does not store the name.
func (s *Store) Join(ctx context.Context, _ string) (node store.Incarnation, err error) {
	err = s.do(ctx, func() error {
		s.joined++
		node = s.joined
		s.nodes[node] = s.time()
		return nil
	})
	return node, err
}

// Beat implements [store.Store].
func (s *Store) Beat(ctx context.Context, node store.Incarnation) error {
	return s.do(ctx, func() error {
		if _, ok := s.nodes[node]; !ok {
			return store.ErrGone
		}
		s.nodes[node] = s.time()
		return nil
	})
}

// Reap implements [store.Store].
func (s *Store) Reap(ctx context.Context, node store.Incarnation, silent time.Duration) (taken int, err error) {
	err = s.do(ctx, func() error {
		if _, ok := s.nodes[node]; !ok {
			return store.ErrGone
		}
		now := s.time()
		for other, beat := range s.nodes {
			if other != node && (silent == 0 || now.Sub(beat) > silent) {
				delete(s.nodes, other)
			}
		}
		for _, r := range s.open {
			if r.row.State == store.RequestReady && !s.lives(r.row.Owner) ||
				r.row.State == store.RequestWaiting && r.row.Executor != 0 && !s.lives(r.row.Executor) {
				r.row.State, r.row.Owner, r.row.Executor, r.row.Due = store.RequestReady, node, 0, time.Time{}
				taken++
			}
		}
		return nil
	})
	return taken, err
}

func (s *Store) lives(node store.Incarnation) bool {
	_, ok := s.nodes[node]
	return ok
}

// Leave implements [store.Store].
func (s *Store) Leave(ctx context.Context, node store.Incarnation) error {
	return s.do(ctx, func() error {
		delete(s.nodes, node)
		return nil
	})
}

// Nodes implements [store.Store].
func (s *Store) Nodes(ctx context.Context) (nodes []store.Incarnation, err error) {
	err = s.do(ctx, func() error {
		nodes = slices.Collect(maps.Keys(s.nodes))
		return nil
	})
	return nodes, err
}

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) (claimed []store.Request, err error) {
	err = s.do(ctx, func() error {
		var ready []*request
		for _, r := range s.open {
			if r.row.State == store.RequestReady && r.row.Owner == node {
				ready = append(ready, r)
			}
		}
		slices.SortFunc(ready, older)
		turns := make(map[*request]int, len(ready))
		counts := make(map[store.StackKey]int)
		for _, r := range ready {
			counts[r.row.Stack]++
			turns[r] = counts[r.row.Stack]
		}
		slices.SortStableFunc(ready, func(a, b *request) int { return cmp.Compare(turns[a], turns[b]) })
		for _, r := range ready {
			if len(claimed) >= limit {
				break
			}
			if skip == nil || !skip(r.row.ID) {
				claimed = append(claimed, r.copy())
			}
		}
		return nil
	})
	return claimed, err
}

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, limit int) (ids []wire.RequestID, next time.Time, err error) {
	err = s.do(ctx, func() error {
		var timed []*request
		for _, r := range s.open {
			if !r.row.Due.IsZero() {
				timed = append(timed, r)
			}
		}
		slices.SortFunc(timed, func(a, b *request) int {
			return cmp.Or(a.row.Due.Compare(b.row.Due), older(a, b))
		})
		now := s.time()
		for _, r := range timed {
			if r.row.Due.After(now) || len(ids) >= limit {
				next = r.row.Due
				break
			}
			ids = append(ids, r.row.ID)
		}
		return nil
	})
	return ids, next, err
}

func older(a, b *request) int { return cmp.Compare(a.born, b.born) }
