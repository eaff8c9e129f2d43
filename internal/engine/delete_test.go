package engine_test

import (
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// refuse answers a request with FAILED, and returns the reason in its event.
func (w *world) refuse(logical, id string) string {
	w.t.Helper()
	r := w.take(logical)
	w.answer(r, fmt.Sprintf(`"Status": "FAILED", "PhysicalResourceId": %q, "Reason": "r"`, id))
	return `"Received response status [FAILED] from custom resource. Message returned: r (RequestId: ` + string(r.ID) + `)"`
}

// roles returns the role of every instance by physical ID.
func (w *world) roles() map[string]store.Role {
	w.t.Helper()
	instances, err := w.store.Instances(w.ctx, w.stack().Key)
	w.must(err)
	roles := map[string]store.Role{}
	for _, i := range instances {
		roles[string(i.PhysicalID)] = i.Role
	}
	return roles
}

// undeletable returns a world in which a delete has failed at B, on which C depended, and at D.
func undeletable(t *testing.T) *world {
	t.Helper()
	w := created(t, body(map[string]string{
		"A": resource(""), "B": resource("", `"DependsOn": "A"`), "C": resource("", `"DependsOn": "B"`), "D": resource(""),
	}), "A=a", "D=d", "B=b", "C=c")
	w.delete()
	w.succeed("C", "c")
	w.refuse("D", "d")
	w.refuse("B", "b")
	if w.status() != "DELETE_FAILED" {
		t.Fatal(w.history())
	}
	w.sent = nil
	return w
}

func TestDeleteRetains(t *testing.T) {
	w := undeletable(t)
	n := len(w.events())
	for _, gone := range []wire.LogicalID{"C", "X"} {
		err := w.deleteStack(engine.DeleteStack{Retain: []wire.LogicalID{"B", gone}})
		wantCode(t, err, engine.CodeValidation, "The specified resources to retain must be in a valid state. Do not specify resources "+
			"that are in the DELETE_COMPLETE state. There is nothing left of ["+string(gone)+"].")
	}
	w.must(w.deleteStack(engine.DeleteStack{Retain: []wire.LogicalID{"B", "D"}}))
	w.succeed("A", "a")
	w.want(n, []string{
		`S DELETE_IN_PROGRESS "User Initiated"`,
		`D DELETE_SKIPPED id=d`,
		`B DELETE_SKIPPED id=b`,
		`A DELETE_IN_PROGRESS id=a`,
		`A DELETE_COMPLETE id=a`,
		`S DELETE_COMPLETE`,
	}, `-> Delete A id=a {}`)
	if roles := w.roles(); roles["b"] != store.RoleRetained || roles["d"] != store.RoleRetained {
		t.Errorf("roles %v", roles)
	}
}

// TestForcedDelete checks that a forced delete records and leaves a resource that fails again, and deletes those that
// waited for it.
func TestForcedDelete(t *testing.T) {
	w := undeletable(t)
	n := len(w.events())
	w.must(w.deleteStack(engine.DeleteStack{Force: true, Retain: []wire.LogicalID{"D"}}))
	again := w.refuse("B", "b")
	w.succeed("A", "a")
	w.want(n, []string{
		`S DELETE_IN_PROGRESS "User Initiated"`,
		`D DELETE_SKIPPED id=d`,
		`B DELETE_IN_PROGRESS id=b`,
		`B DELETE_FAILED id=b ` + again,
		`B DELETE_SKIPPED id=b`,
		`A DELETE_IN_PROGRESS id=a`,
		`A DELETE_COMPLETE id=a`,
		`S DELETE_COMPLETE`,
	}, `-> Delete B id=b {}`, `-> Delete A id=a {}`)
	if roles := w.roles(); roles["b"] != store.RoleOrphan || roles["d"] != store.RoleRetained {
		t.Errorf("roles %v", roles)
	}
}

// TestLeavingIsForFailedDeletes checks that a delete is rejected if it retains resources and the stack's status does
// not allow that. Otherwise it would delete them.
func TestLeavingIsForFailedDeletes(t *testing.T) {
	for _, fidelity := range fidelities {
		w := newWorld(t, fidelity)
		w.must(w.create(one("")))
		retain, force := engine.DeleteStack{Retain: []wire.LogicalID{"C"}}, engine.DeleteStack{Force: true}
		check := func() {
			t.Helper()
			prefix := "Invalid operation on stack [" + string(w.stack().ID) + "]. "
			wantCode(t, w.deleteStack(retain), engine.CodeValidation, prefix+"When you delete a stack, specify which resources "+
				"to retain only when the stack is in the DELETE_FAILED state.")
			wantCode(t, w.deleteStack(force), engine.CodeValidation, prefix+"You can activate DeletionMode FORCE_DELETE_STACK in a "+
				"delete stack operation only when the stack is in the DELETE_FAILED state.")
		}
		check() // CREATE_IN_PROGRESS
		w.succeed("C", "a")
		check() // CREATE_COMPLETE
		w.delete()
		check() // DELETE_IN_PROGRESS
		w.succeed("C", "a")
		w.must(w.deleteStack(retain)) // it is already deleted, which is not an error
		w.must(w.deleteStack(force))
	}
}

// TestRetainLeavesEveryInstance checks that retaining a resource also retains the instance that a failed update had
// replaced.
func TestRetainLeavesEveryInstance(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	w.must(w.update(one(`"K": "w"`)))
	w.fail("C", "b", "r") // b is the current resource now
	w.fail("C", "b", "r") // and a waits for a clean-up that never starts
	if w.status() != "UPDATE_ROLLBACK_FAILED" {
		t.Fatal(w.history())
	}
	w.delete()
	w.fail("C", "a", "r")
	w.must(w.deleteStack(engine.DeleteStack{Retain: []wire.LogicalID{"C"}}))
	if roles := w.roles(); roles["a"] != store.RoleRetained || roles["b"] != store.RoleRetained || w.status() != "DELETE_COMPLETE" {
		t.Errorf("roles %v:\n%s", roles, w.history())
	}
}
