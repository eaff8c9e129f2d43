package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// app is the command line: the tree of commands, and how a run of one of them ends.
type app struct {
	*shell
}

// newApp returns the commands for an environment.
func newApp(sh *shell) *app { return &app{sh} }

// run runs the command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	f, ok := errors.AsType[*failure](err)
	if !ok { // of cobra, before the code of a command was reached
		f = usageError(err, "pintle --help lists the commands and their flags")
	}
	f.print(a.stderr)
	return f.code
}

// commandGroup is a group of commands that share code.
type commandGroup interface {
	commands() []*cobra.Command
}

// asFailure returns the error of a command as the command ends with it.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return failed(readable(err))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "pintle",
		Short: "Run CloudFormation and ROS stacks of custom resources locally",
		Long: `Pintle runs stacks of custom resources locally: for AWS CloudFormation and, if the
template has ROSTemplateFormatVersion, for Alibaba Cloud ROS.

  pintle deploy DIR    create or update the stack described in DIR/pintle.yaml
  pintle dev DIR       deploy, and deploy again whenever a file is saved
  pintle delete DIR    delete the stack
  pintle validate DIR  report errors in a template before anything is created
  pintle new NAME      create a project for a provider in Go
  pintle invoke TARGET send one request to a provider and show its answer
  pintle check TARGET  test a provider against the rules of the protocol
  pintle serve --dev   serve the CloudFormation and ROS APIs to CLIs and SDKs

Stacks are stored in a data directory: .pintle next to pintle.yaml, or --data. The
first command that needs an engine runs it, and later commands connect to it.
PINTLE_DATA, PINTLE_PROJECT, PINTLE_REGION, PINTLE_ENDPOINT and PINTLE_LOG_LEVEL
set the flags of the same names.

Exit codes: 0 done, 1 the operation failed, 2 usage error.`,
		// How many letters of a command may be wrong for it to be suggested.
		SuggestionsMinimumDistance: 2,

		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.readEnvironment(cmd)
		},
	}
	root.Version = buildRelease().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(err, cmd.CommandPath()+" --help lists the flags")
	})
	connect := &connector{a.shell}
	complete := &completion{connect}
	find := &targets{a.shell}
	for _, group := range []commandGroup{
		&changeCommands{connect, complete}, &showCommands{connect, complete}, &invokeCommands{find, complete}, &checkCommands{find, complete},
		&generateCommands{find}, &authorCommands{a.shell}, &templateCommands{connect}, &explainCommands{&a.terminal},
		&serverCommands{connect}, &keyCommands{connect}, &manualCommands{a.shell, a.root},
	} {
		root.AddCommand(group.commands()...)
	}
	a.grouped(root)
	complete.flags(root)
	return root
}

// knownCommand refuses an unknown command, and suggests similar ones.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "pintle --help lists the commands"
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean pintle " + strings.Join(near, " or pintle ") + "?\n" + hint
	}
	return usagef(hint, "unknown command %q", args[0])
}

// runE makes the RunE of a command. Its errors are failures of the command, and not of its usage, unless they say so.
func runE(run func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := run(cmd.Context(), args); err != nil {
			return asFailure(err)
		}
		return nil
	}
}
