package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// invariant is a condition that holds in every run.
type invariant string

// The invariants.
const (
	itEnds       invariant = "an operation ends"
	accounted    invariant = "every reported resource is owned, deleted, retained or a listed orphan"
	oneInFlight  invariant = "an instance has one request in flight"
	askedRightly invariant = "a pending request has one poll at a time, and none after its deadline"
	heardOut     invariant = "a silent return fails the settle time after all remaining work has ended"
	agreed       invariant = "when idle, the providers have the resources of the template"
	inOrder      invariant = "requests respect the dependencies"
	truthful     invariant = "requests have the right contents"
	inPolicy     invariant = "policies and the options of calls are respected"
	settledOnce  invariant = "after a failure, all changes are undone and no other request is sent"
	nothingNew   invariant = "rejected and late calls change nothing"
	wellTold     invariant = "events are legal and in order"
	traded       invariant = "imports have the exported value, and exports the value of the output"
	noSecret     invariant = "no secret is shown"
	byDefinition invariant = "executions follow their definition"
	runsEnd      invariant = "an execution ends, at the latest with its stack"
	sameAgain    invariant = "a seed always has the same history"
	noPanic      invariant = "nothing panics"
)

// breach is a violated invariant.
type breach struct {
	invariant invariant
	text      string
}

func (s *sim) breaks(i invariant, format string, args ...any) {
	b := breach{i, fmt.Sprintf(format, args...)}
	s.broken = append(s.broken, b)
	s.note("BROKEN: %s: %s", b.invariant, b.text)
}

func (s *sim) failed() bool { return len(s.broken) > 0 }

// watch is the state that is checked after every commit.
type watch struct {
	// The rows after the last commit, and the position of the last event.
	stack     store.Stack
	op        store.Operation
	instances []store.Instance
	place     store.EventCursor
	// places are the positions of the requests in the order of their creation.
	places map[wire.RequestID]int
	// first are the nodes that had the requests first. moved are the requests that another node had too.
	first map[wire.RequestID]store.Incarnation
	moved map[wire.RequestID]bool
	// resting are the polls that were delayed at the last check.
	resting map[wire.RequestID]bool
	// delivered are the requests with their providers, by delivery time. settling are those in their settle time, by
	// its end.
	delivered, settling map[wire.RequestID]time.Time
	// asked are the resources that got a request in the current phase.
	asked []wire.LogicalID
	// assumed are the assumed properties of resources whose real ones are unknown.
	assumed map[wire.PhysicalID]value.Value
	// applied are the last operations that sent a Create or Update of a resource in their first phase.
	applied map[wire.LogicalID]int
	// heldBack is set if an export of the stack was in use when a rollback published its outputs.
	heldBack bool
	story    story
}

func newWatch() watch {
	return watch{
		places: map[wire.RequestID]int{}, first: map[wire.RequestID]store.Incarnation{}, moved: map[wire.RequestID]bool{}, resting: map[wire.RequestID]bool{},
		delivered: map[wire.RequestID]time.Time{}, settling: map[wire.RequestID]time.Time{},
		assumed: map[wire.PhysicalID]value.Value{}, applied: map[wire.LogicalID]int{}, story: newStory(),
	}
}

// look reads the rows.
func (s *sim) look() {
	ctx, w := context.Background(), &s.watch
	if w.stack.Key == 0 {
		stack, err := s.rows.LiveStack(ctx, store.StackName{Account: account, Region: region, Name: "S"})
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		s.must(err)
		w.stack = stack
	}
	var err error
	w.stack, err = s.rows.Stack(ctx, w.stack.ID)
	s.must(err)
	w.op, err = s.rows.Operation(ctx, w.stack.Key, w.stack.Operation)
	s.must(err)
	w.instances, err = s.rows.Instances(ctx, w.stack.Key)
	s.must(err)
}

// open returns the unsettled requests.
func (s *sim) open() []store.Request {
	requests, err := s.rows.Requests(context.Background(), s.row().Key)
	s.must(err)
	return requests
}

// askedOf returns the requests that providers answer.
func askedOf(requests []store.Request) []store.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r store.Request) bool { return !r.Asks() || r.Type == store.TypeRead })
}

// current returns the current instance of a logical ID, or nil.
func (s *sim) current(logical wire.LogicalID) *store.Instance {
	for n := range s.watch.instances {
		if i := &s.watch.instances[n]; i.Role == store.RoleCurrent && i.Logical == logical {
			return i
		}
	}
	return nil
}

// committed checks the invariants that hold at every moment. It is called after every commit of an engine.
func (s *sim) committed() {
	w := &s.watch
	number, kind, phase := w.op.Number, w.op.Kind, w.op.Phase
	s.look()
	if s.neighbours {
		s.checkTrade()
	}
	if w.stack.Key == 0 {
		return
	}
	if w.op.Number != number && s.next != nil {
		s.model, s.next = *s.next, nil
	}
	if w.op.Number != number || w.op.Kind != kind || w.op.Phase != phase {
		w.asked = nil
	}
	was := phase == store.PhaseRevertCleanup || phase == store.PhaseReverted
	if is := w.op.Phase == store.PhaseRevertCleanup || w.op.Phase == store.PhaseReverted; is && (!was || w.op.Number != number) {
		w.heldBack = s.neighbours && s.inUse()
	}
	if a := s.answering; a != nil && s.request(a.request.ID).State == store.RequestSettled {
		s.answering = nil
		s.settled(a)
	}
	if s.importing {
		return
	}
	s.checkEvents()
	s.checkRequests()
	s.checkRuns()
	s.assume()
	for n, i := range w.instances {
		for _, other := range w.instances[:n] {
			if i.Role == store.RoleCurrent && other.Role == store.RoleCurrent && i.Logical == other.Logical {
				s.breaks(accounted, "%s is the ID of two instances, %d and %d", i.Logical, other.Number, i.Number)
			}
		}
	}
}

// handedOn records whether a request is at another node than the first one. Then the actions of the first node are
// unknown.
func (s *sim) handedOn(r store.Request) {
	with := cmp.Or(r.Owner, r.Executor)
	if s.watch.first[r.ID] == 0 {
		s.watch.first[r.ID] = with // 0 while it is delayed
	}
	if with != 0 && with != s.watch.first[r.ID] {
		s.watch.moved[r.ID] = true
	}
}

func (s *sim) checkRequests() {
	s.checkWaits()
	s.checkSilences()
	s.checkReads()
	open := askedOf(s.open())
	for n, r := range open {
		s.handedOn(r)
		for _, other := range open[:n] {
			if other.Instance == r.Instance {
				s.breaks(oneInFlight, "instance %d of %s has %s and %s", r.Instance, r.Logical, other.ID, r.ID)
			}
		}
		bound := 5*time.Minute + s.setBack // the clock may have been set back since
		if r.Cancelled && r.State == store.RequestWaiting && r.Due.Sub(s.now) > bound {
			s.breaks(itEnds, "a cancelled %s of %s is waited for another %v", r.Type, r.Logical, r.Due.Sub(s.now))
		}
		if s.watch.places[r.ID] == 0 {
			s.watch.places[r.ID] = len(s.watch.places) + 1
			s.checkAsked(r, open)
			s.watch.asked = append(s.watch.asked, r.Logical)
		}
	}
}

// checkAsked checks a new request: whether it may be sent now, and whether its contents are right.
func (s *sim) checkAsked(r store.Request, open []store.Request) {
	op := s.watch.op
	if op.Phase == store.PhaseRevert && r.Type == wire.Update {
		s.ledger.undoing[r.ID] = false
	}
	stopping := op.Expired || len(op.FailedCreates)+len(op.FailedUpdates) > 0 && !op.DisableRollback
	if op.Phase == store.PhaseApply && op.Kind != store.KindDelete && stopping {
		s.breaks(settledOnce, "%s of %s is sent after a failure", r.Type, r.Logical)
	}
	if s.skipped(r.Logical) && (op.Kind == store.KindDelete || r.Type == wire.Update) {
		s.breaks(inPolicy, "%s of %s is sent, but the call excludes it", r.Type, r.Logical)
	}
	if op.Phase == store.PhaseApply {
		s.watch.applied[r.Logical] = op.Number
	}
	switch r.Type {
	case wire.Create:
		s.checkNeeds(r, open)
	case wire.Update:
		s.checkNeeds(r, open)
		s.checkOld(r)
		if op.Phase == store.PhaseApply && s.denied == "Update:Modify" {
			s.breaks(inPolicy, "Update of %s is sent, but the stack policy denies it", r.Logical)
		}
	case wire.Delete:
		s.checkDelete(r)
	case wire.Read, wire.Plan:
	}
	if r.Type != wire.Create && r.Body.PhysicalID == "" {
		s.breaks(truthful, "%s of %s has no physical id", r.Type, r.Logical)
	}
	seconds, _ := r.Body.Properties.Get("ServiceTimeout")
	if want := r.Body.Timeout / time.Second; seconds.Text() != fmt.Sprint(int(want)) {
		s.breaks(truthful, "%s of %s has ServiceTimeout %s and gets %v", r.Type, r.Logical, seconds.Text(), r.Body.Timeout)
	}
}

// checkOld checks the old properties in an Update. They are the last requested ones. If the Update requests the same
// ones again, they are the last confirmed ones. If those are also the same, they are the ones that the rollback
// leaves.
func (s *sim) checkOld(r store.Request) {
	if i := s.current(r.Logical); r.Body.Revert && i.Body.Attempted.IsNull() && i.Body.Properties.Equal(r.Body.Properties) {
		s.count("update with equal properties")
		if !r.Body.OldProperties.Equal(r.Body.Properties) {
			s.breaks(truthful, "Update of %s has the old properties %s, want %s", r.Logical, short(r.Body.OldProperties.JSON()), short(r.Body.Properties.JSON()))
		}
		return
	}
	last, ok := s.ledger.last(r.Instance)
	want := last.properties
	again := ok && want.Equal(r.Body.Properties)
	if again && !last.same {
		if want, ok = s.ledger.good[r.Body.PhysicalID]; ok && want.Equal(r.Body.Properties) {
			want, ok = s.ledger.other(r.Instance, r.Body.Properties)
		}
		if !ok {
			return // no other properties are known, at least of this physical resource
		}
	}
	if !ok || !want.Equal(r.Body.OldProperties) {
		s.breaks(truthful, "Update of %s has the old properties %s, want %s; sent were %v", r.Logical,
			short(r.Body.OldProperties.JSON()), short(want.JSON()), s.ledger.sent[r.Instance])
	}
}

// checkNeeds checks that all dependencies of a created or updated resource are ready, and were so before it.
func (s *sim) checkNeeds(r store.Request, open []store.Request) {
	graph := s.to
	if s.watch.op.Phase == store.PhaseRevert {
		graph = s.from
	}
	for _, other := range s.watch.asked {
		if graph.feeds(string(r.Logical), string(other)) {
			s.breaks(inOrder, "%s of %s is sent after one of %s, which needs it", r.Type, r.Logical, other)
		}
	}
	declared, _ := graph.resource(string(r.Logical))
	for _, need := range declared.all() {
		i := s.current(wire.LogicalID(need))
		at := slices.IndexFunc(open, func(o store.Request) bool { return string(o.Logical) == need })
		if i == nil || !i.Body.Attempted.IsNull() || at >= 0 && !open[at].Created.After(r.Created) {
			s.breaks(inOrder, "%s of %s is sent while %s, which it needs, is not ready", r.Type, r.Logical, need)
		}
	}
}

// clearing reports whether the Deletes of an operation may make room: they delete the remains of a failed Create
// before the next attempt.
func clearing(op store.Operation) bool {
	return op.Kind == store.KindUpdate && op.Phase == store.PhaseApply
}

// checkDelete checks that no resource that will be deleted depends on the deleted one, that no policy retains it, and
// that the provider gets its properties.
func (s *sim) checkDelete(r store.Request) {
	op := s.watch.op
	own := s.graphOf(r.Logical, op.Kind, op.Phase)
	for _, other := range s.watch.asked {
		if other != r.Logical && !clearing(op) && own.feeds(string(other), string(r.Logical)) {
			s.breaks(inOrder, "Delete of %s is sent after that of %s, which it needs", r.Logical, other)
		}
	}
	for _, i := range s.watch.instances {
		if i.Number == r.Instance {
			if s.keeps(i, op) && !clearing(op) {
				s.breaks(inPolicy, "Delete of %s %s is sent, but its policy retains it", r.Logical, i.PhysicalID)
			}
			if i.PhysicalID != r.Body.PhysicalID || !i.Reached {
				s.breaks(truthful, "Delete of %s is sent for %q, want %q", r.Logical, r.Body.PhysicalID, i.PhysicalID)
			}
			continue
		}
		goes := i.Role == store.RoleCondemned && !clearing(op) ||
			i.Role == store.RoleCurrent && (op.Kind == store.KindDelete || op.Phase == store.PhaseRevert)
		if goes && s.graphOf(i.Logical, op.Kind, op.Phase).feeds(string(r.Logical), string(i.Logical)) {
			s.breaks(inOrder, "Delete of %s is sent while %s, which depends on it, is still %s", r.Logical, i.Logical, i.Role)
		}
	}
	if good, ok := s.ledger.good[r.Body.PhysicalID]; ok && !good.Equal(r.Body.Properties) {
		s.breaks(truthful, "Delete of %s %s has the properties %s, want %s", r.Logical, r.Body.PhysicalID,
			short(r.Body.Properties.JSON()), short(good.JSON()))
	}
}

// graphOf returns the template whose graph and policies apply when a resource is deleted.
func (s *sim) graphOf(logical wire.LogicalID, kind store.Kind, phase store.Phase) simTemplate {
	declares := func(side simTemplate) bool { _, ok := side.resource(string(logical)); return ok }
	sides := append([]simTemplate{s.to}, s.tried...)
	cleanup := kind == store.KindUpdate && (phase == store.PhaseCleanup || phase == store.PhaseSucceeded)
	switch {
	case kind == store.KindDelete:
		sides = s.sides
	case cleanup && (declares(s.from) || declares(s.to)):
		return s.from
	case kind == store.KindUpdate && declares(s.from):
		return s.to
	}
	if at := slices.IndexFunc(sides, declares); at >= 0 {
		return sides[at]
	}
	return simTemplate{}
}

// keeps reports whether a policy protects an instance from deletion.
func (s *sim) keeps(i store.Instance, op store.Operation) bool {
	kind, phase := op.Kind, op.Phase
	v := s.graphOf(i.Logical, kind, phase)
	if i.Replaced {
		switch {
		case kind == store.KindUpdate && (phase == store.PhaseCleanup || phase == store.PhaseSucceeded):
			made := s.graphOf(i.Logical, kind, store.PhaseRevertCleanup)
			if _, ok := made.resource(string(i.Logical)); ok { // else it was replaced, then removed
				v = made
			}
		case kind == store.KindUpdate && i.Number > op.Stood:
			return false
		case kind == store.KindUpdate:
			v = s.from
		}
		r, _ := v.resource(string(i.Logical))
		return r.replace == "Retain"
	}
	r, _ := v.resource(string(i.Logical))
	undone := op.Call != store.CallDelete && phase != store.PhaseCleanup && (phase != store.PhaseSucceeded || kind == store.KindDelete)
	return r.policy == "Retain" && !op.RetainExceptOnCreate || r.policy != "" && !undone
}

// checkLate checks the effect of an answer to a request that was already settled: the engine records the answer and
// changes nothing else.
func (s *sim) checkLate(r store.Request, outcome engine.Outcome, err error, before print, audited int) {
	if outcome.Kind == engine.Answered {
		now := s.request(r.ID)
		if now.Ending == engine.Answered.String() {
			s.count("answer: twice")
		} else {
			s.count("answer: late")
		}
		if now.Late == 0 && err == nil || err == nil && s.audited() <= audited && now.Late < 10 {
			s.breaks(accounted, "a late answer to %s of %s is not recorded", r.Type, r.Logical)
		}
	}
	if after := s.print(); !reflect.DeepEqual(before, after) {
		s.breaks(nothingNew, "a late %s of %s changed the stack from %s to %s, or its rows", r.Type, r.Logical, before.status, after.status)
	}
}

// audited returns the number of entries in the audit list.
func (s *sim) audited() int { return len(s.audit()) }

func (s *sim) audit() []store.Audit {
	audit, err := s.rows.Audit(context.Background(), s.row().Key, 10_000)
	s.must(err)
	return audit
}

// secret reports whether a text shows one of the secrets, whose names contain "hush".
func secret(text string) bool { return strings.Contains(text, "hush") }
