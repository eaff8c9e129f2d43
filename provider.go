package pintle

import (
	"context"
	"encoding/json"
	"time"
)

// Provider makes one type of resource. P is a struct of the properties in the template and A one of the attributes that
// Fn::GetAtt reads; both are named and checked by their tags, see the section Properties of the package. A may also be a
// map with string keys. [New] makes a [Handler] of a provider.
//
// A provider may have more methods than these three: those of [WithReady], [WithWaiting],
// [WithValidate] and [WithMigrate].
//
// The methods are called by many goroutines at once where the transport does that, HTTP, but never for two requests of
// one resource. All must bear to be called again for what is done already: a request may be delivered twice.
type Provider[P, A any] interface {
	// Create makes the resource. An error without an ID says that nothing was made. It is called as well for an Update
	// that changes an immutable property: then what it makes replaces the resource, and a Delete for the old one follows
	// when the whole stack has been updated. When such an update is rolled back it is asked for the old one again, which
	// is still there: a Create that finds its thing by the name, and returns it, loses nothing.
	Create(ctx context.Context, r *CreateRequest[P]) (Response[A], error)
	// Update changes the resource to the properties in the request. A failed one is followed by another in the other
	// direction, so it is safest to bring about what Properties says, whatever is there. Attributes must be returned anew.
	Update(ctx context.Context, r *UpdateRequest[P]) (Response[A], error)
	// Delete removes the resource. [Gone] is as good as nil.
	Delete(ctx context.Context, r *DeleteRequest[P]) error
}

// WithReady is a [Provider] whose operations take long: Create, Update and Delete start them, and Ready says when they
// are done. It is asked at once, after a second, then less and less often, see [WithWaiting]. If there is somebody to take
// the wait over, a [Waiter] or Pintle that hosts the program, it may be another process that is asked the next time, after
// the program was changed, even. Otherwise it is asked within the time of the request.
type WithReady[P, A any] interface {
	Provider[P, A]
	// Ready looks once and does not wait. For a Delete [Gone] means done. An error makes the request FAILED.
	Ready(ctx context.Context, r *ReadyRequest[P]) (Progress[A], error)
}

// WithWaiting is a provider that says how its operations are waited for; it has a method Ready too, see [WithReady].
type WithWaiting interface {
	// Waiting is called once, by [New].
	Waiting() Waiting
}

// WithValidate is a provider that checks more than the tags can say.
type WithValidate[P any] interface {
	// Validate is called before Create and Update with properties that are right by their tags. Its error fails the
	// request before anything is done.
	Validate(properties P) error
}

// WithMigrate is a provider that had other properties once. Stacks keep the properties that a resource was made with,
// and send them with a Delete, as the old ones of an Update, and when an Update is rolled back.
type WithMigrate interface {
	// Migrate changes properties, a decoded JSON object without ServiceToken, into those of today: it renames, splits,
	// drops. It is called with every set of properties, also with new ones. Numbers are of the type [json.Number].
	Migrate(properties map[string]any) error
}

// CreateRequest asks for a resource.
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
	// Properties are those wanted, decoded and checked.
	Properties P
	// Old are those before, decoded but not checked: an earlier version of the provider may have accepted them. In the
	// rollback of an Update that was refused before anything was done they are the same as Properties.
	Old P
	// OldProblems is what could not be read of the old properties, and is zero in Old; one entry for each, e.g. "Port: want a
	// whole number". Nil means that Old is whole. What is immutable is always whole: see [WithMigrate].
	OldProblems []string
}

// DeleteRequest asks for the end of the resource with the ID of the request.
type DeleteRequest[P any] struct {
	// Request is the request as it came.
	Request
	// Properties belong to this resource. They are decoded but not checked: an earlier version of the provider may have
	// accepted them. Do not take them for the name of what to delete; that is ID.
	Properties P
}

// ReadyRequest asks whether an operation is done.
type ReadyRequest[P any] struct {
	// Request is the request as it came, with the ID of what was made. Its Type is Create for a replacement.
	Request
	// Properties are those of the operation.
	Properties P
	// State is what the operation, or Ready itself, has left for Ready; nil if nothing. See [ReadyRequest.DecodeState].
	State json.RawMessage
	// Try counts the calls of Ready for this request from 1.
	Try int
}

// DecodeState reads the state by the rules of [json.Unmarshal].
func (r *ReadyRequest[P]) DecodeState(into any) error {
	if r.State == nil {
		return nil
	}
	return json.Unmarshal(r.State, into)
}

// Progress is what Ready answers. The zero value is "not yet".
type Progress[A any] struct {
	// Done says that the operation is done.
	Done bool
	// Attributes are added to those of Create or Update once Done: a field that is not zero replaces theirs. They are
	// ignored before.
	Attributes A
	// NoEcho is that of [Response]; true in either makes the answer secret.
	NoEcho bool
	// Reason is that of [Response]; empty keeps that of the operation.
	Reason string
	// State replaces the state for the next call. Nil keeps it.
	State any
	// After is how long to wait before the next call. Zero means the package's choice: from one second up to thirty.
	After time.Duration
}
