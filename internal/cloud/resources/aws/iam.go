package aws

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
)

// The IAM types.
var (
	roleTable = resources.Table{
		Name:       "AWS::IAM::Role",
		Identifier: "RoleName",
		Texts:      "Description Path PermissionsBoundary RoleName",
		Numbers:    "MaxSessionDuration",
		Lists:      "ManagedPolicyArns Policies Tags",
		Documents:  "AssumeRolePolicyDocument",
		Required:   "AssumeRolePolicyDocument", Replaces: "Path RoleName", Attributes: "Arn RoleId",
		Named: "RoleName", Longest: 64, Letters: identityLetters,
	}
	policyTable = resources.Table{
		Name: "AWS::IAM::Policy", Identifier: "Id", Texts: "PolicyName", Lists: "Groups Roles Users", Documents: "PolicyDocument",
		Required: "PolicyDocument PolicyName", Attributes: "Id",
	}
	managedPolicyTable = resources.Table{
		Name: "AWS::IAM::ManagedPolicy", Identifier: "PolicyArn", Texts: "Description ManagedPolicyName Path", Lists: "Groups Roles Users",
		Documents: "PolicyDocument", Required: "PolicyDocument", Replaces: "Description ManagedPolicyName Path",
		Attributes: "AttachmentCount CreateDate DefaultVersionId IsAttachable PermissionsBoundaryUsageCount PolicyArn PolicyId UpdateDate",
		Named:      "ManagedPolicyName", Longest: 128, Letters: identityLetters,
	}
)

// path returns the path of an identity, which begins and ends with a slash.
func path(c *resources.Call) string {
	if path := c.Text("Path"); path != "" {
		return path
	}
	return "/"
}

func identityARN(c *resources.Call, rest string) string {
	return "arn:" + c.Partition + ":iam::" + c.Place.Account + ":" + rest
}

func roleAttributes(c *resources.Call, id string, made registry.Item[registry.Record], _ time.Time) []string {
	return []string{"Arn", identityARN(c, "role"+path(c)+id), "RoleId", unique("AROA", made.Owner)}
}

func managedPolicyARN(c *resources.Call) string {
	return identityARN(c, "policy"+path(c)+c.Name("ManagedPolicyName", 128))
}

func managedPolicyAttributes(c *resources.Call, id string, made registry.Item[registry.Record], changed time.Time) []string {
	attached := len(c.Texts("Groups")) + len(c.Texts("Roles")) + len(c.Texts("Users"))
	return []string{
		"AttachmentCount", strconv.Itoa(attached), "CreateDate", made.Of.Made.Format(time.RFC3339), "DefaultVersionId", "v1", "IsAttachable", "true",
		"PermissionsBoundaryUsageCount", "0", "PolicyArn", id, "PolicyId", unique("ANPA", made.Owner), "UpdateDate", changed.Format(time.RFC3339),
	}
}

// unique returns an ID in IAM's format, derived from holder. A resource that is created again under the same name
// gets a new ID.
func unique(prefix, holder string) string {
	sum := uuid.NewSHA1(uuid.NameSpaceURL, []byte(holder))
	return prefix + strings.ToUpper(strings.ReplaceAll(sum.String(), "-", ""))[:17]
}
