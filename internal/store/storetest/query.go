package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

var queryTests = []test{
	{"rows", func(t *testing.T, b *bench) {
		ctx := context.Background()
		want := graph(1)
		b.create(want)
		stack, err := b.Stack(ctx, want.Stack.ID)
		checkRow(t, "stack", stack, *want.Stack, err)
		stack, err = b.LiveStack(ctx, nameOf(*want.Stack))
		checkRow(t, "live stack", stack, *want.Stack, err)
		operation, err := b.Operation(ctx, 1, 1)
		checkRow(t, "operation", operation, *want.Operation, err)
		for _, r := range want.Revisions {
			revision, err := b.Revision(ctx, 1, r.Number)
			checkRow(t, "revision", revision, r, err)
		}
		instances, err := b.Instances(ctx, 1)
		checkRow(t, "instances", instances, want.Instances, err)
		for _, r := range want.Requests {
			request, err := b.Request(ctx, r.ID)
			checkRow(t, "request", request, r, err)
		}
		requests, err := b.Requests(ctx, 1)
		checkRow(t, "requests", requests, append(want.Requests[:5:5], want.Requests[6:]...), err)
	}},
	{"nothing", func(t *testing.T, b *bench) {
		b.create(graph(1))
		ctx := context.Background()
		_, err := b.Stack(ctx, "nobody")
		isError(t, "stack", err, store.ErrNotFound)
		_, err = b.LiveStack(ctx, store.StackName{Account: "000000000000", Region: "eu-west-2", Name: "graph"})
		isError(t, "live stack", err, store.ErrNotFound)
		for key, number := range map[store.StackKey]int{1: 9, 2: 1} {
			_, err = b.Operation(ctx, key, number)
			isError(t, "operation", err, store.ErrNotFound)
			_, err = b.Revision(ctx, key, number)
			isError(t, "revision", err, store.ErrNotFound)
		}
		_, err = b.Request(ctx, "nobody")
		isError(t, "request", err, store.ErrNotFound)
		_, err = b.Stacks(ctx, "000000000000", "eu-west-1", true, 9, 10)
		isError(t, "stacks after one that is not there", err, store.ErrNotFound)
		instances, err := b.Instances(ctx, 2)
		checkRow(t, "instances", instances, nil, err)
		requests, err := b.Requests(ctx, 2)
		checkRow(t, "requests", requests, nil, err)
		events, err := b.Events(ctx, 2, store.EventCursor{}, 10)
		checkRow(t, "events", events, nil, err)
		audit, err := b.Audit(ctx, 2, 10)
		checkRow(t, "audit", audit, nil, err)
	}},
	{"stacks", func(t *testing.T, b *bench) {
		for key := store.StackKey(1); key <= 6; key++ {
			d := stackOf(key, fmt.Sprint("s", key))
			switch key {
			case 2:
				d.Stack.Region = "eu-west-2"
			case 3:
				d.Stack.Account = "111111111111"
			case 5:
				d.Stack.Created = stackOf(6, "").Stack.Created
			}
			b.create(d)
		}
		b.put(store.Target{Stack: 4}, func(v *store.View) store.Delta {
			s := v.Stack
			s.Live = false
			return store.Delta{Stack: &s}
		})
		for _, page := range []struct {
			deleted bool
			after   store.StackKey
			limit   int
			want    string
		}{
			{true, 0, 9, "s6 s5 s4 s1"}, {false, 0, 9, "s6 s5 s1"}, {true, 0, 2, "s6 s5"}, {true, 5, 2, "s4 s1"},
			{false, 4, 9, "s1"}, {true, 6, 1, "s5"}, {true, 1, 9, ""}, {true, 0, 0, ""},
		} {
			stacks, err := b.Stacks(context.Background(), "000000000000", "eu-west-1", page.deleted, page.after, page.limit)
			var names []string
			for _, s := range stacks {
				names = append(names, s.Name)
			}
			if got := strings.Join(names, " "); got != page.want || err != nil {
				t.Errorf("%+v: got %q, error %v", page, got, err)
			}
		}
	}},
	{"operations by their ids", func(t *testing.T, b *bench) {
		find := func(id string) (store.StackKey, int, string) {
			t.Helper()
			stack, operation, err := b.FindOperation(context.Background(), id)
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if stack.Key != operation.Stack {
				t.Errorf("%s: operation of stack %d, stack %d", id, operation.Stack, stack.Key)
			}
			return stack.Key, operation.Number, stack.Name
		}
		expect := func(id string, key store.StackKey, number int) {
			t.Helper()
			if k, n, name := find(id); k != key || n != number || name != fmt.Sprint("s", key) {
				t.Errorf("%s is operation %d of stack %d, %s; want operation %d of stack %d", id, n, k, name, number, key)
			}
		}
		for key := store.StackKey(1); key <= 2; key++ {
			d := stackOf(key, fmt.Sprint("s", key))
			d.Operation.ID = fmt.Sprint("o", key)
			b.create(d)
		}
		expect("o1", 1, 1)
		expect("o2", 2, 1)
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			o := v.Operation
			o.Version++
			o.RollbackID = "r1"
			return store.Delta{Operation: &o}
		})
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta { // written once more, without a new ID
			o := v.Operation
			o.Version++
			o.Phase = store.PhaseReverted
			return store.Delta{Operation: &o}
		})
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta { // an ID that another stack has
			o := v.Operation
			o.Number, o.Version, o.ID, o.RollbackID = 2, 1, "o3", "o2"
			return store.Delta{Operation: &o}
		})
		expect("o1", 1, 1)
		expect("r1", 1, 1)
		expect("o3", 1, 2)
		expect("o2", 2, 1)
		if _, operation, _ := b.FindOperation(context.Background(), "r1"); operation.Phase != store.PhaseReverted {
			t.Errorf("the operation is in phase %s, want it as it was written last", operation.Phase)
		}
		b.create(func() store.Delta { d := stackOf(3, "s3"); d.Operation.ID = ""; return d }())
		for _, id := range []string{"", "s1", "nobody"} {
			_, _, err := b.FindOperation(context.Background(), id)
			isError(t, "operation "+id, err, store.ErrNotFound)
		}
	}},
	{"gone as it comes", func(t *testing.T, b *bench) {
		d := stackOf(1, "one")
		d.Stack.Live = false
		b.create(d)
		_, err := b.LiveStack(context.Background(), nameOf(*d.Stack))
		isError(t, "a stack that never lived, by its name", err, store.ErrNotFound)
		got, err := b.Stack(context.Background(), d.Stack.ID)
		checkRow(t, "a stack that never lived", got, *d.Stack, err)
		b.create(stackOf(2, "one")) // the name is free
	}},
	{"events", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		move := func(text string) {
			b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
				var d store.Delta
				d.Operation, d.Events = event(v, text)
				d.Events = append(d.Events, store.Event{ID: text + "'", Physical: "p", Properties: `{"a":"*****"}`, Verb: store.VerbCreate,
					Progress: store.ProgressRunning, Kind: store.KindCreate, Phase: store.PhaseApply, Logical: "A", Time: v.Now})
				return d
			})
		}
		move("a")
		move("b")
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			o := v.Operation
			o.Number, o.Version, o.Events = 2, 1, 0
			return store.Delta{Operation: &o}
		})
		move("c")
		for _, page := range []struct {
			before store.EventCursor
			limit  int
			want   string
		}{
			{store.EventCursor{}, 9, "2.1:c,c' 1.2:b,b' 1.1:a,a'"},
			{store.EventCursor{}, 1, "2.1:c,c'"},
			{store.EventCursor{Operation: 2, Number: 1}, 1, "1.2:b,b'"},
			{store.EventCursor{Operation: 1, Number: 2}, 9, "1.1:a,a'"},
			{store.EventCursor{Operation: 1, Number: 1}, 9, ""},
			{store.EventCursor{}, 0, ""},
		} {
			rows, err := b.Events(context.Background(), 1, page.before, page.limit)
			var texts []string
			for _, row := range rows {
				var ids []string
				for _, e := range row.Events {
					ids = append(ids, e.ID)
				}
				texts = append(texts, fmt.Sprintf("%d.%d:%s", row.Place.Operation, row.Place.Number, strings.Join(ids, ",")))
			}
			if got := strings.Join(texts, " "); got != page.want || err != nil {
				t.Errorf("%+v: got %q, error %v", page, got, err)
			}
		}
		rows, err := b.Events(context.Background(), 1, store.EventCursor{}, 1)
		if err != nil || len(rows) != 1 || len(rows[0].Events) != 2 {
			t.Fatalf("%v, error %v", rows, err)
		}
		same(t, "event", rows[0].Events[1], store.Event{ID: "c'", Physical: "p", Properties: `{"a":"*****"}`, Verb: store.VerbCreate,
			Progress: store.ProgressRunning, Kind: store.KindCreate, Phase: store.PhaseApply, Logical: "A", Time: b.now()})
	}},
	{"audit", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		entry := func(text string) store.Audit {
			return store.Audit{Time: b.now(), Request: "r", Logical: "A", Text: text}
		}
		for _, texts := range [][]string{{"a", "b"}, {"c"}} {
			b.put(store.Target{Name: nameOf(*stackOf(1, "one").Stack)}, func(*store.View) store.Delta {
				var d store.Delta
				for _, text := range texts {
					d.Audit = append(d.Audit, entry(text))
				}
				return d
			})
		}
		audit, err := b.Audit(context.Background(), 1, 9)
		checkRow(t, "all", audit, []store.Audit{entry("c"), entry("b"), entry("a")}, err)
		audit, err = b.Audit(context.Background(), 1, 2)
		checkRow(t, "two", audit, []store.Audit{entry("c"), entry("b")}, err)
	}},
	{"providers", func(t *testing.T, b *bench) {
		ctx := context.Background()
		list, err := b.Providers(ctx)
		checkRow(t, "none", list, nil, err)
		for _, p := range []store.Provider{
			{Name: "b", Definition: []byte(`{"run":"./b"}`)}, {Name: "A", Definition: []byte(`{}`)}, {Name: "b", Definition: []byte(`{"run":"./c"}`)},
		} {
			if err := b.PutProvider(ctx, p); err != nil {
				t.Fatal(err)
			}
		}
		list, err = b.Providers(ctx)
		checkRow(t, "two", list, []store.Provider{{Name: "A", Definition: []byte(`{}`)}, {Name: "b", Definition: []byte(`{"run":"./c"}`)}}, err)
	}},
	{"parameters", parameters},
	{"parameters at once", parametersAtOnce},
	{"entries", entries},
	{"entries at once", entriesAtOnce},
	{"providers that are held", func(t *testing.T, b *bench) {
		ctx := context.Background()
		put := func(name, holder, definition string, want error) {
			t.Helper()
			err := b.PutProvider(ctx, store.Provider{Name: name, Holder: holder, Definition: []byte(definition)})
			if !errors.Is(err, want) {
				t.Fatalf("%s by %q: %v, want %v", name, holder, err, want)
			}
		}
		put("p", "", "{}", nil)
		put("p", "one", "{}", store.ErrTaken)
		put("q", "one", `{"a":1}`, nil)
		put("q", "two", "{}", store.ErrTaken)
		put("q", "", "{}", store.ErrTaken)
		put("q", "one", `{"a":2}`, nil)
		row, err := b.Provider(ctx, "q")
		checkRow(t, "held", row, store.Provider{Name: "q", Holder: "one", Definition: []byte(`{"a":2}`)}, err)
		if err := cmp.Or(b.DropProvider(ctx, "q", "two"), b.DropProvider(ctx, "none", "one")); err != nil {
			t.Fatal(err)
		}
		list, err := b.Providers(ctx)
		checkRow(t, "all", list, []store.Provider{{Name: "p", Definition: []byte(`{}`)}, {Name: "q", Holder: "one", Definition: []byte(`{"a":2}`)}}, err)
		if err := b.DropProvider(ctx, "q", "one"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Provider(ctx, "q"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what was dropped: %v", err)
		}
		put("q", "two", "{}", nil)
	}},
	{"ping", func(t *testing.T, b *bench) {
		if err := b.Ping(context.Background()); err != nil {
			t.Error(err)
		}
	}},
	{"time", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		cet := time.FixedZone("CET", 3600)
		b.asks(1, store.Request{ID: "r", State: store.RequestWaiting, Due: start.In(cet)})
		r, err := b.Request(context.Background(), wire.RequestID("r"))
		if want := start.Truncate(time.Millisecond); err != nil || !r.Due.Equal(want) || r.Due.Location() != time.UTC {
			t.Errorf("due %v, want %v; error %v", r.Due, want, err)
		}
	}},
}

// checkRow reports a query that failed or returned another row.
func checkRow[T any](t *testing.T, what string, got, want T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	same(t, what, got, want)
}
