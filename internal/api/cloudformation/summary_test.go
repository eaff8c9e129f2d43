package cloudformation_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// described is a template with everything that a summary reports.
var described = `{
  "AWSTemplateFormatVersion": "2010-09-09",
  "Description": "a thing",
  "Metadata": {"Order": ["b", "a"], "n": 1.50},
  "Parameters": {
    "Size": {"Type": "Number", "Default": 1, "AllowedValues": [1, 2], "Description": "of it"},
    "Key": {"Type": "String", "NoEcho": true, "Default": "hunter2", "AllowedValues": ["hunter2", "hunter3"]},
    "List": {"Type": "CommaDelimitedList"}
  },
  "Resources": {"B": ` + resource("") + `, "A": {"Type": "AWS::CloudFormation::CustomResource", "Properties": {"ServiceToken": "` + token + `"}}}
}`

func TestGetTemplateSummary(t *testing.T) {
	w := newWorld(t)
	want := &sdk.GetTemplateSummaryOutput{
		Version: str("2010-09-09"), Description: str("a thing"), Metadata: str(`{"Order":["b","a"],"n":1.50}`),
		ResourceTypes:               []string{"AWS::CloudFormation::CustomResource", "Custom::Thing"},
		ResourceIdentifierSummaries: []types.ResourceIdentifierSummary{},
		Parameters: []types.ParameterDeclaration{
			{ParameterKey: str("Size"), ParameterType: str("Number"), DefaultValue: str("1"), NoEcho: new(false), Description: str("of it"),
				ParameterConstraints: &types.ParameterConstraints{AllowedValues: []string{"1", "2"}}},
			{ParameterKey: str("Key"), ParameterType: str("String"), DefaultValue: str("****"), NoEcho: new(true),
				ParameterConstraints: &types.ParameterConstraints{}},
			{ParameterKey: str("List"), ParameterType: str("CommaDelimitedList"), NoEcho: new(false),
				ParameterConstraints: &types.ParameterConstraints{}},
		},
	}
	ignore := cmp.Options{cmpopts.IgnoreTypes(middleware.Metadata{}), cmpopts.IgnoreUnexported(sdk.GetTemplateSummaryOutput{},
		types.ParameterDeclaration{}, types.ParameterConstraints{}, types.Warnings{})}
	id := w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: &described, Parameters: []types.Parameter{
		{ParameterKey: str("List"), ParameterValue: str("x")}}})
	lenient := &types.TemplateSummaryConfig{TreatUnrecognizedResourceTypesAsWarnings: new(true)}
	for name, in := range map[string]*sdk.GetTemplateSummaryInput{
		"text": {TemplateBody: &described}, "stack": {StackName: str("s")}, "stack by its ARN": {StackName: &id},
		"no warnings": {TemplateBody: &described, TemplateSummaryConfig: lenient},
	} {
		got, err := w.client.GetTemplateSummary(t.Context(), in)
		w.must(err)
		if diff := cmp.Diff(want, got, ignore); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: str("s")}); err != nil {
		t.Fatal(err)
	}
	w.provide(succeeds)
	if got, err := w.client.GetTemplateSummary(t.Context(), &sdk.GetTemplateSummaryInput{StackName: &id}); err != nil || *got.Description != "a thing" {
		t.Errorf("a deleted stack by its ARN: %v", err)
	}
	// A foreign type is a warning if the client requests that.
	foreign := `{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}, "P": {"Type": "AWS::SQS::Queue"}, "R": ` + resource("") + `}}`
	got, err := w.client.GetTemplateSummary(t.Context(), &sdk.GetTemplateSummaryInput{TemplateBody: &foreign, TemplateSummaryConfig: lenient})
	w.must(err)
	if got.Warnings == nil || !slices.Equal(got.Warnings.UnrecognizedResourceTypes, []string{"AWS::SQS::Queue"}) ||
		!slices.Equal(got.ResourceTypes, []string{"AWS::SQS::Queue", "Custom::Thing"}) || got.Version != nil || got.Metadata != nil {
		t.Errorf("a foreign type: %+v %+v", got, got.Warnings)
	}
}

func TestAccountLimits(t *testing.T) {
	w := newWorld(t)
	out, err := w.client.DescribeAccountLimits(t.Context(), &sdk.DescribeAccountLimitsInput{})
	w.must(err)
	var got []string
	for _, l := range out.AccountLimits {
		got = append(got, fmt.Sprint(*l.Name, " ", *l.Value))
	}
	want := []string{fmt.Sprint("StackLimit ", math.MaxInt32), "StackOutputsLimit 200", fmt.Sprint("ConcurrentResourcesLimit ", math.MaxInt32)}
	if diff := cmp.Diff(want, got); diff != "" || out.NextToken != nil {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

// exporting returns a template with n exports, the first of them secret.
func exporting(n int) *string {
	var outputs []string
	for i := range n {
		value := fmt.Sprintf("v%d", i)
		if i == 0 {
			value = "${Key}"
		}
		outputs = append(outputs, fmt.Sprintf(`"O%03d": {"Value": {"Fn::Sub": "%s"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-%d"}}}`, i, value, i))
	}
	return str(`{"Parameters": {"Key": {"Type": "String", "NoEcho": true, "Default": "hunter2"}}, "Resources": {"R": ` + resource("") +
		`}, "Outputs": {"Own": {"Value": "x"}, ` + strings.Join(outputs, ", ") + `}}`)
}

// TestListExports reads pages that end inside a stack. One stack is deleted in the meantime.
func TestListExports(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for i, n := range []int{60, 60, 1, 60} {
		ids = append(ids, w.create(&sdk.CreateStackInput{StackName: str(fmt.Sprint("s", i)), TemplateBody: exporting(n)}))
	}
	// A stack that is not complete exports nothing.
	_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("s9"), TemplateBody: exporting(1)})
	w.must(err)
	read := func(between func()) (names []string, pages int) {
		pager := sdk.NewListExportsPaginator(w.client, &sdk.ListExportsInput{})
		for pager.HasMorePages() {
			out, err := pager.NextPage(t.Context())
			w.must(err)
			if pages++; pages == 1 && between != nil {
				between()
			}
			for _, e := range out.Exports {
				names = append(names, *e.Name)
				number := (*e.Name)[strings.Index(*e.Name, "-")+1:]
				if want := "v" + number; number == "0" && *e.Value != "****" || number != "0" && *e.Value != want {
					t.Errorf("%s is %s", *e.Name, *e.Value)
				}
				if !strings.Contains(*e.ExportingStackId, ":stack/"+(*e.Name)[:2]+"/") {
					t.Errorf("%s is of %s", *e.Name, *e.ExportingStackId)
				}
			}
		}
		return names, pages
	}
	names, pages := read(nil)
	if !slices.IsSorted(names) {
		t.Errorf("not in the order of their names: %v", names)
	}
	if unique := slices.Compact(slices.Clone(names)); len(unique) != 181 || len(names) != 181 || pages != 2 {
		t.Errorf("%d exports, %d different, on %d pages; want 181 on 2", len(names), len(unique), pages)
	}
	names, _ = read(func() {
		for _, id := range ids {
			_, err := w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: &id})
			w.must(err)
		}
		w.provide(succeeds)
		w.create(&sdk.CreateStackInput{StackName: str("n0"), TemplateBody: exporting(3)})
	})
	if len(names) != 101 { // and that of s9, which has been created in the meantime; n0 is first
		t.Errorf("%d exports, want the 100 of before all stacks were deleted", len(names))
	}
	if names, _ = read(nil); len(names) != 4 { // three of n0, and s9
		t.Errorf("exports of the living: %v", names)
	}
}

// TestDrift makes the calls of a client that checks for drift.
func TestDrift(t *testing.T) {
	w := newWorld(t)
	id := w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: &fixed})
	detection, err := w.client.DetectStackDrift(t.Context(), &sdk.DetectStackDriftInput{StackName: str("s"), LogicalResourceIds: []string{"R"}})
	w.must(err)
	status, err := w.client.DescribeStackDriftDetectionStatus(t.Context(), &sdk.DescribeStackDriftDetectionStatusInput{
		StackDriftDetectionId: detection.StackDriftDetectionId,
	})
	w.must(err)
	if *status.StackId != id || status.DetectionStatus != types.StackDriftDetectionStatusDetectionComplete ||
		status.StackDriftStatus != types.StackDriftStatusNotChecked || *status.DriftedStackResourceCount != 0 ||
		status.Timestamp == nil || *status.StackDriftDetectionId != *detection.StackDriftDetectionId || aws.ToString(status.DetectionStatusReason) == "" {
		t.Errorf("status: %+v", status)
	}
	for _, filters := range [][]types.StackResourceDriftStatus{nil, {types.StackResourceDriftStatusModified, types.StackResourceDriftStatusDeleted}} {
		drifts, err := w.client.DescribeStackResourceDrifts(t.Context(), &sdk.DescribeStackResourceDriftsInput{
			StackName: &id, StackResourceDriftStatusFilters: filters, MaxResults: aws.Int32(10),
		})
		if err != nil || drifts.StackResourceDrifts == nil || len(drifts.StackResourceDrifts) != 0 {
			t.Errorf("drifts: %+v %v", drifts, err)
		}
	}
}
