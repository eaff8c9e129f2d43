package cdk_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestLogs tests the log of a function: a failed deployment prints it, cdk watch follows it, and it survives a server
// crash.
func TestLogs(t *testing.T) {
	require.Tool(t, "python3")
	a := newApp(t, "inline")
	a.fails("turning oops", []string{"word=oops"})
	a.deploys(nil)
	resource, err := a.cloud.call("cloudformation", "DescribeStackResource", map[string]any{"StackName": "Words", "LogicalResourceId": a.logical("Words", "Python")})
	if err != nil {
		t.Fatal(err)
	}
	name := resource["StackResourceDetail.PhysicalResourceId"]
	a.cloud.kill()
	a.cloud.start()
	events, err := a.cloud.call("cloudwatch-logs", "FilterLogEvents", map[string]any{"logGroupName": "/aws/lambda/" + name, "filterPattern": "turning"})
	if err != nil || events["events.0.message"] != "turning desserts" {
		t.Errorf("the log after a crash: %v, error %v", events, err)
	}

	has := a.watches()
	a.cloud.until("cdk watch has synthesized", func() bool { return has("Synthesis time") })
	a.cloud.until("cdk watch has deployed", func() bool { return has("deployment time", "no changes") })
	a.cloud.until("cdk watch prints the line", func() bool { // it shows only lines after some point in time
		_, err := a.cloud.call("lambda", "Invoke", map[string]any{
			"FunctionName": name, "Payload": `{"RequestType": "Delete", "ResourceProperties": {"Word": "watched"}}`,
		})
		if err != nil {
			t.Fatal(err)
		}
		return has("turning watched")
	})
}

// TestWatch tests cdk watch: it hot-swaps a function whose code changes, and prints the function's new log lines.
func TestWatch(t *testing.T) {
	require.Tool(t, "python3")
	a := newApp(t, "watch")
	code := filepath.Join(a.dir, "watched", "index.py")
	says := func(line string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(code), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(code, []byte("def handler(event, context):\n  print('"+line+"')\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says("line one")
	a.deploys(nil) // cdk watch itself deploys only hot-swappable changes
	has := a.watches()
	a.cloud.until("cdk watch has deployed", func() bool { return has("deployment time", "no changes") })
	says("line two")
	a.cloud.until("cdk watch hot-swaps the function", func() bool { return has("hotswapped!") })
	a.cloud.until("cdk watch prints the line", func() bool {
		if _, err := a.cloud.call("lambda", "Invoke", map[string]any{"FunctionName": "watched"}); err != nil {
			t.Fatal(err)
		}
		return has("line two")
	})
}

// watches runs cdk watch on the directory watched until the test ends. The returned func reports whether the command
// has printed one of the texts.
func (a *app) watches() func(texts ...string) bool {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, "cdk.json"), []byte(`{"watch": {"include": ["watched/**"]}}`), 0o600); err != nil {
		a.t.Fatal(err)
	}
	watch := a.command(nil, "watch")
	log := filepath.Join(a.dir, "watch.log")
	printed, err := os.Create(log)
	if err != nil {
		a.t.Fatal(err)
	}
	watch.Stdout, watch.Stderr = printed, printed
	if err := watch.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		_ = watch.Process.Kill() // it watches forever
		_ = watch.Wait()
		_ = printed.Close() // the process has written it
		if text, err := os.ReadFile(log); a.t.Failed() && err == nil {
			a.t.Logf("cdk watch printed:\n%s", text)
		}
	})
	return func(texts ...string) bool {
		text, err := os.ReadFile(log)
		return err == nil && slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(string(text), s) })
	}
}

// logical returns the logical ID with a prefix in a stack.
func (a *app) logical(stack, prefix string) string {
	a.t.Helper()
	list, err := a.cloud.call("cloudformation", "ListStackResources", map[string]any{"StackName": stack})
	if err != nil {
		a.t.Fatal(err)
	}
	for path, text := range list {
		if strings.HasSuffix(path, ".LogicalResourceId") && strings.HasPrefix(text, prefix) &&
			list[strings.TrimSuffix(path, "LogicalResourceId")+"ResourceType"] == "AWS::Lambda::Function" {
			return text
		}
	}
	a.t.Fatalf("%s has no resource %s", stack, prefix)
	return ""
}
