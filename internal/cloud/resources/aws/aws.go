// Package aws has the native resource types of AWS: functions, topics, state machines, buckets and the other
// resources that custom resources need.
//
// A type is a table and a maker. The table lists the properties that a template may declare, with the names in
// CloudFormation's own resource schema. The maker creates, updates and removes the resource through the packages of
// the cloud, each behind a port. Pintle accepts and records the properties that a maker does not use: it rejects no
// property that the service has, and does not enforce permissions.
//
// Every object records its holder: the stack, the resource and the request of the Create. A request that is served
// twice finds what it has created by the holder, and a Delete removes no object that another resource created.
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

// Functions is Lambda. Create of what the same holder has made, and Delete of what is not there, are as package lambda tells.
type Functions interface {
	Create(ctx context.Context, item registry.Item[registry.Function], code registry.Code) (registry.Item[registry.Function], error)
	// Update changes the definition, and the code unless that is nil.
	Update(ctx context.Context, item registry.Item[registry.Function], code *registry.Code) (registry.Item[registry.Function], error)
	// Delete removes a function with its versions, or one version, whose name is NAME:NUMBER.
	Delete(ctx context.Context, place registry.Scope, name string) error
	// Publish returns the number of a version; of a function that has not changed, that of the last one.
	Publish(ctx context.Context, place registry.Scope, name, description string) (version string, err error)
	// PutEventConfig sets the configuration of asynchronous calls; that of another holder is registry.ErrExists.
	PutEventConfig(ctx context.Context, r lambda.Reference, holder string, of registry.EventConfig) (registry.Item[registry.EventConfig], error)
	EventConfig(ctx context.Context, r lambda.Reference) (registry.Item[registry.EventConfig], error)
	RemoveEventConfig(ctx context.Context, r lambda.Reference) error
	// CreateLayer returns the ARN of a new version of the layer, or of the one that the holder has made.
	CreateLayer(ctx context.Context, item registry.Item[registry.Layer], code registry.Code) (arn string, err error)
	DeleteLayer(ctx context.Context, arn string) error
}

// Topics is SNS.
type Topics interface {
	Create(ctx context.Context, item registry.Item[registry.Topic]) (registry.Item[registry.Topic], error)
	Update(ctx context.Context, item registry.Item[registry.Topic]) (registry.Item[registry.Topic], error)
	Delete(ctx context.Context, arn string) error
	// Subscribe makes a subscription, or gives one that is there the item's holder and attributes.
	Subscribe(ctx context.Context, item registry.Item[registry.Subscription]) (arn string, err error)
	Unsubscribe(ctx context.Context, arn string) error
	Subscriptions(ctx context.Context, topicARN string) ([]registry.Item[registry.Subscription], error)
}

// Rules is EventBridge.
type Rules interface {
	// CheckBus returns an error unless a text names the default event bus, which may be left out.
	CheckBus(place registry.Scope, bus string) error
	// Put makes a rule, or changes the one that the holder has; another one's is catalog.ErrExists.
	Put(ctx context.Context, holder string, of registry.Rule) (arn string, err error)
	Delete(ctx context.Context, place registry.Scope, name string) error
	Targets(ctx context.Context, place registry.Scope, rule string) (map[string]registry.Target, error)
	PutTargets(ctx context.Context, place registry.Scope, rule string, targets map[string]registry.Target) error
	RemoveTargets(ctx context.Context, place registry.Scope, rule string, ids []string) error
}

// Buckets is S3, as far as buckets are concerned.
type Buckets interface {
	Make(ctx context.Context, item registry.Item[registry.Bucket]) (registry.Item[registry.Bucket], error)
	Change(ctx context.Context, name string, change func(*registry.Bucket) error) error
	// Remove returns [objects.ErrNotEmpty] for a bucket that is not empty.
	Remove(ctx context.Context, place registry.Scope, name string) error
}

// Logs is CloudWatch Logs, as far as groups are not just rows.
type Logs interface {
	// DeleteGroup removes the streams and events of a group.
	DeleteGroup(place registry.Scope, name string) error
}

// Notifications is where the events of buckets go.
type Notifications interface {
	// Check returns an error for people if a destination does not exist.
	Check(ctx context.Context, owner registry.Scope, c bucketevents.Configuration) error
	Test(ctx context.Context, bucket string, owner registry.Scope, c bucketevents.Configuration)
}

// Parameters is the Parameter Store.
type Parameters interface {
	ssm.Source
	Put(ctx context.Context, parameter store.Parameter, overwrite bool) (version int64, err error)
	Delete(ctx context.Context, place registry.Scope, name string) error
}

// Executions is Step Functions, as far as machines are not just rows.
type Executions interface {
	// AbortExecutions ends what runs of a machine.
	AbortExecutions(ctx context.Context, machineARN string) error
}

// Config is what the types act on. A type whose port is nil can be declared, and fails when it is served: that is for programs
// that only look at templates.
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
	// Catalog has what there is.
	Catalog *registry.Catalog
	// Open opens an object of a bucket to an account, of version "" the newest: for definitions of state machines. Nil opens
	// none.
	Open func(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, error)
	// CheckMachine returns what is wrong with the definition of a state machine, without what is secret in it; nil takes all.
	CheckMachine func(definition string) error
	// Now is the clock. Nil is the system's.
	Now func() time.Time
	// Patience is how long one request may take. Zero means [resources.DefaultPatience].
	Patience time.Duration
}

// Types returns the types, to be added to a registry of native ones.
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
