package store

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
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

// TypeTimer is the type of a request that asks no one: it is the time limit of its operation, delayed until that is over.
// It has no logical ID, no instance and no body that says anything.
const TypeTimer wire.RequestType = "Timer"

// TypeNotification is the type of a request that tells an SNS topic, its service token, of an event: the text is the member
// Message of its properties, and no answer is expected. It has no logical ID and no instance.
const TypeNotification wire.RequestType = "Notification"

// TypeIsComplete is the type of a request that asks a provider again which said of another request, of the same resource and
// instance, that it is not done: see [Wait]. There is one of it for each such request as long as that waits, delayed between
// two tries. The provider answers the other one, or says once more that it waits.
const TypeIsComplete wire.RequestType = "IsComplete"

// TypeMacro is the type of a request that asks a macro for what it makes of a template: its properties are the macro's event, its
// resource type the macro's name as the template has it, and what the macro returns settles it. It has no logical ID and no instance.
const TypeMacro wire.RequestType = "Macro"

// TypeImport is the type of a request that makes an existing resource one of the stack. Its physical ID names the resource.
const TypeImport wire.RequestType = "Import"

// TypeDisown is the type of a request that undoes a [TypeImport] in the service of the resource: its holder is again the one before the
// import. No step waits for it.
const TypeDisown wire.RequestType = "Disown"

// TypeRead is the type of a request that asks a provider for the present state of a resource, to detect its drift. No step waits for
// it. Once it is settled, Pending of its body has the result, a resource of package drift as JSON without secrets.
const TypeRead = wire.Read

// Asks reports whether the request is one that a provider is to answer.
func (r *Request) Asks() bool {
	return r.Type != TypeTimer && r.Type != TypeNotification && r.Type != TypeIsComplete && r.Type != TypeTie && r.Type != TypeMacro &&
		r.Type != TypeExecution && r.Type != TypeDisown
}

// Wait is what a request of [TypeIsComplete] is about.
type Wait struct {
	// For is the request that waits.
	For wire.RequestID `json:"for"`
	// Try counts how often the provider is asked again, from 1; a delivery that is repeated counts once. It is also what
	// reports what is reported of one try from what is reported of another.
	Try int `json:"try"`
	// Failures counts those of the tries before that came to nothing, in a row up to this one.
	Failures int `json:"failures,omitempty"`
	// After is the pause that the provider asked for last.
	After time.Duration `json:"after"`
	// Until is when the provider wants to be given up; zero if it is the deadline of the request that waits.
	Until time.Time `json:"until,omitzero"`
	// Deadline is when the request that waits timed out at the latest, when it began to.
	Deadline time.Time `json:"deadline"`
	// Reason is what the provider last said of its progress, redacted.
	Reason string `json:"reason,omitempty"`
}

// End is when the provider is to be asked for the last time: at Until or at the Deadline, whichever is earlier.
func (w *Wait) End() time.Time {
	if w.Until.IsZero() || w.Until.After(w.Deadline) {
		return w.Deadline
	}
	return w.Until
}

// Silence says that the handler of a request has returned, and that no answer had come by then.
type Silence struct {
	// Since is when that became known.
	Since time.Time `json:"since"`
	// Awaits says what may still answer, in words for people; empty if nothing may, and then the request ends at Due, which is
	// soon.
	Awaits string `json:"awaits,omitempty"`
	// Until is when the request ends at the latest, if what may still answer has a time limit of its own; else zero.
	Until time.Time `json:"until,omitzero"`
	// Document says that the handler returned a response document, which is not read.
	Document bool `json:"document,omitempty"`
}

// Settles reports whether nothing may still answer. It is false for nil.
func (s *Silence) Settles() bool { return s != nil && s.Awaits == "" }

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

	// Cancelled says that its step has moved on: the answer only reports which physical resource there is.
	Cancelled bool `json:"cancelled,omitempty"`
	// Ending is how it was settled, in a word: answered, refused, died, timed out.
	Ending string `json:"ending,omitempty"`

	// Wait is what a request of [TypeIsComplete] is about, nil for all others. It is shared by copies of the row, and so
	// replaced rather than changed.
	Wait *Wait `json:"wait,omitempty"`
	// Execution is how far an execution has come, of [TypeExecution], nil for all others. It is replaced rather than changed
	// too.
	Execution *Execution `json:"execution,omitempty"`

	// Within is the longest that the process that executes it may take, from Delivered; zero if that is not known, or not less than the
	// request has anyway.
	Within time.Duration `json:"within,omitempty"`

	// Silence says that the handler of a waiting request returned without an answer, nil if that is not known. It is replaced
	// rather than changed. In other states it may be left from before and says nothing.
	Silence *Silence `json:"silence,omitempty"`

	// Late counts the answers that came after it was settled, as far as they are recorded.
	Late int `json:"late,omitempty"`

	Created   time.Time `json:"created"`
	Delivered time.Time `json:"delivered,omitzero"`
	Settled   time.Time `json:"settled,omitzero"`

	// Body is written once, but for what is pending in it. In a Delta nil leaves it as it is.
	Body *RequestBody `json:"-"`
}

// RequestBody is the part of a request that does not change: what is sent. Of [TypeIsComplete] it is that of the request
// that waits, with what is pending.
type RequestBody struct {
	Dialect      string          `json:"dialect"`
	StackID      wire.StackID    `json:"stackID"`
	Region       string          `json:"region"`
	ResourceType string          `json:"resourceType"`
	PhysicalID   wire.PhysicalID `json:"physicalID,omitempty"`
	// Timeout is how long the provider may take, from delivery.
	Timeout time.Duration `json:"timeout"`
	// StackName, Account and Caller are what requests of ROS tell besides: the account that owns the stack, and who asked for
	// the operation. Empty in others.
	StackName string `json:"stackName,omitempty"`
	Account   string `json:"account,omitempty"`
	Caller    string `json:"caller,omitempty"`
	// Trace is that of its operation, or of who has started its execution; empty for none.
	Trace string `json:"trace,omitempty"`
	// Await says what ends it; nil if its provider does.
	Await *Await `json:"await,omitempty"`
	// Aim is what it wants of a nested stack; empty if it is for something else.
	Aim Aim `json:"aim,omitempty"`
	// Skip, of [AimUndo], are the resources of the nested stack that are to be taken as rolled back, as the client names
	// them; Force takes all of those so that fail.
	Skip  []string `json:"skip,omitempty"`
	Force bool     `json:"force,omitempty"`
	// ChangeSet is the one that is made, of [TypeMacro]; empty if an operation is prepared, and of all others.
	ChangeSet ChangeSetID `json:"changeSet,omitempty"`
	// Holder, of [TypeImport], is who must still hold the resource: see [Import]. Of [TypeDisown] it is who held it before.
	Holder string `json:"holder,omitempty"`
	// Import, of [TypeDisown], is the request that is undone.
	Import wire.RequestID `json:"import,omitempty"`
	// Tags, of a native type whose resources can have tags, are those of the stack; nil if the request asks for none.
	Tags []Tag `json:"tags,omitzero"`
	// Revert says that an Update of a native type is to undo drift.
	Revert bool `json:"revert,omitempty"`
	// Asked is the type of the request that waits, of [TypeIsComplete]; else empty.
	Asked wire.RequestType `json:"asked,omitempty"`

	// Token is the service token, a string; see [RequestBody.ServiceToken]. It is null if the resource's type is a native
	// one: no template can spell that. Of [TypeExecution] it is the function of the task.
	Token value.Value `json:"-"`
	// Properties is always an object; OldProperties is null but for an Update. Of [TypeExecution],
	// Payload of Properties is what its task is called with, and OldProperties are its Definition and its Input: JSON as texts,
	// which are secret.
	Properties    value.Value `json:"-"`
	OldProperties value.Value `json:"-"`
	// Pending is what the provider wants to be asked again with, of [TypeIsComplete] until it is settled; of [TypeMacro] likewise
	// what is to be done with its reply; of [TypeExecution] its data; and else null: JSON as a text, which is secret.
	Pending value.Value `json:"-"`
	// HTTPConfig is how the provider behind a URL is called, of ROS: an object, null for none. Its SignKey may be secret.
	HTTPConfig value.Value `json:"-"`
}

// Subject is the request that a provider is asked about: r itself or, of [TypeIsComplete], the one that waits, as far as it
// is sent.
func (r *Request) Subject() Request {
	subject := *r
	if r.Type == TypeIsComplete {
		subject.ID, subject.Type, subject.Wait = r.Wait.For, r.Body.Asked, nil
	}
	return subject
}

// Incarnation identifies one life of one node. 0 is not a node.
type Incarnation int64

// ServiceToken returns the service token in clear. It may be secret: see [value.Value.Secrets] of Token.
func (b *RequestBody) ServiceToken() wire.ServiceToken { return wire.ServiceToken(b.Token.Text()) }

// Native reports whether the request is for a native type, and so has no service token.
func (b *RequestBody) Native() bool { return b.Token.IsNull() }
