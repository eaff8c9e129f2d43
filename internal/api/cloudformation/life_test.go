package cloudformation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/engine"
)

var loose = cmp.Options{
	cmpopts.IgnoreUnexported(types.Stack{}, types.Parameter{}, types.Output{}, types.Tag{}, types.StackDriftInformation{},
		types.RollbackConfiguration{}, types.StackEvent{}, types.StackSummary{}, types.StackDriftInformationSummary{},
		types.StackResourceDetail{}, types.StackResourceDriftInformation{}, types.StackResource{}, types.StackResourceSummary{},
		types.StackResourceDriftInformationSummary{}, types.TemplateParameter{}, sdk.ValidateTemplateOutput{}, types.OperationEntry{}),
	cmpopts.IgnoreTypes(time.Time{}), cmpopts.IgnoreTypes(&time.Time{}),
	cmpopts.IgnoreTypes(middleware.Metadata{}),
}

const lifeTemplate = `{
  "Description": "two things",
  "Parameters": {
    "Size": {"Type": "Number", "Default": "10000000", "Description": "of it"},
    "List": {"Type": "CommaDelimitedList", "Default": "a,b"},
    "Key": {"Type": "String", "NoEcho": true, "Default": "hunter2-default"}
  },
  "Resources": {
    "A": {"Type": "Custom::Thing", "Metadata": {"Note": {"Ref": "Key"}, "n": 1}, "Properties": {
      "ServiceToken": "` + token + `", "Size": {"Ref": "Size"}, "Key": {"Ref": "Key"}}},
    "B": {"Type": "Custom::Thing", "DependsOn": "A", "Properties": {"ServiceToken": "` + token + `"}}
  },
  "Outputs": {
    "Page": {"Value": {"Ref": "A"}, "Description": "where"},
    "Secret": {"Value": {"Fn::Sub": "x-${Key}"}},
    "Given": {"Value": {"Fn::GetAtt": ["A", "Password"]}}
  }
}`

// answer is a success with secret data.
const answer = `"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s", "NoEcho": true, "Data": {"Password": "swordfish"}`

// TestLife runs every operation on one stack with the SDK's own client.
func TestLife(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	in := &sdk.CreateStackInput{
		StackName: str("life"), TemplateBody: str(lifeTemplate), ClientRequestToken: str("token-1"),
		Parameters:   []types.Parameter{{ParameterKey: str("Key"), ParameterValue: str("hunter2")}},
		Tags:         []types.Tag{{Key: str("team"), Value: str("web")}},
		Capabilities: []types.Capability{types.CapabilityCapabilityIam},
		RoleARN:      str("arn:aws:iam::123456789012:role/cfn"),
	}
	created, err := w.client.CreateStack(ctx, in)
	w.must(err)
	again, err := w.client.CreateStack(ctx, in)
	w.must(err)
	if *again.StackId != *created.StackId || *again.OperationId != *created.OperationId {
		t.Errorf("the same token made another stack: %s and %s", *created.StackId, *again.StackId)
	}
	id := *created.StackId
	w.provide(answer)

	want := types.Stack{
		StackId: &id, StackName: str("life"), Description: str("two things"), StackStatus: types.StackStatusCreateComplete,
		DisableRollback: new(false), EnableTerminationProtection: new(false), NotificationARNs: []string{},
		RollbackConfiguration: &types.RollbackConfiguration{},
		DriftInformation:      &types.StackDriftInformation{StackDriftStatus: types.StackDriftStatusNotChecked},
		LastOperations:        []types.OperationEntry{{OperationType: types.OperationTypeCreateStack, OperationId: created.OperationId}},
		RoleARN:               in.RoleARN, Tags: in.Tags, Capabilities: in.Capabilities,
		Parameters: []types.Parameter{
			{ParameterKey: str("Size"), ParameterValue: str("10000000")},
			{ParameterKey: str("List"), ParameterValue: str("a,b")},
			{ParameterKey: str("Key"), ParameterValue: str("****")},
		},
		Outputs: []types.Output{
			{OutputKey: str("Page"), OutputValue: str("id-of-A"), Description: str("where")},
			{OutputKey: str("Secret"), OutputValue: str("****")},
			{OutputKey: str("Given"), OutputValue: str("*****")},
		},
	}
	describe := func(name string) types.Stack {
		t.Helper()
		out, err := w.client.DescribeStacks(ctx, &sdk.DescribeStacksInput{StackName: &name})
		w.must(err)
		if len(out.Stacks) != 1 {
			t.Fatalf("%d stacks", len(out.Stacks))
		}
		return out.Stacks[0]
	}
	got := describe("life")
	if diff := cmp.Diff(want, got, loose); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	if got.CreationTime == nil || got.LastUpdatedTime != nil || got.DeletionTime != nil {
		t.Errorf("times of a new stack: %v %v %v", got.CreationTime, got.LastUpdatedTime, got.DeletionTime)
	}

	metadata, err := w.client.DescribeStackResource(ctx, &sdk.DescribeStackResourceInput{StackName: &id, LogicalResourceId: str("A")})
	w.must(err)
	detail := types.StackResourceDetail{
		StackName: str("life"), StackId: &id, LogicalResourceId: str("A"), PhysicalResourceId: str("id-of-A"),
		ResourceType: str("Custom::Thing"), ResourceStatus: types.ResourceStatusCreateComplete,
		Metadata:         str(`{"Note":"****","n":1}`),
		DriftInformation: &types.StackResourceDriftInformation{StackResourceDriftStatus: types.StackResourceDriftStatusNotChecked},
	}
	if diff := cmp.Diff(&detail, metadata.StackResourceDetail, loose); diff != "" {
		t.Errorf("detail (-want +got):\n%s", diff)
	}
	if metadata, err = w.client.DescribeStackResource(ctx, &sdk.DescribeStackResourceInput{StackName: &id, LogicalResourceId: str("B")}); err != nil || *metadata.StackResourceDetail.Metadata != "{}" {
		t.Errorf("metadata of a resource without: %v %v", metadata, err)
	}
	one, err := w.client.DescribeStackResources(ctx, &sdk.DescribeStackResourcesInput{StackName: str("life"), LogicalResourceId: str("B")})
	w.must(err)
	if len(one.StackResources) != 1 || *one.StackResources[0].LogicalResourceId != "B" || one.StackResources[0].Timestamp == nil {
		t.Errorf("resources: %+v", one.StackResources)
	}

	// An update keeps everything that it does not mention.
	next := strings.Replace(lifeTemplate, `"Size": {"Ref": "Size"}`, `"Size": "other"`, 1)
	next = strings.Replace(next, "two things", "two other things", 1)
	updated, err := w.client.UpdateStack(ctx, &sdk.UpdateStackInput{
		StackName: str("life"), TemplateBody: &next, ClientRequestToken: str("token-2"),
		Parameters: []types.Parameter{{ParameterKey: str("Key"), UsePreviousValue: new(true)}},
	})
	w.must(err)
	w.provide(answer)
	want.StackStatus, want.Description = types.StackStatusUpdateComplete, str("two other things")
	want.LastOperations = []types.OperationEntry{{OperationType: types.OperationTypeUpdateStack, OperationId: updated.OperationId}}
	got = describe(id)
	if diff := cmp.Diff(want, got, loose); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
	if got.LastUpdatedTime == nil || *updated.StackId != id {
		t.Errorf("the update of %s: %v", *updated.StackId, got.LastUpdatedTime)
	}
	// Only an empty list removes the tags, and that alone is an update.
	updated, err = w.client.UpdateStack(ctx, &sdk.UpdateStackInput{
		StackName: &id, UsePreviousTemplate: new(true), Tags: []types.Tag{},
		Parameters: []types.Parameter{{ParameterKey: str("Key"), UsePreviousValue: new(true)}},
	})
	w.must(err)
	want.Tags, want.LastOperations[0].OperationId = []types.Tag{}, updated.OperationId
	if diff := cmp.Diff(want, describe(id), loose); diff != "" {
		t.Errorf("without tags (-want +got):\n%s", diff)
	}

	source, err := w.client.GetTemplate(ctx, &sdk.GetTemplateInput{StackName: str("life")})
	w.must(err)
	if *source.TemplateBody != next || len(source.StagesAvailable) != 2 {
		t.Errorf("template: %v %s", source.StagesAvailable, *source.TemplateBody)
	}

	want.RoleARN = str("arn:aws:iam::123456789012:role/other")
	_, err = w.client.DeleteStack(ctx, &sdk.DeleteStackInput{StackName: str("life"), RoleARN: want.RoleARN})
	w.must(err)
	w.provide(answer)
	if _, err := w.client.DescribeStacks(ctx, &sdk.DescribeStacksInput{StackName: str("life")}); err == nil {
		t.Error("a deleted stack is found by its name")
	}
	want.StackStatus, want.EnableTerminationProtection = types.StackStatusDeleteComplete, nil
	got = describe(id)
	if len(got.LastOperations) == 1 { // a delete returns no ID
		want.LastOperations[0] = types.OperationEntry{OperationType: types.OperationTypeDeleteStack, OperationId: got.LastOperations[0].OperationId}
	}
	if diff := cmp.Diff(want, got, loose); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if got.DeletionTime == nil {
		t.Error("a deleted stack has no DeletionTime")
	}
	if _, err := w.client.DeleteStack(ctx, &sdk.DeleteStackInput{StackName: &id}); err != nil {
		t.Errorf("a second delete: %v", err)
	}
	all, err := w.client.DescribeStacks(ctx, &sdk.DescribeStacksInput{})
	if err != nil || len(all.Stacks) != 0 {
		t.Errorf("live stacks: %v %v", all.Stacks, err)
	}

	// Its complete history, without the secret.
	_, events := w.post("Action=DescribeStackEvents&StackName=" + escape(id))
	for _, line := range []string{
		"<ClientRequestToken>token-1</ClientRequestToken>", "<ClientRequestToken>token-2</ClientRequestToken>",
		"<PhysicalResourceId/>", "Resource creation Initiated", "&quot;Key&quot;:&quot;****&quot;",
	} {
		if !strings.Contains(events, line) {
			t.Errorf("the events lack %s", line)
		}
	}
	for _, form := range []string{"DescribeStacks", "DescribeStackEvents", "DescribeStackResources", "ListStackResources", "DescribeStackResource&LogicalResourceId=A"} {
		if _, body := w.post("Action=" + form + "&StackName=" + escape(id)); strings.Contains(body, "hunter2") || strings.Contains(body, "swordfish") {
			t.Errorf("%s shows the secret: %s", form, body)
		}
	}
}

// TestAlwaysPresent checks the XML elements themselves, because SDKs do not distinguish an empty element from a missing
// one.
func TestAlwaysPresent(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("s"), TemplateBody: &fixed})
	w.must(err)
	_, body := w.post("Action=DescribeStacks&StackName=s")
	for _, element := range []string{
		"<RollbackConfiguration/>", "<NotificationARNs/>", "<Tags/>", "<DisableRollback>false</DisableRollback>",
		"<EnableTerminationProtection>false</EnableTerminationProtection>", "<StackStatusReason>User Initiated</StackStatusReason>",
		"<DriftInformation><StackDriftStatus>NOT_CHECKED</StackDriftStatus></DriftInformation>",
	} {
		if !strings.Contains(body, element) {
			t.Errorf("no %s in %s", element, body)
		}
	}
	for _, element := range []string{"<Parameters", "<Outputs", "<Description", "<Capabilities", "<LastUpdatedTime", "<DeletionTime", "<RoleARN", "<NextToken"} {
		if strings.Contains(body, element) {
			t.Errorf("%s in %s", element, body)
		}
	}
	if _, body := w.post("Action=DeleteStack&StackName=nobody"); strings.Contains(body, "Result") {
		t.Errorf("DeleteStack has a result: %s", body)
	}
}

func TestTerminationProtection(t *testing.T) {
	w := newWorld(t)
	id := w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: &fixed, EnableTerminationProtection: new(true)})
	out, err := w.client.UpdateTerminationProtection(t.Context(), &sdk.UpdateTerminationProtectionInput{
		StackName: str("s"), EnableTerminationProtection: new(false),
	})
	w.must(err)
	if *out.StackId != id {
		t.Errorf("got %s", *out.StackId)
	}
	if _, err := w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: str("s")}); err != nil {
		t.Error(err)
	}
	want := "400 ValidationError: Stack:" + id + " is in DELETE_IN_PROGRESS state and its termination protection can not be changed."
	if got := w.refusal("Action=UpdateTerminationProtection&EnableTerminationProtection=true&StackName=s"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestDisableRollback checks the effects of both options, and the reasons of a failure.
func TestDisableRollback(t *testing.T) {
	w := newWorld(t)
	for name, in := range map[string]*sdk.CreateStackInput{
		"rolled":   {OnFailure: types.OnFailureRollback},
		"left":     {OnFailure: types.OnFailureDoNothing},
		"disabled": {DisableRollback: new(true)},
	} {
		in.StackName, in.TemplateBody = &name, &fixed
		_, err := w.client.CreateStack(t.Context(), in)
		w.must(err)
		first := w.take()[0]
		w.must(w.engine.Report(t.Context(), first.ID, engine.Outcome{Kind: engine.Accepted}))
		w.must(w.engine.Answer(t.Context(), first.ID, []byte(`{"Status": "FAILED", "PhysicalResourceId": "x", "Reason": "no \u001b[31mred"}`), 0))
		w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "x"`)
		out, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: &name})
		w.must(err)
		want, reason := "CREATE_FAILED", "The following resource(s) failed to create: [R]. "
		if name == "rolled" {
			want, reason = "ROLLBACK_COMPLETE", ""
		}
		got := out.Stacks[0]
		if string(got.StackStatus) != want || aws.ToString(got.StackStatusReason) != reason || *got.DisableRollback == (name == "rolled") {
			t.Errorf("%s: %s %q %v", name, got.StackStatus, aws.ToString(got.StackStatusReason), *got.DisableRollback)
		}
		events, err := w.client.DescribeStackEvents(t.Context(), &sdk.DescribeStackEventsInput{StackName: &name})
		w.must(err)
		failed := "Received response status [FAILED] from custom resource. Message returned: no [31mred (RequestId: " + string(first.ID) + ")"
		found := false
		for _, e := range events.StackEvents {
			found = found || aws.ToString(e.ResourceStatusReason) == failed
		}
		if !found {
			t.Errorf("%s: no event has the reason %q", name, failed)
		}
	}
}

func TestValidateTemplate(t *testing.T) {
	w := newWorld(t)
	out, err := w.client.ValidateTemplate(t.Context(), &sdk.ValidateTemplateInput{TemplateBody: str(lifeTemplate)})
	w.must(err)
	want := &sdk.ValidateTemplateOutput{Description: str("two things"), Parameters: []types.TemplateParameter{
		{ParameterKey: str("Size"), DefaultValue: str("10000000"), NoEcho: new(false), Description: str("of it")},
		{ParameterKey: str("List"), DefaultValue: str("a,b"), NoEcho: new(false)},
		{ParameterKey: str("Key"), DefaultValue: str("****"), NoEcho: new(true)},
	}}
	if diff := cmp.Diff(want, out, loose); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got := w.refusal("Action=ValidateTemplate&TemplateBody={"); !strings.HasPrefix(got, "400 ValidationError: Template format error") {
		t.Errorf("no template: %s", got)
	}
}

// TestEventProperties checks that the properties in events are one JSON text of strings.
func TestEventProperties(t *testing.T) {
	w := newWorld(t)
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: str(`{"Resources": {"R": ` + resource(`"N": 10000000, "L": [true]`) + `}}`)})
	out, err := w.client.DescribeStackEvents(t.Context(), &sdk.DescribeStackEventsInput{StackName: str("s")})
	w.must(err)
	var got []string
	ids := map[string]bool{}
	for _, e := range out.StackEvents {
		ids[*e.EventId] = true
		if aws.ToString(e.OperationId) == "" {
			t.Errorf("event %s has no OperationId", *e.EventId)
		}
		got = append(got, fmt.Sprintf("%s %s %q", *e.LogicalResourceId, e.ResourceStatus, aws.ToString(e.PhysicalResourceId)))
		if e.ResourceProperties == nil {
			continue
		}
		var properties map[string]any
		w.must(json.Unmarshal([]byte(*e.ResourceProperties), &properties))
		if diff := cmp.Diff(map[string]any{"ServiceToken": token, "N": "10000000", "L": []any{"true"}}, properties); diff != "" {
			t.Errorf("%s (-want +got):\n%s", *e.EventId, diff)
		}
	}
	id := *out.StackEvents[0].StackId
	want := []string{
		fmt.Sprintf("s CREATE_COMPLETE %q", id), `R CREATE_COMPLETE "id-of-R"`, `R CREATE_IN_PROGRESS "id-of-R"`,
		`R CREATE_IN_PROGRESS ""`, fmt.Sprintf("s CREATE_IN_PROGRESS %q", id),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if len(ids) != len(want) {
		t.Errorf("event ids are not unique: %v", ids)
	}
}
