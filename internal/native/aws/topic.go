package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
)

var topicTable = table{
	name:      "AWS::SNS::Topic",
	texts:     "DisplayName FifoThroughputScope KmsMasterKeyId SignatureVersion TopicName TracingConfig",
	truths:    "ContentBasedDeduplication FifoTopic",
	lists:     "DeliveryStatusLogging Subscription Tags",
	documents: "ArchivePolicy DataProtectionPolicy",
	replaces:  "FifoTopic TopicName", attributes: "TopicArn TopicName",
	named: "TopicName",
}

// topicName is how long the name of a topic may be. Source: SNS, CreateTopic.
const topicName = 256

// topic is AWS::SNS::Topic.
type topic struct{ Config }

// create implements [maker].
func (t topic) create(ctx context.Context, c *call) (native.Result, error) {
	of, err := topicOf(c)
	if err != nil {
		return native.Result{}, err
	}
	subscriptions, err := inline(c)
	if err != nil {
		return native.Result{}, err
	}
	name := c.name("TopicName", topicName)
	arn := c.arn("sns", name)
	_, err = t.Topics.Create(ctx, catalog.Item[catalog.Topic]{Place: c.place, Name: name, Holder: c.holder(), Of: of})
	if err == nil {
		err = t.subscribe(ctx, c, arn, subscriptions)
	}
	if err != nil {
		return c.failed(ctx, arn, name, err, holding(t.Catalog.Topics, c.place, name))
	}
	return topicResult(arn), nil
}

// update implements [maker].
func (t topic) update(ctx context.Context, c *call) (native.Result, error) {
	of, err := topicOf(c)
	if err != nil {
		return native.Result{}, err
	}
	subscriptions, err := inline(c)
	if err != nil {
		return native.Result{}, err
	}
	_, err = t.Topics.Update(ctx, catalog.Item[catalog.Topic]{Place: c.place, Name: topicNamed(c), Of: of})
	if errors.Is(err, catalog.ErrNotFound) {
		return native.Result{}, c.lost()
	}
	if err == nil {
		err = t.subscribe(ctx, c, c.id(), subscriptions)
	}
	if err != nil {
		return native.Result{}, err
	}
	return topicResult(c.id()), nil
}

// remove implements [maker]. The topic's subscriptions go with it, also if the topic is gone, for a Delete may have been cut off
// between the two.
func (t topic) remove(ctx context.Context, c *call) error {
	there, err := t.Catalog.Topics.Get(ctx, c.place, topicNamed(c))
	switch {
	case err == nil && !c.made(there.Holder):
		return nil
	case ignoreMissing(err) != nil:
		return err
	case !strings.HasPrefix(c.id(), c.arn("sns", "")):
		return nil // the id of a Create that made nothing
	}
	return ignoreMissing(t.Topics.Delete(ctx, c.id()))
}

// subscribe makes the subscriptions that a topic declares, and ends those that it declared before.
func (t topic) subscribe(ctx context.Context, c *call, arn string, wanted []catalog.Subscription) error {
	kept := map[string]bool{}
	for _, s := range wanted {
		s.Topic = arn
		made, err := t.Topics.Subscribe(ctx, catalog.Item[catalog.Subscription]{Holder: c.holder(), Of: s})
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
		if one := c.arn("sns", s.Name); c.made(s.Holder) && !kept[one] {
			if err := ignoreMissing(t.Topics.Unsubscribe(ctx, one)); err != nil {
				return err
			}
		}
	}
	return nil
}

func topicNamed(c *call) string { return strings.TrimPrefix(c.id(), c.arn("sns", "")) }

func topicResult(arn string) native.Result {
	return result(arn, "TopicArn", arn, "TopicName", arn[strings.LastIndex(arn, ":")+1:])
}

// inline reads the subscriptions that a topic declares.
func inline(c *call) ([]catalog.Subscription, error) {
	var list []catalog.Subscription
	for _, item := range c.at("Subscription").Items() {
		protocol, _ := item.Get("Protocol")
		endpoint, _ := item.Get("Endpoint")
		if protocol.Text() == "" || endpoint.Text() == "" || len(item.Members()) != 2 {
			return nil, reason("Value of property Subscription must be a list of objects with the members Endpoint and Protocol")
		}
		list = append(list, catalog.Subscription{Protocol: protocol.Text(), Endpoint: endpoint.Text()})
	}
	return list, nil
}

// topicOf reads what is declared of a topic. What SNS calls by the same name is an attribute of it; the policies of FIFO topics
// and of the protection of data are recorded with the resource.
func topicOf(c *call) (catalog.Topic, error) {
	tags, err := c.tags()
	if err != nil {
		return catalog.Topic{}, err
	}
	return catalog.Topic{Tags: tags, Attributes: attributesOf(c,
		"ContentBasedDeduplication", "DisplayName", "FifoTopic", "KmsMasterKeyId", "SignatureVersion", "TracingConfig")}, nil
}

// attributesOf returns properties as SNS has them, as a map of texts: objects as JSON, and without those that are false.
func attributesOf(c *call, names ...string) map[string]string {
	var attributes map[string]string
	for _, name := range names {
		v := c.at(name)
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
