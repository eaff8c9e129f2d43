package storetest

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

var figuresTests = []test{
	{"nothing", func(t *testing.T, b *bench) {
		f := b.figures()
		if f.Nodes != 0 || f.Stacks != 0 || f.Busy != 0 || f.Orphans != 0 || len(f.Flights) != 0 {
			t.Errorf("figures of an empty store: %+v", f)
		}
	}},
	{"all", func(t *testing.T, b *bench) {
		node := b.join()
		b.join()
		for key, name := range map[store.StackKey]string{1: "one", 2: "two", 3: "idle", 4: "gone"} {
			b.create(stackOf(key, name))
		}
		b.end(4)
		due := b.now().Add(time.Hour)
		older, newer := b.now().Add(-time.Minute), b.now()
		b.asks(1,
			store.Request{ID: "a", State: store.RequestWaiting, Due: due, Created: older},
			store.Request{ID: "b", State: store.RequestWaiting, Due: due, Created: newer},
			store.Request{ID: "c", State: store.RequestReady, Owner: node, Created: newer},
			store.Request{ID: "d", State: store.RequestSettled, Created: older.Add(-time.Hour)},
		)
		b.asks(2, store.Request{ID: "e", State: store.RequestWaiting, Due: due, Created: newer, Type: "Delete"})
		b.asks(3, store.Request{ID: "f", State: store.RequestSettled, Created: older})
		b.put(store.Target{Stack: 3}, func(*store.View) store.Delta {
			return store.Delta{Instances: []store.Instance{
				{Stack: 3, Number: 1, Logical: "A", Role: store.RoleOrphan, Body: &store.InstanceBody{}},
				{Stack: 3, Number: 2, Logical: "A", Role: store.RoleCurrent, Body: &store.InstanceBody{}},
				{Stack: 3, Number: 3, Logical: "A", Role: store.RoleGone, Body: &store.InstanceBody{}},
			}}
		})
		f := b.figures()
		want := []store.Flight{
			{Type: "Create", State: store.RequestReady, Count: 1, Oldest: newer},
			{Type: "Create", State: store.RequestWaiting, Count: 2, Oldest: older},
			{Type: "Delete", State: store.RequestWaiting, Count: 1, Oldest: newer},
		}
		if f.Nodes != 2 || f.Stacks != 3 || f.Busy != 2 || f.Orphans != 1 || !slices.EqualFunc(f.Flights, want, sameFlight) {
			t.Errorf("the figures are %+v", f)
		}
		for _, table := range store.RowTables() {
			if n, ok := f.Rows[table]; !ok || n < 0 {
				t.Errorf("rows of %s: %d, %v", table, n, ok)
			}
		}
		b.settle("e")
		b.settle("a")
		f = b.figures()
		if f.Busy != 1 || len(f.Flights) != 2 || !f.Flights[1].Oldest.Equal(newer) {
			t.Errorf("the figures after two were settled are %+v", f)
		}
	}},
}

func sameFlight(a, b store.Flight) bool {
	return a.Type == b.Type && a.State == b.State && a.Count == b.Count && a.Oldest.Equal(b.Oldest)
}

// figures returns the figures with sorted flights.
func (b *bench) figures() store.Figures {
	b.t.Helper()
	f, err := b.Figures(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	slices.SortFunc(f.Flights, func(a, b store.Flight) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.State, b.State))
	})
	return f
}
