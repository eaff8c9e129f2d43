package engine

import (
	"context"
	"strings"
	"testing"
)

// TestUnattendedLookupsAreBounded checks that lookups for a change set whose macros have run end with a problem, not
// with an error that is retried.
func TestUnattendedLookupsAreBounded(t *testing.T) {
	n := &needLookups{of: &importRequest{unattended: true}}
	for range maxFetches {
		if n.of.problem != "" {
			t.Fatalf("it stopped early: %s", n.of.problem)
		}
		if err := n.fetch(context.Background(), new(runner)); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(n.of.problem, "Try again") {
		t.Errorf("the problem is %q", n.of.problem)
	}
}
