// Package states is the API of AWS Step Functions for executions and state machines. Templates create the machines,
// which are kept in the catalog; executions are rows of the engine.
//
// Source: AWS Step Functions API Reference, version 2016-11-23; AWS JSON 1.0 protocol.
package states

import (
	"context"
	"errors"
	"log/slog"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// Target is the prefix of the X-Amz-Target header, before the dot and the action.
const Target = "AWSStepFunctions"

// maxBody is the maximum length of a request body in bytes: the longest input with every character escaped.
const maxBody = 2 << 20

// Machines finds state machines. The catalog's collection of machines implements it.
type Machines interface {
	// Get returns the machine with a name, or [registry.ErrNotFound].
	Get(ctx context.Context, place registry.Scope, name string) (registry.Item[registry.Machine], error)
	// List returns up to limit machines in a scope, sorted by name. It starts after a name, or with the first if
	// after is empty.
	List(ctx context.Context, place registry.Scope, after string, limit int) ([]registry.Item[registry.Machine], error)
}

// Engine runs executions. [engine.Engine] implements it.
type Engine interface {
	StartExecution(ctx context.Context, in engine.MachineExecution) (engine.MachineExecution, error)
	Execution(ctx context.Context, arn string) (engine.MachineExecution, error)
	Executions(ctx context.Context, machine string, status store.ExecutionStatus, after string, limit int) ([]engine.MachineExecution, error)
	ExecutionHistory(ctx context.Context, arn string) (engine.MachineExecution, []engine.HistoryEvent, error)
	StopExecution(ctx context.Context, arn, reason, cause string) (engine.MachineExecution, error)
}

// Config configures the handler.
type Config struct {
	// Machines finds the state machines. Required.
	Machines Machines
	// Engine runs their executions. Required.
	Engine Engine
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

type handler struct{ Config }

// New returns a service for state machines and their executions. It returns an error if config is incomplete.
func New(config Config) (*awsjson.Service, error) {
	if config.Machines == nil || config.Engine == nil || config.Caller == nil {
		return nil, errors.New("states: the machines, the engine and the caller are required")
	}
	service, err := awsjson.New(awsjson.Config{
		Name: "states", Target: Target, Version: "1.0", Endpoint: "AWS_ENDPOINT_URL_SFN", MaxBody: maxBody, Log: config.Log,
	})
	if err != nil {
		return nil, err
	}
	f := &handler{config}
	awsjson.Handle(service, "StartExecution", f.start)
	awsjson.Handle(service, "DescribeExecution", f.describe)
	awsjson.Handle(service, "StopExecution", f.stop)
	awsjson.Handle(service, "ListExecutions", f.list)
	awsjson.Handle(service, "GetExecutionHistory", f.history)
	awsjson.Handle(service, "ListStateMachines", f.listMachines)
	awsjson.Handle(service, "DescribeStateMachine", f.describeMachine)
	awsjson.Handle(service, "DescribeStateMachineForExecution", f.describeMachineOf)
	awsjson.Handle(service, "ListTagsForResource", f.listTags)
	return service, nil
}

// caller returns the scope of the caller.
func (f *handler) caller(ctx context.Context) (registry.Scope, error) {
	caller, ok := f.Caller(ctx)
	if !ok {
		return registry.Scope{}, errors.New("the request reached the state machines without a caller")
	}
	return registry.ScopeOf(caller), nil
}

func refuse(code, format string, args ...any) error { return awsjson.Refuse(code, format, args...) }

func invalid(format string, args ...any) error {
	return refuse("ValidationException", "1 validation error detected: "+format, args...)
}
