package customresource

import "time"

// WithNow returns the configuration with a clock.
func (c Config) WithNow(now func() time.Time) Config {
	c.now = now
	return c
}
