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

func (a *app) consoleCommand() *cobra.Command {
	var o consoleOptions
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Print a link that signs a browser in to the console of the running engine",
		Long: `Print a link to the console of the engine that runs on the data directory. It signs
a browser in once, within two minutes; the session then lasts eight hours. Who can
read the data directory may see all stacks there, and act.

With --endpoint it is the console of a server elsewhere, for the access key that
the AWS SDK finds: that key's pintle_console in the server's credentials file says
whether it may act (operator) or look (viewer, the default).`,
		Example: `  pintle console
  pintle console --open`,
		Args: cobra.NoArgs,
		RunE: a.command(func(ctx context.Context, _ []string) error { return a.console(ctx, &o) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.connection.data, "data", "", "`DIR` of the data (default: .pintle beside pintle.yaml)")
	flags.StringVar(&o.project, "project", "", "`DIR` of the pintle.yaml (default: the current folder)")
	flags.StringVar(&o.connection.endpoint, "endpoint", "", "`URL` of a server, instead of the one of the data directory")
	flags.StringVar(&o.connection.region, "region", "", "`NAME` of the region that a call to --endpoint is signed for")
	flags.BoolVar(&o.open, "open", false, "open it in a browser too")
	fromEnvironment(flags, "data", "project", "endpoint", "region")
	return cmd
}

func (a *app) console(ctx context.Context, o *consoleOptions) error {
	s, err := a.consoleSession(ctx, o)
	if err != nil {
		return err
	}
	link, err := s.faces[template.CloudFormation].operator.consoleLink(ctx)
	if err != nil {
		return failed(readable(err))
	}
	fmt.Fprintln(a.stdout, link)
	if !o.open {
		return nil
	}
	if err := browse(ctx, link); err != nil {
		return failed(fmt.Errorf("open a browser: %w", err), "open the link yourself")
	}
	return nil
}

// consoleSession connects to a server, or to the engine that runs on the data directory; it becomes none.
func (a *app) consoleSession(ctx context.Context, o *consoleOptions) (*session, error) {
	s := &session{app: a, connection: o.connection, stop: func() error { return nil }}
	if o.connection.endpoint != "" {
		return s, s.remote(ctx)
	}
	p, err := a.locate(o.project, o.connection.data)
	if err != nil {
		return nil, err
	}
	hint := "start one with: pintle serve --dev" + p.named()
	if !node.Exists(p.data) {
		return nil, failed(fmt.Errorf("no engine runs on %s", a.short(p.data)), hint)
	}
	lock, err := node.Acquire(p.data)
	if err == nil {
		return nil, errors.Join(failed(fmt.Errorf("no engine runs on %s", a.short(p.data)), hint), lock.Release())
	}
	held, ok := errors.AsType[*node.HeldError](err)
	if !ok {
		return nil, failed(err)
	}
	record, ok := live(ctx, held)
	if !ok {
		return nil, failed(held, "wait until it serves, and run this again")
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
