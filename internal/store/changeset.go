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

// ChangeSetState is the state of a change set. A set whose template has no macros starts in its final or available
// state.
type ChangeSetState string

// The states of change sets. An available set can be executed only if its Base is still the newest operation. The
// result of an executed set is that of its operation.
const (
	// ChangeSetPreparing waits for the macros of its template: its changes are not known yet.
	ChangeSetPreparing ChangeSetState = "preparing"
	// ChangeSetAvailable waits to be executed.
	ChangeSetAvailable ChangeSetState = "available"
	// ChangeSetFailed cannot be executed: Reason says why.
	ChangeSetFailed ChangeSetState = "failed"
	// ChangeSetExecuted has begun its Operation.
	ChangeSetExecuted ChangeSetState = "executed"
)

// ChangeSet is a planned create or update: its frozen inputs and the changes that they would make.
type ChangeSet struct {
	Stack StackKey    `json:"-"`
	ID    ChangeSetID `json:"-"`
	// Name is unique within the stack. It is the ID if another change set has taken its name.
	Name string `json:"-"`
	// FreedName is the name that it was created with, if another change set has taken that name; otherwise empty.
	FreedName string `json:"freedName,omitempty"`

	// StackID is the ID of its stack.
	StackID wire.StackID `json:"stackId"`
	// Kind is KindCreate or KindUpdate.
	Kind  Kind           `json:"kind"`
	State ChangeSetState `json:"state"`
	// Reason says why it failed, or holds a note about an available one. It holds no secret.
	Reason      string `json:"reason,omitempty"`
	Description string `json:"description,omitempty"`
	// Token is the token that the client chose for the creation.
	Token   string    `json:"token,omitempty"`
	Created time.Time `json:"created"`

	// Base is the number of the stack's newest operation when the set was made. Once a newer operation exists, an
	// available set is obsolete.
	Base int `json:"base"`
	// Operation is the number of the operation that executes the set, and OperationID its ID; 0 and "" before the
	// execution.
	Operation   int    `json:"operation,omitempty"`
	OperationID string `json:"operationID,omitempty"`
	// OnFailure is the action the client requested for a failed execution: DO_NOTHING, ROLLBACK, DELETE, or "" if it
	// requested none.
	OnFailure string `json:"onFailure,omitempty"`
	// DisableRollback leaves a failed stack as it is, unless OnFailure or the execution says otherwise.
	DisableRollback bool `json:"disableRollback,omitempty"`
	// IncludeNested says that the client also asked for the change sets of nested stacks.
	IncludeNested bool `json:"includeNested,omitempty"`
	// Import is the Import field of the operation that executes the set, see [Operation]. ImportExisting says that the
	// client asked to import resources that the set adds and that already exist.
	Import         bool `json:"import,omitempty"`
	ImportExisting bool `json:"importExisting,omitempty"`

	// Parent is the change set of the parent stack, and Root that of the outermost stack. Both are empty for a set that
	// was made by itself. Nested are the change sets of nested stacks that were made with this one.
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
	// Stack is the nested stack. A stack that is still to be created already exists, without resources.
	Stack wire.StackID `json:"stack"`
}

// ChangeSetBody is the large part of a change set, which does not change once it is prepared.
type ChangeSetBody struct {
	// Revision is the target of the stack. Its Stack and Number are 0 until the set is executed.
	Revision     Revision `json:"revision"`
	Capabilities []string `json:"capabilities,omitempty"`
	RoleARN      string   `json:"roleARN,omitempty"`
	// Replace, Taint and Parallelism are those of the operation that executes the set, see [Operation]. Revert is its
	// Forced. TimeoutMinutes is the time limit of that operation.
	Replace        bool             `json:"replace,omitempty"`
	Taint          []wire.LogicalID `json:"taint,omitempty"`
	RevertDrift    bool             `json:"revertDrift,omitempty"`
	Revert         []wire.LogicalID `json:"revert,omitempty"`
	Parallelism    int              `json:"parallelism,omitempty"`
	TimeoutMinutes int              `json:"timeoutMinutes,omitempty"`
	// Imports are also those of that operation.
	Imports map[wire.LogicalID]Import `json:"imports,omitempty"`
	// Listed holds the resource identifiers that the client listed, as JSON.
	Listed json.RawMessage `json:"listed,omitempty"`
	// Policy is the stack policy that applies from that operation on, as JSON; empty keeps the stack's own.
	Policy string `json:"policy,omitempty"`
	// Changes is the list of changes as JSON, secrets masked.
	Changes json.RawMessage `json:"changes,omitempty"`
}

// GivenName returns the name that the change set was created with.
func (c *ChangeSet) GivenName() string { return cmp.Or(c.FreedName, c.Name) }

// FreeName lets another change set take the name. From then on, this one is found only by its ID.
func (c *ChangeSet) FreeName() { c.FreedName, c.Name = c.GivenName(), string(c.ID) }

// check returns an error for a change set that no decision may write.
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
