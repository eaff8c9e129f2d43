package cloudformation_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
)

// fidelityRows are the rows of the table of intended differences in docs/api.md, with the tests that check both
// answers.
var fidelityRows = map[string]string{
	"outputs, exports and Metadata made of NoEcho parameters or attributes":                        "recorded_d14_test.go TestRecordedD14",
	"defaults and `AllowedValues` of NoEcho parameters in GetTemplateSummary and ValidateTemplate": "fidelity_test.go TestFidelityOfSummaries",
	"DescribeStacks of a stack whose operation has just begun":                                     "patience_test.go TestPatience",
	"DeleteStack of a stack whose exports are imported":                                            "../../engine/externals_test.go TestDeleteOfImportedExport",
	"a custom resource without `ServiceToken`, or with a `ServiceTimeout` that is out of range":    "upfront_test.go TestUpfront",
	"a property or an attribute that a native type does not have":                                  "fidelity_test.go TestFidelityOfRefusals",
	"a parameter that is given a name that is not in the Parameter Store":                          "recorded_d21_test.go TestRecordedD21",
	"a refusal of a resource type, of `RetainResources` or of DetectStackResourceDrift":            "fidelity_test.go TestFidelityOfRefusals",
	"a change set that is known to fail":                                                           "recorded_d17_test.go TestRecordedD17",
	"a template behind any `http(s)` URL":                                                          "../fetch/fetch_test.go TestTemplateFromS3",
	"a Create in progress when another resource fails":                                             "../../engine/transcript_test.go TestTranscriptC",
	"a declared provider under a `ServiceToken` of another Region":                                 "../../provider/delivery/region_test.go TestRecordedD22",
	"a local handler that returns without an answer":                                               "../../engine/silent_test.go TestSilent",
	"reasons of events, such as an invalid response or a timeout":                                  "../../../cmd/pintle/fidelity_test.go TestFidelity",
}

// TestFidelityTable compares the table with the tests. A row without a test fails, and so does a test without a row.
func TestFidelityTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| answer | AWS | Pintle | with `--fidelity aws` |\n|---|---|---|---|\n")
	if !found {
		t.Fatal("docs/api.md has no such table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(row, "|\n"), " | ")
		if len(cells) != 4 {
			t.Errorf("the row has %d cells: %s", len(cells), row)
		}
		rows = append(rows, strings.TrimSpace(cells[0]))
	}
	slices.Sort(rows)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(fidelityRows)), rows); diff != "" {
		t.Errorf("rows of docs/api.md (-tested +documented):\n%s", diff)
	}
	for row, test := range fidelityRows {
		file, name, _ := strings.Cut(test, " ")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s: %v", row, err)
		} else if !regexp.MustCompile(`(?m)^func ` + name + `\(`).Match(text) {
			t.Errorf("%s: %s has no %s", row, file, name)
		}
	}
}

// fidelities returns one world for each fidelity.
func fidelities(t *testing.T) map[engine.Fidelity]*world {
	t.Helper()
	types, err := native.CloudFormation(native.Config{SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "", nil }})
	if err != nil {
		t.Fatal(err)
	}
	worlds := map[engine.Fidelity]*world{}
	for _, fidelity := range []engine.Fidelity{engine.FidelityPintle, engine.FidelityAWS} {
		worlds[fidelity] = worldWith(t, func(c *engine.Config) { c.Native, c.Fidelity = types, fidelity },
			func(c *cloudformation.Config) { c.FidelityAWS = fidelity == engine.FidelityAWS })
	}
	return worlds
}

// TestFidelityOfSummaries shows the default of a NoEcho parameter. It is an assumption that AWS shows it in clear text:
// AWS also shows the template with that default in clear text.
func TestFidelityOfSummaries(t *testing.T) {
	body := `{"Parameters": {"P": {"Type": "String", "NoEcho": true, "Default": "planted", "AllowedValues": ["planted", "other"]}}, ` +
		`"Resources": {"R": ` + resource("") + `}}`
	for fidelity, w := range fidelities(t) {
		want := []string{"****", "****"}
		var allowed []string
		if fidelity == engine.FidelityAWS {
			want, allowed = []string{"planted", "planted"}, []string{"planted", "other"}
		}
		validated, err := w.client.ValidateTemplate(t.Context(), &sdk.ValidateTemplateInput{TemplateBody: &body})
		w.must(err)
		summary, err := w.client.GetTemplateSummary(t.Context(), &sdk.GetTemplateSummaryInput{TemplateBody: &body})
		w.must(err)
		p := summary.Parameters[0]
		if diff := cmp.Diff(want, []string{*validated.Parameters[0].DefaultValue, *p.DefaultValue}); diff != "" {
			t.Errorf("%s: defaults (-want +got):\n%s", fidelity, diff)
		}
		if !slices.Equal(p.ParameterConstraints.AllowedValues, allowed) {
			t.Errorf("%s: allowed values %q, want %q", fidelity, p.ParameterConstraints.AllowedValues, allowed)
		}
	}
}

// TestFidelityOfRefusals checks that only with AWS fidelity, errors have no explanation, and calls are accepted that
// fail later.
func TestFidelityOfRefusals(t *testing.T) {
	native := func(properties, output string) string {
		return `{"Resources": {"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}, "W": {"Type": "AWS::CloudFormation::WaitCondition", ` +
			`"Properties": {"Handle": {"Ref": "H"}, "Timeout": "1"` + properties + `}}}, "Outputs": {"O": {"Value": ` + output + `}}}`
	}
	unknownType := `{"Resources": {"R": {"Type": "AWS::Imaginary::Thing"}}}`
	create := func(name, body string) string {
		return "Action=CreateStack&StackName=" + name + "&TemplateBody=" + escape(body)
	}
	for fidelity, w := range fidelities(t) {
		w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
		w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
		for _, test := range []struct{ name, form, aws string }{ // aws is the whole text, "" if the call is accepted
			{"type", create("type", unknownType), "Template format error: Unrecognized resource types: [AWS::Imaginary::Thing]"},
			{"property", create("property", native(`, "Color": "red"`, `"x"`)), ""},
			{"attribute", create("attribute", native("", `{"Fn::GetAtt": ["W", "Color"]}`)), ""},
			{"drift", "Action=DetectStackResourceDrift&StackName=live&LogicalResourceId=R", "Resource type Custom::Thing does not support drift detection."},
		} {
			status, got := w.post(test.form)
			switch {
			case fidelity == engine.FidelityAWS && test.aws == "":
				if status != 200 {
					t.Errorf("%s, %s: %d %s", fidelity, test.name, status, got)
				}
			case fidelity == engine.FidelityAWS:
				if got := w.refusal(test.form); got != errPrefix+test.aws {
					t.Errorf("%s, %s: %s, want %s", fidelity, test.name, got, test.aws)
				}
			case status != 400 || strings.Contains(got, test.aws+"</Message>") && test.aws != "":
				t.Errorf("%s, %s: %d %s, want a refusal that explains", fidelity, test.name, status, got)
			}
		}
	}
}
