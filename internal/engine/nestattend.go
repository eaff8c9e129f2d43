package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// attendSoon synchronizes a nested stack and its parent. If that fails, the tie retries it later.
func (s nestedStacks) attendSoon(ctx context.Context, id wire.StackID) {
	if _, err := s.attend(context.WithoutCancel(ctx), id, 0); err != nil {
		s.log.Debug("a nested stack and its parent are brought together later", "stack", id, "error", err)
	}
}

// untie synchronizes a nested stack and its parent, and ends the tie if neither needs the other any more.
func (s nestedStacks) untie(ctx context.Context, tie *store.Request) error {
	over, err := s.attend(ctx, tie.Body.StackID, tie.Operation)
	if err != nil || !over {
		return err
	}
	return s.apply(ctx, store.Target{Request: tie.ID, Alone: true}, func(d *decision) error {
		if r := d.requests[tie.ID]; r != nil {
			timers{d}.settle(r, "untied")
		}
		return nil
	})
}

// attend reports the result of a nested stack to its parent, and passes on the parent's wishes to the nested stack.
// It reads both from the store, so any node can do it, any number of times. It returns true if neither needs the
// other any more. A number of 0 means the newest operation. There may be a newer one than number, because only the
// tie prevents clients from changing a nested stack.
func (s nestedStacks) attend(ctx context.Context, id wire.StackID, number int) (over bool, err error) {
	child, err := s.store.Stack(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	op, err := s.store.Operation(ctx, child.Key, cmp.Or(number, child.Operation))
	if errors.Is(err, store.ErrNotFound) {
		return true, nil // it was deleted by the clean-up
	} else if err != nil {
		return false, err
	}
	if op.Parent == nil {
		return true, nil
	}
	request, err := s.store.Request(ctx, op.Parent.Request)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	if err == nil && request.State != store.RequestSettled {
		return false, s.mediate(ctx, &child, &op, &request)
	}
	return s.unclaimed(ctx, &child, &op)
}

// mediate handles a nested stack whose parent waits.
func (s nestedStacks) mediate(ctx context.Context, child *store.Stack, op *store.Operation, request *store.Request) error {
	if outcome, ok := cameTo(child, op); ok {
		return s.Report(ctx, request.ID, outcome)
	}
	rests := op.Phase.Final() || op.Held
	switch {
	case op.Parent.Aim == store.AimRemove && op.Kind != store.KindDelete && rests && op.Number == child.Operation:
		return s.remove(ctx, child.Key, &nesting{parent: *op.Parent})
	case !request.Cancelled:
		return nil
	}
	return s.apply(ctx, store.Target{Stack: child.Key}, func(d *decision) error { return nestedStack{d}.abort(request.ID) })
}

// unclaimed handles a nested stack whose operation no parent waits for, at least not now. It returns true if all is
// in order.
func (s nestedStacks) unclaimed(ctx context.Context, child *store.Stack, op *store.Operation) (bool, error) {
	parent, err := s.store.Stack(ctx, op.Parent.Stack)
	gone := errors.Is(err, store.ErrNotFound)
	if err != nil && !gone {
		return false, err
	}
	rests := gone || parent.Phase == store.PhaseSucceeded || parent.Phase == store.PhaseReverted
	switch {
	case !op.Phase.Final() && rests: // it was started too late
		request := op.Parent.Request
		return false, s.apply(ctx, store.Target{Stack: child.Key}, func(d *decision) error { return nestedStack{d}.abandon(request) })
	case !op.Phase.Final():
		return false, nil // the parent's next step includes this stack
	case op.Call != store.CallCreate || !child.Live || gone:
		return true, nil
	}
	instances, err := s.store.Instances(ctx, parent.Key)
	if err != nil {
		return false, err
	}
	for _, i := range instances {
		if i.PhysicalID == wire.PhysicalID(child.ID) && i.Role != store.RoleGone {
			return true, nil
		}
	}
	_, err = s.start(ctx, store.Target{Stack: child.Key}, func(d *decision) error { return deletion{d}.start(&DeleteStack{unclaimed: true}) })
	return false, err
}
