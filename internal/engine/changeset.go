package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maxChangeSets is how many change sets a stack may have. Source: ours; decisions on the whole stack load them.
const maxChangeSets = 100

// Execution says whether a change set can be executed, and how its execution went.
type Execution string

// The executions.
const (
	// ExecutionUnavailable is that of a set that failed.
	ExecutionUnavailable Execution = "unavailable"
	ExecutionAvailable   Execution = "available"
	// ExecutionObsolete is that of a set whose stack was changed since.
	ExecutionObsolete  Execution = "obsolete"
	ExecutionRunning   Execution = "running"
	ExecutionSucceeded Execution = "succeeded"
	ExecutionFailed    Execution = "failed"
)

// executionOf tells it by the stack and by the operation that the set began, if it did.
func executionOf(c *store.ChangeSet, stack *store.Stack, op *store.Operation) Execution {
	switch c.State {
	case store.ChangeSetPreparing, store.ChangeSetFailed:
		return ExecutionUnavailable
	case store.ChangeSetAvailable:
		if c.Base != stack.Operation {
			return ExecutionObsolete
		}
		return ExecutionAvailable
	case store.ChangeSetExecuted:
	}
	switch {
	case !op.Phase.Final():
		return ExecutionRunning
	case op.Phase == store.PhaseSucceeded && op.Kind != store.KindDelete:
		return ExecutionSucceeded
	}
	return ExecutionFailed
}

// CreateChangeSet is what it takes to plan a create or an update. The Token is that of this call; DisableRollback counts
// unless OnFailure or [ExecuteChangeSet] says otherwise.
type CreateChangeSet struct {
	Options
	Stack Ref
	Name  string
	// Dialect is whose stack it is to be if there is none; nil is [CloudFormation].
	Dialect Dialect
	// Replace and Taint are those of the update, see [UpdateStack].
	Replace bool
	Taint   []wire.LogicalID
	// RevertDrift says that the set is to undo drift. Revert are the resources of the stack that drifted: those that the template
	// still declares are updated, though what it declares of them has not changed.
	RevertDrift bool
	Revert      []wire.LogicalID
	// TimeoutMinutes is how long the operation may take; 0 is for ever. Of ROS.
	TimeoutMinutes int
	// Kind is KindCreate for a stack that is not there, or was made by another such set; KindUpdate for one that is.
	Kind store.Kind
	// Template is the text; UsePrevious takes the stack's own.
	Template    string
	UsePrevious bool
	Description string
	// OnFailure is DO_NOTHING, ROLLBACK, DELETE (of a create only), or "" to leave that to the execution.
	OnFailure     string
	IncludeNested bool
	// Import says that the set imports the existing resources that Resources lists and does nothing else. Its Kind is then found out:
	// both are ignored. ImportExisting says that resources to be added which exist already are imported.
	Import         bool
	Resources      []ImportResource
	ImportExisting bool

	// family is the tree of change sets that it is made for, nil for one that is made by itself.
	family *planning
	// drawn is what it came to, nil if it is not settled by the call.
	drawn *draft
}

// draftChangeSet decides the creation of a change set, which is settled by that. existing is the one of that name that was
// found before, nil for none; if it is not the one that is there now, the error is errAnew. key and id are for a stack that
// is to be made.
func (m *machine) draftChangeSet(
	in *CreateChangeSet, s *submission, existing *store.ChangeSet, key store.StackKey, id wire.StackID,
) (store.ChangeSetID, error) {
	same := store.ChangeSetID("")
	for _, id := range sortedKeys(m.view.ChangeSets) {
		row, known := m.view.ChangeSets[id], m.view.ChangeSets[same]
		if row.GivenName() == in.Name && answersFor(&row, in, m.dialect) && (same == "" || comesBefore(&row, &known, m.dialect)) {
			same = id
		}
	}
	gone := m.stack.Key != 0 && !m.stack.Live
	if gone || existing == nil && same != "" || existing != nil && same != existing.ID {
		return "", errAnew
	}
	if existing != nil {
		set, err := m.sameChangeSet(in, s, existing)
		if told, ok := InputError(err); ok && told.Code == m.takenCode() && in.Kind == store.KindCreate && m.stack.Kind != store.KindReview {
			err = m.cannotCreate(in)
		}
		return set, err
	}
	if err := m.reviewable(in, key, id); err != nil {
		return "", err
	}
	var before *store.Revision
	if in.Kind == store.KindUpdate {
		inForce := m.standing()
		before = &inForce
	}
	found, err := m.planned(in, s, before)
	if err != nil {
		return "", err
	}
	if err := m.makeRoom(); err != nil {
		return "", err
	}
	row := store.ChangeSet{
		Stack: m.stack.Key, ID: m.dialect.changeSetID(&m.stack, in.Name, m.newID()), Name: in.Name, StackID: m.stack.ID, Kind: in.Kind,
		State: store.ChangeSetAvailable, Description: in.Description, Token: in.Token, Created: m.now,
		Base: m.stack.Operation, OnFailure: in.OnFailure, IncludeNested: in.IncludeNested,
		Import: in.Import, ImportExisting: in.ImportExisting,
		DisableRollback: in.DisableRollback,
		Body: &store.ChangeSetBody{
			Capabilities: in.Capabilities, RoleARN: cmp.Or(in.RoleARN, m.stack.RoleARN), Replace: in.Replace, Taint: in.Taint,
			RevertDrift: in.RevertDrift, Revert: in.Revert,
			Parallelism: in.Parallelism, TimeoutMinutes: in.TimeoutMinutes, Policy: in.Policy,
		},
	}
	if row.Body.Listed, err = in.importing.listedJSON(); err != nil {
		return "", err
	}
	switch {
	case found.asks.call != nil && in.importing != nil:
		return "", invalid("Resources cannot be imported by a change set whose template has macros.")
	case found.problem != "":
		row.State, row.Reason, row.Body.Revision = store.ChangeSetFailed, found.problem, found.revision
		row.Body.Changes = json.RawMessage("[]")
	case found.asks.call != nil:
		row.State, row.Body.Revision, row.Body.Changes = store.ChangeSetPreparing, found.revision, json.RawMessage("[]")
		p := s.preparation(&in.Options, in.Kind)
		p.ChangeSet = row.ID
		if err := m.askMacro(p, found.asks); err != nil {
			return "", err
		}
	default:
		if err := m.settleChangeSet(&row, found.draft); err != nil {
			return "", err
		}
		in.drawn = &found.draft
	}
	if in.family != nil {
		row.Parent, row.Root = in.family.parent, in.family.root
	}
	m.freeName(in.Name)
	m.delta.ChangeSets = append(m.delta.ChangeSets, row)
	return row.ID, nil
}

// freeName takes a name from the executed change set that has it, if one does.
func (m *machine) freeName(name string) {
	for _, id := range sortedKeys(m.view.ChangeSets) {
		if row := m.view.ChangeSets[id]; row.Name == name && !slices.Contains(m.delta.DropChangeSets, id) {
			row.FreeName()
			m.delta.ChangeSets = append(m.delta.ChangeSets, row)
		}
	}
}

// planned is what a change set that is made comes to: a problem, a macro that has to be asked first, or a draft.
type planned struct {
	problem string
	asks    expanded
	draft   draft
	// revision has what is known without the draft.
	revision store.Revision
}

func (m *machine) planned(in *CreateChangeSet, s *submission, before *store.Revision) (p planned, err error) {
	if s == nil {
		p.draft, err = m.draft(&in.Options, in.Kind, expanded{}, "")
		return p, err
	}
	if s.raw != nil {
		_, p.revision, _ = m.inputs(&in.Options, before)
		p.revision.Template, p.revision.Unprepared, p.revision.Number = s.text, true, 0
		p.revision.Stack = 0
		scope, err := m.bindRaw(&in.Options, s.raw, before)
		if err != nil {
			return p, err
		}
		p.revision.Parameters = bound(s.raw.Parameters, scope)
	}
	if p.problem = s.problem; p.problem != "" {
		return p, nil
	}
	if s.t != nil {
		if err := m.checkIdentities(s.t, in.Capabilities); err != nil {
			return p, err
		}
	}
	p.asks, err = m.expand(s, &in.Options, before)
	if told, ok := InputError(err); ok && s.raw != nil {
		p.problem = told.Message
		return p, nil
	}
	if err != nil || p.asks.call != nil {
		return p, err
	}
	p.draft, err = m.draft(&in.Options, in.Kind, p.asks, in.Template)
	if told, ok := InputError(err); ok && s.raw != nil {
		p.problem, err = told.Message, nil
	}
	return p, err
}

// settleChangeSet puts into a change set what it comes to.
func (m *machine) settleChangeSet(row *store.ChangeSet, drawn draft) (err error) {
	row.State, row.Body.Revision, row.Body.RoleARN = store.ChangeSetAvailable, drawn.revision, drawn.role
	row.Body.Imports = drawn.imports.resources
	switch words := m.dialect.texts(); {
	case drawn.imports.problem != "":
		row.State, row.Reason, drawn.changes = store.ChangeSetFailed, drawn.imports.problem, []plan.Change{}
	case row.Import:
		row.Reason = importReview
	case drawn.unchanged && drawn.revision.Processed != "":
		row.State, row.Reason = store.ChangeSetFailed, m.dialect.refusals().unchanged.Error()
	case drawn.unchanged:
		row.State, row.Reason = store.ChangeSetFailed, words.unchanged
	default:
		row.Reason = m.warning(drawn.changes, drawn.missing)
	}
	if row.Body.Changes, err = json.Marshal(drawn.changes); err != nil {
		return fmt.Errorf("write the changes of %s: %w", row.ID, err)
	}
	return nil
}

// changeSetPrepared settles a change set whose macros have run.
func (m *machine) changeSetPrepared(p preparation, e expanded) error {
	row := m.view.ChangeSets[p.ChangeSet]
	if row.Base != m.stack.Operation {
		return m.failChangeSet(row.ID, "The stack was changed while the macros of this change set ran. Create the change set again.")
	}
	drawn, err := m.draft(&p.Options, p.Kind, e, p.Template)
	if err != nil {
		return m.prepareFailedBy(p, err)
	}
	row.Body = &store.ChangeSetBody{Capabilities: p.Options.Capabilities}
	if err := m.settleChangeSet(&row, drawn); err != nil {
		return err
	}
	m.delta.ChangeSets = append(m.delta.ChangeSets, row)
	return nil
}

// failChangeSet settles a change set whose macros have failed.
func (m *machine) failChangeSet(id store.ChangeSetID, reason string) error {
	row := m.view.ChangeSets[id]
	row.State, row.Reason = store.ChangeSetFailed, strings.TrimSuffix(reason, ".")+"."
	m.delta.ChangeSets = append(m.delta.ChangeSets, row)
	return nil
}

// Bounds of what a change set says is going to fail: it is read with every decision on the stack. The changes say it all.
const (
	maxWarnings = 5
	maxWarning  = 300 // bytes of each
)

// warning says where the execution is going to fail, "" if nothing is known to be wrong. The service says none of it, except
// about imports of resources: that text is made for the clients that ask for property values.
func (m *machine) warning(changes []plan.Change, missing string) string {
	if m.fidelity == FidelityAWS {
		return ""
	}
	var problems []string
	more := 0
	for _, c := range changes {
		switch {
		case c.Import != "" && m.dialect.wire() == wire.CloudFormation:
			missing = ""
		case c.Problem == "":
		case len(problems) == maxWarnings:
			more++
		default:
			text := c.Problem
			if len(text) > maxWarning {
				text = strings.ToValidUTF8(text[:maxWarning], "") + "…"
			}
			problems = append(problems, c.LogicalID+": "+strings.TrimRight(text, ".;"))
		}
	}
	if problems == nil && missing != "" {
		problems = append(problems, missing) // from outputs
	}
	if problems == nil {
		return ""
	}
	if more > 0 {
		problems = append(problems, fmt.Sprintf("and %d more", more))
	}
	return "[WARN] The execution of this change set is going to fail. " + strings.Join(problems, "; ") + "."
}

// reviewable makes sure that a change set may be made on the stack. For a create it makes the stack, if there is none.
func (m *machine) reviewable(in *CreateChangeSet, key store.StackKey, id wire.StackID) error {
	switch {
	case in.Kind == store.KindUpdate:
		return m.checkUpdatable(true) // that it needs rollback to be disabled is told when it is executed
	case m.stack.Kind == store.KindReview && m.stack.Key != 0:
		return nil
	case m.stack.Key != 0:
		return m.cannotCreate(in)
	}
	m.stack = store.Stack{
		Key: key, ID: id, Account: in.Stack.Account, Region: in.Stack.Region, Name: in.Stack.Stack, Live: true,
		Dialect: m.dialect.Name(), Created: m.now, ResourceGroup: in.ResourceGroup,
	}
	if in.nested != nil {
		m.stack.Parent, m.stack.Root, m.stack.Depth = in.nested.parent.Stack, in.nested.root, in.nested.depth
	}
	m.open(store.PhaseSucceeded, store.Operation{Call: store.CallReview, Kind: store.KindReview})
	return nil
}

// takenCode is the code of the error of a change set whose name another one has.
func (m *machine) takenCode() Code {
	told, _ := InputError(m.dialect.refusals().changeSetTaken(""))
	return told.Code
}

// cannotCreate is the error of a set that is to create a stack which is there.
func (m *machine) cannotCreate(in *CreateChangeSet) error {
	if m.dialect != CloudFormation {
		return m.dialect.refusals().stackExists(m.stack.Name)
	}
	return invalid("Stack [" + in.Stack.Stack + "] already exists and cannot be created again with the changeSet [" + in.Name + "].")
}

// makeRoom keeps a stack's change sets within bounds. It removes the oldest one that nobody can execute any more: one that failed,
// because clients that deploy without a change leave them behind, or one that was executed and whose operation has ended.
func (m *machine) makeRoom() error {
	if len(m.view.ChangeSets) < maxChangeSets {
		return nil
	}
	var oldest *store.ChangeSet
	for _, id := range sortedKeys(m.view.ChangeSets) {
		row := m.view.ChangeSets[id]
		over := row.State == store.ChangeSetFailed ||
			!holdsName(&row, m.dialect) && (row.Operation != m.op.Number || m.op.Phase.Final())
		if over && (oldest == nil || row.Created.Before(oldest.Created)) {
			oldest = &row
		}
	}
	if oldest == nil {
		code := CodeLimitExceeded
		if m.dialect != CloudFormation {
			code = CodeNotSupported
		}
		return &Error{code, fmt.Sprintf("Stack [%s] has %d change sets, which is the most that is kept. "+
			"Execute one, or delete those that are not needed.", m.stack.Name, maxChangeSets)}
	}
	m.delta.DropChangeSets = append(m.delta.DropChangeSets, oldest.ID)
	return nil
}

// sameChangeSet answers a creation under a name that is taken: by the same request, or by another one.
func (m *machine) sameChangeSet(in *CreateChangeSet, s *submission, row *store.ChangeSet) (store.ChangeSetID, error) {
	mismatch, err := m.mismatch(in, s, row)
	switch {
	case err != nil:
		return "", err
	case mismatch != "":
		return "", &Error{m.takenCode(), "ChangeSet " + in.Name + " cannot be created due to a mismatch with existing attribute " + mismatch}
	case in.Token == "" || in.Token != row.Token:
		return "", m.dialect.refusals().changeSetTaken(in.Name)
	}
	return row.ID, nil
}

// mismatch names the first attribute in which a request differs from the one that made a change set, "" for none.
func (m *machine) mismatch(in *CreateChangeSet, s *submission, row *store.ChangeSet) (string, error) {
	body := row.Body
	if s != nil && in.Template != body.Revision.Template {
		return "Template", nil
	}
	// The stack's own may be another one by now, but then it is no change of the request.
	t, err := m.parsed.of(m.dialect.language(), &body.Revision)
	if err != nil {
		return "", fmt.Errorf("parse the template of %s: %w", row.ID, err)
	}
	// Values that were the previous ones are now those of the set.
	revision, _, err := m.bind(&in.Options, t, &body.Revision)
	if err != nil {
		return "", err
	}
	listed, err := in.importing.listedJSON()
	if err != nil {
		return "", err
	}
	for _, attribute := range []struct {
		name string
		same bool
	}{
		{"ChangeSetType", in.Kind == row.Kind},
		{"Parameters", revision.Parameters.Equal(body.Revision.Parameters)},
		{"Tags", slices.Equal(revision.Tags, body.Revision.Tags)},
		{"Capabilities", slices.Equal(in.Capabilities, body.Capabilities)},
		{"RoleARN", in.RoleARN == "" || in.RoleARN == body.RoleARN},
		{"NotificationARNs", in.NotificationARNs == nil || slices.Equal(in.NotificationARNs, body.Revision.NotificationARNs)},
		{"RollbackConfiguration", slices.Equal(revision.RollbackTriggers, body.Revision.RollbackTriggers) &&
			revision.MonitoringMinutes == body.Revision.MonitoringMinutes},
		{"Description", in.Description == row.Description},
		{"OnStackFailure", in.OnFailure == row.OnFailure},
		{"DeploymentConfig", in.DisableRollback == row.DisableRollback},
		{"IncludeNestedStacks", in.IncludeNested == row.IncludeNested},
		{"ReplacementOption", in.Replace == body.Replace},
		{"TaintResources", slices.Equal(in.Taint, body.Taint)},
		{"DeploymentMode", in.RevertDrift == body.RevertDrift},
		{"ResourcesToImport", in.Import == row.Import && bytes.Equal(listed, body.Listed)},
		{"ImportExistingResources", in.ImportExisting == row.ImportExisting},
		{"Parallelism", in.Parallelism == body.Parallelism},
		{"TimeoutInMinutes", in.TimeoutMinutes == body.TimeoutMinutes},
		{"StackPolicyBody", in.Policy == body.Policy},
	} {
		if !attribute.same {
			return attribute.name, nil
		}
	}
	return "", nil
}

// ExecuteChangeSet is what it takes to carry a change set out.
type ExecuteChangeSet struct {
	ChangeSet ChangeSetRef
	Token     string
	// DisableRollback leaves a stack that failed as it is. Not for a set that says itself what to do; nil is to say
	// nothing.
	DisableRollback *bool
	// Caller is who asks, as requests of ROS tell it.
	Caller string
	// RetainExceptOnCreate makes a rollback delete what the operation created, though its policy is Retain.
	RetainExceptOnCreate bool
}

// startChangeSet decides to carry a change set out. row is the set as it was found, body included, and before the operation
// of its execution, nil if it had none.
func (m *machine) startChangeSet(in *ExecuteChangeSet, row *store.ChangeSet, before *store.Operation) error {
	now, ok := m.view.ChangeSets[row.ID]
	if !ok {
		return m.dialect.refusals().noChangeSet(in.ChangeSet.Name)
	}
	call := store.CallUpdate
	if now.Kind == store.KindCreate {
		call = store.CallCreate
	}
	m.executing = row.ID
	if again, err := m.repeated(in.Token, call); again || err != nil {
		return err
	}
	op := &m.op
	if now.Operation != m.op.Number && before != nil {
		op = before
	}
	switch execution := executionOf(&now, &m.stack, op); {
	case execution == ExecutionUnavailable:
		return m.dialect.refusals().changeSetStatus(&now, "executed", m.dialect.ChangeSetStatus(now.State), false)
	case execution != ExecutionAvailable:
		return m.dialect.refusals().changeSetStatus(&now, "executed", m.dialect.ExecutionStatus(execution), true)
	case in.DisableRollback != nil && now.OnFailure != "":
		return invalid("You cannot specify DisableRollback for ChangeSet [" + string(row.ID) +
			"]: it was created with OnStackFailure " + now.OnFailure + ", which says what is done if it fails.")
	}
	disable := now.DisableRollback
	switch {
	case row.Import: // no stack is left in the middle of an import
		disable = false
	case now.Kind == store.KindUpdate && m.dialect.rules().updatesRevert:
		disable = false
	case now.OnFailure != "":
		disable = now.OnFailure == "DO_NOTHING"
	case in.DisableRollback != nil:
		disable = *in.DisableRollback
	}
	if now.Kind == store.KindUpdate {
		if err := m.checkUpdatable(disable); err != nil {
			return err
		}
	}
	if len(row.Body.Capabilities) > 0 { // otherwise those of the stack stay
		m.stack.Capabilities = row.Body.Capabilities
	}
	m.stack.RoleARN = row.Body.RoleARN
	if now.Kind == store.KindCreate || !m.dialect.rules().updatesRevert {
		m.stack.DisableRollback = disable
	}
	m.stack.ChangeSet = row.ID
	begun := store.Operation{
		Token: in.Token, DisableRollback: disable, RetainExceptOnCreate: in.RetainExceptOnCreate,
		DeleteOnFailure: now.OnFailure == "DELETE" && now.Kind == store.KindCreate,
		Import:          row.Import, Imports: row.Body.Imports,
		Caller: in.Caller, Parallelism: row.Body.Parallelism, Replace: row.Body.Replace, Taint: row.Body.Taint,
		Revert: row.Body.Revert,
	}
	if minutes := row.Body.TimeoutMinutes; now.Kind == store.KindCreate && minutes > 0 {
		m.stack.TimeoutMinutes = minutes
	}
	m.stack.Policy = cmp.Or(row.Body.Policy, m.stack.Policy) // an update itself goes by the one before
	if err := m.carryOut(row, row.Body.TimeoutMinutes, begun); err != nil {
		return err
	}
	if m.stack.Live || !m.dialect.rules().executedStay { // otherwise it has failed and is deleted with its stack
		m.dropChangeSets(row.ID)
		now.State, now.Operation, now.OperationID = store.ChangeSetExecuted, m.op.Number, m.op.ID
		m.delta.ChangeSets = append(m.delta.ChangeSets, now)
	}
	return nil
}

// carryOut begins the operation of a change set.
func (m *machine) carryOut(row *store.ChangeSet, timeoutMinutes int, op store.Operation) error {
	revision := row.Body.Revision
	revision.Stack, revision.Number = m.stack.Key, m.stack.Revisions+1
	t, err := m.parsed.of(m.dialect.language(), &revision)
	if err != nil {
		return fmt.Errorf("parse the template of %s: %w", row.ID, err)
	}
	scope := m.scopeOf(&revision)
	if err := m.fetch(t, scope, &revision); err != nil { // what it was when the set was made may have changed
		return err
	}
	if row.Kind == store.KindCreate {
		m.stack.Description, m.stack.Updated = t.Description, m.now
		return m.carryOutCreate(revision, plan.Side{Template: t, Scope: scope}, timeoutMinutes, op)
	}
	revision.Policy = m.view.Stack.Policy
	return m.carryOutUpdate(revision, t, timeoutMinutes, op)
}

// dropChangeSets removes the stack's change sets except one, and except those that were executed before where these hold no name:
// they stay readable by their ARNs. The view is whole.
func (m *machine) dropChangeSets(but store.ChangeSetID) {
	m.delta.DropChangeSets = nil
	for _, id := range sortedKeys(m.view.ChangeSets) {
		if row := m.view.ChangeSets[id]; id != but && holdsName(&row, m.dialect) {
			m.withdrawMacros(id)
			m.delta.DropChangeSets = append(m.delta.DropChangeSets, id)
		}
	}
}

// removeChangeSet decides to delete a change set. One that is gone already is no error.
func (m *machine) removeChangeSet(id store.ChangeSetID) error {
	row, ok := m.view.ChangeSets[id]
	if !ok {
		return nil
	}
	// The operation of another set than the newest has ended.
	if row.State == store.ChangeSetExecuted && row.Operation == m.op.Number && !m.op.Phase.Final() {
		return m.dialect.refusals().changeSetStatus(&row, "deleted", m.dialect.ExecutionStatus(ExecutionRunning), true)
	}
	m.withdrawMacros(id)
	m.delta.DropChangeSets = append(m.delta.DropChangeSets, id)
	return nil
}
