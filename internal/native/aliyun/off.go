package aliyun

import (
	"context"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native/cloud"
	"github.com/pintle-dev/pintle/internal/store"
)

// Off is what [cloud.Off] returns, of these types.
func Off(things *catalog.Catalog, recording bool) func(context.Context, *store.Request) error {
	return cloud.Off(recording, func(ctx context.Context, c *cloud.Call) (string, error) { return holderOf(ctx, things, c) })
}

// holderOf returns who has made what a call's physical id names.
func holderOf(ctx context.Context, things *catalog.Catalog, c *cloud.Call) (string, error) {
	if c.Kind == functionTable.Name || c.Kind == function3Table.Name {
		return cloud.Holding(things.Functions, c.Place, rowName(c, c.Physical()))(ctx)
	}
	if c.Kind == layerTable.Name {
		name, version, _ := layerNamed(c.Physical())
		return cloud.Holding(things.Layers, c.Place, name+":"+version)(ctx)
	}
	if c.Kind == bucketTable.Name {
		return cloud.Holding(things.Buckets, catalog.Everywhere, c.Physical())(ctx)
	}
	place := c.Place
	for _, r := range records {
		if r.Name == c.Kind {
			place = r.Place(c)
		}
	}
	return cloud.Holding(things.Records, place, c.RecordName(c.Physical()))(ctx)
}
