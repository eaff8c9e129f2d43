package postgres_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
	"github.com/pintle-dev/pintle/wire"
)

var turns = flag.Int("turns", 1500, "how many decisions TestTurnsAmongNodes makes")

// TestTurnsAmongNodes has three nodes increment counters on the same stacks: in operations, whose versions reveal a
// conflict, and in rows that only turns protect. Meanwhile their connections are broken, requests are taken over, and
// stacks are swept. No increment is lost or counted twice.
func TestTurnsAmongNodes(t *testing.T) {
	const nodes, stacks, workers = 3, 6, 24
	ctx := context.Background()
	dsn := postgres.Database(t)
	var list []*postgres.Store
	for range nodes {
		s := open(t, dsn, nil)
		defer closeStore(t, s)
		list = append(list, s)
	}
	base := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	id := func(key store.StackKey) wire.RequestID { return wire.RequestID(fmt.Sprint("r", key)) }
	self, err := list[0].Join(ctx, "self")
	if err != nil {
		t.Fatal(err)
	}
	for key := store.StackKey(1); key <= stacks; key++ {
		d := newStack(key, fmt.Sprint("s-", key))
		d.Operation.Phase = store.PhaseSucceeded // so that everything can be swept
		d.Stack.Reason = "0"
		d.Requests = []store.Request{
			{ID: id(key), Stack: key, Operation: 1, Logical: "A", Instance: 1, Type: "Create", State: store.RequestWaiting, Due: base, Body: &store.RequestBody{}},
		}
		create(t, list[0], d)
	}
	var marks, reasons, events [stacks + 1]atomic.Int64
	mark := func(v *store.View) (store.Delta, error) {
		r := *v.Request
		r.Due = r.Due.Add(time.Millisecond)
		return store.Delta{Requests: []store.Request{r}}, nil
	}
	reason := func(v *store.View) (store.Delta, error) {
		stack := v.Stack
		n, err := strconv.Atoi(stack.Reason)
		stack.Reason = strconv.Itoa(n + 1)
		return store.Delta{Stack: &stack, Audit: []store.Audit{{Text: stack.Reason, Time: v.Now}}}, err
	}
	kinds := []struct {
		count  *[stacks + 1]atomic.Int64
		target func(store.StackKey) store.Target
		decide store.Decide
	}{
		{&marks, func(key store.StackKey) store.Target { return store.Target{Request: id(key), Alone: true} }, mark},
		{&marks, func(key store.StackKey) store.Target { return store.Target{Request: id(key)} }, mark},
		{&reasons, func(key store.StackKey) store.Target { return store.Target{Stack: key} }, reason},
		{&reasons, func(key store.StackKey) store.Target {
			return store.Target{Name: store.StackName{Account: "1", Region: "r", Name: fmt.Sprint("s-", key)}}
		}, reason},
		{&events, func(key store.StackKey) store.Target { return store.Target{Stack: key} }, step},
		{&events, func(key store.StackKey) store.Target { return store.Target{Request: id(key)} }, step},
	}
	stop := make(chan struct{})
	var disturbers, all sync.WaitGroup
	disturb := func(pause time.Duration, f func() error) {
		disturbers.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
					if err := f(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	admin, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(ctx) }()
	disturb(40*time.Millisecond, func() error {
		_, err := admin.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%COMMIT%' ORDER BY random() LIMIT 1`)
		return err
	})
	disturb(30*time.Millisecond, func() error {
		_, _ = list[1].Sweep(ctx, store.Keep{Audit: 5, Events: 5}, "", 10) // its connection may be the broken one
		_, _ = list[0].Reap(ctx, self, time.Hour)
		return nil
	})
	var left atomic.Int64
	left.Store(int64(*turns))
	for worker := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for left.Add(-1) >= 0 && !t.Failed() {
				key := store.StackKey(1 + random.IntN(stacks))
				kind := kinds[random.IntN(len(kinds))]
				if err := list[random.IntN(nodes)].Apply(ctx, kind.target(key), kind.decide); err != nil {
					t.Errorf("stack %d: %v", key, err)
					return
				}
				kind.count[key].Add(1)
			}
		})
	}
	all.Wait()
	close(stop)
	disturbers.Wait()
	for key := store.StackKey(1); key <= stacks; key++ {
		r, err := list[0].Request(ctx, id(key))
		if err != nil || r.Due.Sub(base) != time.Duration(marks[key].Load())*time.Millisecond {
			t.Errorf("stack %d: %v of %d marks, error %v", key, r.Due.Sub(base), marks[key].Load(), err)
		}
		stack, err := list[0].Stack(ctx, wire.StackID(fmt.Sprint("arn:s-", key)))
		if err != nil || stack.Reason != fmt.Sprint(reasons[key].Load()) {
			t.Errorf("stack %d: %s of %d changes, error %v", key, stack.Reason, reasons[key].Load(), err)
		}
		o, err := list[0].Operation(ctx, key, 1)
		if err != nil || int64(o.Events) != events[key].Load() || o.Version != events[key].Load()+1 {
			t.Errorf("stack %d: version %d, %d of %d events, error %v", key, o.Version, o.Events, events[key].Load(), err)
		}
	}
}
