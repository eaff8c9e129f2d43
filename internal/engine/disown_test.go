package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// found is a native type whose resources all exist already. The holder of each is "before NAME".
type found struct{}

// Schema implements [native.Type].
func (found) Schema() *native.Schema {
	return &native.Schema{
		Name: "Test::Found", Identifier: []string{"Name"}, Properties: []native.Property{{Name: "Name", Required: true, Change: native.Replaces}},
	}
}

// Find implements [native.Importer].
func (found) Find(_ context.Context, r *store.Request) (native.Existing, error) {
	return native.Existing{ID: r.Body.PhysicalID, Holder: "before " + string(r.Body.PhysicalID)}, nil
}

// Serve implements [native.Type]. Resources whose names begin with "bad" cannot be imported or created.
func (found) Serve(_ context.Context, r *store.Request) (native.Result, error) {
	name, _ := r.Body.Properties.Get("Name")
	if r.Type != store.TypeDisown && strings.HasPrefix(name.Text(), "bad") {
		return native.Result{}, fmt.Errorf("%s is bad", name.Text())
	}
	return native.Result{PhysicalID: wire.PhysicalID(name.Text())}, nil
}

func newFound(t *testing.T) *waiting {
	t.Helper()
	types, err := native.New(found{})
	if err != nil {
		t.Fatal(err)
	}
	return &waiting{world: newWorldOf(t, engine.FidelityPintle, types), types: types}
}

// existing returns a resource for a template that already exists.
func existing(name string, attributes ...string) string {
	return `{"Type": "Test::Found", "DeletionPolicy": "Retain", "Properties": {"Name": "` + name + `"}` +
		strings.Join(append([]string{""}, attributes...), ", ") + `}`
}

// TestImportRollbackReturnsResource checks that the rollback of an import returns the resource, with the request of the import
// and the previous holder. No step waits for that request, no user can answer it, and a failure is only recorded.
func TestImportRollbackReturnsResource(t *testing.T) {
	w := newFound(t)
	_, err := w.planned(engine.CreateChangeSet{
		Name: "i", Import: true, Template: body(map[string]string{"A": existing("a"), "B": existing("bad b", `"DependsOn": "A"`)}),
		Resources: []engine.ImportResource{
			{Type: "Test::Found", Logical: "A", Identifier: map[string]string{"Name": "a"}},
			{Type: "Test::Found", Logical: "B", Identifier: map[string]string{"Name": "bad b"}},
		},
	})
	w.must(err)
	w.must(w.execute("i"))
	imports := map[wire.LogicalID]wire.RequestID{"A": w.serve("A").ID, "B": w.serve("B").ID}
	if w.status() != "IMPORT_ROLLBACK_COMPLETE" {
		t.Fatalf("the stack is %s\n%s", w.status(), w.history())
	}
	var got []string
	for _, r := range w.inbox {
		got = append(got, fmt.Sprint(r.Logical, " ", r.Type, " ", r.Body.PhysicalID, " to ", r.Body.Holder, " ", r.Body.Import == imports[r.Logical]))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"A Disown a to before a true", "B Disown bad b to before bad b true"}, got); diff != "" {
		t.Fatalf("requests (-want +got):\n%s", diff)
	}
	a := w.take("A")
	for _, in := range []engine.Respond{{Logical: "A"}, {Logical: "A", Request: a.ID}} {
		_, err := w.respond(in)
		wantCode(t, err, engine.CodeValidation, "It waits for no provider.")
	}
	before := len(w.events())
	w.must(w.engine.Report(w.ctx, a.ID, engine.Outcome{Kind: engine.Provided, Text: "it is locked", Delivered: true}))
	w.must(w.engine.Report(w.ctx, a.ID, engine.Outcome{Kind: engine.Provided, Text: "it is locked", Delivered: true}))
	w.serve("B")
	if diff := cmp.Diff([]string{"A the resource was not given back: it is locked"}, w.audits()); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if row := w.stored(a); row.State != store.RequestSettled || len(w.events()) != before || w.status() != "IMPORT_ROLLBACK_COMPLETE" {
		t.Errorf("the request is %s, the stack %s", row.State, w.status())
	}
}

// TestFailedImportIsNotReturnedBeforeRetry checks that a failed import without a rollback is not returned before the next
// import, which would lose the resource.
func TestFailedImportIsNotReturnedBeforeRetry(t *testing.T) {
	w := newFound(t)
	w.must(w.create(body(map[string]string{"H": resource("")})))
	w.succeed("H", "h")
	importing := func(name, id string) {
		t.Helper()
		_, err := w.planned(engine.CreateChangeSet{
			Name: name, Kind: store.KindUpdate, ImportExisting: true, OnFailure: "DO_NOTHING",
			Template: body(map[string]string{"H": resource(""), "A": existing(id)}),
		})
		w.must(err)
		w.must(w.execute(name))
	}
	importing("first", "bad a")
	if r := w.serve("A"); r.Type != store.TypeImport || w.status() != "UPDATE_FAILED" {
		t.Fatalf("%s, the stack is %s", r.Type, w.status())
	}
	importing("second", "a")
	if len(w.inbox) != 1 || w.inbox[0].Type != store.TypeImport {
		t.Fatalf("requests %+v", w.inbox)
	}
	w.serveAll()
	if w.status() != "UPDATE_COMPLETE" {
		t.Errorf("the stack is %s\n%s", w.status(), w.history())
	}
}

// TestImportWithMacros checks that a change set imports the existing resources in the output of its macros.
func TestImportWithMacros(t *testing.T) {
	w := newFound(t)
	w.macros("M", "N")
	create := engine.CreateChangeSet{
		Options: expanding(), Name: "m", Kind: store.KindCreate, Template: `{"Transform": ["M", "N"], "Resources": {"X": 1}}`,
	}
	create.Import = true
	_, err := w.planned(create)
	wantCode(t, err, engine.CodeValidation, "A change set of type IMPORT cannot have a template with macros.")
	create.Import, create.ImportExisting = false, true
	_, err = w.planned(create)
	w.must(err)
	r := w.macro("M")
	w.returns(r, replying(r, `{"Resources": {"X": 2}}`))
	r = w.macro("N")
	w.returns(r, replying(r, body(map[string]string{"A": existing("a"), "B": existing("bad b", `"DependsOn": "A"`), "C": resource("")})))
	if got := changed(t, w.set("m")); got != "Import A, Import B, Add C" {
		t.Errorf("changes %s", got)
	}
	w.must(w.execute("m"))
	if r := w.serve("A"); r.Type != store.TypeImport || r.Body.Holder != "before a" {
		t.Errorf("%s of %s", r.Type, r.Body.Holder)
	}
}
