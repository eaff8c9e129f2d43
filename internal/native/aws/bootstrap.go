package aws

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/catalog"
)

// The types that the CDK's bootstrap stack has beside those.
var (
	repositoryTable = table{
		name:  "AWS::ECR::Repository",
		texts: "ImageTagMutability RepositoryName", truths: "EmptyOnDelete",
		lists:     "ImageTagMutabilityExclusionFilters Tags",
		objects:   "EncryptionConfiguration ImageScanningConfiguration LifecyclePolicy",
		documents: "RepositoryPolicyText",
		replaces:  "EncryptionConfiguration RepositoryName", attributes: "Arn RepositoryUri",
		named: "RepositoryName", longest: 256, letters: repositoryForm,
	}
	keyTable = table{
		name:      "AWS::KMS::Key",
		texts:     "Description KeySpec KeyUsage Origin",
		numbers:   "PendingWindowInDays RotationPeriodInDays",
		truths:    "BypassPolicyLockoutSafetyCheck EnableKeyRotation Enabled MultiRegion",
		lists:     "Tags",
		documents: "KeyPolicy", attributes: "Arn KeyId",
	}
	aliasTable = table{
		name: "AWS::KMS::Alias", texts: "AliasName TargetKeyId", required: "AliasName TargetKeyId", replaces: "AliasName",
		named: "AliasName", longest: 256, letters: aliasForm,
	}
)

func repositoryName(c *call) string { return strings.ToLower(c.name("RepositoryName", 256)) }

func repositoryAttributes(c *call, id string, _ catalog.Item[catalog.Record], _ time.Time) []string {
	return []string{
		"Arn", c.arn("ecr", "repository/"+id),
		"RepositoryUri", c.place.Account + ".dkr.ecr." + c.place.Region + "." + c.domain() + "/" + id,
	}
}

func keyID(c *call) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.holder())).String()
}

func keyAttributes(c *call, id string, _ catalog.Item[catalog.Record], _ time.Time) []string {
	return []string{"Arn", c.arn("kms", "key/"+id), "KeyId", id}
}
