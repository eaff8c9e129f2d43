package cloudformation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

// operationEvents reads all pages, oldest first.
func (w *world) operationEvents(in sdk.DescribeEventsInput) []types.OperationEvent {
	w.t.Helper()
	var events []types.OperationEvent
	pager := sdk.NewDescribeEventsPaginator(w.client, &in)
	for pager.HasMorePages() {
		out, err := pager.NextPage(w.t.Context())
		w.must(err)
		events = append(events, out.OperationEvents...)
	}
	slices.Reverse(events)
	return events
}

// lines formats events: the resource, its status, and the status of the operation.
func lines(events []types.OperationEvent) []string {
	texts := make([]string, len(events))
	for i, e := range events {
		text := fmt.Sprintf("%s %s %s", e.OperationType, aws.ToString(e.LogicalResourceId), e.ResourceStatus)
		if e.OperationStatus != "" {
			text += " operation " + string(e.OperationStatus)
		}
		if e.EventType != types.EventTypeStackEvent {
			text += " " + string(e.EventType)
		}
		texts[i] = text
	}
	return texts
}

func (w *world) lastOperations(stack string) (list []string, ids []string) {
	w.t.Helper()
	out, err := w.client.DescribeStacks(w.t.Context(), &sdk.DescribeStacksInput{StackName: &stack})
	w.must(err)
	for _, o := range out.Stacks[0].LastOperations {
		list, ids = append(list, string(o.OperationType)), append(ids, *o.OperationId)
	}
	return list, ids
}

// TestOperations checks the operations of a stack. An update that is rolled back automatically has failed, and its
// rollback is an operation of its own.
func TestOperations(t *testing.T) {
	w := newWorld(t)
	id := w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: &fixed})
	next := `{"Resources": {"R": ` + resource(`"N": 1`) + `}}`
	updated, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{
		StackName: str("s"), TemplateBody: &next, ClientRequestToken: str("mine"),
	})
	w.must(err)
	w.answerOnce(fails)
	w.answerOnce(fails) // and the one of the rollback

	types1, ids := w.lastOperations(id)
	if diff := cmp.Diff([]string{"ROLLBACK", "UPDATE_STACK"}, types1); diff != "" {
		t.Errorf("last operations (-want +got):\n%s", diff)
	}
	if ids[1] != *updated.OperationId {
		t.Errorf("the update is %s, was said to be %s", ids[1], *updated.OperationId)
	}
	update := []string{
		"UPDATE_STACK s UPDATE_IN_PROGRESS operation IN_PROGRESS",
		"UPDATE_STACK R UPDATE_IN_PROGRESS",
		"UPDATE_STACK R UPDATE_FAILED PROVISIONING_ERROR",
		"UPDATE_STACK   operation FAILED",
	}
	rollback := []string{
		"ROLLBACK s UPDATE_ROLLBACK_IN_PROGRESS operation IN_PROGRESS",
		"ROLLBACK R UPDATE_IN_PROGRESS",
		"ROLLBACK R UPDATE_FAILED PROVISIONING_ERROR",
		"ROLLBACK s UPDATE_ROLLBACK_FAILED operation FAILED",
	}
	create := []string{
		"CREATE_STACK s CREATE_IN_PROGRESS operation IN_PROGRESS",
		"CREATE_STACK R CREATE_IN_PROGRESS",
		"CREATE_STACK R CREATE_IN_PROGRESS",
		"CREATE_STACK R CREATE_COMPLETE",
		"CREATE_STACK s CREATE_COMPLETE operation SUCCEEDED",
	}
	failures := &types.EventFilter{FailedEvents: new(true)}
	for name, test := range map[string]struct {
		in   sdk.DescribeEventsInput
		want []string
	}{
		"stack":              {sdk.DescribeEventsInput{StackName: str("s")}, slices.Concat(create, update, rollback)},
		"stack by its ARN":   {sdk.DescribeEventsInput{StackName: &id}, slices.Concat(create, update, rollback)},
		"operation":          {sdk.DescribeEventsInput{OperationId: &ids[1]}, update},
		"rollback":           {sdk.DescribeEventsInput{OperationId: &ids[0]}, rollback},
		"both":               {sdk.DescribeEventsInput{OperationId: &ids[0], StackName: str("s")}, rollback},
		"failures":           {sdk.DescribeEventsInput{StackName: str("s"), Filters: failures}, append(update[2:4:4], rollback[2:]...)},
		"of one operation":   {sdk.DescribeEventsInput{OperationId: &ids[1], Filters: failures}, update[2:]},
		"not only failures":  {sdk.DescribeEventsInput{OperationId: &ids[1], Filters: &types.EventFilter{FailedEvents: new(false)}}, update},
		"no change set, ARN": {sdk.DescribeEventsInput{StackName: &id, OperationId: updated.OperationId}, update},
	} {
		if diff := cmp.Diff(test.want, lines(w.operationEvents(test.in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	// The events of an operation include those of the operation itself.
	events := w.operationEvents(sdk.DescribeEventsInput{OperationId: &ids[1]})
	first, last := events[0], events[3]
	if first.EndTime != nil || !first.StartTime.Equal(*first.Timestamp) || events[1].StartTime != nil {
		t.Errorf("the first event: start %v, end %v, time %v; the second: start %v", first.StartTime, first.EndTime, first.Timestamp, events[1].StartTime)
	}
	if !last.StartTime.Equal(*first.StartTime) || last.EndTime == nil || aws.ToString(last.ClientRequestToken) != "mine" ||
		*last.ResourceStatusReason != "The following resource(s) failed to update: [R]." || last.PhysicalResourceId != nil {
		t.Errorf("the last event: %+v", last)
	}
	events = w.operationEvents(sdk.DescribeEventsInput{OperationId: &ids[0]})
	if first, last := events[0], events[3]; !first.StartTime.Equal(*first.Timestamp) || !last.StartTime.Equal(*first.StartTime) ||
		!last.EndTime.Equal(*last.Timestamp) || *first.StackId != id || aws.ToString(events[1].ResourceProperties) == "" {
		t.Errorf("the rollback: %+v\n%+v", first, last)
	}
	unique := map[string]bool{}
	for _, e := range w.operationEvents(sdk.DescribeEventsInput{StackName: str("s")}) {
		unique[*e.EventId] = true
	}
	if want := len(create) + len(update) + len(rollback); len(unique) != want {
		t.Errorf("%d different event ids of %d events", len(unique), want)
	}
	if _, body := w.post("Action=DescribeEvents&StackName=s"); !strings.Contains(body, "<PhysicalResourceId/>") {
		t.Error("an id that is not known yet is no empty element")
	}

	// The rollback continues, and then the stack is deleted.
	_, err = w.client.ContinueUpdateRollback(t.Context(), &sdk.ContinueUpdateRollbackInput{StackName: str("s")})
	w.must(err)
	w.provide(succeeds)
	list, ids := w.lastOperations(id)
	if diff := cmp.Diff([]string{"CONTINUE_ROLLBACK", "ROLLBACK", "UPDATE_STACK"}, list); diff != "" {
		t.Errorf("last operations (-want +got):\n%s", diff)
	}
	want := []string{
		"CONTINUE_ROLLBACK s UPDATE_ROLLBACK_IN_PROGRESS operation IN_PROGRESS", "CONTINUE_ROLLBACK R UPDATE_IN_PROGRESS",
		"CONTINUE_ROLLBACK R UPDATE_COMPLETE", "CONTINUE_ROLLBACK s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS operation IN_PROGRESS",
		"CONTINUE_ROLLBACK s UPDATE_ROLLBACK_COMPLETE operation SUCCEEDED",
	}
	if diff := cmp.Diff(want, lines(w.operationEvents(sdk.DescribeEventsInput{OperationId: &ids[0]}))); diff != "" {
		t.Errorf("continued (-want +got):\n%s", diff)
	}
	_, err = w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: str("s")})
	w.must(err)
	w.provide(succeeds)
	list, ids = w.lastOperations(id)
	if diff := cmp.Diff([]string{"DELETE_STACK"}, list); diff != "" {
		t.Errorf("last operations (-want +got):\n%s", diff)
	}
	want = []string{
		"DELETE_STACK s DELETE_IN_PROGRESS operation IN_PROGRESS", "DELETE_STACK R DELETE_IN_PROGRESS",
		"DELETE_STACK R DELETE_COMPLETE", "DELETE_STACK s DELETE_COMPLETE operation SUCCEEDED",
	}
	if diff := cmp.Diff(want, lines(w.operationEvents(sdk.DescribeEventsInput{OperationId: &ids[0]}))); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// TestOperationsOfACreate checks the operations after a failed create: its rollback, its delete, or a later operation
// of a client.
func TestOperationsOfACreate(t *testing.T) {
	for name, test := range map[string]struct {
		in   sdk.CreateStackInput
		then func(*world)
		last []string
		want []string
	}{
		"rolledback": {sdk.CreateStackInput{}, nil, []string{"ROLLBACK", "CREATE_STACK"}, []string{
			"CREATE_STACK   operation FAILED", "ROLLBACK rolledback ROLLBACK_IN_PROGRESS operation IN_PROGRESS",
			"ROLLBACK R DELETE_IN_PROGRESS", "ROLLBACK R DELETE_COMPLETE", "ROLLBACK rolledback ROLLBACK_COMPLETE operation SUCCEEDED"}},
		"deleted": {sdk.CreateStackInput{OnFailure: types.OnFailureDelete}, nil, []string{"DELETE_STACK", "CREATE_STACK"}, []string{
			"CREATE_STACK   operation FAILED", "DELETE_STACK deleted DELETE_IN_PROGRESS operation IN_PROGRESS",
			"DELETE_STACK R DELETE_IN_PROGRESS", "DELETE_STACK R DELETE_COMPLETE", "DELETE_STACK deleted DELETE_COMPLETE operation SUCCEEDED"}},
		"left": {sdk.CreateStackInput{OnFailure: types.OnFailureDoNothing}, nil, []string{"CREATE_STACK"}, []string{
			"CREATE_STACK left CREATE_FAILED operation FAILED"}},
		"later": {sdk.CreateStackInput{OnFailure: types.OnFailureDoNothing}, func(w *world) {
			_, err := w.client.RollbackStack(t.Context(), &sdk.RollbackStackInput{StackName: str("later")})
			w.must(err)
		}, []string{"ROLLBACK", "CREATE_STACK"}, []string{
			"CREATE_STACK later CREATE_FAILED operation FAILED", "ROLLBACK later ROLLBACK_IN_PROGRESS operation IN_PROGRESS",
			"ROLLBACK R DELETE_IN_PROGRESS", "ROLLBACK R DELETE_COMPLETE", "ROLLBACK later ROLLBACK_COMPLETE operation SUCCEEDED"}},
	} {
		w := newWorld(t)
		test.in.StackName, test.in.TemplateBody = &name, &fixed
		created, err := w.client.CreateStack(t.Context(), &test.in)
		w.must(err)
		w.answerOnce(fails)
		if test.then != nil {
			test.then(w)
		}
		w.provide(succeeds)
		last, _ := w.lastOperations(*created.StackId)
		if diff := cmp.Diff(test.last, last); diff != "" {
			t.Errorf("%s: last operations (-want +got):\n%s", name, diff)
		}
		events := lines(w.operationEvents(sdk.DescribeEventsInput{StackName: created.StackId}))
		want := append([]string{
			"CREATE_STACK " + name + " CREATE_IN_PROGRESS operation IN_PROGRESS", "CREATE_STACK R CREATE_IN_PROGRESS",
			"CREATE_STACK R CREATE_FAILED PROVISIONING_ERROR",
		}, test.want...)
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
}

// TestOperationEventPaging reads a history whose pages end anywhere, even between an event and the end of an operation
// that is derived from it.
func TestOperationEventPaging(t *testing.T) {
	w := newWorld(t)
	for _, n := range []int{96, 97, 98, 99, 130} {
		name := fmt.Sprint("s", n)
		_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: &name, TemplateBody: str(wide(n, ""))})
		w.must(err)
		first := w.take()
		w.answer(first[0], fails)
		for _, r := range first[1:] {
			w.answer(r, succeeds)
		}
		w.provide(succeeds)
		history, err := w.client.DescribeStackEvents(t.Context(), &sdk.DescribeStackEventsInput{StackName: &name})
		w.must(err)
		plain := len(history.StackEvents)
		for history.NextToken != nil {
			history, err = w.client.DescribeStackEvents(t.Context(), &sdk.DescribeStackEventsInput{StackName: &name, NextToken: history.NextToken})
			w.must(err)
			plain += len(history.StackEvents)
		}
		events := w.operationEvents(sdk.DescribeEventsInput{StackName: &name})
		unique := map[string]bool{}
		ends := 0
		for _, e := range events {
			unique[*e.EventId] = true
			if e.OperationStatus == types.BeaconStackOperationStatusFailed {
				ends++
			}
		}
		if len(events) != plain+1 || len(unique) != len(events) || ends != 1 {
			t.Errorf("%d resources: %d events, %d different, %d ends; want %d and 1", n, len(events), len(unique), ends, plain+1)
		}
		failed := w.operationEvents(sdk.DescribeEventsInput{StackName: &name, Filters: &types.EventFilter{FailedEvents: new(true)}})
		if len(failed) < 2 || *failed[len(failed)-1].EventId != *events[slices.IndexFunc(events, func(e types.OperationEvent) bool {
			return e.OperationStatus == types.BeaconStackOperationStatusFailed
		})].EventId {
			t.Errorf("%d resources: failures %v", n, lines(failed))
		}
	}
	// A token is valid only for its selection.
	page, err := w.client.DescribeEvents(t.Context(), &sdk.DescribeEventsInput{StackName: str("s130")})
	w.must(err)
	_, ids := w.lastOperations("s130")
	for _, form := range []string{"StackName=s99", "StackName=s130&Filters.FailedEvents=true", "OperationId=" + ids[0]} {
		if got := w.refusal("Action=DescribeEvents&" + form + "&NextToken=" + escape(*page.NextToken)); !strings.HasPrefix(got, "400 ValidationError: NextToken is not one") {
			t.Errorf("%s takes the token of another selection: %s", form, got)
		}
	}
}
