package server

import (
	"context"
	"time"
)

// turns limits how many requests are served at a time. Requests may wait for a slot, because the sender of a response
// may have only one try.
type turns struct {
	slots chan struct{}
	wait  time.Duration
}

func newTurns(slots int, wait time.Duration) turns {
	return turns{slots: make(chan struct{}, slots), wait: wait}
}

// take waits for a slot. It returns false if none was free in time or ctx ended. After true, the caller calls give.
func (t turns) take(ctx context.Context) bool {
	select {
	case t.slots <- struct{}{}:
		return true
	default:
	}
	patience := time.NewTimer(t.wait)
	defer patience.Stop()
	select {
	case t.slots <- struct{}{}:
		return true
	case <-patience.C:
	case <-ctx.Done():
	}
	return false
}

func (t turns) give() { <-t.slots }
