package engine_test

import (
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// simSettle is how long an answer may take after a handler has returned without one.
const simSettle = 5 * time.Second

// silent plays a handler that returns without an answer. Work that it started may continue for a while, here or on no
// node.
func (s *sim) silent(row store.Request, n *simNode) {
	s.count("returned silently")
	if row.Wait != nil {
		s.count("returned silently when polled")
	}
	outcome := engine.Outcome{Kind: engine.Silent, After: simSettle, Over: s.chance(20)}
	works := s.chance(40)
	if works {
		outcome.Text = "1 thread"
	}
	s.later(time.Second, n, func() { s.report(row, n, outcome) })
	if works && s.chance(70) {
		s.later(20*time.Minute, n, func() {
			s.count("returned silently, with work left")
			outcome.Text = ""
			s.report(row, n, outcome)
		})
	}
}

// checkSilences checks that requests whose handlers returned silently end when they should.
func (s *sim) checkSilences() {
	for _, r := range s.open() {
		if r.State != store.RequestWaiting {
			continue
		}
		before, seen := s.watch.delivered[r.ID]
		again := seen && !before.Equal(r.Delivered)
		s.watch.delivered[r.ID] = r.Delivered
		if again {
			delete(s.watch.settling, r.ID)
		}
		if r.Silence == nil {
			continue
		}
		end, known := s.watch.settling[r.ID]
		if !known {
			end = s.now.Add(simSettle) // the clock may be set back later
		}
		switch {
		case again:
			s.breaks(heardOut, "%s of %s was delivered just now, but its handler returned at %s", r.Type, r.Logical, r.Silence.Since)
		case r.Silence.Settles() && s.fidelity == engine.FidelityAWS:
			s.breaks(heardOut, "%s of %s does not wait for its timeout, as AWS does", r.Type, r.Logical)
		case r.Silence.Settles() && r.Due.After(end):
			s.breaks(heardOut, "%s of %s, whose work has ended, is due at %s", r.Type, r.Logical, r.Due)
		case !r.Silence.Settles() && !r.Cancelled && r.Wait == nil && r.Due.Before(r.Delivered.Add(r.Body.Timeout)):
			s.breaks(heardOut, "%s of %s, which may still be answered, is due at %s", r.Type, r.Logical, r.Due)
		}
		if r.Silence.Settles() && !known {
			s.watch.settling[r.ID] = end
		}
	}
}
