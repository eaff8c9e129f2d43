package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

var (
	simROS     = flag.Int("sim.ros", 300, "how many seeds TestROSSimulation runs")
	simROSSeed = flag.Uint64("sim.ros.seed", 0, "run this seed alone and print its history")
)

// The invariants of ROS stacks, in addition to itEnds, accounted, agreed and truthful.
const (
	idStays      invariant = "a resource keeps its ID"
	oldFirst     invariant = "a replaced resource is deleted before its replacement is created"
	asWanted     invariant = "a resource is replaced only on request"
	withinBounds invariant = "the limit of parallel requests is respected"
)

// TestROSSimulation simulates runs of ROS stacks with 1–5 resources. The templates have references, DependsOn, tokens
// that change and DeletionPolicy. The clients update with or without ReplacementOption and TaintResources, continue
// creates, cancel updates and limit parallelism. The providers fail before or after the work, answer with the same
// ID, another ID or none, or never answer. The node restarts.
func TestROSSimulation(t *testing.T) {
	if *simROSSeed != 0 {
		s := simulateROS(t, *simROSSeed)
		t.Logf("seed %d:\n%s", *simROSSeed, strings.Join(s.log, "\n"))
		s.printFailure(t)
		return
	}
	covered := coverage{}
	for seed := uint64(1); seed <= uint64(*simROS); seed++ {
		s := simulateROS(t, seed)
		covered.add(s.covered)
		if s.broken != nil {
			s.printFailure(t)
			t.Fatalf("its history:\n%s", strings.Join(s.log[max(0, len(s.log)-80):], "\n"))
		}
	}
	t.Logf("%d histories\n%s", *simROS, covered)
	if *simROS < 300 {
		return
	}
	for _, what := range []string{
		"create: CREATE_COMPLETE", "create: CREATE_FAILED", "create: CREATE_ROLLBACK_COMPLETE", "create: CREATE_ROLLBACK_FAILED",
		"update: UPDATE_COMPLETE", "update: ROLLBACK_COMPLETE", "update: ROLLBACK_FAILED", "cancelled: ROLLBACK_COMPLETE",
		"continue: CREATE_COMPLETE", "continue: CREATE_FAILED", "delete: DELETE_COMPLETE", "delete: DELETE_FAILED",
		"ignored", "not delivered", "answered twice", "replaced", "created anew in a rollback", "answered with another id", "deleted without an id", "timed out", "started anew",
	} {
		if covered[what] == 0 {
			t.Errorf("%q never occurred, but the simulation is for that", what)
		}
	}
}

// rosSim is one simulated run of a ROS stack.
type rosSim struct {
	ctx     context.Context
	seed    uint64
	rng     *rand.Rand
	now     time.Time
	rows    *memory.Store
	engine  *engine.Engine
	ids     int
	inbox   []store.Request
	stack   wire.StackID
	things  map[wire.PhysicalID]*rosThing
	known   map[int]wire.PhysicalID // by instance
	calm    int
	bound   int
	changes bool // the operation may replace any resource
	// lacking are the resources that the complete stack does not have, because the failures of its create were
	// ignored. askew are resources that exist but missed a change.
	lacking, askew map[wire.LogicalID]bool
	tainted        bool
	// from and to are the templates of the current or last operation.
	from, to rosTemplate
	covered  coverage
	broken   []breach
	log      []string
}

// rosThing is a resource of a provider.
type rosThing struct {
	logical    wire.LogicalID
	token      string
	properties string
	// reported is set if the engine knows its ID. doubt is set if its properties are not certain.
	reported, doubt bool
}

// rosTemplate contains the declared resources by logical ID.
type rosTemplate map[string]rosDeclared

type rosDeclared struct {
	k      int
	token  string
	needs  []string
	refers bool // by Ref; else by DependsOn
	kept   bool
}

func (t rosTemplate) text() string {
	resources := map[string]string{}
	for id, d := range t {
		parameters := fmt.Sprintf(`"K": %d`, d.k)
		var attributes []string
		if d.refers {
			for _, need := range d.needs {
				parameters += fmt.Sprintf(`, "Of%s": {"Ref": %q}`, need, need)
			}
		} else if len(d.needs) > 0 {
			attributes = append(attributes, `"DependsOn": ["`+strings.Join(d.needs, `", "`)+`"]`)
		}
		if d.kept {
			attributes = append(attributes, `"DeletionPolicy": "Retain"`)
		}
		resources[id] = rosResource(parameters, `"ServiceToken": "`+d.token+`"`, attributes...)
	}
	return rosBody(resources)
}

func (s *rosSim) chance(percent int) bool { return s.rng.IntN(100) < percent }

func (s *rosSim) count(what string) { s.covered[what]++ }

func (s *rosSim) note(format string, args ...any) {
	s.log = append(s.log, s.now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (s *rosSim) breaks(i invariant, format string, args ...any) {
	s.broken = append(s.broken, breach{i, fmt.Sprintf(format, args...)})
	s.note("BROKEN: %s: %s", i, s.broken[len(s.broken)-1].text)
}

func (s *rosSim) printFailure(t *testing.T) {
	t.Helper()
	for _, b := range s.broken {
		t.Errorf("seed %d breaks the invariant %q: %s", s.seed, b.invariant, b.text)
	}
	if s.broken != nil {
		t.Logf("replay it: go test ./internal/engine -run TestROSSimulation -sim.ros.seed=%d -v", s.seed)
	}
}

func (s *rosSim) must(err error) {
	if err != nil {
		panic(err)
	}
}

// start opens the engine, for the first time or after a restart. A new engine dispatches the requests of the previous
// one again.
func (s *rosSim) start() {
	s.inbox = nil
	e, err := engine.Open(s.ctx, engine.Config{
		Store: s.rows, Alone: true, NewID: func() string { s.ids++; return fmt.Sprintf("id-%d", s.ids) },
		Dispatch: func(ready []store.Request) { s.inbox = append(s.inbox, ready...) },
	})
	s.must(err)
	s.engine = e
	claimed, err := s.rows.Claim(s.ctx, e.Node(), 100, nil)
	s.must(err)
	s.inbox = append(s.inbox, claimed...)
}

// draw changes a template at random.
func (s *rosSim) draw(before rosTemplate) rosTemplate {
	to := rosTemplate{}
	names := []string{"A", "B", "C", "D", "E"}
	for n, id := range names {
		d, was := before[id]
		switch {
		case was && s.chance(10), !was && !s.chance(60):
			continue
		case !was:
			d = rosDeclared{token: rosToken, kept: s.chance(10)}
		}
		if s.chance(40) {
			d.k = s.rng.IntN(3)
		}
		if s.chance(25) {
			d.token = []string{rosToken, otherToken}[s.rng.IntN(2)]
		}
		if !was || s.chance(15) {
			d.needs, d.refers = nil, s.chance(60)
			for _, need := range names[:n] {
				if s.chance(35) {
					d.needs = append(d.needs, need)
				}
			}
		}
		d.needs = slices.DeleteFunc(slices.Clone(d.needs), func(need string) bool { _, ok := to[need]; return !ok })
		to[id] = d
	}
	if len(to) == 0 {
		to["A"] = rosDeclared{token: rosToken}
	}
	return to
}

func simulateROS(t *testing.T, seed uint64) *rosSim {
	s := &rosSim{
		ctx: t.Context(), seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		things: map[wire.PhysicalID]*rosThing{}, known: map[int]wire.PhysicalID{}, covered: coverage{},
	}
	s.calm = []int{50, 80, 95}[s.rng.IntN(3)]
	var err error
	s.rows, err = memory.New(memory.Config{Now: func() time.Time { return s.now }})
	s.must(err)
	s.start()
	s.live()
	return s
}

func (s *rosSim) ref() engine.Ref {
	return engine.Ref{Account: rosAccount, Region: rosRegion, Stack: string(s.stack), ByID: true}
}

func (s *rosSim) row() store.Stack {
	row, err := s.rows.Stack(s.ctx, s.stack)
	s.must(err)
	return row
}

func (s *rosSim) status() string { row := s.row(); return engine.ROS.StackStatus(row.Kind, row.Phase) }

func (s *rosSim) live() {
	s.to = s.draw(nil)
	s.bound = s.rng.IntN(3)
	s.note("create, at most %d: %s", s.bound, s.to.text())
	started, err := s.engine.Create(s.ctx, engine.CreateStack{
		Name: store.StackName{Account: rosAccount, Region: rosRegion, Name: "S"}, Dialect: engine.ROS, Template: s.to.text(),
		Options: engine.Options{Parallelism: s.bound, DisableRollback: s.chance(40)},
	})
	s.must(err)
	s.stack = started.StackID
	s.run("create")
	for range s.rng.IntN(6) {
		if s.broken != nil {
			return
		}
		switch s.status() {
		case "CREATE_COMPLETE", "UPDATE_COMPLETE", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED":
			s.update()
		case "CREATE_FAILED":
			s.goOn()
		}
	}
	for range 12 {
		if s.broken != nil || !s.row().Live {
			break
		}
		s.calm += 10
		s.bound, s.changes = s.rng.IntN(3), true
		_, err := s.engine.Delete(s.ctx, engine.DeleteStack{Stack: s.ref(), Parallelism: s.bound})
		s.must(err)
		s.note("delete")
		s.run("delete")
	}
	if s.broken == nil && !s.row().Live {
		s.checkGone()
	}
}

func (s *rosSim) update() {
	from := s.to
	if status := s.status(); status == "ROLLBACK_COMPLETE" || status == "ROLLBACK_FAILED" {
		from = s.from
	}
	to := s.draw(from)
	in := engine.UpdateStack{Stack: s.ref(), Template: to.text(), Replace: s.chance(50), Options: engine.Options{Parallelism: s.rng.IntN(3)}}
	if s.chance(20) {
		names := slices.Sorted(maps.Keys(to))
		in.Taint = []wire.LogicalID{wire.LogicalID(names[s.rng.IntN(len(names))])}
	}
	s.note("update, replace %v, taint %v, at most %d: %s", in.Replace, in.Taint, in.Parallelism, in.Template)
	if _, err := s.engine.Update(s.ctx, in); err != nil {
		reported, ok := engine.InputError(err)
		if !ok || reported.Code != engine.CodeNotSupported {
			s.breaks(itEnds, "the update is refused: %v", err)
		}
		s.note("refused: %v", err)
		return
	}
	s.from, s.to, s.bound, s.changes, s.tainted = from, to, in.Parallelism, in.Replace, in.Taint != nil
	s.run("update")
}

func (s *rosSim) goOn() {
	in := engine.ContinueCreate{Stack: s.ref(), Options: engine.Options{Parallelism: s.rng.IntN(3)}}
	if s.chance(25) {
		s.note("ignore")
		in.Mode = engine.ContinueIgnore
		if _, err := s.engine.ContinueCreate(s.ctx, in); err != nil {
			s.breaks(itEnds, "failed resources cannot be ignored: %v", err)
		}
		s.count("ignored")
		s.lack()
		s.run("ignore")
		s.lack()
		return
	}
	if s.chance(30) {
		s.to = s.draw(s.to)
		in.Template = s.to.text()
	}
	if s.chance(30) {
		names := slices.Sorted(maps.Keys(s.to))
		in.Recreate = []wire.LogicalID{wire.LogicalID(names[s.rng.IntN(len(names))])}
	}
	s.note("continue, recreate %v, at most %d: %s", in.Recreate, in.Parallelism, in.Template)
	_, err := s.engine.ContinueCreate(s.ctx, in)
	reported, ok := engine.InputError(err)
	switch {
	case ok && reported.Code == engine.CodeStackValidationFailed:
		return
	case err != nil:
		s.breaks(itEnds, "it cannot be continued: %v", err)
		return
	}
	s.bound, s.changes, s.tainted = in.Parallelism, true, false
	s.run("continue")
}

// lack records the resources that the stack does not have.
func (s *rosSim) lack() {
	s.lacking, s.askew = map[wire.LogicalID]bool{}, map[wire.LogicalID]bool{}
	for id := range s.to {
		s.lacking[wire.LogicalID(id)] = true
	}
	instances, err := s.rows.Instances(s.ctx, s.row().Key)
	s.must(err)
	for _, i := range instances {
		_, declared := s.to[string(i.Logical)]
		if i.Role == store.RoleCurrent && !i.Unborn() {
			delete(s.lacking, i.Logical)
			s.askew[i.Logical] = true
		}
		if i.Role == store.RoleCurrent && !declared && s.row().Phase.Final() {
			s.breaks(accounted, "%s is no longer declared, but still exists", i.Logical)
		}
	}
}

// run lets an operation finish.
func (s *rosSim) run(name string) {
	for steps := 0; !s.row().Phase.Final(); steps++ {
		if s.check(); s.broken != nil {
			return
		}
		if steps > 2000 {
			s.breaks(itEnds, "it is still %s", s.status())
			return
		}
		if s.rng.IntN(60) == 0 {
			s.start()
			s.count("started anew")
		}
		if name == "update" && s.rng.IntN(40) == 0 && s.engine.CancelUpdate(s.ctx, engine.CancelUpdate{Stack: s.ref()}) == nil {
			name = "cancelled"
			s.note("cancelled")
			continue
		}
		if len(s.inbox) == 0 {
			_, next, err := s.rows.Due(s.ctx, 1)
			s.must(err)
			if next.After(s.now) {
				s.now = next
			}
			s.must(s.engine.Fire(s.ctx))
			continue
		}
		at := s.rng.IntN(len(s.inbox))
		r := s.inbox[at]
		s.inbox = slices.Delete(s.inbox, at, at+1)
		s.serve(r)
	}
	s.note("ended %s: %s", s.status(), s.row().Reason)
	s.count(name + ": " + s.status())
	if s.check(); s.broken == nil {
		s.checkAtRest()
	}
}

// serve plays the provider.
func (s *rosSim) serve(r store.Request) {
	s.note("%s of %s %q, instance %d: %s", r.Type, r.Logical, r.Body.PhysicalID, r.Instance, r.Body.Properties.JSON())
	s.checkAsked(r)
	s.now = s.now.Add(time.Second)
	fails := !s.chance(s.calm)
	if fails && s.chance(20) {
		s.note("%s of %s does not get there", r.Type, r.Logical)
		s.count("not delivered")
		s.must(s.engine.Report(s.ctx, r.ID, engine.Outcome{Kind: engine.Refused, Text: "no connection"}))
		return
	}
	s.must(s.engine.Report(s.ctx, r.ID, engine.Outcome{Kind: engine.Accepted}))
	does := !fails || s.chance(40)
	id := r.Body.PhysicalID
	if does {
		id = s.do(r)
	}
	if fails && s.chance(30) {
		s.count("timed out")
		if t := s.things[id]; t != nil {
			t.doubt = true
		}
		return
	}
	members := fmt.Sprintf(`"Status": "SUCCESS", "PhysicalResourceId": %q`, id)
	if id == "" {
		members = `"Status": "SUCCESS", "PhysicalResourceId": null`
	}
	if fails {
		members = `"Status": "FAILED", "Reason": "r"`
		if id != "" && s.chance(50) {
			members += fmt.Sprintf(`, "PhysicalResourceId": %q`, id)
			if t := s.things[id]; t != nil {
				t.reported = true
			}
		}
	} else if t := s.things[id]; t != nil {
		t.reported = true
	}
	if r.Type == wire.Update && s.rng.IntN(15) == 0 {
		members = fmt.Sprintf(`"Status": %q, "Reason": "r", "PhysicalResourceId": "another-%d"`, []string{"SUCCESS", "FAILED"}[s.rng.IntN(2)], s.ids)
		s.count("answered with another id")
	}
	s.note("answer to the %s of %s, done %v: %s", r.Type, r.Logical, does, members)
	s.must(s.engine.Answer(s.ctx, r.ID, []byte(document(r, members)), 0))
	if s.chance(10) { // it answers again, with a different answer
		s.count("answered twice")
		s.must(s.engine.Answer(s.ctx, r.ID, []byte(document(r, `"Status": "SUCCESS", "PhysicalResourceId": "second"`)), 0))
	}
}

// do carries out a request, and returns the ID of the resource.
func (s *rosSim) do(r store.Request) wire.PhysicalID {
	id := r.Body.PhysicalID
	switch r.Type {
	case wire.Create:
		id = wire.PhysicalID(fmt.Sprintf("%s-%s", r.Logical, r.ID)) // the same for a repeated request
		s.things[id] = &rosThing{logical: r.Logical, token: r.Body.Token.Text(), properties: string(r.Body.Properties.JSON())}
	case wire.Update:
		if t := s.things[id]; t != nil {
			t.properties = string(r.Body.Properties.JSON())
		}
	case wire.Delete:
		if delete(s.things, id); id != "" {
			break
		}
		s.count("deleted without an id")
		for other, t := range s.things { // it looks for unreported resources of its own
			if t.logical == r.Logical && !t.reported && t.token == r.Body.Token.Text() {
				delete(s.things, other)
			}
		}
	case wire.Read, wire.Plan:
	}
	return id
}

// check checks the invariants that hold at every moment.
func (s *rosSim) check() {
	row := s.row()
	op, err := s.rows.Operation(s.ctx, row.Key, row.Operation)
	s.must(err)
	if s.bound > 0 && op.Running > s.bound {
		s.breaks(withinBounds, "%d requests are in flight, want at most %d", op.Running, s.bound)
	}
	instances, err := s.rows.Instances(s.ctx, row.Key)
	s.must(err)
	for _, i := range instances {
		if was := s.known[i.Number]; was != "" && i.PhysicalID != was {
			s.breaks(idStays, "%s was %q and is %q", i.Logical, was, i.PhysicalID)
		}
		s.known[i.Number] = i.PhysicalID
	}
}

// checkAsked checks a request before its provider gets it.
func (s *rosSim) checkAsked(r store.Request) {
	row := s.row()
	op, err := s.rows.Operation(s.ctx, row.Key, row.Operation)
	s.must(err)
	instances, err := s.rows.Instances(s.ctx, row.Key)
	s.must(err)
	inApply := op.Kind == store.KindUpdate && op.Phase == store.PhaseApply
	for _, i := range instances {
		own := i.Number == r.Instance
		left := i.Role == store.RoleOrphan || i.Role == store.RoleRetained || i.Role == store.RoleGone
		switch {
		case r.Type == wire.Create && !own && !left && i.Logical == r.Logical && i.Reached:
			s.breaks(oldFirst, "Create of %s is sent while %q exists", r.Logical, i.PhysicalID)
		case r.Type == wire.Update && own && i.Body.AnsweredBy == "":
			s.breaks(truthful, "Update of %s is sent, but it was never created", r.Logical)
		case r.Type == wire.Delete && own && inApply && i.Body.AnsweredBy != "" && !s.changes && !s.tainted && !r.Cancelled && !i.Unborn() && s.stood(op, i) && !s.lacking[i.Logical]:
			s.breaks(asWanted, "Delete of %s %q is sent by an update that replaces nothing", r.Logical, i.PhysicalID)
		}
	}
	switch {
	case r.Type == wire.Update && s.things[r.Body.PhysicalID] == nil:
		s.breaks(truthful, "Update of %s has the ID %q, which does not exist", r.Logical, r.Body.PhysicalID)
	case r.Type == wire.Create && op.Phase == store.PhaseRevert && op.Kind == store.KindUpdate:
		open, err := s.rows.Requests(s.ctx, row.Key)
		s.must(err)
		if s.lacking[r.Logical] && slices.ContainsFunc(open, func(o store.Request) bool { return o.ID == r.ID && !o.Cancelled }) {
			s.breaks(agreed, "a rollback creates %s, which was not there before", r.Logical)
		}
		s.count("created anew in a rollback")
	case r.Type == wire.Delete && inApply:
		s.count("replaced")
	}
	if thing := s.things[r.Body.PhysicalID]; thing != nil && thing.token != r.Body.Token.Text() {
		s.breaks(truthful, "%s of %s is sent to %s, but %s created it", r.Type, r.Logical, r.Body.Token.Text(), thing.token)
	}
}

// stood reports whether an instance belonged to the stack's last complete state, and is not left from a failed
// rollback.
func (s *rosSim) stood(op store.Operation, i store.Instance) bool {
	return len(op.Tried) == 0 && i.Number <= op.Stood
}

// checkAtRest checks an idle stack: after success, the providers' resources match its template.
func (s *rosSim) checkAtRest() {
	row := s.row()
	side := s.to
	switch engine.ROS.StackStatus(row.Kind, row.Phase) {
	case "CREATE_COMPLETE":
		if op, err := s.rows.Operation(s.ctx, row.Key, row.Operation); err != nil || op.Call == store.CallContinueCreate && s.lacking != nil {
			s.must(err)
			return
		}
	case "UPDATE_COMPLETE":
		s.lacking, s.askew = nil, nil
	case "ROLLBACK_COMPLETE":
		side = s.from
	default:
		return
	}
	instances, err := s.rows.Instances(s.ctx, row.Key)
	s.must(err)
	owned := map[wire.PhysicalID]bool{}
	for _, i := range instances {
		owned[i.PhysicalID] = owned[i.PhysicalID] || i.Role == store.RoleOrphan || i.Role == store.RoleRetained || i.Role == store.RoleCurrent
		if i.Role != store.RoleCurrent {
			continue
		}
		if !i.Unborn() {
			delete(s.lacking, i.Logical)
		}
		d, declared := side[string(i.Logical)]
		thing := s.things[i.PhysicalID]
		switch {
		case declared && (s.lacking[i.Logical] && i.Unborn() || s.askew[i.Logical]):
		case !declared:
			s.breaks(accounted, "%s is no longer declared, but still exists", i.Logical)
		case thing == nil:
			s.breaks(agreed, "%s should be %q, which does not exist", i.Logical, i.PhysicalID)
		case thing.token != d.token:
			s.breaks(agreed, "%s was created by %s, want %s", i.Logical, thing.token, d.token)
		case !strings.Contains(thing.properties, fmt.Sprintf(`"K":%d`, d.k)) || thing.properties != string(i.Body.Properties.JSON()):
			s.breaks(agreed, "%s has %s, want %d, and the engine has %s", i.Logical, thing.properties, d.k, i.Body.Properties.JSON())
		}
	}
	for id := range side {
		if !s.lacking[wire.LogicalID(id)] &&
			!slices.ContainsFunc(instances, func(i store.Instance) bool { return i.Role == store.RoleCurrent && string(i.Logical) == id }) {
			s.breaks(agreed, "there is no %s", id)
		}
	}
	s.checkLeaks(owned)
}

// checkLeaks looks for things that were reported to the engine and that it has lost.
func (s *rosSim) checkLeaks(owned map[wire.PhysicalID]bool) {
	for _, id := range slices.Sorted(maps.Keys(s.things)) {
		if t := s.things[id]; t.reported && !owned[id] {
			s.breaks(accounted, "%s %q is forgotten", t.logical, id)
		}
	}
}

func (s *rosSim) checkGone() {
	instances, err := s.rows.Instances(s.ctx, s.row().Key)
	s.must(err)
	owned := map[wire.PhysicalID]bool{}
	for _, i := range instances {
		owned[i.PhysicalID] = owned[i.PhysicalID] || i.Role == store.RoleOrphan || i.Role == store.RoleRetained
	}
	s.checkLeaks(owned)
	if _, err := s.rows.LiveStack(s.ctx, store.StackName{Account: rosAccount, Region: rosRegion, Name: "S"}); !errors.Is(err, store.ErrNotFound) {
		s.breaks(itEnds, "the stack is deleted, but still has its name: %v", err)
	}
}
