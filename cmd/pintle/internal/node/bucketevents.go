package node

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/bucketevents"
	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/functions"
	"github.com/pintle-dev/pintle/internal/objects"
	"github.com/pintle-dev/pintle/internal/rules"
)

// openBucketEvents makes what sends the events of buckets. It needs the functions and the topics.
func (n *Node) openBucketEvents(c *cloud) (err error) {
	c.events, err = bucketevents.New(bucketevents.Config{
		Topics: c.topics, Log: n.log,
		Invoke: func(ctx context.Context, place catalog.Place, arn string, payload []byte) error {
			return c.functions.InvokeEvent(ctx, functions.Call{Place: place, Function: arn, Payload: payload})
		},
		Exists: func(ctx context.Context, place catalog.Place, arn string) error {
			err := c.functions.Check(ctx, functions.Call{Place: place, Function: arn})
			if errors.Is(err, functions.ErrNotFound) {
				return catalog.ErrNotFound
			}
			return err
		},
		Emit: func(ctx context.Context, place catalog.Place, e rules.Entry) error {
			return n.rules.Emit(ctx, place, e)
		},
	})
	return err
}

// objectChanged is [objects.Config].Changed.
func (c *cloud) objectChanged(ctx context.Context, bucket catalog.Item[catalog.Bucket], change objects.Change) {
	if c.events != nil { // nothing is changed before the node is open
		c.events.Happened(ctx, bucket, change)
	}
}
