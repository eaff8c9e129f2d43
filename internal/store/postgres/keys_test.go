package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
	"github.com/pintle-dev/pintle/internal/store/storetest"
)

func TestKeys(t *testing.T) {
	server := postgres.Shared.Server(t)
	storetest.RunKeys(t, func(t *testing.T) storetest.Reopen {
		dsn := server.Database(t)
		return func(codec store.Codec) (store.Store, error) {
			s, err := postgres.Open(context.Background(), postgres.Config{DSN: dsn, Codec: codec})
			if err != nil {
				return nil, err
			}
			return s, nil
		}
	})
}

// keysOf returns a codec with one key per letter, the first of which seals.
func keysOf(t *testing.T, letters string) store.Codec {
	t.Helper()
	keys := make([]store.Key, len(letters))
	for i, letter := range letters {
		keys[i] = store.Key{ID: string(letter), Secret: []byte(strings.Repeat(string(letter), store.KeySize))}
	}
	ring, err := store.NewKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return store.NewCodec(ring)
}

// TestKeysOfTwoNodes rotates the key of two nodes, one after the other: the old key is needed until no node seals with
// it.
func TestKeysOfTwoNodes(t *testing.T) {
	ctx := context.Background()
	dsn := postgres.Database(t)
	join := func(letters string) (*postgres.Store, store.Incarnation) {
		t.Helper()
		s, err := postgres.Open(ctx, postgres.Config{DSN: dsn, Codec: keysOf(t, letters)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeStore(t, s) })
		node, err := s.Join(ctx, letters)
		if err != nil {
			t.Fatal(err)
		}
		return s, node
	}
	step := func(s store.Store, from store.Cursor) store.Resealed {
		t.Helper()
		resealed, err := s.Reseal(ctx, from, 1)
		if err != nil {
			t.Fatal(err)
		}
		return resealed
	}
	// pass runs a pass, and calls meanwhile in the middle of it.
	pass := func(s store.Store, meanwhile func()) bool {
		t.Helper()
		var from store.Cursor
		for n := 0; ; n++ {
			resealed := step(s, from)
			if n == 2 && meanwhile != nil {
				meanwhile()
			}
			if from = resealed.Next; from == "" {
				return resealed.Done
			}
		}
	}
	needed := func(s store.Store, want string) {
		t.Helper()
		keys, err := s.SealingKeys(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, key := range keys {
			got += key.ID
		}
		if got != want {
			t.Errorf("the keys %s are needed, want %s", got, want)
		}
	}
	old, oldNode := join("ab")
	define := func(s store.Store, name string) {
		t.Helper()
		if err := s.PutProvider(ctx, store.Provider{Name: name, Definition: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		define(old, fmt.Sprint("P", i))
	}
	fresh, _ := join("ba")
	if pass(fresh, nil) {
		t.Error("a pass is done while another node seals with the old key")
	}
	needed(fresh, "ab")
	if err := old.Leave(ctx, oldNode); err != nil {
		t.Fatal(err)
	}
	if pass(fresh, func() { // a node with the old key joins, writes rows that the pass has already read, and leaves
		late, node := join("ab")
		define(late, "P0")
		if err := late.Leave(ctx, node); err != nil {
			t.Fatal(err)
		}
	}) {
		t.Error("a pass is done though a node has sealed with the old key meanwhile")
	}
	needed(fresh, "ab")
	join("ba")                               // its key is then the latest again
	if !pass(fresh, func() { join("ba") }) { // a node with the same key does not disturb
		t.Error("nothing stands in its way, and the pass is not done")
	}
	needed(fresh, "b")
	only, _ := join("b")
	if list, err := only.Providers(ctx); err != nil || len(list) != 5 {
		t.Errorf("%d providers, error %v", len(list), err)
	}
	if _, err := postgres.Open(ctx, postgres.Config{DSN: dsn, Codec: keysOf(t, "a")}); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("opened with the old key only: %v", err)
	}
}

// TestTemplatesSweptInUse has nodes sweep all the time while others start and stop using the same few texts.
func TestTemplatesSweptInUse(t *testing.T) {
	ctx := context.Background()
	dsn := postgres.Database(t)
	stop := make(chan struct{})
	var sweeping, working sync.WaitGroup
	keep := store.Keep{Deleted: time.Nanosecond, Requests: time.Nanosecond, Events: 1, Audit: 1}
	for range 2 {
		s := open(t, dsn, nil)
		defer closeStore(t, s)
		sweeping.Go(func() {
			var from store.Cursor
			for {
				select {
				case <-stop:
					return
				default:
				}
				swept, err := s.Sweep(ctx, keep, from, 10)
				if err != nil {
					t.Error(err)
					return
				}
				from = swept.Next
			}
		})
	}
	for node := range 2 {
		s := open(t, dsn, nil)
		defer closeStore(t, s)
		for worker := range 3 {
			working.Go(func() {
				for life := range 15 {
					key := store.StackKey(1 + node*1000 + worker*100 + life)
					d := newStack(key, fmt.Sprint("s", key))
					text := fmt.Sprint("template ", life%2)
					d.Revisions[0].Template = text
					create(t, s, d)
					r, err := s.Revision(ctx, key, 1)
					if err != nil || r.Template != text {
						t.Errorf("stack %d: its template is %q, error %v", key, r.Template, err)
					}
					err = s.Apply(ctx, store.Target{Stack: key}, func(v *store.View) (store.Delta, error) {
						if v.Revisions[1].Template != text {
							return store.Delta{}, fmt.Errorf("its template is %q", v.Revisions[1].Template)
						}
						stack, o := v.Stack, v.Operation
						o.Version++
						o.Phase, o.Ended, stack.Live = store.PhaseSucceeded, v.Now.Add(-time.Second), false
						return store.Delta{Stack: &stack, Operation: &o}, nil
					})
					if err != nil {
						t.Errorf("stack %d: %v", key, err)
					}
				}
			})
		}
	}
	working.Wait()
	close(stop)
	sweeping.Wait()
}
