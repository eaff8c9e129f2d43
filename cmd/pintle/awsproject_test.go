package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/require"
)

// readyMethod makes the provider of a new project one that waits: an operation is done when it is asked for the second time, and
// fails if the text says so.
const readyMethod = `
func (p provider) Ready(_ context.Context, r *pintle.ReadyRequest[Properties]) (pintle.Progress[Attributes], error) {
	if r.Type != pintle.Delete && r.Properties.Text == "broken" && r.Try > 1 {
		return pintle.Progress[Attributes]{}, errors.New("the text is broken")
	}
	return pintle.Progress[Attributes]{Done: r.Try > 1}, nil
}
`

// awsProject runs the AWS CLI against a server, in the directory of a project.
type awsProject struct {
	*testing.T
	server *served
	dir    string
	env    []string
}

// aws runs the AWS CLI and returns what it printed, on standard error too. It must exit with a code.
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

// TestNewForAWS deploys what pintle new --aws writes, unmodified, with the AWS CLI: build.sh builds the zip file, the template makes the
// function and, with Wait=true, its state machine. A stack that uses it is created, updated, rolled back and deleted, and each operation
// waits. A server that runs the function itself offers it to wait, which the SDK prefers to its state machine.
func TestNewForAWS(t *testing.T) {
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
	code := strings.Replace(string(text), "\t\"context\"\n", "\t\"context\"\n\t\"errors\"\n", 1) + readyMethod
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
	probe := exec.CommandContext(t.Context(), "aws", "secretsmanager", "get-secret-value", "--secret-id", "none")
	probe.Env = p.env
	if out, _ := probe.CombinedOutput(); !bytes.Contains(out, []byte("ResourceNotFoundException")) {
		t.Skipf("the server has no Secrets Manager, where the template keeps a key: %s", out)
	}
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
	deploy := func(code int, text string) {
		t.Helper()
		p.aws(code, "cloudformation", "deploy", "--stack-name", "site", "--template-file", "use.yaml", "--parameter-overrides", "Text="+text)
	}
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(p.output("site", "Path"))
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("the site is %q, want %q: %v", got, want, err)
		}
	}
	deploy(255, "broken")
	p.status("site", "ROLLBACK_COMPLETE")
	p.aws(0, "cloudformation", "delete-stack", "--stack-name", "site")
	p.aws(0, "cloudformation", "wait", "stack-delete-complete", "--stack-name", "site")
	deploy(0, "one")
	holds("one")
	deploy(0, "two")
	holds("two")
	deploy(255, "broken")
	p.status("site", "UPDATE_ROLLBACK_COMPLETE")
	holds("two")
	path := p.output("site", "Path")
	p.aws(0, "cloudformation", "delete-stack", "--stack-name", "site")
	p.aws(0, "cloudformation", "wait", "stack-delete-complete", "--stack-name", "site")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", path, err)
	}
	p.aws(0, "cloudformation", "delete-stack", "--stack-name", "site-provider")
	p.aws(0, "cloudformation", "wait", "stack-delete-complete", "--stack-name", "site-provider")
}

func (p *awsProject) output(stack, name string) string {
	p.Helper()
	return p.aws(0, "cloudformation", "describe-stacks", "--stack-name", stack, "--output", "text",
		"--query", "Stacks[0].Outputs[?OutputKey=='"+name+"'].OutputValue")
}

func (p *awsProject) status(stack, want string) {
	p.Helper()
	if got := p.aws(0, "cloudformation", "describe-stacks", "--stack-name", stack, "--query", "Stacks[0].StackStatus", "--output", "text"); got != want {
		p.Errorf("%s is %s, want %s", stack, got, want)
	}
}
