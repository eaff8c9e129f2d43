package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

var subscriptionTable = resources.Table{
	Name:       "AWS::SNS::Subscription",
	Identifier: "Arn",
	Texts:      "Endpoint FilterPolicyScope Protocol Region SubscriptionRoleArn TopicArn",
	Truths:     "RawMessageDelivery",
	Documents:  "DeliveryPolicy FilterPolicy RedrivePolicy ReplayPolicy",
	Required:   "Protocol TopicArn", Replaces: "Endpoint Protocol TopicArn", Attributes: "Arn",
}

// subscription is AWS::SNS::Subscription. Each endpoint has one subscription to a topic. It belongs to the resource
// that declared it last.
type subscription struct{ Config }

// Create implements [resources.Maker].
func (t subscription) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	arn, err := t.subscribe(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	return resources.Result(arn, "Arn", arn), nil
}

// Update implements [resources.Maker].
func (t subscription) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	place, name := subscriptionNamed(c)
	if _, err := t.Catalog.Subscriptions.Get(ctx, place, name); err != nil {
		if errors.Is(err, registry.ErrNotFound) {
			err = c.Lost()
		}
		return native.Result{}, err
	}
	if _, err := t.subscribe(ctx, c); err != nil {
		return native.Result{}, err
	}
	return resources.Result(c.Physical(), "Arn", c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t subscription) Remove(ctx context.Context, c *resources.Call) error {
	place, name := subscriptionNamed(c)
	if mine, err := resources.Own(ctx, c, t.Catalog.Subscriptions, place, name); err != nil || !mine {
		return err
	}
	return resources.IgnoreMissing(t.Topics.Unsubscribe(ctx, c.Physical()))
}

func (t subscription) subscribe(ctx context.Context, c *resources.Call) (arn string, err error) {
	if token, err := wire.ParseToken(wire.ServiceToken(c.Text("TopicArn"))); err == nil && token.Account != c.Place.Account {
		return "", resources.Reason("The account " + c.Place.Account + " is not authorized to perform: SNS:Subscribe on resource: " + c.Text("TopicArn"))
	}
	return t.Topics.Subscribe(ctx, registry.Item[registry.Subscription]{Owner: c.Holder(), Of: registry.Subscription{
		Topic: c.Text("TopicArn"), Protocol: c.Text("Protocol"), Endpoint: c.Text("Endpoint"),
		Attributes: attributesOf(c, "DeliveryPolicy", "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "RedrivePolicy",
			"ReplayPolicy", "SubscriptionRoleArn"),
	}})
}

// subscriptionNamed returns the scope and the name of the subscription with the call's physical ID. Its region is
// that of the topic, which may differ from the stack's.
func subscriptionNamed(c *resources.Call) (place registry.Scope, name string) {
	fields := strings.SplitN(c.Physical(), ":", 6) // arn, partition, sns, region, account
	if len(fields) < 6 {
		return c.Place, c.Physical() // the ID of a failed Create
	}
	return registry.Scope{Region: fields[3], Account: fields[4]}, fields[5]
}
