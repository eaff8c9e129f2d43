package engine

import (
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ContinueMode is how a create that failed is gone on with. The set is closed.
type ContinueMode string

// The modes.
const (
	// ContinueRecreate creates what failed, and what waited for it.
	ContinueRecreate ContinueMode = "Recreate"
	// ContinueIgnore takes the stack as created without what failed.
	ContinueIgnore ContinueMode = "Ignore"
)

// ContinueCreate is what it takes to go on with a create that failed and was left as it was. Of ROS.
type ContinueCreate struct {
	// Options are those of the operation; without Parameters those of the try before count. If it fails the stack is left as it is
	// again, whatever they say.
	Options
	Stack Ref
	// Mode is ContinueRecreate if it is empty.
	Mode ContinueMode
	// Recreate are resources that are created anew though they did not fail, with those that depend on them.
	Recreate []wire.LogicalID
	// Template is the new text; empty for the stack's own.
	Template string
	// TimeoutMinutes is how long it may take; 0 is for ever.
	TimeoutMinutes int
}

// ContinueCreate goes on with a create that failed and was left as it was. Errors that the client can fix are of type [Error].
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
	return e.start(ctx, target, func(m *machine) error { return m.startContinueCreate(&in, s) })
}

// startContinueCreate decides to go on with a create. It goes to a revision of its own, as an update does, and what is there is what
// the tries before it have made.
func (m *machine) startContinueCreate(in *ContinueCreate, s *submission) error {
	if again, err := m.repeated(in.Token, store.CallContinueCreate); again || err != nil {
		return err
	}
	switch {
	case !m.dialect.rules().idsStay:
		return invalid("A create of this dialect cannot be gone on with: update the stack instead.")
	case !m.stack.Phase.Final():
		return m.dialect.refusals().busy(&m.stack, &m.op, m.status(), "created")
	case m.stack.Kind != store.KindCreate || m.stack.Phase != store.PhaseFailed:
		return &Error{CodeNotSupported, "ContinueCreateStack of stack " + m.stack.Name + " in status " + m.status() +
			" is not supported: only a creation that failed can be gone on with."}
	case in.Mode == ContinueIgnore:
		return m.ignoreFailed(in)
	}
	before := m.standing()
	side, err := m.side(before.Number)
	if err != nil {
		return err
	}
	text := before.Template
	e, err := m.inForce(&before, side.Template)
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
	m.applyOptions(&options)
	revision, to, err := m.revise(&options, e, text, &before)
	if err == nil {
		err = m.checkTaint(in.Recreate, to)
	}
	if err != nil {
		return err
	}
	op := store.Operation{
		Token: in.Token, DisableRollback: true, Caller: in.Caller, Parallelism: in.Parallelism, Taint: in.Recreate,
	}
	candidates, err := m.prepareUpdate(revision, to.Template, &op)
	if err != nil {
		return err
	}
	op.Call, op.Kind, op.Taint = store.CallContinueCreate, store.KindCreate, dependents(candidates, in.Recreate)
	m.open(store.PhaseApply, op)
	m.limit(in.TimeoutMinutes)
	return m.beginOrFail(candidates)
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
func (m *machine) ignoreFailed(in *ContinueCreate) error {
	if err := m.whole(); err != nil {
		return err
	}
	op := store.Operation{
		Call: store.CallContinueCreate, Kind: store.KindCreate, Token: in.Token, To: m.op.To, Tried: m.op.Tried, Caller: in.Caller,
		Parallelism: in.Parallelism,
	}
	candidates, err := m.between(&op)
	if err != nil {
		return refused(m.dialect, err)
	}
	m.open(store.PhaseApply, op)
	if err := m.layOut(candidates); err != nil {
		return err
	}
	problem, err := m.publish(m.op.To)
	if err != nil {
		return err
	}
	reason := m.dialect.texts().ignored
	if problem != "" { // what failed cannot be read
		reason += "; the stack has no outputs: " + problem
	}
	m.standWithout()
	m.op.Phase, m.opChanged = store.PhaseCleanup, true
	m.beginCleanup()
	if len(m.todo) == 0 {
		m.end(store.PhaseSucceeded, reason)
		return nil
	}
	m.stackEvent(store.PhaseCleanup, reason)
	return m.run()
}

// standWithout notes of what failed, and of what there was of it before, that the stack stands without it.
func (m *machine) standWithout() {
	for logical, numbers := range m.numbers {
		if i := m.current(logical); i != nil && !i.Unborn() {
			continue
		}
		for _, number := range numbers {
			m.neverStood(m.instances[number])
		}
	}
}
