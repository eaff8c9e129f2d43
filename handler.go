package pintle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// Aliases for types of package wire.
type (
	// RequestType is [Create], [Update], [Delete], [Read] or [Plan]. Only Pintle sends a Read or a Plan.
	RequestType = wire.RequestType
	// Dialect is the service that a request comes from: [CloudFormation] or [ROS].
	Dialect = wire.Dialect
	// PhysicalID identifies a resource; its provider chooses it. It has 1 to [wire.MaxPhysicalID] bytes without
	// control characters, in ROS up to [wire.MaxROSPhysicalID].
	PhysicalID = wire.PhysicalID
	// LogicalID is the name of a resource in the template.
	LogicalID = wire.LogicalID
	// StackID is the ARN of a stack; a UUID in ROS.
	StackID = wire.StackID
	// RequestID identifies a request within its stack.
	RequestID = wire.RequestID
	// ServiceToken is the address of a provider in a template.
	ServiceToken = wire.ServiceToken
)

// The request types.
const (
	Create = wire.Create
	Update = wire.Update
	Delete = wire.Delete
	// Read asks for the current state of a resource. Only a handler with a [Reader] gets it.
	Read = wire.Read
	// Plan asks for the effect of a Create or an Update. Only a handler with a [Planner] gets it.
	Plan = wire.Plan
)

// The services.
const (
	CloudFormation = wire.CloudFormation
	ROS            = wire.ROS
)

// CreateFailed is the physical ID of a resource whose Create failed before it made anything. The service sends a Delete
// for it, as for every failed Create. The package answers that with success and does not call the handler, unless the
// handler is wrapped by [AlwaysDelete]. It does the same for the equivalent ID of the CDK's
// provider framework.
const CreateFailed PhysicalID = "Pintle::CreateFailed"

// Handler is a provider as the transports see it. [New] makes one from a [Provider], and [HandlerFunc] makes one from
// a function that takes raw requests. Behind the Lambda Runtime API, Handle is called for one request at a time.
// Behind HTTP it is called concurrently, but never for two requests of one resource.
//
// The context of a handler ends shortly before the timeout of the function, or before the service stops listening
// (ServiceTimeout). If the handler ignores that, the package answers FAILED for it. A Create without an answer may
// have made something, so it gets a Delete with the ID of the request. On Lambda the program then exits, because the
// handler could otherwise run at the same time as that Delete. Behind HTTP the Delete waits for the handler.
//
// An error makes the request FAILED, and its text is the reason that users see; see [Hide]. The service then rolls
// back the request. A panic counts as an error and does not end the program. A Create that returns an error without
// an ID has made nothing. The package answers its Delete without calling the handler, see [CreateFailed].
type Handler interface {
	// Handle performs the request and returns the answer. With an error, the answer may still have the physical ID of
	// a resource that was made.
	Handle(ctx context.Context, r *Request) (Answer, error)
}

// HandlerFunc adapts a function to a [Handler].
type HandlerFunc func(ctx context.Context, r *Request) (Answer, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r *Request) (Answer, error) { return f(ctx, r) }

// Request is a request from the service.
type Request struct {
	// Type is Create, Update or Delete, Read if the provider is a [Reader], or Plan if it is a [Planner].
	Type RequestType
	// Dialect is the service that sent the request: CloudFormation or ROS.
	Dialect Dialect
	// StackID is the ARN of the stack; a UUID in ROS.
	StackID StackID
	// StackName, Region and Account belong to the stack. In CloudFormation they come from its ARN, in ROS from the
	// request. They may be empty.
	StackName, Region, Account string
	// Caller is the Alibaba Cloud account or user that changes the stack. It is empty in CloudFormation.
	Caller string
	// RequestID is unique within the stack. Every delivery of one request has the same one.
	RequestID RequestID
	// LogicalID is the name of the resource in the template.
	LogicalID LogicalID
	// ID is the recorded physical ID. It is empty for a Create and the Plan of a Create. It is set for an Update,
	// Delete or Read.
	ID PhysicalID
	// ResourceType is the type in the template, e.g. "Custom::Site". Old services leave it empty.
	ResourceType string
	// ServiceToken is the ARN through which the provider was called. It may be empty, and always is in ROS.
	ServiceToken ServiceToken
	// RawProperties are the properties of the resource, a JSON object. CloudFormation turns every number and boolean
	// in them into a string, and adds ServiceToken. ROS sends the Parameters of the template unchanged. See
	// [Request.Decode].
	RawProperties json.RawMessage
	// RawOldProperties are the properties before an Update or the Plan of an Update, a JSON object; "{}" for Create and
	// Delete.
	RawOldProperties json.RawMessage

	surroundings
}

// surroundings is the state that the package keeps for a request. The zero value is for a request that a test makes.
type surroundings struct {
	log      *slog.Logger     // nil: discarded
	clock    clock.Clock      // nil: the system clock
	store    IdempotencyStore // nil: no store
	hide     *redact.Secrets  // nil: nothing to hide
	deadline time.Time        // of the handler's context, by clock; zero: none
	wait     *handover        // nil: wait in place
	replaces bool             // the request is the Create that answers an Update
	noted    bool             // the store has a note of the request
	plain    bool             // ROS may show secrets
}

func (s surroundings) time() clock.Clock {
	if s.clock == nil {
		return clock.System{}
	}
	return s.clock
}

// Log returns the log of the provider. Its lines name the operation and the resource, and the package redacts the
// values of secret properties in them. It is never nil: a request made by a test has a log that discards everything.
func (r *Request) Log() *slog.Logger {
	if r.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.log
}

// WithLog returns a copy of the request with another log. It is for tests and for handlers that wrap others. The package
// redacts the values of secret properties in that log too.
func (r *Request) WithLog(log *slog.Logger) *Request {
	own := *r
	if own.log = log; r.hide != nil {
		own.log = slog.New(redactedLog{log.Handler(), r.hide})
	}
	return &own
}

// newRequest returns a request as a handler sees it.
func newRequest(r wire.Request, log *slog.Logger) *Request {
	request := &Request{
		Dialect: r.Dialect, StackName: r.StackName, Region: r.RegionID, Account: r.ResourceOwnerID, Caller: r.CallerID,
		Type: r.RequestType, StackID: r.StackID, RequestID: r.RequestID, LogicalID: r.LogicalResourceID,
		ID: r.PhysicalResourceID, ResourceType: r.ResourceType, ServiceToken: r.ServiceToken,
		RawProperties: orEmpty(r.ResourceProperties), RawOldProperties: orEmpty(r.OldResourceProperties),
		surroundings: surroundings{log: log},
	}
	if arn, err := wire.ParseStackARN(r.StackID); err == nil {
		request.StackName, request.Region, request.Account = arn.Name, arn.Region, arn.Account
	}
	return request
}

func orEmpty(object json.RawMessage) json.RawMessage {
	if len(object) == 0 {
		return json.RawMessage("{}")
	}
	return bytes.Clone(object)
}

// Token returns 32 hexadecimal digits to use as the client token (idempotency key) of an API. It is the same for
// every delivery of one request, and so for every attempt to make one generation of a resource. A replacement and
// each later Update have their own tokens.
func (r *Request) Token() string {
	sum := sha256.Sum256([]byte(string(r.StackID) + "|" + string(r.LogicalID) + "|" + string(r.RequestID)))
	return hex.EncodeToString(sum[:16])
}

// Name returns a name for the resource that is the same in all its requests, from its first Create to its last
// Delete, including replacements. It consists of the stack name, the logical ID and twelve hexadecimal digits, joined
// by dashes. No other resource of this or another stack has the same name. In ROS it has at most 200 bytes. A
// repeated Create, or one whose answer was lost, finds an existing resource by this name.
func (r *Request) Name() string {
	sum := sha256.Sum256([]byte(string(r.StackID) + "|" + string(r.LogicalID)))
	if r.Dialect == ROS {
		return rosName(r.StackName, string(r.LogicalID), hex.EncodeToString(sum[:6]))
	}
	name := string(r.LogicalID) + "-" + hex.EncodeToString(sum[:6])
	if arn, err := wire.ParseStackARN(r.StackID); err == nil {
		name = arn.Name + "-" + name
	}
	return name
}

// Decode reads the properties into a struct by the rules of [json.Unmarshal]. CloudFormation sends numbers and
// booleans as strings: give such a field the option ",string". A [Provider] gets its properties decoded and checked.
func (r *Request) Decode(into any) error { return r.decode(r.RawProperties, into, "properties") }

// DecodeOld reads the properties before an Update, as [Request.Decode] does.
func (r *Request) DecodeOld(into any) error {
	return r.decode(r.RawOldProperties, into, "old properties")
}

// decode calls the function decode and then redacts every [Secret] that it read in the log.
func (r *Request) decode(object json.RawMessage, into any, what string) error {
	err := decode(object, into, what)
	if err == nil && r.hide != nil {
		if _, secrets, err := clearJSON(into); err == nil {
			r.hide.Add(secrets...)
		}
	}
	return err
}

// decode keeps values out of the error, because they may be secret.
func decode(object json.RawMessage, into any, what string) error {
	err := json.Unmarshal(object, into)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) && mistyped.Field != "" {
		return fmt.Errorf("%s: %s cannot be read as %s", what, mistyped.Field, mistyped.Type)
	}
	if err != nil && strings.HasPrefix(err.Error(), "json: invalid use of ,string") { // the error quotes the value
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

// Response is the result of Create and Update, with attributes in the author's type A. The zero value is a valid
// answer to an Update that changed nothing visible.
type Response[A any] struct {
	// ID is the physical ID, which identifies the resource. Empty means the request ID for a Create, and the present
	// ID for an Update. With an error, the request is FAILED with this ID, and the Delete that follows has it.
	ID PhysicalID
	// Replaces reports that an Update made a new resource, with the new ID. After the stack update, the service sends
	// a Delete for the old resource. Without Replaces, an Update that returns another ID is FAILED and the resource
	// keeps its ID. Otherwise a mistyped or recomputed ID would make the service delete the live resource. The
	// package sets Replaces when it answers an Update by calling Create. ROS cannot replace a resource in an Update.
	Replaces bool
	// Attributes are the values that the template reads with Fn::GetAtt. They replace those of earlier answers. They
	// are not sent with an error or for a Delete. Their names follow the rules of encoding/json. A [Secret] in them
	// is sent in clear text and makes the whole answer NoEcho.
	Attributes A
	// NoEcho marks the values in Attributes as secret. The package also sets it when an attribute or the ID contains
	// the value of a secret property. ROS has no NoEcho, so such an answer is refused there, see [ROSConfig].
	NoEcho bool
	// Reason is shown in the events of the stack. With an error it replaces the text of the error, which then appears
	// only in the log.
	Reason string
	// State is passed to the provider's [Poller] and to no one else. It is encoded with encoding/json, with each
	// [Secret] in clear text. Nil means no state.
	State any
}

// Answer is the result of a [Handler]: a [Response] whose attributes are a map.
type Answer = Response[map[string]any]
