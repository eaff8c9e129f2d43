package postgres

import (
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// image is what a transaction knows of a stack: rows as they were loaded, and over them what its members decided.
type image struct {
	stack     store.Stack
	operation store.Operation // the newest; number 0 if there is none
	// all says that every step, instance and unsettled request is here.
	all bool
	// dropped says that the steps of the database are void: a member has removed them.
	dropped bool
	// near are the logical ids of which step, unsettled requests and living instances are here, as far as there are any.
	near map[wire.LogicalID]bool
	// here are those of which the living instances are here.
	here map[wire.LogicalID]bool

	steps     map[wire.LogicalID]store.Step
	instances map[int]store.Instance
	requests  map[wire.RequestID]store.Request      // the targets' and those that were written too, settled or not
	sets      map[store.ChangeSetID]store.ChangeSet // if all is here, without bodies
	revisions map[int]*store.Revision               // nil: there is none of this number

	changes changes
}

func newImage() *image {
	return &image{
		near: make(map[wire.LogicalID]bool), here: make(map[wire.LogicalID]bool), steps: make(map[wire.LogicalID]store.Step), instances: make(map[int]store.Instance),
		requests: make(map[wire.RequestID]store.Request), revisions: make(map[int]*store.Revision),
		sets: make(map[store.ChangeSetID]store.ChangeSet),
	}
}

// need is what must be loaded of a stack before a view can be made.
type need struct {
	all       bool
	steps     []wire.LogicalID // with all around them
	revisions []int
	requests  []wire.RequestID // whatever their state
}

func (n need) nothing() bool {
	return !n.all && len(n.steps) == 0 && len(n.revisions) == 0 && len(n.requests) == 0
}

// The load functions take rows of the database; what is here already is as new or newer.

func (im *image) loadStep(row store.Step) {
	if _, ok := im.steps[row.Logical]; !ok && !im.dropped {
		im.steps[row.Logical] = row
	}
}

func (im *image) loadInstance(row store.Instance) {
	if _, ok := im.instances[row.Number]; !ok {
		im.instances[row.Number] = row
	}
}

func (im *image) loadRequest(row store.Request) {
	if _, ok := im.requests[row.ID]; !ok {
		im.requests[row.ID] = row
	}
}

// view makes the view that a decision may see, or says what is missing.
func (im *image) view(target store.Target, scope store.Scope) (v *store.View, n need) {
	v = emptyView(scope.Whole)
	v.Stack, v.Operation = im.stack, im.operation
	if target.Request != "" {
		own, ok := im.requests[target.Request]
		if !ok {
			return v, need{requests: []wire.RequestID{target.Request}}
		}
		copied := copyRequest(own)
		v.Request = &copied
		if own.State != store.RequestSettled {
			v.Requests[own.ID] = copyRequest(own)
		}
	}
	if scope.Bare() {
		return v, n
	}
	for _, number := range im.numbers() {
		switch r, ok := im.revisions[number]; {
		case !ok:
			n.revisions = append(n.revisions, number)
		case r != nil:
			v.Revisions[number] = *r
		}
	}
	if scope.Whole {
		if n.all = !im.all; !n.all {
			im.fill(v, func(wire.LogicalID) bool { return true }, func(store.Instance) bool { return true })
			v.ChangeSets = maps.Clone(im.sets)
		}
		return v, n
	}
	centers := scope.Steps
	if scope.Own {
		centers = append(slices.Clip(centers), v.Request.Logical)
	}
	steps, near, missing := im.around(centers)
	if n.steps = missing; len(missing) == 0 {
		im.fill(v, func(logical wire.LogicalID) bool { return steps[logical] },
			func(i store.Instance) bool { return near[i.Logical] && i.Role != store.RoleGone })
	}
	return v, n
}

// numbers are those of the revisions that a view holds.
func (im *image) numbers() []int {
	list := append([]int{im.operation.From, im.operation.To, im.stack.Revision}, im.operation.Tried...)
	return slices.DeleteFunc(list, func(number int) bool { return number == 0 })
}

// around returns the logical ids of the centers and of what is next to them, those and what they need, and which of all
// these are not here.
func (im *image) around(centers []wire.LogicalID) (steps, near map[wire.LogicalID]bool, missing []wire.LogicalID) {
	steps = make(map[wire.LogicalID]bool)
	for _, logical := range centers {
		steps[logical] = true
		for _, next := range im.steps[logical].Next {
			steps[next] = true
		}
	}
	near = maps.Clone(steps)
	for logical := range steps {
		if step, ok := im.steps[logical]; ok {
			for _, needs := range [][]wire.LogicalID{step.Plan.OldNeeds, step.Plan.NewNeeds} {
				for _, logical := range needs {
					near[logical] = true
				}
			}
		}
	}
	if !im.all {
		for logical := range near {
			if !im.near[logical] && (steps[logical] || !im.here[logical]) {
				missing = append(missing, logical)
			}
		}
	}
	return steps, near, missing
}

// fill puts the steps and unsettled requests that pass step, and the instances that pass instance, into a view.
func (im *image) fill(v *store.View, step func(wire.LogicalID) bool, instance func(store.Instance) bool) {
	for logical, row := range im.steps {
		if step(logical) {
			plan := *row.Plan
			row.Plan = &plan
			v.Steps[logical] = row
		}
	}
	for number, row := range im.instances {
		if instance(row) {
			body := *row.Body
			row.Body = &body
			v.Instances[number] = row
		}
	}
	for id, row := range im.requests {
		if row.State != store.RequestSettled && step(row.Logical) {
			v.Requests[id] = copyRequest(row)
		}
	}
}

// unknown says what must be loaded before a delta can be taken: rows whose bodies it leaves as they are.
func (im *image) unknown(d *store.Delta) (n need) {
	n.all = len(d.ChangeSets)+len(d.DropChangeSets) > 0 && !im.all
	for i := range d.Steps {
		if _, ok := im.steps[d.Steps[i].Logical]; !ok && d.Steps[i].Plan == nil && !im.dropped && !im.near[d.Steps[i].Logical] {
			n.all = !im.all
		}
	}
	for i := range d.Instances {
		if _, ok := im.instances[d.Instances[i].Number]; !ok && d.Instances[i].Body == nil {
			n.all = !im.all
		}
	}
	for i := range d.Requests {
		if _, ok := im.requests[d.Requests[i].ID]; !ok && d.Requests[i].Body == nil {
			n.requests = append(n.requests, d.Requests[i].ID)
		}
	}
	return n
}

// take lays a delta over the image, so that the next member sees it. Rows without a body get the one that is here.
func (im *image) take(d *store.Delta) {
	if d.Stack != nil {
		im.stack = *d.Stack
	}
	if d.Operation != nil {
		im.operation = *d.Operation
	}
	for _, row := range d.Revisions {
		im.revisions[row.Number] = &row
	}
	if d.DropSteps {
		im.dropped = true
		clear(im.steps)
	}
	for _, row := range d.Steps {
		if row.Plan == nil {
			row.Plan = im.steps[row.Logical].Plan
		}
		im.steps[row.Logical] = row
	}
	for _, row := range d.Instances {
		if row.Body == nil {
			row.Body = im.instances[row.Number].Body
		}
		im.instances[row.Number] = row
	}
	for _, row := range d.Requests {
		if row.Body == nil {
			row.Body = im.requests[row.ID].Body
		}
		im.requests[row.ID] = shown(row)
	}
	im.takeSets(d)
}

// shown returns a request as the database would show it: times to the millisecond, in UTC.
func shown(r store.Request) store.Request {
	if !r.Due.IsZero() {
		r.Due = fromUnix(unix(r.Due))
	}
	return r
}

// copyRequest returns the row with a body of its own, so that a decision that changes a field of it changes its copy.
func copyRequest(row store.Request) store.Request {
	body := *row.Body
	row.Body = &body
	return row
}

func emptyView(whole bool) *store.View {
	return &store.View{
		Whole: whole, Revisions: make(map[int]store.Revision), Steps: make(map[wire.LogicalID]store.Step),
		Instances: make(map[int]store.Instance), Requests: make(map[wire.RequestID]store.Request),
	}
}
