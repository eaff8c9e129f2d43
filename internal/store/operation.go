package store

import (
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Kind is what an operation does to its stack.
type Kind string

// The kinds of operations.
const (
	KindCreate Kind = "create"
	KindUpdate Kind = "update"
	KindDelete Kind = "delete"
	// KindReview makes a stack that holds only change sets to create it by. It ends as it begins.
	KindReview Kind = "review"
	// KindImport is what an import is shown as: see [Operation.Import]. No operation is of this kind.
	KindImport Kind = "import"
)

// Call is what a client asked for: operations of one kind may be asked for in several ways.
type Call string

// The calls that clients make.
const (
	CallCreate Call = "create"
	CallUpdate Call = "update"
	CallDelete Call = "delete"
	// CallContinue continues the rollback of an update that could not be rolled back.
	CallContinue Call = "continue"
	// CallRollback rolls back a create or an update that failed and was left as it was.
	CallRollback Call = "rollback"
	// CallCancel begins no operation of its own: it makes an update that is under way roll back.
	CallCancel Call = "cancel"
	// CallContinueCreate continues a create that failed and was left as it was.
	CallContinueCreate Call = "continue-create"
	// CallReview is a change set to create a stack that was not there.
	CallReview Call = "review"
)

// Phase is how far an operation has come. The dialect renders kind and phase as the stack's status.
type Phase string

// The phases. The last four are final.
const (
	// PhasePrepare runs the macros of the template, before which no one knows what is to be done.
	PhasePrepare Phase = "prepare"
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

// Final reports whether an operation in this phase has finished.
func (p Phase) Final() bool {
	switch p {
	case PhaseSucceeded, PhaseFailed, PhaseReverted, PhaseRevertFailed:
		return true
	case PhasePrepare, PhaseApply, PhaseCleanup, PhaseRevert, PhaseRevertCleanup:
	}
	return false
}

// Operation is one create, update or delete of a stack, its rollback included.
type Operation struct {
	Stack StackKey `json:"-"`
	// Number counts the operations of the stack from 1.
	Number int `json:"-"`
	// Version counts the decisions that wrote this row: the fence against a decision made on an older state.
	Version int64 `json:"-"`

	Call Call `json:"call"`
	// Kind is what the operation does; a create that failed and is to be deleted becomes a delete.
	Kind  Kind  `json:"kind"`
	Phase Phase `json:"phase"`
	// From and To are revision numbers: what the stack was when it last stood, and is to be. 0 is nothing.
	From int `json:"from"`
	To   int `json:"to"`
	// Tried are further revisions, newest first, of which there may be instances: operations went for them that failed and
	// were left, or of a delete the other side of an update that was not finished.
	Tried []int `json:"tried,omitempty"`

	// ID is the operation id shown to clients, a UUID; Token the client's own.
	ID    string `json:"id"`
	Token string `json:"token,omitempty"`
	// RollbackID is the operation id of the rollback, empty until one begins; RollbackToken the client's own if a client
	// asked for it while the operation ran.
	RollbackID    string `json:"rollbackID,omitempty"`
	RollbackToken string `json:"rollbackToken,omitempty"`

	// Trace is the trace that the call belongs to which asked for the operation, a W3C traceparent; empty for none.
	Trace string `json:"trace,omitempty"`
	// Caller is who asked for the operation, as requests of ROS tell it; empty in other dialects.
	Caller string `json:"caller,omitempty"`
	// Replace says that what cannot be updated is deleted and created again, and Taint which resources are whatever has changed.
	Replace bool             `json:"replace,omitempty"`
	Taint   []wire.LogicalID `json:"taint,omitempty"`
	// Revert are resources that drifted: they are updated to what is declared, though that has not changed.
	Revert []wire.LogicalID `json:"revert,omitempty"`
	// Import says that the operation imports resources and does nothing else: it is a create or an update that is shown as an
	// import and always rolled back if it fails. Imports are the existing resources that become those of the stack, by logical ID;
	// any create or update may have some.
	Import  bool                      `json:"import,omitempty"`
	Imports map[wire.LogicalID]Import `json:"imports,omitempty"`
	// Parallelism bounds how many resources are in progress at once; 0 does not.
	Parallelism int `json:"parallelism,omitempty"`

	DisableRollback bool `json:"disableRollback,omitempty"`
	// DeleteOnFailure deletes a stack whose create failed.
	DeleteOnFailure bool `json:"deleteOnFailure,omitempty"`
	// RetainExceptOnCreate says that a rollback deletes what the operation created, though its policy is Retain.
	RetainExceptOnCreate bool `json:"retainExceptOnCreate,omitempty"`
	// Force says that a resource which fails does not hold the operation up: a delete leaves it behind, a rollback takes
	// it as rolled back.
	Force bool `json:"force,omitempty"`

	// Parent says for whom it is done, of an operation that a parent has asked for; nil for all others.
	Parent *Parent `json:"parent,omitempty"`
	// Held says that it waits, at the beginning of a clean-up, for its parent to let it continue. It then counts as running.
	Held bool `json:"held,omitempty"`
	// Retry says that an update whose template is being prepared retries a failed operation. Until then From, To and
	// Tried are still those of the previous operation.
	Retry bool `json:"anew,omitempty"`

	// Expired says that the operation was given up because its time was over.
	Expired bool `json:"expired,omitempty"`

	// Running counts the steps at work in this phase: it ends when none is.
	Running int `json:"running"`
	// Events counts the event rows written.
	Events int `json:"events"`
	// Instances is the highest instance number given to the stack so far, and Stood what it was when the stack last stood:
	// later ones came to be by what a rollback undoes.
	Instances int `json:"instances"`
	Stood     int `json:"stood,omitempty"`
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
	// RollbackStarted is the time of the event with which the rollback began; zero until one does.
	RollbackStarted time.Time `json:"rollbackStarted,omitzero"`
}

// Import names an existing resource that becomes a resource of a stack.
type Import struct {
	ID wire.PhysicalID `json:"id"`
	// Holder is the resource's holder at the time of the lookup, see package registry. The import fails if the holder has changed
	// since.
	Holder string `json:"holder,omitempty"`
}

// Shown returns the kind that people see.
func (o *Operation) Shown() Kind {
	if o.Import && o.Kind != KindDelete {
		return KindImport
	}
	return o.Kind
}

// NewIDs returns the operation ids by which o is to be found and was not before: those that a store has to index when it
// writes o. before is what the stack's newest operation was, o itself or an earlier one; zero if there was none.
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
