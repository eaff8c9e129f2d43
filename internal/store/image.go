package store

import (
	"maps"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Image is a writer's copy of a stack: rows of the database, overlaid with later decisions. It makes views, and says
// which rows a view needs loaded first. It is for implementations of [Store], and not safe for concurrent use.
type Image struct {
	// Stack is the stack's row; its Key is 0 until it is loaded.
	Stack Stack
	// Operation is the newest operation; its Number is 0 if the stack has none.
	Operation Operation
	// All says that every step, instance, unsettled request and change set is loaded.
	All bool
	// Revisions are the revisions looked up so far; nil stands for a missing one.
	Revisions map[int]*Revision

	// dropped says that a decision has removed the steps that are in the database.
	dropped bool
	// near holds the logical IDs whose step, unsettled requests and living instances are loaded, if any.
	near map[wire.LogicalID]bool
	// here holds the logical IDs whose living instances are loaded.
	here map[wire.LogicalID]bool

	steps     map[wire.LogicalID]Step
	instances map[int]Instance
	requests  map[wire.RequestID]Request // includes targets and written requests, settled or not
	sets      map[ChangeSetID]ChangeSet  // without bodies, and only if All is true

	instancesOf map[wire.LogicalID][]int
	requestsOf  map[wire.LogicalID][]wire.RequestID

	size int // approximate memory size of the row bodies, in bytes
}

// NewImage returns an empty image.
func NewImage() *Image {
	return &Image{
		Revisions: make(map[int]*Revision),
		near:      make(map[wire.LogicalID]bool), here: make(map[wire.LogicalID]bool),
		steps: make(map[wire.LogicalID]Step), instances: make(map[int]Instance), requests: make(map[wire.RequestID]Request),
		sets: make(map[ChangeSetID]ChangeSet), instancesOf: make(map[wire.LogicalID][]int), requestsOf: make(map[wire.LogicalID][]wire.RequestID),
	}
}

// Need is the part of a stack that must be loaded before a view can be made or a delta taken.
type Need struct {
	// All asks for everything that [Image.All] covers.
	All bool
	// Steps are logical IDs. They ask for their steps and the steps in their Next, the unsettled requests and living
	// instances of all these, and the living instances of the resources that they depend on.
	Steps []wire.LogicalID
	// Revisions are revision numbers.
	Revisions []int
	// Requests are requests to load in any state.
	Requests []wire.RequestID
}

// Nothing reports whether nothing needs to be loaded.
func (n Need) Nothing() bool {
	return !n.All && len(n.Steps) == 0 && len(n.Revisions) == 0 && len(n.Requests) == 0
}

// LoadStep adds a row of the database. Like the other Load methods it keeps a loaded row, which is as new or newer.
func (im *Image) LoadStep(row Step) {
	if _, ok := im.steps[row.Logical]; !ok && !im.dropped {
		im.putStep(row)
	}
}

// LoadInstance adds a row of the database.
func (im *Image) LoadInstance(row Instance) {
	if _, ok := im.instances[row.Number]; !ok {
		im.putInstance(row)
	}
}

// LoadRequest adds a row of the database.
func (im *Image) LoadRequest(row Request) {
	if _, ok := im.requests[row.ID]; !ok {
		im.putRequest(row)
	}
}

// LoadChangeSet adds a row of the database.
func (im *Image) LoadChangeSet(row ChangeSet) { im.sets[row.ID] = row }

func (im *Image) putStep(row Step) {
	im.size += row.Plan.size() - im.steps[row.Logical].Plan.size()
	im.steps[row.Logical] = row
}

func (im *Image) putInstance(row Instance) {
	before, ok := im.instances[row.Number]
	if !ok || before.Logical != row.Logical {
		im.instancesOf[row.Logical] = append(im.instancesOf[row.Logical], row.Number)
	}
	im.size += row.Body.size() - before.Body.size()
	im.instances[row.Number] = row
}

func (im *Image) putRequest(row Request) {
	before, ok := im.requests[row.ID]
	if !ok || before.Logical != row.Logical {
		im.requestsOf[row.Logical] = append(im.requestsOf[row.Logical], row.ID)
	}
	im.size += row.Body.size() - before.Body.size()
	im.requests[row.ID] = row
}

// Near records that the step, unsettled requests and living instances of a logical ID are loaded.
func (im *Image) Near(logical wire.LogicalID) { im.near[logical], im.here[logical] = true, true }

// Here records that the living instances of a logical ID are loaded.
func (im *Image) Here(logical wire.LogicalID) { im.here[logical] = true }

// HasStep reports whether a step is loaded.
func (im *Image) HasStep(logical wire.LogicalID) bool { _, ok := im.steps[logical]; return ok }

// HasInstance reports whether an instance is loaded.
func (im *Image) HasInstance(number int) bool { _, ok := im.instances[number]; return ok }

// Instance returns an instance, and whether it is loaded.
func (im *Image) Instance(number int) (Instance, bool) {
	row, ok := im.instances[number]
	return row, ok
}

// Request returns a request, and whether it is loaded.
func (im *Image) Request(id wire.RequestID) (Request, bool) {
	row, ok := im.requests[id]
	return row, ok
}

// ChangeSets returns the loaded change sets, which the caller must not change.
func (im *Image) ChangeSets() map[ChangeSetID]ChangeSet { return im.sets }

// View returns the view of a decision, or the rows to load first. The caller sets the view's time.
func (im *Image) View(target Target, scope Scope) (*View, Need) {
	v := EmptyView(scope.Whole)
	v.Stack, v.Operation = im.Stack, im.Operation
	n, steps, near := im.survey(target, scope)
	if !n.Nothing() {
		return v, n
	}
	if target.Request != "" {
		own := im.requests[target.Request]
		copied := copyRequest(own)
		v.Request = &copied
		if own.State != RequestSettled {
			v.Requests[own.ID] = copyRequest(own)
		}
	}
	if scope.Bare() {
		return v, n
	}
	for _, number := range im.Numbers() {
		if r := im.Revisions[number]; r != nil {
			v.Revisions[number] = *r
		}
	}
	if scope.Whole {
		im.fillWhole(v)
	} else {
		im.fillNear(v, steps, near)
	}
	return v, n
}

// Lacks returns the rows to load before the first view of a decision on target can be made.
func (im *Image) Lacks(target Target) Need {
	n, _, _ := im.survey(target, target.scope())
	return n
}

// survey returns the missing rows that a view needs, and the steps and instances that a narrow view covers.
func (im *Image) survey(target Target, scope Scope) (n Need, steps, near map[wire.LogicalID]bool) {
	var own Request
	if target.Request != "" {
		var ok bool
		if own, ok = im.requests[target.Request]; !ok {
			return Need{Requests: []wire.RequestID{target.Request}}, nil, nil
		}
	}
	if scope.Bare() {
		return n, nil, nil
	}
	for _, number := range im.Numbers() {
		if _, ok := im.Revisions[number]; !ok {
			n.Revisions = append(n.Revisions, number)
		}
	}
	if scope.Whole {
		n.All = !im.All
		return n, nil, nil
	}
	centers := scope.Steps
	if scope.Own {
		centers = append(slices.Clip(centers), own.Logical)
	}
	steps, near, n.Steps = im.around(centers)
	return n, steps, near
}

// EmptyView returns an empty view.
func EmptyView(whole bool) *View {
	return &View{
		Whole: whole, Revisions: make(map[int]Revision), Steps: make(map[wire.LogicalID]Step),
		Instances: make(map[int]Instance), Requests: make(map[wire.RequestID]Request),
	}
}

// Numbers returns the numbers of the revisions that a view holds.
func (im *Image) Numbers() []int {
	list := append([]int{im.Operation.From, im.Operation.To, im.Stack.Revision}, im.Operation.Tried...)
	return slices.DeleteFunc(list, func(number int) bool { return number == 0 })
}

// around returns the centers and their next steps, those together with their dependencies, and which of all these are
// not loaded.
func (im *Image) around(centers []wire.LogicalID) (steps, near map[wire.LogicalID]bool, missing []wire.LogicalID) {
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
	if !im.All {
		for logical := range near {
			if !im.near[logical] && (steps[logical] || !im.here[logical]) {
				missing = append(missing, logical)
			}
		}
	}
	return steps, near, missing
}

func (im *Image) fillNear(v *View, steps, near map[wire.LogicalID]bool) {
	for logical := range steps {
		if row, ok := im.steps[logical]; ok {
			v.Steps[logical] = copyStep(row)
		}
		for _, id := range im.requestsOf[logical] {
			if row := im.requests[id]; row.State != RequestSettled && row.Logical == logical {
				v.Requests[id] = copyRequest(row)
			}
		}
	}
	for logical := range near {
		for _, number := range im.instancesOf[logical] {
			if row := im.instances[number]; row.Role != RoleGone && row.Logical == logical {
				v.Instances[number] = copyInstance(row)
			}
		}
	}
}

func (im *Image) fillWhole(v *View) {
	for logical, row := range im.steps {
		v.Steps[logical] = copyStep(row)
	}
	for number, row := range im.instances {
		v.Instances[number] = copyInstance(row)
	}
	for id, row := range im.requests {
		if row.State != RequestSettled {
			v.Requests[id] = copyRequest(row)
		}
	}
	v.ChangeSets = maps.Clone(im.sets)
}

// The copies have their own bodies, so that a decision that changes a field changes only its copy.

func copyStep(row Step) Step {
	plan := *row.Plan
	row.Plan = &plan
	return row
}

func copyInstance(row Instance) Instance {
	body := *row.Body
	row.Body = &body
	return row
}

func copyRequest(row Request) Request {
	body := *row.Body
	row.Body = &body
	return row
}

// Unknown returns the rows to load before a delta can be taken: those whose bodies the delta leaves unchanged.
func (im *Image) Unknown(d *Delta) (n Need) {
	n.All = len(d.ChangeSets)+len(d.DropChangeSets) > 0 && !im.All
	for i := range d.Steps {
		if d.Steps[i].Plan == nil && !im.HasStep(d.Steps[i].Logical) && !im.dropped && !im.near[d.Steps[i].Logical] {
			n.All = !im.All
		}
	}
	for i := range d.Instances {
		if d.Instances[i].Body == nil && !im.HasInstance(d.Instances[i].Number) {
			n.All = !im.All
		}
	}
	for i := range d.Requests {
		if _, ok := im.requests[d.Requests[i].ID]; !ok && d.Requests[i].Body == nil {
			n.Requests = append(n.Requests, d.Requests[i].ID)
		}
	}
	return n
}

// Take applies a delta to the image, so that the next decision sees it. A row without a body gets the loaded body,
// which must be present: see [Image.Unknown]. The image keeps the rows as a database would return them, with their own
// bodies.
func (im *Image) Take(d *Delta) {
	if d.Stack != nil {
		im.Stack = *d.Stack
	}
	if d.Operation != nil {
		im.Operation = *d.Operation
		im.Operation.Tried = slices.Clip(im.Operation.Tried) // an append allocates a new array
	}
	for _, row := range d.Revisions {
		im.Revisions[row.Number] = &row
	}
	if d.DropSteps {
		im.dropped = true
		for _, row := range im.steps {
			im.size -= row.Plan.size()
		}
		clear(im.steps)
	}
	for _, row := range d.Steps {
		if row.Plan == nil {
			row.Plan = im.steps[row.Logical].Plan
		} else {
			row = copyStep(row)
			row.Plan.clip()
		}
		row.Next = slices.Clip(row.Next)
		im.putStep(row)
	}
	for _, row := range d.Instances {
		if row.Body == nil {
			row.Body = im.instances[row.Number].Body
		} else {
			row = copyInstance(row)
			row.Body.clip()
		}
		im.putInstance(row)
	}
	for _, row := range d.Requests {
		if row.Body == nil {
			row.Body = im.requests[row.ID].Body
		} else {
			row = copyRequest(row)
		}
		if !row.Due.IsZero() {
			row.Due = time.UnixMilli(row.Due.UnixMilli()).UTC()
		}
		im.putRequest(row)
	}
	for _, id := range d.DropChangeSets {
		delete(im.sets, id)
	}
	for _, row := range d.ChangeSets {
		row.Body = nil
		im.sets[row.ID] = row
	}
}

// Rest prepares the image to be kept from one transaction to the next. It drops settled requests and revisions, which
// are not needed again, and returns the approximate memory size of the image in bytes.
func (im *Image) Rest() int {
	clear(im.Revisions)
	for id, row := range im.requests {
		if row.State == RequestSettled {
			im.size -= row.Body.size()
			delete(im.requests, id)
			im.requestsOf[row.Logical] = slices.DeleteFunc(im.requestsOf[row.Logical], func(other wire.RequestID) bool { return other == id })
			if len(im.requestsOf[row.Logical]) == 0 {
				delete(im.requestsOf, row.Logical)
			}
		}
	}
	const alone, row = 8 << 10, 1 << 10 // the image with its stack and operation, and a row without its body
	return alone + row*(len(im.steps)+len(im.instances)+len(im.requests)+len(im.sets)) + im.size
}
