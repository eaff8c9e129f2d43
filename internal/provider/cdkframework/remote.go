// Package cdkframework runs providers that consist of two local functions, onEvent and isComplete.
//
// The framework between the engine and such functions is the provider SDK's own [cdkprovider.NewRemote]. It runs inside
// this process, on the same Runtime API as a provider process. [Serve] makes it a provider of the [local.Runtime], and
// its functions are other providers of the same runtime. So it hands waits to the engine like any provider.
package cdkframework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// Calls tracks the function calls in flight. Call Done and Request from the runtime's Config.Done and Config.Log. Calls
// is safe for concurrent use.
type Calls struct {
	runtime local.Invoker

	mu       sync.Mutex
	open     map[string]*call    // by the ID of the function's event
	requests map[string][]string // the secrets, by the ID of the request
}

type call struct {
	request string
	outcome chan local.Outcome // buffered for one
}

// NewCalls returns calls without a runtime. Call [Calls.Use] before any function is called.
func NewCalls() *Calls {
	return &Calls{open: map[string]*call{}, requests: map[string][]string{}}
}

// Use sets the runtime of the functions.
func (c *Calls) Use(runtime local.Invoker) { c.runtime = runtime }

// Begin registers the secrets of a request before it is handled, so that the logs of its function calls are redacted.
func (c *Calls) Begin(event local.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[event.ID] = event.Secrets
}

// End forgets a request that was not accepted after all.
func (c *Calls) End(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.requests, id)
}

// Done records the outcome of an event. It returns true if the event was a function call, which no other component
// handles.
func (c *Calls) Done(id string, outcome local.Outcome) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.open[id]
	if found == nil {
		delete(c.requests, id)
		return false
	}
	delete(c.open, id)
	found.outcome <- outcome
	return true
}

// Request returns the request that a function's event is for, or false if the event is not a function's.
func (c *Calls) Request(id string) (request string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.open[id]; found != nil {
		return found.request, true
	}
	return "", false
}

// Function returns a provider of the runtime as a Go function that gets an event and returns the result. Errors contain
// the name what. Each call uses find to look up the provider's name in the runtime.
func (c *Calls) Function(what string, find func() (string, error)) func(ctx context.Context, event []byte) ([]byte, error) {
	return func(ctx context.Context, event []byte) ([]byte, error) {
		name, err := find()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		outcome, err := c.invoke(ctx, name, event)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if outcome.Kind == local.Returned {
			return outcome.Result, nil
		}
		return nil, &FunctionError{What: what, Outcome: outcome}
	}
}

// FunctionError is the error of a function that did not return a result.
type FunctionError struct {
	What    string // the function's name
	Outcome local.Outcome
}

// Error describes the failure, without the log.
func (e *FunctionError) Error() string {
	o := e.Outcome
	if o.Type != "" {
		return fmt.Sprintf("%s: %s: %s", e.What, o.Type, o.Message)
	}
	return fmt.Sprintf("%s: %s", e.What, o.Message)
}

// invoke sends an event to a function and waits for the outcome.
func (c *Calls) invoke(ctx context.Context, name string, payload []byte) (local.Outcome, error) {
	event := local.Event{ID: uuid.NewString(), Payload: payload, WantResult: true}
	event.Deadline, _ = ctx.Deadline()
	var request struct{ RequestID string }
	_ = json.Unmarshal(payload, &request) // an event that is not a request has no ID and no secrets
	made := &call{request: request.RequestID, outcome: make(chan local.Outcome, 1)}
	c.mu.Lock()
	event.Secrets = c.requests[request.RequestID]
	c.open[event.ID] = made
	c.mu.Unlock()

	if err := local.InvokeWhenFree(ctx, c.runtime, name, event); err != nil {
		c.mu.Lock()
		delete(c.open, event.ID)
		c.mu.Unlock()
		if errors.Is(err, local.ErrClosed) {
			<-ctx.Done() // see below
		}
		return local.Outcome{}, err
	}
	select {
	case outcome := <-made.outcome:
		if outcome.Kind == local.Stopped {
			// This process is stopping, and the next one handles the request again. Returning now would send an answer.
			<-ctx.Done()
			return local.Outcome{}, ctx.Err()
		}
		return outcome, nil
	case <-ctx.Done():
		return local.Outcome{}, ctx.Err()
	}
}
