// Package cdkframework runs providers that consist of two local functions, onEvent and isComplete.
//
// The framework between the engine and such functions is the provider SDK's own, [cdkprovider.NewRemote], run inside this process
// on the same Runtime API as a provider's process: [Calls.Serve] is a provider of the [local.Runtime], whose functions
// are providers of the same runtime. So a wait is handed to the engine as any provider hands it over.
package cdkframework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// Pauses between tries to call a function all of whose processes are busy.
const (
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// Invoker runs functions: a [local.Runtime].
type Invoker interface {
	Invoke(name string, event local.Event) error
}

// Calls is the calls of functions that are under way. Give its Done and Request a part in the runtime's Config.Done and
// Config.Log. Its methods may be called concurrently.
type Calls struct {
	runtime Invoker

	mu       sync.Mutex
	open     map[string]*call    // by the ID of the function's event
	requests map[string][]string // the secrets, by the ID of the request
}

type call struct {
	request string
	outcome chan local.Outcome // holds one
}

// NewCalls returns calls without a runtime; [Calls.Use] is to be called before any function is.
func NewCalls() *Calls {
	return &Calls{open: map[string]*call{}, requests: map[string][]string{}}
}

// Use says what runs the functions.
func (c *Calls) Use(runtime Invoker) { c.runtime = runtime }

// Begin notes a request that is about to be handled, so that its secrets are hidden in the log of what is called for it.
func (c *Calls) Begin(event local.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[event.ID] = event.Secrets
}

// End forgets a request that was not taken after all.
func (c *Calls) End(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.requests, id)
}

// Done takes the end of an event. True means that it was a function's, and of no interest to others.
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

// Function returns the function that a provider of the runtime is: it gets an event and returns the result. what names it
// in errors. find returns the name of the provider in the runtime, at the time of each call.
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

// Error says how it ended, without the log.
func (e *FunctionError) Error() string {
	o := e.Outcome
	if o.Type != "" {
		return fmt.Sprintf("%s: %s: %s", e.What, o.Type, o.Message)
	}
	return fmt.Sprintf("%s: %s", e.What, o.Message)
}

// invoke has a function handle an event and waits for the end of that.
func (c *Calls) invoke(ctx context.Context, name string, payload []byte) (local.Outcome, error) {
	event := local.Event{ID: uuid.NewString(), Payload: payload, WantResult: true}
	event.Deadline, _ = ctx.Deadline()
	var request struct{ RequestID string }
	_ = json.Unmarshal(payload, &request) // what is not a request has no ID and no secrets
	made := &call{request: request.RequestID, outcome: make(chan local.Outcome, 1)}
	c.mu.Lock()
	event.Secrets = c.requests[request.RequestID]
	c.open[event.ID] = made
	c.mu.Unlock()

	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := c.runtime.Invoke(name, event)
		if err == nil {
			break
		}
		if errors.Is(err, local.ErrBusy) && wait(ctx, pause) {
			continue
		}
		c.mu.Lock()
		delete(c.open, event.ID)
		c.mu.Unlock()
		if errors.Is(err, local.ErrClosed) {
			<-ctx.Done() // as below
		}
		return local.Outcome{}, err
	}
	select {
	case outcome := <-made.outcome:
		if outcome.Kind == local.Stopped {
			// This program stops, which says nothing about the request: it is handled again by the next. To return now would
			// be to answer it.
			<-ctx.Done()
			return local.Outcome{}, ctx.Err()
		}
		return outcome, nil
	case <-ctx.Done():
		return local.Outcome{}, ctx.Err()
	}
}

// wait reports whether ctx lasted for d.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
