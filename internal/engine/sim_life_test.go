package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

// sim is one simulated run of one stack.
type sim struct {
	seed     uint64
	rng      *rand.Rand
	now      time.Time
	setBack  time.Duration // how far the clock was set back
	rows     *memory.Store
	fidelity engine.Fidelity
	// faults is the number of refused commits in a thousand. The number of commits after which a node dies is the
	// same.
	faults int
	// killAt is the commit before or after which a node is killed. commits is the number so far.
	killAt, commits int
	// alone is set if there is one node, which restarts when it dies. Otherwise there are usually two.
	alone bool
	// local is set if the providers are processes of the node that has the request.
	local bool
	// neighbours is set if there are other stacks, one to import from and one that imports.
	neighbours bool
	// patient is the percentage of processes that are not done and want to be polled.
	patient int
	// calm is the percentage of requests at which no provider fails. In calm runs, fewer declarations are invalid.
	calm  int
	nodes []*simNode
	lives int // number of nodes so far
	// awaited is set if a node will look for the work of dead nodes. There has been such work since lostSince.
	awaited   bool
	lostSince time.Time
	agenda    []appointment
	// tick is the granularity of delays: in some runs many events happen in one millisecond.
	tick time.Duration
	ids  int

	model
	// next is the model after the current call is accepted, nil if the call does not change it.
	next *model
	// machines is set if there are state machines. runs are their executions, and tasking is the report in progress.
	machines bool
	runs     []*simRun
	tasking  *simTask
	readings readings
	// importing is set if the run is one import, see TestImportSimulation.
	importing bool
	// answering is the report in progress, or nil.
	answering *answering
	// things are the providers' resources by physical ID.
	things map[wire.PhysicalID]*thing
	ledger ledger
	watch  watch

	covered   coverage
	broken    []breach
	recording bool
	log       []string
}

// model is the state of a stack that follows from the calls.
type model struct {
	// from and to are the sides of the current or last create or update; sides are those of a delete.
	from, to simTemplate
	// tried are the failed targets since the stack was complete at from, newest first.
	tried []simTemplate
	sides []simTemplate
	// denied is the action that the stack policy denies for all resources, or "".
	denied string
	// spared are the resources that the operation must not touch. forced is set if it leaves failed resources behind.
	spared []wire.LogicalID
	forced bool
	// again are the resources that get an Update even if nothing changed.
	again []wire.LogicalID
}

// appointment is a future event.
type appointment struct {
	at   time.Time
	what func()
	// of is the node on which it happens, and with which it disappears; nil for an event that survives nodes.
	of *simNode
}

const (
	// longest is the maximum duration of an operation in simulated time: a chain of resources, each of which times
	// out on every Delete of all its instances.
	longest = 24 * time.Hour
	// mostSteps is the maximum number of steps of an operation.
	mostSteps = 5000
	// mostOperations is the maximum number of operations before the final deletes.
	mostOperations, mostDeletes = 6, 6
)

// simulate runs the simulation of a seed. recording keeps its log.
func simulate(seed uint64, recording bool) (s *sim) {
	s = &sim{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), tick: 1,
		things: map[wire.PhysicalID]*thing{}, ledger: newLedger(), watch: newWatch(),
		covered: coverage{}, recording: recording,
	}
	defer func() {
		if p := recover(); p != nil {
			s.breaks(noPanic, "%v\n%s", p, debug.Stack())
		}
	}()
	s.fidelity = []engine.Fidelity{engine.FidelityPintle, engine.FidelityPintle, engine.FidelityAWS}[s.rng.IntN(3)]
	s.count("fidelity " + string(s.fidelity))
	s.faults, s.killAt = []int{0, 5, 10, 40}[s.rng.IntN(4)], 1+s.rng.IntN(100)
	s.calm = []int{0, 50, 80}[s.rng.IntN(3)]
	s.alone, s.local = s.chance(60), s.chance(30)
	s.patient = []int{0, 20, 60}[s.rng.IntN(3)]
	s.neighbours = s.chance(50)
	s.readings = newReadings(seed)
	s.machines = rand.New(rand.NewPCG(seed, 1)).IntN(100) < 20
	if s.chance(30) {
		s.tick = 10 * time.Second
	}
	var err error
	s.rows, err = memory.New(memory.Config{Now: func() time.Time { return s.now }})
	s.must(err)
	s.start()
	if !s.alone {
		s.start()
	}
	s.live()
	return s
}

// live runs the stack through its operations, and deletes it.
func (s *sim) live() {
	if s.neighbours {
		s.neighbour(exporter)
	}
	s.operate("create", s.create())
	for range s.rng.IntN(mostOperations) {
		if !s.row().Live || s.failed() {
			break
		}
		if s.chance(15) {
			s.interlope()
		}
		if s.neighbours && s.chance(50) {
			s.trade()
		}
		if s.readings.on && s.readings.chance(60) {
			if s.detect(); s.failed() {
				break
			}
		}
		op := s.choose(s.status())
		s.operate(op.name, op.draw(s))
	}
	if s.neighbours && !s.failed() {
		s.quit()
	}
	s.endRuns()
	for range mostDeletes {
		if s.row().Live && !s.failed() {
			s.operate("delete", s.delete())
		}
	}
	s.checkEnded()
}

// operate starts an operation and runs the simulation until it has finished.
func (s *sim) operate(name string, c simCall) {
	began, last := s.now, s.watch.op.ID
	accepted := s.call(c)
	if !accepted || s.watch.op.ID == last {
		s.count(name + ": no change")
		return
	}
	name += c.how
	for steps := 0; !s.row().Phase.Final(); steps++ {
		if s.failed() {
			return
		}
		if steps > mostSteps || s.now.Sub(began) > longest {
			s.breaks(itEnds, "it is still %s after %v", s.status(), s.now.Sub(began))
			return
		}
		if name == "update" && s.watch.op.RollbackToken != "" {
			name = "cancel"
		}
		if name == "create" && s.watch.op.Expired {
			name = "create, expired"
		}
		s.step()
	}
	s.count(name + ": " + s.status())
	s.note("ended %s", s.status())
	s.checkEnd()
	s.checkAtRest()
	for s.chance(97) && len(s.agenda) > 0 && !s.failed() { // usually no late event remains for the next operation
		s.step()
	}
}

// call sends a call to one node after another until one has accepted or rejected it. It returns false if it was
// rejected.
func (s *sim) call(c simCall) bool {
	s.note("%s", c.note)
	s.next = c.next
	defer func() { s.next = nil }()
	for try := 0; ; try++ {
		err := c.call(s.anyNode().engine)
		s.note("called: %v", err)
		if keptFrom(err) {
			s.count("delete of exports in use")
		}
		var input *engine.Error
		if err == nil || errors.As(err, &input) {
			return err == nil
		}
		if try == 50 {
			s.breaks(itEnds, "it cannot be started: %v", err)
			return false
		}
		s.perhapsKill()
	}
}

// step moves the clock to the next event, and runs it.
func (s *sim) step() {
	s.perhapsKill()
	s.perhapsPause()
	if s.rng.IntN(60) == 0 {
		s.intervene()
		return
	}
	if s.rng.IntN(60) == 0 {
		s.answerByHand()
		return
	}
	if s.readings.on && s.readings.chance(2) && !s.row().Phase.Final() {
		s.detectTooEarly()
	}
	if s.machines && s.row().Live && s.rng.IntN(12) == 0 {
		if s.rng.IntN(10) > 0 {
			s.startRun()
		} else {
			s.stopRun()
		}
		return
	}
	if s.neighbours && s.rng.IntN(40) == 0 {
		s.trade()
		return
	}
	if s.rng.IntN(100) == 0 {
		back := time.Duration(s.rng.Int64N(int64(time.Minute)))
		s.now, s.setBack = s.now.Add(-back), s.setBack+back
		s.count("clock set back")
	}
	if s.rng.IntN(200) == 0 {
		ahead := time.Duration(s.rng.Int64N(int64(2 * time.Hour)))
		s.now = s.now.Add(ahead)
		if !s.lostSince.IsZero() {
			s.lostSince = s.lostSince.Add(ahead) // no node had this time to take over
		}
		s.count("clock set forward")
	}
	s.proceed()
}

// proceed moves the clock to the next appointment or deadline, and runs it.
func (s *sim) proceed() {
	s.awaitTakeover()
	next := -1
	for i, a := range s.agenda {
		if (a.of == nil || !a.of.paused) && (next < 0 || a.at.Before(s.agenda[next].at)) {
			next = i
		}
	}
	due := s.nextDue()
	if next >= 0 && (due.IsZero() || s.agenda[next].at.Before(due)) {
		a := s.agenda[next]
		s.agenda = slices.Delete(s.agenda, next, next+1)
		s.now = later(s.now, a.at)
		a.what()
		return
	}
	switch {
	case due.IsZero() && s.row().Phase.Final():
		return // a killed node had the last appointment
	case due.IsZero():
		s.breaks(itEnds, "no event is pending: %s", s.status())
		return
	}
	s.now = later(s.now, due)
	if err := s.anyNode().engine.Fire(context.Background()); err != nil {
		s.note("fire: %v", err)
	}
}

// nextDue returns the next due time, zero for none.
func (s *sim) nextDue() time.Time {
	ids, next, err := s.rows.Due(context.Background(), 1)
	s.must(err)
	if len(ids) > 0 {
		return s.now
	}
	return next
}

// later adds an appointment at a random time.
func (s *sim) later(max time.Duration, of *simNode, what func()) {
	s.agenda = append(s.agenda, appointment{s.now.Add(time.Duration(s.rng.Int64N(int64(max))).Truncate(s.tick)), what, of})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *sim) chance(percent int) bool { return s.rng.IntN(100) < percent }

func (s *sim) count(what string) { s.covered[what]++ }

func (s *sim) note(format string, args ...any) {
	if s.recording {
		s.log = append(s.log, s.now.Format("02 15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

// must stops the run after an error of the simulation itself.
func (s *sim) must(err error) {
	if err != nil {
		panic(err)
	}
}

// row returns the stack as of the last commit.
func (s *sim) row() *store.Stack { return &s.watch.stack }

func (s *sim) status() string { return engine.CloudFormation.StackStatus(s.row().Kind, s.row().Phase) }
