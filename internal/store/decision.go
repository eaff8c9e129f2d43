package store

import (
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/wire"
)

// Scope is how much of a stack an implementation loads into a [View].
type Scope struct {
	// Whole loads everything; the other fields then say nothing.
	Whole bool
	// Own loads the target request's step, its Next, and what they bring.
	Own bool
	// Steps are further steps to be loaded in the same way.
	Steps []wire.LogicalID
	// Exports and Others are loaded besides, whatever the rest says.
	Exports []string
	Others  []StackName
}

// Bare reports whether the scope holds no steps at all: the view then has no revisions either.
func (s Scope) Bare() bool { return !s.Whole && !s.Own && len(s.Steps) == 0 }

// Run runs a decision as [Store.Apply] does, inside the caller's transaction: load, decide, and both again with a wider
// scope as long as the decision returns [More]. It returns the last view and what is to be written, which is checked.
// An error is the decision's own or that of load, as it is. For implementations of [Store].
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
		loaded := *view // the decision may do as it likes with its copy
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

// wider returns the scope extended by the items that a decision asked for. It fails if the decision has all of them
// already, because it would then ask forever. The keys of asked include the type of an item, so a step and an export
// with the same name are distinct.
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

// scope is what the first view of a decision holds.
func (t Target) scope() Scope { return Scope{Whole: t.Request == "", Own: t.Request != "" && !t.Alone} }

// check reports a target that names no stack, or more than one.
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
