package stacks

import (
	"context"
	"net/url"
)

// The states of stacks and resources. ROS has no UNKNOWN.
const (
	driftNotChecked = "NOT_CHECKED"
	driftUnknown    = "UNKNOWN"
)

// Drift is the result of a detection.
type Drift struct {
	// Status is DRIFTED, IN_SYNC, NOT_CHECKED or UNKNOWN.
	Status string
	// Reason says why the detection failed for some resources, or that it checked none.
	Reason string
	// Resources are those that were checked, or not checked for a reason of their own, by logical ID.
	Resources []DriftedResource
}

// DriftedResource is a resource that was compared with its declaration.
type DriftedResource struct {
	Logical, Physical, Type string
	// Status is IN_SYNC, MODIFIED, DELETED, UNKNOWN or NOT_CHECKED, and Reason the reason for the last two. In ROS, a resource
	// that could not be read is NOT_CHECKED.
	Status, Reason string
	Differences    []Difference
}

// Difference is a property that differs from its declaration. Secrets are masked.
type Difference struct {
	// Path is a JSON pointer, and Kind ADD, REMOVE or NOT_EQUAL.
	Path, Kind, Expected, Actual string
}

// DetectDrift implements [Service].
func (c *CloudFormation) DetectDrift(ctx context.Context, stack string) (found Drift, err error) {
	out, err := c.call(ctx, "DetectStackDrift", members{"StackName": stack})
	if err != nil {
		return found, err
	}
	detection := members{"StackDriftDetectionId": out.text("StackDriftDetectionId")}
	err = poll(ctx, func() (done bool, err error) {
		out, err = c.call(ctx, "DescribeStackDriftDetectionStatus", detection)
		return out.text("DetectionStatus") != "DETECTION_IN_PROGRESS", err
	})
	if err != nil {
		return found, err
	}
	found.Status, found.Reason = out.text("StackDriftStatus"), out.text("DetectionStatusReason")
	err = c.pages(ctx, "DescribeStackResourceDrifts", members{"StackName": stack}, "StackResourceDrifts", func(m members) bool {
		r := DriftedResource{
			Logical: m.text("LogicalResourceId"), Physical: m.text("PhysicalResourceId"), Type: m.text("ResourceType"),
			Status: m.text("StackResourceDriftStatus"), Reason: m.text("DriftStatusReason"),
		}
		for _, d := range m.list("PropertyDifferences") {
			r.Differences = append(r.Differences, Difference{
				Path: d.text("PropertyPath"), Kind: d.text("DifferenceType"), Expected: d.text("ExpectedValue"), Actual: d.text("ActualValue"),
			})
		}
		found.Resources = append(found.Resources, r)
		return true
	})
	return found, err
}

// DetectDrift implements [Service]. ROS reports a stack without a successful detection as NOT_CHECKED, and a stack
// without resources that support drift detection as in sync.
func (r *ROS) DetectDrift(ctx context.Context, stack string) (found Drift, err error) {
	var detection struct{ DriftDetectionID string }
	if err := r.client.Call(ctx, "DetectStackDrift", url.Values{"StackId": {stack}}, &detection); err != nil {
		return found, err
	}
	var end struct{ DriftDetectionStatus, DriftDetectionStatusReason, StackDriftStatus string }
	err = poll(ctx, func() (done bool, err error) {
		err = r.client.Call(ctx, "GetStackDriftDetectionStatus", url.Values{"DriftDetectionId": {detection.DriftDetectionID}}, &end)
		return end.DriftDetectionStatus != "DETECTION_IN_PROGRESS", err
	})
	if err != nil {
		return found, err
	}
	found.Status, found.Reason = end.StackDriftStatus, end.DriftDetectionStatusReason
	checked := false
	asked := url.Values{"StackId": {stack}, "MaxResults": {"100"}}
	for more := true; more; {
		var page struct {
			NextToken      string
			ResourceDrifts []struct {
				LogicalResourceID, PhysicalResourceID, ResourceType, ResourceDriftStatus, Problem string
				PropertyDifferences                                                               []struct {
					PropertyPath, DifferenceType, ExpectedValue, ActualValue string
				}
			}
		}
		if err := r.client.Call(ctx, "ListStackResourceDrifts", asked, &page); err != nil {
			return found, err
		}
		for _, resource := range page.ResourceDrifts {
			checked = checked || resource.ResourceDriftStatus != driftNotChecked
			if resource.ResourceDriftStatus == driftNotChecked && resource.Problem == "" {
				continue // as in CloudFormation
			}
			one := DriftedResource{
				Logical: resource.LogicalResourceID, Physical: resource.PhysicalResourceID, Type: resource.ResourceType,
				Status: resource.ResourceDriftStatus, Reason: resource.Problem,
			}
			for _, d := range resource.PropertyDifferences {
				one.Differences = append(one.Differences, Difference{
					Path: d.PropertyPath, Kind: d.DifferenceType, Expected: d.ExpectedValue, Actual: d.ActualValue,
				})
			}
			found.Resources = append(found.Resources, one)
		}
		more = page.NextToken != ""
		asked.Set("NextToken", page.NextToken)
	}
	switch {
	case end.DriftDetectionStatus == "DETECTION_FAILED" && found.Status == driftNotChecked:
		found.Status = driftUnknown
	case !checked:
		found.Status = driftNotChecked
	}
	return found, nil
}
