// Package backoff computes the pauses between retries of an operation, and waits for them.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Bound returns the longest pause after try n, counted from 0: first, doubled with each try up to most.
func Bound(first, most time.Duration, n int) time.Duration {
	if n < 16 {
		return min(most, first<<n)
	}
	return most
}

// Random returns a random pause up to Bound, so that callers that failed together do not retry together.
func Random(first, most time.Duration, n int) time.Duration {
	return rand.N(Bound(first, most, n) + 1)
}

// Wait waits for d and returns false if ctx ended first. It does not wait if d is not positive.
func Wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
