package cloudformation_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestRecordedD12 checks that removing only UpdateReplacePolicy is an update, while adding it is not. Recorded on
// 2025-08-08.
func TestRecordedD12(t *testing.T) {
	w := newWorld(t)
	kept := `{"Resources": {"R": ` + resource("", `"UpdateReplacePolicy": "Retain"`) + `}}`
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: &fixed})
	update := "Action=UpdateStack&StackName=s&TemplateBody="
	if got := w.refusal(update + escape(kept)); got != errPrefix+"No updates are to be performed." {
		t.Errorf("adding the policy: %s", got)
	}
	w.create(&sdk.CreateStackInput{StackName: str("kept"), TemplateBody: &kept})
	_, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("kept"), TemplateBody: &fixed})
	w.must(err)
	if requests := w.take(); len(requests) > 0 {
		t.Errorf("the provider is asked: %v", requests)
	}
	stacks, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: str("kept")})
	w.must(err)
	if got := stacks.Stacks[0].StackStatus; got != types.StackStatusUpdateComplete {
		t.Errorf("the stack is %s", got)
	}
}
