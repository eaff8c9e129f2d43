package node

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/recorded"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aliyun"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// cloudTypes returns the native types of the local cloud, or nil without one.
func (b *builder) cloudTypes() []native.Type {
	if b.cloud == nil {
		return nil
	}
	return append(aliyun.Types(aliyun.Config{
		Functions: b.cloud.functions, Objects: b.cloud.objects, Catalog: b.cloud.catalog,
	}), aws.Types(aws.Config{
		Functions: b.cloud.functions, Topics: b.cloud.topics, Rules: b.rules, Objects: b.cloud.objects, Catalog: b.cloud.catalog,
		Parameters: ssm.NewOwn(b.store), Executions: executions{b.Node}, Logs: b.cloud.logs.streams, Notifications: b.cloud.events, Secrets: secretsmanager.New(b.cloud.catalog.Secrets, nil),
		Open: func(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, error) {
			body, _, err := bucketCode{b.cloud.objects}.Open(ctx, account, bucket, key, version)
			return body, err
		},
		CheckMachine: func(definition string) error {
			_, err := asl.Parse(definition)
			if unsupported, ok := errors.AsType[*asl.DefinitionError](err); ok && unsupported.Unsupported {
				return nil // Step Functions has it: each start of an execution is refused instead
			}
			return err
		},
	})...)
}

// cloudOff returns, for a node without the local cloud, the check before a resource of one of those types becomes a record.
func (b *builder) cloudOff() func(context.Context, *store.Request) error {
	things, recording := registry.New(b.store), b.config.UnknownTypes == engine.UnknownRecorded
	ofAWS, ofAliyun := aws.Off(things, recording), aliyun.Off(things, recording)
	return func(ctx context.Context, r *store.Request) error {
		if r.Body.Dialect == wire.ROS.String() {
			return ofAliyun(ctx, r)
		}
		return ofAWS(ctx, r)
	}
}

// keepRecorded returns the function that stores recorded resources for calls about them. Without local AWS emulation no service answers such
// calls.
func (b *builder) keepRecorded() func(context.Context, *store.Request, wire.PhysicalID) error {
	if b.cloud == nil {
		return nil
	}
	return recorded.Keep(b.cloud.catalog.Records, time.Now)
}

// executions are those of the engine, which is opened after the types are made and before any of them is served.
type executions struct{ node *Node }

// AbortExecutions implements [aws.Executions].
func (e executions) AbortExecutions(ctx context.Context, machineARN string) error {
	return e.node.engine.AbortExecutions(ctx, machineARN)
}
