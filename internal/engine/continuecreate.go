package engine

import (
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ContinueMode is the way to continue a failed create. The set is closed.
type ContinueMode string

// The modes.
const (
	// ContinueRecreate creates the resources that failed, and those that waited for them.
	ContinueRecreate ContinueMode = "Recreate"
	// ContinueIgnore treats the stack as created, without the resources that failed.
	ContinueIgnore ContinueMode = "Ignore"
)

// ContinueCreate is the input of [Engine.ContinueCreate]. Only ROS has this call.
type ContinueCreate struct {
	// Options are those of the operation. Without Parameters, the operation uses those of the previous attempt. If it
	// fails, the stack keeps its state again, regardless of the options.
	Options
	Stack Ref
	// Mode defaults to ContinueRecreate.
	Mode ContinueMode
	// Recreate lists resources to create again even though they did not fail, and with them their dependents.
	Recreate []wire.LogicalID
	// Template is the new text; empty means the stack's own.
	Template string
	// TimeoutMinutes is the time limit of the operation; 0 means no limit.
	TimeoutMinutes int
}

// ContinueCreate continues a create that failed without a rollback. Errors that the client can fix are of type
// [Error].
func (e *Engine) ContinueCreate(ctx context.Context, in ContinueCreate) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	var s *submission // nil: the previous template
	if in.Template != "" {
		if s, err = e.submit(ctx, in.Stack.dialect(), in.Stack.Account, in.Stack.Region, in.Template); err != nil {
			return Started{}, err
		}
	}
	return e.start(ctx, target, func(d *decision) error { return continuation{d}.start(&in, s) })
}

// continuation continues a failed create of a ROS stack.
type continuation struct{ *decision }

// start decides to continue a create. Like an update, it applies a new revision. The existing resources are those
// that the earlier attempts created.
func (d continuation) start(in *ContinueCreate, s *submission) error {
	if again, err := tokens(d).repeated(in.Token, store.CallContinueCreate); again || err != nil {
		return err
	}
	switch {
	case !d.dialect.rules().idsStay:
		return invalid("A create of this dialect cannot be gone on with: update the stack instead.")
	case !d.stack.Phase.Final():
		return d.dialect.refusals().busy(&d.stack, &d.op, d.status(), "created")
	case d.stack.Kind != store.KindCreate || d.stack.Phase != store.PhaseFailed:
		return &Error{CodeNotSupported, "ContinueCreateStack of stack " + d.stack.Name + " in status " + d.status() +
			" is not supported: only a creation that failed can be gone on with."}
	case in.Mode == ContinueIgnore:
		return d.ignoreFailed(in)
	}
	before := d.revisionInForce()
	side, err := d.side(before.Number)
	if err != nil {
		return err
	}
	text := before.Template
	e, err := transforms(d).ofRevision(&before, side.Template)
	if err != nil {
		return err
	}
	if s != nil {
		text, e = in.Template, expanded{t: s.t}
	}
	options := in.Options
	if options.Parameters == nil {
		for _, name := range before.Inputs {
			if e.t.Parameter(name) == nil {
				continue
			}
			options.Parameters = append(options.Parameters, Parameter{Key: name, UsePrevious: true})
		}
	}
	options.DisableRollback = true
	d.applyOptions(&options)
	revision, to, err := binding(d).revise(&options, e, text, &before)
	if err == nil {
		err = update(d).checkTaint(in.Recreate, to)
	}
	if err != nil {
		return err
	}
	op := store.Operation{
		Token: in.Token, DisableRollback: true, Caller: in.Caller, Parallelism: in.Parallelism, Taint: in.Recreate,
	}
	candidates, err := update(d).plan(revision, to.Template, &op)
	if err != nil {
		return err
	}
	op.Call, op.Kind, op.Taint = store.CallContinueCreate, store.KindCreate, dependents(candidates, in.Recreate)
	operation(d).open(store.PhaseApply, op)
	timers(d).limit(in.TimeoutMinutes)
	return operation(d).begin(candidates)
}

// dependents returns the named resources and all their dependents.
func dependents(candidates []plan.Candidate, named []wire.LogicalID) []wire.LogicalID {
	feeds := make(map[wire.LogicalID][]wire.LogicalID, len(candidates))
	for _, c := range candidates {
		feeds[wire.LogicalID(c.Logical)] = logicalIDs(c.NewFeeds)
	}
	var all []wire.LogicalID
	for rest := slices.Clone(named); len(rest) > 0; rest = rest[1:] {
		if !slices.Contains(all, rest[0]) {
			all = append(all, rest[0])
			rest = append(rest, feeds[rest[0]]...)
		}
	}
	return all
}

// ignoreFailed treats the stack as created. Failed resources stay as they are: an update that still declares them, or
// a delete of the stack, deletes any remains. The operation deletes resources that only earlier attempts declared,
// because no update would delete them.
func (d continuation) ignoreFailed(in *ContinueCreate) error {
	if err := d.whole(); err != nil {
		return err
	}
	op := store.Operation{
		Call: store.CallContinueCreate, Kind: store.KindCreate, Token: in.Token, To: d.op.To, Tried: d.op.Tried, Caller: in.Caller,
		Parallelism: in.Parallelism,
	}
	candidates, err := tries(d).plan(&op)
	if err != nil {
		return refused(d.dialect, err)
	}
	operation(d).open(store.PhaseApply, op)
	if err := scheduler(d).addSteps(candidates); err != nil {
		return err
	}
	problem, err := operation(d).publish(d.op.To)
	if err != nil {
		return err
	}
	reason := d.dialect.texts().ignored
	if problem != "" { // a failed resource cannot be read
		reason += "; the stack has no outputs: " + problem
	}
	d.standWithout()
	d.op.Phase, d.opChanged = store.PhaseCleanup, true
	phases(d).beginCleanup()
	if len(d.todo) == 0 {
		operation(d).end(store.PhaseSucceeded, reason)
		return nil
	}
	d.stackEvent(store.PhaseCleanup, reason)
	return scheduler(d).run()
}

// standWithout forgets the failed resources and their earlier instances, so that no rollback restores them.
func (d continuation) standWithout() {
	for logical, numbers := range d.numbers {
		if i := d.current(logical); i != nil && !i.Unborn() {
			continue
		}
		for _, number := range numbers {
			replacement(d).forget(d.instances[number])
		}
	}
}
