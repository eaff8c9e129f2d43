package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// snippet is a block of commands in a page, and how it is tested: it is run, or it is said why not. A new block needs a row.
type snippet struct {
	page   string
	begins string // the block's first words

	elsewhere string   // why it is not run here
	needs     []string // other programs; the test is skipped without them
	from      string   // the working directory, relative to the root of the repository; empty means a new one
	before    string   // a script that prepares the state that the page assumes
	after     string   // a script that checks the result
	instead   []string // pairs of a text of the page and its replacement
}

// server is a script that starts a server, as a page says to do first.
const server = "pintle serve --dev\n"

const things = `cat > template.yaml <<'END'
Resources:
  Thing: {Type: Custom::Thing, Properties: {ServiceToken: "arn:aws:lambda:us-east-1:123456789012:function:Thing"}}
END
printf 'stack: %s\nproviders: {Thing: %s}\n' Site "$(command -v provider)" > pintle.yaml
`

var blocks = []snippet{
	{page: "README.md", begins: "git clone", elsewhere: "CI clones the repository and deploys the example"},
	{
		page: "README.md", begins: "go run ./cmd/pintle deploy", from: ".",
		before: "pintle deploy examples/walkthrough", after: "pintle list | grep walkthrough && exit 1 || true",
	},
	{page: "README.md", begins: "go test -timeout 45m ./...", elsewhere: "it is what runs this"},
	{
		page: "README.md", begins: "go install", needs: []string{"python3"},
		before: `cat > handler.py <<'END'
import uuid, cfnresponse
def handler(event, context):
    cfnresponse.send(event, context, cfnresponse.SUCCESS, {}, str(uuid.uuid4()))
END
cat > template.yaml <<'END'
Resources:
  Function:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: python3.13
      Handler: index.handler
      Role: arn:aws:iam::123456789012:role/function
      Code:
        ZipFile: |
          import uuid, cfnresponse
          def handler(event, context):
              cfnresponse.send(event, context, cfnresponse.SUCCESS, {}, str(uuid.uuid4()))
  Note:
    Type: Custom::Note
    Properties: {ServiceToken: !GetAtt Function.Arn, Name: a}
END
`,
		instead: []string{
			"go install ./cmd/pintle\n", "true\n",
			`pintle check handler.py -p '{"Name": "a"}' `, `{ pintle check handler.py -p '{"Name": "a"}' || true; } | grep id-changed `,
			"pintle check template.yaml --resource Note ", "{ pintle check template.yaml --resource Note || true; } | grep id-changed ",
		},
	},
	{
		page: "README.md", begins: "pintle serve --dev --project", from: ".", needs: []string{"aws"},
		after: "aws cloudformation describe-stacks --stack-name demo | grep CREATE_COMPLETE",
	},
	{page: "README.md", begins: "cd examples/cdk && npm install", elsewhere: "it installs the CDK from npm; make cdk runs it"},
	{
		page: "README.md", begins: "pintle deploy examples/ros/inline", from: ".", needs: []string{"python3"},
		after: "pintle list | grep CREATE_COMPLETE",
	},
	{page: "README.md", begins: "pintle describe shop", elsewhere: "each line is for a stack in trouble of its own: testdata/script/story_*.txtar"},
	{page: "docs/cdk.md", begins: "pintle serve --dev ", elsewhere: "it needs the CDK; make cdk runs it"},
	{page: "docs/cdk.md", begins: "npx cdk synth", elsewhere: "it needs the CDK; make cdk runs it"},
	{page: "docs/cdk.md", begins: "pintle describe Site", before: things + "pintle deploy"},
	{page: "docs/macros.md", begins: "pintle serve --dev ", elsewhere: "it needs the SAM CLI; TestDeployers runs it"},
	{page: "docs/forward.md", begins: "aws cloudformation describe-stacks", elsewhere: "TestForwardLeft runs it"},
	{page: "docs/forward.md", begins: "aws cloudformation delete-stack", elsewhere: "TestForwardLeft runs it"},
	{page: "docs/forward.md", begins: "aws cloudformation create-change-set", elsewhere: "TestForwardImport runs it"},
	{page: "docs/forward.md", begins: "export", elsewhere: "it needs ministack; forward_test.go runs such commands"},
	{page: "docs/console.md", begins: "pintle serve --dev", after: "pintle console | grep /console/"},
	{
		page: "docs/functions.md", begins: "eval", needs: []string{"aws", "python3"},
		before: server + `cat > template.yaml <<'END'
Resources:
  Function:
    Type: AWS::Lambda::Function
    Properties:
      FunctionName: on-event
      Runtime: python3.13
      Handler: index.handler
      Role: arn:aws:iam::000000000000:role/any
      Code: {ZipFile: "def handler(event, context): return event['n'] + 1"}
END
pintle deploy --stack functions --template template.yaml
echo '{"n": 41}' > event.json
`,
		after: "grep -x 42 out.json",
	},
	{page: "docs/install.md", begins: "curl", elsewhere: "it needs a release that is published"},
	{page: "docs/install.md", begins: "go install", elsewhere: "it builds what runs this"},
	{page: "docs/install.md", begins: "make release", elsewhere: "it builds for minutes; internal/dev/release has its tests"},
	{
		page: "docs/install.md", begins: "mkdir", before: "HOME=$PWD\n",
		after: "bash -n .local/share/bash-completion/completions/pintle\ngrep -q pintle .local/share/man/man1/pintle-deploy.1",
	},
	{page: "docs/install.md", begins: "sudo useradd", elsewhere: "it needs systemd; deployment_test.go holds the unit to the program"},
	{page: "docs/install.md", begins: "podman build", elsewhere: "it needs Podman; deployment_test.go reads the Containerfile"},
	{
		page: "docs/install.md", begins: "echo", needs: []string{"openssl"},
		after: "pintle serve --key-file keys --credentials credentials & begun $!\n" +
			"pintle env | grep \"$(awk '/aws_access_key_id/ {print $3}' credentials)\"",
	},
	{page: "docs/functions.md", begins: "mvn", elsewhere: "it needs Maven and its repository; tools/java/install does the same"},
	{page: "docs/install.md", begins: "kubectl", elsewhere: "it needs a cluster; deployment_test.go holds the manifests to the program"},
	{
		// The signalling process gets the URL. It is a secret that no command shows.
		page: "docs/native.md", begins: "curl -T -", needs: []string{"curl", "python3"},
		before: `cat > template.yaml <<'END'
Resources:
  Handle: {Type: "AWS::CloudFormation::WaitConditionHandle"}
  Host:
    Type: Custom::Host
    Properties: {ServiceToken: "arn:aws:lambda:us-east-1:123456789012:function:Host", URL: !Ref Handle}
END
cat > host.py <<END
def on_event(event, context):
    open("$PWD/url", "w").write(event["ResourceProperties"]["URL"])
    return {"PhysicalResourceId": "host-1"}
END
printf 'stack: waits\nproviders: {Host: {onEvent: ./host.py}}\n' > pintle.yaml
` + server + `pintle deploy
URL=$(cat url)
`,
		instead: []string{"curl ", "curl --fail --silent --show-error "},
	},
	{
		page: "docs/native.md", begins: "aws cloudformation signal-resource", needs: []string{"aws"},
		before: server + `eval "$(pintle env)"
cat > template.yaml <<'END'
Resources:
  Wait:
    Type: AWS::CloudFormation::WaitCondition
    CreationPolicy: {ResourceSignal: {Count: 1, Timeout: PT15M}}
END
aws cloudformation create-stack --stack-name S --template-body file://template.yaml
`,
		after: "aws cloudformation wait stack-create-complete --stack-name S",
	},
	{page: "docs/operating.md", begins: "createuser", elsewhere: "it needs a server of PostgreSQL with TLS; nodes_test.go runs servers on one"},
	{
		page: "docs/operating.md", begins: "pintle keys rotate",
		elsewhere: "it needs systemd, and a database with rows that are sealed: testdata/script/keys.txtar",
	},
	{
		page: "docs/operating.md", begins: "pintle backup", before: things + "pintle deploy --data DIR\nmkdir backups\n",
		instead: []string{"/backups/", "backups/"}, after: "cp DIR/keys backups/*/\npintle list --data backups/* | grep CREATE_COMPLETE",
	},
	{page: "docs/parameters.md", begins: "aws secretsmanager", needs: []string{"aws"}, before: server + `eval "$(pintle env)"`,
		after: "aws secretsmanager get-secret-value --secret-id app/db | grep example"},
	{page: "docs/parameters.md", begins: "eval", needs: []string{"aws"}, before: server + things + `cat > template.yaml <<'END'
Parameters:
  Name: {Type: "AWS::SSM::Parameter::Value<String>", Default: /app/name}
Resources:
  Handle: {Type: "AWS::CloudFormation::WaitConditionHandle"}
Outputs:
  Name: {Value: !Ref Name}
END
`, after: "pintle describe | grep world"},
	{
		page: "docs/provider-guide.md", begins: "pintle new site",
		before: "export GOFLAGS=-mod=mod TMPDIR=$PWD\n", after: "pintle list | grep CREATE_COMPLETE",
	},
	{page: "docs/ros-api.md", begins: "aliyun ros", elsewhere: "it needs the aliyun CLI; internal/node runs what that sends"},
	{page: "docs/s3.md", begins: "export AWS_ENDPOINT_URL_SQS", after: "pintle list"},
	{
		page: "docs/s3.md", begins: "eval", needs: []string{"aws"}, before: server + "mkdir site\necho hello > site/page\n",
		after: "aws s3 ls s3://my-bucket/site/ | grep page",
	},
	{
		page: "docs/sns.md", begins: "eval", needs: []string{"aws"}, before: server,
		after: "aws sns list-subscriptions | grep function:handle",
	},
	{page: "docs/sns.md", begins: "AWS_ENDPOINT_URL_SNS=", elsewhere: "it is a provider that does not end; the SDK's tests run one"},
	{page: "docs/stepfunctions.md", begins: "aws stepfunctions", elsewhere: "it asks AWS, with an account"},
	{page: "docs/zh/ros.md", begins: "pintle deploy examples/ros/inline", from: ".", needs: []string{"python3"}, after: "! pintle list | grep COMPLETE"},
	{page: "docs/zh/ros.md", begins: "pintle serve --dev", elsewhere: "it needs the aliyun CLI; TestAliyunCLI runs one that is on PATH"},
	{page: "examples/twoclouds/README.md", begins: "pintle deploy", from: ".", after: "pintle list | grep -c CREATE_COMPLETE | grep -x 2"},
	{
		page: "examples/twoclouds/README.md", begins: "pintle delete", from: ".",
		before: "pintle deploy examples/twoclouds\npintle deploy examples/twoclouds --template examples/twoclouds/ros.yaml\n",
		after:  "pintle list | grep COMPLETE && exit 1 || true",
	},
}

var shellBlock = regexp.MustCompile("(?ms)^[ >]*```sh\n(.*?)^[ >]*```$")

// TestDocs runs the commands that the pages show, or knows why it does not.
func TestDocs(t *testing.T) {
	used := make([]bool, len(blocks))
	for _, path := range pages(t) {
		if strings.HasPrefix(path, "docs/tutorials/") {
			continue // TestTutorials follows them
		}
		for _, found := range shellBlock.FindAllStringSubmatch(page(t, path), -1) {
			row := -1
			for i := range blocks {
				if !used[i] && blocks[i].page == path && strings.HasPrefix(strings.TrimSpace(found[1]), blocks[i].begins) {
					row = i
					break
				}
			}
			if row < 0 {
				t.Errorf("%s has a block that no row of this test is about:\n%s", path, found[1])
				continue
			}
			used[row] = true
			if b := blocks[row]; b.elsewhere == "" {
				t.Run(strings.TrimSuffix(filepath.Base(path), ".md")+"_"+strings.ReplaceAll(b.begins, " ", "_"), func(t *testing.T) {
					t.Parallel()
					b.run(t, found[1])
				})
			}
		}
	}
	for i, b := range blocks {
		if !used[i] {
			t.Errorf("%s has no block that begins with %q any more", b.page, b.begins)
		}
	}
}

// preamble makes the shell stop its background processes, and replaces `go run` in pages with the tested binary.
const preamble = `set -euo pipefail
trap 'jobs -p | xargs -r kill; wait' EXIT
go() { if [[ "$*" == "run ./cmd/pintle "* ]]; then shift 2; pintle "$@"; else command go "$@"; fi; }
begun() { until pintle env >/dev/null 2>&1; do kill -0 "$1"; sleep 0.02; done; }
`

func (b snippet) run(t *testing.T, block string) {
	shell := require.Tool(t, "bash")
	for _, program := range b.needs {
		require.Tool(t, program)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := preamble + strings.NewReplacer(b.instead...).Replace(inBackground(b.before+"\n"+block)) + "\n" + b.after + "\n"
	cmd := exec.CommandContext(t.Context(), shell, "-c", script)
	cmd.Dir = dir
	if b.from != "" {
		cmd.Dir = filepath.Join(root, b.from)
	}
	cmd.Env = append(os.Environ(), "PINTLE_LISTEN=127.0.0.1:0", "PINTLE_PROJECT=", "AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=", "GOPROXY=off",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	if !strings.Contains(script, "--data") && !strings.Contains(script, "pintle new") {
		cmd.Env = append(cmd.Env, "PINTLE_DATA="+filepath.Join(dir, "data"))
	}
	// It has its own process group, so that the test can kill all its processes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	text, readErr := os.ReadFile(out.Name())
	if err := errors.Join(err, readErr, out.Close()); err != nil {
		t.Errorf("%v\n%s\nthe script:\n%s", err, text, script)
	}
}

// inBackground runs a server in the background, as in another terminal, and waits until it serves.
func inBackground(script string) string {
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "pintle serve") {
			line, _, _ = strings.Cut(line, " # ")
			lines[i] = fmt.Sprintf("%s & begun $!", strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}
