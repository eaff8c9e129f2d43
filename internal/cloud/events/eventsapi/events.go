// Package eventsapi is the API of Amazon EventBridge: rules on the default event bus, their targets and tags, and
// PutEvents.
//
// Source: EventBridge API Reference, version 2015-10-07; AWS JSON 1.1 protocol.
package eventsapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Target is the prefix of the X-Amz-Target header, before the dot and the action.
const Target = "AWSEvents"

// MaxBody is the maximum length of a request body in bytes: the longest inputs of all targets of a rule, as JSON in
// JSON.
const MaxBody = 4 << 20

// Config configures the handler.
type Config struct {
	// Rules are the rules to serve. Required.
	Rules *events.Rules
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Tokens creates paging tokens. Nil means tokens that become invalid when the process exits.
	Tokens *query.Tokens
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

type handler struct{ Config }

// New returns a service for the rule actions. It returns an error if config is incomplete.
func New(config Config) (*awsjson.Service, error) {
	if config.Rules == nil || config.Caller == nil {
		return nil, errors.New("events: the rules and the caller are required")
	}
	if config.Tokens == nil {
		var err error
		if config.Tokens, err = query.NewTokens(nil); err != nil {
			return nil, err
		}
	}
	service, err := awsjson.New(awsjson.Config{
		Name: "events", Target: Target, Endpoint: "AWS_ENDPOINT_URL_EVENTBRIDGE", MaxBody: MaxBody, Log: config.Log,
	})
	if err != nil {
		return nil, err
	}
	f := &handler{config}
	awsjson.Handle(service, "PutRule", f.putRule)
	awsjson.Handle(service, "DeleteRule", f.deleteRule)
	awsjson.Handle(service, "DescribeRule", f.describeRule)
	awsjson.Handle(service, "EnableRule", f.enable(true))
	awsjson.Handle(service, "DisableRule", f.enable(false))
	awsjson.Handle(service, "ListRules", f.listRules)
	awsjson.Handle(service, "PutTargets", f.putTargets)
	awsjson.Handle(service, "RemoveTargets", f.removeTargets)
	awsjson.Handle(service, "ListTargetsByRule", f.listTargets)
	awsjson.Handle(service, "ListRuleNamesByTarget", f.listNames)
	awsjson.Handle(service, "TagResource", f.tag)
	awsjson.Handle(service, "UntagResource", f.untag)
	awsjson.Handle(service, "ListTagsForResource", f.listTags)
	awsjson.Handle(service, "PutEvents", f.putEvents)
	return service, nil
}

// apiError converts an error of package events to one of the protocol.
func apiError(err error) error {
	if e, ok := errors.AsType[*events.Error](err); ok {
		return &awsjson.Error{Code: e.Code, Message: e.Message}
	}
	return err
}

func invalid(format string, args ...any) error {
	return awsjson.Refuse("ValidationException", format, args...)
}

// who returns the caller and its scope. It returns an error unless bus is the default event bus.
func (f *handler) who(ctx context.Context, bus string) (api.Caller, registry.Scope, error) {
	caller, ok := f.Caller(ctx)
	if !ok {
		return caller, registry.Scope{}, errors.New("the request reached EventBridge without a caller")
	}
	place := registry.Scope{Account: caller.Account, Region: caller.Region}
	return caller, place, apiError(events.CheckBus(place, bus))
}

// resource returns the name of the caller's rule with an ARN.
func (f *handler) resource(ctx context.Context, arn string) (registry.Scope, string, error) {
	_, own, err := f.who(ctx, "")
	if err != nil {
		return own, "", err
	}
	place, name, err := events.ParseARN(arn)
	if err == nil && place != own {
		err = &events.Error{Code: "ResourceNotFoundException", Message: fmt.Sprintf("Rule %s does not exist on EventBus default.", name)}
	}
	return own, name, apiError(err)
}

// limitOf returns the page size.
func limitOf(limit *int) (int, error) {
	if limit == nil {
		return maxPage, nil
	}
	if *limit < 1 || *limit > maxPage {
		return 0, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value from 1 to %d", *limit, maxPage)
	}
	return *limit, nil
}

const maxPage = 100
