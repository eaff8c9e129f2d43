package server_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// still returns a template that only has outputs.
func still(outputs string) string {
	return `{"Conditions": {"No": {"Fn::Equals": ["a", "b"]}}, "Resources": {"N": {"Type": "Custom::N", "Condition": "No",
		"Properties": {"ServiceToken": "arn:aws:sns:eu-west-1:111122223333:N"}}}, "Outputs": {` + outputs + `}}`
}

// TestAWSCLIExports drives an exporting and an importing stack with the unmodified AWS CLI.
func TestAWSCLIExports(t *testing.T) {
	tool := require.Tool(t, "aws")
	w := newClientWorld(t)
	environment := w.environment()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tool, append([]string{"cloudformation"}, args...)...)
		cmd.Env = append(environment, "AWS_DEFAULT_OUTPUT=text")
		out, _ := cmd.CombinedOutput() // it contains errors
		return strings.Join(strings.Fields(string(out)), " ")
	}
	expect := func(want string, args ...string) {
		t.Helper()
		if diff := cmp.Diff(want, run(args...)); diff != "" {
			t.Errorf("aws %s (-want +got):\n%s", strings.Join(args, " "), diff)
		}
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if got := run(args...); !strings.HasSuffix(got, want) {
			t.Errorf("aws %s: %s\nwant %s", strings.Join(args, " "), got, want)
		}
	}
	run("create-stack", "--stack-name", "net", "--template-body", still(`"Vpc": {"Value": "vpc-1", "Export": {"Name": "net:Vpc"}}`))
	refused("(ValidationError) when calling the ListImports operation: Export 'net:Vpc' is not imported by any stack.",
		"list-imports", "--export-name", "net:Vpc")
	run("create-stack", "--stack-name", "app", "--template-body", still(`"In": {"Value": {"Fn::ImportValue": {"Fn::Sub": "net:Vpc"}}}`))
	expect("vpc-1", "describe-stacks", "--stack-name", "app", "--query", "Stacks[0].Outputs[0].OutputValue")
	expect("net:Vpc vpc-1", "list-exports", "--query", "Exports[].[Name,Value]")
	expect("app", "list-imports", "--export-name", "net:Vpc", "--query", "Imports")
	expect("net:Vpc", "describe-stacks", "--stack-name", "net", "--query", "Stacks[0].Outputs[0].ExportName")
	refused("Delete canceled. Cannot delete export net:Vpc as it is in use by app.", "delete-stack", "--stack-name", "net")
	run("update-stack", "--stack-name", "net", "--template-body", still(`"Vpc": {"Value": "vpc-2", "Export": {"Name": "net:Vpc"}}`))
	expect("Export net:Vpc cannot be updated as it is in use by app. Rollback requested by user.", "describe-stack-events", "--stack-name", "net",
		"--query", "StackEvents[?ResourceStatus=='UPDATE_ROLLBACK_IN_PROGRESS'].ResourceStatusReason")
	run("create-stack", "--stack-name", "lost", "--template-body", still(`"In": {"Value": {"Fn::ImportValue": "nothing"}}`))
	expect("No export named nothing found. Rollback requested by user.", "describe-stack-events", "--stack-name", "lost",
		"--query", "StackEvents[?ResourceStatus=='ROLLBACK_IN_PROGRESS'].ResourceStatusReason")
	for _, name := range []string{"app", "lost", "net"} {
		run("delete-stack", "--stack-name", name)
	}
	expect("", "list-exports", "--query", "Exports[].Name")
}

const exportScript = `
import boto3, botocore.exceptions, sys
cfn = boto3.client("cloudformation")
net, app = sys.argv[1], sys.argv[2]
wait = {"Delay": 0.01, "MaxAttempts": 3000}
cfn.create_stack(StackName="net", TemplateBody=net)
cfn.get_waiter("stack_create_complete").wait(StackName="net", WaiterConfig=wait)
for n in range(101):
    cfn.create_stack(StackName="app-%03d" % n, TemplateBody=app)
names = [e["Name"] for page in cfn.get_paginator("list_exports").paginate() for e in page["Exports"]]
assert names == sorted("x%03d" % n for n in range(150)), names
users = [i for page in cfn.get_paginator("list_imports").paginate(ExportName="x007") for i in page["Imports"]]
assert users == ["app-%03d" % n for n in range(101)], users
try:
    cfn.delete_stack(StackName="net")
    sys.exit("what is in use was deleted")
except botocore.exceptions.ClientError as e:
    assert e.response["Error"]["Code"] == "ValidationError", e
    assert e.response["Error"]["Message"].startswith("Delete canceled. Cannot delete export x007 as it is in use by app-000, app-001"), e
planned = cfn.create_change_set(StackName="planned", ChangeSetName="first", ChangeSetType="CREATE", TemplateBody=app.replace("x007", "x777"))
cfn.get_waiter("change_set_create_complete").wait(ChangeSetName=planned["Id"], WaiterConfig=wait)
reason = cfn.describe_change_set(ChangeSetName=planned["Id"])["StatusReason"]
assert reason.startswith("[WARN] ") and "No export named x777 found" in reason, reason
`

// TestBoto3Exports pages through many exports of one stack, and many stacks that import one of them.
func TestBoto3Exports(t *testing.T) {
	python := require.Python(t, "boto3")
	w := newClientWorld(t)
	var outputs []string
	for n := range 150 {
		number := string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
		outputs = append(outputs, `"O`+number+`": {"Value": "v", "Export": {"Name": "x`+number+`"}}`)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", exportScript, still(strings.Join(outputs, ", ")),
		still(`"In": {"Value": {"Fn::ImportValue": "x007"}}`))
	cmd.Env = w.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
