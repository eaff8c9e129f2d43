package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

var nestSeeds = flag.Int("sim.nested", 100, "how many seeds TestNestedSimulation runs")

// The invariants of nested stacks.
const (
	rootEnds    invariant = "an operation of a root stack ends"
	allEnd      invariant = "nested stacks finish before their root stack"
	noneLeft    invariant = "no nested stack is abandoned"
	notTooEarly invariant = "no resource in use is deleted before the root stack has succeeded"
	stands      invariant = "when idle, every resource that a stack depends on exists"
	sameText    invariant = "when idle, every nested stack matches its parent's declaration"
	onceEach    invariant = "a request creates one nested stack"
)

// TestNestedSimulation simulates a root with nested stacks, two levels deep, from a seed: creates, updates, rollbacks
// and deletes, some of them cancelled. Providers fail or return other IDs. Nodes are killed before or after any
// commit, pause, and are taken over.
func TestNestedSimulation(t *testing.T) {
	if *simSeed != 0 {
		s := simulateNested(*simSeed, true)
		t.Logf("seed %d:\n%s", *simSeed, strings.Join(s.log, "\n"))
		s.printFailure(t)
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	var group sync.WaitGroup
	var given atomic.Uint64
	var mu sync.Mutex
	var failed *forest
	all := coverage{}
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := given.Add(1) - 1; i < uint64(*nestSeeds); i = given.Add(1) - 1 {
				s := simulateNested(*simFirst+i, false)
				mu.Lock()
				all.add(s.covered)
				if len(s.broken) > 0 && (failed == nil || s.seed < failed.seed) {
					failed = s
				}
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d lives\n%s", *nestSeeds, all)
	if failed != nil {
		failed.printFailure(t)
		again := simulateNested(failed.seed, true)
		t.Fatalf("the end of its history:\n%s", strings.Join(again.log[max(0, len(again.log)-80):], "\n"))
	}
	if *nestSeeds < 2000 {
		return
	}
	for _, what := range nestedMustCover {
		if all[what] == 0 {
			t.Errorf("%q never occurred, but the simulation is for that", what)
		}
	}
}

var nestedMustCover = []string{
	"create: CREATE_COMPLETE", "create: CREATE_FAILED", "create: ROLLBACK_COMPLETE", "update: UPDATE_COMPLETE", "update: UPDATE_FAILED",
	"update: UPDATE_ROLLBACK_COMPLETE", "update: UPDATE_ROLLBACK_FAILED", "rollback: UPDATE_ROLLBACK_COMPLETE", "rollback: ROLLBACK_COMPLETE",
	"continue: UPDATE_ROLLBACK_COMPLETE", "cancelled", "delete: DELETE_COMPLETE", "delete: DELETE_FAILED",
	"node killed before a commit", "node killed after a commit", "node paused", "commit refused", "provider failed", "provider gave another id",
	"nested: CREATE_FAILED", "nested: UPDATE_ROLLBACK_COMPLETE", "nested: UPDATE_COMPLETE", "nested: DELETE_COMPLETE", "nested: UPDATE_FAILED",
	"nested in nested: UPDATE_COMPLETE", "nested in nested: UPDATE_ROLLBACK_COMPLETE",
}

// forest is one simulated run of a root and its nested stacks.
type forest struct {
	seed      uint64
	rng       *rand.Rand
	now       time.Time
	rows      *memory.Store
	alone     bool
	faults    int // refused commits in a thousand; as many are the last that a node sees
	calm      int // percentage of requests at which no provider fails
	nodes     []*nestNode
	lives     int
	agenda    []nestAppointment
	ids       int
	awaited   bool
	templates map[string]string // by URL
	things    map[wire.PhysicalID]*nestThing
	served    map[wire.RequestID]bool

	// standing are the things of the root's last complete state; from and to are the shapes of the operation.
	standing map[wire.PhysicalID]bool
	from, to nestShape
	tainted  bool // the root's last complete state is unknown

	covered   coverage
	broken    []breach
	recording bool
	log       []string
}

type nestThing struct {
	stack   wire.StackID
	logical wire.LogicalID
	kind    string // R: another value needs another thing
	v       string
	exists  bool
}

type nestAppointment struct {
	at   time.Time
	what func()
	of   *nestNode
}

func (s *forest) printFailure(t *testing.T) {
	t.Helper()
	for _, b := range s.broken {
		t.Errorf("seed %d breaks the invariant %q: %s", s.seed, b.invariant, b.text)
	}
	if len(s.broken) > 0 {
		t.Logf("replay it: go test ./internal/engine -run TestNestedSimulation -sim.seed=%d -v", s.seed)
	}
}

func (s *forest) chance(percent int) bool { return s.rng.IntN(100) < percent }
func (s *forest) count(what string)       { s.covered[what]++ }

func (s *forest) note(format string, args ...any) {
	if s.recording {
		s.log = append(s.log, s.now.Format("02 15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

func (s *forest) breaks(i invariant, format string, args ...any) {
	s.broken = append(s.broken, breach{i, fmt.Sprintf(format, args...)})
	s.note("BREAKS %s: %s", i, fmt.Sprintf(format, args...))
}

func (s *forest) must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *forest) later(most time.Duration, of *nestNode, what func()) {
	s.agenda = append(s.agenda, nestAppointment{s.now.Add(time.Duration(s.rng.Int64N(int64(most)))), what, of})
}

func simulateNested(seed uint64, recording bool) (s *forest) {
	s = &forest{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		templates: map[string]string{}, things: map[wire.PhysicalID]*nestThing{}, standing: map[wire.PhysicalID]bool{},
		served:  map[wire.RequestID]bool{},
		covered: coverage{}, recording: recording,
	}
	defer func() {
		if p := recover(); p != nil {
			s.breaks(noPanic, "%v\n%s", p, debug.Stack())
		}
	}()
	s.faults = []int{0, 0, 5, 20, 40}[s.rng.IntN(5)]
	s.calm = []int{70, 90, 97}[s.rng.IntN(3)]
	s.alone = s.chance(50)
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

// live runs the root through its operations, and deletes it.
func (s *forest) live() {
	s.to = s.shape()
	s.operate("create", func(e *engine.Engine) error {
		_, err := e.Create(context.Background(), engine.CreateStack{
			Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: s.to.text(s),
			Options: engine.Options{Token: "create", DisableRollback: s.seed%5 == 0},
		})
		return err
	})
	for n := range 1 + s.rng.IntN(5) {
		root, status := s.root()
		if len(s.broken) > 0 || !root.Live {
			break
		}
		ref := engine.Ref{Account: account, Region: region, Stack: "S"}
		token := fmt.Sprint("op-", n)
		switch status {
		case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE":
			if status != "UPDATE_ROLLBACK_COMPLETE" {
				s.from = s.to
			}
			s.to = s.shape()
			text, left := s.to.text(s), s.chance(20)
			s.operate("update", func(e *engine.Engine) error {
				_, err := e.Update(context.Background(), engine.UpdateStack{
					Stack: ref, Template: text, Options: engine.Options{Token: token, DisableRollback: left},
				})
				return err
			})
		case "UPDATE_FAILED":
			if s.chance(40) {
				s.to = s.shape()
				text := s.to.text(s)
				s.operate("update", func(e *engine.Engine) error {
					_, err := e.Update(context.Background(), engine.UpdateStack{
						Stack: ref, Template: text, Options: engine.Options{Token: token, DisableRollback: true},
					})
					return err
				})
				continue
			}
			s.operate("rollback", func(e *engine.Engine) error {
				_, err := e.Rollback(context.Background(), engine.RollbackStack{Stack: ref, Token: token})
				return err
			})
		case "CREATE_FAILED":
			s.operate("rollback", func(e *engine.Engine) error {
				_, err := e.Rollback(context.Background(), engine.RollbackStack{Stack: ref, Token: token})
				return err
			})
		case "UPDATE_ROLLBACK_FAILED":
			s.operate("continue", func(e *engine.Engine) error {
				_, err := e.ContinueRollback(context.Background(), engine.ContinueRollback{Stack: ref, Token: token})
				return err
			})
		}
	}
	for range 8 {
		if root, _ := s.root(); !root.Live || len(s.broken) > 0 {
			break
		}
		s.operate("delete", func(e *engine.Engine) error {
			_, err := e.Delete(context.Background(), engine.DeleteStack{Stack: engine.Ref{Account: account, Region: region, Stack: "S"}})
			return err
		})
	}
}

// operate starts an operation of the root and runs the simulation until all stacks are idle.
func (s *forest) operate(name string, call func(*engine.Engine) error) {
	began := s.now
	for try := 0; ; try++ {
		if try == 100 {
			s.breaks(rootEnds, "the %s cannot be started", name)
			return
		}
		err := call(s.anyNode().engine)
		s.note("%s: %v", name, err)
		var input *engine.Error
		if errors.As(err, &input) {
			s.count(name + " refused")
			return
		}
		if err == nil {
			break
		}
		s.bury()
	}
	cancel := name == "update" && s.chance(15)
	for steps := 0; ; steps++ {
		root, status := s.root()
		if len(s.broken) > 0 {
			return
		}
		if root.Phase.Final() {
			break
		}
		if steps > 20_000 || s.now.Sub(began) > 72*time.Hour {
			s.breaks(rootEnds, "it is still %s after %v: %s", status, s.now.Sub(began), s.stuck())
			return
		}
		if cancel && s.rng.IntN(30) == 0 {
			cancel = false
			err := s.anyNode().engine.CancelUpdate(context.Background(), engine.CancelUpdate{
				Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Token: "cancel-" + fmt.Sprint(s.ids),
			})
			s.note("cancel: %v", err)
			if err == nil {
				s.count("cancelled")
			}
		}
		if !s.step() {
			s.breaks(rootEnds, "no event is pending: %s, %s", status, s.stuck())
			return
		}
	}
	_, status := s.root()
	s.count(name + ": " + status)
	s.note("ended %s", status)
	s.checkRest()
	for n := 0; n < 5000 && s.rest() && len(s.broken) == 0; n++ { // ties end, late answers arrive
	}
	s.checkAfter()
}

// rest runs the next event if there is one soon.
func (s *forest) rest() bool {
	due := s.nextDue()
	if len(s.agenda) == 0 && (due.IsZero() || due.Sub(s.now) > 2*time.Hour) {
		return false
	}
	return s.step()
}

// step moves the clock to the next event, and runs it, or returns false.
func (s *forest) step() bool {
	s.bury()
	s.perhapsPause()
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
		return true
	}
	if due.IsZero() {
		return false
	}
	s.now = later(s.now, due)
	if err := s.anyNode().engine.Fire(context.Background()); err != nil {
		s.note("fire: %v", err)
	}
	return true
}

func (s *forest) nextDue() time.Time {
	ids, next, err := s.rows.Due(context.Background(), 1)
	s.must(err)
	if len(ids) > 0 {
		return s.now
	}
	return next
}

func (s *forest) root() (store.Stack, string) {
	live, err := s.rows.LiveStack(context.Background(), store.StackName{Account: account, Region: region, Name: "S"})
	if err == nil {
		return live, engine.CloudFormation.StackStatus(live.Kind, live.Phase)
	}
	for _, stack := range s.all() {
		if stack.Parent == "" {
			return stack, engine.CloudFormation.StackStatus(stack.Kind, stack.Phase)
		}
	}
	return store.Stack{Live: true}, ""
}

// all returns all stacks, including deleted ones, newest first.
func (s *forest) all() []store.Stack {
	list, err := s.rows.Stacks(context.Background(), account, region, true, 0, 10_000)
	s.must(err)
	return list
}

// stuck lists the requests that every stack waits for.
func (s *forest) stuck() string {
	var lines []string
	for _, stack := range s.all() {
		open, err := s.rows.Requests(context.Background(), stack.Key)
		s.must(err)
		for _, r := range open {
			lines = append(lines, fmt.Sprintf("%s (%s): %s of %s is %s, cancelled %v, due %v", stack.Name,
				engine.CloudFormation.StackStatus(stack.Kind, stack.Phase), r.Type, r.Logical, r.State, r.Cancelled, r.Due.Sub(s.now)))
		}
	}
	return strings.Join(lines, "; ")
}
