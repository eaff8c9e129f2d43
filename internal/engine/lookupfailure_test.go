package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
)

// denied is a native type whose lookups fail.
type denied struct{ found }

// Find implements [native.Importer].
func (denied) Find(context.Context, *store.Request) (native.Existing, error) {
	return native.Existing{}, errors.New("AccessDenied: no permission for ssm:GetParameter")
}

// TestImportWithMacrosLookupFails checks that a lookup that fails after the macros have run fails the change set,
// because no client waits for the error.
func TestImportWithMacrosLookupFails(t *testing.T) {
	types, err := native.New(denied{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOf(t, engine.FidelityPintle, types)
	w.macros("M")
	_, err = w.planned(engine.CreateChangeSet{
		Options: expanding(), Name: "m", Kind: store.KindCreate, ImportExisting: true,
		Template: `{"Transform": "M", "Resources": {"X": 1}}`,
	})
	w.must(err)
	r := w.macro("M")
	w.returns(r, replying(r, body(map[string]string{"A": existing("a")})))
	set := w.set("m")
	if set.State != store.ChangeSetFailed || !strings.Contains(set.Reason, "AccessDenied: no permission for ssm:GetParameter") {
		t.Errorf("the change set is %s: %s", set.State, set.Reason)
	}
	if row := w.stored(r); row.State != store.RequestSettled {
		t.Errorf("the request of the macro is %s", row.State)
	}
}
