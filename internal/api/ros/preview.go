package ros

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

type previewStackInput struct {
	region
	StackID   string `rpc:"StackId" length:",64"`
	StackName string `length:",255" pattern:"[a-zA-Z0-9][-_a-zA-Z0-9]*"`
	templateInput
	policyInput
	optionsInput
	replacingInput
	UsePreviousParameters bool
	TimeoutInMinutes      int `range:"10,1440"`
	DisableRollback       bool
	EnablePreConfig       bool
}

// previewedResource is a resource that would be created, updated or deleted.
type previewedResource struct {
	LogicalResourceID  string `json:"LogicalResourceId"`
	PhysicalResourceID string `json:"PhysicalResourceId,omitempty"`
	ResourceType       string
	Action             string
	Replacement        string `json:",omitempty"`
	Properties         *value.Value
	// Problem is the reason why it would fail. ROS reports that only during the operation.
	Problem string `json:",omitempty"`
}

type previewedStack struct {
	StackName           string
	StackID             string `json:"StackId,omitempty"`
	RegionID            string `json:"RegionId"`
	Description         string
	TemplateDescription string
	DisableRollback     bool
	TimeoutInMinutes    int
	StackPolicyBody     string `json:",omitempty"`
	Resources           []previewedResource
}

type previewStackOutput struct {
	Stack previewedStack
}

// previewStack describes the effects of a create, or of an update if the stack exists.
func (f *handler) previewStack(ctx context.Context, in previewStackInput) (out previewStackOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	ref := engine.Ref{Account: caller.Account, Region: in.RegionID, Stack: in.StackName}
	name := in.StackName
	var stack store.Stack
	switch {
	case in.StackID != "":
		if ref, _, err = f.ref(ctx, stackInput{in.region, in.StackID}); err != nil {
			return out, err
		}
		if stack, err = f.find(ctx, stackInput{in.region, in.StackID}); err != nil {
			return out, err
		}
		name = stack.Name
	case in.StackName == "":
		return out, &rpc.Error{Code: "MissingParameter", Message: "One of the input parameters StackName and StackId should be specified."}
	default:
		if stack, err = f.engine.Find(ctx, ref); err != nil && !errors.Is(err, store.ErrNotFound) {
			return out, err
		}
	}
	text, given, err := f.text(ctx, in.templateInput)
	if err == nil && !given && stack.Revision == 0 {
		_, err = f.needed(ctx, in.templateInput)
	}
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
	if in.UsePreviousParameters && stack.Revision > 0 {
		if options.Parameters, err = f.withPrevious(ctx, stack, text, given, options.Parameters); err != nil {
			return out, err
		}
	}
	if !given {
		revision, err := f.revision(ctx, stack)
		if err != nil {
			return out, err
		}
		text = revision.Template
	}
	t, err := f.engine.CheckIn(engine.ROS, text)
	if err != nil {
		return out, err
	}
	preview, err := f.engine.Preview(ctx, engine.PreviewStack{
		Options: options, Stack: ref, Template: text, Dialect: engine.ROS,
		Replace: in.ReplacementOption == "Enabled", Taint: logicalIDs(in.TaintResources),
	})
	if err != nil {
		return out, err
	}
	out.Stack = previewedStack{
		StackName: name, StackID: string(stack.ID), RegionID: in.RegionID, Description: t.Description, TemplateDescription: t.Description,
		DisableRollback: in.DisableRollback, TimeoutInMinutes: max(in.TimeoutInMinutes, stack.TimeoutMinutes), StackPolicyBody: options.Policy,
		Resources: []previewedResource{},
	}
	if out.Stack.TimeoutInMinutes == 0 {
		out.Stack.TimeoutInMinutes = defaultTimeout
	}
	for i := range preview.Changes {
		out.Stack.Resources = append(out.Stack.Resources, viewPreviewed(&preview.Changes[i]))
	}
	return out, nil
}

func viewPreviewed(c *engine.Change) previewedResource {
	view := previewedResource{
		LogicalResourceID: c.LogicalID, PhysicalResourceID: c.PhysicalID, ResourceType: c.Type, Action: string(c.Action),
		Replacement: string(c.Replacement), Problem: c.Problem,
	}
	side := c.After
	if side.IsNull() {
		side = c.Before
	}
	if properties, ok := side.Get("Properties"); ok {
		view.Properties = &properties
	}
	return view
}
