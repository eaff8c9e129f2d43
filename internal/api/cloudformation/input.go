package cloudformation

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// templateInput is the template of a request.
type templateInput struct {
	TemplateBody *string `length:"1,51200"`
	TemplateURL  *string `length:"1,"` // at most mostURL characters, except a URL that contains the template
}

// mostURL is the maximum length of a URL. Source: CloudFormation, CreateStack.
const mostURL = 5120

// text returns the template, which it fetches if given by URL. Exactly one of the two is required.
func (f *handler) text(ctx context.Context, in templateInput) (string, error) {
	switch {
	case in.TemplateBody != nil && in.TemplateURL != nil:
		return "", query.Validation("Either Template URL or Template Body must be specified, not both.")
	case in.TemplateURL != nil:
		return f.fetched(ctx, *in.TemplateURL)
	case in.TemplateBody == nil:
		return "", query.Validation("Either Template URL or Template Body must be specified.")
	}
	return *in.TemplateBody, nil
}

// fetched returns the template behind a URL.
func (f *handler) fetched(ctx context.Context, url string) (string, error) {
	switch {
	case utf8.RuneCountInString(url) > mostURL && !fetch.Sealed(url):
		return "", query.Validation("1 validation error detected: Value '%s' at 'templateURL' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", url, mostURL)
	case f.texts == nil:
		return "", query.Validation("TemplateURL must be a supported URL. This server fetches no templates: " +
			"pass the text as TemplateBody (aws cloudformation … --template-body file://template.json).")
	}
	text, err := f.texts.Template(ctx, url)
	if fetchErr, ok := errors.AsType[*fetch.Error](err); ok {
		return "", query.Validation("%s", fetchErr.Text)
	}
	return text, err
}

// parameterInput is one parameter of a stack.
type parameterInput struct {
	ParameterKey     string  `query:",required"`
	ParameterValue   *string `query:",secret"` // may be the value of a NoEcho parameter
	UsePreviousValue bool
}

// tagInput is one tag of a stack.
type tagInput struct {
	Key   string `query:",required" length:"1,128"`
	Value string `query:",required" length:",256"`
}

// optionsInput holds the common members of creates and updates, except the template.
type optionsInput struct {
	Parameters         []parameterInput
	Capabilities       []string   `enum:"CAPABILITY_IAM,CAPABILITY_NAMED_IAM,CAPABILITY_AUTO_EXPAND"`
	Tags               []tagInput `length:",50"`
	RoleARN            string     `length:"20,2048"`
	ClientRequestToken string     `length:"1,128" pattern:"[a-zA-Z0-9][-a-zA-Z0-9]*"`
	DisableRollback    *bool
	// RetainExceptOnCreate applies to the rollback of this operation.
	RetainExceptOnCreate bool
	ResourceTypes        []string `each-length:"1,256"`
	DeploymentConfig     deploymentInput
	// DisableValidation is ignored: the only validation before a deployment finds templates that could not run.
	DisableValidation bool
	NotificationARNs  []string `length:",5"`

	RollbackConfiguration rollbackInput

	policyInput
}

// rollbackInput is the structure RollbackConfiguration. Omitted members keep the stack's values.
type rollbackInput struct {
	RollbackTriggers []struct {
		Arn  string `query:",required"`
		Type string `query:",required"`
	} `length:",5"`
	MonitoringTimeInMinutes *int `range:"0,180"`
}

// configuration returns the configuration for the engine.
func (in *rollbackInput) configuration() engine.RollbackConfiguration {
	c := engine.RollbackConfiguration{Minutes: in.MonitoringTimeInMinutes}
	if in.RollbackTriggers != nil {
		c.Triggers = []store.RollbackTrigger{}
	}
	for _, t := range in.RollbackTriggers {
		c.Triggers = append(c.Triggers, store.RollbackTrigger{ARN: t.Arn, Type: t.Type})
	}
	return c
}

// policyInput is the stack policy of a request.
type policyInput struct {
	StackPolicyBody string `length:",16384"`
	StackPolicyURL  string `length:",5120"`
}

// policy returns a stack policy, or "" if none is given. The request may contain its text or its URL, in members that
// begin with name. The rules of TemplateURL apply to the URL.
func (f *handler) policy(ctx context.Context, body, url, name string) (string, error) {
	switch {
	case body != "" && url != "":
		return "", query.Validation("You cannot specify both %sURL and %sBody", name, name)
	case url == "":
		return body, nil
	case f.texts == nil:
		return "", query.Validation("%sURL must be a supported URL. This server fetches no policies: pass the text as %sBody.", name, name)
	}
	text, err := f.texts.Template(ctx, url)
	if fetchErr, ok := errors.AsType[*fetch.Error](err); ok {
		return "", query.Validation("%s", strings.ReplaceAll(fetchErr.Text, "TemplateURL", name+"URL"))
	}
	return text, err
}

// deploymentInput is the deployment mode. On AWS, EXPRESS does not wait until configured resources are ready. A custom
// resource is ready only when its provider says so. So only one effect of the mode remains: a failure is rolled back
// only if the request asks for it.
type deploymentInput struct {
	Mode            string `enum:"STANDARD,EXPRESS"`
	DisableRollback *bool
}

// disablesRollback reports whether a failed operation is not rolled back. explicit is the request's own
// DisableRollback.
func (in deploymentInput) disablesRollback(explicit *bool) (bool, error) {
	switch {
	case explicit != nil && in.DisableRollback != nil && *explicit != *in.DisableRollback:
		return false, query.Validation("DisableRollback and DeploymentConfig.DisableRollback contradict each other. Leave one out.")
	case explicit != nil:
		return *explicit, nil
	case in.DisableRollback != nil:
		return *in.DisableRollback, nil
	}
	return in.Mode == "EXPRESS", nil
}

// options returns the options for the engine. It rejects contradictory members.
func (f *handler) options(ctx context.Context, in *optionsInput) (engine.Options, error) {
	o := engine.Options{
		Token: in.ClientRequestToken, Capabilities: in.Capabilities, RoleARN: in.RoleARN,
		ResourceTypes: in.ResourceTypes, RetainExceptOnCreate: in.RetainExceptOnCreate,
	}
	var err error
	if o.DisableRollback, err = in.DeploymentConfig.disablesRollback(in.DisableRollback); err != nil {
		return o, err
	}
	if o.Policy, err = f.policy(ctx, in.StackPolicyBody, in.StackPolicyURL, "StackPolicy"); err != nil {
		return o, err
	}
	o.Rollback = in.RollbackConfiguration.configuration()
	o.NotificationARNs = in.NotificationARNs // an empty list in the request removes them
	for _, arn := range in.NotificationARNs {
		if token, err := wire.ParseToken(wire.ServiceToken(arn)); err != nil || token.Service != wire.SNS || token.Region == "" {
			return o, query.Validation("NotificationARNs: [%s] is not the ARN of an SNS topic, arn:aws:sns:REGION:ACCOUNT:NAME", arn)
		}
	}
	var missing []string
	seen := map[string]bool{}
	for _, p := range in.Parameters {
		if seen[p.ParameterKey] {
			return o, query.Validation("Parameters: [%s] is given more than once", p.ParameterKey)
		}
		seen[p.ParameterKey] = true
		given := engine.Parameter{Key: p.ParameterKey, UsePrevious: p.UsePreviousValue}
		switch {
		case p.ParameterValue != nil:
			given.Value = *p.ParameterValue
		case !p.UsePreviousValue:
			missing = append(missing, p.ParameterKey)
		}
		o.Parameters = append(o.Parameters, given)
	}
	if missing != nil {
		return o, query.Validation("Parameters: [%s] must have values", strings.Join(missing, ", "))
	}
	if in.Tags == nil {
		return o, nil
	}
	o.Tags = make([]store.Tag, len(in.Tags)) // an empty list in the request removes all tags
	seen = map[string]bool{}
	for i, t := range in.Tags {
		switch {
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return o, query.Validation("aws: prefixed tag key names are not allowed for external use.")
		case seen[t.Key]:
			return o, query.Validation("Tags: the key %s is given more than once", t.Key)
		}
		seen[t.Key] = true
		o.Tags[i] = store.Tag{Key: t.Key, Value: t.Value}
	}
	return o, nil
}

// ignored is a member that this version does not support.
type ignored struct {
	name  string
	given bool
	why   string // an explanation or an alternative
}

// refuse returns an error that names all members of the list that were given, or nil.
func refuse(list []ignored) error {
	var given []string
	for _, i := range list {
		if i.given {
			given = append(given, i.name+" is not supported by this version of Pintle ("+i.why+")")
		}
	}
	if given == nil {
		return nil
	}
	return query.Validation("%s. Leave it out.", strings.Join(given, "; "))
}
