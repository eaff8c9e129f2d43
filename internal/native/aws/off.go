package aws

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native/cloud"
	"github.com/pintle-dev/pintle/internal/secrets"
	"github.com/pintle-dev/pintle/internal/store"
)

// Off is what [cloud.Off] returns, of these types.
func Off(things *catalog.Catalog, recording bool) func(context.Context, *store.Request) error {
	return cloud.Off(recording, func(ctx context.Context, c *cloud.Call) (string, error) { return holderOf(ctx, things, c) })
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
	case ruleTable.Name:
		return cloud.Holding(things.Rules, catalog.Everywhere, catalog.RuleName(c.Place, c.Physical()))(ctx)
	case groupTable.Name:
		return cloud.Holding(things.Groups, c.Place, c.Physical())(ctx)
	case bucketTable.Name:
		return cloud.Holding(things.Buckets, catalog.Everywhere, c.Physical())(ctx)
	case secretTable.Name:
		there, err := secrets.New(things.Secrets, nil).Find(ctx, c.Place, c.Physical())
		return there.Holder, err
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
