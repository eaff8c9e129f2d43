package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestRecordedImportIsOfOneStack: of two change sets that import one recorded resource, the first gets it.
func TestRecordedImportIsOfOneStack(t *testing.T) {
	s := serve(t, t.TempDir(), "--unknown-types", "record")
	client := s.client()
	var sets []string
	for _, stack := range []string{"first", "second"} {
		made, err := client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: aws.String("import"), ChangeSetType: types.ChangeSetTypeImport,
			TemplateBody: aws.String(`{"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain"}}}`),
			ResourcesToImport: []types.ResourceToImport{{
				ResourceType: aws.String("AWS::DynamoDB::Table"), LogicalResourceId: aws.String("T"),
				ResourceIdentifier: map[string]string{"TableName": "orders"},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, *made.Id)
	}
	for i, want := range []types.StackStatus{types.StackStatusImportComplete, types.StackStatusImportRollbackComplete} {
		if _, err := client.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: &sets[i]}); err != nil {
			t.Fatal(err)
		}
		stack := []string{"first", "second"}[i]
		if got := s.settled(stack); got != want {
			t.Fatalf("%s is %s\n%s", stack, got, describe(t, s, stack))
		}
	}
	var reasons []string
	for _, e := range s.events("second") {
		reasons = append(reasons, aws.ToString(e.ResourceStatusReason))
	}
	if text := strings.Join(reasons, "\n"); !strings.Contains(text, "orders already exists in stack arn:aws:cloudformation:") {
		t.Error(text)
	}
}
