// Package states answers what clients ask of AWS Step Functions about the state machines of this server: StartExecution,
// DescribeExecution, StopExecution, ListExecutions and DescribeStateMachine, in AWS's JSON protocol. Machines are made by
// templates; what they are is in the catalog, and executions are rows of the engine.
//
// Source: AWS Step Functions API Reference, version 2016-11-23; AWS JSON 1.0 protocol.
package states

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// Target is what the header X-Amz-Target of a call begins with; the name of the action follows.
const Target = "AWSStepFunctions."

const (
	contentType = "application/x-amz-json-1.0"
	// maxBody bounds a call, in bytes: the longest input, every character of which may be escaped.
	maxBody = 2 << 20
)

// Machines finds state machines. The shelf of a catalog is one.
type Machines interface {
	// Get returns the machine of a name, or [catalog.ErrNotFound].
	Get(ctx context.Context, place catalog.Place, name string) (catalog.Item[catalog.Machine], error)
}

// Engine runs executions. [engine.Engine] is one.
type Engine interface {
	StartExecution(ctx context.Context, in engine.MachineExecution) (engine.MachineExecution, error)
	Execution(ctx context.Context, arn string) (engine.MachineExecution, error)
	Executions(ctx context.Context, machine string, status store.ExecutionStatus, after string, limit int) ([]engine.MachineExecution, error)
	StopExecution(ctx context.Context, arn, reason, cause string) (engine.MachineExecution, error)
}

// Caller is on whose behalf a call is answered.
type Caller struct {
	Account string
	Region  string
}

// Config is what the face is made of.
type Config struct {
	// Machines are the state machines that there are. Required.
	Machines Machines
	// Engine runs them. Required.
	Engine Engine
	// Caller tells who signed a call; false is a fault of the server. Required.
	Caller func(context.Context) (Caller, bool)
	// Log gets internal errors; nil discards them.
	Log *slog.Logger
}

// Face answers the actions. It is an [http.Handler].
type Face struct{ config Config }

// New returns a face. It returns an error if the config lacks something.
func New(config Config) (*Face, error) {
	if config.Machines == nil || config.Engine == nil || config.Caller == nil {
		return nil, errors.New("states: the machines, the engine and the caller are required")
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Face{config}, nil
}

// fault is an error as the client sees it.
type fault struct {
	code, message string
	status        int
}

func (f *fault) Error() string { return f.code + ": " + f.message }

func refuse(code, format string, args ...any) error {
	return &fault{code, fmt.Sprintf(format, args...), http.StatusBadRequest}
}

func invalid(format string, args ...any) error {
	return refuse("ValidationException", "1 validation error detected: "+format, args...)
}

// ServeHTTP implements [http.Handler].
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := f.answer(r)
	if err != nil {
		code, message, status := f.known(r, err)
		w.Header().Set("X-Amzn-ErrorType", code)
		write(w, status, map[string]string{"__type": code, "message": message})
		return
	}
	write(w, http.StatusOK, out)
}

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts, times and booleans always marshal
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Amzn-RequestId", uuid.NewString())
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone needs no answer
}

// known returns an error as the client sees it.
func (f *Face) known(r *http.Request, err error) (code, message string, status int) {
	if told, ok := errors.AsType[*fault](err); ok {
		return told.code, told.message, told.status
	}
	f.config.Log.ErrorContext(r.Context(), "a call of the state machines failed", "target", r.Header.Get("X-Amz-Target"), "error", err)
	return "InternalServerError", "An internal error occurred.", http.StatusInternalServerError
}

// answer does what a call asks for.
func (f *Face) answer(r *http.Request) (any, error) {
	action, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), Target)
	if !ok || r.Method != http.MethodPost {
		return nil, refuse("UnknownOperationException", "A call is a POST with the header X-Amz-Target: %sACTION.", Target)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, refuse("SerializationException", "the body broke off")
	}
	if len(body) > maxBody {
		return nil, &fault{"RequestEntityTooLarge", fmt.Sprintf("A body has %d bytes at most.", maxBody), http.StatusRequestEntityTooLarge}
	}
	caller, ok := f.config.Caller(r.Context())
	if !ok {
		return nil, errors.New("the request reached the state machines without a caller")
	}
	c := &call{Face: f, ctx: r.Context(), place: catalog.Place(caller)}
	switch action {
	case "StartExecution":
		return handle(body, c.start)
	case "DescribeExecution":
		return handle(body, c.describe)
	case "StopExecution":
		return handle(body, c.stop)
	case "ListExecutions":
		return handle(body, c.list)
	case "DescribeStateMachine":
		return handle(body, c.describeMachine)
	}
	return nil, refuse("UnknownOperationException", "This version of Pintle answers StartExecution, DescribeExecution, StopExecution, ListExecutions "+
		"and DescribeStateMachine, not %.64q. State machines are made by templates; what else Step Functions does is had from a server that "+
		"AWS_ENDPOINT_URL_SFN names.", action)
}

// handle reads the input of an action. What it does not know of it is left out, as AWS does.
func handle[In, Out any](body []byte, do func(In) (Out, error)) (any, error) {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return nil, refuse("SerializationException", "%s can not be a %s", kind.Field, kind.Value)
		}
		return nil, refuse("SerializationException", "the body is no JSON")
	}
	return do(in)
}
