package engine_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

func (w *world) createWith(template string, in engine.CreateStack) {
	w.t.Helper()
	in.Name, in.Template = store.StackName{Account: account, Region: region, Name: "S"}, template
	_, err := w.engine.Create(w.ctx, in)
	w.must(err)
}

func (w *world) rollBack(in engine.RollbackStack) error {
	in.Stack = w.ref()
	_, err := w.engine.Rollback(w.ctx, in)
	return err
}

// TestDeleteOnFailure checks that a create with OnFailure DELETE that fails becomes a delete. It keeps a resource
// whose policy is Retain, but not one whose policy is RetainExceptOnCreate.
func TestDeleteOnFailure(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(body(map[string]string{
		"A": resource("", `"DeletionPolicy": "Retain"`), "B": resource("", `"DeletionPolicy": "RetainExceptOnCreate"`, `"DependsOn": "A"`),
		"C": resource("", `"DependsOn": "B"`), "X": resource("", `"DependsOn": "B"`),
	}), engine.CreateStack{DeleteOnFailure: true})
	w.succeed("A", "a")
	w.succeed("B", "b")
	c := w.take("C")
	w.accept(c)
	n := len(w.events())
	reason := w.refuse("X", "x")
	w.delete() // the delete is already in progress
	w.succeed("X", "x")
	w.answer(c, success("c")) // cancelled, but the answer has the ID for the Delete
	w.succeed("C", "c")
	w.succeed("B", "b")
	w.want(n, []string{
		`X CREATE_FAILED id=x ` + reason,
		`C CREATE_FAILED id=` + w.invented("C") + ` "Resource creation cancelled"`,
		`S DELETE_IN_PROGRESS "The following resource(s) failed to create: [X, C]. Delete requested by user."`,
		`X DELETE_IN_PROGRESS id=x`,
		`X DELETE_COMPLETE id=x`,
		`C DELETE_IN_PROGRESS id=c`,
		`C DELETE_COMPLETE id=c`,
		`B DELETE_IN_PROGRESS id=b`,
		`B DELETE_COMPLETE id=b`,
		`A DELETE_SKIPPED id=a`,
		`S DELETE_COMPLETE`,
	}, `-> Create A id= {}`, `-> Create B id= {}`, `-> Create C id= {}`, `-> Create X id= {}`,
		`-> Delete X id=x {}`, `-> Delete C id=c {}`, `-> Delete B id=b {}`)
	w.must(w.create(one(""))) // the name is free
}

// TestDeleteOnFailureFails checks that the delete that a create became can fail, and be repeated like any other.
func TestDeleteOnFailureFails(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(one(`"K": "v"`), engine.CreateStack{DeleteOnFailure: true})
	w.fail("C", "a", "r")
	reason := w.refuse("C", "a")
	w.want(3, []string{
		`S DELETE_IN_PROGRESS "The following resource(s) failed to create: [C]. Delete requested by user."`,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_FAILED id=a ` + reason,
		`S DELETE_FAILED "The following resource(s) failed to delete: [C]. "`,
	})
	w.must(w.deleteStack(engine.DeleteStack{Force: true}))
	w.succeed("C", "a")
	if w.status() != "DELETE_COMPLETE" {
		t.Error(w.history())
	}
}

// TestDeleteOnFailureOfAnything checks a stack that is deleted at once because no request could be sent, and one
// whose outputs failed.
func TestDeleteOnFailureOfAnything(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(one(`"ServiceTimeout": 0`), engine.CreateStack{DeleteOnFailure: true})
	if w.status() != "DELETE_COMPLETE" || w.stack().Live || len(w.inbox) > 0 {
		t.Error(w.history())
	}
	w.now = w.now.Add(time.Second) // so that the stack is the newest one
	w.createWith(body(map[string]string{"C": resource("")}, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["C", "none"]}}}`),
		engine.CreateStack{DeleteOnFailure: true})
	r := w.take("C")
	w.answer(r, success("a"))
	w.succeed("C", "a")
	w.want(4, []string{
		`S DELETE_IN_PROGRESS "CustomResource attribute error: Vendor response doesn't contain none attribute in object ` +
			string(w.stack().ID) + `|C|` + string(r.ID) + `. Delete requested by user."`,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=a`,
		`S DELETE_COMPLETE`,
	})
}

// TestRollbackOfACreate checks that a create that failed without a rollback is rolled back at the client's request.
func TestRollbackOfACreate(t *testing.T) {
	for name, test := range map[string]struct {
		in   engine.RollbackStack
		a    []string
		sent []string
	}{
		"policies are respected": {engine.RollbackStack{}, []string{`A DELETE_SKIPPED id=a`}, nil},
		"as created": {engine.RollbackStack{RetainExceptOnCreate: true}, []string{`A DELETE_IN_PROGRESS id=a`, `A DELETE_COMPLETE id=a`},
			[]string{`-> Delete A id=a {}`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.FidelityPintle)
			w.createWith(body(map[string]string{
				"A": resource("", `"DeletionPolicy": "Retain"`), "X": resource("", `"DependsOn": "A"`), "Y": resource("", `"DependsOn": "X"`),
			}), engine.CreateStack{Options: engine.Options{DisableRollback: true}})
			w.succeed("A", "a")
			w.fail("X", "x", "r")
			if w.status() != "CREATE_FAILED" {
				t.Fatal(w.history())
			}
			n := len(w.events())
			test.in.Token = "t"
			w.must(w.rollBack(test.in))
			w.must(w.rollBack(test.in)) // the same request
			w.succeed("X", "x")
			if len(test.sent) > 0 {
				w.succeed("A", "a")
			}
			want := []string{`S ROLLBACK_IN_PROGRESS "User Initiated"`, `X DELETE_IN_PROGRESS id=x`, `X DELETE_COMPLETE id=x`}
			w.want(n, append(append(want, test.a...), `S ROLLBACK_COMPLETE`),
				append([]string{`-> Create A id= {}`, `-> Create X id= {}`, `-> Delete X id=x {}`}, test.sent...)...)
		})
	}
}

// TestRollbackOfAnUpdate checks the rollback of an update that failed without one: it restores changed resources,
// deletes new ones, and does not touch the rest.
func TestRollbackOfAnUpdate(t *testing.T) {
	template := func(k string, more ...string) string {
		resources := map[string]string{
			"A": resource(`"K": "` + k + `"`), "B": resource(`"K": "`+k+`"`, `"DependsOn": "A"`),
			"C": resource(`"K": "`+k+`"`, `"DependsOn": "B"`),
		}
		for _, id := range more {
			resources[id] = resource("")
		}
		return body(resources)
	}
	w := created(t, template("v"), "A=a", "B=b", "C=c")
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: w.ref(), Template: template("w", "N", "O"), Options: engine.Options{DisableRollback: true},
	})
	w.must(err)
	w.succeed("A", "a2")
	w.succeed("N", "n")
	w.fail("O", "o", "r")
	w.fail("B", "b", "r")
	if got := w.stack().Reason; w.status() != "UPDATE_FAILED" ||
		got != "The following resource(s) failed to create: [O]. The following resource(s) failed to update: [B]. " {
		t.Fatalf("reason %q\n%s", got, w.history())
	}
	n := len(w.events())
	w.sent = nil
	w.must(w.rollBack(engine.RollbackStack{}))
	w.succeed("A", "a")
	w.succeed("B", "b")
	w.succeed("A", "a2")
	w.succeed("N", "n")
	w.succeed("O", "o")
	w.want(n, []string{
		`S UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a2`,
		`A UPDATE_IN_PROGRESS id=a "Requested update required the provider to create a new physical resource"`,
		`A UPDATE_COMPLETE id=a`,
		`B UPDATE_IN_PROGRESS id=b`,
		`B UPDATE_COMPLETE id=b`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`N DELETE_IN_PROGRESS id=n`,
		`O DELETE_IN_PROGRESS id=o`,
		`A DELETE_IN_PROGRESS id=a2`,
		`A DELETE_COMPLETE id=a2`,
		`N DELETE_COMPLETE id=n`,
		`O DELETE_COMPLETE id=o`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	},
		`-> Update A id=a2 {"K":"v"} was {"K":"w"}`, `-> Update B id=b {"K":"v"} was {"K":"w"}`,
		`-> Delete A id=a2 {"K":"w"}`, `-> Delete N id=n {}`, `-> Delete O id=o {}`,
	)
}

// TestRollbackSkipsUnsentCreate checks that the rollback sends no request for a resource that failed before its
// request was sent.
func TestRollbackSkipsUnsentCreate(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: w.ref(), Template: one(`"ServiceTimeout": 0`), Options: engine.Options{DisableRollback: true},
	})
	w.must(err)
	n := len(w.events())
	w.must(w.rollBack(engine.RollbackStack{}))
	w.want(n, []string{
		`S UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`,
		`C UPDATE_COMPLETE id=a`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
}

// TestRollbackFailsAndIsContinued checks that a requested rollback can fail, and be continued.
func TestRollbackFailsAndIsContinued(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: w.ref(), Template: one(`"K": "w"`), Options: engine.Options{DisableRollback: true},
	})
	w.must(err)
	w.fail("C", "a", "r")
	w.must(w.rollBack(engine.RollbackStack{}))
	w.fail("C", "a", "r")
	wantCode(t, w.rollBack(engine.RollbackStack{}), engine.CodeValidation, "RollbackStack cannot be called from current stack status")
	w.must(w.continueRollback(engine.ContinueRollback{Force: true}))
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Error(w.history())
	}
}

func TestRollbackRefusals(t *testing.T) {
	const status = "RollbackStack cannot be called from current stack status"
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	wantCode(t, w.rollBack(engine.RollbackStack{}), engine.CodeValidation, status)
	w.succeed("C", "a")
	wantCode(t, w.rollBack(engine.RollbackStack{}), engine.CodeValidation, status)
	w.delete()
	w.fail("C", "a", "r")
	wantCode(t, w.rollBack(engine.RollbackStack{}), engine.CodeValidation, status) // DELETE_FAILED
}
