// Package pintle is for writing providers of custom resources: the code that AWS CloudFormation calls, by way of a
// Lambda function, when a stack with a resource of type Custom::Something is created, updated or deleted.
//
// A provider is a [Handler] and a call of [Main]:
//
//	func main() {
//		pintle.Main(pintle.HandlerFunc(site))
//	}
//
//	func site(ctx context.Context, r *pintle.Request) (pintle.Response, error) {
//		var props struct{ Domain string }
//		if err := r.Decode(&props); err != nil {
//			return pintle.Response{}, err
//		}
//		switch r.Type {
//		case pintle.Create, pintle.Update:
//			…
//			return pintle.Response{PhysicalID: id, Data: map[string]any{"URL": url}}, nil
//		case pintle.Delete:
//			…
//		}
//		return pintle.Response{}, nil
//	}
//
// The same program runs as a Lambda function (runtime provided.al2023, the executable named bootstrap), behind an SNS
// topic or not, and as a local process of the pintle command.
//
// # The physical ID
//
// The physical ID is the name of the thing that was made. Create chooses it; without a choice it is the ID of the
// request. Update returns the same ID, or none, to say that the thing was changed in place. An Update that returns
// another ID has made a second thing: when the whole stack has been updated the service sends a Delete for the first.
// Delete cannot change it.
//
// # Failure
//
// An error makes the request FAILED and its text is the reason that people see. The service then undoes what was done,
// which it does by calling the provider again:
//
//   - A Create that fails after it made something should return the ID of that along with the error. It gets a Delete
//     with that ID.
//   - A Create that returns an error and no ID has made nothing: its Delete is answered without calling the handler,
//     see [CreateFailed].
//   - An Update that fails is followed by an Update in the other direction.
//   - A Delete that fails leaves the stack in a failed state, so a Delete of what is already gone should succeed.
//
// A panic counts as an error; it does not end the program. A request may come more than once with the same
// [Request.RequestID], because Lambda repeats calls that it takes for failed: handlers should find what an earlier call
// made.
//
// # Time
//
// The context of a handler ends shortly before the time of the function is over. A handler that returns then gets its
// own answer through; for one that does not, the package answers FAILED while there is time, instead of letting the
// service wait an hour for an answer that never comes. What a Create without an answer has made is not known, so it
// gets a Delete, with the ID of the request as the physical ID. The program then ends, because a handler that goes on
// would be at work beside that Delete.
//
// # The answer
//
// An answer has at most 4,096 bytes. A longer reason is cut; attributes that do not fit make the request FAILED with a
// reason that says which one is too large. The answer is sent until it arrives, within the time of the function. The
// URL it is sent to lets anyone answer, so it never appears in a log, a reason or an error; the properties and
// attributes, which may hold secrets, are not logged either.
package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/pintle-dev/pintle/wire"
)

// CreateFailed is the physical ID of a resource whose Create failed before it made anything. The service sends a Delete
// for it, as for every failed Create; that is answered with success without calling the handler.
const CreateFailed PhysicalID = "Pintle::CreateFailed"

// PhysicalID is the name that a provider gives to a resource, 1 to [wire.MaxPhysicalID] bytes without control
// characters.
type PhysicalID = wire.PhysicalID

// RequestType is what a handler is asked to do: [Create], [Update] or [Delete].
type RequestType = wire.RequestType

// The request types.
const (
	Create = wire.Create
	Update = wire.Update
	Delete = wire.Delete
)

// Handler is a provider. Handle is called for one request at a time.
type Handler interface {
	// Handle does what the request says and returns the answer. The context ends when the handler must return: see the
	// section Time of the package. With an error the response may still carry the physical ID of what was made.
	Handle(ctx context.Context, r *Request) (Response, error)
}

// HandlerFunc is a function that is a [Handler].
type HandlerFunc func(ctx context.Context, r *Request) (Response, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r *Request) (Response, error) { return f(ctx, r) }

// Request is what the service asks for.
type Request struct {
	// Type is Create, Update or Delete; never anything else.
	Type RequestType
	// StackID is the ARN of the stack.
	StackID wire.StackID
	// RequestID is the same when a request is repeated, and unique within the stack otherwise.
	RequestID wire.RequestID
	// LogicalID is the name of the resource in the template.
	LogicalID wire.LogicalID
	// PhysicalID is the recorded ID; empty for a Create, never for the others.
	PhysicalID PhysicalID
	// ResourceType is the type in the template, e.g. "Custom::Site". Old services leave it empty.
	ResourceType string
	// ServiceToken is the ARN through which the provider was called. It may be empty.
	ServiceToken wire.ServiceToken
	// Properties are those of the resource, a JSON object. CloudFormation makes every number and boolean in them a
	// string, and adds ServiceToken. See [Request.Decode].
	Properties json.RawMessage
	// OldProperties are those before an Update, a JSON object; "{}" for the others.
	OldProperties json.RawMessage
	// Log writes to the log of the provider and names the request on every line. Never nil in a request that a handler
	// gets.
	Log *slog.Logger
}

// newRequest returns what a handler sees of a request.
func newRequest(r wire.Request, log *slog.Logger) *Request {
	return &Request{
		Type: r.RequestType, StackID: r.StackID, RequestID: r.RequestID, LogicalID: r.LogicalResourceID,
		PhysicalID: r.PhysicalResourceID, ResourceType: r.ResourceType, ServiceToken: r.ServiceToken,
		Properties: orEmpty(r.ResourceProperties), OldProperties: orEmpty(r.OldResourceProperties), Log: log,
	}
}

func orEmpty(object json.RawMessage) json.RawMessage {
	if len(object) == 0 {
		return json.RawMessage("{}")
	}
	return bytes.Clone(object)
}

// Decode reads the properties into a struct by the rules of [json.Unmarshal]. From CloudFormation a number or boolean
// comes as a string: give its field the option ",string".
func (r *Request) Decode(into any) error { return decode(r.Properties, into, "properties") }

// DecodeOld reads the properties before an Update, as [Request.Decode] does.
func (r *Request) DecodeOld(into any) error { return decode(r.OldProperties, into, "old properties") }

// decode keeps the text of a value out of the error: it may be a secret.
func decode(object json.RawMessage, into any, what string) error {
	err := json.Unmarshal(object, into)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) && mistyped.Field != "" {
		return fmt.Errorf("%s: %s cannot be read as %s", what, mistyped.Field, mistyped.Type)
	}
	if err != nil && strings.HasPrefix(err.Error(), "json: invalid use of ,string") { // quotes the value
		return fmt.Errorf("%s: a string does not hold the number or boolean that its field is for", what)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// String describes the request in one line, without its properties.
func (r *Request) String() string {
	return fmt.Sprintf("%s %s %s, request %s", r.Type, r.ResourceType, r.LogicalID, r.RequestID)
}

// Response is the answer of a handler. The zero value is a good answer to an Update and a Delete.
type Response struct {
	// PhysicalID names what was made. Empty means the ID of the request for a Create, and no change otherwise.
	PhysicalID PhysicalID
	// Data holds the attributes that the template can read with Fn::GetAtt. It replaces that of earlier answers and is
	// not sent with an error or for a Delete. Values are encoded with encoding/json.
	Data map[string]any
	// NoEcho says that the values in Data are secret.
	NoEcho bool
	// Reason is shown in the events of the stack. With an error it replaces the text of the error, which then appears
	// in the log only.
	Reason string
}
