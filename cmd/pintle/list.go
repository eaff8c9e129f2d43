package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

// readOptions are the flags of the commands that only show something.
type readOptions struct {
	connection
	project, output string
}

func (o *readOptions) flags(flags *pflag.FlagSet) {
	o.connection.flags(flags)
	flags.StringVar(&o.project, "project", "", "`DIR` of the pintle.yaml that it is about (default: the current folder)")
	fromEnvironment(flags, "project")
	outputFlag(flags, &o.output)
}

// stackDocument is a stack in a JSON document.
type stackDocument struct {
	Name        string     `json:"name"`
	ID          string     `json:"id"`
	Status      string     `json:"status"`
	Reason      string     `json:"reason,omitempty"`
	Description string     `json:"description,omitempty"`
	Created     time.Time  `json:"created"`
	Updated     *time.Time `json:"updated,omitempty"`
	Deleted     *time.Time `json:"deleted,omitempty"`
}

func (a *app) listCommand() *cobra.Command {
	var o readOptions
	all := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stacks",
		Args:  cobra.NoArgs,
		RunE:  a.command(func(ctx context.Context, _ []string) error { return a.list(ctx, &o, all) }),
	}
	o.flags(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "also those that were deleted")
	return cmd
}

func (a *app) list(ctx context.Context, o *readOptions, all bool) error {
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
	stacks := []stackDocument{}
	if ok {
		stacks, err = s.list(ctx, all)
		if err := errors.Join(err, s.close()); err != nil {
			return err
		}
	}
	if asJSON {
		return a.document(struct {
			Stacks []stackDocument `json:"stacks"`
		}{stacks})
	}
	if len(stacks) == 0 {
		a.say("there are no stacks")
		return nil
	}
	rows := [][]string{{"NAME", "STATUS", "CHANGED", "DESCRIPTION"}}
	for _, stack := range stacks {
		changed := stack.Created
		for _, t := range []*time.Time{stack.Updated, stack.Deleted} {
			if t != nil {
				changed = *t
			}
		}
		rows = append(rows, []string{stack.Name, stack.Status, stamp(changed), stack.Description})
	}
	fmt.Fprint(a.stdout, display.Columns(rows))
	return nil
}

func (s *session) list(ctx context.Context, all bool) ([]stackDocument, error) {
	list := []stackDocument{}
	pages := cloudformation.NewListStacksPaginator(s.stacks, &cloudformation.ListStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, stack := range page.StackSummaries {
			if !all && stack.StackStatus == types.StackStatusDeleteComplete {
				continue
			}
			list = append(list, stackDocument{
				Name: aws.ToString(stack.StackName), ID: aws.ToString(stack.StackId), Status: string(stack.StackStatus),
				Reason: aws.ToString(stack.StackStatusReason), Description: aws.ToString(stack.TemplateDescription),
				Created: aws.ToTime(stack.CreationTime), Updated: stack.LastUpdatedTime, Deleted: stack.DeletionTime,
			})
		}
	}
	return list, nil
}

// stamp renders a time for people; empty for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
