package cloudformation

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/store"
)

// Only a provider knows what has become of its resource, and the protocol has no request that asks it. So a detection is
// over as soon as it began, and its result is that nothing was checked: clients that detect drift on the way to
// something else go on, and none is told that a stack is in sync when nobody looked.

const (
	notChecked = "NOT_CHECKED"
	noDrift    = "Custom resources do not support drift detection: no resource was checked."
)

type detectStackDriftInput struct {
	StackName          string   `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	LogicalResourceIDs []string `query:"LogicalResourceIds" length:"1,200"`
}

type detectStackDriftOutput struct {
	StackDriftDetectionID string `query:"StackDriftDetectionId"`
}

// detectStackDrift needs nothing kept: the id of the stack's newest operation leads back to the stack.
func (f *face) detectStackDrift(ctx context.Context, in detectStackDriftInput) (out detectStackDriftOutput, err error) {
	stack, instances, err := f.resources(ctx, in.StackName, noStackBracket)
	if err != nil {
		return out, err
	}
	switch status := stackStatus(stack); status {
	case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED":
	default:
		return out, query.Validation("Stack:%s is in %s state and its drift can not be detected.", stack.ID, status)
	}
	for _, logical := range in.LogicalResourceIDs {
		if _, err := pick(instances, logical, in.StackName); err != nil {
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
	DetectionStatusReason     string
	DriftedStackResourceCount int
	Timestamp                 time.Time
}

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
	return describeStackDriftDetectionStatusOutput{
		StackID: string(stack.ID), StackDriftDetectionID: in.StackDriftDetectionID, StackDriftStatus: notChecked,
		DetectionStatus: "DETECTION_COMPLETE", DetectionStatusReason: noDrift, Timestamp: f.now(),
	}, err
}

type describeStackResourceDriftsInput struct {
	StackName                       string   `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	StackResourceDriftStatusFilters []string `length:"1,4" enum:"IN_SYNC,MODIFIED,DELETED,NOT_CHECKED,UNKNOWN,UNSUPPORTED"`
	MaxResults                      *int     `range:"1,100"`
	pageInput
}

type describeStackResourceDriftsOutput struct {
	StackResourceDrifts []struct{}
}

// describeStackResourceDrifts shows the resources that were checked, which are none.
func (f *face) describeStackResourceDrifts(
	ctx context.Context, in describeStackResourceDriftsInput,
) (out describeStackResourceDriftsOutput, err error) {
	stack, err := f.find(ctx, in.StackName, noStackBracket)
	if err != nil {
		return out, err
	}
	return out, f.position(in.pageInput, stackScope("DescribeStackResourceDrifts", stack), new(query.None))
}

type detectStackResourceDriftInput struct {
	StackName         string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	LogicalResourceID string `query:"LogicalResourceId,required"`
}

// detectStackResourceDrift is refused for every resource there is.
func (f *face) detectStackResourceDrift(ctx context.Context, in detectStackResourceDriftInput) (query.None, error) {
	_, instances, err := f.resources(ctx, in.StackName, noStackBracket)
	if err != nil {
		return query.None{}, err
	}
	i, err := pick(instances, in.LogicalResourceID, in.StackName)
	if err != nil {
		return query.None{}, err
	}
	return query.None{}, query.Validation("Resource type %s does not support drift detection: only its provider knows what has become of %s.",
		viewResource(i).ResourceType, in.LogicalResourceID)
}
