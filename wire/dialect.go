package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Dialect is whose protocol a document is written in. The two differ in what a request holds, in how it is answered, and
// in limits; [ParseRequest] tells them apart by the document itself.
type Dialect uint8

// The dialects. The zero value is CloudFormation.
const (
	// CloudFormation is AWS CloudFormation.
	CloudFormation Dialect = iota
	// ROS is Resource Orchestration Service of Alibaba Cloud. docs/protocol.md describes what its pages leave open.
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

// Limits of ROS. Source: ROS, ALIYUN::ROS::CustomResource, and custom resource response objects; its page of limits
// allows responses of 4,096 KB instead of bytes, so a provider keeps to [MaxResponse].
const (
	// MaxROSPhysicalID is the length of the longest physical ID in bytes, inclusive.
	MaxROSPhysicalID = 255
	// MaxROSTypeName is the length of the longest type name in characters. That "Custom::" counts is our reading.
	MaxROSTypeName = 68
	// MaxROSServiceToken is the length of the longest service token in bytes, inclusive.
	MaxROSServiceToken = 512
	// MaxROSResponse is the size of the largest response in bytes that a service may be set to take, inclusive. Source: ROS,
	// limits, 4,096 KB.
	MaxROSResponse = 4096 << 10
	// MaxROSSignKey is the length of the longest SignKey of an HttpConfig, in characters; the shortest has one.
	MaxROSSignKey = 128
)

// Bounds of the Timeout property of ROS. It is not in the request. Source: ROS, ALIYUN::ROS::CustomResource.
const (
	MinROSTimeout     = time.Second
	MaxROSTimeout     = 43200 * time.Second
	DefaultROSTimeout = 60 * time.Second
	// ROSSyncTimeout is how long ROS waits for the reply of a provider whose token has the option sync, whatever Timeout
	// says.
	ROSSyncTimeout = 10 * time.Second
)

// ROSCustomResourceType is the name of a custom resource type in a template of ROS, beside "Custom::" and a name.
const ROSCustomResourceType = "ALIYUN::ROS::CustomResource"

// MaxPhysicalID returns the length of the longest physical ID in bytes, inclusive.
func (d Dialect) MaxPhysicalID() int {
	if d == ROS {
		return MaxROSPhysicalID
	}
	return MaxPhysicalID
}

// CheckResourceType returns an error unless name is the type of a custom resource: that of the dialect, or "Custom::" and
// a name of letters, digits and "_@-", at most 60 characters in all in CloudFormation, 68 in ROS.
func (d Dialect) CheckResourceType(name string) error {
	if d == ROS {
		return checkResourceType(name, ROSCustomResourceType, MaxROSTypeName)
	}
	return checkResourceType(name, CustomResourceType, MaxTypeName)
}

// ParseTimeout reads the JSON value of the property that limits the time of a provider: ServiceTimeout in CloudFormation,
// see [ParseServiceTimeout], and Timeout in ROS, whole seconds as a number or as a string, 1 to 43200. An empty text or
// null, which is a property that is not set, means the default of the dialect.
func (d Dialect) ParseTimeout(raw json.RawMessage) (time.Duration, error) {
	if d == ROS {
		return parseTimeout("Timeout", raw, MaxROSTimeout, DefaultROSTimeout)
	}
	return ParseServiceTimeout(raw)
}

// isROS reports whether the members are those of a request of ROS. An ARN for a stack ID is never ROS's; otherwise a
// member that only ROS has decides, or a bare UUID for a stack ID without a ServiceToken, which CloudFormation always
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

// hasText reports whether a member is there and neither null nor the empty string.
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
