package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// oldest returns the oldest ready requests of an owner, up to a number for every stack. It goes from stack to stack in
// the index instead of reading all requests of each.
const oldest = `
WITH RECURSIVE stacks (stack) AS (
	SELECT min(stack) FROM request WHERE state = 'ready' AND owner = ?1
	UNION ALL
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = ?1 AND r.stack > stacks.stack)
	FROM stacks WHERE stacks.stack IS NOT NULL)
SELECT r.seq, r.stack, r.id FROM stacks CROSS JOIN request r
WHERE r.seq IN (
	SELECT q.seq FROM request q WHERE q.state = 'ready' AND q.owner = ?1 AND q.stack = stacks.stack ORDER BY q.seq LIMIT ?2)`

// turn is a ready request's place in the order in which requests are claimed.
type turn struct {
	number int // 1 for the oldest of its stack
	age    int64
	stack  store.StackKey
	id     wire.RequestID
}

func scanTurn(rows *sql.Rows) (t turn, err error) {
	err = rows.Scan(&t.age, &t.stack, &t.id)
	return t, err
}

// Claim implements [store.Store]. A request in skip counts as a turn that its stack has had.
func (s *Store) Claim(ctx context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) ([]store.Request, error) {
	return read(ctx, s, func(query querier) ([]store.Request, error) {
		var ids []wire.RequestID
		for depth, more := 1, true; more && len(ids) < limit; depth *= 2 {
			turns, err := all(query, scanTurn, oldest, node, depth)
			if err != nil {
				return nil, err
			}
			more = takeTurns(turns) == depth
			ids = ids[:0]
			for _, t := range turns {
				if len(ids) < limit && (skip == nil || !skip(t.id)) {
					ids = append(ids, t.id)
				}
			}
		}
		if len(ids) == 0 {
			return nil, nil
		}
		rows, err := all(query, s.scanRequest, "SELECT "+requestColumns+` FROM request r JOIN request_body b ON b.seq = r.seq
			WHERE r.id IN (SELECT value FROM json_each(?)) AND r.state = 'ready' AND r.owner = ?`, array(ids), node)
		slices.SortFunc(rows, func(a, b store.Request) int {
			return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID))
		})
		return rows, err
	})
}

// takeTurns numbers and sorts the requests, and returns the highest number.
func takeTurns(turns []turn) (highest int) {
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.age, b.age) })
	had := make(map[store.StackKey]int)
	for i := range turns {
		t := &turns[i]
		had[t.stack]++
		t.number = had[t.stack]
		highest = max(highest, t.number)
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.number, b.number) })
	return highest
}

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, limit int) (ids []wire.RequestID, next time.Time, err error) {
	type timed struct {
		id  wire.RequestID
		due int64
	}
	scan := func(rows *sql.Rows) (t timed, err error) {
		err = rows.Scan(&t.id, &t.due)
		return t, err
	}
	limit = max(limit, 0)
	list, err := read(ctx, s, func(query querier) ([]timed, error) {
		return all(query, scan, "SELECT id, due FROM request WHERE due IS NOT NULL ORDER BY due, seq LIMIT ?", limit+1)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	now := unix(s.time())
	for i, t := range list {
		if t.due > now || i == limit {
			return ids, fromUnix(t.due), nil
		}
		ids = append(ids, t.id)
	}
	return ids, time.Time{}, nil
}
