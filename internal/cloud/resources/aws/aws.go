// Package aws has the native resource types of AWS: functions, topics, state machines, buckets and the other
// resources that custom resources need.
//
// A type is a table and a maker. The table lists the properties that a template may declare, with the names in
// CloudFormation's own resource schema. The maker creates, updates and removes the resource through the packages of
// the cloud, each behind an interface. Pintle accepts and records the properties that a maker does not use: it
// rejects no property that the service has, and does not enforce permissions.
//
// Every object records its holder: the stack, the resource and the request of the Create. If a request is served
// twice, the second attempt finds the object by its holder. A Delete removes no object that another resource created.
package aws

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
)

// Functions is Lambda. Create and Delete are idempotent as in package lambda.
type Functions interface {
	Create(ctx context.Context, item registry.Item[registry.Function], code registry.Code) (registry.Item[registry.Function], error)
	// Update changes the definition, and the code unless code is nil.
	Update(ctx context.Context, item registry.Item[registry.Function], code *registry.Code) (registry.Item[registry.Function], error)
	// Delete removes a function with its versions, or one version, whose name is NAME:NUMBER.
	Delete(ctx context.Context, place registry.Scope, name string) error
	// Publish returns the number of a new version, or of the last one if the function has not changed.
	Publish(ctx context.Context, place registry.Scope, name, description string) (version string, err error)
	// PutEventConfig sets the configuration of asynchronous calls. It returns registry.ErrExists if another holder
	// set it.
	PutEventConfig(ctx context.Context, r lambda.Reference, holder string, of registry.EventConfig) (registry.Item[registry.EventConfig], error)
	EventConfig(ctx context.Context, r lambda.Reference) (registry.Item[registry.EventConfig], error)
	RemoveEventConfig(ctx context.Context, r lambda.Reference) error
	// CreateLayer returns the ARN of a new layer version, or of the one that the holder created before.
	CreateLayer(ctx context.Context, item registry.Item[registry.Layer], code registry.Code) (arn string, err error)
	DeleteLayer(ctx context.Context, arn string) error
}

// Topics is SNS.
type Topics interface {
	Create(ctx context.Context, item registry.Item[registry.Topic]) (registry.Item[registry.Topic], error)
	Update(ctx context.Context, item registry.Item[registry.Topic]) (registry.Item[registry.Topic], error)
	Delete(ctx context.Context, arn string) error
	// Subscribe creates a subscription. If it exists, it gets the item's holder and attributes.
	Subscribe(ctx context.Context, item registry.Item[registry.Subscription]) (arn string, err error)
	Unsubscribe(ctx context.Context, arn string) error
	Subscriptions(ctx context.Context, topicARN string) ([]registry.Item[registry.Subscription], error)
}

// Rules is EventBridge.
type Rules interface {
	// CheckBus returns an error unless bus is empty or the default event bus.
	CheckBus(place registry.Scope, bus string) error
	// Put creates a rule, or changes the holder's. It returns registry.ErrExists if another holder has it.
	Put(ctx context.Context, holder string, of registry.Rule) (arn string, err error)
	Delete(ctx context.Context, place registry.Scope, name string) error
	Targets(ctx context.Context, place registry.Scope, rule string) (map[string]registry.Target, error)
	PutTargets(ctx context.Context, place registry.Scope, rule string, targets map[string]registry.Target) error
	RemoveTargets(ctx context.Context, place registry.Scope, rule string, ids []string) error
}

// Buckets is the bucket part of S3.
type Buckets interface {
	Make(ctx context.Context, item registry.Item[registry.Bucket]) (registry.Item[registry.Bucket], error)
	Change(ctx context.Context, name string, change func(*registry.Bucket) error) error
	// Remove returns [objects.ErrNotEmpty] for a bucket that is not empty.
	Remove(ctx context.Context, place registry.Scope, name string) error
}

// Logs is the part of CloudWatch Logs that is not in the catalog.
type Logs interface {
	// DeleteGroup removes the streams and events of a group.
	DeleteGroup(place registry.Scope, name string) error
}

// Notifications checks and tests destinations for bucket events.
type Notifications interface {
	// Check returns an error for users if a destination does not exist.
	Check(ctx context.Context, owner registry.Scope, c bucketevents.Configuration) error
	Test(ctx context.Context, bucket string, owner registry.Scope, c bucketevents.Configuration)
}

// Parameters is the Parameter Store.
type Parameters interface {
	ssm.Source
	Put(ctx context.Context, parameter store.Parameter, overwrite bool) (version int64, err error)
	Delete(ctx context.Context, place registry.Scope, name string) error
}

// Executions is the part of Step Functions that is not in the catalog.
type Executions interface {
	// AbortExecutions aborts the running executions of a machine.
	AbortExecutions(ctx context.Context, machineARN string) error
}

// Config holds the dependencies of the types. If one is nil, its types can be declared, but requests for them fail.
// This is for programs that only read templates.
type Config struct {
	Functions  Functions
	Topics     Topics
	Rules      Rules
	Objects    Buckets
	Parameters Parameters
	Executions Executions
	Logs       Logs
	// Notifications is required with Objects.
	Notifications Notifications
	Secrets       *secretsmanager.Secrets
	// Catalog stores the resources.
	Catalog *registry.Catalog
	// Open opens an object with a state machine definition on behalf of an account. An empty version means the
	// newest. Nil disables this.
	Open func(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, error)
	// CheckMachine returns the error in a state machine definition, without secrets. Nil accepts all definitions.
	CheckMachine func(definition string) error
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
	c.Patience = cmp.Or(c.Patience, resources.DefaultPatience)
	var list []native.Type
	add := func(t resources.Table, ready bool, m resources.Maker) {
		list = append(list, resources.New(t, m, ready && c.Catalog != nil, c.Patience))
	}
	add(functionTable, c.Functions != nil, function{c})
	add(versionTable, c.Functions != nil, version{c})
	add(eventConfigTable, c.Functions != nil, eventConfig{c})
	add(layerTable, c.Functions != nil, layer{c})
	add(topicTable, c.Topics != nil, topic{c})
	add(subscriptionTable, c.Topics != nil, subscription{c})
	add(ruleTable, c.Rules != nil, rule{c})
	add(machineTable, c.Executions != nil, machine{c})
	add(groupTable, c.Logs != nil, group{c})
	add(bucketTable, c.Objects != nil && c.Notifications != nil, bucket{c})
	add(bucketPolicyTable, c.Objects != nil, bucketPolicy{c})
	add(parameterTable, c.Parameters != nil, parameter{c})
	add(secretTable, c.Secrets != nil, secret{c})
	for _, r := range records {
		add(r.Table, true, resources.Record(r, c.Catalog, c.Now))
	}
	return list
}
