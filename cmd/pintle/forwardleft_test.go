package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/ministacktest"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestForwardLeft loses the database of a server, and finds and deletes its stack at the endpoint with the commands of docs/forward.md.
func TestForwardLeft(t *testing.T) {
	t.Parallel()
	require.Tool(t, "aws")
	endpoint := ministacktest.New(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "forward.md"))
	if err != nil {
		t.Fatal(err)
	}
	// command runs the command of the page with an action.
	command := func(action, name string) string {
		t.Helper()
		_, text, found := strings.Cut(string(page), "```sh\naws cloudformation "+action+" ")
		text, _, closed := strings.Cut(text, "```")
		if !found || !closed || !strings.Contains(text, "http://127.0.0.1:4566") {
			t.Fatalf("docs/forward.md has no command with %s", action)
		}
		text = strings.NewReplacer("http://127.0.0.1:4566", endpoint, "STACK_NAME", name).Replace(text)
		cmd := exec.Command("sh", "-c", "aws cloudformation "+action+" "+text)
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=us-east-1", "AWS_CONFIG_FILE="+os.DevNull,
			"AWS_DEFAULT_REGION=us-east-1", "AWS_PAGER=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("aws cloudformation %s: %v\n%s", action, err, out)
		}
		return string(out)
	}
	start := func() *served {
		t.Helper()
		s := beginIn(t, []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"}, filepath.Join(t.TempDir(), "data"), "--forward", "AWS::SQS::*="+endpoint)
		s.ready()
		return s
	}
	create := func(s *served, name string) {
		t.Helper()
		s.create(name, `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}`)
		if got := s.settled(name); got != types.StackStatusCreateComplete {
			t.Fatalf("status %s; log:\n%s", got, s.output())
		}
	}
	lost := start()
	create(lost, "lost")
	lost.kill()
	s := start()
	create(s, "known")
	known := pintleIn(t, t.TempDir(), 0, "list", "--all", "--data", s.dir)
	var left []string
	lines := strings.Split(strings.TrimSpace(command("describe-stacks", "")), "\n")
	for _, line := range lines {
		name, id, _ := strings.Cut(line, "\t")
		if !strings.Contains(known, id) {
			left = append(left, name)
		}
	}
	if len(lines) != 2 || len(left) != 1 || !strings.HasPrefix(left[0], "lost-") {
		t.Fatalf("listed are %q, of which Pintle does not know %q", lines, left)
	}
	command("delete-stack", left[0])
	if got := command("describe-stacks", ""); !strings.HasPrefix(got, "known-") || strings.Count(got, "\n") != 1 {
		t.Errorf("left are:\n%s", got)
	}
}
