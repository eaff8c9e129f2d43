package aliyun

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/wire"
)

// ramLetters matches RAM names. Source: ROS, ALIYUN::RAM::Role.
var ramLetters = regexp.MustCompile(`^[A-Za-z0-9._@-]+$`)

// The RAM types. Their names are unique across all regions of an account.
var (
	roleType = resources.RecordType{
		Table: resources.Table{
			Name: "ALIYUN::RAM::Role", Dialect: wire.ROS,
			Texts: "Description RoleName", Numbers: "MaxSessionDuration:3600-43200", Truths: "DeletionForce IgnoreExisting",
			Lists: "Policies Tags", Objects: "AssumeRolePolicyDocument PolicyAttachments",
			Required: "AssumeRolePolicyDocument RoleName", Replaces: "Description RoleName", Attributes: "Arn RoleId RoleName",
			Named: "RoleName", Longest: 64, Letters: ramLetters,
		},
		Global: true, Lenient: "IgnoreExisting", ID: called("RoleName"),
		Attributes: func(c *resources.Call, id string, made registry.Item[registry.Record], _ time.Time) []string {
			return []string{"Arn", ramARN(c, "role/"+strings.ToLower(id)), "RoleId", number(made.Owner), "RoleName", id}
		},
	}
	managedPolicyType = resources.RecordType{
		Table: resources.Table{
			Name: "ALIYUN::RAM::ManagedPolicy", Dialect: wire.ROS,
			Texts: "Description PolicyName", Truths: "IgnoreExisting", Lists: "Groups Roles Users",
			Objects:  "PolicyDocument PolicyDocumentUnchecked",
			Required: "PolicyName", Replaces: "Description Groups PolicyName Roles Users", Attributes: "PolicyName",
			Named: "PolicyName", Longest: 128, Letters: ramLetters,
		},
		Global: true, Lenient: "IgnoreExisting", ID: called("PolicyName"), Attributes: itself("PolicyName"),
	}
	userType = resources.RecordType{
		Table: resources.Table{
			Name: "ALIYUN::RAM::User", Dialect: wire.ROS,
			Texts: "Comments DisplayName Email MobilePhone UserName", Truths: "DeletionForce", Lists: "Groups Policies",
			Objects:  "LoginProfile PolicyAttachments",
			Required: "UserName", Replaces: "Comments DisplayName Email Groups LoginProfile MobilePhone UserName",
			Attributes: "CreateDate LastLoginDate UserId UserName",
			Named:      "UserName", Longest: 64, Letters: ramLetters,
		},
		Global: true, ID: called("UserName"),
		Attributes: func(_ *resources.Call, id string, made registry.Item[registry.Record], _ time.Time) []string {
			return []string{
				"CreateDate", made.Of.Made.Format(time.RFC3339), "LastLoginDate", "", "UserId", number(made.Owner), "UserName", id,
			}
		},
	}
	accessKeyType = resources.RecordType{
		Table: resources.Table{
			Name: "ALIYUN::RAM::AccessKey", Dialect: wire.ROS,
			Texts: "UserName", Required: "UserName", Replaces: "UserName", Attributes: "AccessKeyId AccessKeySecret Status",
		},
		Global: true,
		ID:     func(c *resources.Call) string { return "LTAI5t" + letters("id", c.Holder(), 18) },
		Attributes: func(_ *resources.Call, id string, made registry.Item[registry.Record], _ time.Time) []string {
			return []string{"AccessKeyId", id, "AccessKeySecret", letters("secret", made.Owner, 30), "Status", "Active"}
		},
	}
	attachToRoleType = attachType("Role")
	attachToUserType = attachType("User")
)

// attachType returns the type that attaches a policy to a role or a user.
func attachType(to string) resources.RecordType {
	properties := "PolicyName PolicyType " + to + "Name"
	return resources.RecordType{
		Table: resources.Table{
			Name: "ALIYUN::RAM::AttachPolicyTo" + to, Dialect: wire.ROS,
			Texts: properties, Required: properties, Replaces: properties,
		},
		Global: true, ID: madeUp,
	}
}

// ramARN returns a RAM ARN, which has no region.
func ramARN(c *resources.Call, rest string) string { return "acs:ram::" + c.Place.Account + ":" + rest }

// number returns an ID in RAM's format, eighteen digits.
func number(holder string) string {
	sum := sha256.Sum256([]byte(holder))
	return "3" + strconv.FormatUint(binary.BigEndian.Uint64(sum[:])%1e17+1e17, 10)[1:]
}

// letters returns letters and digits derived from a use and a holder. They give no access: no verifier knows the keys
// of emulated users.
func letters(use, holder string, count int) string {
	sum := sha256.Sum256([]byte(use + "|" + holder))
	return base32.StdEncoding.EncodeToString(sum[:])[:count]
}
