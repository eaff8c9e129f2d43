package cloudformation

import (
	"cmp"
	"context"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/store"
)

type setStackPolicyInput struct {
	StackName string `query:",required" length:"1,"`
	policyInput
}

func (f *handler) setStackPolicy(ctx context.Context, in setStackPolicyInput) (query.None, error) {
	text, err := f.policy(ctx, in.StackPolicyBody, in.StackPolicyURL, "StackPolicy")
	if err != nil {
		return query.None{}, err
	}
	if text == "" {
		return query.None{}, query.Validation("You must specify either StackPolicyBody or StackPolicyURL")
	}
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return query.None{}, err
	}
	return query.None{}, f.engine.SetPolicy(ctx, ref, text)
}

type getStackPolicyInput struct {
	StackName string `query:",required" length:"1,"`
}

type getStackPolicyOutput struct {
	StackPolicyBody string `query:",omitempty"`
}

func (f *handler) getStackPolicy(ctx context.Context, in getStackPolicyInput) (getStackPolicyOutput, error) {
	stack, err := f.find(ctx, in.StackName, noStackBracket)
	if err != nil || stack.Kind != store.KindUpdate || stack.Phase.Final() {
		return getStackPolicyOutput{stack.Policy}, err
	}
	revision, err := f.engine.Revision(ctx, stack) // the revision of the update, or the previous one during a rollback
	if err != nil {
		return getStackPolicyOutput{}, err
	}
	return getStackPolicyOutput{cmp.Or(revision.Policy, stack.Policy)}, nil
}
