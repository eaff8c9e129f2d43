package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
)

// maxChangeSets is the maximum number of change sets of a stack. The limit is Pintle's own: decisions on the whole
// stack load all of them.
const maxChangeSets = 100

// Execution is the execution status of a change set.
type Execution string

// The executions.
const (
	// ExecutionUnavailable is the status of a set that failed or is being created.
	ExecutionUnavailable Execution = "unavailable"
	ExecutionAvailable   Execution = "available"
	// ExecutionObsolete is the status of a set whose stack has changed since.
	ExecutionObsolete  Execution = "obsolete"
	ExecutionRunning   Execution = "running"
	ExecutionSucceeded Execution = "succeeded"
	ExecutionFailed    Execution = "failed"
)

// executionOf derives the status from the stack and from the operation that the set began, if any.
func executionOf(c *store.ChangeSet, stack *store.Stack, op *store.Operation) Execution {
	switch c.State {
	case store.ChangeSetPreparing, store.ChangeSetFailed:
		return ExecutionUnavailable
	case store.ChangeSetAvailable:
		if c.Base != stack.Operation {
			return ExecutionObsolete
		}
		return ExecutionAvailable
	case store.ChangeSetExecuted:
	}
	switch {
	case !op.Phase.Final():
		return ExecutionRunning
	case op.Phase == store.PhaseSucceeded && op.Kind != store.KindDelete:
		return ExecutionSucceeded
	}
	return ExecutionFailed
}

// ChangeSetRef identifies a change set by its name and its stack's name or ID, or by its own ID alone.
type ChangeSetRef struct {
	// Ref is the stack. Its Stack may be empty if Name is an ID.
	Ref
	// Name is the name or the ARN. With ByID it is the ID of a ROS change set, a UUID.
	Name string
}

// ChangeSet is a change set as clients see it.
type ChangeSet struct {
	store.ChangeSet
	// Owner is the stack of the change set.
	Owner     store.Stack
	Execution Execution
}

// Change is the effect of a change set or a preview on one resource.
type Change = plan.Change

// ChangeDetail is one changed part of a resource and one reason for the change.
type ChangeDetail = plan.Detail

// Changes returns the changes of the set, with secrets masked. It needs the body.
func (c *ChangeSet) Changes() ([]Change, error) {
	var list []Change
	if err := json.Unmarshal(c.Body.Changes, &list); err != nil {
		return nil, fmt.Errorf("read the changes of %s: %w", c.ID, err)
	}
	return list, nil
}

// ChangeSet returns a change set with its body. Errors that the client can fix are of type [Error].
func (p Planner) ChangeSet(ctx context.Context, ref ChangeSetRef) (ChangeSet, error) {
	row, stack, err := p.findChangeSet(ctx, ref)
	if err != nil {
		return ChangeSet{}, err
	}
	return p.shown(ctx, row, stack)
}

// findChangeSet returns a change set with its body, and its stack.
func (p Planner) findChangeSet(ctx context.Context, ref ChangeSetRef) (row store.ChangeSet, stack store.Stack, err error) {
	if ref.ByID || strings.HasPrefix(ref.Name, "arn:") {
		if row, err = p.store.ChangeSet(ctx, store.ChangeSetID(ref.Name)); err == nil {
			stack, err = p.store.Stack(ctx, row.StackID)
		}
		meant := stack.Account == ref.Account && stack.Region == ref.Region &&
			(ref.Stack == "" || ref.Stack == stack.Name || ref.Stack == string(stack.ID))
		if errors.Is(err, store.ErrNotFound) || err == nil && !meant {
			err = ref.dialect().refusals().noChangeSet(ref.Name)
		}
		return row, stack, err
	}
	if ref.Stack == "" {
		return row, stack, invalid("StackName must be specified if ChangeSetName is not specified as an ARN.")
	}
	if stack, err = p.Find(ctx, ref.Ref); errors.Is(err, store.ErrNotFound) {
		return row, stack, noStack(ref.Ref)
	} else if err != nil {
		return row, stack, err
	}
	if row, err = p.named(ctx, &stack, ref.Name); errors.Is(err, store.ErrNotFound) {
		err = ref.dialect().refusals().noChangeSet(ref.Name)
	}
	return row, stack, err
}

// shown returns a change set with its execution status.
func (p Planner) shown(ctx context.Context, row store.ChangeSet, stack store.Stack) (ChangeSet, error) {
	var op store.Operation
	if row.Operation > 0 {
		var err error
		if op, err = p.store.Operation(ctx, row.Stack, row.Operation); err != nil {
			return ChangeSet{}, err
		}
	}
	return ChangeSet{ChangeSet: row, Owner: stack, Execution: executionOf(&row, &stack, &op)}, nil
}

// ChangeSets returns the change sets of a stack without their bodies, oldest first; there are at most 100. In
// CloudFormation the list omits executed change sets; their ARNs still find them.
func (p Planner) ChangeSets(ctx context.Context, stack store.Stack) ([]ChangeSet, error) {
	rows, err := p.store.ChangeSets(ctx, stack.Key)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row store.ChangeSet) bool { return !holdsName(&row, dialectOf(&stack)) })
	list := make([]ChangeSet, len(rows))
	for i, row := range rows {
		if list[i], err = p.shown(ctx, row, stack); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// named returns the change set of a stack by its name, or [store.ErrNotFound]. A change set that holds the name takes
// precedence, then the one executed last. So a client that repeats a call by name finds the change set that it has
// just executed.
func (p Planner) named(ctx context.Context, stack *store.Stack, name string) (store.ChangeSet, error) {
	rows, err := p.store.ChangeSets(ctx, stack.Key)
	if err != nil {
		return store.ChangeSet{}, err
	}
	var found *store.ChangeSet
	for i := range rows {
		if row := &rows[i]; row.GivenName() == name && (found == nil || comesBefore(row, found, dialectOf(stack))) {
			found = row
		}
	}
	if found == nil {
		return store.ChangeSet{}, store.ErrNotFound
	}
	return p.store.ChangeSet(ctx, found.ID)
}

// comesBefore reports whether the first of two change sets with the same name takes precedence: it holds the name, or
// else it was executed later.
func comesBefore(a, b *store.ChangeSet, dialect Dialect) bool {
	if held := holdsName(a, dialect); held != holdsName(b, dialect) {
		return held
	}
	return a.Operation > b.Operation
}

// answersFor reports whether an existing change set answers the request to create one: it holds the name, or the same
// request created it and it was executed since.
func answersFor(row *store.ChangeSet, in *CreateChangeSet, dialect Dialect) bool {
	return holdsName(row, dialect) || in.Token != "" && in.Token == row.Token
}

// dialectOf returns the dialect of a stored stack. Every decision on a stack rejects a name that [DialectOf] does not
// know.
func dialectOf(stack *store.Stack) Dialect {
	if known, err := DialectOf(stack.Dialect); err == nil {
		return known
	}
	return CloudFormation
}

// holdsName reports whether a change set's name is reserved in its stack.
func holdsName(row *store.ChangeSet, dialect Dialect) bool {
	return row.State != store.ChangeSetExecuted || dialect.rules().executedStay
}
