package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/provider/project"
)

// completeTime bounds how long a completion may take.
const completeTime = time.Second

// completion completes words of command lines with the names of stacks, resources, outputs and providers, which it asks engines and projects for.
type completion struct {
	*connector
}

// stack completes the name of a stack, or in the commands that take one, the directory of its pintle.yaml. The second argument
// of respond and logs is the logical ID of a resource, and that of outputs the name of an output.
func (c *completion) stack(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		// If no name matches, the shell completes paths.
		return c.completions(cmd, "", begun, (*session).stackNames), cobra.ShellCompDirectiveDefault
	case len(args) == 1 && cmd.Name() == "outputs":
		return c.completions(cmd, args[0], begun, (*session).outputNames), cobra.ShellCompDirectiveNoFileComp
	case len(args) == 1 && (cmd.Name() == "respond" || cmd.Name() == "logs"):
		return c.completions(cmd, args[0], begun, (*session).resourceIDs), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// ids completes a flag with the logical IDs of the resources of the command's stack.
func (c *completion) ids(cmd *cobra.Command, flag string) {
	complete := func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		listed := begun[:strings.LastIndex(begun, ",")+1] // the IDs that are complete
		ids := c.completions(cmd, first(args), strings.TrimPrefix(begun, listed), (*session).resourceIDs)
		for i := range ids {
			ids[i] = listed + ids[i]
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	_ = cmd.RegisterFlagCompletionFunc(flag, complete) // it was defined a moment ago
}

// target completes the target of check and invoke with the names of the providers in the pintle.yaml that --project names. The
// shell completes paths if no name matches.
func (c *completion) target(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	declared, err := project.Load(c.path(cmd.Flag("project").Value.String()))
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, p := range declared.Providers {
		if strings.HasPrefix(p.Name, begun) {
			names = append(names, p.Name)
		}
	}
	return names, cobra.ShellCompDirectiveDefault
}

// request completes the flag request with the IDs of pending requests of the stack and, if it is given, of the resource.
func (c *completion) request(cmd *cobra.Command) {
	complete := func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		list := func(s *session, ctx context.Context, stack string) (ids []string, err error) {
			if err := s.find(ctx, place{}, stack); err != nil {
				return nil, err
			}
			pending, err := s.operator.requests(ctx, stack)
			for _, r := range pending {
				if len(args) < 2 || string(r.Logical) == args[1] {
					ids = append(ids, string(r.ID))
				}
			}
			return ids, err
		}
		return c.completions(cmd, first(args), begun, list), cobra.ShellCompDirectiveNoFileComp
	}
	_ = cmd.RegisterFlagCompletionFunc("request", complete) // it was defined a moment ago
}

// completions returns the words that begin with begun, of those that list returns for the stack that the command line is about. It
// returns none if the stacks cannot be read.
func (c *completion) completions(cmd *cobra.Command, given, begun string, list func(*session, context.Context, string) ([]string, error)) []string {
	if err := c.readEnvironment(cmd); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	flag := func(name string) string {
		if found := cmd.Flag(name); found != nil {
			return found.Value.String()
		}
		return ""
	}
	at := connection{data: flag("data"), endpoint: flag("endpoint"), region: flag("region"), dialect: flag("dialect")}
	dir, name := c.connector.target(given)
	if cmd.Flag("project") != nil { // a command that shows something
		dir, name = c.readTarget(&readOptions{connection: at, project: flag("project")}, given)
	}
	p, err := c.locate(cmp.Or(dir, flag("project")), at.data)
	if err != nil {
		return nil
	}
	if name == "" {
		name, _ = p.stack(flag("stack")) // a list of stacks needs none
	}
	s, ok, err := c.reader(ctx, at, p.data)
	if err != nil || !ok {
		return nil
	}
	words, err := list(s, ctx, name)
	if err := errors.Join(err, s.close()); err != nil {
		return nil
	}
	var found []string
	for _, word := range words {
		if strings.HasPrefix(word, begun) {
			found = append(found, word)
		}
	}
	return found
}

// stackNames returns the names of all stacks.
func (s *session) stackNames(ctx context.Context, _ string) (names []string, err error) {
	list, err := s.list(ctx, false)
	for _, stack := range list {
		names = append(names, stack.Name)
	}
	return names, err
}

// outputNames returns the names of the outputs of a stack.
func (s *session) outputNames(ctx context.Context, name string) (names []string, err error) {
	if err := s.find(ctx, place{}, name); err != nil {
		return nil, err
	}
	stack, err := s.stacks.Stack(ctx, name)
	for _, o := range stack.Outputs {
		names = append(names, o.Name)
	}
	return names, err
}

// resourceIDs returns the logical IDs of the resources of a stack.
func (s *session) resourceIDs(ctx context.Context, stack string) (ids []string, err error) {
	if err := s.find(ctx, place{}, stack); err != nil {
		return nil, err
	}
	list, err := s.resources(ctx, stack)
	for _, r := range list {
		ids = append(ids, r.LogicalID)
	}
	return ids, err
}
