package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

var sweepTests = []test{
	{"deleted stacks", func(t *testing.T, b *bench) {
		for key, name := range map[store.StackKey]string{1: "old", 2: "lately", 3: "living", 4: "waiting", 5: "ending"} {
			b.create(full(key, name))
			if name != "waiting" {
				b.settleAll(key)
			}
		}
		b.end(1)
		b.end(4)
		b.clock.Advance(time.Hour)
		b.end(2)
		b.put(store.Target{Stack: 5}, func(v *store.View) store.Delta {
			stack, o := v.Stack, v.Operation
			o.Number, o.Version, o.Kind, o.Phase = o.Number+1, 1, store.KindDelete, store.PhaseApply
			return store.Delta{Stack: &stack, Operation: &o}
		})
		keep := keepAll
		keep.Deleted, keep.Requests = 30*time.Minute, 30*time.Minute
		before := b.rows(2)
		for _, limit := range []int{1, 3, 1000} {
			b.sweep(keep, limit)
			for key, there := range map[store.StackKey]bool{1: false, 2: true, 3: true, 4: true, 5: true} {
				_, err := b.Stack(context.Background(), idOf(key))
				if there != (err == nil) {
					t.Errorf("stack %d: error %v", key, err)
				}
			}
		}
		same(t, "a stack that was deleted lately", b.rows(2), before)
		same(t, "rows of the stack that is gone", b.rows(1), map[string]int{})
		isError(t, "apply", b.Apply(context.Background(), store.Target{Stack: 1}, step), store.ErrNotFound)
		if page, err := b.Stacks(context.Background(), "000000000000", "eu-west-1", true, 0, 10); err != nil || len(page) != 4 {
			t.Errorf("%d stacks are listed, error %v", len(page), err)
		}
		// A stack whose request is finally answered is removed too. Its name was free all the time.
		b.settleAll(4)
		b.sweep(keep, 7)
		_, err := b.Stack(context.Background(), idOf(4))
		isError(t, "stack 4", err, store.ErrNotFound)
		b.create(full(6, "old"))
	}},
	{"forever", func(t *testing.T, b *bench) {
		b.create(full(1, "one"))
		b.settleAll(1)
		b.end(1)
		b.clock.Advance(100 * 365 * 24 * time.Hour)
		before := b.rows(1)
		b.sweep(keepAll, 10)
		same(t, "rows", b.rows(1), before)
		if _, err := b.Request(context.Background(), "1-top"); err != nil {
			t.Error(err)
		}
	}},
	{"requests", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		due := b.now().Add(100 * time.Hour)
		b.asks(1, store.Request{ID: "settled", State: store.RequestSettled, Settled: b.now(), Created: b.now()},
			store.Request{ID: "ready", State: store.RequestReady, Owner: 1, Created: b.now()},
			store.Request{ID: "waiting", State: store.RequestWaiting, Due: due, Created: b.now()},
			store.Request{ID: "delayed", State: store.RequestDelayed, Due: due, Created: b.now()},
			store.Request{ID: "lately", State: store.RequestSettled, Settled: b.now().Add(time.Hour), Created: b.now()})
		b.clock.Advance(90 * time.Minute)
		for i := range 10 {
			b.asks(1, store.Request{ID: wire.RequestID(fmt.Sprint("new-", i)), State: store.RequestSettled, Settled: b.now(), Created: b.now()})
		}
		keep := keepAll
		keep.Requests = time.Hour
		if rows := b.sweep(keep, 2); rows != 1 {
			t.Errorf("%d rows went", rows)
		}
		for id, there := range map[wire.RequestID]bool{
			"settled": false, "ready": true, "waiting": true, "delayed": true, "lately": true, "new-0": true, "new-9": true,
		} {
			if _, err := b.Request(context.Background(), id); there != (err == nil) {
				t.Errorf("%s: error %v", id, err)
			}
		}
		isError(t, "an answer to what is gone", b.Apply(context.Background(), store.Target{Request: "settled"}, step), store.ErrNotFound)
		b.clock.Advance(61 * time.Minute)
		if rows := b.sweep(keep, 3); rows != 11 {
			t.Errorf("%d rows went", rows)
		}
		if open, err := b.Requests(context.Background(), 1); err != nil || len(open) != 3 {
			t.Errorf("%d requests are open, error %v", len(open), err)
		}
	}},
	{"history", func(t *testing.T, b *bench) {
		d := stackOf(1, "one")
		d.Operation.ID = "op-1"
		b.create(d)
		b.create(stackOf(2, "other"))
		for operation := 1; operation <= 4; operation++ {
			for n := 1; n <= 5; n++ {
				b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
					o, events := event(v, fmt.Sprint(operation, "-", n))
					o.Phase = store.PhaseSucceeded
					if n == 1 && operation > 1 {
						*o = v.Operation
						o.Number, o.Version, o.Events, o.Phase, o.ID = operation, 1, 1, store.PhaseApply, fmt.Sprint("op-", operation)
					}
					return store.Delta{Operation: o, Events: events, Audit: []store.Audit{{Text: events[0].ID}}}
				})
			}
		}
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			var sets []store.ChangeSet
			for number := 1; number <= 4; number++ {
				sets = append(sets, store.ChangeSet{Stack: 1, ID: store.ChangeSetID(fmt.Sprint("set-", number)), Name: fmt.Sprint("set-", number),
					State: store.ChangeSetExecuted, Operation: number, Created: v.Now, Body: &store.ChangeSetBody{}})
			}
			return store.Delta{ChangeSets: sets}
		})
		keep := keepAll
		keep.Audit = 3
		keep.Events = 7
		rows := b.sweep(keep, 2)
		places, audit := b.history(1)
		same(t, "events", places, []string{"4-5", "4-4", "4-3", "4-2", "4-1", "3-5", "3-4"})
		same(t, "audit", audit, []string{"4-5", "4-4", "4-3"})
		if rows != 13+17+2+2 {
			t.Errorf("%d rows went", rows)
		}
		for number, there := range map[int]bool{1: false, 2: false, 3: true, 4: true} {
			if _, err := b.Operation(context.Background(), 1, number); there != (err == nil) {
				t.Errorf("operation %d: error %v", number, err)
			}
			if _, _, err := b.FindOperation(context.Background(), fmt.Sprint("op-", number)); there != (err == nil) {
				t.Errorf("operation %d by its id: error %v", number, err)
			}
			if _, err := b.ChangeSet(context.Background(), store.ChangeSetID(fmt.Sprint("set-", number))); there != (err == nil) {
				t.Errorf("the change set that operation %d carried out: error %v", number, err)
			}
		}
		if _, err := b.Operation(context.Background(), 2, 1); err != nil {
			t.Errorf("the operation of the other stack, which has no events: %v", err)
		}
		keep.Events = 1 // those of the newest operation stay
		b.sweep(keep, 100)
		places, _ = b.history(1)
		same(t, "events", places, []string{"4-5", "4-4", "4-3", "4-2", "4-1"})
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta { // the history continues
			o, events := event(v, "4-6")
			return store.Delta{Operation: o, Events: events}
		})
		if rows := b.sweep(keep, 100); rows != 0 {
			t.Errorf("%d rows went that nobody may touch", rows)
		}
	}},
	{"revisions and instances", func(t *testing.T, b *bench) {
		b.create(full(1, "one"))
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			var d store.Delta
			for number := 5; number <= 9; number++ {
				d.Revisions = append(d.Revisions, store.Revision{Stack: 1, Number: number, Template: fmt.Sprint("text ", number)})
			}
			for number, shown := range map[int]bool{21: false, 22: true, 23: false} {
				i := v.Instances[1]
				i.Number, i.Logical, i.Role, i.Shown, i.Changed = number, "Old", store.RoleGone, shown, v.Now
				if number == 23 {
					i.Changed = v.Now.Add(2 * time.Hour)
				}
				d.Instances = append(d.Instances, i)
			}
			return d
		})
		b.clock.Advance(90 * time.Minute)
		keep := keepAll
		keep.Requests = time.Hour
		before := b.rows(1)
		b.sweep(keep, 2)
		same(t, "while the operation runs", b.rows(1), before)
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			o := v.Operation
			o.Version++
			o.Phase, o.From, o.To, o.Tried = store.PhaseSucceeded, 5, 6, []int{8}
			stack := v.Stack
			stack.Revision = 7
			return store.Delta{Operation: &o, Stack: &stack}
		})
		gone := func(number int) bool {
			instances, err := b.Instances(context.Background(), 1)
			if err != nil {
				t.Fatal(err)
			}
			return !slices.ContainsFunc(instances, func(i store.Instance) bool { return i.Number == number })
		}
		b.sweep(keep, 2)
		if gone(21) {
			t.Error("an instance went that an open request may be about")
		}
		b.settleAll(1)
		b.sweep(keep, 2)
		for number, want := range map[int]bool{1: false, 21: true, 22: false, 23: false} {
			if gone(number) != want {
				t.Errorf("instance %d is gone: %t", number, !want)
			}
			if _, there := b.whole(1).Instances[number]; there == want {
				t.Errorf("a view has instance %d: %t", number, there)
			}
		}
		for number := 1; number <= 9; number++ {
			r, err := b.Revision(context.Background(), 1, number)
			if there := slices.Contains([]int{5, 6, 7, 8}, number); there != (err == nil) || there && r.Template != fmt.Sprint("text ", number) {
				t.Errorf("revision %d: %q, error %v", number, r.Template, err)
			}
		}
		same(t, "revisions in a view", slices.Sorted(maps.Keys(b.whole(1).Revisions)), []int{5, 6, 7, 8})
		// A removed text is stored again when it is needed again.
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			return store.Delta{Revisions: []store.Revision{{Stack: 1, Number: 10, Template: "text 9"}, {Stack: 1, Number: 11, Template: "text 5"}}}
		})
		if r, err := b.Revision(context.Background(), 1, 10); err != nil || r.Template != "text 9" {
			t.Errorf("revision 10: %q, error %v", r.Template, err)
		}
	}},
	{"change sets", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			o := v.Operation
			o.Number, o.Version, o.ID = 2, 1, "second"
			return store.Delta{Operation: &o}
		})
		put := func(id string, state store.ChangeSetState, base, operation int) {
			b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
				return store.Delta{ChangeSets: []store.ChangeSet{{
					Stack: 1, ID: store.ChangeSetID(id), Name: id, State: state, Base: base, Operation: operation, Created: v.Now, Kind: store.KindUpdate,
					Body: &store.ChangeSetBody{Revision: store.Revision{Template: "of " + id, Parameters: value.Object()}},
				}}}
			})
		}
		put("open", store.ChangeSetAvailable, 2, 0)
		put("obsolete", store.ChangeSetAvailable, 1, 0)
		put("failed", store.ChangeSetFailed, 2, 0)
		put("executed", store.ChangeSetExecuted, 1, 2)
		b.clock.Advance(2 * time.Hour)
		put("late", store.ChangeSetFailed, 2, 0)
		keep := keepAll
		keep.Deleted = time.Hour
		b.sweep(keep, 2)
		for id, there := range map[store.ChangeSetID]bool{"open": true, "obsolete": false, "failed": false, "executed": false, "late": true} {
			c, err := b.ChangeSet(context.Background(), id)
			if there != (err == nil) || there && c.Body.Revision.Template != "of "+string(id) {
				t.Errorf("%s: %+v, error %v", id, c, err)
			}
		}
		if list, err := b.ChangeSets(context.Background(), 1); err != nil || len(list) != 2 {
			t.Errorf("%d are listed, error %v", len(list), err)
		}
		b.end(1)
		b.clock.Advance(2 * time.Hour)
		b.sweep(keep, 1)
		if list, err := b.ChangeSets(context.Background(), 1); err != nil || len(list) != 0 {
			t.Errorf("a stack that is gone has %d change sets, error %v", len(list), err)
		}
	}},
	{"at once", func(t *testing.T, b *bench) {
		for key := store.StackKey(1); key <= 6; key++ {
			b.create(full(key, fmt.Sprint("s", key)))
			b.settleAll(key)
			if key <= 3 {
				b.end(key)
			}
		}
		b.clock.Advance(time.Hour)
		keep := store.Keep{Deleted: time.Minute, Requests: time.Minute, Events: 2, Audit: 1}
		var all sync.WaitGroup
		for range 4 { // like that many nodes, while stacks run
			all.Go(func() { b.sweep(keep, 5) })
		}
		for key := store.StackKey(4); key <= 6; key++ {
			all.Go(func() {
				for range 10 {
					if err := b.Apply(context.Background(), store.Target{Stack: key}, step); err != nil {
						t.Errorf("stack %d: %v", key, err)
					}
				}
			})
		}
		all.Wait()
		b.sweep(keep, 5)
		for key := store.StackKey(1); key <= 6; key++ {
			_, err := b.Stack(context.Background(), idOf(key))
			if (key > 3) != (err == nil) {
				t.Errorf("stack %d: error %v", key, err)
			}
		}
		for key := store.StackKey(4); key <= 6; key++ {
			if places, _ := b.history(key); len(places) < 10 {
				t.Errorf("stack %d: of the events of its only operation there are %d", key, len(places))
			}
		}
		if _, err := b.Request(context.Background(), "4-top"); err == nil {
			t.Error("a request is there that was settled an hour ago")
		}
	}},
}

// keepAll is a Keep that removes nothing.
var keepAll = store.Keep{Deleted: store.Forever, Requests: store.Forever, Events: 1000, Audit: 1000}

// sweep runs a whole pass, and returns the number of removed rows. No step may remove more than limit.
func (b *bench) sweep(keep store.Keep, limit int) (rows int) {
	b.t.Helper()
	var from store.Cursor
	for range 10_000 {
		swept, err := b.Sweep(context.Background(), keep, from, limit)
		if err != nil {
			b.t.Fatal("sweep:", err)
		}
		if swept.Rows > limit {
			b.t.Errorf("%d rows went in one step, the limit is %d", swept.Rows, limit)
		}
		rows += swept.Rows
		if from = swept.Next; from == "" {
			return rows
		}
	}
	b.t.Fatal("the sweep does not end")
	return 0
}

// end ends a stack as if it was deleted.
func (b *bench) end(key store.StackKey) {
	b.t.Helper()
	b.put(store.Target{Stack: key}, func(v *store.View) store.Delta {
		o, events := event(v, "deleted")
		o.Kind, o.Phase, o.Ended = store.KindDelete, store.PhaseSucceeded, v.Now
		stack := v.Stack
		stack.Live, stack.Deleted = false, v.Now
		return store.Delta{Stack: &stack, Operation: o, Events: events, DropSteps: true}
	})
}

// settleAll settles every request of a stack.
func (b *bench) settleAll(key store.StackKey) {
	b.t.Helper()
	b.put(store.Target{Stack: key}, func(v *store.View) store.Delta {
		var d store.Delta
		for _, r := range v.Requests {
			r.Settled = v.Now
			d.Requests = append(d.Requests, settled(r))
		}
		return d
	})
}

// history returns the IDs of the events, newest first, and the texts of the audit entries.
func (b *bench) history(key store.StackKey) (events, audit []string) {
	b.t.Helper()
	rows, err := b.Events(context.Background(), key, store.EventCursor{}, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, row := range rows {
		events = append(events, row.Events[0].ID)
	}
	entries, err := b.Audit(context.Background(), key, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, entry := range entries {
		audit = append(audit, entry.Text)
	}
	return events, audit
}

// rows counts the rows of a stack that queries return.
func (b *bench) rows(key store.StackKey) map[string]int {
	b.t.Helper()
	counts := make(map[string]int)
	count := func(what string, n int, err error) {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
		if n > 0 {
			counts[what] = n
		}
	}
	instances, err := b.Instances(context.Background(), key)
	count("instances", len(instances), err)
	events, audit := b.history(key)
	count("events", len(events), nil)
	count("audit", len(audit), nil)
	for number := range 30 {
		if _, err := b.Operation(context.Background(), key, number); err == nil {
			counts["operations"]++
		}
		if _, err := b.Revision(context.Background(), key, number); err == nil {
			counts["revisions"]++
		}
	}
	return counts
}

// full returns a delta that creates a stack with rows of every kind. The IDs of its requests begin with its key.
func full(key store.StackKey, name string) store.Delta {
	d := graph(key)
	d.Stack.ID, d.Stack.Name = idOf(key), name
	for i := range d.Requests {
		r := &d.Requests[i]
		r.ID = wire.RequestID(fmt.Sprint(key, "-", r.ID))
		r.Created, r.Settled = start, time.Time{}
		if r.State == store.RequestSettled {
			r.Settled = start
		}
	}
	return d
}

func idOf(key store.StackKey) wire.StackID {
	return wire.StackID(fmt.Sprint("arn:aws:cloudformation:eu-west-1:000000000000:stack/", key))
}
