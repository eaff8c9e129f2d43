package engine

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
)

// CancelUpdate is the input of [Engine.CancelUpdate].
type CancelUpdate struct {
	Stack Ref
	Token string
	// Create also cancels a create in progress. The APIs of the services have no call for that.
	Create bool
}

// CancelUpdate cancels an update in progress, or a create if requested, and rolls it back. Errors that the client can
// fix are of type [Error].
func (e *Engine) CancelUpdate(ctx context.Context, in CancelUpdate) error {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(d *decision) error { return cancellation{d}.start(&in) })
}

// cancellation cancels an operation at a client's request, or after its time limit.
type cancellation struct{ *decision }

// start cancels an update in progress and rolls it back. Running steps are cancelled as if a sibling had failed.
func (d cancellation) start(in *CancelUpdate) error {
	if again, err := tokens(d).repeated(in.Token, store.CallCancel); again || err != nil {
		return err
	}
	if in.Create && d.stopsCreate() {
		return d.startCreate(in)
	}
	if d.stack.Kind != store.KindUpdate || d.stack.Phase != store.PhaseApply && d.stack.Phase != store.PhasePrepare {
		return d.dialect.refusals().cannotCancel(&d.stack, d.status())
	}
	scheduler(d).cancelRunning()
	if d.op.Retry { // it has no earlier state to roll back to
		macros(d).abandon(d.dialect.texts().stackCancelled)
		tokens(d).remember(in.Token, store.CallCancel, d.op.ID)
		return nil
	}
	timers(d).stop()
	macroRequests(d).withdraw("")
	d.op.RollbackToken = in.Token
	phases(d).beginRollback(d.dialect.texts().stackCancelled)
	tokens(d).remember(in.Token, store.CallCancel, d.op.RollbackID)
	return scheduler(d).run()
}

// stopsCreate reports whether a client may cancel the operation because it is a create. The create of a nested stack
// ends with its parent's, and an import has nothing to undo.
func (d cancellation) stopsCreate() bool {
	return d.op.Kind == store.KindCreate && d.op.Phase == store.PhaseApply && d.op.Parent == nil && !d.op.Import
}

// startCreate cancels a create in progress and rolls it back, even if a failure would not be rolled back.
func (d cancellation) startCreate(in *CancelUpdate) error {
	d.stop(in.Token)
	phases(d).beginRollback(d.dialect.texts().createStopped)
	tokens(d).remember(in.Token, store.CallCancel, d.op.RollbackID)
	return scheduler(d).run()
}

// stop cancels the running steps for a client's request with a token.
func (d cancellation) stop(token string) {
	scheduler(d).cancelRunning()
	timers(d).stop()
	d.op.RollbackToken = token
}

// expire cancels the operation because its time limit has passed. Running steps are cancelled as if a sibling had failed.
func (d cancellation) expire(timer *store.Request) error {
	if err := d.whole(); err != nil {
		return err
	}
	timers(d).settle(timer, "expired")
	if timer.Operation != d.op.Number || d.op.Phase != store.PhaseApply && d.op.Phase != store.PhasePrepare {
		return nil // the operation is in another phase by now, so there is nothing to stop
	}
	d.op.Expired, d.opChanged = true, true
	if d.op.Phase == store.PhasePrepare {
		macros(d).abandon(d.dialect.texts().expired(&d.op, operation(d).onFailure()))
	}
	scheduler(d).cancelRunning()
	return scheduler(d).run()
}
