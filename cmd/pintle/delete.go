package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
)

type deleteOptions struct {
	connection
	stack, fidelity, output string
	providers               []string
}

func (a *app) deleteCommand() *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete [DIR]",
		Short: "Delete a stack, and watch it",
		Long: `Delete the stack that DIR/pintle.yaml describes (DIR: the current folder), or
the one that --stack names, and watch that to its end. Its providers are those
that were deployed with it, or what the file and the flags say of them now. A
stack that is not there is no error.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.command(func(ctx context.Context, args []string) error { return a.delete(ctx, &o, first(args)) }),
	}
	flags := cmd.Flags()
	o.connection.flags(flags)
	flags.StringVar(&o.stack, "stack", "", "`NAME` of the stack (default: the project's, or its folder's)")
	flags.StringArrayVar(&o.providers, "provider", nil, "what runs behind a provider's name, `NAME=TARGET`; may be repeated")
	fidelityFlag(cmd, &o.fidelity)
	outputFlag(cmd, &o.output)
	return cmd
}

func (a *app) delete(ctx context.Context, o *deleteOptions, dir string) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	fidelity, err := parseFidelity(o.fidelity)
	if err != nil {
		return err
	}
	p, err := a.locate(dir, o.data)
	if err != nil {
		return err
	}
	p.stackGiven, p.connection = o.stack, o.connection
	name, err := p.stack(o.stack)
	if err != nil {
		return err
	}
	list, err := a.remaining(p, o)
	if err != nil {
		return err
	}
	r := &result{Stack: name, Action: "none"}
	if o.endpoint == "" && !node.Exists(p.data) {
		a.nothingToDelete(name, asJSON)
		return a.conclude(r, asJSON, nil)
	}
	s, err := a.open(ctx, o.connection, p.data, node.Command, fidelity)
	if err == nil {
		err = s.clear(ctx, p, name, list, r, asJSON)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = s.interrupted(p, "delete", name)
		}
		err = errors.Join(err, s.close())
	}
	return a.conclude(r, asJSON, err)
}

func (a *app) nothingToDelete(name string, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(a.stdout, "there is no stack %s: nothing to delete\n", name)
	}
}

// remaining returns the providers that a delete brings along. One that the project names and that cannot be run is left
// to what the engine knows of it: what is not there any more must not keep a stack from being deleted.
func (a *app) remaining(p place, o *deleteOptions) ([]provided, error) {
	switch {
	case o.endpoint != "" && len(o.providers) > 0:
		return nil, usagef("name it to the server: pintle serve --provider NAME=TARGET", "--provider is for an engine of "+
			"this machine, and --endpoint names another one")
	case o.endpoint != "":
		return nil, nil
	}
	list, err := a.providers(p, o.providers)
	if err != nil && len(o.providers) == 0 {
		a.say("note: %v", err)
		return nil, nil
	}
	return list, err
}

// clear deletes the stack, once it is at rest.
func (s *session) clear(ctx context.Context, p place, name string, list []provided, r *result, asJSON bool) error {
	if _, err := s.describe(ctx, name); err == nil {
		if err := s.provide(ctx, list); err != nil {
			return err
		}
	}
	for {
		stack, err := s.describe(ctx, name)
		switch status := stack.StackStatus; {
		case errors.Is(err, errNoStack):
			s.app.nothingToDelete(name, asJSON)
			return nil
		case err != nil:
			return err
		case status == types.StackStatusDeleteInProgress:
			s.app.say("stack %s is being deleted already: watching that", name)
			return s.follow(ctx, p, name, aws.ToString(stack.StackId), "delete", r, asJSON)
		case underWay(status):
			s.app.say("stack %s is at work (%s): watching that first", name, status)
			c, err := s.watch(ctx, aws.ToString(stack.StackId), s.app.watcher(name, asJSON))
			r.Events = append(r.Events, eventDocuments(c.events)...)
			if err != nil {
				return err
			}
		default:
			return s.remove(ctx, p, name, aws.ToString(stack.StackId), r, asJSON)
		}
	}
}

// remove deletes a stack that is at rest and watches that.
func (s *session) remove(ctx context.Context, p place, name, id string, r *result, asJSON bool) error {
	s.begun = true
	_, err := s.stacks.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &id})
	if message, ok := refusal(err); ok {
		fail := failed(fmt.Errorf("stack %s: %s", name, message))
		if strings.Contains(message, "TerminationProtection") {
			fail.hints = []string{"it was protected against this when it was created"}
		}
		return fail
	}
	if err != nil {
		return err
	}
	return s.follow(ctx, p, name, id, "delete", r, asJSON)
}
