// Package clock is the clock of the SDK, which tests can simulate.
package clock

import (
	"context"
	"time"
)

// Clock reports the time, waits, and ends contexts. Its methods are safe for concurrent use.
type Clock interface {
	// Now returns the time.
	Now() time.Time
	// Sleep waits for d. If ctx ends first, it returns the error of ctx.
	Sleep(ctx context.Context, d time.Duration) error
	// WithDeadline is [context.WithDeadline] on this clock.
	WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc)
}

// Source is implemented by idempotency stores whose server does not use the system clock. Package pintletest and
// providers in the engine's process have such stores.
type Source interface {
	Clock() Clock
}

// Of returns the clock of v if v is a [Source], and the system clock otherwise.
func Of(v any) Clock {
	if s, ok := v.(Source); ok {
		return s.Clock()
	}
	return System{}
}

// System is the system clock.
type System struct{}

// Now is [time.Now].
func (System) Now() time.Time { return time.Now() }

// Sleep waits on a runtime timer.
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
