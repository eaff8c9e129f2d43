package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// executionTests are about requests that are executions of state machines.
var executionTests = []test{
	{"a row as it was written", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "s"))
		row := executionOf(1, "e", machine)
		row.Execution = &store.Execution{
			Name: "e", Status: store.ExecutionRunning, State: "Wait for it", Try: 3, Tries: []int{2, 0},
			Deadline: b.now().Add(time.Hour),
		}
		row.Body.Properties = value.Object(value.Member{Key: "Input", Value: value.SecretStr(`{"a": 1}`)})
		row.Body.Pending = value.SecretStr(`{"n": 1.50}`)
		b.put(store.Target{Stack: 1}, func(*store.View) store.Delta { return store.Delta{Requests: []store.Request{row}} })
		got, err := b.Request(context.Background(), row.ID)
		isError(t, "request", err, nil)
		same(t, "request", got, row)
		same(t, "unsettled requests", b.whole(1).Requests, map[wire.RequestID]store.Request{row.ID: row})
	}},
	{"a request that may be there", func(t *testing.T, b *bench) {
		for key := store.StackKey(1); key <= 2; key++ {
			b.create(stackOf(key, string(rune('a'+key))))
		}
		start := func(key store.StackKey, name string) *store.View {
			target := store.Target{Stack: key, Request: executionOf(key, name, machine).ID, Alone: true}
			var seen store.View
			b.put(target, func(v *store.View) (d store.Delta) {
				seen = *v
				if v.Request == nil {
					d.Requests = []store.Request{executionOf(key, name, machine)}
				}
				return d
			})
			return &seen
		}
		fresh := start(1, "e")
		if fresh.Request != nil || len(fresh.Requests) > 0 || fresh.Stack.Key != 1 || fresh.Operation.Number != 1 || fresh.Whole || len(fresh.Revisions) > 0 {
			t.Errorf("of a request that is not there the view is %+v", fresh)
		}
		same(t, "the request that is there", start(1, "e").Request, new(executionOf(1, "e", machine)))
		if other := start(2, "e"); other.Request == nil || other.Request.Stack != 1 || other.Stack.Key != 2 || len(other.Requests) > 0 {
			t.Errorf("of another stack's request the view is %+v", other)
		}
		b.settle(executionOf(1, "e", machine).ID)
		if over := start(1, "e"); over.Request == nil || over.Request.State != store.RequestSettled || len(over.Requests) > 0 {
			t.Errorf("of a settled request the view is %+v", over)
		}
		err := b.Apply(context.Background(), store.Target{Stack: 9, Request: "r", Alone: true}, func(*store.View) (store.Delta, error) {
			t.Error("a decision was made on a stack that is not there")
			return store.Delta{}, nil
		})
		isError(t, "a stack that is not there", err, store.ErrNotFound)
		if err := b.Apply(context.Background(), store.Target{Stack: 1, Request: "r"}, func(*store.View) (store.Delta, error) {
			return store.Delta{}, nil
		}); err == nil {
			t.Error("a target of a stack and a request was taken that is not alone")
		}
	}},
	{"those of a machine", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "s"))
		b.create(stackOf(2, "t"))
		for _, name := range []string{"a", "b", "c", "d"} {
			b.clock.Advance(time.Second)
			for _, m := range []string{machine, machine + "2"} {
				key := store.StackKey(1)
				if name == "d" {
					key = 2
				}
				row := executionOf(key, name, m)
				row.Created = b.now()
				b.put(store.Target{Stack: key}, func(*store.View) store.Delta { return store.Delta{Requests: []store.Request{row}} })
			}
		}
		b.asks(1, store.Request{ID: "other", State: store.RequestReady, Owner: 1, Logical: wire.LogicalID(machine)})
		b.settle(executionOf(1, "b", machine).ID)
		for _, page := range []struct {
			open  bool
			after string
			limit int
			want  string
		}{
			{false, "", 9, "d c b a"}, {true, "", 9, "d c a"}, {false, "", 2, "d c"}, {false, "c", 9, "b a"}, {true, "c", 1, "a"},
			{false, "b", 9, "a"}, {false, "a", 9, ""}, {false, "", 0, ""},
		} {
			var after wire.RequestID
			if page.after != "" {
				after = executionOf(1, page.after, machine).ID
			}
			rows, err := b.Executions(context.Background(), machine, page.open, after, page.limit)
			var names []string
			for _, row := range rows {
				names = append(names, row.Execution.Name)
				if row.Body != nil {
					t.Errorf("%s has a body", row.ID)
				}
			}
			if got := strings.Join(names, " "); got != page.want || err != nil {
				t.Errorf("%+v: got %q, error %v", page, got, err)
			}
		}
		_, err := b.Executions(context.Background(), machine, false, "nothing", 9)
		isError(t, "after nothing", err, store.ErrNotFound)
	}},
	{"what is no execution", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "s"))
		for what, change := range map[string]func(*store.Request){
			"an execution that says nothing": func(r *store.Request) { r.Execution = nil },
			"a Create that is one":           func(r *store.Request) { r.Type = wire.Create },
		} {
			row := executionOf(1, "e", machine)
			change(&row)
			err := b.Apply(context.Background(), store.Target{Stack: 1}, func(*store.View) (store.Delta, error) {
				return store.Delta{Requests: []store.Request{row}}, nil
			})
			if err == nil {
				t.Errorf("%s was written", what)
			}
		}
	}},
}

const machine = "arn:aws:states:eu-west-1:000000000000:stateMachine:M"

// executionOf returns an execution whose task is ready.
func executionOf(key store.StackKey, name, machine string) store.Request {
	return store.Request{
		ID: wire.RequestID(strings.Replace(machine, "stateMachine", "execution", 1) + ":" + name), Stack: key, Operation: 1,
		Logical: wire.LogicalID(machine), Type: store.TypeExecution, State: store.RequestReady, Owner: 1,
		Execution: &store.Execution{Name: name, Status: store.ExecutionRunning, State: "Task", Try: 1},
		Created:   start.Truncate(time.Millisecond),
		Body: &store.RequestBody{
			Dialect: "cloudformation", Region: "eu-west-1", Token: value.Str("arn:aws:lambda:eu-west-1:000000000000:function:F"),
			Properties: value.Object(),
		},
	}
}
