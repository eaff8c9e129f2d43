package diagnosis

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// Rule is a kind of problem.
type Rule struct {
	// ID names the rule for good: lower-case words joined by hyphens. What is looked for may grow, its meaning stays.
	ID string
	// Title says in a sentence what the rule asks for, Remedy what to do about a problem.
	Title, Remedy string

	// rosRemedy is the remedy for templates of ROS, "" if it is the same.
	rosRemedy string
	// says are words by one of which the messages of the rule are known. Those of an earlier rule come first.
	says []string
}

// Other is the ID of the rule for what no other rule is about.
const Other = "template"

// Import is the ID of the rule for what is not known without other stacks.
const Import = "import"

// Rules returns all rules, each ID once. The order is that in which a message is held against them.
func Rules() []Rule {
	return []Rule{
		{"syntax", "A template is well-formed JSON or YAML.",
			"fix the text at this place; what comes after it was not read", "", []string{"not well-formed", "unsupported structure"}},
		{"duplicate-key", "A key stands once in an object.",
			"remove one of the two, or rename it", "", []string{" is given twice, first on line "}},
		{"null-value", "No value is null.",
			"give a value, or remove the key; AWS::NoValue removes a property when the template is evaluated",
			"give a value, or remove the key; ALIYUN::NoValue removes a property when the template is evaluated", []string{"'null' values are not allowed"}},
		{"unsupported", "A template asks only for what this version can do.",
			"leave it out, or write what it stands for", "", []string{"not supported by this version", "not supported by Pintle"}},
		{"limit", "A template keeps to the quotas of its service.",
			"split the template, or make it smaller", "", []string{
				"maximum allowed", "is greater than ", "longer than", "nest deeper than", "lookups of this template reach more than",
			}},
		{"resource-type", "Somebody provides the type of each resource.",
			"use a type that this version runs, or keep such resources as records with --unknown-types record", "", []string{"Unrecognized resource types", "Unknown resource Type"}},
		{"transform", "Transforms are known, and can be applied.",
			"fix what the transform is given", "", []string{"Transform ", "transform"}},
		{"rule-assertion", "What is passed for parameters satisfies the template's Rules.",
			"pass other values, or fix the rule", "", []string{"Template validation error"}},
		{Import, "What is imported is exported by another stack.",
			"deploy the stack that exports it first, or fix the name", "deploy the other stack first, or fix the name", []string{"No export named", "No output ", "Fn::ImportValue", "Fn::GetStackOutput", "!GetStackOutput"}},
		{"dynamic-reference", "Dynamic references are spelled as the service takes them.",
			"write it as {{resolve:SERVICE:NAME:…}}", "", []string{"dynamic reference", "{{resolve"}},
		{"unresolved-condition", "A condition that is named is declared.",
			"declare it under Conditions, or fix the name", "", []string{"condition dependency"}},
		{"condition-reference", "Conditions and rules refer to parameters only.",
			"use a parameter or a pseudo parameter", "", []string{"Cannot reference resources in the"}},
		{"unresolved-reference", "What is referred to is declared, and exists under the conditions that hold.",
			"declare a parameter or a resource of that name, or fix the name", "", []string{
				"Unresolved resource dependencies", "references undefined resource", "Unresolved dependencies",
			}},
		{"unresolved-mapping", "A key that is looked up is in its mapping.",
			"add the key to the mapping, or fix it", "", []string{"Unable to get mapping"}},
		{"circular-dependency", "Nothing needs itself.",
			"take one of the references away, or DependsOn", "", []string{"Circular dependency"}},
		{"misplaced-dependency", "What must be known beforehand depends on no resource.",
			"use parameters there", "", []string{"cannot depend on the resource", "must not depend on any resources", "can be literal or refer to a parameter"}},
		{"parameter-value", "Values of parameters are there and keep to their constraints.",
			"pass another value, with --parameter NAME=VALUE or in pintle.yaml", "", []string{
				"Parameter '", "should either have input value", "must have values", "Invalid input for parameter key", "Unable to fetch parameters",
				"types not supported by CloudFormation",
			}},
		{"parameter-unknown", "Only parameters that the template declares are passed.",
			"declare the parameter, or do not pass it", "", []string{"do not exist in the template"}},
		{"parameter-declaration", "Parameters are declared with attributes that fit their type.",
			"see the types and attributes of parameters", "", []string{
				"Unrecognized parameter type", "of parameter ", "Every Parameters object", "template parameter property", "AllowedPattern",
				"Any Parameters member", "allows no value",
			}},
		{"function-unknown", "A function that is called is one of the language.",
			"fix the name of the function", "", []string{"Encountered unsupported function"}},
		{"function-place", "A function stands where it may be called, alone in its object.",
			"move it to where it may be called, or compute the value otherwise", "", []string{
				" cannot be used in ", "Cannot use ", "must be the only key", "cannot be evaluated here", "Conditions can only be", "Rules can only be",
			}},
		{"function-argument", "Functions are called with arguments of their form.",
			"write the call as the message says", "", []string{
				"Template error: every ", "Template error: Fn::", "All References must be", "Fn::Sub", "Every Condition member",
			}},
		{"output-value", "An output becomes a string.",
			"use Fn::Join, Fn::Select or an attribute that is a string", "", []string{"Outputs member must evaluate to a String"}},
		{"property-unknown", "Properties and attributes of resources are those that the type has.",
			"fix the name, or remove it", "", []string{"Encountered unsupported property", " is not known", "CreationPolicy is not for", "Unknown Property ", "The attribute "}},
		{"attribute-unknown", "An attribute that is read is one that the type has.",
			"fix the name of the attribute", "", []string{" has no attribute ", "does not support attribute type"}},
		{"property-missing", "Properties that a type requires are there.",
			"add the property", "", []string{" is missing", "} is required]", " not assigned"}},
		{"property-value", "Properties have values that the type takes.",
			"give a value as the message says", "", []string{"Value of property", ": want ", "ServiceTimeout", "CreationPolicy", ": the value must ", "a service token", "ServiceToken must", "HttpConfig"}},
		{"name", "Names have letters and digits only, and mean one thing.",
			"rename it", "", []string{"non alphanumeric", "is both a parameter and a resource"}},
		{"structure", "Sections and members have the form that the template language gives them.",
			"write it as the message says", "", []string{
				"Invalid template", "Template format error", "Every ", "Any ", "Unrecognized ",
			}},
		{"recorded-only", "A resource is provided, not just recorded.",
			"nothing is created for it in AWS; remove it if that is not meant",
			"nothing is created for it in Alibaba Cloud; remove it if that is not meant", []string{"is recorded only"}},
		{"template-size", "A template fits into a call.",
			"pass it by URL, or split it", "", []string{"it cannot be passed inline"}},
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
