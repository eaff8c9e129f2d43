package ros

import (
	"cmp"
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// defaultTimeout is the default time limit of a stack in minutes. Source: ROS, CreateStack.
const defaultTimeout = 60

// startedOutput is the output of a call that begins an operation.
type startedOutput struct {
	StackID string `json:"StackId"`
}

func started(s engine.Started) startedOutput { return startedOutput{StackID: string(s.StackID)} }

type createStackInput struct {
	region
	StackName string `rpc:",required" length:",255" pattern:"[a-zA-Z0-9][-_a-zA-Z0-9]*"`
	templateInput
	policyInput
	optionsInput
	TimeoutInMinutes   int `range:"10,1440"`
	DisableRollback    bool
	DeletionProtection string   `enum:"Enabled,Disabled"`
	CreateOption       string   `enum:"KeepStackOnCreationComplete,AbandonStackOnCreationComplete,AbandonStackOnCreationRollbackComplete,ManuallyPay"`
	CreateOptions      []string `length:",10" enum:"KeepStackOnCreationComplete,AbandonStackOnCreationComplete,AbandonStackOnCreationRollbackComplete,ManuallyPay"`
}

func (f *handler) createStack(ctx context.Context, in createStackInput) (startedOutput, error) {
	caller, err := f.who(ctx)
	if err != nil {
		return startedOutput{}, err
	}
	for _, option := range append(in.CreateOptions, in.CreateOption) {
		if option != "" && option != "KeepStackOnCreationComplete" {
			return startedOutput{}, rpc.NotSupported("CreateOptions "+option, "Stacks are kept until they are deleted: omit the parameter.")
		}
	}
	text, err := f.needed(ctx, in.templateInput)
	if err != nil {
		return startedOutput{}, err
	}
	options, err := in.options(caller)
	if err != nil {
		return startedOutput{}, err
	}
	if options.Policy, err = f.policy(ctx, in.StackPolicyBody, in.StackPolicyURL, "StackPolicy"); err != nil {
		return startedOutput{}, err
	}
	options.DisableRollback = in.DisableRollback
	s, err := f.engine.Create(ctx, engine.CreateStack{
		Options: options, Dialect: engine.ROS, Template: text,
		Name:                  store.StackName{Account: caller.Account, Region: in.RegionID, Name: in.StackName},
		TerminationProtection: in.DeletionProtection == "Enabled", TimeoutMinutes: cmp.Or(in.TimeoutInMinutes, defaultTimeout),
	})
	return started(s), err
}

// replacingInput requests the replacement of resources.
type replacingInput struct {
	ReplacementOption string   `enum:"Enabled,Disabled"`
	TaintResources    []string `length:",20"`
}

type updateStackInput struct {
	stackInput
	templateInput
	policyInput
	optionsInput
	replacingInput
	StackPolicyDuringUpdateBody string `length:",16384"`
	StackPolicyDuringUpdateURL  string `length:",1350"`
	UsePreviousParameters       bool
	TimeoutInMinutes            int `range:"10,1440"`
	DryRun                      bool
	DryRunOptions               []string
	DisableRollback             bool // ignored, as on ROS: failures are rolled back
}

type updateStackOutput struct {
	startedOutput
	DryRunResult *struct{} `json:",omitempty"`
}

// updateStack updates a stack. Without a template, it uses the stack's.
func (f *handler) updateStack(ctx context.Context, in updateStackInput) (out updateStackOutput, err error) {
	ref, caller, err := f.ref(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	stack, err := f.find(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	if err := in.stays(stack); err != nil {
		return out, err
	}
	if len(in.DryRunOptions) > 0 {
		return out, rpc.NotSupported("DryRunOptions", "Omit them: Pintle always checks the values.")
	}
	text, given, err := f.text(ctx, in.templateInput)
	if err != nil {
		return out, err
	}
	options, err := in.options(caller)
	if err != nil {
		return out, err
	}
	if options.Policy, err = f.policy(ctx, in.StackPolicyBody, in.StackPolicyURL, "StackPolicy"); err != nil {
		return out, err
	}
	during, err := f.policy(ctx, in.StackPolicyDuringUpdateBody, in.StackPolicyDuringUpdateURL, "StackPolicyDuringUpdate")
	if err != nil {
		return out, err
	}
	if in.UsePreviousParameters {
		if options.Parameters, err = f.withPrevious(ctx, stack, text, given, options.Parameters); err != nil {
			return out, err
		}
	}
	if in.DryRun {
		if !given {
			revision, err := f.revision(ctx, stack)
			if err != nil {
				return out, err
			}
			text = revision.Template
		}
		_, err := f.engine.Preview(ctx, engine.PreviewStack{
			Options: options, Stack: ref, Template: text, Dialect: engine.ROS,
			Replace: in.ReplacementOption == "Enabled", Taint: logicalIDs(in.TaintResources),
		})
		return updateStackOutput{startedOutput{string(stack.ID)}, &struct{}{}}, err
	}
	s, err := f.engine.Update(ctx, engine.UpdateStack{
		Options: options, Stack: ref, Template: text, UsePrevious: !given, PolicyDuring: during,
		Replace: in.ReplacementOption == "Enabled", Taint: logicalIDs(in.TaintResources),
		TimeoutMinutes: cmp.Or(in.TimeoutInMinutes, defaultTimeout),
	})
	return updateStackOutput{startedOutput: started(s)}, err
}

// withPrevious adds the parameters of the last operation that the update omits and the template still declares.
func (f *handler) withPrevious(
	ctx context.Context, stack store.Stack, text string, given bool, parameters []engine.Parameter,
) ([]engine.Parameter, error) {
	revision, err := f.revision(ctx, stack)
	if err != nil {
		return nil, err
	}
	if !given {
		text = revision.Template
	}
	t, err := f.engine.CheckIn(engine.ROS, text)
	if err != nil {
		return nil, err
	}
	for _, p := range t.Parameters {
		known := slices.ContainsFunc(parameters, func(g engine.Parameter) bool { return g.Key == p.Name })
		if !known && slices.Contains(revision.Inputs, p.Name) {
			parameters = append(parameters, engine.Parameter{Key: p.Name, UsePrevious: true})
		}
	}
	return parameters, nil
}

type deleteStackInput struct {
	stackInput
	RetainAllResources bool
	RetainResources    []string `length:",300"`
	RAMRoleName        string   `rpc:"RamRoleName" length:",64"`
	DeleteOptions      []string
	Parallelism        int    `range:"1,"`
	ClientToken        string `length:",64"`
}

func (f *handler) deleteStack(ctx context.Context, in deleteStackInput) (rpc.None, error) {
	ref, caller, err := f.ref(ctx, in.stackInput)
	if err != nil {
		return rpc.None{}, err
	}
	if _, err := f.find(ctx, in.stackInput); err != nil {
		return rpc.None{}, err
	}
	if len(in.DeleteOptions) > 0 {
		return rpc.None{}, rpc.NotSupported("DeleteOptions", "Omit them, and name resources to keep in RetainResources.")
	}
	_, err = f.engine.Delete(ctx, engine.DeleteStack{
		Stack: ref, Token: in.ClientToken, RoleARN: in.RAMRoleName, Retain: logicalIDs(in.RetainResources),
		RetainAll: in.RetainAllResources, Caller: caller.ID, Parallelism: in.Parallelism,
	})
	return rpc.None{}, err
}

type cancelUpdateStackInput struct {
	stackInput
	// CancelType has no effect. Requests to providers cannot be withdrawn, so both types wait for their answers.
	CancelType string `enum:"Quick,Safe"`
}

func (f *handler) cancelUpdateStack(ctx context.Context, in cancelUpdateStackInput) (rpc.None, error) {
	ref, _, err := f.ref(ctx, in.stackInput)
	if err != nil {
		return rpc.None{}, err
	}
	if _, err := f.find(ctx, in.stackInput); err != nil {
		return rpc.None{}, err
	}
	return rpc.None{}, f.engine.CancelUpdate(ctx, engine.CancelUpdate{Stack: ref})
}

type setDeletionProtectionInput struct {
	stackInput
	DeletionProtection string `rpc:",required" enum:"Enabled,Disabled"`
}

func (f *handler) setDeletionProtection(ctx context.Context, in setDeletionProtectionInput) (rpc.None, error) {
	ref, _, err := f.ref(ctx, in.stackInput)
	if err != nil {
		return rpc.None{}, err
	}
	if _, err := f.find(ctx, in.stackInput); err != nil {
		return rpc.None{}, err
	}
	_, err = f.engine.Protect(ctx, ref, in.DeletionProtection == "Enabled")
	return rpc.None{}, err
}
