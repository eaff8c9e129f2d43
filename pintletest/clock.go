package pintletest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
)

// simulated is a [clock.Clock] whose time advances when something sleeps.
type simulated struct {
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

func newClock() *simulated {
	return &simulated{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), timers: map[*timer]bool{}}
}

// Now returns the simulated time.
func (c *simulated) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep advances the time, and ends the contexts whose deadlines that passes.
func (c *simulated) Sleep(ctx context.Context, d time.Duration) error {
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

// WithDeadline returns a context that ends when Sleep has advanced the time to at.
func (c *simulated) WithDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
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

// Deadline returns the deadline in simulated time.
func (t *timer) Deadline() (time.Time, bool) { return t.at, true }

// Err behaves as for [context.WithDeadline].
func (t *timer) Err() error {
	if t.Context.Err() != nil && errors.Is(context.Cause(t.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return t.Context.Err()
}

// store is an idempotency store that uses the simulated time.
type store struct {
	clock  *simulated
	mu     sync.Mutex
	values map[string]kept
}

type kept struct {
	value   []byte
	expires time.Time
}

func newStore(c *simulated) *store { return &store{clock: c, values: map[string]kept{}} }

// Clock makes the server use the simulated clock.
func (s *store) Clock() clock.Clock { return s.clock }

// Get returns a value that has not expired.
func (s *store) Get(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.values[key]
	return k.value, ok && s.clock.Now().Before(k.expires), nil
}

// Put sets a value.
func (s *store) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = kept{value, s.clock.Now().Add(ttl)}
	return nil
}
