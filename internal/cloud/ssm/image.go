package ssm

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// imageParameter is the form of the names of public parameters whose value is the ID of a machine image. Source: Systems Manager User
// Guide, public parameters; the documentation of ECS, EKS and Bottlerocket about theirs.
var imageParameter = regexp.MustCompile(`^/aws/service/(ami-amazon-linux-latest/|ami-windows-latest/|ami-macos-latest/|canonical/ubuntu/|debian/|` +
	`freebsd/|marketplace/|redhat/|suse/|neuron/.*/image_id$|deeplearning/.*/ami-id$|(ecs|eks)/optimized-ami/.*/image_id$|bottlerocket/.*/image_id$)`)

// image returns the ID of the machine image that a public parameter names, which is the same for the same name. There is no such
// image. It returns false if the name is not that of such a parameter.
func image(name string) (string, bool) {
	if len(name) > maxPublicName || !imageParameter.MatchString(name) {
		return "", false
	}
	sum := sha256.Sum256([]byte(name))
	return "ami-" + hex.EncodeToString(sum[:])[:17], true
}

// maxPublicName is how long the name of a parameter may be. Source: Systems Manager, PutParameter.
const maxPublicName = 2048
