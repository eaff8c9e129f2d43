package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/engine"
)

// changeOptions are the flags that all commands have which change a stack and watch that.
type changeOptions struct {
	connection
	stack, fidelity, output string
	providers               providerOptions
	references              referenceOptions
}

func (o *changeOptions) flags(cmd *cobra.Command) {
	o.commonFlags(cmd)
	outputFlag(cmd, &o.output)
}

// commonFlags are those of a command that has no document to print either.
func (o *changeOptions) commonFlags(cmd *cobra.Command) {
	o.output = "text"
	flags := cmd.Flags()
	o.connection.flags(flags)
	flags.StringVar(&o.stack, "stack", "", "`NAME` of the stack (default: the project's, or its folder's)")
	o.providers.flags(flags)
	o.references.flags(flags)
	fidelityFlag(cmd, &o.fidelity)
}

// change is one run of such a command.
type change struct {
	place
	verb     string // the command's name
	fidelity engine.Fidelity
	unknown  engine.UnknownTypes
	// references are those of the flags and the project.
	references referenceOptions
	// functions has an engine that this command becomes run functions of templates, which find packages in modules too.
	functions bool
	modules   []string
	ros       *rosAnswerOptions // nil for the usual ones
	asJSON    bool
	// result is nil until it is known which stack is meant.
	result *result
}

// change reads the flags of a command, and finds out where it works.
func (a *app) change(verb string, o *changeOptions, dir string) (c change, err error) {
	c.verb = verb
	if c.asJSON, err = wantJSON(o.output); err != nil {
		return c, err
	}
	if c.fidelity, err = parseFidelity(o.fidelity); err != nil {
		return c, err
	}
	if c.place, err = a.locate(dir, o.data); err != nil {
		return c, err
	}
	c.stackGiven, c.connection = o.stack, o.connection
	c.references = o.references.with(c.project)
	if _, err := c.references.source(); err != nil {
		return c, err
	}
	return c, nil
}

// carryOut connects to an engine, or becomes it, does something there and reports what came of it.
func (a *app) carryOut(ctx context.Context, c change, do func(*session) error) error {
	s, err := a.open(ctx, c)
	if err == nil {
		err = do(s)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = s.interrupted(c.place, c.verb, c.result.Stack)
		}
		err = errors.Join(err, s.close())
	}
	return a.conclude(c.result, c.asJSON, err)
}
