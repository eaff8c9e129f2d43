package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

var topicTable = resources.Table{
	Name:       "AWS::SNS::Topic",
	Identifier: "TopicArn",
	Texts:      "DisplayName FifoThroughputScope KmsMasterKeyId SignatureVersion TopicName TracingConfig",
	Truths:     "ContentBasedDeduplication FifoTopic",
	Lists:      "DeliveryStatusLogging Subscription Tags",
	Documents:  "ArchivePolicy DataProtectionPolicy",
	Replaces:   "FifoTopic TopicName", Attributes: "TopicArn TopicName",
	Named: "TopicName",
}

// topicName is the maximum length of a topic name. Source: SNS, CreateTopic.
const topicName = 256

// topic is AWS::SNS::Topic.
type topic struct{ Config }

// Create implements [resources.Maker].
func (t topic) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := topicOf(c)
	if err != nil {
		return native.Result{}, err
	}
	subscriptions, err := inline(c)
	if err != nil {
		return native.Result{}, err
	}
	name := c.Name("TopicName", topicName)
	arn := c.ARN("sns", name)
	_, err = t.Topics.Create(ctx, registry.Item[registry.Topic]{Scope: c.Place, Name: name, Owner: c.Holder(), Of: of})
	if err == nil {
		err = t.subscribe(ctx, c, arn, subscriptions)
	}
	if err != nil {
		return c.Failed(ctx, arn, name, err, resources.Holding(t.Catalog.Topics, c.Place, name))
	}
	return topicResult(arn), nil
}

// Update implements [resources.Maker].
func (t topic) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := topicOf(c)
	if err != nil {
		return native.Result{}, err
	}
	subscriptions, err := inline(c)
	if err != nil {
		return native.Result{}, err
	}
	_, err = t.Topics.Update(ctx, registry.Item[registry.Topic]{Scope: c.Place, Name: topicNamed(c), Of: of})
	if errors.Is(err, registry.ErrNotFound) {
		return native.Result{}, c.Lost()
	}
	if err == nil {
		err = t.subscribe(ctx, c, c.Physical(), subscriptions)
	}
	if err != nil {
		return native.Result{}, err
	}
	return topicResult(c.Physical()), nil
}

// Remove implements [resources.Maker]. It also deletes the topic's subscriptions. It does so even if the topic does
// not exist, because an earlier Delete may have been interrupted in between.
func (t topic) Remove(ctx context.Context, c *resources.Call) error {
	there, err := t.Catalog.Topics.Get(ctx, c.Place, topicNamed(c))
	switch {
	case err == nil && !c.Made(there.Owner):
		return nil
	case resources.IgnoreMissing(err) != nil:
		return err
	case !strings.HasPrefix(c.Physical(), c.ARN("sns", "")):
		return nil // the ID of a failed Create
	}
	return resources.IgnoreMissing(t.Topics.Delete(ctx, c.Physical()))
}

// subscribe creates the declared subscriptions of a topic, and removes those that were declared before.
func (t topic) subscribe(ctx context.Context, c *resources.Call, arn string, wanted []registry.Subscription) error {
	kept := map[string]bool{}
	for _, s := range wanted {
		s.Topic = arn
		made, err := t.Topics.Subscribe(ctx, registry.Item[registry.Subscription]{Owner: c.Holder(), Of: s})
		if err != nil {
			return err
		}
		kept[made] = true
	}
	there, err := t.Topics.Subscriptions(ctx, arn)
	if err != nil {
		return err
	}
	for _, s := range there {
		if one := c.ARN("sns", s.Name); c.Made(s.Owner) && !kept[one] {
			if err := resources.IgnoreMissing(t.Topics.Unsubscribe(ctx, one)); err != nil {
				return err
			}
		}
	}
	return nil
}

func topicNamed(c *resources.Call) string { return strings.TrimPrefix(c.Physical(), c.ARN("sns", "")) }

func topicResult(arn string) native.Result {
	return resources.Result(arn, "TopicArn", arn, "TopicName", arn[strings.LastIndex(arn, ":")+1:])
}

// inline reads the declared subscriptions of a topic.
func inline(c *resources.Call) ([]registry.Subscription, error) {
	var list []registry.Subscription
	for _, item := range c.At("Subscription").Items() {
		protocol, _ := item.Get("Protocol")
		endpoint, _ := item.Get("Endpoint")
		if protocol.Text() == "" || endpoint.Text() == "" || len(item.Members()) != 2 {
			return nil, resources.Reason("Value of property Subscription must be a list of objects with the members Endpoint and Protocol")
		}
		list = append(list, registry.Subscription{Protocol: protocol.Text(), Endpoint: endpoint.Text()})
	}
	return list, nil
}

// topicOf reads the declaration of a topic. Properties with the name of an SNS attribute become attributes. Archive
// and data protection policies are recorded with the resource.
func topicOf(c *resources.Call) (registry.Topic, error) {
	tags, err := c.Tags()
	if err != nil {
		return registry.Topic{}, err
	}
	return registry.Topic{Tags: tags, Attributes: attributesOf(c,
		"ContentBasedDeduplication", "DisplayName", "FifoTopic", "KmsMasterKeyId", "SignatureVersion", "TracingConfig")}, nil
}

// attributesOf returns properties as SNS attributes: texts, with objects as JSON and without false values.
func attributesOf(c *resources.Call, names ...string) map[string]string {
	var attributes map[string]string
	for _, name := range names {
		v := c.At(name)
		text := v.Text()
		if !v.IsScalar() && !v.IsNull() {
			text = string(v.JSON())
		}
		if text == "" || text == "false" {
			continue
		}
		if attributes == nil {
			attributes = map[string]string{}
		}
		attributes[name] = text
	}
	return attributes
}
