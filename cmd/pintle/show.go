package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// showCommands are the commands that show stacks, and the one that answers a request in place of its provider.
type showCommands struct {
	*connector

	complete *completion
}

func (a *showCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.listCommand(), a.describeCommand(), a.outputsCommand(), a.eventsCommand(), a.logsCommand(), a.respondCommand(),
	}
}

// readStack connects to read one stack. The argument is the name of a stack, the directory of its pintle.yaml, or empty for the stack of
// the project.
func (a *showCommands) readStack(ctx context.Context, o *readOptions, argument string) (s *session, p place, name string, err error) {
	dir, given := a.readTarget(o, argument)
	if p, err = a.locate(cmp.Or(dir, o.project), o.data); err != nil {
		return nil, p, "", err
	}
	p.stackGiven, p.connection = given, o.connection
	if name = given; name == "" {
		if name, err = p.stack(""); err != nil {
			return nil, p, "", err
		}
	}
	s, ok, err := a.reader(ctx, o.connection, p.data)
	if err == nil && !ok {
		err = nothingThere(name, a.short(p.data))
	}
	if err != nil {
		return s, p, name, err
	}
	if err := s.find(ctx, p, name); err != nil {
		return nil, p, name, errors.Join(err, s.close())
	}
	return s, p, name, nil
}

// nothingThere is the error for a data directory that is not there.
func nothingThere(stack, data string) error {
	return failed(fmt.Errorf("stack %s does not exist: nothing was deployed to %s", stack, data),
		"set the data directory with --data, or its parent directory with --project")
}

func noStack(name string) error {
	return failed(fmt.Errorf("stack %s does not exist", name), "run \"pintle list\" to see existing stacks, or \"pintle list --all\" for the ids of deleted ones")
}
