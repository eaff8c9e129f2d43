package pintletest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
)

// simulated is a [clock.Clock] that moves on when something sleeps.
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

// Now returns the time of the test.
func (c *simulated) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep moves the time on, and ends the contexts whose time comes by that.
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

// WithDeadline returns a context that ends when Sleep has moved the time on to at.
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

// Deadline returns the time on the clock of the test.
func (t *timer) Deadline() (time.Time, bool) { return t.at, true }

// Err is that of [context.WithDeadline].
func (t *timer) Err() error {
	if t.Context.Err() != nil && errors.Is(context.Cause(t.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return t.Context.Err()
}

// store keeps what the provider knows of earlier requests, by the clock of the test.
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

// Clock makes the server use the clock of the test.
func (s *store) Clock() clock.Clock { return s.clock }

// Get returns a value whose time to live has not passed.
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
