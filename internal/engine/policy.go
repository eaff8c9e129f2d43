package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
)

// checkPolicies refuses stack policies that are none. Empty ones are not given.
func checkPolicies(texts ...string) error {
	for _, text := range texts {
		if text == "" {
			continue
		}
		if _, err := plan.ParsePolicy(text); err != nil {
			return invalid("Error validating stack policy: Invalid stack policy")
		}
	}
	return nil
}

// SetPolicy makes a stack policy the one by which a stack's next updates go. Errors that the client can fix are of type
// [Error].
func (e *Engine) SetPolicy(ctx context.Context, ref Ref, text string) error {
	if err := checkPolicies(text); err != nil {
		return inDialect(ref.dialect(), err)
	}
	target, err := e.target(ctx, ref)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(m *machine) error {
		if !m.stack.Live {
			return noStack(ref)
		}
		m.stack.Policy, m.stackChanged = text, true
		return nil
	})
}

// denied returns why the operation's stack policy denies an action on an instance, "" if it does not. A rollback is not
// asked: it takes back what was not allowed.
func (m *machine) denied(action plan.Action, i *store.Instance) (string, error) {
	text := m.view.Revisions[m.op.To].Policy
	if text == "" || m.op.Phase != store.PhaseApply {
		return "", nil
	}
	if m.policy == nil {
		policy, err := plan.ParsePolicy(text)
		if err != nil {
			return "", fmt.Errorf("read the stack policy of operation %d of stack %s: %w", m.op.Number, m.stack.ID, err)
		}
		m.policy = policy
	}
	return m.policy.Denies(action, string(i.Logical), i.Body.Type), nil
}

// deniedReplacement returns why the operation's stack policy denies that an instance stands where another one stood, ""
// if it does not, or none did. Only the answer of a provider tells that it was a replacement; and one that was denied
// before, in an update that was left as it failed, is still to be finished: the clean-up would delete the other one.
func (m *machine) deniedReplacement(i *store.Instance) (string, error) {
	replaces := slices.ContainsFunc(m.condemned(i.Logical), func(other *store.Instance) bool {
		return other.Replaced && other.Number < i.Number // a later one is what did not take its place for good
	})
	if !replaces {
		return "", nil
	}
	denied, err := m.denied(plan.ActionReplace, i)
	if denied != "" {
		denied = m.failure(failedByPolicy, i.Logical, denied)
	}
	return denied, err
}

// denyRemovals fails an update that begins at the resources which it may not remove. They have no turn before the
// clean-up, and then it is too late to go back.
func (m *machine) denyRemovals() error {
	for _, s := range m.sortedSteps() {
		i := m.current(s.Logical)
		if s.Plan.Old == nil || s.Plan.New != nil || i == nil {
			continue
		}
		denied, err := m.denied(plan.ActionDelete, i)
		if err != nil {
			return err
		}
		if denied == "" {
			continue
		}
		m.touchForUpdate(s, i, i.Body.Properties)
		reason := m.failure(failedByPolicy, i.Logical, denied)
		if err := m.fail(s, i, store.VerbUpdate, reason, i.Body.Properties); err != nil {
			return err
		}
	}
	return nil
}
