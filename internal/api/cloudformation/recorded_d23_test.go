package cloudformation_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"
)

// GetTemplateSummary and ValidateTemplate describe templates of SAM, whose transform they name. Only AWS expands it, so that such a
// template still makes no stack.
func TestRecordedD23(t *testing.T) {
	w := newWorld(t)
	body := `{"Transform": "AWS::Serverless-2016-10-31", "Description": "d", "Parameters": {"P": {"Type": "String", "Default": "v"}},
		"Globals": {"Function": {"Timeout": 3}}, "Resources": {"F": {"Type": "AWS::Serverless::Function", "Properties": {"Handler": "h"}}}}`
	want := []string{"AWS::Serverless-2016-10-31"}
	summary, err := w.client.GetTemplateSummary(t.Context(), &sdk.GetTemplateSummaryInput{TemplateBody: &body})
	w.must(err)
	if diff := cmp.Diff(want, summary.DeclaredTransforms); diff != "" || len(summary.Parameters) != 1 || *summary.Description != "d" {
		t.Errorf("summary %+v (-want +got):\n%s", summary, diff)
	}
	checked, err := w.client.ValidateTemplate(t.Context(), &sdk.ValidateTemplateInput{TemplateBody: &body})
	w.must(err)
	if diff := cmp.Diff(want, checked.DeclaredTransforms); diff != "" || len(checked.Parameters) != 1 || *checked.Description != "d" {
		t.Errorf("validation %+v (-want +got):\n%s", checked, diff)
	}
	const refused = errPrefix + "Template format error: the transform AWS::Serverless-2016-10-31 is not supported by Pintle"
	for call, got := range w.refusals(body) {
		if call != "UpdateStack" && !strings.HasPrefix(got, refused) {
			t.Errorf("%s: %s", call, got)
		}
	}
}
