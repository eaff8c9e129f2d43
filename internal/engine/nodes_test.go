package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

// absent is a store that is sometimes unavailable.
type absent struct {
	store.Store
	away atomic.Bool
}

func (a *absent) Beat(ctx context.Context, node store.Incarnation) error {
	if a.away.Load() {
		return errors.New("the database is away")
	}
	return a.Store.Beat(ctx, node)
}

// TestDatabaseOutageAndDeadNode checks that nodes that could not send heartbeats during a database outage do not declare
// each other dead afterwards, and that the work of a dead node is taken over.
func TestDatabaseOutageAndDeadNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		db := &absent{Store: rows}
		run := func() (e *engine.Engine, die func()) {
			e, err := engine.Open(t.Context(), engine.Config{Store: db})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- e.Run(ctx) }()
			return e, func() {
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
		first, kill := run()
		time.Sleep(time.Second) // so that their heartbeats do not coincide
		second, end := run()
		defer end()
		begin(t, first, "A", one(""))
		before := [2]store.Incarnation{first.Node(), second.Node()}
		for _, away := range []time.Duration{7 * time.Second, 20 * time.Second, time.Hour} {
			time.Sleep(15 * time.Second)
			db.away.Store(true)
			time.Sleep(away)
			db.away.Store(false)
			time.Sleep(30 * time.Second)
			if now := [2]store.Incarnation{first.Node(), second.Node()}; now != before {
				t.Errorf("after %v without the database the nodes were %v and are %v", away, before, now)
			}
		}
		owned := func(e *engine.Engine) int {
			list, err := db.Claim(t.Context(), e.Node(), 9, nil)
			if err != nil {
				t.Error(err)
			}
			return len(list)
		}
		if owned(first) != 1 || owned(second) != 0 {
			t.Errorf("the requests are with %d and %d", owned(first), owned(second))
		}
		kill()
		time.Sleep(13 * time.Second)
		if owned(second) != 1 {
			t.Error("nobody took over")
		}
	})
}

// firing counts how often a node fires each request.
type firing struct {
	store.Store
	mu    sync.Mutex
	fired map[wire.RequestID]int
}

func (f *firing) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	if target.Request != "" && !target.Alone {
		f.mu.Lock()
		f.fired[target.Request]++
		f.mu.Unlock()
	}
	return f.Store.Apply(ctx, target, decide)
}

// restart resets the counts, and returns the old ones.
func (f *firing) restart() map[wire.RequestID]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	fired := f.fired
	f.fired = map[wire.RequestID]int{}
	return fired
}

// TestTurns checks that one of three nodes fires each due request, that all have a share, and that others take over a
// dead node's share.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var nodes []*firing
		var engines []*engine.Engine
		var stops []func()
		var mu sync.Mutex
		var sent []store.Request
		for range 3 {
			node := &firing{Store: rows, fired: map[wire.RequestID]int{}}
			e, err := engine.Open(t.Context(), engine.Config{Store: node, Dispatch: func(ready []store.Request) {
				mu.Lock()
				defer mu.Unlock()
				sent = append(sent, ready...)
			}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- e.Run(ctx) }()
			nodes, engines = append(nodes, node), append(engines, e)
			stops = append(stops, sync.OnceFunc(func() {
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}))
			defer stops[len(stops)-1]()
			time.Sleep(300 * time.Millisecond) // so that their heartbeats do not coincide
		}
		time.Sleep(5 * time.Second)
		// round sends requests that never get an answer, and returns how often each node fired and how many requests
		// remain due.
		round := func(name string, atLast func()) (each [3]int, all int, left int) {
			t.Helper()
			mu.Lock()
			sent = nil
			mu.Unlock()
			for n := range 40 {
				begin(t, engines[0], fmt.Sprint(name, n), one(`"ServiceTimeout": 120`))
			}
			mu.Lock()
			asked := sent
			mu.Unlock()
			accept(t, engines[0], asked...)
			for _, node := range nodes {
				node.restart()
			}
			time.Sleep(117 * time.Second)
			atLast()
			time.Sleep(3*time.Second + 500*time.Millisecond)
			synctest.Wait()
			for i, node := range nodes {
				fired := node.restart()
				each[i] = len(fired)
				for _, times := range fired {
					all += times
				}
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			for _, r := range asked {
				row, err := rows.Request(t.Context(), r.ID)
				if err != nil || row.State != store.RequestSettled {
					left++
				}
			}
			return each, all, left
		}
		each, all, left := round("a", func() {})
		if all != 40 || min(each[0], each[1], each[2]) == 0 || left != 0 {
			t.Errorf("%d requests were fired %d times, by the nodes %v; %d are left", 40, all, each, left)
		}
		if each, _, left := round("b", stops[1]); each[0]+each[2] == 40 || left != 0 {
			t.Errorf("without one of the nodes the others fired %v at first; %d are left", each, left)
		}
	})
}
