package aliyun

import (
	"context"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/store"
)

// Off is [resources.Off] for these types.
func Off(things *registry.Catalog, recording bool) func(context.Context, *store.Request) error {
	return resources.Off(recording, func(ctx context.Context, c *resources.Call) (string, error) { return holderOf(ctx, things, c) })
}

// holderOf returns the holder of the resource with a call's physical ID.
func holderOf(ctx context.Context, things *registry.Catalog, c *resources.Call) (string, error) {
	if c.Kind == functionTable.Name || c.Kind == function3Table.Name {
		return resources.Holding(things.Functions, c.Place, rowName(c, c.Physical()))(ctx)
	}
	if c.Kind == layerTable.Name {
		name, version, _ := layerNamed(c.Physical())
		return resources.Holding(things.Layers, c.Place, name+":"+version)(ctx)
	}
	if c.Kind == bucketTable.Name {
		return resources.Holding(things.Buckets, registry.Global, c.Physical())(ctx)
	}
	place := c.Place
	for _, r := range records {
		if r.Name == c.Kind {
			place = r.Place(c)
		}
	}
	return resources.Holding(things.Records, place, c.RecordName(c.Physical()))(ctx)
}
