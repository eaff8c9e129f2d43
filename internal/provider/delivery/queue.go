package delivery

import (
	"slices"
	"sync"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// queue holds a bounded number of requests, each once. Stacks take turns.
type queue struct {
	wake chan struct{} // a request may be sent
	room chan struct{} // the table may be read again

	limit int // maximum requests in the queue
	sends int // maximum concurrent sends
	share int // maximum concurrent sends of one stack

	mu    sync.Mutex
	held  map[wire.RequestID]int // the requests in the queue, with their try
	turns []*lane                // the stacks with waiting requests, in turn
	lanes map[store.StackKey]*lane
	busy  int
	left  bool // the table may hold requests that did not fit
	// after holds the next tries of requests that are still in the queue: reporting one try makes the next one ready
	// before the queue drops the first.
	after map[wire.RequestID]store.Request
	// recent and older are the most recently settled requests, in two generations. A concurrent read of the table or
	// Dispatch may still see such a request as ready, but it must not be sent again.
	recent, older map[settled]struct{}
	// resting holds the requests that went back to the table because their provider was too busy. They are not read for
	// a while.
	resting map[wire.RequestID]struct{}
}

type lane struct {
	stack   store.StackKey
	waiting []store.Request
	busy    int
}

// settled identifies a settled request. It includes the owner, because a takeover makes the same request ready again
// for another owner. It includes the try, because a poll is ready again for every try.
type settled struct {
	owner store.Incarnation
	id    wire.RequestID
	try   int
}

func settledOf(r store.Request) settled { return settled{r.Owner, r.ID, askingOf(r).try} }

func newQueue(limit, sends int) *queue {
	return &queue{
		wake:   make(chan struct{}, 1),
		room:   make(chan struct{}, 1),
		limit:  limit,
		sends:  sends,
		share:  max(1, sends/4),
		held:   map[wire.RequestID]int{},
		after:  map[wire.RequestID]store.Request{},
		lanes:  map[store.StackKey]*lane{},
		recent: map[settled]struct{}{},
		older:  map[settled]struct{}{},

		resting: map[wire.RequestID]struct{}{},
	}
}

func (q *queue) load() Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := Load{InHand: len(q.held), Sending: q.busy}
	for _, lane := range q.turns {
		l.Waiting += len(lane.waiting)
	}
	return l
}

// offer adds the requests of node that fit and are not in the queue yet, and returns their number.
func (q *queue) offer(node store.Incarnation, requests []store.Request) (taken int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range requests {
		try, held := q.held[r.ID]
		switch {
		case r.Owner == node && held && askingOf(r).try > try && r.Body != nil:
			q.after[r.ID] = r
		case r.Owner != node || q.known(settledOf(r)):
		case len(q.held) >= q.limit || r.Body == nil:
			q.left = true
		default:
			q.take(r)
			taken++
		}
	}
	if taken > 0 {
		signal(q.wake)
	}
	q.signalRoom()
	return taken
}

// take adds a request to the queue.
func (q *queue) take(r store.Request) {
	q.held[r.ID] = askingOf(r).try
	l := q.lane(r.Stack)
	if l.waiting = append(l.waiting, r); len(l.waiting) == 1 {
		q.turns = append(q.turns, l)
	}
}

// next returns the next request to send and counts it as in flight. It returns nil if no request is waiting or enough
// are in flight.
func (q *queue) next() *send {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy >= q.sends {
		return nil
	}
	i := slices.IndexFunc(q.turns, func(l *lane) bool { return l.busy < q.share })
	if i < 0 {
		return nil
	}
	l := q.turns[i]
	q.turns = slices.Delete(q.turns, i, i+1)
	r := l.waiting[0]
	l.waiting[0] = store.Request{} // so that the array does not keep the body alive
	if l.waiting = l.waiting[1:]; len(l.waiting) > 0 {
		q.turns = append(q.turns, l)
	} else {
		l.waiting = nil
	}
	l.busy++
	q.busy++
	return &send{request: r, queue: q, counted: true}
}

// reading is called before the table is read. It returns the number of free places.
func (q *queue) reading() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := q.limit - len(q.held)
	q.left = free == 0
	return free
}

// holds reports whether the request is in the queue or was just settled. It ignores later tries of a poll, which offer
// checks.
func (q *queue) holds(node store.Incarnation, id wire.RequestID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.known(settled{owner: node, id: id})
}

// forget removes a request. If it was not settled, it may be read from the table again.
func (q *queue) forget(s *send, done bool) {
	s.release()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.held, s.request.ID)
	if s.rests {
		q.resting[s.request.ID] = struct{}{}
	}
	if done {
		if len(q.recent) >= q.limit {
			q.older, q.recent = q.recent, map[settled]struct{}{}
		}
		q.recent[settledOf(s.request)] = struct{}{}
	}
	if next, ok := q.after[s.request.ID]; ok {
		delete(q.after, s.request.ID)
		q.take(next)
		signal(q.wake)
	}
	q.signalRoom()
}

// rested allows the resting requests to be read again.
func (q *queue) rested() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.resting) > 0 {
		q.resting = map[wire.RequestID]struct{}{}
		q.left = true
		q.signalRoom()
	}
}

// signalRoom triggers a read of the table. It waits until a quarter of the queue is free, because reading for each
// single request would cost more than sending it.
func (q *queue) signalRoom() {
	if q.left && q.limit-len(q.held) >= max(1, q.limit/4) {
		signal(q.room)
	}
}

func (q *queue) known(s settled) bool {
	_, held := q.held[s.id]
	_, recent := q.recent[s]
	_, older := q.older[s]
	_, resting := q.resting[s.id]
	return held || recent || older || resting
}

func (q *queue) lane(stack store.StackKey) *lane {
	l := q.lanes[stack]
	if l == nil {
		l = &lane{stack: stack}
		q.lanes[stack] = l
	}
	return l
}

// send is a request that is being sent.
type send struct {
	request store.Request
	queue   *queue
	rests   bool // the request goes back to the table for a while
	// function is the only subscriber of the topic to which the request is sent.
	function string
	counted  bool // counts as a send of the queue; guarded by queue.mu
}

// release stops counting the request as in flight, so that a slow or paused send does not block others.
func (s *send) release() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if !s.counted {
		return
	}
	s.counted = false
	q.busy--
	l := q.lanes[s.request.Stack]
	l.busy--
	if l.busy == 0 && len(l.waiting) == 0 {
		delete(q.lanes, l.stack)
	}
	signal(q.wake)
}

// resume counts the request as in flight again. It does not wait for a turn: the limit may be exceeded, but still
// applies to the next sends.
func (s *send) resume() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.counted {
		return
	}
	s.counted = true
	q.busy++
	q.lane(s.request.Stack).busy++
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
