package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of the protocol.
const (
	// MaxRequest is the size of the largest request in bytes, inclusive. Source: Lambda and SNS, asynchronous payload.
	MaxRequest = 256 << 10
	// MaxResponse is the size of the largest response in bytes, inclusive. Source: CloudFormation, response objects.
	MaxResponse = 4096
	// MaxPhysicalID is the length of the longest physical ID in bytes, inclusive. Source: CloudFormation, response
	// objects, PhysicalResourceId.
	MaxPhysicalID = 1024
	// MaxTypeName is the length of the longest type name in characters, including "Custom::". Source: CloudFormation,
	// custom resource reference; the CDK's check counts the prefix.
	MaxTypeName = 60
)

// Bounds of the ServiceTimeout property. Source: CloudFormation, custom resource reference, ServiceTimeout.
const (
	MinServiceTimeout     = time.Second
	MaxServiceTimeout     = 3600 * time.Second
	DefaultServiceTimeout = 3600 * time.Second
)

// Names of a custom resource type in a template.
const (
	CustomResourceType = "AWS::CloudFormation::CustomResource"
	CustomTypePrefix   = "Custom::"
)

// ParseServiceTimeout reads the JSON value of a ServiceTimeout property: whole seconds, 1 to 3600, as a number or a
// string. If the property is not set, so that raw is empty or null, it returns [DefaultServiceTimeout].
func ParseServiceTimeout(raw json.RawMessage) (time.Duration, error) {
	return parseTimeout("ServiceTimeout", raw, MaxServiceTimeout, DefaultServiceTimeout)
}

func parseTimeout(name string, raw json.RawMessage, most, standard time.Duration) (time.Duration, error) {
	text := string(bytes.TrimSpace(raw))
	if text == "" || text == "null" {
		return standard, nil
	}
	if text[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, fmt.Errorf("%s is not JSON: %w", name, err)
		}
	}
	seconds, err := strconv.ParseUint(text, 10, 16)
	if limit := uint64(most / time.Second); err != nil || seconds < 1 || seconds > limit {
		if len(text) > 40 {
			text = text[:40] + "…"
		}
		return 0, fmt.Errorf("%s must be a whole number of seconds from 1 to %d, got %q", name, limit, text)
	}
	return time.Duration(seconds) * time.Second, nil
}

// CheckResourceType returns an error unless name is the type of a custom resource: [CustomResourceType], or "Custom::"
// and a name of letters, digits and "_@-". It has at most [MaxTypeName] characters, including the prefix.
func CheckResourceType(name string) error {
	return checkResourceType(name, CustomResourceType, MaxTypeName)
}

func checkResourceType(name, generic string, most int) error {
	if name == generic {
		return nil
	}
	rest, ok := strings.CutPrefix(name, CustomTypePrefix)
	switch {
	case len(name) > most:
		return fmt.Errorf("custom resource type is %d characters long, %d are allowed: %.60q", len(name), most, name)
	case !ok:
		return fmt.Errorf("custom resource type must be %s or begin with %q, got %q", generic, CustomTypePrefix, name)
	case rest == "":
		return fmt.Errorf("custom resource type has no name after %q", CustomTypePrefix)
	}
	for _, c := range rest {
		if !isAlnum(c) && c != '_' && c != '@' && c != '-' {
			return fmt.Errorf("custom resource type may hold letters, digits and _@- only, got %q in %q", c, name)
		}
	}
	return nil
}

func isAlnum(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
