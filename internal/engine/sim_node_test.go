package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// simNode is a process with an engine and a delivery that handles requests.
type simNode struct {
	sim    *sim
	number int
	engine *engine.Engine
	// held are the requests that its delivery handles, and handed all that it has received.
	held   map[wire.RequestID]bool
	handed map[simTry]bool
	// dying is set if the node has seen its last commit.
	dying bool
	// awake is set if the node has watched the others all along, paused if it is suspended, and gone if it has
	// stopped.
	awake, paused, gone bool
}

const (
	// beatEvery is the interval of a node's heartbeats.
	beatEvery = 2 * time.Second
	// silence is how long a node may be silent before another one takes over.
	silence = 10 * time.Second
	// mostNodes is the maximum number of nodes at a time.
	mostNodes = 2
	// longestLost is how long requests may stay with dead nodes. Other nodes may die meanwhile, and the clock may be
	// set back.
	longestLost = 5 * time.Minute
)

// start starts a node, like a process that may find the state of earlier ones.
func (s *sim) start() {
	s.lives++
	n := &simNode{sim: s, number: s.lives, held: map[wire.RequestID]bool{}, handed: map[simTry]bool{}}
	s.beat()
	var err error
	n.engine, err = engine.Open(context.Background(), engine.Config{
		Store: &faultyStore{Store: s.rows, node: n}, Name: fmt.Sprint("node-", n.number), Alone: s.alone, Fidelity: s.fidelity,
		Dispatch: n.dispatch, Reads: s.declares,
		NewID: func() string {
			s.ids++
			return fmt.Sprintf("%08d-0000-4000-8000-000000000000", s.ids)
		},
	})
	s.must(err)
	s.nodes = append(s.nodes, n)
	s.note("node %d starts", n.number)
	if s.alone && s.lost() > 0 {
		s.breaks(itEnds, "a node that starts alone leaves %d requests with dead nodes", s.lost())
	}
	if s.lives > 1 && s.faults > 0 && s.chance(5) {
		s.count("node killed while taking over")
		s.kill(n)
		return
	}
	n.claim()
}

// dispatch accepts a node's committed requests, and delivers them later.
func (n *simNode) dispatch(ready []store.Request) {
	s := n.sim
	for _, r := range ready {
		if n.handed[tryOf(r)] {
			s.breaks(oneInFlight, "%s of %s is sent twice by one node", r.Type, r.Logical)
		}
		if s.rng.IntN(50) == 0 { // the queue is full
			s.later(5*time.Second, n, func() {
				s.count("node swept")
				n.claim()
			})
			continue
		}
		n.deliver(r)
	}
}

// claim reads the node's requests again.
func (n *simNode) claim() {
	left, err := n.sim.rows.Claim(context.Background(), n.engine.Node(), 1000, func(id wire.RequestID) bool { return n.held[id] })
	n.sim.must(err)
	for _, r := range left {
		n.deliver(r)
	}
}

// deliver delivers a request to its provider, which then acts at random.
func (n *simNode) deliver(r store.Request) {
	s := n.sim
	n.held[r.ID], n.handed[tryOf(r)] = true, true
	s.later(50*time.Millisecond, n, func() {
		if r.Type == store.TypeNotification {
			s.notified(r, n)
			return
		}
		if r.Type == store.TypeExecution {
			s.perform(r, n)
			return
		}
		if s.chance(4) {
			s.count("provider refused")
			s.report(r, n, engine.Outcome{Kind: engine.Refused, Text: "connection refused"})
			return
		}
		if s.recording {
			s.note("node %d %s", n.number, sentLine(r))
		}
		s.handle(r, n)
		s.report(r, n, engine.Outcome{Kind: engine.Accepted, Local: s.local})
	})
}

// drop discards all work of a node.
func (s *sim) drop(n *simNode) {
	s.agenda = slices.DeleteFunc(s.agenda, func(a appointment) bool { return a.of == n })
	clear(n.held)
}

// kill ends a node's process, with its memory and its providers' processes.
func (s *sim) kill(n *simNode) {
	s.note("node %d dies", n.number)
	s.count("node killed")
	n.gone = true
	if slices.ContainsFunc(s.open(), func(r store.Request) bool { return r.Executor == n.engine.Node() }) {
		s.count("process died with its node")
	}
	s.drop(n)
	s.nodes = slices.DeleteFunc(s.nodes, func(other *simNode) bool { return other == n })
	if !slices.ContainsFunc(s.nodes, func(other *simNode) bool { return !other.paused }) {
		s.start()
		return
	}
	s.later(time.Minute, nil, func() {
		if len(s.nodes) < mostNodes {
			s.start()
		}
	})
}

func (s *sim) perhapsKill() {
	for _, n := range slices.Clone(s.nodes) {
		if n.dying || !n.paused && s.faults > 0 && s.rng.IntN(200) == 0 {
			s.kill(n)
		}
	}
}

// perhapsPause suspends one of two nodes for a while. The other one may declare it dead, and it does not know that
// when it resumes.
func (s *sim) perhapsPause() {
	if s.rng.IntN(150) > 0 || len(s.nodes) < 2 || slices.ContainsFunc(s.nodes, func(n *simNode) bool { return n.paused }) {
		return
	}
	n := s.nodes[s.rng.IntN(len(s.nodes))]
	n.paused = true
	s.note("node %d pauses", n.number)
	s.count("node paused")
	s.later(time.Minute, nil, func() {
		if n.gone {
			return
		}
		n.paused, n.awake = false, false
		s.note("node %d wakes", n.number)
		if s.chance(30) {
			n.look()
			return
		}
		s.later(2*time.Second, n, n.look) // until then it continues as if nothing had happened
	})
}

// look is the periodic check of a node. It sends a heartbeat, finds out whether the node was declared dead, and takes
// over from dead nodes.
func (n *simNode) look() {
	s := n.sim
	s.beat()
	before, lost := n.engine.Node(), s.lost()
	at := s.now
	if n.awake { // it has watched all along
		at = at.Add(-silence - 2*beatEvery)
	}
	for ; !at.After(s.now); at = at.Add(beatEvery) {
		s.must(n.engine.Live(context.Background(), at))
	}
	n.awake = true
	if n.engine.Node() != before {
		s.note("node %d was removed, and joins again", n.number)
		s.count("node resumed after it was removed")
		s.drop(n)
	}
	n.claim()
	if lost > 0 && s.lost() == 0 {
		s.note("node %d took over %d requests", n.number, lost)
		s.count("node taken over")
	}
}

// beat sends the heartbeats that every running node would have sent, unless the node was declared dead.
func (s *sim) beat() {
	for _, n := range s.nodes {
		if n.paused {
			continue
		}
		if err := s.rows.Beat(context.Background(), n.engine.Node()); !errors.Is(err, store.ErrGone) {
			s.must(err)
		}
	}
}

// lost counts the requests that no running node will deliver or execute.
func (s *sim) lost() int {
	lost := 0
	for _, r := range s.open() {
		of := r.Owner
		if r.State == store.RequestWaiting {
			of = r.Executor
		}
		if of != 0 && !slices.ContainsFunc(s.nodes, func(n *simNode) bool { return !n.paused && n.engine.Node() == of }) {
			lost++
		}
	}
	return lost
}

// awaitTakeover makes a node look for lost requests.
func (s *sim) awaitTakeover() {
	if s.alone || s.awaited {
		return
	}
	if s.lost() == 0 {
		s.lostSince = time.Time{}
		return
	}
	s.awaited = true
	s.later(silence+2*time.Second, nil, func() {
		s.awaited = false
		s.anyNode().look()
		switch {
		case s.lost() == 0:
			s.lostSince = time.Time{}
		case s.lostSince.IsZero():
			s.lostSince = s.now
		case s.now.Sub(s.lostSince) > longestLost:
			s.breaks(itEnds, "%d requests stay with dead nodes", s.lost())
		}
	})
}

// anyNode returns a running node.
func (s *sim) anyNode() *simNode {
	running := make([]*simNode, 0, mostNodes)
	for _, n := range s.nodes {
		if !n.paused {
			running = append(running, n)
		}
	}
	return running[s.rng.IntN(len(running))]
}

// faultyStore makes an Apply fail at random: before the write, or after it, so that its result is unknown. Some
// failures are the last event that the process sees.
type faultyStore struct {
	store.Store
	node *simNode
}

var errFault = errors.New("the database went away")

func (f *faultyStore) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	if f.node.dying {
		return errFault
	}
	s := f.node.sim
	s.commits++
	switch dice := s.rng.IntN(1000); {
	case s.commits == s.killAt:
		return f.last(ctx, target, decide, s.chance(50))
	case dice < s.faults:
		s.count("commit refused")
		s.note("fault: refused")
		return errFault
	case dice < 2*s.faults:
		return f.last(ctx, target, decide, false)
	case dice < 3*s.faults:
		return f.last(ctx, target, decide, true)
	case dice < 220: // a batch failed, and is replayed
		s.count("batch replayed")
		_ = f.Store.Apply(ctx, target, func(view *store.View) (store.Delta, error) {
			delta, err := decide(view)
			var more *store.More
			if err == nil || !errors.As(err, &more) {
				err = errFault
			}
			return delta, err
		})
	}
	err := f.Store.Apply(ctx, target, decide)
	if err == nil {
		s.committed()
	}
	return err
}

// last is the last Apply that a node sees. done says whether it is executed, which no node knows.
func (f *faultyStore) last(ctx context.Context, target store.Target, decide store.Decide, done bool) error {
	s := f.node.sim
	f.node.dying = true
	if !done {
		s.note("fault: not done")
		s.count("killed before a commit in " + cmp.Or(s.status(), "no stack"))
		return errFault
	}
	err := f.Store.Apply(ctx, target, decide)
	s.note("fault: done but reported failed (%v)", err)
	if err == nil {
		s.committed()
		s.count("killed after a commit in " + s.status())
	}
	return errFault
}
