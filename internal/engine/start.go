package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Parameter is a parameter as a client passes it: a value, or the one of the stack's last operation.
type Parameter struct {
	Key         string
	Value       string
	UsePrevious bool
	// Secret makes the value secret, whatever the template says.
	Secret bool
}

// RollbackConfiguration says which alarms would roll an operation back, and for how many minutes they are watched, 0 to 180. What is nil
// stays as the stack has it.
type RollbackConfiguration struct {
	Triggers []store.RollbackTrigger
	Minutes  *int
}

// Options are what a create and an update have in common.
type Options struct {
	// Token is the client's own name for the request, empty for none: the same request with the same token is one.
	Token        string
	Parameters   []Parameter
	Capabilities []string
	// ResourceTypes are the types that the template may have resources of: names, or beginnings that end in an asterisk.
	// None allows all.
	ResourceTypes []string
	// Tags replace those of the stack; nil leaves them.
	Tags []store.Tag
	// NotificationARNs are the SNS topics to be told of events from now on, instead of those of the stack; nil leaves them.
	NotificationARNs []string
	// Rollback is the RollbackConfiguration from now on. It is kept and not acted on: there are no alarms.
	Rollback RollbackConfiguration
	// RoleARN is kept with the stack; empty leaves the one it has.
	RoleARN string
	// Caller is who asks, as requests of ROS tell it.
	Caller string
	// ResourceGroup is the ID of the resource group that a new stack is put in, and its nested stacks; "" for none. Of ROS.
	ResourceGroup string
	// Parallelism bounds how many resources are at work at once; 0 does not. Of ROS.
	Parallelism int
	// DisableRollback leaves a stack that failed as it is.
	DisableRollback bool
	// RetainExceptOnCreate makes a rollback delete what the operation created, though its policy is Retain.
	RetainExceptOnCreate bool
	// Policy is the stack policy from this operation on, JSON; empty leaves the stack's own. An update itself goes by the
	// one that was in force before it.
	Policy string

	// replace and taint are those of an update, see [UpdateStack].
	replace bool
	taint   []wire.LogicalID
	// revert are those of a change set, see [CreateChangeSet].
	revert []wire.LogicalID
	// importing is what a change set imports, nil for nothing.
	importing *importing
	// stored is what was read of the parameter store.
	stored map[string]template.Stored
	// nested says for which request of which parent a nested stack is to be created or updated; nil if it is none.
	nested *nesting
}

// CreateStack is what it takes to create a stack.
type CreateStack struct {
	Options
	Name     store.StackName
	Template string
	// Dialect is whose stack it is to be; nil is [CloudFormation].
	Dialect Dialect
	// TerminationProtection refuses deletes from the start.
	TerminationProtection bool
	// DeleteOnFailure deletes the stack if it cannot be created. Not together with DisableRollback.
	DeleteOnFailure bool
	// TimeoutMinutes is how long the create may take; when that is over it has failed. 0 is for ever.
	TimeoutMinutes int
}

// UpdateStack is what it takes to update a stack.
type UpdateStack struct {
	Options
	Stack Ref
	// Template is the new text; UsePrevious takes the stack's own.
	Template    string
	UsePrevious bool
	// PolicyDuring is the stack policy for this update alone; empty for the stack's own.
	PolicyDuring string
	// Replace has what cannot be updated deleted and created anew, in that order, and Taint the resources that it names whatever
	// has changed. Of ROS, whose resources are never replaced otherwise.
	Replace bool
	Taint   []wire.LogicalID
	// TimeoutMinutes is how long the update may take; when that is over it has failed, and is rolled back. 0 is for ever. Of ROS.
	TimeoutMinutes int
}

// Ref names a stack as a client does: by its name, or by its id.
type Ref struct {
	Account string
	Region  string
	// Stack is the name or the ARN as it was given; with ByID it is the id of a stack of ROS, a UUID.
	Stack string
	ByID  bool
}

// Started is what a client learns of an operation that has begun.
type Started struct {
	StackID   wire.StackID
	Operation string
}

// startCreate decides the creation of a stack.
func (m *machine) startCreate(in *CreateStack, s *submission, key store.StackKey, id wire.StackID) error {
	switch review := m.stack.Kind == store.KindReview && m.dialect == CloudFormation; {
	case m.stack.Key == 0:
		m.stack = store.Stack{
			Key: key, ID: id, Account: in.Name.Account, Region: in.Name.Region, Name: in.Name.Name, Live: true,
			Dialect: m.dialect.Name(), Created: m.now, ResourceGroup: in.ResourceGroup,
		}
	case !review:
		if again, _ := m.repeated(in.Token, store.CallCreate); again || m.askedBefore(in.nested) {
			return nil
		}
		return m.dialect.refusals().stackExists(in.Name.Name)
	}
	// A stack that only has change sets is created like one that does not exist: its change sets become obsolete.
	m.stack.Description = s.description()
	m.stack.TerminationProtection, m.stack.TimeoutMinutes = in.TerminationProtection, in.TimeoutMinutes
	if in.nested != nil {
		m.stack.Parent, m.stack.Root, m.stack.Depth = in.nested.parent.Stack, in.nested.root, in.nested.depth
	}
	m.applyOptions(&in.Options)
	if err := s.usable(); err != nil {
		return err
	}
	op := store.Operation{
		Token: in.Token, DisableRollback: in.DisableRollback, DeleteOnFailure: in.DeleteOnFailure && !in.DisableRollback,
		RetainExceptOnCreate: in.RetainExceptOnCreate, Parent: in.nested.row(), Caller: in.Caller, Parallelism: in.Parallelism,
		Imports: m.plannedImports(in.nested),
	}
	e, err := m.expand(s, &in.Options, nil)
	switch {
	case err != nil:
		return err
	case e.call != nil:
		if err := m.prepareCreate(in, s, e, op); err != nil {
			return err
		}
		m.executePlanned(in.nested)
		return nil
	}
	revision, to, err := m.revise(&in.Options, e, in.Template, nil)
	if err == nil {
		err = m.checkIdentities(to.Template, in.Capabilities)
	}
	if err != nil {
		return err
	}
	if err := m.carryOutCreate(revision, to, in.TimeoutMinutes, op); err != nil {
		return err
	}
	m.executePlanned(in.nested)
	return nil
}

// carryOutCreate begins to create what a revision says; op holds what was asked for besides.
func (m *machine) carryOutCreate(revision store.Revision, to plan.Side, timeoutMinutes int, op store.Operation) error {
	candidates, err := plan.Create(to)
	if err != nil {
		return refused(m.dialect, err)
	}
	m.addRevision(revision)
	op.Call, op.Kind, op.To = store.CallCreate, store.KindCreate, revision.Number
	m.holdImports(&op)
	m.open(store.PhaseApply, op)
	m.limit(timeoutMinutes)
	return m.beginOrFail(candidates)
}

// limit limits the time of the operation that begins; 0 does not.
func (m *machine) limit(minutes int) {
	if minutes > 0 {
		const longest = math.MaxInt64 / int64(time.Minute) // about 292 years
		m.setTimer(time.Duration(min(int64(minutes), longest)) * time.Minute)
	}
}

// startUpdate decides an update to what was submitted, nil for the template in force.
func (m *machine) startUpdate(in *UpdateStack, s *submission) error {
	if again, err := m.repeated(in.Token, store.CallUpdate); again || err != nil {
		return err
	}
	if m.askedBefore(in.nested) {
		return nil
	}
	if err := m.checkUpdatable(in.DisableRollback || in.nested != nil); err != nil {
		return err
	}
	before := m.standing()
	if s == nil && before.Unprepared {
		return errUnprepared
	}
	from, err := m.side(before.Number)
	if err != nil {
		return err
	}
	m.applyOptions(&in.Options)
	if m.dialect.rules().updatesRevert {
		m.stack.DisableRollback = m.view.Stack.DisableRollback // that of the create
		in.DisableRollback = false
	}
	op := store.Operation{
		Token: in.Token, DisableRollback: in.DisableRollback, RetainExceptOnCreate: in.RetainExceptOnCreate, Parent: in.nested.row(),
		Caller: in.Caller, Parallelism: in.Parallelism, Replace: in.Replace, Taint: in.Taint,
		Imports: m.plannedImports(in.nested),
	}
	policy := cmp.Or(in.PolicyDuring, m.view.Stack.Policy)
	text := before.Template
	e, err := m.inForce(&before, from.Template)
	if err != nil {
		return err
	}
	if s != nil {
		if err := s.usable(); err != nil {
			return err
		}
		text = in.Template
		if e, err = m.expand(s, &in.Options, &before); err != nil {
			return err
		}
	}
	if e.call != nil {
		if err := m.prepareUpdating(in, s, e, op, policy); err != nil {
			return err
		}
		m.executePlanned(in.nested)
		return nil
	}
	revision, to, err := m.revise(&in.Options, e, text, &before)
	if err == nil {
		err = m.checkIdentities(to.Template, in.Capabilities)
	}
	if err != nil {
		return err
	}
	revision.Policy = policy
	if err := m.checkTaint(in.Taint, to); err != nil {
		return err
	}
	if !m.leftAsFailed() && in.Taint == nil && unchanged(&before, &revision, from, to) && !m.nests(to) {
		return m.dialect.refusals().unchanged
	}
	if err := m.carryOutUpdate(revision, to.Template, in.TimeoutMinutes, op); err != nil {
		return err
	}
	m.executePlanned(in.nested)
	return nil
}

// errUnprepared refuses to go on with the template of a create whose macros have failed.
var errUnprepared = invalid("The macros of the previous template have not run, so that it cannot be used again. Give the template.")

// unchanged reports whether there is nothing in a revision for which the stack would be updated from the one before.
func unchanged(before, after *store.Revision, from, to plan.Side) bool {
	return slices.Equal(before.Tags, after.Tags) && before.Parameters.Equal(after.Parameters) && before.Outside.Equal(after.Outside) &&
		slices.Equal(before.NotificationARNs, after.NotificationARNs) && slices.Equal(before.RollbackTriggers, after.RollbackTriggers) &&
		before.MonitoringMinutes == after.MonitoringMinutes && !plan.Differs(from, to)
}

// carryOutUpdate begins to update the stack to a revision; op holds what was asked for besides.
func (m *machine) carryOutUpdate(revision store.Revision, t *template.Template, timeoutMinutes int, op store.Operation) error {
	candidates, err := m.prepareUpdate(revision, t, &op)
	if err != nil {
		return err
	}
	m.open(store.PhaseApply, op)
	m.stack.Updated = m.now
	m.limit(timeoutMinutes)
	return m.beginOrFail(candidates)
}

// prepareUpdate adds the revision that the stack is to be updated to, and returns the plan of op, which it completes.
func (m *machine) prepareUpdate(revision store.Revision, t *template.Template, op *store.Operation) ([]plan.Candidate, error) {
	op.Call, op.Kind, op.From, op.To = store.CallUpdate, store.KindUpdate, m.stack.Revision, revision.Number
	if m.leftAsFailed() || m.op.Anew {
		op.From, op.Tried = m.op.From, append([]int{m.op.To}, m.op.Tried...)
	}
	m.addRevision(revision)
	m.templates[revision.Number] = t
	var err error
	if op.Tried, err = m.stillTried(op); err != nil {
		return nil, refused(m.dialect, err)
	}
	m.holdImports(op)
	candidates, err := m.between(op)
	if err == nil {
		err = m.checkTypes(candidates)
	}
	if err != nil {
		return nil, refused(m.dialect, err)
	}
	return candidates, nil
}

// leftAsFailed reports whether the stack stands neither where it last stood nor where it was to be.
func (m *machine) leftAsFailed() bool {
	return m.stack.Phase == store.PhaseFailed || m.stack.Phase == store.PhaseRevertFailed
}

// checkUpdatable refuses an update unless the stack has come to rest in a state that an update can go from. From one that
// failed and was left only the same kind of update can: what it might go back to is no state that ever stood.
func (m *machine) checkUpdatable(disableRollback bool) error {
	switch m.stack.Phase {
	case store.PhaseSucceeded:
		if m.stack.Kind == store.KindCreate || m.stack.Kind == store.KindUpdate || m.stack.Kind == store.KindImport {
			return nil
		}
	case store.PhaseReverted:
		if m.stack.Kind == store.KindUpdate || m.stack.Kind == store.KindImport && m.op.From != 0 {
			return nil
		}
	case store.PhaseFailed:
		if m.stack.Kind == store.KindDelete {
			break
		}
		if m.dialect.rules().updatesRevert {
			break
		}
		if !disableRollback {
			return m.dialect.refusals().notUndone(&m.stack, m.status())
		}
		return nil
	case store.PhaseRevertFailed:
		if m.stack.Kind == store.KindUpdate && m.dialect.rules().updatesRevert {
			return nil // else there would be no way from it but its deletion
		}
	case store.PhasePrepare, store.PhaseApply, store.PhaseCleanup, store.PhaseRevert, store.PhaseRevertCleanup:
	}
	return m.notUpdatable()
}

func (m *machine) notUpdatable() error {
	if m.stack.Phase.Final() {
		return m.dialect.refusals().atRest(&m.stack, m.status(), "updated")
	}
	return m.dialect.refusals().busy(&m.stack, &m.op, m.status(), "updated")
}

// status is the stack's, as clients know it.
func (m *machine) status() string { return m.dialect.StackStatus(m.stack.Kind, m.stack.Phase) }

// applyOptions puts on the stack what an operation says of it.
func (m *machine) applyOptions(in *Options) {
	m.stack.DisableRollback = in.DisableRollback
	if len(in.Capabilities) > 0 { // otherwise those of the stack stay
		m.stack.Capabilities = in.Capabilities
	}
	if in.RoleARN != "" {
		m.stack.RoleARN = in.RoleARN
	}
	if in.Policy != "" {
		m.stack.Policy = in.Policy
	}
	m.stackChanged = true
}

// revise makes the revision that an operation goes to, of a text as it was submitted and what that was expanded to, and what is
// planned by: the template after its transforms. before is the one it comes from, nil for none.
func (m *machine) revise(in *Options, e expanded, text string, before *store.Revision) (store.Revision, plan.Side, error) {
	revision, to, err := m.bind(in, e.t, before)
	revision.Template, revision.Processed = text, cmp.Or(revision.Processed, e.processed)
	return revision, to, err
}

// inputs returns what was passed for parameters, the beginning of a revision, and the parameters of the revision before.
func (m *machine) inputs(in *Options, before *store.Revision) (
	map[string]template.Input, store.Revision, map[string]value.Value,
) {
	inputs := make(map[string]template.Input, len(in.Parameters))
	given := make([]string, 0, len(in.Parameters))
	for _, p := range in.Parameters {
		inputs[p.Key] = template.Input{Value: p.Value, UsePrevious: p.UsePrevious, Secret: p.Secret}
		given = append(given, p.Key)
	}
	revision := store.Revision{
		Stack: m.stack.Key, Number: m.stack.Revisions + 1, Inputs: given, Tags: in.Tags, NotificationARNs: in.NotificationARNs,
		RollbackTriggers: in.Rollback.Triggers,
	}
	if in.Rollback.Minutes != nil {
		revision.MonitoringMinutes = *in.Rollback.Minutes
	}
	var previous map[string]value.Value
	if before != nil {
		previous = m.scopeOf(before).Parameters
		if in.Tags == nil {
			revision.Tags = before.Tags
		}
		if in.NotificationARNs == nil {
			revision.NotificationARNs = before.NotificationARNs
		}
		if in.Rollback.Triggers == nil {
			revision.RollbackTriggers = before.RollbackTriggers
		}
		if in.Rollback.Minutes == nil {
			revision.MonitoringMinutes = before.MonitoringMinutes
		}
	}
	return inputs, revision, previous
}

// bind is revise but for the texts.
func (m *machine) bind(in *Options, t *template.Template, before *store.Revision) (store.Revision, plan.Side, error) {
	inputs, revision, previous := m.inputs(in, before)
	outside, err := m.outside(in, t, inputs, previous, before)
	if err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	if t.WantsZones() {
		outside.Zones = m.zones
	}
	if t.WantsTime() {
		outside.Now = m.now.UTC().Format(time.RFC3339Nano)
	}
	scope, err := t.BindWith(inputs, previous, pseudoOf(&m.stack, &revision), outside)
	if err != nil {
		return store.Revision{}, plan.Side{}, m.unbound(err)
	}
	processed, scope, err := t.Process(scope)
	if err != nil {
		return store.Revision{}, plan.Side{}, refused(m.dialect, err)
	}
	if t.Unprocessed() {
		if err := m.runnable(m.dialect, processed); err != nil {
			return store.Revision{}, plan.Side{}, err
		}
	}
	if err := checkResourceTypes(processed, in.ResourceTypes); err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	if err := m.checkKnown(processed, scope); err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	revision.Parameters, revision.Conditions = bound(t.Parameters, scope), scope.Conditions
	if err := m.fetch(processed, scope, &revision); err != nil {
		return store.Revision{}, plan.Side{}, err
	}
	revision.Processed = processed.Processed()
	return revision, plan.Side{Template: processed, Scope: scope}, nil
}

// bound returns the values of parameters in the order of their declarations.
func bound(declared []*template.Parameter, scope *template.Scope) value.Value {
	members := make([]value.Member, 0, len(declared))
	for _, p := range declared {
		members = append(members, value.Member{Key: p.Name, Value: scope.Parameters[p.Name]})
	}
	return value.Object(members...)
}

func (m *machine) addRevision(revision store.Revision) {
	m.stack.Revisions, m.stack.Revision = revision.Number, revision.Number
	m.delta.Revisions = append(m.delta.Revisions, revision)
	m.view.Revisions = cloneWith(m.view.Revisions, revision.Number, revision)
}

// open begins an operation, of which op says what was asked for, in its first phase.
func (m *machine) open(phase store.Phase, op store.Operation) {
	op.Stack, op.Number, op.ID, op.Instances = m.stack.Key, m.stack.Operation+1, m.newID(), m.op.Instances
	op.Stood = m.op.Instances
	if goesOn := op.Call == store.CallContinue || op.Call == store.CallRollback; goesOn || len(op.Tried) > 0 {
		op.Stood = m.op.Stood
	}
	op.Started, op.Earliest = m.now, m.now
	op.Trace = cmp.Or(m.trace, m.op.Trace) // what follows from an operation is of its trace
	m.op = op
	if last := m.view.Operation.Latest; !m.now.After(last) {
		m.op.Earliest = last.Add(time.Millisecond)
	}
	m.stack.Operation = m.op.Number
	if m.executing == "" {
		m.stack.ChangeSet = ""
	}
	if op.Parent != nil {
		m.tie()
	}
	m.remember(op.Token, op.Call, op.ID)
	m.stackEvent(phase, m.dialect.texts().begun(op.Kind, phase))
}

// proceed turns the candidates into steps and starts the first of them.
func (m *machine) proceed(candidates []plan.Candidate) error {
	if err := m.layOut(candidates); err != nil {
		return err
	}
	m.beginApply()
	if err := m.denyRemovals(); err != nil {
		return err
	}
	return m.run()
}

// layOut turns the candidates into steps.
func (m *machine) layOut(candidates []plan.Candidate) error {
	clear(m.steps)
	for _, c := range candidates {
		s := &store.Step{Stack: m.stack.Key, Logical: wire.LogicalID(c.Logical), State: store.StepIdle, Plan: &store.StepPlan{
			OldNeeds: logicalIDs(c.OldNeeds), NewNeeds: logicalIDs(c.NewNeeds),
			OldFeeds: logicalIDs(c.OldFeeds), NewFeeds: logicalIDs(c.NewFeeds),
		}}
		for _, side := range []struct {
			declared *template.Resource
			text     *json.RawMessage
		}{{c.Old, &s.Plan.Old}, {c.New, &s.Plan.New}, {c.Tried, &s.Plan.Tried}} {
			if side.declared == nil {
				continue
			}
			text, err := json.Marshal(side.declared)
			if err != nil {
				return fmt.Errorf("write the declaration of %s: %w", c.Logical, err)
			}
			*side.text, s.Plan.Type = text, side.declared.Type
		}
		m.steps[s.Logical] = s
		m.changeStep(s)
		m.newPlans.add(s.Logical)
	}
	m.delta.DropSteps = true
	return nil
}

func logicalIDs(names []string) []wire.LogicalID {
	if names == nil {
		return nil
	}
	ids := make([]wire.LogicalID, len(names))
	for i, name := range names {
		ids[i] = wire.LogicalID(name)
	}
	return ids
}

// cloneWith returns a copy of m with one more entry; the view's own maps are not changed.
func cloneWith[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	clone := make(map[K]V, len(m)+1)
	for k, v := range m {
		clone[k] = v
	}
	clone[k] = v
	return clone
}
