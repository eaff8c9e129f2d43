package cdk_test

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"golang.org/x/sync/errgroup"
)

// concurrency is the number of concurrent stack operations.
const concurrency = 6

// life runs the life cycle of the stacks of constructs.
type life struct {
	*app
	cases   []constructCase
	ids     map[string]string    // of the stacks, by name
	seconds map[string][]float64 // of each step, by name
}

// assemblyOf returns the directory of a variant of the app.
func (l *life) assemblyOf(variant string) string { return filepath.Join(l.dir, variant) }

// synthesizes runs the app's program for its variants.
func (l *life) synthesizes(variants ...string) {
	l.t.Helper()
	var group errgroup.Group
	for _, variant := range variants {
		args := []string{l.source, l.assemblyOf(variant), variant}
		for _, c := range l.cases {
			args = append(args, c.name)
		}
		group.Go(func() error {
			cmd := exec.CommandContext(l.t.Context(), "node", args...)
			cmd.Dir, cmd.Env = l.dir, l.command(nil).Env
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("synthesize %s: %w\n%s", variant, err, out)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) creates() {
	l.t.Helper()
	l.assembly = l.assemblyOf("base")
	got := l.deploys(nil, "--concurrency", strconv.Itoa(concurrency))
	for _, c := range l.cases {
		l.matches(c.name, c.base, got[c.name])
		l.ids[c.name] = aws.ToString(l.stack(c.name).StackId)
	}
	l.took()
}

// staysTheSame deploys without a change. The stacks are deployed one after the other, so that each can be timed.
func (l *life) staysTheSame() {
	l.t.Helper()
	cmd := l.command(nil, "deploy", "--all", "--require-approval", "never", "--concurrency", "1")
	lines := &lineTimes{}
	cmd.Stdout, cmd.Stderr = lines, lines
	if err := cmd.Run(); err != nil {
		l.t.Fatalf("cdk deploy again: %v\n%s", err, lines)
	}
	synthesized, ok := lines.after("✨  Synthesis time", 0)
	if !ok {
		l.t.Fatalf("cdk deploy again does not say when it begins:\n%s", lines)
	}
	began := synthesized + 2 // after an empty line, the name of the first stack
	for {
		ended, more := lines.after("✅  ", began+1)
		if !more {
			break
		}
		name, same := strings.CutSuffix(strings.TrimPrefix(lines.lines[ended], "✅  "), " (no changes)")
		if !same {
			l.t.Errorf("cdk deploy again changes %s", name)
		}
		l.seconds[name] = append(l.seconds[name], lines.times[ended].Sub(lines.times[began]).Seconds())
		began = ended
	}
	for _, c := range l.cases {
		if len(l.seconds[c.name]) != 2 {
			l.t.Fatalf("cdk deploy again does not say that %s has no changes:\n%s", c.name, lines)
		}
	}
}

func (l *life) changes() {
	l.t.Helper()
	l.assembly = l.assemblyOf("changed")
	got := l.deploys(nil, "--concurrency", strconv.Itoa(concurrency))
	for _, c := range l.cases {
		l.matches(c.name, c.changed, got[c.name])
		l.cloud.stands(c.name, "UPDATE_COMPLETE")
	}
	l.took()
}

// rollsBack makes a change of each stack fail. The CDK command only creates the change sets, because it stops
// deploying after the first failure.
func (l *life) rollsBack() {
	l.t.Helper()
	const changeSet = "failing"
	l.assembly = l.assemblyOf("failing")
	l.does(nil, "deploy", "--all", "--require-approval", "never", "--concurrency", strconv.Itoa(concurrency),
		"--method=prepare-change-set", "--change-set-name", changeSet)
	client := l.cloud.cloudFormation()
	for some := range slices.Chunk(l.cases, concurrency) {
		l.fail(client, changeSet, some)
	}
	l.took()
}

// fail executes change sets, whose stacks are rolled back.
func (l *life) fail(client *cloudformation.Client, changeSet string, cases []constructCase) {
	l.t.Helper()
	for _, c := range cases {
		input := &cloudformation.ExecuteChangeSetInput{StackName: &c.name, ChangeSetName: &changeSet}
		if _, err := client.ExecuteChangeSet(l.t.Context(), input); err != nil {
			l.t.Fatal(err)
		}
	}
	for _, c := range cases {
		l.cloud.until(c.name+" is rolled back", func() bool {
			status, _ := l.cloud.status(c.name)
			return !strings.HasSuffix(status, "_IN_PROGRESS")
		})
		l.cloud.stands(c.name, "UPDATE_ROLLBACK_COMPLETE")
		got := map[string]string{}
		for _, o := range l.stack(c.name).Outputs {
			got[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
		l.matches(c.name, c.changed, got)
		want := cmp.Or(c.failure, "cannot be validated against allowedPattern")
		if !slices.ContainsFunc(l.operation(c.name), func(e types.StackEvent) bool {
			reason := aws.ToString(e.ResourceStatusReason)
			return strings.HasSuffix(string(e.ResourceStatus), "_FAILED") && strings.Contains(reason, want)
		}) {
			l.t.Errorf("no event of %s says %q", c.name, want)
		}
	}
}

func (l *life) ends() {
	l.t.Helper()
	l.assembly = l.assemblyOf("changed")
	l.does(nil, "destroy", "--all", "--force", "--concurrency", strconv.Itoa(concurrency))
	for _, c := range l.cases {
		l.cloud.gone(c.name)
	}
	l.took()
}

// stack describes a stack.
func (l *life) stack(name string) types.Stack {
	l.t.Helper()
	input := &cloudformation.DescribeStacksInput{StackName: &name}
	out, err := l.cloud.cloudFormation().DescribeStacks(l.t.Context(), input)
	if err != nil {
		l.t.Fatal(err)
	}
	return out.Stacks[0]
}

// operation returns the events of a stack's last operation, the newest first.
func (l *life) operation(name string) []types.StackEvent {
	l.t.Helper()
	id := l.ids[name]
	var list []types.StackEvent
	input := &cloudformation.DescribeStackEventsInput{StackName: &id}
	pages := cloudformation.NewDescribeStackEventsPaginator(l.cloud.cloudFormation(), input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		for _, e := range page.StackEvents {
			list = append(list, e)
			if aws.ToString(e.PhysicalResourceId) == id && aws.ToString(e.ResourceStatusReason) == "User Initiated" {
				return list
			}
		}
	}
	l.t.Fatalf("the events of %s have no operation", name)
	return nil
}

// took records the duration of each stack's last operation in seconds.
func (l *life) took() {
	l.t.Helper()
	for _, c := range l.cases {
		events := l.operation(c.name)
		seconds := events[0].Timestamp.Sub(*events[len(events)-1].Timestamp).Seconds()
		l.seconds[c.name] = append(l.seconds[c.name], seconds)
	}
}

// matches checks one output of a construct's stack.
func (l *life) matches(stack, want string, got map[string]string) {
	l.t.Helper()
	var texts []string
	for key, value := range got {
		texts = append(texts, key+"="+value)
	}
	if match := regexp.MustCompile(want); want != "" && !slices.ContainsFunc(texts, match.MatchString) {
		l.t.Errorf("%s: outputs %q, want one like %s", stack, texts, want)
	}
}

// hidesClientSecret checks that the secret of a stack's user pool client appears neither in the server's log nor in
// the stack's events.
func (a *app) hidesClientSecret(stack string) {
	a.t.Helper()
	out, err := a.cloud.cloudFormation().DescribeStackResources(a.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: &stack})
	if err != nil {
		a.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, r := range out.StackResources {
		ids[aws.ToString(r.ResourceType)] = aws.ToString(r.PhysicalResourceId)
	}
	described, err := a.cloud.call("cognito-idp", "describeUserPoolClient", map[string]any{
		"UserPoolId": ids["AWS::Cognito::UserPool"], "ClientId": ids["AWS::Cognito::UserPoolClient"],
	})
	secret := described["UserPoolClient.ClientSecret"]
	if err != nil || secret == "" {
		a.t.Fatalf("no client secret: %v", err)
	}
	if strings.Contains(a.cloud.output(), secret) {
		a.t.Error("the client secret is in the server's log")
	}
	events, err := a.cloud.cloudFormation().DescribeStackEvents(a.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, e := range events.StackEvents {
		if strings.Contains(aws.ToString(e.ResourceProperties)+aws.ToString(e.ResourceStatusReason), secret) {
			a.t.Errorf("the client secret is in an event of %s", aws.ToString(e.LogicalResourceId))
		}
	}
}
