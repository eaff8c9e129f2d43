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

// environment is the input of a decision apart from rows. It does not change while the engine runs, except node and
// the cache of templates.
type environment struct {
	// parsed caches recently used templates.
	parsed        templates
	fidelity      Fidelity
	cleanupPause  time.Duration
	cancelledWait time.Duration
	macroTimeout  time.Duration
	serverless    bool
	native        *native.Registry
	upfront       bool
	// serves reports whether a local provider serves a token; nil without local providers.
	serves func(wire.ServiceToken) bool
	zones  map[string][]string
	// readers is set if there may be providers that declare Read.
	readers      bool
	unknownTypes UnknownTypes
	rosIDChange  IDChange
	// node returns the incarnation that owns the requests of a decision.
	node func() store.Incarnation
	// newID returns a new UUID. random returns n characters of A–Z and 0–9.
	newID  func() string
	random func(n int) string
}

// decision is the working copy of one decision: the rows of a view, and the changes to them.
//
// Its methods are total: any input from a template, a provider or a client ends in an event, never in an error. An
// error is a fault of the engine, or [store.More].
type decision struct {
	*environment
	dialect Dialect
	// fidelity shadows the environment's, which only applies to CloudFormation.
	fidelity Fidelity
	view     *store.View
	now      time.Time

	stack     store.Stack
	op        store.Operation
	steps     map[wire.LogicalID]*store.Step
	instances map[int]*store.Instance
	// numbers are the instance numbers by logical ID, ascending.
	numbers  map[wire.LogicalID][]int
	requests map[wire.RequestID]*store.Request

	// again is the operation that an earlier call with the same token started.
	again string
	// missing is the external value that the new operation lacks, "" if none.
	missing string
	// executing is the change set to execute, "" if none.
	executing store.ChangeSetID

	// todo are the steps that are ready to run.
	todo []wire.LogicalID
	// more are steps that were needed but not loaded.
	more []wire.LogicalID
	// scopes are the scopes of the revisions, and templates are those that had to be parsed.
	scopes    map[int]*template.Scope
	templates map[int]*template.Template
	// policy is the operation's stack policy, if it had to be read.
	policy *plan.Policy
	// startedOver are the instances that this decision deletes to replace them.
	startedOver set[int]
	// attend are nested stacks to check after this decision commits.
	attend []wire.StackID
	// void is set if the outcome is about a delivery that another node owns by now.
	void bool
	// hidden are secrets that no row contains.
	hidden []string
	// notes are for the observer, after the commit. byHand is set if a person answers.
	notes []func(Observer)
	// trace is the trace of the call that caused the decision, or empty.
	trace  string
	byHand bool
	// settling is the request whose result is being applied, nil otherwise.
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
	// madeReady are the requests to dispatch. A request that was ready before, and is only cancelled now, was already
	// dispatched.
	madeReady set[wire.RequestID]
}

// manySteps is the number of steps up to which a decision loads steps one by one. An answer that changes nothing for
// its dependents passes along them step by step, so a long chain is loaded at once.
const manySteps = 64

// newDecision returns a decision on a view. It takes ownership of the bodies in the view.
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

// needsRows returns the rows that the decision needed and did not load, as [store.More]; nil if it has them all.
func (d *decision) needsRows() error {
	if len(d.more) > 0 {
		return &store.More{Steps: d.more, Whole: len(d.view.Steps) > manySteps}
	}
	return nil
}

// result returns the changes to write, and the requests among them that are ready for delivery.
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

// whole checks that the view contains the whole operation of the stack.
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

// sortedSteps returns the loaded steps sorted by logical ID, so that equal histories produce identical rows.
func (d *decision) sortedSteps() []*store.Step {
	steps := make([]*store.Step, 0, len(d.steps))
	for _, id := range sortedKeys(d.steps) {
		steps = append(steps, d.steps[id])
	}
	return steps
}

// current returns the current instance of a logical ID, or nil.
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

// addInstance adds a current instance that its provider does not know yet.
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

// status returns the stack's status as clients see it.
func (d *decision) status() string { return d.dialect.StackStatus(d.stack.Kind, d.stack.Phase) }

// note records the text of [Noted] in the context.
func (d *decision) note(ctx context.Context) {
	if text, _ := ctx.Value(notedKey{}).(string); text != "" && d.stack.Key != 0 && d.again == "" {
		d.delta.Audit = append(d.delta.Audit, store.Audit{Time: d.now, Text: text})
	}
}

// audit records an entry that is not an event.
func (d *decision) audit(r *store.Request, text string) {
	d.delta.Audit = append(d.delta.Audit, store.Audit{Time: d.now, Request: r.ID, Logical: r.Logical, Text: text})
}
