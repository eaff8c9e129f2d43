package ros

import (
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

type listStackEventsInput struct {
	stackInput
	PageNumber        int      `range:"1,"`
	PageSize          int      `range:"1,100"` // default 50 by the newest page of the API, 100 by the first
	Status            []string `length:",50"`
	ResourceType      []string `length:",50"`
	LogicalResourceID []string `rpc:"LogicalResourceId" length:",50"`
}

// eventView is an event in a response. It omits an unknown PhysicalResourceId.
type eventView struct {
	EventID            string `json:"EventId"`
	StackID            string `json:"StackId"`
	StackName          string
	LogicalResourceID  string `json:"LogicalResourceId"`
	PhysicalResourceID string `json:"PhysicalResourceId,omitempty"`
	ResourceType       string
	Status             string
	StatusReason       string
	CreateTime         string
}

type listStackEventsOutput struct {
	Events []eventView
	paged
}

// listStackEvents lists events, newest first.
func (f *handler) listStackEvents(ctx context.Context, in listStackEventsInput) (out listStackEventsOutput, err error) {
	stack, err := f.find(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	all := []eventView{}
	for before := (store.EventCursor{}); ; {
		rows, err := f.rows.Events(ctx, stack.Key, before, scanned)
		if err != nil {
			return out, err
		}
		for _, row := range rows {
			for _, e := range slices.Backward(row.Events) {
				if view := viewEvent(stack, e); in.wants(&view) {
					all = append(all, view)
				}
			}
		}
		if len(rows) < scanned {
			break
		}
		before = rows[len(rows)-1].Place
	}
	out.Events, out.paged = page(paging{in.PageNumber, in.PageSize}, all)
	return out, nil
}

func (in *listStackEventsInput) wants(e *eventView) bool {
	is := func(list []string, text string) bool { return len(list) == 0 || slices.Contains(list, text) }
	return is(in.Status, e.Status) && is(in.ResourceType, e.ResourceType) && is(in.LogicalResourceID, e.LogicalResourceID)
}

func viewEvent(stack store.Stack, e store.Event) eventView {
	status := engine.ROS.ResourceStatus(e.Verb, e.Progress)
	if e.Phase != "" {
		status = engine.ROS.StackStatus(e.Kind, e.Phase)
	}
	return eventView{
		EventID: e.ID, StackID: string(stack.ID), StackName: stack.Name, LogicalResourceID: string(e.Logical),
		PhysicalResourceID: string(e.Physical), ResourceType: e.Type, Status: status, StatusReason: e.Reason,
		CreateTime: timeText(e.Time),
	}
}
