package engine

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// dueBatch is how many due requests are looked at at once, and mostDue how many at most if nobody fires those: what is left
// to other nodes stays due, and must not stand in the way of what comes after it.
const dueBatch, mostDue = 256, 16 * 256

// Run runs the timers until ctx ends: it fires what is due, says that this node lives, and takes over from nodes that
// died. It returns nil when ctx ended. When it returns no goroutine of it is left.
func (e *Engine) Run(ctx context.Context) error {
	var beats sync.WaitGroup
	beats.Go(func() { e.beats(ctx) }) // however long it takes to fire what is due, this node lives
	defer beats.Wait()
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.wake:
			due.Reset(0)
		case <-due.C:
			due.Reset(e.expire(ctx))
		}
	}
}

func (e *Engine) beats(ctx context.Context) {
	beat := time.NewTicker(e.beat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if err := e.live(ctx, time.Now()); err != nil && ctx.Err() == nil {
				e.log.Error("heartbeat", "error", err)
			}
		}
	}
}

// Close tells the other nodes that this one has stopped in order. It does not close the store.
func (e *Engine) Close(ctx context.Context) error { return e.store.Leave(ctx, e.Node()) }

// never is a silence that no node keeps.
const never = 100 * 365 * 24 * time.Hour

// silence is for how long another node must have been silent to be taken for dead, now that this one has beaten. Who could
// not beat for a while, or has only just begun to, knows nothing of the others: the database may have been away for all.
// Until they have had the time to say that they live, only what is nobody's is taken over.
func (e *Engine) silence(now time.Time) time.Duration {
	if now.Sub(e.lastBeat) > 3*e.beat {
		e.judgeFrom = now.Add(5 * e.beat)
	}
	e.lastBeat = now
	if now.Before(e.judgeFrom) {
		return never
	}
	return 5 * e.beat
}

// live beats, and takes over what dead nodes left. now is the time of this node.
func (e *Engine) live(ctx context.Context, now time.Time) error {
	err := e.store.Beat(ctx, e.Node())
	if errors.Is(err, store.ErrGone) {
		e.log.Warn("this node was taken for dead; it joins anew")
		err = e.join(ctx)
	}
	if err != nil {
		return err
	}
	taken, err := e.store.Reap(ctx, e.Node(), e.silence(now))
	if taken > 0 {
		e.log.Info("took over from a node that died", "requests", taken)
		e.observer.TookOver(taken)
	}
	if err != nil {
		return err
	}
	nodes, err := e.store.Nodes(ctx)
	if err == nil {
		e.turns.know(nodes)
	}
	return err
}

// expire fires everything that is due and returns how long until the next is. What gets a deadline meanwhile wakes Run.
func (e *Engine) expire(ctx context.Context) time.Duration {
	e.looks.Store(math.MaxInt64)
	pause, next := e.fireDue(ctx)
	if !next.IsZero() {
		e.looks.Store(next.UnixMilli())
	}
	return pause
}

// fireDue is expire, and returns the deadline besides before which nothing else is due; zero if there is none, or nobody knows.
func (e *Engine) fireDue(ctx context.Context) (time.Duration, time.Time) {
	const retry, idle, soonest = time.Second, time.Minute, 20 * time.Millisecond
	left := map[wire.RequestID]bool{} // still due: the others must not wait for them
	for {
		limit := max(e.dueLimit, dueBatch)
		ids, next, err := e.store.Due(ctx, limit)
		if err != nil {
			if ctx.Err() == nil {
				e.log.Error("look for what is due", "error", err)
			}
			return retry, time.Time{}
		}
		done := 0
		ours, wait := e.turns.due(e.Node(), ids, time.Now())
		for _, id := range ours {
			if left[id] {
				continue
			}
			fired, err := e.fire(ctx, id)
			if err != nil && ctx.Err() == nil {
				e.log.Error("fire what is due", "request", id, "error", err)
			}
			if fired {
				done++
			} else {
				left[id] = true
			}
		}
		pause := idle
		if !e.turns.alone() {
			pause = e.beat // what other nodes ask may be due sooner, and this one's turn to fire
		}
		switch full := len(ids) == limit; {
		case full && done > 0:
			continue
		case full && limit < mostDue:
			e.dueLimit = 2 * limit
			continue
		case len(ids) < dueBatch:
			e.dueLimit = dueBatch
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
func (e *Engine) fire(ctx context.Context, id wire.RequestID) (bool, error) {
	fired := false
	var tied *store.Request
	err := e.apply(ctx, store.Target{Request: id, Alone: isExecution(id)}, func(m *machine) error {
		r := m.requests[id]
		if fired = r == nil || r.Due.IsZero(); fired {
			return nil // settled, or made ready, since it was found
		}
		tied = nil
		if r.Due.After(m.now) {
			return nil // moved, or the clock was set back
		}
		if e.leaveToOthers(r, m.now) {
			return nil
		}
		fired = true
		switch {
		case r.Type == store.TypeTimer:
			return m.expire(r)
		case r.Type == store.TypeTie:
			tied = r
			r.Due = m.now.Add(tiePause)
			m.changeRequest(r)
			return nil
		case r.Type == store.TypeExecution:
			m.executionDue(r)
			return nil
		case r.State == store.RequestDelayed && r.Type == store.TypeIsComplete:
			return m.askAgain(r)
		case r.State == store.RequestDelayed:
			m.retry(r)
			return nil
		}
		_, err := m.settle(Outcome{Kind: TimedOut})
		return err
	})
	if err == nil && tied != nil {
		err = e.untie(ctx, tied)
	}
	return fired && err == nil, err
}
