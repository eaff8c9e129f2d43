package cloudformation

import (
	"context"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// startedOutput is the output of a call that begins an operation.
type startedOutput struct {
	StackID     string `query:"StackId"`
	OperationID string `query:"OperationId,omitempty"`
}

func started(s engine.Started) startedOutput {
	return startedOutput{StackID: string(s.StackID), OperationID: s.Operation}
}

type createStackInput struct {
	StackName string `query:",required" length:",128" pattern:"[a-zA-Z][-a-zA-Z0-9]*"`
	templateInput
	optionsInput
	OnFailure                   string `enum:"DO_NOTHING,ROLLBACK,DELETE"`
	TimeoutInMinutes            int    `range:"1,"`
	EnableTerminationProtection bool
}

func (f *handler) createStack(ctx context.Context, in createStackInput) (startedOutput, error) {
	caller, err := f.who(ctx)
	if err != nil {
		return startedOutput{}, err
	}
	text, err := f.text(ctx, in.templateInput)
	if err != nil {
		return startedOutput{}, err
	}
	if in.OnFailure != "" && (in.DisableRollback != nil || in.DeploymentConfig.DisableRollback != nil) {
		return startedOutput{}, query.Validation("You must specify either OnFailure or DisableRollback, but not both")
	}
	options, err := f.options(ctx, &in.optionsInput)
	if err != nil {
		return startedOutput{}, err
	}
	if in.OnFailure != "" {
		options.DisableRollback = in.OnFailure == "DO_NOTHING"
	}
	s, err := f.engine.Create(ctx, engine.CreateStack{
		Options:               options,
		Name:                  store.StackName{Account: caller.Account, Region: caller.Region, Name: in.StackName},
		Template:              text,
		TerminationProtection: in.EnableTerminationProtection,
		DeleteOnFailure:       in.OnFailure == "DELETE",
		TimeoutMinutes:        in.TimeoutInMinutes,
	})
	return started(s), err
}

type updateStackInput struct {
	StackName string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	templateInput
	optionsInput
	UsePreviousTemplate         bool
	StackPolicyDuringUpdateBody string `length:",16384"`
	StackPolicyDuringUpdateURL  string `length:",5120"`
}

func (f *handler) updateStack(ctx context.Context, in updateStackInput) (startedOutput, error) {
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return startedOutput{}, err
	}
	var text string
	if !in.UsePreviousTemplate {
		if text, err = f.text(ctx, in.templateInput); err != nil {
			return startedOutput{}, err
		}
	} else if in.TemplateBody != nil || in.TemplateURL != nil {
		return startedOutput{}, query.Validation("You cannot specify both usePreviousTemplate and Template Body/Template URL.")
	}
	during, err := f.policy(ctx, in.StackPolicyDuringUpdateBody, in.StackPolicyDuringUpdateURL, "StackPolicyDuringUpdate")
	if err != nil {
		return startedOutput{}, err
	}
	options, err := f.options(ctx, &in.optionsInput)
	if err != nil {
		return startedOutput{}, err
	}
	s, err := f.engine.Update(ctx, engine.UpdateStack{
		Options: options, Stack: ref, Template: text, UsePrevious: in.UsePreviousTemplate, PolicyDuring: during,
	})
	return started(s), err
}

type deleteStackInput struct {
	StackName          string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	ClientRequestToken string `length:"1,128" pattern:"[a-zA-Z0-9][-a-zA-Z0-9]*"`
	RoleARN            string `length:"20,2048"`
	RetainResources    []string
	DeletionMode       string          `enum:"STANDARD,FORCE_DELETE_STACK"`
	DeploymentConfig   deploymentInput // no effect: a delete is the same in both modes
}

// deleteStack succeeds if the stack does not exist, as on AWS.
func (f *handler) deleteStack(ctx context.Context, in deleteStackInput) (query.None, error) {
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return query.None{}, err
	}
	_, err = f.engine.Delete(ctx, engine.DeleteStack{
		Stack: ref, Token: in.ClientRequestToken, RoleARN: in.RoleARN,
		Retain: logicalIDs(in.RetainResources), Force: in.DeletionMode == "FORCE_DELETE_STACK",
	})
	return query.None{}, err
}

func logicalIDs(names []string) []wire.LogicalID {
	ids := make([]wire.LogicalID, len(names))
	for i, name := range names {
		ids[i] = wire.LogicalID(name)
	}
	return ids
}

type updateTerminationProtectionInput struct {
	StackName                   string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	EnableTerminationProtection bool   `query:",required"`
}

type updateTerminationProtectionOutput struct {
	StackID string `query:"StackId"`
}

func (f *handler) updateTerminationProtection(
	ctx context.Context, in updateTerminationProtectionInput,
) (updateTerminationProtectionOutput, error) {
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return updateTerminationProtectionOutput{}, err
	}
	id, err := f.engine.Protect(ctx, ref, in.EnableTerminationProtection)
	return updateTerminationProtectionOutput{StackID: string(id)}, err
}
