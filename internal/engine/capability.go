package engine

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// checkCapabilities rejects a template with IAM resources that the caller has not acknowledged, as CloudFormation does,
// although they exist only locally.
func (d binding) checkCapabilities(t *template.Template, given []string) error {
	if !d.dialect.rules().consents {
		return nil
	}
	needed, _ := Capabilities(t)
	switch {
	case needed == "", slices.Contains(given, needed), slices.Contains(given, capabilityNamedIAM):
		return nil
	}
	return requires(needed)
}

// The capabilities that a client has to acknowledge. Source: CloudFormation, CreateStack.
const (
	capabilityAutoExpand = "CAPABILITY_AUTO_EXPAND" // the template has transforms
	capabilityIAM        = "CAPABILITY_IAM"         // the template has IAM resources
	capabilityNamedIAM   = "CAPABILITY_NAMED_IAM"   // some IAM resources have custom names
)

// checkCapabilities rejects a template whose transforms the caller has not acknowledged. A change set needs no such
// acknowledgement, because it shows the result of the transforms.
func checkCapabilities(t *template.Template, given []string) error {
	if t.Unprocessed() && !slices.Contains(given, capabilityAutoExpand) {
		return requires(capabilityAutoExpand)
	}
	return nil
}

func requires(capability string) error {
	return &Error{CodeInsufficientRights, "Requires capabilities : [" + capability + "]"}
}

// Capabilities returns the capability that the resources of a template require, CAPABILITY_IAM or
// CAPABILITY_NAMED_IAM, and the reason in CloudFormation's words. Both are empty if the template needs none.
func Capabilities(t *template.Template) (capability, reason string) {
	var types []string
	for _, r := range t.Resources {
		name, ok := identityName(r.Type)
		if !ok {
			continue
		}
		types = append(types, r.Type)
		if capability == "" {
			capability = capabilityIAM
		}
		if name != "" && !r.Properties.Get(name).IsZero() {
			capability = capabilityNamedIAM
		}
	}
	if types == nil {
		return "", ""
	}
	slices.Sort(types)
	return capability, "The following resource(s) require capabilities: [" + strings.Join(slices.Compact(types), ", ") + "]"
}

// identityName returns the property that gives an IAM resource a custom name, or "" if it has no such property. ok is
// false for types that need no capability.
func identityName(resourceType string) (property string, ok bool) {
	switch resourceType {
	case "AWS::IAM::AccessKey", "AWS::IAM::Policy", "AWS::IAM::UserToGroupAddition":
		return "", true
	case "AWS::IAM::Group":
		return "GroupName", true
	case "AWS::IAM::InstanceProfile":
		return "InstanceProfileName", true
	case "AWS::IAM::ManagedPolicy":
		return "ManagedPolicyName", true
	case "AWS::IAM::Role":
		return "RoleName", true
	case "AWS::IAM::User":
		return "UserName", true
	}
	return "", false
}
