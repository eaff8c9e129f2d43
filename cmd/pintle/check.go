package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// checkOptions are the flags of check.
type checkOptions struct {
	properties, update, replace, bad  string
	template, resource, parameterFile string
	parameters, secrets, only, skip   []string
	resourceType, project, region     string
	listen, publicURL, verify, event  string
	output                            string
	timeout, settle                   time.Duration
	sns, ros, list, log               bool

	of   *templateResource // of the template, if the target is one
	code string            // the directory for inline code of a template
}

// checkCommands is the command that tests a provider against the rules of the protocol.
type checkCommands struct {
	*targets

	complete *completion
}

func (a *checkCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.checkCommand(),
	}
}

func (a *checkCommands) checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check TARGET",
		Short: "Test a provider against the rules of the protocol",
		Long: `Send a provider the requests that CloudFormation sends over the life of a resource,
including failures and retries, and check each answer against the rules of the
protocol. It needs no stack and no cloud, and works for providers in any language.
TARGET is a name in pintle.yaml, or any target that pintle.yaml accepts: a Go package,
an executable, a directory with bootstrap, a .py, .js or .ts file, a URL. It can also be
the ARN of a Lambda function or of an SNS topic, or a template: then the function that
handles the resource runs here, with the properties of the resource.

  pintle check ./provider -p '{"Name": "a"}'
  pintle check ./provider -p @a.json --update @b.json --replace @c.json --bad '{"Name": ""}'
  pintle check handler.py --template template.yaml --resource Note
  pintle check template.yaml --resource Note
  pintle check --list

The provider really creates, updates and deletes resources, so use properties that do
no harm. Without -p they are generated from the schema that the provider publishes.
The report names the scenarios that were skipped and what they need. --bad takes
properties that the provider must reject. The check searches logs and answers for the
value of every property whose name looks like a password, and of those named with
--secret.

An answer does not prove that the work is done. --verify runs a shell command after
each SUCCESS of the main scenarios. It reads the resource by other means:

  pintle check ./provider -p @a.json --verify './read.sh "$PINTLE_PHYSICAL_ID"'

Errors and warnings count as findings, and notes do not. docs/check.md lists the rules
and their consequences for users. With --ros the check sends requests of Alibaba Cloud
ROS. A function or topic in AWS must be able to reach this machine: use --listen and
--public-url.

Exit codes: 0 no findings, 1 findings, 2 usage error, or TARGET does not build or start,
3 no findings, but a scenario that you asked for with --only, -p, --update, --replace or
--bad could not run.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: runE(func(ctx context.Context, args []string) error {
			if o.list {
				return a.listChecks(o.output, o.ros)
			}
			return a.check(ctx, &o, args[0])
		}),
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.properties, "properties", "p", "", "a `JSON` object, or @FILE (default: generated from the provider's schema)")
	flags.StringVar(&o.update, "update", "", "properties for an update in place, a `JSON` object or @FILE")
	flags.StringVar(&o.replace, "replace", "", "properties for an update that replaces the resource, a `JSON` object or @FILE")
	flags.StringVar(&o.bad, "bad", "", "properties that the provider must reject, a `JSON` object or @FILE")
	flags.StringVar(&o.event, "event", "", "take the properties from the recorded request in `FILE`")
	flags.StringVar(&o.template, "template", "", "take the properties from the template `FILE`")
	flags.StringVar(&o.resource, "resource", "", "`NAME` of the resource in the template (default: the only custom one)")
	flags.StringArrayVar(&o.parameters, "parameter", nil, "a template parameter, `NAME=VALUE`; may be repeated")
	flags.StringVar(&o.parameterFile, "parameter-file", "", "JSON `FILE` of parameters, an object or a list in the AWS CLI's format")
	flags.StringArrayVar(&o.secrets, "secret", nil, "`NAME` of a property whose value is secret; may be repeated")
	flags.StringSliceVar(&o.only, "only", nil, "run only these scenarios or check only these rules, by `NAME`")
	flags.StringSliceVar(&o.skip, "skip", nil, "skip these scenarios and rules, by `NAME`")
	flags.BoolVar(&o.list, "list", false, "list the scenarios and the rules")
	flags.StringVar(&o.resourceType, "resource-type", "", "`NAME` of the resource type (default: the only published one, or Custom::Test)")
	flags.BoolVar(&o.sns, "sns", false, "send SNS notifications, as for a service token that is a topic")
	flags.BoolVar(&o.ros, "ros", false, "send requests of Alibaba Cloud ROS")
	flags.StringVar(&o.project, "project", "", "`DIR` with the pintle.yaml that defines TARGET (default: the current directory)")
	flags.StringVar(&o.region, "region", "", "`NAME` of the stacks' region (default: AWS_REGION, or us-east-1; cn-hangzhou for ROS)")
	flags.DurationVar(&o.timeout, "timeout", check.DefaultTimeout, "time limit for an answer")
	flags.DurationVar(&o.settle, "settle", 0, "time limit for an answer after the handler returns (default 1s; --timeout for remote targets)")
	flags.StringVar(&o.listen, "listen", "", "`ADDRESS` to receive answers at (default: a port of 127.0.0.1)")
	flags.StringVar(&o.publicURL, "public-url", "", "`URL` at which the provider reaches that address")
	flags.StringVar(&o.verify, "verify", "", "`COMMAND` that prints the present properties of $PINTLE_PHYSICAL_ID as JSON, or null")
	flags.BoolVar(&o.log, "log", false, "show the provider's output")
	fromEnvironment(flags, "region", "project")
	flags.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text, json or junit")
	choices(cmd, "output", "text", "json", "junit")
	cmd.ValidArgsFunction = a.complete.target
	return cmd
}

// check runs the check and prints its report.
func (a *checkCommands) check(ctx context.Context, o *checkOptions, name string) error {
	switch {
	case !slices.Contains([]string{"text", "json", "junit"}, o.output):
		return usagef("", "--output %q: want text, json or junit", o.output)
	case o.timeout <= 0 || o.settle < 0:
		return usagef("", "--timeout and --settle must be greater than 0")
	}
	event, err := a.checkEvent(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pintle-check-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the system's temporary directory
	o.code = filepath.Join(dir, "code")
	config, err := a.checked(o, name)
	if err != nil {
		return err
	}
	if err := a.states(o, &config); err != nil {
		return err
	}
	if o.event != "" {
		if err := replayed(event, &config); err != nil {
			return err
		}
	}
	logger, err := a.logger("", slog.LevelError)
	if err != nil {
		return err
	}
	config.Session.Runtime = local.Config{
		CacheDir: dir, SchemaDir: schemaCache(), Region: a.regionOr(o.region), AWS: &builtin.SDK{}, Logger: logger, Progress: once(a.building),
	}
	if o.log {
		config.Log = func(line string) { fmt.Fprintf(a.stderr, "  | %s\n", display.Clean(line)) }
	}
	if o.verify != "" {
		config.Verify = a.propertyReader(o.verify, o.timeout)
	}
	done := a.progress(&config)
	report, err := check.Run(ctx, config)
	done()
	broken, unbuilt := errors.AsType[*local.BuildError](err)
	_, unread := errors.AsType[*local.SchemaError](err)
	switch {
	case ctx.Err() != nil:
		return failed(errors.New("interrupted before the check was done: created resources may be left behind"))
	case errors.Is(err, check.ErrUsage):
		return usageError(err, "run \"pintle check --list\" to see scenarios and rules")
	case unbuilt:
		return usageError(fmt.Errorf("%w\n%s", broken, strings.Join(broken.Log, "\n")))
	case errors.Is(err, check.ErrNotStarted), unread:
		return usageError(err)
	case err != nil:
		return failed(err)
	}
	return a.checkReport(o.output, name, report)
}

// checked finds the provider that is checked, and how it is reached.
func (a *checkCommands) checked(o *checkOptions, name string) (c check.Config, err error) {
	c = check.Config{
		ResourceType: o.resourceType, Region: a.regionOr(o.region), SNS: o.sns, Secrets: o.secrets,
		Timeout: o.timeout, Settle: o.settle, Only: o.only, Skip: o.skip,
	}
	if c.Session, err = a.reached(o, name); err != nil {
		return c, err
	}
	if c.Session.Send != nil {
		token, _ := wire.ParseToken(wire.ServiceToken(name)) // it was one
		c.ServiceToken, c.Region = wire.ServiceToken(name), token.Region
	}
	if o.ros || c.Session.Provider.Contract == bootstrap.FC {
		if c.Dialect, c.Region = wire.ROS, o.region; o.sns || c.Session.Send != nil {
			return c, usagef("omit --ros", "ROS requests cannot be sent to SNS or AWS")
		}
	}
	if c.ResourceType != "" {
		if err := c.Dialect.CheckResourceType(c.ResourceType); err != nil {
			return c, usageError(err)
		}
	}
	return c, nil
}

// reached says how the provider is reached.
func (a *checkCommands) reached(o *checkOptions, name string) (s harness.SessionConfig, err error) {
	s = harness.SessionConfig{Listen: o.listen, WebhookSecret: a.getenv("PINTLE_WEBHOOK_SECRET")}
	if o.listen != "" {
		if _, _, err := net.SplitHostPort(o.listen); err != nil {
			return s, usagef("use for example 0.0.0.0:8080", "--listen: %w", err)
		}
	}
	if encoded, ok := strings.CutPrefix(s.WebhookSecret, "whsec_"); ok {
		if _, err := base64.StdEncoding.DecodeString(encoded); err != nil {
			return s, usagef("", "PINTLE_WEBHOOK_SECRET is not base64 after whsec_")
		}
	}
	if o.publicURL != "" {
		u, err := url.Parse(o.publicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
			return s, usagef("use for example https://pintle.example.com", "--public-url is not an http(s) URL")
		}
		s.PublicURL = u
	}
	how := &invokeOptions{project: o.project, region: o.region, timeout: o.timeout, ros: o.ros, sns: o.sns}
	if isTemplate(a.path(name)) {
		err = a.templated(o, how, &s, name)
		return s, err
	}
	provider, err := a.tried(how, name)
	if err == nil {
		s.Provider, s.Functions, s.Calls = provider.Framework, provider.Functions, provider.Calls
		return s, withoutServer(provider)
	}
	if delivery.CheckTarget(wire.ServiceToken(name)) != nil || o.ros {
		return s, err
	}
	s.Provider, s.Send = local.Provider{Name: name}, new(delivery.Sender).Send
	return s, nil
}

// states reads the properties.
func (a *checkCommands) states(o *checkOptions, c *check.Config) (err error) {
	if o.template != "" && o.properties != "" && o.of == nil {
		return usagef("give one of them", "properties are set by both --properties and --template")
	}
	if o.template == "" && (o.resource != "" || o.parameterFile != "" || len(o.parameters) > 0) {
		return usagef("set the template with --template", "--resource, --parameter and --parameter-file need a template")
	}
	for _, one := range []struct {
		flag, given string
		into        *json.RawMessage
	}{
		{"properties", o.properties, &c.Properties}, {"update", o.update, &c.Update},
		{"replace", o.replace, &c.Replace}, {"bad", o.bad, &c.Bad},
	} {
		if one.given == "" {
			continue
		}
		if *one.into, err = a.object(one.flag, one.given); err != nil {
			return err
		}
	}
	if o.template == "" {
		return nil
	}
	if o.of == nil {
		if o.of, err = a.templateResource(o); err != nil {
			return err
		}
	}
	return a.fromTemplate(o, o.of, c)
}

// object reads the JSON object of a flag, or of the file that it names.
func (w *workdir) object(flag, given string) (json.RawMessage, error) {
	text := []byte(given)
	if file, ok := strings.CutPrefix(given, "@"); ok {
		var err error
		if text, err = readFile(w.path(file), maxProperties); err != nil {
			return nil, usageError(fmt.Errorf("--%s: %w", flag, err))
		}
	}
	v, err := value.Parse(text)
	if err != nil || v.Kind() != value.Map {
		// The parser's words may quote the value, which may be a secret.
		return nil, usagef(`use for example '{"Name": "a"}', or @FILE`, "--%s: not a JSON object", flag)
	}
	return v.JSON(), nil
}

// progress shows on a terminal which scenario runs. The function that it returns takes that away.
func (a *checkCommands) progress(c *check.Config) (done func()) {
	const clear = "\r\x1b[K"
	file, ok := a.stderr.(*os.File)
	if !ok || a.screen == nil || screenOf(file) == nil || c.Log != nil { // whose lines would be mixed up with it
		return func() {}
	}
	c.Progress = func(s check.Scenario) { fmt.Fprintf(a.stderr, "%s%s: %s", clear, s.ID, s.Title) }
	return func() { fmt.Fprint(a.stderr, clear) }
}

// once reports each slow step of a provider only once, because a check starts several processes of it.
func once(report func(provider, text string)) func(provider, text string) {
	var mu sync.Mutex
	already := map[string]bool{}
	return func(provider, text string) {
		mu.Lock()
		defer mu.Unlock()
		if !already[provider] {
			already[provider] = true
			report(provider, text)
		}
	}
}
