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
	"github.com/pintle-dev/pintle/wire"
)

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

// Planned is what a client learns of a change set that was created.
type Planned struct {
	ID      store.ChangeSetID
	StackID wire.StackID
}

// errAnew says that what a decision was prepared with is not what is there, so that it has to be prepared anew.
var errAnew = errors.New("the change set has changed meanwhile")

// CreateChangeSet plans a create or an update. When it returns the set is settled: it can be executed, or has failed
// because there is nothing to change. Errors that the client can fix are of type [Error].
func (e *Engine) CreateChangeSet(ctx context.Context, in CreateChangeSet) (Planned, error) {
	return e.createChangeSet(ctx, &in)
}

func (e *Engine) createChangeSet(ctx context.Context, in *CreateChangeSet) (Planned, error) {
	var s *submission // nil: the previous one
	var err error
	dialect := dialectFor(in.Dialect, in.Stack)
	in.replace, in.taint, in.revert = in.Replace, in.Taint, in.Revert
	if err := e.prepareImport(ctx, in); err != nil {
		return Planned{}, err
	}
	if in.UsePrevious && in.Kind == store.KindCreate {
		return Planned{}, inDialect(dialect, invalid("A stack that is to be created has no previous template: give the template."))
	}
	if in.OnFailure == "DELETE" && in.Kind != store.KindCreate {
		return Planned{}, invalid("OnStackFailure DELETE is for change sets of type CREATE only.")
	}
	if err := checkPolicies(in.Policy); err != nil {
		return Planned{}, inDialect(dialect, err)
	}
	if !in.UsePrevious {
		if s, err = e.submit(ctx, dialect, in.Stack.Account, in.Stack.Region, in.Template); err != nil {
			return Planned{}, err
		}
	}
	key, err := newKey()
	if err != nil {
		return Planned{}, err
	}
	id := dialect.stackID(store.StackName{Account: in.Stack.Account, Region: in.Stack.Region, Name: in.Stack.Stack}, e.env.newID())
	for {
		target, existing, err := e.prepare(ctx, in)
		if err != nil {
			return Planned{}, err
		}
		var planned Planned
		err = e.lookUp(ctx, in.importing, func() error {
			return e.with(ctx, s, func() error {
				return e.apply(ctx, target, func(m *machine) error {
					m.become(dialect)
					set, err := m.draftChangeSet(in, s, existing, key, id)
					planned = Planned{ID: set, StackID: m.stack.ID}
					return err
				})
			})
		})
		if errors.Is(err, errAnew) {
			continue
		}
		if err == nil && in.IncludeNested && dialect == CloudFormation {
			err = e.planNested(ctx, in, planned.ID)
		}
		return planned, err
	}
}

// prepareImport finds out whether an import is into a new stack.
func (e *Engine) prepareImport(ctx context.Context, in *CreateChangeSet) error {
	if in.ImportExisting {
		in.importing = &importing{}
	}
	if !in.Import {
		return nil
	}
	if in.OnFailure == "DELETE" || in.OnFailure == "DO_NOTHING" {
		return invalid("OnStackFailure " + in.OnFailure + " is not for change sets of type IMPORT: an import that fails is always rolled back.")
	}
	in.importing = &importing{only: true, listed: in.Resources}
	stack, err := e.Find(ctx, in.Stack)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if in.Kind = store.KindUpdate; err != nil || !stack.Live || stack.Kind == store.KindReview {
		in.Kind = store.KindCreate
	}
	return nil
}

// prepare finds the stack that a change set is to be made on, and the set that has its name, nil if none has.
func (e *Engine) prepare(ctx context.Context, in *CreateChangeSet) (store.Target, *store.ChangeSet, error) {
	stack, err := e.Find(ctx, in.Stack)
	missing := errors.Is(err, store.ErrNotFound) || err == nil && !stack.Live
	switch {
	case missing && in.Kind == store.KindCreate && !in.Stack.ByID && !strings.HasPrefix(in.Stack.Stack, "arn:"):
		name := store.StackName{Account: in.Stack.Account, Region: in.Stack.Region, Name: in.Stack.Stack}
		return store.Target{Name: name}, nil, nil
	case missing:
		return store.Target{}, nil, noStack(in.Stack)
	case err != nil:
		return store.Target{}, nil, err
	}
	row, err := e.named(ctx, &stack, in.Name)
	if errors.Is(err, store.ErrNotFound) || err == nil && !answersFor(&row, in, dialectOf(&stack)) {
		return store.Target{Stack: stack.Key}, nil, nil
	}
	return store.Target{Stack: stack.Key}, &row, err
}

// named returns the change set of a stack by its name, or [store.ErrNotFound]. A change set that holds the name comes first, then
// the one that was executed last: a client that repeats a call by name finds the change set that it has just executed.
func (e *Engine) named(ctx context.Context, stack *store.Stack, name string) (store.ChangeSet, error) {
	rows, err := e.store.ChangeSets(ctx, stack.Key)
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
	return e.store.ChangeSet(ctx, found.ID)
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

// ChangeSet returns a change set, body included. Errors that the client can fix are of type [Error].
func (e *Engine) ChangeSet(ctx context.Context, ref ChangeSetRef) (ChangeSet, error) {
	row, stack, err := e.findChangeSet(ctx, ref)
	if err != nil {
		return ChangeSet{}, err
	}
	return e.shown(ctx, row, stack)
}

// findChangeSet returns a change set, body included, and its stack.
func (e *Engine) findChangeSet(ctx context.Context, ref ChangeSetRef) (row store.ChangeSet, stack store.Stack, err error) {
	if ref.ByID || strings.HasPrefix(ref.Name, "arn:") {
		if row, err = e.store.ChangeSet(ctx, store.ChangeSetID(ref.Name)); err == nil {
			stack, err = e.store.Stack(ctx, row.StackID)
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
	if stack, err = e.Find(ctx, ref.Ref); errors.Is(err, store.ErrNotFound) {
		return row, stack, noStack(ref.Ref)
	} else if err != nil {
		return row, stack, err
	}
	if row, err = e.named(ctx, &stack, ref.Name); errors.Is(err, store.ErrNotFound) {
		err = ref.dialect().refusals().noChangeSet(ref.Name)
	}
	return row, stack, err
}

// shown tells how the execution of a change set went.
func (e *Engine) shown(ctx context.Context, row store.ChangeSet, stack store.Stack) (ChangeSet, error) {
	var op store.Operation
	if row.Operation > 0 {
		var err error
		if op, err = e.store.Operation(ctx, row.Stack, row.Operation); err != nil {
			return ChangeSet{}, err
		}
	}
	return ChangeSet{ChangeSet: row, Owner: stack, Execution: executionOf(&row, &stack, &op)}, nil
}

// ChangeSets returns the change sets of a stack without their bodies, oldest first; there are 100 at most. In CloudFormation an
// executed change set is not among them; its ARN still finds it.
func (e *Engine) ChangeSets(ctx context.Context, stack store.Stack) ([]ChangeSet, error) {
	rows, err := e.store.ChangeSets(ctx, stack.Key)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row store.ChangeSet) bool { return !holdsName(&row, dialectOf(&stack)) })
	list := make([]ChangeSet, len(rows))
	for i, row := range rows {
		if list[i], err = e.shown(ctx, row, stack); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ExecuteChangeSet begins the create or the update that a change set holds, with the inputs that the set was made with.
// The other change sets of the stack are deleted. Change sets of nested stacks that belong to it are executed when their resources have
// their turn. Errors that the client can fix are of type [Error].
func (e *Engine) ExecuteChangeSet(ctx context.Context, in ExecuteChangeSet) (Started, error) {
	row, stack, err := e.findChangeSet(ctx, in.ChangeSet)
	if err != nil {
		return Started{}, err
	}
	if err := e.checkOwn(ctx, &row, "executed"); err != nil {
		return Started{}, err
	}
	var before *store.Operation
	if row.Operation > 0 {
		op, err := e.store.Operation(ctx, row.Stack, row.Operation)
		if err != nil {
			return Started{}, err
		}
		before = &op
	}
	others, err := e.nestedOf(ctx, stack.Key, row.ID)
	if err != nil {
		return Started{}, err
	}
	started, err := e.start(ctx, store.Target{Stack: stack.Key}, func(m *machine) error { return m.startChangeSet(&in, &row, before) })
	if err == nil {
		e.dropNested(ctx, others)
	}
	return started, err
}

// DeleteChangeSet deletes a change set. One that does not exist is no error. Errors that the client can fix are of type
// [Error].
func (e *Engine) DeleteChangeSet(ctx context.Context, ref ChangeSetRef) error {
	row, stack, err := e.findChangeSet(ctx, ref)
	if told, ok := InputError(err); ok && told.Code == CodeChangeSetNotFound {
		return nil
	} else if err != nil {
		return err
	}
	if err := e.checkOwn(ctx, &row, "deleted"); err != nil {
		return err
	}
	if err := e.apply(ctx, store.Target{Stack: stack.Key}, func(m *machine) error { return m.removeChangeSet(row.ID) }); err != nil {
		return err
	}
	e.dropNested(ctx, row.Nested)
	return nil
}
