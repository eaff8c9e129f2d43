package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// crowd is the number of goroutines that race in a test.
const crowd = 100

// race runs f in many goroutines at once and waits for all.
func race(f func(i int)) {
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// step is a decision that advances the operation by one event.
func step(v *store.View) (store.Delta, error) {
	var d store.Delta
	d.Operation, d.Events = event(v, strconv.Itoa(v.Operation.Events+1))
	return d, nil
}

var raceTests = []test{
	{"one stack", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		race(func(int) {
			if err := b.Apply(context.Background(), store.Target{Stack: 1}, step); err != nil {
				t.Error(err)
			}
		})
		if o := b.whole(1).Operation; o.Events != crowd || o.Version != crowd+1 {
			t.Errorf("after %d decisions the operation counts %d events and is at version %d", crowd, o.Events, o.Version)
		}
		rows, err := b.Events(context.Background(), 1, store.EventCursor{}, 2*crowd)
		if err != nil || len(rows) != crowd {
			t.Fatalf("%d event rows, error %v", len(rows), err)
		}
		for i, row := range rows {
			if want := crowd - i; row.Place.Number != want || row.Events[0].ID != strconv.Itoa(want) {
				t.Errorf("event row %d is number %d, %q", i, row.Place.Number, row.Events[0].ID)
			}
		}
	}},
	{"many stacks", func(t *testing.T, b *bench) {
		race(func(i int) {
			delta := stackOf(store.StackKey(i+1), fmt.Sprint("many-", i))
			err := b.Apply(context.Background(), store.Target{Name: nameOf(*delta.Stack)},
				func(*store.View) (store.Delta, error) { return delta, nil })
			for range 5 {
				err = errors.Join(err, b.Apply(context.Background(), store.Target{Stack: delta.Stack.Key}, step))
			}
			if err != nil {
				t.Error(err)
			}
		})
		for i := range crowd {
			if o := b.whole(store.StackKey(i + 1)).Operation; o.Events != 5 {
				t.Errorf("stack %d has %d events", i+1, o.Events)
			}
		}
	}},
	{"errors beside writes", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		odd := errors.New("odd")
		race(func(i int) {
			err := b.Apply(context.Background(), store.Target{Stack: 1}, func(v *store.View) (store.Delta, error) {
				if i%2 == 1 {
					return store.Delta{DropSteps: true}, odd
				}
				return step(v)
			})
			if i%2 == 1 && err != odd || i%2 == 0 && err != nil { //nolint:errorlint // the contract is: as it is
				t.Errorf("%d: %v", i, err)
			}
		})
		if o := b.whole(1).Operation; o.Events != crowd/2 {
			t.Errorf("%d of %d events were written", o.Events, crowd/2)
		}
	}},
	{"one name", func(t *testing.T, b *bench) {
		var made atomic.Int32
		name := nameOf(*stackOf(1, "one").Stack)
		race(func(i int) {
			mine := false
			err := b.Apply(context.Background(), store.Target{Name: name}, func(v *store.View) (store.Delta, error) {
				if mine = v.Stack.Key == 0; mine {
					d := stackOf(store.StackKey(i+1), "one")
					return d, nil
				}
				return store.Delta{}, nil
			})
			if err != nil {
				t.Error(err)
			}
			if mine {
				made.Add(1)
			}
		})
		if made.Load() != 1 {
			t.Errorf("%d stacks of one name were made", made.Load())
		}
	}},
	{"a name again", func(t *testing.T, b *bench) {
		for key := store.StackKey(1); key <= 3; key++ {
			b.create(stackOf(key, "one"))
			b.put(store.Target{Stack: key}, func(v *store.View) store.Delta {
				s := v.Stack
				s.Live = false
				return store.Delta{Stack: &s}
			})
			_, err := b.LiveStack(context.Background(), nameOf(*stackOf(key, "one").Stack))
			isError(t, "live stack", err, store.ErrNotFound)
		}
		b.create(stackOf(4, "one"))
		for key := store.StackKey(1); key <= 4; key++ {
			s, err := b.Stack(context.Background(), stackOf(key, "one").Stack.ID)
			if err != nil || s.Key != key || s.Live != (key == 4) {
				t.Errorf("stack %d: %+v, error %v", key, s, err)
			}
		}
	}},
	{"one answer settles", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		b.asks(1, store.Request{ID: "r", State: store.RequestReady, Owner: 1})
		var first, late atomic.Int32
		race(func(int) {
			found := false
			err := b.Apply(context.Background(), store.Target{Request: "r"}, func(v *store.View) (store.Delta, error) {
				found = v.Request.State != store.RequestSettled
				if !found {
					return store.Delta{Audit: []store.Audit{{Request: "r", Text: "late", Time: v.Now}}}, nil
				}
				d, err := step(v)
				d.Requests = []store.Request{settled(*v.Request)}
				return d, err
			})
			if err != nil {
				t.Error(err)
			}
			if found {
				first.Add(1)
			} else {
				late.Add(1)
			}
		})
		audit, err := b.Audit(context.Background(), 1, 2*crowd)
		if first.Load() != 1 || late.Load() != crowd-1 || len(audit) != crowd-1 || err != nil {
			t.Errorf("%d settled it, %d were late, %d on the audit list, error %v", first.Load(), late.Load(), len(audit), err)
		}
		if open := b.whole(1).Requests; len(open) != 0 {
			t.Errorf("still open: %v", open)
		}
	}},
	{"readers", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		race(func(i int) {
			if i%2 == 0 {
				if err := b.Apply(context.Background(), store.Target{Stack: 1}, step); err != nil {
					t.Error(err)
				}
				return
			}
			o, err := b.Operation(context.Background(), 1, 1)
			if err != nil || o.Version != int64(o.Events+1) {
				t.Errorf("half a decision was read: version %d and %d events, error %v", o.Version, o.Events, err)
			}
		})
	}},
	{"given up", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := b.Apply(ctx, store.Target{Stack: 1}, func(*store.View) (store.Delta, error) {
			t.Error("the decision of a caller that had given up was run")
			return store.Delta{}, nil
		})
		isError(t, "apply", err, context.Canceled)
		_, err = b.Stack(ctx, "x")
		isError(t, "stack", err, context.Canceled)
		_, _, err = b.Due(ctx, 1)
		isError(t, "due", err, context.Canceled)
		isError(t, "ping", b.Ping(ctx), context.Canceled)
	}},
	{"given up during the decision", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		ctx, cancel := context.WithCancel(context.Background())
		err := b.Apply(ctx, store.Target{Stack: 1}, func(v *store.View) (store.Delta, error) {
			cancel()
			return step(v)
		})
		if o := b.whole(1).Operation; err != nil || o.Events != 1 {
			t.Errorf("the truth is %d events, the caller got %v", o.Events, err)
		}
	}},
	{"closed", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls(b.Store) {
			isError(t, name, call(context.Background()), store.ErrClosed)
		}
	}},
	{"closing", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		race(func(i int) {
			if i == crowd/2 {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if err := b.Apply(context.Background(), store.Target{Stack: 1}, step); err != nil && !errors.Is(err, store.ErrClosed) {
				t.Error(err)
			}
		})
	}},
}

// calls returns every method of a store except Close, as a call that returns its error.
func calls(s store.Store) map[string]func(context.Context) error {
	name := store.StackName{Account: "000000000000", Region: "eu-west-1", Name: "one"}
	return map[string]func(context.Context) error{
		"Apply":          func(ctx context.Context) error { return s.Apply(ctx, store.Target{Stack: 1}, step) },
		"Join":           func(ctx context.Context) error { _, err := s.Join(ctx, "n"); return err },
		"Beat":           func(ctx context.Context) error { return s.Beat(ctx, 1) },
		"Nodes":          func(ctx context.Context) error { _, err := s.Nodes(ctx); return err },
		"Reap":           func(ctx context.Context) error { _, err := s.Reap(ctx, 1, 0); return err },
		"Leave":          func(ctx context.Context) error { return s.Leave(ctx, 1) },
		"Claim":          func(ctx context.Context) error { _, err := s.Claim(ctx, 1, 1, nil); return err },
		"Due":            func(ctx context.Context) error { _, _, err := s.Due(ctx, 1); return err },
		"Stack":          func(ctx context.Context) error { _, err := s.Stack(ctx, "id"); return err },
		"LiveStack":      func(ctx context.Context) error { _, err := s.LiveStack(ctx, name); return err },
		"Stacks":         func(ctx context.Context) error { _, err := s.Stacks(ctx, "1", "r", true, 0, 1); return err },
		"Operation":      func(ctx context.Context) error { _, err := s.Operation(ctx, 1, 1); return err },
		"FindOperation":  func(ctx context.Context) error { _, _, err := s.FindOperation(ctx, "id"); return err },
		"Revision":       func(ctx context.Context) error { _, err := s.Revision(ctx, 1, 1); return err },
		"Instances":      func(ctx context.Context) error { _, err := s.Instances(ctx, 1); return err },
		"Events":         func(ctx context.Context) error { _, err := s.Events(ctx, 1, store.EventCursor{}, 1); return err },
		"Audit":          func(ctx context.Context) error { _, err := s.Audit(ctx, 1, 1); return err },
		"StackOf":        func(ctx context.Context) error { _, err := s.StackOf(ctx, 1); return err },
		"Regions":        func(ctx context.Context) error { _, err := s.Regions(ctx, nil, 1); return err },
		"InstancesAfter": func(ctx context.Context) error { _, err := s.InstancesAfter(ctx, 1, 0, 1); return err },
		"InstancesOf":    func(ctx context.Context) error { _, err := s.InstancesOf(ctx, 1, nil); return err },
		"OpenRequests":   func(ctx context.Context) error { _, err := s.OpenRequests(ctx, 1, 1); return err },
		"LeftBehind": func(ctx context.Context) error {
			_, err := s.LeftBehind(ctx, nil, store.InstancePlace{}, 1)
			return err
		},
		"AuditTrail":  func(ctx context.Context) error { _, err := s.AuditTrail(ctx, nil, store.AuditPlace{}, 1); return err },
		"Request":     func(ctx context.Context) error { _, err := s.Request(ctx, wire.RequestID("r")); return err },
		"Requests":    func(ctx context.Context) error { _, err := s.Requests(ctx, 1); return err },
		"Executions":  func(ctx context.Context) error { _, err := s.Executions(ctx, "m", true, "", 1); return err },
		"Providers":   func(ctx context.Context) error { _, err := s.Providers(ctx); return err },
		"PutProvider": func(ctx context.Context) error { return s.PutProvider(ctx, store.Provider{Name: "P"}) },
		"Parameter":   func(ctx context.Context) error { _, err := s.Parameter(ctx, parameterKey("p"), 0); return err },
		"PutParameter": func(ctx context.Context) error {
			_, err := s.PutParameter(ctx, store.Parameter{ParameterKey: parameterKey("p"), Type: store.ParameterString}, true)
			return err
		},
		"DeleteParameter": func(ctx context.Context) error { return s.DeleteParameter(ctx, parameterKey("p")) },
		"Entry":           func(ctx context.Context) error { _, err := s.Entry(ctx, entryKey("e")); return err },
		"Entries":         func(ctx context.Context) error { _, err := s.Entries(ctx, entryKey(""), 1); return err },
		"PutEntry": func(ctx context.Context) error {
			_, err := s.PutEntry(ctx, store.Entry{EntryKey: entryKey("e"), Definition: json.RawMessage("{}")})
			return err
		},
		"DropEntry":    func(ctx context.Context) error { return s.DropEntry(ctx, entryKey("e"), 0) },
		"SealingKeys":  func(ctx context.Context) error { _, err := s.SealingKeys(ctx); return err },
		"Reseal":       func(ctx context.Context) error { _, err := s.Reseal(ctx, "", 1); return err },
		"Sweep":        func(ctx context.Context) error { _, err := s.Sweep(ctx, store.Keep{}, "", 1); return err },
		"Ping":         s.Ping,
		"Provider":     func(ctx context.Context) error { _, err := s.Provider(ctx, "P"); return err },
		"DropProvider": func(ctx context.Context) error { return s.DropProvider(ctx, "P", "") },
	}
}
