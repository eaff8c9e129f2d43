package cloudformation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store"
)

// drifts detects the drift of a stack. It returns the stack's status and that of each checked resource.
func (n *natives) drifts(stack string) (status types.StackDriftStatus, count int32, resources map[string]types.StackResourceDrift) {
	n.Helper()
	detection, err := n.client.DetectStackDrift(n.Context(), &sdk.DetectStackDriftInput{StackName: &stack})
	n.must(err)
	end, err := n.client.DescribeStackDriftDetectionStatus(n.Context(), &sdk.DescribeStackDriftDetectionStatusInput{
		StackDriftDetectionId: detection.StackDriftDetectionId,
	})
	n.must(err)
	if end.DetectionStatus != types.StackDriftDetectionStatusDetectionComplete {
		n.Errorf("the detection is %s", end.DetectionStatus)
	}
	resources = map[string]types.StackResourceDrift{}
	pages := sdk.NewDescribeStackResourceDriftsPaginator(n.client, &sdk.DescribeStackResourceDriftsInput{StackName: &stack, MaxResults: aws.Int32(1)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(n.Context())
		n.must(err)
		for _, d := range page.StackResourceDrifts {
			resources[*d.LogicalResourceId] = d
		}
	}
	return end.StackDriftStatus, *end.DriftedStackResourceCount, resources
}

// TestDriftOfNativeTypes checks that changes by other clients are detected, and that secrets are masked. Source:
// CloudFormation API Reference, StackResourceDrift, PropertyDifference, StackDriftInformation.
func TestDriftOfNativeTypes(t *testing.T) {
	n := newNatives(t)
	const resources = `
		"Plain": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/plain", "Type": "String", "Value": "one", "Description": "d"}},
		"Hidden": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/hidden", "Type": "String", "Value": {"Ref": "Password"}}},
		"Gone": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/gone", "Type": "String", "Value": "one"}},
		"Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "g", "RetentionInDays": 7, "Tags": [{"Key": "b", "Value": "1"}, {"Key": "a", "Value": "2"}]}},
		"Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}}},
		"Login": {"Type": "AWS::SecretsManager::Secret", "Properties": {"Name": "login", "Description": "d", "GenerateSecretString": {}}},
		"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"}`
	_, err := n.client.CreateStack(t.Context(), &sdk.CreateStackInput{
		StackName:    str("s"),
		Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
		Parameters:   []types.Parameter{{ParameterKey: str("Password"), ParameterValue: str("hunter2")}},
		TemplateBody: str(`{"Parameters": {"Password": {"Type": "String", "NoEcho": true}}, "Resources": {` + resources + `}}`),
	})
	n.must(err)
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusCreateComplete || stack.DriftInformation.StackDriftStatus != types.StackDriftStatusNotChecked {
		t.Fatalf("%s %s\n%s", stack.StackStatus, stack.DriftInformation.StackDriftStatus, n.reasons("s"))
	}
	status, count, found := n.drifts("s")
	for logical, d := range found {
		if d.StackResourceDriftStatus != types.StackResourceDriftStatusInSync || len(d.PropertyDifferences) != 0 {
			t.Errorf("%s: %s %s %s", logical, d.StackResourceDriftStatus, *d.ExpectedProperties, *d.ActualProperties)
		}
	}
	if status != types.StackDriftStatusInSync || count != 0 || len(found) != 6 {
		t.Errorf("the stack is %s, %d resources drifted, %d were checked", status, count, len(found))
	}

	home, place := registry.Scope{Account: account, Region: region}, registry.Scope{Account: account, Region: region}
	for name, text := range map[string]string{"/plain": "two", "/hidden": "hunter3"} {
		_, err := n.own.Put(t.Context(), store.Parameter{
			ParameterKey: store.ParameterKey{Account: account, Region: region, Name: name}, Type: store.ParameterString, Value: text,
		}, true)
		n.must(err)
	}
	n.must(n.own.Delete(t.Context(), place, "/gone"))
	_, err = n.catalog.Groups.Change(t.Context(), home, "g", func(i *registry.Item[registry.LogGroup]) error {
		i.Of.Retention, i.Of.Tags = 30, map[string]string{"a": "2", "c": "3"}
		return nil
	})
	n.must(err)
	_, err = n.secrets.Delete(t.Context(), home, "login", nil)
	n.must(err)
	status, count, found = n.drifts("s")
	if status != types.StackDriftStatusDrifted || count != 5 {
		t.Errorf("the stack is %s, %d resources drifted", status, count)
	}
	type difference struct{ Path, Expected, Actual, Kind string }
	differences := map[string][]difference{}
	states := map[string]string{}
	for logical, d := range found {
		states[logical] = string(d.StackResourceDriftStatus)
		for _, p := range d.PropertyDifferences {
			differences[logical] = append(differences[logical], difference{*p.PropertyPath, *p.ExpectedValue, *p.ActualValue, string(p.DifferenceType)})
		}
		if d.StackResourceDriftStatus == types.StackResourceDriftStatusDeleted && (d.ActualProperties != nil || d.ExpectedProperties == nil) {
			t.Errorf("%s: expected %s, actual %s", logical, aws.ToString(d.ExpectedProperties), aws.ToString(d.ActualProperties))
		}
	}
	if diff := cmp.Diff(map[string]string{
		"Plain": "MODIFIED", "Hidden": "MODIFIED", "Gone": "DELETED", "Log": "MODIFIED", "Role": "IN_SYNC", "Login": "DELETED",
	}, states); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]difference{
		"Plain":  {{"/Value", "one", "two", "NOT_EQUAL"}, {"/Description", "d", "null", "REMOVE"}},
		"Hidden": {{"/Value", "****", "****", "NOT_EQUAL"}},
		"Log": {
			{"/RetentionInDays", "7", "30", "NOT_EQUAL"}, {"/Tags/1/Key", "b", "c", "NOT_EQUAL"}, {"/Tags/1/Value", "1", "3", "NOT_EQUAL"},
		},
	}, differences); diff != "" {
		t.Error(diff)
	}
	if got := *found["Plain"].ExpectedProperties; got != `{"Name":"/plain","Type":"String","Value":"one","Description":"d"}` {
		t.Errorf("expected properties %s", got)
	}
	if got := *found["Plain"].ActualProperties; got != `{"Name":"/plain","Type":"String","Value":"two"}` {
		t.Errorf("actual properties %s", got)
	}
	if got := *found["Log"].ActualProperties; !strings.Contains(got, `"RetentionInDays":30`) {
		t.Errorf("actual properties %s", got)
	}

	// The result is stored and shown with the stack and its resources.
	stack := n.settled("s")
	if stack.DriftInformation.StackDriftStatus != types.StackDriftStatusDrifted || stack.DriftInformation.LastCheckTimestamp == nil {
		t.Errorf("the stack shows %+v", stack.DriftInformation)
	}
	list, err := n.client.DescribeStackResources(t.Context(), &sdk.DescribeStackResourcesInput{StackName: str("s")})
	n.must(err)
	for _, r := range list.StackResources {
		want := types.StackResourceDriftStatus(states[*r.LogicalResourceId])
		if want == "" {
			want = types.StackResourceDriftStatusNotChecked
		}
		if r.DriftInformation.StackResourceDriftStatus != want {
			t.Errorf("%s shows %s", *r.LogicalResourceId, r.DriftInformation.StackResourceDriftStatus)
		}
	}
	filtered, err := n.client.DescribeStackResourceDrifts(t.Context(), &sdk.DescribeStackResourceDriftsInput{
		StackName: str("s"), StackResourceDriftStatusFilters: []types.StackResourceDriftStatus{types.StackResourceDriftStatusDeleted},
	})
	n.must(err)
	if len(filtered.StackResourceDrifts) != 2 {
		t.Errorf("%d resources are deleted", len(filtered.StackResourceDrifts))
	}
	text, err := json.Marshal([]any{found, stack, list})
	n.must(err)
	if strings.Contains(string(text), "hunter") {
		t.Errorf("a secret is shown: %s", text)
	}

	// A check of one resource keeps the results of the others.
	_, err = n.own.Put(t.Context(), store.Parameter{
		ParameterKey: store.ParameterKey{Account: account, Region: region, Name: "/plain"}, Type: store.ParameterString, Value: "one", Description: "d",
	}, true)
	n.must(err)
	one, err := n.client.DetectStackResourceDrift(t.Context(), &sdk.DetectStackResourceDriftInput{StackName: str("s"), LogicalResourceId: str("Plain")})
	n.must(err)
	if one.StackResourceDrift.StackResourceDriftStatus != types.StackResourceDriftStatusInSync {
		t.Errorf("Plain is %s", one.StackResourceDrift.StackResourceDriftStatus)
	}
	if resource, err := n.client.DescribeStackResource(t.Context(), &sdk.DescribeStackResourceInput{StackName: str("s"), LogicalResourceId: str("Log")}); err != nil ||
		resource.StackResourceDetail.DriftInformation.StackResourceDriftStatus != types.StackResourceDriftStatusModified {
		t.Errorf("Log: %v", err)
	}
	_, err = n.client.DetectStackResourceDrift(t.Context(), &sdk.DetectStackResourceDriftInput{StackName: str("s"), LogicalResourceId: str("Handle")})
	if err == nil || !strings.Contains(err.Error(), "Resource type AWS::CloudFormation::WaitConditionHandle does not support drift detection") {
		t.Errorf("a wait condition handle: %v", err)
	}
}

// TestRevertDrift checks that a change set in the mode REVERT_DRIFT restores the declared state of resources, including
// deleted ones. Source: CloudFormation API Reference, CreateChangeSet, DeploymentMode.
func TestRevertDrift(t *testing.T) {
	n := newNatives(t)
	const template = `{"Resources": {
		"Plain": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/plain", "Type": "String", "Value": "one", "Description": "d"}},
		"Kept": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/kept", "Type": "String", "Value": "one"}},
		"Gone": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "gone", "RetentionInDays": 7}}}}`
	_, err := n.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("s"), TemplateBody: str(template)})
	n.must(err)
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusCreateComplete {
		t.Fatalf("%s\n%s", stack.StackStatus, n.reasons("s"))
	}
	create := func(name string) *sdk.DescribeChangeSetOutput {
		t.Helper()
		_, err := n.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
			StackName: str("s"), ChangeSetName: &name, TemplateBody: str(template), DeploymentMode: types.DeploymentModeRevertDrift,
		})
		n.must(err)
		set, err := n.client.DescribeChangeSet(t.Context(), &sdk.DescribeChangeSetInput{StackName: str("s"), ChangeSetName: &name})
		n.must(err)
		return set
	}
	if set := create("nothing"); set.Status != types.ChangeSetStatusFailed || !strings.HasPrefix(aws.ToString(set.StatusReason), "The submitted information didn't contain changes.") {
		t.Errorf("without drift the change set is %s %s", set.Status, aws.ToString(set.StatusReason))
	}
	home := registry.Scope{Account: account, Region: region}
	plain := store.ParameterKey{Account: account, Region: region, Name: "/plain"}
	_, err = n.own.Put(t.Context(), store.Parameter{ParameterKey: plain, Type: store.ParameterString, Value: "two"}, true)
	n.must(err)
	n.must(n.catalog.Groups.Delete(t.Context(), home, "gone", 0))

	set := create("back")
	if set.Status != types.ChangeSetStatusCreateComplete || set.DeploymentMode != types.DeploymentModeRevertDrift {
		t.Fatalf("the change set is %s %s", set.Status, set.DeploymentMode)
	}
	var changes []string
	for _, c := range set.Changes {
		changes = append(changes, strings.Join([]string{string(c.ResourceChange.Action), *c.ResourceChange.LogicalResourceId, string(c.ResourceChange.Replacement)}, " "))
	}
	if diff := cmp.Diff([]string{"Modify Gone False", "Modify Plain False"}, changes); diff != "" {
		t.Error(diff)
	}
	_, err = n.client.ExecuteChangeSet(t.Context(), &sdk.ExecuteChangeSetInput{StackName: str("s"), ChangeSetName: str("back")})
	n.must(err)
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusUpdateComplete {
		t.Fatalf("%s\n%s", stack.StackStatus, n.reasons("s"))
	}
	if status, _, found := n.drifts("s"); status != types.StackDriftStatusInSync {
		t.Errorf("the stack is %s: %+v", status, found)
	}
	if p, err := n.own.Parameter(t.Context(), home, "/plain", 0); err != nil || p.Value != "one" || p.Description != "d" {
		t.Errorf("the parameter is %+v %v", p, err)
	}
	if kept, err := n.own.Parameter(t.Context(), home, "/kept", 0); err != nil || kept.Version != 1 {
		t.Errorf("a parameter without drift is %+v %v", kept, err)
	}
	id := *n.settled("s").StackId
	_, err = n.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: &id})
	n.must(err)
	if stack := n.settled(id); stack.StackStatus != types.StackStatusDeleteComplete {
		t.Errorf("%s\n%s", stack.StackStatus, n.reasons(id))
	}
	if _, err := n.catalog.Groups.Get(t.Context(), home, "gone"); err == nil {
		t.Error("the log group is not deleted with its stack")
	}
}
