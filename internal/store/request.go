package store

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// RequestState is the state of a request.
type RequestState string

// The states of a request.
const (
	// RequestDelayed becomes ready at Due.
	RequestDelayed RequestState = "delayed"
	// RequestReady waits for its Owner to deliver it. It has no Due.
	RequestReady RequestState = "ready"
	// RequestWaiting was delivered. It times out at Due.
	RequestWaiting RequestState = "waiting"
	// RequestSettled was answered or refused, or timed out.
	RequestSettled RequestState = "settled"
)

// TypeTimer is the type of a request that is not sent to a provider: it is the time limit of its operation, delayed
// until that expires. It has no logical ID, no instance, and a body without meaning.
const TypeTimer wire.RequestType = "Timer"

// TypeNotification is the type of a request that sends an event to an SNS topic, its service token. The text is the
// member Message of its properties, and no answer is expected. It has no logical ID and no instance.
const TypeNotification wire.RequestType = "Notification"

// TypeIsComplete is the type of a request that polls a provider which answered that another request is not complete
// yet: see [Wait]. Both requests belong to the same resource and instance. One exists for each such request while that
// waits, and is delayed between two tries. The provider either answers the other request or says again that it is not
// complete.
const TypeIsComplete wire.RequestType = "IsComplete"

// TypeMacro is the type of a request that has a macro process a template. Its properties are the macro's event, and its
// resource type is the macro's name in the template. The reply of the macro settles it. It has no logical ID and no
// instance.
const TypeMacro wire.RequestType = "Macro"

// TypeImport is the type of a request that adds an existing resource to the stack. Its physical ID names the resource.
const TypeImport wire.RequestType = "Import"

// TypeDisown is the type of a request that undoes a [TypeImport] in the service of the resource: it restores the holder
// from before the import. No step waits for it.
const TypeDisown wire.RequestType = "Disown"

// TypeRead is the type of a request that reads the current state of a resource from its provider, to detect drift. No
// step waits for it. Once it is settled, Pending in its body holds the result: a resource of package drift as JSON
// without secrets.
const TypeRead = wire.Read

// Asks reports whether a provider is expected to answer the request.
func (r *Request) Asks() bool {
	return r.Type != TypeTimer && r.Type != TypeNotification && r.Type != TypeIsComplete && r.Type != TypeTie && r.Type != TypeMacro &&
		r.Type != TypeExecution && r.Type != TypeDisown
}

// Wait is the state of a request of [TypeIsComplete].
type Wait struct {
	// For is the request that is not complete yet.
	For wire.RequestID `json:"for"`
	// Try counts the polls of the provider, from 1. A repeated delivery counts once. It also distinguishes the reports
	// of one try from those of another.
	Try int `json:"try"`
	// Failures counts the consecutive failed tries before this one.
	Failures int `json:"failures,omitempty"`
	// After is the pause that the provider last asked for.
	After time.Duration `json:"after"`
	// Until is when the provider wants the wait to end; zero if that is the deadline of the waiting request.
	Until time.Time `json:"until,omitzero"`
	// Deadline is the deadline that the waiting request had when it began to wait.
	Deadline time.Time `json:"deadline"`
	// Reason is the provider's last report of its progress, redacted.
	Reason string `json:"reason,omitempty"`
}

// End returns when the provider is polled for the last time: at Until or at the Deadline, whichever is earlier.
func (w *Wait) End() time.Time {
	if w.Until.IsZero() || w.Until.After(w.Deadline) {
		return w.Deadline
	}
	return w.Until
}

// Silence says that the handler of a request returned before any answer arrived.
type Silence struct {
	// Since is when that became known.
	Since time.Time `json:"since"`
	// Awaits describes to people where an answer may still come from. It is empty if none can come; then the request
	// ends at Due, which is soon.
	Awaits string `json:"awaits,omitempty"`
	// Until is the latest end of the request if the source in Awaits has its own time limit; otherwise zero.
	Until time.Time `json:"until,omitzero"`
	// Document says that the handler returned a response document, which is ignored.
	Document bool `json:"document,omitempty"`
}

// Settles reports whether nothing may still answer. It is false for nil.
func (s *Silence) Settles() bool { return s != nil && s.Awaits == "" }

// Request is a request to a provider, a notification, or a timer.
type Request struct {
	ID        wire.RequestID   `json:"-"`
	Stack     StackKey         `json:"-"`
	Operation int              `json:"-"`
	Logical   wire.LogicalID   `json:"-"`
	Instance  int              `json:"-"`
	Type      wire.RequestType `json:"-"`
	State     RequestState     `json:"-"`
	// Owner delivers a ready request. Executor is the node whose own process executes a waiting one, 0 if the provider
	// runs elsewhere. Both are 0 in other states; a store rejects other rows.
	Owner    Incarnation `json:"-"`
	Executor Incarnation `json:"-"`
	// First is the first node that owned it; 0 once another node has owned it too.
	First Incarnation `json:"first,omitempty"`
	// Due is when a delayed request becomes ready or a waiting one times out; zero in other states.
	Due time.Time `json:"-"`

	// Cancelled says that its step no longer waits for it: the answer only reveals which physical resource exists.
	Cancelled bool `json:"cancelled,omitempty"`
	// Ending says in a word how it was settled: answered, refused, died, timed out.
	Ending string `json:"ending,omitempty"`

	// Wait is the state of a request of [TypeIsComplete], nil for all others. Copies of the row share it, so it is
	// replaced, not changed.
	Wait *Wait `json:"wait,omitempty"`
	// Execution is the progress of a request of [TypeExecution], nil for all others. It is also replaced, not changed.
	Execution *Execution `json:"execution,omitempty"`

	// Within is the time limit of the process that executes it, from Delivered; zero if it is unknown, or not shorter
	// than the time limit of the request.
	Within time.Duration `json:"within,omitempty"`

	// Silence says that the handler of a waiting request returned without an answer; nil if that is not known. It is
	// replaced, not changed. In other states it may be left over and has no meaning.
	Silence *Silence `json:"silence,omitempty"`

	// Late counts the recorded answers that arrived after it was settled.
	Late int `json:"late,omitempty"`

	Created   time.Time `json:"created"`
	Delivered time.Time `json:"delivered,omitzero"`
	Settled   time.Time `json:"settled,omitzero"`

	// Body is written once, except for its Pending. A nil Body in a Delta leaves it unchanged.
	Body *RequestBody `json:"-"`
}

// RequestBody is the part of a request that does not change: the content to send. A request of [TypeIsComplete] has the
// body of the waiting request, plus Pending.
type RequestBody struct {
	Dialect      string          `json:"dialect"`
	StackID      wire.StackID    `json:"stackID"`
	Region       string          `json:"region"`
	ResourceType string          `json:"resourceType"`
	PhysicalID   wire.PhysicalID `json:"physicalID,omitempty"`
	// Timeout is the provider's time limit, from delivery.
	Timeout time.Duration `json:"timeout"`
	// StackName, Account and Caller are additional fields of ROS requests: the stack's name, the account that owns it,
	// and the caller that started the operation. They are empty in other dialects.
	StackName string `json:"stackName,omitempty"`
	Account   string `json:"account,omitempty"`
	Caller    string `json:"caller,omitempty"`
	// Trace is the trace of its operation, or of the call that started its execution; empty for none.
	Trace string `json:"trace,omitempty"`
	// Await says which signals end it; nil if its provider does.
	Await *Await `json:"await,omitempty"`
	// Aim is its purpose for a nested stack; empty if it is not for one.
	Aim Aim `json:"aim,omitempty"`
	// Skip, for [AimUndo], are the resources of the nested stack to treat as rolled back, by the names that the client
	// used. Force does the same for all resources that fail.
	Skip  []string `json:"skip,omitempty"`
	Force bool     `json:"force,omitempty"`
	// ChangeSet, for [TypeMacro], is the change set that is being prepared; empty for an operation, and for all other
	// types.
	ChangeSet ChangeSetID `json:"changeSet,omitempty"`
	// Holder, for [TypeImport], is the required current holder of the resource: see [Import]. For [TypeDisown] it is
	// the previous holder.
	Holder string `json:"holder,omitempty"`
	// Identifier, for [TypeImport], is the identifier of a resource whose type is forwarded: see [Import]. Copies of the
	// row share it, so it is replaced, not changed.
	Identifier map[string]string `json:"identifier,omitempty"`
	// Import, for [TypeDisown], is the request to undo.
	Import wire.RequestID `json:"import,omitempty"`
	// Tags are the stack's tags if the type is native and its resources can have tags; nil if the request sets none.
	Tags []Tag `json:"tags,omitzero"`
	// Revert says that an Update of a native type undoes drift.
	Revert bool `json:"revert,omitempty"`
	// Forwarded has more of the declaration if another endpoint provides the type; otherwise nil. Copies of the row share
	// it, so it is replaced, not changed.
	Forwarded *Forwarded `json:"forwarded,omitempty"`
	// Asked, for [TypeIsComplete], is the type of the waiting request; otherwise empty.
	Asked wire.RequestType `json:"asked,omitempty"`

	// Token is the service token, a string; see [RequestBody.ServiceToken]. It is null if the resource type is native:
	// no template can write that. For [TypeExecution] it is the function of the task.
	Token value.Value `json:"-"`
	// Properties is always an object. OldProperties is null except for an Update. For [TypeExecution], Payload of
	// Properties is the input of the task, and OldProperties holds the Definition and the Input. These are JSON texts,
	// which are secret.
	Properties    value.Value `json:"-"`
	OldProperties value.Value `json:"-"`
	// Pending, for [TypeIsComplete] until it is settled, is the data to send back with the next poll. For [TypeMacro]
	// until it is settled, it says what to do with the reply. For [TypeExecution] it is the data. These are JSON texts,
	// which are secret. For a settled [TypeRead] it is the result. It is null for other types.
	Pending value.Value `json:"-"`
	// HTTPConfig says how to call the ROS provider behind a URL: an object, or null. Its SignKey may be secret.
	HTTPConfig value.Value `json:"-"`
}

// Subject returns the request that a provider is asked about: r itself or, for [TypeIsComplete], the sent fields of the
// waiting request.
func (r *Request) Subject() Request {
	subject := *r
	if r.Type == TypeIsComplete {
		subject.ID, subject.Type, subject.Wait = r.Wait.For, r.Body.Asked, nil
	}
	return subject
}

// Incarnation identifies one run of one node. 0 is not a node.
type Incarnation int64

// ServiceToken returns the service token in the clear. It may be secret: see [value.Value.Secrets] of Token.
func (b *RequestBody) ServiceToken() wire.ServiceToken { return wire.ServiceToken(b.Token.Text()) }

// Native reports whether the request is for a native type, and so has no service token.
func (b *RequestBody) Native() bool { return b.Token.IsNull() }
