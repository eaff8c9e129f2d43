package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

// TestTakeTurns has one session hold a stack while another one, which has read the stack's turn before, waits to take
// it. The row after the end of the first session must count.
func TestTakeTurns(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, Config{})
	for key := int64(1); key <= 3; key++ {
		_, err := s.pool.Exec(ctx, "INSERT INTO stack (key, id, account, region, name, live, created, turn) VALUES ($1, $2, '1', 'r', $2, true, 0, $1)",
			key, fmt.Sprint("s-", key))
		if err != nil {
			t.Fatal(err)
		}
	}
	sessions := make([]*pgx.Conn, 2)
	for i := range sessions {
		conn, err := s.address.connect(ctx, writing)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(ctx) }()
		sessions[i] = conn
	}
	first, second := sessions[0], sessions[1]
	exec := func(conn *pgx.Conn, text string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(ctx, text, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		does, ends string
		taken      bool
	}{
		{"SELECT key FROM stack WHERE key = 2 FOR NO KEY UPDATE", "COMMIT", true},
		{"UPDATE stack SET turn = 9 WHERE key = 2", "ROLLBACK", true},
		{"UPDATE stack SET turn = 9 WHERE key = 2", "COMMIT", false},
		{"UPDATE stack SET live = false WHERE key = 2", "COMMIT", true}, // the row has changed, but its turn has not
		{"DELETE FROM stack WHERE key = 2", "ROLLBACK", true},
		{"DELETE FROM stack WHERE key = 2", "COMMIT", false},
	} {
		exec(first, "BEGIN")
		exec(first, c.does)
		exec(second, "BEGIN")
		result := make(chan error, 1)
		go func() {
			_, err := second.Exec(ctx, takeTurns, []int64{3, 2, 1}, []int64{3, 2, 1}, int64(77))
			result <- err
		}()
		var waits bool
		for !waits && len(result) == 0 {
			err := s.pool.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'", second.PgConn().PID()).Scan(&waits)
			if err != nil {
				t.Fatal(err)
			}
		}
		exec(first, c.ends)
		err := <-result
		if err == nil != c.taken || err != nil && !conflicting(err) {
			t.Errorf("%s; %s: error %v, want it to be taken: %v", c.does, c.ends, err, c.taken)
		}
		if c.taken {
			var n int
			if err := second.QueryRow(ctx, "SELECT count(*) FROM stack WHERE turn = 77").Scan(&n); err != nil || n != 3 {
				t.Errorf("%s; %s: %d turns are set, error %v", c.does, c.ends, n, err)
			}
		}
		exec(second, "ROLLBACK")
		exec(first, "INSERT INTO stack (key, id, account, region, name, live, created) VALUES (2, 's-2', '1', 'r', 's-2', true, 0) ON CONFLICT DO NOTHING")
		exec(first, "UPDATE stack SET turn = key, live = true")
	}
	for _, c := range []struct {
		node  string
		taken bool
	}{
		{"INSERT INTO node (id, name, joined, beat, turns) VALUES (1, 'new', 0, 0, true)", true},
		{"INSERT INTO node (id, name, joined, beat) VALUES (2, 'old', 0, 0)", false},
	} {
		exec(first, c.node)
		exec(second, "BEGIN")
		if _, err := second.Exec(ctx, takeTurns, []int64{1}, []int64{1}, int64(77)); err == nil != c.taken || err != nil && !conflicting(err) {
			t.Errorf("%s: error %v, want it to be taken: %v", c.node, err, c.taken)
		}
		exec(second, "ROLLBACK")
	}
}

// TestTurnsInOrder takes the same stacks in two sessions at once, listed in any order: they must not deadlock.
func TestTurnsInOrder(t *testing.T) {
	const stacks, rounds = 12, 100
	ctx := context.Background()
	s := openTest(t, Config{})
	for key := int64(1); key <= stacks; key++ {
		_, err := s.pool.Exec(ctx, "INSERT INTO stack (key, id, account, region, name, live, created) VALUES ($1, $2, '1', 'r', $2, true, 0)", key, fmt.Sprint("s-", key))
		if err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for session := range 4 {
		all.Go(func() {
			conn, err := s.address.connect(ctx, writing)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close(ctx) }()
			random := rand.New(rand.NewPCG(uint64(session), 2))
			for range rounds {
				var keys []int64
				for _, i := range random.Perm(stacks)[:stacks/2] {
					keys = append(keys, int64(i+1))
				}
				err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
					if session%2 == 0 {
						_, err := tx.Exec(ctx, takeTurns, keys, make([]int64, len(keys)), int64(0))
						return err
					}
					if _, err := tx.Exec(ctx, lockTurns, keys); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, setTurns, keys, int64(0))
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestCommittedTooLate asks whether a batch was committed while the server has the batch and waits for a lock, before
// its mark. The answer is no, and must stay true when the server gets the lock.
func TestCommittedTooLate(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, Config{})
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return made(1, "one", "arn:1"), nil }); err != nil {
		t.Fatal(err)
	}
	w := s.writers[0] // the writer is idle
	for _, known := range []bool{true, false} {
		cutOff, err := s.pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		w.disconnect()
		if !known { // its first batch
			w.number = newNumber()
		}
		w.batches++
		if committed, err := w.askCommitted(); committed || err != nil {
			t.Errorf("committed %v, error %v", committed, err)
		}
		if _, err := cutOff.Exec(ctx, markBatch, s.clock(), w.number, w.batches); !conflicting(err) {
			t.Errorf("a batch that was said not to be committed still can be: error %v", err)
		}
		if err := cutOff.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		w.number = newNumber()
	}
	if err := s.Apply(ctx, on(1), func(*store.View) (store.Delta, error) { return store.Delta{Audit: []store.Audit{{Text: "x"}}}, nil }); err != nil {
		t.Error(err)
	}
}
