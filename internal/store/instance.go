package store

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

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
	// VerbImport makes an existing resource one of the stack, and VerbImportRollback undoes that: the resource stays.
	VerbImport         Verb = "import"
	VerbImportRollback Verb = "import-rollback"
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
	// Replaced says that it was marked for deletion by a replacement, not by a removal.
	Replaced bool `json:"replaced,omitempty"`
	// Imported says that the resource existed before it became the stack's.
	Imported bool `json:"imported,omitempty"`
	// Tries counts the clean-up Deletes that failed.
	Tries int `json:"tries,omitempty"`

	// Verb, Progress and Reason are the last that happened to it, Changed when.
	Verb     Verb      `json:"verb"`
	Progress Progress  `json:"progress"`
	Reason   string    `json:"reason,omitempty"`
	Changed  time.Time `json:"changed"`
	// Created is when the instance was added to the stack; zero if a version wrote it that did not keep the time.
	Created time.Time `json:"created,omitzero"`
	// FailedBy is the request by which Verb failed; empty if it did not, or no request was sent.
	FailedBy wire.RequestID `json:"failedBy,omitempty"`

	// Left says why it is no longer the stack's, of an orphan and a retained one: what its last Delete failed with, or
	// what kept it from being deleted.
	Left string `json:"left,omitempty"`

	// Stuck says that what failed last was its rollback: it may be skipped.
	Stuck bool `json:"stuck,omitempty"`

	// Body in a Delta is nil where it does not change.
	Body *InstanceBody `json:"-"`
}

// Unborn reports whether the last that is known of an instance is that its Create failed, or the Delete after that: there
// may be something to delete, and nothing to update.
func (i *Instance) Unborn() bool { return i.Progress == ProgressFailed && i.Verb != VerbUpdate }

// InstanceBody is the part of an instance that changes only with a successful answer.
type InstanceBody struct {
	Type string `json:"type"`
	// Timeout is the ServiceTimeout.
	Timeout time.Duration `json:"timeout"`
	// NoEcho says that the provider asked for its data to be hidden; then every scalar in Data is secret.
	NoEcho bool `json:"noEcho,omitempty"`
	// AnsweredBy is the request whose answer gave Data.
	AnsweredBy wire.RequestID `json:"answeredBy,omitempty"`
	// Back says that the last Update asked for the confirmed properties and failed: Attempted are those that it was to leave.
	Back bool `json:"back,omitempty"`
	// Holder, of an imported resource, is who held it before, and ImportedBy the request of the import. Both are empty if an earlier version
	// of Pintle imported it.
	Holder     string         `json:"holder,omitempty"`
	ImportedBy wire.RequestID `json:"importedBy,omitempty"`
	// Tags are the tags of the stack that a native resource confirmed last with its Properties. They are nil, and not known, if its type
	// has none, if an import or an earlier version of Pintle made the resource, and until its next update.
	Tags []Tag `json:"tags,omitzero"`
	// Signals are those that were sent to the resource, in the order in which they came.
	Signals []Signal `json:"signals,omitempty"`

	// Token is the service token, a string; null if the type is a native one. It may be secret: a URL can hold a password.
	Token value.Value `json:"-"`
	// Properties are the resolved properties the provider last confirmed, as they were sent.
	Properties value.Value `json:"-"`
	// Attempted are the properties of an Update that failed or was cancelled; null if the last one was confirmed.
	Attempted value.Value `json:"-"`
	// Data is what GetAtt reads: the data of the last successful answer, an object or null.
	Data value.Value `json:"-"`
	// Metadata is the resolved Metadata attribute; null if none is declared.
	Metadata value.Value `json:"-"`
	// Ref is what Ref of the resource returns if that is not the physical id; null if it is.
	Ref value.Value `json:"-"`
	// HTTPConfig is how the provider behind a URL is called, of ROS: an object, null for none. Its SignKey may be secret.
	HTTPConfig value.Value `json:"-"`
}
