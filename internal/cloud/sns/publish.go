package sns

import (
	"context"
	"errors"
	"net/url"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
)

// Publish accepts a message for all confirmed subscribers of a topic, and returns its ID. It does not wait for
// deliveries. An invalid message is an [Error]. An [Error] with the code Throttled means that too many messages are
// in flight.
func (t *Topics) Publish(ctx context.Context, arn string, m Message) (messageID string, err error) {
	split, err := m.check()
	if err != nil {
		return "", err
	}
	topic, err := t.Topic(ctx, arn)
	if err != nil {
		return "", err
	}
	subscriptions, err := t.subscriptions(ctx, topic)
	if err != nil {
		return "", err
	}
	id := uuid.NewString()
	signed := map[string]notification.Message{} // by text: subscribers with the same text share a signature
	var sends []*send
	for _, s := range subscriptions {
		if s.Of.Token != "" {
			continue
		}
		text := split.of(s.Of.Protocol)
		if s.Of.Attributes["RawMessageDelivery"] == "true" {
			sends = append(sends, &send{to: s, id: id, kind: notification.Notification, raw: true, body: []byte(text), attributes: m.queued()})
			continue
		}
		p, ok := signed[text]
		if !ok {
			p = notification.Message{
				Type: notification.Notification, MessageID: id, TopicARN: arn, Subject: m.Subject, Message: text, MessageAttributes: m.shown(),
			}
			if err := t.signer.Sign(ctx, &p, signatureVersion(topic)); err != nil {
				return "", err
			}
			signed[text] = p
		}
		subscription := ARN(s.Scope, s.Name)
		p.UnsubscribeURL = t.signer.Link(url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {subscription}})
		body := p.Encode
		if s.Of.Protocol == "lambda" {
			body = func() []byte { return event(&p, subscription) }
		}
		sends = append(sends, &send{to: s, id: id, kind: notification.Notification, body: body()})
	}
	for _, s := range sends {
		s.hops = trace.Hops(ctx)
	}
	return id, t.carry(sends...)
}

// askToConfirm sends a URL its confirmation token.
func (t *Topics) askToConfirm(ctx context.Context, topic registry.Item[registry.Topic], s registry.Item[registry.Subscription]) error {
	p := &notification.Message{
		Type: notification.SubscriptionConfirmation, MessageID: uuid.NewString(), TopicARN: s.Of.Topic, Token: s.Of.Token,
		Message: "You have chosen to subscribe to the topic " + s.Of.Topic +
			".\nTo confirm the subscription, visit the SubscribeURL included in this message.",
		SubscribeURL: t.signer.Link(url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {s.Of.Topic}, "Token": {s.Of.Token}}),
	}
	if err := t.signer.Sign(ctx, p, signatureVersion(topic)); err != nil {
		return err
	}
	return t.carry(&send{to: s, id: p.MessageID, kind: p.Type, body: p.Encode()})
}

// Subscribers reports whether a topic exists, which functions have subscribed to it, and how many other subscriptions
// are confirmed.
func (t *Topics) Subscribers(ctx context.Context, arn string) (known bool, functions []string, others int, err error) {
	if _, _, err := ParseARN(arn); err != nil {
		return false, nil, 0, nil //nolint:nilerr // any other ARN cannot be one of a local topic
	}
	subscriptions, err := t.Subscriptions(ctx, arn)
	if errors.Is(err, registry.ErrNotFound) {
		return false, nil, 0, nil
	}
	for _, s := range subscriptions {
		switch {
		case s.Of.Token != "":
		case s.Of.Protocol == "lambda":
			functions = append(functions, s.Of.Endpoint)
		default:
			others++
		}
	}
	return err == nil, functions, others, err
}

// Carrier adapts topics for senders of texts: its Publish returns only an error.
type Carrier struct{ *Topics }

// Publish calls [Topics.Publish] with a subject and a text.
func (c Carrier) Publish(ctx context.Context, arn, subject, message string) error {
	_, err := c.Topics.Publish(ctx, arn, Message{Subject: subject, Message: message})
	return err
}
