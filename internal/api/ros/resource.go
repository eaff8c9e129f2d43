package ros

import (
	"context"
	"net/http"
	"slices"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// resourceView is a resource in a response.
type resourceView struct {
	StackID             string `json:"StackId"`
	StackName           string
	LogicalResourceID   string `json:"LogicalResourceId"`
	PhysicalResourceID  string `json:"PhysicalResourceId"`
	ResourceType        string
	Status              string
	StatusReason        string
	CreateTime          string `json:",omitempty"`
	UpdateTime          string `json:",omitempty"`
	ResourceDriftStatus string
	DriftDetectionTime  string `json:",omitempty"`
}

func viewResource(stack store.Stack, i store.Instance, report drift.Report) resourceView {
	view := resourceView{
		StackID: string(stack.ID), StackName: stack.Name, LogicalResourceID: string(i.Logical), PhysicalResourceID: string(i.PhysicalID),
		Status: engine.ROS.ResourceStatus(i.Verb, i.Progress), StatusReason: i.Reason, UpdateTime: timeText(i.Changed),
		CreateTime: timeText(i.Created),
	}
	view.ResourceDriftStatus, view.DriftDetectionTime = resourceDrift(report, i.Logical)
	if i.Created.IsZero() && i.Verb == store.VerbCreate { // from a version that did not store it
		view.CreateTime = timeText(i.Changed)
	}
	if i.Body != nil {
		view.ResourceType = i.Body.Type
	}
	return view
}

type listStackResourcesOutput struct {
	Resources []resourceView
}

func (f *handler) listStackResources(ctx context.Context, in stackInput) (out listStackResourcesOutput, err error) {
	stack, instances, err := f.resources(ctx, in)
	if err != nil {
		return out, err
	}
	report, err := drifts{f}.last(ctx, stack, instances)
	out.Resources = []resourceView{}
	for _, i := range instances {
		out.Resources = append(out.Resources, viewResource(stack, i, report))
	}
	return out, err
}

// resources returns a stack and its resources by logical ID, including those yet to be created.
func (f *handler) resources(ctx context.Context, in stackInput) (store.Stack, []store.Instance, error) {
	stack, err := f.find(ctx, in)
	if err != nil {
		return store.Stack{}, nil, err
	}
	instances, err := f.engine.Expected(ctx, stack)
	return stack, instances, err
}

// pick returns a resource of a stack.
func pick(stack store.Stack, instances []store.Instance, logical string) (store.Instance, error) {
	at := slices.IndexFunc(instances, func(i store.Instance) bool { return string(i.Logical) == logical })
	if at < 0 {
		return store.Instance{}, &rpc.Error{
			Code: "ResourceNotFound", Status: http.StatusNotFound,
			Message: "The Resource (" + logical + ") could not be found in Stack " + stack.Name + ".",
		}
	}
	return instances[at], nil
}

type getStackResourceInput struct {
	stackInput
	LogicalResourceID      string   `rpc:"LogicalResourceId,required" length:",255"`
	ResourceAttributes     []string `length:",20"`
	ShowResourceAttributes bool
}

type attributeView struct {
	ResourceAttributeKey   string
	ResourceAttributeValue value.Value
}

type getStackResourceOutput struct {
	resourceView
	Description        string
	Metadata           *value.Value    `json:",omitempty"`
	ResourceAttributes []attributeView `json:",omitempty"`
}

// getStackResource returns one resource. It includes all attributes, or the named ones, on request.
func (f *handler) getStackResource(ctx context.Context, in getStackResourceInput) (out getStackResourceOutput, err error) {
	stack, instances, err := f.resources(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	i, err := pick(stack, instances, in.LogicalResourceID)
	if err != nil {
		return out, err
	}
	report, err := drifts{f}.last(ctx, stack, instances)
	if err != nil {
		return out, err
	}
	out.resourceView = viewResource(stack, i, report)
	if i.Body == nil {
		return out, nil
	}
	if !i.Body.Metadata.IsNull() {
		out.Metadata = &i.Body.Metadata
	}
	if in.ShowResourceAttributes || len(in.ResourceAttributes) > 0 {
		for _, a := range attributesOf(i.Body) {
			if len(in.ResourceAttributes) == 0 || slices.Contains(in.ResourceAttributes, a.ResourceAttributeKey) {
				out.ResourceAttributes = append(out.ResourceAttributes, a)
			}
		}
	}
	return out, nil
}

// attributesOf returns the attributes that Fn::GetAtt can read. A custom resource has its provider's data and an
// attribute with all of it. The attributes of a handle are in clear text, because clients need them for signals.
func attributesOf(body *store.InstanceBody) []attributeView {
	var list []attributeView
	if !body.Token.IsNull() {
		list = append(list, attributeView{"Outputs", body.Data})
	}
	for _, m := range body.Data.Members() {
		if body.Type == native.ROSWaitConditionHandle && m.Value.Secret() {
			m.Value = value.Str(m.Value.Text())
		}
		list = append(list, attributeView{m.Key, m.Value})
	}
	return list
}
