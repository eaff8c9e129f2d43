package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
)

// victims kills a server after certain calls of an endpoint, before the endpoint answers.
type victims struct {
	// asking is locked while a client waits for the answer of the server, which is not killed meanwhile.
	asking sync.Mutex

	mu      sync.Mutex
	actions []string // one is removed with each kill
	server  *served
	killed  chan string
}

// during kills a server after the actions that come from a client's call.
func (v *victims) during(server *served, call func(), actions ...string) {
	v.asking.Lock()
	defer v.asking.Unlock()
	v.mu.Lock()
	v.server, v.actions = server, actions
	v.mu.Unlock()
	call()
}

// done is an [forwardtest.Endpoint.Done].
func (v *victims) done(action string) {
	v.mu.Lock()
	at := slices.Index(v.actions, action)
	if at >= 0 {
		v.actions = slices.Delete(v.actions, at, at+1)
	}
	v.mu.Unlock()
	if at >= 0 {
		v.asking.Lock()
		_ = v.server.cmd.Process.Kill()
		v.asking.Unlock()
		v.killed <- action
	}
}

// again starts the server again after n kills.
func (v *victims) again(t *testing.T, n int) {
	t.Helper()
	for range n {
		<-v.killed
		v.server.kill()
		v.server.start()
	}
}

// TestForwardSurvivesKill kills the server after calls of the endpoint whose answers it does not get. The endpoint's ledger shows that
// every resource was created once and deleted once.
func TestForwardSurvivesKill(t *testing.T) {
	endpoint := forwardtest.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRETKEY")
	v := &victims{killed: make(chan string, 8)}
	endpoint.Done, endpoint.Steps = v.done, 1
	v.server = serve(t, filepath.Join(t.TempDir(), "data"), "--forward", "AWS::Test::*="+endpoint.URL)
	name := aws.String("s")
	text := func(name, size string) string {
		return `{"Parameters": {"Secret": {"Type": "String", "NoEcho": true, "Default": "hunter2&more"}}, "Resources": {
			"A": {"Type": "AWS::Test::Thing", "Properties": {"Name": "` + name + `", "Size": "1"}},
			"B": {"Type": "AWS::Test::Thing", "Properties": {"Size": "` + size + `", "Of": {"Fn::GetAtt": ["A", "Arn"]}, "Password": {"Ref": "Secret"}}}},
			"Outputs": {"Of": {"Value": {"Fn::GetAtt": ["B", "Of"]}}, "Ref": {"Value": {"Ref": "A"}}}}`
	}
	want := func(status types.StackStatus, of string) {
		t.Helper()
		if got := v.server.settled("s"); got != status {
			t.Fatalf("status %s, want %s; log:\n%s", got, status, v.server.output())
		}
		out, err := v.server.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out.Stacks[0].Outputs {
			if *o.OutputKey == "Of" && *o.OutputValue != "arn:aws:test:::"+of || *o.OutputKey == "Ref" && *o.OutputValue != of {
				t.Errorf("output %s is %s, want that of %s", *o.OutputKey, *o.OutputValue, of)
			}
		}
	}

	v.during(v.server, func() { v.server.create("s", text("a", "1")) }, "CreateStack", "CreateStack")
	v.again(t, 2)
	want(types.StackStatusCreateComplete, "a")

	v.during(v.server, func() {
		_, err := v.server.client().UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: name, TemplateBody: aws.String(text("b", "2"))})
		if err != nil {
			t.Fatal(err)
		}
	}, "CreateChangeSet", "DeleteChangeSet", "UpdateStack", "CreateStack", "DeleteStack")
	v.again(t, 5)
	want(types.StackStatusUpdateComplete, "b")

	out, err := v.server.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
	if err != nil {
		t.Fatal(err)
	}
	v.during(v.server, func() {
		if _, err := v.server.client().DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: name}); err != nil {
			t.Fatal(err)
		}
	}, "DeleteStack", "DeleteStack")
	v.again(t, 2)
	if got := v.server.settled(*out.Stacks[0].StackId); got != types.StackStatusDeleteComplete {
		t.Errorf("status %s", got)
	}
	made := map[string]int{}
	for _, r := range endpoint.Ledger() {
		made[r.ID]++
		if !r.Deleted {
			t.Errorf("%s is left", r.ID)
		}
	}
	if len(made) != 3 || made["a"] != 1 || made["b"] != 1 {
		t.Errorf("created: %v", made)
	}
	if stacks := endpoint.Stacks(); stacks != nil {
		t.Errorf("stacks are left: %q", stacks)
	}
	for _, secret := range []string{"hunter2", "SECRETKEY"} {
		if strings.Contains(v.server.output(), secret) {
			t.Errorf("the log has a secret: %s", v.server.output())
		}
	}
}

// TestForwardProject deploys a project whose pintle.yaml forwards a type, and shows what is wrong with the endpoint.
func TestForwardProject(t *testing.T) {
	endpoint := forwardtest.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("pintle.yaml", "stack: s\nforward:\n  - {types: 'AWS::Test::*', endpoint: "+endpoint.URL+"}\n")
	write("template.yaml", "Resources:\n  A: {Type: AWS::Test::Thing, Properties: {Name: a, Size: 1}}\nOutputs: {Arn: {Value: !GetAtt A.Arn}}\n")
	got := pintleIn(t, dir, 0, "deploy")
	if !strings.Contains(got, "arn:aws:test:::a") {
		t.Errorf("deploy printed:\n%s", got)
	}
	write("template.yaml", "Resources:\n  A: {Type: AWS::Test::Thing, Properties: {Name: b, Size: 1}}\nOutputs: {Arn: {Value: !GetAtt A.Arn}}\n")
	got = pintleIn(t, dir, 0, "deploy", "--dry-run")
	if !strings.Contains(got, "must be replaced (a change of Name replaces it)") {
		t.Errorf("the dry run printed:\n%s", got)
	}
	if live := endpoint.Live(); !slices.Equal(live, []string{"a"}) {
		t.Errorf("the dry run left %q", live)
	}
	pintleIn(t, dir, 0, "deploy")
	write("template.yaml", "Resources:\n  A: {Type: AWS::Test::Thing, Properties: {Size: !Ref R}}\n  R: {Type: AWS::Else::Thing}\n")
	got = pintleIn(t, dir, 0, "deploy", "--unknown-types", "record")
	if !strings.Contains(got, "warning: A: it refers to R (AWS::Else::Thing), which exists only in Pintle and not at ") {
		t.Errorf("deploy printed:\n%s", got)
	}
	pintleIn(t, dir, 0, "delete")
	if live := endpoint.Live(); live != nil {
		t.Errorf("left are %q", live)
	}
	other := forwardtest.Start(t)
	other.Account = "999999999999"
	write("pintle.yaml", "stack: s\nforward:\n  - {types: 'AWS::Test::*', endpoint: "+other.URL+"}\n")
	got = pintleIn(t, dir, 1, "deploy")
	if !strings.Contains(got, `has account "999999999999", and stacks here have AWS::AccountId 000000000000: set aws_account_id in `) {
		t.Errorf("deploy printed:\n%s", got)
	}
}

// TestForwardDrift shows the drift of forwarded resources on the command line and in the API.
func TestForwardDrift(t *testing.T) {
	endpoint := forwardtest.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--forward", "AWS::Test::*="+endpoint.URL)
	text := `{"Resources": {"A": {"Type": "AWS::Test::Thing", "Properties": {"Name": "a", "Size": 1}}, "B": {"Type": "AWS::Test::Plain"}}}`
	s.create("s", text)
	if got := s.settled("s"); got != types.StackStatusCreateComplete {
		t.Fatalf("status %s; log:\n%s", got, s.output())
	}
	drift := func(code int) string {
		t.Helper()
		return pintleIn(t, t.TempDir(), code, "drift", "--data", s.dir, "--stack", "s", "--fail")
	}
	got := drift(0)
	for _, want := range []string{"stack s: IN_SYNC", "A         IN_SYNC", "B         NOT_CHECKED", "B: Forwarded to ", "does not support drift detection"} {
		if !strings.Contains(got, want) {
			t.Errorf("drift did not print %q:\n%s", want, got)
		}
	}
	endpoint.Change("a", "Size", 2)
	if got = drift(1); !strings.Contains(got, "NOT_EQUAL  /Size  1 -> 2") {
		t.Errorf("drift printed:\n%s", got)
	}
	name := aws.String("s")
	one, err := s.client().DetectStackResourceDrift(t.Context(), &cloudformation.DetectStackResourceDriftInput{StackName: name, LogicalResourceId: aws.String("B")})
	if err != nil || one.StackResourceDrift.StackResourceDriftStatus != types.StackResourceDriftStatusNotChecked ||
		!strings.Contains(aws.ToString(one.StackResourceDrift.DriftStatusReason), "does not support drift detection") {
		t.Errorf("detecting the drift of B: %+v, %v", one, err)
	}
	resources, err := s.client().DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: name})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]types.StackResourceDriftStatus{"A": types.StackResourceDriftStatusModified, "B": types.StackResourceDriftStatusNotChecked}
	for _, r := range resources.StackResources {
		if is := r.DriftInformation.StackResourceDriftStatus; is != want[*r.LogicalResourceId] {
			t.Errorf("%s is %s", *r.LogicalResourceId, is)
		}
	}
	_, err = s.client().CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: name, ChangeSetName: aws.String("c"), TemplateBody: aws.String(text), DeploymentMode: types.DeploymentModeRevertDrift,
	})
	if err == nil || !strings.Contains(err.Error(), "REVERT_DRIFT cannot revert the drift of [A (forwarded to ") {
		t.Errorf("reverting drift: %v", err)
	}
}

// TestForwardElsewhere deploys with --forward through a running server, whose own flag counts.
func TestForwardElsewhere(t *testing.T) {
	endpoint := forwardtest.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "template.yaml"), []byte("Resources:\n  A: {Type: AWS::Test::Thing, Properties: {Name: a}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := serve(t, filepath.Join(t.TempDir(), "data"), "--unknown-types", "record")
	for _, dry := range [][]string{nil, {"--dry-run"}} {
		got := pintleIn(t, dir, 1, append([]string{"deploy", "--stack", "s", "--template", "template.yaml", "--data", plain.dir, "--forward", "AWS::Test::*=" + endpoint.URL}, dry...)...)
		want := "error: the engine at " + plain.url + " does not forward AWS::Test::Thing of resource A to " + endpoint.URL
		if !strings.Contains(got, want) || !strings.Contains(got, "start it with the flag") {
			t.Errorf("deploy %q printed:\n%s", dry, got)
		}
	}
	other := serve(t, filepath.Join(t.TempDir(), "data"), "--forward", "AWS::Test::*="+endpoint.URL)
	got := pintleIn(t, dir, 0, "deploy", "--stack", "s", "--template", "template.yaml", "--data", other.dir, "--forward", "AWS::Test::Thing=http://127.0.0.1:1")
	if !strings.Contains(got, "warning: the engine at "+other.url+" forwards AWS::Test::Thing to "+endpoint.URL+" instead of http://127.0.0.1:1") {
		t.Errorf("deploy printed:\n%s", got)
	}
	if live := endpoint.Live(); !slices.Equal(live, []string{"a"}) {
		t.Errorf("the endpoint has %q", live)
	}
}

// pintleIn runs a command in a directory and returns its output.
func pintleIn(t *testing.T, dir string, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command("pintle", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("pintle %s: exit code %d, want %d (%v):\n%s", strings.Join(args, " "), got, code, err, out)
	}
	return string(out)
}

func TestForwardPolicy(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.yaml"), []byte("Resources:\n  Q: {Type: AWS::SQS::Queue}\n  M: {Type: AWS::StepFunctions::StateMachine}\n  T: {Type: AWS::SNS::Topic}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := pintleIn(t, dir, 0, "aws", "policy", "t.yaml", "-o", "yaml", "--forward", "AWS::SQS::*,AWS::StepFunctions::*=aws", "--forward", "AWS::SNS::*=http://127.0.0.1:1")
	for _, want := range []string{"cloudformation:CreateStack", "sts:GetCallerIdentity", "sqs:*", "states:*"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing:\n%s", want, got)
		}
	}
	if strings.Contains(got, "sns:") {
		t.Errorf("the policy has actions of another endpoint:\n%s", got)
	}
}
