package engine

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Fire fires all due requests, as Run would.
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

// Live sends a heartbeat and takes over from dead nodes, as Run does regularly. now is the node's own time.
func (e *Engine) Live(ctx context.Context, now time.Time) error { return e.members.live(ctx, now) }
