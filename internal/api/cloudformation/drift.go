package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// A detection ends before its call is answered. Only native types with live state can be compared: the provider of a custom resource
// cannot be asked, and CloudFormation does not check custom resources either.

// The states of a stack. Source: CloudFormation API Reference, StackDriftInformation.
const (
	notChecked = "NOT_CHECKED"
	inSync     = "IN_SYNC"
	drifted    = "DRIFTED"
)

const noDrift = "No resource of the stack supports drift detection: custom resources and recorded types are not checked."

// Drift detects drift and keeps the results: a [drift.Detector].
type Drift interface {
	Detect(ctx context.Context, stack store.Stack, instances, all []store.Instance) (drift.Report, error)
	Last(ctx context.Context, stack store.Stack, instances []store.Instance) (drift.Report, error)
	OfStack(ctx context.Context, stack store.Stack) (drift.Report, error)
}

// lastDrift returns the last drift report of a stack.
func (f *face) lastDrift(ctx context.Context, stack store.Stack, instances []store.Instance) (drift.Report, error) {
	if f.drift == nil {
		return drift.Report{}, nil
	}
	return f.drift.Last(ctx, stack, instances)
}

// stackDrift renders the state of a stack that was checked as a whole since its last operation.
func (f *face) stackDrift(ctx context.Context, stack store.Stack) (stackDriftView, error) {
	if f.drift == nil {
		return stackDriftView{StackDriftStatus: notChecked}, nil
	}
	report, err := f.drift.OfStack(ctx, stack)
	return stackDriftView{StackDriftStatus: driftStatus(report), LastCheckTimestamp: report.Checked}, err
}

// driftStatus is the state of a stack.
func driftStatus(report drift.Report) string {
	switch {
	case report.Drifted() > 0:
		return drifted
	case len(report.Resources) > 0:
		return inSync
	}
	return notChecked
}

type detectStackDriftInput struct {
	StackName          string   `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	LogicalResourceIDs []string `query:"LogicalResourceIds" length:"1,200"`
}

type detectStackDriftOutput struct {
	StackDriftDetectionID string `query:"StackDriftDetectionId"`
}

// driftable refuses a stack in a state in which its drift cannot be detected.
func driftable(stack store.Stack) error {
	switch status := stackStatus(stack); status {
	case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "IMPORT_COMPLETE",
		"IMPORT_ROLLBACK_COMPLETE":
		return nil
	default:
		return query.Validation("Stack:%s is in %s state and its drift can not be detected.", stack.ID, status)
	}
}

// detectStackDrift compares the resources of a stack. The id of the detection is that of the stack's newest operation, which leads back
// to the stack.
func (f *face) detectStackDrift(ctx context.Context, in detectStackDriftInput) (out detectStackDriftOutput, err error) {
	stack, instances, err := f.resources(ctx, in.StackName, noStackBracket)
	if err != nil {
		return out, err
	}
	if err := driftable(stack); err != nil {
		return out, err
	}
	chosen := instances
	if in.LogicalResourceIDs != nil {
		chosen = nil
	}
	for _, logical := range in.LogicalResourceIDs {
		i, err := pick(instances, logical, in.StackName)
		if err != nil {
			return out, err
		}
		chosen = append(chosen, i)
	}
	if f.drift != nil {
		if _, err := f.drift.Detect(ctx, stack, chosen, instances); err != nil {
			return out, err
		}
	}
	last, err := f.engine.LastOperations(ctx, stack)
	if err != nil {
		return out, err
	}
	return detectStackDriftOutput{StackDriftDetectionID: last[0].ID}, nil
}

type describeStackDriftDetectionStatusInput struct {
	StackDriftDetectionID string `query:"StackDriftDetectionId,required" length:"1,36"`
}

type describeStackDriftDetectionStatusOutput struct {
	StackID                   string `query:"StackId"`
	StackDriftDetectionID     string `query:"StackDriftDetectionId"`
	StackDriftStatus          string
	DetectionStatus           string
	DetectionStatusReason     string `query:",omitempty"`
	DriftedStackResourceCount int
	Timestamp                 time.Time
}

// describeStackDriftDetectionStatus shows the last detection of the stack.
func (f *face) describeStackDriftDetectionStatus(
	ctx context.Context, in describeStackDriftDetectionStatusInput,
) (out describeStackDriftDetectionStatusOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	stack, _, err := f.engine.FindOperation(ctx, caller.Account, caller.Region, in.StackDriftDetectionID)
	if errors.Is(err, store.ErrNotFound) {
		return out, query.Validation("Drift detection [%s] does not exist", in.StackDriftDetectionID)
	}
	if err != nil {
		return out, err
	}
	instances, err := f.engine.Resources(ctx, stack)
	if err != nil {
		return out, err
	}
	report, err := f.lastDrift(ctx, stack, instances)
	out = describeStackDriftDetectionStatusOutput{
		StackID: string(stack.ID), StackDriftDetectionID: in.StackDriftDetectionID, StackDriftStatus: driftStatus(report),
		DetectionStatus: "DETECTION_COMPLETE", DriftedStackResourceCount: report.Drifted(), Timestamp: f.now(),
	}
	if len(report.Resources) == 0 {
		out.DetectionStatusReason = noDrift
	}
	if !report.Checked.IsZero() {
		out.Timestamp = report.Checked
	}
	return out, err
}

type describeStackResourceDriftsInput struct {
	StackName                       string   `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	StackResourceDriftStatusFilters []string `length:"1,4" enum:"IN_SYNC,MODIFIED,DELETED,NOT_CHECKED,UNKNOWN,UNSUPPORTED"`
	MaxResults                      *int     `range:"1,100"`
	pageInput
}

type describeStackResourceDriftsOutput struct {
	StackResourceDrifts []stackResourceDriftView
	NextToken           string `query:",omitempty"`
}

// stackResourceDriftView is the structure StackResourceDrift.
type stackResourceDriftView struct {
	StackID                  string `query:"StackId"`
	LogicalResourceID        string `query:"LogicalResourceId"`
	PhysicalResourceID       string `query:"PhysicalResourceId,omitempty"`
	ResourceType             string
	ExpectedProperties       string                   `query:",omitempty"`
	ActualProperties         string                   `query:",omitempty"`
	PropertyDifferences      []propertyDifferenceView `query:",omitempty"`
	StackResourceDriftStatus string
	Timestamp                time.Time
}

// propertyDifferenceView is the structure PropertyDifference.
type propertyDifferenceView struct {
	PropertyPath   string
	ExpectedValue  string
	ActualValue    string
	DifferenceType string
}

func viewResourceDrift(stack store.Stack, r drift.Resource) stackResourceDriftView {
	view := stackResourceDriftView{
		StackID: string(stack.ID), LogicalResourceID: string(r.Logical), PhysicalResourceID: string(r.Physical), ResourceType: r.Type,
		ExpectedProperties: r.Expected, ActualProperties: r.Actual, StackResourceDriftStatus: string(r.Status), Timestamp: r.Checked,
	}
	for _, d := range r.Differences {
		view.PropertyDifferences = append(view.PropertyDifferences, propertyDifferenceView{d.Path, d.Expected, d.Actual, string(d.Kind)})
	}
	return view
}

// describeStackResourceDrifts shows the resources that were checked, by logical id. As on AWS, others are not included.
func (f *face) describeStackResourceDrifts(
	ctx context.Context, in describeStackResourceDriftsInput,
) (out describeStackResourceDriftsOutput, err error) {
	stack, instances, err := f.resources(ctx, in.StackName, noStackBracket)
	if err != nil {
		return out, err
	}
	scope := stackScope("DescribeStackResourceDrifts", stack)
	var at afterResource
	if err := f.position(in.pageInput, scope, &at); err != nil {
		return out, err
	}
	report, err := f.lastDrift(ctx, stack, instances)
	if err != nil {
		return out, err
	}
	limit := pageSize
	if in.MaxResults != nil {
		limit = *in.MaxResults
	}
	for _, r := range report.Resources {
		if r.Logical <= at.Logical || in.StackResourceDriftStatusFilters != nil && !slices.Contains(in.StackResourceDriftStatusFilters, string(r.Status)) {
			continue
		}
		if len(out.StackResourceDrifts) == limit {
			out.NextToken, err = f.tokens.Encode(scope, afterResource{wire.LogicalID(out.StackResourceDrifts[limit-1].LogicalResourceID)})
			return out, err
		}
		out.StackResourceDrifts = append(out.StackResourceDrifts, viewResourceDrift(stack, r))
	}
	return out, nil
}

type detectStackResourceDriftInput struct {
	StackName         string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	LogicalResourceID string `query:"LogicalResourceId,required"`
}

type detectStackResourceDriftOutput struct {
	StackResourceDrift stackResourceDriftView
}

// detectStackResourceDrift compares one resource. It is refused for a resource that cannot be checked.
func (f *face) detectStackResourceDrift(ctx context.Context, in detectStackResourceDriftInput) (out detectStackResourceDriftOutput, err error) {
	stack, instances, err := f.resources(ctx, in.StackName, noStackBracket)
	if err != nil {
		return out, err
	}
	i, err := pick(instances, in.LogicalResourceID, in.StackName)
	if err != nil {
		return out, err
	}
	if f.drift != nil {
		if err := driftable(stack); err != nil {
			return out, err
		}
		report, err := f.drift.Detect(ctx, stack, []store.Instance{i}, instances)
		if err != nil {
			return out, fmt.Errorf("detect drift: %w", err)
		}
		for _, r := range report.Resources {
			if r.Logical == i.Logical {
				out.StackResourceDrift = viewResourceDrift(stack, r)
				return out, nil
			}
		}
	}
	resourceType := viewResource(i, drift.Report{}).ResourceType
	if f.aws {
		return out, query.Validation("Resource type %s does not support drift detection.", resourceType)
	}
	return out, query.Validation("Resource type %s does not support drift detection: only its provider knows what has become of %s.",
		resourceType, in.LogicalResourceID)
}
