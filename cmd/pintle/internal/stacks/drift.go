package stacks

import "context"

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
	// Status is IN_SYNC, MODIFIED, DELETED, UNKNOWN or NOT_CHECKED, and Reason the reason for the last two.
	Status, Reason string
	Differences    []Difference
}

// Difference is a property that differs from its declaration. Secrets are masked.
type Difference struct {
	// Path is a JSON pointer, and Kind ADD, REMOVE or NOT_EQUAL.
	Path, Kind, Expected, Actual string
}

// DetectDrift compares the resources of a stack with what exists, and waits for the result.
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
