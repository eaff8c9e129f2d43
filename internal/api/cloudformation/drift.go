package cloudformation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Native types with live state are compared before the call is answered. The provider of a custom resource gets a Read
// request if it declares support for that, and answers later. CloudFormation does not check custom resources.

// The states of a stack. Source: CloudFormation API Reference, StackDriftInformation.
const (
	notChecked = "NOT_CHECKED"
	inSync     = "IN_SYNC"
	drifted    = "DRIFTED"
	unknown    = "UNKNOWN"
)

const noDrift = "No resource of the stack supports drift detection: recorded types are not checked, nor are custom resources whose " +
	"providers have no Read, and forwarded resources whose endpoints do not detect drift."

// Drift detects drift and stores the results: a [drift.Detector].
type Drift interface {
	Detect(ctx context.Context, stack store.Stack, instances, all []store.Instance) (drift.Report, error)
	Last(ctx context.Context, stack store.Stack, instances []store.Instance) (drift.Report, error)
	OfStack(ctx context.Context, stack store.Stack) (drift.Report, error)
}

// drifts answers the operations on drift.
type drifts struct{ *handler }

// lastDrift returns the last drift report of a stack.
func (f drifts) lastDrift(ctx context.Context, stack store.Stack, instances []store.Instance) (drift.Report, error) {
	if f.drift == nil {
		return drift.Report{}, nil
	}
	return f.drift.Last(ctx, stack, instances)
}

// stackDrift renders the drift status of a stack. It counts only full checks since the last operation.
func (f drifts) stackDrift(ctx context.Context, stack store.Stack) (stackDriftView, error) {
	if f.drift == nil {
		return stackDriftView{StackDriftStatus: notChecked}, nil
	}
	report, err := f.drift.OfStack(ctx, stack)
	return stackDriftView{StackDriftStatus: driftStatus(report), LastCheckTimestamp: report.Checked}, err
}

// driftStatus returns the drift status of a stack.
func driftStatus(report drift.Report) string {
	switch {
	case report.Drifted() > 0:
		return drifted
	case len(report.Unknown()) > 0:
		return unknown
	case report.Checks() > 0:
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

// driftable returns an error if drift cannot be detected in the stack's current status.
func driftable(stack store.Stack) error {
	switch status := stackStatus(stack); status {
	case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "IMPORT_COMPLETE",
		"IMPORT_ROLLBACK_COMPLETE":
		return nil
	default:
		return query.Validation("Stack:%s is in %s state and its drift can not be detected.", stack.ID, status)
	}
}

// detectStackDrift compares the resources of a stack. The ID of the detection is that of the stack's newest operation,
// so that the ID identifies the stack.
func (f drifts) detectStackDrift(ctx context.Context, in detectStackDriftInput) (out detectStackDriftOutput, err error) {
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
	StackDriftStatus          string `query:",omitempty"`
	DetectionStatus           string
	DetectionStatusReason     string `query:",omitempty"`
	DriftedStackResourceCount *int   `query:",omitempty"`
	Timestamp                 time.Time
}

// describeStackDriftDetectionStatus returns the last detection of the stack.
func (f drifts) describeStackDriftDetectionStatus(
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
		StackID: string(stack.ID), StackDriftDetectionID: in.StackDriftDetectionID, DetectionStatus: "DETECTION_IN_PROGRESS", Timestamp: f.now(),
	}
	if len(report.Pending) == 0 {
		drifted := report.Drifted()
		out.DetectionStatus, out.StackDriftStatus, out.DriftedStackResourceCount = "DETECTION_COMPLETE", driftStatus(report), &drifted
		if failed := report.Unknown(); len(failed) > 0 {
			out.DetectionStatus, out.DetectionStatusReason = "DETECTION_FAILED", "Failed to detect drift. "+drift.Problems(failed)
		} else if unasked := report.Unasked(); len(unasked) > 0 {
			out.DetectionStatusReason = "Not all resources were checked. " + drift.Problems(unasked)
		} else if report.Checks() == 0 {
			out.DetectionStatusReason = noDrift
		}
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
	DriftStatusReason        string `query:",omitempty"`
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
		ExpectedProperties: r.Expected, ActualProperties: r.Actual, StackResourceDriftStatus: string(r.Status), DriftStatusReason: r.Problem,
		Timestamp: r.Checked,
	}
	for _, d := range r.Differences {
		view.PropertyDifferences = append(view.PropertyDifferences, propertyDifferenceView{d.Path, d.Expected, d.Actual, string(d.Kind)})
	}
	return view
}

// describeStackResourceDrifts returns the checked resources, by logical ID. As on AWS, others are not included, except for those whose
// providers could not be asked whether they can be checked, and forwarded ones whose endpoints did not check them.
func (f drifts) describeStackResourceDrifts(
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

// detectStackResourceDrift compares one resource. It returns an error for a resource that cannot be checked.
func (f drifts) detectStackResourceDrift(ctx context.Context, in detectStackResourceDriftInput) (out detectStackResourceDriftOutput, err error) {
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
		if err == nil {
			report, err = f.awaitDrift(ctx, stack, []store.Instance{i}, instances, report)
		}
		if err != nil {
			return out, err
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

const (
	// driftPatience is how long a call waits for a provider. It is less than a minute, after which clients time out.
	driftPatience = 50 * time.Second
	// driftLook is the interval between checks.
	driftLook = 100 * time.Millisecond
)

// awaitDrift waits for the providers of some resources, and returns the report with their results.
func (f drifts) awaitDrift(
	ctx context.Context, stack store.Stack, wanted, instances []store.Instance, report drift.Report,
) (drift.Report, error) {
	late := time.NewTimer(driftPatience)
	defer late.Stop()
	look := time.NewTicker(driftLook)
	defer look.Stop()
	for {
		at := slices.IndexFunc(report.Pending, func(p drift.Pending) bool {
			return slices.ContainsFunc(wanted, func(i store.Instance) bool { return i.Logical == p.Logical })
		})
		if at < 0 {
			return report, nil
		}
		select {
		case <-ctx.Done():
			return report, ctx.Err()
		case <-late.C:
			return report, query.Validation("The provider of %s has not answered yet. Use DetectStackDrift, which does not wait for it, "+
				"then try again.", report.Pending[at].Logical)
		case <-look.C:
		}
		var err error
		if report, err = f.drift.Last(ctx, stack, instances); err != nil {
			return report, err
		}
	}
}
