package main

import (
	"context"
	"errors"
	"fmt"
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
)

type serveOptions struct {
	listen, data, project, publicURL, credentials, region, fidelity, logLevel string
	database, unknownTypes                                                    string
	providers                                                                 providerOptions
	dev, allowPrivate, console                                                bool
	functions                                                                 functionOptions
	keys                                                                      keyOptions
	keep                                                                      keepOptions
	references                                                                referenceOptions
	limits                                                                    limitOptions
	rosAnswers                                                                rosAnswerOptions
	monitor                                                                   monitorOptions
	zones, accounts                                                           []string
}

func (a *app) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the APIs of CloudFormation and ROS until told to stop",
		Args:  cobra.NoArgs,
		RunE:  a.command(func(ctx context.Context, _ []string) error { return a.serve(ctx, &o) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:4600", "`ADDRESS` to listen at, host:port; port 0 is any free one")
	flags.StringVar(&o.data, "data", "", "`DIR` of the data (default: .pintle beside pintle.yaml)")
	flags.StringVar(&o.database, "database", "", "`URL` of a PostgreSQL database that holds the stacks, for any number of servers (default: a file in DIR, for one)")
	flags.StringVar(&o.project, "project", "", "`DIR` of a pintle.yaml whose providers are served (default: the current folder)")
	o.providers.flags(flags)
	flags.BoolVar(&o.dev, "dev", false, "take any access key, on loopback only, let URLs lead into private networks, and run functions")
	o.functions.flags(cmd)
	flags.StringArrayVar(&o.accounts, "allow-account", nil, "let stacks of an account use the server's own cloud credentials, `ACCOUNT=CALLS` such as 111111111111=lambda:Invoke; may be repeated (default: all calls if the credentials file has one account, else none)")
	flags.StringVar(&o.publicURL, "public-url", "", "`URL` at which providers reach this server (default: its own address)")
	flags.StringVar(&o.credentials, "credentials", "", "`FILE` of access keys, made if it is not there (default: credentials in the data directory)")
	flags.StringVar(&o.region, "region", "", "`NAME` of the region that provider processes are told (default: AWS_REGION, or us-east-1)")
	fidelityFlag(cmd, &o.fidelity)
	unknownTypesFlag(cmd, &o.unknownTypes)
	flags.BoolVar(&o.allowPrivate, "allow-private", false, "let service tokens that are URLs lead into private networks")
	flags.BoolVar(&o.console, "console", true, "serve pages for people under /console/, see pintle console")
	o.keys.flags(flags)
	o.keep.flags(flags)
	o.references.flags(flags)
	o.limits.flags(flags)
	o.rosAnswers.flags(flags)
	o.monitor.flags(cmd)
	flags.StringArrayVar(&o.zones, "zones", nil, "what Fn::GetAZs returns for a region, `REGION=NAME,NAME`; may be repeated (default: REGIONa, REGIONb and REGIONc)")
	flags.StringVar(&o.logLevel, "log-level", "", "least `LEVEL` that is logged: debug, info, warn or error (default info)")
	fromEnvironment(flags, "listen", "data", "database", "project", "provider", "builtin", "allow", "allow-account", "dev", "public-url", "credentials", "region",
		"allow-private", "console", "log-level", "metrics", "metrics-token-file", "audit-log")
	choices(cmd, "log-level", "debug", "info", "warn", "error")
	cmd.Long = `Serve the CloudFormation API until told to stop, by Ctrl-C or SIGTERM, and run
what is left of earlier runs. In another terminal:

  eval "$(pintle env)"
  aws cloudformation list-stacks

Beyond loopback every call needs a key of the credentials file, and --dev is
refused.

With --dev or --run-functions it runs the functions that templates declare, and has
what goes with them: Lambda, S3, SNS, Step Functions and CloudWatch Logs, as far as
the CDK needs them. Else a template with such resources is refused.

Any number of servers can share a PostgreSQL database, behind a balancer whose
URL is their --public-url:

  pintle serve --database postgres://pintle@db/pintle --key-file /etc/pintle/keys

A password is better left to PGPASSWORD, a .pgpass file or PINTLE_DATABASE: what
is typed can be seen by others on this machine.

` + environmentTable(flags)
	return cmd
}

func (a *app) serve(ctx context.Context, o *serveOptions) (err error) {
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
	audited, closeAudit, err := o.monitor.openAudit(a, config.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAudit()) }()
	config.Audit = audited
	if config.Lock, err = a.hold(ctx, p.data); err != nil {
		return err
	}
	n, err := node.Open(ctx, config)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "listen" { // and not that of a database
			return failed(err, "give another address with --listen, or --metrics")
		}
		return failed(err)
	}
	for _, provider := range list {
		if err := n.Define(ctx, provider.name, provider.definition); err != nil {
			return errors.Join(failed(err), n.Close())
		}
	}
	a.greet(n, p, o, list)
	if accounts := n.Accounts(); len(accounts) > 1 && config.Cloud {
		config.Log.Warn("functions of templates run as this server's user, whatever their account: each of the accounts can read the data "+
			"of the others", "accounts", strings.Join(accounts, ", "))
	}
	if o.database != "" && config.PublicURL == nil {
		config.Log.Warn("without --public-url providers answer to this server alone: while it is down, nobody hears them")
	}
	return errors.Join(n.Run(ctx), n.Close())
}

func (a *app) serveConfig(o *serveOptions) (c node.Config, err error) {
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
			return c, usagef("give it as --allow-account ACCOUNT=SERVICE:ACTION", "--allow-account: %w", err)
		}
		c.AccountRules = append(c.AccountRules, rule)
	}
	if c.NodeModules, err = o.functions.folders(a); err != nil {
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
	if err = o.monitor.apply(a, &c); err != nil {
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
		return c, usagef("give host:port, e.g. 127.0.0.1:4600", "--listen %q is no address", o.listen)
	}
	if o.dev && !loopback(host) {
		return c, usagef("leave --dev out and use the keys of the credentials file, or listen on 127.0.0.1",
			"--dev takes any access key, so it listens on loopback only, and %s is not", o.listen)
	}
	if o.publicURL != "" {
		c.PublicURL, err = url.Parse(o.publicURL)
		if err != nil || c.PublicURL.Scheme != "http" && c.PublicURL.Scheme != "https" || c.PublicURL.Host == "" ||
			c.PublicURL.RawQuery != "" || c.PublicURL.User != nil {
			return c, usagef("give it as https://host/path, without a user and a query", "--public-url is no such URL")
		}
	}
	if o.database != "" {
		if c.Keys == (node.KeySource{}) {
			return c, usagef("give --key-file FILE, and every server of this database the same file",
				"--database needs the keys that seal the secrets in it")
		}
		c.Database = o.database
	}
	if o.credentials != "" {
		c.CredentialsFile = a.path(o.credentials)
	}
	return c, nil
}

// warn logs what is no reason to end.
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
func (a *app) hold(ctx context.Context, data string) (*node.Lock, error) {
	for deadline := a.now().Add(heldFor); ; {
		lock, err := node.Acquire(data)
		if err == nil {
			return lock, nil
		}
		held, ok := errors.AsType[*node.HeldError](err)
		switch {
		case !ok && errors.Is(err, fs.ErrPermission):
			return nil, failed(err, "type the command as the user whose directory it is, with sudo -u, or give another one with --data")
		case !ok:
			return nil, failed(err)
		case held.URL != "" || a.now().After(deadline):
			return nil, failed(err, "end it, or give another directory with --data")
		}
		if err := pause(ctx, heldPause); err != nil {
			return nil, err
		}
	}
}

// greet says where the server is and how to use it.
func (a *app) greet(n *node.Node, p place, o *serveOptions, list []provided) {
	credentials, made := n.CredentialsFile()
	keys := a.short(credentials)
	switch {
	case o.dev:
		keys = "any (--dev)"
	case made:
		keys += " (made just now)"
	}
	serving := "CloudFormation, STS and SSM parameters at " + n.Record().URL
	if n.Record().Cloud {
		serving = "CloudFormation and what the CDK needs beside it at " + n.Record().URL + "; functions of templates are run"
	}
	rows := [][]string{{"serving", serving}, {"data", a.short(p.data)}}
	if o.database != "" {
		rows = append(rows, []string{"database", n.Database()})
	}
	rows = append(rows, []string{"keys", keys})
	if at := n.MetricsURL(); at != "" {
		rows = append(rows, []string{"metrics", at})
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
