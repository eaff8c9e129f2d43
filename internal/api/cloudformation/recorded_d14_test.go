package cloudformation_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
)

// TestRecordedD14 checks that AWS returns outputs and Metadata with values of NoEcho parameters or attributes in clear
// text. Pintle masks them unless it has AWS fidelity. The parameter itself is masked in both.
func TestRecordedD14(t *testing.T) {
	for _, clear := range []bool{false, true} {
		t.Run(fmt.Sprintf("clear %v", clear), func(t *testing.T) {
			w := newWorld(t, func(_ *world, c *cloudformation.Config) { c.FidelityAWS = clear })
			ctx, name := t.Context(), aws.String("stack")
			w.create(&sdk.CreateStackInput{
				StackName: name, Parameters: []types.Parameter{{ParameterKey: aws.String("Password"), ParameterValue: aws.String("planted")}},
				TemplateBody: aws.String(`{"Parameters": {"Password": {"Type": "String", "NoEcho": true}}, "Resources": {"C": ` +
					resource(`"P": {"Ref": "Password"}`, `"Metadata": {"m": {"Ref": "Password"}}`) + `},
					"Outputs": {"P": {"Value": {"Ref": "Password"}, "Export": {"Name": "exported"}}}}`),
			})
			stack := w.described(name)
			list, err := w.client.ListExports(ctx, &sdk.ListExportsInput{})
			w.must(err)
			detail, err := w.client.DescribeStackResource(ctx, &sdk.DescribeStackResourceInput{StackName: name, LogicalResourceId: aws.String("C")})
			w.must(err)
			want := []string{"****", "****", "****", `{"m":"****"}`}
			if clear {
				want = []string{"****", "planted", "planted", `{"m":"planted"}`}
			}
			got := []string{
				*stack.Parameters[0].ParameterValue, *stack.Outputs[0].OutputValue, *list.Exports[0].Value, *detail.StackResourceDetail.Metadata,
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
