package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const lingers = 50 * time.Millisecond

// TestLinger sends a request and reports that it was accepted, on synctest's clock.
func TestLinger(t *testing.T) {
	mark := engine.Outcome{Kind: engine.Accepted, Delivered: true}
	t.Run("unanswered request is marked in time", func(t *testing.T) {
		lingering(t, func(w *world, r store.Request) {
			began := time.Now()
			w.must(w.engine.Report(w.ctx, r.ID, mark))
			if took := time.Since(began); took < lingers/2 || took > lingers {
				t.Errorf("the mark was held back for %v, want from %v to %v", took, lingers/2, lingers)
			}
			w.isMarked(r.ID, true)
		})
	})
	t.Run("answered request is never marked", func(t *testing.T) {
		lingering(t, func(w *world, r store.Request) {
			began, marked := time.Now(), make(chan error, 1)
			go func() { marked <- w.engine.Report(w.ctx, r.ID, mark) }()
			synctest.Wait()
			w.isMarked(r.ID, false)
			w.must(w.engine.Answer(w.ctx, r.ID, []byte(document(r, success("a"))), 0))
			w.must(<-marked)
			if took := time.Since(began); took != 0 {
				t.Errorf("the report took %v after the answer", took)
			}
			w.isMarked(r.ID, false)
			if w.status() != "CREATE_COMPLETE" {
				t.Errorf("status %s:\n%s", w.status(), w.history())
			}
		})
	})
	t.Run("request answered before the report is not marked", func(t *testing.T) {
		lingering(t, func(w *world, r store.Request) {
			w.must(w.engine.Answer(w.ctx, r.ID, []byte(document(r, success("a"))), 0))
			began := time.Now()
			w.must(w.engine.Report(w.ctx, r.ID, mark))
			if took := time.Since(began); took != 0 {
				t.Errorf("the report took %v after the answer", took)
			}
		})
	})
	t.Run("unrecorded answer does not replace the mark", func(t *testing.T) {
		lingering(t, func(w *world, r store.Request) {
			broken, cancel := context.WithCancel(w.ctx)
			cancel()
			if err := w.engine.Answer(broken, r.ID, []byte(document(r, success("a"))), 0); !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want %v", err, context.Canceled)
			}
			w.must(w.engine.Report(w.ctx, r.ID, mark))
			w.isMarked(r.ID, true)
		})
	})
	for name, hurried := range map[string]engine.Outcome{
		"request that must not be sent again": {Kind: engine.Accepted, Delivered: true, AtOnce: true},
		"request executed by a local process": {Kind: engine.Accepted, Delivered: true, Local: true},
	} {
		t.Run(name+" is marked at once", func(t *testing.T) {
			lingering(t, func(w *world, r store.Request) {
				began := time.Now()
				w.must(w.engine.Report(w.ctx, r.ID, hurried))
				if took := time.Since(began); took != 0 {
					t.Errorf("the report took %v", took)
				}
				w.isMarked(r.ID, true)
			})
		})
	}
	t.Run("cancelled report returns an error", func(t *testing.T) {
		lingering(t, func(w *world, r store.Request) {
			ctx, cancel := context.WithTimeout(w.ctx, lingers/10)
			defer cancel()
			if err := w.engine.Report(ctx, r.ID, mark); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
			}
			w.isMarked(r.ID, false)
			w.must(w.engine.Report(w.ctx, r.ID, mark))
			w.isMarked(r.ID, true)
		})
	})
}

// lingering creates a stack, runs the test on the Create of its only resource, and waits for the timers.
func lingering(t *testing.T, test func(w *world, r store.Request)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, engine.Config{Linger: lingers})
		w.must(w.create(one("")))
		test(w, w.take("C"))
		time.Sleep(2 * lingers)
	})
}

// isMarked checks whether the delivery of a request is recorded.
func (w *world) isMarked(id wire.RequestID, want bool) {
	w.t.Helper()
	row, err := w.store.Request(w.ctx, id)
	w.must(err)
	if got := !row.Delivered.IsZero(); got != want {
		w.t.Errorf("the request is marked as delivered: %v, want %v", got, want)
	}
}
