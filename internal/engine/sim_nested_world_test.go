package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// nestShape is the target of a stack: its own resources, and its nested stacks.
type nestShape struct {
	url    string
	leaves []nestLeaf
	nested []nestShape
	// after is the leaf whose ID the nested stacks get.
	after string
	id    string
}

type nestLeaf struct {
	id, v, kind string
	needs       string // an earlier leaf
	reads       string // a nested stack
}

// shape draws a random target for the root.
func (s *forest) shape() nestShape { return s.shapeOf("root", 0) }

func (s *forest) shapeOf(url string, depth int) nestShape {
	shape := nestShape{url: url}
	for i := range 1 + s.rng.IntN(3) {
		if i > 0 && s.chance(15) {
			continue
		}
		leaf := nestLeaf{id: "R" + string(rune('A'+i)), v: fmt.Sprint(s.rng.IntN(3)), kind: fmt.Sprint(s.rng.IntN(4) / 3)}
		if len(shape.leaves) > 0 && s.chance(40) {
			leaf.needs = shape.leaves[0].id
		}
		shape.leaves = append(shape.leaves, leaf)
	}
	most := []int{3, 2, 0}[depth]
	for i := range most {
		if s.chance(20 + 25*depth) {
			continue
		}
		child := s.shapeOf(url+"-"+string(rune('A'+i)), depth+1)
		child.id = "N" + string(rune('A'+i))
		if s.chance(40) {
			child.after = shape.leaves[0].id
		}
		shape.nested = append(shape.nested, child)
	}
	if n := len(shape.leaves); n > 1 && len(shape.nested) > 0 && shape.leaves[n-1].needs == "" && s.chance(60) {
		if child := shape.nested[len(shape.nested)-1]; child.after != shape.leaves[n-1].id {
			shape.leaves[n-1].reads = child.id
		}
	}
	return shape
}

// text returns the template, and stores those of nested stacks at their URLs.
func (v nestShape) text(s *forest) string {
	resources := map[string]string{}
	for _, leaf := range v.leaves {
		properties := fmt.Sprintf(`"V": %q, "R": %q, "ServiceTimeout": 600`, leaf.v, leaf.kind)
		if leaf.needs != "" {
			properties += fmt.Sprintf(`, "Of": {"Ref": %q}`, leaf.needs)
		}
		if leaf.reads != "" {
			properties += fmt.Sprintf(`, "Reads": {"Fn::GetAtt": [%q, "Outputs.First"]}`, leaf.reads)
		}
		resources[leaf.id] = resource(properties)
	}
	for _, child := range v.nested {
		s.templates[child.url] = child.text(s)
		given := `"Parameters": {"P": "p"}`
		if child.after != "" {
			given = fmt.Sprintf(`"Parameters": {"P": {"Ref": %q}}`, child.after)
		}
		resources[child.id] = nestedIn(child.url, given)
	}
	return body(resources, `"Description": "`+v.url+`"`, `"Parameters": {"P": {"Type": "String", "Default": "d"}}`,
		fmt.Sprintf(`"Outputs": {"First": {"Value": {"Ref": %q}}}`, v.leaves[0].id))
}

// nestNode is a process with an engine and a delivery.
type nestNode struct {
	sim           *forest
	number        int
	engine        *engine.Engine
	types         *native.Registry
	held          map[wire.RequestID]bool
	dying, paused bool
	awake, gone   bool
}

func (s *forest) start() {
	s.lives++
	n := &nestNode{sim: s, number: s.lives, held: map[wire.RequestID]bool{}}
	var err error
	n.types, err = native.New(native.Stack(
		func(_ context.Context, url string) (string, error) {
			if s.rng.IntN(100) >= s.calm+2 && s.chance(20) {
				return "", errors.New("the server of templates is not there")
			}
			return s.templates[url], nil
		},
		func(ctx context.Context, r *store.Request, template func(context.Context) (string, error)) (native.Result, bool, error) {
			return n.engine.Nest(ctx, r, template)
		},
	))
	s.must(err)
	s.beat()
	n.engine, err = engine.Open(context.Background(), engine.Config{
		Store: &nestFaults{Store: s.rows, node: n}, Name: fmt.Sprint("node-", n.number), Alone: s.alone, Native: n.types,
		Dispatch: func(ready []store.Request) {
			for _, r := range ready {
				n.deliver(r)
			}
		},
		NewID: func() string {
			s.ids++
			return fmt.Sprintf("%08d-0000-4000-8000-000000000000", s.ids)
		},
	})
	s.must(err)
	s.nodes = append(s.nodes, n)
	s.note("node %d starts", n.number)
	n.claim()
}

func (n *nestNode) claim() {
	left, err := n.sim.rows.Claim(context.Background(), n.engine.Node(), 1000, func(id wire.RequestID) bool { return n.held[id] })
	n.sim.must(err)
	for _, r := range left {
		n.deliver(r)
	}
}

// deliver delivers a request to its recipient: the node itself, or a remote provider.
func (n *nestNode) deliver(r store.Request) {
	s := n.sim
	n.held[r.ID] = true
	s.later(50*time.Millisecond, n, func() {
		if n.engine.Node() != r.Owner {
			delete(n.held, r.ID)
			return
		}
		if !r.Body.Native() {
			s.note("node %d %s", n.number, sentLine(r))
			s.provide(r)
			n.report(r, engine.Outcome{Kind: engine.Accepted})
			return
		}
		s.note("node %d serves %s (%s) of %s %s", n.number, r.Type, r.Body.Aim, r.Logical, r.Body.PhysicalID)
		outcome, ok := nestedOutcome(context.Background(), n.types, &r)
		if !ok || n.dying {
			s.later(5*time.Second, n, func() { delete(n.held, r.ID); n.claim() })
			return
		}
		s.later(2*time.Second, n, func() { n.report(r, outcome) })
	})
}

// report reports to the engine until it is accepted.
func (n *nestNode) report(r store.Request, outcome engine.Outcome) {
	err := n.engine.Report(context.Background(), r.ID, outcome)
	n.sim.note("node %d reports %s %s of %s %q: %v", n.number, outcome.Kind, r.Type, r.Logical, outcome.Text, err)
	if err != nil {
		n.sim.later(time.Second, n, func() { n.report(r, outcome) })
		return
	}
	delete(n.held, r.ID)
}

// provide plays a provider that gets a request.
func (s *forest) provide(r store.Request) {
	id := r.Body.PhysicalID
	v, _ := r.Body.Properties.Get("V")
	kind, _ := r.Body.Properties.Get("R")
	current, err := s.rows.Request(context.Background(), r.ID)
	s.must(err)
	if current.State == store.RequestSettled || s.served[r.ID] {
		return // it knows the request, and has answered or will
	}
	s.served[r.ID] = true
	if s.rng.IntN(300) == 0 {
		s.count("provider says nothing")
		return
	}
	failing := s.rng.IntN(100) >= s.calm
	switch r.Type {
	case wire.Create:
		id = s.makeThing(r, kind.Text())
	case wire.Update:
		if was := s.things[id]; was != nil && was.kind != kind.Text() && !failing {
			s.count("provider gave another id")
			id = s.makeThing(r, kind.Text())
		}
	case wire.Delete:
		s.checkDelete(r)
		if th := s.things[id]; th != nil && !failing {
			th.exists = false
		}
	case wire.Read, wire.Plan:
	}
	if th := s.things[id]; th != nil && r.Type != wire.Delete && (!failing || r.Type == wire.Create) {
		th.v = v.Text()
	}
	members := success(string(id))
	if failing {
		s.count("provider failed")
		members = fmt.Sprintf(`"Status": "FAILED", "Reason": "no", "PhysicalResourceId": %q`, id)
	}
	s.later(time.Minute, nil, func() { s.reportProvided(r, document(r, members)) })
}

func (s *forest) reportProvided(r store.Request, said string) {
	err := s.anyNode().engine.Answer(context.Background(), r.ID, []byte(said), 0)
	s.note("answer to %s of %s %s: %v", r.Type, r.Logical, said[strings.Index(said, `"Status"`):], err)
	if err != nil {
		s.later(time.Second, nil, func() { s.reportProvided(r, said) })
	}
}

// makeThing creates a physical resource, or finds an earlier one of the resource and kind.
func (s *forest) makeThing(r store.Request, kind string) wire.PhysicalID {
	if r.Type == wire.Update {
		for n := len(s.things); n > 0; n-- {
			id := wire.PhysicalID(fmt.Sprint("thing-", n))
			if th := s.things[id]; th.stack == r.Body.StackID && th.logical == r.Logical && th.kind == kind && th.exists {
				return id
			}
		}
	}
	id := wire.PhysicalID(fmt.Sprint("thing-", len(s.things)+1))
	s.things[id] = &nestThing{stack: r.Body.StackID, logical: r.Logical, kind: kind, exists: true}
	return id
}

// bury stops the nodes that have seen their last commit, and others at random.
func (s *forest) bury() {
	for _, n := range slices.Clone(s.nodes) {
		if !n.dying && (n.paused || s.faults == 0 || s.rng.IntN(400) > 0) {
			continue
		}
		s.note("node %d dies", n.number)
		n.gone = true
		s.agenda = slices.DeleteFunc(s.agenda, func(a nestAppointment) bool { return a.of == n })
		s.nodes = slices.DeleteFunc(s.nodes, func(other *nestNode) bool { return other == n })
		if !slices.ContainsFunc(s.nodes, func(other *nestNode) bool { return !other.paused }) {
			s.start()
			continue
		}
		s.later(time.Minute, nil, func() {
			if len(s.nodes) < mostNodes {
				s.start()
			}
		})
	}
}

// perhapsPause suspends one of two nodes for a while. It continues for a moment when it resumes, as if nothing had
// happened.
func (s *forest) perhapsPause() {
	if len(s.nodes) < 2 || s.rng.IntN(150) > 0 || slices.ContainsFunc(s.nodes, func(n *nestNode) bool { return n.paused }) {
		return
	}
	n := s.nodes[s.rng.IntN(len(s.nodes))]
	n.paused = true
	s.count("node paused")
	s.note("node %d pauses", n.number)
	s.later(2*time.Minute, nil, func() {
		if n.gone {
			return
		}
		n.paused, n.awake = false, false
		s.note("node %d wakes", n.number)
		s.later(2*time.Second, n, n.look)
	})
}

// look is the periodic check of a node: it sends a heartbeat, and takes over from dead nodes.
func (n *nestNode) look() {
	s := n.sim
	s.beat()
	before, at := n.engine.Node(), s.now
	if n.awake {
		at = at.Add(-silence - 2*beatEvery)
	}
	for ; !at.After(s.now); at = at.Add(beatEvery) {
		if err := n.engine.Live(context.Background(), at); err != nil {
			return
		}
	}
	n.awake = true
	if n.engine.Node() != before {
		s.note("node %d joins again", n.number)
		s.agenda = slices.DeleteFunc(s.agenda, func(a nestAppointment) bool { return a.of == n })
		clear(n.held)
	}
	n.claim()
}

func (s *forest) beat() {
	for _, n := range s.nodes {
		if !n.paused {
			if err := s.rows.Beat(context.Background(), n.engine.Node()); !errors.Is(err, store.ErrGone) {
				s.must(err)
			}
		}
	}
}

// awaitTakeover makes a node look for the work of dead ones.
func (s *forest) awaitTakeover() {
	if s.alone || s.awaited || s.rng.IntN(10) > 0 && len(s.agenda) > 0 {
		return
	}
	for _, stack := range s.all() {
		open, err := s.rows.Requests(context.Background(), stack.Key)
		s.must(err)
		for _, r := range open {
			if r.Owner != 0 && !slices.ContainsFunc(s.nodes, func(n *nestNode) bool { return !n.paused && n.engine.Node() == r.Owner }) {
				s.awaited = true
				s.later(silence+2*time.Second, nil, func() { s.awaited = false; s.anyNode().look() })
				return
			}
		}
	}
}

func (s *forest) anyNode() *nestNode {
	var running []*nestNode
	for _, n := range s.nodes {
		if !n.paused {
			running = append(running, n)
		}
	}
	return running[s.rng.IntN(len(running))]
}

// nestFaults makes an Apply fail at random, before or after it. Some failures are the last event that the process
// sees.
type nestFaults struct {
	store.Store
	node *nestNode
}

func (f *nestFaults) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	n, s := f.node, f.node.sim
	if n.dying {
		return errFault
	}
	switch dice := s.rng.IntN(1000); {
	case dice < s.faults:
		s.count("commit refused")
		return errFault
	case dice < 2*s.faults:
		s.count("node killed before a commit")
		n.dying = true
		return errFault
	case dice < 3*s.faults:
		s.count("node killed after a commit")
		n.dying = true
		err := f.Store.Apply(ctx, target, decide)
		s.note("node %d has seen its last commit: %v", n.number, err)
		return errFault
	}
	return f.Store.Apply(ctx, target, decide)
}
