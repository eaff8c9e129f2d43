package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/author/diagnosis"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// validator is one run of validate.
type validator struct {
	*connector

	options *validateOptions
	region  string
	limits  template.Limits
	list    []*validation
	engines map[engineSettings]idleEngine
	asked   map[string]*published // by directory
	// broken is a provider that could not be built; nil if all could that were needed.
	broken error
}

// engineSettings are those by which engines without stacks differ.
type engineSettings struct {
	unknown    engine.UnknownTypes
	references referenceOptions
	functions  bool
	forwards   string // as forwardKey returns it
}

// validation is the result of validating one template.
type validation struct {
	want  desired
	named bool // the stack has a name
	place place

	// template has the valid parts, with transforms applied if possible; nil if there are none.
	template  *template.Template
	malformed bool
	file      diagnosis.File
	providers []publishedDocument
	open      []string
}

// published has the schemas of the providers of a directory.
type published struct {
	schemas
	runtime *schemaRuntime
	plans   *node.Plans
	planned []string // the names of the providers that may be asked for plans
}

func newValidator(e *connector, o *validateOptions) (*validator, error) {
	limits, err := o.limits.parse()
	if err != nil {
		return nil, err
	}
	return &validator{
		connector: e, options: o, region: e.regionOr(o.region), limits: limits,
		engines: map[engineSettings]idleEngine{}, asked: map[string]*published{},
	}, nil
}

// close ends the processes.
func (v *validator) close() error {
	var errs []error
	for _, e := range v.engines {
		errs = append(errs, e.close())
	}
	for _, p := range v.asked {
		errs = append(errs, p.runtime.Close())
	}
	return errors.Join(errs...)
}

// leaveOut forgets a parameter if the template does not declare it.
func (one *validation) leaveOut(name string) {
	if one.template == nil || one.template.Parameter(name) == nil {
		one.want.parameters = slices.DeleteFunc(one.want.parameters, func(p project.Pair) bool { return p.Name == name })
	}
}

// add adds problems, whether they come as an [template.Errors] or as one; other errors are returned.
func (one *validation) add(err error) error {
	if err == nil {
		return nil
	}
	list, ok := errors.AsType[template.Errors](err)
	if ok {
		one.file.Add(diagnosis.Err, list)
		return nil
	}
	return err
}

// look finds the problems of a template beyond its form. Each check covers the parts that are valid for it.
func (v *validator) look(ctx context.Context, one *validation) error {
	t := one.template
	if t == nil || t.Outlined() {
		return nil
	}
	idle, err := v.engine(ctx, one.want)
	if err != nil {
		return err
	}
	open := []string{stackIDOf(one.want.language)}
	if !one.named {
		open = append(open, strings.TrimSuffix(open[0], "Id")+"Name")
	}
	region := v.connector.region(one.want.language, v.options.region)
	partial, err := one.want.foreseen(t, region, open, nil)
	one.malformed = one.malformed || err != nil
	if err := one.add(err); err != nil {
		return err
	}
	one.open = partial.Missing()
	t = partial.Template()
	one.template = t
	one.file.Add(diagnosis.Err, idle.Inspect(partial))
	if one.want.unknown == engine.UnknownRecorded {
		types, err := nativeTypes(v.options.functions, one.want.forwards)
		if err != nil {
			return err
		}
		for _, r := range recorded(t, types) {
			one.file.Add(diagnosis.Warning, template.Errors{{
				Message: r.LogicalID + " is only recorded: no provider for " + r.Type + " here",
				Path:    "/Resources/" + r.LogicalID + "/Type", Line: r.Line, Column: r.Column,
			}})
		}
	}
	scope, whole := partial.Scope()
	if whole = whole && !one.malformed; whole {
		if _, err := t.Graph(scope); one.add(err) != nil {
			return err
		}
	}
	if !v.options.noSchema {
		if err := v.checkSchemas(ctx, one, partial); err != nil {
			return err
		}
	}
	if whole && one.file.Errors() == 0 && len(t.StoredNames(one.want.inputs(), nil)) == 0 { // the parameter store is not asked
		return v.preview(ctx, idle, one)
	}
	return nil
}

// engine returns an engine without stacks.
func (v *validator) engine(ctx context.Context, want desired) (idleEngine, error) {
	settings := engineSettings{want.unknown, want.references, want.functions, forwardKey(want.forwards)}
	if e, ok := v.engines[settings]; ok {
		return e, nil
	}
	e, err := newIdleEngine(ctx, want, v.limits, nil)
	if err == nil {
		v.engines[settings] = e
	}
	return e, err
}

// publish makes ready to ask the providers of a directory. They are built into a directory that does not stay.
func (v *validator) publish(one *validation) (*published, error) {
	if p, ok := v.asked[one.place.dir]; ok {
		return p, nil
	}
	p := &published{}
	p.plans = node.NewPlans(
		func(token wire.ServiceToken) (string, bool) {
			return local.Match(token, func(name string) bool { return slices.Contains(p.planned, name) })
		},
		func(ctx context.Context, name string) (json.RawMessage, error) { return p.ask(ctx, name) })
	runtime, err := newSchemaRuntime(v.building, v.region, p.plans)
	if err != nil {
		return nil, err
	}
	p.runtime = runtime
	v.asked[one.place.dir] = p
	p.ask = func(ctx context.Context, name string) (json.RawMessage, error) { return runtime.Schema(ctx, name) }
	for _, declared := range one.want.providers {
		program, ok, err := declared.definition.Program(declared.name)
		if err != nil {
			return nil, usageError(err)
		}
		if !ok {
			continue
		}
		if err := runtime.Set(program); err != nil {
			return nil, usageError(err)
		}
		p.names = append(p.names, declared.name)
		if declared.definition.AWS != project.AWSLocal { // no server is there for its calls
			p.planned = append(p.planned, declared.name)
		}
	}
	return p, nil
}

// plans returns what asks the providers of a project what they would do; nil if there are none, or none is to be asked.
func (v *validator) plans(one *validation, wanted bool) (*node.Plans, error) {
	if !wanted || len(one.want.providers) == 0 {
		return nil, nil //nolint:nilnil // none is not an error
	}
	all, err := v.publish(one)
	if err != nil {
		return nil, err
	}
	return all.plans, nil
}

// checkSchemas validates a template against the schemas of the providers.
func (v *validator) checkSchemas(ctx context.Context, one *validation, partial *template.Partial) error {
	if len(one.want.providers) == 0 {
		return nil // no one is asked
	}
	all, err := v.publish(one)
	if err != nil {
		return err
	}
	asked := map[string]bool{}
	one.file.Add(diagnosis.Err, schema.Check(one.template, partial, func(token string) *schema.Document {
		if name, ok := all.match(token); ok {
			asked[name] = true
		}
		return all.find(ctx, token)
	}))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, name := range sortedKeys(asked) {
		document := publishedDocument{Name: name, Schema: all.asked[name] != nil, failed: local.CannotRun(all.why[name])}
		if why := all.why[name]; why != nil {
			document.Reason = why.Error()
		}
		if broken, ok := errors.AsType[*local.BuildError](all.why[name]); ok {
			v.broken = failed(fmt.Errorf("%w\n%s", broken, strings.Join(broken.Log, "\n")), "fix the provider, or skip it with --no-schema")
		} else if local.CannotRun(all.why[name]) {
			v.broken = failed(all.why[name], "fix the provider, or skip it with --no-schema")
		}
		one.providers = append(one.providers, document)
	}
	return nil
}

// preview asks an engine without stacks which parts it would refuse.
func (v *validator) preview(ctx context.Context, idle idleEngine, one *validation) error {
	drawn, err := idle.preview(ctx, v.connector.region(one.want.language, v.options.region), one.want)
	if inputErr, ok := engine.InputError(err); ok {
		if diagnosis.RuleOf(&template.Error{Message: inputErr.Message}).ID == diagnosis.Import {
			return nil // other stacks are not known
		}
		one.file.Add(diagnosis.Err, template.Errors{{Message: inputErr.Message}})
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range drawn.Changes {
		if diagnosis.RuleOf(&template.Error{Message: c.Problem}).ID == diagnosis.Import {
			continue // other stacks are not known
		}
		if r := one.template.Resource(c.LogicalID); c.Problem != "" && r != nil {
			one.file.Add(diagnosis.Err, template.Errors{{Message: c.Problem, Path: "/Resources/" + c.LogicalID, Line: r.Line, Column: r.Column}})
		}
	}
	if one.file.Errors() > 0 {
		return nil
	}
	return v.consult(ctx, one)
}

// consult asks the providers what they would do: to the stack that is there, or to a new one. It reports what they refuse and replace.
func (v *validator) consult(ctx context.Context, one *validation) error {
	all := v.asked[one.place.dir]
	if all == nil || !all.planning() || v.options.noSchema {
		return nil // no provider plans
	}
	changes, err := v.drawn(ctx, one, all.plans)
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	for i := range changes {
		c := &changes[i]
		r := one.template.Resource(c.LogicalID)
		if r == nil {
			continue
		}
		add := func(level diagnosis.Level, e template.Error) {
			e.Path, e.Line, e.Column = "/Resources/"+c.LogicalID, r.Line, r.Column
			one.file.Add(level, template.Errors{&e})
		}
		if c.Refused != "" {
			add(diagnosis.Err, diagnosis.Refused(c.LogicalID, c.Refused))
		}
		if c.Reason != "" {
			add(diagnosis.Warning, diagnosis.Replaced(c.LogicalID, c.Reason))
		}
	}
	return nil
}

// drawn returns the changes that a deploy would make, with the plans of the providers. A deploy that is not possible now has none.
func (v *validator) drawn(ctx context.Context, one *validation, plans *node.Plans) ([]plan.Change, error) {
	want := one.want
	want.plan = true
	if one.named {
		c := connection{region: v.options.region}
		s, ok, err := v.readerWith(ctx, c, one.place.data, keyOptions{}, want.references, plans, want.forwards)
		if err != nil {
			return nil, nil //nolint:nilerr // the command needs no engine, and one that cannot be read has nothing to say
		}
		if ok {
			found, err := (&rollout{s, want}).preview(ctx, one.place, &previewDocument{})
			if closing := s.close(); closing != nil {
				return nil, closing
			}
			if err != nil {
				return nil, nil //nolint:nilerr // the stack cannot be updated now, which is not the template's fault
			}
			return found.Changes, nil
		}
	}
	idle, err := newIdleEngine(ctx, want, v.limits, plans)
	if err != nil {
		return nil, err
	}
	found, err := idle.preview(ctx, v.connector.region(want.language, v.options.region), want)
	if _, ok := engine.InputError(err); ok {
		err = nil // it is reported already
	}
	return found.Changes, errors.Join(err, idle.close())
}
