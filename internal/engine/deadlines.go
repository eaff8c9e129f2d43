package engine

import (
	"context"
	"math"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// dueBatch is how many due requests are looked at at once, and mostDue how many at most if no node fires those: what is left
// to other nodes stays due, and must not stand in the way of what comes after it.
const dueBatch, mostDue = 256, 16 * 256

// deadlines fires requests that are due.
type deadlines struct {
	*runner
	nested nestedStacks
	// limit is how many due requests to look at; zero is dueBatch.
	limit int
}

// expire fires everything that is due and returns how long until the next is. What gets a deadline meanwhile wakes Run.
func (t *deadlines) expire(ctx context.Context) time.Duration {
	t.looks.Store(math.MaxInt64)
	pause, next := t.fireDue(ctx)
	if !next.IsZero() {
		t.looks.Store(next.UnixMilli())
	}
	return pause
}

// fireDue is expire, and also returns the deadline before which nothing else is due; zero if there is none, or it is unknown.
func (t *deadlines) fireDue(ctx context.Context) (time.Duration, time.Time) {
	const retry, idle, soonest = time.Second, time.Minute, 20 * time.Millisecond
	left := map[wire.RequestID]bool{} // still due: the others must not wait for them
	for {
		limit := max(t.limit, dueBatch)
		ids, next, err := t.store.Due(ctx, limit)
		if err != nil {
			if ctx.Err() == nil {
				t.log.Error("look for what is due", "error", err)
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
			pause = t.beat // what other nodes ask may be due sooner, and this one's turn to fire
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
			// The clock of the database may be behind ours: then next is past, and yet nothing is due.
			pause = min(pause, max(time.Until(next), soonest))
		}
		if wait > 0 {
			pause = min(pause, max(wait, soonest))
		}
		return pause, next
	}
}

// fire ends a request that is out of time, or sends one whose pause is over. It returns false if the request is, for all
// it knows, still due.
func (t *deadlines) fire(ctx context.Context, id wire.RequestID) (bool, error) {
	fired := false
	var tied *store.Request
	err := t.apply(ctx, store.Target{Request: id, Alone: isExecution(id)}, func(d *decision) error {
		r := d.requests[id]
		if fired = r == nil || r.Due.IsZero(); fired {
			return nil // settled, or made ready, since it was found
		}
		tied = nil
		if r.Due.After(d.now) {
			return nil // moved, or the clock was set back
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

// leaveToOthers reports whether this node is to leave a row to other nodes, because its provider is not known here. A node
// that has left it long enough asks all the same, so that the failure says what is missing.
func (run *runner) leaveToOthers(row *store.Request, now time.Time) bool {
	return row.Type == store.TypeIsComplete && row.State == store.RequestDelayed && run.serves != nil && !run.turns.alone() &&
		now.Before(row.Due.Add(notServedFor)) && now.Before(row.Wait.Deadline) && !run.serves(row.Body.ServiceToken())
}
