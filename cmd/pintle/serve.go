package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/systemd"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
)

type serveOptions struct {
	listen, data, project, publicURL, credentials, region, fidelity, logLevel string
	database, unknownTypes                                                    string
	providers                                                                 providerOptions
	dev, allowPrivate, console, untilStdinCloses                              bool
	functions                                                                 functionOptions
	keys                                                                      keyOptions
	keep                                                                      keepOptions
	references                                                                referenceOptions
	limits                                                                    limitOptions
	rosAnswers                                                                rosAnswerOptions
	monitor                                                                   monitorOptions
	zones, accounts, forward                                                  []string
}

// serverCommands are the commands that run a server, or concern one.
type serverCommands struct {
	*connector
}

func (a *serverCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.serveCommand(), a.consoleCommand(), a.envCommand(), a.backupCommand(),
	}
}

func (a *serverCommands) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the CloudFormation and ROS APIs",
		Args:  cobra.NoArgs,
		RunE:  runE(func(ctx context.Context, _ []string) error { return a.serve(ctx, &o) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:4600", "`ADDRESS` to listen on, host:port; port 0 is any free port")
	flags.StringVar(&o.data, "data", "", "data `DIR` (default: .pintle next to pintle.yaml)")
	flags.StringVar(&o.database, "database", "", "`URL` of a PostgreSQL database for the stacks, shared by any number of servers (default: a file in DIR, for one server)")
	flags.StringVar(&o.project, "project", "", "`DIR` with a pintle.yaml whose providers to serve (default: the current directory)")
	o.providers.flags(flags)
	flags.BoolVar(&o.dev, "dev", false, "accept any access key, on loopback only, allow URLs in private networks, and run functions")
	o.functions.flags(cmd)
	flags.StringArrayVar(&o.accounts, "allow-account", nil, "allow stacks of an account to use the server's own cloud credentials, `ACCOUNT=CALLS` such as 111111111111=lambda:Invoke; may be repeated (default: all calls if the credentials file has one account, else none)")
	flags.StringVar(&o.publicURL, "public-url", "", "`URL` at which providers reach this server (default: its own address)")
	flags.StringVar(&o.credentials, "credentials", "", "`FILE` of access keys, created if it does not exist (default: credentials in the data directory)")
	flags.StringVar(&o.region, "region", "", "`NAME` of the region for provider processes (default: AWS_REGION, or us-east-1)")
	fidelityFlag(cmd, &o.fidelity)
	unknownTypesFlag(cmd, &o.unknownTypes)
	forwardFlag(cmd, &o.forward)
	flags.BoolVar(&o.allowPrivate, "allow-private", false, "allow service tokens that are URLs in private networks")
	flags.BoolVar(&o.console, "console", true, "serve the web console under /console/, see pintle console")
	o.keys.flags(flags)
	o.keep.flags(flags)
	o.references.flags(flags)
	o.limits.flags(flags)
	o.rosAnswers.flags(flags)
	o.monitor.flags(cmd)
	flags.StringArrayVar(&o.zones, "zones", nil, "zones that Fn::GetAZs returns for a region, `REGION=NAME,NAME`; may be repeated (default: REGIONa, REGIONb and REGIONc)")
	flags.BoolVar(&o.untilStdinCloses, "until-stdin-closes", false, "stop when standard input closes, as it does when the process that started the server ends")
	flags.StringVar(&o.logLevel, "log-level", "", "lowest `LEVEL` to log: debug, info, warn or error (default info)")
	fromEnvironment(flags, "listen", "data", "database", "project", "provider", "builtin", "allow", "allow-account", "dev", "public-url", "credentials", "region",
		"allow-private", "console", "log-level", "metrics", "metrics-token-file", "audit-log")
	choices(cmd, "log-level", "debug", "info", "warn", "error")
	cmd.Long = `Serve the CloudFormation API until you stop it with Ctrl-C or SIGTERM, and resume
operations from earlier runs. In another terminal:

  eval "$(pintle env)"
  aws cloudformation list-stacks

On addresses other than loopback, every call needs a key from the credentials file,
and --dev is rejected.

With --dev or --run-functions the server runs the functions that templates declare. It
also serves the APIs around them, as far as the CDK needs them: Lambda, S3, SNS, Step
Functions and CloudWatch Logs. Otherwise it rejects templates with such resources.

Any number of servers can share a PostgreSQL database. Put them behind a load balancer
and pass its URL as --public-url:

  pintle serve --database postgres://pintle@db/pintle --key-file /etc/pintle/keys

Set the password in PGPASSWORD, a .pgpass file or PINTLE_DATABASE: other local users
can see command-line arguments.

A program that starts a server for its own use, such as a test, passes
--until-stdin-closes and keeps a pipe to the server's standard input open. The server
stops when the program closes the pipe, and also when the program is killed.

` + environmentTable(flags)
	return cmd
}

func (a *serverCommands) serve(ctx context.Context, o *serveOptions) (err error) {
	p, err := a.locate(o.project, o.data)
	if err != nil {
		return err
	}
	o.references = o.references.with(p.project)
	config, err := a.serveConfig(o)
	if err != nil {
		return err
	}
	if config.UnknownTypes, err = p.unknownTypes(o.unknownTypes, o.dev); err != nil {
		return err
	}
	if config.Forward, err = p.forward(o.forward); err != nil {
		return err
	}
	if o.untilStdinCloses {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		go a.stopWithStdin(stop, config.Log)
	}
	list, err := a.providers(p, o.providers)
	if err != nil {
		return err
	}
	manager, err := systemd.New(a.getenv(systemd.Variable))
	if err != nil {
		return usageError(err)
	}
	config.Started = func(record node.Record) { warn(config.Log, manager.Ready("serving at "+record.URL)) }
	config.Stopping = func() { warn(config.Log, manager.Stopping()) }
	audited, closeAudit, err := o.monitor.openAudit(a.shell, config.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAudit()) }()
	config.Audit = audited
	if config.Lock, err = a.hold(ctx, p.data); err != nil {
		return err
	}
	n, err := node.Open(ctx, config)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // the server was stopped while it started
	}
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "listen" { // and not that of a database
			return failed(err, "use another address with --listen or --metrics")
		}
		return failed(err)
	}
	for _, provider := range list {
		if err := n.Define(ctx, provider.name, provider.definition); err != nil {
			return errors.Join(failed(err), n.Close())
		}
	}
	a.greet(n, p, o, list, config.Forward)
	if accounts := n.Accounts(); len(accounts) > 1 && config.Cloud {
		config.Log.Warn("functions of templates run as this server's user, whatever their account: every account can read the data "+
			"of the others", "accounts", strings.Join(accounts, ", "))
	}
	if o.database != "" && config.PublicURL == nil {
		config.Log.Warn("without --public-url providers answer only to this server: answers are lost while it is down")
	}
	return errors.Join(n.Run(ctx), n.Close())
}

func (a *serverCommands) serveConfig(o *serveOptions) (c node.Config, err error) {
	c = node.Config{
		Role: node.Server, Listen: o.listen, Dev: o.dev, Region: a.regionOr(o.region),
		Cloud: o.dev || o.functions.run, NoConsole: !o.console,
		AllowPrivate: o.dev || o.allowPrivate, Version: buildRelease().Version, ResolveSecrets: o.references.secrets,
	}
	if c.SSM, err = o.references.source(); err != nil {
		return c, err
	}
	for _, text := range o.accounts {
		rule, err := node.ParseAccountRule(text)
		if err != nil {
			return c, usagef("use the form --allow-account ACCOUNT=SERVICE:ACTION", "--allow-account: %w", err)
		}
		c.AccountRules = append(c.AccountRules, rule)
	}
	if c.NodeModules, err = o.functions.folders(&a.workdir); err != nil {
		return c, err
	}
	if c.Keys, err = a.keySource(o.keys); err != nil {
		return c, err
	}
	if c.Keep, err = o.keep.keep(); err != nil {
		return c, err
	}
	if c.Fidelity, err = parseFidelity(o.fidelity); err != nil {
		return c, err
	}
	if c.Limits, err = o.limits.parse(); err != nil {
		return c, err
	}
	if err = o.rosAnswers.apply(&c); err != nil {
		return c, err
	}
	if err = o.monitor.apply(&a.workdir, &c); err != nil {
		return c, err
	}
	if c.Zones, err = parseZones(o.zones); err != nil {
		return c, err
	}
	if c.Log, err = a.logger(o.logLevel, slog.LevelInfo); err != nil {
		return c, err
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return c, usagef("use host:port, for example 127.0.0.1:4600", "--listen %q is not an address", o.listen)
	}
	if o.dev && !loopback(host) {
		return c, usagef("omit --dev and use the keys in the credentials file, or listen on 127.0.0.1",
			"--dev accepts any access key and listens only on loopback, and %s is not loopback", o.listen)
	}
	if o.publicURL != "" {
		c.PublicURL, err = url.Parse(o.publicURL)
		if err != nil || c.PublicURL.Scheme != "http" && c.PublicURL.Scheme != "https" || c.PublicURL.Host == "" ||
			c.PublicURL.RawQuery != "" || c.PublicURL.User != nil {
			return c, usagef("use the form https://host/path, without a user and a query", "--public-url is not a valid URL")
		}
	}
	if o.database != "" {
		if c.Keys == (node.KeySource{}) {
			return c, usagef("set --key-file FILE, with the same file for every server of this database",
				"--database needs the keys that encrypt its secrets")
		}
		c.Database = o.database
	}
	if o.credentials != "" {
		c.CredentialsFile = a.path(o.credentials)
	}
	return c, nil
}

// stopWithStdin discards standard input and calls stop when it ends. A read of standard input cannot be interrupted, so this goroutine
// may outlive the server and ends with the process.
func (a *serverCommands) stopWithStdin(stop context.CancelFunc, log *slog.Logger) {
	_, err := io.Copy(io.Discard, a.stdin)
	log.Info("standard input is closed: stopping the server")
	warn(log, err)
	stop()
}

// warn logs an error that does not end the server.
func warn(log *slog.Logger, err error) {
	if err != nil {
		log.Warn(err.Error())
	}
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// hold locks the data directory. A command that only reads it is waited for; another engine is not.
func (a *serverCommands) hold(ctx context.Context, data string) (*node.Lock, error) {
	for deadline := a.now().Add(heldFor); ; {
		lock, err := node.Acquire(data)
		if err == nil {
			return lock, nil
		}
		held, ok := errors.AsType[*node.HeldError](err)
		switch {
		case !ok && errors.Is(err, fs.ErrPermission):
			return nil, failed(err, "run the command as the owner of the directory, with sudo -u, or use another directory with --data")
		case !ok:
			return nil, failed(err)
		case held.URL != "" || a.now().After(deadline):
			return nil, failed(err, "stop it, or use another directory with --data")
		}
		if err := pause(ctx, heldPause); err != nil {
			return nil, err
		}
	}
}

// greet says where the server is and how to use it.
func (a *serverCommands) greet(n *node.Node, p place, o *serveOptions, list []provided, rules []forward.Rule) {
	credentials, made := n.CredentialsFile()
	keys := a.short(credentials)
	switch {
	case o.dev:
		keys = "any (--dev)"
	case made:
		keys += " (new)"
	}
	serving := "CloudFormation, STS and SSM parameters at " + n.Record().URL
	if n.Record().Cloud {
		serving = "CloudFormation and the services that the CDK needs at " + n.Record().URL + "; runs functions of templates"
	}
	rows := [][]string{{"serving", serving}, {"data", a.short(p.data)}}
	if o.database != "" {
		rows = append(rows, []string{"database", n.Database()})
	}
	rows = append(rows, []string{"keys", keys})
	if at := n.MetricsURL(); at != "" {
		rows = append(rows, []string{"metrics", at})
	}
	for i := range rules {
		rows = append(rows, []string{"forward", rules[i].String()})
	}
	for _, provider := range list {
		rows = append(rows, []string{"provider", provider.name + ": " + provider.shown})
	}
	out := a.stdout
	if o.monitor.auditLog == "-" { // which is read by a program, line by line
		out = a.stderr
	}
	// At once, or a line of the log comes between.
	fmt.Fprintf(out, "%s\nPoint AWS clients at it:  eval \"$(pintle env%s)\"\n\n", display.Columns(rows), p.named())
}
