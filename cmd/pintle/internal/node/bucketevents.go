package node

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
)

// openBucketEvents makes the sender of bucket events. It needs the functions, the topics and the queues.
func (c *cloud) openBucketEvents(n *Node) (err error) {
	c.events, err = bucketevents.New(bucketevents.Config{
		Topics: c.topics, Log: n.log,
		Invoke: func(ctx context.Context, place registry.Scope, arn string, payload []byte) error {
			return c.functions.InvokeEvent(ctx, lambda.Call{Scope: place, Function: arn, Payload: payload})
		},
		Exists: func(ctx context.Context, place registry.Scope, arn string) error {
			err := c.functions.Check(ctx, lambda.Call{Scope: place, Function: arn})
			if errors.Is(err, lambda.ErrNotFound) {
				return registry.ErrNotFound
			}
			return err
		},
		Queue: func(ctx context.Context, place registry.Scope, arn, text string) error {
			return c.queues.Send(ctx, place, arn, sqs.Message{Body: text})
		},
		Emit: func(ctx context.Context, place registry.Scope, e events.Entry) error {
			return n.rules.Emit(ctx, place, e)
		},
	})
	return err
}

// objectChanged is [objects.Config].Changed.
func (c *cloud) objectChanged(ctx context.Context, bucket registry.Item[registry.Bucket], change objects.Change) {
	if c.events != nil { // nothing is changed before the node is open
		c.events.Happened(ctx, bucket, change)
	}
}
