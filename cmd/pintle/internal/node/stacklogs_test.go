package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestLinesOfFunctionsWithOneName: a line belongs to the stack that has the function when it is printed.
func TestLinesOfFunctionsWithOneName(t *testing.T) {
	n := open(t, t.TempDir(), true)
	const arn = "arn:aws:lambda:us-east-1:000000000000:function:worker"
	place := registry.Scope{Account: "000000000000", Region: "us-east-1"}
	functions := n.cloud.catalog.Functions
	n.stackLogs.print(arn, "", "without a stack")
	for _, stack := range []wire.StackID{"one", "two"} {
		item, err := functions.Put(t.Context(), registry.Item[registry.Function]{
			Scope: place, Name: "worker", Owner: registry.OwnerOf(stack, "Worker", "r"),
		})
		if err != nil {
			t.Fatal(err)
		}
		n.stackLogs.print(arn, "", "of "+string(stack))
		if err := functions.Delete(t.Context(), place, "worker", item.Version); err != nil {
			t.Fatal(err)
		}
	}
	for _, stack := range []wire.StackID{"one", "two"} {
		page, err := n.readStackLogs(t.Context(), store.Stack{ID: stack}, operator.LogQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range page.Lines {
			got = append(got, string(line.Logical)+": "+line.Text)
		}
		if diff := cmp.Diff([]string{"Worker: of " + string(stack)}, got); diff != "" {
			t.Errorf("lines of %s (-want +got):\n%s", stack, diff)
		}
	}
}
