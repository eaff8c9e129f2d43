package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
)

type deleteOptions struct {
	changeOptions
	spare stacks.Sparing
}

func (a *changeCommands) deleteCommand() *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete [DIR | STACK]",
		Short: "Delete a stack and watch its progress",
		Long: `Delete the stack described in DIR/pintle.yaml (default: the current directory), or
the stack named with --stack, and watch until it is done. The command uses the
providers from the last deploy, unless pintle.yaml or flags define them differently
now. Deleting a stack that does not exist is not an error.

--retain and --force work only after a failed delete (DELETE_FAILED). --retain keeps
a resource without calling its provider. --force tries every resource once more and
leaves behind those that fail again. To list what was left, run "pintle describe" with
the id of the stack.`,
		Args: cobra.MaximumNArgs(1),
		RunE: runE(func(ctx context.Context, args []string) error { return a.delete(ctx, &o, first(args)) }),
	}
	o.changeOptions.flags(cmd)
	o.engineFlags(cmd)
	cmd.ValidArgsFunction = a.complete.stack
	cmd.Flags().StringSliceVar(&o.spare.Retain, "retain", nil, "logical `ID` of a resource to keep; may be repeated")
	cmd.Flags().BoolVar(&o.spare.Force, "force", false, "leave behind resources that cannot be deleted")
	a.complete.ids(cmd, "retain")
	return cmd
}

func (a *changeCommands) delete(ctx context.Context, o *deleteOptions, dir string) error {
	c, err := a.change("delete", &o.changeOptions, dir)
	if err != nil {
		return err
	}
	name, err := c.stack(o.stack)
	if err != nil {
		return err
	}
	list, err := a.remaining(c.place, o.changeOptions)
	if err != nil {
		return err
	}
	c.result = &result{Stack: name, Action: "none"}
	if err := a.engine(&c, &o.changeOptions); err != nil {
		return err
	}
	if o.endpoint == "" && !node.Exists(c.data) {
		a.nothingToDelete(name, c.asJSON)
		return a.conclude(c.result, c.asJSON, nil)
	}
	return a.carryOut(ctx, c, func(s *session) error { return s.clear(ctx, c, o.spare, list) })
}

func (t *terminal) nothingToDelete(name string, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(t.stdout, "stack %s does not exist: nothing to delete\n", name)
	}
}

// remaining returns the providers for a command that works on an existing stack. A provider of the project that cannot be run is left to
// the engine's record of it: a missing provider must not prevent the delete of a stack.
func (a *changeCommands) remaining(p place, o changeOptions) ([]provided, error) {
	switch {
	case o.endpoint != "" && o.providers.any():
		return nil, usagef("add it to the server: pintle serve --provider NAME=TARGET", "--provider needs a "+
			"local engine, and --endpoint is a remote one")
	case o.endpoint != "":
		return nil, nil
	}
	list, err := a.providers(p, o.providers)
	if err != nil && !o.providers.any() {
		a.say("note: %v", err)
		return nil, nil
	}
	return list, err
}

// clear deletes the stack, once it is idle.
func (s *session) clear(ctx context.Context, c change, spare stacks.Sparing, list []provided) error {
	name, p, r, asJSON := c.result.Stack, c.place, c.result, c.asJSON
	if err := s.find(ctx, p, name); err != nil {
		return err
	}
	if _, err := s.stacks.Stack(ctx, name); err == nil {
		if err := s.provide(ctx, list); err != nil {
			return err
		}
	}
	for {
		stack, err := s.stacks.Stack(ctx, name)
		switch {
		case errors.Is(err, stacks.ErrNone):
			s.nothingToDelete(name, asJSON)
			return nil
		case err != nil:
			return err
		case stack.Status == stacks.Deleting:
			s.say("stack %s is already being deleted: watching its progress", name)
			return s.follow(ctx, p, name, stack.ID, "delete", r, asJSON)
		case stack.State == stacks.Working:
			s.say("stack %s has an operation in progress (%s): watching it first", name, stack.Status)
			c, err := s.watch(ctx, p, name, stack.ID, asJSON)
			r.Events = append(r.Events, eventDocuments(c.events)...)
			if err != nil {
				return err
			}
		default:
			return s.remove(ctx, p, name, stack.ID, spare, r, asJSON)
		}
	}
}

// remove deletes a stack that is idle and watches that.
func (s *session) remove(ctx context.Context, p place, name, id string, spare stacks.Sparing, r *result, asJSON bool) error {
	s.begun = true
	err := s.stacks.Delete(ctx, id, spare)
	if message, ok := stacks.Refusal(err); ok {
		fail := failed(fmt.Errorf("stack %s: %s", name, message))
		switch {
		case strings.Contains(message, "TerminationProtection"), strings.Contains(message, "eletion protection"), strings.Contains(message, "DeletionProtection"):
			fail.hints = []string{"turn off its termination protection first"}
		case strings.Contains(message, "DELETE_FAILED state"):
			fail.hints = []string{"delete the whole stack first: " + p.again("delete")}
		}
		return fail
	}
	if err != nil {
		return err
	}
	return s.follow(ctx, p, name, id, "delete", r, asJSON)
}
