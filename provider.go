package pintle

import (
	"context"
	"encoding/json"
	"time"
)

// Provider manages one resource type. P is the type of the properties in the template. A is the type of the
// attributes, which the template reads with Fn::GetAtt. P is a struct whose tags name and check the properties, see
// [New], or [json.RawMessage] for unchecked properties. A is a struct or a map with string keys. [New] makes a
// [Handler] from a provider.
//
// A provider may also implement these optional interfaces:
//
//   - [Poller] waits for long operations.
//   - [Validator] checks what tags cannot express.
//   - [Migrator] reads the properties of earlier versions.
//   - [Reader] reads resources back for drift detection and imports.
//   - [Planner] refuses a change or announces a replacement before anything is done.
//
// Behind HTTP and queues, the methods are called concurrently, but never for two requests of one resource at once,
// except [Planner.Plan]. All methods must be idempotent, because a request can be delivered twice.
type Provider[P, A any] interface {
	// Create makes the resource. An error without an ID reports that nothing was made. An error with an ID reports
	// that something was made, and a Delete with that ID follows.
	//
	// The package also calls Create to replace a resource: for an Update that changes an immutable property, and for
	// one that returns [ErrGone]. After the stack update, a Delete for the old resource follows. When such an update
	// is rolled back, Create is called with the old properties while the old resource still exists. If Create finds
	// its resource by name and returns it, that rollback keeps the data.
	Create(ctx context.Context, r *CreateRequest[P]) (Response[A], error)
	// Update changes the resource to the properties in the request. A failed Update is followed by an Update in the
	// other direction, so Update must work from any present state. It returns all attributes. To replace the
	// resource, it sets Replaces and the new ID in the response.
	Update(ctx context.Context, r *UpdateRequest[P]) (Response[A], error)
	// Delete removes the resource. [ErrGone] counts as success.
	Delete(ctx context.Context, r *DeleteRequest[P]) error
}

// Poller is implemented by a [Provider] with long operations. Create, Update and Delete start an operation, and Poll
// reports whether it is done. The package calls Poll right after the method has returned without an error, then at
// the intervals of the [PollPolicy].
//
// A wait can outlast the timeout of the function, the process and this version of the program if a [Waiter] keeps it.
// Pintle keeps the waits of programs that it hosts. Otherwise the package waits within the time of the request.
type Poller[P, A any] interface {
	Provider[P, A]
	// Poll checks once and returns immediately. After a Delete, [ErrGone] reports that the resource is deleted. Any
	// other error fails the request.
	Poll(ctx context.Context, r *PollRequest[P]) (Progress[A], error)
}

// Validator is implemented by a provider that checks more than tags can express.
type Validator[P any] interface {
	// Validate is called before Create, Update and Plan, with properties that satisfy their tags. Its error
	// fails the request before anything is done.
	Validate(ctx context.Context, r *ValidateRequest[P]) error
}

// Migrator is implemented by a provider whose earlier versions had another format of properties. Stacks keep the
// properties that a resource was made with. They send them with a Delete, as the old properties of an Update, and in
// the rollback of an Update.
type Migrator interface {
	// Migrate changes r.Properties to the present format. It is called with every set of properties, including new
	// ones.
	Migrate(ctx context.Context, r *MigrateRequest) error
}

// CreateRequest asks for a new resource.
type CreateRequest[P any] struct {
	// Request is the original request. For a replacement that was an Update; here its Type is Create and its ID is
	// empty.
	Request
	// Properties are decoded and checked.
	Properties P
}

// UpdateRequest asks for a change of the resource with the ID of the request.
type UpdateRequest[P any] struct {
	// Request is the original request.
	Request
	// Properties are the new ones, decoded and checked.
	Properties P
	// Old are the previous properties, decoded but not checked: an earlier version of the provider may have accepted
	// them. In the rollback of an Update that was refused before it changed anything, they equal Properties.
	Old P
	// OldProblems lists the old properties that cannot be read and are zero in Old, e.g. "Port: want a whole number".
	// Nil means that Old is complete. Immutable properties are always complete: see [Migrator].
	OldProblems []string
}

// DeleteRequest asks for the deletion of the resource with the ID of the request.
type DeleteRequest[P any] struct {
	// Request is the original request.
	Request
	// Properties belong to this resource. They are decoded but not checked: an earlier version of the provider may
	// have accepted them. Delete the resource with the ID of the request, not one that the properties name.
	Properties P

	state any
}

// SetState passes a state to the provider's [Poller], like the State of a [Response].
func (r *DeleteRequest[P]) SetState(state any) { r.state = state }

// ValidateRequest asks whether properties are valid.
type ValidateRequest[P any] struct {
	// Request is the original request: a Create, an Update or a Plan.
	Request
	// Properties are decoded, and satisfy their tags.
	Properties P
}

// MigrateRequest asks for properties in the present format.
type MigrateRequest struct {
	// Request is the original request.
	Request
	// Properties are a decoded JSON object without ServiceToken and ServiceTimeout. Migrate changes it in place.
	// Numbers have the type [json.Number].
	Properties map[string]any
	// Old reports that these are the old properties of an Update or a Plan.
	Old bool
}

// PollRequest asks whether an operation is done.
type PollRequest[P any] struct {
	// Request is the original request, with the ID of the resource. Its Type is Create for a replacement.
	Request
	// Properties are those of the operation.
	Properties P
	// State is the State of the last [Response] or [Progress], or nil. See [PollRequest.DecodeState].
	State json.RawMessage
	// Try counts the calls of Poll for this request from 1.
	Try int
}

// DecodeState reads the state by the rules of [json.Unmarshal]. Without a state it is a no-op.
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
	// ID is the ID of a [Response], for a resource whose ID is known only when it is done. Empty keeps the ID of the
	// operation.
	ID PhysicalID
	// Replaces is the Replaces of a [Response].
	Replaces bool
	// Attributes are added to those of Create or Update when Done. A nonzero field overrides theirs.
	Attributes A
	// NoEcho is the NoEcho of a [Response]. If either is true, the answer is secret.
	NoEcho bool
	// Reason is the Reason of a [Response]. Empty keeps the reason of the operation. Until Done it is shown as the
	// progress.
	Reason string
	// State replaces the state for the next call. Nil keeps it.
	State any
	// After is how long to wait before the next call. Zero means the interval of the [PollPolicy].
	After time.Duration
}

// Option configures [New].
type Option func(*options)

type options struct{ policy PollPolicy }

// WithPollPolicy sets when, and for how long, a [Poller] is polled. [New] panics if the policy is invalid.
func WithPollPolicy(p PollPolicy) Option { return func(o *options) { o.policy = p } }
