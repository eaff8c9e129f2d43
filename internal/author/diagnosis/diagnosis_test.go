package diagnosis_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/author/diagnosis"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// TestRemediesOfROS gives problems of templates of ROS the rule of their code or words, and remedies that name ALIYUN.
func TestRemediesOfROS(t *testing.T) {
	for _, c := range []struct{ code, message, rule string }{
		{"NotSupported", "The function Fn::ImportValue is not supported: use Fn::GetStackOutput [stack, output], which needs no export.", "unsupported"},
		{"InvalidTemplateReference", `The specified reference "AWS::Region" (in A.Properties) is incorrect.`, "unresolved-reference"},
		{"StackValidationFailed", "The attribute CreationPolicy of the resource A is not supported.", "property-unknown"},
		{"StackValidationFailed", "Unknown Property Foo", "property-unknown"},
		{"StackValidationFailed", "Property Timeout not assigned", "property-missing"},
		{"StackValidationFailed", "Property CreateDuration: the value must be of type Integer", "property-value"},
		{"StackValidationFailed", "Unknown resource Type : ALIYUN::FOO::Bar", "resource-type"},
		{"", "[/Outputs/O/Value] 'null' values are not allowed in templates", "null-value"},
		{"", "B is only recorded: no provider for ALIYUN::FOO::Bar here", "recorded-only"},
	} {
		file := diagnosis.File{Language: template.ROS}
		file.Add(diagnosis.Err, template.Errors{{Message: c.message, Code: c.code}})
		p := file.Problems[0]
		if p.Rule.ID != c.rule {
			t.Errorf("%s has the rule %s, want %s", c.message, p.Rule.ID, c.rule)
		}
		if remedy := p.Remedy(); remedy == "" || strings.Contains(remedy, "AWS") || strings.Contains(remedy, "CloudFormation") {
			t.Errorf("%s has the remedy %q", c.message, remedy)
		}
	}
}

func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range diagnosis.Rules() {
		if seen[rule.ID] || rule.ID == "" || rule.Title == "" || rule.Remedy == "" && rule.ID != diagnosis.Other {
			t.Errorf("rule %+v is there twice, or lacks something", rule)
		}
		if strings.Trim(rule.ID, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("the ID %s has other letters than a to z and hyphens", rule.ID)
		}
		seen[rule.ID] = true
	}
	for message, want := range map[string]string{
		"Template format error: YAML not well-formed. (line 1, column 2)":                                        "syntax",
		`Template format error: the key "A" is given twice, first on line 3.`:                                    "duplicate-key",
		"[/Outputs/O/Value] 'null' values are not allowed in templates":                                          "null-value",
		"Template format error: Number of resources, 501, is greater than maximum allowed, 500":                  "limit",
		"Template error: lists and objects nest deeper than 48 levels.":                                          "limit",
		"Template error: the function Fn::Foo is not supported by this version of Pintle.":                       "unsupported",
		"Template format error: Unrecognized resource types: [AWS::S3::Bucket]":                                  "resource-type",
		"Unresolved resource dependencies [X] in the Outputs block of the template":                              "unresolved-reference",
		"Template error: instance of Fn::GetAtt references undefined resource X":                                 "unresolved-reference",
		"Template error: unresolved condition dependency C in Fn::If":                                            "unresolved-condition",
		"Template format error: Unresolved dependencies [A]. Cannot reference resources in the Conditions block": "condition-reference",
		"Template error: Unable to get mapping for M::a::b":                                                      "unresolved-mapping",
		"Circular dependency between resources: [A, B]":                                                          "circular-dependency",
		"Parameter 'P' must be one of AllowedValues":                                                             "parameter-value",
		"Parameters: [Other] do not exist in the template":                                                       "parameter-unknown",
		"Template format error: Unrecognized parameter type: Text":                                               "parameter-declaration",
		"Template error: Encountered unsupported function: Fn::X Supported functions are: [Fn::ImportValue]":     "function-unknown",
		"Template error: Fn::GetAtt cannot be used in Conditions.":                                               "function-place",
		"Template error: every Fn::Equals object requires a list of 2 string parameters.":                        "function-argument",
		"Template error: Fn::Select cannot select nonexistent value at index 3":                                  "function-argument",
		"Template format error: The Value field of every Outputs member must evaluate to a String.":              "output-value",
		"property Quotta is not known, did you mean Quota?":                                                      "property-unknown",
		"Encountered unsupported property Foo":                                                                   "property-unknown",
		"Account has no attribute Logn, did you mean Login?":                                                     "attribute-unknown",
		"property Name is missing":                                                                               "property-missing",
		"Property validation failure: [The property {/Timeout} is required]":                                     "property-missing",
		"property Speed: want a number from 0.1 to 100":                                                          "property-value",
		"Value of property ServiceToken must be of type String":                                                  "property-value",
		"Template format error: Resource name A-b is non alphanumeric.":                                          "name",
		"Invalid template resource property 'Property'":                                                          "structure",
		"Template format error: Any Resources member must be an object.":                                         "structure",
		"Template validation error: Rule R failed: no":                                                           "rule-assertion",
		"No export named N found.":                                                                               "import",
		"Transform AWS::LanguageExtensions failed with: Fn::ForEach layout is incorrect":                         "transform",
		"what nobody has said before":                                                                            diagnosis.Other,
	} {
		if got := diagnosis.RuleOf(&template.Error{Message: message}); got.ID != want {
			t.Errorf("%q has the rule %s, want %s", message, got.ID, want)
		}
	}
}

// The list for readers is the same as the program's.
func TestRulesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, rule := range diagnosis.Rules() {
		fmt.Fprintf(&rows, "| `%s` | %s |\n", rule.ID, rule.Title)
	}
	if !strings.Contains(string(text), "|---|---|\n"+rows.String()+"\n") {
		t.Errorf("the rules in docs/validate.md are not\n%s", rows.String())
	}
}

func TestExcerpt(t *testing.T) {
	const yaml = "\ufeffA: 日本 # x\r\n\tB: {c: !GetAtt X.y, \"d\": 'e f'}\n\nlast: [ a,b ]"
	for _, test := range []struct {
		text         string
		line, column int
		want         string // the text, with the mark in <>; empty if nothing is shown
	}{
		{yaml, 1, 1, "<A>: 日本 # x"},
		{yaml, 1, 4, "A: <日本> # x"},
		{yaml, 2, 9, "\tB: {c: <!GetAtt X.y>, \"d\": 'e f'}"},
		{yaml, 2, 22, "\tB: {c: !GetAtt X.y, <\"d\">: 'e f'}"},
		{yaml, 2, 27, "\tB: {c: !GetAtt X.y, \"d\": <'e f'>}"},
		{yaml, 2, 99, "\tB: {c: !GetAtt X.y, \"d\": 'e f'}"},
		{yaml, 3, 1, ""},
		{yaml, 4, 7, "last: <[> a,b ]"},
		{yaml, 4, 0, "last: [ a,b ]"},
		{yaml, 5, 1, ""},
		{yaml, 0, 0, ""},
		{"{\"a\":\r\"b\u2028c\",\n\"d\": 1}", 2, 1, "<\"d\">: 1}"},
		{"a: b\u2028c: d\u0085e: f", 3, 1, "<e>: f"},
	} {
		got := ""
		if e, ok := diagnosis.NewSource(test.text).Excerpt(test.line, test.column); ok {
			if got = e.Text; e.Column > 0 {
				runes := []rune(e.Text)
				end := e.Column - 1 + e.Length
				got = string(runes[:e.Column-1]) + "<" + string(runes[e.Column-1:end]) + ">" + string(runes[end:])
			}
		}
		if got != test.want {
			t.Errorf("%d:%d of %q is %q, want %q", test.line, test.column, test.text, got, test.want)
		}
	}
}

// secrets are templates whose secret is "hunter2", written in all ways.
var secrets = []string{
	"Parameters: {P: {Type: String, NoEcho: true, Default: hunter2, Description: d}, Q: {Default: x}}\nResources: {}",
	"Parameters:\n  P:\n    NoEcho: 'TRUE'\n    Default: >\n      hunter2\n      hunter2\n    Type: String\nResources: {}",
	"Parameters:\n  P: {Default: 'a\n    hunter2', NoEcho: true}\n  Q: {Type: String}",
	"Parameters: {P: {NoEcho: perhaps, Default: [a, {b: hunter2}], Default2: x}}",
	"Parameters: {P: {NoEcho: true, Default: \"a\n\n  hunter2\n\"}}",
	"Parameters: {P: {NoEcho: true, Default: hunter2}}\n# the end",
	"Parameters: {P: {NoEcho: true, Default: hunter2}, S: {NoEcho: true, Default: hunter2, X: 1}}",
	`{"Parameters": {"P": {"NoEcho": "true", "Default": "hunter2"}, "Q": {}}, "Resources": {}}`,
	"{\"Parameters\": {\"P\": {\"Default\":\n \"hunter2\"\n, \"NoEcho\": true}}}",
	// Not well-formed, so its structure is unknown.
	"Parameters: {P: {NoEcho: true, Default: hunter2\nResources: [",
	"Parameters:\n  P:\n    NoEcho: true\n    Default: 'hunter2\n\tx: y",
	"Parameters: {P: {NoEcho: true, NoEcho: false, Default: hunter2}}",
	"Parameters: {P: {NoEcho: true, Default: , x: hunter2}}",
	`{"Parameters": {"P": {"N\u006fEcho": true, "Def\u0061ult": "hunter2"}}`,
}

func TestSecretsAreNotShown(t *testing.T) {
	for _, text := range secrets {
		source := diagnosis.NewSource(text)
		for line := range strings.Count(text, "\n") + 2 {
			for column := range 60 {
				if e, ok := source.Excerpt(line, column); ok && strings.Contains(e.Text, "hunter") {
					t.Fatalf("%d:%d of %q shows %q", line, column, text, e.Text)
				}
			}
		}
	}
	source := diagnosis.NewSource(secrets[0])
	want := "Parameters: {P: {Type: String, NoEcho: true, Default: **** Description: d}, Q: {Default: x}}"
	for column, marked := range map[int]string{64: "Description", 1: "Parameters", 56: "****"} {
		e, ok := source.Excerpt(1, column)
		if !ok || e.Text != want {
			t.Fatalf("shows %q", e.Text)
		}
		if got := e.Text[e.Column-1 : e.Column-1+e.Length]; got != marked {
			t.Errorf("column %d marks %q, want %q", column, got, marked)
		}
	}
}

func FuzzSource(f *testing.F) {
	for _, text := range secrets {
		f.Add(text, 2, 5)
	}
	f.Fuzz(func(t *testing.T, text string, line, column int) {
		e, ok := diagnosis.NewSource(text).Excerpt(line, column)
		if n := len([]rune(e.Text)); ok && (e.Column < 0 || e.Column > 0 && (e.Length < 1 || e.Column-1+e.Length > n)) {
			t.Fatalf("%q is marked from %d on, %d characters", e.Text, e.Column, e.Length)
		}
	})
}

// What code scanners need of a log. Source: OASIS, SARIF 2.1.0, sections 3.13 to 3.30 and 3.49.
func TestSARIF(t *testing.T) {
	file := diagnosis.File{Name: "a folder/t.yaml", Source: diagnosis.NewSource("Resources:\n  A: {Type: Foo}\n")}
	file.Add(diagnosis.Err, template.Errors{
		{Message: "Encountered unsupported property Foo", Detail: "why", Path: "/Resources/A", Line: 2, Column: 6},
		{Message: "Template format error: YAML not well-formed.", Line: 1},
		{Message: "Parameters: [X] do not exist in the template"},
		{Message: "Parameters: [X] do not exist in the template"},
	})
	file.Add(diagnosis.Warning, template.Errors{{Message: "A is only recorded", Line: 9, Column: 9}})
	other := diagnosis.File{Name: "/elsewhere/t.json", Source: diagnosis.NewSource("")}
	text, err := diagnosis.SARIF("1.2.3", []diagnosis.File{file, other})
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID               string
						ShortDescription struct{ Text string }
					}
				}
			}
			ColumnKind string
			Artifacts  []struct{ Location struct{ URI string } }
			Results    []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct {
							URI   string
							Index int
						}
						Region *struct{ StartLine, StartColumn, EndColumn int }
					}
					LogicalLocations []struct{ FullyQualifiedName string }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if log.Version != "2.1.0" || len(log.Runs) != 1 || run.Tool.Driver.Name != "pintle" || run.Tool.Driver.Version != "1.2.3" ||
		run.ColumnKind != "unicodeCodePoints" || len(run.Tool.Driver.Rules) != len(diagnosis.Rules()) {
		t.Errorf("the log is %s", text)
	}
	if got := fmt.Sprint(run.Artifacts); got != "[{{a%20folder/t.yaml}} {{file:///elsewhere/t.json}}]" {
		t.Errorf("artifacts %s", got)
	}
	var got []string
	for _, r := range run.Results {
		at := r.Locations[0].PhysicalLocation
		region := "-"
		if at.Region != nil {
			region = fmt.Sprint(*at.Region)
		}
		got = append(got, fmt.Sprint(r.RuleID, " ", run.Tool.Driver.Rules[r.RuleIndex].ID == r.RuleID, " ", r.Level, " ", region, " ", at.ArtifactLocation.URI, " ",
			r.Locations[0].LogicalLocations, " ", r.Message.Text))
	}
	want := []string{
		"parameter-unknown true error - a%20folder/t.yaml [] Parameters: [X] do not exist in the template",
		"syntax true error {1 0 0} a%20folder/t.yaml [] Template format error: YAML not well-formed.",
		"property-unknown true error {2 6 7} a%20folder/t.yaml [{/Resources/A}] Encountered unsupported property Foo (why)",
		"recorded-only true warning {9 9 0} a%20folder/t.yaml [] A is only recorded",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
