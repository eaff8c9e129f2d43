package ssm

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// imageParameter matches the names of public parameters whose value is the ID of a machine image. Source: Systems
// Manager User Guide, public parameters; the documentation of ECS, EKS and Bottlerocket.
var imageParameter = regexp.MustCompile(`^/aws/service/(ami-amazon-linux-latest/|ami-windows-latest/|ami-macos-latest/|canonical/ubuntu/|debian/|` +
	`freebsd/|marketplace/|redhat/|suse/|neuron/.*/image_id$|deeplearning/.*/ami-id$|(ecs|eks)/optimized-ami/.*/image_id$|bottlerocket/.*/image_id$)`)

// image returns the machine image ID of a public parameter. The ID is derived from the name, and the image does not
// exist. ok is false for any other parameter.
func image(name string) (string, bool) {
	if len(name) > maxPublicName || !imageParameter.MatchString(name) {
		return "", false
	}
	sum := sha256.Sum256([]byte(name))
	return "ami-" + hex.EncodeToString(sum[:])[:17], true
}

// maxPublicName is the maximum length of a parameter name. Source: Systems Manager, PutParameter.
const maxPublicName = 2048
