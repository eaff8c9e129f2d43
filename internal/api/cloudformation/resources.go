package cloudformation

import (
	"context"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// resourceView holds the common members of StackResource, StackResourceDetail and StackResourceSummary.
type resourceView struct {
	LogicalResourceID    string `query:"LogicalResourceId"`
	PhysicalResourceID   string `query:"PhysicalResourceId,omitempty"`
	ResourceType         string
	ResourceStatus       string
	ResourceStatusReason string `query:",omitempty"`
	DriftInformation     resourceDriftView
}

type resourceDriftView struct {
	StackResourceDriftStatus string
	LastCheckTimestamp       time.Time
}

// stackResourceView is the structure StackResource.
type stackResourceView struct {
	StackName string
	StackID   string `query:"StackId"`
	resourceView
	Timestamp time.Time
}

// resourceDetailView is the structure StackResourceDetail.
type resourceDetailView struct {
	StackName string
	StackID   string `query:"StackId"`
	resourceView
	LastUpdatedTimestamp time.Time
	// Metadata is JSON. It defaults to "{}".
	Metadata string
}

// resourceSummaryView is the structure StackResourceSummary.
type resourceSummaryView struct {
	resourceView
	LastUpdatedTimestamp time.Time
}

func viewResource(i store.Instance, report drift.Report) resourceView {
	status, checked := report.Of(i.Logical)
	view := resourceView{
		LogicalResourceID: string(i.Logical), PhysicalResourceID: string(i.PhysicalID),
		ResourceStatus: engine.CloudFormation.ResourceStatus(i.Verb, i.Progress), ResourceStatusReason: i.Reason,
		DriftInformation: resourceDriftView{StackResourceDriftStatus: string(status), LastCheckTimestamp: checked},
	}
	if i.Body != nil {
		view.ResourceType = i.Body.Type
		if i.Body.Type == native.WaitConditionHandle && !i.Body.Ref.IsNull() {
			// As on AWS, a caller that may describe the stack may also signal it, and needs the complete URL.
			view.PhysicalResourceID = i.Body.Ref.Text()
		}
	}
	return view
}

type describeStackResourceInput struct {
	StackName         string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	LogicalResourceID string `query:"LogicalResourceId,required"`
}

type describeStackResourceOutput struct {
	StackResourceDetail resourceDetailView
}

func (f *handler) describeStackResource(
	ctx context.Context, in describeStackResourceInput,
) (out describeStackResourceOutput, err error) {
	stack, instances, err := f.resources(ctx, in.StackName, noStackQuoted)
	if err != nil {
		return out, err
	}
	i, err := pick(instances, in.LogicalResourceID, in.StackName)
	if err != nil {
		return out, err
	}
	report, err := drifts{f}.lastDrift(ctx, stack, instances)
	if err != nil {
		return out, err
	}
	metadata := "{}"
	if i.Body != nil && !i.Body.Metadata.IsNull() {
		metadata = string(f.shown(i.Body.Metadata).JSON())
	}
	out.StackResourceDetail = resourceDetailView{
		StackName: stack.Name, StackID: string(stack.ID), resourceView: viewResource(i, report),
		LastUpdatedTimestamp: i.Changed, Metadata: metadata,
	}
	return out, nil
}

type describeStackResourcesInput struct {
	StackName          string `length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	LogicalResourceID  string `query:"LogicalResourceId"`
	PhysicalResourceID string `query:"PhysicalResourceId"`
}

type describeStackResourcesOutput struct {
	StackResources []stackResourceView
}

// describeStackResources returns the first hundred resources. ListStackResources returns all, in pages.
func (f *handler) describeStackResources(
	ctx context.Context, in describeStackResourcesInput,
) (out describeStackResourcesOutput, err error) {
	if in.PhysicalResourceID != "" {
		return out, refuse([]ignored{{"PhysicalResourceId", true, "name the stack with StackName"}})
	}
	if in.StackName == "" {
		return out, query.Validation("StackName is a required parameter.")
	}
	stack, instances, err := f.resources(ctx, in.StackName, noStackQuoted)
	if err != nil {
		return out, err
	}
	if in.LogicalResourceID != "" {
		i, err := pick(instances, in.LogicalResourceID, in.StackName)
		if err != nil {
			return out, err
		}
		instances = []store.Instance{i}
	}
	report, err := drifts{f}.lastDrift(ctx, stack, instances)
	if err != nil {
		return out, err
	}
	for _, i := range instances[:min(len(instances), pageSize)] {
		out.StackResources = append(out.StackResources, stackResourceView{
			StackName: stack.Name, StackID: string(stack.ID), resourceView: viewResource(i, report), Timestamp: i.Changed,
		})
	}
	return out, nil
}

type listStackResourcesInput struct {
	StackName string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	pageInput
}

type listStackResourcesOutput struct {
	StackResourceSummaries []resourceSummaryView
	NextToken              string `query:",omitempty"`
}

// afterResource is a position in a list of resources that is sorted by logical ID.
type afterResource struct {
	Logical wire.LogicalID `json:"l"`
}

func (f *handler) listStackResources(ctx context.Context, in listStackResourcesInput) (out listStackResourcesOutput, err error) {
	stack, instances, err := f.resources(ctx, in.StackName, noStackWithID)
	if err != nil {
		return out, err
	}
	scope := stackScope("ListStackResources", stack)
	var at afterResource
	if err := f.position(in.pageInput, scope, &at); err != nil {
		return out, err
	}
	instances = slices.DeleteFunc(instances, func(i store.Instance) bool { return i.Logical <= at.Logical })
	if len(instances) > pageSize {
		instances = instances[:pageSize]
		if out.NextToken, err = f.tokens.Encode(scope, afterResource{instances[pageSize-1].Logical}); err != nil {
			return out, err
		}
	}
	report, err := drifts{f}.lastDrift(ctx, stack, instances)
	if err != nil {
		return out, err
	}
	for _, i := range instances {
		out.StackResourceSummaries = append(out.StackResourceSummaries, resourceSummaryView{viewResource(i, report), i.Changed})
	}
	return out, nil
}

// resources returns a stack and its resources by logical ID. It omits resources without events.
func (f *handler) resources(ctx context.Context, given, missing string) (store.Stack, []store.Instance, error) {
	stack, err := f.find(ctx, given, missing)
	if err != nil {
		return store.Stack{}, nil, err
	}
	instances, err := f.engine.Resources(ctx, stack)
	return stack, slices.DeleteFunc(instances, func(i store.Instance) bool { return i.Verb == "" }), err
}

func pick(instances []store.Instance, logical, stack string) (store.Instance, error) {
	at := slices.IndexFunc(instances, func(i store.Instance) bool { return string(i.Logical) == logical })
	if at < 0 {
		return store.Instance{}, query.Validation("Resource %s does not exist for stack %s", logical, stack)
	}
	return instances[at], nil
}
