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
func (n *Node) cloudTypes() []native.Type {
	if n.cloud == nil {
		return nil
	}
	return append(aliyun.Types(aliyun.Config{
		Functions: n.cloud.functions, Objects: n.cloud.objects, Catalog: n.cloud.catalog,
	}), aws.Types(aws.Config{
		Functions: n.cloud.functions, Topics: n.cloud.topics, Rules: n.rules, Objects: n.cloud.objects, Catalog: n.cloud.catalog,
		Parameters: ssm.NewOwn(n.store), Executions: executions{n}, Logs: n.cloud.logs.streams, Notifications: n.cloud.events, Secrets: secretsmanager.New(n.cloud.catalog.Secrets, nil),
		Open: func(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, error) {
			body, _, err := bucketCode{n.cloud.objects}.Open(ctx, account, bucket, key, version)
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
func (n *Node) cloudOff() func(context.Context, *store.Request) error {
	things, recording := registry.New(n.store), n.config.UnknownTypes == engine.UnknownRecorded
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
func (n *Node) keepRecorded() func(context.Context, *store.Request, wire.PhysicalID) error {
	if n.cloud == nil {
		return nil
	}
	return recorded.Keep(n.cloud.catalog.Records, time.Now)
}

// executions are those of the engine, which is opened after the types are made and before any of them is served.
type executions struct{ node *Node }

// AbortExecutions implements [aws.Executions].
func (e executions) AbortExecutions(ctx context.Context, machineARN string) error {
	return e.node.engine.AbortExecutions(ctx, machineARN)
}
