package store

import (
	"time"

	"github.com/pintle-dev/pintle/internal/value"
	"github.com/pintle-dev/pintle/wire"
)

// RequestState is how far a request has come.
type RequestState string

// The states of a request.
const (
	// RequestDelayed becomes ready at Due.
	RequestDelayed RequestState = "delayed"
	// RequestReady is to be delivered by its Owner. It has no Due.
	RequestReady RequestState = "ready"
	// RequestWaiting was delivered; Due is when it times out.
	RequestWaiting RequestState = "waiting"
	// RequestSettled is over: answered, refused or timed out.
	RequestSettled RequestState = "settled"
)

// TypeTimer is the type of a request that asks nobody: it is the time limit of its operation, delayed until that is over.
// It has no logical ID, no instance and no body that says anything.
const TypeTimer wire.RequestType = "Timer"

// TypeNotification is the type of a request that tells an SNS topic, its service token, of an event: the text is the member
// Message of its properties, and no answer is expected. It has no logical ID and no instance.
const TypeNotification wire.RequestType = "Notification"

// Asks reports whether the request is one that a provider is to answer.
func (r *Request) Asks() bool { return r.Type != TypeTimer && r.Type != TypeNotification }

// Request is one asking of a provider, a notification, or a timer.
type Request struct {
	ID        wire.RequestID   `json:"-"`
	Stack     StackKey         `json:"-"`
	Operation int              `json:"-"`
	Logical   wire.LogicalID   `json:"-"`
	Instance  int              `json:"-"`
	Type      wire.RequestType `json:"-"`
	State     RequestState     `json:"-"`
	// Owner delivers a ready request; Executor is the node whose own process executes a waiting one, 0 if the provider
	// lives elsewhere. Both are 0 in other states: a store refuses them there.
	Owner    Incarnation `json:"-"`
	Executor Incarnation `json:"-"`
	// First is the node that owned it first; 0 once it is known that another one has had it too.
	First Incarnation `json:"first,omitempty"`
	// Due is when a delayed request becomes ready and a waiting one times out; zero in other states.
	Due time.Time `json:"-"`

	// Cancelled says that its step has moved on: the answer only tells which physical resource there is.
	Cancelled bool `json:"cancelled,omitempty"`
	// Ending is how it was settled, in a word: answered, refused, died, timed out.
	Ending string `json:"ending,omitempty"`

	// Late counts the answers that came after it was settled, as far as they are on record.
	Late int `json:"late,omitempty"`

	Created   time.Time `json:"created"`
	Delivered time.Time `json:"delivered,omitzero"`
	Settled   time.Time `json:"settled,omitzero"`

	// Body is written once. In a Delta nil leaves it as it is.
	Body *RequestBody `json:"-"`
}

// RequestBody is the part of a request that does not change: what is sent.
type RequestBody struct {
	Dialect      string          `json:"dialect"`
	StackID      wire.StackID    `json:"stackID"`
	Region       string          `json:"region"`
	ResourceType string          `json:"resourceType"`
	PhysicalID   wire.PhysicalID `json:"physicalID,omitempty"`
	// Timeout is how long the provider may take, from delivery.
	Timeout time.Duration `json:"timeout"`
	// Await says what ends it; nil if its provider does.
	Await *Await `json:"await,omitempty"`

	// Token is the service token, a string; see [RequestBody.ServiceToken]. It is null if the resource's type is a native
	// one: no template can spell that.
	Token value.Value `json:"-"`
	// Properties is always an object; OldProperties is null but for an Update.
	Properties    value.Value `json:"-"`
	OldProperties value.Value `json:"-"`
}

// Incarnation identifies one life of one node. 0 is no node.
type Incarnation int64

// ServiceToken returns the service token in clear. It may be secret: see [value.Value.Secrets] of Token.
func (b *RequestBody) ServiceToken() wire.ServiceToken { return wire.ServiceToken(b.Token.Text()) }

// Native reports whether the request is for a native type, and so has no service token.
func (b *RequestBody) Native() bool { return b.Token.IsNull() }
