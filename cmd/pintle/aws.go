package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/author/policy"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

type policyOptions struct {
	output                string
	parameters, resources []string
	forward               []string
}

func (a *templateCommands) awsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "aws",
		Short: "Work with resources that are AWS calls",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.policyCommand())
	return cmd
}

func (a *templateCommands) policyCommand() *cobra.Command {
	var o policyOptions
	cmd := &cobra.Command{
		Use:   "policy TEMPLATE",
		Short: "Print the permissions that the AWS calls of a template need",
		Long: `Print the IAM policy that a provider needs to make the AWS calls of a template's
resources. These are resources of type Custom::AWS, and resources whose ServiceToken
is the CDK's function for AWS calls or a provider declared with builtin: aws in the
pintle.yaml next to the template. The command makes no AWS calls.

  pintle aws policy cdk.out/App.template.json
  pintle aws policy template.yaml -o allow > rules.yaml
  pintle deploy --builtin aws --allow @rules.yaml

With -o allow it prints the rules in the form that pintle.yaml takes under allow and
--allow takes as @FILE. A role or region that is known only at deployment becomes an
asterisk, with a note. --parameter sets values, also for AWS::AccountId and the like.

Types that --forward or pintle.yaml forwards to aws add the CloudFormation calls that
Pintle makes, and all actions of the services of these types: which of them AWS needs
is not known here.

Most IAM actions have the name of their call. The command knows the exceptions of
widely used services, such as s3:ListBucket for listObjectsV2.`,
		Args: cobra.ExactArgs(1),
		RunE: runE(func(_ context.Context, args []string) error { return a.policy(&o, args[0]) }),
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "json", "output `FORMAT`: json or yaml for an IAM policy, or allow for Pintle's rules")
	flags.StringArrayVar(&o.parameters, "parameter", nil, "a template parameter, `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&o.resources, "resource", nil, "`ARN` of a resource that the calls access; may be repeated (default: *)")
	forwardFlag(cmd, &o.forward)
	choices(cmd, "output", "json", "yaml", "allow")
	return cmd
}

func (a *templateCommands) policy(o *policyOptions, file string) error {
	if o.output != "json" && o.output != "yaml" && o.output != "allow" {
		return usagef("", "--output %q: want json, yaml or allow", o.output)
	}
	if o.output == "allow" && len(o.resources) > 0 {
		return usagef("omit --resource, or print a policy with -o json", "--resource needs an IAM policy: rules have no resources")
	}
	var given pairs
	if err := given.setAll("parameter", o.parameters); err != nil {
		return err
	}
	c := policy.Config{Parameters: map[string]string{}}
	for _, pair := range given {
		c.Parameters[pair.Name] = pair.Text
	}
	text, err := readFile(a.path(file), policy.MaxTemplate)
	if err != nil {
		return usageError(err)
	}
	if c.Providers, err = builtinNames(filepath.Dir(a.path(file))); err != nil {
		return usageError(err)
	}
	if c.Client, err = awscall.New(awscall.Config{Region: local.DefaultRegion, Credentials: aws.AnonymousCredentials{}}); err != nil {
		return failed(err)
	}
	calls, problems, err := policy.Read(string(text), c)
	if err != nil {
		if found, ok := errors.AsType[template.Errors](err); ok && len(found) > 0 && found[0].Line > 0 {
			return failed(fmt.Errorf("%s:%d: %w", a.short(a.path(file)), found[0].Line, err))
		}
		return failed(fmt.Errorf("%s: %w", file, err))
	}
	if len(problems) > 0 {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = fmt.Sprintf("%s:%d:%d: %s: %s", file, p.Line, p.Column, p.Resource, p.Text)
		}
		return failed(errors.New(strings.Join(lines, "\n")), "nothing was printed, because the list would be incomplete")
	}
	forwarded, err := a.forwardedToAWS(o, a.path(file), string(text))
	if err != nil {
		return err
	}
	if len(calls) == 0 && forwarded == nil {
		a.say("note: no resource of %s is an AWS call", file)
	}
	a.tellOpen(calls)
	if o.output == "allow" {
		return a.printRules(policy.Rules(calls))
	}
	if len(o.resources) == 0 {
		o.resources = []string{"*"}
	}
	document := policy.Statements(calls, o.resources)
	if forwarded != nil {
		document.Statement = append(document.Statement,
			policy.Statement{Effect: "Allow", Action: forward.Actions(), Resource: []string{"*"}},
			policy.Statement{Effect: "Allow", Action: forward.ServiceActions(forwarded), Resource: []string{"*"}})
	}
	if o.output == "json" {
		return a.document(document)
	}
	return a.printYAML(document)
}

// forwardedToAWS returns the resource types of a template that AWS provides.
func (a *templateCommands) forwardedToAWS(o *policyOptions, file, text string) ([]string, error) {
	p, err := a.locate(filepath.Dir(file), "")
	if err != nil {
		return nil, err
	}
	rules, err := p.forward(o.forward)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	t, err := readAs(template.LanguageOf(text), text)
	if err != nil {
		return nil, failed(err)
	}
	var types []string
	for _, r := range t.Resources {
		at := slices.IndexFunc(rules, func(rule forward.Rule) bool { return rule.Matches(r.Type) })
		if at >= 0 && rules[at].Endpoint == forward.AWS {
			types = append(types, r.Type)
		}
	}
	return types, nil
}

// tellOpen lists the roles that the template does not fully determine.
func (a *templateCommands) tellOpen(calls []policy.Call) {
	printed := map[string]bool{}
	for _, c := range calls {
		line := fmt.Sprintf("note: the role of %s is only partly known before deployment: using %s", c.Resource, c.Role)
		if c.Open && !printed[line] {
			printed[line] = true
			a.say("%s", line)
		}
	}
}

// builtinNames returns the providers in the program that the project file in a directory declares, if there is one.
func builtinNames(dir string) ([]string, error) {
	p, err := project.Load(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, declared := range p.Providers {
		if declared.Builtin == project.AWS {
			names = append(names, declared.Name)
		}
	}
	return names, nil
}

func (a *templateCommands) printRules(rules []project.Allow) error {
	list := make([]any, len(rules))
	for i, rule := range rules {
		if len(rule.Regions)+len(rule.Roles) == 0 {
			list[i] = rule.Calls
			continue
		}
		list[i] = struct {
			Calls   string   `yaml:"calls"`
			Regions []string `yaml:"regions,omitempty,flow"`
			Roles   []string `yaml:"roles,omitempty,flow"`
		}{rule.Calls, rule.Regions, rule.Roles}
	}
	return a.printYAML(list)
}

func (t *terminal) printYAML(v any) error {
	encoder := yaml.NewEncoder(t.stdout)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(v), encoder.Close())
}
