package ros

import (
	"context"
	"encoding/json"

	"github.com/pintle-dev/pintle/internal/api/rpc"
)

type setStackPolicyInput struct {
	stackInput
	policyInput
}

func (f *handler) setStackPolicy(ctx context.Context, in setStackPolicyInput) (rpc.None, error) {
	ref, _, err := f.ref(ctx, in.stackInput)
	if err != nil {
		return rpc.None{}, err
	}
	if _, err := f.find(ctx, in.stackInput); err != nil {
		return rpc.None{}, err
	}
	text, err := f.policy(ctx, in.StackPolicyBody, in.StackPolicyURL, "StackPolicy")
	switch {
	case err != nil:
		return rpc.None{}, err
	case text == "":
		return rpc.None{}, &rpc.Error{
			Code: "MissingParameter", Message: "One of the input parameters StackPolicyBody and StackPolicyURL should be specified.",
		}
	}
	return rpc.None{}, f.engine.SetPolicy(ctx, ref, text)
}

type getStackPolicyOutput struct {
	// StackPolicyBody is a JSON object, not a string.
	StackPolicyBody json.RawMessage `json:",omitempty"`
}

func (f *handler) getStackPolicy(ctx context.Context, in stackInput) (getStackPolicyOutput, error) {
	stack, err := f.find(ctx, in)
	return getStackPolicyOutput{json.RawMessage(stack.Policy)}, err
}
