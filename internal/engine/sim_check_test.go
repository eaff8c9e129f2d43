package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// checkAsked looks at a request that has just been committed: whether it may be made now, and says the truth.
func (s *sim) checkAsked(r store.Request) {
	row := s.stack()
	op, err := s.db.Operation(s.t.Context(), row.Key, row.Operation)
	if err != nil {
		s.t.Fatal(err)
	}
	stopping := len(op.FailedCreates)+len(op.FailedUpdates) > 0 && !op.DisableRollback
	if op.Phase == store.PhaseApply && op.Kind != store.KindDelete && stopping {
		s.t.Errorf("%s of %s is asked for after something failed", r.Type, r.Logical)
	}
	if slices.Contains(s.spared, r.Logical) && (op.Kind == store.KindDelete || r.Type == wire.Update) {
		s.t.Errorf("%s of %s is asked for, which is to be left as it is", r.Type, r.Logical)
	}
	switch r.Type {
	case wire.Create:
	case wire.Update:
		if last, ok := s.ledger.last(r.Instance); !ok || !last.Equal(r.Body.OldProperties) {
			s.t.Errorf("Update of %s says it was %s, but of what it was sent the last is not that: %v", r.Logical,
				short(r.Body.OldProperties.JSON()), s.ledger.sent[r.Instance])
		}
		if op.Phase == store.PhaseApply && r.Body.Properties.Equal(r.Body.OldProperties) {
			s.t.Errorf("%s is updated to what it is", r.Logical)
		}
	case wire.Delete:
		s.checkDelete(r, op)
	}
	if r.Type != wire.Create && r.Body.PhysicalID == "" {
		s.t.Errorf("%s of %s has no physical id", r.Type, r.Logical)
	}
	seconds, _ := r.Body.Properties.Get("ServiceTimeout")
	if want := r.Body.Timeout / time.Second; seconds.Text() != fmt.Sprint(int(want)) {
		s.t.Errorf("%s of %s has ServiceTimeout %s and gets %v", r.Type, r.Logical, seconds.Text(), r.Body.Timeout)
	}
}

// checkDelete checks that nothing that is to go depends on what is deleted, that no policy keeps it, and that the
// provider is given the properties it has.
func (s *sim) checkDelete(r store.Request, op store.Operation) {
	for _, i := range s.instances() {
		if i.Number == r.Instance {
			if s.keeps(i, op) {
				s.t.Errorf("Delete of %s %s is asked for, which its policy keeps", r.Logical, i.PhysicalID)
			}
			if i.PhysicalID != r.Body.PhysicalID || !i.Reached {
				s.t.Errorf("Delete of %s is asked of %q, it is %q", r.Logical, r.Body.PhysicalID, i.PhysicalID)
			}
			continue
		}
		goes := i.Role == store.RoleCondemned ||
			i.Role == store.RoleCurrent && (op.Kind == store.KindDelete || op.Phase == store.PhaseRevert)
		if goes && s.graphOf(i.Logical, op.Kind, op.Phase).feeds(string(r.Logical), string(i.Logical)) {
			s.t.Errorf("Delete of %s is asked for while %s, which depends on it, is still %s", r.Logical, i.Logical, i.Role)
		}
	}
	if good, ok := s.ledger.good[r.Body.PhysicalID]; ok && !good.Equal(r.Body.Properties) {
		s.t.Errorf("Delete of %s %s has the properties %s, want %s", r.Logical, r.Body.PhysicalID,
			short(r.Body.Properties.JSON()), short(good.JSON()))
	}
}

// graphOf returns the template whose graph and policies count when a resource is deleted.
func (s *sim) graphOf(logical wire.LogicalID, kind store.Kind, phase store.Phase) simTemplate {
	switch {
	case kind == store.KindDelete:
		for _, side := range s.sides {
			if _, ok := side.resource(string(logical)); ok {
				return side
			}
		}
		return simTemplate{}
	case kind == store.KindUpdate && (phase == store.PhaseCleanup || phase == store.PhaseSucceeded):
		return s.from
	}
	return s.to
}

// keeps reports whether a policy keeps an instance from being deleted.
func (s *sim) keeps(i store.Instance, op store.Operation) bool {
	kind, phase := op.Kind, op.Phase
	v := s.graphOf(i.Logical, kind, phase)
	if i.Replaced {
		switch {
		case kind == store.KindUpdate && (phase == store.PhaseCleanup || phase == store.PhaseSucceeded):
			v = s.to
		case kind != store.KindDelete:
			return false
		}
		r, _ := v.resource(string(i.Logical))
		return r.replace == "Retain"
	}
	r, _ := v.resource(string(i.Logical))
	undone := op.Call != store.CallDelete && phase != store.PhaseCleanup && (phase != store.PhaseSucceeded || kind == store.KindDelete)
	return r.policy == "Retain" && !op.RetainExceptOnCreate || r.policy != "" && !undone
}

// sidesLeft returns the templates from which there may be resources, the one in force first.
func (s *sim) sidesLeft() []simTemplate {
	switch s.status() {
	case "UPDATE_ROLLBACK_COMPLETE":
		return []simTemplate{s.from}
	case "UPDATE_ROLLBACK_FAILED":
		return []simTemplate{s.from, s.to}
	case "UPDATE_FAILED":
		return []simTemplate{s.to, s.from}
	}
	return []simTemplate{s.to}
}

// check looks at what must be true at every moment.
func (s *sim) check() {
	for _, r := range s.made {
		s.checkAsked(r)
	}
	s.made = nil
	requests, err := s.db.Requests(s.t.Context(), s.stack().Key)
	if err != nil {
		s.t.Fatal(err)
	}
	inFlight := map[int]wire.RequestID{}
	for _, r := range requests {
		if other, twice := inFlight[r.Instance]; twice {
			s.t.Errorf("instance %d of %s has two requests in flight, %s and %s", r.Instance, r.Logical, other, r.ID)
		}
		inFlight[r.Instance] = r.ID
		const bound = 5*time.Minute + time.Minute // the clock may have been set back since
		if r.Cancelled && r.State == store.RequestWaiting && r.Due.Sub(s.now) > bound {
			s.t.Errorf("a cancelled %s of %s is waited for another %v", r.Type, r.Logical, r.Due.Sub(s.now))
		}
	}
	s.checkAssumed()
	current := map[wire.LogicalID]int{}
	for _, i := range s.instances() {
		if i.Role == store.RoleCurrent {
			if other, twice := current[i.Logical]; twice {
				s.t.Errorf("%s stands for two instances, %d and %d", i.Logical, other, i.Number)
			}
			current[i.Logical] = i.Number
		}
	}
	s.checkMoves()
}

// checkAssumed notes which resources are taken to be what they were not asked to be: only what a client skips may be.
func (s *sim) checkAssumed() {
	if s.stack().Kind != store.KindUpdate || !s.forced && len(s.spared) == 0 {
		return
	}
	for id, i := range s.current() {
		if i.Verb != store.VerbUpdate || i.Progress != store.ProgressSucceeded {
			continue
		}
		last, ok := s.ledger.last(i.Number)
		if ok && last.Equal(i.Body.Properties) || !s.forced && !slices.Contains(s.spared, i.Logical) {
			continue
		}
		s.statuses = append(s.statuses, "skipped")
		s.note("%s is taken as rolled back", id)
		s.ledger.sent[i.Number] = append(s.ledger.sent[i.Number], asking{"", i.Body.Properties})
		s.ledger.good[i.PhysicalID] = i.Body.Properties
		if s.ledger.data[i.PhysicalID] == nil { // its only answer was a failure: the last data of the resource still count
			data := map[string]string{}
			for _, m := range i.Body.Data.Members() {
				data[m.Key] = m.Value.Text()
			}
			s.ledger.data[i.PhysicalID] = data
		}
	}
}

// checkMoves checks that the stack's own events tell of legal moves only, and that no event is earlier than the one
// before, or has the id of another.
func (s *sim) checkMoves() {
	seen := map[string]bool{}
	operation, kind, phase := 0, store.Kind(""), store.Phase("")
	var last time.Time
	for _, row := range s.events() {
		if row.Place.Operation != operation {
			operation = row.Place.Operation
			if first := row.Events[0]; first.Phase == store.PhaseApply {
				kind, phase = first.Kind, "" // else it goes on with the one before
			}
		}
		for _, e := range row.Events {
			if seen[e.ID] {
				s.t.Errorf("two events have the id %s", e.ID)
			}
			seen[e.ID] = true
			if e.Time.Before(last) {
				s.t.Errorf("event %s at %v comes after one at %v", e.ID, e.Time, last)
			}
			last = e.Time
			if e.Phase == "" {
				continue
			}
			if !legalMove(kind, phase, e.Kind, e.Phase) {
				s.t.Errorf("a %s in phase %q went to %q of a %s", kind, phase, e.Phase, e.Kind)
			}
			kind, phase = e.Kind, e.Phase
		}
	}
}

// checkLedger compares what the providers have with what the stack knows: nothing that it was told of may be lost, and
// no secret told.
func (s *sim) checkLedger() {
	row := s.stack()
	op, err := s.db.Operation(s.t.Context(), row.Key, row.Operation)
	if err != nil {
		s.t.Fatal(err)
	}
	known := map[wire.PhysicalID]bool{}
	for _, i := range s.instances() {
		if i.Role != store.RoleGone {
			known[i.PhysicalID] = true
		}
		s.statuses = append(s.statuses, string(i.Role))
		switch {
		case i.Role == store.RoleCurrent && i.Progress == store.ProgressRunning:
			s.t.Errorf("the operation ended while %s is still at %s", i.Logical, i.Verb)
		case !row.Live && (i.Role == store.RoleCurrent || i.Role == store.RoleCondemned):
			s.t.Errorf("the stack is deleted and %s is still %s", i.Logical, i.Role)
		case i.Role == store.RoleOrphan && i.Progress == store.ProgressSkipped:
			s.statuses = append(s.statuses, "given up")
			if !s.forced {
				s.t.Errorf("%s %s was given up by a delete that was not forced", i.Logical, i.PhysicalID)
			}
		case i.Role == store.RoleOrphan && i.Tries != 3:
			s.t.Errorf("%s %s was given up after %d tries", i.Logical, i.PhysicalID, i.Tries)
		case i.Role == store.RoleRetained && !s.ledger.kept[i.Number]:
			s.ledger.kept[i.Number] = true
			spared := slices.Contains(s.spared, i.Logical)
			if spared {
				s.statuses = append(s.statuses, "spared")
			}
			if !i.Reached || !spared && !s.keeps(i, op) {
				s.t.Errorf("%s %q was retained in a %s that ended as %s", i.Logical, i.PhysicalID, row.Kind, row.Phase)
			}
		}
	}
	for id, th := range s.things {
		if th.exists && th.told && !known[id] {
			s.t.Errorf("%s of %s exists and the stack has forgotten it", id, th.logical)
		}
	}
	requests, err := s.db.Requests(s.t.Context(), row.Key)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range requests {
		s.t.Errorf("the operation ended and %s of %s is still open", r.Type, r.Logical)
	}
	s.checkSecrets()
}

// checkSecrets checks that nothing people read holds a secret.
func (s *sim) checkSecrets() {
	row := s.stack()
	audit, err := s.db.Audit(s.t.Context(), row.Key, 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	shown := []string{row.Reason, row.OutputValues.String(), fmt.Sprint(audit)}
	for _, i := range s.instances() {
		shown = append(shown, i.Reason, string(i.PhysicalID), i.Body.Properties.String())
	}
	for _, r := range s.events() {
		shown = append(shown, fmt.Sprint(r.Events))
	}
	for _, text := range shown {
		if strings.Contains(text, "hush") {
			s.t.Errorf("a secret is shown: %s", text)
		}
	}
}

// checkAtRest checks that every resource of a stack at rest is what the template in force says, with the references and
// attributes as they are now, and the outputs too.
func (s *sim) checkAtRest() {
	v := s.to
	switch s.status() {
	case "UPDATE_COMPLETE":
	case "UPDATE_ROLLBACK_COMPLETE":
		v = s.from
	default:
		return
	}
	current := s.current()
	if len(current) != v.active() {
		s.t.Errorf("%s: %d resources, want %d", s.status(), len(current), v.active())
	}
	att := func(id, name string) string { return s.ledger.data[current[id].PhysicalID][name] }
	outputs := true // after a rollback they may be those of before, because one of them cannot be had any more
	for id := range current {
		r, _ := v.resource(id)
		outputs = outputs && (r.v != 2 || att(id, "hid") != "")
	}
	for id, i := range current {
		r, _ := v.resource(id)
		want := map[string]string{"V": fmt.Sprint(r.v), "Open": v.open, "ServiceTimeout": fmt.Sprint(r.timeout)}
		if r.v > 0 {
			want["Hidden"] = "<" + v.hidden + ">"
		}
		for _, need := range r.needs {
			want["To"+need] = string(current[need].PhysicalID)
		}
		if r.reads != "" {
			want["Reads"] = att(r.reads, "att")
		}
		if r.hears != "" {
			want["Hears"] = "heard " + att(r.hears, "hid")
		}
		if i.Progress == store.ProgressSucceeded && (s.forced || slices.Contains(s.spared, i.Logical)) &&
			(r.reads != "" && att(r.reads, "att") == "" || r.hears != "" && att(r.hears, "hid") == "") {
			want = nil // it was skipped, and what it reads cannot be had any more
		}
		for name, text := range want {
			if got, _ := i.Body.Properties.Get(name); got.Text() != text {
				s.t.Errorf("%s: property %s of %s is %q, want %q", s.status(), name, id, got.Text(), text)
			}
		}
		if r.reads != "" {
			s.statuses = append(s.statuses, "an attribute was read")
		}
		if th := s.things[i.PhysicalID]; th == nil || !th.exists {
			s.t.Errorf("%s: %s is %s, which was deleted", s.status(), id, i.PhysicalID)
		}
		if !i.Body.Attempted.IsNull() {
			s.t.Errorf("%s: %s is not known to be what it is", s.status(), id)
		}
		if got, _ := s.stack().OutputValues.Get(id + "Id"); outputs && got.Text() != string(i.PhysicalID) {
			s.t.Errorf("%s: output %sId is %q, want %q", s.status(), id, got.Text(), i.PhysicalID)
		}
	}
}

func (s *sim) instances() []store.Instance {
	instances, err := s.db.Instances(s.t.Context(), s.stack().Key)
	if err != nil {
		s.t.Fatal(err)
	}
	return instances
}

func (s *sim) current() map[string]store.Instance {
	current := map[string]store.Instance{}
	for _, i := range s.instances() {
		if i.Role == store.RoleCurrent {
			current[string(i.Logical)] = i
		}
	}
	return current
}

// events returns the stack's event rows, oldest first.
func (s *sim) events() []store.EventRow {
	rows, err := s.db.Events(s.t.Context(), s.stack().Key, store.EventPlace{}, 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Reverse(rows)
	return rows
}
