package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// UpdateStack is the input of [Engine.Update].
type UpdateStack struct {
	Options
	Stack Ref
	// Template is the new text. UsePrevious uses the stack's own text instead.
	Template    string
	UsePrevious bool
	// PolicyDuring is the stack policy for this update alone; empty means the stack's own.
	PolicyDuring string
	// Replace deletes resources that cannot be updated and creates them again, in that order. Taint does the same for
	// the resources that it names, even if they have not changed. Only for ROS, which never replaces resources
	// otherwise.
	Replace bool
	Taint   []wire.LogicalID
	// Again are custom resources that get an Update even if their properties have not changed. OldResourceProperties
	// then equals ResourceProperties. [AllCustom] stands for all custom resources of the template, but not those of
	// nested stacks. Update returns an [Error] if one of them is not a custom resource of the template, and always with
	// [FidelityAWS], because AWS sends no such Update. The message of this error begins with [NoUpdateAgain].
	Again []wire.LogicalID
	// TimeoutMinutes is the time limit of the update, after which it fails and is rolled back. 0 means no limit. Only
	// for ROS.
	TimeoutMinutes int
}

// Update starts an update. Errors that the client can fix are of type [Error].
func (e *Engine) Update(ctx context.Context, in UpdateStack) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	if err := checkPolicies(in.Policy, in.PolicyDuring); err != nil {
		return Started{}, inDialect(in.Stack.dialect(), err)
	}
	var s *submission // nil: the previous template
	if !in.UsePrevious {
		if s, err = e.submit(ctx, in.Stack.dialect(), in.Stack.Account, in.Stack.Region, in.Template); err != nil {
			return Started{}, err
		}
		if err := s.acknowledged(in.Stack.dialect(), in.Capabilities); err != nil {
			return Started{}, err
		}
	}
	return e.start(ctx, target, func(d *decision) error { return update{d}.start(&in, s) })
}

// update starts the update of a stack.
type update struct{ *decision }

// start decides an update to a submitted template; s is nil for the current template.
func (d update) start(in *UpdateStack, s *submission) error {
	if again, err := tokens(d).repeated(in.Token, store.CallUpdate); again || err != nil {
		return err
	}
	if nestedStack(d).repeated(in.nested) {
		return nil
	}
	if err := d.check(in.DisableRollback || in.nested != nil); err != nil {
		return err
	}
	if err := again(d).allowed(in.Again); err != nil {
		return err
	}
	before := d.revisionInForce()
	if s == nil && before.Unprepared {
		return errUnprepared
	}
	from, err := d.side(before.Number)
	if err != nil {
		return err
	}
	d.applyOptions(&in.Options)
	if d.dialect.rules().updatesRevert {
		d.stack.DisableRollback = d.view.Stack.DisableRollback // that of the create
		in.DisableRollback = false
	}
	op := store.Operation{
		Token: in.Token, DisableRollback: in.DisableRollback, RetainExceptOnCreate: in.RetainExceptOnCreate, Parent: in.nested.row(),
		Caller: in.Caller, Parallelism: in.Parallelism, Replace: in.Replace, Taint: in.Taint,
		Forced: distinct(in.Again), Imports: nestedChangeSets(d).imports(in.nested),
	}
	policy := cmp.Or(in.PolicyDuring, d.view.Stack.Policy)
	text := before.Template
	e, err := transforms(d).ofRevision(&before, from.Template)
	if err != nil {
		return err
	}
	if s != nil {
		if err := s.usable(); err != nil {
			return err
		}
		text = in.Template
		if e, err = transforms(d).expand(s, &in.Options, &before); err != nil {
			return err
		}
	}
	if e.call != nil {
		if err := d.runMacros(in, s, e, op, policy); err != nil {
			return err
		}
		nestedChangeSets(d).execute(in.nested)
		return nil
	}
	revision, to, err := binding(d).revise(&in.Options, e, text, &before)
	if err == nil {
		err = binding(d).checkCapabilities(to.Template, in.Capabilities)
	}
	if err != nil {
		return err
	}
	revision.Policy = policy
	if err := d.checkTaint(in.Taint, to); err != nil {
		return err
	}
	if op.Forced, err = again(d).named(in.Again, to); err != nil {
		return err
	}
	if !d.leftFailed() && in.Taint == nil && in.Again == nil && unchanged(&before, &revision, from, to) && !nestedRequests(d).nests(to) {
		return d.dialect.refusals().unchanged
	}
	if err := d.begin(revision, to.Template, in.TimeoutMinutes, op); err != nil {
		return err
	}
	nestedChangeSets(d).execute(in.nested)
	return nil
}

// errUnprepared rejects the reuse of a template whose macros failed during a create.
var errUnprepared = invalid("The macros of the previous template have not run, so that it cannot be used again. Give the template.")

// unchanged reports whether a revision differs from the previous one in nothing that requires an update.
func unchanged(before, after *store.Revision, from, to plan.Side) bool {
	return slices.Equal(before.Tags, after.Tags) && before.Parameters.Equal(after.Parameters) && before.Outside.Equal(after.Outside) &&
		slices.Equal(before.NotificationARNs, after.NotificationARNs) && slices.Equal(before.RollbackTriggers, after.RollbackTriggers) &&
		before.MonitoringMinutes == after.MonitoringMinutes && !plan.Differs(from, to)
}

// begin starts to update the stack to a revision. op holds the other options of the call.
func (d update) begin(revision store.Revision, t *template.Template, timeoutMinutes int, op store.Operation) error {
	candidates, err := d.plan(revision, t, &op)
	if err != nil {
		return err
	}
	operation(d).open(store.PhaseApply, op)
	d.stack.Updated = d.now
	timers(d).limit(timeoutMinutes)
	return operation(d).begin(candidates)
}

// plan adds the new revision, and returns the plan of op, which it completes.
func (d update) plan(revision store.Revision, t *template.Template, op *store.Operation) ([]plan.Candidate, error) {
	op.Call, op.Kind, op.From, op.To = store.CallUpdate, store.KindUpdate, d.stack.Revision, revision.Number
	if d.leftFailed() || d.op.Retry {
		op.From, op.Tried = d.op.From, append([]int{d.op.To}, d.op.Tried...)
	}
	d.addRevision(revision)
	d.templates[revision.Number] = t
	var err error
	if op.Tried, err = tries(d).needed(op); err != nil {
		return nil, refused(d.dialect, err)
	}
	crossStack(d).holdImports(op)
	candidates, err := tries(d).plan(op)
	if err == nil {
		err = d.checkTypes(candidates)
	}
	if err != nil {
		return nil, refused(d.dialect, err)
	}
	return candidates, nil
}

// runMacros begins the update of a stack by running the macros of a template. Until they have run, the stack does not
// change.
func (d update) runMacros(in *UpdateStack, s *submission, e expanded, op store.Operation, policy string) error {
	op.Call, op.Kind, op.From, op.To = store.CallUpdate, store.KindUpdate, d.stack.Revision, d.stack.Revision
	stood := d.op.Stood
	if d.stack.Phase == store.PhaseFailed {
		op.Retry, op.From, op.To, op.Tried = true, d.op.From, d.op.To, d.op.Tried
	}
	operation(d).open(store.PhasePrepare, op)
	if op.Retry {
		d.op.Stood = stood
	}
	d.stack.Updated = d.now
	p := s.preparation(&in.Options, store.KindUpdate)
	p.Policy = policy
	return macroRequests(d).send(p, e)
}

// leftFailed reports whether the last operation failed without a complete rollback. The stack is then at neither its
// old nor its new revision.
func (d update) leftFailed() bool {
	return d.stack.Phase == store.PhaseFailed || d.stack.Phase == store.PhaseRevertFailed
}

// check rejects an update unless the stack is idle in a status that allows one. After a failure without a rollback,
// rollback has to be disabled, because the stack has no complete state to return to.
func (d update) check(disableRollback bool) error {
	switch d.stack.Phase {
	case store.PhaseSucceeded:
		if d.stack.Kind == store.KindCreate || d.stack.Kind == store.KindUpdate || d.stack.Kind == store.KindImport {
			return nil
		}
	case store.PhaseReverted:
		if d.stack.Kind == store.KindUpdate || d.stack.Kind == store.KindImport && d.op.From != 0 {
			return nil
		}
	case store.PhaseFailed:
		if d.stack.Kind == store.KindDelete {
			break
		}
		if d.dialect.rules().updatesRevert {
			break
		}
		if !disableRollback {
			return d.dialect.refusals().notUndone(&d.stack, d.status())
		}
		return nil
	case store.PhaseRevertFailed:
		if d.stack.Kind == store.KindUpdate && d.dialect.rules().updatesRevert {
			return nil // otherwise it could only be deleted
		}
	case store.PhasePrepare, store.PhaseApply, store.PhaseCleanup, store.PhaseRevert, store.PhaseRevertCleanup:
	}
	return d.refuse()
}

func (d update) refuse() error {
	if d.stack.Phase.Final() {
		return d.dialect.refusals().atRest(&d.stack, d.status(), "updated")
	}
	return d.dialect.refusals().busy(&d.stack, &d.op, d.status(), "updated")
}

// checkTypes rejects a change of type for a resource that a failed operation left.
func (d update) checkTypes(candidates []plan.Candidate) error {
	var changed []string
	for _, c := range candidates {
		i := d.current(wire.LogicalID(c.Logical))
		if c.New != nil && i != nil && !i.Unborn() && i.Body.Type != c.New.Type {
			changed = append(changed, c.Logical)
		}
	}
	if changed == nil {
		return nil
	}
	slices.Sort(changed)
	return &plan.TypeError{Resources: changed}
}

// checkTaint rejects the replacement of resources that do not exist.
func (d update) checkTaint(named []wire.LogicalID, to plan.Side) error {
	var missing []wire.LogicalID
	for _, logical := range named {
		if to.Template.Resource(string(logical)) == nil {
			missing = append(missing, logical)
		}
	}
	if missing == nil {
		return nil
	}
	return noResource(missing, &d.stack)
}
