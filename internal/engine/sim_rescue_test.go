package engine_test

import (
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
