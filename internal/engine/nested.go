package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Here is what a stack decides of the stacks that are nested in it; what those decide is in nestedchild.go, and how the two are
// brought together in nestedrequests.go. docs/design/003-nested-stacks.md tells the whole.

// untold is how long a request waits for a nested stack: until that ends, whatever it takes. The nested stack has its own
// times, and its tie sees to it that its end is told.
const untold = 100 * 365 * 24 * time.Hour

// isNested reports whether resources of a type are stacks.
func (e *environment) isNested(resourceType string) bool {
	schema := e.native.Schema(resourceType)
	return schema != nil && schema.Nested
}

// nests reports whether a template has stacks nested in it. Whether those change is not known before they are asked.
func (m *machine) nests(side plan.Side) bool {
	for _, r := range side.Template.Active(side.Scope) {
		if m.isNested(r.Type) {
			return true
		}
	}
	return false
}

// aim puts into a request what it wants of a nested stack.
func (m *machine) aim(s *store.Step, r *store.Request, aim store.Aim) {
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
		r.Body.Skip, r.Body.Force = s.Within, m.op.Force
	}
}

// withNested notes that a request is with a nested stack, which is to be looked at if it is cancelled.
func (m *machine) withNested(r *store.Request) {
	if r.State != store.RequestWaiting {
		return
	}
	r.Due = m.now.Add(untold)
	m.changeRequest(r)
	if !r.Cancelled {
		return
	}
	id := r.Body.PhysicalID
	if i := m.instances[r.Instance]; r.Type == wire.Create && i != nil {
		id = i.PhysicalID
	}
	m.attend = append(m.attend, wire.StackID(id))
}

// looksAtAll reports whether the operation undoes what operations before it have done, so that a nested stack may have
// something to undo that this operation knows nothing of.
func (m *machine) looksAtAll() bool {
	return m.op.Call == store.CallContinue || m.op.Call == store.CallRollback || m.op.Tried != nil
}

// undo asks a nested stack to take back what it did for this update, if anything, and those before it that were left.
func (m *machine) undo(s *store.Step, i *store.Instance, ask asked, metadata value.Value, problem string) error {
	if problem != "" { // whatever it was to be: it goes back to what it was
		ask.properties = i.Body.Properties
	}
	ask.aim = store.AimUndo
	m.touchForUpdate(s, i, ask.properties)
	m.update(s, i, ask, metadata)
	return nil
}

// askRelease lets a nested stack go on with the clean-up at which it is held. What else is to be deleted of the step's
// resource waits for that.
func (m *machine) askRelease(s *store.Step, i *store.Instance) error {
	s.Instance = i.Number
	m.ask(s, i, store.TypeRelease, asked{properties: i.Body.Properties, timeout: i.Body.Timeout}, value.Value{})
	m.begin(s)
	return nil
}

// within sorts out which of the resources that a client wants skipped are those of nested stacks, NESTED.RESOURCE, where
// NESTED is the logical ID or the name of the nested stack, or the name of one that is nested in it. It returns the others.
func (m *machine) within(skip []wire.LogicalID) (own []wire.LogicalID, nested map[wire.LogicalID][]string, unknown []string) {
	nested = map[wire.LogicalID][]string{}
	for _, logical := range skip {
		name, rest, dotted := strings.Cut(string(logical), ".")
		if !dotted {
			own = append(own, logical)
			continue
		}
		found := false
		for _, i := range m.instances {
			arn, err := wire.ParseStackARN(wire.StackID(i.PhysicalID))
			switch {
			case i.Role != store.RoleCurrent || err != nil || !m.isNested(i.Body.Type):
			case string(i.Logical) == name || arn.Name == name:
				nested[i.Logical] = append(nested[i.Logical], rest)
				found = true
			case strings.HasPrefix(name, arn.Name+"-"): // it is nested in that
				nested[i.Logical] = append(nested[i.Logical], string(logical))
				found = true
			}
		}
		if !found {
			unknown = append(unknown, string(logical))
		}
	}
	for _, list := range nested {
		slices.Sort(list)
	}
	return own, nested, unknown
}
