package delivery

import (
	"slices"
	"sync"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// queue holds the requests in hand: bounded, each once, stacks taking turns.
type queue struct {
	wake chan struct{} // a request may be sent
	room chan struct{} // what did not fit may be read again

	limit int // requests in hand
	sends int // sends at a time
	share int // sends at a time of one stack

	mu    sync.Mutex
	held  map[wire.RequestID]int // with the try of it that is in hand
	turns []*lane                // the stacks with waiting requests, in turn
	lanes map[store.StackKey]*lane
	busy  int
	left  bool // the table may hold requests that did not fit
	// after are the next tries of those in hand: the end of one try is reported, and the next one made ready by it, before the one
	// is out of hand.
	after map[wire.RequestID]store.Request
	// The requests settled last, in two generations. A reading of the table or a Dispatch that was under way while a
	// request was settled still has it as ready, and it must not go out again.
	recent, older map[settled]struct{}
	// Requests that went back to the table since their provider is too busy. They are not read for a while.
	resting map[wire.RequestID]struct{}
}

type lane struct {
	stack   store.StackKey
	waiting []store.Request
	busy    int
}

// settled names a request by its owner too: after a take-over the same request is ready again for another owner. And one
// that asks again is ready again for every try.
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

// offer takes the requests of node that fit and are not in hand, and returns how many.
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

// take puts a request in hand.
func (q *queue) take(r store.Request) {
	q.held[r.ID] = askingOf(r).try
	l := q.lane(r.Stack)
	if l.waiting = append(l.waiting, r); len(l.waiting) == 1 {
		q.turns = append(q.turns, l)
	}
}

// next returns the next request to be sent and counts it as being sent; nil if there is none or enough are.
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
	l.waiting[0] = store.Request{} // its body is not to be held by the array
	if l.waiting = l.waiting[1:]; len(l.waiting) > 0 {
		q.turns = append(q.turns, l)
	} else {
		l.waiting = nil
	}
	l.busy++
	q.busy++
	return &send{request: r, queue: q, counted: true}
}

// reading says that the table is about to be read, and returns how many requests there is room for.
func (q *queue) reading() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := q.limit - len(q.held)
	q.left = free == 0
	return free
}

// holds reports whether the request is in hand or was settled just now. Of one that asks again and was, offer knows.
func (q *queue) holds(node store.Incarnation, id wire.RequestID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.known(settled{owner: node, id: id})
}

// forget drops a request that is out of hand. If it was not settled, the table may give it again.
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

// rested lets the requests that rest be read again.
func (q *queue) rested() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.resting) > 0 {
		q.resting = map[wire.RequestID]struct{}{}
		q.left = true
		q.signalRoom()
	}
}

// signalRoom asks for a reading of the table. It waits until a quarter of the queue is free: reading for each single
// request would cost more than sending it.
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

// send is a request on its way.
type send struct {
	request store.Request
	queue   *queue
	rests   bool // it goes back to the table for a while
	// function is the one that gets what is sent to a topic, of which it is the only subscriber.
	function string
	counted  bool // as one of the queue's sends; guarded by queue.mu
}

// release stops counting the request as being sent, so that a slow or pausing one stands in no one's way.
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

// resume counts it again. It does not wait for its turn: the bound may be passed, and holds again for those to come.
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
