package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// labelled is a native type whose resources can have tags.
type labelled struct{ shelf }

// Schema implements [native.Type].
func (labelled) Schema() *native.Schema {
	return &native.Schema{Name: "Test::Labelled", Properties: []native.Property{
		{Name: "Name", Required: true, Change: native.Replaces}, {Name: "Width"}, {Name: "Tags", Kind: native.List},
	}}
}

// Serve implements [native.Type] like shelf, but a tag "bad" fails it.
func (l labelled) Serve(ctx context.Context, r *store.Request) (native.Result, error) {
	for _, tag := range r.Body.Tags {
		if tag.Key == "bad" {
			return native.Result{}, fmt.Errorf("the tag %s is invalid", tag.Key)
		}
	}
	return l.shelf.Serve(ctx, r)
}

// tagged returns options with tags, each KEY=VALUE.
func tagged(tags ...string) engine.Options {
	options := engine.Options{Tags: []store.Tag{}}
	for _, tag := range tags {
		key, value, _ := strings.Cut(tag, "=")
		options.Tags = append(options.Tags, store.Tag{Key: key, Value: value})
	}
	return options
}

// serveTags serves the requests of native types, and returns a line for each, with its tags.
func (w *waiting) serveTags() []string {
	w.t.Helper()
	var lines []string
	for len(w.inbox) > 0 {
		r := w.take(string(w.inbox[0].Logical))
		line := fmt.Sprint(r.Logical, " ", r.Type)
		for _, tag := range r.Body.Tags {
			line += " " + tag.Key + "=" + tag.Value
		}
		lines = append(lines, line)
		w.report(r)
	}
	return lines
}

func newLabels(t *testing.T) *waiting {
	t.Helper()
	types, err := native.New(shelf{}, labelled{})
	if err != nil {
		t.Fatal(err)
	}
	return &waiting{world: newWorldOf(t, engine.FidelityPintle, types), types: types}
}

// TestTagsOfStackReachResources checks that an update of only a stack's tags reaches the resources that can have
// tags, and that its rollback restores them.
func TestTagsOfStackReachResources(t *testing.T) {
	w := newLabels(t)
	label := func(properties string) string {
		return `{"Type": "Test::Labelled", "Properties": {` + properties + `}}`
	}
	template := body(map[string]string{"L": label(`"Name": "l"`), "S": shelved(`"Name": "s"`, `"DependsOn": "L"`)})
	_, err := w.engine.Create(w.ctx, engine.CreateStack{Name: store.StackName{Account: account, Region: region, Name: "S"}, Options: tagged("a=1"), Template: template})
	w.must(err)
	want := func(lines ...string) {
		t.Helper()
		if diff := cmp.Diff(lines, w.serveTags()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
	update := func(template string, tags ...string) {
		t.Helper()
		_, err := w.engine.Update(w.ctx, engine.UpdateStack{Stack: w.ref(), Options: tagged(tags...), Template: template})
		w.must(err)
	}
	want("L Create a=1", "S Create")

	at := len(w.events())
	update(template, "a=2", "b=3")
	want("L Update a=2 b=3")
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `L UPDATE_IN_PROGRESS id=l`, `L UPDATE_COMPLETE id=l`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_COMPLETE`)

	// Another resource fails: the tags are restored.
	update(body(map[string]string{"L": label(`"Name": "l"`), "S": shelved(`"Name": "s", "Width": 9`, `"DependsOn": "L"`)}), "c=4")
	want("L Update c=4", "S Update", "L Update a=2 b=3", "S Update")
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("the stack is %s", w.status())
	}
	// The tags themselves fail: their possible effects are undone.
	update(template, "bad=1")
	want("L Update bad=1", "L Update a=2 b=3")
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("the stack is %s", w.status())
	}
	// A replacement is created with the tags of its stack. Its rollback keeps the old resource with its tags.
	update(body(map[string]string{"L": label(`"Name": "m"`), "S": shelved(`"Name": "s", "Width": 9`, `"DependsOn": "L"`)}), "d=5")
	want("L Create d=5", "S Update", "S Update", "L Delete")
	update(template)
	want("L Update")
}

// failTagged reports that a request failed.
func (w *waiting) failTagged(logical string) {
	w.t.Helper()
	w.must(w.engine.Report(w.ctx, w.take(logical).ID, engine.Outcome{Kind: engine.Provided, Text: "it failed", Delivered: true}))
}

// forgetTags turns the row of a resource into one of an earlier version, which stored no tags.
func (w *waiting) forgetTags(logical wire.LogicalID) {
	w.t.Helper()
	w.must(w.store.Apply(w.ctx, store.Target{Stack: w.stack().Key}, func(v *store.View) (store.Delta, error) {
		for _, i := range v.Instances {
			if i.Logical == logical && i.Body.Tags != nil {
				body := *i.Body
				body.Tags, i.Body = nil, &body
				return store.Delta{Instances: []store.Instance{i}}, nil
			}
		}
		return store.Delta{}, fmt.Errorf("no tags of %s are stored", logical)
	}))
}

// label is a resource that can have tags.
const label = `{"Type": "Test::Labelled", "Properties": {"Name": "l"}}`

// standsLabelled creates a stack of a label L with the tag a=1, and of a shelf S that depends on it, with more
// resources.
func (w *waiting) standsLabelled(resources map[string]string) {
	w.t.Helper()
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "S"}, Options: tagged("a=1"), Template: body(resources),
	})
	w.must(err)
	for len(w.inbox) > 0 {
		if w.inbox[0].Body.Native() {
			w.serve(string(w.inbox[0].Logical))
		} else {
			w.succeed(string(w.inbox[0].Logical), "x")
		}
	}
	if w.status() != "CREATE_COMPLETE" {
		w.t.Fatalf("the stack is %s", w.status())
	}
}

// updateTagged starts an update of a stack with tags.
func (w *waiting) updateTagged(resources map[string]string, tags ...string) {
	w.t.Helper()
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{Stack: w.ref(), Options: tagged(tags...), Template: body(resources)})
	w.must(err)
}

func (w *waiting) wantTags(status string, lines ...string) {
	w.t.Helper()
	if diff := cmp.Diff(lines, w.serveTags()); diff != "" {
		w.t.Errorf("requests (-want +got):\n%s", diff)
	}
	if w.status() != status {
		w.t.Errorf("the stack is %s, want %s\n%s", w.status(), status, w.history())
	}
}

// TestTagsOfSkippedResource checks that a resource whose rollback is skipped counts as having the old tags, so the
// next update sends the new ones again.
func TestTagsOfSkippedResource(t *testing.T) {
	w := newLabels(t)
	stack := map[string]string{"L": label, "S": shelved(`"Name": "s"`, `"DependsOn": "L"`)}
	w.standsLabelled(stack)
	w.updateTagged(map[string]string{"L": label, "S": shelved(`"Name": "s", "Width": 9`, `"DependsOn": "L"`)}, "c=4")
	w.serve("L")
	w.serve("S")
	w.failTagged("L")
	w.wantTags("UPDATE_ROLLBACK_FAILED")
	w.must(w.continueRollback(engine.ContinueRollback{Skip: []wire.LogicalID{"L"}}))
	w.wantTags("UPDATE_ROLLBACK_COMPLETE", "S Update")
	w.updateTagged(stack, "c=4")
	w.wantTags("UPDATE_COMPLETE", "L Update c=4")
}

// TestTagsOfEarlierVersion checks rows of earlier versions, which have no tags. The next update sends the stack's
// tags, regardless of the stack policy.
func TestTagsOfEarlierVersion(t *testing.T) {
	const policy = `{"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"},
		{"Effect": "Deny", "Action": "Update:*", "Principal": "*", "Resource": "LogicalResourceId/L"}]}`
	wider := map[string]string{"L": label, "S": shelved(`"Name": "s", "Width": 2`, `"DependsOn": "L"`)}
	stands := func(t *testing.T) *waiting {
		t.Helper()
		w := newLabels(t)
		w.standsLabelled(map[string]string{"L": label, "S": shelved(`"Name": "s"`, `"DependsOn": "L"`)})
		w.forgetTags("L")
		w.must(w.engine.SetPolicy(w.ctx, w.ref(), policy))
		return w
	}
	t.Run("update", func(t *testing.T) {
		w := stands(t)
		w.updateTagged(wider, "a=1")
		w.wantTags("UPDATE_COMPLETE", "L Update a=1", "S Update")
		w.updateTagged(wider, "a=2") // now they are known
		w.wantTags("UPDATE_ROLLBACK_COMPLETE")
	})
	t.Run("change set", func(t *testing.T) {
		w := stands(t)
		set, err := w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Options: tagged("a=1"), Template: body(wider)})
		w.must(err)
		changes, err := set.Changes()
		w.must(err)
		for _, c := range changes {
			if c.Problem != "" {
				t.Errorf("%s: %s", c.LogicalID, c.Problem)
			}
		}
	})
	t.Run("properties are denied", func(t *testing.T) {
		w := stands(t)
		w.updateTagged(map[string]string{
			"L": `{"Type": "Test::Labelled", "Properties": {"Name": "l", "Width": 1}}`, "S": shelved(`"Name": "s"`, `"DependsOn": "L"`),
		}, "a=1")
		w.wantTags("UPDATE_ROLLBACK_COMPLETE")
	})
}

// TestTagsOfEarlierVersionInRollback checks that a rollback sends no tags to a resource of an earlier version that
// the update did not reach.
func TestTagsOfEarlierVersionInRollback(t *testing.T) {
	w := newLabels(t)
	stack := func(k string) map[string]string {
		return map[string]string{
			"A": resource(`"K": "` + k + `"`), "B": resource(`"K": "`+k+`"`, `"DependsOn": "A"`),
			"L": `{"Type": "Test::Labelled", "Properties": {"Name": "l"}, "DependsOn": "B"}`,
		}
	}
	w.standsLabelled(stack("v"))
	w.forgetTags("L")
	w.updateTagged(stack("w"), "a=1")
	w.succeed("A", "x")
	w.fail("B", "x", "r")
	w.succeed("A", "x")
	w.succeed("B", "x")
	w.wantTags("UPDATE_ROLLBACK_COMPLETE")
}

// TestTagsOfStackInChangeSet checks that a change set lists the resources whose tags change.
func TestTagsOfStackInChangeSet(t *testing.T) {
	w := newLabels(t)
	template := body(map[string]string{
		"L": `{"Type": "Test::Labelled", "Properties": {"Name": "l"}}`, "S": shelved(`"Name": "s"`),
		"X": resource(`"Of": {"Ref": "L"}`),
	})
	w.must(w.create(template))
	w.serve("L")
	w.serve("S")
	w.succeed("X", "x")
	set, err := w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Options: tagged("a=1"), Template: template})
	w.must(err)
	changes, err := set.Changes()
	w.must(err)
	if len(changes) != 1 || changes[0].LogicalID != "L" || changes[0].Replacement != "False" || changes[0].May() ||
		cmp.Diff([]string{"Tags"}, changes[0].Scope) != "" || cmp.Diff([]string{"Tags"}, changes[0].Certain()) != "" {
		t.Errorf("changes %+v", changes)
	}
}
