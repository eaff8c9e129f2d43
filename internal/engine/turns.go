package engine

import (
	"encoding/binary"
	"hash/fnv"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// turnPause is how long a node waits for the previous one to fire a due request.
	turnPause = time.Second
	// maxTurn is the last turn, which all further nodes share.
	maxTurn = 4
)

// turns makes the nodes of one database take turns in firing due requests, so that they do not all do the same work.
// Every request has its own order of the nodes. The first node fires it at once, the next one after a pause if it is
// still due, and so on. So a dead node loses nothing. If the nodes disagree on which nodes exist, a request is fired
// twice or a little later, and firing twice has no effect.
type turns struct {
	nodes atomic.Pointer[[]store.Incarnation]

	// Only the timers' goroutine uses seen: the time at which this node first saw each due request.
	seen map[wire.RequestID]time.Time
}

// know sets the known nodes.
func (t *turns) know(nodes []store.Incarnation) { t.nodes.Store(&nodes) }

// alone reports whether no other node is known.
func (t *turns) alone() bool {
	nodes := t.nodes.Load()
	return nodes == nil || len(*nodes) < 2
}

// due returns the due requests that this node fires, and the time until its turn for the next of the others; 0
// without others.
func (t *turns) due(self store.Incarnation, due []wire.RequestID, now time.Time) (ours []wire.RequestID, wait time.Duration) {
	if t.alone() {
		t.seen = nil
		return due, 0
	}
	seen := make(map[wire.RequestID]time.Time, len(due))
	for _, id := range due {
		since, ok := t.seen[id]
		if !ok {
			since = now
		}
		seen[id] = since
		left := since.Add(time.Duration(t.turn(self, id)) * turnPause).Sub(now)
		if left <= 0 {
			ours = append(ours, id)
			continue
		}
		if wait == 0 || left < wait {
			wait = left
		}
	}
	t.seen = seen
	return ours, wait
}

// turn returns how many nodes fire a request before this one.
func (t *turns) turn(self store.Incarnation, id wire.RequestID) int {
	turn, weight := 0, weigh(self, id)
	for _, node := range *t.nodes.Load() {
		if node != self && weigh(node, id) < weight {
			turn++
		}
	}
	return min(turn, maxTurn)
}

// weigh returns the position of a node in the order of a request, the same on all nodes.
func weigh(node store.Incarnation, id wire.RequestID) uint64 {
	h := fnv.New64a()
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(node))
	_, _ = h.Write(number[:]) // it never fails
	_, _ = h.Write([]byte(id))
	sum := h.Sum64()
	sum ^= sum >> 33 // FNV alone would order the nodes alike for similar IDs
	sum *= 0xff51afd7ed558ccd
	return sum ^ sum>>33
}
