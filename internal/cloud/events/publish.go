package events

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// MaxEntries is the maximum number of events in a call, and maxEntry their maximum total length in bytes. Source: API
// Reference, PutEvents.
const (
	MaxEntries = 10
	maxEntry   = 256 << 10
)

// Entry is an event of PutEvents.
type Entry struct {
	Source, DetailType, Detail, Bus string
	Resources                       []string
	// Time is when the event happened. Zero means now.
	Time time.Time
}

// Result is the result of an entry: the ID of its event, or an error.
type Result struct{ ID, Code, Message string }

// Publish sends events to the targets of all rules in a scope whose patterns match. The results are in the order of
// the entries.
func (r *Rules) Publish(ctx context.Context, place registry.Scope, entries []Entry) ([]Result, error) {
	size := 0
	for _, e := range entries {
		size += len(e.Source) + len(e.DetailType) + len(e.Detail) + 14
		for _, resource := range e.Resources {
			size += len(resource)
		}
	}
	switch {
	case len(entries) == 0 || len(entries) > MaxEntries:
		return nil, constraint("entries", "[...]", "Member must have length from 1 to 10")
	case size > maxEntry:
		return nil, invalid("Total size of the entries in the request is over the limit.")
	}
	patterns, err := r.patterns(ctx, place)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(entries))
	for i, e := range entries {
		body, refused := e.event(place, r.config.Now())
		if refused != nil {
			results[i] = *refused
			continue
		}
		results[i].ID, _ = body["id"].(string)
		r.match(ctx, patterns, body)
	}
	return results, nil
}

// Emit sends the event of a service, such as aws.s3, to the targets of all rules in a scope whose patterns match.
func (r *Rules) Emit(ctx context.Context, place registry.Scope, e Entry) error {
	patterns, err := r.patterns(ctx, place)
	if err != nil || len(patterns) == 0 {
		return err
	}
	body, err := e.body(place, r.config.Now())
	if err != nil {
		return err
	}
	r.match(ctx, patterns, body)
	return nil
}

// match sends an event to the targets of the rules whose patterns match.
func (r *Rules) match(ctx context.Context, patterns []listening, body map[string]any) {
	for _, p := range patterns {
		if p.pattern.Matches(body) {
			r.hit(ctx, event{p.rule, r.config.Now(), body})
		}
	}
}

// listening is an enabled rule with a pattern.
type listening struct {
	rule    registry.Rule
	pattern Pattern
}

func (r *Rules) patterns(ctx context.Context, place registry.Scope) ([]listening, error) {
	rules, err := r.List(ctx, place, "", "", MaxRules+1)
	var list []listening
	for _, rule := range rules {
		if rule.Pattern == "" || rule.Disabled {
			continue
		}
		pattern, err := ParsePattern(rule.Pattern)
		if err != nil {
			return nil, err // the pattern was validated when the rule was created
		}
		list = append(list, listening{rule, pattern})
	}
	return list, err
}

// event returns the event of an entry, or the result that rejects it. Numbers keep their spelling.
func (e Entry) event(place registry.Scope, now time.Time) (map[string]any, *Result) {
	missing := func(name string) *Result {
		return &Result{Code: "InvalidArgument", Message: "Parameter " + name + " is not valid. Reason: " + name + " is a required argument."}
	}
	switch {
	case e.Source == "":
		return nil, missing("Source")
	case e.DetailType == "":
		return nil, missing("DetailType")
	case e.Detail == "":
		return nil, missing("Detail")
	case strings.HasPrefix(e.Source, "aws."):
		return nil, &Result{Code: "NotAuthorizedForSourceException", Message: "Not authorized for the source."}
	}
	if err := CheckBus(place, e.Bus); err != nil {
		return nil, &Result{Code: "ResourceNotFoundException", Message: err.Error()}
	}
	body, err := e.body(place, now)
	if err != nil {
		return nil, &Result{Code: "MalformedDetail", Message: "Detail is malformed."}
	}
	return body, nil
}

// body returns the JSON value of the event of an entry.
func (e Entry) body(place registry.Scope, now time.Time) (map[string]any, error) {
	detail, err := decode([]byte(e.Detail))
	if _, ok := detail.(map[string]any); err != nil || !ok {
		return nil, errors.New("the detail is not a JSON object")
	}
	if e.Time.IsZero() {
		e.Time = now
	}
	resources := make([]any, len(e.Resources))
	for i, resource := range e.Resources {
		resources[i] = resource
	}
	return map[string]any{
		"version": "0", "id": uuid.NewString(), "detail-type": e.DetailType, "source": e.Source, "account": place.Account,
		"time": e.Time.UTC().Format(time.RFC3339), "region": place.Region, "resources": resources, "detail": detail,
	}, nil
}

// hit calls the targets of a rule whose pattern matched.
func (r *Rules) hit(ctx context.Context, e event) {
	targets, err := r.targets(ctx, e.rule.Place, e.rule.Name)
	if err != nil {
		r.config.Log.ErrorContext(ctx, "a rule of EventBridge could not fire", "rule", e.rule.Name, "error", err)
	}
	for _, t := range targets {
		r.call(ctx, t, e, func() {})
	}
}

// call sends a target its input for an event. If the target does not accept it, call logs that and calls done at
// once.
func (r *Rules) call(ctx context.Context, t named, e event, done func()) {
	payload, err := input(t.Of, e)
	if err == nil {
		err = r.config.Send(ctx, e.rule.Place, t.Of, payload, done)
	}
	if err != nil {
		r.config.Log.WarnContext(ctx, "a target of a rule of EventBridge was not called", "rule", e.rule.Name, "target", t.Of.ARN, "error", err)
		done()
	}
}
