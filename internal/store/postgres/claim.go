package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// heads returns the oldest ready request of an owner for each of the next stacks after a key; see [store.Ring]. It
	// jumps from stack to stack in the index.
	heads = `
WITH RECURSIVE above (stack, n) AS (
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = $1 AND r.stack > $2), 1
	UNION ALL
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = $1 AND r.stack > a.stack), a.n + 1
	FROM above a WHERE a.stack IS NOT NULL AND a.n < $3),
below (stack, n) AS (
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = $1 AND r.stack <= $2), 1
	UNION ALL
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = $1 AND r.stack > b.stack AND r.stack <= $2), b.n + 1
	FROM below b WHERE b.stack IS NOT NULL AND b.n < $3)
SELECT r.stack, r.id, r.born FROM (
	SELECT stack FROM above WHERE stack IS NOT NULL UNION ALL SELECT stack FROM below WHERE stack IS NOT NULL LIMIT $3) s
CROSS JOIN LATERAL (
	SELECT q.stack, q.id, q.born FROM request q WHERE q.state = 'ready' AND q.owner = $1 AND q.stack = s.stack ORDER BY q.born, q.id LIMIT 1) r`

	// oldest returns the oldest ready requests of an owner for some stacks.
	oldest = `
SELECT r.stack, r.id, r.born FROM unnest($2::bigint[]) s (stack) CROSS JOIN LATERAL (
	SELECT q.stack, q.id, q.born FROM request q WHERE q.state = 'ready' AND q.owner = $1 AND q.stack = s.stack ORDER BY q.born, q.id LIMIT $3) r`
)

func scanTurn(rows pgx.Row) (t store.Turn, err error) {
	err = rows.Scan((*int64)(&t.Stack), (*string)(&t.ID), &t.Age)
	return t, err
}

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) ([]store.Request, error) {
	if limit <= 0 {
		return nil, s.call(ctx, func() error { return nil })
	}
	ids, err := s.ring.Choose(limit, skip,
		func(after store.StackKey, n int) ([]store.Turn, error) {
			return all(ctx, s, scanTurn, heads, node, after, n)
		},
		func(stacks []store.StackKey, depth int) ([]store.Turn, error) {
			keys := column(stacks, func(key store.StackKey) int64 { return int64(key) })
			return all(ctx, s, scanTurn, oldest, node, keys, depth)
		})
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := all(ctx, s, s.scanRequest, fromRequest+" WHERE r.id = ANY($1::text[]) AND r.state = 'ready' AND r.owner = $2",
		column(ids, func(id wire.RequestID) string { return string(id) }), node)
	place := make(map[wire.RequestID]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortFunc(rows, func(a, b store.Request) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return rows, err
}

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, limit int) (ids []wire.RequestID, next time.Time, err error) {
	type timed struct {
		id       wire.RequestID
		due, now int64
	}
	scan := func(rows pgx.Row) (t timed, err error) {
		err = rows.Scan((*string)(&t.id), &t.due, &t.now)
		return t, err
	}
	limit = max(limit, 0)
	list, err := all(ctx, s, scan, "SELECT id, due, "+now+" FROM request WHERE due IS NOT NULL ORDER BY due, born, id LIMIT $2", s.clock(), limit+1)
	if err != nil {
		return nil, time.Time{}, err
	}
	if s.now == nil && len(list) > 0 {
		s.latest.raise(fromUnix(list[0].now)) // requests that are due now must also be due for their decisions
	}
	for i, t := range list {
		if t.due > t.now || i == limit {
			return ids, fromUnix(t.due), nil
		}
		ids = append(ids, t.id)
	}
	return ids, time.Time{}, nil
}
