package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

// Join implements [store.Store].
func (s *Store) Join(ctx context.Context, name string) (store.Incarnation, error) {
	node := newNumber()
	err := s.call(ctx, func() error {
		return s.again(ctx, func() error {
			return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
				if err := s.joinKeys(ctx, tx); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, "INSERT INTO node (id, name, joined, beat, seals, turns) VALUES ($2, $3, "+now+", "+now+", $4, true) ON CONFLICT DO NOTHING",
					s.clock(), node, name, s.codec.KeyID())
				return err
			})
		})
	})
	if err != nil {
		return 0, err
	}
	return store.Incarnation(node), nil
}

// Beat implements [store.Store]. It uses a connection of its own, so that a busy node can still send heartbeats.
func (s *Store) Beat(ctx context.Context, node store.Incarnation) error {
	return s.call(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, beatWithin)
		defer cancel()
		err := s.pulse.beat(ctx, s.clock(), node)
		if err != nil && !errors.Is(err, store.ErrGone) && ctx.Err() == nil {
			err = s.pulse.beat(ctx, s.clock(), node) // on a new connection
		}
		return err
	})
}

// beatWithin limits a heartbeat; a later one serves the same purpose.
const beatWithin = 5 * time.Second

// pulse is the connection for heartbeats.
type pulse struct {
	address address
	mu      sync.Mutex
	conn    *pgx.Conn // nil if not connected
}

func (p *pulse) beat(ctx context.Context, clock *int64, node store.Incarnation) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		if p.conn, err = p.address.connect(ctx, writing); err != nil {
			return err
		}
	}
	written, err := p.conn.Exec(ctx, "UPDATE node SET beat = "+now+" WHERE id = $2", clock, node)
	if err != nil {
		err = errors.Join(err, p.conn.Close(ctx))
		p.conn = nil
		return err
	}
	if written.RowsAffected() == 0 {
		return store.ErrGone
	}
	return nil
}

func (p *pulse) close(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		_ = p.conn.Close(ctx) // no caller waits for it any more
		p.conn = nil
	}
}

const (
	// lockNodes lets only one node at a time check for dead nodes.
	lockNodes = "SELECT id FROM node ORDER BY id FOR UPDATE"
	buryNodes = "DELETE FROM node WHERE id <> $2 AND ($3::bigint = 0 OR " + now + " - beat > $3)"

	// orphans finds stacks with requests of unregistered nodes. It jumps from owner to owner in the index.
	orphans = `WITH RECURSIVE owners (id) AS (
			SELECT min(owner) FROM request WHERE state = 'ready'
			UNION ALL SELECT (SELECT min(r.owner) FROM request r WHERE r.state = 'ready' AND r.owner > o.id) FROM owners o WHERE o.id IS NOT NULL),
		executors (id) AS (
			SELECT min(executor) FROM request WHERE executor <> 0
			UNION ALL SELECT (SELECT min(r.executor) FROM request r WHERE r.executor <> 0 AND r.executor > e.id) FROM executors e WHERE e.id IS NOT NULL)
		SELECT id, stack FROM (
			SELECT r.id, r.stack FROM owners o JOIN request r ON r.state = 'ready' AND r.owner = o.id WHERE o.id NOT IN (SELECT id FROM node)
			UNION ALL
			SELECT r.id, r.stack FROM executors e JOIN request r ON r.executor <> 0 AND r.executor = e.id WHERE e.id NOT IN (SELECT id FROM node)) found
		LIMIT $1`

	// adopt gives requests to a node, if the node is registered and the requests still have no living owner.
	adopt = `UPDATE request r SET state = 'ready', owner = $1, executor = 0, due = NULL
		WHERE r.id = ANY($2::text[]) AND EXISTS (SELECT FROM node WHERE id = $1)
			AND (r.state = 'ready' AND r.owner NOT IN (SELECT id FROM node) OR r.state = 'waiting' AND r.executor <> 0 AND r.executor NOT IN (SELECT id FROM node))`
)

// adoptAtOnce is the number of requests that one transaction takes over.
const adoptAtOnce = 500

// Reap implements [store.Store]. It first unregisters the dead nodes. Then it takes over their requests in batches,
// each under the locks of its stacks. A crash in between leaves requests of unregistered nodes, which the next Reap of
// any node finds.
func (s *Store) Reap(ctx context.Context, node store.Incarnation, silent time.Duration) (taken int, err error) {
	err = s.call(ctx, func() error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		if err := s.bury(ctx, conn.Conn(), node, silent); err != nil {
			return err
		}
		for {
			n, more, err := adoptSome(ctx, conn.Conn(), node)
			taken += n
			if err != nil || !more {
				return err
			}
		}
	})
	if err != nil {
		return 0, err
	}
	return taken, nil
}

// bury unregisters dead nodes.
func (s *Store) bury(ctx context.Context, conn *pgx.Conn, node store.Incarnation, silent time.Duration) error {
	var dead bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM node WHERE id <> $2 AND ($3::bigint = 0 OR "+now+" - beat > $3))",
		s.clock(), node, silent.Milliseconds()).Scan(&dead)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		text := "SELECT id FROM node WHERE id = $1"
		args := []any{node}
		if dead { // seldom; only then are heartbeats blocked for a moment
			text, args = lockNodes, nil
		}
		rows, err := tx.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		alive := false
		if err := collect(rows, scanValue[int64], func(id int64) { alive = alive || id == int64(node) }); err != nil {
			return err
		}
		if !alive {
			return store.ErrGone
		}
		if dead {
			_, err = tx.Exec(ctx, buryNodes, s.clock(), node, silent.Milliseconds())
		}
		return err
	})
}

// adoptSome takes over one batch of the requests of dead nodes.
func adoptSome(ctx context.Context, conn *pgx.Conn, node store.Incarnation) (taken int, more bool, err error) {
	var ids []string
	var stacks []int64
	rows, err := conn.Query(ctx, orphans, adoptAtOnce)
	if err != nil {
		return 0, false, err
	}
	for rows.Next() {
		var id string
		var stack int64
		if err := rows.Scan(&id, &stack); err != nil {
			rows.Close()
			return 0, false, err
		}
		ids, stacks = append(ids, id), append(stacks, stack)
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return 0, false, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockTurns, stacks); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, setTurns, stacks, newNumber()); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, adopt, node, ids)
		taken = int(tag.RowsAffected())
		return err
	})
	return taken, err == nil && taken > 0 && len(ids) == adoptAtOnce, err
}

// Leave implements [store.Store].
func (s *Store) Leave(ctx context.Context, node store.Incarnation) error {
	return s.call(ctx, func() error {
		return s.twice(ctx, func() error {
			_, err := s.pool.Exec(ctx, "DELETE FROM node WHERE id = $1", node)
			return err
		})
	})
}

// Nodes implements [store.Store].
func (s *Store) Nodes(ctx context.Context) ([]store.Incarnation, error) {
	return all(ctx, s, scanValue[store.Incarnation], "SELECT id FROM node")
}
