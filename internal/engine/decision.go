package engine

import (
	"context"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// environment is what a decision knows besides rows. It does not change while the engine runs, but for node and
// what is kept of templates.
type environment struct {
	// parsed caches recently used templates.
	parsed        templates
	fidelity      Fidelity
	cleanupPause  time.Duration
	cancelledWait time.Duration
	macroTimeout  time.Duration
	native        *native.Registry
	upfront       bool
	// serves reports whether a local provider takes requests for a token; nil if there is none.
	serves func(wire.ServiceToken) bool
	zones  map[string][]string
	// readers says that there may be providers that read.
	readers      bool
	unknownTypes UnknownTypes
	rosIDChange  IDChange
	// node returns the incarnation that owns the requests of a decision.
	node func() store.Incarnation
	// newID returns a new UUID; random n characters of A–Z and 0–9.
	newID  func() string
	random func(n int) string
}

// decision is the working copy of one decision: the rows of a view, and what was changed in them.
//
// Its functions are total: whatever a template, a provider or a client does ends in an event, never in an error. Errors
// are faults of ours, or [store.More].
type decision struct {
	*environment
	dialect Dialect
	// fidelity hides that of the environment: it is to AWS, and says nothing to another dialect.
	fidelity Fidelity
	view     *store.View
	now      time.Time

	stack     store.Stack
	op        store.Operation
	steps     map[wire.LogicalID]*store.Step
	instances map[int]*store.Instance
	// numbers are those of the instances by logical ID, ascending.
	numbers  map[wire.LogicalID][]int
	requests map[wire.RequestID]*store.Request

	// again is the operation of a request that was sent once more.
	again string
	// missing is what the operation that is begun lacks from outside, "" for nothing.
	missing string
	// executing is the change set that is to be carried out, "" for none.
	executing store.ChangeSetID

	// todo are the steps whose turn has come.
	todo []wire.LogicalID
	// more are steps that were needed but not loaded.
	more []wire.LogicalID
	// scopes are the revisions' scopes, and templates those that had to be parsed.
	scopes    map[int]*template.Scope
	templates map[int]*template.Template
	// policy is the operation's stack policy, if it had to be read.
	policy *plan.Policy
	// startedOver are the instances that this decision deletes for others to take their place.
	startedOver set[int]
	// attend are nested stacks that are to be looked at once this decision is committed.
	attend []wire.StackID
	// void says that what happened concerns a sending that is another node's by now.
	void bool
	// hidden are secrets that are in no row.
	hidden []string
	// notes are for the observer, once this is committed; byHand says that a person answers.
	notes []func(Observer)
	// trace is that of the call which the decision is for, empty if there is none.
	trace  string
	byHand bool
	// settling is the request whose verdict is being applied, nil outside that.
	settling *store.Request

	delta        store.Delta
	stackChanged bool
	opChanged    bool
	changedSteps set[wire.LogicalID]
	newPlans     set[wire.LogicalID]
	changedInst  set[int]
	changedBody  set[int]
	changedReq   set[wire.RequestID]
	newReq       set[wire.RequestID]
	// madeReady are the requests to hand over. One that was ready before, and is only cancelled now, is on its way.
	madeReady set[wire.RequestID]
}

// manySteps is how many steps a decision loads piecemeal. An answer that changes nothing for those behind it is passed on
// step by step, and a long chain of them is loaded at once rather than link by link.
const manySteps = 64

// newDecision returns a decision on a view. It takes the bodies in the view for its own.
func newDecision(env *environment, dialect Dialect, view *store.View) *decision {
	d := &decision{
		environment: env,
		dialect:     dialect,
		fidelity:    fidelityOf(env, dialect),
		view:        view,
		now:         view.Now,
		stack:       view.Stack,
		op:          view.Operation,
		steps:       make(map[wire.LogicalID]*store.Step, len(view.Steps)),
		instances:   make(map[int]*store.Instance, len(view.Instances)),
		numbers:     make(map[wire.LogicalID][]int, len(view.Instances)),
		requests:    make(map[wire.RequestID]*store.Request, len(view.Requests)),
		scopes:      map[int]*template.Scope{},
		templates:   map[int]*template.Template{},
	}
	// Clip the slices that decisions append to: they must not grow into memory that the view shares.
	d.op.FailedCreates = slices.Clip(d.op.FailedCreates)
	d.op.FailedUpdates = slices.Clip(d.op.FailedUpdates)
	d.op.FailedDeletes = slices.Clip(d.op.FailedDeletes)
	steps := make([]store.Step, 0, len(view.Steps))
	for id, row := range view.Steps {
		steps = append(steps, row)
		d.steps[id] = &steps[len(steps)-1]
	}
	instances := make([]store.Instance, 0, len(view.Instances))
	for _, number := range sortedKeys(view.Instances) {
		row := view.Instances[number]
		instances = append(instances, row)
		d.instances[number] = &instances[len(instances)-1]
		d.numbers[row.Logical] = append(d.numbers[row.Logical], number)
	}
	requests := make([]store.Request, 0, len(view.Requests))
	for id, row := range view.Requests {
		requests = append(requests, row)
		d.requests[id] = &requests[len(requests)-1]
	}
	return d
}

// useDialect sets the dialect of a stack that does not exist yet. An existing stack has its own.
func (d *decision) useDialect(dialect Dialect) {
	if d.stack.Key == 0 {
		d.dialect, d.fidelity = dialect, fidelityOf(d.environment, dialect)
	}
}

func fidelityOf(env *environment, dialect Dialect) Fidelity {
	if dialect == CloudFormation {
		return env.fidelity
	}
	return FidelityPintle
}

// needsRows reports the rows that the decision needed and that were not loaded, as [store.More]; nil if it has them all.
func (d *decision) needsRows() error {
	if len(d.more) > 0 {
		return &store.More{Steps: d.more, Whole: len(d.view.Steps) > manySteps}
	}
	return nil
}

// result returns what is to be written, and the requests in it that are ready to be delivered.
func (d *decision) result() (store.Delta, []store.Request) {
	if d.stackChanged {
		d.delta.Stack = &d.stack
	}
	if len(d.delta.Events) > 0 {
		d.op.Events++
		d.opChanged = true
	}
	if d.opChanged {
		d.op.Version++
		d.delta.Operation = &d.op
	}
	for _, id := range sortedKeys(d.changedSteps) {
		step := *d.steps[id]
		if !d.newPlans[id] {
			step.Plan = nil
		}
		d.delta.Steps = append(d.delta.Steps, step)
	}
	for _, number := range sortedKeys(d.changedInst) {
		instance := *d.instances[number]
		if !d.changedBody[number] {
			instance.Body = nil
		}
		d.delta.Instances = append(d.delta.Instances, instance)
	}
	var ready []store.Request
	for _, id := range sortedKeys(d.changedReq) {
		request := *d.requests[id]
		if d.madeReady[id] && request.State == store.RequestReady {
			ready = append(ready, request)
		}
		if !d.newReq[id] {
			request.Body = nil
		}
		d.delta.Requests = append(d.delta.Requests, request)
	}
	return d.delta, ready
}

// whole makes sure that nothing of the stack's operation is missing from the view.
func (d *decision) whole() error {
	if d.view.Whole {
		return nil
	}
	return &store.More{Whole: true}
}

func (d *decision) changeStep(s *store.Step)         { d.changedSteps.add(s.Logical) }
func (d *decision) changeInstance(i *store.Instance) { d.changedInst.add(i.Number) }
func (d *decision) changeBody(i *store.Instance) {
	d.changedInst.add(i.Number)
	d.changedBody.add(i.Number)
}
func (d *decision) changeRequest(r *store.Request) { d.changedReq.add(r.ID) }

// sortedSteps returns the loaded steps in the order of their logical IDs, so that equal histories are equal to the
// letter.
func (d *decision) sortedSteps() []*store.Step {
	steps := make([]*store.Step, 0, len(d.steps))
	for _, id := range sortedKeys(d.steps) {
		steps = append(steps, d.steps[id])
	}
	return steps
}

// current returns the instance that a logical ID stands for, nil if there is none.
func (d *decision) current(logical wire.LogicalID) *store.Instance {
	for _, number := range d.numbers[logical] {
		if i := d.instances[number]; i.Role == store.RoleCurrent {
			return i
		}
	}
	return nil
}

// pendingDelete returns the instances of a logical ID that are marked for deletion, oldest first.
func (d *decision) pendingDelete(logical wire.LogicalID) []*store.Instance {
	var list []*store.Instance
	for _, number := range d.numbers[logical] {
		if i := d.instances[number]; i.Role == store.RoleCondemned {
			list = append(list, i)
		}
	}
	return list
}

// addInstance adds an instance, current and not yet known to its provider.
func (d *decision) addInstance(logical wire.LogicalID, body store.InstanceBody) *store.Instance {
	d.op.Instances++
	d.opChanged = true
	i := &store.Instance{
		Stack: d.stack.Key, Number: d.op.Instances, Logical: logical, Role: store.RoleCurrent, Body: &body, Created: d.now,
	}
	d.instances[i.Number] = i
	d.numbers[logical] = append(d.numbers[logical], i.Number)
	d.changeBody(i)
	return i
}

// status is the stack's, as clients know it.
func (d *decision) status() string { return d.dialect.StackStatus(d.stack.Kind, d.stack.Phase) }

// note records what the context says about the decision.
func (d *decision) note(ctx context.Context) {
	if text, _ := ctx.Value(notedKey{}).(string); text != "" && d.stack.Key != 0 && d.again == "" {
		d.delta.Audit = append(d.delta.Audit, store.Audit{Time: d.now, Text: text})
	}
}

// audit records something that is not an event.
func (d *decision) audit(r *store.Request, text string) {
	d.delta.Audit = append(d.delta.Audit, store.Audit{Time: d.now, Request: r.ID, Logical: r.Logical, Text: text})
}
