package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// untold is the deadline of a request that waits for a nested stack, which effectively means none. The nested stack
// has its own deadlines, and the tie reports its end.
const untold = 100 * 365 * 24 * time.Hour

// isNested reports whether resources of a type are stacks.
func (e *environment) isNested(resourceType string) bool {
	schema := e.native.Schema(resourceType)
	return schema != nil && schema.Nested
}

// nestedRequests completes the requests of a parent for its nested stacks. Type nestedStack handles the other side,
// and nest.go connects the two; see docs/design/003-nested-stacks.md.
type nestedRequests struct{ *decision }

// nests reports whether a template contains nested stacks. Only the nested stacks can determine whether they change.
func (d nestedRequests) nests(side plan.Side) bool {
	for _, r := range side.Template.Active(side.Scope) {
		if d.isNested(r.Type) {
			return true
		}
	}
	return false
}

// aim sets the aim of a request for a nested stack.
func (d nestedRequests) aim(s *store.Step, r *store.Request, aim store.Aim) {
	switch {
	case aim != "":
		r.Body.Aim = aim
	case r.Type == wire.Delete:
		r.Body.Aim = store.AimRemove
	case r.Type == store.TypeRelease:
		r.Body.Aim = store.AimRelease
	default:
		r.Body.Aim = store.AimReach
	}
	if r.Body.Aim == store.AimUndo {
		r.Body.Skip, r.Body.Force = s.Within, d.op.Force
	}
}

// wait records that a request waits for a nested stack. If it is cancelled, the nested stack is attended after the
// commit.
func (d nestedRequests) wait(r *store.Request) {
	if r.State != store.RequestWaiting {
		return
	}
	r.Due = d.now.Add(untold)
	d.changeRequest(r)
	if !r.Cancelled {
		return
	}
	id := r.Body.PhysicalID
	if i := d.instances[r.Instance]; r.Type == wire.Create && i != nil {
		id = i.PhysicalID
	}
	d.attend = append(d.attend, wire.StackID(id))
}
