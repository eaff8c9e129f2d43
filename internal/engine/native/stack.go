package native

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// StackType is the name of the type of nested stacks.
const StackType = "AWS::CloudFormation::Stack"

// OutputPrefix is the prefix of a nested stack's attributes, each of which is one of its outputs.
const OutputPrefix = "Outputs."

// stack is AWS::CloudFormation::Stack. It only fetches the template; the engine does the rest.
type stack struct {
	template func(ctx context.Context, url string) (string, error)
	nest     Nest
}

// Nest serves a request for a nested stack. template fetches the template's text when it is needed. waits means that
// the result is reported later. See engine.Engine.Nest.
type Nest func(
	ctx context.Context, r *store.Request, template func(context.Context) (string, error),
) (result Result, waits bool, err error)

// Stack returns the type of nested stacks. See [Config] for the arguments.
func Stack(template func(ctx context.Context, url string) (string, error), nest Nest) Type {
	return stack{template, nest}
}

// maxTimeoutInMinutes is the maximum time limit of a nested stack: a hundred years.
const maxTimeoutInMinutes = 100 * 365 * 24 * 60

var stackSchema = Schema{
	Name: StackType,
	Properties: []Property{
		{Name: "NotificationARNs", Kind: List},
		{Name: "Parameters", Kind: Object},
		{Name: "Tags", Kind: List},
		{Name: "TemplateURL", Required: true},
		{Name: "TimeoutInMinutes", Kind: Integer, Min: 1, Max: maxTimeoutInMinutes, Change: Refused},
	},
	Open: OutputPrefix, Nested: true,
}

// Schema implements [Type].
func (stack) Schema() *Schema { return &stackSchema }

// Declare implements [Declarer]. The parameters of a nested stack are strings or lists of strings.
func (stack) Declare(d Declaration) (Wanted, error) {
	parameters, _ := d.Properties.Get("Parameters")
	for _, p := range parameters.Members() {
		if !isText(p.Value) {
			return Wanted{}, wrong("Value of property Parameters must be an object with String (or simple type) properties")
		}
	}
	topics, _ := d.Properties.Get("NotificationARNs")
	for _, topic := range topics.Items() {
		token, err := wire.ParseToken(wire.ServiceToken(topic.Text()))
		if err != nil || token.Service != wire.SNS || token.Region == "" {
			return Wanted{}, wrong("Value of property NotificationARNs must be a list of ARNs of SNS topics, arn:aws:sns:REGION:ACCOUNT:NAME")
		}
	}
	tags, _ := d.Properties.Get("Tags")
	for _, tag := range tags.Items() {
		key, _ := tag.Get("Key")
		text, _ := tag.Get("Value")
		if len(tag.Members()) != 2 || !key.IsScalar() || !text.IsScalar() || key.Text() == "" {
			return Wanted{}, wrong("Value of property Tags must be a list of objects with the members Key and Value")
		}
	}
	if url, _ := d.Properties.Get("TemplateURL"); url.Text() == "" {
		return Wanted{}, wrong("Value of property TemplateURL must be the URL of a template")
	}
	return Wanted{Timeout: DefaultTimeout}, nil
}

// isText reports whether a value can be a parameter's value.
func isText(v value.Value) bool {
	if v.Kind() != value.List {
		return v.IsScalar()
	}
	for _, item := range v.Items() {
		if !item.IsScalar() {
			return false
		}
	}
	return true
}

// Serve implements [Type].
func (s stack) Serve(ctx context.Context, r *store.Request) (Result, error) {
	if s.nest == nil {
		return Result{}, wrong("stacks cannot be nested here")
	}
	result, waits, err := s.nest(ctx, r, func(ctx context.Context) (string, error) {
		url, _ := r.Body.Properties.Get("TemplateURL")
		if s.template == nil {
			return "", errors.New("templates cannot be fetched here")
		}
		return s.template(ctx, url.Text())
	})
	result.Pending = waits
	return result, err
}
