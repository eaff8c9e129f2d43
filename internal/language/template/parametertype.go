package template

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// parameterType is a parsed type of a parameter.
type parameterType struct {
	// stored says that the passed value is the name of a parameter in the parameter store, and the value its content.
	stored bool
	// named says that the passed value is the name of such a parameter, which must exist.
	named bool
	// list says that the value is a list of elements.
	list bool
	// element is String, Number, or an AWS-specific type.
	element string
}

const (
	storedPrefix = "AWS::SSM::Parameter::Value<"
	namedType    = "AWS::SSM::Parameter::Name"
	listPrefix   = "List<"
)

// parseType parses the name of a type; false for an unknown type. Source: CloudFormation User Guide, "CloudFormation
// template Parameters syntax", supported types.
func parseType(name string) (t parameterType, ok bool) {
	if name == namedType {
		return parameterType{named: true, element: "String"}, true
	}
	if inner, found := strings.CutPrefix(name, storedPrefix); found {
		if inner, found = strings.CutSuffix(inner, ">"); !found {
			return t, false
		}
		// The store has no numbers, and its lists are lists of strings.
		t, ok = parseType(inner)
		ok = ok && !t.stored && !t.named && t.element != "Number"
		t.stored = true
		return t, ok
	}
	// List<String> is documented only for types of the parameter store, but the service accepts it: recorded answers,
	// D13.
	switch name {
	case "String", "Number":
		return parameterType{element: name}, true
	case "CommaDelimitedList", listPrefix + "String>":
		return parameterType{list: true, element: "String"}, true
	}
	element, isList := strings.CutPrefix(name, listPrefix)
	if isList {
		if element, ok = strings.CutSuffix(element, ">"); !ok {
			return t, false
		}
	}
	t = parameterType{list: isList, element: element}
	if element == "Number" {
		return t, isList
	}
	_, ok = identifiers[element]
	return t, ok
}

// identifier is the format of names of one kind of resource in an account.
type identifier struct {
	// what describes the name, with an example.
	what  string
	shape *regexp.Regexp
}

// identifiers are the AWS-specific types. Without an account to look in, only the format of a value is checked. Source:
// EC2 API Reference, resource IDs (8 or 17 hexadecimal digits), key pair and group names (255 characters); Route 53 API
// Reference, ResourceId (32 characters); regions and zones by their names.
var identifiers = map[string]identifier{
	"AWS::EC2::AvailabilityZone::Name":   {"the name of an availability zone, such as us-east-1a", regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+(-[a-z]{3}-[0-9]+)?[a-z]$`)},
	"AWS::EC2::Image::Id":                resourceID("the ID of an image", "ami"),
	"AWS::EC2::Instance::Id":             resourceID("the ID of an instance", "i"),
	"AWS::EC2::KeyPair::KeyName":         {"the name of a key pair, of 1 to 255 ASCII characters", regexp.MustCompile(`^[ -~]{1,255}$`)},
	"AWS::EC2::SecurityGroup::GroupName": {"the name of a security group, of 1 to 255 characters", regexp.MustCompile(`^[^\r\n]{1,255}$`)},
	"AWS::EC2::SecurityGroup::Id":        resourceID("the ID of a security group", "sg"),
	"AWS::EC2::Subnet::Id":               resourceID("the ID of a subnet", "subnet"),
	"AWS::EC2::Volume::Id":               resourceID("the ID of a volume", "vol"),
	"AWS::EC2::VPC::Id":                  resourceID("the ID of a VPC", "vpc"),
	"AWS::Route53::HostedZone::Id":       {"the ID of a hosted zone, such as Z23YXV4OVPL04A", regexp.MustCompile(`^[A-Z0-9]{1,32}$`)},
}

func resourceID(what, prefix string) identifier {
	return identifier{
		what + ", such as " + prefix + "-0123456789abcdef0", regexp.MustCompile(`^` + prefix + `-[0-9a-f]{8}(?:[0-9a-f]{9})?$`),
	}
}

// misfit returns why a text is not an element of the type, or "". It does not quote the text.
func (t parameterType) misfit(text string) string {
	if t.element == "Number" {
		if _, ok := parseNumber(text); !ok {
			return "must be a number."
		}
		return ""
	}
	if id, ok := identifiers[t.element]; ok && !id.shape.MatchString(text) {
		return "must be " + id.what
	}
	return ""
}

// storedName matches how parameters of the store can be named or found: by an ARN, at a version or with a label.
// Source: Systems Manager API Reference, GetParameter.
var storedName = regexp.MustCompile(`^[a-zA-Z0-9_.\-/:]+$`)

// isStoredName reports whether a text can be the name of a parameter in the store.
func isStoredName(text string) bool {
	return utf8.RuneCountInString(text) <= 2048 && storedName.MatchString(text)
}
