package stacks

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
)

// Import is an existing resource that becomes one of a stack.
type Import struct{ Logical, Type, Physical string }

// errManyIdentifiers is that of a resource that one text does not identify.
var errManyIdentifiers = errors.New("more than one property identifies the resource: use a change set of type IMPORT")

// customIdentifier identifies custom resources.
const customIdentifier = "PhysicalResourceId"

// Import imports a resource into a stack, or into a new one. It returns the id of the stack once the import has begun. An error
// about a change set that failed has the reason of that.
func (c *CloudFormation) Import(ctx context.Context, want Desired, of Import) (id string, err error) {
	summary, err := c.call(ctx, "GetTemplateSummary", templateMember(want.Template))
	if err != nil {
		return "", err
	}
	key := customIdentifier
	for _, s := range summary.list("ResourceIdentifierSummaries") {
		logical, _ := s["LogicalResourceIds"].([]any)
		keys, _ := s["ResourceIdentifiers"].([]any)
		if slices.Contains(logical, any(of.Logical)) && len(keys) > 0 {
			key, _ = keys[0].(string)
		}
	}
	if strings.Contains(key, ",") {
		return "", errManyIdentifiers
	}
	in := want.request(want.Name)
	delete(in, "DisableRollback") // an import is always rolled back
	in["ChangeSetName"], in["ChangeSetType"] = "pintle-import-"+strings.ToLower(rand.Text()), "IMPORT"
	in["ResourcesToImport"] = []any{map[string]any{
		"ResourceType": of.Type, "LogicalResourceId": of.Logical, "ResourceIdentifier": map[string]any{key: of.Physical},
	}}
	made, err := c.call(ctx, "CreateChangeSet", in)
	if err != nil {
		return "", err
	}
	set := members{"ChangeSetName": made.text("Id")}
	if err := c.awaitChangeSet(ctx, set); err != nil {
		return "", err
	}
	_, err = c.call(ctx, "ExecuteChangeSet", set)
	return made.text("StackId"), err
}

// awaitChangeSet waits until a change set can be executed. It deletes one that failed.
func (c *CloudFormation) awaitChangeSet(ctx context.Context, set members) error {
	return poll(ctx, func() (done bool, err error) {
		out, err := c.call(ctx, "DescribeChangeSet", set)
		if err != nil {
			return false, err
		}
		status := out.text("Status")
		if status == "FAILED" {
			_, err = c.call(ctx, "DeleteChangeSet", set)
			return true, errors.Join(errors.New(out.text("StatusReason")), err)
		}
		return !strings.HasSuffix(status, "_IN_PROGRESS") && !strings.HasSuffix(status, "_PENDING"), nil
	})
}
