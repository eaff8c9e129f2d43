package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// invokeOptions are the flags of invoke.
type invokeOptions struct {
	kind, properties, old, id, resourceType, logicalID, event string
	project, region, output                                   string
	timeout                                                   time.Duration
	sns, ros, showSecrets                                     bool
}

func (a *app) invokeCommand() *cobra.Command {
	var o invokeOptions
	cmd := &cobra.Command{
		Use:   "invoke TARGET",
		Short: "Send one request to a provider and show its answer",
		Long: `Send one request to a provider and show its answer, without a stack. Use it to try a
provider while you write it. TARGET is a name in pintle.yaml, or any target that
pintle.yaml accepts: a Go package, an executable, a directory with bootstrap, a .py or
.js file, or a URL.

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
		RunE: a.command(func(ctx context.Context, args []string) error { return a.invoke(ctx, &o, args[0]) }),
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
	cmd.ValidArgsFunction = a.completeTarget
	return cmd
}

// maxProperties bounds the size of a request, in bytes. The service has only the limit for templates.
const maxProperties = 1 << 20

func (a *app) invoke(ctx context.Context, o *invokeOptions, name string) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	if o.timeout <= 0 {
		return usagef("", "--timeout %s is not greater than 0", o.timeout)
	}
	tried, err := a.tried(o, name)
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
	i := &invocation{app: a, asJSON: asJSON, showSecrets: o.showSecrets, target: name}
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

// building reports slow steps. invoke does not keep its builds, so every build is the first.
func (a *app) building(_, text string) {
	text, _, _ = strings.Cut(text, ";")
	a.say("%s", strings.ReplaceAll(text, a.cwd+string(filepath.Separator), ""))
}

// tried finds the provider that a name, a path or a URL means. One that is not made of functions is all of the Framework.
func (a *app) tried(o *invokeOptions, name string) (node.Apart, error) {
	p, err := a.locate(o.project, "")
	if err != nil {
		return node.Apart{}, err
	}
	declared, dir := project.Provider{Name: "Test", Target: name}, a.cwd
	var names []string
	if p.project != nil {
		for _, one := range p.project.Providers {
			names = append(names, one.Name)
			if one.Name == name {
				declared, dir = one, p.project.Dir
			}
		}
	}
	if declared.OnEvent != nil {
		return apart(o, p.project, declared)
	}
	if declared.Builtin != "" {
		provider, err := builtin.AWS{Allow: declared.Allow, Region: a.regionOr(o.region), Timeout: declared.Timeout}.Provider(name)
		return node.Apart{Framework: provider}, err
	}
	provider, err := local.ParseProvider(dir, declared)
	if err == nil {
		return node.Apart{Framework: provider, Later: declared.Answers == project.AnswersLater}, nil
	}
	if !strings.ContainsAny(name, "/.") && !slices.Contains(names, name) {
		hint := "use a name from pintle.yaml, the directory of a Go package, an executable or a URL"
		if near := didYouMean(name, names); near != "" {
			hint = near
		} else if len(names) > 0 {
			hint = "the names are " + strings.Join(names, ", ")
		}
		if _, missing := os.Stat(a.path(name)); missing != nil {
			return node.Apart{}, usagef(hint, "no provider %s in pintle.yaml, and no such file", name)
		}
	}
	return node.Apart{}, usageError(err)
}

// apart returns a provider that is made of functions. No one takes its wait over, so that it has all of the time.
func apart(o *invokeOptions, p *project.Project, declared project.Provider) (node.Apart, error) {
	definition, err := node.Define(p.Dir, declared, p.Providers)
	if err != nil {
		return node.Apart{}, usageError(err)
	}
	others := map[string]node.Definition{}
	for _, other := range p.Providers {
		if other.Name == declared.Name {
			continue
		}
		d, err := node.Define(p.Dir, other, p.Providers)
		if err != nil {
			if definition.Names(other.Name) {
				return node.Apart{}, usageError(err)
			}
			continue // it has no part in this
		}
		others[other.Name] = d
	}
	made, err := node.NewApart(declared.Name, definition, others)
	if err != nil {
		return node.Apart{}, usageError(err)
	}
	made.Framework.Timeout = o.timeout
	return made, nil
}

// request makes the request of the flags.
func (a *app) request(o *invokeOptions, provider local.Provider) (r wire.Request, err error) {
	if o.ros = o.ros || provider.Contract == bootstrap.FC; o.ros && o.sns {
		return r, usagef("omit one of them", "--ros and --sns cannot be combined")
	}
	if o.event != "" {
		r, err = a.recorded(o)
		if err == nil && r.Dialect == wire.ROS {
			r.ServiceToken = o.rosToken(provider)
		}
		return r, err
	}
	if o.ros {
		r.Dialect = wire.ROS
	}
	r.RequestType = wire.RequestType(o.kind)
	if o.kind == "" {
		r.RequestType = wire.Create
	}
	switch {
	case !r.RequestType.Valid():
		return r, usagef("use Create, Update or Delete", "--type %q is unknown", o.kind)
	case r.RequestType != wire.Create && o.id == "" && !o.ros: // ROS sends these without one, if the Create had failed
		return r, usagef("use the id from the answer to Create", "%s needs the physical ID of the resource: --id", r.RequestType)
	case r.RequestType == wire.Create && o.id != "":
		return r, usagef("omit it, or use --type Update or Delete", "a Create takes no --id: its answer contains one")
	case r.RequestType != wire.Update && o.old != "":
		return r, usagef("", "--old needs --type Update")
	}
	if r.ResourceType = o.resourceType; r.ResourceType != "" {
		if err := r.Dialect.CheckResourceType(r.ResourceType); err != nil {
			return r, usageError(err)
		}
	}
	r.LogicalResourceID, r.PhysicalResourceID = wire.LogicalID(o.logicalID), wire.PhysicalID(o.id)
	if o.logicalID == "" {
		r.LogicalResourceID = "Test"
	}
	if o.ros {
		o.ofROS(&r, provider)
	} else {
		a.ofCloudFormation(o, &r, provider)
	}
	if r.ResourceProperties, err = a.properties("properties", o.properties, r); err != nil {
		return r, err
	}
	if r.RequestType == wire.Update {
		if r.OldResourceProperties = r.ResourceProperties; o.old != "" {
			r.OldResourceProperties, err = a.properties("old", o.old, r)
		}
	}
	return r, err
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

// ofCloudFormation completes a request as CloudFormation does.
func (a *app) ofCloudFormation(o *invokeOptions, r *wire.Request, provider local.Provider) {
	region := a.regionOr(o.region)
	arn := "arn:" + wire.Partition(region) + ":"
	account := sigv4.DefaultAccount
	service := "lambda:" + region + ":" + account + ":function:"
	if o.sns {
		service = "sns:" + region + ":" + account + ":"
	}
	name := local.FunctionName(provider.Name)
	if strings.Contains(provider.Name, "://") {
		name = "Test" // the query of a URL may hold a key
	}
	r.ServiceToken = wire.ServiceToken(arn + service + name)
	if provider.Target.Kind() == local.URL && !o.sns {
		r.ServiceToken = wire.ServiceToken(provider.Target.Path())
	}
	r.StackID = wire.StackID(arn + "cloudformation:" + region + ":" + account + ":stack/invoke/" + uuid.NewString())
	r.RequestID = wire.RequestID(uuid.NewString())
}

// recorded reads a whole request.
func (a *app) recorded(o *invokeOptions) (r wire.Request, err error) {
	if o.kind+o.properties+o.old+o.id+o.logicalID+o.resourceType != "" {
		return r, usagef("change the file, or omit --event", "--event is a complete request and cannot be combined with --type, --properties, --old, --id, --logical-id or --resource-type")
	}
	text, err := readFile(a.path(o.event), wire.MaxRequest)
	if err != nil {
		return r, usageError(fmt.Errorf("--event: %w", err))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return r, usagef("the file must contain a request as CloudFormation or ROS sends it", "--event %s is not a JSON object", o.event)
	}
	fields["ResponseURL"] = json.RawMessage(`"http://127.0.0.1/"`) // it gets ours
	if text, err = json.Marshal(fields); err == nil {
		r, err = wire.ParseRequest(text)
	}
	if err != nil {
		return r, usageError(fmt.Errorf("--event %s: %w", o.event, err))
	}
	return r, nil
}

// properties reads the JSON object of a request from a flag, or from the file that it names.
func (a *app) properties(flag, given string, of wire.Request) (json.RawMessage, error) {
	text := []byte(given)
	if file, ok := strings.CutPrefix(given, "@"); ok {
		var err error
		if text, err = readFile(a.path(file), maxProperties); err != nil {
			return nil, usageError(fmt.Errorf("--%s: %w", flag, err))
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	v, err := value.Parse(text)
	if err != nil || v.Kind() != value.Map {
		// The parser's words may quote the value, which may be a secret.
		return nil, usagef(`use for example '{"Name": "a"}', or @FILE`, "--%s: not a JSON object", flag)
	}
	if of.Dialect == wire.ROS {
		return v.JSON(), nil
	}
	if _, ok := v.Get("ServiceToken"); !ok {
		v = value.Object(append([]value.Member{{Key: "ServiceToken", Value: value.Str(string(of.ServiceToken))}}, v.Members()...)...)
	}
	return v.Stringified().JSON(), nil
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
