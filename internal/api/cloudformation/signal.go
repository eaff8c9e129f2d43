package cloudformation

import (
	"context"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

type signalResourceInput struct {
	StackName         string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	LogicalResourceID string `query:"LogicalResourceId,required"`
	UniqueID          string `query:"UniqueId,required" length:"1,64"`
	Status            string `query:",required" enum:"SUCCESS,FAILURE"`
}

func (f *handler) signalResource(ctx context.Context, in signalResourceInput) (query.None, error) {
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return query.None{}, err
	}
	return query.None{}, f.engine.SignalResource(ctx, engine.SignalResource{
		Stack: ref, Logical: wire.LogicalID(in.LogicalResourceID), ID: in.UniqueID, Failed: in.Status == "FAILURE",
	})
}
