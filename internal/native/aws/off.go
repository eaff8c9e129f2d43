package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Off is for a server that has no cloud: it returns what is to be asked before a resource of one of these types is served as a
// record. What the cloud has made, or is to make, is none: its requests wait for a server that has it, with an error that wraps
// [native.ErrAgain]. recording says that the server takes new resources of these types as records.
func Off(things *catalog.Catalog, recording bool) func(context.Context, *store.Request) error {
	return func(ctx context.Context, r *store.Request) error {
		if r.Type == wire.Create {
			if recording {
				return nil
			}
			return fmt.Errorf("%w: %w", native.ErrAgain, errOff) // this server would have refused the template
		}
		c, err := readCall(r.Body.ResourceType, r)
		if err != nil {
			return nil //nolint:nilerr // no resource of the cloud has such a stack
		}
		holder, err := holderOf(ctx, things, c)
		switch {
		case errors.Is(err, catalog.ErrNotFound), err == nil && !c.made(holder):
			return nil
		case err == nil:
			err = errOff
		}
		return fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
}

// holderOf returns who has made what a call's physical id names.
func holderOf(ctx context.Context, things *catalog.Catalog, c *call) (string, error) {
	switch c.kind {
	case functionTable.name:
		return holding(things.Functions, c.place, c.id())(ctx)
	case versionTable.name:
		return holding(things.Functions, c.place, versionNamed(c))(ctx)
	case layerTable.name:
		_, name, _ := strings.Cut(c.id(), ":layer:")
		return holding(things.Layers, c.place, name)(ctx)
	case topicTable.name:
		return holding(things.Topics, c.place, topicNamed(c))(ctx)
	case subscriptionTable.name:
		place, name := subscriptionNamed(c)
		return holding(things.Subscriptions, place, name)(ctx)
	case machineTable.name:
		return holding(things.Machines, c.place, machineNamed(c))(ctx)
	case groupTable.name:
		return holding(things.Groups, c.place, c.id())(ctx)
	case bucketTable.name:
		return holding(things.Buckets, catalog.Everywhere, c.id())(ctx)
	case bucketPolicyTable.name:
		there, err := things.Buckets.Get(ctx, catalog.Everywhere, c.id())
		return there.Of.Settings[policyHolder], err
	}
	place := c.place
	for _, r := range records {
		if r.name == c.kind {
			place = recorder{recordType: r}.place(c)
		}
	}
	return holding(things.Records, place, c.recordName(c.id()))(ctx)
}
