package ros

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Native types with live state are compared before the call is answered. The provider of a custom resource gets a Read
// request if it declares support for that, and answers later.

// The states of stacks and of resources without a result. ROS has no status for failed comparisons. Source: ROS, "Drift
// detection status codes".
const (
	notChecked = "NOT_CHECKED"
	inSync     = "IN_SYNC"
	drifted    = "DRIFTED"
)

// The reasons of a finished detection. Source of the first: ROS, GetStackDriftDetectionStatus, example.
const (
	detected     = "Detect stack drift successfully"
	noDrift      = "No resource of the stack supports drift detection: custom resources do if their providers have a Read."
	superseded   = "The stack was changed after this detection: call DetectStackDrift again."
	changedSince = "The resource was changed during the detection: detect its drift again."
)

// Drift detects drift and stores the results: a [drift.Detector].
type Drift interface {
	Detect(ctx context.Context, stack store.Stack, instances, all []store.Instance) (drift.Report, error)
	Last(ctx context.Context, stack store.Stack, instances []store.Instance) (drift.Report, error)
	OfStack(ctx context.Context, stack store.Stack) (drift.Report, error)
}

// drifts answers the actions on drift.
type drifts struct{ *handler }

// last returns the last drift report of a stack.
func (f drifts) last(ctx context.Context, stack store.Stack, instances []store.Instance) (drift.Report, error) {
	if f.drift == nil {
		return drift.Report{}, nil
	}
	return f.drift.Last(ctx, stack, instances)
}

// ofStack returns the last report on the whole stack. It is empty if the stack was not checked since its last operation.
func (f drifts) ofStack(ctx context.Context, stack store.Stack) (drift.Report, error) {
	if f.drift == nil {
		return drift.Report{}, nil
	}
	return f.drift.OfStack(ctx, stack)
}

// driftStatus returns the drift status of a stack. A stack without resources that can be checked is in sync after a
// detection. Source: ROS, GetStackDriftDetectionStatus, StackDriftStatus.
func driftStatus(report drift.Report) string {
	awaited := slices.ContainsFunc(report.Pending, func(p drift.Pending) bool {
		status, _ := report.Of(p.Logical)
		return status == drift.NotChecked
	})
	switch {
	case report.Drifted() > 0:
		return drifted
	case awaited, len(report.Unknown()) > 0:
		return notChecked
	case report.Checks() > 0, !report.Checked.IsZero() && len(report.Unasked()) == 0:
		return inSync
	}
	return notChecked
}

// resourceDrift returns the drift status of a resource and the time of its check, "" for none.
func resourceDrift(report drift.Report, logical wire.LogicalID) (status, at string) {
	found, checked := report.Of(logical)
	if found == drift.NotChecked || found == drift.Unknown {
		return notChecked, ""
	}
	return string(found), timeText(checked)
}

// driftable returns an error if drift cannot be detected in the stack's current status. Source: ROS, "Detect drift on a
// stack", limits.
func driftable(stack store.Stack) error {
	switch status := stackStatus(stack); status {
	case "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CHECK_COMPLETE", "CHECK_FAILED":
		return nil
	case "DELETE_COMPLETE":
		return noStack(string(stack.ID))
	default:
		if action, busy := strings.CutSuffix(status, "_IN_PROGRESS"); busy && action != "REVIEW" {
			return &rpc.Error{
				Code: "ActionInProgress", Status: http.StatusConflict,
				Message: "Stack " + stack.Name + " already has an action (" + action + ") in progress.",
			}
		}
		return rpc.NotSupported("Drift detection of a stack in status "+status, "Drift can be detected after a successful create or update.")
	}
}

type detectStackDriftInput struct {
	stackInput
	LogicalResourceIDs []string `rpc:"LogicalResourceId" length:",200"`
	ClientToken        string   `length:",64" pattern:"[-_a-zA-Z0-9]*"`
}

type detectStackDriftOutput struct {
	DriftDetectionID string `json:"DriftDetectionId"`
}

// detectStackDrift compares the resources of a stack. The ID of the detection is that of the stack's newest operation, so
// that the ID identifies the stack. The client token has no effect: a repeated detection waits for the same Reads.
func (f drifts) detectStackDrift(ctx context.Context, in detectStackDriftInput) (out detectStackDriftOutput, err error) {
	stack, instances, err := f.resources(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	if err := driftable(stack); err != nil {
		return out, err
	}
	chosen := instances
	if len(in.LogicalResourceIDs) > 0 {
		chosen = nil
	}
	for _, logical := range slices.Compact(slices.Sorted(slices.Values(in.LogicalResourceIDs))) {
		i, err := pick(stack, instances, logical)
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
	operations, err := f.engine.LastOperations(ctx, stack)
	if err != nil {
		return out, err
	}
	return detectStackDriftOutput{operations[0].ID}, nil
}

type getStackDriftDetectionStatusInput struct {
	region
	DriftDetectionID string `rpc:"DriftDetectionId,required" length:",64"`
}

type getStackDriftDetectionStatusOutput struct {
	StackID                    string `json:"StackId"`
	DriftDetectionID           string `json:"DriftDetectionId"`
	DriftDetectionStatus       string
	DriftDetectionStatusReason string `json:",omitempty"`
	DriftDetectionTime         string `json:",omitempty"`
	StackDriftStatus           string `json:",omitempty"`
	DriftedStackResourceCount  *int   `json:",omitempty"`
}

// getStackDriftDetectionStatus returns the last detection of the stack.
func (f drifts) getStackDriftDetectionStatus(
	ctx context.Context, in getStackDriftDetectionStatusInput,
) (out getStackDriftDetectionStatusOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	stack, operation, err := f.engine.FindOperation(ctx, caller.Account, in.RegionID, in.DriftDetectionID)
	if errors.Is(err, store.ErrNotFound) {
		return out, &rpc.Error{
			Code: "DriftDetectionNotFound", Status: http.StatusNotFound,
			Message: "The Drift Detection (" + in.DriftDetectionID + ") could not be found.",
		}
	}
	if err != nil {
		return out, err
	}
	instances, err := f.engine.Expected(ctx, stack)
	if err != nil {
		return out, err
	}
	report, err := f.last(ctx, stack, instances)
	if err != nil {
		return out, err
	}
	out = getStackDriftDetectionStatusOutput{
		StackID: string(stack.ID), DriftDetectionID: in.DriftDetectionID, DriftDetectionStatus: "DETECTION_IN_PROGRESS",
		DriftDetectionTime: timeText(checkedAt(report)),
	}
	if len(report.Pending) == 0 {
		count := report.Drifted()
		out.DriftDetectionStatus, out.StackDriftStatus, out.DriftedStackResourceCount = "DETECTION_COMPLETE", driftStatus(report), &count
		switch failed, unasked := report.Unknown(), report.Unasked(); {
		case len(failed) > 0:
			out.DriftDetectionStatus, out.DriftDetectionStatusReason = "DETECTION_FAILED", "Failed to detect drift. "+drift.Problems(failed)
		case operation.Number != stack.Operation:
			out.DriftDetectionStatusReason = superseded
			if out.StackDriftStatus == inSync {
				out.StackDriftStatus = notChecked // only some resources have a result that is still valid
			}
		case len(unasked) > 0:
			out.DriftDetectionStatusReason = "Not all resources were checked. " + drift.Problems(unasked)
		case report.Checks() == 0:
			out.DriftDetectionStatusReason = noDrift
		default:
			out.DriftDetectionStatusReason = detected
		}
	}
	return out, nil
}

// checkedAt returns the time of the last check of the whole stack or, if there was none, of any of its resources.
func checkedAt(report drift.Report) time.Time {
	at := report.Checked
	if at.IsZero() {
		for _, r := range report.Resources {
			if r.Checked.After(at) {
				at = r.Checked
			}
		}
	}
	return at
}

// resourceDriftView is the drift of a resource.
type resourceDriftView struct {
	StackID             string `json:"StackId"`
	LogicalResourceID   string `json:"LogicalResourceId"`
	PhysicalResourceID  string `json:"PhysicalResourceId"`
	ResourceType        string
	ResourceDriftStatus string
	DriftDetectionTime  string `json:",omitempty"`
	ExpectedProperties  string `json:",omitempty"`
	ActualProperties    string `json:",omitempty"`
	PropertyDifferences []propertyDifferenceView
	// Problem is the reason why a resource that may support drift detection was not checked. ROS does not have it.
	Problem string `json:",omitempty"`
}

type propertyDifferenceView struct {
	PropertyPath   string
	ExpectedValue  string
	ActualValue    string
	DifferenceType string
}

// viewResourceDrift renders the drift of a resource. The properties of a custom resource that a provider reads are
// those in its Parameters.
func viewResourceDrift(stack store.Stack, i store.Instance, report drift.Report) resourceDriftView {
	view := resourceDriftView{
		StackID: string(stack.ID), LogicalResourceID: string(i.Logical), PhysicalResourceID: string(i.PhysicalID),
		PropertyDifferences: []propertyDifferenceView{},
	}
	view.ResourceDriftStatus, view.DriftDetectionTime = resourceDrift(report, i.Logical)
	custom := false
	if i.Body != nil {
		view.ResourceType, custom = i.Body.Type, !i.Body.Token.IsNull()
	}
	at := slices.IndexFunc(report.Resources, func(r drift.Resource) bool { return r.Logical == i.Logical })
	if at < 0 {
		return view
	}
	r := report.Resources[at]
	path := ""
	view.Problem, view.ExpectedProperties, view.ActualProperties = r.Problem, r.Expected, r.Actual
	if custom {
		path = "/Parameters"
		view.ExpectedProperties, view.ActualProperties = asParameters(r.Expected), asParameters(r.Actual)
	}
	for _, d := range r.Differences {
		view.PropertyDifferences = append(view.PropertyDifferences, propertyDifferenceView{path + d.Path, d.Expected, d.Actual, string(d.Kind)})
	}
	return view
}

// asParameters returns the properties of a custom resource with these Parameters. Both are JSON.
func asParameters(properties string) string {
	if properties == "" {
		return ""
	}
	return `{"Parameters":` + properties + `}`
}

type listStackResourceDriftsInput struct {
	stackInput
	ResourceDriftStatus []string `length:",4" enum:"DELETED,MODIFIED,NOT_CHECKED,IN_SYNC"`
	MaxResults          *int     `range:"1,100"`
	NextToken           string   `length:",512"`
}

type listStackResourceDriftsOutput struct {
	ResourceDrifts []resourceDriftView
	NextToken      string `json:",omitempty"`
}

// driftPage is the default page size. Source: ROS, ListStackResourceDrifts, MaxResults.
const driftPage = 50

// listStackResourceDrifts returns the resources of a stack, by logical ID.
func (f drifts) listStackResourceDrifts(ctx context.Context, in listStackResourceDriftsInput) (out listStackResourceDriftsOutput, err error) {
	after, ok := readPageToken("resource", in.NextToken)
	if !ok {
		return out, rpc.Invalid("NextToken", "it is not one that ListStackResourceDrifts has returned")
	}
	stack, instances, err := f.resources(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	report, err := f.last(ctx, stack, instances)
	if err != nil {
		return out, err
	}
	limit := driftPage
	if in.MaxResults != nil {
		limit = *in.MaxResults
	}
	out.ResourceDrifts = []resourceDriftView{}
	for _, i := range instances {
		if string(i.Logical) <= after {
			continue
		}
		view := viewResourceDrift(stack, i, report)
		if len(in.ResourceDriftStatus) > 0 && !slices.Contains(in.ResourceDriftStatus, view.ResourceDriftStatus) {
			continue
		}
		if len(out.ResourceDrifts) == limit {
			out.NextToken = pageToken("resource", out.ResourceDrifts[limit-1].LogicalResourceID)
			break
		}
		out.ResourceDrifts = append(out.ResourceDrifts, view)
	}
	return out, nil
}

type detectStackResourceDriftInput struct {
	stackInput
	LogicalResourceID string `rpc:"LogicalResourceId,required" length:",255"`
	ClientToken       string `length:",64" pattern:"[-_a-zA-Z0-9]*"`
}

// detectStackResourceDrift compares one resource. It returns an error for a resource that cannot be checked.
func (f drifts) detectStackResourceDrift(ctx context.Context, in detectStackResourceDriftInput) (out resourceDriftView, err error) {
	stack, instances, err := f.resources(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	i, err := pick(stack, instances, in.LogicalResourceID)
	if err != nil {
		return out, err
	}
	if err := driftable(stack); err != nil {
		return out, err
	}
	var report drift.Report
	asked := false
	if f.drift != nil {
		if report, err = f.drift.Detect(ctx, stack, []store.Instance{i}, instances); err != nil {
			return out, err
		}
		asked = pending(report, i.Logical)
		if report, err = f.awaitDrift(ctx, in.stackInput, i.Logical, report); err != nil {
			return out, err
		}
	}
	out = viewResourceDrift(stack, i, report)
	if slices.ContainsFunc(report.Resources, func(r drift.Resource) bool { return r.Logical == i.Logical }) {
		return out, nil
	}
	now, err := f.find(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	if asked || now.Operation != stack.Operation { // the engine drops a pending Read of a changed resource, and sends none meanwhile
		out.Problem = changedSince
		return out, nil
	}
	return out, rpc.NotSupported("Drift detection of a resource of type "+out.ResourceType, noDriftRemedy)
}

const noDriftRemedy = "The drift of a custom resource can be detected if its provider is a program of Pintle and has the method Read."

const (
	// driftPatience is how long a call waits for a provider. It is less than 10 seconds, after which the SDKs time out.
	driftPatience = 8 * time.Second
	// driftLook is the interval between checks.
	driftLook = 100 * time.Millisecond
)

// pending reports whether a provider has not answered the Read of a resource yet.
func pending(report drift.Report, logical wire.LogicalID) bool {
	return slices.ContainsFunc(report.Pending, func(p drift.Pending) bool { return p.Logical == logical })
}

// awaitDrift waits for the provider of a resource, and returns the report with the result.
func (f drifts) awaitDrift(ctx context.Context, in stackInput, logical wire.LogicalID, report drift.Report) (drift.Report, error) {
	late := time.NewTimer(driftPatience)
	defer late.Stop()
	look := time.NewTicker(driftLook)
	defer look.Stop()
	for pending(report, logical) {
		select {
		case <-ctx.Done():
			return report, ctx.Err()
		case <-late.C:
			return report, &rpc.Error{
				Code: "ActionInProgress", Status: http.StatusConflict,
				Message:   "The provider of the Resource (" + string(logical) + ") has not answered the drift detection yet.",
				Recommend: "Call DetectStackDrift, which does not wait for the provider, then ListStackResourceDrifts.",
			}
		case <-look.C:
		}
		stack, instances, err := f.resources(ctx, in) // an update may have changed the resource
		if err != nil {
			return report, err
		}
		if report, err = f.last(ctx, stack, instances); err != nil {
			return report, err
		}
	}
	return report, nil
}
