package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

// TestManyDuePollsDoNotDelayOthers has more polls due than a node reads at a time, which both nodes leave to others. Later
// due requests are fired nevertheless.
func TestManyDuePollsDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var sent []store.Request
		var engines []*engine.Engine
		for range 2 {
			e, err := engine.Open(t.Context(), engine.Config{
				Store: rows, Serves: func(wire.ServiceToken) bool { return false },
				Dispatch: func(ready []store.Request) {
					mu.Lock()
					defer mu.Unlock()
					sent = append(sent, ready...)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- e.Run(ctx) }()
			defer func() {
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			engines = append(engines, e)
		}
		taken := func() []store.Request {
			mu.Lock()
			defer mu.Unlock()
			list := sent
			sent = nil
			return list
		}
		time.Sleep(15 * time.Second) // they know each other
		resources := map[string]string{}
		for n := range 300 {
			resources[fmt.Sprint("R", n)] = resource("")
		}
		begin(t, engines[0], "many", body(resources))
		for _, r := range taken() {
			for _, outcome := range []engine.Outcome{{Kind: engine.Accepted, Local: true}, notDone(time.Minute, `1`)} {
				if err := engines[0].Report(t.Context(), r.ID, outcome); err != nil {
					t.Fatal(err)
				}
			}
		}
		begin(t, engines[0], "other", one(`"ServiceTimeout": "65"`))
		asked := taken()[0].ID
		if err := engines[0].Report(t.Context(), asked, engine.Outcome{Kind: engine.Accepted}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(75 * time.Second)
		synctest.Wait()
		if last := taken(); len(last) != 1 || last[0].Type != wire.Delete {
			t.Errorf("%d requests are sent when %s has timed out, want its Delete", len(last), asked)
		}
	})
}
