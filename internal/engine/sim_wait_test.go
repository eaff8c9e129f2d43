package engine_test

import (
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// simTry is a request that a node got, or one try of a poll.
type simTry struct {
	id  wire.RequestID
	try int
}

func tryOf(r store.Request) simTry {
	if r.Wait != nil {
		return simTry{r.ID, r.Wait.Try}
	}
	if r.Execution != nil {
		return simTry{r.ID, r.Execution.Try}
	}
	return simTry{id: r.ID}
}

// notDone reports that a process has done its part for now. The pending data is the number of the try that reports
// it.
func (s *sim) notDone(row store.Request, n *simNode) {
	s.count("provider not done")
	if row.Wait != nil {
		s.count("provider not done when polled")
	}
	outcome := engine.Outcome{
		Kind: engine.Waiting, Pending: fmt.Append(nil, tryOf(row).try), After: time.Duration(s.rng.Int64N(int64(20 * time.Minute))),
		Text: "at " + string(row.Body.Properties.JSON()),
	}
	if s.chance(20) {
		outcome.After = 0
	}
	if s.chance(30) {
		outcome.Until = s.now.Add(time.Duration(s.rng.Int64N(int64(15 * time.Minute))))
	}
	s.later(time.Second, n, func() {
		s.report(row, n, outcome)
		if s.chance(10) { // delivery does not know whether that was accepted
			s.later(2*time.Second, n, func() { s.report(row, n, outcome) })
		}
	})
}

// checkTry checks a poll as its provider gets it.
func (s *sim) checkTry(row store.Request) {
	s.count("polled")
	if s.watch.moved[row.ID] {
		s.count("polled by another node")
	}
	if s.request(row.Wait.For).Cancelled {
		s.count("polled after a cancel")
	}
	if want := fmt.Sprint(row.Wait.Try - row.Wait.Failures - 1); row.Body.Pending.Text() != want {
		s.breaks(askedRightly, "%s is polled in try %d, after %d failures, with the state of try %s",
			row.Logical, row.Wait.Try, row.Wait.Failures, row.Body.Pending.Text())
	}
}

// checkWaits checks that every poll belongs to one request that only it polls for, and that still has time.
func (s *sim) checkWaits() {
	open := s.open()
	about := map[wire.RequestID]store.Request{}
	for _, r := range askedOf(open) {
		about[r.ID] = r
	}
	waits := map[wire.RequestID]bool{}
	for _, row := range open {
		if row.Type != store.TypeIsComplete {
			continue
		}
		s.handedOn(row)
		r, ok := about[row.Wait.For]
		switch {
		case !ok:
			s.breaks(askedRightly, "%s is polled for %s, which is settled", row.Logical, row.Wait.For)
		case waits[r.ID]:
			s.breaks(askedRightly, "%s has two polls for %s", row.Logical, r.ID)
		case r.State != store.RequestWaiting || r.Executor != 0 || r.Instance != row.Instance || r.Type != row.Body.Asked:
			s.breaks(askedRightly, "%s is polled for instance %d while a process executes its %s of instance %d",
				row.Logical, row.Instance, r.Type, r.Instance)
		case row.Wait.Failures >= 3:
			s.breaks(askedRightly, "%s is polled after %d failures", row.Logical, row.Wait.Failures)
		}
		end, rested, rests := row.Wait.End(), s.watch.resting[row.ID], row.State == store.RequestDelayed
		late := row.State == store.RequestReady && rested && !s.now.Before(row.Wait.Deadline) || // is polled
			rests && !rested && !row.Delivered.Before(end) || // was polled for the last time
			rests && row.Due.After(end) || row.Due.After(row.Wait.Deadline)
		if late {
			s.breaks(askedRightly, "%s is %s at %s, due %s, with the deadline %s", row.Logical, row.State, s.now, row.Due, end)
		}
		s.watch.resting[row.ID] = rests
		waits[row.Wait.For] = true
	}
}
