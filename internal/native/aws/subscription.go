package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/wire"
)

var subscriptionTable = table{
	name:      "AWS::SNS::Subscription",
	texts:     "Endpoint FilterPolicyScope Protocol Region SubscriptionRoleArn TopicArn",
	truths:    "RawMessageDelivery",
	documents: "DeliveryPolicy FilterPolicy RedrivePolicy ReplayPolicy",
	required:  "Protocol TopicArn", replaces: "Endpoint Protocol TopicArn", attributes: "Arn",
}

// subscription is AWS::SNS::Subscription. There is one for each endpoint of a topic; whoever declares it last has it.
type subscription struct{ Config }

// create implements [maker].
func (t subscription) create(ctx context.Context, c *call) (native.Result, error) {
	arn, err := t.subscribe(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	return result(arn, "Arn", arn), nil
}

// update implements [maker].
func (t subscription) update(ctx context.Context, c *call) (native.Result, error) {
	place, name := subscriptionNamed(c)
	if _, err := t.Catalog.Subscriptions.Get(ctx, place, name); err != nil {
		if errors.Is(err, catalog.ErrNotFound) {
			err = c.lost()
		}
		return native.Result{}, err
	}
	if _, err := t.subscribe(ctx, c); err != nil {
		return native.Result{}, err
	}
	return result(c.id(), "Arn", c.id()), nil
}

// remove implements [maker].
func (t subscription) remove(ctx context.Context, c *call) error {
	place, name := subscriptionNamed(c)
	if mine, err := own(ctx, c, t.Catalog.Subscriptions, place, name); err != nil || !mine {
		return err
	}
	return ignoreMissing(t.Topics.Unsubscribe(ctx, c.id()))
}

func (t subscription) subscribe(ctx context.Context, c *call) (arn string, err error) {
	if token, err := wire.ParseToken(wire.ServiceToken(c.text("TopicArn"))); err == nil && token.Account != c.place.Account {
		return "", reason("The account " + c.place.Account + " is not authorized to perform: SNS:Subscribe on resource: " + c.text("TopicArn"))
	}
	return t.Topics.Subscribe(ctx, catalog.Item[catalog.Subscription]{Holder: c.holder(), Of: catalog.Subscription{
		Topic: c.text("TopicArn"), Protocol: c.text("Protocol"), Endpoint: c.text("Endpoint"),
		Attributes: attributesOf(c, "DeliveryPolicy", "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "RedrivePolicy",
			"ReplayPolicy", "SubscriptionRoleArn"),
	}})
}

// subscriptionNamed returns where what the call's physical id names is: in the region of its topic, which may be another one than the
// stack's.
func subscriptionNamed(c *call) (place catalog.Place, name string) {
	fields := strings.SplitN(c.id(), ":", 6) // arn, partition, sns, region, account
	if len(fields) < 6 {
		return c.place, c.id() // the id of a Create that made nothing
	}
	return catalog.Place{Region: fields[3], Account: fields[4]}, fields[5]
}
