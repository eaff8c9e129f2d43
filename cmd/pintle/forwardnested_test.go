package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
)

// forwardLeaf is the template of both nested stacks of TestForwardNested, so that they have the same logical IDs.
const forwardLeaf = `{"Parameters": {"Name": {"Type": "String"}, "Size": {"Type": "String"}}, "Resources": {
	"A": {"Type": "AWS::Test::Thing", "Properties": {"Name": {"Ref": "Name"}, "Size": {"Ref": "Size"}}}},
	"Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["A", "Arn"]}}}}`

// forwardRoot returns the root template. If fail is not empty, the endpoint rejects B with it.
func forwardRoot(url, name, size, fail string) string {
	nested := func(id string) string {
		return `"` + id + `": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "` + url + `/templates/leaf",
			"Parameters": {"Name": "` + strings.ToLower(id) + `-` + name + `", "Size": "` + size + `"}}}`
	}
	if fail != "" {
		fail = `, "Fail": "` + fail + `"`
	}
	return `{"Resources": {` + nested("One") + `, ` + nested("Two") + `,
		"B": {"Type": "AWS::Test::Thing", "Properties": {"Name": "b", "Size": {"Fn::Join": ["+", [
			{"Fn::GetAtt": ["One", "Outputs.Arn"]}, {"Fn::GetAtt": ["Two", "Outputs.Arn"]}]]}` + fail + `}}},
		"Outputs": {"Size": {"Value": {"Fn::GetAtt": ["B", "Size"]}}}}`
}

// TestForwardNested takes forwarded resources in nested stacks through change sets of the root: create, update in
// place, replacement, rollback, delete. Both nested stacks have the same logical IDs.
func TestForwardNested(t *testing.T) {
	endpoint := forwardtest.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--forward", "AWS::Test::*="+endpoint.URL)
	n := &nestedSets{T: t, s: s, client: s.client()}
	_, err := n.client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("bucket"), TemplateBody: aws.String(
		`{"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain", "Properties": {"BucketName": "templates"}}}}`)})
	n.must(err)
	s.settled("bucket")
	n.put("leaf", forwardLeaf)

	plan := func(kind types.ChangeSetType, set, template string) *cloudformation.DescribeChangeSetOutput {
		t.Helper()
		made, err := n.client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
			StackName: aws.String("root"), ChangeSetName: &set, ChangeSetType: kind, TemplateBody: &template, IncludeNestedStacks: aws.Bool(true),
		})
		n.must(err)
		var out *cloudformation.DescribeChangeSetOutput
		s.until("the change set is complete", func() bool {
			out = n.describe(*made.Id)
			return !strings.HasSuffix(string(out.Status), "_PENDING") && !strings.HasSuffix(string(out.Status), "_IN_PROGRESS")
		})
		if out.Status != types.ChangeSetStatusCreateComplete {
			t.Fatalf("change set %s: %s", out.Status, aws.ToString(out.StatusReason))
		}
		return out
	}
	// changes are those of a change set and of the change sets of its nested stacks.
	changes := func(out *cloudformation.DescribeChangeSetOutput) (list []string) {
		t.Helper()
		var describe func(prefix string, out *cloudformation.DescribeChangeSetOutput)
		describe = func(prefix string, out *cloudformation.DescribeChangeSetOutput) {
			for _, c := range out.Changes {
				r := c.ResourceChange
				list = append(list, strings.TrimSpace(prefix+*r.LogicalResourceId+" "+string(r.Action)+" "+string(r.Replacement)))
				if r.ChangeSetId != nil {
					describe(prefix+*r.LogicalResourceId+"/", n.describe(*r.ChangeSetId))
				}
			}
		}
		describe("", out)
		slices.Sort(list)
		return list
	}
	execute := func(set string, want types.StackStatus) {
		t.Helper()
		_, err := n.client.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: aws.String("root"), ChangeSetName: &set})
		n.must(err)
		if got := s.settled("root"); got != want {
			var reasons []string
			for _, e := range s.events("root") {
				reasons = append(reasons, aws.ToString(e.LogicalResourceId)+" "+string(e.ResourceStatus)+" "+aws.ToString(e.ResourceStatusReason))
			}
			t.Fatalf("root is %s, want %s:\n%s", got, want, strings.Join(reasons, "\n"))
		}
	}
	live := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, endpoint.Live()); diff != "" {
			t.Errorf("resources at the endpoint (-want +got):\n%s", diff)
		}
	}
	size := func(want string) {
		t.Helper()
		out, err := n.client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("root")})
		n.must(err)
		if got := aws.ToString(out.Stacks[0].Outputs[0].OutputValue); got != want {
			t.Errorf("output %q, want %q", got, want)
		}
	}

	n.wants("the first change set", changes(plan(types.ChangeSetTypeCreate, "create", forwardRoot(s.url, "x", "1", ""))),
		"B Add", "One Add", "One/A Add", "Two Add", "Two/A Add")
	live()
	execute("create", types.StackStatusCreateComplete)
	live("b", "one-x", "two-x")
	size("arn:aws:test:::one-x+arn:aws:test:::two-x")

	n.wants("a change in place", changes(plan(types.ChangeSetTypeUpdate, "size", forwardRoot(s.url, "x", "2", ""))),
		"B Modify Conditional", "One Modify False", "One/A Modify False", "Two Modify False", "Two/A Modify False")
	execute("size", types.StackStatusUpdateComplete)
	live("b", "one-x", "two-x")

	n.wants("a replacement", changes(plan(types.ChangeSetTypeUpdate, "name", forwardRoot(s.url, "y", "2", ""))),
		"B Modify Conditional", "One Modify False", "One/A Modify True", "Two Modify False", "Two/A Modify True")
	live("b", "one-x", "two-x")
	execute("name", types.StackStatusUpdateComplete)
	live("b", "one-y", "two-y")
	size("arn:aws:test:::one-y+arn:aws:test:::two-y")

	plan(types.ChangeSetTypeUpdate, "bad", forwardRoot(s.url, "z", "3", "B is out of stock"))
	execute("bad", types.StackStatusUpdateRollbackComplete)
	live("b", "one-y", "two-y")
	size("arn:aws:test:::one-y+arn:aws:test:::two-y")

	out, err := n.client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("root")})
	n.must(err)
	_, err = n.client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("root")})
	n.must(err)
	if got := s.settled(*out.Stacks[0].StackId); got != types.StackStatusDeleteComplete {
		t.Errorf("root is %s", got)
	}
	live()
	if stacks := endpoint.Stacks(); stacks != nil {
		t.Errorf("stacks are left: %q", stacks)
	}
}
