package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// TestDecisionsWithNotesAreAudited checks that the audit list has a decision with a note, and not a rejected call.
func TestDecisionsWithNotesAreAudited(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(`{"Resources": {"A": ` + resource("") + `}}`))
	if err := w.engine.CancelUpdate(engine.Noted(w.ctx, "cancelled by nobody"), engine.CancelUpdate{Stack: w.ref()}); err == nil {
		t.Fatal("a create was cancelled as an update")
	}
	w.succeed("A", "a")
	stack := w.stack()
	if _, err := w.engine.Delete(engine.Noted(w.ctx, "deleted by somebody"), engine.DeleteStack{Stack: w.ref()}); err != nil {
		t.Fatal(err)
	}
	list, err := w.store.Audit(w.ctx, stack.Key, 9)
	if err != nil || len(list) != 1 || list[0].Text != "deleted by somebody" || list[0].Time.IsZero() {
		t.Errorf("audit %+v, error %v", list, err)
	}
}

// TestDependencies checks that the dependencies are those of the current template, in its order, without resources
// whose condition is false.
func TestDependencies(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(`{"Conditions": {"Never": {"Fn::Equals": ["a", "b"]}}, "Resources": {
		"C": ` + resource(`"Of": {"Fn::GetAtt": ["B", "Name"]}`, `"DependsOn": "A"`) + `,
		"A": ` + resource("") + `, "B": ` + resource(`"Of": {"Ref": "A"}`) + `,
		"D": ` + resource("", `"Condition": "Never"`) + `}}`))
	got, err := w.engine.Dependencies(w.ctx, w.stack())
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.Dependency{
		{Logical: "C", Type: "Custom::Thing", Needs: []wire.LogicalID{"A", "B"}},
		{Logical: "A", Type: "Custom::Thing"},
		{Logical: "B", Type: "Custom::Thing", Needs: []wire.LogicalID{"A"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
