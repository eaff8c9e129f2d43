package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/native/cloud"
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
			return fmt.Errorf("%w: %w", native.ErrAgain, cloud.ErrOff) // this server would have refused the template
		}
		c, err := cloud.Read(r.Body.ResourceType, r)
		if err != nil {
			return nil //nolint:nilerr // no resource of the cloud has such a stack
		}
		holder, err := holderOf(ctx, things, c)
		switch {
		case errors.Is(err, catalog.ErrNotFound), err == nil && !c.Made(holder):
			return nil
		case err == nil:
			err = cloud.ErrOff
		}
		return fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
}

// holderOf returns who has made what a call's physical id names.
func holderOf(ctx context.Context, things *catalog.Catalog, c *cloud.Call) (string, error) {
	switch c.Kind {
	case functionTable.Name:
		return cloud.Holding(things.Functions, c.Place, c.Physical())(ctx)
	case versionTable.Name:
		return cloud.Holding(things.Functions, c.Place, versionNamed(c))(ctx)
	case layerTable.Name:
		_, name, _ := strings.Cut(c.Physical(), ":layer:")
		return cloud.Holding(things.Layers, c.Place, name)(ctx)
	case topicTable.Name:
		return cloud.Holding(things.Topics, c.Place, topicNamed(c))(ctx)
	case subscriptionTable.Name:
		place, name := subscriptionNamed(c)
		return cloud.Holding(things.Subscriptions, place, name)(ctx)
	case machineTable.Name:
		return cloud.Holding(things.Machines, c.Place, machineNamed(c))(ctx)
	case groupTable.Name:
		return cloud.Holding(things.Groups, c.Place, c.Physical())(ctx)
	case bucketTable.Name:
		return cloud.Holding(things.Buckets, catalog.Everywhere, c.Physical())(ctx)
	case bucketPolicyTable.Name:
		there, err := things.Buckets.Get(ctx, catalog.Everywhere, c.Physical())
		return there.Of.Settings[policyHolder], err
	}
	place := c.Place
	for _, r := range records {
		if r.Name == c.Kind {
			place = r.Place(c)
		}
	}
	return cloud.Holding(things.Records, place, c.RecordName(c.Physical()))(ctx)
}
