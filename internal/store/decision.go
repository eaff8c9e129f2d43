package store

import (
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/wire"
)

// Scope is the part of a stack that an implementation loads into a [View].
type Scope struct {
	// Whole loads everything; the fields Own and Steps are then ignored.
	Whole bool
	// Own loads the target request's step, its Next, and the rows that belong to them.
	Own bool
	// Steps are further steps to load in the same way.
	Steps []wire.LogicalID
	// Exports and Others are loaded in addition, regardless of the other fields.
	Exports []string
	Others  []StackName
}

// Bare reports whether the scope holds no steps. The view then has no revisions either.
func (s Scope) Bare() bool { return !s.Whole && !s.Own && len(s.Steps) == 0 }

// Run runs a decision as [Store.Apply] does, inside the caller's transaction: it loads and decides, and repeats both
// with a wider scope as long as the decision returns [More]. It returns the last view and the checked delta. It returns
// errors of load and of the decision unchanged. It is for implementations of [Store].
func Run(target Target, load func(Scope) (*View, error), decide Decide) (*View, Delta, error) {
	if err := target.check(); err != nil {
		return nil, Delta{}, err
	}
	scope := target.scope()
	asked := make(map[any]bool)
	for {
		view, err := load(scope)
		if err != nil {
			return nil, Delta{}, err
		}
		loaded := *view // the decision may change its copy
		delta, err := decide(view)
		var more *More
		if errors.As(err, &more) {
			if scope, err = scope.wider(more, asked); err == nil {
				continue
			}
		}
		if err == nil {
			err = delta.check(target, &loaded)
		}
		if err != nil {
			return nil, Delta{}, err
		}
		return &loaded, delta, nil
	}
}

// wider returns the scope extended by the items that a decision asked for. It fails if the decision already has all of
// them, because it would then ask forever. The keys of asked include the type of an item, so a step and an export with
// the same name are distinct.
func (s Scope) wider(more *More, asked map[any]bool) (Scope, error) {
	grown := false
	fresh := func(what any) bool {
		is := !asked[what]
		asked[what], grown = true, grown || is
		return is
	}
	for _, name := range more.Exports {
		if fresh(name) {
			s.Exports = append(s.Exports, name)
		}
	}
	for _, name := range more.Others {
		if fresh(name) {
			s.Others = append(s.Others, name)
		}
	}
	switch {
	case s.Whole && (more.Whole || len(more.Steps) > 0):
		return s, errors.New("the decision asks for more of a stack that it has whole")
	case more.Whole:
		return Scope{Whole: true, Exports: s.Exports, Others: s.Others}, nil
	}
	for _, logical := range more.Steps {
		if fresh(logical) {
			s.Steps = append(s.Steps, logical)
		}
	}
	if !grown {
		return s, fmt.Errorf("the decision asks again for the steps %q, the exports %q or the stacks %q, which it was given or which are not there",
			more.Steps, more.Exports, more.Others)
	}
	return s, nil
}

// scope returns the scope of a decision's first view.
func (t Target) scope() Scope { return Scope{Whole: t.Request == "", Own: t.Request != "" && !t.Alone} }

// check returns an error for a target that does not name exactly one of request, stack and name.
func (t Target) check() error {
	if target := (Target{Stack: t.Stack, Request: t.Request, Alone: true}); t.Stack != 0 && t.Request != "" && t == target {
		return nil
	}
	named := 0
	for _, is := range []bool{t.Request != "", t.Stack != 0, t.Name != StackName{}} {
		if is {
			named++
		}
	}
	if named != 1 {
		return fmt.Errorf("a target names one of request, stack and name; this one names %d", named)
	}
	return nil
}
