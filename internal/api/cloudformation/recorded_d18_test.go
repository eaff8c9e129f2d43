package cloudformation_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
)

// TestRecordedD18 checks that CreateStack and CreateChangeSet reject a native type without a required property, because
// AWS now validates early.
func TestRecordedD18(t *testing.T) {
	types, err := native.CloudFormation(native.Config{SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "", nil }})
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"Resources": {"W": {"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": "h"}}}}`
	for fidelity, want := range map[engine.Fidelity]string{
		engine.FidelityAWS: "Properties validation failed for resource W with message: #: required key [Timeout] not found",
		engine.FidelityPintle: "Template error: resource W at line 1, column 16: Property validation failure: " +
			"[The property {/Timeout} is required]",
	} {
		w := worldWith(t, func(c *engine.Config) { c.Native, c.Fidelity = types, fidelity })
		w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
		for call, got := range w.refusals(body) {
			if got != errPrefix+want {
				t.Errorf("%s, fidelity %s:\n got %s\nwant %s", call, fidelity, got, errPrefix+want)
			}
		}
	}
}
