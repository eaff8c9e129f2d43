package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Dialect is the service whose protocol a document uses. The dialects differ in the fields of a request, the way to
// answer it, and limits. [ParseRequest] detects the dialect from the document.
type Dialect uint8

// The dialects. The zero value is CloudFormation.
const (
	// CloudFormation is AWS CloudFormation.
	CloudFormation Dialect = iota
	// ROS is Resource Orchestration Service of Alibaba Cloud. docs/protocol.md covers what its documentation leaves open.
	ROS
)

// String returns "cloudformation" or "ros".
func (d Dialect) String() string {
	switch d {
	case CloudFormation:
		return "cloudformation"
	case ROS:
		return "ros"
	}
	return fmt.Sprintf("dialect %d", uint8(d))
}

// Limits of ROS. Source: ROS, ALIYUN::ROS::CustomResource, and custom resource response objects. The page about limits
// allows responses of 4,096 KB instead of bytes, so a provider should respect [MaxResponse].
const (
	// MaxROSPhysicalID is the length of the longest physical ID in bytes, inclusive.
	MaxROSPhysicalID = 255
	// MaxROSTypeName is the length of the longest type name in characters. ROS does not say whether "Custom::" counts;
	// here it does.
	MaxROSTypeName = 68
	// MaxROSServiceToken is the length of the longest service token in bytes, inclusive.
	MaxROSServiceToken = 512
	// MaxROSResponse is the largest response limit in bytes that a service can be configured with, inclusive. Source:
	// ROS, limits, 4,096 KB.
	MaxROSResponse = 4096 << 10
	// MaxROSSignKey is the length of the longest SignKey of an HttpConfig in characters. The minimum is 1.
	MaxROSSignKey = 128
)

// Bounds of the Timeout property of ROS. Requests do not contain it. Source: ROS, ALIYUN::ROS::CustomResource.
const (
	MinROSTimeout     = time.Second
	MaxROSTimeout     = 43200 * time.Second
	DefaultROSTimeout = 60 * time.Second
	// ROSSyncTimeout is how long ROS waits for the reply of a provider whose token has the option sync, regardless of
	// Timeout.
	ROSSyncTimeout = 10 * time.Second
)

// ROSCustomResourceType is a custom resource type in a template of ROS. The other types are "Custom::" and a name.
const ROSCustomResourceType = "ALIYUN::ROS::CustomResource"

// MaxPhysicalID returns the length of the longest physical ID in bytes, inclusive.
func (d Dialect) MaxPhysicalID() int {
	if d == ROS {
		return MaxROSPhysicalID
	}
	return MaxPhysicalID
}

// CheckResourceType returns an error unless name is the type of a custom resource: the fixed type of the dialect, or
// "Custom::" and a name of letters, digits and "_@-". It has at most 60 characters in CloudFormation and 68 in ROS,
// including the prefix.
func (d Dialect) CheckResourceType(name string) error {
	if d == ROS {
		return checkResourceType(name, ROSCustomResourceType, MaxROSTypeName)
	}
	return checkResourceType(name, CustomResourceType, MaxTypeName)
}

// ParseTimeout reads the JSON value of the property that limits the time of a provider: ServiceTimeout in CloudFormation,
// see [ParseServiceTimeout], and Timeout in ROS. The latter is whole seconds, 1 to 43200, as a number or a string. If the
// property is not set, so that raw is empty or null, ParseTimeout returns the default of the dialect.
func (d Dialect) ParseTimeout(raw json.RawMessage) (time.Duration, error) {
	if d == ROS {
		return parseTimeout("Timeout", raw, MaxROSTimeout, DefaultROSTimeout)
	}
	return ParseServiceTimeout(raw)
}

// isROS reports whether the members are those of a request of ROS. With an ARN as stack ID they never are. Otherwise it
// looks for a member that only ROS has, or for a UUID as stack ID without a ServiceToken, which CloudFormation always
// sends.
func isROS(fields map[string]json.RawMessage) bool {
	var stack string
	_ = json.Unmarshal(fields["StackId"], &stack) // a value that is not a string is reported later
	if strings.HasPrefix(stack, "arn:") {
		return false
	}
	for _, key := range rosFields {
		if hasText(fields[key]) {
			return true
		}
	}
	return isUUID(stack) && !hasText(fields["ServiceToken"])
}

// hasText reports whether a member exists and is neither null nor the empty string.
func hasText(raw json.RawMessage) bool { return isSet(raw) && string(raw) != `""` }

// isUUID reports whether text is 32 hexadecimal digits, in groups of 8, 4, 4, 4 and 12 with dashes between.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range text {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false
		}
	}
	return true
}
