package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// invokeOptions are the flags of invoke.
type invokeOptions struct {
	kind, properties, old, id, resourceType, logicalID, event string
	project, region, output                                   string
	timeout                                                   time.Duration
	sns, ros, showSecrets                                     bool
}

// invokeCommands is the command that sends one request to a provider.
type invokeCommands struct {
	*targets

	complete *completion
}

func (a *invokeCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.invokeCommand(),
	}
}

func (a *invokeCommands) invokeCommand() *cobra.Command {
	var o invokeOptions
	cmd := &cobra.Command{
		Use:   "invoke TARGET",
		Short: "Send one request to a provider and show its answer",
		Long: `Send one request to a provider and show its answer, without a stack. Use it to try a
provider while you write it. TARGET is a name in pintle.yaml, or any target that
pintle.yaml accepts: a Go package, an executable, a directory with bootstrap, a .py,
.js or .ts file, or a URL.

  pintle invoke ./provider -p '{"Name": "a"}'
  pintle invoke ./provider --type Update --id note-a -p '{"Name": "a", "Text": "b"}'
  pintle invoke ./provider --type Delete --id note-a -p @properties.json

As in CloudFormation, numbers and booleans become strings. The command checks the
answer against the protocol like an engine. The provider's output goes to stderr as it
runs. An answer with NoEcho is masked. If PINTLE_WEBHOOK_SECRET holds the provider's
secret, a request to a URL is signed.

With --ros it sends a request of Alibaba Cloud ROS, whose values keep their types. A
program or handler receives it like a function of Function Compute. A provider that
pintle.yaml declares with runtime: fc is invoked this way even without --ros.

  pintle invoke ./index.py --ros -p '{"X": 1, "Y": 2}'

Exit codes: 0 SUCCESS, 1 FAILED or no valid answer, 2 usage error.`,
		Args: cobra.ExactArgs(1),
		RunE: runE(func(ctx context.Context, args []string) error { return a.invoke(ctx, &o, args[0]) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.kind, "type", "", "Create, Update or Delete (default Create)")
	flags.StringVarP(&o.properties, "properties", "p", "", "a `JSON` object, or @FILE (default {})")
	flags.StringVar(&o.old, "old", "", "the properties before an Update, a `JSON` object or @FILE (default: the same)")
	flags.StringVar(&o.id, "id", "", "the physical `ID` of the resource, for Update and Delete")
	flags.StringVar(&o.resourceType, "resource-type", "", "`NAME` of the resource type (default: the only one that the provider publishes, or Custom::Test)")
	flags.StringVar(&o.logicalID, "logical-id", "", "`NAME` of the resource in the template (default Test)")
	flags.StringVar(&o.event, "event", "", "send the request in `FILE`; only its ResponseURL is replaced")
	flags.BoolVar(&o.sns, "sns", false, "send an SNS notification, as for a service token that is a topic")
	flags.BoolVar(&o.ros, "ros", false, "send a request of Alibaba Cloud ROS")
	flags.StringVar(&o.project, "project", "", "`DIR` with the pintle.yaml that defines TARGET (default: the current directory)")
	flags.StringVar(&o.region, "region", "", "`NAME` of the stack's region (default: AWS_REGION, or us-east-1; cn-hangzhou with --ros)")
	flags.DurationVar(&o.timeout, "timeout", harness.DefaultTimeout, "time limit for the answer")
	flags.BoolVar(&o.showSecrets, "show-secrets", false, "show the attributes of an answer with NoEcho")
	fromEnvironment(flags, "region", "project")
	outputFlag(cmd, &o.output)
	choices(cmd, "type", "Create", "Update", "Delete")
	cmd.ValidArgsFunction = a.complete.target
	return cmd
}

// maxProperties bounds the size of a request, in bytes. The service has only the limit for templates.
const maxProperties = 1 << 20

func (a *invokeCommands) invoke(ctx context.Context, o *invokeOptions, name string) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	if o.timeout <= 0 {
		return usagef("", "--timeout %s is not greater than 0", o.timeout)
	}
	tried, err := a.tried(o, name)
	if err == nil {
		err = withoutServer(tried)
	}
	if err != nil {
		return err
	}
	request, err := a.request(o, tried.Framework)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pintle-invoke-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the system's temporary directory
	i := &invocation{terminal: &a.terminal, asJSON: asJSON, showSecrets: o.showSecrets, target: name}
	logger, err := a.logger("", slog.LevelError)
	if err != nil {
		return err
	}
	config := harness.Config{
		Provider: tried.Framework, Functions: tried.Functions, Calls: tried.Calls,
		Request: request, SNS: o.sns, Timeout: o.timeout, WebhookSecret: a.getenv("PINTLE_WEBHOOK_SECRET"),
		Runtime: local.Config{
			CacheDir: dir, SchemaDir: schemaCache(), Region: a.regionOr(o.region), AWS: &builtin.SDK{}, Logger: logger, Progress: a.building,
		},
		Learn: func(text []byte, r *wire.Request) (secrets []string) {
			r.ResourceType, secrets = fitted(text, *r)
			i.request = *r
			return secrets
		},
		Log: i.line,
		Waiting: func() {
			a.say("the handler returned without an answer; waiting up to %s for a late one", o.timeout)
		},
	}
	if tried.Framework.Target.Kind() != local.URL && !tried.Later { // else something else may answer
		config.Settle = local.Settle
		config.Waiting = func() {
			a.say("the handler returned without an answer; waiting %s for one, or longer while its process is busy", config.Settle)
		}
	}
	result, err := harness.Run(ctx, config)
	broken, unbuilt := errors.AsType[*local.BuildError](err)
	switch {
	case ctx.Err() != nil:
		return failed(errors.New("interrupted before an answer arrived"))
	case unbuilt:
		return failed(fmt.Errorf("%w\n%s", broken, strings.Join(broken.Log, "\n")))
	case err != nil:
		return failed(err)
	}
	return i.report(result)
}

// ofROS completes a request as an engine of ROS does.
func (o *invokeOptions) ofROS(r *wire.Request, provider local.Provider) {
	r.ServiceToken = o.rosToken(provider)
	r.StackID, r.StackName = wire.StackID(uuid.NewString()), "invoke"
	r.RequestID = wire.RequestID(strings.ToUpper(uuid.NewString()))
	r.ResourceOwnerID, r.CallerID, r.RegionID = rosAccount, rosAccount, o.rosRegion()
}

// rosAccount and rosRegion are the defaults of ROS requests.
const (
	rosAccount = "0000" + sigv4.DefaultAccount
	rosRegion  = "cn-hangzhou"
)

func (o *invokeOptions) rosRegion() string { return cmp.Or(o.region, rosRegion) }

// rosToken returns the token by which a template of ROS would name the provider.
func (o *invokeOptions) rosToken(provider local.Provider) wire.ServiceToken {
	if provider.Target.Kind() == local.URL {
		return wire.ServiceToken("web:" + provider.Target.Path())
	}
	return wire.ServiceToken("acs:fc:" + o.rosRegion() + ":" + rosAccount + ":functions/" + local.FunctionName(provider.Name))
}

// fitted returns the type of a request, and its secrets according to the provider's schema.
func fitted(text []byte, r wire.Request) (resourceType string, secrets []string) {
	published, err := schema.Parse(text) // a provider need not have one, or not a good one
	if resourceType = r.ResourceType; resourceType == "" {
		resourceType = "Custom::Test"
		if err == nil && len(published.Names()) == 1 {
			resourceType = published.Names()[0]
		}
	}
	if err != nil {
		return resourceType, nil
	}
	s := published.Type(resourceType).Properties
	for _, raw := range []json.RawMessage{r.ResourceProperties, r.OldResourceProperties} {
		if v, err := value.Parse(raw); err == nil {
			secrets = append(secrets, s.Secrets(v)...)
		}
	}
	return resourceType, secrets
}
