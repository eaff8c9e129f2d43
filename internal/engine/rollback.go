package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// RollbackStack is the input of [Engine.Rollback].
type RollbackStack struct {
	Stack Ref
	Token string
	// RoleARN replaces the stack's role; empty keeps it.
	RoleARN string
	// RetainExceptOnCreate deletes new resources since the last complete state, even if their policy is Retain.
	RetainExceptOnCreate bool
}

// Rollback rolls back a stack whose create or update failed without a rollback. Errors that the client can fix are of
// type [Error].
func (e *Engine) Rollback(ctx context.Context, in RollbackStack) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	return e.start(ctx, target, func(d *decision) error { return rollback{d}.start(&in) })
}

// ContinueRollback is the input of [Engine.ContinueRollback].
type ContinueRollback struct {
	Stack Ref
	Token string
	// RoleARN replaces the stack's role; empty keeps it.
	RoleARN string
	// Skip lists resources whose rollback failed and that count as rolled back without a request. Force treats all of
	// them like that, and also resources that fail from now on. Skip and Force exclude each other.
	Skip  []wire.LogicalID
	Force bool

	// nested identifies the parent and the request; nil for none.
	nested *nesting
}

// ContinueRollback continues the failed rollback of an update. Errors that the client can fix are of type [Error].
func (e *Engine) ContinueRollback(ctx context.Context, in ContinueRollback) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	return e.start(ctx, target, func(d *decision) error { return rollback{d}.resume(&in) })
}

// rollback starts the rollback that a client or a parent stack requests.
type rollback struct{ *decision }

// start decides to roll back a create or an update that failed without a rollback.
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

// resume continues a failed rollback. It visits every resource. Unchanged ones need no request; those that failed, or
// waited for a failed one, get one.
func (d rollback) resume(in *ContinueRollback) error {
	if again, err := tokens(d).repeated(in.Token, store.CallContinue); again || err != nil {
		return err
	}
	imports := d.stack.Kind == store.KindImport && d.op.From != 0
	if d.stack.Kind != store.KindUpdate && !imports || d.stack.Phase != store.PhaseRevertFailed {
		return invalid("RollbackUpdatedStack cannot be called from current stack status") // the call's former name
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

// begin starts an operation that undoes the previous one. The steps of that one no longer exist, so it visits every
// resource. within are the resources to skip in nested stacks.
func (d rollback) begin(
	op store.Operation, role string, skip func(*store.Instance) bool, within map[wire.LogicalID][]string,
) error {
	op.Kind, op.From, op.To, op.Tried, op.Import = d.op.Kind, d.op.From, d.op.To, d.op.Tried, d.op.Import
	op.Forced = d.op.Forced
	if op.From == 0 {
		op.Kind = store.KindCreate // the stack was never complete, so there is nothing to go back to
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

// splitSkip separates the skipped resources of nested stacks, NESTED.RESOURCE, from the others. NESTED is the logical
// ID or the name of the nested stack, or the name of a stack nested in it.
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
			case strings.HasPrefix(name, arn.Name+"-"): // a stack nested in this one
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
