package server

import (
	"context"
	"time"
)

// turns bounds how many requests are served at a time. Some waiting is allowed, for the sender of an answer may have
// only one try.
type turns struct {
	slots chan struct{}
	wait  time.Duration
}

func newTurns(slots int, wait time.Duration) turns {
	return turns{slots: make(chan struct{}, slots), wait: wait}
}

// take waits for a turn; false if there was none in time or ctx ended. After true, give is called.
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
