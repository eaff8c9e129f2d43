package cloudformation_test

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/engine"
)

// TestRecordedD16 checks that a key in a snippet of AWS::Include overrides the same key next to the call.
func TestRecordedD16(t *testing.T) {
	w := worldWith(t, func(c *engine.Config) {
		c.Snippet = func(context.Context, string) (string, error) { return `{"A": "of the snippet", "B": "2"}`, nil }
	})
	body := `{"Resources": {"R": ` + resource(`"In": {"A": "of the template", "C": "3", "Fn::Transform": {"Name": "AWS::Include",
		"Parameters": {"Location": "s3://bucket/key"}}}`) + `}}`
	_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{
		StackName: str("s"), TemplateBody: &body, Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand},
	})
	w.must(err)
	requests := w.take()
	if len(requests) != 1 {
		t.Fatalf("requests %v", requests)
	}
	if got, _ := requests[0].Body.Properties.Get("In"); got.String() != `{"A":"of the snippet","C":"3","B":"2"}` {
		t.Errorf("the provider gets %s", got)
	}
}
