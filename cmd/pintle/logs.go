package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/wire"
)

// logOptions are the flags of logs.
type logOptions struct {
	readOptions
	follow, timestamps bool
	tail               int
}

func (a *showCommands) logsCommand() *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "logs [STACK | DIR] [LOGICAL_ID]",
		Short: "Show what the providers and functions of a stack printed",
		Long: `Show the lines that providers and functions printed for the resources of a stack, oldest
first. The default is the stack in pintle.yaml. With a logical ID, show the lines of
that resource, or of that function of the stack. --follow continues until it is
interrupted.

Pintle stores the lines of providers and functions that it runs itself, without secrets,
for 30 days. It keeps 4 MiB for each of 16 groups of stacks and removes the oldest lines
first. For a deleted stack, use the id that "pintle list --all" shows.`,
		Args: cobra.MaximumNArgs(2),
		RunE: runE(func(ctx context.Context, args []string) error {
			resource := ""
			if len(args) == 2 {
				resource = args[1]
			}
			return a.logs(ctx, &o, first(args), resource)
		}),
	}
	o.flags(cmd)
	cmd.ValidArgsFunction = a.complete.stack
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "continue until interrupted")
	flags.BoolVarP(&o.timestamps, "timestamps", "t", false, "show the time of each line")
	flags.IntVar(&o.tail, "tail", 0, "show only the last `N` lines, at most 1000 (default: all)")
	return cmd
}

// logs shows the stored lines of a stack, and with --follow those that come.
func (a *showCommands) logs(ctx context.Context, o *logOptions, given, resource string) error {
	asJSON, err := wantJSON(o.output)
	switch {
	case err != nil:
		return err
	case asJSON && o.follow:
		return usagef("omit one of them", "--follow and --output json cannot be combined")
	case o.tail < 0 || o.tail > 1000:
		return usagef("omit --tail to see all lines", "--tail must be from 1 to 1000")
	}
	s, p, name, err := a.readStack(ctx, &o.readOptions, given)
	if err != nil {
		return err
	}
	stack, err := s.stacks.Stack(ctx, name)
	if errors.Is(err, stacks.ErrNone) {
		err = noStack(name)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	r := logReader{connector: a.connector, stack: stack.ID, resource: resource, tail: o.tail}
	lines := []operator.LogLine{}
	show := func(page []operator.LogLine) {
		if asJSON {
			lines = append(lines, page...)
			return
		}
		for _, line := range page {
			a.printLine(line, resource, o.timestamps)
		}
	}
	err = r.read(ctx, s, show)
	if err == nil && !r.any && resource != "" {
		err = s.isResource(ctx, name, resource)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	if o.follow {
		return r.follow(ctx, s, o, p, show)
	}
	switch err := s.close(); {
	case err != nil:
		return err
	case asJSON:
		return a.document(struct {
			Lines []operator.LogLine `json:"lines"`
		}{lines})
	case !r.any:
		a.say("no lines are stored for %s: Pintle stores those of providers and functions that it runs itself", name)
	}
	return nil
}

// printLine shows a line, and unless only one resource is shown, the resource that it belongs to.
func (a *showCommands) printLine(line operator.LogLine, resource string, timestamps bool) {
	text := display.Clean(line.Text)
	if resource == "" {
		text = fmt.Sprintf("%s | %s", line.Logical, text)
	}
	if timestamps {
		text = line.Time.Local().Format(time.RFC3339) + " " + text
	}
	fmt.Fprintln(a.stdout, text)
}

// logReader reads the lines of a stack, each once.
type logReader struct {
	connector *connector

	stack, resource, after string
	tail                   int
	any                    bool // a line was read
}

// read shows the lines that are there.
func (r *logReader) read(ctx context.Context, s *session, show func([]operator.LogLine)) error {
	for {
		page, err := s.operator.stackLogs(ctx, r.stack, operator.LogQuery{
			Resource: wire.LogicalID(r.resource), After: r.after, Tail: r.tail,
		})
		if errors.Is(err, errNoOperator) {
			return failed(errors.New("the server has no logs: it is not Pintle, or an older version"))
		} else if err != nil {
			return err
		}
		show(page.Lines)
		r.any = r.any || len(page.Lines) > 0
		r.after, r.tail = page.Next, 0
		if !page.More {
			return nil
		}
	}
}

// follow shows the lines that come, until ctx ends. It does not hold a data directory that no engine works on, so that other commands can
// become the engine, and finds the engine that does.
func (r *logReader) follow(ctx context.Context, s *session, o *logOptions, p place, show func([]operator.LogLine)) error {
	for {
		var err error
		if s != nil && s.here != nil {
			err = s.close()
			s = nil
		}
		if err != nil {
			return err
		}
		if pause(ctx, slowest) != nil {
			break
		}
		if s == nil {
			found, ok, err := r.connector.reader(ctx, o.connection, p.data)
			if ctx.Err() != nil {
				break
			}
			if err != nil {
				return err
			}
			if !ok {
				continue // the data directory was removed
			}
			s = found
			if err := s.find(ctx, p, r.stack); err != nil {
				return errors.Join(err, s.close())
			}
		}
		err = r.read(ctx, s, show)
		if _, gone := errors.AsType[*net.OpError](err); gone && s.client() && ctx.Err() == nil {
			s, err = nil, nil // the command that ran the engine has exited
		}
		if err != nil && ctx.Err() == nil {
			return errors.Join(err, s.close())
		}
	}
	if s != nil {
		return s.close()
	}
	return nil
}

// isResource returns an error if a stack has no resource with a logical ID.
func (s *session) isResource(ctx context.Context, stack, resource string) error {
	ids, err := s.resourceIDs(ctx, stack)
	if err != nil {
		return err
	}
	if slices.Contains(ids, resource) {
		return nil
	}
	return failed(fmt.Errorf("stack %s has no resource %s", stack, resource),
		cmp.Or(didYouMean(resource, ids), fmt.Sprintf("run \"pintle describe %s\" to see its resources", quote(stack))))
}
