package store

import (
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Kind is the kind of an operation.
type Kind string

// The kinds of operations.
const (
	KindCreate Kind = "create"
	KindUpdate Kind = "update"
	KindDelete Kind = "delete"
	// KindReview creates a stack that holds only change sets for its creation. It ends as it begins.
	KindReview Kind = "review"
	// KindImport is the kind that people see for an import: see [Operation.Import]. No operation has this kind.
	KindImport Kind = "import"
)

// Call is the API call of a client: several calls can start operations of one kind.
type Call string

// The values of [Call].
const (
	CallCreate Call = "create"
	CallUpdate Call = "update"
	CallDelete Call = "delete"
	// CallContinue continues the rollback of an update that could not be rolled back.
	CallContinue Call = "continue"
	// CallRollback rolls back a failed create or update that was not rolled back.
	CallRollback Call = "rollback"
	// CallCancel begins no operation of its own: it rolls back an update that is in progress.
	CallCancel Call = "cancel"
	// CallContinueCreate continues a failed create that was not rolled back.
	CallContinueCreate Call = "continue-create"
	// CallReview creates a change set for a stack that does not exist yet.
	CallReview Call = "review"
)

// Phase is the phase of an operation. The dialect renders kind and phase as the stack's status.
type Phase string

// The phases. The last four are final.
const (
	// PhasePrepare runs the macros of the template. Before that, the changes are not known.
	PhasePrepare Phase = "prepare"
	// PhaseApply creates, updates and deletes resources to reach the operation's target.
	PhaseApply Phase = "apply"
	// PhaseCleanup deletes the resources that an update replaced or removed.
	PhaseCleanup Phase = "cleanup"
	// PhaseRevert undoes a create or an update that failed.
	PhaseRevert Phase = "revert"
	// PhaseRevertCleanup deletes the resources that a failed update created.
	PhaseRevertCleanup Phase = "revert-cleanup"
	// PhaseSucceeded ends an operation that reached its target.
	PhaseSucceeded Phase = "succeeded"
	// PhaseFailed ends an operation that failed and was not undone.
	PhaseFailed Phase = "failed"
	// PhaseReverted ends an operation that failed and was undone.
	PhaseReverted Phase = "reverted"
	// PhaseRevertFailed ends an operation that failed and could not be undone.
	PhaseRevertFailed Phase = "revert-failed"
)

// Final reports whether an operation in this phase has finished.
func (p Phase) Final() bool {
	switch p {
	case PhaseSucceeded, PhaseFailed, PhaseReverted, PhaseRevertFailed:
		return true
	case PhasePrepare, PhaseApply, PhaseCleanup, PhaseRevert, PhaseRevertCleanup:
	}
	return false
}

// Operation is one create, update or delete of a stack, including its rollback.
type Operation struct {
	Stack StackKey `json:"-"`
	// Number counts the operations of the stack from 1.
	Number int `json:"-"`
	// Version counts the decisions that wrote this row. It fences off decisions made on an older state.
	Version int64 `json:"-"`

	Call Call `json:"call"`
	// Kind is the kind of the operation. A create that failed and is then deleted becomes a delete.
	Kind  Kind  `json:"kind"`
	Phase Phase `json:"phase"`
	// From and To are the numbers of the last complete revision and of the target revision. 0 means no revision.
	From int `json:"from"`
	To   int `json:"to"`
	// Tried are further revisions, newest first, that may have instances. They were the targets of failed operations
	// that were not rolled back. In a delete they include the other side of an unfinished update.
	Tried []int `json:"tried,omitempty"`

	// ID is the operation ID that clients see, a UUID. Token is the client's own token.
	ID    string `json:"id"`
	Token string `json:"token,omitempty"`
	// RollbackID is the operation ID of the rollback, empty until one begins. RollbackToken is the client's token if a
	// client requested the rollback while the operation ran.
	RollbackID    string `json:"rollbackID,omitempty"`
	RollbackToken string `json:"rollbackToken,omitempty"`

	// Trace is the W3C traceparent of the call that started the operation; empty for none.
	Trace string `json:"trace,omitempty"`
	// Caller is the caller that started the operation, as requests of ROS report it; empty in other dialects.
	Caller string `json:"caller,omitempty"`
	// Replace deletes and creates again resources that cannot be updated. Taint lists resources that are always
	// replaced.
	Replace bool             `json:"replace,omitempty"`
	Taint   []wire.LogicalID `json:"taint,omitempty"`
	// Forced are resources that are updated to their declaration even if that has not changed: they drifted, or the
	// client asked for it.
	Forced []wire.LogicalID `json:"revert,omitempty"`
	// Import says that the operation only imports resources. It is a create or an update that is shown as an import and
	// always rolled back if it fails. Imports are the existing resources to add to the stack, by logical ID; any create
	// or update may have some.
	Import  bool                      `json:"import,omitempty"`
	Imports map[wire.LogicalID]Import `json:"imports,omitempty"`
	// Parallelism limits how many resources are in progress at once; 0 means no limit.
	Parallelism int `json:"parallelism,omitempty"`

	DisableRollback bool `json:"disableRollback,omitempty"`
	// DeleteOnFailure deletes a stack whose create failed.
	DeleteOnFailure bool `json:"deleteOnFailure,omitempty"`
	// RetainExceptOnCreate says that a rollback deletes the resources that the operation created, even if their policy
	// is Retain.
	RetainExceptOnCreate bool `json:"retainExceptOnCreate,omitempty"`
	// Force continues after a resource fails: a delete leaves it behind, a rollback treats it as rolled back.
	Force bool `json:"force,omitempty"`

	// Parent is the parent's request that the operation belongs to; nil for an operation that no parent started.
	Parent *Parent `json:"parent,omitempty"`
	// Held says that the operation waits at the beginning of a clean-up until its parent releases it. It still counts
	// as running.
	Held bool `json:"held,omitempty"`
	// Retry says that an update whose template is being prepared retries a failed operation. Until then From, To and
	// Tried are still those of the previous operation.
	Retry bool `json:"anew,omitempty"`

	// Expired says that the operation was stopped by its time limit.
	Expired bool `json:"expired,omitempty"`

	// Running counts the steps in progress in this phase, which ends when it reaches 0.
	Running int `json:"running"`
	// Events counts the event rows written.
	Events int `json:"events"`
	// Instances is the highest instance number of the stack so far. Stood is that number when the stack was last
	// complete: a rollback undoes the creation of later instances.
	Instances int `json:"instances"`
	Stood     int `json:"stood,omitempty"`
	// FailedCreates, FailedUpdates and FailedDeletes are the resources that failed in this phase, in order of failure.
	FailedCreates []wire.LogicalID `json:"failedCreates,omitempty"`
	FailedUpdates []wire.LogicalID `json:"failedUpdates,omitempty"`
	FailedDeletes []wire.LogicalID `json:"failedDeletes,omitempty"`
	// Orphaned says that a clean-up abandoned a resource.
	Orphaned bool `json:"orphaned,omitempty"`

	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Earliest and Latest bound the times of its events. No event of an operation is earlier than an event of the
	// operation before, even if the clock goes back.
	Earliest time.Time `json:"earliest"`
	Latest   time.Time `json:"latest"`
	// RollbackStarted is the time of the event with which the rollback began; zero before that.
	RollbackStarted time.Time `json:"rollbackStarted,omitzero"`
}

// Import names an existing resource that becomes a resource of a stack.
type Import struct {
	ID wire.PhysicalID `json:"id"`
	// Holder is the resource's holder at the time of the lookup, see package registry. The import fails if the holder
	// has changed since.
	Holder string `json:"holder,omitempty"`
	// Identifier has the values of the properties that identify the resource, if another endpoint provides its type;
	// otherwise nil.
	Identifier map[string]string `json:"identifier,omitempty"`
}

// Shown returns the kind that people see.
func (o *Operation) Shown() Kind {
	if o.Import && o.Kind != KindDelete {
		return KindImport
	}
	return o.Kind
}

// NewIDs returns the new operation IDs of o, which a store must index when it writes o. The argument before is the
// stack's newest operation before the write, an older state of o or an earlier operation; zero for none.
func (o *Operation) NewIDs(before *Operation) []string {
	known := *before
	if known.Number != o.Number {
		known = Operation{}
	}
	var ids []string
	if o.ID != "" && o.ID != known.ID {
		ids = append(ids, o.ID)
	}
	if o.RollbackID != "" && o.RollbackID != known.RollbackID {
		ids = append(ids, o.RollbackID)
	}
	return ids
}
