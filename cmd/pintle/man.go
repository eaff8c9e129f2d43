package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/manual"
)

// manualCommands are the commands that describe the program itself.
type manualCommands struct {
	*shell

	root func() *cobra.Command
}

func (a *manualCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.manCommand(), a.versionCommand(),
	}
}

func (a *manualCommands) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a manual page for each command",
		Long: `Write the manual pages to DIR, which is created if it does not exist: pintle.1, and one
page per command, such as pintle-deploy.1. To read one:

  pintle man ./man1 && man ./man1/pintle-deploy.1

Release archives contain them.`,
		Args: cobra.ExactArgs(1),
		RunE: runE(func(_ context.Context, args []string) error { return a.man(args[0]) }),
	}
}

func (a *manualCommands) man(into string) error {
	into = a.path(into)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return failed(fmt.Errorf("manual pages: %w", err))
	}
	r := buildRelease()
	// The day of the commit, so that a release that is built twice has the same pages; a build that has none has no day.
	date, err := time.Parse(time.RFC3339, r.Date)
	if err != nil {
		date = time.Time{}
	}
	root := a.root()
	root.InitDefaultCompletionCmd() // which has pages too; it is made when a command line is run otherwise
	if err := manual.Write(root, manual.Header{Source: "pintle " + r.Version, Date: date}, into); err != nil {
		return failed(fmt.Errorf("manual pages: %w", err))
	}
	fmt.Fprintf(a.stdout, "manual pages are in %s\n", a.short(into))
	return nil
}
