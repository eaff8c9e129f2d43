package main

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
)

// TestForwardTwoNodes kills one of two nodes on the same database after a call of the endpoint whose answer it does
// not get. The other node continues with the stack at the endpoint. The ledger shows that every resource was created
// once and deleted once.
func TestForwardTwoNodes(t *testing.T) {
	t.Parallel()
	endpoint := forwardtest.Start(t)
	v := &victims{killed: make(chan string, 8)}
	endpoint.Done, endpoint.Steps = v.done, 1
	c := newClusterIn(t, []string{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET"}, 2, "--forward", "AWS::Test::*="+endpoint.URL)
	name := aws.String("s")
	text := func(name, size string) *string {
		return aws.String(`{"Resources": {
			"A": {"Type": "AWS::Test::Thing", "Properties": {"Name": "` + name + `", "Size": "1"}},
			"B": {"Type": "AWS::Test::Thing", "Properties": {"Size": "` + size + `", "Of": {"Fn::GetAtt": ["A", "Arn"]}}}}}`)
	}
	update := func(node int, name, size string) func() {
		return func() {
			if _, err := c.nodes[node].client().UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
				StackName: aws.String("s"), TemplateBody: text(name, size),
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	v.during(c.nodes[0], func() { c.nodes[0].create("s", *text("a", "1")) }, "CreateStack")
	v.survives(c, 0, types.StackStatusCreateComplete)
	v.during(c.nodes[1], update(1, "b", "2"), "CreateStack") // replaces A
	v.survives(c, 1, types.StackStatusUpdateComplete)

	out, err := c.nodes[0].client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.nodes[0].client().DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: name}); err != nil {
		t.Fatal(err)
	}
	c.ends(0, *out.Stacks[0].StackId, types.StackStatusDeleteComplete)

	var made []string
	for _, r := range endpoint.Ledger() {
		made = append(made, r.ID)
		if !r.Deleted {
			t.Errorf("%s is left", r.ID)
		}
	}
	slices.Sort(made)
	if len(made) != 3 || made[0] != "a" || made[1] != "b" {
		t.Errorf("created: %q", made)
	}
	if stacks := endpoint.Stacks(); stacks != nil {
		t.Errorf("stacks are left: %q", stacks)
	}
}

// survives waits until a node of a cluster is killed and the other one has finished the operation of stack s, and starts the killed node
// again.
func (v *victims) survives(c *cluster, node int, want types.StackStatus) {
	c.t.Helper()
	<-v.killed
	c.nodes[node].kill()
	c.ends(1-node, "s", want)
	c.nodes[node].start()
}
