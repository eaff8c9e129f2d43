package engine

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// checkCapabilities refuses a template with IAM resources that the caller has not acknowledged, though they are records here.
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

// The capabilities: what a client has to agree to. Source: CloudFormation, CreateStack.
const (
	capabilityAutoExpand = "CAPABILITY_AUTO_EXPAND" // a template has transforms
	capabilityIAM        = "CAPABILITY_IAM"         // it has resources of IAM
	capabilityNamedIAM   = "CAPABILITY_NAMED_IAM"   // and some of those have names of their own
)

// checkCapabilities refuses a template whose transforms nobody has agreed to. A change set needs no such consent: it shows
// what comes of them.
func checkCapabilities(t *template.Template, given []string) error {
	if t.Unprocessed() && !slices.Contains(given, capabilityAutoExpand) {
		return requires(capabilityAutoExpand)
	}
	return nil
}

func requires(capability string) error {
	return &Error{CodeInsufficientRights, "Requires capabilities : [" + capability + "]"}
}

// Capabilities returns the capability that the resources of a template require, CAPABILITY_IAM or CAPABILITY_NAMED_IAM, and
// why, in CloudFormation's words; both are empty if they require none.
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

// identityName returns the property by which a resource of IAM is given a name of its own, "" if it has none such; false for
// types that need no capability.
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
