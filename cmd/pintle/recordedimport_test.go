package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
)

// TestRecordedImportIsOfOneStack: of two change sets that import one recorded resource, the first gets it.
func TestRecordedImportIsOfOneStack(t *testing.T) {
	s := serve(t, t.TempDir(), "--unknown-types", "record")
	client := s.client()
	var sets []string
	for _, stack := range []string{"first", "second", "planned"} {
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

	// The command deletes a new stack whose import failed before it creates it, and the console shows imports as such.
	calls, err := awscall.New(awscall.Config{
		Region: "us-east-1", Endpoint: s.url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	service := stacks.NewCloudFormation(calls)
	for stack, want := range map[string]stacks.State{"first": stacks.Updated, "second": stacks.CreateRolledBack} {
		if got, err := service.Stack(t.Context(), stack); err != nil || got.State != want {
			t.Errorf("%s is in state %v (%s): %v", stack, got.State, got.Status, err)
		}
	}
	pages := s.pages(t)
	if !strings.Contains(pages, "<div><dt>For</dt><dd>import</dd></div>") || !strings.Contains(pages, "IMPORT_ROLLBACK_COMPLETE") {
		t.Error("the console does not show imports")
	}
	if shown := regexp.MustCompile(`[^_]ROLLBACK_COMPLETE|[^_]CREATE_IN_PROGRESS`).FindString(pages); shown != "" {
		t.Errorf("the console shows %s", shown)
	}
}
