package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

var (
	simSeeds = flag.Int("sim.seeds", 300, "how many seeds TestSimulation runs")
	simFirst = flag.Uint64("sim.first", 1, "the first seed of TestSimulation")
)

// TestSimulation runs whole lives of stacks from a seed: random graphs, providers that fail, hang, answer twice, late
// or rubbish, change ids and die, and an engine that is killed at any durable step, on simulated time. A seed that
// fails runs alone with -sim.first=SEED -sim.seeds=1 -v.
func TestSimulation(t *testing.T) {
	reached := map[string]int{}
	for seed := *simFirst; seed < *simFirst+uint64(*simSeeds); seed++ {
		s := simulate(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d failed; its history:\n%s", seed, strings.Join(s.log, "\n"))
		}
		for _, status := range s.statuses {
			reached[status]++
		}
		if seed%50 == 0 { // the same seed gives the same history
			if diff := cmp.Diff(s.log, simulate(t, seed).log); diff != "" {
				t.Fatalf("seed %d told two histories (-first +second):\n%s", seed, diff)
			}
		}
	}
	t.Log(reached)
	if *simSeeds < 300 {
		return
	}
	for _, status := range []string{
		"CREATE_COMPLETE", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "UPDATE_COMPLETE",
		"UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "UPDATE_FAILED", "DELETE_COMPLETE", "DELETE_FAILED",
		"an attribute was read", "spared", "answered by hand", "discarded as DELETE_COMPLETE", "discarded as DELETE_FAILED",
		"rolled back from CREATE_FAILED", "rolled back from UPDATE_FAILED", "given up", "skipped", "cancelled", "current", "gone", "retained", "orphan", "condemned",
	} {
		if reached[status] == 0 {
			t.Errorf("%q was never reached: the simulation does not do what it is for", status)
		}
	}
}

// sim is one life.
type sim struct {
	t        *testing.T
	rng      *rand.Rand
	now      time.Time
	db       *faultyStore
	engine   *engine.Engine
	ids      int
	log      []string
	statuses []string // what was reached in this life: statuses of stacks, roles of instances
	agenda   []appointment
	// tick is what delays are a multiple of: in some lives much happens in one millisecond.
	tick time.Duration
	// from and to are the sides of the create or update under way, or of the last one; sides are those of a delete.
	from, to simTemplate
	sides    []simTemplate
	// spared are the resources that the operation is not to touch; forced says that it leaves behind what fails.
	spared []wire.LogicalID
	forced bool
	// things are what the providers have made, by physical id.
	things map[wire.PhysicalID]*thing
	ledger ledger
	// made are the requests that were made and not checked yet.
	made []store.Request
	// handed are the requests that were ever handed over.
	handed map[wire.RequestID]bool
}

type appointment struct {
	at   time.Time
	what func()
	// of is the life of the engine's process that made it; it does not outlive a crash. 0 survives.
	life int
}

func simulate(t *testing.T, seed uint64) *sim {
	s := &sim{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		things: map[wire.PhysicalID]*thing{}, ledger: newLedger(), tick: 1, handed: map[wire.RequestID]bool{},
	}
	if s.chance(30) {
		s.tick = 10 * time.Second
	}
	inner, err := memory.New(memory.Config{Now: func() time.Time { return s.now }})
	if err != nil {
		t.Fatal(err)
	}
	s.db = &faultyStore{Store: inner, sim: s}
	s.start()
	s.to = s.template(nil)
	name := store.StackName{Account: account, Region: region, Name: "S"}
	s.sides = []simTemplate{s.to}
	options := engine.Options{
		DisableRollback: s.rng.IntN(6) == 0, Parameters: s.to.parameters(), Token: "create", RetainExceptOnCreate: s.chance(10),
	}
	discard := s.rng.IntN(8) == 0
	s.operate(func(ctx context.Context) error {
		if made, err := s.db.Stacks(ctx, account, region, true, 0, 1); err != nil || len(made) > 0 {
			return err // the first try did it, and the stack may be gone already
		}
		_, err := s.engine.Create(ctx, engine.CreateStack{
			Name: name, Template: s.to.text(), Options: options, DeleteOnFailure: discard,
		})
		return err
	})
	if strings.HasPrefix(s.status(), "DELETE") {
		s.statuses = append(s.statuses, "discarded as "+s.status())
	}
	ref := engine.Ref{Account: account, Region: region, Stack: "S"}
	for range s.rng.IntN(5) {
		status := s.status()
		if (status == "CREATE_FAILED" || status == "UPDATE_FAILED") && s.chance(70) {
			in := engine.RollbackStack{Stack: ref, Token: fmt.Sprint("rollback-", s.ids), RetainExceptOnCreate: s.chance(30)}
			s.note("roll back")
			s.statuses = append(s.statuses, "rolled back from "+status)
			s.operate(func(ctx context.Context) error {
				_, err := s.engine.Rollback(ctx, in)
				return err
			})
			s.checkAtRest()
			continue
		}
		if status == "UPDATE_ROLLBACK_FAILED" && s.chance(70) {
			in := s.continuation(ref)
			s.operate(func(ctx context.Context) error {
				_, err := s.engine.ContinueRollback(ctx, in)
				return err
			})
			s.checkAtRest()
			continue
		}
		if status != "CREATE_COMPLETE" && status != "UPDATE_COMPLETE" && status != "UPDATE_ROLLBACK_COMPLETE" {
			break
		}
		if status == "UPDATE_ROLLBACK_COMPLETE" {
			s.to = s.from
		}
		s.from, s.to = s.to, s.template(&s.to)
		s.spared, s.forced = nil, false
		options.Parameters, options.Token = s.to.parameters(), fmt.Sprint("update-", s.ids)
		options.RetainExceptOnCreate = s.chance(10)
		s.operate(func(ctx context.Context) error {
			_, err := s.engine.Update(ctx, engine.UpdateStack{Stack: ref, Template: s.to.text(), Options: options})
			return err
		})
		s.checkAtRest()
		if s.t.Failed() {
			return s
		}
	}
	s.sides = s.sidesLeft()
	for range 6 {
		if s.stack().Live && !s.t.Failed() {
			in := s.deletion(ref)
			s.operate(func(ctx context.Context) error {
				_, err := s.engine.Delete(ctx, in)
				return err
			})
		}
	}
	return s
}

func (s *sim) note(format string, args ...any) {
	s.log = append(s.log, s.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (s *sim) chance(percent int) bool { return s.rng.IntN(100) < percent }

// start opens the engine on the store, as a process does that finds what an earlier one left.
func (s *sim) start() {
	s.db.life++
	life := s.db.life
	var err error
	s.engine, err = engine.Open(s.t.Context(), engine.Config{
		Store: s.db, Alone: true,
		Dispatch: func(ready []store.Request) {
			for _, r := range ready {
				if s.handed[r.ID] {
					s.t.Errorf("%s of %s was handed over twice", r.Type, r.Logical)
				}
				s.handed[r.ID] = true
				s.made = append(s.made, r)
				s.deliver(r, life)
			}
		},
		NewID: func() string {
			s.ids++
			return fmt.Sprintf("%08d-0000-4000-8000-000000000000", s.ids)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	left, err := s.db.Claim(s.t.Context(), s.engine.Node(), 1000, func(wire.RequestID) bool { return false })
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range left {
		s.deliver(r, life)
	}
}

// crash kills the engine's process: what it had in memory is gone.
func (s *sim) crash() {
	s.note("crash")
	s.agenda = slices.DeleteFunc(s.agenda, func(a appointment) bool { return a.life != 0 })
	s.start()
}

func (s *sim) later(max time.Duration, life int, what func()) {
	s.agenda = append(s.agenda, appointment{s.now.Add(time.Duration(s.rng.Int64N(int64(max))).Truncate(s.tick)), what, life})
}

// operate begins an operation and runs the world until it has ended.
func (s *sim) operate(begin func(context.Context) error) {
	for try := 0; ; try++ {
		err := begin(s.t.Context())
		s.note("begin: %v", err)
		var input *engine.Error
		if errors.As(err, &input) && input.Message == "No updates are to be performed." {
			s.to = s.from
		}
		if err == nil || errors.As(err, &input) { // AlreadyExists: the first try did it
			break
		}
		if try == 20 {
			s.t.Fatal(err)
		}
		s.perhapsCrash()
	}
	s.check()
	for steps := 0; !s.stack().Phase.Final() || len(s.agenda) > 0; steps++ {
		if steps > 5000 {
			s.t.Errorf("the operation does not end: %s", s.status())
			return
		}
		s.step()
		s.check()
		if s.t.Failed() {
			return
		}
	}
	s.statuses = append(s.statuses, s.status())
	s.note("ended %s", s.status())
	s.checkLedger()
}

// step moves time to the next thing that happens, and lets it happen.
func (s *sim) step() {
	s.perhapsCrash()
	if s.status() == "UPDATE_IN_PROGRESS" && s.rng.IntN(60) == 0 {
		err := s.engine.CancelUpdate(s.t.Context(), engine.CancelUpdate{Stack: engine.Ref{Account: account, Region: region, Stack: "S"}})
		s.note("cancel the update: %v", err)
		s.statuses = append(s.statuses, "cancelled")
		return
	}
	if s.rng.IntN(60) == 0 {
		s.answerByHand()
		return
	}
	if s.rng.IntN(100) == 0 {
		s.now = s.now.Add(-time.Duration(s.rng.Int64N(int64(time.Minute))))
		s.note("the clock is set back")
	}
	next := -1
	for i, a := range s.agenda {
		if next < 0 || a.at.Before(s.agenda[next].at) {
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
	if due.IsZero() && s.stack().Phase.Final() {
		return // a crash took the last appointment
	}
	if due.IsZero() {
		s.t.Errorf("nothing will ever happen again: %s", s.status())
		return
	}
	s.now = later(s.now, due)
	if err := s.engine.Fire(s.t.Context()); err != nil {
		s.note("fire: %v", err)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *sim) nextDue() time.Time {
	var first time.Time
	requests, err := s.db.Requests(s.t.Context(), s.stack().Key)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range requests {
		if !r.Due.IsZero() && (first.IsZero() || r.Due.Before(first)) {
			first = r.Due
		}
	}
	return first
}

func (s *sim) perhapsCrash() {
	if s.db.broken || s.rng.IntN(150) == 0 {
		s.db.broken = false
		s.crash()
	}
}

func (s *sim) stack() store.Stack {
	stacks, err := s.db.Stacks(context.Background(), account, region, true, 0, 1)
	if err != nil || len(stacks) != 1 {
		s.t.Fatalf("stacks: %d, %v", len(stacks), err)
	}
	return stacks[0]
}

func (s *sim) status() string {
	row := s.stack()
	return engine.CloudFormation.StackStatus(row.Kind, row.Phase)
}

// faultyStore fails an Apply now and then: before it, so that nothing was written, or after it, so that all was and
// nobody knows. Some failures are the last thing the process sees.
type faultyStore struct {
	store.Store
	sim    *sim
	life   int
	broken bool
}

var errFault = errors.New("the database went away")

func (f *faultyStore) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	if f.broken {
		return errFault // the process is dying
	}
	switch dice := f.sim.rng.IntN(1000); {
	case dice < 10:
		f.sim.note("fault: refused")
		return errFault
	case dice < 20:
		err := f.Store.Apply(ctx, target, decide)
		f.sim.note("fault: done but reported failed (%v); crash", err)
		f.broken = true
		return errFault
	case dice < 120: // a batch failed, and is replayed
		_ = f.Store.Apply(ctx, target, func(view *store.View) (store.Delta, error) {
			delta, err := decide(view)
			var more *store.More
			if err == nil || !errors.As(err, &more) {
				err = errFault
			}
			return delta, err
		})
	}
	return f.Store.Apply(ctx, target, decide)
}
