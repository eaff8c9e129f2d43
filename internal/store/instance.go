package store

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Role is the role of an instance in its stack.
type Role string

// The roles of an instance.
const (
	// RoleCurrent is the instance that the logical ID refers to.
	RoleCurrent Role = "current"
	// RoleCondemned was replaced or removed. The next clean-up deletes it.
	RoleCondemned Role = "condemned"
	// RoleOrphan could not be deleted: it may still exist, but the stack has abandoned it.
	RoleOrphan Role = "orphan"
	// RoleRetained was left in place by its policy.
	RoleRetained Role = "retained"
	// RoleGone was deleted or never created.
	RoleGone Role = "gone"
)

// Verb is an action on a resource.
type Verb string

// The verbs.
const (
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	VerbDelete Verb = "delete"
	// VerbImport adds an existing resource to the stack. VerbImportRollback undoes that; the resource itself stays.
	VerbImport         Verb = "import"
	VerbImportRollback Verb = "import-rollback"
)

// Progress is the progress of a verb.
type Progress string

// The values of [Progress].
const (
	ProgressRunning   Progress = "running"
	ProgressSucceeded Progress = "succeeded"
	ProgressFailed    Progress = "failed"
	ProgressSkipped   Progress = "skipped"
)

// Instance is one physical resource. A logical ID has none, one, or several at once during a replacement.
type Instance struct {
	Stack StackKey `json:"-"`
	// Number counts the instances of the stack from 1.
	Number  int            `json:"-"`
	Logical wire.LogicalID `json:"-"`
	Role    Role           `json:"-"`

	// PhysicalID is empty until the provider returned one.
	PhysicalID wire.PhysicalID `json:"physicalID,omitempty"`
	// Reached says that a request for it may have reached the provider. Only then is there a resource to delete.
	Reached bool `json:"reached,omitempty"`
	// Shown says that lists still show a gone instance for its logical ID.
	Shown bool `json:"shown,omitempty"`
	// Replaced says that it was marked for deletion by a replacement, not by a removal.
	Replaced bool `json:"replaced,omitempty"`
	// Imported says that the resource existed before it was added to the stack.
	Imported bool `json:"imported,omitempty"`
	// Tries counts the failed clean-up Deletes.
	Tries int `json:"tries,omitempty"`

	// Verb, Progress and Reason describe the last action on it, and Changed is the time of that.
	Verb     Verb      `json:"verb"`
	Progress Progress  `json:"progress"`
	Reason   string    `json:"reason,omitempty"`
	Changed  time.Time `json:"changed"`
	// Created is when the instance was added to the stack; zero if a version of Pintle that did not record the time
	// wrote it.
	Created time.Time `json:"created,omitzero"`
	// FailedBy is the request with which Verb failed; empty if it did not fail, or no request was sent.
	FailedBy wire.RequestID `json:"failedBy,omitempty"`

	// Left says why an orphaned or retained instance no longer belongs to the stack: the error of its last Delete, or
	// the obstacle to its deletion.
	Left string `json:"left,omitempty"`

	// Stuck says that its rollback failed: the rollback may skip it.
	Stuck bool `json:"stuck,omitempty"`

	// Body in a Delta is nil where it does not change.
	Body *InstanceBody `json:"-"`
}

// Unborn reports whether the Create of an instance, or the Delete after that, failed last. There may be a resource to
// delete, but none to update.
func (i *Instance) Unborn() bool { return i.Progress == ProgressFailed && i.Verb != VerbUpdate }

// InstanceBody is the part of an instance that changes only with a successful answer.
type InstanceBody struct {
	Type string `json:"type"`
	// Timeout is the ServiceTimeout.
	Timeout time.Duration `json:"timeout"`
	// NoEcho says that the provider asked for its data to be hidden; then every scalar in Data is secret.
	NoEcho bool `json:"noEcho,omitempty"`
	// AnsweredBy is the request whose answer contained Data.
	AnsweredBy wire.RequestID `json:"answeredBy,omitempty"`
	// Back says that the last Update requested the confirmed properties again and failed. Attempted are the properties
	// that it was to replace.
	Back bool `json:"back,omitempty"`
	// Former is what the rollback of a forced Update restores, see [Operation.Forced]. It is zero if there is nothing to
	// restore.
	Former FormerAnswer `json:"former,omitzero"`
	// Holder is the previous holder of an imported resource, and ImportedBy the request of the import. Both are empty
	// if an earlier version of Pintle imported the resource.
	Holder     string         `json:"holder,omitempty"`
	ImportedBy wire.RequestID `json:"importedBy,omitempty"`
	// Tags are the stack's tags that a native resource last confirmed with its Properties. They are nil, and unknown,
	// if the type has no tags. The same is true until the next update if an import or an earlier version of Pintle
	// added the resource.
	Tags []Tag `json:"tags,omitzero"`
	// Signals are the signals sent to the resource, in order of arrival.
	Signals []Signal `json:"signals,omitempty"`
	// Forwarded is that of the last confirmed request; nil if no other endpoint provides the type. It is replaced, not
	// changed.
	Forwarded *Forwarded `json:"forwarded,omitempty"`

	// Token is the service token, a string; null for a native type. It may be secret: a URL can contain a password.
	Token value.Value `json:"-"`
	// Properties are the resolved properties that the provider last confirmed, as they were sent.
	Properties value.Value `json:"-"`
	// Attempted are the properties of an Update that failed or was cancelled; null if the last Update was confirmed.
	Attempted value.Value `json:"-"`
	// Data is the data of the last successful answer, which GetAtt reads: an object or null.
	Data value.Value `json:"-"`
	// Metadata is the resolved Metadata attribute; null if none is declared.
	Metadata value.Value `json:"-"`
	// Ref is the value of Ref for the resource if it differs from the physical ID; otherwise null.
	Ref value.Value `json:"-"`
	// HTTPConfig says how to call the ROS provider behind a URL: an object, or null. Its SignKey may be secret.
	HTTPConfig value.Value `json:"-"`
	// FormerData is the Data that belongs to Former.
	FormerData value.Value `json:"-"`
}

// FormerAnswer describes the attributes that a resource had before an Update that did not change its properties. No
// other Update can undo such a change, because its properties would be equal too.
type FormerAnswer struct {
	// Revision is the last complete revision of the stack when the Update was confirmed. Only a rollback to it restores
	// the attributes.
	Revision int `json:"revision"`
	// NoEcho and AnsweredBy are those of [InstanceBody].
	NoEcho     bool           `json:"noEcho,omitempty"`
	AnsweredBy wire.RequestID `json:"answeredBy,omitempty"`
}
