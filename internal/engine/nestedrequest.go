package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// untold is how long a request waits for a nested stack: until that ends, whatever it takes. The nested stack has its own
// times, and its tie sees to it that its end is told.
const untold = 100 * 365 * 24 * time.Hour

// isNested reports whether resources of a type are stacks.
func (e *environment) isNested(resourceType string) bool {
	schema := e.native.Schema(resourceType)
	return schema != nil && schema.Nested
}

// nestedRequests completes, in a parent, the requests for its nested stacks. Type nestedStack has the other side, and nest.go brings
// the two together; see docs/design/003-nested-stacks.md.
type nestedRequests struct{ *decision }

// nests reports whether a template has stacks nested in it. Whether those change is not known before they are asked.
func (d nestedRequests) nests(side plan.Side) bool {
	for _, r := range side.Template.Active(side.Scope) {
		if d.isNested(r.Type) {
			return true
		}
	}
	return false
}

// aim puts into a request what it wants of a nested stack.
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

// wait records that a request waits for a nested stack. If it is cancelled the nested stack is attended after the commit.
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
