package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
	"github.com/pintle-dev/pintle/internal/dev/ministacktest"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// imports makes a change set of type IMPORT with things, each as LOGICAL=NAME, and executes it.
func (s *served) imports(stack, text string, things ...string) {
	s.t.Helper()
	var list []types.ResourceToImport
	for _, of := range things {
		logical, name, _ := strings.Cut(of, "=")
		list = append(list, types.ResourceToImport{
			ResourceType: aws.String("AWS::Test::Thing"), LogicalResourceId: &logical, ResourceIdentifier: map[string]string{"Name": name},
		})
	}
	set, err := s.client().CreateChangeSet(s.t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: aws.String("in"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: &text, ResourcesToImport: list,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.client().ExecuteChangeSet(s.t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.Id}); err != nil {
		s.t.Fatal(err)
	}
}

const (
	importedThing = `{"Resources": {"A": {"Type": "AWS::Test::Thing", "DeletionPolicy": "Delete", "Properties": {"Name": "a"}}`
	refusedThings = importedThing + `, "B": {"Type": "AWS::Test::Thing", "DeletionPolicy": "Delete", "Properties": {"Name": "b"}},
		"C": {"Type": "AWS::Test::Thing", "DeletionPolicy": "Delete", "DependsOn": "B", "Properties": {"Name": "c", "Refuse": "cannot be read"}}}}`
	importedThings = importedThing + `}}`
)

// wantImported fails the test unless the endpoint has the resources that existed before, and only one stack.
func wantImported(t *testing.T, endpoint *forwardtest.Endpoint) {
	t.Helper()
	if live := endpoint.Live(); !slices.Equal(live, []string{"a", "b", "c"}) || len(endpoint.Ledger()) != 3 {
		t.Errorf("the endpoint has %q of %+v", live, endpoint.Ledger())
	}
	if stacks := endpoint.Stacks(); len(stacks) != 1 || !strings.HasPrefix(stacks[0], "s-A-") {
		t.Errorf("the endpoint has the stacks %q", stacks)
	}
}

// TestForwardImportSurvivesKill kills the server after calls of an import whose answers it does not get. Each resource is
// imported once, and one whose import is rolled back stays.
func TestForwardImportSurvivesKill(t *testing.T) {
	endpoint := forwardtest.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRETKEY")
	for _, name := range []string{"a", "b", "c"} {
		endpoint.Exist(name)
	}
	v := &victims{killed: make(chan string, 8)}
	endpoint.Done, endpoint.Steps = v.done, 1
	v.server = serve(t, filepath.Join(t.TempDir(), "data"), "--forward", "AWS::Test::*="+endpoint.URL)

	v.during(v.server, func() { v.server.imports("s", importedThings, "A=a") }, "CreateStack", "CreateChangeSet", "ExecuteChangeSet", "UpdateStack")
	v.again(t, 4)
	if got := v.server.settled("s"); got != types.StackStatusImportComplete {
		t.Fatalf("status %s; log:\n%s", got, v.server.output())
	}
	wantImported(t, endpoint)

	// B is imported before C, which cannot be. Both stacks are deleted.
	v.during(v.server, func() { v.server.imports("s", refusedThings, "B=b", "C=c") }, "ExecuteChangeSet", "DeleteStack", "DeleteStack")
	v.again(t, 3)
	if got := v.server.settled("s"); got != types.StackStatusImportRollbackComplete {
		t.Fatalf("status %s; log:\n%s", got, v.server.output())
	}
	v.server.until("no stack of a failed import is left", func() bool { return len(endpoint.Stacks()) == 1 })
	wantImported(t, endpoint)

	// The endpoint reports the identifiers of its types, so that one text identifies the resource.
	dir := t.TempDir()
	text := `{"Resources": {"B": {"Type": "AWS::Test::Thing", "DeletionPolicy": "Retain", "Properties": {"Name": "b"}}}}`
	if err := os.WriteFile(filepath.Join(dir, "template.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	pintleIn(t, dir, 0, "import", "--stack", "p", "--template", "template.json", "--data", v.server.dir, "B", "b")
	if got := v.server.settled("p"); got != types.StackStatusImportComplete {
		t.Errorf("status %s; log:\n%s", got, v.server.output())
	}
}

// TestForwardImportTwoNodes is the same on a database of two nodes. The other node continues.
func TestForwardImportTwoNodes(t *testing.T) {
	t.Parallel()
	endpoint := forwardtest.Start(t)
	for _, name := range []string{"a", "b", "c"} {
		endpoint.Exist(name)
	}
	v := &victims{killed: make(chan string, 8)}
	endpoint.Done, endpoint.Steps = v.done, 1
	c := newClusterIn(t, []string{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET"}, 2, "--forward", "AWS::Test::*="+endpoint.URL)
	v.during(c.nodes[0], func() { c.nodes[0].imports("s", importedThings, "A=a") }, "ExecuteChangeSet")
	v.survives(c, 0, types.StackStatusImportComplete)
	wantImported(t, endpoint)
	v.during(c.nodes[1], func() { c.nodes[1].imports("s", refusedThings, "B=b", "C=c") }, "ExecuteChangeSet")
	v.survives(c, 1, types.StackStatusImportRollbackComplete)
	c.nodes[0].until("no stack of a failed import is left", func() bool { return len(endpoint.Stacks()) == 1 })
	wantImported(t, endpoint)
}

// TestForwardImport imports a queue at ministack with the AWS CLI, changes it, and fails to import another one.
func TestForwardImport(t *testing.T) {
	t.Parallel()
	require.Tool(t, "aws")
	endpoint := ministacktest.New(t)
	s := beginIn(t, []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"}, filepath.Join(t.TempDir(), "data"), "--forward", "AWS::SQS::*="+endpoint)
	s.ready()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_DEFAULT_REGION=us-east-1", "AWS_CONFIG_FILE="+os.DevNull,
			"AWS_PAGER=", "AWS_DEFAULT_OUTPUT=text")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	cli := func(at string, args ...string) string {
		t.Helper()
		return run(append([]string{"aws", "--endpoint-url", at}, args...)...)
	}
	execute := func(stack string) {
		t.Helper()
		of := []string{"--stack-name", stack, "--change-set-name", "in"}
		cli(s.url, append([]string{"cloudformation", "wait", "change-set-create-complete"}, of...)...)
		if got := cli(s.url, append([]string{"cloudformation", "describe-change-set", "--query", "Changes[].ResourceChange.Action"}, of...)...); !strings.HasPrefix(got, "Import") {
			t.Errorf("the change set has the changes %s", got)
		}
		cli(s.url, append([]string{"cloudformation", "execute-change-set"}, of...)...)
		s.settled(stack)
	}
	queue := cli(endpoint, "sqs", "create-queue", "--queue-name", "orders", "--query", "QueueUrl")
	other := cli(endpoint, "sqs", "create-queue", "--queue-name", "other", "--query", "QueueUrl")
	const orders = `"Orders": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Delete", "Properties": {"QueueName": "orders", "VisibilityTimeout": `
	if err := os.WriteFile(filepath.Join(dir, "template.yaml"), []byte(`{"Resources": {`+orders+`30}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "forward.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begin, url = "aws cloudformation create-change-set", "http://127.0.0.1:4566/000000000000/orders"
	_, command, _ := strings.Cut(string(page), "```sh\n"+begin)
	command, _, closed := strings.Cut(command, "```")
	if !closed || !strings.Contains(command, url) {
		t.Fatal("docs/forward.md has no command that imports")
	}
	run("sh", "-c", begin+" --endpoint-url "+s.url+strings.ReplaceAll(command, url, queue))
	execute("shop")
	if got := cli(s.url, "cloudformation", "describe-stacks", "--stack-name", "shop", "--query", "Stacks[0].StackStatus"); got != "IMPORT_COMPLETE" {
		t.Fatalf("status %s; log:\n%s", got, s.output())
	}
	cli(s.url, "cloudformation", "create-change-set", "--stack-name", "bad", "--change-set-name", "in", "--change-set-type", "IMPORT", "--template-body",
		`{"Resources": {"Other": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Delete", "Properties": {"QueueName": "other"}},
		"Gone": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Delete", "DependsOn": "Other", "Properties": {"QueueName": "gone"}}}}`,
		"--resources-to-import", "ResourceType=AWS::SQS::Queue,LogicalResourceId=Other,ResourceIdentifier={QueueUrl="+other+"}",
		"ResourceType=AWS::SQS::Queue,LogicalResourceId=Gone,ResourceIdentifier={QueueUrl="+other+"-gone}")
	execute("bad")
	events := cli(s.url, "cloudformation", "describe-stack-events", "--stack-name", "bad", "--query", "StackEvents[].[LogicalResourceId, ResourceStatus, ResourceStatusReason]")
	if want := "Gone\tIMPORT_FAILED\t"; !strings.Contains(events, want) || !strings.Contains(events, "was not found") {
		t.Errorf("the events are\n%s", events)
	}
	cli(endpoint, "sqs", "get-queue-attributes", "--queue-url", other)

	cli(s.url, "cloudformation", "update-stack", "--stack-name", "shop", "--template-body",
		`{"Resources": {`+orders+`44}}}, "Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["Orders", "Arn"]}}}}`)
	cli(s.url, "cloudformation", "wait", "stack-update-complete", "--stack-name", "shop")
	if got := cli(s.url, "cloudformation", "describe-stacks", "--stack-name", "shop", "--query", "Stacks[0].Outputs[0].OutputValue"); got != "arn:aws:sqs:us-east-1:000000000000:orders" {
		t.Errorf("output %s", got)
	}
	if got := cli(endpoint, "sqs", "get-queue-attributes", "--queue-url", queue, "--attribute-names", "VisibilityTimeout", "--query", "Attributes.VisibilityTimeout"); got != "44" {
		t.Errorf("VisibilityTimeout is %s", got)
	}
	s.until("only the imported queue has a stack at ministack", func() bool {
		names := strings.Fields(cli(endpoint, "cloudformation", "describe-stacks", "--query", "Stacks[].StackName"))
		return len(names) == 1 && strings.HasPrefix(names[0], "shop-Orders-")
	})
	cli(s.url, "cloudformation", "delete-stack", "--stack-name", "shop")
	s.until("the queue is deleted with its stack", func() bool {
		queues := cli(endpoint, "sqs", "list-queues", "--query", "QueueUrls")
		return strings.HasSuffix(queues, "/other") && !strings.Contains(queues, "orders")
	})
}
