package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
)

func (a *app) eventsCommand() *cobra.Command {
	var o readOptions
	var follow, audit bool
	cmd := &cobra.Command{
		Use:   "events [STACK]",
		Short: "Show what happened to a stack, oldest first",
		Long: `Show what happened to a stack, oldest first. Without STACK it is that of the
project. A stack that was deleted is named by its id, which list --all shows.
With --follow the command goes on until the stack is at rest. The newest entries
of the audit list follow the events.

--audit shows the audit list instead: answers that came late or twice, that have
wrong copies of the request's fields, or that a person gave in a provider's place.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.command(func(ctx context.Context, args []string) error {
			if follow && audit {
				return usagef("", "--follow and --audit exclude each other")
			}
			if audit {
				return a.showAudit(ctx, &o, first(args))
			}
			return a.showEvents(ctx, &o, first(args), follow)
		}),
	}
	o.flags(cmd)
	cmd.ValidArgsFunction = a.completeStack
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the stack is at rest")
	cmd.Flags().BoolVar(&audit, "audit", false, "show the audit list")
	return cmd
}

func (a *app) showEvents(ctx context.Context, o *readOptions, given string, follow bool) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	s, p, name, err := a.readStack(ctx, o, given)
	if err != nil {
		return err
	}
	var out *display.Lines
	if !asJSON {
		out = display.NewLines(a.stdout, time.Local)
		out.Dated = true
	}
	events, err := s.events(ctx, p, name, follow, out)
	remarks := s.remarks(ctx, name, events)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	if asJSON {
		return a.document(struct {
			Events []eventDocument  `json:"events"`
			Audit  []operator.Audit `json:"audit,omitempty"`
		}{eventDocuments(events), remarks})
	}
	a.printRemarks(remarks, p.look("events", name)+" --audit")
	return nil
}

// events collects the events of a stack and shows them as they come; out may be nil.
func (s *session) events(ctx context.Context, p place, name string, follow bool, out *display.Lines) ([]stacks.Event, error) {
	var events []stacks.Event
	id, seen, wait := name, "", fastest
	for {
		stack, err := s.stacks.Stack(ctx, id)
		switch {
		case ctx.Err() != nil:
			return events, failed(errors.New("stopped: the stack is not at rest"))
		case errors.Is(err, stacks.ErrNone):
			return nil, noStack(name)
		case err != nil:
			return events, err
		}
		id = stack.ID
		fresh, err := s.stacks.Events(ctx, id, seen, func(stacks.Event) bool { return false })
		if err != nil {
			return events, err
		}
		if len(fresh) > 0 {
			seen, wait = fresh[len(fresh)-1].ID, fastest
			events = append(events, fresh...)
			if out != nil {
				out.Events(shown(fresh))
			}
		}
		if !follow || stack.State != stacks.Working {
			return events, nil
		}
		if s.here != nil { // a reader: nobody works on the stack
			return events, failed(fmt.Errorf("stack %s is in %s, and no engine is at work on it", name, stack.Status),
				"go on with: "+s.goOn(ctx, p, id))
		}
		if out != nil {
			out.Tick(s.app.now(), s.waiting(ctx, p, name, id))
		}
		if err := pause(ctx, wait); err != nil {
			return events, failed(errors.New("stopped: the stack is not at rest"))
		}
		wait = min(wait*3/2, slowest)
	}
}

func (a *app) showAudit(ctx context.Context, o *readOptions, given string) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	s, _, name, err := a.readStack(ctx, o, given)
	if err != nil {
		return err
	}
	list, err := s.operator.audit(ctx, name)
	if err := errors.Join(err, s.close()); err != nil {
		return failed(err)
	}
	if asJSON {
		if list == nil {
			list = []operator.Audit{}
		}
		return a.document(operator.Audits{Audit: list})
	}
	if len(list) == 0 {
		a.say("there is nothing on the audit list of %s", name)
		return nil
	}
	var rows [][]string
	for _, entry := range list {
		rows = append(rows, []string{stamp(entry.Time), string(entry.Logical), entry.Text, string(entry.Request)})
	}
	fmt.Fprint(a.stdout, display.Columns(rows))
	return nil
}
