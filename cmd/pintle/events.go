package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
)

func (a *showCommands) eventsCommand() *cobra.Command {
	var o readOptions
	var follow, audit bool
	cmd := &cobra.Command{
		Use:   "events [STACK | DIR]",
		Short: "Show the events of a stack, oldest first",
		Long: `Show the events of a stack, oldest first. The default is the stack in pintle.yaml. For
a deleted stack, use the id that "pintle list --all" shows. With --follow the command
continues until the operation is done. The newest entries of the audit list follow.

--audit shows the audit list instead: answers that came late or twice, that carry wrong
copies of the request's fields, or that a person gave for a provider.`,
		Args: cobra.MaximumNArgs(1),
		RunE: runE(func(ctx context.Context, args []string) error {
			if follow && audit {
				return usagef("", "--follow and --audit cannot be combined")
			}
			if audit {
				return a.showAudit(ctx, &o, first(args))
			}
			return a.showEvents(ctx, &o, first(args), follow)
		}),
	}
	o.flags(cmd)
	cmd.ValidArgsFunction = a.complete.stack
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until the operation is done")
	cmd.Flags().BoolVar(&audit, "audit", false, "show the audit list")
	return cmd
}

func (a *showCommands) showEvents(ctx context.Context, o *readOptions, given string, follow bool) error {
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
			Events []eventDocument `json:"events"`
			Audit  []auditDocument `json:"audit,omitempty"`
		}{eventDocuments(events), remarks})
	}
	a.printRemarks(remarks, p.look("events", name)+" --audit")
	var codes []string
	for _, e := range eventDocuments(events) {
		codes = append(codes, e.Code)
	}
	a.printExplains(codes)
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
			return events, failed(errors.New("stopped: the operation is still in progress"))
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
		if s.here != nil { // a reader: no one works on the stack
			return events, failed(fmt.Errorf("stack %s is in %s, and no engine is running it", name, stack.Status),
				"continue with: "+s.goOn(ctx, p, id))
		}
		if out != nil {
			out.Tick(s.now(), s.waiting(ctx, p, name, id))
		}
		if err := pause(ctx, wait); err != nil {
			return events, failed(errors.New("stopped: the operation is still in progress"))
		}
		wait = min(wait*3/2, slowest)
	}
}

func (a *showCommands) showAudit(ctx context.Context, o *readOptions, given string) error {
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
		return a.document(struct {
			Audit []auditDocument `json:"audit"`
		}{list})
	}
	if len(list) == 0 {
		a.say("the audit list of %s is empty", name)
		return nil
	}
	var rows [][]string
	for _, entry := range list {
		rows = append(rows, []string{stamp(entry.Time), string(entry.Logical), entry.Text, string(entry.Request)})
	}
	fmt.Fprint(a.stdout, display.Columns(rows))
	return nil
}
