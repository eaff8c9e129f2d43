package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// ignored creates a stack that ignores the failures of its create. Resources with an ID succeed, and those without
// one fail.
func ignored(t *testing.T, template string, answers ...string) *rosWorld {
	t.Helper()
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: template, Options: engine.Options{DisableRollback: true}}))
	for _, answer := range answers {
		if logical, id, _ := strings.Cut(answer, "="); id != "" {
			w.succeed(logical, id)
		} else {
			w.refuses(logical, "", "r")
		}
	}
	w.ignore()
	w.sent = nil
	return w
}

func (w *rosWorld) ignore() {
	w.t.Helper()
	_, err := w.engine.ContinueCreate(w.ctx, engine.ContinueCreate{Stack: w.rosRef(), Mode: engine.ContinueIgnore})
	w.must(err)
}

// TestROSRollbackToIgnored checks that a rollback restores the stack's complete state, without the resources that
// were ignored.
func TestROSRollbackToIgnored(t *testing.T) {
	template := func(k string) string {
		return rosBody(map[string]string{"A": rosResource(`"K": `+k, ""), "B": rosResource(`"K": `+k, `, "Timeout": 9`, `"DependsOn": "A"`)})
	}
	w := ignored(t, template("1"), "A=a", "B=")
	w.must(w.change(engine.UpdateStack{Template: template("2")}))
	w.succeed("A", "a")
	w.answer(w.take("B"), `"Status": "SUCCESS"`) // the Delete of its remains
	w.refuses("B", "", "again")
	w.succeed("A", "a")
	w.answer(w.take("B"), `"Status": "SUCCESS"`)
	if status := w.rosStatus(); status != "ROLLBACK_COMPLETE" || len(w.inbox) > 0 {
		t.Errorf("the stack is %s, and %d requests are left", status, len(w.inbox))
	}
	if diff := cmp.Diff([]string{
		`-> Update A id=a {"K":2} was {"K":1}`, `-> Delete B id= {"K":1}`, `-> Create B id= {"K":2}`,
		`-> Update A id=a {"K":1} was {"K":2}`, `-> Delete B id= {"K":2}`,
	}, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestROSFailureAfterAnOrphan checks that the reason of a failure is its own, and not that of an earlier resource
// with the same name.
func TestROSFailureAfterAnOrphan(t *testing.T) {
	template := func(more string) string {
		resources := map[string]string{"A": rosResource("", "")}
		if more != "" {
			resources[more] = rosResource("", "")
		}
		return rosBody(resources)
	}
	w := standing(t, engine.Config{}, template("C"), "A=a", "C=c")
	w.must(w.change(engine.UpdateStack{Template: template("")}))
	for range 3 {
		w.refuses("C", "c", "in use")
		w.pass(time.Minute)
	}
	if status := w.rosStatus(); status != "UPDATE_COMPLETE" {
		t.Fatal(status)
	}
	w.must(w.change(engine.UpdateStack{Template: template("C")}))
	id := w.refuses("C", "", "no room")
	want := "Resource CREATE failed: CustomResourceFailed: resources.C: no room (RequestId: " + string(id) + ")"
	if reason := w.reasonOf(store.PhaseRevert); reason != want {
		t.Errorf("the reason is %q, want %q", reason, want)
	}
}

// TestROSRollbackRestoresRetained checks that the rollback of an update restores a resource that its policy
// retained when it was replaced.
func TestROSRollbackRestoresRetained(t *testing.T) {
	template := func(token, k string) string {
		return rosBody(map[string]string{
			"A": rosResource("", token, `"DeletionPolicy": "Retain"`), "B": rosResource(`"K": `+k, "", `"DependsOn": "A"`),
		})
	}
	w := standing(t, engine.Config{}, template("", "1"), "A=a", "B=b")
	w.must(w.change(engine.UpdateStack{Template: template(otherTokenJSON, "2"), Replace: true}))
	w.succeed("A", "a2")
	w.refuses("B", "b", "r")
	w.succeed("A", "a2")
	w.succeed("B", "b")
	if status := w.rosStatus(); status != "ROLLBACK_COMPLETE" || w.current("A") != "a" {
		t.Errorf("the stack is %s, and A is %q", status, w.current("A"))
	}
	if diff := cmp.Diff([]string{
		`-> Create A id= {}`, `-> Update B id=b {"K":2} was {"K":1}`, `-> Delete A id=a2 {}`, `-> Update B id=b {"K":1} was {"K":2}`,
	}, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestROSRollbackSkipsIgnored checks that a resource that was never created gets no request, even if the resources
// that it refers to change.
func TestROSRollbackSkipsIgnored(t *testing.T) {
	template := func(token, k string) string {
		return rosBody(map[string]string{
			"A": rosResource("", token), "B": rosResource(`"K": `+k, "", `"DependsOn": "A"`),
			"U": rosResource(`"Of": {"Ref": "A"}`, "", `"DependsOn": "B"`),
		})
	}
	w := ignored(t, template("", "1"), "A=a", "B=b", "U=")
	w.must(w.change(engine.UpdateStack{Template: template(otherTokenJSON, "2"), Replace: true}))
	w.succeed("A", "a")
	w.succeed("A", "a2")
	w.refuses("B", "b", "r")
	w.succeed("A", "a2")
	w.succeed("A", "a3")
	w.succeed("B", "b")
	if status := w.rosStatus(); status != "ROLLBACK_COMPLETE" || len(w.inbox) > 0 {
		t.Errorf("the stack is %s, and is asked for are %v", status, w.sent)
	}
}

// TestROSIgnoreDeletesUndeclaredResources checks that a resource that only an earlier attempt declared is deleted
// when failed resources are ignored: no update would delete it.
func TestROSIgnoreDeletesUndeclaredResources(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{
		Template: rosBody(map[string]string{"A": rosResource("", ""), "B": rosResource("", "")}),
		Options:  engine.Options{DisableRollback: true},
	}))
	w.succeed("A", "a")
	w.refuses("B", "", "r")
	_, err := w.engine.ContinueCreate(w.ctx, engine.ContinueCreate{
		Stack: w.rosRef(), Template: rosBody(map[string]string{"B": rosResource("", "")}),
	})
	w.must(err)
	w.answer(w.take("B"), `"Status": "SUCCESS"`)
	w.refuses("B", "", "r")
	w.sent = nil
	w.ignore()
	w.succeed("A", "a")
	if status := w.rosStatus(); status != "CREATE_COMPLETE" || len(w.inbox) > 0 {
		t.Errorf("the stack is %s, and %d requests are left", status, len(w.inbox))
	}
	if diff := cmp.Diff([]string{`-> Delete A id=a {}`}, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestROSRollbackDoesNotReplaceExisting checks that a rollback does not replace a resource of the complete stack, even if the
// ignored create would have changed it.
func TestROSRollbackDoesNotReplaceExisting(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{
		Template: rosBody(map[string]string{"A": rosResource("", ""), "B": rosResource("", "")}),
		Options:  engine.Options{DisableRollback: true},
	}))
	w.succeed("A", "a")
	w.refuses("B", "", "r")
	other := func(k string) string {
		return rosBody(map[string]string{"A": rosResource(`"K": `+k, otherTokenJSON)})
	}
	_, err := w.engine.ContinueCreate(w.ctx, engine.ContinueCreate{Stack: w.rosRef(), Template: other("1")})
	w.must(err)
	if status := w.rosStatus(); status != "CREATE_FAILED" { // it would need another provider
		t.Fatal(status)
	}
	w.ignore()
	w.answer(w.take("B"), `"Status": "SUCCESS"`)
	w.sent = nil
	w.must(w.change(engine.UpdateStack{Template: other("2")}))
	if len(w.inbox) > 0 && w.inbox[0].Type != "Update" {
		t.Errorf("asked for is %v", w.sent)
	}
}
