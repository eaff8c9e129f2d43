package cloudformation_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestRecordedD13 checks the undocumented parameter type List<String>.
func TestRecordedD13(t *testing.T) {
	w := newWorld(t)
	body := `{"Parameters": {"L": {"Type": "List<String>"}}, "Resources": {"R": ` + resource(`"L": {"Ref": "L"}`) + `},
		"Outputs": {"Second": {"Value": {"Fn::Select": [1, {"Ref": "L"}]}}}}`
	w.create(&sdk.CreateStackInput{
		StackName: str("s"), TemplateBody: &body, Parameters: []types.Parameter{{ParameterKey: str("L"), ParameterValue: str("a, b")}},
	})
	stacks, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: str("s")})
	w.must(err)
	if out := stacks.Stacks[0].Outputs; len(out) != 1 || *out[0].OutputValue != "b" {
		t.Errorf("outputs %+v", out)
	}
}
