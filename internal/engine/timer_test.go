package engine_test

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
)

func (w *world) createWithin(minutes int, left, deleted bool, template string) {
	w.t.Helper()
	w.createWith(template, engine.CreateStack{
		TimeoutMinutes: minutes, DeleteOnFailure: deleted, Options: engine.Options{DisableRollback: left},
	})
}

func TestCreateExpires(t *testing.T) {
	two := body(map[string]string{"A": resource(""), "B": resource("", `"DependsOn": "A"`)})
	t.Run("rolled back", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.createWithin(2, false, false, two)
		w.succeed("A", "a")
		b := w.take("B")
		w.accept(b)
		w.pass(time.Minute)
		w.want(5, []string{})
		w.pass(time.Minute)
		w.answer(b, success("b")) // the Delete waits for it
		w.succeed("B", "b")
		w.succeed("A", "a")
		w.want(5, []string{
			`B CREATE_FAILED id=` + w.invented("B") + ` "Resource creation cancelled"`,
			`S ROLLBACK_IN_PROGRESS "Stack creation time exceeded the specified timeout. Rollback requested by user."`,
			`B DELETE_IN_PROGRESS id=b`,
			`B DELETE_COMPLETE id=b`,
			`A DELETE_IN_PROGRESS id=a`,
			`A DELETE_COMPLETE id=a`,
			`S ROLLBACK_COMPLETE`,
		})
		w.quiet()
	})
	t.Run("left", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.createWithin(1, true, false, two)
		a := w.take("A")
		w.accept(a)
		w.pass(time.Minute)
		if got := w.status(); got != "CREATE_IN_PROGRESS" { // the next operation must not meet the running Create
			t.Errorf("status = %s while a Create is with its provider", got)
		}
		w.answer(a, success("a"))
		w.want(2, []string{
			`A CREATE_FAILED id=` + w.invented("A") + ` "Resource creation cancelled"`,
			`S CREATE_FAILED "Stack creation time exceeded the specified timeout. "`,
		})
		w.quiet()
	})
	t.Run("deleted", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.createWithin(1, false, true, body(map[string]string{"A": resource("")}))
		w.accept(w.take("A"))
		w.pass(time.Minute)
		w.pass(time.Hour) // the Create never answers
		id := w.invented("A")
		w.succeed("A", id)
		w.want(3, []string{
			`S DELETE_IN_PROGRESS "Stack creation time exceeded the specified timeout. Delete requested by user."`,
			`A DELETE_IN_PROGRESS id=` + id,
			`A DELETE_COMPLETE id=` + id,
			`S DELETE_COMPLETE`,
		})
		w.quiet()
	})
	t.Run("in time", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.createWithin(1, false, false, body(map[string]string{"A": resource("")}))
		w.succeed("A", "a")
		w.quiet()
		w.must(w.update(body(map[string]string{"A": resource(`"K": "2"`)})))
		w.pass(time.Hour)
		w.succeed("A", "a")
		if got := w.status(); got != "UPDATE_COMPLETE" {
			t.Errorf("status = %s: a create's time limit is none of an update's", got)
		}
	})
	t.Run("not in anyone's time", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.createWithin(math.MaxInt, false, false, body(map[string]string{"A": resource("")}))
		w.pass(time.Hour)
		w.succeed("A", "a")
		if got := w.status(); got != "CREATE_COMPLETE" {
			t.Errorf("status = %s", got)
		}
		w.quiet()
	})
	t.Run("failed before", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.createWithin(1, false, false, body(map[string]string{"A": resource("")}))
		w.fail("A", "a", "no")
		w.pass(time.Minute)
		w.succeed("A", "a")
		if got := w.status(); got != "ROLLBACK_COMPLETE" {
			t.Errorf("status = %s", got)
		}
		w.quiet()
	})
}

// quiet checks that the stack has no open request and no timer.
func (w *world) quiet() {
	w.t.Helper()
	requests, err := w.store.Requests(w.ctx, w.stack().Key)
	w.must(err)
	for _, r := range requests {
		w.t.Errorf("a %s request of %q is still %s", r.Type, r.Logical, r.State)
	}
}
