// Package aliyun has the native resource types of Alibaba Cloud: functions of Function Compute, services, roles,
// queues, topics and log projects. Functions run. Pintle only records everything else, with the names and ARNs that
// it would have.
//
// The tables list the properties and attributes in the CDK for ROS and in the ROS reference of resource types. That
// reference also states which properties can change. If another property changes, Pintle replaces the resource,
// provided that the update allows it.
//
// Source: ROS, resource types by service; packages ros-cdk-fc 1.9.0, ros-cdk-fc3 1.11.0, ros-cdk-ram 1.12.0,
// ros-cdk-mns and ros-cdk-sls 1.15.0 of Alibaba Cloud.
package aliyun

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// Functions is Function Compute. Create and Delete are idempotent as in package lambda.
type Functions interface {
	Create(ctx context.Context, item registry.Item[registry.Function], code registry.Code) (registry.Item[registry.Function], error)
	// Update changes the definition, and the code unless code is nil.
	Update(ctx context.Context, item registry.Item[registry.Function], code *registry.Code) (registry.Item[registry.Function], error)
	Delete(ctx context.Context, place registry.Scope, name string) error
	CreateLayer(ctx context.Context, item registry.Item[registry.Layer], code registry.Code) (arn string, err error)
	DeleteLayer(ctx context.Context, arn string) error
}

// Config holds the dependencies of the types. If one is nil, its types can be declared, but requests for them fail.
// This is for programs that only read templates.
type Config struct {
	Functions Functions
	Objects   Buckets
	// Catalog stores the resources.
	Catalog *registry.Catalog
	// Now is the clock. Nil means the system clock.
	Now func() time.Time
	// Patience is how long one request may take. Zero means [resources.DefaultPatience].
	Patience time.Duration
}

// Types returns the types for a registry of native types.
func Types(c Config) []native.Type {
	if c.Now == nil {
		c.Now = time.Now
	}
	var list []native.Type
	add := func(t resources.Table, ready bool, m resources.Maker) {
		list = append(list, resources.New(t, m, ready && c.Catalog != nil, c.Patience))
	}
	add(functionTable, c.Functions != nil, function{c, functionOf2})
	add(function3Table, c.Functions != nil, function{c, functionOf3})
	add(layerTable, c.Functions != nil, layer{c})
	add(bucketTable, c.Objects != nil, bucket{c})
	add(serviceType.Table, true, service{resources.Record(serviceType, c.Catalog, c.Now), c.Catalog})
	for _, r := range records {
		add(r.Table, true, resources.Record(r, c.Catalog, c.Now))
	}
	return list
}
