package engine

import (
	"context"
	"sync"
	"time"
)

// Run runs the timers until ctx ends: it fires what is due, says that this node lives, and takes over from nodes that
// died. It returns nil when ctx ended. When it returns no goroutine of it is left.
func (e *Engine) Run(ctx context.Context) error {
	var beats sync.WaitGroup
	beats.Go(func() { e.members.beats(ctx) }) // however long it takes to fire what is due, this node lives
	defer beats.Wait()
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.wake:
			due.Reset(0)
		case <-due.C:
			due.Reset(e.deadlines.expire(ctx))
		}
	}
}

// Close reports to the other nodes that this one has shut down. It does not close the store.
func (e *Engine) Close(ctx context.Context) error { return e.store.Leave(ctx, e.Node()) }
