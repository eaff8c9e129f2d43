package forward_test

import (
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
	"github.com/pintle-dev/pintle/internal/store"
)

// life takes a stack through its life. Every resource of the endpoint is created once and deleted once, whatever
// happens on the way.
func life(w *world) {
	w.t.Helper()
	tag := store.Tag{Key: "team", Value: "web"}
	text := func(properties string, more ...string) string {
		return template(map[string]string{"A": thing(properties, more...)}, `{"Ref": "A"}`)
	}
	w.wantStatus("s", w.create("s", text(`"Name": "a", "Size": 1`, `"DeletionPolicy": "Retain"`), tag), "CREATE_COMPLETE")
	w.wantLive("a")
	w.wantStatus("s", w.update("s", text(`"Name": "a", "Size": 2`, `"DeletionPolicy": "Retain"`), tag), "UPDATE_COMPLETE")
	w.wantMade(1)
	w.wantStatus("s", w.update("s", text(`"Name": "b", "Size": 2`), tag), "UPDATE_COMPLETE")
	w.wantLive("b")
	w.wantMade(2)
	w.wantStatus("s", w.update("s", template(map[string]string{
		"A": thing(`"Name": "c"`), "B": thing(`"Size": {"Ref": "A"}, "Fail": "no"`),
	})), "UPDATE_ROLLBACK_COMPLETE")
	w.wantLive("b")
	w.wantMade(3)
	w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
	w.wantLive()
	w.wantMade(3)
	w.wantRows(0)
	if stacks := w.endpoint.Stacks(); stacks != nil {
		w.t.Errorf("stacks are left: %q", stacks)
	}
}

// TestCrash kills the process at each step of a stack's life, before and after the step has its effect.
func TestCrash(t *testing.T) {
	whole := newWorld(t)
	life(whole)
	if whole.steps < 40 {
		t.Fatalf("only %d steps", whole.steps)
	}
	for at := 1; at <= whole.steps; at++ {
		for _, after := range []bool{false, true} {
			if !after && at%3 != 0 || testing.Short() && at%10 != 0 {
				continue // a step that has no effect is one that is not made
			}
			t.Run(fmt.Sprintf("%d after=%t", at, after), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.at, w.after = at, after
				life(w)
				if w.steps < at {
					t.Errorf("the process died at none of %d steps", w.steps)
				}
			})
		}
	}
}

// TestFaults has one call after the other fail in each way.
func TestFaults(t *testing.T) {
	whole := newWorld(t)
	life(whole)
	for _, action := range []string{
		"ValidateTemplate", "CreateStack", "DescribeStacks", "DescribeStackResources", "CreateChangeSet", "DescribeChangeSet", "DeleteChangeSet", "UpdateStack",
		"GetTemplate", "DescribeStackEvents", "DeleteStack",
	} {
		calls := whole.endpoint.Calls(action)
		if calls == 0 {
			t.Errorf("%s is never called", action)
		}
		for _, fault := range []forwardtest.Fault{
			forwardtest.Throttle, forwardtest.Lose, forwardtest.Break, forwardtest.BreakAfter, forwardtest.Garble, forwardtest.Stall,
		} {
			t.Run(fmt.Sprintf("%s fault %d", action, fault), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.endpoint.Steps = 1
				w.endpoint.Fault = func(called string, n int) forwardtest.Fault {
					if called == action && n%2 == 1 { // every other call
						return fault
					}
					return forwardtest.None
				}
				life(w)
			})
		}
	}
}

// TestDown has every call of an action fail for good. The operation fails with the reason, and resources that could
// not be deleted are found by the next operation.
func TestDown(t *testing.T) {
	for action, want := range map[string]string{"CreateStack": "CreateStack failed: HTTP 500", "DescribeStacks": "DescribeStacks failed: HTTP 500"} {
		t.Run(action, func(t *testing.T) {
			w := newWorld(t)
			down := true
			w.endpoint.Fault = func(called string, _ int) forwardtest.Fault {
				if down && called == action {
					return forwardtest.Break
				}
				return forwardtest.None
			}
			text := template(map[string]string{"A": thing(`"Name": "a"`)})
			status := w.create("s", text)
			w.wantEvent("s", "A CREATE_FAILED", want)
			down = false
			if status == "ROLLBACK_FAILED" {
				w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
			}
			w.wantLive()
			w.wantRows(0)
		})
	}
}
