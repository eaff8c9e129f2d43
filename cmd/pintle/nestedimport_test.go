package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// keptParameter is the template of a parameter that a deleted stack leaves.
func keptParameter(value string) string {
	return `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "DeletionPolicy": "Retain",
		"Properties": {"Name": "/kept", "Type": "String", "Value": "` + value + `"}}}}`
}

// TestNestedImport imports existing resources into nested stacks, and no nested stack is updated by an import into its parent.
func TestNestedImport(t *testing.T) {
	s := serve(t, t.TempDir())
	n := &nestedSets{t, s, s.client()}
	s.create("bucket", `{"Resources": {"B": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "templates"}}}}`)
	s.settled("bucket")
	leave := func(stack string) {
		s.create(stack, keptParameter("kept"))
		s.settled(stack)
		_, err := n.client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &stack})
		n.must(err)
	}
	n.put("leaf", strings.Replace(keptParameter("new"), "Retain", "Delete", 1))
	n.put("mid", midTemplate)
	leave("maker")
	const root = `{"Resources": {"Mid": {"Type": "AWS::CloudFormation::Stack",
		"Properties": {"TemplateURL": "@/mid", "Parameters": {"V": "v", "Bucket": "@"}}}}}`
	n.put("mid", strings.ReplaceAll(midTemplate, `, "Parameters": {"V": {"Ref": "V"}}`, ""))
	template := strings.ReplaceAll(root, "@", s.url+"/templates")
	plan := func(name string) *cloudformation.DescribeChangeSetOutput {
		made, err := n.client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
			StackName: aws.String("root"), ChangeSetName: &name, ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: &template,
			IncludeNestedStacks: aws.Bool(true), ImportExistingResources: aws.Bool(true),
		})
		n.must(err)
		return n.describe(*made.Id)
	}
	set := plan("first")
	reason := aws.ToString(set.StatusReason)
	if set.Status != types.ChangeSetStatusFailed || !strings.HasPrefix(reason, "Nested stack Mid: Nested stack Leaf: ") ||
		!strings.HasSuffix(reason, "The affected resources are P ({Name=/kept})") {
		t.Fatalf("a policy that does not allow it: %s %s", set.Status, reason)
	}
	n.put("leaf", keptParameter("new"))
	set = plan("second")
	_, sets := n.changes(set)
	_, sets = n.changes(n.describe(sets["Mid"]))
	leaf := n.describe(sets["Leaf"])
	list, _ := n.changes(leaf)
	n.wants("leaf", list, "Import P")
	n.execute(*set.ChangeSetId, types.StackStatusCreateComplete)
	events, err := n.client.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: leaf.StackId})
	n.must(err)
	imported := false
	for _, e := range events.StackEvents {
		imported = imported || e.ResourceStatus == "IMPORT_COMPLETE" && *e.LogicalResourceId == "P"
	}
	if !imported {
		t.Errorf("the leaf did not import P\n%s", describe(t, s, *leaf.StackId))
	}

	// The template of a nested stack is another one by now, and an import leaves the stack.
	n.put("mid", midTemplate)
	s.create("other", strings.Replace(keptParameter("kept"), "/kept", "/other", 1))
	s.settled("other")
	_, err = n.client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("other")})
	n.must(err)
	template = strings.Replace(template, `{"Resources": {`, `{"Resources": {"Q": {"Type": "AWS::SSM::Parameter", "DeletionPolicy": "Retain",
		"Properties": {"Name": "/other", "Type": "String", "Value": "v"}}, `, 1)
	made, err := n.client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("root"), ChangeSetName: aws.String("import"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: &template,
		ResourcesToImport: []types.ResourceToImport{{
			ResourceType: aws.String("AWS::SSM::Parameter"), LogicalResourceId: aws.String("Q"), ResourceIdentifier: map[string]string{"Name": "/other"},
		}},
	})
	n.must(err)
	n.execute(*made.Id, types.StackStatusImportComplete)
	if mid := n.stack(*n.describe(*leaf.ParentChangeSetId).StackId); mid.StackStatus != types.StackStatusCreateComplete {
		t.Errorf("after an import into its parent, a nested stack is %s", mid.StackStatus)
	}
}
