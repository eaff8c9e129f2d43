package snsapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
)

type subscribeInput struct {
	TopicARN              string  `query:"TopicArn,required"`
	Protocol              string  `query:",required"`
	Endpoint              string  `query:",secret"`
	Attributes            []entry `query:",entries"`
	ReturnSubscriptionARN bool    `query:"ReturnSubscriptionArn"`
}

type subscriptionOutput struct {
	SubscriptionARN string `query:"SubscriptionArn"`
}

// Placeholders for the ARN of an unconfirmed subscription, in the response of Subscribe and in lists.
const (
	pending     = "pending confirmation"
	pendingList = "PendingConfirmation"
)

func (f *handler) subscribe(ctx context.Context, in subscribeInput) (out subscriptionOutput, err error) {
	if err := f.ownTopic(ctx, in.TopicARN); err != nil {
		return out, err
	}
	attributes, err := mapOf(in.Attributes)
	if err != nil {
		return out, err
	}
	arn, err := f.topics.Subscribe(ctx, registry.Item[registry.Subscription]{
		Of: registry.Subscription{Topic: in.TopicARN, Protocol: in.Protocol, Endpoint: in.Endpoint, Attributes: attributes},
	})
	if err != nil || in.ReturnSubscriptionARN || in.Protocol == "lambda" {
		return subscriptionOutput{arn}, err
	}
	made, err := f.topics.Subscription(ctx, arn)
	if err == nil && made.Of.Token == "" {
		return subscriptionOutput{arn}, nil
	}
	return subscriptionOutput{pending}, nil // also if it was deleted meanwhile
}

type confirmInput struct {
	TopicARN                  string `query:"TopicArn,required"`
	Token                     string `query:",required,secret"`
	AuthenticateOnUnsubscribe string
}

// confirmSubscription needs no signature. Without one, the call cannot require that Unsubscribe is signed.
func (f *handler) confirmSubscription(ctx context.Context, in confirmInput) (out subscriptionOutput, err error) {
	_, signed := f.caller(ctx)
	if signed {
		if err := f.ownTopic(ctx, in.TopicARN); err != nil {
			return out, err
		}
	}
	arn, err := f.topics.Confirm(ctx, in.TopicARN, in.Token, signed && in.AuthenticateOnUnsubscribe == "true")
	return subscriptionOutput{arn}, err
}

type subscriptionInput struct {
	SubscriptionARN string `query:"SubscriptionArn,required"`
}

func (f *handler) unsubscribe(ctx context.Context, in subscriptionInput) (none query.None, err error) {
	if _, signed := f.caller(ctx); signed {
		if err := f.ownSubscription(ctx, in.SubscriptionARN); err != nil {
			return none, err
		}
		return none, f.topics.Unsubscribe(ctx, in.SubscriptionARN)
	}
	s, err := f.topics.Subscription(ctx, in.SubscriptionARN)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return none, nil
	case err != nil:
		return none, err
	case s.Of.Authenticated || s.Of.Protocol == "lambda":
		return none, refuse("AuthorizationError", "To end this subscription, a call must be signed", http.StatusForbidden)
	}
	return none, f.topics.Unsubscribe(ctx, in.SubscriptionARN)
}

type subscriptionView struct {
	SubscriptionARN string `query:"SubscriptionArn"`
	Owner           string
	Protocol        string
	Endpoint        string
	TopicARN        string `query:"TopicArn"`
}

func view(list []registry.Item[registry.Subscription]) []subscriptionView {
	var views []subscriptionView
	for _, s := range list {
		v := subscriptionView{sns.ARN(s.Scope, s.Name), s.Account, s.Of.Protocol, s.Of.Endpoint, s.Of.Topic}
		if s.Of.Token != "" {
			v.SubscriptionARN = pendingList
		}
		views = append(views, v)
	}
	return views
}

type listSubscriptionsInput struct{ NextToken *string }

type subscriptionsOutput struct {
	Subscriptions []subscriptionView
	NextToken     *string
}

func (f *handler) listSubscriptions(ctx context.Context, in listSubscriptionsInput) (out subscriptionsOutput, err error) {
	place, scope, after, err := f.page(ctx, "ListSubscriptions", in.NextToken)
	if err != nil {
		return out, err
	}
	list, err := f.topics.AllSubscriptions(ctx, place, after, pageSize)
	if err != nil {
		return out, err
	}
	out.Subscriptions = view(list)
	out.NextToken, err = f.next(scope, len(list), func() string { return list[len(list)-1].Name })
	return out, err
}

type listByTopicInput struct {
	TopicARN  string `query:"TopicArn,required"`
	NextToken *string
}

// listSubscriptionsByTopic returns all subscriptions in one page, because a topic has only a few.
func (f *handler) listSubscriptionsByTopic(ctx context.Context, in listByTopicInput) (out subscriptionsOutput, err error) {
	if err := f.ownTopic(ctx, in.TopicARN); err != nil {
		return out, err
	}
	if in.NextToken != nil {
		return out, invalid("NextToken")
	}
	list, err := f.topics.Subscriptions(ctx, in.TopicARN)
	out.Subscriptions = view(list)
	return out, err
}

func (f *handler) getSubscriptionAttributes(ctx context.Context, in subscriptionInput) (out attributesOutput, err error) {
	if err := f.ownSubscription(ctx, in.SubscriptionARN); err != nil {
		return out, err
	}
	all, err := f.topics.SubscriptionAttributes(ctx, in.SubscriptionARN)
	return attributesOutput{entriesOf(all)}, err
}

type setSubscriptionAttributesInput struct {
	SubscriptionARN string `query:"SubscriptionArn,required"`
	AttributeName   string `query:",required"`
	AttributeValue  string
}

func (f *handler) setSubscriptionAttributes(ctx context.Context, in setSubscriptionAttributesInput) (none query.None, err error) {
	if err := f.ownSubscription(ctx, in.SubscriptionARN); err != nil {
		return none, err
	}
	return none, f.topics.SetSubscriptionAttribute(ctx, in.SubscriptionARN, in.AttributeName, in.AttributeValue)
}
