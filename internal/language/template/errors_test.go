package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// r returns a template in YAML with one resource, whose property P is properties.
func r(properties string) string {
	return "Resources:\n  A:\n    Type: Custom::A\n    Properties:\n      P: " + properties + "\n"
}

// with returns a template in YAML that is valid except for the line.
func with(line string) string { return line + "\nResources: {A: {Type: Custom::A}}\n" }

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

const (
	supported  = "[Fn::Base64, Fn::GetAtt, Fn::GetAZs, Fn::ImportValue, Fn::Join, Fn::Split, Fn::FindInMap, Fn::Select, Ref, Fn::Equals, Fn::If, Fn::Not, Condition, Fn::And, Fn::Or, Fn::Contains, Fn::EachMemberEquals, Fn::EachMemberIn, Fn::ValueOf, Fn::ValueOfAll, Fn::RefAll, Fn::Sub, Fn::Cidr]"
	exportName = "Template format error: Output O is malformed. The Name field of Export must not depend on any resources, imported values, or Fn::GetAZs."

	getAttText   = "Template error: every Fn::GetAtt object requires two non-empty parameters, the resource name and the resource attribute"
	joinText     = "Template error: every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to be joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined."
	splitText    = "Template error: every Fn::Split object requires two parameters, (1) a string delimiter and (2) a string to be split or a function that returns a string to be split."
	selectText   = "Template error: Fn::Select requires a list argument with two elements: an integer index and a list"
	subText      = "Template error: One or more Fn::Sub intrinsic functions don't specify expected arguments. Specify a string as first argument, and an optional second argument to specify a mapping of values to replace in the string"
	subNameText  = "Template error: variable names in Fn::Sub syntax must contain only alphanumeric characters, underscores, periods, and colons"
	equalsText   = "Template error: every Fn::Equals object requires a list of 2 string parameters."
	andText      = "Template error: every Fn::And object requires a list of at least 2 and at most 10 boolean parameters."
	booleanText  = "Template format error: Conditions can only be boolean operations on parameters and other conditions"
	findInMap    = "Template error: every Fn::FindInMap object requires three parameters, the map name, map key and the attribute for return value"
	notWell      = "Template format error: YAML not well-formed."
	dependsOn    = "Template format error: DependsOn must be a string or list of strings."
	noMembers    = "Template format error: At least one Resources member must be defined."
	refText      = "Template error: All References must be of type string"
	mapAttribute = "Template format error: Every Mappings attribute must be a String or a List."
)

// TestParseErrors checks the exact text and position of every error: one "line:column text" a line.
func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		// The text itself.
		{"json", `{"Resources": {"A": {"a" 1}}}`, "1:26 Template format error: JSON not well-formed. (line 1, column 27)"},
		{"json, later line", "{\n  \"Rés\": tru }", "2:13 Template format error: JSON not well-formed. (line 2, column 14)"},
		{"json, truncated", "{\n\"Resources\": {", "2:14 Template format error: JSON not well-formed. (line 2, column 15)"},
		{"json, more after it", `{} {}`, "1:4 Template format error: JSON not well-formed. (line 1, column 5)"},
		{"yaml, tab", "Resources:\n\tA: 1\n", "2:0 " + notWell},
		{"yaml, two documents", "a: 1\n---\nb: 2\n", "2:1 " + notWell + " (line 2, column 1)"},
		{"yaml, alias", "Resources:\n  A: &a {Type: Custom::A}\n  B: *a\n", "3:6 " + notWell + " (line 3, column 6)"},
		{"yaml, merge", "Resources:\n  A:\n    <<: {Type: Custom::A}\n", "3:5 " + notWell + " (line 3, column 5)"},
		{"yaml, tag", "Resources:\n  A: !!binary aGk=\n", "2:6 " + notWell + " (line 2, column 6)"},
		{"yaml, set", "Resources: !!set {A: {}}\n", "1:12 " + notWell + " (line 1, column 12)"},
		{"yaml, tag that does not fit", "Resources:\n  A: !!int x\n", "2:6 " + notWell + " (line 2, column 6)"},
		{"yaml, key", "? [a]\n: 1\n", "1:3 " + notWell + " (line 1, column 3)"},
		{"word", "foo", "1:1 Template format error: unsupported structure."},
		{"list", `[1]`, "1:1 Template format error: unsupported structure."},
		{"empty", "", "0:0 Template format error: unsupported structure."},
		{"comment", "# nothing\n", "0:0 Template format error: unsupported structure."},
		{"null", "~", "1:1 Template format error: unsupported structure."},
		{"duplicate in yaml", "Resources:\n  A: {Type: Custom::A}\n  A: {Type: Custom::B}\n", `3:3 Template format error: the key "A" is given twice, first on line 2.`},
		{"duplicate in json", "{\"Resources\": {\"A\": {\"Type\": \"Custom::A\",\n \"Type\": \"Custom::B\"}}}", `2:2 Template format error: the key "Type" is given twice, first on line 1.`},
		{"nulls", "Resources:\n  A: {Type: Custom::A, Properties: {P: [1, null]}}\nOutputs: {O: {Value: }}\n",
			"2:44 [/Resources/A/Properties/P/1] 'null' values are not allowed in templates\n3:22 [/Outputs/O/Value] 'null' values are not allowed in templates"},
		{"null in json", `{"Outputs": {"O": {"Value": null}}}`, "1:29 [/Outputs/O/Value] 'null' values are not allowed in templates"},
		{"deep yaml", r(deep(template.MaxDepth)), "5:54 Template format error: lists and objects nest deeper than 48 levels."},
		{"deep json", `{"a":` + deep(template.MaxDepth) + `}`, "1:53 Template format error: lists and objects nest deeper than 48 levels."},

		// The top level.
		{"unknown sections", with("Foo: 1\nBar: 2"), "1:1 Invalid template property or properties [Foo, Bar]"},
		{"version", with("AWSTemplateFormatVersion: 2012-10-17"), "1:27 Template format error: unsupported value for AWSTemplateFormatVersion."},
		{"description", with("Description: [a]"), "1:14 Template format error: [/Description] Every Description member must be a string."},
		{"long description", with("Description: " + strings.Repeat("x", 1025)), "1:14 Template format error: 'Description' length is greater than 1024."},
		{"hooks are a list", with("Hooks: []"), "1:8 Template format error: Any Hooks member must be an object."},
		{"hook is text", with("Hooks: {H: x}"), "1:12 Template format error: Any Hooks member must be an object."},
		{"hook without a type", with("Hooks: {H: {}}"), "1:9 Template format error: [/Hooks/H] Every Hooks object must contain a Type member."},
		{"hook with a type that is a list", with("Hooks: {H: {Type: []}}"), "1:19 Template format error: [/Hooks/H/Type] Every Type member must be a string."},
		{"hook with properties that are text", with("Hooks: {H: {Type: A, Properties: x}}"),
			"1:34 Template format error: [/Hooks/H/Properties] Every Properties member must be an object."},
		{"hook with another property", with("Hooks: {H: {Type: A, Foo: x}}"), "1:22 Invalid template hook property 'Foo'"},
		{"rules are a list", with("Rules: []"), "1:8 Template format error: Any Rules member must be an object."},
		{"rule is text", with("Rules: {R: x}"), "1:12 Template format error: Any Rules member must be an object."},
		{"rule without assertions", with("Rules: {R: {}}"), "1:9 Template format error: [/Rules/R] Every Rules object must contain an Assertions member."},
		{"rule with no assertions", with("Rules: {R: {Assertions: []}}"), "1:25 Template format error: [/Rules/R/Assertions] Every Assertions member must be a list of one assertion at least."},
		{"empty assertion", with("Rules: {R: {Assertions: [{AssertDescription: x}]}}"), "1:26 Template format error: [/Rules/R/Assertions/0] Every Assertions object must contain an Assert member."},
		{"rule description", with("Rules: {R: {AssertDescription: {a: b}, Assertions: [{Assert: !Equals [a, a]}]}}"), "1:32 Template format error: [/Rules/R/AssertDescription] Every AssertDescription member must be a string."},
		{"rule property", with("Rules: {R: {Foo: 1, Assertions: [{Assert: !Equals [a, a]}]}}"), "1:13 Invalid template rule property 'Foo'"},
		{"rule of text", with("Rules: {R: {Assertions: [{Assert: 'true'}]}}"), "1:35 Template format error: Rules can only be boolean operations on parameters"},
		{"rule of a list", with("Rules: {R: {Assertions: [{Assert: {'Fn::RefAll': String}}]}}"), "1:35 Template format error: Rules can only be boolean operations on parameters"},
		{"rule of a resource", with("Rules: {R: {Assertions: [{Assert: !Equals [!Ref A, a]}]}}"), "1:44 Template format error: Unresolved dependencies [A]. Cannot reference resources in the Rules block of the template"},
		{"rule of an attribute", with("Rules: {R: {Assertions: [{Assert: !Equals [!GetAtt A.b, a]}]}}"), "1:44 Template error: Fn::GetAtt cannot be used in Rules."},
		{"rule with if", with("Rules: {R: {Assertions: [{Assert: !If [C, !Equals [a, a], !Equals [a, b]]}]}}"), "1:35 Template error: Fn::If cannot be used in Rules."},
		{"rule of a condition", with("Rules: {R: {RuleCondition: !Condition C, Assertions: [{Assert: !Equals [a, a]}]}}"), "1:28 Template error: Condition cannot be used in Rules."},
		{"rule function elsewhere", with("Conditions: {C: {'Fn::Contains': [[a], a]}}"), "1:17 Template error: Fn::Contains cannot be used in Conditions."},
		{"contains", with("Rules: {R: {Assertions: [{Assert: {'Fn::Contains': [a, a]}}]}}"), "1:53 Template error: every Fn::Contains object requires two parameters, (1) a list of strings and (2) a string."},
		{"refall", with("Rules: {R: {Assertions: [{Assert: {'Fn::Contains': [{'Fn::RefAll': Foo}, a]}}]}}"), "1:68 Template format error: Unrecognized parameter type: Foo"},
		{"valueof", with("Rules: {R: {Assertions: [{Assert: !Equals [{'Fn::ValueOf': [P, x]}, a]}]}}"), "1:61 Template format error: Unresolved dependencies [P]. Cannot reference resources in the Rules block of the template"},
		{"serverless transform", "Transform: AWS::Serverless-2016-10-31\nResources: {A: {Type: AWS::Serverless::Function}}", "1:12 Template format error: the transform AWS::Serverless-2016-10-31 must expand this template first."},
		{"serverless of another year", with("Transform: AWS::Serverless-2020-01-01"), "1:12 Template format error: the transform AWS::Serverless-2020-01-01 is not supported by this version of Pintle."},
		{"no resources", "Description: x", "1:1 " + noMembers},
		{"empty resources", "Resources: {}", "1:12 " + noMembers},
		{"resources are a list", "Resources: []", "1:12 Template format error: Any Resources member must be an object."},
		{"both names", with("Parameters: {A: {Type: String}}"), "2:13 Template format error: A is both a parameter and a resource."},

		// Resources.
		{"no type", "Resources:\n  A: {Properties: {}}", "2:3 Template format error: [/Resources/A] Every Resources object must contain a Type member."},
		{"type", "Resources: {A: {Type: 1}}", "1:23 Template format error: [/Resources/A/Type] Every Type member must be a string."},
		{"no object", "Resources: {A: x}", "1:16 Template format error: Any Resources member must be an object."},
		{"name", "Resources: {A-b: {Type: Custom::A}}", "1:13 Template format error: Resource name A-b is non alphanumeric."},
		{"pseudo as name", "Resources: {'AWS::Region': {Type: Custom::A}}", "1:13 Template format error: Resource name AWS::Region is non alphanumeric."},
		{"long name", "Resources: {" + strings.Repeat("A", 256) + ": {Type: Custom::A}}", "1:13 Template format error: Resource name " + strings.Repeat("A", 256) + " is longer than 255 characters."},
		{"attribute", "Resources: {A: {Type: Custom::A, Property: {}}}", "1:34 Invalid template resource property 'Property'"},
		{"properties", "Resources: {A: {Type: Custom::A, Properties: []}}", "1:46 Template format error: [/Resources/A/Properties] Every Properties member must be an object."},
		{"creation policy", "Resources: {A: {Type: Custom::A, CreationPolicy: []}}", "1:50 Template format error: [/Resources/A/CreationPolicy] Every CreationPolicy member must be an object."},
		{"creation policy of a resource", "Resources: {A: {Type: Custom::A, CreationPolicy: {ResourceSignal: {Count: !Ref B}}}, B: {Type: Custom::B}}", "1:75 Template format error: a CreationPolicy cannot depend on the resource B."},
		{"creation policy of an attribute", "Resources: {A: {Type: Custom::A, CreationPolicy: {ResourceSignal: {Count: !GetAtt B.C}}}, B: {Type: Custom::B}}", "1:75 Template error: Fn::GetAtt cannot be used in a CreationPolicy."},
		{"update policy", "Resources: {A: {Type: Custom::A, UpdatePolicy: []}}", "1:48 Template format error: [/Resources/A/UpdatePolicy] Every UpdatePolicy member must be an object."},
		{"deletion policy", "Resources: {A: {Type: Custom::A, DeletionPolicy: Keep}}", "1:50 Template format error: Unrecognized DeletionPolicy Keep for resource A"},
		{"replace policy", "Resources: {A: {Type: Custom::A, UpdateReplacePolicy: RetainExceptOnCreate}}", "1:55 Template format error: Unrecognized UpdateReplacePolicy RetainExceptOnCreate for resource A"},
		{"depends on", "Resources: {A: {Type: Custom::A, DependsOn: {}}}", "1:45 " + dependsOn},
		{"depends on items", "Resources: {A: {Type: Custom::A, DependsOn: [1]}}", "1:46 " + dependsOn},
		{"depends on unknown resource", "Resources: {A: {Type: Custom::A, DependsOn: [X, Y]}}", "1:13 Template format error: Unresolved resource dependencies [X, Y] in the Resources block of the template"},
		{"condition", "Resources: {A: {Type: Custom::A, Condition: C}}", "1:13 Template format error: Unresolved condition dependency C in the Resources block of the template"},
		{"cycle", "Resources:\n  A: {Type: Custom::A, DependsOn: B}\n  B: {Type: Custom::A, Properties: {P: !Ref A}}\n  C: {Type: Custom::A, DependsOn: A}\n  D: {Type: Custom::A}\n",
			"2:3 Circular dependency between resources: [A, B]"},
		{"self", r("!Ref A"), "2:3 Circular dependency between resources: [A]"},

		// Functions.
		{"unknown function", r("!Foo x"), "5:10 Template error: Encountered unsupported function: Fn::Foo Supported functions are: " + supported},
		{"function with siblings", r("{Ref: A, x: 1}"), "5:11 Template error: Ref must be the only key of its object."},
		{"function in its place", r("!Equals [a, a]"), "5:10 Template error: Fn::Equals cannot be used in Properties."},
		{"dynamic reference", r("'a {{resolve:ssm:/a:}}'"), "5:10 Incorrect format is used in the following SSM reference: [{{resolve:ssm:/a:}}]"},
		{"too many dynamic references", r("'" + strings.Repeat("{{resolve:ssm:a}}", 61) + "'"), "5:10 Template format error: Number of dynamic references is greater than maximum allowed, 60"},
		{"ref", r("!Ref [A]"), "5:10 " + refText},
		{"ref to unknown name", r("[!Ref X, !Ref AWS::Nothing, !Ref X, !Sub '${Y}-${Z.a}']"), "5:11 Template format error: Unresolved resource dependencies [X, AWS::Nothing, Y, Z] in the Resources block of the template"},
		{"getatt", r("!GetAtt A"), "5:10 " + getAttText},
		{"getatt empty", r("!GetAtt [A, '']"), "5:10 " + getAttText},
		{"getatt with three parts", r("!GetAtt [A, b, c]"), "5:10 " + getAttText},
		{"getatt by function", r("!GetAtt [A, !Sub x]"), "5:10 " + getAttText},
		{"getatt by resource", r("!GetAtt [A, !Ref A]"), "5:10 Template error: the attribute of Fn::GetAtt can be literal or refer to a parameter, not to A."},
		{"getatt of unknown resource", r("!GetAtt X.a"), "5:10 Template error: instance of Fn::GetAtt references undefined resource X"},
		{"sub", r("!Sub [x]"), "5:10 " + subText},
		{"sub of a function", r("!Sub [!Ref 'AWS::Region', {}]"), "5:10 " + subText},
		{"sub, name", r("!Sub '${ A }'"), "5:10 " + subNameText},
		{"sub, empty name", r("!Sub 'a${}'"), "5:10 " + subNameText},
		{"sub, variable", r("!Sub ['${a}', {a: [1]}]"), "5:28 Template error: every variable of Fn::Sub must be a string, number or boolean."},
		{"join", r("!Join [',']"), "5:10 " + joinText},
		{"join, delimiter", r("!Join [!Ref 'AWS::Region', [a]]"), "5:17 " + joinText},
		{"join, list", r("!Join [',', a]"), "5:22 " + joinText},
		{"join, item", r("!Join [',', [{a: b}]]"), "5:23 " + joinText},
		{"split", r("!Split [',', [a]]"), "5:23 " + splitText},
		{"split, delimiter", r("!Split ['', a]"), "5:18 " + splitText},
		{"select", r("!Select [x, [a]]"), "5:19 " + selectText},
		{"select, list", r("!Select [0, a]"), "5:22 " + selectText},
		{"base64", r("!Base64 [a]"), "5:10 Template error: every Fn::Base64 object must have a String-typed value."},
		{"if", r("!If []"), "5:10 Template error: Fn::If requires a list argument with the first element being a condition"},
		{"if with two arguments", r("!If [C, a]"), "5:10 Template error: Fn::If requires a list argument with three elements"},
		{"if with unknown condition", r("!If [C, a, b]"), "5:15 Template error: unresolved condition dependency C in Fn::If"},

		// Conditions.
		{"condition is a value", with("Conditions: {C: true}"), "1:17 " + booleanText},
		{"condition is text", with("Conditions: {C: !Ref AWS::Region}"), "1:17 " + booleanText},
		{"equals", with("Conditions: {C: !Equals [a]}"), "1:17 " + equalsText},
		{"equals of a list", with("Conditions: {C: !Equals [a, [b]]}"), "1:29 " + equalsText},
		{"and", with("Conditions: {C: !And [!Equals [a, a]]}"), "1:17 " + andText},
		{"and of texts", with("Conditions: {C: !And [a, b]}"), "1:23 " + andText + "\n1:26 " + andText},
		{"or", with("Conditions: {C: !Or [" + strings.Repeat("!Equals [a, a], ", 11) + "]}"), "1:17 " + strings.Replace(andText, "And", "Or", 1)},
		{"not", with("Conditions: {C: !Not []}"), "1:17 Template error: every Fn::Not object requires a list with exactly 1 boolean parameter."},
		{"condition of resources", with("Conditions: {C: !Equals [!Ref A, !Ref B]}"), "1:26 Template format error: Unresolved dependencies [A, B]. Cannot reference resources in the Conditions block of the template"},
		{"condition of attributes", with("Conditions: {C: !Equals [!GetAtt A.b, b]}"), "1:26 Template error: Fn::GetAtt cannot be used in Conditions."},
		{"unknown condition", with("Conditions: {C: !Condition D}"), "1:17 Template format error: Unresolved condition dependency D in the Conditions block of the template"},
		{"condition cycle", with("Conditions: {C: !Not [!Condition D], D: !Not [!Condition C]}"), "1:14 Template format error: Circular dependency between conditions: [C, D]"},

		// Mappings.
		{"mapping", with("Mappings: {M: x}"), "1:15 Template format error: Every Mappings member M must be a map"},
		{"mapping level", with("Mappings: {M: {a: x}}"), "1:19 Template format error: Every Mappings member M must be a map"},
		{"mapping attribute", with("Mappings: {M: {a: {b: {c: d}}}}"), "1:23 " + mapAttribute},
		{"mapping function", with("Mappings: {M: {a: {b: [!Ref A]}}}"), "1:24 " + mapAttribute},
		{"findinmap", r("!FindInMap [M, a]"), "5:10 " + findInMap},
		{"findinmap, name", r("!FindInMap [!Sub M, a, b]"), "5:22 " + findInMap},
		{"findinmap, key", r("!FindInMap [M, !Sub a, b]"), "5:25 " + findInMap},
		{"findinmap of unknown map", r("!FindInMap [M, !Ref AWS::Region, b]"), `5:22 Template error: Unable to get mapping for M::{"Ref":"AWS::Region"}::b`},
		{"findinmap, unknown key", "Mappings: {M: {a: {b: c}}}\n" + r("!FindInMap [M, a, x]"), "6:10 Template error: Unable to get mapping for M::a::x"},

		// Parameters.
		{"parameter type", with("Parameters: {P: {Type: Text}}"), "1:24 Template format error: Unrecognized parameter type: Text"},
		{"parameter without type", with("Parameters: {P: {}}"), "1:14 Template format error: [/Parameters/P] Every Parameters object must contain a Type member."},
		{"parameter list of stored", with("Parameters: {P: {Type: 'List<AWS::SSM::Parameter::Value<String>>'}}"), "1:24 Template format error: Unrecognized parameter type: List<AWS::SSM::Parameter::Value<String>>"},
		{"parameter stored secret", with("Parameters: {P: {Type: 'AWS::SSM::Parameter::Value<SecureString>'}}"), "1:24 Template format error: Unrecognized parameter type: AWS::SSM::Parameter::Value<SecureString>"},
		{"parameter stored number", with("Parameters: {P: {Type: 'AWS::SSM::Parameter::Value<Number>'}}"), "1:24 Template format error: Unrecognized parameter type: AWS::SSM::Parameter::Value<Number>"},
		{"parameter list of lists", with("Parameters: {P: {Type: List<CommaDelimitedList>}}"), "1:24 Template format error: Unrecognized parameter type: List<CommaDelimitedList>"},
		{"parameter without a value", with("Parameters: {P: {Type: String, MinLength: 3, MaxLength: 2}}"), "1:14 Template format error: parameter P allows no value: its least is more than its most."},
		{"parameter name", with("Parameters: {P_1: {Type: String}}"), "1:14 Template format error: Parameter name P_1 is non alphanumeric."},
		{"parameter attribute", with("Parameters: {P: {Type: String, Foo: 1}}"), "1:32 Invalid template parameter property 'Foo'"},
		{"parameter is text", with("Parameters: {P: String}"), "1:17 Template format error: Any Parameters member must be an object."},
		{"parameter default", with("Parameters: {P: {Type: String, Default: [a]}}"), "1:41 Template format error: [/Parameters/P/Default] Every Default member must be a string."},
		{"parameter echo", with("Parameters: {P: {Type: String, NoEcho: maybe}}"), "1:40 Template format error: [/Parameters/P/NoEcho] Every NoEcho member must be a boolean."},
		{"parameter values", with("Parameters: {P: {Type: String, AllowedValues: a}}"), "1:47 Template format error: [/Parameters/P/AllowedValues] Every AllowedValues member must be a list."},
		{"parameter pattern", with("Parameters: {P: {Type: String, AllowedPattern: 'b(a'}}"), "1:48 Template format error: [/Parameters/P/AllowedPattern] the AllowedPattern is not a regular expression."},
		{"parameter length", with("Parameters: {P: {Type: String, MinLength: -1}}"), "1:43 Template format error: [/Parameters/P/MinLength] Every MinLength member must be a whole number, 0 or more."},
		{"parameter value", with("Parameters: {P: {Type: Number, MaxValue: x}}"), "1:42 Template format error: [/Parameters/P/MaxValue] Every MaxValue member must be a number."},
		{"parameter length of a number", with("Parameters: {P: {Type: Number, MaxLength: 1}}"), "1:43 Template format error: MaxLength of parameter P is for strings only, its type is Number."},

		// Outputs.
		{"output", with("Outputs: {O: {Description: x}}"), "1:11 Template format error: Every Outputs member must contain a Value object"},
		{"output list", with("Outputs: {O: {Value: [a]}}"), "1:22 Template format error: The Value field of every Outputs member must evaluate to a String and not a List."},
		{"output map", with("Outputs: {O: {Value: {a: b}}}"), "1:22 Template format error: The Value field of every Outputs member must evaluate to a String and not a Map."},
		{"output property", with("Outputs: {O: {Value: a, Foo: b}}"), "1:25 Invalid template output property 'Foo'"},
		{"output without a value", with("Outputs: {O: {Value: !Ref X}}"), "1:22 Unresolved resource dependencies [X] in the Outputs block of the template"},
		{"output condition", with("Outputs: {O: {Value: a, Condition: C}}"), "1:11 Template format error: Unresolved condition dependency C in the Outputs block of the template"},
		{"export", with("Outputs: {O: {Value: a, Export: a}}"), "1:33 Template format error: [/Outputs/O/Export] Every Export member must contain a Name and nothing else."},
		{"export of a resource", with("Outputs: {O: {Value: a, Export: {Name: !Ref A}}}"), "1:40 " + exportName},
		{"export of an attribute", with("Outputs: {O: {Value: a, Export: {Name: !GetAtt A.b}}}"), "1:40 " + exportName},
		{"several errors", "Parameters: {P: {Type: Text}}\nResources: {A: {Properties: {P: !Foo x}}}\nOutputs: {O: {}}\n",
			"1:24 Template format error: Unrecognized parameter type: Text\n" +
				"2:33 Template error: Encountered unsupported function: Fn::Foo Supported functions are: " + supported + "\n" +
				"2:13 Template format error: [/Resources/A] Every Resources object must contain a Type member.\n" +
				"3:11 Template format error: Every Outputs member must contain a Value object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := template.Parse(test.body)
			var all template.Errors
			if !errors.As(err, &all) {
				t.Fatalf("Parse = %v, want Errors\n%s", err, test.body)
			}
			var got []string
			for _, e := range all {
				got = append(got, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Message))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err.Error() != all[0].Message {
				t.Errorf("Error() = %q, want the first message", err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	var resources, parameters strings.Builder
	for i := range 501 {
		fmt.Fprintf(&resources, "  R%d: {Type: Custom::A}\n", i)
	}
	for i := range 201 {
		fmt.Fprintf(&parameters, "  P%d: {Type: String}\n", i)
	}
	for _, test := range []struct {
		body, want string
		limits     template.Limits
	}{
		{body: "Resources:\n" + resources.String(), want: "Template format error: Number of resources, 501, is greater than maximum allowed, 500"},
		{body: "Resources:\n" + resources.String(), limits: template.Limits{Resources: 501}},
		{body: with("Parameters:\n" + parameters.String()), want: "Template format error: Number of parameters, 201, is greater than maximum allowed, 200"},
		{body: with("Outputs: {A: {Value: a}, B: {Value: b}}"), limits: template.Limits{Outputs: 1}, want: "Template format error: Number of outputs, 2, is greater than maximum allowed, 1"},
		{body: with("Mappings: {M: {a: {b: 1, c: 2}}}"), limits: template.Limits{MappingAttributes: 1}, want: "Template format error: Number of mapping attributes, 2, is greater than maximum allowed, 1"},
		{body: with("# " + strings.Repeat("x", 100)), limits: template.Limits{Bytes: 100}, want: "Template format error: the template is 137 bytes long, the maximum allowed is 100."},
	} {
		_, err := template.ParseWithin(test.body, test.limits)
		if got := fmt.Sprint(err); got != test.want && (err != nil || test.want != "") {
			t.Errorf("ParseWithin(%+v) = %s, want %s", test.limits, got, test.want)
		}
	}
}

// TestLookupsAreBounded rejects a template whose resources would carry more mapping data than a store should hold.
func TestLookupsAreBounded(t *testing.T) {
	var mapping strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&mapping, "k%d: {a: 1},", i)
	}
	body := func(lookups int) string {
		return "Mappings: {M: {" + mapping.String() + "}}\n" + r("["+strings.Repeat("!FindInMap [M, !Ref AWS::Region, a],", lookups)+"]")
	}
	mustParse(t, body(100))
	_, err := template.Parse(body(101))
	if want := "Template format error: the lookups of this template reach more than 200000 values of its mappings."; err == nil || err.Error() != want {
		t.Errorf("Parse = %v, want %s", err, want)
	}
}

func TestDescribe(t *testing.T) {
	_, err := template.Parse("Resources:\n  A: &a {Type: Custom::A}\n  B: *a\n")
	var one *template.Error
	if !errors.As(err, &one) || one.Path != "/Resources/B" {
		t.Errorf("errors.As of %v found %v", err, one)
	}
	if got, want := describe(err), notWell+" (line 3, column 6) [/Resources/B] (aliases such as *a are not supported: write the value out)"; got != "3:6: "+want {
		t.Errorf("Describe() = %s, want %s", got, want)
	}
}
