package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// readNothing is the invariant of detections.
const readNothing invariant = "a Read changes nothing, and drift detection reports its answer"

// readings are the Reads of a run.
type readings struct {
	// on is set if the providers declare Read.
	on  bool
	rng *rand.Rand
	// says are the statuses that answers mean, by body.
	says map[string]drift.Status
	// results are the statuses that settled Reads mean.
	results map[wire.RequestID]drift.Status
}

func newReadings(seed uint64) readings {
	rng := rand.New(rand.NewPCG(seed, 2))
	return readings{on: rng.IntN(100) < 40, rng: rng, says: map[string]drift.Status{}, results: map[wire.RequestID]drift.Status{}}
}

func (r *readings) chance(percent int) bool { return r.rng.IntN(100) < percent }

// declares is [engine.Config.Reads].
func (s *sim) declares(context.Context, wire.ServiceToken) (engine.DeclaredTypes, error) {
	return func(string) bool { return s.readings.on }, nil
}

// detect detects the drift of the stack, while nodes die and answers are lost, and compares the report with the
// answers.
func (s *sim) detect() {
	ctx, stack := context.Background(), *s.row()
	var report drift.Report
	var err error
	for try := 0; ; try++ {
		detector := drift.New(nil, s.rows, func() time.Time { return s.now })
		detector.Ask(s.anyNode().engine)
		var all []store.Instance
		if all, err = s.anyNode().engine.Resources(ctx, stack); err == nil {
			report, err = detector.Detect(ctx, stack, all, all)
		}
		if err == nil || try == 50 {
			break
		}
		if !errors.Is(err, errFault) {
			s.must(err)
		}
		s.perhapsKill()
	}
	if err != nil {
		s.breaks(itEnds, "a detection cannot be started: %v", err)
		return
	}
	s.count("drift detected")
	if s.readings.chance(30) { // again, while the first one is unanswered
		detector := drift.New(nil, s.rows, func() time.Time { return s.now })
		detector.Ask(s.anyNode().engine)
		if all, err := s.anyNode().engine.Resources(ctx, stack); err == nil {
			_, err = detector.Detect(ctx, stack, all, all)
			s.note("detected again: %v", err)
		}
	}
	asked := report.Pending
	for steps := 0; s.reading() && !s.failed(); steps++ {
		if steps > mostSteps {
			s.breaks(itEnds, "a detection does not end")
			return
		}
		if s.readings.chance(3) { // an update does not wait for it, and may start meanwhile
			s.count("detection overtaken")
			return
		}
		s.step()
	}
	if s.failed() || s.row().Operation != stack.Operation {
		return
	}
	all, err := s.anyNode().engine.Resources(ctx, *s.row())
	s.must(err)
	report, err = drift.New(nil, s.rows, nil).Last(ctx, *s.row(), all)
	s.must(err)
	text, err := json.Marshal(report)
	s.must(err)
	s.showsNone("drift", string(text))
	for _, p := range asked {
		got, _ := report.Of(p.Logical)
		want, said := s.readings.results[p.Request]
		if !said { // it has timed out
			want = drift.Unknown
		}
		s.count("drift: " + string(got))
		if got != want {
			s.breaks(readNothing, "%s is %s, and the provider said %q", p.Logical, got, want)
		}
	}
}

// detectTooEarly requests a detection while an operation is in progress. It must not send any Read.
func (s *sim) detectTooEarly() {
	n := s.anyNode()
	if all, err := n.engine.Resources(context.Background(), *s.row()); err == nil {
		sent, _, err := n.engine.Read(context.Background(), *s.row(), all)
		s.note("read too early: %v", err)
		if len(sent) > 0 {
			s.breaks(readNothing, "%d resources are read in %s", len(sent), s.status())
		}
	}
}

// reading reports whether a Read is unanswered.
func (s *sim) reading() bool {
	for _, r := range s.open() {
		if r.Type == store.TypeRead {
			return true
		}
	}
	return false
}

// checkReads checks the unsettled Reads: there is one at most for an existing instance, and it has the instance's
// properties.
func (s *sim) checkReads() {
	open := map[int]store.Request{}
	for _, r := range s.open() {
		if r.Type != store.TypeRead {
			continue
		}
		s.handedOn(r)
		if other, twice := open[r.Instance]; twice && other.Body.PhysicalID == r.Body.PhysicalID && other.Body.Properties.Equal(r.Body.Properties) {
			s.breaks(oneInFlight, "instance %d of %s is read by %s and by %s", r.Instance, r.Logical, other.ID, r.ID)
		}
		open[r.Instance] = r
		if s.watch.places[r.ID] > 0 {
			continue
		}
		s.watch.places[r.ID] = len(s.watch.places) + 1
		i := s.current(r.Logical)
		if !s.watch.op.Phase.Final() || i == nil || i.PhysicalID != r.Body.PhysicalID || !i.Body.Properties.Equal(r.Body.Properties) {
			s.breaks(readNothing, "a Read of %s is sent in %s, or has another ID", r.Logical, s.status())
		}
		if want := min(i.Body.Timeout, 15*time.Minute); r.Body.Timeout != want {
			s.breaks(truthful, "a Read of %s may take %v, want %v", r.Logical, r.Body.Timeout, want)
		}
	}
}

// readBack plays a provider that gets a Read.
func (s *sim) readBack(r store.Request, n *simNode) {
	chance := s.readings.chance
	s.count("read")
	of := n
	if !s.local {
		of = nil
	}
	members, says := success(string(r.Body.PhysicalID)), drift.InSync
	switch {
	case chance(5):
		s.count("read: no answer")
		return
	case chance(5):
		s.later(time.Second, n, func() {
			s.report(r, n, engine.Outcome{Kind: engine.Died, Text: "exit code 3", Delivered: true, Log: []string{string(r.Body.Properties.JSON())}})
		})
		return
	case chance(5):
		members, says = `"Status": "SUCCESS"`, drift.Unknown // Invalid PhysicalResourceId
	case chance(5):
		says = drift.Unknown // without a state
	case chance(5):
		text, err := json.Marshal("no luck with " + string(r.Body.Properties.JSON()))
		s.must(err)
		members, says = fmt.Sprintf(`"Status": "FAILED", "Reason": %s, "PhysicalResourceId": %q`, text, r.Body.PhysicalID), drift.Unknown
	case chance(10):
		members, says = members+`, "PintleState": {"gone": true}`, drift.Deleted
	default:
		properties := r.Body.Properties
		if chance(30) {
			says = drift.Modified
			v, _ := properties.Get("V")
			properties = properties.With("V", value.Str(v.Text()+"-drifted"))
		}
		members += fmt.Sprintf(`, "PintleState": {"properties": %s}`, properties.JSON())
	}
	body := document(r, members)
	s.readings.says[body] = says
	s.answerLater(r, of, []byte(body))
}

// hasRead records the result of a Read.
func (s *sim) hasRead(a *answering) {
	s.readings.results[a.request.ID] = drift.Unknown
	if a.outcome.Kind == engine.Answered {
		s.readings.results[a.request.ID] = s.readings.says[string(a.outcome.Body)]
	}
}
