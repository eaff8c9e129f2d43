package sns

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// maxSubscriptions is the maximum number of subscriptions of a topic. It is our choice; SNS allows 12,500,000.
	maxSubscriptions = 200
	// maxEndpoint is the maximum length of an endpoint in bytes. It is our choice.
	maxEndpoint = 2048
	page        = 100
)

// Subscribe creates a subscription from Holder and from Topic, Protocol, Endpoint and Attributes of Of, and returns
// its ARN. A function or a queue is confirmed at once. A URL gets a confirmation token. Each endpoint of a topic has
// one subscription. If it already exists, Subscribe returns its ARN, and sends an unconfirmed URL its token again. If
// Holder is "", the attributes must then be the same. Otherwise they are replaced, and Holder becomes the new holder.
// A failure is an [Error]. It is [registry.ErrNotFound] if the topic does not exist.
func (t *Topics) Subscribe(ctx context.Context, item registry.Item[registry.Subscription]) (arn string, err error) {
	topic, err := t.Topic(ctx, item.Of.Topic)
	if err != nil {
		return "", err
	}
	if item.Of.Protocol == "sqs" && t.config.Queue == nil {
		return "", invalid("Protocol Reason: these topics have no queues")
	}
	if err := checkSubscription(&item.Of); err != nil {
		return "", err
	}
	if of, err := wire.ParseToken(wire.ServiceToken(item.Of.Endpoint)); item.Of.Protocol == "lambda" && (err != nil || of.Account != topic.Account) {
		return "", invalid("Endpoint Reason: the function is another account's")
	}
	if queue, _, err := sqs.ParseARN(item.Of.Endpoint); item.Of.Protocol == "sqs" && (err != nil || queue.Account != topic.Account) {
		return "", invalid("Endpoint Reason: the queue is another account's")
	}
	item.Scope, item.Version, item.Of.Token, item.Of.Authenticated = topic.Scope, 0, "", false
	item.Name = topic.Name + ":" + identity(topic, item.Of)
	if !confirmed(item.Of.Protocol) {
		item.Of.Token = token(topic, item.Name)
	}
	subscriptions, err := t.subscriptions(ctx, topic)
	if err != nil {
		return "", err
	}
	there := func(s registry.Item[registry.Subscription]) bool { return s.Name == item.Name }
	if len(subscriptions) >= maxSubscriptions && !slices.ContainsFunc(subscriptions, there) {
		return "", &Error{Code: "SubscriptionLimitExceeded", Status: http.StatusForbidden, Message: fmt.Sprintf("a topic has %d subscriptions at most", maxSubscriptions)}
	}
	made, err := t.config.Catalog.Subscriptions.Put(ctx, item)
	if errors.Is(err, registry.ErrExists) {
		made, err = t.config.Catalog.Subscriptions.Change(ctx, item.Scope, item.Name, func(there *registry.Item[registry.Subscription]) error {
			if item.Owner == "" {
				for name, value := range item.Of.Attributes {
					if there.Of.Attributes[name] != value {
						return invalid("Attributes Reason: Subscription already exists with different attributes")
					}
				}
				return nil
			}
			there.Owner, there.Of.Attributes = item.Owner, item.Of.Attributes
			return nil
		})
	}
	if err != nil {
		return "", err
	}
	if made.Of.Token != "" {
		if err := t.askToConfirm(ctx, topic, made); err != nil {
			return "", err
		}
	}
	return ARN(made.Scope, made.Name), nil
}

// checkSubscription rejects unsupported protocols, endpoints and attributes.
func checkSubscription(s *registry.Subscription) error {
	if len(s.Endpoint) > maxEndpoint {
		return invalid("Endpoint")
	}
	switch s.Protocol {
	case "lambda":
		token, err := wire.ParseToken(wire.ServiceToken(s.Endpoint))
		if err != nil || token.Service != wire.Lambda {
			return invalid("Lambda endpoint ARN")
		}
	case "sqs":
		if _, _, err := sqs.ParseARN(s.Endpoint); err != nil {
			return invalid("SQS endpoint ARN")
		}
		if sqs.FIFO(s.Endpoint) {
			return invalid("Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics")
		}
	case "http", "https":
		if !strings.HasPrefix(s.Endpoint, s.Protocol+"://") {
			return invalid("Endpoint must match the specified protocol")
		}
		u, err := url.Parse(s.Endpoint)
		if err != nil || u.Hostname() == "" || strings.ContainsFunc(s.Endpoint, func(c rune) bool { return c <= ' ' }) {
			return invalid("Endpoint Reason: it is not a URL")
		}
	case "email", "email-json", "sms", "application", "firehose":
		return invalid("Protocol Reason: this version of Pintle delivers to lambda, sqs, http and https, not to %s", s.Protocol)
	default:
		return invalid("Amazon SNS does not support this protocol string: %.64s", s.Protocol)
	}
	kept := map[string]string{}
	for name, value := range s.Attributes {
		if err := checkSubscriptionAttribute(s.Protocol, name, value); err != nil {
			return invalid("Attributes Reason: %s", err)
		}
		if heeded(name, value) {
			kept[name] = value
		}
	}
	s.Attributes = kept
	return nil
}

// confirmed reports whether subscriptions with a protocol are confirmed at once.
func confirmed(protocol string) bool { return protocol == "lambda" || protocol == "sqs" }

// heeded reports whether an attribute with this value has an effect.
func heeded(name, value string) bool {
	return value != "" && !(name == "RawMessageDelivery" && value == "false") && name != "FilterPolicy"
}

// identity returns the last part of a subscription's ARN. It cannot be guessed, and it is the same for the same
// endpoint and topic, so two concurrent calls create one subscription.
func identity(topic registry.Item[registry.Topic], s registry.Subscription) string {
	sum := keyed(topic, "subscription "+s.Protocol+" "+s.Endpoint)
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // the format of a version 4 UUID
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// token returns the confirmation token of a subscription.
func token(topic registry.Item[registry.Topic], subscription string) string {
	return hex.EncodeToString(keyed(topic, "token "+subscription))
}

func keyed(topic registry.Item[registry.Topic], text string) []byte {
	h := hmac.New(sha256.New, []byte(topic.Of.ID))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// belongs reports whether a subscription belongs to a topic, rather than to an earlier one with its name.
func belongs(s registry.Item[registry.Subscription], topic registry.Item[registry.Topic]) bool {
	return s.Name == topic.Name+":"+identity(topic, s.Of)
}

// Confirm confirms the subscription of a URL with the token that was sent to it, and returns its ARN. With
// authenticated, only signed calls may end the subscription. Confirming again succeeds.
func (t *Topics) Confirm(ctx context.Context, topicARN, given string, authenticated bool) (arn string, err error) {
	topic, err := t.Topic(ctx, topicARN)
	if err != nil {
		return "", err
	}
	subscriptions, err := t.subscriptions(ctx, topic)
	if err != nil {
		return "", err
	}
	for _, s := range subscriptions {
		if confirmed(s.Of.Protocol) || !hmac.Equal([]byte(token(topic, s.Name)), []byte(given)) {
			continue
		}
		if s.Of.Token != "" {
			_, err := t.config.Catalog.Subscriptions.Change(ctx, s.Scope, s.Name, func(i *registry.Item[registry.Subscription]) error {
				i.Of.Authenticated = authenticated || i.Of.Token == "" && i.Of.Authenticated
				i.Of.Token = ""
				return nil
			})
			if errors.Is(err, registry.ErrNotFound) {
				break // it was deleted meanwhile
			}
			if err != nil {
				return "", err
			}
		}
		return ARN(s.Scope, s.Name), nil
	}
	return "", invalid("Token")
}

// Unsubscribe deletes a subscription. It succeeds if the subscription does not exist.
func (t *Topics) Unsubscribe(ctx context.Context, arn string) error {
	place, name, err := ParseSubscriptionARN(arn)
	if err != nil {
		return err
	}
	return t.drop(ctx, registry.Item[registry.Subscription]{Scope: place, Name: name})
}

// Subscription returns a subscription. If it does not exist, the error is an [Error] that is [registry.ErrNotFound].
func (t *Topics) Subscription(ctx context.Context, arn string) (registry.Item[registry.Subscription], error) {
	place, name, err := ParseSubscriptionARN(arn)
	if err != nil {
		return registry.Item[registry.Subscription]{}, err
	}
	s, err := t.config.Catalog.Subscriptions.Get(ctx, place, name)
	if errors.Is(err, registry.ErrNotFound) {
		return s, notFound("Subscription")
	}
	return s, err
}

// SubscriptionAttributes returns the attributes of a subscription, as in GetSubscriptionAttributes.
func (t *Topics) SubscriptionAttributes(ctx context.Context, arn string) (map[string]string, error) {
	s, err := t.Subscription(ctx, arn)
	if err != nil {
		return nil, err
	}
	all := map[string]string{
		"SubscriptionArn": arn, "TopicArn": s.Of.Topic, "Owner": s.Account, "Protocol": s.Of.Protocol, "Endpoint": s.Of.Endpoint,
		"RawMessageDelivery": "false", "PendingConfirmation": fmt.Sprint(s.Of.Token != ""),
		"ConfirmationWasAuthenticated": fmt.Sprint(s.Of.Authenticated || confirmed(s.Of.Protocol)),
		"SubscriptionPrincipal":        "arn:" + wire.Partition(s.Region) + ":iam::" + s.Account + ":root",
	}
	maps.Copy(all, s.Of.Attributes)
	return all, nil
}

// SetSubscriptionAttribute sets an attribute of a subscription. An empty value removes it.
func (t *Topics) SetSubscriptionAttribute(ctx context.Context, arn, name, value string) error {
	place, full, err := ParseSubscriptionARN(arn)
	if err != nil {
		return err
	}
	_, err = t.config.Catalog.Subscriptions.Change(ctx, place, full, func(s *registry.Item[registry.Subscription]) error {
		if err := checkSubscriptionAttribute(s.Of.Protocol, name, value); err != nil {
			if errors.Is(err, errUnknown) {
				return invalid("AttributeName")
			}
			return invalid("Attributes Reason: %s", err)
		}
		if !heeded(name, value) {
			value = ""
		}
		set(&s.Of.Attributes, name, value)
		return nil
	})
	if errors.Is(err, registry.ErrNotFound) {
		return notFound("Subscription")
	}
	return err
}

// Subscriptions returns all subscriptions of a topic, sorted by name.
func (t *Topics) Subscriptions(ctx context.Context, topicARN string) ([]registry.Item[registry.Subscription], error) {
	topic, err := t.Topic(ctx, topicARN)
	if err != nil {
		return nil, err
	}
	return t.subscriptions(ctx, topic)
}

// AllSubscriptions returns up to limit subscriptions in a scope, sorted by name. It starts after a name, or with the
// first if after is empty.
func (t *Topics) AllSubscriptions(ctx context.Context, place registry.Scope, after string, limit int) ([]registry.Item[registry.Subscription], error) {
	return t.config.Catalog.Subscriptions.List(ctx, place, after, limit)
}

func (t *Topics) subscriptions(ctx context.Context, topic registry.Item[registry.Topic]) (list []registry.Item[registry.Subscription], err error) {
	err = t.each(ctx, topic.Scope, topic.Name, func(s registry.Item[registry.Subscription]) error {
		if belongs(s, topic) {
			list = append(list, s)
		}
		return nil
	})
	return list, err
}

// each calls do for each subscription row with a topic's name.
func (t *Topics) each(ctx context.Context, place registry.Scope, topic string, do func(registry.Item[registry.Subscription]) error) error {
	for after := topic + ":"; ; {
		items, err := t.config.Catalog.Subscriptions.List(ctx, place, after, page)
		if err != nil {
			return err
		}
		for _, s := range items {
			if !strings.HasPrefix(s.Name, topic+":") {
				return nil
			}
			if err := do(s); err != nil {
				return err
			}
			after = s.Name
		}
		if len(items) < page {
			return nil
		}
	}
}

// signatureVersion returns the signature version of a topic's messages.
func signatureVersion(topic registry.Item[registry.Topic]) string {
	return cmp.Or(topic.Of.Attributes["SignatureVersion"], "1")
}
