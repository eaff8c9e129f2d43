package pintle

import (
	"context"
	"time"
)

// Clock tells the time, waits, and ends contexts. The package pintletest has one that runs by itself; all else uses the
// machine's, which is the default. Its methods may be called by many goroutines at once.
type Clock interface {
	// Now returns the time.
	Now() time.Time
	// Sleep waits. It returns early, with the context's error, when the context ends.
	Sleep(ctx context.Context, d time.Duration) error
	// WithDeadline is [context.WithDeadline] by this clock.
	WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc)
}

// realClock is the machine's.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (realClock) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, at)
}
