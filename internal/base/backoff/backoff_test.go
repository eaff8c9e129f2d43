package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
)

func TestBound(t *testing.T) {
	const first, most = 100 * time.Millisecond, 30 * time.Second
	for n, want := range map[int]time.Duration{0: first, 1: 2 * first, 8: 25600 * time.Millisecond, 9: most, 15: most, 16: most, 1 << 30: most} {
		if got := backoff.Bound(first, most, n); got != want {
			t.Errorf("after try %d: %s, want %s", n, got, want)
		}
		if got := backoff.Random(first, most, n); got < 0 || got > want {
			t.Errorf("after try %d: a random pause of %s, want at most %s", n, got, want)
		}
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		if !backoff.Wait(ctx, time.Minute) || time.Since(start) != time.Minute {
			t.Errorf("waited %s, want a minute", time.Since(start))
		}
		if !backoff.Wait(ctx, 0) {
			t.Error("no pause is cut short")
		}
		time.AfterFunc(time.Second, cancel)
		if backoff.Wait(ctx, time.Minute) || time.Since(start) != time.Minute+time.Second {
			t.Error("the pause outlasted its context")
		}
		if backoff.Wait(ctx, 0) {
			t.Error("a pause of a context that has ended is whole")
		}
	})
}
