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

// sim is one life of one stack.
type sim struct {
	seed     uint64
	rng      *rand.Rand
	now      time.Time
	setBack  time.Duration // how much the clock has lost
	rows     *memory.Store
	fidelity engine.Fidelity
	// faults is of how many in a thousand commits the database refuses one; as often it is the last that a node sees.
	faults int
	// killAt is the commit at which a node is killed, before it or after it; commits are those so far.
	killAt, commits int
	// alone says that there is one node, which is started again when it dies. Else there are mostly two.
	alone bool
	// local says that the providers are processes of the node that has the request.
	local bool
	// neighbours says that there are other stacks, from which it imports and which import from it.
	neighbours bool
	// patient is in how many of a hundred times a process is not done, and wants to be asked again.
	patient int
	// calm is how many in a hundred requests no provider fails at; in calm lives less is declared wrongly, too.
	calm  int
	nodes []*simNode
	lives int // nodes so far
	// awaited says that one node will look for what dead ones left, of which there is some since lostSince.
	awaited   bool
	lostSince time.Time
	agenda    []appointment
	// tick is what delays are a multiple of: in some lives much happens in one millisecond.
	tick time.Duration
	ids  int

	model
	// next is the model once the call that is being made has been accepted, nil if it changes nothing.
	next *model
	// machines says that there are state machines too; runs are their executions, and tasking is what is being told of one.
	machines bool
	runs     []*simRun
	tasking  *simTask
	readings readings
	// importing says that the life is one import, see TestImportSimulation.
	importing bool
	// answering is what is being reported, nil for nothing.
	answering *answering
	// things are what the providers have made, by physical id.
	things map[wire.PhysicalID]*thing
	ledger ledger
	watch  watch

	covered   coverage
	broken    []breach
	recording bool
	log       []string
}

// model is what is known of a stack from what was asked of it.
type model struct {
	// from and to are the sides of the create or update under way, or of the last one; sides are those of a delete.
	from, to simTemplate
	// tried are what was gone for since the stack stood at from, and left as it failed, newest first.
	tried []simTemplate
	sides []simTemplate
	// denied is the action that the stack policy denies for all resources, "" for none.
	denied string
	// spared are the resources that the operation is not to touch; forced says that it leaves behind what fails.
	spared []wire.LogicalID
	forced bool
}

// appointment is something that will happen.
type appointment struct {
	at   time.Time
	what func()
	// of is the node that it happens on; it does not outlive that. nil survives.
	of *simNode
}

const (
	// longest is how long an operation may take, in simulated time: a chain of resources, each of which times out on
	// every Delete of all its instances.
	longest = 24 * time.Hour
	// mostSteps is how many things may happen meanwhile.
	mostSteps = 5000
	// mostOperations is how many operations a life has, before the deletes that end it.
	mostOperations, mostDeletes = 6, 6
)

// simulate lives the life of a seed. recording keeps its history.
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

// live lets a stack go through its operations, and deletes it.
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

// operate begins an operation and runs the world until it has ended.
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
	for s.chance(97) && len(s.agenda) > 0 && !s.failed() { // mostly nothing late is left for the next operation
		s.step()
	}
}

// call asks one node after the other for an operation until one has taken or refused it. It returns false if it was
// refused.
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
			s.breaks(itEnds, "it cannot be begun: %v", err)
			return false
		}
		s.perhapsKill()
	}
}

// step moves time to the next thing that happens, and lets it happen.
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
			s.lostSince = s.lostSince.Add(ahead) // nobody had this time to take over
		}
		s.count("clock set forward")
	}
	s.proceed()
}

// proceed moves time to the next appointment or deadline, and lets that happen.
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
		return // a killed node took the last appointment
	case due.IsZero():
		s.breaks(itEnds, "nothing will ever happen again: %s", s.status())
		return
	}
	s.now = later(s.now, due)
	if err := s.anyNode().engine.Fire(context.Background()); err != nil {
		s.note("fire: %v", err)
	}
}

// nextDue returns when the next request is due, zero for never.
func (s *sim) nextDue() time.Time {
	ids, next, err := s.rows.Due(context.Background(), 1)
	s.must(err)
	if len(ids) > 0 {
		return s.now
	}
	return next
}

// later makes an appointment with chance.
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

// must stops a life at an error of what the simulation itself does.
func (s *sim) must(err error) {
	if err != nil {
		panic(err)
	}
}

// row returns the stack as of the last commit.
func (s *sim) row() *store.Stack { return &s.watch.stack }

func (s *sim) status() string { return engine.CloudFormation.StackStatus(s.row().Kind, s.row().Phase) }
