package engine_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestMacrosKeepOptionsOfChangeSet checks that a change set keeps its options after its macros have run.
func TestMacrosKeepOptionsOfChangeSet(t *testing.T) {
	w := newFound(t)
	w.macros("M")
	w.must(w.create(body(map[string]string{"H": resource(""), "T": resource("")})))
	w.succeed("H", "h")
	w.succeed("T", "t")
	in := engine.CreateChangeSet{
		Options: expanding(), Stack: named("S"), Name: "m", Kind: store.KindUpdate, Template: `{"Transform": "M", "Resources": {"X": 1}}`,
		Replace: true, Taint: []wire.LogicalID{"T"}, RevertDrift: true, Revert: []wire.LogicalID{"H"}, TimeoutMinutes: 7,
	}
	in.RoleARN, in.Parallelism = "arn:aws:iam::123456789012:role/deploy", 3
	in.Policy = `{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"}]}`
	made, err := w.engine.CreateChangeSet(w.ctx, in)
	w.must(err)
	created, err := w.store.ChangeSet(w.ctx, made.ID)
	w.must(err)
	r := w.macro("M")
	w.returns(r, replying(r, body(map[string]string{"H": resource(""), "T": resource("")})))
	settled, err := w.store.ChangeSet(w.ctx, made.ID)
	w.must(err)
	if settled.State != store.ChangeSetAvailable {
		t.Fatalf("the change set is %s: %s", settled.State, settled.Reason)
	}

	// The macros determine the first three, and an import that lists resources cannot have macros.
	determined := map[string]bool{"Revision": true, "Imports": true, "Changes": true, "Listed": true}
	before, after := reflect.ValueOf(*created.Body), reflect.ValueOf(*settled.Body)
	for i := range before.NumField() {
		name := before.Type().Field(i).Name
		if determined[name] {
			continue
		}
		if before.Field(i).IsZero() {
			t.Errorf("%s: this test does not set the field", name)
		}
		if diff := cmp.Diff(before.Field(i).Interface(), after.Field(i).Interface()); diff != "" {
			t.Errorf("%s after the macro (-want +got):\n%s", name, diff)
		}
	}
	if got := changed(t, w.set("m")); got != "Modify H, Modify T" {
		t.Errorf("changes %q", got)
	}
}
