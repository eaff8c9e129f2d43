// Package snsapi is the API of Amazon SNS.
//
// It translates calls into those of package sns. FIFO topics, filters and protocols other than lambda, http, https
// and sqs are not supported; the error names the feature.
//
// Source: Amazon SNS API Reference, version 2010-03-31.
package snsapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
)

const (
	// Version is the API version.
	Version = "2010-03-31"
	// Namespace is the XML namespace of responses.
	Namespace = "http://sns.amazonaws.com/doc/2010-03-31/"
)

// maxBody is the maximum length of a request body: a message or a batch in which each byte is encoded as three.
const maxBody = 4*sns.MaxMessage + 64<<10

// Topics is the part of [sns.Topics] that the API needs.
type Topics interface {
	Create(ctx context.Context, item registry.Item[registry.Topic]) (registry.Item[registry.Topic], error)
	Delete(ctx context.Context, arn string) error
	Topic(ctx context.Context, arn string) (registry.Item[registry.Topic], error)
	List(ctx context.Context, place registry.Scope, after string, limit int) ([]registry.Item[registry.Topic], error)
	Attributes(ctx context.Context, arn string) (map[string]string, error)
	SetAttribute(ctx context.Context, arn, name, value string) error
	Tag(ctx context.Context, arn string, tags map[string]string) error
	Untag(ctx context.Context, arn string, keys []string) error
	Subscribe(ctx context.Context, item registry.Item[registry.Subscription]) (arn string, err error)
	Confirm(ctx context.Context, topicARN, token string, authenticated bool) (arn string, err error)
	Unsubscribe(ctx context.Context, arn string) error
	Subscription(ctx context.Context, arn string) (registry.Item[registry.Subscription], error)
	SubscriptionAttributes(ctx context.Context, arn string) (map[string]string, error)
	SetSubscriptionAttribute(ctx context.Context, arn, name, value string) error
	Subscriptions(ctx context.Context, topicARN string) ([]registry.Item[registry.Subscription], error)
	AllSubscriptions(ctx context.Context, place registry.Scope, after string, limit int) ([]registry.Item[registry.Subscription], error)
	Publish(ctx context.Context, arn string, m sns.Message) (messageID string, err error)
}

// Config configures the handler.
type Config struct {
	// Topics is required.
	Topics Topics
	// Caller returns the caller of a request. False means that the request is not signed, see [Unsigned]. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Tokens creates paging tokens. Nil means tokens that become invalid when the process exits.
	Tokens *query.Tokens
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

type handler struct {
	topics Topics
	caller func(context.Context) (api.Caller, bool)
	tokens *query.Tokens
}

// New returns a service for SNS's operations. It returns an error if config is incomplete.
func New(config Config) (*query.Service, error) {
	if config.Topics == nil || config.Caller == nil {
		return nil, errors.New("sns: the topics and the caller are required")
	}
	f := &handler{topics: config.Topics, caller: config.Caller, tokens: config.Tokens}
	if f.tokens == nil {
		var err error
		if f.tokens, err = query.NewTokens(nil); err != nil {
			return nil, err
		}
	}
	service, err := query.New(query.Config{
		Name: "sns", Namespace: Namespace, Version: Version, Errors: shown, Logger: config.Log, MaxBody: maxBody,
	})
	if err != nil {
		return nil, err
	}
	query.Handle(service, "CreateTopic", f.createTopic)
	query.Handle(service, "DeleteTopic", f.deleteTopic)
	query.Handle(service, "ListTopics", f.listTopics)
	query.Handle(service, "GetTopicAttributes", f.getTopicAttributes)
	query.Handle(service, "SetTopicAttributes", f.setTopicAttributes)
	query.Handle(service, "ListTagsForResource", f.listTags)
	query.Handle(service, "TagResource", f.tag)
	query.Handle(service, "UntagResource", f.untag)
	query.Handle(service, "Subscribe", f.subscribe)
	query.Handle(service, "ConfirmSubscription", f.confirmSubscription)
	query.Handle(service, "Unsubscribe", f.unsubscribe)
	query.Handle(service, "ListSubscriptions", f.listSubscriptions)
	query.Handle(service, "ListSubscriptionsByTopic", f.listSubscriptionsByTopic)
	query.Handle(service, "GetSubscriptionAttributes", f.getSubscriptionAttributes)
	query.Handle(service, "SetSubscriptionAttributes", f.setSubscriptionAttributes)
	query.Handle(service, "Publish", f.publish)
	query.Handle(service, "PublishBatch", f.publishBatch)
	return service, nil
}

// Unsigned reports whether a request is one of the two links in messages. Anyone who has such a link may follow it
// without a signature. The token of ConfirmSubscription authorizes the request; for Unsubscribe it is the ARN, part
// of which cannot be guessed. The API refuses every other unsigned request.
func Unsigned(r *http.Request) bool {
	if r.Method != http.MethodGet || len(r.Header.Values("Authorization")) > 0 {
		return false
	}
	action := r.URL.Query().Get("Action")
	return action == "ConfirmSubscription" || action == "Unsubscribe"
}

// Follow returns a handler for [Unsigned] requests. Such links have no Version.
func Follow(service *query.Service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form := r.URL.Query()
		if form.Get("Version") == "" {
			form.Set("Version", Version)
		}
		next := r.Clone(r.Context())
		next.URL.RawQuery = form.Encode()
		service.ServeHTTP(w, next)
	})
}

// shown converts errors of package sns for the client.
func shown(err error) *query.Error {
	apiErr, ok := errors.AsType[*sns.Error](err)
	if !ok {
		return nil
	}
	return &query.Error{Code: apiErr.Code, Message: apiErr.Message, Status: apiErr.Status, Sender: apiErr.Status < http.StatusInternalServerError}
}

func refuse(code, message string, status int) *query.Error {
	return &query.Error{Code: code, Message: message, Status: status, Sender: true}
}

func invalid(what string) *query.Error {
	return query.Fault("InvalidParameter", "Invalid parameter: %s", what)
}

// who returns the scope of the caller. It returns an error for an unsigned request.
func (f *handler) who(ctx context.Context) (registry.Scope, error) {
	caller, ok := f.caller(ctx)
	if !ok {
		return registry.Scope{}, refuse("MissingAuthenticationToken", "Request is missing Authentication Token", http.StatusForbidden)
	}
	return registry.ScopeOf(caller), nil
}

// own refuses resources of other accounts. Policies are not enforced, but accounts are isolated.
func (f *handler) own(ctx context.Context, arn string, parse func(string) (registry.Scope, string, error), parameter string) error {
	place, err := f.who(ctx)
	if err != nil {
		return err
	}
	there, _, err := parse(arn)
	switch {
	case err != nil:
		return err
	case there.Region != place.Region:
		return invalid(parameter)
	case there.Account != place.Account:
		return refuse("AuthorizationError", "The account "+place.Account+" is not authorized to do this with "+arn, http.StatusForbidden)
	}
	return nil
}

func (f *handler) ownTopic(ctx context.Context, arn string) error {
	return f.own(ctx, arn, sns.ParseARN, "TopicArn")
}

func (f *handler) ownSubscription(ctx context.Context, arn string) error {
	return f.own(ctx, arn, sns.ParseSubscriptionARN, "SubscriptionArn")
}

// pageSize is the number of items on a page. Source: SNS, ListTopics.
const pageSize = 100

// page decodes the token of a page in the list of a scope.
func (f *handler) page(ctx context.Context, action string, token *string) (place registry.Scope, scope, after string, err error) {
	if place, err = f.who(ctx); err != nil {
		return place, "", "", err
	}
	scope = action + "|" + place.Account + "|" + place.Region
	if token != nil && f.tokens.Decode(scope, *token, &after) != nil {
		err = invalid("NextToken")
	}
	return place, scope, after, err
}

// next returns the token of the page after a name, or nil if this page is not full.
func (f *handler) next(scope string, count int, name func() string) (*string, error) {
	if count < pageSize {
		return nil, nil
	}
	token, err := f.tokens.Encode(scope, name())
	return &token, err
}

// entry is a map entry.
type entry struct {
	Key   string `query:"key"`
	Value string `query:"value"`
}

type tag struct {
	Key   string `query:",required"`
	Value string `query:",required"`
}
