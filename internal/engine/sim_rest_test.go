package engine_test

import (
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// checkEnd compares the providers' resources with the stack's after an operation. No reported resource may be lost,
// no work may be in progress, and no secret may be shown.
func (s *sim) checkEnd() {
	row, op := s.row(), s.watch.op
	known := map[wire.PhysicalID]bool{}
	for _, i := range s.watch.instances {
		switch i.Role {
		case store.RoleCurrent, store.RoleCondemned:
			known[i.PhysicalID] = true
		case store.RoleRetained, store.RoleOrphan: // if its provider returns it again, the stack does not know it
			known[i.PhysicalID] = true
			s.ledger.forget(i)
		case store.RoleGone:
		}
		switch {
		case i.Role == store.RoleCurrent && i.Progress == store.ProgressRunning:
			s.breaks(settledOnce, "the operation ended while %s is still at %s", i.Logical, i.Verb)
		case !row.Live && (i.Role == store.RoleCurrent || i.Role == store.RoleCondemned):
			s.breaks(accounted, "the stack is deleted and %s is still %s", i.Logical, i.Role)
		case i.Role == store.RoleOrphan && i.Progress == store.ProgressSkipped:
			s.count("resource abandoned by force")
			if !s.forced {
				s.breaks(inPolicy, "%s %s was abandoned by a delete without force", i.Logical, i.PhysicalID)
			}
		case i.Role == store.RoleOrphan:
			s.count("resource orphaned")
			if i.Tries != 3 {
				s.breaks(inPolicy, "%s %s was abandoned after %d tries", i.Logical, i.PhysicalID, i.Tries)
			}
		case i.Role == store.RoleRetained && !s.ledger.kept[i.Number]:
			s.ledger.kept[i.Number] = true
			s.checkRetained(i, op)
		}
		s.showsNone("instance", i.Reason, string(i.PhysicalID), i.Body.Properties.String())
	}
	for id, th := range s.things {
		if th.exists && th.reported && !known[id] {
			s.breaks(accounted, "%s of %s exists, but is not in the stack", id, th.logical)
		}
	}
	for _, r := range s.open() {
		if r.Type == store.TypeNotification || r.Type == store.TypeTimer || r.Type == store.TypeExecution || r.Type == store.TypeRead {
			continue
		}
		s.breaks(settledOnce, "the operation ended and %s of %s is still open", r.Type, r.Logical)
	}
	s.showsNone("stack", row.Reason, row.OutputValues.String())
	for _, a := range s.audit() {
		s.showsNone("audit", a.Text)
	}
}

func (s *sim) checkRetained(i store.Instance, op store.Operation) {
	s.count("resource retained")
	spared := s.skipped(i.Logical)
	if spared {
		s.count("resource retained on request")
	}
	if !i.Reached || !spared && !s.keeps(i, op) {
		s.breaks(inPolicy, "%s %q was retained in a %s that ended as %s", i.Logical, i.PhysicalID, op.Kind, op.Phase)
	}
}

func (s *sim) showsNone(where string, texts ...string) {
	for _, text := range texts {
		if secret(text) {
			s.breaks(noSecret, "%s: %s", where, text)
		}
	}
}

// checkAtRest checks a stack that finished successfully: its resources match the current template with current
// references and attributes, the providers' resources match as well, and so do the outputs.
func (s *sim) checkAtRest() {
	switch s.status() {
	case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE":
	default:
		return
	}
	s.concluded()
	v, status := s.inForce(), s.status()
	if status == "UPDATE_COMPLETE" {
		s.checkAgain(v)
	}
	current := map[string]store.Instance{}
	for _, i := range s.watch.instances {
		if i.Role == store.RoleCurrent {
			current[string(i.Logical)] = i
		}
	}
	if len(current) != v.active() {
		s.breaks(agreed, "%s: %d resources, want %d", status, len(current), v.active())
	}
	att := func(id, name string) string { return s.ledger.data[current[id].PhysicalID][name] }
	// After a rollback they may be the previous ones, because one of them could not be evaluated, or was in use.
	outputs := status != "UPDATE_ROLLBACK_COMPLETE" || !s.watch.heldBack
	for id := range current {
		r, _ := v.resource(id)
		outputs = outputs && (r.v != 2 || att(id, "hid") != "")
	}
	for id, i := range current {
		r, declared := v.resource(id)
		if !declared {
			s.breaks(agreed, "%s: there is an undeclared %s", status, id)
			continue
		}
		for name, text := range s.wanted(v, r, current, att) {
			if got, _ := i.Body.Properties.Get(name); got.Text() != text {
				s.breaks(agreed, "%s: property %s of %s is %q, want %q", status, name, id, got.Text(), text)
			}
		}
		if r.reads != "" {
			s.count("resource: attribute read")
		}
		s.checkThing(i)
		if got, _ := s.row().OutputValues.Get(id + "Id"); outputs && got.Text() != string(i.PhysicalID) {
			s.breaks(agreed, "%s: output %sId is %q, want %q", status, id, got.Text(), i.PhysicalID)
		}
	}
}

// checkAgain checks that the resources that a client named got a request even if nothing changed.
func (s *sim) checkAgain(v simTemplate) {
	for id := range v.resources {
		logical := wire.LogicalID(id)
		named := slices.Contains(s.again, logical) || slices.Contains(s.again, engine.AllCustom)
		if _, active := v.resource(id); !active || !named {
			continue
		}
		s.count("updated again")
		if s.watch.applied[logical] != s.watch.op.Number {
			s.breaks(inPolicy, "%s got no request, but the call names it", id)
		}
	}
}

// wanted returns the expected properties of a resource.
func (s *sim) wanted(
	v simTemplate, r simResource, current map[string]store.Instance, att func(id, name string) string,
) map[string]string {
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
	if r.readsSecret != "" {
		want["Hears"] = "heard " + att(r.readsSecret, "hid")
	}
	if r.imports != "" {
		want["In"] = s.exportsNow()[r.imports].Value.Text()
	}
	i := current[r.id]
	left := s.forced || s.skipped(i.Logical)
	unreadable := r.reads != "" && att(r.reads, "att") == "" || r.readsSecret != "" && att(r.readsSecret, "hid") == ""
	if left && i.Progress == store.ProgressSucceeded && unreadable {
		return nil // it was skipped, and the attribute that it reads no longer exists
	}
	if !left && s.status() == "UPDATE_ROLLBACK_COMPLETE" && s.assumed(i) {
		return nil // it was skipped before, and not touched since
	}
	return want
}

// checkThing checks that a provider's resource matches the stack's, unless a client skipped it.
func (s *sim) checkThing(i store.Instance) {
	th := s.things[i.PhysicalID]
	if th == nil || !th.exists {
		s.breaks(agreed, "%s: %s is %s, which was deleted", s.status(), i.Logical, i.PhysicalID)
		return
	}
	if !i.Body.Attempted.IsNull() {
		s.breaks(agreed, "%s: the state of %s is unknown", s.status(), i.Logical)
	}
	if s.assumed(i) {
		return
	}
	if !th.properties.Equal(i.Body.Properties) {
		s.breaks(agreed, "%s: %s %s is %s at its provider, want %s", s.status(), i.Logical, i.PhysicalID,
			short(th.properties.JSON()), short(i.Body.Properties.JSON()))
	}
}

// assumed reports whether a resource's properties are only assumed because a client skipped it.
func (s *sim) assumed(i store.Instance) bool {
	properties, ok := s.watch.assumed[i.PhysicalID]
	return ok && properties.Equal(i.Body.Properties)
}
