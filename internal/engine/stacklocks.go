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
	// turnPause is how long a node leaves it to the one before it to fire what is due.
	turnPause = time.Second
	// maxTurn bounds the turns: all further nodes have this one.
	maxTurn = 4
)

// turns lets the nodes of one database take turns in firing what is due, so that they do not all do the same work. Every
// request has an order of its own among the nodes: the first one fires it at once, the next one after a pause if it is
// still due, and so on. So nothing is lost with a node that dies, nor if the nodes disagree on who there is; it is fired
// twice or a little later then, and firing twice does nothing.
type turns struct {
	nodes atomic.Pointer[[]store.Incarnation]

	// Only the timers' goroutine uses it: when this node first saw that a request is due, of those last seen.
	seen map[wire.RequestID]time.Time
}

// know notes which nodes there are.
func (t *turns) know(nodes []store.Incarnation) { t.nodes.Store(&nodes) }

// alone reports whether no other node is known.
func (t *turns) alone() bool {
	nodes := t.nodes.Load()
	return nodes == nil || len(*nodes) < 2
}

// due takes what is due now. It returns what this node is to fire, and in how long the next of the others will be its turn;
// 0 if there are none.
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

// weigh returns a number that says where a node stands in the order of a request: the same on all nodes.
func weigh(node store.Incarnation, id wire.RequestID) uint64 {
	h := fnv.New64a()
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(node))
	_, _ = h.Write(number[:]) // it never fails
	_, _ = h.Write([]byte(id))
	sum := h.Sum64()
	sum ^= sum >> 33 // FNV alone would order the nodes alike for requests whose ids are alike
	sum *= 0xff51afd7ed558ccd
	return sum ^ sum>>33
}
