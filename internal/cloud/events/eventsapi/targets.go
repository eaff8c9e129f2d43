package eventsapi

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// maxTargets is the maximum number of targets in one call. Source: API Reference, PutTargets.
const maxTargets = 100

// transformer is the InputTransformer structure.
type transformer struct {
	InputPathsMap map[string]string `json:",omitempty"`
	InputTemplate string
}

// targetView is the Target structure. rest holds the members that are only recorded.
type targetView struct {
	Id, Arn          string
	RoleArn          string       `json:",omitempty"`
	Input            *string      `json:",omitempty"`
	InputPath        string       `json:",omitempty"`
	InputTransformer *transformer `json:",omitempty"`
	rest             map[string]json.RawMessage
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *targetView) UnmarshalJSON(text []byte) error {
	type plain targetView
	if err := json.Unmarshal(text, (*plain)(t)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &t.rest); err != nil {
		return err
	}
	for _, known := range []string{"Id", "Arn", "RoleArn", "Input", "InputPath", "InputTransformer"} {
		delete(t.rest, known)
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (t targetView) MarshalJSON() ([]byte, error) {
	type plain targetView
	text, err := json.Marshal(plain(t))
	if err != nil || len(t.rest) == 0 {
		return text, err
	}
	all := maps.Clone(t.rest)
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// target converts the target for the catalog.
func (t targetView) target() (registry.Target, error) {
	of := registry.Target{ARN: t.Arn, Role: t.RoleArn, Input: t.Input, InputPath: t.InputPath}
	if t.InputTransformer != nil {
		of.Transformer = &registry.Transformer{Paths: t.InputTransformer.InputPathsMap, Template: t.InputTransformer.InputTemplate}
	}
	if len(t.rest) == 0 {
		return of, nil
	}
	var err error
	of.Rest, err = json.Marshal(t.rest)
	return of, err
}

func viewTarget(id string, of registry.Target) (targetView, error) {
	t := targetView{Id: id, Arn: of.ARN, RoleArn: of.Role, Input: of.Input, InputPath: of.InputPath}
	if of.Transformer != nil {
		t.InputTransformer = &transformer{of.Transformer.Paths, of.Transformer.Template}
	}
	if len(of.Rest) == 0 {
		return t, nil
	}
	return t, json.Unmarshal(of.Rest, &t.rest)
}

type putTargetsInput struct {
	Rule, EventBusName string

	Targets []targetView
}

// failures is the list of failed entries in the output of calls with several targets. It is always empty, because
// such a call either succeeds for all targets or fails.
type failures struct {
	FailedEntryCount int
	FailedEntries    []nothing
}

func (f *handler) putTargets(ctx context.Context, in putTargetsInput) (out failures, err error) {
	out.FailedEntries = []nothing{}
	_, place, err := f.who(ctx, in.EventBusName)
	if err != nil {
		return out, err
	}
	if len(in.Targets) == 0 || len(in.Targets) > maxTargets {
		return out, invalid("1 validation error detected: Value '[...]' at 'targets' failed to satisfy constraint: Member must have length from 1 to %d", maxTargets)
	}
	targets := map[string]registry.Target{}
	for _, t := range in.Targets {
		if targets[t.Id], err = t.target(); err != nil {
			return out, err
		}
	}
	if len(targets) < len(in.Targets) {
		return out, invalid("Parameter Targets is not valid. Reason: Duplicate target ids.")
	}
	return out, apiError(f.Rules.PutTargets(ctx, place, in.Rule, targets))
}

type removeInput struct {
	Rule, EventBusName string

	Ids   []string
	Force bool
}

func (f *handler) removeTargets(ctx context.Context, in removeInput) (out failures, err error) {
	out.FailedEntries = []nothing{}
	_, place, err := f.who(ctx, in.EventBusName)
	if err != nil {
		return out, err
	}
	if len(in.Ids) == 0 || len(in.Ids) > maxTargets {
		return out, invalid("1 validation error detected: Value '[...]' at 'ids' failed to satisfy constraint: Member must have length from 1 to %d", maxTargets)
	}
	return out, apiError(f.Rules.RemoveTargets(ctx, place, in.Rule, in.Ids))
}

type listTargetsInput struct {
	Rule, TargetArn, EventBusName string

	NextToken *string
	Limit     *int
}

type listTargetsOutput struct {
	Targets   []targetView
	NextToken string `json:",omitempty"`
}

func (f *handler) listTargets(ctx context.Context, in listTargetsInput) (out listTargetsOutput, err error) {
	_, place, err := f.who(ctx, in.EventBusName)
	if err != nil {
		return out, err
	}
	targets, err := f.Rules.Targets(ctx, place, in.Rule)
	if err != nil {
		return out, apiError(err)
	}
	var ids []string
	ids, out.NextToken, err = f.page(slices.Sorted(maps.Keys(targets)), in, strings.Join([]string{"ListTargetsByRule", place.Account, place.Region, in.Rule}, "|"))
	if err != nil {
		return out, err
	}
	out.Targets = []targetView{}
	for _, id := range ids {
		t, err := viewTarget(id, targets[id])
		if err != nil {
			return out, err
		}
		out.Targets = append(out.Targets, t)
	}
	return out, nil
}

type listNamesOutput struct {
	RuleNames []string
	NextToken string `json:",omitempty"`
}

func (f *handler) listNames(ctx context.Context, in listTargetsInput) (out listNamesOutput, err error) {
	_, place, err := f.who(ctx, in.EventBusName)
	if err != nil {
		return out, err
	}
	names, err := f.Rules.RulesOf(ctx, place, in.TargetArn)
	if err != nil {
		return out, apiError(err)
	}
	out.RuleNames, out.NextToken, err = f.page(names, in, strings.Join([]string{"ListRuleNamesByTarget", place.Account, place.Region, in.TargetArn}, "|"))
	return out, err
}

// page returns a page of sorted names and the token of the next page.
func (f *handler) page(names []string, in listTargetsInput, scope string) (list []string, token string, err error) {
	limit, err := limitOf(in.Limit)
	if err != nil {
		return nil, "", err
	}
	after := ""
	if in.NextToken != nil && f.Tokens.Decode(scope, *in.NextToken, &after) != nil {
		return nil, "", badToken()
	}
	list = []string{}
	for _, name := range names {
		switch {
		case name <= after:
		case len(list) == limit:
			token, err = f.Tokens.Encode(scope, list[limit-1])
			return list, token, err
		default:
			list = append(list, name)
		}
	}
	return list, "", nil
}

type putEventsInput struct {
	Entries []struct {
		Source, DetailType, Detail, EventBusName string

		Resources []string
		Time      *float64 // seconds since 1970
	}
}

type eventResult struct {
	EventID      string `json:"EventId,omitempty"`
	ErrorCode    string `json:",omitempty"`
	ErrorMessage string `json:",omitempty"`
}

type putEventsOutput struct {
	FailedEntryCount int
	Entries          []eventResult
}

func (f *handler) putEvents(ctx context.Context, in putEventsInput) (out putEventsOutput, err error) {
	_, place, err := f.who(ctx, "")
	if err != nil {
		return out, err
	}
	entries := make([]events.Entry, len(in.Entries))
	for i, e := range in.Entries {
		entries[i] = events.Entry{Source: e.Source, DetailType: e.DetailType, Detail: e.Detail, Bus: e.EventBusName, Resources: e.Resources}
		if e.Time != nil {
			entries[i].Time = time.UnixMilli(int64(*e.Time * 1000))
		}
	}
	results, err := f.Rules.Publish(ctx, place, entries)
	out.Entries = []eventResult{}
	for _, result := range results {
		if result.Code != "" {
			out.FailedEntryCount++
		}
		out.Entries = append(out.Entries, eventResult{result.ID, result.Code, result.Message})
	}
	return out, apiError(err)
}
