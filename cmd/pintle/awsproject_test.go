package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// readyMethod makes the provider of a new project one that waits: an operation is done when it is asked for the second time, and
// fails if the text says so.
const readyMethod = `
func (p provider) Poll(_ context.Context, r *pintle.PollRequest[Properties]) (pintle.Progress[Attributes], error) {
	if r.Type != pintle.Delete && r.Properties.Text == "broken" && r.Try > 1 {
		return pintle.Progress[Attributes]{}, errors.New("the text is broken")
	}
	return pintle.Progress[Attributes]{Done: r.Try > 1, After: time.Second}, nil
}
`

// awsProject runs the AWS CLI against a server, in the directory of a project.
type awsProject struct {
	*testing.T
	server *served
	dir    string
	env    []string
}

// aws runs the AWS CLI and returns its output, including standard error. It must exit with the given code.
func (p *awsProject) aws(code int, args ...string) string {
	p.Helper()
	command := exec.CommandContext(p.Context(), "aws", args...)
	command.Dir, command.Env = p.dir, p.env
	out, err := command.CombinedOutput()
	if command.ProcessState == nil || command.ProcessState.ExitCode() != code {
		p.Fatalf("aws %s: %v\n%s\n%s", strings.Join(args, " "), err, out, p.server.output())
	}
	return strings.TrimSpace(string(out))
}

// TestNewForAWS deploys the output of pintle new --aws, unmodified, with the AWS CLI: build.sh builds the zip file, the template makes the
// function and, with Wait=true, its state machine. A stack that uses it is created, updated, rolled back and deleted, and each operation
// waits in an execution of that machine.
func TestNewForAWS(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	require.Tool(t, "aws")
	require.Tool(t, "zip")
	clone, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	run := func(dir string, env []string, name string, args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir, command.Env = dir, append(os.Environ(), env...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	run(filepath.Dir(dir), nil, "pintle", "new", "site", "--aws", "--pintle", clone)
	source := filepath.Join(dir, "main.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	code := strings.Replace(string(text), "\t\"context\"\n", "\t\"context\"\n\t\"errors\"\n\t\"time\"\n", 1) + readyMethod
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" || architecture == "" {
		t.Skip("build.sh builds for Linux on amd64 and arm64, and the server runs what it builds")
	}
	run(dir, []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off"}, "sh", "build.sh", runtime.GOARCH)

	p := &awsProject{T: t, server: serve(t, t.TempDir()), dir: dir}
	p.env = append(os.Environ(), "AWS_ENDPOINT_URL="+p.server.url, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_SESSION_TOKEN=",
		"AWS_DEFAULT_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=*", "AWS_PAGER=", "AWS_CLI_AUTO_PROMPT=off",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	p.aws(0, "s3", "mb", "s3://code")
	p.aws(0, "s3", "cp", "provider.zip", "s3://code/provider.zip")
	p.aws(0, "cloudformation", "deploy", "--stack-name", "site-provider", "--template-file", "aws.yaml", "--capabilities", "CAPABILITY_IAM",
		"--parameter-overrides", "Bucket=code", "Key=provider.zip", "Architecture="+architecture, "Wait=true")
	token := p.output("site-provider", "ServiceToken")

	template := fmt.Sprintf(`Parameters: {Text: {Type: String}}
Resources:
  Site:
    Type: Custom::Site
    Properties: {ServiceToken: %q, Name: %q, Text: !Ref Text}
Outputs: {Path: {Value: !GetAtt Site.Path}}
`, token, strings.ReplaceAll(filepath.Base(filepath.Dir(dir)), "_", "-")+fmt.Sprint("-", os.Getpid()))
	if err := os.WriteFile(filepath.Join(dir, "use.yaml"), []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	deploy := func(command, text, want string) {
		t.Helper()
		id := p.aws(0, "cloudformation", command, "--stack-name", "site", "--template-body", "file://use.yaml",
			"--parameters", "ParameterKey=Text,ParameterValue="+text, "--query", "StackId", "--output", "text")
		p.rests(id, want)
	}
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(p.output("site", "Path"))
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("the site is %q, want %q: %v", got, want, err)
		}
	}
	deploy("create-stack", "broken", "ROLLBACK_COMPLETE")
	p.delete("site")
	deploy("create-stack", "one", "CREATE_COMPLETE")
	holds("one")
	deploy("update-stack", "two", "UPDATE_COMPLETE")
	holds("two")
	deploy("update-stack", "broken", "UPDATE_ROLLBACK_COMPLETE")
	holds("two")
	machine := p.aws(0, "stepfunctions", "list-state-machines", "--query", "stateMachines[0].stateMachineArn", "--output", "text")
	executions := strings.Fields(p.aws(0, "stepfunctions", "list-executions", "--state-machine-arn", machine, "--status-filter", "SUCCEEDED",
		"--query", "executions[].executionArn", "--output", "text"))
	if len(executions) < 4 { // of the creates, the updates and the rollbacks
		t.Errorf("%d executions succeeded: %v", len(executions), executions)
	}
	if history := p.aws(0, "stepfunctions", "get-execution-history", "--execution-arn", executions[0], "--query", "events[].type", "--output", "text"); !strings.Contains(history, "WaitStateExited") {
		t.Errorf("the execution did not wait: %s", history)
	}
	path := p.output("site", "Path")
	p.delete("site")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", path, err)
	}
	p.delete("site-provider")
}

func (p *awsProject) output(stack, name string) string {
	p.Helper()
	return p.aws(0, "cloudformation", "describe-stacks", "--stack-name", stack, "--output", "text",
		"--query", "Stacks[0].Outputs[?OutputKey=='"+name+"'].OutputValue")
}

// delete deletes a stack and waits until it is deleted.
func (p *awsProject) delete(stack string) {
	p.Helper()
	id := p.aws(0, "cloudformation", "describe-stacks", "--stack-name", stack, "--query", "Stacks[0].StackId", "--output", "text")
	p.aws(0, "cloudformation", "delete-stack", "--stack-name", stack)
	p.rests(id, "DELETE_COMPLETE")
}

// rests waits until a stack is idle, and checks its status. The CLI's own waiters look every 30 s; DescribeStacks waits too.
func (p *awsProject) rests(id, want string) {
	p.Helper()
	for {
		switch status := p.aws(0, "cloudformation", "describe-stacks", "--stack-name", id, "--query", "Stacks[0].StackStatus", "--output", "text"); {
		case status == want:
			return
		case !strings.HasSuffix(status, "_IN_PROGRESS"):
			p.Fatalf("%s is %s, want %s", id, status, want)
		}
	}
}
