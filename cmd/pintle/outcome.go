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
	if !wentWell(c.stack.StackStatus) {
		return s.broken(ctx, p, name, c, r)
	}
	for _, e := range failures(c.events) {
		s.app.say("note: %s (%s) could not be deleted and was given up: %s", aws.ToString(e.LogicalResourceId),
			aws.ToString(e.PhysicalResourceId), firstLineOf(aws.ToString(e.ResourceStatusReason)))
	}
	if !asJSON {
		fmt.Fprintf(s.app.stdout, "\nstack %s was %sd in %s\n", name, action, display.Span(s.app.now().Sub(began)))
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
	look := "look with: " + p.look("describe", name) + "\n"
	clear := look + "clear it away with: " + p.again("delete")
	stuck := look + "mend the provider, then clear it away with: " + p.again("delete")
	switch c.stack.StackStatus {
	case types.StackStatusRollbackComplete:
		what = "was not created: what was made has been deleted again"
	case types.StackStatusRollbackFailed:
		what, hint = "was not created, and what was made could not be deleted", stuck
	case types.StackStatusCreateFailed:
		what, hint = "was not created, and is left as it is", clear
	case types.StackStatusUpdateRollbackComplete:
		what = "was not updated: it is as it was before"
	case types.StackStatusUpdateRollbackFailed:
		what, hint = "was not updated, and could not be brought back", stuck
	case types.StackStatusUpdateFailed:
		what, hint = "was not updated, and is left as it is", clear
	case types.StackStatusDeleteFailed:
		what, hint = "was not deleted", p.retry("delete")
	}
	r.Failure = f
	f.Next = hint
	fail := failed(fmt.Errorf("stack %s %s (%s)", name, what, c.stack.StackStatus), hint)
	fail.detail = f
	return fail
}
