package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	clientKey    = "AKIACLIENT"
	clientSecret = "0123456789abcdef0123456789"
)

// thing is a provider that does not depend on Pintle: an HTTP server that accepts a request, and later answers it at
// its response URL like the cfn-response module.
type thing struct {
	t        *testing.T
	url      string
	answered chan string // "TYPE STATUS" of every acknowledged answer
	wg       sync.WaitGroup
}

func newThing(t *testing.T) *thing {
	t.Helper()
	p := &thing{t: t, answered: make(chan string, 64)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.url = "http://" + listener.Addr().String() + "/thing"
	s := &http.Server{Handler: p}
	p.wg.Go(func() { _ = s.Serve(listener) })
	t.Cleanup(func() {
		s.Close()
		p.wg.Wait()
	})
	return p
}

func (p *thing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Error(err)
	}
	w.WriteHeader(http.StatusAccepted)
	p.wg.Go(func() { p.answer(body) })
}

func (p *thing) answer(event []byte) {
	var request struct {
		RequestType, ResponseURL, StackId, RequestId, LogicalResourceId, PhysicalResourceId string
		ResourceProperties                                                                  struct{ Name, Fail string }
	}
	if err := json.Unmarshal(event, &request); err != nil {
		p.t.Error(err)
		return
	}
	status, id := "SUCCESS", request.PhysicalResourceId
	if request.ResourceProperties.Fail == request.RequestType {
		status = "FAILED"
	}
	if id == "" {
		id = "2026/11/21/[$LATEST]log-stream"
	}
	document, err := json.Marshal(map[string]any{
		"Status": status, "Reason": "See the details in CloudWatch Log Stream: 2026/11/21/[$LATEST]log-stream",
		"PhysicalResourceId": id, "StackId": request.StackId, "RequestId": request.RequestId,
		"LogicalResourceId": request.LogicalResourceId, "NoEcho": false,
		"Data": map[string]string{"Greeting": "Hello, " + request.ResourceProperties.Name + "!"},
	})
	if err != nil {
		p.t.Error(err)
		return
	}
	put, err := http.NewRequest(http.MethodPut, request.ResponseURL, bytes.NewReader(document))
	if err != nil {
		p.t.Error(err)
		return
	}
	put.Header["Content-Type"] = []string{""}
	reply, err := http.DefaultClient.Do(put)
	if err != nil {
		p.t.Error(err)
		return
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		p.t.Errorf("the answer got %d", reply.StatusCode)
	}
	p.answered <- request.RequestType + " " + status
}

// wait waits until the provider has sent these answers.
func (p *thing) wait(want ...string) {
	p.t.Helper()
	for _, answer := range want {
		if got := <-p.answered; got != answer {
			p.t.Errorf("the provider answered %s, want %s", got, answer)
		}
	}
}

// newClientWorld returns a server that verifies signatures and delivers to providers at URLs.
func newClientWorld(t *testing.T) *world {
	t.Helper()
	keys, err := sigv4.Parse([]byte("[default]\naws_access_key_id = " + clientKey + "\naws_secret_access_key = " + clientSecret +
		"\naws_account_id = 111122223333\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(_ *world, c *server.Config) { c.Dev, c.Keys = false, keys.Lookup })
	d, err := delivery.New(delivery.Config{
		Table: w.store, Node: w.engine.Node, Report: func(ctx context.Context, id wire.RequestID, o delivery.Outcome) error {
			return w.engine.Report(ctx, id, reported(o))
		},
		ResponseURL: func(r store.Request) (string, error) {
			key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
			return w.signer.Sign(w.base, key, time.Now(), responseurl.SignOptions{})
		},
		WebhookSecret: []byte("correct horse battery staple"), AllowPrivate: true, Native: w.types,
	})
	w.must(err)
	w.mu.Lock()
	w.dispatch = d.Dispatch
	w.mu.Unlock()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() {
		stop()
		wg.Wait()
	})
	return w
}

// reported converts outcomes of delivery for the engine, as the program does.
func reported(o delivery.Outcome) engine.Outcome {
	switch o := o.(type) {
	case delivery.Accepted:
		return engine.Outcome{Kind: engine.Accepted, Local: o.Local}
	case delivery.Answered:
		return engine.Outcome{Kind: engine.Answered, Body: o.Body, Delivered: true}
	case delivery.Refused:
		return engine.Outcome{Kind: engine.Refused, Text: o.Text, Delivered: o.Delivered}
	case delivery.Provided:
		return engine.Outcome{Kind: engine.Provided, Result: o.Result, Text: o.Failure, Delivered: true}
	case delivery.Awaiting:
		return engine.Outcome{Kind: engine.Awaiting, Result: o.Result, Delivered: true}
	case delivery.Died:
		return engine.Outcome{Kind: engine.Died, Text: o.Text, Log: o.Log, Delivered: o.Delivered}
	}
	panic(fmt.Sprintf("outcome %T", o))
}

// greeting returns a template in YAML, with short forms.
func greeting(token string) string {
	return `AWSTemplateFormatVersion: "2010-09-09"
Description: says hello
Parameters:
  Name:
    Type: String
    Default: World
  Fail:
    Type: String
    Default: never
Resources:
  Hello:
    Type: Custom::Hello
    Properties:
      ServiceToken: ` + token + `
      Name: !Ref Name
      Fail: !Ref Fail
Outputs:
  Greeting:
    Value: !GetAtt Hello.Greeting
`
}

// environment returns an environment in which a client uses only the test's server and key, and no file, proxy or
// service of the machine.
func (w *world) environment() []string {
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	nowhere := filepath.Join(w.t.TempDir(), "none")
	return append(own, "AWS_ACCESS_KEY_ID="+clientKey, "AWS_SECRET_ACCESS_KEY="+clientSecret, "AWS_DEFAULT_REGION="+region,
		"AWS_ENDPOINT_URL="+w.url, "AWS_CONFIG_FILE="+nowhere, "AWS_SHARED_CREDENTIALS_FILE="+nowhere,
		"AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=", "AWS_MAX_ATTEMPTS=1", "NO_PROXY=*", "no_proxy=*")
}

// TestAWSCLI drives a stack with the unmodified AWS CLI.
func TestAWSCLI(t *testing.T) {
	tool := require.Tool(t, "aws")
	w := newClientWorld(t)
	p := newThing(t)
	file := filepath.Join(t.TempDir(), "hello.yaml")
	w.must(os.WriteFile(file, []byte(greeting(p.url)), 0o600))
	environment := w.environment()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tool, args...)
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("aws %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	expect := func(want string, args ...string) {
		t.Helper()
		if diff := cmp.Diff(want, strings.Join(strings.Fields(run(append(args, "--output", "text")...)), " ")); diff != "" {
			t.Errorf("aws %s (-want +got):\n%s", strings.Join(args, " "), diff)
		}
	}
	const cfn = "cloudformation"

	expect("111122223333 arn:aws:iam::111122223333:root 111122223333", "sts", "get-caller-identity", "--query", "[Account,Arn,UserId]")
	expect("says hello Fail Name", cfn, "validate-template", "--template-body", "file://"+file,
		"--query", "[Description,sort(Parameters[].ParameterKey)]")
	run(cfn, "create-stack", "--stack-name", "hello", "--template-body", "file://"+file, "--tags", "Key=team,Value=web",
		"--capabilities", "CAPABILITY_IAM")
	p.wait("Create SUCCESS") // then the CLI's waiter, which checks twice a minute, succeeds at once
	run(cfn, "wait", "stack-create-complete", "--stack-name", "hello")
	expect("CREATE_COMPLETE Hello, World! team web", cfn, "describe-stacks", "--stack-name", "hello",
		"--query", "Stacks[0].[StackStatus,Outputs[0].OutputValue,Tags[0].Key,Tags[0].Value]")
	expect("CREATE_COMPLETE CREATE_COMPLETE CREATE_IN_PROGRESS CREATE_IN_PROGRESS CREATE_IN_PROGRESS", cfn,
		"describe-stack-events", "--stack-name", "hello", "--query", "StackEvents[].ResourceStatus")

	run(cfn, "update-stack", "--stack-name", "hello", "--use-previous-template", "--parameters",
		"ParameterKey=Name,ParameterValue=Pintle", "ParameterKey=Fail,UsePreviousValue=true")
	p.wait("Update SUCCESS")
	run(cfn, "wait", "stack-update-complete", "--stack-name", "hello")
	expect("UPDATE_COMPLETE Hello, Pintle!", cfn, "describe-stacks", "--stack-name", "hello",
		"--query", "Stacks[0].[StackStatus,Outputs[0].OutputValue]")
	expect("hello UPDATE_COMPLETE", cfn, "list-stacks", "--query", "StackSummaries[].[StackName,StackStatus]")
	if got := run(cfn, "get-template", "--stack-name", "hello", "--query", "TemplateBody", "--output", "text"); got != strings.TrimSpace(greeting(p.url)) {
		t.Errorf("template:\n%s", got)
	}

	expect("STACK_EVENT UPDATE_STACK SUCCEEDED", cfn, "describe-events", "--stack-name", "hello",
		"--query", "OperationEvents[0].[EventType,OperationType,OperationStatus]")
	expect("Custom::Hello", cfn, "get-template-summary", "--template-body", "file://"+file, "--query", "ResourceTypes")

	run(cfn, "delete-stack", "--stack-name", "hello")
	p.wait("Delete SUCCESS")
	run(cfn, "wait", "stack-delete-complete", "--stack-name", "hello")
	cmd := exec.CommandContext(t.Context(), tool, cfn, "describe-stacks", "--stack-name", "hello")
	cmd.Env = environment
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out),
		"An error occurred (ValidationError) when calling the DescribeStacks operation: Stack with id hello does not exist") {
		t.Errorf("a deleted stack: %v %s", err, out)
	}
}

// TestAWSDeploy runs aws cloudformation deploy, which uses change sets: create, update, and no change.
func TestAWSDeploy(t *testing.T) {
	tool := require.Tool(t, "aws")
	w := newClientWorld(t)
	p := newThing(t)
	file := filepath.Join(t.TempDir(), "hello.yaml")
	w.must(os.WriteFile(file, []byte(greeting(p.url)), 0o600))
	environment := w.environment()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tool, append([]string{"cloudformation"}, args...)...)
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("aws cloudformation %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	var last time.Time // the CLI names its change sets by the second
	deploy := func(want string, more ...string) {
		t.Helper()
		<-time.After(time.Until(last.Truncate(time.Second).Add(time.Second)))
		defer func() { last = time.Now() }()
		if out := run(append([]string{"deploy", "--stack-name", "hello", "--template-file", file}, more...)...); !strings.Contains(out, want) {
			t.Errorf("aws cloudformation deploy %s: %s", strings.Join(more, " "), out)
		}
	}
	shows := func(want string) {
		t.Helper()
		out := run("describe-stacks", "--stack-name", "hello", "--output", "text", "--query",
			"Stacks[0].[StackStatus,Outputs[0].OutputValue,contains(ChangeSetId,'awscli-cloudformation-package-deploy')]")
		if diff := cmp.Diff(want, strings.Join(strings.Fields(out), " ")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	deploy("Successfully created/updated stack - hello", "--tags", "team=web")
	shows("CREATE_COMPLETE Hello, World! True")
	deploy("Successfully created/updated stack - hello", "--parameter-overrides", "Name=Pintle", "--disable-rollback")
	shows("UPDATE_COMPLETE Hello, Pintle! True")
	deploy("No changes to deploy. Stack hello is up to date", "--no-fail-on-empty-changeset")
	deploy("aws cloudformation describe-change-set --change-set-name arn:aws:cloudformation:", "--parameter-overrides", "Name=Nobody", "--no-execute-changeset")
	out := run("list-change-sets", "--stack-name", "hello", "--output", "text", "--query", "Summaries[].[Status,ExecutionStatus]")
	if diff := cmp.Diff("FAILED UNAVAILABLE CREATE_COMPLETE AVAILABLE", strings.Join(strings.Fields(out), " ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.wait("Create SUCCESS", "Update SUCCESS")
}

const botoScript = `
import boto3, botocore.exceptions, sys
cfn, wait = boto3.client("cloudformation"), {"Delay": 1, "MaxAttempts": 60}
body = open(sys.argv[1]).read()

assert boto3.client("sts").get_caller_identity()["Account"] == "111122223333"
assert [p["ParameterKey"] for p in cfn.validate_template(TemplateBody=body)["Parameters"]] == ["Name", "Fail"]
stack = cfn.create_stack(StackName="hello", TemplateBody=body, Tags=[], NotificationARNs=[], ClientRequestToken="one")["StackId"]
cfn.get_waiter("stack_create_complete").wait(StackName="hello", WaiterConfig=wait)
shown = cfn.describe_stacks(StackName=stack)["Stacks"][0]
assert shown["Outputs"] == [{"OutputKey": "Greeting", "OutputValue": "Hello, World!"}], shown
assert shown["NotificationARNs"] == [] and shown["Tags"] == [] and shown["RollbackConfiguration"] == {}, shown
assert shown["CreationTime"].tzinfo is not None, shown
events = cfn.describe_stack_events(StackName="hello")["StackEvents"]
assert [e["PhysicalResourceId"] for e in events if e["LogicalResourceId"] == "Hello"][-1] == "", events
assert {e["ClientRequestToken"] for e in events} == {"one"}, events

name = lambda v, fail: [{"ParameterKey": "Name", "ParameterValue": v}, {"ParameterKey": "Fail", "ParameterValue": fail}]
cfn.update_stack(StackName="hello", UsePreviousTemplate=True, Parameters=name("Pintle", "never"))
cfn.get_waiter("stack_update_complete").wait(StackName="hello", WaiterConfig=wait)
assert cfn.get_template(StackName="hello")["TemplateBody"] == body
assert [s["StackStatus"] for s in cfn.list_stacks()["StackSummaries"]] == ["UPDATE_COMPLETE"]
try:
    cfn.update_stack(StackName="hello", UsePreviousTemplate=True, Parameters=name("Pintle", "never"))
    sys.exit("an update without a change was taken")
except botocore.exceptions.ClientError as e:
    assert e.response["Error"]["Code"] == "ValidationError", e
    assert e.response["Error"]["Message"] == "No updates are to be performed.", e

cfn.update_stack(StackName="hello", UsePreviousTemplate=True, Parameters=name("Nobody", "Update"))
cfn.get_waiter("stack_rollback_complete").wait(StackName="hello", WaiterConfig=wait)
reasons = [e["ResourceStatusReason"] for e in cfn.describe_stack_events(StackName="hello")["StackEvents"] if e["ResourceStatus"] == "UPDATE_FAILED"]
assert len(reasons) == 1 and reasons[0].startswith("Received response status [FAILED] from custom resource. Message returned: See the details"), reasons
assert cfn.describe_stacks(StackName="hello")["Stacks"][0]["Outputs"][0]["OutputValue"] == "Hello, Pintle!"
last = cfn.describe_stacks(StackName="hello")["Stacks"][0]["LastOperations"]
assert [o["OperationType"] for o in last] == ["ROLLBACK", "UPDATE_STACK"], last
events = cfn.describe_events(OperationId=last[1]["OperationId"], Filters={"FailedEvents": True})["OperationEvents"]
assert [(e.get("OperationStatus"), e["EventType"]) for e in events] == [("FAILED", "STACK_EVENT"), (None, "PROVISIONING_ERROR")], events
assert events[1]["ResourceStatusReason"] == reasons[0] and "EndTime" in events[0], events
summary = cfn.get_template_summary(StackName="hello")
assert [p["ParameterConstraints"] for p in summary["Parameters"]] == [{}, {}] and summary["ResourceTypes"] == ["Custom::Hello"], summary
drift = cfn.detect_stack_drift(StackName="hello")["StackDriftDetectionId"]
drift = cfn.describe_stack_drift_detection_status(StackDriftDetectionId=drift)
assert (drift["DetectionStatus"], drift["StackDriftStatus"]) == ("DETECTION_COMPLETE", "NOT_CHECKED"), drift
assert cfn.describe_stack_resource_drifts(StackName="hello")["StackResourceDrifts"] == [], "drifts"
assert cfn.list_exports()["Exports"] == [] and len(cfn.describe_account_limits()["AccountLimits"]) == 3

cfn.create_stack(StackName="sorry", TemplateBody=body, Parameters=name("x", "Create"))
try:
    cfn.get_waiter("stack_create_complete").wait(StackName="sorry", WaiterConfig=wait)
    sys.exit("a failed create passes for a complete one")
except botocore.exceptions.WaiterError as e:
    assert e.last_response["Stacks"][0]["StackStatus"].startswith("ROLLBACK_"), e.last_response

planned = cfn.create_change_set(StackName="planned", ChangeSetName="first", ChangeSetType="CREATE", TemplateBody=body, ClientToken="t")
cfn.get_waiter("change_set_create_complete").wait(ChangeSetName=planned["Id"], WaiterConfig=wait)
described = cfn.describe_change_set(ChangeSetName="first", StackName="planned", IncludePropertyValues=True)
assert [c["ResourceChange"]["Action"] for c in described["Changes"]] == ["Add"], described
assert described["Capabilities"] == [] and described["NotificationARNs"] == [] and described["RollbackConfiguration"] == {}, described
assert cfn.describe_stacks(StackName="planned")["Stacks"][0]["StackStatus"] == "REVIEW_IN_PROGRESS"
cfn.execute_change_set(ChangeSetName="first", StackName="planned")
cfn.get_waiter("stack_create_complete").wait(StackName="planned", WaiterConfig=wait)
assert cfn.describe_stacks(StackName="planned")["Stacks"][0]["ChangeSetId"] == planned["Id"]
same = cfn.create_change_set(StackName="planned", ChangeSetName="same", UsePreviousTemplate=True)
try:
    cfn.get_waiter("change_set_create_complete").wait(ChangeSetName=same["Id"], WaiterConfig=wait)
    sys.exit("a change set without changes passes for one")
except botocore.exceptions.WaiterError as e:
    assert e.last_response["StatusReason"].startswith("The submitted information didn't contain changes."), e.last_response
try:
    cfn.execute_change_set(ChangeSetName=same["Id"])
    sys.exit("a change set without changes was executed")
except cfn.exceptions.InvalidChangeSetStatusException:
    pass
cfn.delete_change_set(ChangeSetName=same["Id"])
try:
    cfn.describe_change_set(ChangeSetName=same["Id"])
    sys.exit("a change set outlives its deletion")
except cfn.exceptions.ChangeSetNotFoundException as e:
    assert e.response["ResponseMetadata"]["HTTPStatusCode"] == 404, e.response

for s in "hello", "sorry", "planned":
    cfn.delete_stack(StackName=s)
    cfn.get_waiter("stack_delete_complete").wait(StackName=s, WaiterConfig=wait)
assert cfn.describe_stacks()["Stacks"] == []
assert cfn.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"] == "DELETE_COMPLETE"
`

// TestBoto3 does the same with boto3, including failures and waiters.
func TestBoto3(t *testing.T) {
	python := require.Python(t, "boto3")
	w := newClientWorld(t)
	p := newThing(t)
	file := filepath.Join(t.TempDir(), "hello.yaml")
	w.must(os.WriteFile(file, []byte(greeting(p.url)), 0o600))
	cmd := exec.CommandContext(t.Context(), python, "-c", botoScript, file)
	cmd.Env = w.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(w.log.String(), clientSecret) {
		t.Error("the secret is in the log")
	}
}
