package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// RollbackStack is what it takes to roll back a stack that was left as it was when it failed.
type RollbackStack struct {
	Stack Ref
	Token string
	// RoleARN is kept with the stack; empty leaves the one it has.
	RoleARN string
	// RetainExceptOnCreate deletes what was created since the stack last stood, though its policy is Retain.
	RetainExceptOnCreate bool
}

// Rollback rolls back a stack whose create or update failed and was left as it was. Errors that the client can fix are of
// type [Error].
func (e *Engine) Rollback(ctx context.Context, in RollbackStack) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	return e.start(ctx, target, func(d *decision) error { return rollback{d}.start(&in) })
}

// ContinueRollback is what it takes to go on with the rollback of an update.
type ContinueRollback struct {
	Stack Ref
	Token string
	// RoleARN is kept with the stack; empty leaves the one it has.
	RoleARN string
	// Skip are resources to be taken as rolled back without a call: their rollback has failed. Force takes all of those so,
	// and whichever fails from now on. Only one of the two may be given.
	Skip  []wire.LogicalID
	Force bool

	// nested says for which request of which parent; nil for none.
	nested *nesting
}

// ContinueRollback goes on with the rollback of an update that could not be rolled back. Errors that the client can fix
// are of type [Error].
func (e *Engine) ContinueRollback(ctx context.Context, in ContinueRollback) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	return e.start(ctx, target, func(d *decision) error { return rollback{d}.resume(&in) })
}

// rollback starts the rollback that a client or a parent stack asks for.
type rollback struct{ *decision }

// start decides to roll back a create or an update that failed and was left.
func (d rollback) start(in *RollbackStack) error {
	if again, err := tokens(d).repeated(in.Token, store.CallRollback); again || err != nil {
		return err
	}
	if d.stack.Kind == store.KindDelete || d.stack.Phase != store.PhaseFailed {
		return invalid("RollbackStack cannot be called from current stack status")
	}
	op := store.Operation{Call: store.CallRollback, Token: in.Token, RetainExceptOnCreate: in.RetainExceptOnCreate}
	return d.begin(op, in.RoleARN, skipsNone, nil)
}

// resume continues a rollback that failed. It visits every resource: unchanged ones need no request, those that failed or waited
// for them get one.
func (d rollback) resume(in *ContinueRollback) error {
	if again, err := tokens(d).repeated(in.Token, store.CallContinue); again || err != nil {
		return err
	}
	imports := d.stack.Kind == store.KindImport && d.op.From != 0
	if d.stack.Kind != store.KindUpdate && !imports || d.stack.Phase != store.PhaseRevertFailed {
		return invalid("RollbackUpdatedStack cannot be called from current stack status") // the call's old name
	}
	own, within, unknown := d.splitSkip(in.Skip)
	if err := d.checkSkip(in, own, unknown); err != nil {
		return err
	}
	skip := func(i *store.Instance) bool {
		return i.Stuck && (in.Force || slices.Contains(own, i.Logical))
	}
	op := store.Operation{
		Call: store.CallContinue, Token: in.Token, Force: in.Force, RetainExceptOnCreate: d.op.RetainExceptOnCreate,
		Parent: in.nested.row(),
	}
	return d.begin(op, in.RoleARN, skip, within)
}

func skipsNone(*store.Instance) bool { return false }

// begin starts an operation that undoes the one before. The steps of that one no longer exist, so it visits every resource. within are
// the resources to skip in nested stacks.
func (d rollback) begin(
	op store.Operation, role string, skip func(*store.Instance) bool, within map[wire.LogicalID][]string,
) error {
	op.Kind, op.From, op.To, op.Tried, op.Import = d.op.Kind, d.op.From, d.op.To, d.op.Tried, d.op.Import
	if op.From == 0 {
		op.Kind = store.KindCreate // the stack never stood: there is nothing to go back to
	}
	candidates, err := tries(d).plan(&op)
	if err != nil {
		return err
	}
	if role != "" {
		d.stack.RoleARN = role
	}
	operation(d).open(store.PhaseRevert, op)
	if err := scheduler(d).addSteps(candidates); err != nil {
		return err
	}
	phases(d).scheduleRollback()
	phases(d).revisitAll()
	for _, s := range d.sortedSteps() {
		if i := d.current(s.Logical); i != nil {
			s.Skip, s.Within = skip(i), within[s.Logical]
		}
	}
	return scheduler(d).run()
}

func (d rollback) checkSkip(in *ContinueRollback, own []wire.LogicalID, wrong []string) error {
	if in.Force && len(in.Skip) > 0 {
		return invalid("You can specify either ForceRollback or ResourcesToSkip, but not both")
	}
	for _, logical := range own {
		if i := d.current(logical); i == nil || !i.Stuck {
			wrong = append(wrong, string(logical))
		}
	}
	if wrong == nil {
		return nil
	}
	return invalid("ResourcesToSkip: [" + strings.Join(wrong, ", ") + "] cannot be skipped. Specify only resources that are in " +
		"the UPDATE_FAILED state because their rollback failed.")
}

// splitSkip sorts out which of the resources that a client wants skipped are those of nested stacks, NESTED.RESOURCE, where
// NESTED is the logical ID or the name of the nested stack, or the name of one that is nested in it. It returns the others.
func (d rollback) splitSkip(skip []wire.LogicalID) (own []wire.LogicalID, nested map[wire.LogicalID][]string, unknown []string) {
	nested = map[wire.LogicalID][]string{}
	for _, logical := range skip {
		name, rest, dotted := strings.Cut(string(logical), ".")
		if !dotted {
			own = append(own, logical)
			continue
		}
		found := false
		for _, i := range d.instances {
			arn, err := wire.ParseStackARN(wire.StackID(i.PhysicalID))
			switch {
			case i.Role != store.RoleCurrent || err != nil || !d.isNested(i.Body.Type):
			case string(i.Logical) == name || arn.Name == name:
				nested[i.Logical] = append(nested[i.Logical], rest)
				found = true
			case strings.HasPrefix(name, arn.Name+"-"): // it is nested in that
				nested[i.Logical] = append(nested[i.Logical], string(logical))
				found = true
			}
		}
		if !found {
			unknown = append(unknown, string(logical))
		}
	}
	for _, list := range nested {
		slices.Sort(list)
	}
	return own, nested, unknown
}
