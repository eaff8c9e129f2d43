package engine

import (
	"context"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// CreateStack is the input of [Engine.Create].
type CreateStack struct {
	Options
	Name     store.StackName
	Template string
	// Dialect is the dialect of the new stack; nil means [CloudFormation].
	Dialect Dialect
	// TerminationProtection protects the stack against deletes from the start.
	TerminationProtection bool
	// DeleteOnFailure deletes the stack if its create fails. DisableRollback overrides it.
	DeleteOnFailure bool
	// TimeoutMinutes is the time limit of the create, after which it fails. 0 means no limit.
	TimeoutMinutes int
}

// Create starts the creation of a stack. Errors that the client can fix are of type [Error].
func (e *Engine) Create(ctx context.Context, in CreateStack) (Started, error) {
	dialect := dialectFor(in.Dialect, Ref{})
	s, err := e.submit(ctx, dialect, in.Name.Account, in.Name.Region, in.Template)
	if err == nil {
		err = s.acknowledged(dialect, in.Capabilities)
	}
	if err == nil {
		err = inDialect(dialect, checkPolicies(in.Policy))
	}
	if err != nil {
		return Started{}, err
	}
	key, err := newKey()
	if err != nil {
		return Started{}, err
	}
	id := dialect.stackID(in.Name, e.env.newID())
	return e.start(ctx, store.Target{Name: in.Name}, func(d *decision) error {
		d.useDialect(dialect)
		return creation{d}.start(&in, s, key, id)
	})
}

// creation starts the create of a stack.
type creation struct{ *decision }

// start decides the create of a stack.
func (d creation) start(in *CreateStack, s *submission, key store.StackKey, id wire.StackID) error {
	switch review := d.stack.Kind == store.KindReview && d.dialect == CloudFormation; {
	case d.stack.Key == 0:
		d.stack = store.Stack{
			Key: key, ID: id, Account: in.Name.Account, Region: in.Name.Region, Name: in.Name.Name, Live: true,
			Dialect: d.dialect.Name(), Created: d.now, ResourceGroup: in.ResourceGroup,
		}
	case !review:
		if again, _ := tokens(d).repeated(in.Token, store.CallCreate); again || nestedStack(d).repeated(in.nested) {
			return nil
		}
		return d.dialect.refusals().stackExists(in.Name.Name)
	}
	// A stack that only has change sets is created like one that does not exist: its change sets become obsolete.
	d.stack.Description = s.description()
	d.stack.TerminationProtection, d.stack.TimeoutMinutes = in.TerminationProtection, in.TimeoutMinutes
	if in.nested != nil {
		d.stack.Parent, d.stack.Root, d.stack.Depth = in.nested.parent.Stack, in.nested.root, in.nested.depth
	}
	d.applyOptions(&in.Options)
	if err := s.usable(); err != nil {
		return err
	}
	op := store.Operation{
		Token: in.Token, DisableRollback: in.DisableRollback, DeleteOnFailure: in.DeleteOnFailure && !in.DisableRollback,
		RetainExceptOnCreate: in.RetainExceptOnCreate, Parent: in.nested.row(), Caller: in.Caller, Parallelism: in.Parallelism,
		Imports: nestedChangeSets(d).imports(in.nested),
	}
	e, err := transforms(d).expand(s, &in.Options, nil)
	switch {
	case err != nil:
		return err
	case e.call != nil:
		if err := d.runMacros(in, s, e, op); err != nil {
			return err
		}
		nestedChangeSets(d).execute(in.nested)
		return nil
	}
	revision, to, err := binding(d).revise(&in.Options, e, in.Template, nil)
	if err == nil {
		err = binding(d).checkCapabilities(to.Template, in.Capabilities)
	}
	if err != nil {
		return err
	}
	if err := d.begin(revision, to, in.TimeoutMinutes, op); err != nil {
		return err
	}
	nestedChangeSets(d).execute(in.nested)
	return nil
}

// begin starts to create the resources of a revision. op holds the other options of the call.
func (d creation) begin(revision store.Revision, to plan.Side, timeoutMinutes int, op store.Operation) error {
	candidates, err := plan.Create(to)
	if err != nil {
		return refused(d.dialect, err)
	}
	d.addRevision(revision)
	op.Call, op.Kind, op.To = store.CallCreate, store.KindCreate, revision.Number
	crossStack(d).holdImports(&op)
	operation(d).open(store.PhaseApply, op)
	timers(d).limit(timeoutMinutes)
	return operation(d).begin(candidates)
}

// runMacros begins the create of a stack by running the macros of its template. Until the macros have run, clients
// see the submitted template and parameters.
func (d creation) runMacros(in *CreateStack, s *submission, e expanded, op store.Operation) error {
	_, revision, _ := binding(d).inputs(&in.Options, nil)
	revision.Template, revision.Unprepared = s.text, true
	revision.Parameters = bound(s.raw.Parameters, e.scope)
	d.addRevision(revision)
	op.Call, op.Kind, op.To = store.CallCreate, store.KindCreate, revision.Number
	operation(d).open(store.PhasePrepare, op)
	timers(d).limit(in.TimeoutMinutes)
	return macroRequests(d).send(s.preparation(&in.Options, store.KindCreate), e)
}
