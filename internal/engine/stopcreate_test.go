package engine_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
)

// halfCreated returns a world in the middle of a create: A is created, B and C are in progress, and D has not
// started.
func halfCreated(t *testing.T, in engine.CreateStack) (w *world, answers func()) {
	t.Helper()
	w = newWorld(t, engine.FidelityPintle)
	w.createWith(body(map[string]string{
		"A": resource(""), "B": resource("", `"DependsOn": "A"`), "C": resource("", `"DependsOn": "A"`), "D": resource("", `"DependsOn": "B"`),
	}), in)
	w.succeed("A", "a")
	first, second := w.take("B"), w.take("C")
	w.accept(first)
	w.accept(second)
	return w, func() {
		t.Helper()
		w.answer(first, success("b")) // the answers have the IDs for the Deletes
		w.succeed("B", "b")
		w.answer(second, success("c"))
		w.succeed("C", "c")
		w.succeed("A", "a")
	}
}

// TestDeleteDuringCreate checks that a stack can be deleted during its create. The delete removes finished resources
// at once and running ones after their providers have answered; the rest never starts. It counts as one operation.
func TestDeleteDuringCreate(t *testing.T) {
	for name, in := range map[string]engine.CreateStack{
		"rollback": {}, "failures are kept": {Options: engine.Options{DisableRollback: true}}, "limited": {TimeoutMinutes: 5},
	} {
		t.Run(name, func(t *testing.T) {
			w, answers := halfCreated(t, in)
			n := len(w.events())
			w.must(w.deleteStack(engine.DeleteStack{Token: "once"}))
			w.must(w.deleteStack(engine.DeleteStack{Token: "once"}))
			w.must(w.deleteStack(engine.DeleteStack{}))
			answers()
			w.want(n, []string{
				`B CREATE_FAILED id=` + w.invented("B") + ` "Resource creation cancelled"`,
				`C CREATE_FAILED id=` + w.invented("C") + ` "Resource creation cancelled"`,
				`S DELETE_IN_PROGRESS "User Initiated"`,
				`B DELETE_IN_PROGRESS id=b`,
				`B DELETE_COMPLETE id=b`,
				`C DELETE_IN_PROGRESS id=c`,
				`C DELETE_COMPLETE id=c`,
				`A DELETE_IN_PROGRESS id=a`,
				`A DELETE_COMPLETE id=a`,
				`S DELETE_COMPLETE`,
			}, `-> Create A id= {}`, `-> Create B id= {}`, `-> Create C id= {}`,
				`-> Delete B id=b {}`, `-> Delete C id=c {}`, `-> Delete A id=a {}`)
			w.must(w.create(one(""))) // the name is free
		})
	}
}

// TestCancelCreate checks that a cancelled create is rolled back, even if a failure would keep the stack or delete
// it.
func TestCancelCreate(t *testing.T) {
	for name, in := range map[string]engine.CreateStack{
		"rollback": {}, "failures are kept": {Options: engine.Options{DisableRollback: true}}, "failures are deleted": {DeleteOnFailure: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, answers := halfCreated(t, in)
			n := len(w.events())
			wantCode(t, w.cancelUpdate("api"), engine.CodeValidation, "CancelUpdateStack cannot be called from current stack status")
			cancel := engine.CancelUpdate{Stack: w.ref(), Token: "cancel", Create: true}
			w.must(w.engine.CancelUpdate(w.ctx, cancel))
			w.must(w.engine.CancelUpdate(w.ctx, cancel))
			cancel.Token = "again"
			wantCode(t, w.engine.CancelUpdate(w.ctx, cancel), engine.CodeValidation, "CancelUpdateStack cannot be called from current stack status")
			answers()
			w.want(n, []string{
				`B CREATE_FAILED id=` + w.invented("B") + ` "Resource creation cancelled"`,
				`C CREATE_FAILED id=` + w.invented("C") + ` "Resource creation cancelled"`,
				`S ROLLBACK_IN_PROGRESS "Stack creation cancelled"`,
				`B DELETE_IN_PROGRESS id=b`,
				`B DELETE_COMPLETE id=b`,
				`C DELETE_IN_PROGRESS id=c`,
				`C DELETE_COMPLETE id=c`,
				`A DELETE_IN_PROGRESS id=a`,
				`A DELETE_COMPLETE id=a`,
				`S ROLLBACK_COMPLETE`,
			}, `-> Create A id= {}`, `-> Create B id= {}`, `-> Create C id= {}`,
				`-> Delete B id=b {}`, `-> Delete C id=c {}`, `-> Delete A id=a {}`)
		})
	}
}

// TestStopCreateIsRefused checks that a protected stack is not deleted, and that a ROS stack is deleted only at the
// caller's request.
func TestStopCreateIsRefused(t *testing.T) {
	w, _ := halfCreated(t, engine.CreateStack{TerminationProtection: true})
	wantCode(t, w.deleteStack(engine.DeleteStack{}), engine.CodeValidation,
		"Stack [S] cannot be deleted while TerminationProtection is enabled")

	ros := newROS(t, engine.Config{})
	ros.must(ros.begin(engine.CreateStack{Template: oneROS("")}))
	c := ros.take("C")
	ros.accept(c)
	refusedWith(t, ros.remove(engine.DeleteStack{}), engine.CodeActionInProgress, "Stack S already has an action (CREATE) in progress.")
	ros.must(ros.remove(engine.DeleteStack{StopCreate: true}))
	ros.answer(c, success("c"))
	ros.succeed("C", "c")
	if status := ros.rosStatus(); status != "DELETE_COMPLETE" {
		t.Error(status)
	}
}

// TestStopWhileAwaitingCancelled checks a create without a rollback that only waits for the result of a request that
// its time limit has cancelled. It can still be deleted or cancelled.
func TestStopWhileAwaitingCancelled(t *testing.T) {
	for name, test := range map[string]struct {
		stop func(*world) error
		want string
	}{
		"delete": {func(w *world) error { return w.deleteStack(engine.DeleteStack{}) }, "DELETE_COMPLETE"},
		"cancel": {func(w *world) error {
			return w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.ref(), Create: true})
		}, "ROLLBACK_COMPLETE"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.FidelityPintle)
			w.createWith(body(map[string]string{"A": resource(""), "B": resource("")}), engine.CreateStack{TimeoutMinutes: 5, Options: left})
			w.succeed("A", "a")
			b := w.take("B")
			w.accept(b)
			w.pass(5 * time.Minute)
			w.must(test.stop(w))
			w.answer(b, success("b"))
			w.succeed("A", "a")
			w.succeed("B", "b")
			if got := w.status(); got != test.want {
				t.Errorf("the stack is %s, want %s\n%s", got, test.want, w.history())
			}
		})
	}
}
