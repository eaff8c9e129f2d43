package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// absent is a store that is away from time to time.
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

// TestNodesThatLiveAndDie: nodes that could not beat because the database was away do not take each other for dead when it
// is back; one that has died is taken over from.
func TestNodesThatLiveAndDie(t *testing.T) {
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
		time.Sleep(time.Second) // their beats do not fall together
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
