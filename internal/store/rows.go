package store

import (
	"encoding/json"
	"time"

	"github.com/pintle-dev/pintle/internal/value"
	"github.com/pintle-dev/pintle/wire"
)

// StackKey identifies a stack in a store: a random number from 1 to 1<<63-1, so that neither time nor place leads two
// nodes to one key. 0 is no stack.
type StackKey int64

// Incarnation identifies one life of one node. 0 is no node.
type Incarnation int64

// Kind is what an operation does to its stack.
type Kind string

// The kinds of operations.
const (
	KindCreate Kind = "create"
	KindUpdate Kind = "update"
	KindDelete Kind = "delete"
)

// Phase is how far an operation has come. The dialect renders kind and phase as the stack's status.
type Phase string

// The phases. The last four are final.
const (
	// PhaseApply creates, updates or deletes towards the operation's aim.
	PhaseApply Phase = "apply"
	// PhaseCleanup deletes what an update replaced or removed.
	PhaseCleanup Phase = "cleanup"
	// PhaseRevert undoes a create or an update that failed.
	PhaseRevert Phase = "revert"
	// PhaseRevertCleanup deletes what a failed update had created.
	PhaseRevertCleanup Phase = "revert-cleanup"
	// PhaseSucceeded ends an operation that reached its aim.
	PhaseSucceeded Phase = "succeeded"
	// PhaseFailed ends an operation that failed and was not undone.
	PhaseFailed Phase = "failed"
	// PhaseReverted ends an operation that failed and was undone.
	PhaseReverted Phase = "reverted"
	// PhaseRevertFailed ends an operation that failed and could not be undone.
	PhaseRevertFailed Phase = "revert-failed"
)

// Final reports whether an operation in this phase has ended.
func (p Phase) Final() bool {
	switch p {
	case PhaseSucceeded, PhaseFailed, PhaseReverted, PhaseRevertFailed:
		return true
	case PhaseApply, PhaseCleanup, PhaseRevert, PhaseRevertCleanup:
	}
	return false
}

// Stack is a stack: what outlives its operations.
type Stack struct {
	Key StackKey `json:"-"`
	// ID is the stack's ARN; unique for ever.
	ID wire.StackID `json:"-"`
	// Account, Region and Name are unique among live stacks.
	Account string `json:"-"`
	Region  string `json:"-"`
	Name    string `json:"-"`
	// Live is true until the stack is deleted: it holds its name.
	Live bool `json:"-"`
	// Dialect is the template language and protocol the stack speaks, e.g. "cloudformation".
	Dialect string `json:"dialect"`

	// Kind, Phase and Reason are those of the newest operation, as shown to people.
	Kind   Kind   `json:"kind"`
	Phase  Phase  `json:"phase"`
	Reason string `json:"reason,omitempty"`

	Created time.Time `json:"created"`
	// Updated is when the last update began; zero if none did.
	Updated time.Time `json:"updated,omitzero"`
	// Deleted is when the last delete began; zero if none did.
	Deleted time.Time `json:"deleted,omitzero"`

	// Operation is the number of the newest operation; they count from 1.
	Operation int `json:"operation"`
	// Revision is the number of the revision in force: the aim of a running or successful operation, what was rolled
	// back to after a failed one.
	Revision int `json:"revision"`
	// Revisions is the highest number given so far.
	Revisions int `json:"revisions"`

	Description           string   `json:"description,omitempty"`
	Capabilities          []string `json:"capabilities,omitempty"`
	DisableRollback       bool     `json:"disableRollback,omitempty"`
	TerminationProtection bool     `json:"terminationProtection,omitempty"`
	NotificationARNs      []string `json:"notificationARNs,omitempty"`
	RoleARN               string   `json:"roleARN,omitempty"`
	TimeoutMinutes        int      `json:"timeoutMinutes,omitempty"`

	// Outputs are those of the last operation that succeeded; their values are in OutputValues, an object by key.
	Outputs      []Output    `json:"outputs,omitempty"`
	OutputValues value.Value `json:"-"`
}

// Output is an output of a stack without its value.
type Output struct {
	Key         string `json:"key"`
	Description string `json:"description,omitempty"`
	ExportName  string `json:"exportName,omitempty"`
}

// Revision is one set of inputs of a stack: what an operation goes to, and an update rolls back to. It never changes.
type Revision struct {
	Stack  StackKey `json:"-"`
	Number int      `json:"-"`
	// Template is the text as it was submitted. Stores keep one copy of equal texts.
	Template string `json:"-"`
	// Inputs are the parameters as the client gave them: defaults are not among them.
	Inputs []string `json:"inputs,omitempty"`
	// Parameters holds the value of every parameter by name; those of NoEcho parameters are secret.
	Parameters value.Value `json:"-"`
	// Conditions holds the outcome of every condition by name.
	Conditions map[string]bool `json:"conditions,omitempty"`
	Tags       []Tag           `json:"tags,omitempty"`
}

// Tag is a tag of a stack.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Operation is one create, update or delete of a stack, its rollback included.
type Operation struct {
	Stack StackKey `json:"-"`
	// Number counts the operations of the stack from 1.
	Number int `json:"-"`
	// Version counts the decisions that wrote this row: the fence against a decision made on an older state.
	Version int64 `json:"-"`

	Kind  Kind  `json:"kind"`
	Phase Phase `json:"phase"`
	// From and To are revision numbers: what the stack was and is to be. 0 is nothing.
	From int `json:"from"`
	To   int `json:"to"`

	// ID is the operation id shown to clients, a UUID; Token the client's own.
	ID    string `json:"id"`
	Token string `json:"token,omitempty"`
	// RollbackID is the operation id of the rollback, empty until one begins.
	RollbackID string `json:"rollbackID,omitempty"`

	DisableRollback bool `json:"disableRollback,omitempty"`

	// Running counts the steps at work in this phase: it ends when none is.
	Running int `json:"running"`
	// Events counts the event rows written.
	Events int `json:"events"`
	// Instances is the highest instance number given to the stack so far.
	Instances int `json:"instances"`
	// FailedCreates, FailedUpdates and FailedDeletes are the resources that failed in this phase, in that order.
	FailedCreates []wire.LogicalID `json:"failedCreates,omitempty"`
	FailedUpdates []wire.LogicalID `json:"failedUpdates,omitempty"`
	FailedDeletes []wire.LogicalID `json:"failedDeletes,omitempty"`
	// Orphaned says that a clean-up gave up on a resource.
	Orphaned bool `json:"orphaned,omitempty"`

	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Earliest and Latest bound the times of its events: no event of an operation is earlier than one of the operation
	// before, whatever the clock says.
	Earliest time.Time `json:"earliest"`
	Latest   time.Time `json:"latest"`
}

// StepState is how far a step has come in the current phase.
type StepState string

// The states of a step.
const (
	// StepIdle has no part in this phase.
	StepIdle StepState = "idle"
	// StepPending waits for other steps: Waiting says for how many.
	StepPending StepState = "pending"
	// StepHeld is due but waits for a request of an earlier phase that is still with its provider.
	StepHeld StepState = "held"
	// StepAwaited has no part in this phase, but the operation does not end before its cancelled request is settled.
	StepAwaited StepState = "awaited"
	// StepRunning has a request of this phase under way.
	StepRunning StepState = "running"
	// StepDone reached its aim.
	StepDone StepState = "done"
	// StepFailed did not.
	StepFailed StepState = "failed"
	// StepCancelled was running when another one failed; its request may still be with the provider.
	StepCancelled StepState = "cancelled"
)

// Step is one logical resource in the operation under way. The steps are the plan: they are made when the operation
// starts and dropped when it ends.
type Step struct {
	Stack   StackKey       `json:"-"`
	Logical wire.LogicalID `json:"-"`

	State StepState `json:"state"`
	// Waiting is how many steps must be done before this one starts in this phase.
	Waiting int `json:"waiting,omitempty"`
	// Next are the steps that wait for this one in this phase.
	Next []wire.LogicalID `json:"next,omitempty"`
	// Instance is the number of the current instance; 0 if there is none yet.
	Instance int `json:"instance,omitempty"`
	// Request is the one under way, of this phase or a cancelled one of an earlier phase.
	Request wire.RequestID `json:"request,omitempty"`
	// Touched says that the apply phase began to change the resource (an event was written).
	Touched bool `json:"touched,omitempty"`
	// Stirred says that something it depends on was touched, so that its properties must be looked at again.
	Stirred bool `json:"stirred,omitempty"`

	// Plan is written once. In a Delta nil leaves it as it is.
	Plan *StepPlan `json:"-"`
}

// StepPlan is the part of a step that does not change during the operation.
type StepPlan struct {
	// Type is the resource's type.
	Type string `json:"type"`
	// Old and New are the resource's declarations before and after the operation, as package template writes them; nil
	// if it is not in that revision.
	Old json.RawMessage `json:"old,omitempty"`
	New json.RawMessage `json:"new,omitempty"`
	// OldNeeds and NewNeeds are what the resource depends on in either revision.
	OldNeeds []wire.LogicalID `json:"oldNeeds,omitempty"`
	NewNeeds []wire.LogicalID `json:"newNeeds,omitempty"`
	// OldFeeds and NewFeeds are what depends on it.
	OldFeeds []wire.LogicalID `json:"oldFeeds,omitempty"`
	NewFeeds []wire.LogicalID `json:"newFeeds,omitempty"`
}

// Role is what an instance is to its stack.
type Role string

// The roles of an instance.
const (
	// RoleCurrent is the one that the logical ID stands for.
	RoleCurrent Role = "current"
	// RoleCondemned was replaced or removed and is to be deleted in the next clean-up.
	RoleCondemned Role = "condemned"
	// RoleOrphan could not be deleted: it may still exist, and the stack has given it up.
	RoleOrphan Role = "orphan"
	// RoleRetained was left in place by its policy.
	RoleRetained Role = "retained"
	// RoleGone was deleted, or never came to be.
	RoleGone Role = "gone"
)

// Verb is what is done to a resource.
type Verb string

// The verbs.
const (
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	VerbDelete Verb = "delete"
)

// Progress is how far a verb has come.
type Progress string

// The progress of a verb.
const (
	ProgressRunning   Progress = "running"
	ProgressSucceeded Progress = "succeeded"
	ProgressFailed    Progress = "failed"
	ProgressSkipped   Progress = "skipped"
)

// Instance is one physical resource. A logical ID has none, one, or several at once while a replacement is under way.
type Instance struct {
	Stack StackKey `json:"-"`
	// Number counts the instances of the stack from 1.
	Number  int            `json:"-"`
	Logical wire.LogicalID `json:"-"`
	Role    Role           `json:"-"`

	// PhysicalID is empty until the provider gave one.
	PhysicalID wire.PhysicalID `json:"physicalID,omitempty"`
	// Reached says that a request for it may have reached the provider: only then is there something to delete.
	Reached bool `json:"reached,omitempty"`
	// Shown says that it still stands for its logical ID in lists, though it is gone.
	Shown bool `json:"shown,omitempty"`
	// Replaced says that it was condemned by a replacement, not by a removal.
	Replaced bool `json:"replaced,omitempty"`
	// Tries counts the clean-up Deletes that failed.
	Tries int `json:"tries,omitempty"`

	// Verb, Progress and Reason are the last that happened to it, Changed when.
	Verb     Verb      `json:"verb"`
	Progress Progress  `json:"progress"`
	Reason   string    `json:"reason,omitempty"`
	Changed  time.Time `json:"changed"`

	// Body in a Delta is nil where it does not change.
	Body *InstanceBody `json:"-"`
}

// InstanceBody is the part of an instance that changes only with a successful answer.
type InstanceBody struct {
	Type  string            `json:"type"`
	Token wire.ServiceToken `json:"token"`
	// Timeout is the ServiceTimeout.
	Timeout time.Duration `json:"timeout"`
	// NoEcho says that the provider asked for its data to be hidden; then every scalar in Data is secret.
	NoEcho bool `json:"noEcho,omitempty"`
	// AnsweredBy is the request whose answer gave Data.
	AnsweredBy wire.RequestID `json:"answeredBy,omitempty"`

	// Properties are the resolved properties the provider last confirmed, as they were sent.
	Properties value.Value `json:"-"`
	// Attempted are the properties of an Update that failed or was cancelled; null if the last one was confirmed.
	Attempted value.Value `json:"-"`
	// Data is what GetAtt reads: the data of the last successful answer, an object or null.
	Data value.Value `json:"-"`
	// Metadata is the resolved Metadata attribute; null if none is declared.
	Metadata value.Value `json:"-"`
}

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

// Request is one asking of a provider.
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
	// Due is when a delayed request becomes ready and a waiting one times out; zero in other states.
	Due time.Time `json:"-"`

	// Cancelled says that its step has moved on: the answer only tells which physical resource there is.
	Cancelled bool `json:"cancelled,omitempty"`
	// Ending is how it was settled, in a word: answered, refused, died, timed out.
	Ending string `json:"ending,omitempty"`

	Created   time.Time `json:"created"`
	Delivered time.Time `json:"delivered,omitzero"`
	Settled   time.Time `json:"settled,omitzero"`

	// Body is written once. In a Delta nil leaves it as it is.
	Body *RequestBody `json:"-"`
}

// RequestBody is the part of a request that does not change: what is sent.
type RequestBody struct {
	Dialect      string            `json:"dialect"`
	StackID      wire.StackID      `json:"stackID"`
	Region       string            `json:"region"`
	Token        wire.ServiceToken `json:"token"`
	ResourceType string            `json:"resourceType"`
	PhysicalID   wire.PhysicalID   `json:"physicalID,omitempty"`
	// Timeout is how long the provider may take, from delivery.
	Timeout time.Duration `json:"timeout"`

	// Properties is always an object; OldProperties is null but for an Update.
	Properties    value.Value `json:"-"`
	OldProperties value.Value `json:"-"`
}

// Event is one thing that happened to a stack or a resource, as shown to people. It holds no secret.
type Event struct {
	ID       string          `json:"id"`
	Logical  wire.LogicalID  `json:"logical"`
	Physical wire.PhysicalID `json:"physical"`
	Type     string          `json:"type"`
	// Of a stack's own event, Kind and Phase are set; of a resource's, Verb and Progress.
	Kind     Kind     `json:"kind,omitempty"`
	Phase    Phase    `json:"phase,omitempty"`
	Verb     Verb     `json:"verb,omitempty"`
	Progress Progress `json:"progress,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	// Properties is the masked JSON of the resource's properties; empty if the event has none.
	Properties string `json:"properties,omitempty"`
	// Operation and Token are the operation's id and the client's token.
	Operation string    `json:"operation"`
	Token     string    `json:"token,omitempty"`
	Time      time.Time `json:"time"`
}

// EventPlace is where an event row stands in its stack's history. Places are compared by Operation, then Number; both
// count from 1.
type EventPlace struct {
	Operation int
	Number    int
}

// EventRow is the events of one transition, oldest first.
type EventRow struct {
	Place  EventPlace
	Events []Event
}

// Audit is something that changed nothing in the stack's history and yet should be known: a late or second answer, an
// answer given by an operator. It holds no secret.
type Audit struct {
	Time    time.Time      `json:"time"`
	Request wire.RequestID `json:"request,omitempty"`
	Logical wire.LogicalID `json:"logical,omitempty"`
	// Text says what happened.
	Text string `json:"text"`
}

// Provider is a provider known by name: what runs behind the service tokens of that name.
type Provider struct {
	Name string `json:"-"`
	// Definition is the provider as its project file or flag defined it, JSON.
	Definition json.RawMessage `json:"-"`
}
