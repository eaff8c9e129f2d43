package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/wire"
)

// TestSweptSpaceIsReused creates and sweeps generations of stacks: no row of a generation remains in any table, and the
// file does not grow with the generations.
func TestSweptSpaceIsReused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, path, func() time.Time { return now })
	defer closeStore(t, s)
	ctx := context.Background()
	var sizes []int64
	for generation := range 4 {
		for i := range 30 {
			key := store.StackKey(generation*100 + i + 1)
			target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: fmt.Sprint(key)}}
			for range 3 {
				err := s.Apply(ctx, target, func(v *store.View) (store.Delta, error) {
					d := advance(key, v)
					d.Audit = []store.Audit{{Text: "text"}}
					d.Steps = []store.Step{{Stack: key, Logical: "A", Plan: &store.StepPlan{}}}
					d.Instances = []store.Instance{{Stack: key, Number: 1, Logical: "A", Role: store.RoleGone, Body: &store.InstanceBody{}}}
					if v.Stack.Key == 0 {
						text := fmt.Sprintf("%d %s", key, bytes.Repeat([]byte("template "), 2000))
						d.Revisions = []store.Revision{{Stack: key, Number: 1, Template: text}}
						d.Operation.ID = fmt.Sprint("op-", key)
						d.ChangeSets = []store.ChangeSet{{Stack: key, ID: store.ChangeSetID(fmt.Sprint("set-", key)), Name: "set", State: store.ChangeSetFailed,
							Body: &store.ChangeSetBody{Revision: store.Revision{Template: "other " + text}}}}
					}
					return d, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			err := s.Apply(ctx, target, func(v *store.View) (store.Delta, error) {
				stack, o := v.Stack, v.Operation
				o.Version++
				o.Phase, o.Ended, stack.Live = store.PhaseSucceeded, v.Now, false
				d := store.Delta{Stack: &stack, Operation: &o}
				for _, r := range v.Requests {
					r.State, r.Owner, r.Body, r.Settled = store.RequestSettled, 0, nil, v.Now
					d.Requests = append(d.Requests, r)
				}
				return d, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Hour)
		var from store.Cursor
		for {
			swept, err := s.Sweep(ctx, store.Keep{Deleted: time.Minute, Requests: time.Minute, Events: 10, Audit: 10}, from, 20)
			if err != nil {
				t.Fatal(err)
			}
			if from = swept.Next; from == "" {
				break
			}
		}
		db := connect(t, path)
		for _, table := range []string{"stack", "template", "revision", "operation", "step", "step_plan", "instance", "instance_body",
			"request", "request_body", "event", "audit", "operation_id", "change_set", "change_set_body", "remains"} {
			var rows int
			if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&rows); err != nil || rows != 0 {
				t.Errorf("generation %d: %d rows are left in %s, error %v", generation, rows, table, err)
			}
		}
		if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	if len(sizes) < 4 || sizes[3] > sizes[0] {
		t.Errorf("the file grows: %v", sizes)
	}
}

// TestSweptStackIsCompleteOrNotFound checks after every step of a pass that a stack is either complete or not found.
func TestSweptStackIsCompleteOrNotFound(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "p.db")
	s := open(t, path, func() time.Time { return now })
	ctx := context.Background()
	target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: "1"}}
	const transitions = 25
	for range transitions {
		if err := s.Apply(ctx, target, func(v *store.View) (store.Delta, error) { return advance(1, v), nil }); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Apply(ctx, target, func(v *store.View) (store.Delta, error) {
		stack, o := v.Stack, v.Operation
		o.Version++
		o.Phase, o.Ended, stack.Live = store.PhaseSucceeded, v.Now, false
		r := v.Requests[wire.RequestID(fmt.Sprintf("1-%d", transitions))]
		r.State, r.Owner, r.Body, r.Settled = store.RequestSettled, 0, nil, v.Now
		return store.Delta{Stack: &stack, Operation: &o, Requests: []store.Request{r}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	keep := store.Keep{Deleted: time.Minute, Requests: time.Minute, Events: 1, Audit: 1}
	var from store.Cursor
	for passes, steps := 0, 0; passes < 2; steps++ {
		stack, err := s.Stack(ctx, "arn:1")
		events, failed := s.Events(ctx, 1, store.EventCursor{}, 100)
		if failed != nil || err == nil && (stack.Key != 1 || len(events) != transitions) {
			t.Errorf("step %d: the stack is there with %d events, error %v", steps, len(events), failed)
		}
		swept, err := s.Sweep(ctx, keep, from, 4)
		if err != nil {
			t.Fatal(err)
		}
		if from = swept.Next; from == "" {
			passes++
		}
		if steps == 2 || steps == 5 || steps == 12 { // the process ends between two steps
			closeStore(t, s)
			s = open(t, path, func() time.Time { return now })
			from = ""
		}
		if steps > 200 {
			t.Fatal("it does not end")
		}
	}
	closeStore(t, s)
	var left int
	if err := connect(t, path).QueryRow("SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM remains)").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left, error %v", left, err)
	}
}

// TestKeysOfAnOlderSchema opens a database that recorded only its last key: every key may have sealed something.
func TestKeysOfAnOlderSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	closeStore(t, open(t, path, nil))
	probe, err := codec(t, 'a').Probe()
	if err != nil {
		t.Fatal(err)
	}
	db := connect(t, path)
	if _, err := db.Exec("DELETE FROM sealing_key; UPDATE schema SET root = '', probe = ?", probe); err != nil {
		t.Fatal(err)
	}
	keys, err := store.NewKeys(store.Key{ID: "b", Secret: bytes.Repeat([]byte("b"), store.KeySize)},
		store.Key{ID: "a", Secret: bytes.Repeat([]byte("a"), store.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(context.Background(), sqlite.Config{Path: path, Codec: store.NewCodec(keys)})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	sealing, err := s.SealingKeys(context.Background())
	if err != nil || len(sealing) != 2 || sealing[0].ID != "a" || sealing[1].ID != "b" {
		t.Errorf("keys that may have sealed something: %v, error %v", sealing, err)
	}
}
