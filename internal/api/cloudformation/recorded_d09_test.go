package cloudformation_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// The tests in this file compare the API with answers that were recorded on CloudFormation.

// newClockWorld returns a world whose store reads the time from a settable clock, and a function that sets it. Its
// stacks may use native types.
func newClockWorld(t *testing.T, start time.Time, natives ...native.Type) (*world, func(time.Time)) {
	t.Helper()
	var now atomic.Int64
	set := func(at time.Time) { now.Store(at.UnixMilli()) }
	set(start)
	types, err := native.New(natives...)
	if err != nil {
		t.Fatal(err)
	}
	open := func(w *world, config *cloudformation.Config) {
		var err error
		w.store, err = memory.New(memory.Config{Now: func() time.Time { return time.UnixMilli(now.Load()) }})
		w.must(err)
		w.engine, err = engine.Open(context.Background(), engine.Config{Store: w.store, Alone: true, Native: types, Dispatch: func(ready []store.Request) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.inbox = append(w.inbox, ready...)
		}})
		w.must(err)
		config.Engine, config.Rows = w.engine, w.store
	}
	return newWorld(t, open), set
}

// TestRecordedD15 checks that the events of a stack have distinct timestamps in order, on a stopped clock and on one
// that was set back.
func TestRecordedD15(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w, set := newClockWorld(t, start)
	two := `{"Resources": {"A": ` + resource("") + `, "B": ` + resource("") + `}}`
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: &two})
	set(start.Add(-time.Minute))
	next := `{"Resources": {"A": ` + resource(`"N": 1`) + `, "B": ` + resource(`"N": 1`) + `}}`
	_, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("s"), TemplateBody: &next})
	w.must(err)
	w.answerOnce(fails)
	w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`) // the rollback

	increasing := func(call string, times []time.Time) {
		t.Helper()
		for i := 1; i < len(times); i++ {
			if !times[i].After(times[i-1]) {
				t.Errorf("%s: event %d at %v follows one at %v", call, i, times[i], times[i-1])
			}
		}
	}
	out, err := w.client.DescribeStackEvents(t.Context(), &sdk.DescribeStackEventsInput{StackName: str("s")})
	w.must(err)
	var times []time.Time
	for _, e := range slices.Backward(out.StackEvents) {
		times = append(times, *e.Timestamp)
	}
	if len(times) < 15 {
		t.Errorf("%d events", len(times))
	}
	increasing("DescribeStackEvents", times)
	times = nil
	for _, e := range w.operationEvents(sdk.DescribeEventsInput{StackName: str("s")}) {
		times = append(times, *e.Timestamp)
	}
	increasing("DescribeEvents", times)
}

// box is a native type that is replaced if its Name changes.
type box struct{}

// Schema implements [native.Type].
func (box) Schema() *native.Schema {
	return &native.Schema{
		Name: "Test::Box", Attributes: []string{"Arn"},
		Properties: []native.Property{{Name: "Name", Change: native.Replaces}, {Name: "Size"}},
	}
}

// Serve implements [native.Type]. The test answers the requests.
func (box) Serve(context.Context, *store.Request) (native.Result, error) { return native.Result{}, nil }

// replacing returns the changes of a change set that replaces a resource to which another one refers, with or without
// values.
func replacing(t *testing.T) func(values bool) []string {
	t.Helper()
	w, _ := newClockWorld(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), box{})
	text := `{"Parameters": {"P": {"Type": "String", "Default": "a"}}, "Resources": {
		"Z": {"Type": "Test::Box", "Properties": {"Name": {"Ref": "P"}}},
		"C": ` + resource(`"V": {"Fn::Sub": "${P}!"}`) + `,
		"A": ` + resource(`"Id": {"Ref": "Z"}, "List": ["x", {"Ref": "Z"}]`) + `}}`
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: &text})
	_, err := w.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("c"), UsePreviousTemplate: new(true),
		Parameters: []types.Parameter{{ParameterKey: str("P"), ParameterValue: str("b")}},
	})
	w.must(err)
	return func(values bool) []string {
		t.Helper()
		set, err := w.client.DescribeChangeSet(t.Context(), &sdk.DescribeChangeSetInput{
			ChangeSetName: str("c"), StackName: str("s"), IncludePropertyValues: &values,
		})
		w.must(err)
		return changesOf(set)
	}
}

// TestRecordedD9 checks two details for a property with a changed parameter, and static details for references to a
// resource that is certainly replaced. Where values are shown, the latter have dynamic twins.
func TestRecordedD9(t *testing.T) {
	describe := replacing(t)
	if diff := cmp.Diff([]string{
		"Modify A id-of-A Conditional Properties",
		"  Properties.Id Conditionally Static ResourceReference Z",
		"  Properties.List Conditionally Static ResourceReference Z",
		"Modify C id-of-C Conditional Properties",
		"  Properties.V Conditionally Static ParameterReference P",
		"  Properties.V Conditionally Dynamic DirectModification",
		"Modify Z id-of-Z ReplaceAndDelete True Properties",
		"  Properties.Name Always Static ParameterReference P",
		"  Properties.Name Always Dynamic DirectModification",
	}, describe(false)); diff != "" {
		t.Errorf("without values (-want +got):\n%s", diff)
	}
	const unknown = "{{changeSet:KNOWN_AFTER_APPLY}}"
	if diff := cmp.Diff([]string{
		"  Properties.Id Conditionally Static ResourceReference Z /Properties/Id Modify id-of-Z > " + unknown,
		"  Properties.Id Conditionally Dynamic ResourceReference Z /Properties/Id Modify id-of-Z > " + unknown,
		"  Properties.List Conditionally Static ResourceReference Z /Properties/List/1 Modify id-of-Z > " + unknown,
		"  Properties.List Conditionally Dynamic ResourceReference Z /Properties/List/1 Modify id-of-Z > " + unknown,
	}, describe(true)[3:7]); diff != "" {
		t.Errorf("with values (-want +got):\n%s", diff)
	}
}

// TestRecordedD20 checks that Changes are sorted by logical ID, and that a BeforeContext omits the values of
// references.
func TestRecordedD20(t *testing.T) {
	got := replacing(t)(true)
	const unknown = "{{changeSet:KNOWN_AFTER_APPLY}}"
	if want := `  before {"Properties":{"ServiceToken":"` + token + `","Id":"` + unknown + `","List":["x","` + unknown + `"]}}`; got[1] != want {
		t.Errorf("BeforeContext\n got %s\nwant %s", got[1], want)
	}
	var order []string
	for _, line := range got {
		if fields := strings.Fields(line); fields[0] == "Modify" && !strings.HasPrefix(line, " ") {
			order = append(order, fields[1])
		}
	}
	if diff := cmp.Diff([]string{"A", "C", "Z"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
