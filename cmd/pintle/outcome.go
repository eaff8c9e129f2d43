package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
)

// follow watches an operation that this command began, to its end, and reports it.
func (s *session) follow(ctx context.Context, p place, name, id, action string, r *result, asJSON bool) error {
	r.Action = action
	began := s.now()
	c, err := s.watch(ctx, p, name, id, asJSON)
	r.Events = append(r.Events, eventDocuments(c.events)...)
	if err != nil {
		return err
	}
	r.take(c.stack)
	r.Audit = s.remarks(ctx, c.stack.ID, c.events)
	if !asJSON {
		s.printRemarks(r.Audit, p.look("events", name)+" --audit")
	}
	if !reached(action, c.stack.State) {
		return s.broken(ctx, p, name, c, r)
	}
	for _, e := range givenUp(c.events) {
		s.say("note: %s (%s) could not be deleted and was abandoned: %s", e.Logical, e.Physical, firstLineOf(e.Reason))
	}
	if !asJSON {
		fmt.Fprintf(s.stdout, "\nstack %s was %s in %s\n", name, participle(action), display.Span(s.now().Sub(began)))
		if action != "delete" {
			s.printOutputs(c.stack)
		}
	}
	return nil
}

// remarks returns the audit entries about requests since the first of some events, oldest first: answers that came twice or late,
// with wrong copies of the request's fields, or from a person. It is nil if the list cannot be read.
func (s *session) remarks(ctx context.Context, stack string, events []stacks.Event) (remarks []auditDocument) {
	if len(events) == 0 {
		return nil
	}
	list, err := s.operator.audit(ctx, stack)
	if err != nil {
		return nil // remarks only explain the result
	}
	for _, entry := range slices.Backward(list) {
		if entry.Request != "" && !entry.Time.Before(events[0].Time) {
			remarks = append(remarks, entry)
		}
	}
	return remarks
}

// maxRemarks is how many remarks a command prints.
const maxRemarks = 10

// printRemarks lists remarks; all is the command that shows the whole list.
func (t *terminal) printRemarks(remarks []auditDocument, all string) {
	for i, entry := range remarks {
		if i == maxRemarks {
			fmt.Fprintf(t.stdout, "note: %d more: %s\n", len(remarks)-maxRemarks, all)
			return
		}
		fmt.Fprintf(t.stdout, "note: %s: %s\n", entry.Logical, display.Clean(entry.Text))
	}
}

// broken reports an operation that did not reach its aim.
func (s *session) broken(ctx context.Context, p place, name string, c course, r *result) error {
	f := s.explain(ctx, c)
	what, hint := "was not updated", p.retry("deploy")
	if remedies := p.remedies(s.language, c.stack.State, c.events); remedies != "" {
		hint = remedies
		if c.stack.State != stacks.DeleteFailed {
			hint = "inspect it: " + p.look("describe", name) + "\n" + remedies
		}
	}
	switch c.stack.State {
	case stacks.CreateRolledBack:
		what = "was not created: created resources were deleted again"
	case stacks.CreateRollbackFailed:
		what = "was not created, and created resources could not be deleted"
	case stacks.CreateFailed:
		what = "was not created, and is kept as it is"
	case stacks.UpdateRolledBack:
		what = "was not updated: all changes were rolled back"
	case stacks.UpdateRollbackFailed:
		what = "was not updated, and could not be rolled back"
	case stacks.UpdateFailed:
		what = "was not updated, and is kept as it is"
	case stacks.DeleteFailed:
		what = "was not deleted"
	case stacks.Other, stacks.Working, stacks.InReview, stacks.Created, stacks.Updated, stacks.Deleted:
	}
	r.Failure = f
	f.Next = hint
	fail := failed(fmt.Errorf("stack %s %s (%s)", name, what, c.stack.Status), hint)
	fail.detail = f
	return fail
}

// reached reports whether a command's operation ended where it was to.
func reached(action string, state stacks.State) bool {
	switch action {
	case "cancel", "continue", "rollback":
		return state == stacks.CreateRolledBack || state == stacks.UpdateRolledBack
	}
	return state.WentWell()
}

// participle returns the past participle of an action on a stack.
func participle(action string) string {
	switch action {
	case "cancel", "continue", "rollback":
		return "rolled back"
	case "import":
		return "updated"
	}
	return action + "d"
}

// givenUp returns the last failure of each physical resource that the operation could not delete, and continued without.
func givenUp(events []stacks.Event) (list []stacks.Event) {
	type resource struct{ logical, physical string }
	failed := map[resource]stacks.Event{}
	var order []resource
	for _, e := range events {
		r := resource{e.Logical, e.Physical}
		switch _, known := failed[r]; e.Status {
		case "DELETE_FAILED":
			if !known {
				order = append(order, r)
			}
			failed[r] = e
		case "DELETE_COMPLETE":
			delete(failed, r)
		}
	}
	for _, r := range order {
		if e, ok := failed[r]; ok && !e.Own {
			list = append(list, e)
			delete(failed, r)
		}
	}
	return list
}
