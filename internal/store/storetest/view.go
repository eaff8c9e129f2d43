package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

var viewTests = []test{
	{"new name", func(t *testing.T, b *bench) {
		v := b.see(store.Target{Name: store.StackName{Account: "1", Region: "eu-west-1", Name: "one"}})
		if v.Stack.Key != 0 || v.Operation.Number != 0 || v.Request != nil || !v.Whole || !v.Now.Equal(b.now()) {
			t.Errorf("the view of a name that is not taken holds something: %+v", v)
		}
		if v.Now.Location() != time.UTC {
			t.Errorf("now is not UTC: %v", v.Now)
		}
	}},
	{"whole", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		for _, target := range []store.Target{{Stack: 1}, {Name: nameOf(*delta.Stack)}} {
			checkView(t, b.see(target), delta, seen{
				whole: true, revisions: []int{1, 2, 3},
				steps:     []wire.LogicalID{"Top", "Mid", "Low", "Base", "Far"},
				instances: []int{1, 2, 3, 4, 5, 6, 7, 8},
				requests:  []wire.RequestID{"top", "mid", "old-mid", "low", "far", "lost", "timer"},
			})
		}
	}},
	{"narrow", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		checkView(t, b.see(store.Target{Request: "top"}), delta, seen{
			request: "top", revisions: []int{1, 2, 3},
			steps:     []wire.LogicalID{"Top", "Mid"},
			instances: []int{1, 2, 4, 6, 7},
			requests:  []wire.RequestID{"top", "mid", "old-mid"},
		})
	}},
	{"narrow without a step", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		checkView(t, b.see(store.Target{Request: "lost"}), delta, seen{
			request: "lost", revisions: []int{1, 2, 3}, instances: []int{6}, requests: []wire.RequestID{"lost"},
		})
	}},
	{"timer", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		checkView(t, b.see(store.Target{Request: "timer"}), delta,
			seen{request: "timer", revisions: []int{1, 2, 3}, requests: []wire.RequestID{"timer"}})
	}},
	{"alone", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		checkView(t, b.see(store.Target{Request: "top", Alone: true}), delta,
			seen{request: "top", requests: []wire.RequestID{"top"}})
		checkView(t, b.see(store.Target{Request: "top", Alone: true}, &store.More{Steps: []wire.LogicalID{"Far"}}), delta, seen{
			request: "top", revisions: []int{1, 2, 3},
			steps: []wire.LogicalID{"Far"}, instances: []int{5}, requests: []wire.RequestID{"top", "far"},
		})
	}},
	{"settled target", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		checkView(t, b.see(store.Target{Request: "done"}), delta, seen{
			request: "done", revisions: []int{1, 2, 3},
			steps: []wire.LogicalID{"Base", "Mid"}, instances: []int{1, 2, 4, 6, 7}, requests: []wire.RequestID{"mid", "old-mid"},
		})
		checkView(t, b.see(store.Target{Request: "done", Alone: true}), delta, seen{request: "done"})
	}},
	{"more steps", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		want := seen{
			request: "top", revisions: []int{1, 2, 3},
			steps:     []wire.LogicalID{"Top", "Mid", "Low", "Far"},
			instances: []int{1, 2, 3, 4, 5, 6, 7},
			requests:  []wire.RequestID{"top", "mid", "old-mid", "low", "far"},
		}
		top := store.Target{Request: "top"}
		checkView(t, b.see(top, &store.More{Steps: []wire.LogicalID{"Low", "Far", "Nowhere"}}), delta, want)
		checkView(t, b.see(top, &store.More{Steps: []wire.LogicalID{"Low"}}, &store.More{Steps: []wire.LogicalID{"Low", "Far"}}), delta, want)
	}},
	{"more, whole", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		for _, alone := range []bool{false, true} {
			checkView(t, b.see(store.Target{Request: "top", Alone: alone}, &store.More{Steps: []wire.LogicalID{"Low"}}, &store.More{Whole: true}), delta, seen{
				request: "top", whole: true, revisions: []int{1, 2, 3},
				steps:     []wire.LogicalID{"Top", "Mid", "Low", "Base", "Far"},
				instances: []int{1, 2, 3, 4, 5, 6, 7, 8},
				requests:  []wire.RequestID{"top", "mid", "old-mid", "low", "far", "lost", "timer"},
			})
		}
	}},
	{"more without end", func(t *testing.T, b *bench) {
		b.create(graph(1))
		for name, target := range map[string]store.Target{"narrow": {Request: "top"}, "whole": {Stack: 1}} {
			calls := 0
			err := b.Apply(context.Background(), target, func(*store.View) (store.Delta, error) {
				calls++
				return store.Delta{}, &store.More{Steps: []wire.LogicalID{"Low"}}
			})
			if more := new(store.More); err == nil || errors.As(err, &more) || calls > 2 {
				t.Errorf("%s: a decision that asks for ever ended with %v after %d calls", name, err, calls)
			}
		}
	}},
	{"no such thing", func(t *testing.T, b *bench) {
		b.create(graph(1))
		never := func(*store.View) (store.Delta, error) {
			t.Error("a decision was asked about nothing")
			return store.Delta{}, nil
		}
		isError(t, "request", b.Apply(context.Background(), store.Target{Request: "nobody"}, never), store.ErrNotFound)
		isError(t, "stack", b.Apply(context.Background(), store.Target{Stack: 2}, never), store.ErrNotFound)
		for _, target := range []store.Target{{}, {Request: "top", Stack: 1}} {
			if err := b.Apply(context.Background(), target, never); err == nil || errors.Is(err, store.ErrNotFound) {
				t.Errorf("target %+v: error %v", target, err)
			}
		}
	}},
	{"own copy", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		v := b.see(store.Target{Request: "top"})
		v.Request.Body.Region, v.Request.State = "changed", store.RequestSettled
		v.Instances[1].Body.Type, v.Requests["top"].Body.Region, v.Steps["Top"].Plan.Type = "changed", "changed", "changed"
		clear(v.Steps)
		clear(v.Revisions)
		checkView(t, b.whole(1), delta, seen{
			whole: true, revisions: []int{1, 2, 3},
			steps:     []wire.LogicalID{"Top", "Mid", "Low", "Base", "Far"},
			instances: []int{1, 2, 3, 4, 5, 6, 7, 8},
			requests:  []wire.RequestID{"top", "mid", "old-mid", "low", "far", "lost", "timer"},
		})
	}},
}

// seen says which rows of a delta a view contains.
type seen struct {
	whole     bool
	request   wire.RequestID
	revisions []int
	steps     []wire.LogicalID
	instances []int
	requests  []wire.RequestID
}

// checkView reports a view that does not contain exactly the rows that want names, as they were written.
func checkView(t *testing.T, got *store.View, written store.Delta, want seen) {
	t.Helper()
	view := store.View{
		Now: got.Now, Stack: *written.Stack, Operation: *written.Operation, Whole: want.whole,
		Revisions: make(map[int]store.Revision), Steps: make(map[wire.LogicalID]store.Step),
		Instances: make(map[int]store.Instance), Requests: make(map[wire.RequestID]store.Request),
	}
	for _, r := range written.Revisions {
		if slices.Contains(want.revisions, r.Number) {
			view.Revisions[r.Number] = r
		}
	}
	for _, s := range written.Steps {
		if slices.Contains(want.steps, s.Logical) {
			view.Steps[s.Logical] = s
		}
	}
	for _, i := range written.Instances {
		if slices.Contains(want.instances, i.Number) {
			view.Instances[i.Number] = i
		}
	}
	for _, r := range written.Requests {
		if slices.Contains(want.requests, r.ID) {
			view.Requests[r.ID] = r
		}
		if r.ID == want.request {
			view.Request = &r
		}
	}
	same(t, "revisions", slices.Sorted(maps.Keys(got.Revisions)), want.revisions)
	same(t, "steps", slices.Sorted(maps.Keys(got.Steps)), slices.Sorted(slices.Values(want.steps)))
	same(t, "instances", slices.Sorted(maps.Keys(got.Instances)), want.instances)
	same(t, "requests", slices.Sorted(maps.Keys(got.Requests)), slices.Sorted(slices.Values(want.requests)))
	if !t.Failed() {
		same(t, "view", *got, view)
	}
}

// graph returns a stack in the middle of an update from revision 1 to 2, after 3 was tried. Low needs Mid. Mid needs
// Top and Base and, in revision 1, Gone. Far stands alone. Every field of every row is set.
func graph(key store.StackKey) store.Delta {
	d := stackOf(key, "graph")
	d.Stack.Revision = 2
	d.Stack.OutputValues = value.Object(value.Member{Key: "Page", Value: value.Str("https://example.com/?a=1&b=<2>")})
	d.Operation.From, d.Operation.To, d.Operation.Tried = 1, 2, []int{3}
	d.Revisions[0].Parameters = value.Object(value.Member{Key: "Count", Value: value.Num("10000000")})
	d.Revisions = append(d.Revisions, store.Revision{
		Stack: key, Number: 2, Template: "Resources: {}\n# \x01 é", Parameters: value.Object(value.Member{Key: "Count", Value: value.Num("1e+07")}),
	}, store.Revision{Stack: key, Number: 3, Parameters: value.Object()}, store.Revision{Stack: key, Number: 4, Parameters: value.Object()})
	fill(d.Stack)
	fill(d.Operation)
	fill(&d.Revisions[0])

	needs := map[wire.LogicalID][]wire.LogicalID{"Mid": {"Top", "Base"}, "Low": {"Mid"}}
	next := map[wire.LogicalID][]wire.LogicalID{"Top": {"Mid"}, "Base": {"Mid"}, "Mid": {"Low"}}
	for _, logical := range []wire.LogicalID{"Top", "Mid", "Low", "Base", "Far"} {
		plan := &store.StepPlan{OldNeeds: needs[logical], NewNeeds: needs[logical], OldFeeds: next[logical], NewFeeds: next[logical]}
		if logical == "Mid" {
			plan.OldNeeds = append(slices.Clone(plan.OldNeeds), "Gone")
		}
		step := store.Step{Stack: key, Logical: logical, State: store.StepRunning, Next: next[logical], Plan: plan}
		if logical == "Far" {
			plan.OldNeeds, plan.NewNeeds, step.Next = []wire.LogicalID{"Far"}, []wire.LogicalID{"Far"}, []wire.LogicalID{"Far"}
			fill(&step)
			fill(plan)
		}
		d.Steps = append(d.Steps, step)
	}
	for i, of := range []struct {
		logical wire.LogicalID
		role    store.Role
	}{
		{"Top", store.RoleCurrent}, {"Mid", store.RoleCurrent}, {"Low", store.RoleCurrent}, {"Base", store.RoleCurrent},
		{"Far", store.RoleOrphan}, {"Gone", store.RoleRetained}, {"Mid", store.RoleCondemned}, {"Top", store.RoleGone},
	} {
		row := store.Instance{Stack: key, Number: i + 1, Logical: of.logical, Role: of.role, Body: &store.InstanceBody{
			Properties: deep(), Attempted: value.Object(value.Member{Key: "n", Value: value.Num("1.50")}), Data: value.Object(),
		}}
		fill(&row)
		fill(row.Body)
		d.Instances = append(d.Instances, row)
	}
	at := start.Truncate(time.Millisecond)
	for i, row := range []store.Request{
		{ID: "top", Logical: "Top", State: store.RequestReady, Owner: 5},
		{ID: "old-mid", Logical: "Mid", State: store.RequestWaiting, Due: at.Add(time.Second)},
		{ID: "mid", Logical: "Mid", State: store.RequestWaiting, Executor: 5, Due: at.Add(2 * time.Second), Within: time.Minute, Silence: &store.Silence{Since: at, Awaits: "1 thread"}},
		{ID: "low", Logical: "Low", State: store.RequestDelayed, Due: at.Add(3 * time.Second)},
		{ID: "far", Logical: "Far", State: store.RequestReady, Owner: 6},
		{ID: "done", Logical: "Base", State: store.RequestSettled},
		{ID: "lost", Logical: "Gone", State: store.RequestReady, Owner: 6},
		{ID: "timer", State: store.RequestDelayed, Due: at.Add(4 * time.Second)},
	} {
		row.Stack, row.Operation, row.Instance, row.Type = key, 1, i+1, "Update"
		row.Created = at.Add(time.Duration(i) * time.Millisecond)
		row.Body = &store.RequestBody{Properties: deep(), OldProperties: value.Object()}
		fill(&row)
		row.Execution = nil
		switch row.ID {
		case "timer":
			row.Type, row.Logical, row.Instance, row.Wait = store.TypeTimer, "", 0, nil
		case "old-mid":
			row.Type, row.Body.Pending = store.TypeIsComplete, value.SecretStr(`{"n": 1}`)
		default:
			row.Wait = nil
		}
		fill(row.Body)
		d.Requests = append(d.Requests, row)
	}
	return d
}

// fill sets every plain zero field of a row, so that these tests cover a field as soon as it is added.
func fill(row any) {
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.Tag.Get("json") != "-" && v.Field(i).IsZero() {
			v.Field(i).Set(something(field.Type, field.Name))
		}
	}
}

// something returns a value that is not zero.
func something(t reflect.Type, name string) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(start))
	case t == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"` + name + `":"<é>"}`))
	case t.Kind() == reflect.String:
		v.SetString(name)
	case t.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(7)
	case t.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, something(t.Elem(), name)))
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(something(t.Key(), name), something(t.Elem(), name))
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(something(t.Elem(), name))
	case t.Kind() == reflect.Struct:
		fill(v.Addr().Interface())
	default:
		panic("the suite does not know how to fill a " + t.String())
	}
	return v
}

// deep returns a value of the maximum depth that can be sealed.
func deep() value.Value {
	v := value.Items(value.Boolean(true), value.Num("-0.10"), value.Str("\x00\n\"é"), value.Value{})
	for range value.MaxDepth - 3 { // sealing needs one more level
		v = value.Items(v)
	}
	return value.Object(value.Member{Key: "\x00sealed", Value: v})
}
