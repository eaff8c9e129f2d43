package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/local"
	"github.com/pintle-dev/pintle/internal/schema"
	"github.com/pintle-dev/pintle/internal/template"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	template, parameterFile, region, output string
	parameters                              []string
	providers                               providerOptions
	noSchema                                bool
	limits                                  limitOptions
}

// validationDocument is the document of validate -o json.
type validationDocument struct {
	Template string            `json:"template"`
	Valid    bool              `json:"valid"`
	Problems []problemDocument `json:"problems"`
	// Providers are those that the template's resources name and that run on this machine.
	Providers []publishedDocument `json:"providers"`
	// Open are the parameters without a value: what depends on them was not checked.
	Open []string `json:"open"`
}

// publishedDocument says whether a provider publishes a schema, or why it does not.
type publishedDocument struct {
	Name   string `json:"name"`
	Schema bool   `json:"schema"`
	Reason string `json:"reason,omitempty"`
}

func (a *app) validateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [DIR | TEMPLATE]",
		Short: "Find what is wrong with a template, before anything is created",
		Long: `Find all that is wrong with a template, each with its line and column: that of
DIR/pintle.yaml (DIR: the current folder), or the file TEMPLATE, with the
providers of the pintle.yaml beside it. No engine is needed and nothing is kept.

Providers that run here are built and asked what they take, with the command
schema that every program made with package pintle knows. Misspelt and missing
properties, values of a wrong type or out of range, and attributes that there are
not are found by that. What depends on a resource, or on a parameter that has no
value yet, is not checked; one with x-migrates in its schema may take properties
of an earlier time, so that only names near to those of today are refused. A
provider behind a URL, or without a schema, is not asked.

Exit codes: 0 nothing is wrong, 1 something is, 2 usage.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.command(func(ctx context.Context, args []string) error { return a.validate(ctx, &o, first(args)) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.template, "template", "", "template `FILE`, JSON or YAML (default: the project's, or template.json or .yaml)")
	flags.StringArrayVar(&o.parameters, "parameter", nil, "a template parameter, `NAME=VALUE`; may be repeated")
	flags.StringVar(&o.parameterFile, "parameter-file", "", "JSON `FILE` of parameters, an object or a list as the AWS CLI takes it")
	o.providers.flags(flags)
	flags.StringVar(&o.region, "region", "", "`NAME` of the stack's region (default: AWS_REGION, or us-east-1)")
	o.limits.flags(flags)
	flags.BoolVar(&o.noSchema, "no-schema", false, "do not ask the providers")
	fromEnvironment(flags, "region")
	outputFlag(cmd, &o.output)
	return cmd
}

func (a *app) validate(ctx context.Context, o *validateOptions, what string) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	want, named, err := a.validated(o, what)
	if err != nil {
		return err
	}
	v := &validation{app: a, want: want, named: named, region: a.regionOr(o.region)}
	if v.limits, err = o.limits.parse(); err != nil {
		return err
	}
	found, err := v.run(ctx, o.noSchema)
	if err != nil {
		return err
	}
	file := a.short(want.path)
	wrong := &problems{where: file, found: found}
	if asJSON {
		document := validationDocument{
			Template: file, Valid: len(found) == 0, Problems: wrong.documents(), Providers: v.published, Open: v.open,
		}
		if err := a.document(document); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return failed(wrong)
	}
	if note := unresolved(want.template); note != "" && !want.references.secrets {
		a.say("%s", note)
	}
	if !asJSON {
		v.print(file)
	}
	return nil
}

// validated reads what is to be validated. named says that the stack has a name.
func (a *app) validated(o *validateOptions, what string) (want desired, named bool, err error) {
	dir, file := what, o.template
	if info, err := os.Stat(a.path(what)); err == nil && !info.IsDir() {
		if o.template != "" {
			return want, false, usagef("", "there are two templates: %s and %s", what, o.template)
		}
		dir, file = filepath.Dir(what), what
	}
	p, err := a.locate(dir, "")
	if err != nil {
		return want, false, err
	}
	if file == "" && p.project == nil {
		if file, err = findTemplate(p.dir); err != nil {
			return want, false, err
		}
	}
	d := &deployOptions{template: file, parameters: o.parameters, parameterFile: o.parameterFile}
	d.providers = o.providers
	if named = p.project != nil; !named {
		d.stack = "stack"
	}
	want, err = a.desire(p, d)
	return want, named, err
}

// validation is one run of the command.
type validation struct {
	app    *app
	want   desired
	named  bool
	region string
	limits template.Limits

	published []publishedDocument
	open      []string
	resources int
	vague     bool // the transforms need what is not known
}

// run returns all that is wrong with the template. Each look presumes that the one before found nothing.
func (v *validation) run(ctx context.Context, noSchema bool) (template.Errors, error) {
	v.published, v.open = []publishedDocument{}, []string{}
	t, err := template.ParseWithin(v.want.template, v.limits)
	if err != nil {
		return found(err)
	}
	open := []string{"AWS::StackId"}
	if !v.named {
		open = append(open, "AWS::StackName")
	}
	partial, err := v.want.foreseen(t, v.region, open, nil)
	if err != nil {
		return found(err)
	}
	v.open = append(v.open, partial.Missing()...)
	t = partial.Template()
	v.resources, v.vague = len(t.Resources), t.Unprocessed()
	scope, whole := partial.Scope()
	if whole {
		if _, err := t.Graph(scope); err != nil {
			return found(err)
		}
	}
	if !noSchema {
		list, err := v.checkSchemas(ctx, t, partial)
		if err != nil || len(list) > 0 {
			return list, err
		}
	}
	if !whole {
		return nil, nil
	}
	return v.preview(ctx, t)
}

// found returns the problems that an error is, in the order of their places.
func found(err error) (template.Errors, error) {
	list, ok := errors.AsType[template.Errors](err)
	if !ok {
		return nil, err
	}
	schema.Sort(list)
	return list, nil
}

// checkSchemas holds the template against what the providers publish. They are built into a folder that does not stay.
func (v *validation) checkSchemas(ctx context.Context, t *template.Template, partial *template.Partial) (_ template.Errors, err error) {
	dir, err := os.MkdirTemp("", "pintle-validate-")
	if err != nil {
		return nil, failed(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	runtime, err := local.New(local.Config{
		Done:     func(string, local.Outcome) {}, // nothing is invoked
		Progress: v.app.building, CacheDir: dir, SchemaDir: schemaCache(), Region: v.region,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, runtime.Close()) }()
	all := schemas{ask: func(ctx context.Context, name string) (json.RawMessage, error) { return runtime.Schema(ctx, name) }}
	for _, p := range v.want.providers {
		provider, ok, err := p.definition.Program(p.name)
		if err != nil {
			return nil, usageError(err)
		}
		if !ok {
			continue
		}
		if err := runtime.Set(provider); err != nil {
			return nil, usageError(err)
		}
		all.names = append(all.names, p.name)
	}
	list := schema.Check(t, partial, func(token string) *schema.Document { return all.find(ctx, token) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, name := range sortedKeys(all.asked) {
		if broken, ok := errors.AsType[*local.BuildError](all.why[name]); ok {
			return nil, failed(fmt.Errorf("%w\n%s", broken, strings.Join(broken.Log, "\n")), "mend the provider, or leave it out with --no-schema")
		}
		told := publishedDocument{Name: name, Schema: all.asked[name] != nil}
		if why := all.why[name]; why != nil {
			told.Reason = why.Error()
		}
		v.published = append(v.published, told)
	}
	return list, nil
}

// preview asks an engine without stacks what it would refuse.
func (v *validation) preview(ctx context.Context, t *template.Template) (template.Errors, error) {
	drawn, err := v.app.previewNew(ctx, v.region, v.want, v.limits)
	if told, ok := engine.InputError(err); ok {
		return template.Errors{{Message: told.Message}}, nil
	}
	if err != nil {
		return nil, err
	}
	var list template.Errors
	for _, c := range drawn.Changes {
		if r := t.Resource(c.LogicalID); c.Problem != "" && r != nil {
			list = append(list, &template.Error{Message: c.Problem, Path: "/Resources/" + c.LogicalID, Line: r.Line, Column: r.Column})
		}
	}
	schema.Sort(list)
	return list, nil
}

// print says what was looked at.
func (v *validation) print(file string) {
	noun := "resources"
	if v.resources == 1 {
		noun = "resource"
	}
	if v.vague {
		fmt.Fprintf(v.app.stdout, "%s: nothing is wrong with it, as far as can be told before its transforms are applied\n", file)
	} else {
		fmt.Fprintf(v.app.stdout, "%s: nothing is wrong with its %d %s\n", file, v.resources, noun)
	}
	for _, p := range v.published {
		if p.Schema {
			fmt.Fprintf(v.app.stdout, "  checked by the schema of provider %s\n", p.Name)
		} else {
			fmt.Fprintf(v.app.stdout, "  provider %s was not asked: %s\n", p.Name, p.Reason)
		}
	}
	if len(v.open) > 0 {
		fmt.Fprintf(v.app.stdout, "  not known, and what depends on it not checked: %s\n", strings.Join(v.open, ", "))
	}
}
