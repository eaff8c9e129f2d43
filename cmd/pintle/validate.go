package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/author/bundle"
	"github.com/pintle-dev/pintle/internal/author/diagnosis"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	template, parameterFile, region, output, unknownTypes string
	forward                                               []string
	parameters                                            []string
	providers                                             providerOptions
	noSchema, functions                                   bool
	limits                                                limitOptions
}

// templateCommands are the commands that read templates and create nothing.
type templateCommands struct {
	*connector
}

func (a *templateCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.validateCommand(), a.awsCommand(),
	}
}

func (a *templateCommands) validateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [DIR | TEMPLATE | -]...",
		Short: "Report errors in templates before anything is created",
		Long: `Report every error in templates, with line and column. The template is the one in
DIR/pintle.yaml (default: the current directory), or the file TEMPLATE with the
providers of the pintle.yaml next to it; - is standard input. You can pass any number
of templates. The command needs no engine and stores nothing.

It builds local providers and gets their schemas by running them with the argument
"schema", which every program of the Go SDK accepts. With these it finds
misspelled and missing properties, values of a wrong type or out of range, and unknown
attributes. It does not check values that depend on a resource, or on a parameter
without a value. If a schema has x-migrates, its type may accept old properties, so only
names similar to current ones are errors. The command does not call providers behind a
URL or without a schema, and does not build providers that no resource uses.

A provider whose schema declares the method Plan says what a deploy would do: to the
stack if it exists, or to a new one. A refused change is an error, an announced
replacement a warning. --no-schema skips this too.

A parameter applies to every given template that declares it, and one of them must. Use
-o sarif for code scanners. docs/validate.md lists the rules.

Exit codes: 0 no errors, 1 errors, 2 usage error.`,
		RunE: runE(func(ctx context.Context, args []string) error { return a.validate(ctx, &o, args) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.template, "template", "", "template `FILE`, JSON or YAML (default: the one in pintle.yaml, or template.json or .yaml)")
	flags.StringArrayVar(&o.parameters, "parameter", nil, "a template parameter, `NAME=VALUE`; may be repeated")
	flags.StringVar(&o.parameterFile, "parameter-file", "", "JSON `FILE` of parameters, an object or a list in the AWS CLI's format")
	o.providers.flags(flags)
	flags.StringVar(&o.region, "region", "", "`NAME` of the stack's region (default: AWS_REGION, or us-east-1)")
	o.limits.flags(flags)
	flags.BoolVar(&o.noSchema, "no-schema", false, "do not use the schemas of providers")
	unknownTypesFlag(cmd, &o.unknownTypes)
	forwardFlag(cmd, &o.forward)
	flags.BoolVar(&o.functions, "run-functions", false, "accept functions and related resources, like an engine with this flag")
	fromEnvironment(flags, "run-functions")
	fromEnvironment(flags, "region")
	flags.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text, json or sarif")
	choices(cmd, "output", "text", "json", "sarif")
	return cmd
}

func (a *templateCommands) validate(ctx context.Context, o *validateOptions, args []string) (err error) {
	if !slices.Contains([]string{"text", "json", "sarif"}, o.output) {
		return usagef("", "--output %q: want text, json or sarif", o.output)
	}
	if len(args) == 0 {
		args = []string{""}
	}
	if o.template != "" && len(args) > 1 {
		return usagef("", "--template works with one directory, and there are %d", len(args))
	}
	v, err := newValidator(a.connector, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	for _, what := range args {
		if err := v.add(what); err != nil {
			return err
		}
	}
	if err := v.share(); err != nil {
		return err
	}
	for _, one := range v.list {
		if err := v.look(ctx, one); err != nil {
			return err
		}
	}
	return v.report(o.output)
}

// templateFile is a template that was read.
type templateFile struct{ text, path string }

// add reads a template, or the template of a directory.
func (v *validator) add(what string) error {
	o := v.options
	dir, file := what, o.template
	var read *templateFile
	var nested template.Errors
	if what == "-" {
		dir = ""
		text, err := readAll(v.stdin, "standard input", maxTemplate)
		if err != nil {
			return usageError(err)
		}
		read = &templateFile{string(text), stdinName}
	} else if info, err := os.Stat(v.path(what)); err == nil && !info.IsDir() {
		if o.template != "" {
			return usagef("", "two templates: %s and %s", what, o.template)
		}
		dir, file = filepath.Dir(what), what
	}
	p, err := v.locate(dir, "")
	if err != nil {
		return err
	}
	if read == nil {
		text, path, err := v.templateText(p, file, readFile)
		if failed, ok := errors.AsType[*bundle.Error](err); ok {
			nested = template.Errors{unpacked(failed, path)}
		} else if err != nil {
			return err
		}
		read = &templateFile{text, path}
	}
	d := &deployOptions{read: read, parameters: o.parameters, parameterFile: o.parameterFile}
	d.unknownTypes, d.forward = o.unknownTypes, o.forward
	d.providers, d.functions.run = o.providers, o.functions
	if p.project == nil {
		d.stack = "stack"
	}
	want, err := v.desire(p, d)
	if err != nil {
		return err
	}
	one := &validation{want: want, named: p.project != nil, place: p}
	one.file.Name, one.file.Language, one.file.Source = read.path, want.language, diagnosis.NewSource(read.text)
	if read.path != stdinName {
		one.file.Name = v.short(read.path)
	}
	one.file.Add(diagnosis.Err, nested)
	v.list = append(v.list, one)
	return nil
}

// unpacked returns the problem of a template whose nested template cannot be used. Its place is in the template at path, unless a
// nested template has it.
func unpacked(failed *bundle.Error, path string) *template.Error {
	cause := strings.TrimPrefix(failed.Err.Error(), "TemplateURL: ")
	problem := &template.Error{Message: "TemplateURL: " + cause, Detail: nestedHint}
	if failed.Path == path {
		problem.Line, problem.Column = failed.Line, failed.Column
	} else {
		problem.Message = fmt.Sprintf("TemplateURL: %s:%d:%d: %s", failed.Path, failed.Line, failed.Column, cause)
	}
	return problem
}

// stdinName is the name of standard input.
const stdinName = "stdin"

// examine returns the valid parts of a template, and its errors. A template with macros is mostly unknown before they have
// run.
func examine(body string, limits template.Limits) (*template.Template, template.Errors) {
	if l := template.LanguageOf(body); l == template.ROS {
		return l.Examine(body, limits)
	}
	_, err := template.ReadUnexpanded(body, limits)
	if found, ok := errors.AsType[template.Errors](err); ok && template.BadCall(err) {
		return nil, found
	}
	if t, err := template.ParseSubmitted(body, limits); err == nil && t.Outlined() {
		return t, nil
	}
	return template.Examine(body, limits)
}

// share examines the templates, and takes parameters that were given for several from those that do not declare them.
func (v *validator) share() error {
	for _, one := range v.list {
		var found template.Errors
		one.template, found = examine(one.want.template, v.limits)
		one.file.Add(diagnosis.Err, found)
		one.malformed = len(found) > 0
		if one.template != nil {
			one.file.Add(diagnosis.Warning, one.template.Unchecked())
		}
		if size := len(one.want.template); size > stacks.MaxBody && one.want.language == template.CloudFormation {
			one.file.Add(diagnosis.Warning, template.Errors{{
				Message: fmt.Sprintf("the template has %d bytes: CloudFormation accepts %d in a request, so other clients must pass it by URL", size, stacks.MaxBody),
			}})
		}
	}
	if len(v.list) == 1 {
		return nil
	}
	var given pairs
	if v.options.parameterFile != "" {
		if err := given.readParameterFile(v.path(v.options.parameterFile), readFile); err != nil {
			return err
		}
	}
	if err := given.setAll("parameter", v.options.parameters); err != nil {
		return err
	}
	for _, p := range given {
		if slices.ContainsFunc(v.list, func(one *validation) bool { return one.template == nil || one.template.Parameter(p.Name) != nil }) {
			for _, one := range v.list {
				one.leaveOut(p.Name)
			}
		}
	}
	return nil
}
