package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Queries reads stacks, their resources and their operations.
type Queries struct{ *runner }

// Resources returns one instance for each logical ID of a stack, sorted by logical ID: the current instance or, in a
// stack that was deleted or rolled back, the last one. It leaves out resources that an update removed.
func (q Queries) Resources(ctx context.Context, stack store.Stack) ([]store.Instance, error) {
	instances, err := q.store.Instances(ctx, stack.Key)
	if err != nil {
		return nil, err
	}
	shown := map[wire.LogicalID]store.Instance{}
	for _, i := range instances { // ordered by number: a later one wins, but a current one takes precedence
		if i.Role != store.RoleCurrent && !i.Shown {
			continue
		}
		if known, ok := shown[i.Logical]; !ok || known.Role != store.RoleCurrent {
			shown[i.Logical] = i
		}
	}
	list := make([]store.Instance, 0, len(shown))
	for _, id := range sortedKeys(shown) {
		list = append(list, shown[id])
	}
	return list, nil
}

// Expected returns the existing and the planned resources of a stack, sorted by logical ID. The existing ones are
// those of [Queries.Resources] that have been started. The planned ones are the other resources of the template, if a
// create or an update is in progress or failed without a rollback. A planned instance has no number and no verb, and
// its body has only the type.
func (q Queries) Expected(ctx context.Context, stack store.Stack) ([]store.Instance, error) {
	list, err := q.Resources(ctx, stack) // after reading the stack, so it includes resources that have started since
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i store.Instance) bool { return i.Verb == "" })
	changes := stack.Kind == store.KindCreate || stack.Kind == store.KindUpdate || stack.Kind == store.KindImport
	if !changes || stack.Phase != store.PhaseApply && stack.Phase != store.PhaseFailed {
		return list, nil
	}
	revision, err := q.Revision(ctx, stack)
	if err != nil {
		return nil, err
	}
	dialect, err := DialectOf(stack.Dialect)
	if err != nil {
		return nil, err
	}
	t, err := q.env.parsed.of(dialect.language(), &revision)
	if err != nil {
		return nil, fmt.Errorf("parse revision %d of stack %s: %w", revision.Number, stack.ID, err)
	}
	begun := set[wire.LogicalID]{}
	for _, i := range list {
		begun.add(i.Logical)
	}
	for _, r := range t.Active(template.NewScope(nil, revision.Conditions, template.Pseudo{})) {
		if id := wire.LogicalID(r.LogicalID); !begun[id] {
			list = append(list, store.Instance{Stack: stack.Key, Logical: id, Body: &store.InstanceBody{Type: r.Type}})
		}
	}
	slices.SortFunc(list, func(a, b store.Instance) int { return cmp.Compare(a.Logical, b.Logical) })
	return list, nil
}

// FindOperation returns an operation by its own ID or that of its rollback, and its stack. It returns
// [store.ErrNotFound] if the account and region have no such operation.
func (q Queries) FindOperation(ctx context.Context, account, region, id string) (store.Stack, store.Operation, error) {
	stack, operation, err := q.store.FindOperation(ctx, id)
	if err == nil && (stack.Account != account || stack.Region != region) {
		return store.Stack{}, store.Operation{}, store.ErrNotFound
	}
	return stack, operation, err
}

// maxLast bounds the result of [Queries.LastOperations], because a rollback can be tried any number of times.
const maxLast = 5

// LastOperations returns a stack's newest operation. If that undoes an earlier one, the result includes the
// operations down to the one that is undone, newest first and at most five.
func (q Queries) LastOperations(ctx context.Context, stack store.Stack) ([]store.Operation, error) {
	var last []store.Operation
	for number := stack.Operation; number > 0 && len(last) < maxLast; number-- {
		op, err := q.store.Operation(ctx, stack.Key, number)
		if errors.Is(err, store.ErrNotFound) && len(last) > 0 {
			break // it was deleted by the clean-up
		}
		if err != nil {
			return nil, err
		}
		last = append(last, op)
		if op.Call != store.CallContinue && op.Call != store.CallRollback {
			break
		}
	}
	return last, nil
}

// Protect turns a stack's termination protection on or off and returns the stack's ID. Errors that the client can fix
// are of type [Error].
func (e *Engine) Protect(ctx context.Context, ref Ref, on bool) (wire.StackID, error) {
	stack, err := e.Find(ctx, ref)
	if errors.Is(err, store.ErrNotFound) {
		return "", noStack(ref)
	} else if err != nil {
		return "", err
	}
	return stack.ID, e.apply(ctx, store.Target{Stack: stack.Key}, func(d *decision) error {
		if !d.stack.Live || d.stack.Kind == store.KindDelete && !d.stack.Phase.Final() {
			switch {
			case d.dialect == CloudFormation:
			case d.stack.Live:
				return d.dialect.refusals().busy(&d.stack, &d.op, d.status(), "protected")
			default:
				return noStack(ref)
			}
			return invalid("Stack:" + string(d.stack.ID) + " is in " + d.status() +
				" state and its termination protection can not be changed.")
		}
		if d.stack.Root != "" {
			return invalid("Stack [" + d.stack.Name + "] is nested: its termination protection is that of its root stack, " +
				string(d.stack.Root) + ".")
		}
		d.stack.TerminationProtection, d.stackChanged = on, true
		return nil
	})
}

// MoveToGroup moves a stack to another resource group. Templates see the new group at the next update. Nested stacks
// stay in their group. Errors that the client can fix are of type [Error].
func (e *Engine) MoveToGroup(ctx context.Context, ref Ref, group string) error {
	target, err := e.target(ctx, ref)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(d *decision) error {
		if !d.stack.Live {
			return noStack(ref)
		}
		d.stackChanged = d.stackChanged || d.stack.ResourceGroup != group
		d.stack.ResourceGroup = group
		return nil
	})
}

// InputError reports whether the client can fix an error, and returns it as an [Error].
func InputError(err error) (*Error, bool) {
	var input *Error
	ok := errors.As(err, &input)
	return input, ok
}
