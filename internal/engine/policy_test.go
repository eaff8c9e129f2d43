package engine_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
)

const (
	allowAll  = `{"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"}`
	openAll   = `{"Statement": [` + allowAll + `]}`
	protectDB = `{"Statement": [` + allowAll + `, {"Effect": "Deny", "Principal": "*", "Action": ["ACTION"], "Resource": "LogicalResourceId/DB"}]}`
	denies    = `"Action denied by stack policy: Statement [#2] does not allow [ACTION] for resource [LogicalResourceId/DB];"`
)

// withPolicy creates a stack of DB and Web whose policy denies one action on DB.
func withPolicy(t *testing.T, action string) (*world, string) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWith(body(map[string]string{"DB": resource(`"K": "1"`), "Web": resource(`"K": "1"`)}),
		engine.CreateStack{Options: engine.Options{Policy: strings.Replace(protectDB, "ACTION", action, 1)}})
	w.succeed("DB", "db")
	w.succeed("Web", "web")
	w.sent = nil
	return w, strings.Replace(denies, "ACTION", action, 1)
}

func TestPolicyDeniesModify(t *testing.T) {
	w, denied := withPolicy(t, "Update:Modify")
	n := len(w.events())
	changed := body(map[string]string{"DB": resource(`"K": "2"`), "Web": resource(`"K": "2"`)})
	w.must(w.update(changed))
	w.want(n, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`DB UPDATE_IN_PROGRESS id=db`,
		`DB UPDATE_FAILED id=db ` + denied,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [DB]."`,
		`DB UPDATE_COMPLETE id=db`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
	// The override is for one update, and the policy given with an update is for later ones.
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: w.ref(), Template: changed, PolicyDuring: openAll, Options: engine.Options{Policy: `{"Statement": []}`},
	})
	w.must(err)
	w.succeed("DB", "db")
	w.succeed("Web", "web")
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Fatal(got)
	}
	n = len(w.events())
	w.must(w.update(body(map[string]string{"DB": resource(`"K": "2"`), "Web": resource(`"K": "3"`)})))
	if got := w.events()[n+2]; got != `Web UPDATE_FAILED id=web "Action denied by stack policy: no statement allows [Update:Modify] for resource [LogicalResourceId/Web];"` {
		t.Error(got)
	}
}

// TestPolicyDeniesReplace checks a custom resource whose answer shows a denied replacement. The update is rolled
// back.
func TestPolicyDeniesReplace(t *testing.T) {
	w, denied := withPolicy(t, "Update:Replace")
	n := len(w.events())
	w.must(w.update(body(map[string]string{"DB": resource(`"K": "2"`), "Web": resource(`"K": "1"`)})))
	w.succeed("DB", "db2")
	w.succeed("DB", "db")
	w.succeed("DB", "db2")
	w.want(n, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`DB UPDATE_IN_PROGRESS id=db`,
		`DB UPDATE_IN_PROGRESS id=db2 "Requested update required the provider to create a new physical resource"`,
		`DB UPDATE_FAILED id=db2 ` + denied,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [DB]."`,
		`DB UPDATE_IN_PROGRESS id=db2`,
		`DB UPDATE_IN_PROGRESS id=db "Requested update required the provider to create a new physical resource"`,
		`DB UPDATE_COMPLETE id=db`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`DB DELETE_IN_PROGRESS id=db2`,
		`DB DELETE_COMPLETE id=db2`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	}, `-> Update DB id=db {"K":"2"} was {"K":"1"}`, `-> Update DB id=db2 {"K":"1"} was {"K":"2"}`, `-> Delete DB id=db2 {"K":"2"}`)
}

// TestPolicyDeniesDelete checks that a denied removal fails the update before any request is sent.
func TestPolicyDeniesDelete(t *testing.T) {
	w, denied := withPolicy(t, "Update:Delete")
	n := len(w.events())
	w.must(w.update(body(map[string]string{"Web": resource(`"K": "2"`)})))
	w.want(n, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`DB UPDATE_IN_PROGRESS id=db`,
		`DB UPDATE_FAILED id=db ` + denied,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [DB]."`,
		`DB UPDATE_COMPLETE id=db`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
	if len(w.sent) > 0 {
		t.Errorf("sent %q", w.sent)
	}
	w.must(w.engine.SetPolicy(w.ctx, w.ref(), openAll))
	w.must(w.update(body(map[string]string{"Web": resource(`"K": "1"`)})))
	w.succeed("DB", "db")
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Error(got)
	}
	w.delete() // the policy only applies to updates
	w.succeed("Web", "web")
}

func TestPolicyIsChecked(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	err := w.engine.SetPolicy(w.ctx, w.ref(), `{"Version": "2012-10-17"}`)
	if err == nil || err.Error() != "Error validating stack policy: Invalid stack policy" {
		t.Errorf("error %v", err)
	}
}

// TestPolicyDeniesReplaceOfRetry checks that a retry does not allow a replacement that was denied in a failed update,
// because the retry's clean-up would delete the protected resource. Returning to the old resource is not a
// replacement.
func TestPolicyDeniesReplaceOfRetry(t *testing.T) {
	replaced := body(map[string]string{"DB": resource(`"K": "2"`), "Web": resource(`"K": "1"`)})
	setUp := func(t *testing.T) (*world, string, int) {
		w, denied := withPolicy(t, "Update:Replace")
		w.must(w.updateLeft(replaced))
		w.succeed("DB", "db2")
		if got := w.status(); got != "UPDATE_FAILED" {
			t.Fatal(got)
		}
		return w, denied, len(w.events())
	}
	t.Run("the same", func(t *testing.T) {
		w, denied, n := setUp(t)
		w.must(w.updateLeft(replaced))
		w.want(n, []string{
			`S UPDATE_IN_PROGRESS "User Initiated"`,
			`DB UPDATE_IN_PROGRESS id=db2`,
			`DB UPDATE_FAILED id=db2 ` + denied,
			`S UPDATE_FAILED "The following resource(s) failed to update: [DB]. "`,
		})
		_, err := w.engine.Update(w.ctx, engine.UpdateStack{Stack: w.ref(), Template: replaced, PolicyDuring: openAll, Options: left})
		w.must(err)
		w.succeed("DB", "db")
		if got := w.status(); got != "UPDATE_COMPLETE" {
			t.Error(got)
		}
	})
	t.Run("another change of its replacement", func(t *testing.T) {
		w, denied, n := setUp(t)
		w.must(w.updateLeft(body(map[string]string{"DB": resource(`"K": "3"`), "Web": resource(`"K": "1"`)})))
		w.succeed("DB", "db2")
		w.want(n, []string{
			`S UPDATE_IN_PROGRESS "User Initiated"`,
			`DB UPDATE_IN_PROGRESS id=db2`,
			`DB UPDATE_FAILED id=db2 ` + denied,
			`S UPDATE_FAILED "The following resource(s) failed to update: [DB]. "`,
		})
	})
	t.Run("back", func(t *testing.T) {
		w, _, n := setUp(t)
		w.must(w.updateLeft(body(map[string]string{"DB": resource(`"K": "1"`), "Web": resource(`"K": "1"`)})))
		w.succeed("DB", "db")
		w.succeed("DB", "db2")
		w.want(n, []string{
			`S UPDATE_IN_PROGRESS "User Initiated"`,
			`DB UPDATE_IN_PROGRESS id=db2`,
			`DB UPDATE_IN_PROGRESS id=db "Requested update required the provider to create a new physical resource"`,
			`DB UPDATE_COMPLETE id=db`,
			`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
			`DB DELETE_IN_PROGRESS id=db2`,
			`DB DELETE_COMPLETE id=db2`,
			`S UPDATE_COMPLETE`,
		})
	})
}
