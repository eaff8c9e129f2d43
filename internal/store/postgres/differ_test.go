package postgres

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/internal/store/storetest"
	"github.com/pintle-dev/pintle/wire"
)

func testCodec(t testing.TB) store.Codec {
	t.Helper()
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte{'a'}, store.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	return store.NewCodec(keys)
}

// openTest opens a store with one writer in a new database.
func openTest(t testing.TB, cfg Config) *Store {
	t.Helper()
	if cfg.DSN == "" {
		cfg.DSN = Shared.Server(t).Database(t)
	}
	cfg.Codec, cfg.Writers = testCodec(t), 1
	s, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// apply starts a decision and returns the channel for its result.
func apply(s store.Store, target store.Target, decide store.Decide) <-chan error {
	result := make(chan error, 1)
	go func() { result <- s.Apply(context.Background(), target, decide) }()
	return result
}

func named(name string) store.Target {
	return store.Target{Name: store.StackName{Account: "1", Region: "r", Name: name}}
}

func made(key store.StackKey, name, id string) store.Delta {
	return store.Delta{
		Stack:     &store.Stack{Key: key, ID: wire.StackID(id), Account: "1", Region: "r", Name: name, Live: true, Revision: 1},
		Operation: &store.Operation{Stack: key, Number: 1, Version: 1, To: 1},
		Revisions: []store.Revision{{Stack: key, Number: 1, Template: "template of " + name}},
	}
}

// hold keeps the writer busy until release is called, so that all members queued meanwhile become one batch.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	result := apply(s, named("held"), func(*store.View) (store.Delta, error) {
		close(held)
		<-free
		return store.Delta{}, nil
	})
	<-held
	return func() {
		close(free)
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
}

// queued waits until this many members are queued behind a held writer.
func queued(s *Store, members int) {
	for len(s.writers[0].queue) < members {
		runtime.Gosched()
	}
}

func TestAgainstMemory(t *testing.T) { againstMemory(t, 1) }

// TestNodesAgainstMemory gives the batches to three nodes in turn, each of which caches images that the others change.
func TestNodesAgainstMemory(t *testing.T) { againstMemory(t, 3) }

func againstMemory(t *testing.T, nodes int) {
	storetest.AgainstMemory(t, func(t *testing.T, clock func() time.Time) store.Store {
		s, err := memory.New(memory.Config{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, func(t *testing.T, clock func() time.Time) storetest.Batched {
		var again atomic.Int64
		cfg := Config{Now: clock, DSN: Shared.Server(t).Database(t), Log: slog.New(slog.NewTextHandler(lines(func(line string) {
			if strings.Contains(line, restarted) {
				again.Add(1)
			}
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))}
		of := &byTurns{Store: openTest(t, cfg)}
		for of.nodes = []*Store{of.Store}; len(of.nodes) < nodes; {
			of.nodes = append(of.nodes, openTest(t, cfg))
		}
		return storetest.Batched{
			Store: of,
			Hold: func(t *testing.T) func() {
				of.Store = of.nodes[of.turn%nodes]
				of.turn++
				of.writers[0].wary = 0 // otherwise it would load before it decides
				return hold(t, of.Store)
			},
			Queued: func() int { return len(of.writers[0].queue) },
			Rest:   func(*testing.T) { of.writers[0].rest() }, // the writer is idle
			Reopen: func(t *testing.T) store.Store { return openTest(t, cfg) },
			Again:  func() int { return int(again.Load()) },
		}
	})
}

// lines is a writer that passes each write to a function.
type lines func(string)

func (f lines) Write(b []byte) (int, error) { f(string(b)); return len(b), nil }

// byTurns gives each batch to the next node.
type byTurns struct {
	*Store
	nodes []*Store
	turn  int
}
