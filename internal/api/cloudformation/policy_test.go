package cloudformation_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// TestStackPolicy sets a policy, checks that it applies to an update, and overrides it for the next one.
func TestStackPolicy(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	const closed, open = `{"Statement": []}`, `{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}}`
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: &fixed})
	got, err := w.client.GetStackPolicy(ctx, &sdk.GetStackPolicyInput{StackName: str("s")})
	w.must(err)
	if got.StackPolicyBody != nil {
		t.Errorf("a stack has a policy from the start: %s", *got.StackPolicyBody)
	}
	_, err = w.client.SetStackPolicy(ctx, &sdk.SetStackPolicyInput{StackName: str("s"), StackPolicyBody: str(closed)})
	w.must(err)
	if got, err = w.client.GetStackPolicy(ctx, &sdk.GetStackPolicyInput{StackName: str("s")}); err != nil || aws.ToString(got.StackPolicyBody) != closed {
		t.Errorf("GetStackPolicy = %+v, %v", got, err)
	}
	changed := `{"Resources": {"R": ` + resource(`"K": "v"`) + `}}`
	for _, test := range []struct{ during, status string }{{"", "UPDATE_ROLLBACK_COMPLETE"}, {open, "UPDATE_COMPLETE"}} {
		in := &sdk.UpdateStackInput{StackName: str("s"), TemplateBody: &changed}
		if test.during != "" {
			in.StackPolicyDuringUpdateBody = &test.during
		}
		_, err = w.client.UpdateStack(ctx, in)
		w.must(err)
		w.provide(succeeds)
		if got := string(w.status("s")); got != test.status {
			t.Errorf("an update under %q ended as %s", test.during, got)
		}
	}
}
