package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// deployer is a deployment tool that deploys a template of testdata/deployers as a stack with the tool's name.
type deployer struct {
	// run returns the tool's program, with the environment that it needs.
	run func(t *testing.T) (program []string, env []string)
	// deploy returns the arguments that deploy the stack with two parameters.
	deploy func(name, text string) []string
	// remove are the arguments that delete the stack.
	remove []string
	// unchanged is printed by a deploy that has nothing to do. unchangedFails means that the tool then exits with an error.
	unchanged      string
	unchangedFails bool
	// reasons are the arguments that show why a deploy failed. By default, the failed deploy shows it.
	reasons []string
}

var deployers = map[string]deployer{
	"sam": {
		run: func(t *testing.T) ([]string, []string) {
			require.Tool(t, "cfn-lint") // whose Python has the translator of AWS::Serverless for the server
			dir := filepath.Join(require.Deployers(t), "sam")
			return []string{require.Tool(t, "python3"), filepath.Join(dir, "bin", "sam")},
				[]string{"PYTHONPATH=" + dir, "SAM_CLI_TELEMETRY=0", "SAM_CLI_POLL_DELAY=0.5"}
		},
		deploy: func(name, text string) []string {
			return []string{
				"deploy", "--stack-name", "sam", "--template-file", "sam.yaml", "--resolve-s3",
				"--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND", "--no-confirm-changeset", "--parameter-overrides", "Name=" + name, "Text=" + text,
			}
		},
		remove:         []string{"delete", "--stack-name", "sam", "--no-prompts"},
		unchanged:      "No changes to deploy. Stack sam is up to date",
		unchangedFails: true,
	},
	"serverless": {
		run: func(t *testing.T) ([]string, []string) {
			dir := require.Deployers(t)
			return []string{require.Tool(t, "node"), filepath.Join(dir, "node_modules", "serverless", "bin", "serverless.js")},
				[]string{
					"CI=1", "SLS_AWS_MONITORING_FREQUENCY=500", "SLS_TELEMETRY_DISABLED=1", "SLS_NOTIFICATIONS_MODE=off", "SLS_INTERACTIVE_SETUP_ENABLE=0",
					"AWS_ENDPOINT_URL_ECR=" + emptyRegistry(t),
				}
		},
		deploy: func(name, text string) []string {
			return []string{"deploy", "--verbose", "--param", "name=" + name, "--param", "text=" + text}
		},
		remove:    []string{"remove", "--verbose", "--param", "name=a", "--param", "text=c"},
		unchanged: "Change set did not include any changes to be deployed",
	},
	"ansible": {
		run: func(t *testing.T) ([]string, []string) {
			dir, python := require.Deployers(t), require.Tool(t, "python3")
			return []string{
					python, filepath.Join(dir, "ansible", "bin", "ansible-playbook"), "-v", "-i", "localhost,",
					"-e", "ansible_python_interpreter=" + python, "playbook.yaml",
				}, []string{
					"PYTHONPATH=" + filepath.Join(dir, "ansible"), "ANSIBLE_COLLECTIONS_PATH=" + filepath.Join(dir, "collections"),
					"LC_ALL=C.UTF-8",
				}
		},
		deploy: func(name, text string) []string {
			return []string{"-e", "state=present note=" + name + " text=" + text}
		},
		remove:    []string{"-e", "state=absent note=a text=c"},
		unchanged: "Stack is already up-to-date",
	},
	"rain": {
		run: func(t *testing.T) ([]string, []string) { return []string{require.Tool(t, "rain")}, nil },
		deploy: func(name, text string) []string {
			return []string{"deploy", "template.yaml", "rain", "--yes", "--params", "Name=" + name + ",Text=" + text}
		},
		remove:    []string{"rm", "rain", "--yes"},
		unchanged: "there is no change",
		reasons:   []string{"logs", "rain"}, // deploy shows it only if it looks between the failure and the rollback
	},
}

// TestDeployers takes a stack through its life with unmodified deployment tools: create, no change, update, failed update, delete.
func TestDeployers(t *testing.T) {
	for name, d := range deployers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Tool(t, "python3") // for the function of the template
			program, env := d.run(t)
			s := serve(t, t.TempDir())
			c := deployerClient{s: s, stack: name, program: program, dir: t.TempDir()}
			if err := os.CopyFS(c.dir, os.DirFS(filepath.Join("testdata", "deployers"))); err != nil {
				t.Fatal(err)
			}
			c.env = append(os.Environ(), append(env, "AWS_ENDPOINT_URL="+s.url, "AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1",
				"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true", "HOME="+t.TempDir())...)

			c.run(t, true, d.deploy("a", "b"))
			c.is(t, types.StackStatusCreateComplete, types.StackStatusUpdateComplete) // Serverless creates a bucket first, then updates
			before := c.events(t)
			if said := c.run(t, !d.unchangedFails, d.deploy("a", "b")); !strings.Contains(said, d.unchanged) {
				t.Errorf("deploy without a change printed no %q:\n%s", d.unchanged, said)
			}
			if after := c.events(t); after != before {
				t.Errorf("deploy without a change made %d events", after-before)
			}
			c.run(t, true, d.deploy("a", "c"))
			c.is(t, types.StackStatusUpdateComplete)
			said := c.run(t, false, d.deploy("x/y", "c"))
			c.is(t, types.StackStatusUpdateRollbackComplete)
			if d.reasons != nil {
				said = c.run(t, true, d.reasons)
			}
			// SAM wraps the text in a column of a table.
			if want := "Name has a slash: x/y"; !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
				t.Errorf("a failed deploy does not show %q:\n%s", want, said)
			}
			c.run(t, true, d.remove)
			_, err := s.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
			if err == nil || !strings.Contains(err.Error(), "does not exist") {
				t.Errorf("after the delete, DescribeStacks returns %v, want an error that the stack does not exist", err)
			}
		})
	}
}

// emptyRegistry serves ECR without repositories. Serverless asks ECR for a repository before it removes a service.
func emptyRegistry(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type": "RepositoryNotFoundException", "message": "The repository does not exist"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// deployerClient runs a deployment tool against a server.
type deployerClient struct {
	s            *served
	stack, dir   string
	program, env []string
}

// run runs the tool and returns its output. The test fails unless the tool succeeds or fails as expected.
func (c deployerClient) run(t *testing.T, succeeds bool, args []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program[0], append(c.program[1:len(c.program):len(c.program)], args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.dir, c.env, time.Second
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%v: %v, %v\n%s", args, err, ctx.Err(), out)
	}
	if (err == nil) != succeeds {
		t.Fatalf("%v ended with %v, want success %v\n%s", args, err, succeeds, out)
	}
	return string(out)
}

// is checks the status of the stack and the outputs of the note a.
func (c deployerClient) is(t *testing.T, statuses ...types.StackStatus) {
	t.Helper()
	out, err := c.s.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &c.stack})
	if err != nil {
		t.Fatal(err)
	}
	stack, outputs := out.Stacks[0], map[string]string{}
	for _, o := range stack.Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	if !slices.Contains(statuses, stack.StackStatus) || outputs["Id"] != "note-a" || outputs["Path"] != "/notes/a" {
		t.Errorf("the stack is %s with %v, want %v with note-a and /notes/a", stack.StackStatus, outputs, statuses)
	}
}

// events returns how many events the stack has.
func (c deployerClient) events(t *testing.T) int {
	t.Helper()
	return len(c.s.events(c.stack))
}
