package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ofRequests returns a stack with one request of a node and one step.
func ofRequests(owner store.Incarnation) store.Delta {
	d := made(1, "one", "arn:1")
	d.Requests = []store.Request{{ID: "r1", Stack: 1, Operation: 1, Logical: "A", Instance: 1, Type: "Create", State: store.RequestReady,
		Owner: owner, Created: time.Unix(1, 0).UTC(), Body: &store.RequestBody{}}}
	d.Steps = []store.Step{{Stack: 1, Logical: "A", State: store.StepRunning, Plan: &store.StepPlan{}}}
	return d
}

// on targets a stack by its key. Such a decision does not lock the stack first if its image is cached.
func on(key store.StackKey) store.Target { return store.Target{Stack: key} }

// TestTrusts decides on a stack whose row another session has locked: the decision runs on the cached image, and is
// written when the row is unlocked.
func TestTrusts(t *testing.T) {
	s := openTest(t, Config{})
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return ofRequests(7), nil }); err != nil {
		t.Fatal(err)
	}
	for _, target := range []store.Target{on(1), {Request: "r1"}, {Request: "r1", Alone: true}} {
		tx, err := s.pool.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(context.Background(), lockTurns, []int64{1}); err != nil {
			t.Fatal(err)
		}
		decided := make(chan struct{}, 9)
		result := apply(s, target, func(v *store.View) (store.Delta, error) {
			decided <- struct{}{}
			return store.Delta{Audit: []store.Audit{{Text: v.Stack.Name}}}, nil
		})
		<-decided // would block forever if the decision waited for the lock
		select {
		case err := <-result:
			t.Errorf("%+v: written without the lock, error %v", target, err)
		case <-time.After(50 * time.Millisecond):
		}
		if err := tx.Rollback(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := <-result; err != nil || len(decided) > 0 {
			t.Errorf("%+v: error %v, decided again %d times", target, err, len(decided))
		}
	}
	if list, err := s.Audit(context.Background(), 1, 9); err != nil || len(list) != 3 {
		t.Errorf("%d entries, error %v", len(list), err)
	}
}

// TestStackChangedByOtherNodes caches a stack, changes it in every other way that is possible, and decides on it again.
func TestStackChangedByOtherNodes(t *testing.T) {
	ctx := context.Background()
	text := func(v *store.View) string {
		r := v.Requests["r1"]
		return fmt.Sprint(v.Stack.Reason, " ", v.Operation.Version, " ", r.State, " ", r.Owner, " ", len(v.Instances), " ", len(v.ChangeSets))
	}
	for name, c := range map[string]struct {
		change func(s, other *Store) error
		want   string // the stack as a decision then sees it
	}{
		"a decision": {func(_, other *Store) error {
			return other.Apply(ctx, on(1), func(v *store.View) (store.Delta, error) {
				o := v.Operation
				o.Version++
				return store.Delta{Operation: &o}, nil
			})
		}, " 2 ready 7 0 0"},
		"a mark, which leaves the operation as it is": {func(_, other *Store) error {
			return other.Apply(ctx, store.Target{Request: "r1", Alone: true}, func(v *store.View) (store.Delta, error) {
				r := *v.Request
				r.State, r.Owner, r.Due, r.Body = store.RequestWaiting, 0, v.Now.Add(time.Hour), nil
				return store.Delta{Requests: []store.Request{r}}, nil
			})
		}, " 1 waiting 0 0 0"},
		"change of the stack only": {func(_, other *Store) error {
			return other.Apply(ctx, on(1), func(v *store.View) (store.Delta, error) {
				stack := v.Stack
				stack.Reason = "new"
				return store.Delta{Stack: &stack}, nil
			})
		}, "new 1 ready 7 0 0"},
		"a change set": {func(_, other *Store) error {
			return other.Apply(ctx, on(1), func(*store.View) (store.Delta, error) {
				return store.Delta{ChangeSets: []store.ChangeSet{{ID: "c", Stack: 1, Name: "c", State: store.ChangeSetAvailable,
					Body: &store.ChangeSetBody{Revision: store.Revision{Template: "{}"}}}}}, nil
			})
		}, " 1 ready 7 0 1"},
		"a take-over": {func(_, other *Store) error {
			node, err := other.Join(ctx, "other")
			if err != nil {
				return err
			}
			if taken, err := other.Reap(ctx, node, time.Hour); err != nil || taken != 1 {
				return fmt.Errorf("%d requests taken over, error %w", taken, err)
			}
			_, err = other.pool.Exec(ctx, "UPDATE request SET owner = 9 WHERE owner = $1", int64(node)) // only for the test
			return err
		}, " 1 ready 9 0 0"},
		"node without turns": {func(_, other *Store) error {
			for _, text := range []string{
				"INSERT INTO node (id, name, joined, beat) VALUES (3, 'old', 0, 0)", "UPDATE request SET owner = 3 WHERE id = 'r1'",
			} {
				if _, err := other.pool.Exec(ctx, text); err != nil {
					return err
				}
			}
			return nil
		}, " 1 ready 3 0 0"},
		"deletion of the stack": {func(_, other *Store) error {
			_, err := other.pool.Exec(ctx, "DELETE FROM stack WHERE key = 1")
			return err
		}, "not found"},
	} {
		for _, looks := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, looks=%t", name, looks), func(t *testing.T) {
				s := openTest(t, Config{})
				other := openTest(t, Config{DSN: s.address.config.ConnString()})
				if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return ofRequests(7), nil }); err != nil {
					t.Fatal(err)
				}
				if err := c.change(s, other); err != nil {
					t.Fatal(err)
				}
				if looks {
					s.writers[0].wary = 1
				}
				var saw []string
				odd := errors.New("odd") // nothing is written, but the view must be current all the same
				err := s.Apply(ctx, on(1), func(v *store.View) (store.Delta, error) {
					saw = append(saw, text(v))
					return store.Delta{}, odd
				})
				if errors.Is(err, store.ErrNotFound) {
					saw, err = append(saw, "not found"), odd
				}
				want := []string{" 1 ready 7 0 0", c.want}
				if looks {
					want = want[1:]
				}
				if !errors.Is(err, odd) || !slices.Equal(saw, want) {
					t.Errorf("error %v; the decision saw %q, want %q", err, saw, want)
				}
			})
		}
	}
}

// TestNodeWithoutTurns has a node that does not set turns come and go, while this one works on other stacks.
func TestNodeWithoutTurns(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, Config{})
	for key, d := range map[store.StackKey]store.Delta{1: ofRequests(7), 2: made(2, "two", "arn:2")} {
		if err := <-apply(s, named(d.Stack.Name), func(*store.View) (store.Delta, error) { return d, nil }); err != nil {
			t.Fatal(key, err)
		}
	}
	exec := func(text string) {
		t.Helper()
		if _, err := s.pool.Exec(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO node (id, name, joined, beat) VALUES (3, 'old', 0, 0)")
	exec("UPDATE request SET owner = 3 WHERE id = 'r1'")
	if err := s.Apply(ctx, on(2), func(*store.View) (store.Delta, error) { return store.Delta{}, nil }); err != nil {
		t.Fatal(err)
	}
	exec("DELETE FROM node WHERE id = 3")
	s.writers[0].wary = 0
	var owner store.Incarnation
	err := s.Apply(ctx, on(1), func(v *store.View) (store.Delta, error) {
		owner = v.Requests["r1"].Owner
		return store.Delta{}, nil
	})
	if err != nil || owner != 3 {
		t.Errorf("the request is said to be of node %d, error %v", owner, err)
	}
}

// TestSweepOfCachedRows sweeps rows that are still in a cached image.
func TestSweepOfCachedRows(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, Config{})
	d := made(1, "one", "arn:1")
	d.Operation.Phase = store.PhaseSucceeded
	for n := range 20 {
		d.Audit = append(d.Audit, store.Audit{Text: fmt.Sprint(n)})
	}
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return d, nil }); err != nil {
		t.Fatal(err)
	}
	turn := func() (turn int64) {
		if err := s.pool.QueryRow(ctx, "SELECT turn FROM stack WHERE key = 1").Scan(&turn); err != nil {
			t.Fatal(err)
		}
		return turn
	}
	before := turn()
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w := &sweep{store: s}
	if err := w.remove(ctx, tx, 1, surplus{audit: []int64{1}}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if after := turn(); after == before {
		t.Error("a sweep has left the turn of the stack as it was")
	}
}

// TestLostRevision restores the database without its last commit, as after a failover to an asynchronous standby. The
// revision that is then created has the same number and other contents.
func TestLostRevision(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, Config{})
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return made(1, "one", "arn:1"), nil }); err != nil {
		t.Fatal(err)
	}
	exec := func(text string) {
		t.Helper()
		if _, err := s.pool.Exec(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE before AS SELECT * FROM operation")
	for _, template := range []string{"lost", "kept"} {
		err := s.Apply(ctx, on(1), func(v *store.View) (store.Delta, error) {
			o := v.Operation
			o.Version++
			o.To = 2
			return store.Delta{Operation: &o, Revisions: []store.Revision{{Stack: 1, Number: 2, Template: template}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if template == "lost" {
			exec("DELETE FROM revision WHERE number = 2")
			exec("UPDATE operation o SET version = b.version, plain = b.plain FROM before b")
			exec("UPDATE stack SET turn = 0")
			exec("DROP TABLE before")
			exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		}
	}
	for range 2 {
		err := s.Apply(ctx, on(1), func(v *store.View) (store.Delta, error) {
			if got := v.Revisions[2].Template; got != "kept" {
				t.Errorf("template %q", got)
			}
			return store.Delta{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestStaleImageIsReloaded has two nodes decide on one stack in turn: after a node trusted an outdated image for the first time, it
// loads before it decides.
func TestStaleImageIsReloaded(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, Config{})
	other := openTest(t, Config{DSN: s.address.config.ConnString()})
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return made(1, "one", "arn:1"), nil }); err != nil {
		t.Fatal(err)
	}
	decided := map[*Store]int{}
	for range 10 {
		for _, node := range []*Store{other, s} {
			err := node.Apply(ctx, on(1), func(v *store.View) (store.Delta, error) {
				decided[node]++
				o := v.Operation
				o.Version++
				return store.Delta{Operation: &o}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if decided[s] != 11 || decided[other] != 10 && decided[other] != 11 {
		t.Errorf("decisions were made %d and %d times for 10 each", decided[s], decided[other])
	}
	if o, err := s.Operation(ctx, 1, 1); err != nil || o.Version != 21 {
		t.Errorf("version %d, error %v", o.Version, err)
	}
}

// TestClock checks that the clock is slightly behind the database's time, and never goes back.
func TestClock(t *testing.T) {
	var c clock
	read := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.set(read)
	if now := c.now(); now.Before(read) {
		t.Errorf("%v after %v", now, read)
	}
	c.at = c.at.Add(-500 * time.Millisecond)
	later := c.now()
	if later.Before(read.Add(500 * time.Millisecond)) {
		t.Errorf("half a second after %v it is %v", read, later)
	}
	c.at = time.Now() // the answer arrived late
	if now := c.now(); now.Before(later) {
		t.Errorf("%v after %v", now, later)
	}
}

// late makes the reported time arrive later than it did.
func (c *clock) late(by time.Duration) { c.at, c.wall = c.at.Add(by), c.wall.Add(by) }

// TestClockStoodStill simulates a sleeping machine, whose monotonic clock stops.
func TestClockStoodStill(t *testing.T) {
	var c clock
	if c.fresh() {
		t.Error("a time that was never reported is fresh")
	}
	c.set(time.Now())
	if !c.fresh() {
		t.Error("a time that has just been reported is not fresh")
	}
	c.wall = c.wall.Add(-time.Hour)
	if c.fresh() {
		t.Error("a time is fresh though the wall clock has gone on by an hour")
	}
	c.set(time.Now())
	c.at, c.wall = c.at.Add(-2*freshFor), c.wall.Add(-2*freshFor)
	if c.fresh() {
		t.Error("a time is fresh for ever")
	}
}

// TestLatest checks that a slightly earlier time counts as a delayed answer, and that a clock that was set back is
// followed.
func TestLatest(t *testing.T) {
	var l latest
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ time, want time.Duration }{
		{0, 0}, {time.Second, time.Second}, {500 * time.Millisecond, time.Second}, {-time.Hour, -time.Hour}, {0, 0},
	} {
		if got := l.raise(start.Add(c.time)); !got.Equal(start.Add(c.want)) {
			t.Errorf("told %v: %v, want %v", c.time, got.Sub(start), c.want)
		}
	}
}

// TestDueWhenDecided finds a request that is due, and has a writer whose clock is behind decide on it. The request must
// be due for the writer as well; otherwise the timer would fire again a second later.
func TestDueWhenDecided(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, Config{})
	d := ofRequests(7)
	d.Requests[0].State, d.Requests[0].Owner = store.RequestWaiting, 0
	err := <-apply(s, named("one"), func(v *store.View) (store.Delta, error) {
		d.Requests[0].Due = v.Now.Add(20 * time.Millisecond)
		return d, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.writers[0].clock.late(300 * time.Millisecond)
	var ids []wire.RequestID
	for len(ids) == 0 {
		if ids, _, err = s.Due(ctx, 1); err != nil {
			t.Fatal(err)
		}
	}
	runs := 0
	err = s.Apply(ctx, store.Target{Request: ids[0]}, func(v *store.View) (store.Delta, error) {
		runs++
		if v.Now.Before(v.Request.Due) {
			t.Errorf("a request that is due at %v is decided on at %v", v.Request.Due, v.Now)
		}
		return store.Delta{}, nil
	})
	if err != nil || runs != 1 {
		t.Errorf("error %v; %d runs", err, runs)
	}
}

// twoWriters opens a store with two unused writers.
func twoWriters(t *testing.T) *Store {
	t.Helper()
	s := openTest(t, Config{})
	second := newWriter(s)
	second.start()
	s.writers = append(s.writers, second)
	return s
}

// TestTimeOfHandedOver has one writer continue a stack that another one created, and checks that time does not go back.
func TestTimeOfHandedOver(t *testing.T) {
	ctx := context.Background()
	s := twoWriters(t)
	var seen time.Time
	look := func(v *store.View) (store.Delta, error) {
		if v.Now.Before(seen) {
			t.Errorf("stack %d: %v after %v", v.Stack.Key, v.Now, seen)
		}
		seen = v.Now
		return store.Delta{}, nil
	}
	for key := store.StackKey(1); key <= 8; key++ {
		for _, w := range s.writers { // make their readings of the time older
			w.clock.late(100 * time.Millisecond)
		}
		name := fmt.Sprint("stack-", key)
		err := s.Apply(ctx, named(name), func(v *store.View) (store.Delta, error) {
			_, err := look(v)
			return made(key, name, "arn:"+name), err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(ctx, on(key), look); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHandedOver creates stacks by name, each of which the writer of its key continues.
func TestHandedOver(t *testing.T) {
	ctx := context.Background()
	s := twoWriters(t)
	for key := store.StackKey(1); key <= 8; key++ {
		name := fmt.Sprint("stack-", key)
		if err := s.Apply(ctx, named(name), func(*store.View) (store.Delta, error) { return made(key, name, "arn:"+name), nil }); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := s.Apply(ctx, on(key), func(v *store.View) (store.Delta, error) {
				if v.Stack.ID != wire.StackID("arn:"+name) {
					t.Errorf("%s: stack %q", name, v.Stack.ID)
				}
				o := v.Operation
				o.Version++
				return store.Delta{Operation: &o}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, w := range s.writers {
		kept := 0
		for key := store.StackKey(1); key <= 8; key++ {
			if _, ok := w.images.Get(key); ok { // the writer is idle
				kept++
			}
		}
		if kept != 4 || len(w.inbox) != 0 {
			t.Errorf("writer %d has kept %d stacks, and %d are still on their way", i, kept, len(w.inbox))
		}
	}
}

// TestInbox passes more stacks to a writer than its inbox holds, and gives it no work: after a while it has dropped
// them.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{where: store.NewWhereabouts(), codec: testCodec(t)}
		w := newWriter(s)
		w.start()
		defer w.stop()
		held := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.inbox)
		}
		time.Sleep(2 * restAfter) // the writer becomes idle
		for key := range store.StackKey(maxBatch + 9) {
			im := newImage()
			im.Stack.Key = key + 1
			w.give(im)
		}
		if n := held(); n != maxBatch {
			t.Errorf("%d images wait for the writer", n)
		}
		time.Sleep(2 * restAfter)
		if n := held(); n != 0 {
			t.Errorf("%d images still wait for the writer", n)
		}
	})
}
