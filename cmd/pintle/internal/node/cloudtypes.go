package node

import (
	"context"
	"io"

	"github.com/pintle-dev/pintle/internal/asl"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/native/aws"
	"github.com/pintle-dev/pintle/internal/parameters"
)

// cloudTypes returns the native types of the cloud of this machine, none if there is no cloud.
func (n *Node) cloudTypes() []native.Type {
	if n.cloud == nil {
		return nil
	}
	return aws.Types(aws.Config{
		Functions: n.cloud.functions, Topics: n.cloud.topics, Objects: n.cloud.objects, Catalog: n.cloud.catalog,
		Parameters: parameters.NewOwn(n.store), Executions: executions{n},
		Open: func(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, error) {
			body, _, err := bucketCode{n.cloud.objects}.Open(ctx, account, bucket, key, version)
			return body, err
		},
		CheckMachine: func(definition string) error {
			_, err := asl.Parse(definition)
			return err
		},
	})
}

// executions are those of the engine, which is opened after the types are made and before any of them is served.
type executions struct{ node *Node }

// AbortExecutions implements [aws.Executions].
func (e executions) AbortExecutions(ctx context.Context, machineARN string) error {
	return e.node.engine.AbortExecutions(ctx, machineARN)
}
