package cloudformation

import (
	"context"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// eventView is the structure StackEvent. An unknown PhysicalResourceId is present but empty.
type eventView struct {
	EventID              string `query:"EventId"`
	StackID              string `query:"StackId"`
	StackName            string
	OperationID          string `query:"OperationId,omitempty"`
	LogicalResourceID    string `query:"LogicalResourceId"`
	PhysicalResourceID   string `query:"PhysicalResourceId"`
	ResourceType         string
	Timestamp            time.Time
	ResourceStatus       string
	ResourceStatusReason string `query:",omitempty"`
	ResourceProperties   string `query:",omitempty"`
	ClientRequestToken   string `query:",omitempty"`
}

type describeStackEventsInput struct {
	StackName string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	pageInput
}

type describeStackEventsOutput struct {
	StackEvents []eventView
	NextToken   string `query:",omitempty"`
}

// eventPosition is a position in a stack's history, newest first. It contains the row to continue with, and the number
// of its newest events that were already shown. New events do not move the position.
type eventPosition struct {
	Operation int `json:"o"`
	Number    int `json:"n"`
	Shown     int `json:"s"`
}

// events answers the operations that list events.
type events struct{ *handler }

func (f events) describeStackEvents(ctx context.Context, in describeStackEventsInput) (out describeStackEventsOutput, err error) {
	stack, err := f.find(ctx, in.StackName, noStackBracket)
	if err != nil {
		return out, err
	}
	scope := stackScope("DescribeStackEvents", stack)
	var at eventPosition
	if err := f.position(in.pageInput, scope, &at); err != nil {
		return out, err
	}
	events, next, err := f.eventPage(ctx, stack.Key, at)
	if err != nil {
		return out, err
	}
	for _, e := range events {
		out.StackEvents = append(out.StackEvents, viewEvent(stack, e))
	}
	if next != nil {
		out.NextToken, err = f.tokens.Encode(scope, next)
	}
	return out, err
}

// eventPage returns a page of events, newest first, and the position of the next page, or nil.
func (f events) eventPage(ctx context.Context, stack store.StackKey, at eventPosition) ([]store.Event, *eventPosition, error) {
	var before store.EventCursor
	if at.Number > 0 {
		before = store.EventCursor{Operation: at.Operation, Number: at.Number + 1}
	}
	// A row has at least one event, so these rows contain more than a page or all remaining events.
	rows, err := f.rows.Events(ctx, stack, before, pageSize+1)
	if err != nil {
		return nil, nil, err
	}
	var page []store.Event
	for _, row := range rows {
		shown := 0
		if row.Place == (store.EventCursor{Operation: at.Operation, Number: at.Number}) {
			shown = at.Shown
		}
		newestFirst := slices.Clone(row.Events)
		slices.Reverse(newestFirst)
		for i := shown; i < len(newestFirst); i++ {
			if len(page) == pageSize {
				return page, &eventPosition{Operation: row.Place.Operation, Number: row.Place.Number, Shown: i}, nil
			}
			page = append(page, newestFirst[i])
		}
	}
	return page, nil, nil
}

func viewEvent(stack store.Stack, e store.Event) eventView {
	status := engine.CloudFormation.ResourceStatus(e.Verb, e.Progress)
	if e.Phase != "" {
		status = engine.CloudFormation.StackStatus(e.Kind, e.Phase)
	}
	return eventView{
		EventID: e.ID, StackID: string(stack.ID), StackName: stack.Name, OperationID: e.Operation,
		LogicalResourceID: string(e.Logical), PhysicalResourceID: string(e.Physical), ResourceType: e.Type,
		Timestamp: e.Time, ResourceStatus: status, ResourceStatusReason: e.Reason,
		ResourceProperties: e.Properties, ClientRequestToken: e.Token,
	}
}
