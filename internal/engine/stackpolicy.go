package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// checkPolicies rejects invalid stack policies. It skips empty ones.
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

// SetPolicy sets the stack policy for a stack's next updates. Errors that the client can fix are of type [Error].
func (e *Engine) SetPolicy(ctx context.Context, ref Ref, text string) error {
	if err := checkPolicies(text); err != nil {
		return inDialect(ref.dialect(), err)
	}
	target, err := e.target(ctx, ref)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(d *decision) error {
		if !d.stack.Live {
			return noStack(ref)
		}
		d.stack.Policy, d.stackChanged = text, true
		return nil
	})
}

// stackPolicy checks actions against the stack policy of an operation.
type stackPolicy struct{ *decision }

// denies returns why the operation's stack policy denies an action on an instance, "" if it does not. The policy does
// not apply to a rollback, which undoes the forbidden changes.
func (d stackPolicy) denies(action plan.Action, i *store.Instance) (string, error) {
	text := d.view.Revisions[d.op.To].Policy
	if text == "" || d.op.Phase != store.PhaseApply {
		return "", nil
	}
	if d.policy == nil {
		policy, err := plan.ParsePolicy(text)
		if err != nil {
			return "", fmt.Errorf("read the stack policy of operation %d of stack %s: %w", d.op.Number, d.stack.ID, err)
		}
		d.policy = policy
	}
	return d.policy.Denies(action, string(i.Logical), i.Body.Type), nil
}

// deniesReplacement returns why the operation's stack policy denies that an instance replaced another one, "" if it
// does not or there was no replacement. Only the provider's answer shows that it was a replacement. A replacement
// that was denied in an earlier failed update is denied again, because the clean-up would delete the other instance.
func (d stackPolicy) deniesReplacement(i *store.Instance) (string, error) {
	replaces := slices.ContainsFunc(d.pendingDelete(i.Logical), func(other *store.Instance) bool {
		return other.Replaced && other.Number < i.Number // a later one did not replace it for good
	})
	if !replaces {
		return "", nil
	}
	denied, err := d.denies(plan.ActionReplace, i)
	if denied != "" {
		denied = d.failure(failedByPolicy, i.Logical, denied)
	}
	return denied, err
}

// foresee adds the policy's denials to a preview. It skips changes that may not happen.
func (d stackPolicy) foresee(changes []plan.Change, candidates []plan.Candidate) error {
	if d.view.Stack.Policy == "" {
		return nil
	}
	policy, err := plan.ParsePolicy(d.view.Stack.Policy)
	if err != nil {
		return fmt.Errorf("read the policy of stack %s: %w", d.stack.ID, err)
	}
	stood := set[string]{} // the resources of the complete stack: only those are protected against removal
	for _, c := range candidates {
		if c.Old != nil {
			stood.add(c.Logical)
		}
	}
	for i := range changes {
		c := &changes[i]
		if c.Problem != "" || c.Action == plan.Remove && !stood[c.LogicalID] {
			continue
		}
		switch c.Action {
		case plan.Add, plan.Import:
		case plan.Remove:
			c.Problem = policy.Denies(plan.ActionDelete, c.LogicalID, c.Type)
		case plan.Modify:
			if !d.judges(c) {
				continue
			}
			action := plan.ActionModify
			if c.Replacement == plan.ReplacementTrue {
				action = plan.ActionReplace
			}
			c.Problem = policy.Denies(action, c.LogicalID, c.Type)
		}
	}
	return nil
}

// judges reports whether a modification is certain and concerns properties or tags. The policy does not apply to tags
// that the row does not record.
func (d stackPolicy) judges(c *plan.Change) bool {
	certain := c.Certain()
	if slices.Contains(certain, plan.Properties) {
		return true
	}
	i := d.current(wire.LogicalID(c.LogicalID))
	return slices.Contains(certain, plan.Tags) && (i == nil || i.Body.Tags != nil)
}
