package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

// The stacks of TestNestedChangeSets: root has Mid and Fixed, and Mid has Leaf.
const (
	leafTemplate = `{"Parameters": {"V": {"Type": "String"}}, "Resources": {"P": {"Type": "AWS::SSM::Parameter",
		"Properties": {"Type": "String", "Value": {"Ref": "V"}}}}, "Outputs": {"Name": {"Value": {"Ref": "P"}}}}`
	midTemplate = `{"Parameters": {"V": {"Type": "String"}, "Bucket": {"Type": "String"}}, "Resources": {
		"Leaf": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": {"Fn::Sub": "${Bucket}/leaf"}, "Parameters": {"V": {"Ref": "V"}}}}}}`
	rootTemplate = `{"Parameters": {"V": {"Type": "String"}, "Bucket": {"Type": "String"}}, "Resources": {
		"Mid": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": {"Fn::Sub": "${Bucket}/mid"},
			"Parameters": {"V": {"Ref": "V"}, "Bucket": {"Ref": "Bucket"}}}},
		"Fixed": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": {"Fn::Sub": "${Bucket}/leaf"}, "Parameters": {"V": "fixed"}}}}}`
)

// nestedSets drives change sets of the stack root.
type nestedSets struct {
	*testing.T
	s      *served
	client *cloudformation.Client
}

func (n *nestedSets) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatalf("%v\n%s", err, n.s.output())
	}
}

// put stores a template in the bucket.
func (n *nestedSets) put(key, text string) {
	n.Helper()
	request, err := http.NewRequestWithContext(n.Context(), http.MethodPut, n.s.url+"/templates/"+key, strings.NewReader(text))
	n.must(err)
	request.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261126/us-east-1/s3/aws4_request, "+
		"SignedHeaders=host, Signature="+strings.Repeat("0", 64))
	response, err := http.DefaultClient.Do(request)
	n.must(err)
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		n.Fatalf("put %s: %s", key, response.Status)
	}
}

// plan creates a change set of the stack and describes it.
func (n *nestedSets) plan(stack, name, value string, kind types.ChangeSetType) *cloudformation.DescribeChangeSetOutput {
	n.Helper()
	made, err := n.client.CreateChangeSet(n.Context(), &cloudformation.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: &name, ChangeSetType: kind, TemplateBody: aws.String(rootTemplate), IncludeNestedStacks: aws.Bool(true),
		Parameters: []types.Parameter{parameter("V", value), parameter("Bucket", n.s.url+"/templates")},
	})
	n.must(err)
	return n.describe(*made.Id)
}

func (n *nestedSets) describe(id string) *cloudformation.DescribeChangeSetOutput {
	n.Helper()
	set, err := n.client.DescribeChangeSet(n.Context(), &cloudformation.DescribeChangeSetInput{
		ChangeSetName: &id, IncludePropertyValues: aws.Bool(true),
	})
	n.must(err)
	return set
}

// changes returns the change of each resource, and the change sets of nested stacks.
func (n *nestedSets) changes(set *cloudformation.DescribeChangeSetOutput) (list []string, nested map[string]string) {
	n.Helper()
	nested = map[string]string{}
	for _, c := range set.Changes {
		list = append(list, string(c.ResourceChange.Action)+" "+*c.ResourceChange.LogicalResourceId)
		if c.ResourceChange.ChangeSetId != nil {
			nested[*c.ResourceChange.LogicalResourceId] = *c.ResourceChange.ChangeSetId
		}
	}
	return list, nested
}

func (n *nestedSets) wants(what string, got []string, want ...string) {
	n.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		n.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (n *nestedSets) execute(id string, want types.StackStatus) {
	n.Helper()
	_, err := n.client.ExecuteChangeSet(n.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: &id})
	n.must(err)
	if got := n.s.settled("root"); got != want {
		n.Fatalf("the stack is %s\n%s", got, describe(n.T, n.s, "root"))
	}
}

// stack returns a stack by its name or ID, or nil.
func (n *nestedSets) stack(id string) *types.Stack {
	out, err := n.client.DescribeStacks(n.Context(), &cloudformation.DescribeStacksInput{StackName: &id})
	if err != nil {
		return nil
	}
	return &out.Stacks[0]
}

// TestNestedChangeSets takes a stack with nested stacks through change sets that include those of the nested stacks.
func TestNestedChangeSets(t *testing.T) {
	s := serve(t, t.TempDir())
	n := &nestedSets{t, s, s.client()}
	s.create("bucket", `{"Resources": {"B": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "templates"}}}}`)
	s.settled("bucket")
	n.put("leaf", leafTemplate)
	n.put("mid", midTemplate)

	// A create: nested stacks exist without resources, and their change sets list the planned ones.
	root := n.plan("root", "first", "one", types.ChangeSetTypeCreate)
	list, sets := n.changes(root)
	n.wants("root", list, "Add Fixed", "Add Mid")
	if root.ParentChangeSetId != nil || root.RootChangeSetId != nil || len(sets) != 2 {
		t.Fatalf("the root has the parent %v, the root %v and the nested change sets %v", root.ParentChangeSetId, root.RootChangeSetId, sets)
	}
	mid := n.describe(sets["Mid"])
	list, inMid := n.changes(mid)
	n.wants("mid", list, "Add Leaf")
	leaf := n.describe(inMid["Leaf"])
	list, _ = n.changes(leaf)
	n.wants("leaf", list, "Add P")
	if *mid.ParentChangeSetId != *root.ChangeSetId || *leaf.ParentChangeSetId != *mid.ChangeSetId ||
		*leaf.RootChangeSetId != *root.ChangeSetId {
		t.Errorf("mid belongs to %s, leaf to %s and %s", *mid.ParentChangeSetId, *leaf.ParentChangeSetId, *leaf.RootChangeSetId)
	}
	if stack := n.stack(*leaf.StackId); stack.StackStatus != types.StackStatusReviewInProgress ||
		*stack.ParentId != *mid.StackId || *stack.RootId != *root.StackId {
		t.Errorf("the nested stack is %+v", stack)
	}
	if value := leaf.Parameters[0]; *value.ParameterValue != "one" {
		t.Errorf("the parameter of leaf is %s", *value.ParameterValue)
	}
	for name, err := range map[string]error{
		"execute": func() error {
			_, err := n.client.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: leaf.ChangeSetId})
			return err
		}(),
		"delete": func() error {
			_, err := n.client.DeleteChangeSet(t.Context(), &cloudformation.DeleteChangeSetInput{ChangeSetName: mid.ChangeSetId})
			return err
		}(),
	} {
		if err == nil || !strings.Contains(err.Error(), "Use its root change set ["+*root.ChangeSetId+"]") {
			t.Errorf("%s a nested change set by itself: %v", name, err)
		}
	}

	// The execution follows the plan, even if the templates have changed since, and after a restart.
	n.put("leaf", "broken")
	n.put("mid", "broken")
	s.kill()
	s.start()
	n.execute(*root.ChangeSetId, types.StackStatusCreateComplete)
	for _, id := range []string{*root.ChangeSetId, *mid.ChangeSetId, *leaf.ChangeSetId} {
		if set := n.describe(id); set.ExecutionStatus != types.ExecutionStatusExecuteComplete {
			t.Errorf("%s is %s", id, set.ExecutionStatus)
		}
	}
	if stack := n.stack(*leaf.StackId); stack.StackStatus != types.StackStatusCreateComplete {
		t.Errorf("leaf is %s", stack.StackStatus)
	}
	n.put("leaf", leafTemplate)
	n.put("mid", midTemplate)

	// An update: the nested stack that stays as it is is in no change set.
	root = n.plan("root", "second", "two", types.ChangeSetTypeUpdate)
	list, sets = n.changes(root)
	n.wants("root of the update", list, "Modify Mid")
	_, inMid = n.changes(n.describe(sets["Mid"]))
	leaf = n.describe(inMid["Leaf"])
	list, _ = n.changes(leaf)
	n.wants("leaf of the update", list, "Modify P")
	if target := leaf.Changes[0].ResourceChange.Details[0].Target; *target.BeforeValue != "one" || *target.AfterValue != "two" {
		t.Errorf("the value goes from %s to %s", *target.BeforeValue, *target.AfterValue)
	}
	n.execute(*root.ChangeSetId, types.StackStatusUpdateComplete)
	if set := n.describe(*leaf.ChangeSetId); set.ExecutionStatus != types.ExecutionStatusExecuteComplete {
		t.Errorf("leaf of the update is %s", set.ExecutionStatus)
	}

	// Without changes in a nested stack, the plan has no nested change sets.
	root = n.plan("root", "third", "two", types.ChangeSetTypeUpdate)
	if root.Status != types.ChangeSetStatusFailed || !strings.HasPrefix(*root.StatusReason, "The submitted information didn't contain") {
		t.Errorf("without changes: %s %v", root.Status, aws.ToString(root.StatusReason))
	}

	// Nested change sets are deleted with their root, and so are stacks that they made.
	root = n.plan("other", "first", "one", types.ChangeSetTypeCreate)
	_, sets = n.changes(root)
	mid = n.describe(sets["Mid"])
	_, err := n.client.DeleteChangeSet(t.Context(), &cloudformation.DeleteChangeSetInput{ChangeSetName: root.ChangeSetId})
	n.must(err)
	if _, err := n.client.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{ChangeSetName: mid.ChangeSetId}); err == nil {
		t.Error("the nested change set is still there")
	}
	if stack := n.stack(*mid.StackId); stack == nil || stack.StackStatus != types.StackStatusDeleteComplete {
		t.Errorf("the nested stack is %+v", stack)
	}
	root = n.plan("other", "again", "one", types.ChangeSetTypeCreate)
	_, sets = n.changes(root)
	mid = n.describe(sets["Mid"])
	_, err = n.client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("other")})
	n.must(err)
	s.until("the nested stack is deleted", func() bool {
		stack := n.stack(*mid.StackId)
		return stack != nil && stack.StackStatus == types.StackStatusDeleteComplete
	})
}
