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

func (a *app) deleteCommand() *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete [DIR]",
		Short: "Delete a stack, and watch it",
		Long: `Delete the stack that DIR/pintle.yaml describes (DIR: the current folder), or
the one that --stack names, and watch that to its end. Its providers are those
that were deployed with it, or what the file and the flags say of them now. A
stack that is not there is no error.

--retain and --force are for a stack whose last delete failed (DELETE_FAILED).
--retain leaves a resource where it is, and its provider is not asked. --force
tries everything once more and leaves behind what fails again. "pintle describe"
with the stack's id lists what was left.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.command(func(ctx context.Context, args []string) error { return a.delete(ctx, &o, first(args)) }),
	}
	o.changeOptions.flags(cmd)
	cmd.Flags().StringSliceVar(&o.spare.Retain, "retain", nil, "logical `ID` of a resource to be left where it is; may be repeated")
	cmd.Flags().BoolVar(&o.spare.Force, "force", false, "leave behind what cannot be deleted")
	return cmd
}

func (a *app) delete(ctx context.Context, o *deleteOptions, dir string) error {
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
	c.functions = true // those that are there were allowed when they were made, and are needed for what there is of them
	if o.endpoint == "" && !node.Exists(c.data) {
		a.nothingToDelete(name, c.asJSON)
		return a.conclude(c.result, c.asJSON, nil)
	}
	return a.carryOut(ctx, c, func(s *session) error { return s.clear(ctx, c, o.spare, list) })
}

func (a *app) nothingToDelete(name string, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(a.stdout, "there is no stack %s: nothing to delete\n", name)
	}
}

// remaining returns the providers that a command brings along which works on what is there. One that the project names and that cannot be run is left
// to what the engine knows of it: what is not there any more must not keep a stack from being deleted.
func (a *app) remaining(p place, o changeOptions) ([]provided, error) {
	switch {
	case o.endpoint != "" && o.providers.any():
		return nil, usagef("name it to the server: pintle serve --provider NAME=TARGET", "--provider is for an engine of "+
			"this machine, and --endpoint names another one")
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

// clear deletes the stack, once it is at rest.
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
			s.app.nothingToDelete(name, asJSON)
			return nil
		case err != nil:
			return err
		case stack.Status == stacks.Deleting:
			s.app.say("stack %s is being deleted already: watching that", name)
			return s.follow(ctx, p, name, stack.ID, "delete", r, asJSON)
		case stack.State == stacks.Working:
			s.app.say("stack %s is at work (%s): watching that first", name, stack.Status)
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

// remove deletes a stack that is at rest and watches that.
func (s *session) remove(ctx context.Context, p place, name, id string, spare stacks.Sparing, r *result, asJSON bool) error {
	s.begun = true
	err := s.stacks.Delete(ctx, id, spare)
	if message, ok := stacks.Refusal(err); ok {
		fail := failed(fmt.Errorf("stack %s: %s", name, message))
		switch {
		case strings.Contains(message, "TerminationProtection"), strings.Contains(message, "eletion protection"), strings.Contains(message, "DeletionProtection"):
			fail.hints = []string{"it was protected against this when it was created"}
		case strings.Contains(message, "DELETE_FAILED state"):
			fail.hints = []string{"try to delete all of it first, with: " + p.again("delete")}
		}
		return fail
	}
	if err != nil {
		return err
	}
	return s.follow(ctx, p, name, id, "delete", r, asJSON)
}
