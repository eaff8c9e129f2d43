package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// readOptions are the flags of the commands that only show something.
type readOptions struct {
	connection
	project, output string
}

func (o *readOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.connection.flags(flags)
	flags.StringVar(&o.project, "project", "", "`DIR` with pintle.yaml (default: the current directory)")
	fromEnvironment(flags, "project")
	outputFlag(cmd, &o.output)
}

// stackDocument is a stack in a JSON document.
type stackDocument struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Dialect is that of ROS, and empty for CloudFormation.
	Dialect     string     `json:"dialect,omitempty"`
	Status      string     `json:"status"`
	Reason      string     `json:"reason,omitempty"`
	Description string     `json:"description,omitempty"`
	Created     time.Time  `json:"created"`
	Updated     *time.Time `json:"updated,omitempty"`
	Deleted     *time.Time `json:"deleted,omitempty"`
}

func (a *showCommands) listCommand() *cobra.Command {
	var o readOptions
	all := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stacks",
		Long: `List the stacks of a data directory or a server, newest first. CloudFormation and ROS
stacks are listed for the region of each. With --all the list includes deleted stacks,
and the id of each stack.`,
		Args: cobra.NoArgs,
		RunE: runE(func(ctx context.Context, _ []string) error { return a.list(ctx, &o, all) }),
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "include deleted stacks, and show ids")
	return cmd
}

func (a *showCommands) list(ctx context.Context, o *readOptions, all bool) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	p, err := a.locate(o.project, o.data)
	if err != nil {
		return err
	}
	s, ok, err := a.reader(ctx, o.connection, p.data)
	if err != nil {
		return err
	}
	list := []stackDocument{}
	if ok {
		list, err = s.list(ctx, all)
		if err := errors.Join(err, s.close()); err != nil {
			return err
		}
	}
	if asJSON {
		return a.document(struct {
			Stacks []stackDocument `json:"stacks"`
		}{list})
	}
	if len(list) == 0 {
		a.say("no stacks")
		return nil
	}
	rows := [][]string{{"NAME", "STATUS", "CHANGED", "DESCRIPTION"}}
	if all {
		rows[0][3] = "ID" // the only name of a deleted stack
	}
	mixed := slices.ContainsFunc(list, func(d stackDocument) bool { return d.Dialect != "" })
	if mixed {
		rows[0] = slices.Insert(rows[0], 2, "DIALECT")
	}
	for _, stack := range list {
		changed := stack.Created
		for _, t := range []*time.Time{stack.Updated, stack.Deleted} {
			if t != nil {
				changed = *t
			}
		}
		last := stack.Description
		if all {
			last = stack.ID
		}
		row := []string{stack.Name, stack.Status, stamp(changed), last}
		if mixed {
			row = slices.Insert(row, 2, cmp.Or(stack.Dialect, "cloudformation"))
		}
		rows = append(rows, row)
	}
	fmt.Fprint(a.stdout, display.Columns(rows))
	return nil
}

func (s *session) list(ctx context.Context, all bool) ([]stackDocument, error) {
	list := []stackDocument{}
	only, given, err := parseDialect(s.connection.dialect)
	if err != nil {
		return nil, err
	}
	for _, l := range languages {
		if given && l != only {
			continue
		}
		there, err := s.clients[l].stacks.List(ctx)
		if l == template.ROS && errors.Is(err, rosclient.ErrForeign) && !given {
			continue // another service, or an older server
		}
		if err != nil {
			return nil, err
		}
		for _, stack := range there {
			if all || stack.State != stacks.Deleted {
				document := documentOf(stack)
				if l == template.ROS {
					document.Dialect = l.String()
				}
				list = append(list, document)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b stackDocument) int { return b.Created.Compare(a.Created) })
	return list, nil
}

func documentOf(stack stacks.Stack) stackDocument {
	return stackDocument{
		Name: stack.Name, ID: stack.ID, Status: stack.Status, Reason: stack.Reason, Description: stack.Description,
		Created: stack.Created, Updated: stack.Updated, Deleted: stack.Deleted,
	}
}

// stamp renders a time for people; empty for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
