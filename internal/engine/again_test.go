package engine_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// again updates a stack to a template and sends an Update to the named custom resources even if nothing changed.
func (w *world) again(in engine.UpdateStack, template string, ids ...wire.LogicalID) error {
	in.Stack, in.Template, in.Again = w.ref(), template, ids
	_, err := w.engine.Update(w.ctx, in)
	return err
}

var (
	twoThings = body(map[string]string{"A": resource(`"K": "1"`), "B": resource(`"K": {"Fn::GetAtt": ["A", "x"]}`)})
	someData  = `, "Data": {"x": "1"}`
)

// withTwoThings creates a stack in which B reads an attribute of A.
func withTwoThings(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(twoThings))
	w.answer(w.take("A"), success("a")+someData)
	w.succeed("B", "b")
	w.sent = nil
	return w
}

func TestAgainSendsEqualProperties(t *testing.T) {
	w := withTwoThings(t)
	n := len(w.events())
	if err := w.update(twoThings); err == nil || err.Error() != "No updates are to be performed." {
		t.Errorf("an update without changes: %v", err)
	}
	w.must(w.again(engine.UpdateStack{}, twoThings, "A"))
	w.answer(w.take("A"), success("a")+someData)
	w.want(n, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a`,
		`A UPDATE_COMPLETE id=a`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_COMPLETE`,
	}, `-> Update A id=a {"K":"1"} was {"K":"1"}`)

	// The operation after it sends nothing again.
	if err := w.update(twoThings); err == nil || err.Error() != "No updates are to be performed." {
		t.Errorf("the next update: %v", err)
	}
}

// A resource that reads an attribute gets the new value, and one that was named gets a single Update.
func TestAgainSendsAllInOrder(t *testing.T) {
	w := withTwoThings(t)
	w.must(w.again(engine.UpdateStack{}, twoThings, engine.AllCustom))
	if len(w.inbox) != 1 {
		t.Fatalf("%d requests at once, want that of A", len(w.inbox))
	}
	w.answer(w.take("A"), success("a")+`, "Data": {"x": "2"}`)
	w.succeed("B", "b")
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Error(got)
	}
	want := []string{`-> Update A id=a {"K":"1"} was {"K":"1"}`, `-> Update B id=b {"K":"2"} was {"K":"1"}`}
	if diff := cmp.Diff(want, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Changes of the template are part of the same update, and a new resource gets a Create.
func TestAgainWithChanges(t *testing.T) {
	w := withTwoThings(t)
	w.must(w.again(engine.UpdateStack{}, body(map[string]string{
		"A": resource(`"K": "1"`), "B": resource(`"K": "changed"`), "C": resource(""),
	}), "A", "C"))
	w.answer(w.take("A"), success("a")+someData)
	w.succeed("B", "b")
	w.succeed("C", "c")
	want := []string{`-> Update A id=a {"K":"1"} was {"K":"1"}`, `-> Update B id=b {"K":"changed"} was {"K":"1"}`, `-> Create C id= {}`}
	if diff := cmp.Diff(want, w.sent); diff != "" || w.status() != "UPDATE_COMPLETE" {
		t.Errorf("%s, requests (-want +got):\n%s", w.status(), diff)
	}
}

// A failed Update is undone by another one, as any failed Update is.
func TestAgainRollsBack(t *testing.T) {
	w := withTwoThings(t)
	n := len(w.events())
	w.must(w.again(engine.UpdateStack{}, twoThings, "A"))
	w.fail("A", "a", "new code")
	w.answer(w.take("A"), success("a")+someData)
	w.want(n, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`A UPDATE_IN_PROGRESS id=a`,
		`A UPDATE_FAILED id=a "Received response status [FAILED] from custom resource. Message returned: new code (RequestId: id-9)"`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [A]."`,
		`A UPDATE_IN_PROGRESS id=a`,
		`A UPDATE_COMPLETE id=a`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	}, `-> Update A id=a {"K":"1"} was {"K":"1"}`, `-> Update A id=a {"K":"1"} was {"K":"1"}`)

	w.sent = nil
	w.must(w.again(engine.UpdateStack{}, twoThings, "A"))
	w.answer(w.take("A"), success("a")+someData)
	if got := w.status(); got != "UPDATE_COMPLETE" || len(w.sent) != 1 {
		t.Errorf("the next try: %s after %q", got, w.sent)
	}
}

// When another resource fails, one that has got its Update already is as it was before: it needs no request.
func TestAgainRolledBackByAnother(t *testing.T) {
	w := withTwoThings(t)
	w.must(w.again(engine.UpdateStack{}, body(map[string]string{"A": resource(`"K": "1"`), "B": resource(`"K": "2"`, `"DependsOn": "A"`)}), "A"))
	w.answer(w.take("A"), success("a")+someData)
	w.fail("B", "b", "no")
	w.succeed("B", "b")
	want := []string{
		`-> Update A id=a {"K":"1"} was {"K":"1"}`, `-> Update B id=b {"K":"2"} was {"K":"1"}`, `-> Update B id=b {"K":"1"} was {"K":"2"}`,
	}
	if diff := cmp.Diff(want, w.sent); diff != "" || w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("%s, requests (-want +got):\n%s", w.status(), diff)
	}
}

// A new physical ID replaces the resource, and the old one is deleted. If the update is rolled back because of another resource, the
// old one is current again, because an Update with equal properties could not ask the provider for that.
func TestAgainReplaces(t *testing.T) {
	t.Run("complete", func(t *testing.T) {
		w := withTwoThings(t)
		w.must(w.again(engine.UpdateStack{}, twoThings, "A"))
		w.answer(w.take("A"), success("a2")+someData)
		w.succeed("A", "a")
		want := []string{`-> Update A id=a {"K":"1"} was {"K":"1"}`, `-> Delete A id=a {"K":"1"}`}
		if diff := cmp.Diff(want, w.sent); diff != "" || w.status() != "UPDATE_COMPLETE" {
			t.Errorf("%s, requests (-want +got):\n%s", w.status(), diff)
		}
	})
	t.Run("failed", func(t *testing.T) {
		w := withTwoThings(t)
		w.must(w.again(engine.UpdateStack{}, twoThings, "A"))
		w.fail("A", "a2", "no")
		w.answer(w.take("A"), success("a")+someData)
		w.succeed("A", "a2")
		want := []string{
			`-> Update A id=a {"K":"1"} was {"K":"1"}`, `-> Update A id=a2 {"K":"1"} was {"K":"1"}`, `-> Delete A id=a2 {"K":"1"}`,
		}
		if diff := cmp.Diff(want, w.sent); diff != "" || w.status() != "UPDATE_ROLLBACK_COMPLETE" {
			t.Errorf("%s, requests (-want +got):\n%s", w.status(), diff)
		}
	})
}

// A rollback deletes the replacement and not the original, and a resource that refers to it goes back too.
func TestAgainReplacesAndRollsBack(t *testing.T) {
	reading := func(k string) string {
		return body(map[string]string{"A": resource(`"K": "1"`), "B": resource(`"R": {"Ref": "A"}, "K": "` + k + `"`)})
	}
	begin := func(t *testing.T, in engine.UpdateStack) *world {
		t.Helper()
		w := newWorld(t, engine.FidelityPintle)
		w.must(w.create(reading("1")))
		w.succeed("A", "a")
		w.succeed("B", "b")
		w.sent = nil
		w.must(w.again(in, reading("1"), "A"))
		w.succeed("A", "a2")
		w.fail("B", "b", "no")
		return w
	}
	finish := func(t *testing.T, w *world) {
		t.Helper()
		w.succeed("B", "b")
		w.succeed("A", "a2")
		want := []string{
			`-> Update A id=a {"K":"1"} was {"K":"1"}`, `-> Update B id=b {"R":"a2","K":"1"} was {"R":"a","K":"1"}`,
			`-> Update B id=b {"R":"a","K":"1"} was {"R":"a2","K":"1"}`, `-> Delete A id=a2 {"K":"1"}`,
		}
		if diff := cmp.Diff(want, w.sent); diff != "" || w.status() != "UPDATE_ROLLBACK_COMPLETE" {
			t.Errorf("%s, requests (-want +got):\n%s", w.status(), diff)
		}
		if roles := w.roles(); roles["a"] != store.RoleCurrent || roles["a2"] != store.RoleGone {
			t.Errorf("roles %v", roles)
		}
	}
	t.Run("automatic", func(t *testing.T) { finish(t, begin(t, engine.UpdateStack{})) })
	t.Run("on request", func(t *testing.T) {
		w := begin(t, engine.UpdateStack{Options: engine.Options{DisableRollback: true}})
		_, err := w.engine.Rollback(w.ctx, engine.RollbackStack{Stack: w.ref()})
		w.must(err)
		finish(t, w)
	})
}

// output returns an output of the stack.
func (w *world) output(name string) string {
	v, _ := w.stack().OutputValues.Get(name)
	return v.Text()
}

// A rollback restores the attributes that a forced Update has changed, so a resource that reads them gets the previous values.
func TestAgainRestoresAttributes(t *testing.T) {
	template := body(map[string]string{"A": resource(`"K": "1"`), "B": resource(`"K": {"Fn::GetAtt": ["A", "x"]}`)},
		`"Outputs": {"O": {"Value": {"Fn::GetAtt": ["A", "x"]}}}`)
	begin := func(t *testing.T) *world {
		t.Helper()
		w := newWorld(t, engine.FidelityPintle)
		w.must(w.create(template))
		w.answer(w.take("A"), success("a")+someData)
		w.succeed("B", "b")
		w.sent = nil
		return w
	}
	finish := func(t *testing.T, w *world) {
		t.Helper()
		w.succeed("B", "b")
		if got, last := w.status(), w.sent[len(w.sent)-1]; got != "UPDATE_ROLLBACK_COMPLETE" || last != `-> Update B id=b {"K":"1"} was {"K":"2"}` {
			t.Errorf("%s after %s", got, last)
		}
		if got := w.output("O"); got != "1" {
			t.Errorf("the output is %q, want 1", got)
		}
		if err := w.update(template); err == nil || err.Error() != "No updates are to be performed." {
			t.Errorf("the next update: %v", err)
		}
	}
	again := func(w *world, in engine.UpdateStack, value string) {
		w.must(w.again(in, template, "A"))
		w.answer(w.take("A"), success("a")+`, "Data": {"x": "`+value+`"}`)
	}
	keep := engine.UpdateStack{Options: engine.Options{DisableRollback: true}}
	rollBack := func(w *world) {
		_, err := w.engine.Rollback(w.ctx, engine.RollbackStack{Stack: w.ref()})
		w.must(err)
	}
	t.Run("automatic", func(t *testing.T) {
		w := begin(t)
		again(w, engine.UpdateStack{}, "2")
		w.fail("B", "b", "no")
		finish(t, w)
	})
	t.Run("on request", func(t *testing.T) {
		w := begin(t)
		again(w, keep, "2")
		w.fail("B", "b", "no")
		rollBack(w)
		finish(t, w)
	})
	t.Run("after a second try", func(t *testing.T) {
		w := begin(t)
		again(w, keep, "3")
		w.fail("B", "b", "no")
		again(w, keep, "2")
		w.fail("B", "b", "no")
		rollBack(w)
		finish(t, w)
	})
	t.Run("secret", func(t *testing.T) {
		w := begin(t)
		again(w, engine.UpdateStack{}, `2"}, "NoEcho": true, "Ignored": {"y": "`)
		w.fail("B", "b", "no")
		w.succeed("B", "b")
		if got := w.output("O"); got != "1" {
			t.Errorf("the output is %q, want 1", got)
		}
	})
	t.Run("complete", func(t *testing.T) { // a later rollback restores the newer attributes
		w := begin(t)
		again(w, engine.UpdateStack{}, "2")
		w.succeed("B", "b")
		w.sent = nil
		again(w, engine.UpdateStack{}, "3")
		w.fail("B", "b", "no")
		w.succeed("B", "b")
		if last := w.sent[len(w.sent)-1]; last != `-> Update B id=b {"K":"2"} was {"K":"3"}` || w.output("O") != "2" {
			t.Errorf("%s, outputs %v", last, w.stack().OutputValues)
		}
	})
}

// The properties stay equal while a resource that was replaced earlier still waits for its deletion.
func TestAgainAfterFailedCleanup(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	one, two := body(map[string]string{"A": resource(`"K": "1"`)}), body(map[string]string{"A": resource(`"K": "2"`)})
	w.must(w.create(one))
	w.succeed("A", "a")
	w.must(w.update(two))
	w.succeed("A", "a2")
	for range 3 {
		w.fail("A", "a", "in use")
		for w.pass(0); len(w.inbox) == 0 && !w.stack().Phase.Final(); {
			w.pass(10_000_000_000)
		}
	}
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Fatal(got)
	}
	w.sent = nil
	w.must(w.again(engine.UpdateStack{}, two, "A"))
	w.succeed("A", "a2")
	if want := `-> Update A id=a2 {"K":"2"} was {"K":"2"}`; w.sent[0] != want {
		t.Errorf("sent %s, want %s", w.sent[0], want)
	}
}

// A resource whose Update failed and was left is updated from what that one asked for.
func TestAgainRetries(t *testing.T) {
	w := withTwoThings(t)
	keep := engine.UpdateStack{Options: engine.Options{DisableRollback: true}}
	w.must(w.again(keep, twoThings, "A"))
	w.fail("A", "a", "no")
	if got := w.status(); got != "UPDATE_FAILED" {
		t.Fatal(got)
	}
	if err := w.again(engine.UpdateStack{}, twoThings, "A"); err == nil || !strings.Contains(err.Error(), "disable-rollback") {
		t.Errorf("without DisableRollback: %v", err)
	}
	w.sent = nil
	w.must(w.again(keep, twoThings, "A"))
	w.answer(w.take("A"), success("a")+someData)
	want := []string{`-> Update A id=a {"K":"1"} was {"K":"1"}`}
	if diff := cmp.Diff(want, w.sent); diff != "" || w.status() != "UPDATE_COMPLETE" {
		t.Errorf("%s, requests (-want +got):\n%s", w.status(), diff)
	}
}

func TestAgainByPolicy(t *testing.T) {
	w, denied := withPolicy(t, "Update:Modify")
	same := body(map[string]string{"DB": resource(`"K": "1"`), "Web": resource(`"K": "1"`)})
	n := len(w.events())
	w.must(w.again(engine.UpdateStack{}, same, "DB"))
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
		t.Errorf("the policy denies it, but sent are %q", w.sent)
	}
	w.must(w.again(engine.UpdateStack{PolicyDuring: openAll}, same, "DB"))
	w.succeed("DB", "db")
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Errorf("with another policy for this update: %s", got)
	}
}

func TestAgainRejects(t *testing.T) {
	types, err := native.New(found{})
	if err != nil {
		t.Fatal(err)
	}
	never := `"Conditions": {"Never": {"Fn::Equals": ["a", "b"]}}`
	mixed := body(map[string]string{"A": resource(""), "H": existing("h"), "N": resource("", `"Condition": "Never"`)}, never)
	bare := body(map[string]string{"H": existing("h")})
	for name, c := range map[string]struct {
		template string
		fidelity engine.Fidelity
		id       wire.LogicalID
		want     string
	}{
		"unknown ID":          {mixed, engine.FidelityPintle, "Thng", "the template of stack S has no resource Thng. The custom resources are A."},
		"another type":        {mixed, engine.FidelityPintle, "H", "H has the type Test::Found and is not a custom resource. The custom resources are A."},
		"false condition":     {mixed, engine.FidelityPintle, "N", "the condition of N is false. The custom resources are A."},
		"no custom resources": {bare, engine.FidelityPintle, engine.AllCustom, "the template of stack S has no custom resources."},
		"fidelity aws": {mixed, engine.FidelityAWS, "A", "with --fidelity aws, Pintle sends an Update only if the properties change, as AWS does. " +
			"Change a property, or run without --fidelity aws."},
	} {
		t.Run(name, func(t *testing.T) {
			w := &waiting{world: newWorldOf(t, c.fidelity, types), types: types}
			w.must(w.create(c.template))
			w.serve("H")
			if c.template == mixed {
				w.succeed("A", "a")
			}
			n := len(w.events())
			want := engine.NoUpdateAgain + c.want
			if err := w.again(engine.UpdateStack{}, c.template, c.id); err == nil || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			} else if _, ok := engine.InputError(err); !ok {
				t.Error("the error is not the client's")
			}
			if _, err := w.engine.Preview(w.ctx, engine.PreviewStack{Stack: named("S"), Template: c.template, Again: []wire.LogicalID{c.id}}); err == nil || err.Error() != want {
				t.Errorf("a preview: %v", err)
			}
			if got := w.events(); len(got) != n {
				t.Errorf("events %q", got[n:])
			}
		})
	}
}

// A client may repeat an ID. The list stays bounded by the template, in memory and in the operation's row.
func TestAgainRepeatedIDs(t *testing.T) {
	w := withTwoThings(t)
	ids := slices.Repeat([]wire.LogicalID{engine.AllCustom}, 200_000) // fits into a request
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.must(w.again(engine.UpdateStack{}, twoThings, ids...))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
		t.Errorf("allocated %d bytes", got)
	}
	op, err := w.store.Operation(w.ctx, w.stack().Key, 2)
	w.must(err)
	if diff := cmp.Diff([]wire.LogicalID{"A", "B"}, op.Forced); diff != "" {
		t.Error(diff)
	}
}

func TestAgainPreview(t *testing.T) {
	w := withTwoThings(t)
	in := engine.PreviewStack{Stack: named("S"), Template: twoThings}
	out, err := w.engine.Preview(w.ctx, in)
	w.must(err)
	if !out.Unchanged {
		t.Error("without Again there are changes")
	}
	in.Again = []wire.LogicalID{engine.AllCustom}
	out, err = w.engine.Preview(w.ctx, in)
	w.must(err)
	var got []string
	for _, c := range out.Changes {
		got = append(got, string(c.Action)+" "+c.LogicalID)
		if !c.Again || c.Replacement != plan.ReplacementConditional {
			t.Errorf("%s: again %v, replacement %s", c.LogicalID, c.Again, c.Replacement)
		}
	}
	if diff := cmp.Diff([]string{"Modify A", "Modify B"}, got); diff != "" || out.Unchanged {
		t.Errorf("unchanged %v, changes (-want +got):\n%s", out.Unchanged, diff)
	}
}

// The IDs are checked when the macros have run, and are kept until then.
func TestAgainAfterMacros(t *testing.T) {
	w := newFound(t)
	w.macros("M")
	plain := body(map[string]string{"H": resource(""), "T": resource("")})
	w.must(w.create(plain))
	w.succeed("H", "h")
	w.succeed("T", "t")
	w.sent = nil
	const transformed = `{"Transform": "M", "Resources": {"X": 1}}`
	w.must(w.again(engine.UpdateStack{Options: expanding()}, transformed, engine.AllCustom))
	r := w.macro("M")
	w.returns(r, replying(r, plain))
	w.succeed("H", "h")
	w.succeed("T", "t")
	if got := w.status(); got != "UPDATE_COMPLETE" || len(w.sent) != 3 { // with the macro
		t.Errorf("%s after %q", got, w.sent)
	}
	w.must(w.again(engine.UpdateStack{Options: expanding()}, transformed, "Nothing"))
	r = w.macro("M")
	w.returns(r, replying(r, plain))
	if got := w.stack(); w.status() == "UPDATE_COMPLETE" || !strings.Contains(w.history(), "has no resource Nothing. The custom resources are H, T.") {
		t.Errorf("%s\n%s", got.Phase, w.history())
	}
}

// The IDs are part of the operation's row, so that another process continues where one died.
func TestAgainIsStored(t *testing.T) {
	w := withTwoThings(t)
	w.must(w.again(engine.UpdateStack{}, twoThings, "B", "A", "B"))
	op, err := w.store.Operation(w.ctx, w.stack().Key, 2)
	w.must(err)
	if diff := cmp.Diff([]wire.LogicalID{"A", "B"}, op.Forced); diff != "" {
		t.Error(diff)
	}
	var requests []store.Request
	for len(w.inbox) > 0 { // a new engine sends them
		requests, w.inbox = append(requests, w.inbox...), nil
	}
	second, err := engine.Open(w.ctx, engine.Config{
		Store: w.store, Alone: true, NewID: func() string { w.ids++; return "again-" + string(rune('a'+w.ids)) },
		Dispatch: func(ready []store.Request) { w.inbox = append(w.inbox, ready...) },
	})
	w.must(err)
	w.engine = second
	if len(requests) != 1 {
		t.Fatalf("%d requests before", len(requests))
	}
	w.answer(requests[0], success("a")+someData)
	w.succeed("B", "b")
	if got := w.status(); got != "UPDATE_COMPLETE" {
		t.Error(got)
	}
	if want := `-> Update B id=b {"K":"1"} was {"K":"1"}`; len(w.sent) != 1 || w.sent[0] != want {
		t.Errorf("sent %q, want %s", w.sent, want)
	}
}
