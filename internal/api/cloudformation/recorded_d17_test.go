package cloudformation_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
)

// TestRecordedD17 checks a change set with an import that has no matching export. The warning appears only if property
// values are requested, and the value is shown as unknown.
func TestRecordedD17(t *testing.T) {
	for _, fidelity := range []engine.Fidelity{engine.FidelityPintle, engine.FidelityAWS} {
		t.Run(string(fidelity), func(t *testing.T) {
			w := worldWith(t, func(c *engine.Config) { c.Fidelity = fidelity })
			create := func(set, body string) {
				t.Helper()
				_, err := w.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
					StackName: str("s"), ChangeSetName: &set, ChangeSetType: "CREATE", TemplateBody: &body,
				})
				w.must(err)
			}
			describe := func(set string, values bool) (reason string, contexts []string) {
				t.Helper()
				out, err := w.client.DescribeChangeSet(t.Context(), &sdk.DescribeChangeSetInput{
					StackName: str("s"), ChangeSetName: &set, IncludePropertyValues: &values,
				})
				w.must(err)
				if out.Status != "CREATE_COMPLETE" || out.ExecutionStatus != "AVAILABLE" {
					t.Errorf("%s: %s %s", set, out.Status, out.ExecutionStatus)
				}
				for _, c := range out.Changes {
					contexts = append(contexts, aws.ToString(c.ResourceChange.AfterContext))
				}
				return aws.ToString(out.StatusReason), contexts
			}
			create("c", `{"Resources": {"B": `+resource(`"In": {"Fn::Sub": ["x-${I}", {"I": {"Fn::ImportValue": "none"}}]}, "K": "v"`)+
				`, "A": `+resource(`"K": "v"`)+`, "C": `+resource(`"In": {"Fn::ImportValue": "other"}`)+`}}`)
			const begin = "[WARN] --include-property-values option can return incomplete ChangeSet data because: "
			const want = begin + "ChangeSet creation failed for resource [B] because: No export named none; " +
				"ChangeSet creation failed for resource [C] because: No export named other"
			if reason, _ := describe("c", false); reason != "" {
				t.Errorf("without values: %q", reason)
			}
			reason, contexts := describe("c", true)
			if reason != want {
				t.Errorf("with values\n got %q\nwant %q", reason, want)
			}
			const unknown = "{{changeSet:KNOWN_AFTER_APPLY}}"
			if diff := cmp.Diff([]string{
				`{"Properties":{"ServiceToken":"` + token + `","K":"v"}}`,
				`{"Properties":{"ServiceToken":"` + token + `","In":"` + unknown + `","K":"v"}}`,
				`{"Properties":{"ServiceToken":"` + token + `","In":"` + unknown + `"}}`,
			}, contexts); diff != "" {
				t.Errorf("AfterContext (-want +got):\n%s", diff)
			}
			// Other warnings are Pintle's own.
			create("o", `{"Resources": {"A": `+resource("")+`}, "Outputs": {"O": {"Value": {"Fn::ImportValue": "none"}}}}`)
			own := "[WARN] The execution of this change set is going to fail. No export named none found."
			if fidelity == engine.FidelityAWS {
				own = ""
			}
			if reason, _ := describe("o", true); reason != own {
				t.Errorf("outputs: %q, want %q", reason, own)
			}
		})
	}
}
