package postgres

import (
	"context"
	"errors"
	"hash/fnv"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Apply implements [store.Store]. It sends the decision to the writer of its stack, so that the writers of one node do
// not wait for each other's locks.
func (s *Store) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m := &member{ctx: ctx, target: target, decide: decide, done: make(chan struct{})}
	if err := s.locate(ctx, m); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.explain(err)
	}
	if m.key == 0 {
		return s.writers[hashOf(target.Name)%uint64(len(s.writers))].do(m)
	}
	return s.writerOf(m.key).do(m)
}

// writerOf returns the writer of an existing stack.
func (s *Store) writerOf(key store.StackKey) *writer {
	return s.writers[uint64(key)%uint64(len(s.writers))]
}

// locate finds the stack of a member.
func (s *Store) locate(ctx context.Context, m *member) (err error) {
	away := newAbsence(s)
	for {
		switch {
		case m.target.Request != "" && m.target.Stack == 0:
			m.key, err = s.keyOfRequest(ctx, m.target.Request)
		case m.target.Name != store.StackName{}:
			m.key, err = s.keyOfName(ctx, m.target.Name)
		default:
			m.key = m.target.Stack
		}
		if err == nil || ctx.Err() != nil || !offline(err) || !away.wait(ctx) {
			return err
		}
	}
}

func hashOf(name store.StackName) uint64 {
	h := fnv.New64a()
	for _, part := range []string{name.Account, name.Region, name.Name} {
		_, _ = h.Write([]byte(part + "\x00"))
	}
	return h.Sum64()
}

// keyOfName returns the key of the live stack with a name, or 0.
func (s *Store) keyOfName(ctx context.Context, name store.StackName) (key store.StackKey, err error) {
	if !clean(name.Account) || !clean(name.Region) || !clean(name.Name) {
		return 0, nil
	}
	err = s.twice(ctx, func() error {
		return s.pool.QueryRow(ctx, "SELECT key FROM stack WHERE account = $1 AND region = $2 AND name = $3 AND live",
			name.Account, name.Region, name.Name).Scan((*int64)(&key))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return key, err
}

// keyOfRequest returns the key of a request's stack, or [store.ErrNotFound]. It never changes, so most keys are cached.
func (s *Store) keyOfRequest(ctx context.Context, id wire.RequestID) (key store.StackKey, err error) {
	if key, ok := s.where.Get(id); ok {
		return key, nil
	}
	if !clean(string(id)) {
		return 0, store.ErrNotFound
	}
	err = s.twice(ctx, func() error {
		return s.pool.QueryRow(ctx, "SELECT stack FROM request WHERE id = $1", string(id)).Scan((*int64)(&key))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, store.ErrNotFound
	}
	if err == nil {
		s.where.Put(id, key)
	}
	return key, err
}

// remember caches the stacks of the unsettled requests that a batch has committed.
func (s *Store) remember(b *batch) {
	for key, im := range b.images {
		for id, change := range im.changes.requests {
			if change.row.State != store.RequestSettled {
				s.where.Put(id, key)
			}
		}
	}
}
