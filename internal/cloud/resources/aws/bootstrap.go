package aws

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
)

// Further types of the CDK bootstrap stack.
var (
	repositoryTable = resources.Table{
		Name:       "AWS::ECR::Repository",
		Identifier: "RepositoryName",
		Texts:      "ImageTagMutability RepositoryName", Truths: "EmptyOnDelete",
		Lists:     "ImageTagMutabilityExclusionFilters Tags",
		Objects:   "EncryptionConfiguration ImageScanningConfiguration LifecyclePolicy",
		Documents: "RepositoryPolicyText",
		Replaces:  "EncryptionConfiguration RepositoryName", Attributes: "Arn RepositoryUri",
		Named: "RepositoryName", Longest: 256, Letters: repositoryForm,
	}
	keyTable = resources.Table{
		Name:       "AWS::KMS::Key",
		Identifier: "KeyId",
		Texts:      "Description KeySpec KeyUsage Origin",
		Numbers:    "PendingWindowInDays RotationPeriodInDays",
		Truths:     "BypassPolicyLockoutSafetyCheck EnableKeyRotation Enabled MultiRegion",
		Lists:      "Tags",
		Documents:  "KeyPolicy", Attributes: "Arn KeyId",
	}
	aliasTable = resources.Table{
		Name: "AWS::KMS::Alias", Identifier: "AliasName", Texts: "AliasName TargetKeyId", Required: "AliasName TargetKeyId", Replaces: "AliasName",
		Named: "AliasName", Longest: 256, Letters: aliasForm,
	}
)

func repositoryName(c *resources.Call) string { return strings.ToLower(c.Name("RepositoryName", 256)) }

func repositoryAttributes(c *resources.Call, id string, _ registry.Item[registry.Record], _ time.Time) []string {
	return []string{
		"Arn", c.ARN("ecr", "repository/"+id),
		"RepositoryUri", c.Place.Account + ".dkr.ecr." + c.Place.Region + "." + domain(c) + "/" + id,
	}
}

func keyID(c *resources.Call) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.Holder())).String()
}

func keyAttributes(c *resources.Call, id string, _ registry.Item[registry.Record], _ time.Time) []string {
	return []string{"Arn", c.ARN("kms", "key/"+id), "KeyId", id}
}
