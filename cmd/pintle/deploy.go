package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// deployOptions are the flags of deploy.
type deployOptions struct {
	changeOptions
	template, parameterFile string
	read                    *templateFile // nil if the template is still to be read
	parameters, tags        []string
	disableRollback, dryRun bool
	noSchema, replace       bool
	again                   []string
}

// desired is the stack that a deploy requests.
type desired struct {
	stack, template, path string
	language              template.Language
	// files are those that were read for it, or should have been.
	files            []string
	parameters, tags pairs
	providers        []provided
	disableRollback  bool
	noSchema         bool
	// plan says that providers are asked what they would do.
	plan bool
	// replace allows deleting and recreating resources that cannot be updated. Only for ROS.
	replace bool
	// again are the custom resources that get an Update even if nothing changed, by logical ID, or "*" for all.
	again      []string
	references referenceOptions
	unknown    engine.UnknownTypes
	forwards   []forward.Rule
	// functions says that functions of the template are run.
	functions bool
	// parsed returns the template or its errors. It applies no limits, because the engine does.
	parsed func() (*template.Template, error)
}

func (a *changeCommands) deployCommand() *cobra.Command {
	var o deployOptions
	cmd := &cobra.Command{
		Use:   "deploy [DIR]",
		Short: "Create or update a stack and watch its progress",
		Long: `Create or update the stack described in DIR/pintle.yaml (default: the current
directory), watch until it is done, and print its outputs. Flags override the file:

  stack: walkthrough
  template: template.json
  parameters: {Name: value}
  providers:
    CRTest: ./provider   # a Go package, an executable, a directory with bootstrap,
                         # a .py, .js or .ts file, or an http(s) URL

A parameter that you do not set keeps its value in the stack, or else takes its
default. deploy prints a note if the default has changed. A stack keeps its tags if you
set none. If an operation is in progress, deploy watches it first. If the last create
was rolled back, deploy deletes the stack first. After a deploy with --disable-rollback
has failed, deploy again with that flag to retry, or run "pintle rollback".

--update-again sends an Update to a custom resource even if nothing changed, for
example to run the new code of its handler. ResourceProperties and OldResourceProperties
are then equal. AWS sends no such Update, so it is not possible with --fidelity aws.

With --dry-run the command only shows the changes, resource by resource. It asks local
providers for their schemas, sends Plan requests to those that declare the method, and
stores nothing. It shows that a resource must be replaced if an immutable property
changes or the provider announces it. Whether another update replaces the resource is up
to the provider. If a provider refuses a change, the exit code is 1. With --no-schema
the command asks no provider.

Parameters of the types AWS::SSM::Parameter::Value<...> and dynamic references to
ssm are read from the parameters stored with the stacks (pintle serve accepts
"aws ssm put-parameter"), or from the place in --ssm. In pintle.yaml:

  ssm: aws
  resolveSecrets: true

--run-functions runs the functions that the template declares. Without it, deploy
rejects such a template. If an engine is already running, its own flags decide:
"pintle serve --dev" runs functions.

Before it creates anything, deploy checks the template against the schemas of local
providers. It reports misspelled properties and invalid values with their place in the
template. --no-schema skips this check. "pintle validate" does only this check.

If a server runs on the data directory, Ctrl-C detaches and the operation continues
there. Otherwise the operation is saved, and the next deploy resumes it.`,
		Example: `  pintle deploy shop
  pintle deploy shop --dry-run
  pintle deploy shop --update-again Certificate
  pintle deploy shop --update-again '*'`,
		Args: cobra.MaximumNArgs(1),
		RunE: runE(func(ctx context.Context, args []string) error { return a.deploy(ctx, &o, first(args)) }),
	}
	o.changeOptions.flags(cmd)
	o.flags(cmd)
	o.functions.flags(cmd)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the changes without making them")
	cmd.Flags().StringSliceVar(&o.again, "update-again", nil, "logical `ID` of a custom resource that gets an Update even if nothing changed, or '*' for all; may be repeated")
	a.complete.ids(cmd, "update-again")
	return cmd
}

// flags adds the flags that select the template and its inputs. Every command that deploys has them.
func (o *deployOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.template, "template", "", "template `FILE`, JSON or YAML (default: the one in pintle.yaml, or template.json or .yaml)")
	flags.StringArrayVar(&o.parameters, "parameter", nil, "a template parameter, `NAME=VALUE`; may be repeated")
	flags.StringVar(&o.parameterFile, "parameter-file", "", "JSON `FILE` of parameters, an object or a list in the AWS CLI's format")
	flags.StringArrayVar(&o.tags, "tag", nil, "a tag of the stack, `NAME=VALUE`; may be repeated")
	flags.BoolVar(&o.disableRollback, "disable-rollback", false, "keep a failed stack as it is")
	flags.BoolVar(&o.noSchema, "no-schema", false, "do not check the template against the schemas of providers")
	flags.BoolVar(&o.replace, "replace", false, "in a ROS stack, replace resources that cannot be updated (ReplacementOption)")
	unknownTypesFlag(cmd, &o.unknownTypes)
	forwardFlag(cmd, &o.forward)
	o.ros.flags(flags)
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func (a *changeCommands) deploy(ctx context.Context, o *deployOptions, dir string) error {
	c, err := a.change("deploy", &o.changeOptions, dir)
	if err != nil {
		return err
	}
	if c.modules, err = o.functions.folders(&a.workdir); err != nil {
		return err
	}
	c.functions, c.ros = o.functions.run, &o.ros
	if err := c.ros.apply(&node.Config{}); err != nil {
		return err // before anything is begun
	}
	c.deployed, c.retried, c.unshown = o.repeated(), againFlags(o.again), len(o.parameters) > 0
	want, err := a.desire(c.place, o)
	if err != nil {
		return err
	}
	c.unknown, c.forwards, c.result = want.unknown, want.forwards, &result{Stack: want.stack, Action: "none"}
	if o.endpoint == "" { // another server may know more than this program
		if err := want.check(ctx, a.shell, o.connection.region); err != nil {
			return a.conclude(c.result, c.asJSON, err)
		}
	}
	if o.dryRun {
		err := a.dryRun(ctx, o, c.place, want, c.asJSON)
		if _, printed := errors.AsType[*refusedChanges](err); printed {
			return err
		}
		if err != nil {
			return a.conclude(c.result, c.asJSON, err)
		}
		return nil
	}
	return a.carryOut(ctx, c, func(s *session) error {
		if err := s.provide(ctx, want.providers); err != nil {
			return err
		}
		return (&rollout{s, want}).bring(ctx, c.place, c.result, c.asJSON)
	})
}

func parseFidelity(text string) (engine.Fidelity, error) {
	switch f := engine.Fidelity(text); f {
	case "":
		return engine.FidelityPintle, nil
	case engine.FidelityAWS, engine.FidelityPintle:
		return f, nil
	}
	return "", usagef("use aws or pintle", "--fidelity %q is unknown", text)
}

// repeated returns the flags with which the same deploy is typed again, apart from those of its place, and without the
// parameters and URLs, which may be secret.
func (o *deployOptions) repeated() string {
	var b strings.Builder
	add := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				b.WriteString(" --" + name + " " + quote(value))
			}
		}
	}
	add("template", o.template)
	add("parameter-file", o.parameterFile)
	add("tag", o.tags...)
	for _, provider := range o.providers.named {
		if !strings.Contains(provider, "://") { // it is kept, so it need not be given again
			add("provider", provider)
		}
	}
	for _, macro := range o.providers.macros {
		if !strings.Contains(macro, "://") {
			add("macro", macro)
		}
	}
	add("builtin", o.providers.builtin...)
	add("allow", o.providers.allow...)
	add("fidelity", o.fidelity)
	b.WriteString(o.references.repeated())
	add("unknown-types", o.unknownTypes)
	add("forward", o.forward...)
	b.WriteString(o.functions.repeated())
	if o.noSchema {
		b.WriteString(" --no-schema")
	}
	if o.replace {
		b.WriteString(" --replace")
	}
	if o.disableRollback {
		b.WriteString(disableRollbackFlag)
	}
	return b.String()
}

// desire reads everything that a deploy needs before it talks to anyone. With an error come the files that it has to do with.
func (sh *shell) desire(p place, o *deployOptions) (want desired, err error) {
	want.disableRollback, want.noSchema, want.functions, want.replace = o.disableRollback, o.noSchema, o.functions.run, o.replace
	want.again = o.again
	want.references = o.references.with(p.project)
	read := func(path string, limit int64) ([]byte, error) {
		want.files = append(want.files, path)
		return readFile(path, limit)
	}
	if p.project == nil && o.template == "" && o.read == nil {
		return want, usagef("give a directory with pintle.yaml, or use --stack and --template", "no %s in %s",
			project.FileName, sh.short(p.dir))
	}
	if want.stack, err = p.stack(o.stack); err != nil {
		return want, err
	}
	if want.unknown, err = p.unknownTypes(o.unknownTypes, false); err != nil {
		return want, err
	}
	if want.forwards, err = p.forward(o.forward); err != nil {
		return want, err
	}
	if o.read != nil {
		want.template, want.path = o.read.text, o.read.path
	} else if want.template, want.path, err = sh.templateText(p, o.template, read); err != nil {
		return want, err
	}
	want.language = template.LanguageOf(want.template)
	if err := want.checkDialect(p); err != nil {
		return want, err
	}
	if want.language == template.CloudFormation {
		if want.template, err = withSnippets(want.template, want.path, sh.short(want.path), read); err != nil {
			return want, err
		}
	}
	text, language := want.template, want.language
	want.parsed = sync.OnceValues(func() (*template.Template, error) { return readAs(language, text) })
	if p.project != nil {
		want.parameters, want.tags = slices.Clone(p.project.Parameters), slices.Clone(p.project.Tags)
	}
	if o.parameterFile != "" {
		if err := want.parameters.readParameterFile(sh.path(o.parameterFile), read); err != nil {
			return want, err
		}
	}
	if err := want.parameters.setAll("parameter", o.parameters); err != nil {
		return want, err
	}
	if err := want.tags.setAll("tag", o.tags); err != nil {
		return want, err
	}
	if o.endpoint == "" {
		want.providers, err = sh.providers(p, o.providers)
		return want, err
	}
	if o.providers.any() {
		return want, usagef("add it to the server: pintle serve --provider NAME=TARGET", "--provider needs a "+
			"local engine, and --endpoint is a remote one")
	}
	if p.project != nil && len(p.project.Providers)+len(p.project.Macros) > 0 {
		sh.say("the providers in %s are ignored: the server at %s has its own", sh.short(p.project.File), o.endpoint)
	}
	return want, nil
}

// submitted returns the desired stack in the form of the services. The parameters in kept keep their present values.
func (w desired) submitted(kept []string) stacks.Desired {
	return stacks.Desired{
		Name: w.stack, Template: w.template, Parameters: w.given(kept), Tags: w.tags, KeepFailed: w.disableRollback, Agreed: w.capabilities(), Replace: w.replace,
	}
}

// capabilities agrees to the transforms of the template and of nested stacks, because the user of this command
// has the templates.
func (w desired) capabilities() []string {
	if w.language == template.ROS {
		return nil // it has none
	}
	t, err := w.parsed()
	nests := func(r *template.Resource) bool { return r.Type == native.StackType }
	if err != nil {
		return nil // the engine reports the error
	}
	var agreed []string
	if t.Transforms() != nil || slices.ContainsFunc(t.Resources, nests) {
		agreed = append(agreed, "CAPABILITY_AUTO_EXPAND")
	}
	if needed, _ := engine.Capabilities(t); needed != "" || agreed != nil {
		agreed = append(agreed, "CAPABILITY_NAMED_IAM") // the processed template may name some
	}
	return agreed
}

// given returns the parameters as the service takes them; those in kept that have no value here keep theirs.
func (w desired) given(kept []string) []stacks.Parameter {
	list := make([]stacks.Parameter, 0, len(w.parameters)+len(kept))
	for _, p := range w.parameters {
		list = append(list, stacks.Parameter{Name: p.Name, Text: p.Text})
	}
	for _, name := range kept {
		if !slices.ContainsFunc(w.parameters, func(p project.Pair) bool { return p.Name == name }) {
			list = append(list, stacks.Parameter{Name: name, Previous: true})
		}
	}
	return list
}

// refused explains an engine's rejection of the desired stack.
func (w desired) refused(sh *shell, message string, isNew bool) error {
	hint := "fix " + sh.short(w.path) + ", or the values passed to it"
	err := fmt.Errorf("stack %s: %s", w.stack, message)
	if strings.HasPrefix(message, "Parameter") || strings.HasPrefix(message, "The Parameter ") {
		hint = "set parameters with --parameter NAME=VALUE, --parameter-file FILE, or in pintle.yaml under parameters"
		if all := w.checkParameters(); isNew && all != nil {
			err = all
		}
	}
	return failed(err, hint)
}
