package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/engine"
)

// changeCommands are the commands that change a stack and watch the operation.
type changeCommands struct {
	*connector

	complete *completion
}

func (a *changeCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.deployCommand(), a.devCommand(), a.deleteCommand(), a.importCommand(), a.cancelCommand(), a.continueCommand(), a.rollbackCommand(), a.driftCommand(),
	}
}

// changeOptions are the flags that all commands have which change a stack and watch that.
type changeOptions struct {
	connection
	stack, fidelity, output string
	providers               providerOptions
	references              referenceOptions
	// What shapes an engine that the command starts. Some commands have no such flags.
	unknownTypes string
	forward      []string
	functions    functionOptions
	ros          rosAnswerOptions
}

// engineFlags are the flags of commands that start an engine for an existing stack: those with which deploy starts one.
func (o *changeOptions) engineFlags(cmd *cobra.Command) {
	o.functions.flags(cmd)
	unknownTypesFlag(cmd, &o.unknownTypes)
	forwardFlag(cmd, &o.forward)
	o.ros.flags(cmd.Flags())
}

// engine reads the flags of [changeOptions.engineFlags]. The engine runs functions even without --run-functions: the existing ones were
// allowed when they were created.
func (a *changeCommands) engine(c *change, o *changeOptions) (err error) {
	if c.modules, err = o.functions.folders(&a.workdir); err != nil {
		return err
	}
	if c.unknown, err = c.unknownTypes(o.unknownTypes, false); err != nil {
		return err
	}
	if c.forwards, err = c.forward(o.forward); err != nil {
		return err
	}
	c.functions, c.ros = true, &o.ros
	return c.ros.apply(&node.Config{}) // before anything is begun
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
	flags.StringVar(&o.stack, "stack", "", "`NAME` of the stack (default: the name in pintle.yaml or of its directory)")
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
	forwards []forward.Rule
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
func (a *changeCommands) change(verb string, o *changeOptions, argument string) (c change, err error) {
	c.verb = verb
	if c.asJSON, err = wantJSON(o.output); err != nil {
		return c, err
	}
	if c.fidelity, err = parseFidelity(o.fidelity); err != nil {
		return c, err
	}
	dir, named := a.target(argument)
	if c.place, err = a.locate(dir, o.data); err != nil {
		return c, err
	}
	if named != "" {
		if err := c.takeName(verb, o, named); err != nil {
			return c, err
		}
	}
	c.stackGiven, c.connection = o.stack, o.connection
	c.references = o.references.with(c.project)
	if _, err := c.references.source(); err != nil {
		return c, err
	}
	return c, nil
}

// carryOut connects to an engine or starts one, calls do with the session, and reports the result.
func (a *changeCommands) carryOut(ctx context.Context, c change, do func(*session) error) error {
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

// takeName accepts a stack's name in place of a directory. A deploy accepts only the name of the project's own stack:
// any other name is more likely the name of a directory that does not exist.
func (c *change) takeName(verb string, o *changeOptions, name string) error {
	if o.stack != "" && o.stack != name {
		return usagef("give one of them", "two stacks: %s and --stack %s", name, o.stack)
	}
	if verb == "deploy" || verb == "dev" || verb == "import" {
		if own, err := c.stack(o.stack); err != nil || own != name {
			return usagef("give a directory with pintle.yaml, or use --stack and --template", "no directory %s", name)
		}
	}
	o.stack = name
	return nil
}
