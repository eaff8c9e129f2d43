package aws_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// TestGroupOfAFunction checks that a stack takes over a log group that a function created, and that its events are
// deleted with it.
func TestGroupOfAFunction(t *testing.T) {
	w := newWorld(t)
	_, err := w.catalog.Groups.Put(w.ctx, registry.Item[registry.LogGroup]{
		Scope: home, Name: "/aws/lambda/f", Of: registry.LogGroup{Implicit: true},
	})
	w.must(err)
	w.twice = true
	body := template(map[string]string{"G": resource("AWS::Logs::LogGroup", `"LogGroupName": "/aws/lambda/f", "RetentionInDays": 7`)})
	if status := w.create("S", body); status != "CREATE_COMPLETE" {
		t.Fatal(status)
	}
	g, err := w.catalog.Groups.Get(w.ctx, home, "/aws/lambda/f")
	if err != nil || g.Owner == "" || g.Of.Implicit || g.Of.Retention != 7 {
		t.Errorf("group %+v, error %v", g, err)
	}
	w.delete("S")
	if !slices.Contains(w.emptied, "/aws/lambda/f") {
		t.Errorf("deleted events of %q", w.emptied)
	}
}
