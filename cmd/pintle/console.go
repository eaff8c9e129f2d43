package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/language/template"
)

type consoleOptions struct {
	connection connection
	project    string
	open       bool
}

func (a *serverCommands) consoleCommand() *cobra.Command {
	var o consoleOptions
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Print a link that signs a browser in to the console of the running engine",
		Long: `Print a link to the console of the engine that runs on the data directory. The link
signs a browser in once and is valid for two minutes. The session lasts eight hours.
Anyone who can read the data directory can see and change all stacks in it.

With --endpoint the link leads to the console of another server, for the access key
that the AWS SDK finds. The key's pintle_console setting in the server's credentials
file gives the role: operator, or viewer (the default), which is read-only.`,
		Example: `  pintle console
  pintle console --open`,
		Args: cobra.NoArgs,
		RunE: runE(func(ctx context.Context, _ []string) error { return a.console(ctx, &o) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.connection.data, "data", "", "data `DIR` (default: .pintle next to pintle.yaml)")
	flags.StringVar(&o.project, "project", "", "`DIR` with pintle.yaml (default: the current directory)")
	flags.StringVar(&o.connection.endpoint, "endpoint", "", "`URL` of a server (default: the server of the data directory)")
	flags.StringVar(&o.connection.region, "region", "", "`NAME` of the region for signing calls to --endpoint")
	flags.BoolVar(&o.open, "open", false, "open the link in a browser")
	fromEnvironment(flags, "data", "project", "endpoint", "region")
	return cmd
}

func (a *serverCommands) console(ctx context.Context, o *consoleOptions) error {
	s, err := a.consoleSession(ctx, o)
	if err != nil {
		return err
	}
	link, err := s.clients[template.CloudFormation].operator.consoleLink(ctx)
	if err != nil {
		return failed(readable(err))
	}
	fmt.Fprintln(a.stdout, link)
	if !o.open {
		return nil
	}
	if err := browse(ctx, link); err != nil {
		return failed(fmt.Errorf("open a browser: %w", err), "open the printed link yourself")
	}
	return nil
}

// consoleSession connects to a server, or to the engine that runs on the data directory; it becomes none.
func (e *connector) consoleSession(ctx context.Context, o *consoleOptions) (*session, error) {
	s := &session{shell: e.shell, connection: o.connection, stop: func() error { return nil }}
	if o.connection.endpoint != "" {
		return s, s.remote(ctx)
	}
	p, err := e.locate(o.project, o.connection.data)
	if err != nil {
		return nil, err
	}
	hint := "start one with: pintle serve --dev" + p.named()
	if !node.Exists(p.data) {
		return nil, failed(fmt.Errorf("no engine is running on %s", e.short(p.data)), hint)
	}
	lock, err := node.Acquire(p.data)
	if err == nil {
		return nil, errors.Join(failed(fmt.Errorf("no engine is running on %s", e.short(p.data)), hint), lock.Release())
	}
	held, ok := errors.AsType[*node.HeldError](err)
	if !ok {
		return nil, failed(err)
	}
	record, ok := live(ctx, held)
	if !ok {
		return nil, failed(held, "wait until it is ready, then run this command again")
	}
	s.data, s.url = p.data, record.URL
	return s, s.use(static(record.Owner), record.Region)
}

// browse opens a page in the browser of the user.
func browse(ctx context.Context, link string) error {
	name, args := "xdg-open", []string{link}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	}
	return exec.CommandContext(ctx, name, args...).Run()
}
