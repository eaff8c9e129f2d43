package ros

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// templateInput is the template of a call.
type templateInput struct {
	TemplateBody      string
	TemplateURL       string `length:",1024"`
	TemplateID        string `rpc:"TemplateId" length:",64"`
	TemplateVersion   string
	TemplateScratchID string `rpc:"TemplateScratchId" length:",64"`
}

// text returns the template, which it fetches if given by URL. given is false if the call has no template.
func (f *handler) text(ctx context.Context, in templateInput) (text string, given bool, err error) {
	count := 0
	for _, way := range []string{in.TemplateBody, in.TemplateURL, in.TemplateID, in.TemplateScratchID} {
		if way != "" {
			count++
		}
	}
	switch {
	case count > 1:
		return "", true, rpc.Invalid("TemplateBody", "only one of TemplateBody, TemplateURL, TemplateId and TemplateScratchId can be given")
	case in.TemplateID != "":
		_, version, _, err := storedTemplates{f}.bodyOf(ctx, in.TemplateID, in.TemplateVersion)
		return version.Body, true, err
	case in.TemplateScratchID != "":
		return "", true, rpc.NotSupported("TemplateScratchId", "Pass the text as TemplateBody, or where it is as TemplateURL.")
	case in.TemplateURL != "":
		text, err = f.fetched(ctx, "TemplateURL", in.TemplateURL)
		return text, true, err
	}
	text, err = decoded(in.TemplateBody)
	return text, in.TemplateBody != "", err
}

// encodedBody is the prefix of a template in Base64. It is undocumented, but the deploy command of the ROS CDK sends
// it.
const encodedBody = "@Base64Encoded:"

// decoded returns the text of a TemplateBody.
func decoded(body string) (string, error) {
	encoded, ok := strings.CutPrefix(body, encodedBody)
	if !ok {
		return body, nil
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", rpc.Invalid("TemplateBody", "the text after %s is not Base64", encodedBody)
	}
	return string(text), nil
}

// needed returns the template of a call that requires one.
func (f *handler) needed(ctx context.Context, in templateInput) (string, error) {
	text, given, err := f.text(ctx, in)
	if err == nil && !given {
		err = &rpc.Error{
			Code:    "MissingParameter",
			Message: "One of the input parameters TemplateBody, TemplateURL, TemplateId and TemplateScratchId should be specified.",
		}
	}
	return text, err
}

// fetched returns the text at a URL.
func (f *handler) fetched(ctx context.Context, name, url string) (string, error) {
	if f.texts == nil {
		return "", rpc.Invalid(name, "this server fetches nothing: pass the text itself")
	}
	text, err := f.texts.Template(ctx, url)
	if fetchErr, ok := errors.AsType[*fetch.Error](err); ok {
		// CloudFormation's messages begin with the parameter's name, which this message already contains.
		text := strings.TrimPrefix(strings.TrimSuffix(fetchErr.Text, "."), "TemplateURL: ")
		if is, found := strings.CutPrefix(text, "TemplateURL "); found {
			text = "it " + is
		}
		return "", rpc.Invalid(name, "%s", text)
	}
	return text, err
}

// policy returns a stack policy. The call may contain its text or its URL, in parameters that begin with name.
func (f *handler) policy(ctx context.Context, body, url, name string) (string, error) {
	switch {
	case body != "" && url != "":
		return "", rpc.Invalid(name+"Body", "only one of %sBody and %sURL can be given", name, name)
	case url != "":
		text, err := f.fetched(ctx, name+"URL", url)
		if err == nil && len(text) > maxPolicy {
			err = rpc.Invalid(name+"URL", "the policy is longer than %d bytes", maxPolicy)
		}
		return text, err
	}
	return body, nil
}

// maxPolicy is the maximum size of a stack policy in bytes. Source: ROS, SetStackPolicy.
const maxPolicy = 16384

// policyInput is the stack policy of a call.
type policyInput struct {
	StackPolicyBody string `length:",16384"`
	StackPolicyURL  string `length:",1350"`
}

// parameterInput is one parameter of a stack.
type parameterInput struct {
	ParameterKey   string `rpc:",required" length:",255"`
	ParameterValue *string
}

// tagInput is one tag of a stack.
type tagInput struct {
	Key   string `rpc:",required" length:",128"`
	Value string `length:",128"`
}

// optionsInput holds the common parameters of creates, updates and previews, except the template.
type optionsInput struct {
	Parameters  []parameterInput `length:",200"`
	Tags        []tagInput       `length:",20"`
	RAMRoleName string           `rpc:"RamRoleName" length:",64"`
	Parallelism int              `range:"1,"`
	ClientToken string           `length:",64" pattern:"[-_a-zA-Z0-9]*"`
	// NotificationURLs get a request when an operation of the stack has finished.
	NotificationURLs []string `length:",5" pattern:"(?i:https?)://.*"`

	// ResourceGroupID is the group of a new stack. An update cannot change it.
	ResourceGroupID string `rpc:"ResourceGroupId" length:",64" pattern:"[-_a-zA-Z0-9]*"`
}

// options returns the options for the engine. It rejects contradictory and unsupported parameters.
func (in *optionsInput) options(caller Caller) (engine.Options, error) {
	o := engine.Options{Token: in.ClientToken, RoleARN: in.RAMRoleName, Caller: caller.ID, Parallelism: in.Parallelism}
	o.ResourceGroup = in.ResourceGroupID
	for _, url := range in.NotificationURLs {
		if token, err := wire.ParseToken(wire.ServiceToken(url)); err != nil || token.Service != wire.HTTP {
			return o, rpc.Invalid("NotificationURLs", "one of them is not an http or https URL")
		}
	}
	o.NotificationARNs = in.NotificationURLs
	seen := map[string]bool{}
	for _, p := range in.Parameters {
		switch {
		case seen[p.ParameterKey]:
			return o, &rpc.Error{Code: "MultipleParameter", Message: "The Parameter (" + p.ParameterKey + ") is given more than once."}
		case strings.HasPrefix(p.ParameterKey, "ALIYUN::"):
			continue // GetStack includes pseudo parameters, and clients send them back
		}
		seen[p.ParameterKey] = true
		given := engine.Parameter{Key: p.ParameterKey}
		if p.ParameterValue != nil {
			given.Value = *p.ParameterValue
		}
		o.Parameters = append(o.Parameters, given)
	}
	if in.Tags == nil {
		return o, nil
	}
	seen = map[string]bool{}
	o.Tags = make([]store.Tag, 0, len(in.Tags))
	for _, t := range in.Tags {
		if seen[t.Key] {
			return o, &rpc.Error{Code: "MultipleParameter", Message: "The tag (" + t.Key + ") is given more than once."}
		}
		seen[t.Key] = true
		o.Tags = append(o.Tags, store.Tag(t))
	}
	if refused := checkTags("Tags", o.Tags); refused != nil {
		return o, refused
	}
	return o, nil
}

// stays returns an error if an update would change the stack's resource group.
func (in *optionsInput) stays(stack store.Stack) error {
	if in.ResourceGroupID != "" && in.ResourceGroupID != stack.ResourceGroup {
		return rpc.NotSupported("Another ResourceGroupId in an update", "MoveResourceGroup moves the stack.")
	}
	return nil
}

func logicalIDs(names []string) []wire.LogicalID {
	var ids []wire.LogicalID
	for _, name := range names {
		ids = append(ids, wire.LogicalID(name))
	}
	return ids
}
