package cloudformation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

// wide returns a template of n independent resources, so that the first transition writes n+1 events.
func wide(n int, more string) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"R%03d": %s`, i, resource(more)))
	}
	return `{"Resources": {` + strings.Join(members, ", ") + `}}`
}

// TestEventPaging reads a long history page by page while new events are added. No event may be skipped or repeated,
// although pages end inside transitions.
func TestEventPaging(t *testing.T) {
	w := newWorld(t)
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: str(wide(130, ""))})
	var got []string
	pages := 0
	in := &sdk.DescribeStackEventsInput{StackName: str("s")}
	for {
		out, err := w.client.DescribeStackEvents(t.Context(), in)
		w.must(err)
		pages++
		for _, e := range out.StackEvents {
			got = append(got, *e.EventId)
		}
		if out.NextToken == nil {
			break
		}
		if len(out.StackEvents) != 100 {
			t.Errorf("page %d has %d events and a next one", pages, len(out.StackEvents))
		}
		if pages == 1 { // the stack changes in the meantime
			_, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("s"), TemplateBody: str(wide(130, `"New": 1`))})
			w.must(err)
			w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
		}
		in.NextToken = out.NextToken
	}
	if want := 2 + 3*130; len(got) != want {
		t.Errorf("%d events in %d pages, want %d", len(got), pages, want)
	}
	unique := slices.Clone(got)
	slices.Sort(unique)
	if n := len(slices.Compact(unique)); n != len(got) {
		t.Errorf("%d of %d events are different", n, len(got))
	}

	// A token is valid for one list of one stack.
	w.create(&sdk.CreateStackInput{StackName: str("other"), TemplateBody: &fixed})
	first, err := w.client.DescribeStackEvents(t.Context(), &sdk.DescribeStackEventsInput{StackName: str("s")})
	w.must(err)
	for _, form := range []string{"DescribeStackEvents&StackName=other", "ListStackResources&StackName=s", "ListStacks"} {
		if got := w.refusal("Action=" + form + "&NextToken=" + escape(*first.NextToken)); !strings.HasPrefix(got, "400 ValidationError: NextToken is not one") {
			t.Errorf("%s takes the token of another list: %s", form, got)
		}
	}
}

func TestResourcePaging(t *testing.T) {
	w := newWorld(t)
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: str(wide(201, ""))})
	var got, want, sizes []string
	pager := sdk.NewListStackResourcesPaginator(w.client, &sdk.ListStackResourcesInput{StackName: str("s")})
	for pager.HasMorePages() {
		out, err := pager.NextPage(t.Context())
		w.must(err)
		sizes = append(sizes, fmt.Sprint(len(out.StackResourceSummaries)))
		for _, r := range out.StackResourceSummaries {
			got = append(got, *r.LogicalResourceId+" "+*r.PhysicalResourceId)
		}
	}
	for i := range 201 {
		want = append(want, fmt.Sprintf("R%03d id-of-R%03d", i, i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"100", "100", "1"}, sizes); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	out, err := w.client.DescribeStackResources(t.Context(), &sdk.DescribeStackResourcesInput{StackName: str("s")})
	if err != nil || len(out.StackResources) != 100 {
		t.Errorf("DescribeStackResources shows %d (%v), want 100", len(out.StackResources), err)
	}
}

func TestStackPaging(t *testing.T) {
	w := newWorld(t)
	var want []string
	for i := range 205 {
		name := fmt.Sprintf("s%d", i)
		w.create(&sdk.CreateStackInput{StackName: &name, TemplateBody: &fixed})
		if i%2 == 0 {
			want = append(want, name)
			continue
		}
		_, err := w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: &name})
		w.must(err)
		w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
	}
	slices.Sort(want)

	var live []string
	described := sdk.NewDescribeStacksPaginator(w.client, &sdk.DescribeStacksInput{})
	for described.HasMorePages() {
		out, err := described.NextPage(t.Context())
		w.must(err)
		for _, s := range out.Stacks {
			live = append(live, *s.StackName)
		}
	}
	slices.Sort(live)
	if diff := cmp.Diff(want, live); diff != "" {
		t.Errorf("live stacks (-want +got):\n%s", diff)
	}

	list := func(filter ...types.StackStatus) (names []string) {
		pager := sdk.NewListStacksPaginator(w.client, &sdk.ListStacksInput{StackStatusFilter: filter})
		for pager.HasMorePages() {
			out, err := pager.NextPage(t.Context())
			w.must(err)
			for _, s := range out.StackSummaries {
				names = append(names, *s.StackName)
				if (s.StackStatus == types.StackStatusDeleteComplete) != (s.DeletionTime != nil) {
					t.Errorf("%s is %s and its deletion time %v", *s.StackName, s.StackStatus, s.DeletionTime)
				}
			}
		}
		slices.Sort(names)
		return names
	}
	if got := list(); len(got) != 205 {
		t.Errorf("%d stacks, want all 205", len(got))
	}
	if diff := cmp.Diff(want, list(types.StackStatusCreateComplete)); diff != "" {
		t.Errorf("filtered (-want +got):\n%s", diff)
	}
	if got := list(types.StackStatusDeleteComplete, types.StackStatusCreateComplete); len(got) != 205 {
		t.Errorf("%d stacks by two statuses, want 205", len(got))
	}
}
