package engine

import (
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ContinueMode says how to continue a failed create. The set is closed.
type ContinueMode string

// The modes.
const (
	// ContinueRecreate creates the resources that failed, and those that waited for them.
	ContinueRecreate ContinueMode = "Recreate"
	// ContinueIgnore treats the stack as created, without the resources that failed.
	ContinueIgnore ContinueMode = "Ignore"
)

// ContinueCreate is the input of [Engine.ContinueCreate]. Of ROS.
type ContinueCreate struct {
	// Options are those of the operation. Without Parameters, the operation uses those of the previous attempt. If it
	// fails, the stack is left as it is again, whatever the options say.
	Options
	Stack Ref
	// Mode is ContinueRecreate if it is empty.
	Mode ContinueMode
	// Recreate are resources to create again although they did not fail, with those that depend on them.
	Recreate []wire.LogicalID
	// Template is the new text; empty for the stack's own.
	Template string
	// TimeoutMinutes is the time limit of the operation; 0 means no limit.
	TimeoutMinutes int
}

// ContinueCreate continues a create that failed and was left as it was. Errors that the client can fix are of type
// [Error].
func (e *Engine) ContinueCreate(ctx context.Context, in ContinueCreate) (Started, error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return Started{}, err
	}
	var s *submission // nil: the previous one
	if in.Template != "" {
		if s, err = e.submit(ctx, in.Stack.dialect(), in.Stack.Account, in.Stack.Region, in.Template); err != nil {
			return Started{}, err
		}
	}
	return e.start(ctx, target, func(d *decision) error { return continuation{d}.start(&in, s) })
}

// continuation continues a create that failed, in ROS.
type continuation struct{ *decision }

// start decides to go on with a create. It goes to a revision of its own, as an update does, and what is there is what
// the tries before it have made.
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

// dependents returns the named resources, and all that depend on them.
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

// ignoreFailed takes the stack as created. What failed stays as it is: an update that declares it still, or a delete of the stack,
// deletes what there may be of it. What only the tries before have declared is deleted now: no update would know of it.
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
	if problem != "" { // what failed cannot be read
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

// standWithout notes of what failed, and of what there was of it before, that the stack stands without it.
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
