package engine_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// unrevertible returns a world in which the rollback of an update has failed at A, on which B depends, and at D, and
// has restored C. N was created by the update.
func unrevertible(t *testing.T) *world {
	t.Helper()
	template := func(k string, more ...string) string {
		resources := map[string]string{
			"A": resource(`"K": "` + k + `"`), "B": resource(`"K": "`+k+`"`, `"DependsOn": "A"`),
			"C": resource(`"K": "` + k + `"`), "D": resource(`"K": "` + k + `"`),
			"X": resource(`"K": "`+k+`"`, `"DependsOn": ["A", "B", "C", "D"]`),
		}
		for _, id := range more {
			resources[id] = resource("")
		}
		return body(resources)
	}
	w := created(t, template("v"), "A=a", "C=c", "D=d", "B=b", "X=x")
	w.must(w.update(template("w", "N")))
	for _, id := range []string{"a", "c", "d", "n", "b"} {
		w.succeed(map[string]string{"a": "A", "b": "B", "c": "C", "d": "D", "n": "N"}[id], id)
	}
	w.fail("X", "x", "r")
	w.fail("A", "a", "r")
	w.succeed("C", "c")
	w.fail("D", "d", "r")
	if w.status() != "UPDATE_ROLLBACK_FAILED" {
		t.Fatal(w.history())
	}
	w.sent = nil
	return w
}

// TestContinueSendsRemainingRequests checks that a continued rollback sends only the remaining requests, in the order of the
// old template.
func TestContinueSendsRemainingRequests(t *testing.T) {
	w := unrevertible(t)
	n := len(w.events())
	w.must(w.continueRollback(engine.ContinueRollback{Skip: []wire.LogicalID{"D"}, Token: "t"}))
	w.must(w.continueRollback(engine.ContinueRollback{Skip: []wire.LogicalID{"D"}, Token: "t"})) // the same request
	w.succeed("A", "a")
	w.succeed("B", "b")
	w.succeed("X", "x")
	w.succeed("N", "n")
	w.want(n, []string{
		`S UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a`,
		`D UPDATE_COMPLETE id=d`,
		`A UPDATE_COMPLETE id=a`,
		`B UPDATE_IN_PROGRESS id=b`,
		`B UPDATE_COMPLETE id=b`,
		`X UPDATE_IN_PROGRESS id=x`,
		`X UPDATE_COMPLETE id=x`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`N DELETE_IN_PROGRESS id=n`,
		`N DELETE_COMPLETE id=n`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	}, `-> Update A id=a {"K":"v"} was {"K":"w"}`, `-> Update B id=b {"K":"v"} was {"K":"w"}`,
		`-> Update X id=x {"K":"v"} was {"K":"w"}`, `-> Delete N id=n {}`)
}

// TestForcedContinue checks that a forced rollback skips resources that failed before, and those that fail now.
func TestForcedContinue(t *testing.T) {
	w := unrevertible(t)
	n := len(w.events())
	w.must(w.continueRollback(engine.ContinueRollback{Force: true}))
	reason := w.refuse("B", "b")
	w.succeed("X", "x")
	w.succeed("N", "n")
	w.want(n, []string{
		`S UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`,
		`A UPDATE_COMPLETE id=a`,
		`D UPDATE_COMPLETE id=d`,
		`B UPDATE_IN_PROGRESS id=b`,
		`B UPDATE_FAILED id=b ` + reason,
		`B UPDATE_COMPLETE id=b`,
		`X UPDATE_IN_PROGRESS id=x`,
		`X UPDATE_COMPLETE id=x`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`N DELETE_IN_PROGRESS id=n`,
		`N DELETE_COMPLETE id=n`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	}, `-> Update B id=b {"K":"v"} was {"K":"w"}`, `-> Update X id=x {"K":"v"} was {"K":"w"}`, `-> Delete N id=n {}`)
}

// TestContinueFailsAgain checks that a resource that is still stuck after a second failure may be skipped, whether it
// failed again or was not reached.
func TestContinueFailsAgain(t *testing.T) {
	w := unrevertible(t)
	w.must(w.continueRollback(engine.ContinueRollback{Skip: []wire.LogicalID{"A"}}))
	w.fail("D", "d", "r")
	w.fail("B", "b", "r")
	got := w.events()
	if last := got[len(got)-1]; last != `S UPDATE_ROLLBACK_FAILED "The following resource(s) failed to update: [D, B]."` {
		t.Errorf("last event %s", last)
	}
	w.must(w.continueRollback(engine.ContinueRollback{Skip: []wire.LogicalID{"B", "D"}}))
	w.succeed("X", "x")
	w.succeed("N", "n")
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" || len(w.inbox) > 0 {
		t.Error(w.history())
	}
	if roles := w.roles(); roles["n"] != store.RoleGone || roles["a"] != store.RoleCurrent {
		t.Errorf("roles %v", roles)
	}
}

func TestContinueRefusals(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	const status = "RollbackUpdatedStack cannot be called from current stack status"
	wantCode(t, w.continueRollback(engine.ContinueRollback{}), engine.CodeValidation, status)
	w.must(w.update(one(`"K": "w"`)))
	wantCode(t, w.continueRollback(engine.ContinueRollback{Force: true}), engine.CodeValidation, status)
	w.succeed("C", "a")
	_, err := w.engine.ContinueRollback(w.ctx, engine.ContinueRollback{Stack: engine.Ref{Account: account, Region: region, Stack: "ghost"}})
	wantCode(t, err, engine.CodeValidation, "Stack [ghost] does not exist")

	w = unrevertible(t)
	for _, skip := range [][]wire.LogicalID{{"A", "X"}, {"A", "C"}, {"N"}, {"S.A"}} { // cancelled, restored, new, nested
		err := w.continueRollback(engine.ContinueRollback{Skip: skip})
		wantCode(t, err, engine.CodeValidation, "ResourcesToSkip: ["+string(skip[len(skip)-1])+"] cannot be skipped.")
	}
	wantCode(t, w.continueRollback(engine.ContinueRollback{Skip: []wire.LogicalID{"A"}, Force: true}), engine.CodeValidation,
		"You can specify either ForceRollback or ResourcesToSkip, but not both")
	wantCode(t, w.update(one("")), engine.CodeValidation, "is in UPDATE_ROLLBACK_FAILED state and can not be updated.")
}

// TestContinueRetainsNoMore checks that a continued rollback still deletes a resource that the rollback was going to
// delete although its policy is Retain.
func TestContinueRetainsNoMore(t *testing.T) {
	retain := `"DeletionPolicy": "Retain"`
	w := created(t, one(`"K": "v"`), "C=a")
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: w.ref(), Template: body(map[string]string{"C": resource(`"K": "w"`, `"DependsOn": "N"`), "N": resource("", retain)}),
		Options: engine.Options{RetainExceptOnCreate: true},
	})
	w.must(err)
	w.succeed("N", "n")
	w.fail("C", "a", "r")
	w.fail("C", "a", "r")
	w.must(w.continueRollback(engine.ContinueRollback{Force: true}))
	w.succeed("N", "n")
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" || w.roles()["n"] != store.RoleGone {
		t.Error(w.history())
	}
}

// TestSkipResourceWithUnresolvedReference checks that a client may skip a resource that the rollback could not restore because an
// attribute that it reads no longer exists. The resource counts as restored.
func TestSkipResourceWithUnresolvedReference(t *testing.T) {
	template := func(k string) string {
		return body(map[string]string{"C": resource(`"K": "` + k + `"`), "D": resource(`"R": {"Fn::GetAtt": ["C", "att"]}, "K": "` + k + `"`)})
	}
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(template("v")))
	w.answer(w.take("C"), success("c")+`, "Data": {"att": "1"}`)
	w.succeed("D", "d")
	w.must(w.update(template("w")))
	w.succeed("C", "c") // without data
	w.succeed("C", "c")
	if w.status() != "UPDATE_ROLLBACK_FAILED" {
		t.Fatal(w.history())
	}
	n := len(w.events())
	w.must(w.continueRollback(engine.ContinueRollback{Skip: []wire.LogicalID{"D"}}))
	w.want(n, []string{
		`S UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`,
		`D UPDATE_COMPLETE id=d`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
}

// TestRollbackKeepsProtectedOriginal checks a provider that does not go back to the resource it replaced. The clean-up
// gets the original, and respects the policy that protects it. The resource that the update created has no such
// protection.
func TestRollbackKeepsProtectedOriginal(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	const keep = `"UpdateReplacePolicy": "Retain"`
	at := func(k string, more ...string) string {
		return body(map[string]string{"A": resource(`"K": "`+k+`"`, append(more, keep)...), "X": resource(`"K": "`+k+`"`, `"DependsOn": "A"`)})
	}
	w.must(w.create(at("1")))
	w.succeed("A", "a")
	w.succeed("X", "x")
	w.must(w.update(at("2")))
	w.succeed("A", "b")
	w.fail("X", "x", "no")
	n := len(w.events())
	w.succeed("A", "c") // neither of the two
	w.succeed("X", "x")
	w.succeed("A", "b")
	w.want(n, []string{
		`A UPDATE_IN_PROGRESS id=c "Requested update required the provider to create a new physical resource"`,
		`A UPDATE_COMPLETE id=c`,
		`X UPDATE_IN_PROGRESS id=x`,
		`X UPDATE_COMPLETE id=x`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`A DELETE_SKIPPED id=a`,
		`A DELETE_IN_PROGRESS id=b`,
		`A DELETE_COMPLETE id=b`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
}
