package pintle

import (
	"context"
	"encoding/json"
	"time"
)

// Provider manages one resource type. P is the type of the properties in the template and A that of the attributes that
// Fn::GetAtt reads. P is a struct whose tags name and check the properties, see [New], or [json.RawMessage] for unchecked
// properties. A is a struct or a map with string keys. [New] makes a [Handler] of a provider.
//
// A provider may also implement these optional interfaces:
//
//   - [Poller] waits for operations that take long.
//   - [Validator] checks what tags cannot express.
//   - [Migrator] reads the properties of earlier versions.
//   - [Reader] reads resources back, for drift detection and imports.
//
// Behind HTTP and queues, many goroutines call the methods at once. The package never calls them for two requests of one
// resource at once. All methods must be idempotent, because a request can be delivered twice.
type Provider[P, A any] interface {
	// Create makes the resource. An error without an ID reports that nothing was made. An error with an ID reports that
	// something was made, and a Delete with that ID follows.
	//
	// The package also calls Create to replace a resource: for an Update that changes an immutable property, and for one
	// that returns [ErrGone]. When the stack has been updated, a Delete for the old resource follows. When such an update
	// is rolled back, Create is called with the old properties while the old resource still exists. A Create that finds
	// its resource by name and returns it loses nothing.
	Create(ctx context.Context, r *CreateRequest[P]) (Response[A], error)
	// Update changes the resource to the properties in the request. A failed Update is followed by an Update in the other
	// direction, so it should establish the wanted properties whatever the present state is. It returns all attributes.
	// To replace the resource it sets Replaces and the new ID in the response.
	Update(ctx context.Context, r *UpdateRequest[P]) (Response[A], error)
	// Delete removes the resource. [ErrGone] counts as success.
	Delete(ctx context.Context, r *DeleteRequest[P]) error
}

// Poller is implemented by a [Provider] whose operations take long. Create, Update and Delete start an operation, and Poll
// reports whether it is done. The package calls Poll right after the method has returned without an error, then in the
// intervals of the [PollPolicy].
//
// A wait can outlast the timeout of the function, the process and this version of the program if a [Waiter] keeps it, or
// Pintle, for programs that it hosts. Otherwise the package waits within the time of the request.
type Poller[P, A any] interface {
	Provider[P, A]
	// Poll looks once and returns at once. After a Delete, [ErrGone] reports that the resource is deleted. Any other error
	// fails the request.
	Poll(ctx context.Context, r *PollRequest[P]) (Progress[A], error)
}

// Validator is implemented by a provider that checks more than tags can express.
type Validator[P any] interface {
	// Validate is called before Create and Update, with properties that satisfy their tags. Its error fails the request
	// before anything is done.
	Validate(ctx context.Context, r *ValidateRequest[P]) error
}

// Migrator is implemented by a provider whose properties had another format once. Stacks keep the properties that a resource
// was made with. They send them with a Delete, as the old properties of an Update, and in the rollback of an Update.
type Migrator interface {
	// Migrate changes r.Properties to the present format. It is called with every set of properties, also with new ones.
	Migrate(ctx context.Context, r *MigrateRequest) error
}

// CreateRequest asks for a new resource.
type CreateRequest[P any] struct {
	// Request is the request as it came. For a replacement it was an Update; here its Type is Create, and its ID empty.
	Request
	// Properties are decoded and checked.
	Properties P
}

// UpdateRequest asks for a change of the resource with the ID of the request.
type UpdateRequest[P any] struct {
	// Request is the request as it came.
	Request
	// Properties are the wanted ones, decoded and checked.
	Properties P
	// Old are the properties before, decoded but not checked: an earlier version of the provider may have accepted them.
	// In the rollback of an Update that was refused before anything was done, they are the same as Properties.
	Old P
	// OldProblems names the old properties that cannot be read and are zero in Old, e.g. "Port: want a whole number". Nil
	// means that Old is complete. Immutable properties are always complete: see [Migrator].
	OldProblems []string
}

// DeleteRequest asks for the deletion of the resource with the ID of the request.
type DeleteRequest[P any] struct {
	// Request is the request as it came.
	Request
	// Properties belong to this resource. They are decoded but not checked: an earlier version of the provider may have
	// accepted them. Delete the resource with the ID of the request, not one that the properties name.
	Properties P

	state any
}

// SetState hands a state to the provider's [Poller], as the State of a [Response] does.
func (r *DeleteRequest[P]) SetState(state any) { r.state = state }

// ValidateRequest asks whether properties are acceptable.
type ValidateRequest[P any] struct {
	// Request is the request as it came: a Create or an Update.
	Request
	// Properties are decoded, and satisfy their tags.
	Properties P
}

// MigrateRequest asks for properties in the present format.
type MigrateRequest struct {
	// Request is the request as it came.
	Request
	// Properties are a decoded JSON object without ServiceToken and ServiceTimeout, to be changed in place. Numbers are of
	// the type [json.Number].
	Properties map[string]any
	// Old reports that these are the old properties of an Update.
	Old bool
}

// PollRequest asks whether an operation is done.
type PollRequest[P any] struct {
	// Request is the request as it came, with the ID of the resource. Its Type is Create for a replacement.
	Request
	// Properties are those of the operation.
	Properties P
	// State is the State of the last [Response] or [Progress]; nil for none. See [PollRequest.DecodeState].
	State json.RawMessage
	// Try counts the calls of Poll for this request from 1.
	Try int
}

// DecodeState reads the state by the rules of [json.Unmarshal]. Without a state it does nothing.
func (r *PollRequest[P]) DecodeState(into any) error {
	if r.State == nil {
		return nil
	}
	return json.Unmarshal(r.State, into)
}

// Progress is the result of Poll. The zero value means that the operation is in progress.
type Progress[A any] struct {
	// Done reports that the operation is done.
	Done bool
	// ID is that of [Response], for a resource whose ID is known only when it is Done. Empty keeps that of the operation.
	ID PhysicalID
	// Replaces is that of [Response].
	Replaces bool
	// Attributes are added to those of Create or Update when Done: a field that is not zero replaces theirs.
	Attributes A
	// NoEcho is that of [Response]; true in either makes the answer secret.
	NoEcho bool
	// Reason is that of [Response]; empty keeps that of the operation. Until Done it is shown as the progress.
	Reason string
	// State replaces the state for the next call. Nil keeps it.
	State any
	// After is how long to wait before the next call. Zero means the interval of the [PollPolicy].
	After time.Duration
}

// Option configures [New].
type Option func(*options)

type options struct{ policy PollPolicy }

// WithPollPolicy sets when a [Poller] is polled, and for how long. [New] panics if the policy contradicts itself.
func WithPollPolicy(p PollPolicy) Option { return func(o *options) { o.policy = p } }
