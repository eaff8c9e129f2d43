package cloudformation_test

import (
	"fmt"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// TestRecordedD7 checks that Fn::Transform inside properties accepts a list of macros, each of which gets the result of
// the previous one.
func TestRecordedD7(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"First", "Second"} {
		w.must(w.store.PutProvider(t.Context(), store.Provider{Name: store.ServedMacro(name), Definition: []byte("{}")}))
	}
	body := `{"Resources": {"R": ` + resource(`"In": {"A": "a", "Fn::Transform": [{"Name": "First"}, {"Name": "Second", "Parameters": {"X": "1"}}]}`) + `}}`
	returns := func(macro, fragment, returned string) {
		t.Helper()
		requests := w.take()
		if len(requests) != 1 || requests[0].Body.ResourceType != macro {
			t.Fatalf("requests %v, want one for the macro %s", requests, macro)
		}
		r := requests[0]
		if got, _ := r.Body.Properties.Get("fragment"); got.String() != fragment {
			t.Errorf("%s gets %s, want %s", macro, got, fragment)
		}
		w.must(w.engine.Report(t.Context(), r.ID, engine.Outcome{Kind: engine.Accepted, Local: true}))
		reply := fmt.Sprintf(`{"requestId": %q, "status": "SUCCESS", "fragment": %s}`, r.ID, returned)
		w.must(w.engine.Report(t.Context(), r.ID, engine.Outcome{Kind: engine.Returned, Body: []byte(reply)}))
	}
	create := func(name string) {
		t.Helper()
		_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{
			StackName: &name, TemplateBody: &body, Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand},
		})
		w.must(err)
	}
	create("s")
	returns("First", `{"A":"a"}`, `{"A": "b", "B": "c"}`)
	returns("Second", `{"A":"b","B":"c"}`, `"whole"`)
	requests := w.take()
	if len(requests) != 1 {
		t.Fatalf("requests %v", requests)
	}
	if got, _ := requests[0].Body.Properties.Get("In"); got.Text() != "whole" {
		t.Errorf("the provider gets %s", got)
	}

	create("no-object")
	returns("First", `{"A":"a"}`, `"text"`)
	stacks, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: str("no-object")})
	w.must(err)
	if got := stacks.Stacks[0].StackStatus; got != types.StackStatusRollbackComplete {
		t.Errorf("a fragment that the next macro cannot take leaves the stack %s", got)
	}
}
