package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// left are the options of an update or create that is not rolled back when it fails.
var left = engine.Options{DisableRollback: true}

func (w *world) updateLeft(template string) error {
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{Stack: w.ref(), Template: template, Options: left})
	return err
}

func TestRetryOfACreate(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	two := body(map[string]string{"A": resource(""), "B": resource("", `"DependsOn": "A"`), "C": resource("", `"DependsOn": "B"`)})
	w.createWith(two, engine.CreateStack{Options: left})
	w.succeed("A", "a")
	w.fail("B", "b", "no")
	n := len(w.events())

	err := w.update(two)
	if err == nil || !strings.HasPrefix(err.Error(), "This stack is currently in a non-terminal [CREATE_FAILED] state.") {
		t.Errorf("an update with rollback: %v", err)
	}
	w.must(w.updateLeft(two)) // nothing changed, but the failed resource has to be updated
	w.succeed("B", "b")
	w.succeed("B", "b2")
	w.succeed("C", "c")
	w.want(n, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`B DELETE_IN_PROGRESS id=b`,
		`B DELETE_COMPLETE id=b`,
		`B CREATE_IN_PROGRESS id=`,
		`B CREATE_IN_PROGRESS id=b2 "Resource creation Initiated"`,
		`B CREATE_COMPLETE id=b2`,
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_IN_PROGRESS id=c "Resource creation Initiated"`,
		`C CREATE_COMPLETE id=c`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_COMPLETE`,
	}, `-> Create A id= {}`, `-> Create B id= {}`, `-> Delete B id=b {}`, `-> Create B id= {}`, `-> Create C id= {}`)
}

// TestRetryDeletesRemovedResources checks that the clean-up of a successful retry deletes resources that only an earlier attempt
// declared, dependents first, and with their own policies.
func TestRetryDeletesRemovedResources(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(body(map[string]string{
		"A": resource(""), "B": resource("", `"DependsOn": "A"`), "K": resource("", `"DeletionPolicy": "Retain"`),
		"X": resource("", `"DependsOn": ["B", "K"]`),
	}), engine.CreateStack{Options: left})
	for logical, id := range map[string]string{"A": "a", "K": "k"} {
		w.succeed(logical, id)
	}
	w.succeed("B", "b")
	w.fail("X", "x", "no")
	n := len(w.events())
	w.must(w.updateLeft(body(map[string]string{"Z": resource("")})))
	w.succeed("Z", "z")
	w.succeed("X", "x")
	w.succeed("B", "b")
	w.succeed("A", "a")
	w.want(n, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`Z CREATE_IN_PROGRESS id=`,
		`Z CREATE_IN_PROGRESS id=z "Resource creation Initiated"`,
		`Z CREATE_COMPLETE id=z`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
		`X DELETE_IN_PROGRESS id=x`,
		`X DELETE_COMPLETE id=x`,
		`B DELETE_IN_PROGRESS id=b`,
		`K DELETE_SKIPPED id=k`,
		`B DELETE_COMPLETE id=b`,
		`A DELETE_IN_PROGRESS id=a`,
		`A DELETE_COMPLETE id=a`,
		`S UPDATE_COMPLETE`,
	})
}

// TestRetriesRolledBack checks that one rollback restores the last complete state after an update that failed twice.
func TestRetriesRolledBack(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource(`"K": "1"`), "B": resource(`"K": "1"`)})))
	w.succeed("A", "a")
	w.succeed("B", "b")
	w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": "2"`), "B": resource(`"K": "2"`), "N": resource("")})))
	w.succeed("A", "a2") // with another ID
	w.fail("B", "b", "no")
	w.succeed("N", "n")
	if got := w.status(); got != "UPDATE_FAILED" {
		t.Fatal(got)
	}
	w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": "3"`), "B": resource(`"K": "3"`), "M": resource("")})))
	w.succeed("A", "a2")
	w.fail("B", "b", "no")
	w.succeed("M", "m")
	n := len(w.events())
	w.sent = nil
	w.must(w.rollBack(engine.RollbackStack{}))
	w.succeed("A", "a") // the first ID is back
	w.succeed("B", "b")
	w.succeed("A", "a2")
	w.succeed("M", "m")
	w.succeed("N", "n")
	w.want(n, []string{
		`S UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a2`,
		`B UPDATE_IN_PROGRESS id=b`,
		`A UPDATE_IN_PROGRESS id=a "Requested update required the provider to create a new physical resource"`,
		`A UPDATE_COMPLETE id=a`,
		`B UPDATE_COMPLETE id=b`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`A DELETE_IN_PROGRESS id=a2`,
		`M DELETE_IN_PROGRESS id=m`,
		`N DELETE_IN_PROGRESS id=n`,
		`A DELETE_COMPLETE id=a2`,
		`M DELETE_COMPLETE id=m`,
		`N DELETE_COMPLETE id=n`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	}, `-> Update A id=a2 {"K":"1"} was {"K":"3"}`, `-> Update B id=b {"K":"1"} was {"K":"3"}`,
		`-> Delete A id=a2 {"K":"3"}`, `-> Delete M id=m {}`, `-> Delete N id=n {}`)
	w.must(w.update(body(map[string]string{"A": resource(`"K": "1"`), "B": resource(`"K": "4"`)})))
	w.succeed("B", "b")
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Error(got)
	}
}

// TestRetryOfACreateRolledBack checks that a stack that was never complete is deleted by a rollback, after any number
// of retries.
func TestRetryOfACreateRolledBack(t *testing.T) {
	setUp := func(t *testing.T) *world {
		w := newWorld(t, engine.FidelityPintle)
		w.createWith(body(map[string]string{"A": resource(""), "B": resource("", `"DependsOn": "A"`)}), engine.CreateStack{Options: left})
		w.succeed("A", "a")
		w.fail("B", "b", "no")
		w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": "2"`), "N": resource("", `"DependsOn": "A"`)})))
		return w
	}
	end := []string{
		`B DELETE_IN_PROGRESS id=b`,
		`N DELETE_IN_PROGRESS id=n`,
		`B DELETE_COMPLETE id=b`,
		`N DELETE_COMPLETE id=n`,
		`A DELETE_IN_PROGRESS id=a`,
		`A DELETE_COMPLETE id=a`,
		`S ROLLBACK_COMPLETE`,
	}
	t.Run("after it failed", func(t *testing.T) {
		w := setUp(t)
		w.succeed("A", "a")
		w.fail("N", "n", "no")
		n := len(w.events())
		w.must(w.rollBack(engine.RollbackStack{}))
		w.succeed("B", "b")
		w.succeed("N", "n")
		w.succeed("A", "a")
		w.want(n, append([]string{`S ROLLBACK_IN_PROGRESS "User Initiated"`}, end...))
	})
	t.Run("cancelled", func(t *testing.T) {
		w := setUp(t)
		w.succeed("A", "a")
		create := w.take("N")
		w.accept(create)
		n := len(w.events())
		w.must(w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.ref()}))
		w.succeed("B", "b")
		w.answer(create, success("n"))
		w.succeed("N", "n")
		w.succeed("A", "a")
		w.want(n, []string{
			`N CREATE_FAILED id=` + w.invented("N") + ` "Resource creation cancelled"`,
			`S ROLLBACK_IN_PROGRESS "Stack update cancelled"`,
			`B DELETE_IN_PROGRESS id=b`,
			`B DELETE_COMPLETE id=b`,
			`N DELETE_IN_PROGRESS id=n`,
			`N DELETE_COMPLETE id=n`,
			`A DELETE_IN_PROGRESS id=a`,
			`A DELETE_COMPLETE id=a`,
			`S ROLLBACK_COMPLETE`,
		})
	})
	t.Run("deleted", func(t *testing.T) {
		w := setUp(t)
		w.succeed("A", "a")
		w.fail("N", "n", "no")
		n := len(w.events())
		w.delete()
		w.fail("B", "b", "no")
		w.succeed("N", "n")
		if got := w.status(); got != "DELETE_FAILED" {
			t.Fatal(got)
		}
		w.delete() // again: B still depends on A, although only the first attempt declared it
		w.succeed("B", "b")
		w.succeed("A", "a")
		if got := w.events()[len(w.events())-1]; got != "S DELETE_COMPLETE" || len(w.events()) < n {
			t.Error(got)
		}
	})
}

// TestRetryCannotDelete checks that the Delete that makes room for a new Create can fail like any other.
func TestRetryCannotDelete(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(one(""), engine.CreateStack{Options: left})
	w.fail("C", "c", "no")
	for range 2 {
		n := len(w.events())
		w.must(w.updateLeft(one("")))
		reason := w.refuse("C", "c")
		w.want(n, []string{
			`S UPDATE_IN_PROGRESS "User Initiated"`,
			`C DELETE_IN_PROGRESS id=c`,
			`C DELETE_FAILED id=c ` + reason,
			`S UPDATE_FAILED "The following resource(s) failed to create: [C]. "`,
		})
	}
	w.must(w.updateLeft(one("")))
	w.succeed("C", "c")
	w.succeed("C", "c2")
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Error(got)
	}
}

// TestRetryChangesType checks that a retry cannot change the type of a resource that a failed revision created,
// unless its Create failed.
func TestRetryChangesType(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(body(map[string]string{"A": resource(""), "B": resource("")}), engine.CreateStack{Options: left})
	w.succeed("A", "a")
	w.fail("B", "b", "no")
	other := func(logical string) string {
		resources := map[string]string{"A": resource(""), "B": resource("")}
		resources[logical] = strings.Replace(resource(""), "Custom::Thing", "Custom::Other", 1)
		return body(resources)
	}
	if err := w.updateLeft(other("A")); err == nil || !strings.HasSuffix(err.Error(), "of the following resources: [A]") {
		t.Errorf("error %v", err)
	}
	w.must(w.updateLeft(other("B")))
	w.succeed("B", "b")
	if r := w.take("B"); r.Body.ResourceType != "Custom::Other" {
		t.Errorf("a %s is created", r.Body.ResourceType)
	} else {
		w.answer(r, success("b2"))
	}
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Error(got)
	}
}

// TestRetryCancelledDuringDeleteBeforeCreate checks that a cancel does not end the Delete that makes room for a new Create.
// An event reports its result when it arrives, and the rollback deletes the remains.
func TestRetryCancelledDuringDeleteBeforeCreate(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy string
		answer func(w *world, r store.Request)
		want   []string
	}{
		{"deleted", "Delete", func(w *world, r store.Request) { w.answer(r, success("b")) }, []string{
			`B DELETE_COMPLETE id=b`,
			`A DELETE_IN_PROGRESS id=a`,
			`A DELETE_COMPLETE id=a`,
			`S ROLLBACK_COMPLETE`,
		}},
		{"not deleted, and retained", "Retain", func(w *world, r store.Request) {
			w.answer(r, `"Status": "FAILED", "PhysicalResourceId": "b", "Reason": "in use"`)
		}, []string{
			`B DELETE_FAILED id=b "Received response status [FAILED] from custom resource. Message returned: in use (RequestId: id-9)"`,
			`B DELETE_SKIPPED id=b`,
			`A DELETE_IN_PROGRESS id=a`,
			`A DELETE_COMPLETE id=a`,
			`S ROLLBACK_COMPLETE`,
		}},
		{"not deleted", "Delete", func(w *world, r store.Request) {
			w.answer(r, `"Status": "FAILED", "PhysicalResourceId": "b", "Reason": "in use"`)
			w.succeed("B", "b")
		}, []string{
			`B DELETE_FAILED id=b "Received response status [FAILED] from custom resource. Message returned: in use (RequestId: id-9)"`,
			`B DELETE_IN_PROGRESS id=b`,
			`B DELETE_COMPLETE id=b`,
			`A DELETE_IN_PROGRESS id=a`,
			`A DELETE_COMPLETE id=a`,
			`S ROLLBACK_COMPLETE`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, engine.FidelityPintle)
			two := body(map[string]string{
				"A": resource(""), "B": resource("", `"DependsOn": "A"`, `"DeletionPolicy": "`+test.policy+`"`),
			})
			w.createWith(two, engine.CreateStack{Options: left})
			w.succeed("A", "a")
			w.fail("B", "b", "no")
			n := len(w.events())
			w.must(w.updateLeft(two))
			removing := w.take("B")
			w.must(w.cancelUpdate(""))
			test.answer(w, removing)
			w.succeed("A", "a")
			w.want(n, append([]string{
				`S UPDATE_IN_PROGRESS "User Initiated"`,
				`B DELETE_IN_PROGRESS id=b`,
				`S ROLLBACK_IN_PROGRESS "Stack update cancelled"`,
			}, test.want...))
		})
	}
}

// TestRetryOfTheSameUpdate checks that retrying the same update does not send the new properties as the old ones.
func TestRetryOfTheSameUpdate(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource(`"K": 1`)})))
	w.succeed("A", "a")
	w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": 2`)})))
	w.fail("A", "a", "not now")
	w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": 2`)})))
	w.fail("A", "a", "nor now")
	w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": 3`)})))
	w.succeed("A", "a")
	want := []string{
		`-> Create A id= {"K":"1"}`, `-> Update A id=a {"K":"2"} was {"K":"1"}`, `-> Update A id=a {"K":"2"} was {"K":"1"}`,
		`-> Update A id=a {"K":"3"} was {"K":"2"}`,
	}
	if diff := cmp.Diff(want, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestFailedRollbackKeepsWhatItDidNotReach checks a rollback with RetainExceptOnCreate that fails at another instance
// of the resource. Resources that it did not reach keep their policies.
func TestFailedRollbackKeepsWhatItDidNotReach(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(body(map[string]string{"A": resource(`"K": 1`), "X": resource("")}), engine.CreateStack{Options: left})
	w.succeed("A", "a1")
	w.fail("X", "x", "no")
	w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": 2`, `"DeletionPolicy": "Retain"`), "X": resource("")})))
	w.succeed("A", "a2") // the clean-up should delete a1
	w.fail("X", "x", "nor now")
	w.must(w.rollBack(engine.RollbackStack{RetainExceptOnCreate: true}))
	w.fail("A", "a1", "in use")
	w.succeed("X", "x")
	n := len(w.events())
	w.delete()
	w.succeed("A", "a1")
	w.want(n, []string{
		`S DELETE_IN_PROGRESS "User Initiated"`,
		`A DELETE_SKIPPED id=a2`,
		`A DELETE_IN_PROGRESS id=a1`,
		`A DELETE_COMPLETE id=a1`,
		`S DELETE_COMPLETE`,
	})
}

// TestRetryFailsDuringDeleteBeforeCreate checks that a retry that has already failed does not create the resources that it
// made room for, and can still be cancelled.
func TestRetryFailsDuringDeleteBeforeCreate(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"K": resource("")})))
	w.succeed("K", "k")
	three := body(map[string]string{"K": resource(""), "A": resource(""), "B": resource(""), "C": resource("", `"DependsOn": "K"`)})
	w.must(w.updateLeft(three))
	w.fail("A", "a", "no")
	w.succeed("B", "b")
	w.fail("C", "c", "no")
	w.must(w.updateLeft(body(map[string]string{"K": resource(""), "A": resource(""), "B": resource(`"V": 1`), "C": resource("")})))
	removing := w.take("A")
	w.fail("B", "b", "no")
	w.answer(removing, success("a"))
	n := len(w.events())
	w.must(w.cancelUpdate("")) // the Delete of C is in progress
	w.succeed("C", "c")
	w.succeed("B", "b")
	w.want(n, []string{
		`S UPDATE_ROLLBACK_IN_PROGRESS "Stack update cancelled"`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`B DELETE_IN_PROGRESS id=b`,
		`C DELETE_COMPLETE id=c`,
		`B DELETE_COMPLETE id=b`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
}

// TestRetryOfUpdateCancelledDuringDeleteBeforeCreate checks the same in a stack that was complete before: the clean-up,
// which has then started, deletes the remains.
func TestRetryOfUpdateCancelledDuringDeleteBeforeCreate(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"K": resource("")})))
	w.succeed("K", "k")
	two := body(map[string]string{"K": resource(""), "B": resource("")})
	w.must(w.updateLeft(two))
	w.fail("B", "b", "no")
	w.must(w.updateLeft(two))
	removing := w.take("B")
	w.must(w.cancelUpdate(""))
	n := len(w.events())
	w.answer(removing, `"Status": "FAILED", "PhysicalResourceId": "b", "Reason": "in use"`)
	w.succeed("B", "b")
	w.want(n, []string{
		`B DELETE_FAILED id=b "Received response status [FAILED] from custom resource. Message returned: in use (RequestId: ` +
			string(removing.ID) + `)"`,
		`B DELETE_IN_PROGRESS id=b`,
		`B DELETE_COMPLETE id=b`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
}

// TestCancelledUpdateOfResourceToDelete checks a cancelled Update that is answered with another ID when its resource is
// marked for deletion. Both resources are deleted.
func TestCancelledUpdateOfResourceToDelete(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"K": resource("")})))
	w.succeed("K", "k")
	w.must(w.updateLeft(body(map[string]string{"K": resource(""), "D": resource(""), "X": resource("")})))
	w.succeed("D", "d1")
	w.fail("X", "x", "no")
	w.must(w.updateLeft(body(map[string]string{"K": resource(""), "D": resource(`"V": 1`)})))
	update := w.take("D")
	w.must(w.cancelUpdate(""))
	w.succeed("X", "x")
	n := len(w.events())
	w.answer(update, success("d2"))
	w.succeed("D", "d1")
	w.succeed("D", "d2")
	w.want(n, []string{
		`D DELETE_IN_PROGRESS id=d1`,
		`D DELETE_COMPLETE id=d1`,
		`D DELETE_IN_PROGRESS id=d2`,
		`D DELETE_COMPLETE id=d2`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
}

// TestRetryOfFailedResourceWithRightProperties checks that a failed resource with the right properties does not stay failed, in a retry
// that asks for these properties or in a rollback.
func TestRetryOfFailedResourceWithRightProperties(t *testing.T) {
	moved := strings.Replace(resource(`"K": "1"`), "CRTest", "Other", 1) // rejected without a request
	setUp := func(t *testing.T) (*world, int) {
		w := newWorld(t, engine.FidelityPintle)
		w.must(w.create(body(map[string]string{"A": resource(`"K": "1"`), "B": resource(`"K": "1"`)})))
		w.succeed("A", "a")
		w.succeed("B", "b")
		w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": "1"`), "B": moved})))
		if got := w.status(); got != "UPDATE_FAILED" {
			t.Fatal(got)
		}
		return w, len(w.events())
	}
	t.Run("requested by the retry", func(t *testing.T) {
		w, n := setUp(t)
		w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": "1"`), "B": resource(`"K": "1"`)})))
		w.want(n, []string{
			`S UPDATE_IN_PROGRESS "User Initiated"`,
			`B UPDATE_IN_PROGRESS id=b`,
			`B UPDATE_COMPLETE id=b`,
			`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
			`S UPDATE_COMPLETE`,
		})
	})
	t.Run("rolled back", func(t *testing.T) {
		w, n := setUp(t)
		w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": "2"`), "B": resource(`"K": "2"`, `"DependsOn": "A"`)})))
		a := w.take("A")
		w.accept(a)
		w.must(w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.ref()}))
		w.answer(a, success("a"))
		w.succeed("A", "a")
		w.want(n, []string{
			`S UPDATE_IN_PROGRESS "User Initiated"`,
			`A UPDATE_IN_PROGRESS id=a`,
			`A UPDATE_FAILED id=a "Resource update cancelled"`,
			`S UPDATE_ROLLBACK_IN_PROGRESS "Stack update cancelled"`,
			`B UPDATE_COMPLETE id=b`,
			`A UPDATE_IN_PROGRESS id=a`,
			`A UPDATE_COMPLETE id=a`,
			`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
			`S UPDATE_ROLLBACK_COMPLETE`,
		})
	})
}

// TestRetryRollbackDoesNotListDiscarded checks that a rollback does not list a resource that a retry discarded,
// because it never belonged to a complete state of the stack.
func TestRetryRollbackDoesNotListDiscarded(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource("")})))
	w.succeed("A", "a")
	more := body(map[string]string{"A": resource(""), "X": resource("")})
	w.must(w.updateLeft(more))
	w.fail("X", "x", "no")
	w.must(w.updateLeft(more))
	w.succeed("X", "x")
	w.fail("X", "x2", "no")
	w.must(w.rollBack(engine.RollbackStack{}))
	w.succeed("X", "x2")
	listed, err := w.engine.Resources(w.ctx, w.stack())
	w.must(err)
	var got []string
	for _, i := range listed {
		got = append(got, string(i.Logical)+" "+string(i.PhysicalID))
	}
	if diff := cmp.Diff([]string{"A a"}, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

// TestRetryDropsOldRevisions checks that, however often a stack is retried, only the revisions that alone declare an
// existing resource are kept.
func TestRetryDropsOldRevisions(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	tried := func() int {
		op, err := w.store.Operation(w.ctx, w.stack().Key, w.stack().Operation)
		w.must(err)
		return len(op.Tried)
	}
	w.createWith(body(map[string]string{"A": resource(""), "B": resource("", `"DependsOn": "A"`), "C": resource("")}),
		engine.CreateStack{Options: left})
	w.succeed("A", "a")
	w.succeed("B", "b")
	w.fail("C", "c", "no")
	for range 10 {
		w.must(w.updateLeft(one("")))
		w.succeed("C", "c")
		w.fail("C", "c", "no")
	}
	if n := tried(); n != 2 { // the last one, and the first one because of A and B
		t.Errorf("%d revisions are kept in mind", n)
	}
	n := len(w.events())
	w.must(w.rollBack(engine.RollbackStack{}))
	w.succeed("B", "b")
	w.succeed("C", "c")
	w.succeed("A", "a")
	w.want(n, []string{
		`S ROLLBACK_IN_PROGRESS "User Initiated"`,
		`B DELETE_IN_PROGRESS id=b`,
		`C DELETE_IN_PROGRESS id=c`,
		`B DELETE_COMPLETE id=b`,
		`A DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=c`,
		`A DELETE_COMPLETE id=a`,
		`S ROLLBACK_COMPLETE`,
	})
}

// TestRetryRemovesReplacedInstance checks a resource that a failed update replaced and the retry removes. The replaced
// instance keeps its declared protection.
func TestRetryRemovesReplacedInstance(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	const kept = `"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"`
	w.must(w.create(body(map[string]string{"A": resource(""), "DB": resource(`"K": "1"`, kept)})))
	w.succeed("A", "a")
	w.succeed("DB", "db")
	w.must(w.updateLeft(body(map[string]string{
		"A": resource(""), "DB": resource(`"K": "2"`, kept), "X": resource("", `"DependsOn": "DB"`),
	})))
	w.succeed("DB", "db2")
	w.fail("X", "x", "no")
	n := len(w.events())
	w.must(w.updateLeft(body(map[string]string{"A": resource(`"K": "2"`)})))
	w.succeed("A", "a")
	w.succeed("X", "x")
	w.want(n, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a`,
		`A UPDATE_COMPLETE id=a`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
		`X DELETE_IN_PROGRESS id=x`,
		`X DELETE_COMPLETE id=x`,
		`DB DELETE_SKIPPED id=db`,
		`DB DELETE_SKIPPED id=db2`,
		`S UPDATE_COMPLETE`,
	})
}

// TestRetryOfAnUpdate checks that old and new properties in a retry differ. Otherwise a provider that compares them
// would do nothing.
func TestRetryOfAnUpdate(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one(`"K": "1"`)))
	w.succeed("C", "c")
	w.sent = nil
	for _, k := range []string{"2", "2", "2", "3", "1"} {
		w.must(w.updateLeft(one(`"K": "` + k + `"`)))
		w.fail("C", "c", "no")
	}
	w.must(w.updateLeft(one(`"K": "1"`)))
	w.succeed("C", "c")
	w.must(w.updateLeft(one(`"K": "4"`)))
	w.fail("C", "c4", "no") // another ID, although it failed
	w.must(w.updateLeft(one(`"K": "4"`)))
	w.succeed("C", "c4")
	w.succeed("C", "c")
	want := []string{
		`-> Update C id=c {"K":"2"} was {"K":"1"}`,
		`-> Update C id=c {"K":"2"} was {"K":"1"}`,
		`-> Update C id=c {"K":"2"} was {"K":"1"}`,
		`-> Update C id=c {"K":"3"} was {"K":"2"}`,
		`-> Update C id=c {"K":"1"} was {"K":"3"}`,
		`-> Update C id=c {"K":"1"} was {"K":"3"}`,
		`-> Update C id=c {"K":"4"} was {"K":"1"}`,
		`-> Update C id=c4 {"K":"4"} was {"K":"1"}`,
		`-> Delete C id=c {"K":"1"}`,
	}
	if diff := cmp.Diff(want, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
