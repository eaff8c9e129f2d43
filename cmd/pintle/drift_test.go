package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestReadsSurviveKill kills the server while a provider reads: for a detection, and for an import. Each Read is sent once more, and no
// other request is.
func TestReadsSurviveKill(t *testing.T) {
	onBothStores(t, testReadsSurviveKill)
}

func testReadsSurviveKill(t *testing.T, args ...string) {
	server := serveReader(t, args...)
	check := server.check
	const head = `{"Resources": {"A": {"Type": "Custom::File", "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:File", "Name": "a", "Size": 5}}`
	const more = `, "Old": {"Type": "Custom::File", "DeletionPolicy": "Retain", "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:File", "Name": "old"}}`
	name := aws.String("s")
	status := func() types.StackStatus {
		out, err := server.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
		if err != nil {
			return ""
		}
		return out.Stacks[0].StackStatus
	}
	_, err := server.client().CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: name, TemplateBody: aws.String(head + "}}")})
	check(err)
	server.until("the stack is created", func() bool { return status() == types.StackStatusCreateComplete })

	check(os.WriteFile(filepath.Join(server.shelf, "a.json"), []byte(`{"size": 7}`), 0o600))
	server.holdRead()
	detection, err := server.client().DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: name})
	check(err)
	server.restartInRead()
	var found *cloudformation.DescribeStackDriftDetectionStatusOutput
	server.until("the drift is detected", func() bool {
		found, err = server.client().DescribeStackDriftDetectionStatus(t.Context(), &cloudformation.DescribeStackDriftDetectionStatusInput{
			StackDriftDetectionId: detection.StackDriftDetectionId,
		})
		return err == nil && found.DetectionStatus != types.StackDriftDetectionStatusDetectionInProgress
	})
	if found.DetectionStatus != types.StackDriftDetectionStatusDetectionComplete || *found.DriftedStackResourceCount != 1 {
		t.Errorf("the detection is %s: %s", found.DetectionStatus, aws.ToString(found.DetectionStatusReason))
	}

	check(os.WriteFile(filepath.Join(server.shelf, "old.json"), []byte(`{"size": 1}`), 0o600))
	server.holdRead()
	set, err := server.client().CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: name, ChangeSetName: aws.String("import"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: aws.String(head + more + "}}"),
		ResourcesToImport: []types.ResourceToImport{{
			ResourceType: aws.String("Custom::File"), LogicalResourceId: aws.String("Old"),
			ResourceIdentifier: map[string]string{"PhysicalResourceId": "old"},
		}},
	})
	check(err)
	_, err = server.client().ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.Id})
	check(err)
	server.restartInRead()
	server.until("the resource is imported", func() bool { return status() == types.StackStatusImportComplete })

	server.wantRequests("Create a", "Read a", "Read a", "Read old", "Read old")
}
