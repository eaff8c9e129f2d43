package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// environment is what the machine knows besides rows. It does not change while the engine runs, but for node and
// what is kept of templates.
type environment struct {
	// parsed are the templates of late.
	parsed        templates
	fidelity      Fidelity
	cleanupPause  time.Duration
	cancelledWait time.Duration
	macroTimeout  time.Duration
	native        *native.Registry
	upfront       bool
	// serves reports whether a local provider takes requests for a token; nil if there is none.
	serves       func(wire.ServiceToken) bool
	zones        map[string][]string
	unknownTypes UnknownTypes
	rosIDChange  IDChange
	// node returns the incarnation that owns the requests this machine makes.
	node func() store.Incarnation
	// newID returns a new UUID; random n characters of A–Z and 0–9.
	newID  func() string
	random func(n int) string
}

// machine is one decision: a working copy of a view, and what was changed in it. It is the only code that moves a
// stack, an operation, a step, an instance or a request from one state to another.
//
// Its functions are total: whatever a template, a provider or a client does ends in an event, never in an error. Errors
// are faults of ours, or [store.More].
type machine struct {
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

// set is made when something is added to it: most decisions need few of theirs.
type set[K comparable] map[K]bool

func (s *set[K]) add(k K) {
	if *s == nil {
		*s = set[K]{}
	}
	(*s)[k] = true
}

// newMachine returns a machine that decides on a view. It takes the bodies in the view for its own.
func newMachine(env *environment, dialect Dialect, view *store.View) *machine {
	m := &machine{
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
	// What is appended to must not grow into memory that the view shares.
	m.op.FailedCreates = slices.Clip(m.op.FailedCreates)
	m.op.FailedUpdates = slices.Clip(m.op.FailedUpdates)
	m.op.FailedDeletes = slices.Clip(m.op.FailedDeletes)
	steps := make([]store.Step, 0, len(view.Steps))
	for id, row := range view.Steps {
		steps = append(steps, row)
		m.steps[id] = &steps[len(steps)-1]
	}
	instances := make([]store.Instance, 0, len(view.Instances))
	for _, number := range sortedKeys(view.Instances) {
		row := view.Instances[number]
		instances = append(instances, row)
		m.instances[number] = &instances[len(instances)-1]
		m.numbers[row.Logical] = append(m.numbers[row.Logical], number)
	}
	requests := make([]store.Request, 0, len(view.Requests))
	for id, row := range view.Requests {
		requests = append(requests, row)
		m.requests[id] = &requests[len(requests)-1]
	}
	return m
}

// become makes the machine decide about a stack that is not there yet in a dialect. One that is there has its own.
func (m *machine) become(dialect Dialect) {
	if m.stack.Key == 0 {
		m.dialect, m.fidelity = dialect, fidelityOf(m.environment, dialect)
	}
}

func fidelityOf(env *environment, dialect Dialect) Fidelity {
	if dialect == CloudFormation {
		return env.fidelity
	}
	return FidelityPintle
}

// result returns what is to be written, and the requests in it that are ready to be delivered.
func (m *machine) result() (store.Delta, []store.Request, error) {
	if len(m.more) > 0 {
		return store.Delta{}, nil, &store.More{Steps: m.more, Whole: len(m.view.Steps) > manySteps}
	}
	if m.stackChanged {
		m.delta.Stack = &m.stack
	}
	if len(m.delta.Events) > 0 {
		m.op.Events++
		m.opChanged = true
	}
	m.notify()
	if m.opChanged {
		m.op.Version++
		m.delta.Operation = &m.op
	}
	for _, id := range sortedKeys(m.changedSteps) {
		step := *m.steps[id]
		if !m.newPlans[id] {
			step.Plan = nil
		}
		m.delta.Steps = append(m.delta.Steps, step)
	}
	for _, number := range sortedKeys(m.changedInst) {
		instance := *m.instances[number]
		if !m.changedBody[number] {
			instance.Body = nil
		}
		m.delta.Instances = append(m.delta.Instances, instance)
	}
	m.comeTogether()
	var ready []store.Request
	for _, id := range sortedKeys(m.changedReq) {
		request := *m.requests[id]
		if m.madeReady[id] && request.State == store.RequestReady {
			ready = append(ready, request)
		}
		if !m.newReq[id] {
			request.Body = nil
		}
		m.delta.Requests = append(m.delta.Requests, request)
	}
	return m.delta, ready, nil
}

// whole makes sure that nothing of the stack's operation is missing from the view.
func (m *machine) whole() error {
	if m.view.Whole {
		return nil
	}
	return &store.More{Whole: true}
}

func (m *machine) changeStep(s *store.Step)         { m.changedSteps.add(s.Logical) }
func (m *machine) changeInstance(i *store.Instance) { m.changedInst.add(i.Number) }
func (m *machine) changeBody(i *store.Instance) {
	m.changedInst.add(i.Number)
	m.changedBody.add(i.Number)
}
func (m *machine) changeRequest(r *store.Request) { m.changedReq.add(r.ID) }

// sortedSteps returns the loaded steps in the order of their logical IDs, so that equal histories are equal to the
// letter.
func (m *machine) sortedSteps() []*store.Step {
	steps := make([]*store.Step, 0, len(m.steps))
	for _, id := range sortedKeys(m.steps) {
		steps = append(steps, m.steps[id])
	}
	return steps
}

// current returns the instance that a logical ID stands for, nil if there is none.
func (m *machine) current(logical wire.LogicalID) *store.Instance {
	for _, number := range m.numbers[logical] {
		if i := m.instances[number]; i.Role == store.RoleCurrent {
			return i
		}
	}
	return nil
}

// condemned returns the instances of a logical ID that wait for their Delete, oldest first.
func (m *machine) condemned(logical wire.LogicalID) []*store.Instance {
	var list []*store.Instance
	for _, number := range m.numbers[logical] {
		if i := m.instances[number]; i.Role == store.RoleCondemned {
			list = append(list, i)
		}
	}
	return list
}

// newInstance adds an instance, current and not yet known to its provider.
func (m *machine) newInstance(logical wire.LogicalID, body store.InstanceBody) *store.Instance {
	m.op.Instances++
	m.opChanged = true
	i := &store.Instance{
		Stack: m.stack.Key, Number: m.op.Instances, Logical: logical, Role: store.RoleCurrent, Body: &body, Created: m.now,
	}
	m.instances[i.Number] = i
	m.numbers[logical] = append(m.numbers[logical], i.Number)
	m.changeBody(i)
	return i
}

// ask makes a request for an instance and puts it in the step's hand.
func (m *machine) ask(
	s *store.Step, i *store.Instance, kind wire.RequestType, ask asked, old value.Value,
) *store.Request {
	r := &store.Request{
		ID: m.dialect.requestID(m.newID()), Stack: m.stack.Key, Operation: m.op.Number, Logical: s.Logical, Instance: i.Number,
		Type: kind, State: store.RequestReady, Owner: m.node(), First: m.node(), Created: m.now,
		Body: &store.RequestBody{
			Dialect: m.dialect.Name(), StackID: m.stack.ID, Region: m.stack.Region, Token: i.Body.Token,
			ResourceType: i.Body.Type, PhysicalID: i.PhysicalID, Timeout: ask.timeout, Trace: m.op.Trace,
			Properties: ask.properties, OldProperties: old,
		},
	}
	if m.dialect == ROS {
		r.Body.StackName, r.Body.Account, r.Body.Caller, r.Body.HTTPConfig = m.stack.Name, m.stack.Account, m.op.Caller, ask.httpConfig
	}
	if kind == wire.Create {
		r.Body.PhysicalID = ""
	}
	if kind == wire.Create || kind == wire.Update {
		r.Body.Await = ask.await
	}
	if pause := m.native.Pause(i.Body.Type, kind, old, ask.properties, m.op.Phase == store.PhaseRevert); pause > 0 {
		r.Body.Await, r.Body.Timeout = &store.Await{Pause: true}, pause
	}
	if m.isNested(i.Body.Type) {
		m.aim(s, r, ask.aim)
	}
	m.requests[r.ID] = r
	m.changeRequest(r)
	m.newReq.add(r.ID)
	m.madeReady.add(r.ID)
	s.Request = r.ID
	m.changeStep(s)
	return r
}

// stackEvent moves the operation to a phase and says so.
func (m *machine) stackEvent(phase store.Phase, reason string) {
	kind := m.op.Shown()
	before := m.dialect.StackStatus(kind, m.op.Phase)
	silent := reason == "" && before == m.dialect.StackStatus(kind, phase) // clients could tell no difference
	if reason == "" {
		reason = m.dialect.texts().stack(m.op.Kind, phase)
	}
	m.op.Phase, m.opChanged = phase, true
	m.stack.Kind, m.stack.Phase, m.stack.Reason, m.stackChanged = kind, phase, reason, true
	if phase.Final() {
		m.op.Ended = m.now
	}
	m.noteForParent(phase, reason)
	if silent {
		return
	}
	m.event(store.Event{
		ID: m.newID(), Logical: wire.LogicalID(m.stack.Name), Physical: wire.PhysicalID(m.stack.ID),
		Type: m.dialect.StackType(), Kind: kind, Phase: phase, Reason: reason, Time: m.eventTime(),
	})
}

// eventTime returns the time of the next event: a millisecond at least after the one before, whatever the clock does, so that clients can
// sort by it. After a burst of events it is ahead of the clock.
func (m *machine) eventTime() time.Time {
	return maxTime(maxTime(m.now, m.op.Earliest), m.op.Latest.Add(time.Millisecond))
}

// resourceEvent says what happened to an instance and keeps it as the instance's status.
func (m *machine) resourceEvent(
	i *store.Instance, verb store.Verb, progress store.Progress, reason string, properties value.Value, detached bool,
) {
	at := m.eventTime()
	if reason == "" && progress == store.ProgressSucceeded {
		reason = m.remark(i, verb)
	}
	if reason == "" {
		reason = m.dialect.texts().resource
	}
	i.Verb, i.Progress, i.Reason, i.Changed, i.FailedBy = verb, progress, reason, at, ""
	if r := m.settling; r != nil && progress == store.ProgressFailed && r.Logical == i.Logical {
		i.FailedBy = r.ID
	}
	i.Stuck = verb == store.VerbUpdate && progress == store.ProgressFailed && m.op.Phase == store.PhaseRevert
	m.changeInstance(i)
	e := store.Event{
		ID:      m.dialect.eventID(i.Logical, m.dialect.ResourceStatus(verb, progress), at, detached, m.newID),
		Logical: i.Logical, Physical: i.PhysicalID, Type: i.Body.Type,
		Verb: verb, Progress: progress, Reason: reason, Time: at, Request: i.FailedBy,
	}
	if !detached {
		e.Properties = properties.String()
	}
	m.event(e)
}

func (m *machine) event(e store.Event) {
	e.Token, e.Operation = m.op.Token, m.op.ID
	if m.op.RollbackID != "" {
		e.Operation, e.Token = m.op.RollbackID, cmp.Or(m.op.RollbackToken, m.op.Token)
	}
	m.op.Latest = maxTime(m.op.Latest, e.Time)
	m.delta.Events = append(m.delta.Events, e)
}

// scope returns what a revision binds the template's names to.
func (m *machine) scope(number int) (*template.Scope, error) {
	if scope := m.scopes[number]; scope != nil {
		return scope, nil
	}
	revision, ok := m.view.Revisions[number]
	if !ok {
		return nil, fmt.Errorf("revision %d of stack %s was not loaded", number, m.stack.ID)
	}
	scope := m.scopeOf(&revision)
	m.scopes[number] = scope
	return scope, nil
}

// scopeOf rebuilds the scope of a revision from its row.
func (m *machine) scopeOf(revision *store.Revision) *template.Scope {
	parameters := map[string]value.Value{}
	for _, p := range revision.Parameters.Members() {
		parameters[p.Key] = p.Value
	}
	scope := template.NewScope(parameters, revision.Conditions, pseudoOf(&m.stack, revision))
	scope.Language = m.dialect.language()
	scope.Outside = template.NewOutside(revision.Outside)
	return scope
}

func pseudoOf(stack *store.Stack, revision *store.Revision) template.Pseudo {
	partition := wire.Partition(stack.Region)
	suffix := "amazonaws.com"
	if partition == "aws-cn" {
		suffix = "amazonaws.com.cn"
	}
	return template.Pseudo{
		AccountID: stack.Account, Region: stack.Region, Partition: partition, StackID: string(stack.ID),
		StackName: stack.Name, URLSuffix: suffix, NotificationARNs: revision.NotificationARNs, TenantID: stack.Account,
		ResourceGroupID: stack.ResourceGroup,
	}
}

// template returns the template of a revision: O(stack) if it is not kept, so only where a whole view is needed anyway.
func (m *machine) template(number int) (*template.Template, error) {
	if t := m.templates[number]; t != nil {
		return t, nil
	}
	revision := m.view.Revisions[number]
	t, err := m.parsed.of(m.dialect.language(), &revision)
	if err != nil {
		return nil, fmt.Errorf("parse revision %d of stack %s: %w", number, m.stack.ID, err)
	}
	m.templates[number] = t
	return t, nil
}

// side returns a revision as plans are made of it.
func (m *machine) side(number int) (plan.Side, error) {
	t, err := m.template(number)
	if err != nil {
		return plan.Side{}, err
	}
	scope, err := m.scope(number)
	return plan.Side{Template: t, Scope: scope}, err
}

// sides returns revisions as plans are made of them.
func (m *machine) sides(numbers []int) ([]plan.Side, error) {
	sides := make([]plan.Side, len(numbers))
	for i, number := range numbers {
		var err error
		if sides[i], err = m.side(number); err != nil {
			return nil, err
		}
	}
	return sides, nil
}

// declaration reads a declaration from a step's plan.
func declaration(text json.RawMessage) (*template.Resource, error) {
	var r template.Resource
	if err := r.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("read a resource's declaration: %w", err)
	}
	return &r, nil
}
