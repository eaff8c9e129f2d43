package cloudformation_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

// looped is a template with one resource for each name.
var looped = `{"Transform": "AWS::LanguageExtensions", "Parameters": {"Names": {"Type": "CommaDelimitedList"}},
  "Resources": {"Fn::ForEach::Things": ["Name", {"Ref": "Names"}, {"Thing${Name}": ` + resource("") + `}]}}`

func TestTransform(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	names := []types.Parameter{{ParameterKey: str("Names"), ParameterValue: str("A,B")}}

	checked, err := w.client.ValidateTemplate(ctx, &sdk.ValidateTemplateInput{TemplateBody: &looped})
	w.must(err)
	summary, err := w.client.GetTemplateSummary(ctx, &sdk.GetTemplateSummaryInput{TemplateBody: &looped})
	w.must(err)
	for name, declared := range map[string][]string{"ValidateTemplate": checked.DeclaredTransforms, "GetTemplateSummary": summary.DeclaredTransforms} {
		if diff := cmp.Diff([]string{"AWS::LanguageExtensions"}, declared); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(checked.Parameters) != 1 || len(summary.Parameters) != 1 || len(summary.ResourceTypes) > 0 || summary.Capabilities != nil {
		t.Errorf("a template before its transforms: %+v, %+v", checked, summary)
	}

	_, err = w.client.CreateStack(ctx, &sdk.CreateStackInput{StackName: str("s"), TemplateBody: &looped, Parameters: names})
	if err == nil || !strings.Contains(err.Error(), "InsufficientCapabilitiesException: Requires capabilities : [CAPABILITY_AUTO_EXPAND]") {
		t.Errorf("without the capability: %v", err)
	}
	w.create(&sdk.CreateStackInput{
		StackName: str("s"), TemplateBody: &looped, Parameters: names, Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand},
	})
	get := func(in sdk.GetTemplateInput) string {
		t.Helper()
		out, err := w.client.GetTemplate(ctx, &in)
		w.must(err)
		if diff := cmp.Diff([]types.TemplateStage{types.TemplateStageOriginal, types.TemplateStageProcessed}, out.StagesAvailable); diff != "" {
			t.Errorf("stages (-want +got):\n%s", diff)
		}
		return *out.TemplateBody
	}
	if got := get(sdk.GetTemplateInput{StackName: str("s")}); got != looped {
		t.Errorf("original:\n%s", got)
	}
	got := get(sdk.GetTemplateInput{StackName: str("s"), TemplateStage: types.TemplateStageProcessed})
	if !strings.Contains(got, `"ThingA":{"Type"`) || !strings.Contains(got, `"ThingB":{`) || strings.Contains(got, "ForEach") {
		t.Errorf("processed:\n%s", got)
	}
	_, err = w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("c"), TemplateBody: &looped,
		Parameters: []types.Parameter{{ParameterKey: str("Names"), ParameterValue: str("C")}},
	})
	w.must(err)
	if got := get(sdk.GetTemplateInput{StackName: str("s"), ChangeSetName: str("c"), TemplateStage: types.TemplateStageProcessed}); !strings.Contains(got, `"ThingC"`) {
		t.Errorf("processed for a change set:\n%s", got)
	}
}
