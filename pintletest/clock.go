package pintletest

import (
	"context"
	"errors"
	"sync"
	"time"
)

// clock is a [pintle.Clock] that moves on when somebody sleeps.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]bool
}

// timer is a context that ends at a time.
type timer struct {
	context.Context
	at  time.Time
	end context.CancelCauseFunc
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), timers: map[*timer]bool{}}
}

// Now returns the time of the test.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep moves the time on, and ends the contexts whose time comes by that.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.mu.Lock()
	c.now = c.now.Add(max(d, 0))
	var over []*timer
	for t := range c.timers {
		if !t.at.After(c.now) {
			delete(c.timers, t)
			over = append(over, t)
		}
	}
	c.mu.Unlock()
	for _, t := range over {
		t.end(context.DeadlineExceeded)
	}
	return ctx.Err()
}

// WithDeadline returns a context that ends when Sleep has moved the time on to at.
func (c *clock) WithDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	parent, end := context.WithCancelCause(parent)
	t := &timer{parent, at, end}
	c.mu.Lock()
	over := !at.After(c.now)
	if !over {
		c.timers[t] = true
	}
	c.mu.Unlock()
	if over {
		end(context.DeadlineExceeded)
	}
	return t, func() {
		c.mu.Lock()
		delete(c.timers, t)
		c.mu.Unlock()
		end(context.Canceled)
	}
}

// Deadline returns the time on the clock of the test.
func (t *timer) Deadline() (time.Time, bool) { return t.at, true }

// Err is that of [context.WithDeadline].
func (t *timer) Err() error {
	if t.Context.Err() != nil && errors.Is(context.Cause(t.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return t.Context.Err()
}
