package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// heads returns the oldest ready request of an owner for each of the next stacks after a key; see [store.Ring]. It
	// jumps from stack to stack in the index.
	heads = `
WITH RECURSIVE above (stack, n) AS (
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = ?1 AND r.stack > ?2), 1
	UNION ALL
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = ?1 AND r.stack > above.stack), n + 1
	FROM above WHERE above.stack IS NOT NULL AND n < ?3),
below (stack, n) AS (
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = ?1 AND r.stack <= ?2), 1
	UNION ALL
	SELECT (SELECT min(r.stack) FROM request r WHERE r.state = 'ready' AND r.owner = ?1 AND r.stack > below.stack AND r.stack <= ?2), n + 1
	FROM below WHERE below.stack IS NOT NULL AND n < ?3),
next (stack) AS (
	SELECT stack FROM above WHERE stack IS NOT NULL UNION ALL SELECT stack FROM below WHERE stack IS NOT NULL LIMIT ?3)
SELECT r.stack, r.id, r.seq FROM next CROSS JOIN request r
WHERE r.seq = (SELECT q.seq FROM request q WHERE q.state = 'ready' AND q.owner = ?1 AND q.stack = next.stack ORDER BY q.seq LIMIT 1)`

	// oldest returns the oldest ready requests of an owner for some stacks.
	oldest = `
SELECT r.stack, r.id, r.seq FROM json_each(?2) stacks CROSS JOIN request r
WHERE r.seq IN (
	SELECT q.seq FROM request q WHERE q.state = 'ready' AND q.owner = ?1 AND q.stack = stacks.value ORDER BY q.seq LIMIT ?3)`
)

func scanTurn(rows *sql.Rows) (t store.Turn, err error) {
	err = rows.Scan(&t.Stack, &t.ID, &t.Age)
	return t, err
}

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) ([]store.Request, error) {
	return read(ctx, s, func(query querier) ([]store.Request, error) {
		ids, err := s.ring.Choose(limit, skip,
			func(after store.StackKey, n int) ([]store.Turn, error) {
				return all(query, scanTurn, heads, node, after, n)
			},
			func(stacks []store.StackKey, depth int) ([]store.Turn, error) {
				return all(query, scanTurn, oldest, node, array(stacks), depth)
			})
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			return nil, nil
		}
		rows, err := all(query, s.scanRequest, "SELECT "+requestColumns+` FROM request r JOIN request_body b ON b.seq = r.seq
			WHERE r.id IN (SELECT value FROM json_each(?)) AND r.state = 'ready' AND r.owner = ?`, array(ids), node)
		turn := make(map[wire.RequestID]int, len(ids))
		for i, id := range ids {
			turn[id] = i
		}
		slices.SortFunc(rows, func(a, b store.Request) int { return cmp.Compare(turn[a.ID], turn[b.ID]) })
		return rows, err
	})
}

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, limit int) (ids []wire.RequestID, next time.Time, err error) {
	limit = max(limit, 0)
	now := unix(s.time())
	_, err = read(ctx, s, func(query querier) (_ struct{}, err error) {
		rows, err := query("SELECT id, due FROM request WHERE due IS NOT NULL ORDER BY due, seq LIMIT ?", limit+1)
		if err != nil {
			return struct{}{}, err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var id wire.RequestID
			var due int64
			if err := rows.Scan(&id, &due); err != nil {
				return struct{}{}, err
			}
			if due > now || len(ids) == limit {
				next = fromUnix(due) // and no row after it is read
				break
			}
			ids = append(ids, id)
		}
		return struct{}{}, rows.Err()
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return ids, next, nil
}
