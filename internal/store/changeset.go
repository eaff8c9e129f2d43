package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// ChangeSetID identifies a change set: its ARN, always unique.
type ChangeSetID string

// ChangeSetState is what became of a change set. It is settled from the first, but for one with macros.
type ChangeSetState string

// The states of change sets. Whether an available one can still be executed is told by its Base, and how the execution
// of an executed one went by its operation.
const (
	// ChangeSetPreparing waits for the macros of its template: what it would change is not known yet.
	ChangeSetPreparing ChangeSetState = "preparing"
	// ChangeSetAvailable waits to be executed.
	ChangeSetAvailable ChangeSetState = "available"
	// ChangeSetFailed cannot be executed: Reason says why.
	ChangeSetFailed ChangeSetState = "failed"
	// ChangeSetExecuted has begun its Operation.
	ChangeSetExecuted ChangeSetState = "executed"
)

// ChangeSet is a create or an update that is planned: the inputs it was made with, frozen, and what they would change.
type ChangeSet struct {
	Stack StackKey    `json:"-"`
	ID    ChangeSetID `json:"-"`
	// Name is unique within the stack. It is the ID if another change set has taken its name.
	Name string `json:"-"`
	// FreedName is the name that it was created with, if another change set has taken that; else empty.
	FreedName string `json:"freedName,omitempty"`

	// StackID is that of its stack.
	StackID wire.StackID `json:"stackId"`
	// Kind is KindCreate or KindUpdate.
	Kind  Kind           `json:"kind"`
	State ChangeSetState `json:"state"`
	// Reason says why it failed, or what is to be known of an available one. It holds no secret.
	Reason      string `json:"reason,omitempty"`
	Description string `json:"description,omitempty"`
	// Token is the client's own for the creation.
	Token   string    `json:"token,omitempty"`
	Created time.Time `json:"created"`

	// Base is the number of the stack's newest operation when the set was made: once there is another, an available set
	// is obsolete.
	Base int `json:"base"`
	// Operation is the number of the one that its execution began, and OperationID its id; 0 and "" before.
	Operation   int    `json:"operation,omitempty"`
	OperationID string `json:"operationID,omitempty"`
	// OnFailure is what the client wants done if the execution fails: DO_NOTHING, ROLLBACK, DELETE, or "" for nothing
	// said.
	OnFailure string `json:"onFailure,omitempty"`
	// DisableRollback leaves a stack that failed as it is, unless OnFailure or the execution says otherwise.
	DisableRollback bool `json:"disableRollback,omitempty"`
	// IncludeNested says that the client asked for the sets of nested stacks too.
	IncludeNested bool `json:"includeNested,omitempty"`
	// Import is that of the operation that executes the set, see [Operation]. ImportExisting says that the client asked for resources
	// to be imported that the set adds and that exist already.
	Import         bool `json:"import,omitempty"`
	ImportExisting bool `json:"importExisting,omitempty"`

	// Parent and Root are the change sets of the stack that its stack is nested in and of the outermost one; empty for one that was
	// made by itself. Nested are the change sets of nested stacks that were made with this one.
	Parent ChangeSetID       `json:"parent,omitempty"`
	Root   ChangeSetID       `json:"root,omitempty"`
	Nested []NestedChangeSet `json:"nested,omitempty"`

	// Body in a Delta is nil where it does not change; it is nil in a view and in a list.
	Body *ChangeSetBody `json:"-"`
}

// NestedChangeSet is the change set of a nested stack.
type NestedChangeSet struct {
	// Logical is the resource that is the nested stack.
	Logical wire.LogicalID `json:"logical"`
	ID      ChangeSetID    `json:"id"`
	// Stack is the nested stack; one that is to be created exists already, without resources.
	Stack wire.StackID `json:"stack"`
}

// ChangeSetBody is the large part of a change set, which does not change once it is prepared.
type ChangeSetBody struct {
	// Revision is what the stack is to go to. Its Stack and Number are 0: it has none before it is executed.
	Revision     Revision `json:"revision"`
	Capabilities []string `json:"capabilities,omitempty"`
	RoleARN      string   `json:"roleARN,omitempty"`
	// Replace, Taint, Revert and Parallelism are those of the operation that executes it, see [Operation], and TimeoutMinutes is how long
	// that may take.
	Replace        bool             `json:"replace,omitempty"`
	Taint          []wire.LogicalID `json:"taint,omitempty"`
	RevertDrift    bool             `json:"revertDrift,omitempty"`
	Revert         []wire.LogicalID `json:"revert,omitempty"`
	Parallelism    int              `json:"parallelism,omitempty"`
	TimeoutMinutes int              `json:"timeoutMinutes,omitempty"`
	// Imports are those of the operation too.
	Imports map[wire.LogicalID]Import `json:"imports,omitempty"`
	// Listed has the identifiers of resources that the client listed, as JSON.
	Listed json.RawMessage `json:"listed,omitempty"`
	// Policy is the stack policy from that operation on, JSON; empty leaves the stack's own.
	Policy string `json:"policy,omitempty"`
	// Changes is the list of changes as JSON, secrets masked.
	Changes json.RawMessage `json:"changes,omitempty"`
}

// GivenName returns the name that the change set was created with.
func (c *ChangeSet) GivenName() string { return cmp.Or(c.FreedName, c.Name) }

// FreeName lets another change set take the name. Only the ID finds this one from then on.
func (c *ChangeSet) FreeName() { c.FreedName, c.Name = c.GivenName(), string(c.ID) }

// check reports a change set that no decision may write.
func (c *ChangeSet) check(key StackKey) error {
	if c.Stack != key || c.ID == "" || c.Name == "" {
		return fmt.Errorf("change set %q of stack %d: the decision is about stack %d, and a change set needs an id and a name", c.ID, c.Stack, key)
	}
	legal := false
	switch c.State {
	case ChangeSetPreparing, ChangeSetAvailable, ChangeSetFailed:
		legal = c.Operation == 0
	case ChangeSetExecuted:
		legal = c.Operation > 0
	}
	if !legal {
		return fmt.Errorf("change set %q: it cannot be %q with operation %d", c.ID, c.State, c.Operation)
	}
	return nil
}
