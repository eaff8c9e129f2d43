package lambda

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Limits of payloads in bytes. Source: Lambda quotas.
const (
	MaxPayload = 6 << 20 // of a call
	MaxEvent   = 1 << 20 // of an event
)

// Call is a call of a function.
type Call struct {
	// Scope is the account and region of the caller. The zero value calls functions in any scope by their ARNs.
	registry.Scope
	// Function is a name, a partial ARN or an ARN. Qualifier is a separate qualifier, or empty.
	Function, Qualifier string
	// Payload is JSON. Empty means {}.
	Payload []byte
	// Tail requests the end of the log.
	Tail bool
	// Ended is called when an event is finished, after all attempts. Nil is not called. Only [Functions.InvokeEvent]
	// uses it.
	Ended func()
}

// Reply is the result of a call.
type Reply struct {
	// ID is the ID of the call, which also appears in its log.
	ID string
	// Payload is the result of the function, or its error in Lambda's format.
	Payload []byte
	// FunctionError is "Unhandled" if the function failed, and otherwise empty.
	FunctionError string
	// Log is the end of the log, at most 4 KiB, if requested.
	Log []byte
	// Version is $LATEST or the number of the version that ran.
	Version string
}

// call is a call in flight.
type call struct {
	request wire.RequestID
	holds   int64              // bytes of the memory limit
	done    chan local.Outcome // holds one
}

// target is the target of a call.
type target struct {
	item    item
	name    string // in the runtime
	arn     string // as the caller named it
	version string
	program string // the runtime name of a declared function; otherwise empty
	payload []byte
	trace   trace.Parent // of the call
}

// Invoke calls a function and returns its result. A failed function is a reply, too. The error is an [*Error], or an
// error of the store. If ctx ends first, Invoke returns its error, and the function continues.
func (f *Functions) Invoke(ctx context.Context, c Call) (Reply, error) {
	t, err := f.target(ctx, c, MaxPayload, "RequestResponse")
	if err != nil {
		return Reply{}, err
	}
	id := uuid.NewString()
	if f.config.Inside != nil && t.program == "" {
		if payload, err, ok := f.config.Inside(ctx, t.item.Scope, t.item.Owner, t.payload); ok {
			return inside(id, t.version, payload, err)
		}
	}
	started := f.config.Now()
	done, err := f.send(id, t, int64(len(t.payload)))
	if err != nil {
		return Reply{}, err
	}
	select {
	case o := <-done:
		if o.Kind == local.Stopped {
			return Reply{}, errStopping
		}
		reply := Reply{ID: id, Version: t.version}
		reply.Payload, reply.FunctionError = ended(o, id, t.item.Of.Timeout)
		if c.Tail {
			now := f.config.Now()
			reply.Log = tail(o, id, t.version, t.item.Of, now.Sub(started), now)
		}
		return reply, nil
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
}

// inside returns the reply of a function that the program itself implements.
func inside(id, version string, payload []byte, err error) (Reply, error) {
	reply := Reply{ID: id, Version: version, Payload: payload}
	if err != nil {
		text, err := json.Marshal(map[string]string{"errorType": "Error", "errorMessage": err.Error()})
		if err != nil {
			return Reply{}, err
		}
		reply.Payload, reply.FunctionError = text, "Unhandled"
	}
	return reply, nil
}

// Check returns the error with which a call would fail before the function runs.
func (f *Functions) Check(ctx context.Context, c Call) error {
	_, err := f.find(ctx, c, MaxPayload, "RequestResponse")
	return err
}

// target finds the target of a call, and prepares it in the runtime.
func (f *Functions) target(ctx context.Context, c Call, limit int, kind string) (target, error) {
	t, err := f.find(ctx, c, limit, kind)
	if err != nil {
		return t, err
	}
	t.trace = trace.FromContext(ctx)
	if t.program != "" {
		t.name = t.program
		return t, nil
	}
	if n := t.item.Of.Concurrency; n != nil && *n == 0 {
		return t, reservedLimit()
	}
	t.name = f.ready.prepare(ctx, t.item)
	return t, nil
}

// find finds the target of a call.
func (fi *finder) find(ctx context.Context, c Call, limit int, kind string) (target, error) {
	t, err := fi.findFunction(ctx, c)
	if err != nil {
		return t, err
	}
	t.payload = c.Payload
	if len(bytes.TrimSpace(t.payload)) == 0 {
		t.payload = []byte("{}")
	}
	switch {
	case len(t.payload) > limit:
		return t, &Error{
			Code: "RequestTooLargeException", Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("%d byte payload is too large for the %s invocation type (limit %d bytes)", len(t.payload), kind, limit),
		}
	case !json.Valid(t.payload):
		return t, &Error{
			Code: "InvalidRequestContentException", Status: http.StatusBadRequest,
			Message: "Could not parse request body into json: Could not parse payload into json",
		}
	}
	return t, nil
}

// findFunction finds the function of a call.
func (fi *finder) findFunction(ctx context.Context, c Call) (target, error) {
	if d, ok := fi.declared(c.Scope, c.Function); ok {
		place := c.Scope
		if r, err := ParseReference(registry.Scope{}, c.Function, ""); err == nil {
			place = r.Scope // the handler's context contains the ARN that the caller used
		}
		if d.Broken != nil {
			return target{}, invalid("Function %s cannot be run: %v", d.Name, d.Broken)
		}
		arn := Reference{Scope: place, Name: d.Name}.ARN()
		return target{item: d.item(place), program: d.Program, arn: arn, version: Latest}, nil
	}
	r, err := ParseReference(c.Scope, c.Function, c.Qualifier)
	if err != nil {
		return target{}, err
	}
	if fi.config.DeclaredOnly {
		return target{}, fi.unknown(r)
	}
	i, err := fi.config.Catalog.Functions.Get(ctx, r.Scope, r.row())
	if err != nil {
		return target{}, known(err, r)
	}
	return target{item: i, arn: r.ARN(), version: cmp.Or(r.Qualifier, Latest)}, nil
}

func reservedLimit() error {
	return throttled("ReservedFunctionConcurrentInvocationLimitExceeded", "Rate Exceeded.")
}

// send passes a call to the runtime. The result arrives on done once. Until then, the call holds that many bytes of
// the memory limit.
func (f *Functions) send(id string, t target, holds int64) (done chan local.Outcome, err error) {
	request, resource, recorded := customResource(t.payload)
	c := &call{holds: holds, done: make(chan local.Outcome, 1), request: request}
	if err := f.begin(id, c); err != nil {
		return nil, err
	}
	if request == "" {
		request = recordedRequest(recorded)
	}
	var secrets []string
	if request != "" {
		secrets = f.config.Secrets(f.ctx, request)
	}
	err = f.config.Runtime.Invoke(t.name, local.Event{
		ID: id, Invocation: id, Resource: resource, Payload: t.payload, FunctionARN: t.arn, WantResult: true, Trace: t.trace, Secrets: secrets,
	})
	if err == nil {
		return c.done, nil
	}
	f.end(id)
	switch {
	case errors.Is(err, local.ErrBusy) && t.item.Of.Concurrency != nil:
		return nil, reservedLimit()
	case errors.Is(err, local.ErrBusy):
		return nil, throttled("ConcurrentInvocationLimitExceeded", "Rate Exceeded.")
	case errors.Is(err, local.ErrClosed):
		return nil, errStopping
	case errors.Is(err, local.ErrUnknown): // it was just deleted
		return nil, notFound(t.arn)
	}
	return nil, err
}

// Done processes the result of an event that the runtime reports. It returns false if the event is not a call of
// [Functions].
func (f *Functions) Done(id string, outcome local.Outcome) bool {
	c := f.end(id)
	if c != nil {
		c.done <- outcome
	}
	return c != nil
}

func (f *Functions) begin(id string, c *call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return errStopping
	case f.held+c.holds > f.config.Memory:
		return throttled("ConcurrentInvocationLimitExceeded", "Too many calls wait, with too large payloads.")
	}
	f.held += c.holds
	f.calls[id] = c
	return nil
}

// end removes and returns the call with an ID, if it exists.
func (f *Functions) end(id string) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calls[id]
	if c != nil {
		f.held -= c.holds
		delete(f.calls, id)
	}
	return c
}

// Request returns the custom resource request that a call belongs to, by the call's ID, while the call runs. The log
// store uses it to keep the call's log with the request.
func (f *Functions) Request(id string) (wire.RequestID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calls[id]
	if c == nil || c.request == "" {
		return "", false
	}
	return c.request, true
}

// recordedRequest returns the custom resource request in a payload. The request may be the payload itself, or be
// nested in invocation records. It is empty if the payload has no request.
func recordedRequest(payload []byte) (request wire.RequestID) {
	for n := 0; request == "" && payload != nil && n < maxRecords; n++ {
		request, _, payload = customResource(payload)
	}
	return request
}

// maxRecords is the maximum number of nested records to search.
const maxRecords = 16

// customResource returns the custom resource request in a payload, directly or in an SNS notification, and a text
// that identifies the resource. Both are empty if the payload has no request. If it is an invocation record, recorded
// is the payload in it.
func customResource(payload []byte) (request wire.RequestID, resource string, recorded []byte) {
	type document struct {
		RequestID   wire.RequestID `json:"RequestId"`
		StackID     wire.StackID   `json:"StackId"`
		LogicalID   wire.LogicalID `json:"LogicalResourceId"`
		ResponseURL string         `json:"ResponseURL"`
	}
	var event struct {
		document
		Records []struct {
			Sns struct{ Message string }
		}
		RequestPayload json.RawMessage `json:"requestPayload"`
	}
	if json.Unmarshal(payload, &event) != nil {
		return "", "", nil
	}
	d := event.document
	if len(event.Records) == 1 && event.Records[0].Sns.Message != "" {
		if json.Unmarshal([]byte(event.Records[0].Sns.Message), &d) != nil {
			return "", "", nil
		}
	}
	if d.RequestID == "" || d.StackID == "" || d.ResponseURL == "" {
		return "", "", event.RequestPayload
	}
	return d.RequestID, string(d.StackID) + "|" + string(d.LogicalID), nil
}
