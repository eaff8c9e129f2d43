package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// run starts every step whose turn has come, and ends the phase when nothing is at work any more; and so on through the
// phases until something has to be waited for.
func (m *machine) run() error {
	for !m.op.Phase.Final() {
		if err := m.line(); err != nil {
			return err
		}
		for len(m.todo) > 0 && m.mayBegin() {
			step := m.steps[m.todo[0]]
			m.todo = m.todo[1:]
			if err := m.launch(step); err != nil {
				return err
			}
		}
		if m.op.Running > 0 || len(m.more) > 0 {
			return nil
		}
		if err := m.endPhase(); err != nil {
			return err
		}
	}
	return nil
}

// mayBegin reports whether one more step may be at work.
func (m *machine) mayBegin() bool { return m.op.Parallelism == 0 || m.op.Running < m.op.Parallelism }

// line makes the steps whose turn has come those that wait for nobody. Only an operation that bounds how many are at work needs it:
// which of them have not begun is told by no row but their own.
func (m *machine) line() error {
	if m.op.Parallelism == 0 || !m.mayBegin() {
		return nil
	}
	if err := m.whole(); err != nil {
		return err
	}
	if m.stopping() {
		return nil
	}
	for _, s := range m.sortedSteps() {
		if s.State == store.StepPending && s.Waiting == 0 && !slices.Contains(m.todo, s.Logical) {
			m.todo = append(m.todo, s.Logical)
		}
	}
	return nil
}

// launch begins a step's part in the phase.
func (m *machine) launch(s *store.Step) error {
	if s.Request != "" {
		// Its cancelled request is still with the provider. What came of it decides what is to be done.
		s.State = store.StepHeld
		m.changeStep(s)
		m.working(+1)
		return nil
	}
	switch m.op.Phase {
	case store.PhaseApply:
		switch {
		case m.discarding():
			return m.remove(s, s.Plan.Made())
		case m.op.Kind == store.KindDelete:
			return m.remove(s, s.Plan.Old)
		}
		return m.advance(s)
	case store.PhaseRevert:
		if m.op.Kind == store.KindCreate {
			return m.remove(s, s.Plan.Made())
		}
		return m.restore(s)
	case store.PhaseCleanup, store.PhaseRevertCleanup:
		return m.clean(s)
	case store.PhasePrepare, store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted, store.PhaseRevertFailed:
	}
	return fmt.Errorf("launch %s of stack %s in phase %s", s.Logical, m.stack.ID, m.op.Phase)
}

// working counts the steps at work.
func (m *machine) working(n int) {
	m.op.Running += n
	m.opChanged = true
}

// begin says that a step has a request under way.
func (m *machine) begin(s *store.Step) {
	s.State = store.StepRunning
	m.changeStep(s)
	m.working(+1)
}

// done ends a step well and lets those go on that waited for it.
func (m *machine) done(s *store.Step) {
	s.State = store.StepDone
	m.changeStep(s)
	m.release(s)
}

// release lets the steps go on that waited for s.
func (m *machine) release(s *store.Step) {
	for _, id := range s.Next {
		next := m.steps[id]
		if next == nil || next.Plan == nil {
			m.more = append(m.more, s.Logical) // its neighbours were not loaded
			return
		}
		next.Waiting--
		next.Stirred = next.Stirred || s.Touched || s.Stirred
		m.changeStep(next)
		if next.Waiting == 0 && next.State == store.StepPending && !m.stopping() {
			m.todo = append(m.todo, id)
		}
	}
}

// stopping reports whether the phase takes on no more work: something failed, and it will be undone.
func (m *machine) stopping() bool {
	return m.op.Phase == store.PhaseApply && m.op.Kind != store.KindDelete && m.failed()
}

func (m *machine) failed() bool {
	return len(m.op.FailedCreates)+len(m.op.FailedUpdates)+len(m.op.FailedDeletes) > 0
}

// advance creates or updates the resource of a step as its new declaration says.
func (m *machine) advance(s *store.Step) error {
	if m.stopping() {
		s.State = store.StepIdle // what was left of it may have been deleted by now, and nothing takes its place
		m.changeStep(s)
		return nil
	}
	declared, err := declaration(s.Plan.New)
	if err != nil {
		return err
	}
	instance := m.current(s.Logical)
	if instance != nil && instance.Unborn() {
		return m.discard(s, instance)
	}
	if m.op.Import && instance != nil { // an import changes no resource of the stack
		s.Instance = instance.Number
		m.done(s)
		return nil
	}
	properties, metadata, ask, problem, err := m.resolve(declared, m.op.To)
	if err != nil {
		return err
	}
	if instance == nil {
		if of, imported := m.op.Imports[s.Logical]; imported {
			return m.importResource(s, of, properties, metadata, ask, problem)
		}
		return m.create(s, properties, metadata, ask, problem)
	}
	s.Instance = instance.Number
	if problem == "" {
		problem = m.pruneSignals(instance, ask.properties)
	}
	switch {
	case problem != "":
		m.touchForUpdate(s, instance, properties)
		return m.fail(s, instance, store.VerbUpdate, problem, properties)
	case m.isNested(instance.Body.Type): // its template may be another one, though nothing here is
		return m.change(s, instance, ask, metadata)
	case slices.Contains(m.op.Taint, s.Logical):
		return m.startOver(s, instance, s.Plan.New, ask.properties)
	case !ask.token.Equal(instance.Body.Token) && m.replaces():
		return m.startOver(s, instance, s.Plan.New, ask.properties)
	case !ask.token.Equal(instance.Body.Token):
		m.touchForUpdate(s, instance, properties)
		words := m.dialect.texts()
		return m.fail(s, instance, store.VerbUpdate, m.failure(failedAsChanged, s.Logical, words.tokenChanged), properties)
	case instance.Body.Attempted.IsNull() && ask.properties.Equal(instance.Body.Properties) && !m.reverts(s.Logical):
		return m.keep(s, instance, ask, metadata)
	}
	return m.change(s, instance, ask, metadata)
}

// reverts reports whether the operation is to undo the drift of a resource.
func (m *machine) reverts(logical wire.LogicalID) bool { return slices.Contains(m.op.Revert, logical) }

// touchForUpdate writes the event with which every update of a resource begins.
func (m *machine) touchForUpdate(s *store.Step, i *store.Instance, properties value.Value) {
	s.Touched = true
	m.changeStep(s)
	m.resourceEvent(i, store.VerbUpdate, store.ProgressRunning, "", properties, false)
}

// create begins the life of a resource.
func (m *machine) create(s *store.Step, properties, metadata value.Value, ask asked, problem string) error {
	s.Touched = true
	instance := m.newInstance(s.Logical, store.InstanceBody{
		Type: s.Plan.Type, Token: ask.token, Timeout: ask.timeout, Properties: ask.properties, Metadata: metadata,
		HTTPConfig: ask.httpConfig,
	})
	s.Instance = instance.Number
	m.resourceEvent(instance, store.VerbCreate, store.ProgressRunning, "", properties, false)
	if problem != "" {
		return m.fail(s, instance, store.VerbCreate, problem, properties)
	}
	instance.Reached = true // until it is known that the request never got there
	m.ask(s, instance, wire.Create, ask, value.Value{})
	m.begin(s)
	return nil
}

// update asks for an Update from what the resource has, or may have, to what it is to have.
func (m *machine) update(s *store.Step, i *store.Instance, ask asked, metadata value.Value) {
	old, before := i.Body.Properties, i.Body.Properties
	switch {
	case i.Body.Back:
		before = i.Body.Attempted
	case !i.Body.Attempted.IsNull():
		old = i.Body.Attempted
	}
	// From what the last try asked for to the same nobody would do anything.
	if old.Equal(ask.properties) {
		old = before
	}
	if old.Equal(ask.properties) { // it came to be by an Update that failed: what it took the place of had others
		for _, other := range m.condemned(s.Logical) {
			if other.Replaced && other.Number < i.Number {
				old = other.Body.Properties
			}
		}
	}
	i.Body.Metadata = metadata
	m.changeBody(i)
	m.ask(s, i, wire.Update, ask, old)
	m.begin(s)
}

// restore brings the resource of a step back to its old declaration.
func (m *machine) restore(s *store.Step) error {
	instance := m.current(s.Logical)
	if m.dialect.rules().idsStay && (s.Touched || m.looksAtAll()) && (instance == nil || instance.Unborn()) {
		return m.bringBack(s, instance)
	}
	if m.dialect.rules().idsStay && instance != nil && instance.Unborn() {
		m.done(s) // the stack stood without it
		return nil
	}
	untouched := !s.Touched && (m.op.Import || !s.Stirred && instance != nil && instance.Body.Attempted.IsNull())
	if instance == nil || untouched {
		m.done(s)
		return nil
	}
	s.Instance = instance.Number
	if s.Skip {
		return m.assume(s, instance)
	}
	declared, err := declaration(s.Plan.Old)
	if err != nil {
		return err
	}
	properties, metadata, ask, problem, err := m.resolve(declared, m.op.From)
	if err != nil {
		return err
	}
	if m.isNested(instance.Body.Type) && (s.Touched || m.looksAtAll()) {
		return m.undo(s, instance, ask, metadata, problem)
	}
	if problem == "" && m.dialect.rules().idsStay && !ask.token.Equal(instance.Body.Token) && instance.Number > m.op.Stood {
		return m.startOver(s, instance, nil, ask.properties) // it came to be by what is undone
	}
	unchanged := func() bool {
		return problem == "" && instance.Body.Attempted.IsNull() && ask.properties.Equal(instance.Body.Properties)
	}
	same := unchanged()
	if !same {
		instance = m.reinstate(s, instance, ask.properties)
		same = unchanged()
	}
	if same && !s.Touched {
		m.done(s)
		return nil
	}
	if same { // nothing was sent, or nothing that is not undone already
		m.redeclare(instance, ask, metadata)
		m.resourceEvent(instance, store.VerbUpdate, store.ProgressSucceeded, "", properties, false)
		m.done(s)
		return nil
	}
	if problem != "" {
		m.touchForUpdate(s, instance, properties)
		return m.fail(s, instance, store.VerbUpdate, problem, properties)
	}
	return m.change(s, instance, ask, metadata)
}

// remove deletes all there is of a step's resource. declared is the declaration whose policy counts, nil if none does.
func (m *machine) remove(s *store.Step, declared []byte) error {
	if s.Skip {
		m.leave(s)
		return nil
	}
	if instance := m.current(s.Logical); m.undoesImport(instance) {
		m.letGo(instance)
	} else if instance != nil {
		policy, err := m.deletionPolicy(declared)
		if err != nil {
			return err
		}
		if instance.Reached &&
			(policy == policyRetain || (policy == policyRetainExceptOnCreate && m.op.Call == store.CallDelete)) {
			instance.Shown = true
			m.retain(instance, leftByDeletionPolicy)
		} else {
			instance.Role, instance.Shown = store.RoleCondemned, true
			m.changeInstance(instance)
		}
	}
	for _, instance := range m.condemned(s.Logical) {
		if !instance.Replaced || !instance.Reached {
			continue
		}
		// What an update replaced and could not clean up keeps the protection it had from that.
		policy, err := replacePolicy(declared)
		if err != nil {
			return err
		}
		if policy == policyRetain {
			m.retain(instance, leftByReplacePolicy)
		}
	}
	return m.deleteNext(s, false)
}

// Why a resource was left that a policy keeps.
const (
	leftByDeletionPolicy = "its DeletionPolicy keeps it"
	leftByReplacePolicy  = "its UpdateReplacePolicy keeps it"
)

// retain leaves an instance where it is, and says why.
func (m *machine) retain(i *store.Instance, why string) {
	i.Role, i.Left = store.RoleRetained, why
	m.resourceEvent(i, store.VerbDelete, store.ProgressSkipped, m.dialect.texts().left(why), i.Body.Properties, false)
}

// clean deletes what a step's resource has left behind: replaced instances and, if it was removed, the last one.
func (m *machine) clean(s *store.Step) error {
	if i := m.current(s.Logical); s.Held && i != nil {
		return m.askRelease(s, i)
	}
	for _, instance := range m.condemned(s.Logical) {
		if m.undoesImport(instance) {
			m.letGo(instance)
			continue
		}
		policy, err := m.cleanupPolicy(s, instance)
		if err != nil {
			return err
		}
		if instance.Reached &&
			(policy == policyRetain || (policy == policyRetainExceptOnCreate && m.op.Phase == store.PhaseCleanup)) {
			why := leftByDeletionPolicy
			if instance.Replaced {
				why = leftByReplacePolicy
			}
			m.retain(instance, why)
		}
	}
	return m.deleteNext(s, true)
}

// deleteNext asks for the Delete of the next condemned instance of a step; if there is none the step is done. detached
// says that the instance is no longer what its logical ID stands for.
func (m *machine) deleteNext(s *store.Step, detached bool) error {
	for _, instance := range m.condemned(s.Logical) {
		if !instance.Reached {
			m.gone(instance, detached)
			continue
		}
		m.askDelete(s, instance, detached)
		return nil
	}
	m.done(s)
	return nil
}

// askedOf is what a resource was last asked with.
func askedOf(i *store.Instance) asked {
	return asked{properties: i.Body.Properties, token: i.Body.Token, timeout: i.Body.Timeout, httpConfig: i.Body.HTTPConfig}
}

// askDelete asks for the Delete of an instance.
func (m *machine) askDelete(s *store.Step, i *store.Instance, detached bool) {
	s.Instance = i.Number
	m.resourceEvent(i, store.VerbDelete, store.ProgressRunning, "", i.Body.Properties, detached)
	m.ask(s, i, wire.Delete, askedOf(i), value.Value{})
	m.begin(s)
}

// gone ends the life of an instance.
func (m *machine) gone(i *store.Instance, detached bool) {
	i.Role = store.RoleGone
	i.Shown = !detached && m.op.Kind != store.KindUpdate // an update discards what is to be created anew, or not at all
	if m.dialect.rules().idsStay && i.Number > m.op.Stood && (m.op.Phase == store.PhaseRevert || m.op.Phase == store.PhaseRevertCleanup) {
		m.neverStood(i)
	}
	m.resourceEvent(i, store.VerbDelete, store.ProgressSucceeded, "", i.Body.Properties, detached)
}

// resolve evaluates a declaration in a revision's scope. properties are for people: as declared, if they could not be
// turned into what is sent. problem says what is wrong with them.
func (m *machine) resolve(declared *template.Resource, revision int) (
	properties, metadata value.Value, ask asked, problem string, err error,
) {
	scope, err := m.scope(revision)
	if err != nil {
		return value.Value{}, value.Value{}, asked{}, "", err
	}
	source := attributes{m}
	properties, failure := template.Evaluate(declared.Properties, scope, source)
	if failure == nil {
		metadata, failure = template.Evaluate(declared.Metadata, scope, source)
	}
	var policy value.Value
	if failure == nil {
		policy, failure = template.Evaluate(declared.CreationPolicy, scope, source)
	}
	if failure == nil {
		ask, failure = m.request(declared, properties, policy)
	}
	if failure != nil {
		if properties.IsNull() {
			properties = value.Object()
		}
		if ask.properties = properties; !m.dialect.rules().typesStay {
			ask.properties = properties.Stringified()
		}
		problem = m.presentable(failure.Error(), ask.properties)
		return ask.properties, metadata, ask, m.failure(failureOf(failure), wire.LogicalID(declared.LogicalID), problem), nil
	}
	return ask.properties, metadata, ask, "", nil
}

// attributes are the values of Ref and Fn::GetAtt: what the instances are now.
type attributes struct{ m *machine }

// PhysicalID is the value of a Ref.
func (a attributes) PhysicalID(logical string) (value.Value, bool) {
	instance := a.m.current(wire.LogicalID(logical))
	if instance == nil {
		return value.Value{}, false
	}
	if !instance.Body.Ref.IsNull() {
		return instance.Body.Ref, true
	}
	return value.Str(string(instance.PhysicalID)), true
}

// Attribute is the value of a Fn::GetAtt. What the provider did not send is an error of whoever reads it.
func (a attributes) Attribute(logical, name string) (value.Value, error) {
	instance := a.m.current(wire.LogicalID(logical))
	if instance == nil {
		return value.Value{}, fmt.Errorf("resource %s has no attributes: it does not exist", logical)
	}
	if schema := a.m.native.Schema(instance.Body.Type); schema == nil {
		if v, ok := a.m.dialect.attribute(instance.Body.Data, name); ok {
			return v, nil
		}
	} else if v, ok := instance.Body.Data.Get(name); ok && !v.IsNull() {
		return v, nil
	}
	if schema := a.m.native.Schema(instance.Body.Type); schema != nil {
		if v, ok := instance.Body.Properties.Get(name); ok && !v.IsNull() && schema.Reads(name) {
			return v, nil
		}
		if schema.Recorded {
			return native.StandIn(a.m.stack.ID, instance.Body.Type, instance.PhysicalID, name), nil
		}
		if schema.Dialect != wire.ROS {
			return value.Value{}, unsupportedAttribute(instance.Body.Type, name)
		}
	}
	return value.Value{}, missingError(a.m.dialect.texts().missingAttribute(name, wire.ResponseKey{
		StackID: a.m.stack.ID, LogicalID: instance.Logical, RequestID: instance.Body.AnsweredBy,
	}))
}

// missingError is the error of whoever reads what a provider has not sent.
type missingError string

func (e missingError) Error() string { return string(e) }

// failureOf is the class of what is wrong with a declaration.
func failureOf(err error) failure {
	var missing missingError
	var told *template.Error
	switch {
	case errors.As(err, &missing):
		return failedByAttribute
	case errors.As(err, &told) && told.Code != "":
		return failure(told.Code)
	}
	return failedAsDeclared
}

// The policies that keep a resource. Source: CloudFormation, DeletionPolicy.
const (
	policyRetain               = "Retain"
	policyRetainExceptOnCreate = "RetainExceptOnCreate"
)

func (m *machine) deletionPolicy(declared []byte) (string, error) {
	if declared == nil {
		return "", nil
	}
	policy, _, err := template.Policies(declared)
	if policy == policyRetain && m.op.RetainExceptOnCreate {
		return policyRetainExceptOnCreate, nil
	}
	return policy, err
}

// cleanupPolicy is the policy that counts for a condemned instance: of a replaced one UpdateReplacePolicy, of a removed
// one the DeletionPolicy that it was declared with.
func (m *machine) cleanupPolicy(s *store.Step, i *store.Instance) (string, error) {
	if !i.Replaced {
		if s.Plan.Old != nil {
			return m.deletionPolicy(s.Plan.Old)
		}
		return m.deletionPolicy(s.Plan.Made())
	}
	if m.op.Phase == store.PhaseRevertCleanup {
		if i.Number > m.op.Stood {
			return "", nil // it came to be by what is undone
		}
		return replacePolicy(s.Plan.Old) // the provider did not go back to it
	}
	if made := s.Plan.Made(); made != nil {
		return replacePolicy(made)
	}
	return replacePolicy(s.Plan.Old) // replaced in a try that failed, and then removed
}

func replacePolicy(declared []byte) (string, error) {
	if declared == nil {
		return "", nil
	}
	_, policy, err := template.Policies(declared)
	return policy, err
}
