// Package storetest is the suite that every [store.Store] passes: it says in code what the contract says in words.
package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Open returns a new and empty store that uses the clock now. The suite closes it.
type Open func(t *testing.T, now func() time.Time) store.Store

// Run runs the suite. Every test gets its own store from open.
func Run(t *testing.T, open Open) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"view", viewTests}, {"write", writeTests}, {"race", raceTests}, {"node", nodeTests}, {"query", queryTests},
		{"change set", changeSetTests}, {"export", exportTests}, {"execution", executionTests}, {"browse", browseTests},
		{"sweep", sweepTests}, {"figures", figuresTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					clock := &Clock{now: start}
					s := open(t, clock.Now)
					t.Cleanup(func() {
						if err := s.Close(); err != nil {
							t.Error("close:", err)
						}
					})
					test.run(t, &bench{t: t, Store: s, clock: clock})
				})
			}
		})
	}
}

type test struct {
	name string
	run  func(*testing.T, *bench)
}

// Clock is a clock that stands still until it is advanced. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// start is the time at which every test begins. It has nanoseconds, which a store must truncate.
var start = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// bench is a store under test.
type bench struct {
	store.Store
	t     *testing.T
	clock *Clock
}

// now returns the time with a store's precision.
func (b *bench) now() time.Time { return b.clock.Now().Truncate(time.Millisecond) }

// put applies a decision that must be accepted.
func (b *bench) put(target store.Target, decide func(*store.View) store.Delta) {
	b.t.Helper()
	err := b.Apply(context.Background(), target, func(v *store.View) (store.Delta, error) { return decide(v), nil })
	if err != nil {
		b.t.Fatalf("apply to %+v: %v", target, err)
	}
}

// see returns the view that a decision on target gets, after it has requested everything in more.
func (b *bench) see(target store.Target, more ...*store.More) *store.View {
	b.t.Helper()
	var seen *store.View
	calls := 0
	err := b.Apply(context.Background(), target, func(v *store.View) (store.Delta, error) {
		if calls < len(more) {
			calls++
			return store.Delta{}, more[calls-1]
		}
		seen = v
		return store.Delta{}, nil
	})
	if err != nil {
		b.t.Fatalf("view of %+v: %v", target, err)
	}
	return seen
}

// whole returns everything about a stack.
func (b *bench) whole(key store.StackKey) *store.View {
	b.t.Helper()
	return b.see(store.Target{Stack: key})
}

// create creates a live stack from a delta of [stackOf] with changes of the test.
func (b *bench) create(delta store.Delta) {
	b.t.Helper()
	b.put(store.Target{Name: nameOf(*delta.Stack)}, func(v *store.View) store.Delta {
		if v.Stack.Key != 0 {
			b.t.Fatalf("stack %q is there already", v.Stack.Name)
		}
		return delta
	})
}

// asks writes requests of a stack, whose bodies the test may omit.
func (b *bench) asks(key store.StackKey, requests ...store.Request) {
	b.t.Helper()
	for i := range requests {
		r := &requests[i]
		r.Stack = key
		if r.Body == nil {
			r.Body = &store.RequestBody{Dialect: "cloudformation", Token: value.Str("arn:aws:sns:eu-west-1:000000000000:Thing")}
		}
		if r.Logical == "" {
			r.Logical = "Thing"
		}
		r.Operation, r.Instance = 1, 1
		if r.Type == "" {
			r.Type = "Create"
		}
	}
	b.put(store.Target{Stack: key}, func(*store.View) store.Delta { return store.Delta{Requests: requests} })
}

// settle settles a request.
func (b *bench) settle(id wire.RequestID) {
	b.t.Helper()
	b.put(store.Target{Request: id, Alone: true}, func(v *store.View) store.Delta {
		return store.Delta{Requests: []store.Request{settled(*v.Request)}}
	})
}

func settled(r store.Request) store.Request {
	r.State, r.Owner, r.Executor, r.Due, r.Body = store.RequestSettled, 0, 0, time.Time{}, nil
	return r
}

// stackOf returns a delta that creates an empty stack with one operation and revision.
func stackOf(key store.StackKey, name string) store.Delta {
	return store.Delta{
		Stack: &store.Stack{
			Key: key, ID: wire.StackID("arn:aws:cloudformation:eu-west-1:000000000000:stack/" + name + "/" + strconv.Itoa(int(key))),
			Account: "000000000000", Region: "eu-west-1", Name: name, Live: true, Dialect: "cloudformation",
			Kind: store.KindCreate, Phase: store.PhaseApply, Created: start.Add(time.Duration(key) * time.Second).Truncate(time.Millisecond),
			Operation: 1, Revision: 1, Revisions: 1,
		},
		Operation: &store.Operation{
			Stack: key, Number: 1, Version: 1, Kind: store.KindCreate, Phase: store.PhaseApply, To: 1,
			ID: "3f2c", Token: "token", Started: start,
		},
		Revisions: []store.Revision{{
			Stack: key, Number: 1, Template: `{"Resources": {}}`, Parameters: value.Object(),
		}},
	}
}

func nameOf(s store.Stack) store.StackName {
	return store.StackName{Account: s.Account, Region: s.Region, Name: s.Name}
}

// event returns the operation of a view advanced by one transition, and its event.
func event(v *store.View, text string) (*store.Operation, []store.Event) {
	o := v.Operation
	o.Version++
	o.Events++
	return &o, []store.Event{{ID: text, Type: "Custom::Thing", Reason: text, Operation: o.ID, Time: v.Now}}
}

// same reports a difference. Empty and nil are equal, because a database cannot distinguish them.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// isError reports an error that is not the one wanted.
func isError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}
