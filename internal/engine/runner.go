package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// runner runs decisions. Each decision is one [store.Store.Apply].
type runner struct {
	env            environment
	store          store.Store
	dispatch       func([]store.Request)
	serves         func(wire.ServiceToken) bool
	reads          func(context.Context, wire.ServiceToken) (DeclaredTypes, error)
	plans          ProviderPlans
	planWithin     time.Duration
	settled        func(id wire.RequestID, answered bool)
	stored         Stored
	nestedTemplate NestedTemplate
	snippet        func(context.Context, string) (string, error)
	// attendSoon synchronizes a nested stack and its parent after a decision about one of them.
	attendSoon func(context.Context, wire.StackID)
	log        *slog.Logger
	observer   Observer
	node       atomic.Int64
	beat       time.Duration
	// wake makes deadlines look for due requests before the next known deadline. looks is that deadline, in
	// milliseconds since 1970 by the store's clock. A later deadline does not need to wake it.
	wake  chan struct{}
	looks atomic.Int64
	turns turns
}

// target returns the stack that a client wants to change.
func (run *runner) target(ctx context.Context, ref Ref) (store.Target, error) {
	stack, err := run.Find(ctx, ref)
	if errors.Is(err, store.ErrNotFound) || (err == nil && !stack.Live) {
		return store.Target{}, noStack(ref)
	}
	return store.Target{Stack: stack.Key}, err
}

func (run *runner) start(ctx context.Context, target store.Target, begin func(*decision) error) (Started, error) {
	var started Started
	err := run.apply(ctx, target, func(d *decision) error {
		if err := begin(d); err != nil {
			return err
		}
		started = Started{StackID: d.stack.ID, Operation: cmp.Or(d.again, d.op.ID)}
		return nil
	})
	return started, err
}

// apply runs one decision. After the commit it dispatches the decision's requests.
func (run *runner) apply(ctx context.Context, target store.Target, decide func(*decision) error) error {
	var ready []store.Request
	var attend []wire.StackID
	var observations []func(Observer)
	var settled []store.Request
	var earliest time.Time // the earliest new deadline, or zero
	err := run.decide(ctx, target, func(view *store.View) (store.Delta, error) {
		ready, settled, earliest = nil, nil, zeroTime
		dialect := CloudFormation
		if view.Stack.Key != 0 {
			var err error
			if dialect, err = DialectOf(view.Stack.Dialect); err != nil {
				return store.Delta{}, err
			}
		}
		d := newDecision(&run.env, dialect, view)
		d.trace = string(trace.FromContext(ctx))
		err := decide(d)
		if err == nil {
			err = d.needsRows()
		}
		if err != nil {
			return store.Delta{}, inDialect(d.dialect, err)
		}
		d.note(ctx)
		notifications{d}.sendAll()
		nestedStack{d}.attendLater()
		delta, requests := d.result()
		d.tellOperation(&view.Operation, delta.Operation)
		ready, attend, observations = requests, d.attend, d.notes
		for _, r := range delta.Requests {
			if !r.Due.IsZero() && (earliest.IsZero() || r.Due.Before(earliest)) {
				earliest = r.Due
			}
			if r.State == store.RequestSettled && r.Asks() && run.settled != nil {
				settled = append(settled, r)
			}
		}
		return delta, nil
	})
	if err != nil {
		return err
	}
	for _, r := range settled { // first, so that the next delivery finds the process free
		run.settled(r.ID, r.Ending == Answered.String())
	}
	if len(ready) > 0 && run.dispatch != nil {
		run.dispatch(ready)
	}
	if !earliest.IsZero() && earliest.UnixMilli() < run.looks.Load() { // read after the commit
		run.wakeUp()
	}
	for _, observe := range observations {
		observe(run.observer)
	}
	for _, id := range attend {
		run.attendSoon(Noted(ctx, ""), id) // the note is not for other stacks
	}
	return nil
}

// decide runs a decision. It fetches external data between two attempts, so that no transaction waits for them.
func (run *runner) decide(ctx context.Context, target store.Target, decide store.Decide) error {
	for fetched := map[string]int{}; ; {
		err := run.store.Apply(ctx, target, decide)
		lacking, ok := errors.AsType[need](err)
		if !ok {
			return err
		}
		if fetched[lacking.Error()]++; fetched[lacking.Error()] > maxFetches {
			return lacking.exhausted()
		}
		if err := lacking.fetch(ctx, run); err != nil {
			return err
		}
	}
}

// dialectFor returns the dialect of a call: the one that the client names, or that of the stack.
func dialectFor(named Dialect, ref Ref) Dialect {
	if named != nil {
		return named
	}
	return ref.dialect()
}

// Node returns the incarnation under which this engine owns requests.
func (run *runner) Node() store.Incarnation { return store.Incarnation(run.node.Load()) }

func (run *runner) wakeUp() {
	select {
	case run.wake <- struct{}{}:
	default:
	}
}

// Find returns the stack that a client refers to: a live one by its name, any by its ID. It returns
// [store.ErrNotFound] if the account and region of the ref have no such stack.
func (run *runner) Find(ctx context.Context, ref Ref) (store.Stack, error) {
	if !ref.ByID && !strings.HasPrefix(ref.Stack, "arn:") {
		return run.store.LiveStack(ctx, store.StackName{Account: ref.Account, Region: ref.Region, Name: ref.Stack})
	}
	stack, err := run.store.Stack(ctx, wire.StackID(ref.Stack))
	if err == nil && (stack.Account != ref.Account || stack.Region != ref.Region) {
		return store.Stack{}, store.ErrNotFound
	}
	return stack, err
}

// Revision returns a stack's revision in force, including the template.
func (run *runner) Revision(ctx context.Context, stack store.Stack) (store.Revision, error) {
	revision, err := run.store.Revision(ctx, stack.Key, stack.Revision)
	return stack.Tagged(revision), err
}
