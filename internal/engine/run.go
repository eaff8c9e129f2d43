package engine

import (
	"context"
	"sync"
	"time"
)

// Run runs the timers until ctx ends: it fires due requests, sends heartbeats, and takes over the work of dead nodes.
// It returns nil when ctx has ended, and leaves no goroutine behind.
func (e *Engine) Run(ctx context.Context) error {
	var beats sync.WaitGroup
	beats.Go(func() { e.members.beats(ctx) }) // heartbeats do not depend on how long firing takes
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
