package engine

import (
	"context"
	"math"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// dueBatch is the number of due requests to read at a time. mostDue is the maximum if no node fires them: requests
// left to other nodes stay due, and must not block later ones.
const dueBatch, mostDue = 256, 16 * 256

// deadlines fires requests that are due.
type deadlines struct {
	*runner
	nested nestedStacks
	// limit is the number of due requests to read; zero means dueBatch.
	limit int
}

// expire fires all due requests and returns the time until the next one. A new deadline wakes Run.
func (t *deadlines) expire(ctx context.Context) time.Duration {
	t.looks.Store(math.MaxInt64)
	pause, next := t.fireDue(ctx)
	if !next.IsZero() {
		t.looks.Store(next.UnixMilli())
	}
	return pause
}

// fireDue is expire, and also returns the next deadline; zero if it is unknown or does not exist.
func (t *deadlines) fireDue(ctx context.Context) (time.Duration, time.Time) {
	const retry, idle, soonest = time.Second, time.Minute, 20 * time.Millisecond
	left := map[wire.RequestID]bool{} // still due, but must not delay the others
	for {
		limit := max(t.limit, dueBatch)
		ids, next, err := t.store.Due(ctx, limit)
		if err != nil {
			if ctx.Err() == nil {
				t.log.Error("find due requests", "error", err)
			}
			return retry, time.Time{}
		}
		done := 0
		ours, wait := t.turns.due(t.Node(), ids, time.Now())
		for _, id := range ours {
			if left[id] {
				continue
			}
			fired, err := t.fire(ctx, id)
			if err != nil && ctx.Err() == nil {
				t.log.Error("fire what is due", "request", id, "error", err)
			}
			if fired {
				done++
			} else {
				left[id] = true
			}
		}
		pause := idle
		if !t.turns.alone() {
			pause = t.beat // another node's polling, or this node's turn to fire, may be due sooner
		}
		switch full := len(ids) == limit; {
		case full && done > 0:
			continue
		case full && limit < mostDue:
			t.limit = 2 * limit
			continue
		case len(ids) < dueBatch:
			t.limit = dueBatch
		}
		switch {
		case len(left) > 0:
			pause = min(pause, retry)
		case !next.IsZero():
			// The database clock may be behind this node's. Then next is in the past, yet nothing is due.
			pause = min(pause, max(time.Until(next), soonest))
		}
		if wait > 0 {
			pause = min(pause, max(wait, soonest))
		}
		return pause, next
	}
}

// fire ends a request whose time is up, or sends one whose pause has passed. It returns false if the request may
// still be due.
func (t *deadlines) fire(ctx context.Context, id wire.RequestID) (bool, error) {
	fired := false
	var tied *store.Request
	err := t.apply(ctx, store.Target{Request: id, Alone: isExecution(id)}, func(d *decision) error {
		r := d.requests[id]
		if fired = r == nil || r.Due.IsZero(); fired {
			return nil // settled, or made ready, since it was read
		}
		tied = nil
		if r.Due.After(d.now) {
			return nil // rescheduled, or the clock was set back
		}
		if t.leaveToOthers(r, d.now) {
			return nil
		}
		fired = true
		switch {
		case r.Type == store.TypeTimer:
			return cancellation{d}.expire(r)
		case r.Type == store.TypeTie:
			tied = r
			r.Due = d.now.Add(tiePause)
			d.changeRequest(r)
			return nil
		case r.Type == store.TypeExecution:
			executions{d}.due(r)
			return nil
		case r.State == store.RequestDelayed && r.Type == store.TypeIsComplete:
			return polling{d}.send(r)
		case r.State == store.RequestDelayed:
			requests{d}.resend(r)
			return nil
		}
		_, err := reports{d}.take(Outcome{Kind: TimedOut})
		return err
	})
	if err == nil && tied != nil {
		err = t.nested.untie(ctx, tied)
	}
	return fired && err == nil, err
}

// leaveToOthers reports whether this node leaves a row to other nodes because it does not know the provider. After
// some time the node polls anyway, so that the failure names the missing provider.
func (run *runner) leaveToOthers(row *store.Request, now time.Time) bool {
	return row.Type == store.TypeIsComplete && row.State == store.RequestDelayed && run.serves != nil && !run.turns.alone() &&
		now.Before(row.Due.Add(notServedFor)) && now.Before(row.Wait.Deadline) && !run.serves(row.Body.ServiceToken())
}
