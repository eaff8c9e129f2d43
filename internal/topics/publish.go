package topics

import (
	"context"
	"errors"
	"net/url"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/local"
)

// Publish takes a message for all subscribers of a topic that are confirmed, and returns its id. It does not wait for them. What
// SNS refuses is an [Error]; one with the code Throttled says that too much is under way.
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
	key, err := t.signer.key(ctx)
	if err != nil {
		return "", err
	}
	var sends []*send
	for _, s := range subscriptions {
		if s.Of.Token != "" {
			continue
		}
		made, err := t.notify(topic, s, key, id, split.of(s.Of.Protocol), m)
		if err != nil {
			return "", err
		}
		sends = append(sends, made)
	}
	return id, t.carry(sends...)
}

// notify makes what a subscriber gets of a message.
func (t *Topics) notify(topic catalog.Item[catalog.Topic], s catalog.Item[catalog.Subscription], key *signingKey, id, text string, m Message) (*send, error) {
	arn := ARN(s.Place, s.Name)
	attributes := make(map[string]local.NotificationAttribute, len(m.Attributes))
	for name, a := range m.Attributes {
		attributes[name] = local.NotificationAttribute{Type: a.Type, Value: a.String}
	}
	p := &post{
		Type: notification, MessageID: id, TopicARN: s.Of.Topic, Subject: m.Subject, Message: text, MessageAttributes: attributes,
		UnsubscribeURL: t.link(url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {arn}}),
	}
	if err := t.sign(p, key, topic); err != nil {
		return nil, err
	}
	made := &send{to: s, id: id, kind: notification, body: []byte(text)}
	switch {
	case s.Of.Protocol == "lambda":
		made.body = t.event(arn, p)
	case s.Of.Attributes["RawMessageDelivery"] != "true":
		made.body = p.encode()
	default:
		made.raw = true
	}
	return made, nil
}

// event is what a function gets.
func (t *Topics) event(subscription string, p *post) []byte {
	return local.Notification{
		TopicARN: p.TopicARN, SubscriptionARN: subscription, MessageID: p.MessageID, Subject: p.Subject, Message: p.Message,
		Timestamp: p.Timestamp, SignatureVersion: p.SignatureVersion, Signature: p.Signature, SigningCertURL: p.SigningCertURL,
		UnsubscribeURL: p.UnsubscribeURL, Attributes: p.MessageAttributes,
	}.Event()
}

// askToConfirm sends a URL its token.
func (t *Topics) askToConfirm(ctx context.Context, topic catalog.Item[catalog.Topic], s catalog.Item[catalog.Subscription]) error {
	key, err := t.signer.key(ctx)
	if err != nil {
		return err
	}
	p := &post{
		Type: confirmation, MessageID: uuid.NewString(), TopicARN: s.Of.Topic, Token: s.Of.Token,
		Message: "You have chosen to subscribe to the topic " + s.Of.Topic +
			".\nTo confirm the subscription, visit the SubscribeURL included in this message.",
		SubscribeURL: t.link(url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {s.Of.Topic}, "Token": {s.Of.Token}}),
	}
	if err := t.sign(p, key, topic); err != nil {
		return err
	}
	return t.carry(&send{to: s, id: p.MessageID, kind: confirmation, body: p.encode()})
}

// sign completes a post.
func (t *Topics) sign(p *post, key *signingKey, topic catalog.Item[catalog.Topic]) (err error) {
	p.Timestamp = t.config.Now().UTC().Format(local.SNSTime)
	p.SignatureVersion = signatureVersion(topic)
	p.SigningCertURL = t.config.PublicURL + key.path
	p.Signature, err = key.sign(p.signed(), p.SignatureVersion)
	return err
}

// link is a call of SNS as a URL that needs no signature.
func (t *Topics) link(query url.Values) string { return t.config.PublicURL + "/?" + query.Encode() }

// Subscribers says whether there is a topic, which functions have subscribed to it, and how many other subscriptions are
// confirmed.
func (t *Topics) Subscribers(ctx context.Context, arn string) (known bool, functions []string, others int, err error) {
	if _, _, err := ParseARN(arn); err != nil {
		return false, nil, 0, nil //nolint:nilerr // what is no ARN of a topic here is no topic of ours
	}
	subscriptions, err := t.Subscriptions(ctx, arn)
	if errors.Is(err, catalog.ErrNotFound) {
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

// Carrier is the topics for those who send texts: its Publish returns the error alone.
type Carrier struct{ *Topics }

// Publish is that of [Topics] for a message that is a subject and a text.
func (c Carrier) Publish(ctx context.Context, arn, subject, message string) error {
	_, err := c.Topics.Publish(ctx, arn, Message{Subject: subject, Message: message})
	return err
}
