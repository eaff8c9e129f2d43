package main

import (
	"context"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
)

// begins reports whether an event is the first of an operation.
func begins(e stacks.Event) bool { return e.Begins }

// shown returns events as they are displayed.
func shown(events []stacks.Event) []display.Event {
	list := make([]display.Event, len(events))
	for i, e := range events {
		list[i] = display.Event{
			Time: e.Time, Logical: e.Logical, Physical: e.Physical, Type: e.Type, Status: e.Status, Reason: e.Reason, Own: e.Own,
		}
	}
	return list
}

// waiting returns the unsettled requests of a stack as they are displayed. They are an adornment: without them the
// watching continues.
func (s *session) waiting(ctx context.Context, p place, name, stack string) []display.Waiting {
	requests, err := s.operator.requests(ctx, stack)
	if err != nil {
		return nil
	}
	list := make([]display.Waiting, len(requests))
	for i, r := range requests {
		list[i] = display.Waiting{
			Logical: string(r.Logical), Type: r.Type, Provider: r.Provider, Left: -1, Progress: r.Progress, Silent: r.Silent != nil,
		}
		if r.RemainingSeconds != nil && r.State == "waiting" {
			list[i].Left, list[i].Since = seconds(*r.RemainingSeconds), r.Since
			list[i].Answer = p.answer(name, string(r.Logical))
		}
	}
	return list
}
