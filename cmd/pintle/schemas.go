package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// schemas fetches the schemas of providers when a template needs them.
type schemas struct {
	// names are the providers that can be asked, and ask does that.
	names []string
	ask   func(ctx context.Context, name string) (json.RawMessage, error)
	// asked are those that were, nil for one without a usable schema; why says why it has none.
	asked map[string]*schema.Document
	why   map[string]error
}

// planning reports whether one of the providers that were asked answers a Plan.
func (s *schemas) planning() bool {
	for _, d := range s.asked {
		if d != nil && d.Plans() {
			return true
		}
	}
	return false
}

// match returns the name of the provider behind a token, or false.
func (s *schemas) match(token string) (string, bool) {
	return local.Match(wire.ServiceToken(token), func(name string) bool { return slices.Contains(s.names, name) })
}

// find returns the schema of the provider behind a token, or nil.
func (s *schemas) find(ctx context.Context, token string) *schema.Document {
	name, ok := s.match(token)
	if !ok {
		return nil
	}
	if d, ok := s.asked[name]; ok {
		return d
	}
	if s.asked == nil {
		s.asked, s.why = map[string]*schema.Document{}, map[string]error{}
	}
	text, err := s.ask(ctx, name)
	if err == nil {
		s.asked[name], err = schema.Parse(text)
	}
	if err != nil {
		s.asked[name], s.why[name] = nil, err
	}
	return s.asked[name]
}

// schemaRuntime builds providers, and asks them for their schemas and plans. It invokes them for nothing else.
type schemaRuntime struct {
	*local.Runtime
	dir string // of builds
}

// newSchemaRuntime returns a runtime that builds into a temporary directory, which exists until it is closed. plans receives the
// results of Plans; nil if none is asked.
func newSchemaRuntime(progress func(provider, text string), region string, plans *node.Plans) (*schemaRuntime, error) {
	dir, err := os.MkdirTemp("", "pintle-schemas-")
	if err != nil {
		return nil, failed(err)
	}
	runtime, err := local.New(local.Config{
		Done:     func(id string, outcome local.Outcome) { plans.Done(id, outcome) }, // nothing else is invoked
		Progress: progress, CacheDir: dir, SchemaDir: schemaCache(), Region: region,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if plans != nil {
		plans.Use(runtime)
	}
	return &schemaRuntime{runtime, dir}, nil
}

// Close ends the runtime and removes its builds.
func (r *schemaRuntime) Close() error { return errors.Join(r.Runtime.Close(), os.RemoveAll(r.dir)) }

// schemaCache returns the directory in which commands without a data directory cache schemas, or "" if none is available.
func schemaCache() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "pintle", "schemas")
}

// inputs are the parameters that are desired.
func (w desired) inputs() map[string]template.Input {
	inputs := map[string]template.Input{}
	for _, p := range w.parameters {
		inputs[p.Name] = template.Input{Value: p.Text}
	}
	return inputs
}

// stackIDOf returns the pseudo parameter that holds the id of the stack.
func stackIDOf(l template.Language) string {
	if l == template.ROS {
		return "ALIYUN::StackId"
	}
	return "AWS::StackId"
}

// foreseen evaluates the template as far as possible before the deploy. The values of the parameters in open are
// unknown; given has the parameters of the existing stack.
func (w desired) foreseen(t *template.Template, region string, open []string, given map[string]template.Input) (*template.Partial, error) {
	inputs := map[string]template.Input{}
	for name, input := range given {
		if t.Parameter(name) != nil {
			inputs[name] = input
		}
	}
	for _, p := range w.parameters {
		inputs[p.Name] = template.Input{Value: p.Text}
	}
	if w.language == template.ROS {
		account := engine.ROSAccount(sigv4.DefaultAccount)
		return t.BindPartly(inputs, open, template.Pseudo{AccountID: account, TenantID: account, Region: region, StackName: w.stack})
	}
	suffix := "amazonaws.com"
	partition := wire.Partition(region)
	if partition == "aws-cn" {
		suffix += ".cn"
	}
	return t.BindPartly(inputs, append(open, "AWS::NotificationARNs"), template.Pseudo{
		AccountID: sigv4.DefaultAccount, Region: region, Partition: partition, StackName: w.stack, URLSuffix: suffix,
	})
}

// checkSchemas validates the template against the schemas of the engine's providers. stack is the existing stack, or the
// zero Stack.
func (o *rollout) checkSchemas(ctx context.Context, stack stacks.Stack) error {
	if o.want.noSchema || o.data == "" {
		return nil
	}
	t, err := o.want.parsed()
	if err != nil {
		return nil //nolint:nilerr // the engine says it as the service does
	}
	given, open := map[string]template.Input{}, []string{stackIDOf(o.want.language)}
	for _, p := range stack.Parameters {
		name, text := p.Name, p.Text
		switch declared := t.Parameter(name); {
		case slices.ContainsFunc(o.want.parameters, func(p project.Pair) bool { return p.Name == name }):
		case declared != nil && (declared.NoEcho || text == value.ParameterMask):
			open = append(open, name) // its value is not shown
		default:
			given[name] = template.Input{Value: text}
		}
	}
	partial, err := o.want.foreseen(t, o.region(o.want.language, o.connection.region), open, given)
	if err != nil {
		return nil //nolint:nilerr // so it does
	}
	known, err := o.operator.providers(ctx)
	if err != nil {
		return nil //nolint:nilerr // an older server; what is checked here is checked by the providers too
	}
	all := schemas{ask: o.operator.schema}
	for _, p := range known {
		all.names = append(all.names, p.Name)
	}
	found := schema.Check(partial.Template(), partial, func(token string) *schema.Document { return all.find(ctx, token) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, name := range sortedKeys(all.why) {
		if apiErr, ok := errors.AsType[*operator.Error](all.why[name]); ok && apiErr.Status == http.StatusBadGateway {
			o.say("warning: %s, so the template is not checked with it", apiErr.Message)
		}
	}
	if len(found) == 0 {
		return nil
	}
	file := o.short(o.want.path)
	return usageError(&problems{where: file, found: found}, "fix "+file+", then "+o.again(),
		"use --no-schema to deploy anyway: the providers may decide differently")
}
