package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

// app is the environment of the commands.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	// cwd is the base of relative paths.
	cwd string
	// screen describes the terminal that stdout is; nil if it is none.
	screen *display.Screen
	// developing says that the command watches files, so the user saves a fix and types no command.
	developing bool
	// ran says that a command's own code was reached: an error before that is one of usage.
	ran bool
}

// run runs the command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	f := a.asFailure(err)
	f.print(a.stderr)
	return f.code
}

// asFailure returns an error as a command ends with it.
func (a *app) asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if a.ran {
		return failed(readable(err))
	}
	return usageError(err, "pintle --help lists the commands and their flags")
}

// again says how to try again after a fix.
func (a *app) again() string {
	if a.developing {
		return "save it"
	}
	return "run this again"
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
	root.AddCommand(a.deployCommand(), a.devCommand(), a.deleteCommand(), a.listCommand(), a.describeCommand(), a.outputsCommand(),
		a.eventsCommand(), a.logsCommand(), a.respondCommand(), a.cancelCommand(), a.continueCommand(), a.rollbackCommand(),
		a.driftCommand(), a.importCommand(), a.validateCommand(), a.explainCommand(), a.invokeCommand(), a.checkCommand(),
		a.recordCommand(), a.generateCommand(), a.newCommand(), a.serveCommand(), a.consoleCommand(), a.envCommand(),
		a.keysCommand(), a.backupCommand(), a.statemachineCommand(), a.awsCommand(), a.manCommand(),
		a.versionCommand())
	a.grouped(root)
	a.completeFlags(root)
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

// command makes the RunE of a command.
func (a *app) command(run func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.ran = true
		return run(cmd.Context(), args)
	}
}

// path makes a path that the user gave absolute.
func (a *app) path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.cwd, path)
}

// short returns a path as the user would type it.
func (a *app) short(path string) string {
	if relative, err := filepath.Rel(a.cwd, path); err == nil && !strings.HasPrefix(relative, "..") {
		return relative
	}
	return path
}

// now is the clock.
func (a *app) now() time.Time { return time.Now() }

// say writes a notice for people, which is not a part of the command's output.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.stderr, display.Clean(fmt.Sprintf(format, args...)))
}

// document writes the one JSON document of -o json.
func (a *app) document(document any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(document)
}
