package main

import (
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

var consoleResources = flag.Int("console.resources", 1000, "how many resources the large stack of TestBrowserMany has")

// TestBrowserMany looks at a small stack and at a large one: pages of the large one are as large, and have as many elements. It prints
// the cost of each for the browser, as the table in docs/console.md.
func TestBrowserMany(t *testing.T) {
	parts := requireBrowser(t)
	const small = 300 // enough for pages after the first
	large := max(*consoleResources, 2*small)
	program, err := exec.LookPath("provider")
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{ids: map[string]string{}}
	s.served = serve(t, t.TempDir(), "--provider", "Quick="+program, "--log-level", "warn",
		"--limit", fmt.Sprint("resources=", large), "--limit", fmt.Sprint("bytes=", 1000*large))
	b := parts.start(t, s.url)
	for name, n := range map[string]int{"small": small, "large": large} {
		template := many(n)
		out, err := s.client().CreateStack(t.Context(), &cloudformation.CreateStackInput{
			StackName: aws.String(name), TemplateBody: &template, Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.ids[name] = *out.StackId
	}
	b.page("/console/", "Sign in")
	b.page(signInLink(t, s.served), "Stacks")
	for name := range s.ids {
		for s.describe(name).StackStatus == types.StackStatusCreateInProgress {
			rest(100 * time.Millisecond) // it may be minutes, on a busy machine
		}
		s.wants(name, types.StackStatusCreateComplete)
	}

	var table strings.Builder
	table.WriteString("| page | resources | answered, first | and again | loaded, first | and again | bytes | elements |\n" +
		"|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, page := range []struct{ name, path, next string }{
		{"stack", "", ""},
		{"next page of resources", "", "#resources a[rel=next]"},
		{"timeline", "/operations/1", ""},
		{"next page of steps", "/operations/1", "#timeline-live a[rel=next]"},
		{"events", "/events", ""},
		{"next page of events", "/events", "a[rel=next]"},
		{"dependencies", "/graph", ""},
	} {
		costs := map[int]pageCost{}
		for _, n := range []int{small, large} {
			name := map[int]string{small: "small", large: "large"}[n]
			path := s.pathOf(name) + page.path
			if page.next != "" {
				b.page(path, name)
				path = b.attribute(page.next, "href")
			}
			b.page(path, name)
			first := b.cost()
			b.do("reload", nil, nil)
			c := b.cost()
			costs[n] = c
			fmt.Fprintf(&table, "| %s | %d | %.0f ms | %.0f ms | %.0f ms | %.0f ms | %d | %d |\n",
				page.name, n, first.Answer, c.Answer, first.Load, c.Load, c.Bytes, c.Nodes)
		}
		if few, lots := costs[small], costs[large]; lots.Nodes > few.Nodes*5/4 || lots.Bytes > few.Bytes*5/4 {
			t.Errorf("%s of %d resources costs %+v, and of %d %+v", page.name, large, lots, small, few)
		}
	}
	b.clean()
	fmt.Print(table.String())
}

// many is a template of n resources, a multiple of 100: of each hundred the first needs the first of the hundred before, and the
// others need the first.
func many(n int) string {
	const resource = "Type: Custom::R, Properties: {ServiceToken: 'arn:aws:lambda:us-east-1:123456789012:function:Quick'}"
	var first, tens, ones strings.Builder
	for hundred := range n / 100 {
		needs := ""
		if hundred > 0 {
			needs = fmt.Sprintf("DependsOn: H%d, ", hundred-1)
		}
		fmt.Fprintf(&first, "  H%d: {%s%s}\n", hundred, needs, resource)
		fmt.Fprintf(&tens, "'%d', ", hundred)
	}
	for i := 1; i < 100; i++ {
		fmt.Fprintf(&ones, "'%d', ", i)
	}
	return fmt.Sprintf("Transform: AWS::LanguageExtensions\nResources:\n%s  Fn::ForEach::Hundreds:\n  - I\n  - [%s]\n"+
		"  - Fn::ForEach::Others:\n    - J\n    - [%s]\n    - 'H${I}R${J}': {%s}\n", &first, &tens, &ones, resource)
}
