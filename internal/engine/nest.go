package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// nestedStacks serves the requests of parents for their nested stacks, and connects both while their operations run.
type nestedStacks struct{ *Engine }

// Nest starts the work that a request wants from a nested stack. The same request may come any number of times. waits
// means that the result is reported when the nested stack's operation gets there, even if this node dies. Nest calls
// template for the text of a Create, and of an Update with the aim [store.AimReach], once it knows that there is work
// to start. The errors of both are for people, except one that wraps [native.ErrAgain].
func (e *Engine) Nest(
	ctx context.Context, r *store.Request, template func(context.Context) (string, error),
) (result native.Result, waits bool, err error) {
	result, waits, err = nestedStacks{e}.nest(ctx, r, func(ctx context.Context) (string, error) {
		text, err := template(ctx)
		if err != nil && !errors.Is(err, native.ErrAgain) {
			err = invalid(err.Error())
		}
		return text, err
	})
	var input *Error
	if err != nil && !errors.As(err, &input) {
		return native.Result{}, false, fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
	if waits {
		id := wire.StackID(r.Body.PhysicalID)
		if r.Type == wire.Create {
			id = wire.StackID(result.PhysicalID)
		}
		nestedStacks{e}.attendSoon(ctx, id) // it may have finished before, without a notification
	}
	return result, waits, err
}

type fetch func(context.Context) (string, error)

func (s nestedStacks) nest(ctx context.Context, r *store.Request, template fetch) (native.Result, bool, error) {
	ctx = trace.NewContext(ctx, trace.Parse(r.Body.Trace)) // the trace of the parent's operation
	own, err := s.store.Request(ctx, r.ID)
	if err != nil {
		return native.Result{}, false, err
	}
	if own.State != store.RequestReady || own.Owner != s.Node() {
		return native.Result{}, false, errTakenOver
	}
	parent, err := s.store.Stack(ctx, r.Body.StackID)
	if err != nil {
		return native.Result{}, false, err
	}
	n := &nesting{parent: store.Parent{Stack: parent.ID, Operation: r.Operation, Request: r.ID, Aim: r.Body.Aim}}
	if r.Type == wire.Create {
		return s.nestCreate(ctx, r, &parent, n, template)
	}
	child, err := s.store.Stack(ctx, wire.StackID(r.Body.PhysicalID))
	gone := errors.Is(err, store.ErrNotFound) || err == nil && !child.Live
	switch {
	case err != nil && !gone:
		return native.Result{}, false, err
	case gone && r.Body.Aim == store.AimReach:
		return native.Result{}, false, invalid("Stack [" + string(r.Body.PhysicalID) + "] does not exist")
	case gone:
		return native.Result{}, false, nil
	}
	target := store.Target{Stack: child.Key}
	waits := true
	switch r.Body.Aim {
	case store.AimReach:
		return s.nestUpdate(ctx, r, &parent, &child, n, template)
	case store.AimUndo:
		if err = s.apply(ctx, target, func(d *decision) error { return nestedStack{d}.leavePreparing(n) }); err != nil {
			break
		}
		err = s.apply(ctx, target, func(d *decision) (err error) {
			waits, err = nestedStack{d}.undo(n, r.Body.Skip, r.Body.Force)
			return err
		})
	case store.AimRelease:
		err = s.apply(ctx, target, func(d *decision) (err error) { waits, err = nestedStack{d}.release(n); return err })
	case store.AimRemove:
		err = s.remove(ctx, child.Key, n)
	}
	if err != nil || waits {
		return native.Result{}, waits, err
	}
	result, err := s.standing(ctx, child.ID)
	return result, false, err
}

// errTakenOver is the error for a request that this node must no longer serve.
var errTakenOver = errors.New("another node has the request, or it is settled")

// remove starts to delete a nested stack.
func (s nestedStacks) remove(ctx context.Context, child store.StackKey, n *nesting) error {
	target := store.Target{Stack: child}
	if err := s.apply(ctx, target, func(d *decision) error { return nestedStack{d}.leaveHeld(n) }); err != nil {
		return err
	}
	return s.apply(ctx, target, func(d *decision) error { return nestedStack{d}.remove(n, &DeleteStack{}) })
}

// standing returns the current outputs of a nested stack.
func (s nestedStacks) standing(ctx context.Context, id wire.StackID) (native.Result, error) {
	child, err := s.store.Stack(ctx, id)
	return native.Result{Attributes: outputsOf(&child)}, err
}

func (s nestedStacks) nestCreate(
	ctx context.Context, r *store.Request, parent *store.Stack, n *nesting, template fetch,
) (native.Result, bool, error) {
	n.root, n.depth = parent.ID, parent.Depth+1
	if parent.Root != "" {
		n.root = parent.Root
	}
	dialect, err := DialectOf(r.Body.Dialect)
	if err != nil {
		return native.Result{}, false, err
	}
	in := CreateStack{
		Dialect: dialect,
		Name:    store.StackName{Account: parent.Account, Region: parent.Region, Name: nestedName(parent.Name, r)},
	}
	template, made, err := s.planOf(ctx, parent, r, n, template)
	switch {
	case err != nil:
		return native.Result{}, false, err
	case made != nil && made.Kind != store.KindReview:
		return native.Result{PhysicalID: wire.PhysicalID(made.ID)}, true, nil
	case made != nil:
		in.Name.Name = made.Name
	}
	// A repeated request finds the stack that it created, even if the template can no longer be fetched.
	if made, err := s.store.LiveStack(ctx, in.Name); err == nil && made.Parent == parent.ID && made.Kind != store.KindReview {
		return native.Result{PhysicalID: wire.PhysicalID(made.ID)}, true, nil
	} else if err != nil && !errors.Is(err, store.ErrNotFound) {
		return native.Result{}, false, err
	}
	if in.Template, err = template(ctx); err != nil {
		return native.Result{}, false, err
	}
	declared, err := s.checkNesting(ctx, dialect, parent, n, in.Template)
	if err != nil {
		return native.Result{}, false, err
	}
	if in.Options, err = s.nestedOptions(ctx, r, parent, n, declared); err != nil {
		return native.Result{}, false, err
	}
	if in.TimeoutMinutes, err = nestedTimeout(dialect, r); err != nil {
		return native.Result{}, false, err
	}
	started, err := s.Create(ctx, in)
	if err != nil {
		return native.Result{}, false, err
	}
	return native.Result{PhysicalID: wire.PhysicalID(started.StackID)}, true, nil
}

func (s nestedStacks) nestUpdate(
	ctx context.Context, r *store.Request, parent, child *store.Stack, n *nesting, template fetch,
) (native.Result, bool, error) {
	op, err := s.store.Operation(ctx, child.Key, child.Operation)
	if err != nil {
		return native.Result{}, false, err
	}
	if op.Parent != nil && op.Parent.Request == r.ID {
		return native.Result{}, true, nil // it has already started, and may even have finished
	}
	template, _, err = s.planOf(ctx, parent, r, n, template)
	if err != nil {
		return native.Result{}, false, err
	}
	text, err := template(ctx)
	if err != nil {
		return native.Result{}, false, err
	}
	dialect, err := DialectOf(r.Body.Dialect)
	if err != nil {
		return native.Result{}, false, err
	}
	n.root, n.depth = child.Root, child.Depth
	declared, err := s.checkNesting(ctx, dialect, parent, n, text)
	if err != nil {
		return native.Result{}, false, err
	}
	options, err := s.nestedOptions(ctx, r, parent, n, declared)
	if err != nil {
		return native.Result{}, false, err
	}
	minutes := 0
	if dialect == ROS { // in CloudFormation it only limits the create
		if minutes, err = nestedTimeout(dialect, r); err != nil {
			return native.Result{}, false, err
		}
	}
	if err := s.apply(ctx, store.Target{Stack: child.Key}, func(d *decision) error { return nestedStack{d}.leaveHeld(n) }); err != nil {
		return native.Result{}, false, err
	}
	_, err = s.Update(ctx, UpdateStack{
		Options: options, Template: text, TimeoutMinutes: minutes, Replace: options.replace,
		Stack: Ref{Account: child.Account, Region: child.Region, Stack: string(child.ID), ByID: dialect == ROS},
	})
	if errors.Is(err, dialect.refusals().unchanged) {
		s.dropNested(ctx, []store.NestedChangeSet{{ID: n.planned, Stack: child.ID}})
		result, err := s.standing(ctx, child.ID)
		return result, false, err
	}
	return native.Result{}, true, err
}

// plannedFor returns the nested stack's change set for a request, or nil.
func (s nestedStacks) plannedFor(ctx context.Context, parent *store.Stack, r *store.Request) (*store.ChangeSet, error) {
	if parent.ChangeSet == "" {
		return nil, nil
	}
	row, err := s.store.ChangeSet(ctx, parent.ChangeSet)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.Operation != r.Operation {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(row.Nested, func(n store.NestedChangeSet) bool { return n.Logical == r.Logical })
	if at < 0 {
		return nil, nil
	}
	child, err := s.store.ChangeSet(ctx, row.Nested[at].ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &child, err
}

// planOf returns the function that fetches the template of a request: from its change set, if there is one that can
// still be executed. made is the stack of a create that such a change set has completed or started.
func (s nestedStacks) planOf(
	ctx context.Context, parent *store.Stack, r *store.Request, n *nesting, template fetch,
) (text fetch, made *store.Stack, err error) {
	row, err := s.plannedFor(ctx, parent, r)
	if err != nil || row == nil {
		return template, nil, err
	}
	stack, err := s.store.Stack(ctx, row.StackID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !stack.Live {
		return template, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	if row.State == store.ChangeSetExecuted {
		return template, &stack, nil
	}
	if row.State != store.ChangeSetAvailable || row.Base != stack.Operation {
		return template, nil, nil
	}
	n.planned, n.imports = row.ID, row.Body.Imports
	return func(context.Context) (string, error) { return row.Body.Revision.Template, nil }, &stack, nil
}
