package awscall

import "github.com/pintle-dev/pintle/internal/base/clock"

// WithClock returns the configuration with a clock.
func (c Config) WithClock(of clock.Clock) Config {
	c.clock = of
	return c
}

// HasClock reports whether the configuration has a clock.
func (c Config) HasClock() bool { return c.clock != nil }
