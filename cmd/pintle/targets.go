package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// targets finds the provider that a command line names, and makes requests for it.
type targets struct {
	*shell
}

// tried finds the provider that a name, a path or a URL means. One that is not made of functions is all of the Framework.
func (a *targets) tried(o *invokeOptions, name string) (node.Apart, error) {
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
		return node.Apart{
			Framework: provider, Later: declared.Answers == project.AnswersLater, Elsewhere: declared.AWS == project.AWSEnvironment,
		}, nil
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

// withoutServer rejects a provider that only a server can call again.
func withoutServer(provider node.Apart) error {
	if err := provider.NeedsServer(); err != nil {
		return usageError(err, "deploy a stack with it: docs/guides/ci.md shows how to test one in a pipeline")
	}
	return nil
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
func (a *targets) request(o *invokeOptions, provider local.Provider) (r wire.Request, err error) {
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

// ofCloudFormation completes a request as CloudFormation does.
func (a *targets) ofCloudFormation(o *invokeOptions, r *wire.Request, provider local.Provider) {
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
func (a *targets) recorded(o *invokeOptions) (r wire.Request, err error) {
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
func (a *targets) properties(flag, given string, of wire.Request) (json.RawMessage, error) {
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
