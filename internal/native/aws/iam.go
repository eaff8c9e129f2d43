package aws

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/catalog"
)

// The types of IAM.
var (
	roleTable = table{
		name:      "AWS::IAM::Role",
		texts:     "Description Path PermissionsBoundary RoleName",
		numbers:   "MaxSessionDuration",
		lists:     "ManagedPolicyArns Policies Tags",
		documents: "AssumeRolePolicyDocument",
		required:  "AssumeRolePolicyDocument", replaces: "Path RoleName", attributes: "Arn RoleId",
		named: "RoleName", longest: 64, letters: identityLetters,
	}
	policyTable = table{
		name: "AWS::IAM::Policy", texts: "PolicyName", lists: "Groups Roles Users", documents: "PolicyDocument",
		required: "PolicyDocument PolicyName", attributes: "Id",
	}
	managedPolicyTable = table{
		name: "AWS::IAM::ManagedPolicy", texts: "Description ManagedPolicyName Path", lists: "Groups Roles Users",
		documents: "PolicyDocument", required: "PolicyDocument", replaces: "Description ManagedPolicyName Path",
		attributes: "AttachmentCount CreateDate DefaultVersionId IsAttachable PermissionsBoundaryUsageCount PolicyArn PolicyId UpdateDate",
		named:      "ManagedPolicyName", longest: 128, letters: identityLetters,
	}
)

// path is that of an identity, which begins and ends with a slash.
func (c *call) path() string {
	if path := c.text("Path"); path != "" {
		return path
	}
	return "/"
}

func (c *call) identityARN(rest string) string {
	return "arn:" + c.stack.Partition + ":iam::" + c.place.Account + ":" + rest
}

func roleAttributes(c *call, id string, made catalog.Item[catalog.Record], _ time.Time) []string {
	return []string{"Arn", c.identityARN("role" + c.path() + id), "RoleId", unique("AROA", made.Holder)}
}

func managedPolicyARN(c *call) string {
	return c.identityARN("policy" + c.path() + c.name("ManagedPolicyName", 128))
}

func managedPolicyAttributes(c *call, id string, made catalog.Item[catalog.Record], changed time.Time) []string {
	attached := len(c.texts("Groups")) + len(c.texts("Roles")) + len(c.texts("Users"))
	return []string{
		"AttachmentCount", strconv.Itoa(attached), "CreateDate", made.Of.Made.Format(time.RFC3339), "DefaultVersionId", "v1", "IsAttachable", "true",
		"PermissionsBoundaryUsageCount", "0", "PolicyArn", id, "PolicyId", unique("ANPA", made.Holder), "UpdateDate", changed.Format(time.RFC3339),
	}
}

// unique returns an id in the form of those of IAM, which is another one for what is made anew under the same name.
func unique(prefix, holder string) string {
	sum := uuid.NewSHA1(uuid.NameSpaceURL, []byte(holder))
	return prefix + strings.ToUpper(strings.ReplaceAll(sum.String(), "-", ""))[:17]
}
