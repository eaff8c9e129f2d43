package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// referenceOptions configures where an engine reads values that templates refer to.
type referenceOptions struct {
	ssm     string
	secrets bool
}

func (o *referenceOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ssm, "ssm", "", "Parameter Store for templates: own, aws (as the AWS SDK is configured), or a `URL` (default own)")
	flags.BoolVar(&o.secrets, "resolve-secrets", false, "resolve the dynamic references ssm-secure and secretsmanager when a request is sent; CloudFormation does not do so in custom resources")
	fromEnvironment(flags, "ssm", "resolve-secrets")
}

// with returns the options, completed by those of a project. p may be nil.
func (o referenceOptions) with(p *project.Project) referenceOptions {
	if p != nil {
		if o.ssm == "" {
			o.ssm = p.SSM
		}
		o.secrets = o.secrets || p.ResolveSecrets
	}
	return o
}

// source returns the configuration of a node that says where parameters are.
func (o referenceOptions) source() (string, error) {
	switch o.ssm {
	case "", project.SSMOwn:
		return "", nil
	case project.SSMAWS:
		return node.SSMAWS, nil
	}
	if u, err := url.Parse(o.ssm); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return "", usagef("use own, aws, or http://host:port", "--ssm %q is not a Parameter Store", o.ssm)
	}
	return o.ssm, nil
}

// repeated returns the flags as a command line has them.
func (o referenceOptions) repeated() string {
	line := ""
	if o.ssm != "" {
		line += " --ssm " + quote(o.ssm)
	}
	if o.secrets {
		line += " --resolve-secrets"
	}
	return line
}

// maxNamed is how many references a note names.
const maxNamed = 3

// unresolved returns a sentence about references to secrets in a template, which reach the providers unresolved, or ""
// without such references.
func (w desired) unresolved() string {
	t, err := w.parsed()
	if err != nil {
		return "" // reported elsewhere
	}
	var texts []string
	for _, r := range t.Resources {
		if strings.HasPrefix(r.Type, "AWS::") && r.Type != wire.CustomResourceType {
			continue // native types get the secrets
		}
		found, _ := dynamic.In(r.Properties.Value()) // Parse has reported invalid ones
		for _, reference := range found {
			if reference.Service.Secret() && !slices.Contains(texts, reference.Text) {
				texts = append(texts, reference.Text)
			}
		}
	}
	if texts == nil {
		return ""
	}
	more := ""
	if len(texts) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(texts)-maxNamed)
		texts = texts[:maxNamed]
	}
	return strings.Join(texts, ", ") + more + ": providers get such references as written, not " +
		"the secrets; use --resolve-secrets (with deploy and serve, or resolveSecrets: true in pintle.yaml) to pass the secrets"
}
