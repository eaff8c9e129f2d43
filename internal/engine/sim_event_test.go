package engine_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// story is the state that the events so far have reported.
type story struct {
	ids  map[string]bool
	last time.Time
	// kind and phase are the stack's.
	operation int
	kind      store.Kind
	phase     store.Phase
	// resources are the created or updated resources by logical ID, and leaving the deleted ones by physical ID. left
	// marks logical IDs that lost an instance since their creation, possibly the only one.
	resources map[wire.LogicalID]state
	leaving   map[wire.PhysicalID]state
	left      map[wire.LogicalID]bool
}

// state is the state of a resource in an event.
type state struct {
	verb     store.Verb
	progress store.Progress
}

func newStory() story {
	return story{
		ids: map[string]bool{}, resources: map[wire.LogicalID]state{}, leaving: map[wire.PhysicalID]state{},
		left: map[wire.LogicalID]bool{},
	}
}

var (
	createRuns, createDone      = state{store.VerbCreate, store.ProgressRunning}, state{store.VerbCreate, store.ProgressSucceeded}
	createFailed                = state{store.VerbCreate, store.ProgressFailed}
	updateRuns, updateDone      = state{store.VerbUpdate, store.ProgressRunning}, state{store.VerbUpdate, store.ProgressSucceeded}
	updateFailed                = state{store.VerbUpdate, store.ProgressFailed}
	deleteRuns, deleteDone      = state{store.VerbDelete, store.ProgressRunning}, state{store.VerbDelete, store.ProgressSucceeded}
	deleteFailed, deleteSkipped = state{store.VerbDelete, store.ProgressFailed}, state{store.VerbDelete, store.ProgressSkipped}
)

// legalStates lists the states that the next event of a logical id may report after the last one, except for deletes.
// A logical ID whose resource was left behind may be created again from any state but the running ones.
var legalStates = map[state][]state{
	{}:           {createRuns},
	createRuns:   {createRuns, createDone, createFailed},
	createDone:   {updateRuns},
	createFailed: {},
	updateRuns:   {updateRuns, updateDone, updateFailed},
	updateDone:   {updateRuns, updateDone}, // at once: the resource already has the state that the rollback wants
	updateFailed: {updateRuns, updateDone}, // or no request was sent, or a client skips it
}

// legalLeaving is the same for the deletes of a physical id. A logical id may have several of these. A resource whose
// Create was never sent is deleted at once.
var legalLeaving = map[state][]state{
	{}:           {deleteRuns, deleteDone, deleteSkipped},
	deleteRuns:   {deleteDone, deleteFailed},
	deleteFailed: {deleteRuns, deleteSkipped},
}

// checkEvents checks the events since the last check.
func (s *sim) checkEvents() {
	var news []store.EventRow
	for limit := 2; ; limit *= 4 {
		rows, err := s.rows.Events(context.Background(), s.row().Key, store.EventCursor{}, limit)
		s.must(err)
		at := slices.IndexFunc(rows, func(row store.EventRow) bool { return row.Place == s.watch.place })
		if at >= 0 || len(rows) < limit {
			news = rows
			if at >= 0 {
				news = rows[:at]
			}
			break
		}
	}
	for _, row := range slices.Backward(news) {
		s.watch.place = row.Place
		if row.Place.Operation != s.watch.story.operation {
			s.watch.story.operation = row.Place.Operation
			if row.Events[0].Phase == store.PhaseApply { // otherwise it continues the previous one
				s.watch.story.kind, s.watch.story.phase = row.Events[0].Kind, ""
			}
		}
		for _, e := range row.Events {
			if s.recording {
				s.note("    %s", eventLine(e))
			}
			s.checkEvent(e)
		}
	}
}

// checkEvent checks that an event is later than the previous one, has a unique ID, shows no secret and reports a
// legal transition.
func (s *sim) checkEvent(e store.Event) {
	y := &s.watch.story
	if y.ids[e.ID] {
		s.breaks(wellTold, "two events have the id %s", e.ID)
	}
	y.ids[e.ID] = true
	if !e.Time.Truncate(time.Millisecond).After(y.last.Truncate(time.Millisecond)) {
		s.breaks(wellTold, "event %s at %v comes after one at %v", e.ID, e.Time, y.last)
	}
	y.last = e.Time
	if secret(e.Reason) || secret(e.Properties) || secret(string(e.Physical)) {
		s.breaks(noSecret, "event %s: %q, %s", e.ID, e.Reason, e.Properties)
	}
	if e.Phase == "" {
		s.checkResourceEvent(e)
		return
	}
	s.countTrade(e)
	stays := strings.HasPrefix(e.Reason, "Delete canceled.") && e.Kind == y.kind && e.Phase == y.phase
	if !stays && !legalMove(y.kind, y.phase, e.Kind, e.Phase) {
		s.breaks(wellTold, "a %s in phase %q went to %q of a %s", y.kind, y.phase, e.Phase, e.Kind)
	}
	y.kind, y.phase = e.Kind, e.Phase
	if strings.Contains(e.Reason, "attribute error") {
		s.count("output failed")
	}
}

func (s *sim) checkResourceEvent(e store.Event) {
	y := &s.watch.story
	s.countEvent(e)
	next, was := state{e.Verb, e.Progress}, y.resources[e.Logical]
	if e.Verb == store.VerbDelete {
		own := y.leaving[e.Physical]
		if !slices.Contains(legalLeaving[own], next) || was == createRuns || was == updateRuns && next.progress != store.ProgressRunning {
			s.breaks(wellTold, "%s %s: %v after %v, and %v of its logical id", e.Logical, e.Physical, next, own, was)
		}
		if e.Physical != "" { // otherwise it never existed
			y.leaving[e.Physical] = next
		}
		y.left[e.Logical] = true
		return
	}
	if !slices.Contains(legalStates[was], next) && !(next == createRuns && y.left[e.Logical] && was.progress != store.ProgressRunning) {
		s.breaks(wellTold, "%s %s: %v after %v", e.Logical, e.Physical, next, was)
	}
	if left, ok := y.leaving[e.Physical]; ok {
		s.breaks(wellTold, "%s %s: %v after %v", e.Logical, e.Physical, next, left)
	}
	if next == createRuns && was != createRuns {
		y.left[e.Logical] = false
	}
	if i := s.current(e.Logical); next == updateDone && was == updateFailed && i != nil && (s.forced || s.skipped(e.Logical)) {
		s.watch.assumed[i.PhysicalID], s.ledger.good[i.PhysicalID] = i.Body.Properties, i.Body.Properties
	}
	y.resources[e.Logical] = next
}

// returned records that a provider returned a physical ID. A retained or orphaned resource with that ID belongs to
// the stack again.
func (y *story) returned(id wire.PhysicalID) {
	switch y.leaving[id] {
	case deleteSkipped, deleteFailed:
		delete(y.leaving, id)
	}
}

// countEvent counts an event for coverage.
func (s *sim) countEvent(e store.Event) {
	switch {
	case strings.HasPrefix(e.Reason, statusreason.CreationCancelled):
		s.count("request cancelled: create")
	case strings.HasPrefix(e.Reason, statusreason.UpdateCancelled):
		s.count("request cancelled: update")
	case strings.HasPrefix(e.Reason, "Requested update required the provider"):
		s.count("resource replaced")
	case strings.HasPrefix(e.Reason, "Action denied by stack policy"):
		s.count("denied by the stack policy")
	case strings.Contains(e.Reason, "did not receive a response"):
		s.count("request timed out")
	case strings.HasPrefix(e.Reason, statusreason.Returned):
		s.count("request returned without an answer")
	case strings.HasPrefix(e.Reason, "Operation timed out"):
		s.count("timed out while pending")
	case strings.Contains(e.Reason, "attribute error"), strings.Contains(e.Reason, "ServiceTimeout"):
		s.count("resource: property failed")
	}
}
