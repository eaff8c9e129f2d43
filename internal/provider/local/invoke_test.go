package local_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// busyFor is a runtime whose provider is busy until a time.
type busyFor struct {
	until time.Time
	tries int
}

func (b *busyFor) Invoke(string, local.Event) error {
	b.tries++
	if time.Now().Before(b.until) {
		return local.ErrBusy
	}
	return nil
}

func TestInvokeWhenFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		free := &busyFor{until: start.Add(5 * time.Second)}
		if err := local.InvokeWhenFree(t.Context(), free, "p", local.Event{}); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < 5*time.Second || took > 6*time.Second || free.tries > 15 {
			t.Errorf("invoked after %s, in try %d", took, free.tries)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start = time.Now()
		if err := local.InvokeWhenFree(ctx, &busyFor{until: start.Add(time.Hour)}, "p", local.Event{}); !errors.Is(err, local.ErrBusy) {
			t.Errorf("error %v of a provider that stays busy", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("the context ended after 3s, the attempt after %s", took)
		}
	})
}
