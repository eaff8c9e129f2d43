package engine

import (
	"context"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// keptEndings is how many requests each of two generations of those settled last has.
const keptEndings = 4096

// linger holds back the marks that requests were delivered. Nobody waits for one: a request whose mark is lost is sent again, as it
// is when the process dies before it could report the sending. So marks share a commit, and that of a request which was answered
// meanwhile is not made at all.
type linger struct {
	// atMost is how long a mark is held back; 0 holds back none.
	atMost time.Duration

	mu sync.Mutex
	// soon and later are closed when the marks that are held back are to be made; nil if there are none. What is later becomes
	// soon after half the time, so that every mark is held back for at least that.
	soon, later chan struct{}
	// held are closed when their requests are settled.
	held map[wire.RequestID]chan struct{}
	// young and old are the requests settled last whose marks had not come.
	young, old map[wire.RequestID]struct{}
}

// lingers reports whether an outcome is a mark that may be held back.
func (l *linger) lingers(outcome *Outcome) bool {
	return l.atMost > 0 && outcome.Kind == Accepted && !outcome.Local && !outcome.AtOnce && outcome.Try == 0
}

// settled reports whether a request was settled, and so needs no mark, after it has held the mark back. When ctx ends it does
// no longer.
func (l *linger) settled(ctx context.Context, id wire.RequestID) bool {
	l.mu.Lock()
	if l.ended(id) {
		l.mu.Unlock()
		return true
	}
	if l.held == nil {
		l.held = make(map[wire.RequestID]chan struct{})
	}
	end := l.held[id]
	if end == nil {
		end = make(chan struct{})
		l.held[id] = end
	}
	if l.later == nil {
		l.later = make(chan struct{})
		if l.soon == nil {
			time.AfterFunc(l.atMost/2, l.half)
		}
	}
	round := l.later
	l.mu.Unlock()
	select {
	case <-end:
		return true
	case <-round:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[id] != end {
		return true
	}
	delete(l.held, id)
	return false
}

// ended reports whether a request is among those settled last, and forgets it: its mark comes once.
func (l *linger) ended(id wire.RequestID) bool {
	for _, list := range []map[wire.RequestID]struct{}{l.young, l.old} {
		if _, ok := list[id]; ok {
			delete(list, id)
			return true
		}
	}
	return false
}

// half is called when half the time is over, as long as marks are held back.
func (l *linger) half() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.soon != nil {
		close(l.soon)
	}
	l.soon, l.later = l.later, nil
	if l.soon != nil {
		time.AfterFunc(l.atMost/2, l.half)
	}
}

// settle says that a request is settled, and that this is durable.
func (l *linger) settle(id wire.RequestID) {
	if l.atMost <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if end := l.held[id]; end != nil {
		close(end)
		delete(l.held, id)
		return
	}
	if l.young == nil || len(l.young) >= keptEndings {
		l.old, l.young = l.young, make(map[wire.RequestID]struct{})
	}
	l.young[id] = struct{}{}
}
