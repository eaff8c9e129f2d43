package aws_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// taggedRequest returns a request with one stack tag.
func (w *world) taggedRequest(kind wire.RequestType, resourceType, properties, old, id, key string) *store.Request {
	w.t.Helper()
	r := w.request(kind, resourceType, properties, old, id)
	r.Body.Tags = []store.Tag{{Key: key, Value: "of stack"}}
	return r
}

// TestParameterTagsAreRolledBack checks that an update that fails at any write leaves no tag behind once it is rolled
// back, and that no client's tag is lost.
func TestParameterTagsAreRolledBack(t *testing.T) {
	const (
		kind   = "AWS::SSM::Parameter"
		first  = `"Name": "/p", "Type": "String", "Value": "v", "Tags": {"own": "1"}`
		second = `"Name": "/p", "Type": "String", "Value": "v", "Tags": {"other": "1"}`
		third  = `"Name": "/p", "Type": "String", "Value": "v", "Tags": {"third": "1"}`
	)
	died := 0
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			fired := false
			t.Run(fmt.Sprintf("at write %d, on disk %t", at, after), func(t *testing.T) {
				w := newWorld(t)
				w.serve(w.taggedRequest(wire.Create, kind, first, "", "", "a"))
				name := registry.ParameterTags("/p")
				_, err := w.catalog.Tags.Change(w.ctx, home, name, func(there *registry.Item[registry.Tags]) error {
					there.Of = maps.Clone(there.Of)
					there.Of["client"] = "kept"
					return nil
				})
				w.must(err)
				w.rows.left, w.rows.after = at, after
				_, err = w.types.Serve(w.ctx, w.taggedRequest(wire.Update, kind, second, first, "/p", "b"))
				if fired = w.rows.dead; fired != (err != nil) {
					t.Errorf("dead %t, error %v", fired, err)
				}
				w.rows.left, w.rows.dead = 0, false
				want := func(keys ...string) {
					t.Helper()
					tags := registry.Tags{"client": "kept"}
					for _, key := range keys {
						tags[key] = map[bool]string{true: "of stack", false: "1"}[len(key) == 1]
					}
					got, err := w.catalog.Tags.Get(w.ctx, home, name)
					w.must(err)
					if diff := cmp.Diff(tags, got.Of); diff != "" {
						t.Errorf("tags (-want +got):\n%s", diff)
					}
				}
				// The engine rolls back the failed update, or continues with another update of the last confirmed
				// state.
				w.serve(w.taggedRequest(wire.Update, kind, first, second, "/p", "a"))
				want("own", "a")
				w.serve(w.taggedRequest(wire.Update, kind, third, first, "/p", "c"))
				want("third", "c")
				w.serve(w.request(wire.Delete, kind, third, "", "/p"))
				if left := w.records(home); len(left) > 0 {
					t.Errorf("what is left on record: %q", left)
				}
			})
			if !fired {
				break
			}
			died++
		}
	}
	if died < 6 {
		t.Errorf("the program died only %d times", died)
	}
}

// TestTagsLeaveDrift checks that an update of only the tags, or its rollback, keeps code that a client put. Reverting
// drift restores the declared code, also with a request of an earlier version, which has no tags.
func TestTagsLeaveDrift(t *testing.T) {
	const (
		kind       = "AWS::Lambda::Function"
		properties = `"FunctionName": "f", "Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "Code": {"ZipFile": "1"}`
	)
	w := newWorld(t)
	w.serve(w.taggedRequest(wire.Create, kind, properties, "", "", "a"))
	declared, err := w.catalog.Functions.Get(w.ctx, home, "f")
	w.must(err)
	code := func() string {
		t.Helper()
		there, err := w.catalog.Functions.Get(w.ctx, home, "f")
		w.must(err)
		return there.Of.Code
	}
	swap := func() {
		t.Helper()
		there, err := w.catalog.Functions.Get(w.ctx, home, "f")
		w.must(err)
		text := "2"
		if _, err = w.functions.Update(w.ctx, there, &registry.Code{Inline: &text}); err != nil || code() == declared.Of.Code {
			t.Fatalf("the code was not replaced: %v", err)
		}
	}
	swap()
	swapped := code()
	for _, tag := range []string{"b", "a", "a"} {
		if w.serve(w.taggedRequest(wire.Update, kind, properties, properties, "f", tag)); code() != swapped {
			t.Fatalf("an update to the tag %s undid drift", tag)
		}
	}
	revert := w.taggedRequest(wire.Update, kind, properties, properties, "f", "a")
	revert.Body.Revert = true
	if w.serve(revert); code() != declared.Of.Code {
		t.Error("drift was not undone")
	}
	swap()
	if w.serve(w.request(wire.Update, kind, properties, properties, "f")); code() != declared.Of.Code {
		t.Error("drift was not undone by a request of an earlier version")
	}
}
