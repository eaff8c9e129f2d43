package engine

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Fire fires what is due now, as Run would.
func (e *Engine) Fire(ctx context.Context) error {
	ids, _, err := e.store.Due(ctx, dueBatch)
	for _, id := range ids {
		if err == nil {
			_, err = e.deadlines.fire(ctx, id)
		}
	}
	return err
}

// FireOne fires one request if it is due.
func (e *Engine) FireOne(ctx context.Context, id wire.RequestID) error {
	_, err := e.deadlines.fire(ctx, id)
	return err
}

// Live says that the node lives and takes over from dead ones, as Run does now and then; now is its own time.
func (e *Engine) Live(ctx context.Context, now time.Time) error { return e.members.live(ctx, now) }
