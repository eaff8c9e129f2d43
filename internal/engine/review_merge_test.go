package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// expand creates a root with the acknowledgement of macros and the nested stacks in f.templates.
func (f *tree) expand(root string) {
	f.t.Helper()
	f.must(f.createExpanding(root, nil))
	f.nest()
}

// TestDeleteNestedWhileItsMacrosRun checks that a client cannot delete a nested stack whose parent waits for its
// create, because the parent would get the ID of a deleted stack.
func TestDeleteNestedWhileItsMacrosRun(t *testing.T) {
	f := newTree(t)
	f.macros("M")
	f.templates["child"] = oneMacro
	f.expand(body(map[string]string{"A": nestedIn("child")}))
	child := f.named("S-A-")
	_, err := f.engine.Delete(f.ctx, engine.DeleteStack{Stack: engine.Ref{Account: account, Region: region, Stack: string(child.ID)}})
	if reported, ok := engine.InputError(err); !ok || reported.Code != engine.CodeOperationInProgress {
		t.Errorf("the delete says %v", err)
	}
	f.nest()
	f.is("S", "CREATE_IN_PROGRESS")
	f.is("S-A-", "CREATE_IN_PROGRESS")
	r := f.macro("M")
	f.returns(r, replying(r, body(map[string]string{"C": resource("")})))
	f.easily()
	f.is("S", "CREATE_COMPLETE")
}

// TestPreviousTemplateOfFailedMacros checks that the template of a create whose macros failed cannot be used again.
func TestPreviousTemplateOfFailedMacros(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.macros("M")
	w.must(w.createExpanding(oneMacro, func(in *engine.CreateStack) { in.DisableRollback = true }))
	w.returns(w.macro("M"), `{}`)
	if w.status() != "CREATE_FAILED" {
		t.Fatalf("the stack is in %s", w.status())
	}
	options := expanding()
	options.DisableRollback = true
	in := engine.UpdateStack{Stack: w.ref(), UsePrevious: true, Options: options}
	const want = "The macros of the previous template have not run, so that it cannot be used again. Give the template."
	if _, err := w.engine.Update(w.ctx, in); err == nil || err.Error() != want {
		t.Errorf("the update says %v", err)
	}
	_, err := w.planned(engine.CreateChangeSet{Options: options, Name: "C", Kind: store.KindUpdate, UsePrevious: true})
	if err == nil || err.Error() != want {
		t.Errorf("the change set says %v", err)
	}
	w.delete()
	if w.status() != "DELETE_COMPLETE" {
		t.Errorf("the stack is in %s", w.status())
	}
}

// TestDeleteNestedExportInUse checks that a parent gets an error if its nested stack cannot be deleted, even where a
// client would get only an event.
func TestDeleteNestedExportInUse(t *testing.T) {
	for _, fidelity := range []engine.Fidelity{engine.FidelityPintle, engine.FidelityAWS} {
		t.Run(string(fidelity), func(t *testing.T) {
			f := newTreeOf(t, fidelity)
			f.templates["child"] = still([3]string{"O", `"v"`, "x"})
			f.stand(body(map[string]string{"A": nestedIn("child")}))
			f.must(f.createNamed("App", still([3]string{"I", imported("x"), ""}), engine.Options{}))
			f.remove("S")
			f.nest()
			f.is("S", "DELETE_FAILED")
			f.is("S-A-", "CREATE_COMPLETE")
			f.trade("x of " + f.named("S-A-").Name + " = v [App]")
			f.remove("App")
			f.remove("S")
			f.nest()
			f.is("S", "DELETE_COMPLETE")
		})
	}
}

// TestUndoNestedExportInUse rolls back a nested stack whose new export another stack started to import while it was
// held.
func TestUndoNestedExportInUse(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = still([3]string{"O", `"old"`, ""})
	f.stand(body(map[string]string{"A": nestedIn("child")}))
	f.templates["child"] = still([3]string{"O", `"new"`, "x"})
	f.must(f.updateNamed("S", body(map[string]string{"A": nestedIn("child"), "B": resource("", `"DependsOn": "A"`)})))
	f.nest()
	f.must(f.createNamed("App", still([3]string{"I", imported("x"), ""}), engine.Options{}))
	f.bad("B", "b")
	f.easily()
	f.is("S", "UPDATE_ROLLBACK_FAILED")
	f.is("S-A-", "UPDATE_ROLLBACK_FAILED")
	if reason := f.named("S-A-").Reason; !strings.Contains(reason, "Export x cannot be deleted as it is in use by App") {
		t.Errorf("the reason is %q", reason)
	}
	f.trade("x of " + f.named("S-A-").Name + " = new [App]")

	f.remove("App")
	_, err := f.engine.ContinueRollback(f.ctx, engine.ContinueRollback{Stack: named("S")})
	f.must(err)
	f.easily()
	f.is("S", "UPDATE_ROLLBACK_COMPLETE")
	f.is("S-A-", "UPDATE_ROLLBACK_COMPLETE")
	f.trade()
	if diff := cmp.Diff(`{"O":"old"}`, f.named("S-A-").OutputValues.String()); diff != "" {
		t.Error(diff)
	}
}

// TestMacroRepliesThatGrow checks that the state between macros is limited to a size that can be read again, even if
// texts are longer in JSON.
func TestMacroRepliesThatGrow(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.macros("M", "N")
	w.must(w.createExpanding(`{"Transform": ["M", "N"], "Resources": {"A": 1}}`, nil))
	r := w.macro("M")
	w.returns(r, replying(r, body(map[string]string{"A": resource(`"T": "` + strings.Repeat(`\n`, 900_000) + `"`)})))
	w.want(1, []string{
		`S ROLLBACK_IN_PROGRESS "Template may not exceed 1000000 bytes in size.. Rollback requested by user."`, `S ROLLBACK_COMPLETE`,
	})
}

// updateLeaving updates the root without a rollback on failure.
func (f *tree) updateLeaving(root string) {
	f.t.Helper()
	options := expanding()
	options.DisableRollback = true
	_, err := f.engine.Update(f.ctx, engine.UpdateStack{Stack: named("S"), Options: options, Template: root})
	f.must(err)
}

func (f *tree) rollRootBack() {
	f.t.Helper()
	_, err := f.engine.Rollback(f.ctx, engine.RollbackStack{Stack: named("S")})
	f.must(err)
}

// late serves the request for A like a node that was declared dead: in the meantime the request has failed.
func (f *tree) late(meanwhile func()) {
	f.t.Helper()
	r := f.take("A")
	_, waits, err := f.engine.Nest(f.ctx, &r, func(context.Context) (string, error) {
		f.must(f.engine.Report(f.ctx, r.ID, engine.Outcome{Kind: engine.Provided, Text: "gone", Delivered: true}))
		f.is("S", "UPDATE_FAILED")
		meanwhile()
		return oneMacro, nil
	})
	if err != nil || !waits {
		f.t.Fatalf("waits %v, %v", waits, err)
	}
}

// TestLateWorkIsUndoneWithoutRollback checks that work that started too late is undone, even if failures are not rolled back.
func TestLateWorkIsUndoneWithoutRollback(t *testing.T) {
	f := newTree(t)
	f.macros("M")
	f.templates["child"] = body(map[string]string{"C": resource("")})
	root := body(map[string]string{"A": nestedIn("child")})
	f.stand(root)
	f.updateLeaving(root)
	f.late(func() {
		f.rollRootBack()
		f.easily()
		f.is("S", "UPDATE_ROLLBACK_COMPLETE")
	})
	f.macro("M") // it was called in vain
	f.is("S-A-", "UPDATE_ROLLBACK_COMPLETE")
}

// TestUndoWhileMacrosOfRetryRun checks that the remains of an earlier attempt are undone while the macros of a retry
// run.
func TestUndoWhileMacrosOfRetryRun(t *testing.T) {
	f := newTree(t)
	f.macros("M")
	child := func(more string) string { return body(map[string]string{"C": resource(more)}) }
	f.templates["child"] = child("")
	root := body(map[string]string{"A": nestedIn("child")})
	f.stand(root)
	f.templates["child"] = child(`"X": "1"`)
	f.updateLeaving(root)
	f.bad("C", "C")
	f.is("S-A-", "UPDATE_FAILED")
	f.updateLeaving(root)
	f.late(func() {})
	f.macro("M")
	f.is("S-A-", "UPDATE_IN_PROGRESS")
	f.rollRootBack()
	f.easily()
	f.is("S", "UPDATE_ROLLBACK_COMPLETE")
	f.is("S-A-", "UPDATE_ROLLBACK_COMPLETE")
}
