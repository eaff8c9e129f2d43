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

	"github.com/pintle-dev/pintle/wire"
)

// CreateFailed is the physical ID of a resource whose Create failed before it made anything. The service sends a Delete
// for it, as for every failed Create; that is answered with success without calling the handler. So is one for the ID that
// the CDK's provider framework gives in this case. [AlwaysDelete] changes that.
const CreateFailed PhysicalID = "Pintle::CreateFailed"

// PhysicalID is the name that a provider gives to a resource, 1 to [wire.MaxPhysicalID] bytes without control
// characters; [wire.MaxROSPhysicalID] in ROS.
type PhysicalID = wire.PhysicalID

// RequestType is what a handler is asked to do: [Create], [Update] or [Delete].
type RequestType = wire.RequestType

// The request types.
const (
	Create = wire.Create
	Update = wire.Update
	Delete = wire.Delete
)

// Handler is a provider as the transports see it: [New] makes one of a [Provider], and [HandlerFunc] one of a function
// that takes requests as they come. Behind the Lambda Runtime API Handle is called for one request at a time, behind
// HTTP for many at once, but never for two of one resource.
type Handler interface {
	// Handle does what the request says and returns the answer. The context ends when the handler must return: see the
	// section Time of the package. With an error the answer may still carry the physical ID of what was made.
	Handle(ctx context.Context, r *Request) (Answer, error)
}

// HandlerFunc is a function that is a [Handler].
type HandlerFunc func(ctx context.Context, r *Request) (Answer, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r *Request) (Answer, error) { return f(ctx, r) }

// Request is what the service asks for.
type Request struct {
	// Type is Create, Update or Delete; never anything else.
	Type RequestType
	// Dialect says which service asks: CloudFormation or ROS.
	Dialect wire.Dialect
	// StackID is the ARN of the stack, a UUID in ROS.
	StackID wire.StackID
	// StackName, Region and Account are those of the stack: in CloudFormation taken from its ARN, in ROS sent with the
	// request. They may be empty.
	StackName, Region, Account string
	// Caller is the account or user of Alibaba Cloud that works on the stack. CloudFormation does not tell.
	Caller string
	// RequestID is the same when a request is repeated, and unique within the stack otherwise.
	RequestID wire.RequestID
	// LogicalID is the name of the resource in the template.
	LogicalID wire.LogicalID
	// ID is the recorded physical ID; empty for a Create, never for the others.
	ID PhysicalID
	// ResourceType is the type in the template, e.g. "Custom::Site". Old services leave it empty.
	ResourceType string
	// ServiceToken is the ARN through which the provider was called. It may be empty, and is in ROS.
	ServiceToken wire.ServiceToken
	// Properties are those of the resource, a JSON object. CloudFormation makes every number and boolean in them a
	// string, and adds ServiceToken. ROS sends what the template has under Parameters, as it is. See [Request.Decode].
	Properties json.RawMessage
	// OldProperties are those before an Update, a JSON object; "{}" for the others.
	OldProperties json.RawMessage
	// Log writes to the log of the provider and names the request, the stack and the resource on every line. Values of
	// secret properties are replaced in what it writes. Never nil in a request that a handler gets.
	Log *slog.Logger

	surroundings
}

// surroundings is what a request that the package serves has besides. The zero value is that of a request made by hand,
// in a test.
type surroundings struct {
	clock    Clock     // nil: the machine's
	memory   Memory    // nil: none
	hide     *scrubber // nil: nothing to hide
	deadline time.Time // of the handler's context, on clock; zero: none
	wait     *handover // nil: in place
	replaces bool      // it is the Create by which an Update is answered
	noted    bool      // of which there is a note
	plain    bool      // ROS may show secrets
}

func (s surroundings) time() Clock {
	if s.clock == nil {
		return realClock{}
	}
	return s.clock
}

// newRequest returns what a handler sees of a request.
func newRequest(r wire.Request, log *slog.Logger) *Request {
	request := &Request{
		Dialect: r.Dialect, StackName: r.StackName, Region: r.RegionID, Account: r.ResourceOwnerID, Caller: r.CallerID,
		Type: r.RequestType, StackID: r.StackID, RequestID: r.RequestID, LogicalID: r.LogicalResourceID,
		ID: r.PhysicalResourceID, ResourceType: r.ResourceType, ServiceToken: r.ServiceToken,
		Properties: orEmpty(r.ResourceProperties), OldProperties: orEmpty(r.OldResourceProperties), Log: log,
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

// Token returns 32 hexadecimal digits for APIs that take a client token and do for the second call with it what they
// did for the first. It is the same for every delivery of one request, and so for every attempt to make one generation
// of a resource; a replacement and each later Update have tokens of their own.
func (r *Request) Token() string {
	sum := sha256.Sum256([]byte(string(r.StackID) + "|" + string(r.LogicalID) + "|" + string(r.RequestID)))
	return hex.EncodeToString(sum[:16])
}

// Name returns a name for the resource that is the same in all its requests, from its first Create to its last Delete, a
// replacement included: the name of the stack, the logical ID and twelve hexadecimal digits, with dashes between. No
// other resource of this or another stack has it. In ROS it has at most 200 bytes. A thing that is made under such a name is found again by a Create that
// is repeated, and by one whose answer was lost.
func (r *Request) Name() string {
	sum := sha256.Sum256([]byte(string(r.StackID) + "|" + string(r.LogicalID)))
	if r.Dialect == wire.ROS {
		return rosName(r.StackName, string(r.LogicalID), hex.EncodeToString(sum[:6]))
	}
	name := string(r.LogicalID) + "-" + hex.EncodeToString(sum[:6])
	if arn, err := wire.ParseStackARN(r.StackID); err == nil {
		name = arn.Name + "-" + name
	}
	return name
}

// Decode reads the properties into a struct by the rules of [json.Unmarshal]. From CloudFormation a number or boolean
// comes as a string: give its field the option ",string". A [Provider] gets its properties decoded and checked.
func (r *Request) Decode(into any) error { return r.decode(r.Properties, into, "properties") }

// DecodeOld reads the properties before an Update, as [Request.Decode] does.
func (r *Request) DecodeOld(into any) error { return r.decode(r.OldProperties, into, "old properties") }

// decode is [decode], after which every [Secret] that was read is hidden in the log.
func (r *Request) decode(object json.RawMessage, into any, what string) error {
	err := decode(object, into, what)
	if err == nil && r.hide != nil {
		if _, secrets, err := clearJSON(into); err == nil {
			r.hide.add(secrets...)
		}
	}
	return err
}

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

// Response is what a [Provider] answers, with attributes in a struct A of its own. The zero value is a good answer to an
// Update.
type Response[A any] struct {
	// ID names what was made. Empty means the ID of the request for a Create, and no change otherwise. It may be set
	// beside an error: then it is answered as FAILED with this ID, and the Delete that follows has it.
	ID PhysicalID
	// Attributes are what the template can read with Fn::GetAtt. They replace those of earlier answers and are not sent
	// with an error or for a Delete. The rules of encoding/json give their names; a [Secret] in them is sent in clear,
	// and makes the whole answer NoEcho.
	Attributes A
	// NoEcho says that the values in Attributes are secret.
	NoEcho bool
	// Reason is shown in the events of the stack. With an error it replaces the text of the error, which then appears
	// in the log only.
	Reason string
	// State is for the provider's Ready method, see [WithReady]: encoded with encoding/json, a [Secret] in clear. Nothing
	// else sees it. Nil for none.
	State any
}

// Answer is what a [Handler] answers: a [Response] whose attributes have any names.
type Answer = Response[map[string]any]
