package aws

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/store"
)

// Off is [resources.Off] for these types.
func Off(things *registry.Catalog, recording bool) func(context.Context, *store.Request) error {
	return resources.Off(recording, func(ctx context.Context, c *resources.Call) (string, error) { return holderOf(ctx, things, c) })
}

// holderOf returns the holder of the resource with a call's physical ID.
func holderOf(ctx context.Context, things *registry.Catalog, c *resources.Call) (string, error) {
	switch c.Kind {
	case functionTable.Name:
		return resources.Holding(things.Functions, c.Place, c.Physical())(ctx)
	case versionTable.Name:
		return resources.Holding(things.Functions, c.Place, versionNamed(c))(ctx)
	case layerTable.Name:
		_, name, _ := strings.Cut(c.Physical(), ":layer:")
		return resources.Holding(things.Layers, c.Place, name)(ctx)
	case topicTable.Name:
		return resources.Holding(things.Topics, c.Place, topicNamed(c))(ctx)
	case subscriptionTable.Name:
		place, name := subscriptionNamed(c)
		return resources.Holding(things.Subscriptions, place, name)(ctx)
	case machineTable.Name:
		return resources.Holding(things.Machines, c.Place, machineNamed(c))(ctx)
	case ruleTable.Name:
		return resources.Holding(things.Rules, registry.Global, registry.RuleName(c.Place, c.Physical()))(ctx)
	case groupTable.Name:
		return resources.Holding(things.Groups, c.Place, c.Physical())(ctx)
	case bucketTable.Name:
		return resources.Holding(things.Buckets, registry.Global, c.Physical())(ctx)
	case secretTable.Name:
		there, err := secretsmanager.New(things.Secrets, nil).Find(ctx, c.Place, c.Physical())
		return there.Owner, err
	case bucketPolicyTable.Name:
		there, err := things.Buckets.Get(ctx, registry.Global, c.Physical())
		return there.Of.Settings[policyHolder], err
	}
	place := c.Place
	for _, r := range records {
		if r.Name == c.Kind {
			place = r.Place(c)
		}
	}
	return resources.Holding(things.Records, place, c.RecordName(c.Physical()))(ctx)
}
