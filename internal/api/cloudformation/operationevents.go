package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/store"
)

// The values of EventType in use. Validations and hooks, which this server does not have, use others.
const (
	stackEvent        = "STACK_EVENT"
	provisioningError = "PROVISIONING_ERROR"
)

// operationEventView is the structure OperationEvent: an event of DescribeStackEvents with its operation.
// OperationStatus and the times are set on the stack's own events.
type operationEventView struct {
	EventID              string `query:"EventId"`
	StackID              string `query:"StackId"`
	OperationID          string `query:"OperationId,omitempty"`
	OperationType        string `query:",omitempty"`
	OperationStatus      string `query:",omitempty"`
	EventType            string
	LogicalResourceID    string  `query:"LogicalResourceId,omitempty"`
	PhysicalResourceID   *string `query:"PhysicalResourceId"`
	ResourceType         string  `query:",omitempty"`
	Timestamp            time.Time
	StartTime            time.Time
	EndTime              time.Time
	ResourceStatus       string `query:",omitempty"`
	ResourceStatusReason string `query:",omitempty"`
	ResourceProperties   string `query:",omitempty"`
	ClientRequestToken   string `query:",omitempty"`
}

// failed reports whether the event is a failure of a resource or of the operation.
func (e *operationEventView) failed() bool {
	return e.EventType == provisioningError || e.OperationStatus == operationFailed
}

type describeEventsInput struct {
	StackName     string `length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	ChangeSetName string `length:"1,1600" pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/]*"`
	OperationID   string `query:"OperationId" length:"1,128"`
	Filters       struct {
		FailedEvents bool
	}
	pageInput
}

type describeEventsOutput struct {
	OperationEvents []operationEventView
	NextToken       string `query:",omitempty"`
}

// eventSelection selects events of a stack's history.
type eventSelection struct {
	stack store.Stack
	// operation is the ID of the selected operation, empty for all; number is its row.
	operation string
	number    int
	// failures selects only failures.
	failures bool
	// none selects no events.
	none bool
}

// scope binds paging tokens to the selection.
func (s eventSelection) scope() string {
	return fmt.Sprintf("%s|%s|%t", stackScope("DescribeEvents", s.stack), s.operation, s.failures)
}

// describeEvents returns the events of a stack, or of one of its operations, newest first. A rollback is an operation
// of its own, even if it began automatically. A change set has the events of its execution.
func (f events) describeEvents(ctx context.Context, in describeEventsInput) (out describeEventsOutput, err error) {
	selection, err := f.selectEvents(ctx, &in)
	if err != nil {
		return out, err
	}
	scope := selection.scope()
	var at eventPosition
	if err := f.position(in.pageInput, scope, &at); err != nil {
		return out, err
	}
	if selection.none {
		return out, nil
	}
	page, next, err := f.operationEventPage(ctx, selection, at)
	if err != nil {
		return out, err
	}
	out.OperationEvents = page
	if next != nil {
		out.NextToken, err = f.tokens.Encode(scope, next)
	}
	return out, err
}

func (f events) selectEvents(ctx context.Context, in *describeEventsInput) (s eventSelection, err error) {
	const noSelector = "One of ChangeSetName, OperationId or StackName must be specified"
	s.failures = in.Filters.FailedEvents
	switch {
	case in.ChangeSetName != "" && in.StackName == "" && in.OperationID == "" && !strings.HasPrefix(in.ChangeSetName, "arn:"):
		return s, query.Validation(noSelector + ". StackName must be specified if ChangeSetName is not specified as an ARN.")
	case in.ChangeSetName != "":
		set, err := changeSets(f).changeSet(ctx, changeSetInput{ChangeSetName: in.ChangeSetName, StackName: in.StackName})
		s.stack, s.operation, s.number, s.none = set.Owner, set.OperationID, set.Operation, set.Operation == 0
		return s, err
	case in.OperationID == "" && in.StackName == "":
		return s, query.Validation(noSelector)
	}
	if in.StackName != "" {
		if s.stack, err = f.find(ctx, in.StackName, noStackBracket); err != nil || in.OperationID == "" {
			return s, err
		}
	}
	caller, err := f.who(ctx)
	if err != nil {
		return s, err
	}
	stack, operation, err := f.engine.FindOperation(ctx, caller.Account, caller.Region, in.OperationID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && in.StackName != "" && stack.Key != s.stack.Key:
		return s, query.Validation("Operation [%s] does not exist", in.OperationID)
	case err != nil:
		return s, err
	}
	s.stack, s.operation, s.number = stack, in.OperationID, operation.Number
	return s, nil
}

// operationEventPage returns a page of the selected events, newest first, and the position of the next page, or nil. It
// scans a limited number of rows, so a page may be incomplete although another page follows.
func (f events) operationEventPage(
	ctx context.Context, s eventSelection, at eventPosition,
) (page []operationEventView, next *eventPosition, err error) {
	var before store.EventCursor
	switch {
	case at.Number > 0:
		before = store.EventCursor{Operation: at.Operation, Number: at.Number + 1}
	case s.number > 0:
		before = store.EventCursor{Operation: s.number + 1}
	}
	operations := map[int]*store.Operation{} // cache for this page
	for scanned := 0; ; {
		rows, err := f.rows.Events(ctx, s.stack.Key, before, pageSize+1)
		if err != nil {
			return nil, nil, err
		}
		for _, row := range rows {
			if row.Place.Operation < s.number {
				return page, nil, nil
			}
			shown := 0
			if row.Place == (store.EventCursor{Operation: at.Operation, Number: at.Number}) {
				shown = at.Shown
			}
			op, err := f.operation(ctx, s.stack.Key, row.Place.Operation, operations)
			if err != nil {
				return nil, nil, err
			}
			events := viewOperationEvents(s.stack, op, row.Events)
			for i := shown; i < len(events); i++ {
				switch e := events[i]; {
				case s.operation != "" && e.OperationID != s.operation, s.failures && !e.failed():
				case len(page) == pageSize:
					return page, &eventPosition{Operation: row.Place.Operation, Number: row.Place.Number, Shown: i}, nil
				default:
					page = append(page, e)
				}
			}
			before = row.Place
			if scanned++; scanned == maxScanned {
				return page, &eventPosition{Operation: before.Operation, Number: before.Number, Shown: len(events)}, nil
			}
		}
		if len(rows) <= pageSize {
			return page, nil, nil
		}
	}
}

// operation returns an operation from known, or loads and adds it.
func (f events) operation(
	ctx context.Context, stack store.StackKey, number int, known map[int]*store.Operation,
) (*store.Operation, error) {
	if op := known[number]; op != nil {
		return op, nil
	}
	op, err := f.rows.Operation(ctx, stack, number)
	if err != nil {
		return nil, err
	}
	known[number] = &op
	return &op, nil
}

// viewOperationEvents returns the events of a transition, newest first. When an operation's own rollback begins, the
// operation itself ends. DescribeStackEvents has no event for that, so this function adds one.
func viewOperationEvents(stack store.Stack, op *store.Operation, events []store.Event) []operationEventView {
	views := make([]operationEventView, 0, len(events)+1)
	for _, e := range slices.Backward(events) {
		shown := viewEvent(stack, e)
		view := operationEventView{
			EventID: shown.EventID, StackID: shown.StackID, OperationID: shown.OperationID,
			OperationType: operationType(op, e.Operation), EventType: stackEvent,
			LogicalResourceID: shown.LogicalResourceID, PhysicalResourceID: &shown.PhysicalResourceID,
			ResourceType: shown.ResourceType, Timestamp: shown.Timestamp,
			ResourceStatus: shown.ResourceStatus, ResourceStatusReason: shown.ResourceStatusReason,
			ResourceProperties: shown.ResourceProperties, ClientRequestToken: shown.ClientRequestToken,
		}
		switch {
		case e.Phase != "":
			view.OperationStatus, view.StartTime = operationStatus(e.Phase), operationStart(op, e.Operation)
			if e.Phase.Final() {
				view.EndTime = e.Time
			}
		case e.Progress == store.ProgressFailed:
			view.EventType = provisioningError
		}
		views = append(views, view)
		if e.Operation == op.RollbackID && beginsRollback(e) {
			end := e.Time.Add(-time.Millisecond) // the engine leaves this time unused
			views = append(views, operationEventView{
				EventID: op.ID + "-" + operationFailed, StackID: shown.StackID,
				OperationID: op.ID, OperationType: operationType(op, op.ID), OperationStatus: operationFailed,
				EventType: stackEvent, Timestamp: end, StartTime: operationStart(op, op.ID), EndTime: end,
				ResourceStatusReason: e.Reason, ClientRequestToken: op.Token,
			})
		}
	}
	return views
}

// beginsRollback reports whether an event is the first of a rollback, or of the delete that follows a failed create.
func beginsRollback(e store.Event) bool {
	return e.Phase == store.PhaseRevert || e.Phase == store.PhaseApply && e.Kind == store.KindDelete
}
