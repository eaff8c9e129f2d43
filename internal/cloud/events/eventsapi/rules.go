package eventsapi

import (
	"context"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

type tag struct {
	Key   string
	Value string
}

const (
	stateEnabled  = "ENABLED"
	stateDisabled = "DISABLED"
)

type putRuleInput struct {
	Name, ScheduleExpression, EventPattern, State, Description, RoleArn, EventBusName string

	Tags []tag
}

type putRuleOutput struct{ RuleArn string }

func (f *handler) putRule(ctx context.Context, in putRuleInput) (out putRuleOutput, err error) {
	caller, place, err := f.who(ctx, in.EventBusName)
	if err != nil {
		return out, err
	}
	if in.State != "" && in.State != stateEnabled && in.State != stateDisabled {
		return out, invalid("1 validation error detected: Value '%.64s' at 'state' failed to satisfy constraint: Member must satisfy enum value set: "+
			"[ENABLED, DISABLED]", in.State)
	}
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return out, err
	}
	out.RuleArn, err = f.Rules.Put(ctx, "", registry.Rule{
		Place: place, Name: in.Name, Schedule: in.ScheduleExpression, Pattern: in.EventPattern, Description: in.Description, Role: in.RoleArn,
		Disabled: in.State == stateDisabled, Tags: tags, Poll: caller.Function,
	})
	return out, apiError(err)
}

const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

func tagsOf(list []tag) (map[string]string, error) {
	if len(list) > maxTags {
		return nil, awsjson.Refuse("LimitExceededException", "The requested resource exceeds the maximum number allowed.")
	}
	tags := map[string]string{}
	for _, t := range list {
		if t.Key == "" || len(t.Key) > maxTagKey || len(t.Value) > maxTagValue || strings.HasPrefix(t.Key, "aws:") {
			return nil, invalid("Parameter Tags is not valid. Reason: a key has 1 to %d characters and does not begin with aws:, a value has at most %d.",
				maxTagKey, maxTagValue)
		}
		tags[t.Key] = t.Value
	}
	return tags, nil
}

type nothing struct{}

type ruleInput struct {
	Name         string
	EventBusName string
	Force        bool
}

func (f *handler) deleteRule(ctx context.Context, in ruleInput) (nothing, error) {
	_, place, err := f.who(ctx, in.EventBusName)
	if err == nil {
		err = apiError(f.Rules.Delete(ctx, place, in.Name))
	}
	return nothing{}, err
}

func (f *handler) enable(enabled bool) func(context.Context, ruleInput) (nothing, error) {
	return func(ctx context.Context, in ruleInput) (nothing, error) {
		_, place, err := f.who(ctx, in.EventBusName)
		if err == nil {
			err = apiError(f.Rules.Enable(ctx, place, in.Name, enabled))
		}
		return nothing{}, err
	}
}

// ruleView is a rule in API output.
type ruleView struct {
	Name, Arn          string
	EventPattern       string `json:",omitempty"`
	ScheduleExpression string `json:",omitempty"`
	State              string
	Description        string `json:",omitempty"`
	RoleArn            string `json:",omitempty"`
	EventBusName       string
}

func view(of registry.Rule) ruleView {
	v := ruleView{
		Name: of.Name, Arn: events.ARN(of.Place, of.Name), EventPattern: of.Pattern, ScheduleExpression: of.Schedule, State: stateEnabled,
		Description: of.Description, RoleArn: of.Role, EventBusName: events.DefaultBus,
	}
	if of.Disabled {
		v.State = stateDisabled
	}
	return v
}

type describeOutput struct {
	ruleView
	CreatedBy string
}

func (f *handler) describeRule(ctx context.Context, in ruleInput) (out describeOutput, err error) {
	_, place, err := f.who(ctx, in.EventBusName)
	if err != nil {
		return out, err
	}
	of, err := f.Rules.Get(ctx, place, in.Name)
	return describeOutput{view(of), place.Account}, apiError(err)
}

type listInput struct {
	NamePrefix   string
	EventBusName string
	NextToken    *string
	Limit        *int
}

type listOutput struct {
	Rules     []ruleView
	NextToken string `json:",omitempty"`
}

func (f *handler) listRules(ctx context.Context, in listInput) (out listOutput, err error) {
	_, place, err := f.who(ctx, in.EventBusName)
	if err != nil {
		return out, err
	}
	limit, err := limitOf(in.Limit)
	if err != nil {
		return out, err
	}
	scope, after := strings.Join([]string{"ListRules", place.Account, place.Region, in.NamePrefix}, "|"), ""
	if in.NextToken != nil && f.Tokens.Decode(scope, *in.NextToken, &after) != nil {
		return out, badToken()
	}
	list, err := f.Rules.List(ctx, place, in.NamePrefix, after, limit+1)
	if err != nil {
		return out, apiError(err)
	}
	out.Rules = []ruleView{}
	for _, of := range list[:min(limit, len(list))] {
		out.Rules = append(out.Rules, view(of))
	}
	if len(list) > limit {
		out.NextToken, err = f.Tokens.Encode(scope, list[limit-1].Name)
	}
	return out, err
}

func badToken() error { return invalid("Parameter NextToken is not valid. Reason: Invalid token.") }

type tagInput struct {
	ResourceARN string
	Tags        []tag
	TagKeys     []string
}

func (f *handler) tag(ctx context.Context, in tagInput) (nothing, error) {
	place, name, err := f.resource(ctx, in.ResourceARN)
	if err != nil {
		return nothing{}, err
	}
	tags, err := tagsOf(in.Tags)
	if err == nil {
		err = apiError(f.Rules.Tag(ctx, place, name, tags))
	}
	return nothing{}, err
}

func (f *handler) untag(ctx context.Context, in tagInput) (nothing, error) {
	place, name, err := f.resource(ctx, in.ResourceARN)
	if err == nil {
		err = apiError(f.Rules.Untag(ctx, place, name, in.TagKeys))
	}
	return nothing{}, err
}

type listTagsOutput struct{ Tags []tag }

func (f *handler) listTags(ctx context.Context, in tagInput) (out listTagsOutput, err error) {
	place, name, err := f.resource(ctx, in.ResourceARN)
	if err != nil {
		return out, err
	}
	of, err := f.Rules.Get(ctx, place, name)
	if err != nil {
		return out, apiError(err)
	}
	holder, err := f.Rules.Owner(ctx, place, name)
	out.Tags = []tag{}
	for key, value := range registry.TagsOf(holder, of.Tags) {
		out.Tags = append(out.Tags, tag{key, value})
	}
	slices.SortFunc(out.Tags, func(a, b tag) int { return strings.Compare(a.Key, b.Key) })
	return out, apiError(err)
}
