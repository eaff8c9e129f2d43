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

// maxChangeSets is how many change sets a stack may have. Source: ours; decisions on the whole stack load them.
const maxChangeSets = 100

// Execution says whether a change set can be executed, and how its execution went.
type Execution string

// The executions.
const (
	// ExecutionUnavailable is that of a set that failed.
	ExecutionUnavailable Execution = "unavailable"
	ExecutionAvailable   Execution = "available"
	// ExecutionObsolete is that of a set whose stack was changed since.
	ExecutionObsolete  Execution = "obsolete"
	ExecutionRunning   Execution = "running"
	ExecutionSucceeded Execution = "succeeded"
	ExecutionFailed    Execution = "failed"
)

// executionOf tells it by the stack and by the operation that the set began, if it did.
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

// ChangeSetRef names a change set as a client does: by its name and its stack's name or id, or by its own id alone.
type ChangeSetRef struct {
	// Ref is the stack; its Stack may be empty if Name is an id.
	Ref
	// Name is the name or the ARN as it was given; with ByID it is the id of a change set of ROS, a UUID.
	Name string
}

// ChangeSet is a change set as it is shown.
type ChangeSet struct {
	store.ChangeSet
	// Owner is the stack that it belongs to.
	Owner     store.Stack
	Execution Execution
}

// Change is what a change set, or a preview, does to one resource.
type Change = plan.Change

// ChangeDetail is one place in a resource that changes, and one reason why.
type ChangeDetail = plan.Detail

// Changes returns what the set would change, secrets masked. It needs the body.
func (c *ChangeSet) Changes() ([]Change, error) {
	var list []Change
	if err := json.Unmarshal(c.Body.Changes, &list); err != nil {
		return nil, fmt.Errorf("read the changes of %s: %w", c.ID, err)
	}
	return list, nil
}

// ChangeSet returns a change set, body included. Errors that the client can fix are of type [Error].
func (p Planner) ChangeSet(ctx context.Context, ref ChangeSetRef) (ChangeSet, error) {
	row, stack, err := p.findChangeSet(ctx, ref)
	if err != nil {
		return ChangeSet{}, err
	}
	return p.shown(ctx, row, stack)
}

// findChangeSet returns a change set, body included, and its stack.
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

// shown returns the result of executing a change set.
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

// ChangeSets returns the change sets of a stack without their bodies, oldest first; there are 100 at most. In CloudFormation an
// executed change set is not among them; its ARN still finds it.
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

// named returns the change set of a stack by its name, or [store.ErrNotFound]. A change set that holds the name comes first, then
// the one that was executed last: a client that repeats a call by name finds the change set that it has just executed.
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

// comesBefore reports whether a name means the first of two change sets that both have it: the one that holds the name, else the one
// that was executed later.
func comesBefore(a, b *store.ChangeSet, dialect Dialect) bool {
	if held := holdsName(a, dialect); held != holdsName(b, dialect) {
		return held
	}
	return a.Operation > b.Operation
}

// answersFor reports whether the request to create a change set is answered with one that exists: it holds the name, or the same
// request created it and it was executed since.
func answersFor(row *store.ChangeSet, in *CreateChangeSet, dialect Dialect) bool {
	return holdsName(row, dialect) || in.Token != "" && in.Token == row.Token
}

// dialectOf returns the dialect of a stack that was read. Every decision on a stack refuses a name that [DialectOf] does not know.
func dialectOf(stack *store.Stack) Dialect {
	if known, err := DialectOf(stack.Dialect); err == nil {
		return known
	}
	return CloudFormation
}

// holdsName reports whether no other change set of the stack may take the name of this one.
func holdsName(row *store.ChangeSet, dialect Dialect) bool {
	return row.State != store.ChangeSetExecuted || dialect.rules().executedStay
}
