package engine_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestTraces checks that every request of an operation has the trace of the call that started it, including requests
// of a rollback or a second try. The traces of the answers that lead to them do not matter.
func TestTraces(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	begin := func(call func()) string {
		t.Helper()
		parent := trace.New()
		before := w.ctx
		w.ctx = trace.NewContext(before, parent)
		call()
		w.ctx = trace.NewContext(before, trace.New()) // the trace of the answers
		return string(parent)
	}
	is := func(r store.Request, want string) {
		t.Helper()
		if r.Body.Trace != want {
			t.Errorf("the %s of %s is of %q, want %q", r.Type, r.Logical, r.Body.Trace, want)
		}
	}
	chain := func(p string) string {
		return body(map[string]string{"A": resource(`"P": "` + p + `"`), "B": resource(`"P": "`+p+`"`, `"DependsOn": "A"`)})
	}
	first := begin(func() { w.must(w.create(chain("1"))) })
	for _, id := range []string{"A", "B"} {
		r := w.take(id)
		is(r, first)
		w.answer(r, success(id))
	}
	second := begin(func() { w.must(w.update(chain("2"))) })
	r := w.take("A")
	is(r, second)
	w.executes(r)
	w.waits(r, time.Second, `{}`)
	w.pass(time.Second)
	try := w.try(r)
	is(try, second)
	w.answer(r, success("A"))
	is(w.failing("B"), second)
	for _, id := range []string{"A", "B"} {
		undo := w.take(id)
		is(undo, second)
		w.answer(undo, success(id))
	}
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Fatalf("the stack is %s", w.status())
	}
	third := begin(w.delete)
	r = w.take("B")
	is(r, third)
	operation, err := w.store.Operation(w.ctx, r.Stack, r.Operation)
	if err != nil || operation.Trace != third || r.Type != wire.Delete {
		t.Errorf("the operation is of %q, want %q, error %v", operation.Trace, third, err)
	}
}

// failing fails a resource, and returns its request.
func (w *world) failing(logical string) store.Request {
	w.t.Helper()
	r := w.take(logical)
	w.answer(r, `"Status": "FAILED", "Reason": "no", "PhysicalResourceId": "`+logical+`"`)
	return r
}

// TestTraceOfNestedStacks checks that the requests of a nested stack belong to the trace of the call to its root.
func TestTraceOfNestedStacks(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"Deep": resource("")})
	parent := trace.New()
	before := f.ctx
	f.ctx = trace.NewContext(before, parent)
	f.must(f.create(body(map[string]string{"Child": nestedIn("child")})))
	f.ctx = before
	f.nest()
	if r := f.take("Deep"); r.Body.Trace != string(parent) {
		t.Errorf("a request of the nested stack is of the trace %q, want %q", r.Body.Trace, parent)
	}
}
