package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

var writeTests = []test{
	{"nil bodies", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		b.put(store.Target{Request: "top"}, func(v *store.View) store.Delta {
			step, instance, request := v.Steps["Top"], v.Instances[1], *v.Request
			step.State, step.Plan = store.StepDone, nil
			instance.PhysicalID, instance.Body = "phys-2", nil
			request.Delivered, request.Body = v.Now, nil
			return store.Delta{Steps: []store.Step{step}, Instances: []store.Instance{instance}, Requests: []store.Request{request}}
		})
		v := b.whole(1)
		want := graph(1)
		want.Steps[0].State, want.Instances[0].PhysicalID, want.Requests[0].Delivered = store.StepDone, "phys-2", b.now()
		same(t, "step", v.Steps["Top"], want.Steps[0])
		same(t, "instance", v.Instances[1], want.Instances[0])
		same(t, "request", v.Requests["top"], want.Requests[0])
		same(t, "step beside it", v.Steps["Mid"], delta.Steps[1])
	}},
	{"new bodies", func(t *testing.T, b *bench) {
		b.create(graph(1))
		want := graph(1)
		step, instance, request := want.Steps[0], want.Instances[0], want.Requests[0]
		step.Plan = &store.StepPlan{Type: "Custom::Other"}
		instance.Body = &store.InstanceBody{Type: "Custom::Other", Data: value.Object(value.Member{Key: "a", Value: value.Str("b")})}
		request.Body = &store.RequestBody{Region: "eu-west-2", Properties: value.Object()}
		b.put(store.Target{Request: "top"}, func(*store.View) store.Delta {
			return store.Delta{Steps: []store.Step{step}, Instances: []store.Instance{instance}, Requests: []store.Request{request}}
		})
		v := b.whole(1)
		same(t, "step", v.Steps["Top"], step)
		same(t, "instance", v.Instances[1], instance)
		same(t, "request", v.Requests["top"], request)
	}},
	{"drop steps", func(t *testing.T, b *bench) {
		b.create(graph(1))
		only := graph(1).Steps[0]
		only.Logical = "Only"
		b.put(store.Target{Stack: 1}, func(*store.View) store.Delta {
			return store.Delta{DropSteps: true, Steps: []store.Step{only}}
		})
		same(t, "steps", b.whole(1).Steps, map[wire.LogicalID]store.Step{"Only": only})
		b.put(store.Target{Stack: 1}, func(*store.View) store.Delta { return store.Delta{DropSteps: true} })
		same(t, "steps", b.whole(1).Steps, map[wire.LogicalID]store.Step{})
	}},
	{"next operation", func(t *testing.T, b *bench) {
		delta := graph(1)
		b.create(delta)
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			s, o := v.Stack, v.Operation
			s.Operation, s.Revision, s.Revisions = 2, 5, 5
			o.Number, o.Version, o.Events, o.From, o.To, o.Tried = 2, 1, 1, 2, 5, nil
			return store.Delta{
				Stack: &s, Operation: &o, Events: []store.Event{{ID: "first of 2"}},
				Revisions: []store.Revision{{Stack: 1, Number: 5, Template: delta.Revisions[0].Template}},
			}
		})
		v := b.whole(1)
		if v.Operation.Number != 2 || len(v.Revisions) != 2 || v.Revisions[5].Template != delta.Revisions[0].Template {
			t.Errorf("the view is of operation %d and has %d revisions", v.Operation.Number, len(v.Revisions))
		}
		if old, err := b.Operation(context.Background(), 1, 1); err != nil {
			t.Error(err)
		} else {
			same(t, "operation 1", old, *delta.Operation)
		}
	}},
	{"a decision's error", func(t *testing.T, b *bench) {
		b.create(graph(1))
		before := b.whole(1)
		refusal := errors.New("stack is busy")
		err := b.Apply(context.Background(), store.Target{Stack: 1}, func(v *store.View) (store.Delta, error) {
			return store.Delta{DropSteps: true}, refusal
		})
		if err != refusal { //nolint:errorlint // the contract is: as it is
			t.Errorf("the error came back as %v", err)
		}
		same(t, "stack", b.whole(1), before)
	}},
	{"secrets", func(t *testing.T, b *bench) {
		delta := graph(1)
		secret := value.Object(
			value.Member{Key: "open", Value: value.Str("open")},
			value.Member{Key: "password", Value: value.SecretStr("hunter2")},
			value.Member{Key: "pin", Value: value.Items(value.Num("0.10"), value.Boolean(true)).Tainted(value.OfParameter)})
		delta.Stack.OutputValues, delta.Revisions[1].Parameters = secret, secret
		body := delta.Instances[0].Body
		body.Properties, body.Attempted, body.Data, body.Metadata = deep().Tainted(value.OfAttribute), secret, secret, secret
		delta.Requests[0].Body.Properties, delta.Requests[0].Body.OldProperties = secret, secret
		b.create(delta)
		v := b.whole(1)
		got := map[string]value.Value{
			"outputs": v.Stack.OutputValues, "parameters": v.Revisions[2].Parameters,
			"attempted": v.Instances[1].Body.Attempted, "data": v.Instances[1].Body.Data, "metadata": v.Instances[1].Body.Metadata,
			"request": v.Requests["top"].Body.Properties, "old": v.Requests["top"].Body.OldProperties,
		}
		for what, is := range got {
			if string(is.JSON()) != string(secret.JSON()) || is.String() != secret.String() {
				t.Errorf("%s: came back as %s, masked %s", what, is.JSON(), is)
			}
		}
		if is := v.Instances[1].Body.Properties; string(is.JSON()) != string(deep().JSON()) || is.String() != deep().Tainted(value.OfAttribute).String() {
			t.Errorf("properties: came back as %s, masked %s", is.JSON(), is)
		}
	}},
	{"impossible rows", impossibleRows},
}

// impossibleRows tries rows that no decision may write, each together with a valid row.
func impossibleRows(t *testing.T, b *bench) {
	b.create(graph(1))
	b.create(stackOf(2, "other"))
	before := b.whole(1)
	due := start.Add(time.Hour)
	request := func(state store.RequestState, owner, executor store.Incarnation, due time.Time) func(*store.Delta) {
		return func(d *store.Delta) {
			r := graph(1).Requests[0]
			r.State, r.Owner, r.Executor, r.Due = state, owner, executor, due
			d.Requests = append(d.Requests, r)
		}
	}
	for name, spoil := range map[string]func(*store.Delta){
		"ready, nobody's":         request(store.RequestReady, 0, 0, time.Time{}),
		"ready with due":          request(store.RequestReady, 5, 0, due),
		"ready and executed":      request(store.RequestReady, 5, 5, time.Time{}),
		"waiting for ever":        request(store.RequestWaiting, 0, 5, time.Time{}),
		"waiting, owned":          request(store.RequestWaiting, 5, 0, due),
		"delayed for ever":        request(store.RequestDelayed, 0, 0, time.Time{}),
		"delayed and executed":    request(store.RequestDelayed, 0, 5, due),
		"settled with due":        request(store.RequestSettled, 0, 0, due),
		"settled, owned":          request(store.RequestSettled, 5, 0, time.Time{}),
		"no state":                request("", 0, 0, time.Time{}),
		"another stack's step":    func(d *store.Delta) { d.Steps[0].Stack = 2 },
		"another stack's request": func(d *store.Delta) { request(store.RequestSettled, 0, 0, time.Time{})(d); d.Requests[0].Stack = 2 },
		"a plan from nowhere":     func(d *store.Delta) { d.Steps[0].Logical, d.Steps[0].Plan = "Unknown", nil },
		"a dropped plan":          func(d *store.Delta) { d.DropSteps, d.Steps[0].Plan = true, nil },
		"an instance from nowhere": func(d *store.Delta) {
			d.Instances = []store.Instance{{Stack: 1, Number: 9, Logical: "Top", Role: store.RoleCurrent}}
		},
		"a wait of nothing": func(d *store.Delta) {
			request(store.RequestSettled, 0, 0, time.Time{})(d)
			d.Requests[0].Type = store.TypeIsComplete
		},
		"a request that is a wait": func(d *store.Delta) {
			request(store.RequestSettled, 0, 0, time.Time{})(d)
			d.Requests[0].Wait = &store.Wait{For: "mid"}
		},
		"a request from nowhere": func(d *store.Delta) {
			d.Requests = []store.Request{{ID: "new", Stack: 1, Operation: 1, Instance: 1, Logical: "Top", Type: "Create", State: store.RequestSettled}}
		},
		"no role":          func(d *store.Delta) { d.Instances = graph(1).Instances[:1]; d.Instances[0].Role = "spare" },
		"changed revision": func(d *store.Delta) { d.Revisions = graph(1).Revisions[:1] },
		"same version":     func(d *store.Delta) { d.Operation = graph(1).Operation },
		"skipped operation": func(d *store.Delta) {
			d.Operation = graph(1).Operation
			d.Operation.Number = 3
		},
		"unnumbered events": func(d *store.Delta) { d.Events = []store.Event{{}} },
		"uncounted events": func(d *store.Delta) {
			d.Operation, d.Events = graph(1).Operation, []store.Event{{}}
			d.Operation.Version = 2
		},
		"another name": func(d *store.Delta) { d.Stack = graph(1).Stack; d.Stack.Name = "renamed" },
	} {
		delta := store.Delta{Steps: graph(1).Steps[4:], Audit: []store.Audit{{Text: "right"}}}
		delta.Steps[0].State = store.StepFailed
		spoil(&delta)
		if err := b.Apply(context.Background(), store.Target{Stack: 1}, func(*store.View) (store.Delta, error) { return delta, nil }); err == nil {
			t.Errorf("%s: was written", name)
		}
	}
	for name, delta := range map[string]store.Delta{
		"rows of nothing": {Audit: []store.Audit{{}}},
		"taken key": func() store.Delta {
			d := stackOf(3, "third")
			d.Stack.Key, d.Operation, d.Revisions = 2, nil, nil
			return d
		}(),
		"taken id": func() store.Delta { d := stackOf(3, "third"); d.Stack.ID = graph(1).Stack.ID; return d }(),
	} {
		err := b.Apply(context.Background(), store.Target{Name: nameOf(*stackOf(3, "third").Stack)},
			func(*store.View) (store.Delta, error) { return delta, nil })
		if err == nil {
			t.Errorf("%s: was written", name)
		}
	}
	same(t, "stack", b.whole(1), before)
	audit, err := b.Audit(context.Background(), 1, 10)
	same(t, "audit", fmt.Sprint(audit, err), fmt.Sprint([]store.Audit{}, nil))
}
