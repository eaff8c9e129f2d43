package ros

import (
	"cmp"
	"context"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
)

type continueCreateStackInput struct {
	stackInput
	templateInput
	optionsInput
	Mode                string   `enum:"Recreate,Ignore"`
	RecreatingResources []string `length:",300"`
	RecreatingOptions   []string
	TimeoutInMinutes    int `range:"10,1440"`
	DryRun              bool
}

// continueCreateStack continues a failed create. Omitted parameters keep their values.
func (f *handler) continueCreateStack(ctx context.Context, in continueCreateStackInput) (out startedOutput, err error) {
	ref, caller, err := f.ref(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	stack, err := f.find(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	switch {
	case in.DryRun:
		return out, rpc.NotSupported("DryRun of ContinueCreateStack", "Leave it out.")
	case len(in.RecreatingOptions) > 0:
		return out, rpc.NotSupported("RecreatingOptions", "Omit them, and name resources to create again in RecreatingResources.")
	}
	text, given, err := f.text(ctx, in.templateInput)
	if err != nil {
		return out, err
	}
	options, err := in.options(caller)
	if err != nil {
		return out, err
	}
	if len(options.Parameters) > 0 { // without any, the engine keeps the existing ones
		if options.Parameters, err = f.withPrevious(ctx, stack, text, given, options.Parameters); err != nil {
			return out, err
		}
	}
	s, err := f.engine.ContinueCreate(ctx, engine.ContinueCreate{
		Options: options, Stack: ref, Mode: engine.ContinueMode(in.Mode), Recreate: logicalIDs(in.RecreatingResources), Template: text,
		TimeoutMinutes: cmp.Or(in.TimeoutInMinutes, defaultTimeout),
	})
	return started(s), err
}
