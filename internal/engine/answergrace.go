package engine

import (
	"context"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// keptEndings is the number of recently settled requests that each of the two generations holds.
const keptEndings = 4096

// linger delays the marks that requests were delivered. No caller waits for a mark: a request whose mark is lost is
// sent again, as it is when the process dies before it can report the delivery. So marks share a commit, and a
// request that was answered in the meantime needs no mark.
type linger struct {
	// atMost is the longest delay of a mark; 0 disables the delay.
	atMost time.Duration

	mu sync.Mutex
	// soon and later are closed to release two generations of delayed marks; nil if a generation has none. After half
	// the delay, later becomes soon, so that every mark is delayed for at least that long.
	soon, later chan struct{}
	// held has a channel for each request with a delayed mark, closed when the request is settled.
	held map[wire.RequestID]chan struct{}
	// young and old are two generations of recently settled requests whose marks had not arrived yet.
	young, old map[wire.RequestID]struct{}
}

// lingers reports whether an outcome is a mark that may be delayed.
func (l *linger) lingers(outcome *Outcome) bool {
	return l.atMost > 0 && outcome.Kind == Accepted && !outcome.Local && !outcome.AtOnce && outcome.Try == 0
}

// settled delays a mark, and then reports whether its request was settled and so needs no mark. It stops waiting when
// ctx ends.
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

// ended reports whether a request was settled recently, and forgets it, because its mark arrives only once.
func (l *linger) ended(id wire.RequestID) bool {
	for _, list := range []map[wire.RequestID]struct{}{l.young, l.old} {
		if _, ok := list[id]; ok {
			delete(list, id)
			return true
		}
	}
	return false
}

// half runs after each half of the delay while marks are delayed.
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

// settle records that a request is durably settled.
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
