package cloudformation

import (
	"context"

	"github.com/pintle-dev/pintle/internal/api/query"
)

type setStackPolicyInput struct {
	StackName string `query:",required" length:"1,"`
	policyInput
}

func (f *face) setStackPolicy(ctx context.Context, in setStackPolicyInput) (query.None, error) {
	text, err := in.policy()
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

func (f *face) getStackPolicy(ctx context.Context, in getStackPolicyInput) (getStackPolicyOutput, error) {
	stack, err := f.find(ctx, in.StackName, noStackBracket)
	return getStackPolicyOutput{stack.Policy}, err
}
