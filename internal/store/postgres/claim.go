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

// oldest returns the ready requests of an owner in the order in which they are claimed, up to a number for every stack. It
// goes from stack to stack in the index instead of reading all requests of each.
const oldest = `
WITH RECURSIVE stacks (stack) AS (
	SELECT min(stack) FROM request WHERE state = 'ready' AND owner = $1
	UNION ALL
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = $1 AND r.stack > s.stack)
	FROM stacks s WHERE s.stack IS NOT NULL)
SELECT turn, id FROM (
	SELECT row_number() OVER (PARTITION BY r.stack ORDER BY r.born, r.id) AS turn, r.born, r.id
	FROM stacks s CROSS JOIN LATERAL (
		SELECT q.stack, q.born, q.id FROM request q WHERE q.state = 'ready' AND q.owner = $1 AND q.stack = s.stack ORDER BY q.born, q.id LIMIT $2) r) turns
ORDER BY turn, born, id`

// turn is a ready request's place in the order in which requests are claimed.
type turn struct {
	number int // 1 for the oldest of its stack
	id     wire.RequestID
}

func scanTurn(rows pgx.Row) (t turn, err error) {
	err = rows.Scan(&t.number, (*string)(&t.id))
	return t, err
}

// Claim implements [store.Store]. A request in skip counts as a turn that its stack has had.
func (s *Store) Claim(ctx context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) ([]store.Request, error) {
	if limit <= 0 {
		return nil, s.call(ctx, func() error { return nil })
	}
	var ids []string
	for depth, more := 1, true; more && len(ids) < limit; depth *= 2 {
		turns, err := all(ctx, s, scanTurn, oldest, node, depth)
		if err != nil {
			return nil, err
		}
		more = len(turns) > 0 && turns[len(turns)-1].number == depth
		ids = ids[:0]
		for _, t := range turns {
			if len(ids) < limit && (skip == nil || !skip(t.id)) {
				ids = append(ids, string(t.id))
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := all(ctx, s, s.scanRequest, fromRequest+" WHERE r.id = ANY($1::text[]) AND r.state = 'ready' AND r.owner = $2", ids, node)
	place := make(map[wire.RequestID]int, len(ids))
	for i, id := range ids {
		place[wire.RequestID(id)] = i
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
	for i, t := range list {
		if t.due > t.now || i == limit {
			return ids, fromUnix(t.due), nil
		}
		ids = append(ids, t.id)
	}
	return ids, time.Time{}, nil
}
