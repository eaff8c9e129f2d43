package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

// follow watches an operation that this command began, to its end, and reports it.
func (s *session) follow(ctx context.Context, p place, name, id, action string, r *result, asJSON bool) error {
	r.Action = action
	began := s.app.now()
	c, err := s.watch(ctx, id, s.app.watcher(name, asJSON))
	r.Events = append(r.Events, eventDocuments(c.events)...)
	if err != nil {
		return err
	}
	r.take(c.stack)
	if !reached(action, c.stack.StackStatus) {
		return s.broken(ctx, p, name, c, r)
	}
	for _, e := range givenUp(c.events) {
		s.app.say("note: %s (%s) could not be deleted and was given up: %s", aws.ToString(e.LogicalResourceId),
			aws.ToString(e.PhysicalResourceId), firstLineOf(aws.ToString(e.ResourceStatusReason)))
	}
	if !asJSON {
		fmt.Fprintf(s.app.stdout, "\nstack %s was %s in %s\n", name, participle(action), display.Span(s.app.now().Sub(began)))
		if action != "delete" {
			s.app.printOutputs(c.stack)
		}
	}
	return nil
}

// broken reports an operation that did not reach its aim.
func (s *session) broken(ctx context.Context, p place, name string, c course, r *result) error {
	f := s.explain(ctx, c)
	what, hint := "was not updated", p.retry("deploy")
	if remedies := p.remedies(c.stack.StackStatus, c.events); remedies != "" {
		hint = remedies
		if c.stack.StackStatus != types.StackStatusDeleteFailed {
			hint = "look with: " + p.look("describe", name) + "\n" + remedies
		}
	}
	switch c.stack.StackStatus {
	case types.StackStatusRollbackComplete:
		what = "was not created: what was made has been deleted again"
	case types.StackStatusRollbackFailed:
		what = "was not created, and what was made could not be deleted"
	case types.StackStatusCreateFailed:
		what = "was not created, and is left as it is"
	case types.StackStatusUpdateRollbackComplete:
		what = "was not updated: it is as it was before"
	case types.StackStatusUpdateRollbackFailed:
		what = "was not updated, and could not be brought back"
	case types.StackStatusUpdateFailed:
		what = "was not updated, and is left as it is"
	case types.StackStatusDeleteFailed:
		what = "was not deleted"
	}
	r.Failure = f
	f.Next = hint
	fail := failed(fmt.Errorf("stack %s %s (%s)", name, what, c.stack.StackStatus), hint)
	fail.detail = f
	return fail
}

// reached reports whether a command's operation ended where it was to.
func reached(action string, status types.StackStatus) bool {
	switch action {
	case "cancel", "continue", "rollback":
		return status == types.StackStatusRollbackComplete || status == types.StackStatusUpdateRollbackComplete
	}
	return wentWell(status)
}

// participle says what was done to a stack.
func participle(action string) string {
	switch action {
	case "cancel", "continue", "rollback":
		return "rolled back"
	}
	return action + "d"
}

// givenUp returns the last failure of each physical resource that the operation could not delete, and went on without.
func givenUp(events []types.StackEvent) (list []types.StackEvent) {
	type resource struct{ logical, physical string }
	failed := map[resource]types.StackEvent{}
	var order []resource
	for _, e := range events {
		r := resource{aws.ToString(e.LogicalResourceId), aws.ToString(e.PhysicalResourceId)}
		switch _, known := failed[r]; e.ResourceStatus {
		case types.ResourceStatusDeleteFailed:
			if !known {
				order = append(order, r)
			}
			failed[r] = e
		case types.ResourceStatusDeleteComplete:
			delete(failed, r)
		}
	}
	for _, r := range order {
		if e, ok := failed[r]; ok && !own(e) {
			list = append(list, e)
			delete(failed, r)
		}
	}
	return list
}
