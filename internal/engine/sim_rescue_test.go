package engine_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// continuation goes on with a rollback, and perhaps skips some of what it failed at.
func (s *sim) continuation(ref engine.Ref) engine.ContinueRollback {
	in := engine.ContinueRollback{Stack: ref, Token: fmt.Sprint("continue-", s.ids), Force: s.chance(25)}
	var stuck []wire.LogicalID
	for _, i := range s.instances() {
		if i.Role == store.RoleCurrent && i.Stuck {
			stuck = append(stuck, i.Logical)
			if !in.Force && s.chance(25) {
				in.Skip = append(in.Skip, i.Logical)
			}
		}
	}
	if s.spared, s.forced = in.Skip, in.Force; in.Force {
		s.spared = stuck
	}
	s.note("continue, skip %q, force %v", in.Skip, in.Force)
	return in
}

// deletion returns a delete and, if the last one failed, perhaps one that leaves resources behind.
func (s *sim) deletion(ref engine.Ref) engine.DeleteStack {
	in := engine.DeleteStack{Stack: ref, Token: fmt.Sprint("delete-", s.ids)}
	if s.status() == "DELETE_FAILED" {
		in.Force = s.chance(35)
		for _, i := range s.instances() {
			if (i.Role == store.RoleCurrent || i.Role == store.RoleCondemned) && s.chance(15) {
				in.Retain = append(in.Retain, i.Logical)
			}
		}
	}
	s.spared, s.forced = in.Retain, in.Force
	s.note("delete, retain %q, force %v", in.Retain, in.Force)
	return in
}

// answerByHand answers for a provider that has one of the stack's requests, having done its work for it. What the provider
// itself says later comes too late.
func (s *sim) answerByHand() {
	open, err := s.db.Requests(s.t.Context(), s.stack().Key)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range open {
		if r.State != store.RequestWaiting || !r.Asks() {
			continue
		}
		in := engine.Respond{
			Stack: engine.Ref{Account: account, Region: region, Stack: string(s.stack().ID)}, Logical: r.Logical,
			Status: wire.Success, PhysicalID: r.Body.PhysicalID, By: "the simulation",
		}
		switch {
		case s.chance(30):
			in.Status = wire.Failed
		case r.Type == wire.Delete:
			if th := s.things[r.Body.PhysicalID]; th != nil {
				th.exists = false
			}
		}
		if r.Type == wire.Create && in.Status == wire.Success {
			in.PhysicalID = s.make(r)
		}
		beside := s.data(r, in.PhysicalID)
		if beside != "" {
			if err := json.Unmarshal([]byte("{"+beside[1:]+"}"), &in); err != nil {
				s.t.Fatal(err)
			}
		}
		done, err := s.engine.Respond(s.t.Context(), in)
		s.note("answer %s of %s by hand with %s %q: %v", r.Type, r.Logical, in.Status, done.PhysicalID, err)
		if input := (*engine.Error)(nil); errors.As(err, &input) {
			s.t.Errorf("an answer by hand was refused: %v", err)
		}
		if s.request(r.ID).State != store.RequestSettled { // whatever err says
			return
		}
		s.statuses = append(s.statuses, "answered by hand")
		id := cmp.Or(done.PhysicalID, in.PhysicalID) // it may have been written, and nobody told
		s.heard(r, []byte(document(r, fmt.Sprintf(`"Status": %q, "PhysicalResourceId": %q`, in.Status, id)+beside)))
		return
	}
}
