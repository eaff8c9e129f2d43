package cloudformation_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// TestRecordedD21 checks error texts. Those without a date are from row D21 of the recorded answers, which has none.
func TestRecordedD21(t *testing.T) {
	// An S3 without buckets.
	empty := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.WriteHeader(http.StatusNotFound)
		_, _ = out.Write([]byte(`<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>`))
	}))
	defer empty.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", empty.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	texts := fetch.New(fetch.Config{AllowPrivate: true})
	w := worldWith(t, func(c *engine.Config) {
		c.Snippet = texts.Snippet
		c.Stored = func(context.Context, string, string, []string) (map[string]template.Stored, error) { return nil, nil }
	}, func(c *cloudformation.Config) { c.Texts = texts })

	create := "Action=CreateStack&StackName=s&Capabilities.member.1=CAPABILITY_AUTO_EXPAND&TemplateBody="
	mappings := func(m string) string {
		return create + escape(`{"Mappings": {"M": `+m+`}, "Resources": {"R": `+resource("")+`}}`)
	}
	stored := `{"Parameters": {"P": {"Type": "AWS::SSM::Parameter::Value<String>"}}, "Resources": {"R": ` + resource("") + `}}`
	include := `{"Resources": {"R": ` + resource(`"In": {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://no-such-bucket/key"}}}`) + `}}`
	for _, test := range []struct{ name, recorded, form, want string }{
		{"invalid template URL", "2023-10-11", "Action=CreateStack&StackName=s&TemplateURL=http://", "TemplateURL must be a supported URL."},
		{"a template URL of a file", "2023-10-11", "Action=CreateStack&StackName=s&TemplateURL=file:///template.json",
			"TemplateURL must be a supported URL."},
		{"an include from a bucket that does not exist", "", create + escape(include),
			"Transform AWS::Include failed with: S3 bucket [no-such-bucket] does not exist."},
		{"a change set by name without its stack", "2025-09-12", "Action=GetTemplate&ChangeSetName=c", "StackName is a required parameter."},
		{"an object in a mapping", "2023-06-12", mappings(`{"k": {"a": {"b": "c"}}}`),
			"Template format error: Every Mappings attribute must be a String or a List."},
		{"a reference in a mapping", "2023-06-12", mappings(`{"k": {"a": {"Ref": "P"}}}`),
			"Template format error: Every Mappings attribute must be a String or a List."},
		{"a mapping of texts", "2023-06-12", mappings(`{"k": "a"}`), "Template format error: Every Mappings member M must be a map"},
		{"a resource that is a text", "", create + escape(`{"Resources": {"R": "text"}}`),
			"Template format error: Any Resources member must be an object."},
		{"a section that is a text", "2022-11-11", create + escape(`{"Resources": "", "Outputs": ""}`),
			"Template format error: Any Resources member must be an object."},
		{"a section that is a list", "", create + escape(`{"Resources": [{"Type": "Custom::R"}]}`),
			"Template format error: Any Resources member must be an object."},
		{"a stored parameter without a name", "", create + escape(stored), "Parameter P should either have input value or default value"},
		{"JSON with a wrong character", "2024-06-18", "Action=ValidateTemplate&TemplateBody=" + escape(`{"this is invalid JSON"="bad"}`),
			"Template format error: JSON not well-formed. (line 1, column 25)"},
	} {
		if got := w.refusal(test.form); got != errPrefix+test.want {
			t.Errorf("%s (recorded %s):\n got %s\nwant %s%s", test.name, test.recorded, strings.TrimSpace(got), errPrefix, test.want)
		}
	}

	// The text for a name that is not in the parameter store does not contain the name, so it is used only with AWS
	// fidelity.
	byDefault := strings.Replace(stored, `<String>"`, `<String>", "Default": "/none"`, 1)
	const given = "&Parameters.member.1.ParameterKey=P&Parameters.member.1.ParameterValue=/none"
	const unfetched = "Unable to fetch parameters [/none] from parameter store for this account."
	for _, test := range []struct {
		fidelity   engine.Fidelity
		form, want string
	}{
		{engine.FidelityPintle, given + "&TemplateBody=" + escape(stored), unfetched},
		{engine.FidelityAWS, given + "&TemplateBody=" + escape(stored), "Parameter P should either have input value or default value"}, // 2025-08-06
		{engine.FidelityAWS, "&TemplateBody=" + escape(byDefault), unfetched},
	} {
		w := worldWith(t, func(c *engine.Config) {
			c.Fidelity = test.fidelity
			c.Stored = func(context.Context, string, string, []string) (map[string]template.Stored, error) { return nil, nil }
		})
		if got := w.refusal("Action=CreateChangeSet&StackName=s&ChangeSetName=c&ChangeSetType=CREATE" + test.form); got != errPrefix+test.want {
			t.Errorf("a parameter that is not stored, %s: got %s, want %s", test.fidelity, strings.TrimSpace(got), test.want)
		}
	}
}
