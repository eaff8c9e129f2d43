package diagnosis

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// Rule is a kind of problem.
type Rule struct {
	// ID is the permanent name of the rule: lower-case words joined by hyphens. The rule may find more cases later,
	// but its meaning does not change.
	ID string
	// Title is the requirement in a sentence. Remedy says how to fix a problem.
	Title, Remedy string

	// rosRemedy is the remedy for templates of ROS, "" if it is the same.
	rosRemedy string
	// says are words by one of which the messages of the rule are known. Those of an earlier rule come first.
	says []string
}

// In returns the rule in the words of a template language.
func (r Rule) In(language template.Language) Rule {
	if language == template.ROS && r.rosRemedy != "" {
		r.Remedy = r.rosRemedy
	}
	return r
}

// Other is the ID of the rule for problems that no other rule covers.
const Other = "template"

// Import is the ID of the rule for values that depend on other stacks.
const Import = "import"

// The words by which the messages of a provider's plan are known.
const (
	refusedWords  = " is refused by its provider: "
	replacedWords = " must be replaced: "
)

// Refused returns the problem of a change that the provider of a resource refuses.
func Refused(logicalID, reason string) template.Error {
	return template.Error{Message: "the change of " + logicalID + refusedWords + reason}
}

// Replaced returns the problem of a change for which the provider of a resource announces a replacement.
func Replaced(logicalID, reason string) template.Error {
	return template.Error{Message: logicalID + replacedWords + reason}
}

// Rules returns all rules, each ID once. The order is that in which a message is held against them.
func Rules() []Rule {
	return []Rule{
		{"provider-refuses", "The provider of a resource accepts the change.",
			"change the properties as the provider's reason says", "", []string{refusedWords}},
		{"provider-replaces", "An update of the stack replaces no resource by surprise.",
			"keep the old value if the resource must not be replaced", "", []string{replacedWords}},
		{"syntax", "A template is well-formed JSON or YAML.",
			"fix the text here; the rest was not read", "", []string{"not well-formed", "unsupported structure"}},
		{"duplicate-key", "A key occurs once in an object.",
			"remove one of the two, or rename it", "", []string{" is given twice, first on line "}},
		{"null-value", "No value is null.",
			"set a value or remove the key; AWS::NoValue removes a property when the template is evaluated",
			"set a value or remove the key; ALIYUN::NoValue removes a property when the template is evaluated", []string{"'null' values are not allowed"}},
		{"unsupported", "A template uses only supported features.",
			"remove it, or write out what it stands for", "", []string{"not supported by this version", "not supported by Pintle"}},
		{"limit", "A template stays within the quotas of its service.",
			"split the template, or make it smaller", "", []string{
				"maximum allowed", "is greater than ", "longer than", "nest deeper than", "lookups of this template reach more than",
			}},
		{"resource-type", "Each resource type has a provider.",
			"use a supported type, or record such resources with --unknown-types record", "", []string{"Unrecognized resource types", "Unknown resource Type"}},
		{"transform", "Transforms exist and can be applied.",
			"fix the input of the transform", "", []string{"Transform ", "transform"}},
		{"rule-assertion", "Parameter values satisfy the template's Rules.",
			"pass other values, or fix the rule", "", []string{"Template validation error"}},
		{"function-unknown", "Functions exist in the template language.",
			"fix the name of the function", "", []string{"Encountered unsupported function"}},
		{Import, "Each imported value is exported by another stack.",
			"deploy the stack that exports the value first, or fix the name", "deploy the other stack first, or fix the name", []string{"No export named", "No output ", "Fn::ImportValue", "Fn::GetStackOutput", "!GetStackOutput"}},
		{"dynamic-reference", "Dynamic references have a valid form.",
			"write it as {{resolve:SERVICE:NAME:…}}", "", []string{"dynamic reference", "{{resolve"}},
		{"unresolved-condition", "Each condition that is used is declared.",
			"declare it under Conditions, or fix the name", "", []string{"condition dependency"}},
		{"condition-reference", "Conditions and rules refer only to parameters.",
			"use a parameter or a pseudo parameter", "", []string{"Cannot reference resources in the"}},
		{"unresolved-reference", "References lead to declared resources or parameters that exist under the same conditions.",
			"declare a parameter or a resource of that name, or fix the name", "", []string{
				"Unresolved resource dependencies", "references undefined resource", "Unresolved dependencies",
			}},
		{"unresolved-mapping", "Keys in Fn::FindInMap exist in their mapping.",
			"add the key to the mapping, or fix the key", "", []string{"Unable to get mapping"}},
		{"circular-dependency", "Resources do not depend on each other in a circle.",
			"remove one of the references, or DependsOn", "", []string{"Circular dependency"}},
		{"misplaced-dependency", "Values that are needed before deployment do not depend on resources.",
			"use parameters instead", "", []string{"cannot depend on the resource", "must not depend on any resources", "can be literal or refer to a parameter"}},
		{"parameter-value", "Parameters have values that satisfy their constraints.",
			"pass another value, with --parameter NAME=VALUE or in pintle.yaml", "", []string{
				"Parameter '", "should either have input value", "must have values", "Invalid input for parameter key", "Unable to fetch parameters",
				"types not supported by CloudFormation",
			}},
		{"parameter-unknown", "Only parameters that the template declares are passed.",
			"declare the parameter, or omit its value", "", []string{"do not exist in the template"}},
		{"parameter-declaration", "Parameters are declared with attributes that fit their type.",
			"see the types and attributes of parameters", "", []string{
				"Unrecognized parameter type", "of parameter ", "Every Parameters object", "template parameter property", "AllowedPattern",
				"Any Parameters member", "allows no value",
			}},
		{"function-place", "Functions are called where they are allowed, as the only key of their object.",
			"move the call to a place where it is allowed, or compute the value differently", "", []string{
				" cannot be used in ", "Cannot use ", "must be the only key", "cannot be evaluated here", "Conditions can only be", "Rules can only be",
			}},
		{"function-argument", "Functions have valid arguments.",
			"write the call as shown in the message", "", []string{
				"Template error: every ", "Template error: Fn::", "All References must be", "Fn::Sub", "Every Condition member",
			}},
		{"output-value", "The value of an output is a string.",
			"use Fn::Join, Fn::Select or an attribute that is a string", "", []string{"Outputs member must evaluate to a String"}},
		{"property-unknown", "Properties and attributes of resources exist in their type.",
			"fix the name, or remove it", "", []string{"Encountered unsupported property", " is not known", "CreationPolicy is not for", "Unknown Property ", "The attribute "}},
		{"attribute-unknown", "An attribute in Fn::GetAtt exists in the type.",
			"fix the name of the attribute", "", []string{
				" has no attribute ", "does not support attribute type", "CustomResource attribute error", "The Referenced Attribute (",
			}},
		{"property-missing", "Required properties are set.",
			"add the property", "", []string{" is missing", "} is required]", " not assigned"}},
		{"property-value", "Properties have values that the type accepts.",
			"set a value as described in the message", "", []string{"Value of property", "TemplateURL: ", ": want ", "ServiceTimeout", "CreationPolicy", ": the value must ", "a service token", "ServiceToken must", "HttpConfig"}},
		{"name", "Names are alphanumeric and unique.",
			"rename it", "", []string{"non alphanumeric", "is both a parameter and a resource"}},
		{"structure", "Sections and members have the form that the template language defines.",
			"write it as described in the message", "", []string{
				"Invalid template", "Template format error", "Every ", "Any ", "Unrecognized ",
			}},
		{"recorded-only", "A resource has a provider and is not only recorded.",
			"nothing is created for it in AWS; remove the resource if you did not intend this",
			"nothing is created for it in Alibaba Cloud; remove the resource if you did not intend this", []string{"is recorded only", "is only recorded"}},
		{"template-size", "A template fits into an API call.",
			"pass it by URL with other clients, such as the AWS CLI, or split the template", "", []string{"must pass it by URL"}},
		{Other, "A template can be evaluated.", "", "", nil},
	}
}

// coded are the rules of the error codes of ROS that say more than the words of the message. Source: ROS API reference, error codes.
var coded = map[string]string{
	"CircularDependency": "circular-dependency", "InvalidTemplateReference": "unresolved-reference", "NotSupported": "unsupported",
	"InvalidTemplatePropertyType": "structure", "InvalidTemplateSection": "structure", "InvalidTemplateVersion": "structure",
	"UnknownUserParameter": "parameter-unknown", "UserParameterMissing": "parameter-value",
}

// RuleOf returns the rule that a problem is about.
func RuleOf(e *template.Error) Rule {
	rules := Rules()
	id := coded[e.Code]
	for _, rule := range rules {
		if rule.ID == id {
			return rule
		}
	}
	for _, rule := range rules {
		for _, words := range rule.says {
			if strings.Contains(e.Message, words) {
				return rule
			}
		}
	}
	return rules[len(rules)-1]
}
