package aws

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// notification reads the declared NotificationConfiguration of a bucket. The error is S3's reason.
func (t bucket) notification(ctx context.Context, c *resources.Call) (bucketevents.Configuration, error) {
	var of bucketevents.Configuration
	of.Functions = destinations(c, "LambdaConfigurations", "Function", func(d *bucketevents.Destination, arn string) { d.Function = arn })
	of.Topics = destinations(c, "TopicConfigurations", "Topic", func(d *bucketevents.Destination, arn string) { d.Topic = arn })
	of.Queues = destinations(c, "QueueConfigurations", "Queue", func(d *bucketevents.Destination, arn string) { d.Queue = arn })
	bus := c.At("NotificationConfiguration", "EventBridgeConfiguration")
	if enabled, _ := bus.Get("EventBridgeEnabled"); !bus.IsNull() && enabled.Text() != "false" {
		of.EventBridge = &struct{}{}
	}
	err := of.Validate()
	if err == nil {
		err = t.Notifications.Check(ctx, c.Place, of)
	}
	if refused, ok := errors.AsType[*bucketevents.Error](err); ok {
		err = resources.Reason(refused.Message + " (Service: S3, Status Code: 400)")
	}
	return of, err
}

// destinations reads a list of a NotificationConfiguration.
func destinations(c *resources.Call, list, member string, set func(*bucketevents.Destination, string)) []bucketevents.Destination {
	var found []bucketevents.Destination
	for _, item := range c.At("NotificationConfiguration", list).Items() {
		event, _ := item.Get("Event")
		arn, _ := item.Get(member)
		d := bucketevents.Destination{Events: []string{event.Text()}}
		set(&d, arn.Text())
		filter, _ := item.Get("Filter")
		key, _ := filter.Get("S3Key")
		rules, _ := key.Get("Rules")
		for _, rule := range rules.Items() {
			if d.Filter == nil {
				d.Filter = &bucketevents.Filter{}
			}
			d.Filter.Rules = append(d.Filter.Rules, bucketevents.Rule{Name: textOf(rule, "Name"), Value: textOf(rule, "Value")})
		}
		found = append(found, d)
	}
	return found
}

func textOf(v value.Value, name string) string {
	member, _ := v.Get(name)
	return member.Text()
}

// notify sets the notification configuration of a bucket.
func notify(b *registry.Bucket, of bucketevents.Configuration) error {
	if of.Empty() {
		delete(b.Settings, bucketevents.Setting)
		return nil
	}
	text, err := of.XML()
	if err == nil {
		b.Settings[bucketevents.Setting] = text
	}
	return err
}
