package cloudformation_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/store"
)

// TestRecordedD6 checks that Ref in Parameters of the section Transform reaches the macro unresolved. This difference
// is intended: AWS's documentation says so, but a recording of 2023-01-30 shows it resolved. docs/macros.md documents
// it.
func TestRecordedD6(t *testing.T) {
	w := newWorld(t)
	w.must(w.store.PutProvider(t.Context(), store.Provider{Name: store.ServedMacro("M"), Definition: []byte("{}")}))
	body := `{"Transform": {"Name": "M", "Parameters": {"X": {"Ref": "P"}}}, "Parameters": {"P": {"Type": "String", "Default": "v"}}, "Resources": {}}`
	_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{
		StackName: str("s"), TemplateBody: &body, Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand},
	})
	w.must(err)
	requests := w.take()
	if len(requests) != 1 {
		t.Fatalf("requests %v", requests)
	}
	if got, _ := requests[0].Body.Properties.Get("params"); got.String() != `{"X":{"Ref":"P"}}` {
		t.Errorf("the macro gets %s", got)
	}
}
