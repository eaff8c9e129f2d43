package sns

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// maxTags is the maximum number of tags of a topic. Source: SNS API Reference, TagResource.
const maxTags = 50

// Create creates a topic. If the topic exists, the result depends on Holder. For a client (""), Create returns the
// topic if attributes and tags match. For its own holder, it updates the topic. For any other holder, it returns
// [registry.ErrExists]. An invalid item is an [Error].
func (t *Topics) Create(ctx context.Context, item registry.Item[registry.Topic]) (registry.Item[registry.Topic], error) {
	if !topicName.MatchString(item.Name) {
		return item, invalid("Topic Name")
	}
	if err := checkTopic(&item.Of); err != nil {
		return item, err
	}
	item.Version, item.Of.ID = 0, rand.Text()
	for {
		made, err := t.config.Catalog.Topics.Put(ctx, item)
		if !errors.Is(err, registry.ErrExists) {
			return made, err
		}
		there, err := t.config.Catalog.Topics.Get(ctx, item.Scope, item.Name)
		switch {
		case errors.Is(err, registry.ErrNotFound):
			continue // it was just deleted
		case err != nil:
			return item, err
		case item.Owner == "":
			return there, same(there.Of, item.Of)
		case item.Owner != there.Owner:
			return there, registry.ErrExists
		}
		there.Of.Attributes, there.Of.Tags = item.Of.Attributes, item.Of.Tags
		made, err = t.config.Catalog.Topics.Put(ctx, there)
		if !errors.Is(err, registry.ErrChanged) && !errors.Is(err, registry.ErrNotFound) {
			return made, err
		}
	}
}

// same returns an error if a topic differs from the requested one.
func same(there, asked registry.Topic) error {
	for name, value := range asked.Attributes {
		if there.Attributes[name] != value {
			return invalid("Attributes Reason: Topic already exists with different attributes")
		}
	}
	if asked.Tags != nil && !maps.Equal(there.Tags, asked.Tags) {
		return invalid("Tags Reason: Topic already exists with different tags")
	}
	return nil
}

// checkTopic rejects unsupported attributes and tags, and drops attributes that are defaults.
func checkTopic(topic *registry.Topic) error {
	kept := map[string]string{}
	for name, value := range topic.Attributes {
		if err := checkTopicAttribute(name, value); err != nil {
			return invalid("Attributes Reason: %s", err)
		}
		if name != "FifoTopic" && value != "" {
			kept[name] = value
		}
	}
	topic.Attributes = kept
	return checkTags(topic.Tags)
}

func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return &Error{Code: "TagLimitExceeded", Status: http.StatusBadRequest, Message: "Could not complete request: tag quota of per resource exceeded"}
	}
	for key, value := range tags {
		if key == "" || len([]rune(key)) > 128 || len([]rune(value)) > 256 {
			return invalid("Tags Reason: a key has 1 to 128 characters, a value 256 at most")
		}
	}
	return nil
}

// Topic returns a topic. If it does not exist, the error is an [Error] that is [registry.ErrNotFound].
func (t *Topics) Topic(ctx context.Context, arn string) (registry.Item[registry.Topic], error) {
	place, name, err := ParseARN(arn)
	if err != nil {
		return registry.Item[registry.Topic]{}, err
	}
	topic, err := t.config.Catalog.Topics.Get(ctx, place, name)
	if errors.Is(err, registry.ErrNotFound) {
		return topic, notFound("Topic")
	}
	return topic, err
}

// List returns up to limit topics in a scope, sorted by name. It starts after a name, or with the first if after is
// empty.
func (t *Topics) List(ctx context.Context, place registry.Scope, after string, limit int) ([]registry.Item[registry.Topic], error) {
	return t.config.Catalog.Topics.List(ctx, place, after, limit)
}

// Attributes returns the attributes of a topic, as in GetTopicAttributes: those that were set, and derived ones.
func (t *Topics) Attributes(ctx context.Context, arn string) (map[string]string, error) {
	topic, err := t.Topic(ctx, arn)
	if err != nil {
		return nil, err
	}
	subscriptions, err := t.subscriptions(ctx, topic)
	if err != nil {
		return nil, err
	}
	pending := 0
	for _, s := range subscriptions {
		if s.Of.Token != "" {
			pending++
		}
	}
	all := map[string]string{
		"TopicArn": arn, "Owner": topic.Account, "DisplayName": "", "Policy": defaultPolicy(arn, topic.Account),
		"SubscriptionsPending":   strconv.Itoa(pending),
		"SubscriptionsConfirmed": strconv.Itoa(len(subscriptions) - pending),
		"SubscriptionsDeleted":   "0",
	}
	maps.Copy(all, topic.Of.Attributes)
	return all, nil
}

// SetAttribute sets an attribute of a topic. An empty value removes it.
func (t *Topics) SetAttribute(ctx context.Context, arn, name, value string) error {
	if err := checkTopicAttribute(name, value); err != nil {
		if errors.Is(err, errUnknown) {
			return invalid("AttributeName")
		}
		return invalid("%s Reason: %s", name, err)
	}
	_, err := t.change(ctx, arn, func(topic *registry.Topic) error {
		set(&topic.Attributes, name, value)
		return nil
	})
	return err
}

// Update replaces the attributes and tags of the topic with the item's scope and name.
func (t *Topics) Update(ctx context.Context, item registry.Item[registry.Topic]) (registry.Item[registry.Topic], error) {
	if err := checkTopic(&item.Of); err != nil {
		return item, err
	}
	return t.change(ctx, ARN(item.Scope, item.Name), func(topic *registry.Topic) error {
		topic.Attributes, topic.Tags = item.Of.Attributes, item.Of.Tags
		return nil
	})
}

// Tag adds or changes tags of a topic.
func (t *Topics) Tag(ctx context.Context, arn string, tags map[string]string) error {
	_, err := t.change(ctx, arn, func(topic *registry.Topic) error {
		if topic.Tags == nil {
			topic.Tags = map[string]string{}
		}
		maps.Copy(topic.Tags, tags)
		return checkTags(topic.Tags)
	})
	return err
}

// Untag removes tags from a topic. It ignores missing ones.
func (t *Topics) Untag(ctx context.Context, arn string, keys []string) error {
	_, err := t.change(ctx, arn, func(topic *registry.Topic) error {
		for _, key := range keys {
			delete(topic.Tags, key)
		}
		return nil
	})
	return err
}

func (t *Topics) change(ctx context.Context, arn string, change func(*registry.Topic) error) (registry.Item[registry.Topic], error) {
	place, name, err := ParseARN(arn)
	if err != nil {
		return registry.Item[registry.Topic]{}, err
	}
	topic, err := t.config.Catalog.Topics.Change(ctx, place, name, func(i *registry.Item[registry.Topic]) error { return change(&i.Of) })
	if errors.Is(err, registry.ErrNotFound) {
		return topic, notFound("Topic")
	}
	return topic, err
}

// Delete deletes a topic and its subscriptions. It succeeds if the topic does not exist.
func (t *Topics) Delete(ctx context.Context, arn string) error {
	place, name, err := ParseARN(arn)
	if err != nil {
		return err
	}
	// Delete the topic first, so that no client can subscribe to it any more. After a crash, the remaining
	// subscriptions belong to no topic, not even to a new one with the same name.
	if err := t.config.Catalog.Topics.Delete(ctx, place, name, 0); err != nil && !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	return t.each(ctx, place, name, func(s registry.Item[registry.Subscription]) error {
		topic, err := t.config.Catalog.Topics.Get(ctx, place, name)
		switch {
		case err == nil && belongs(s, topic):
			return nil // another call has created the topic again
		case err != nil && !errors.Is(err, registry.ErrNotFound):
			return err
		}
		return t.drop(ctx, s)
	})
}

// drop deletes a subscription, if it still exists.
func (t *Topics) drop(ctx context.Context, s registry.Item[registry.Subscription]) error {
	if err := t.config.Catalog.Subscriptions.Delete(ctx, s.Scope, s.Name, 0); err != nil && !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	return nil
}

func set(attributes *map[string]string, name, value string) {
	if *attributes == nil {
		*attributes = map[string]string{}
	}
	if value == "" {
		delete(*attributes, name)
		return
	}
	(*attributes)[name] = value
}
