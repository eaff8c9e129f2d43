package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// CreateChangeSet is the input of [Planner.CreateChangeSet]. The Token is that of this call. DisableRollback applies
// unless OnFailure or [ExecuteChangeSet] overrides it.
type CreateChangeSet struct {
	Options
	Stack Ref
	Name  string
	// Dialect is the dialect of a stack that does not exist yet; nil means [CloudFormation].
	Dialect Dialect
	// Replace and Taint are options of the update, see [UpdateStack].
	Replace bool
	Taint   []wire.LogicalID
	// RevertDrift makes the set undo drift. Revert lists the drifted resources of the stack. The set updates those
	// that the template still declares, even though their declarations have not changed.
	RevertDrift bool
	Revert      []wire.LogicalID
	// TimeoutMinutes is the time limit of the operation; 0 means no limit. Only for ROS.
	TimeoutMinutes int
	// Kind is KindCreate for a stack that does not exist or that another such set created, and KindUpdate for an
	// existing one.
	Kind store.Kind
	// Template is the text. UsePrevious uses the stack's own text instead.
	Template    string
	UsePrevious bool
	Description string
	// OnFailure is DO_NOTHING, ROLLBACK, DELETE (only for a create), or "" to leave the choice to the execution.
	OnFailure     string
	IncludeNested bool
	// Import makes the set import the existing resources in Resources, and do nothing else. The engine then
	// determines Kind and ignores the caller's. ImportExisting imports added resources that already exist.
	Import         bool
	Resources      []ImportResource
	ImportExisting bool

	// family is the tree of change sets that the set belongs to, nil for a set on its own.
	family *planning
	// drawn is the planned draft, nil if the call does not settle the set.
	drawn *draft
}

// Planned identifies a new change set.
type Planned struct {
	ID      store.ChangeSetID
	StackID wire.StackID
}

// errStale reports that the state has changed since a decision was prepared, so the decision has to be prepared again.
var errStale = errors.New("the change set has changed meanwhile")

// Planner plans changes, and executes and deletes the plans: change sets, including those of nested stacks, and
// previews.
type Planner struct{ *runner }

// CreateChangeSet plans a create or an update. When it returns, the set is settled: it can be executed, or it has
// failed because nothing changes. Errors that the client can fix are of type [Error].
func (p Planner) CreateChangeSet(ctx context.Context, in CreateChangeSet) (Planned, error) {
	return p.createChangeSet(ctx, &in)
}

func (p Planner) createChangeSet(ctx context.Context, in *CreateChangeSet) (Planned, error) {
	var s *submission // nil: the previous one
	var err error
	dialect := dialectFor(in.Dialect, in.Stack)
	in.replace, in.taint, in.forced = in.Replace, in.Taint, in.Revert
	if err := p.prepareImport(ctx, in); err != nil {
		return Planned{}, err
	}
	if in.UsePrevious && in.Kind == store.KindCreate {
		return Planned{}, inDialect(dialect, invalid("A stack that is to be created has no previous template: give the template."))
	}
	if in.OnFailure == "DELETE" && in.Kind != store.KindCreate {
		return Planned{}, invalid("OnStackFailure DELETE is for change sets of type CREATE only.")
	}
	if err := checkPolicies(in.Policy); err != nil {
		return Planned{}, inDialect(dialect, err)
	}
	if !in.UsePrevious {
		if s, err = Checker(p).submit(ctx, dialect, in.Stack.Account, in.Stack.Region, in.Template); err != nil {
			return Planned{}, err
		}
	}
	key, err := newKey()
	if err != nil {
		return Planned{}, err
	}
	id := dialect.stackID(store.StackName{Account: in.Stack.Account, Region: in.Stack.Region, Name: in.Stack.Stack}, p.env.newID())
	asking, stop := in.family.asked(), func() {}
	if asking == nil {
		asking, stop = p.asking(ctx)
	}
	defer stop()
	in.asking = asking
	for {
		target, existing, err := p.prepare(ctx, in)
		if err != nil {
			return Planned{}, err
		}
		var planned Planned
		err = p.apply(ctx, target, func(d *decision) error {
			d.useDialect(dialect)
			set, err := changeSets{d}.create(in, s, existing, key, id)
			planned = Planned{ID: set, StackID: d.stack.ID}
			return err
		})
		if errors.Is(err, errStale) {
			continue
		}
		if errors.Is(err, errQuestions) && ctx.Err() == nil {
			asking.ask()
			continue
		}
		if err == nil && in.IncludeNested && dialect == CloudFormation {
			err = p.planNested(ctx, in, planned.ID)
		}
		return planned, err
	}
}

// prepareImport determines whether an import is into a new stack.
func (p Planner) prepareImport(ctx context.Context, in *CreateChangeSet) error {
	if in.ImportExisting {
		in.importing = &importRequest{}
	}
	if !in.Import {
		return nil
	}
	if in.OnFailure == "DELETE" || in.OnFailure == "DO_NOTHING" {
		return invalid("OnStackFailure " + in.OnFailure + " is not for change sets of type IMPORT: an import that fails is always rolled back.")
	}
	in.importing = &importRequest{only: true, listed: in.Resources}
	stack, err := p.Find(ctx, in.Stack)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if in.Kind = store.KindUpdate; err != nil || !stack.Live || stack.Kind == store.KindReview {
		in.Kind = store.KindCreate
	}
	return nil
}

// prepare returns the stack for a change set, and the existing set with the same name, or nil.
func (p Planner) prepare(ctx context.Context, in *CreateChangeSet) (store.Target, *store.ChangeSet, error) {
	stack, err := p.Find(ctx, in.Stack)
	missing := errors.Is(err, store.ErrNotFound) || err == nil && !stack.Live
	switch {
	case missing && in.Kind == store.KindCreate && !in.Stack.ByID && !strings.HasPrefix(in.Stack.Stack, "arn:"):
		name := store.StackName{Account: in.Stack.Account, Region: in.Stack.Region, Name: in.Stack.Stack}
		return store.Target{Name: name}, nil, nil
	case missing:
		return store.Target{}, nil, noStack(in.Stack)
	case err != nil:
		return store.Target{}, nil, err
	}
	row, err := p.named(ctx, &stack, in.Name)
	if errors.Is(err, store.ErrNotFound) || err == nil && !answersFor(&row, in, dialectOf(&stack)) {
		return store.Target{Stack: stack.Key}, nil, nil
	}
	return store.Target{Stack: stack.Key}, &row, err
}

// changeSets creates change sets.
type changeSets struct{ *decision }

// create decides the creation of a change set and settles it, unless macros have to run first. existing is the set
// with the same name that was found before, or nil. If it is not the current one, the error is errStale. key and id
// are for a new stack.
func (d changeSets) create(
	in *CreateChangeSet, s *submission, existing *store.ChangeSet, key store.StackKey, id wire.StackID,
) (store.ChangeSetID, error) {
	same := store.ChangeSetID("")
	for _, id := range sortedKeys(d.view.ChangeSets) {
		row, known := d.view.ChangeSets[id], d.view.ChangeSets[same]
		if row.GivenName() == in.Name && answersFor(&row, in, d.dialect) && (same == "" || comesBefore(&row, &known, d.dialect)) {
			same = id
		}
	}
	gone := d.stack.Key != 0 && !d.stack.Live
	if gone || existing == nil && same != "" || existing != nil && same != existing.ID {
		return "", errStale
	}
	if existing != nil {
		set, err := d.repeat(in, s, existing)
		if inputErr, ok := InputError(err); ok && inputErr.Code == d.takenCode() && in.Kind == store.KindCreate && d.stack.Kind != store.KindReview {
			err = d.cannotCreate(in)
		}
		return set, err
	}
	if err := d.checkStack(in, key, id); err != nil {
		return "", err
	}
	var before *store.Revision
	if in.Kind == store.KindUpdate {
		inForce := d.revisionInForce()
		before = &inForce
	}
	found, err := d.plan(in, s, before)
	if err != nil {
		return "", err
	}
	if err := d.makeRoom(); err != nil {
		return "", err
	}
	row := store.ChangeSet{
		Stack: d.stack.Key, ID: d.dialect.changeSetID(&d.stack, in.Name, d.newID()), Name: in.Name, StackID: d.stack.ID, Kind: in.Kind,
		State: store.ChangeSetAvailable, Description: in.Description, Token: in.Token, Created: d.now,
		Base: d.stack.Operation, OnFailure: in.OnFailure, IncludeNested: in.IncludeNested,
		Import: in.Import, ImportExisting: in.ImportExisting,
		DisableRollback: in.DisableRollback,
		Body: &store.ChangeSetBody{
			Capabilities: in.Capabilities, RoleARN: cmp.Or(in.RoleARN, d.stack.RoleARN), Replace: in.Replace, Taint: in.Taint,
			RevertDrift: in.RevertDrift, Revert: in.Revert,
			Parallelism: in.Parallelism, TimeoutMinutes: in.TimeoutMinutes, Policy: in.Policy,
		},
	}
	if row.Body.Listed, err = in.importing.listedJSON(); err != nil {
		return "", err
	}
	switch {
	case found.asks.call != nil && in.Import:
		return "", invalid("A change set of type IMPORT cannot have a template with macros. Use ImportExistingResources.")
	case found.problem != "":
		row.State, row.Reason, row.Body.Revision = store.ChangeSetFailed, found.problem, found.revision
		row.Body.Changes = json.RawMessage("[]")
	case found.asks.call != nil:
		row.State, row.Body.Revision, row.Body.Changes = store.ChangeSetPreparing, found.revision, json.RawMessage("[]")
		p := s.preparation(&in.Options, in.Kind)
		p.ChangeSet, p.ImportExisting = row.ID, in.ImportExisting
		options := *row.Body
		options.Revision, options.Changes = store.Revision{}, nil // the macros determine them
		p.Body = &options
		if err := macroRequests(d).send(p, found.asks); err != nil {
			return "", err
		}
	default:
		if err := d.settle(&row, found.draft); err != nil {
			return "", err
		}
		in.drawn = &found.draft
	}
	if in.family != nil {
		row.Parent, row.Root = in.family.parent, in.family.root
	}
	d.freeName(in.Name)
	d.delta.ChangeSets = append(d.delta.ChangeSets, row)
	return row.ID, nil
}

// freeName releases a name that an executed change set has.
func (d changeSets) freeName(name string) {
	for _, id := range sortedKeys(d.view.ChangeSets) {
		if row := d.view.ChangeSets[id]; row.Name == name && !slices.Contains(d.delta.DropChangeSets, id) {
			row.FreeName()
			d.delta.ChangeSets = append(d.delta.ChangeSets, row)
		}
	}
}

// planned is the result of planning a change set: a problem, a macro to call first, or a draft.
type planned struct {
	problem string
	asks    expanded
	draft   draft
	// revision has the fields that are known without the draft.
	revision store.Revision
}

func (d changeSets) plan(in *CreateChangeSet, s *submission, before *store.Revision) (p planned, err error) {
	if s == nil {
		p.draft, err = drafts(d).draw(&in.Options, in.Kind, expanded{}, "")
		return p, err
	}
	if s.raw != nil {
		_, p.revision, _ = binding(d).inputs(&in.Options, before)
		p.revision.Template, p.revision.Unprepared, p.revision.Number = s.text, true, 0
		p.revision.Stack = 0
		scope, err := transforms(d).bind(&in.Options, s.raw, before)
		if err != nil {
			return p, err
		}
		p.revision.Parameters = bound(s.raw.Parameters, scope)
	}
	if p.problem = s.problem; p.problem != "" {
		return p, nil
	}
	if s.t != nil {
		if err := binding(d).checkCapabilities(s.t, in.Capabilities); err != nil {
			return p, err
		}
	}
	p.asks, err = transforms(d).expand(s, &in.Options, before)
	if inputErr, ok := InputError(err); ok && s.raw != nil {
		p.problem = inputErr.Message
		return p, nil
	}
	if err != nil || p.asks.call != nil {
		return p, err
	}
	p.draft, err = drafts(d).draw(&in.Options, in.Kind, p.asks, in.Template)
	if inputErr, ok := InputError(err); ok && s.raw != nil {
		p.problem, err = inputErr.Message, nil
	}
	return p, err
}

// settle stores the result of planning in a change set.
func (d changeSets) settle(row *store.ChangeSet, drawn draft) (err error) {
	row.State, row.Body.Revision, row.Body.RoleARN = store.ChangeSetAvailable, drawn.revision, drawn.role
	row.Body.Imports = drawn.imports.resources
	switch words, refused := d.dialect.texts(), planRefusals(drawn.changes); {
	case drawn.imports.problem != "":
		row.State, row.Reason, drawn.changes = store.ChangeSetFailed, drawn.imports.problem, []plan.Change{}
	case refused != "":
		row.State, row.Reason, drawn.changes = store.ChangeSetFailed, refused, []plan.Change{}
	case row.Import:
		row.Reason = importReview
	case drawn.unchanged && drawn.revision.Processed != "":
		row.State, row.Reason = store.ChangeSetFailed, d.dialect.refusals().unchanged.Error()
	case drawn.unchanged:
		row.State, row.Reason = store.ChangeSetFailed, words.unchanged
	default:
		row.Reason = strings.Join(slices.DeleteFunc([]string{
			d.warning(drawn.changes, drawn.missing), planReplacements(drawn.changes), drawn.imports.notice(),
		}, func(text string) bool { return text == "" }), " ")
	}
	if row.Body.Changes, err = json.Marshal(drawn.changes); err != nil {
		return fmt.Errorf("write the changes of %s: %w", row.ID, err)
	}
	return nil
}

// resume settles a change set whose macros have run.
func (d changeSets) resume(p preparation, e expanded) error {
	row := d.view.ChangeSets[p.ChangeSet]
	if row.Base != d.stack.Operation {
		return d.fail(row.ID, "The stack was changed while the macros of this change set ran. Create the change set again.")
	}
	row.Body = &store.ChangeSetBody{Capabilities: p.Options.Capabilities}
	if p.Body != nil { // nil in a request of an earlier version
		row.Body = p.Body
	}
	p.Options.replace, p.Options.taint, p.Options.forced = row.Body.Replace, row.Body.Taint, row.Body.Revert
	drawn, err := drafts(d).draw(&p.Options, p.Kind, e, p.Template)
	if err != nil {
		return macros(d).failBy(p, err)
	}
	if err := d.settle(&row, drawn); err != nil {
		return err
	}
	d.delta.ChangeSets = append(d.delta.ChangeSets, row)
	return nil
}

// fail settles a change set whose macros have failed.
func (d changeSets) fail(id store.ChangeSetID, reason string) error {
	row := d.view.ChangeSets[id]
	row.State, row.Reason = store.ChangeSetFailed, strings.TrimSuffix(reason, ".")+"."
	d.delta.ChangeSets = append(d.delta.ChangeSets, row)
	return nil
}

// Bounds of the warning of a change set, because every decision on the stack reads it. The changes contain the full
// texts.
const (
	maxWarnings = 5
	maxWarning  = 300 // bytes of each
)

// warning describes the problems that the execution will run into, "" if none is known. With [FidelityAWS] it is
// empty, because the service does not warn. It leaves out a missing import of a resource: that text is only for
// clients that ask for property values.
func (d changeSets) warning(changes []plan.Change, missing string) string {
	if d.fidelity == FidelityAWS {
		return ""
	}
	imported := func(c plan.Change) bool { return c.Import != "" && d.dialect.wire() == wire.CloudFormation }
	problems := excerpts(changes, ": ", func(c *plan.Change) string {
		if imported(*c) {
			return ""
		}
		return c.Problem
	})
	switch {
	case problems != "":
	case missing != "" && !slices.ContainsFunc(changes, imported):
		problems = missing // from outputs
	default:
		return ""
	}
	return "[WARN] The execution of this change set is going to fail. " + problems + "."
}

// excerpts joins a text of each change that has one, behind its logical ID and a lead: at most [maxWarnings], each shortened to
// [maxWarning], and how many more there are. It returns "" if no change has a text.
func excerpts(changes []plan.Change, lead string, text func(*plan.Change) string) string {
	var list []string
	more := 0
	for i := range changes {
		c := &changes[i]
		switch full := text(c); {
		case full == "":
		case len(list) == maxWarnings:
			more++
		default:
			list = append(list, c.LogicalID+lead+shortWarning(full))
		}
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// shortWarning shortens one text to [maxWarning].
func shortWarning(text string) string {
	if len(text) > maxWarning {
		text = strings.ToValidUTF8(text[:maxWarning], "") + "…"
	}
	return strings.TrimRight(text, ".;")
}

// checkStack checks that a change set may be created on the stack. For a create it adds a stack that does not exist.
func (d changeSets) checkStack(in *CreateChangeSet, key store.StackKey, id wire.StackID) error {
	switch {
	case in.Kind == store.KindUpdate:
		return update(d).check(true) // the execution reports that the update needs rollback disabled
	case d.stack.Kind == store.KindReview && d.stack.Key != 0:
		return nil
	case d.stack.Key != 0:
		return d.cannotCreate(in)
	}
	d.stack = store.Stack{
		Key: key, ID: id, Account: in.Stack.Account, Region: in.Stack.Region, Name: in.Stack.Stack, Live: true,
		Dialect: d.dialect.Name(), Created: d.now, ResourceGroup: in.ResourceGroup,
	}
	if in.nested != nil {
		d.stack.Parent, d.stack.Root, d.stack.Depth = in.nested.parent.Stack, in.nested.root, in.nested.depth
	}
	operation(d).open(store.PhaseSucceeded, store.Operation{Call: store.CallReview, Kind: store.KindReview})
	return nil
}

// makeRoom limits the number of a stack's change sets. It removes the oldest one that can no longer be executed: one
// that failed, because clients that deploy without a change leave those behind, or one whose execution has finished.
func (d changeSets) makeRoom() error {
	if len(d.view.ChangeSets) < maxChangeSets {
		return nil
	}
	var oldest *store.ChangeSet
	for _, id := range sortedKeys(d.view.ChangeSets) {
		row := d.view.ChangeSets[id]
		over := row.State == store.ChangeSetFailed ||
			!holdsName(&row, d.dialect) && (row.Operation != d.op.Number || d.op.Phase.Final())
		if over && (oldest == nil || row.Created.Before(oldest.Created)) {
			oldest = &row
		}
	}
	if oldest == nil {
		code := CodeLimitExceeded
		if d.dialect != CloudFormation {
			code = CodeNotSupported
		}
		return &Error{code, fmt.Sprintf("Stack [%s] has %d change sets, which is the most that is kept. "+
			"Execute one, or delete those that are not needed.", d.stack.Name, maxChangeSets)}
	}
	d.delta.DropChangeSets = append(d.delta.DropChangeSets, oldest.ID)
	return nil
}
