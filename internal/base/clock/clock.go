// Package clock is the time as the SDK sees it, so that tests can simulate it.
package clock

import (
	"context"
	"time"
)

// Clock reports the time, waits, and ends contexts. Its methods may be called by many goroutines at once.
type Clock interface {
	// Now returns the time.
	Now() time.Time
	// Sleep waits. It returns early, with the context's error, when the context ends.
	Sleep(ctx context.Context, d time.Duration) error
	// WithDeadline is [context.WithDeadline] by this clock.
	WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc)
}

// Source is implemented by an idempotency store whose server uses another clock than the system's. Package pintletest and
// providers inside the engine's process have such stores.
type Source interface {
	Clock() Clock
}

// Of returns the clock of v if v is a [Source], else the system's.
func Of(v any) Clock {
	if s, ok := v.(Source); ok {
		return s.Clock()
	}
	return System{}
}

// System is the system's clock.
type System struct{}

// Now is [time.Now].
func (System) Now() time.Time { return time.Now() }

// Sleep waits on a timer of the runtime.
func (System) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WithDeadline is [context.WithDeadline].
func (System) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, at)
}
