package ossapi

import (
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// checkBucketName returns [objects.ErrBucketName] for a name that is invalid in OSS. Unlike S3, OSS does not allow
// dots.
func checkBucketName(name string) error {
	if !bucketName.MatchString(name) {
		return objects.ErrBucketName
	}
	return nil
}

// checkKey returns an error for a key that is invalid in OSS.
func checkKey(key string) error {
	if strings.HasPrefix(key, "/") || strings.HasPrefix(key, `\`) {
		return objects.ErrKey
	}
	return objects.CheckKey(key)
}
