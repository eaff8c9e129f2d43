package builtin

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/functionenv"
)

func TestIsCDK(t *testing.T) {
	for name, want := range map[string]bool{
		"AWS679f53fac002430cb0da5b7982bd22872D164C4C":          true,
		"stack-AWS679f53fac002430cb0da5b7982bd2287-abcdefgh":   true,
		"stack-AWS679f53fac002430cb0da5b7982bd-abcdefgh":       false, // truncated, so that only the logical ID shows it
		"LogRetentionaae0aa3c5b4d4f87b02d85b201efdd8aFD4BFC8A": false,
		"": false,
	} {
		if IsCDK(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// TestFunctionEndpointsAndKeys checks that with a function's environment, calls have the function's endpoints and keys, and all calls are
// allowed.
func TestFunctionEndpointsAndKeys(t *testing.T) {
	assume := func(action string, r *http.Request, body string) (int, string) {
		if action == "AssumeRole" {
			return http.StatusOK, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>` + roleSecret +
				`</SecretAccessKey><SessionToken>` + roleToken + `</SessionToken></Credentials></AssumeRoleResult></AssumeRoleResponse>`
		}
		return parameter(action, r, body)
	}
	role := m{"service": "SSM", "action": "getParameter", "parameters": m{"Name": "/a"}, "assumedRoleArn": "arn:aws:iam::1:role/any"}
	there := m{"service": "DynamoDB", "action": "listTables"}
	for _, test := range []struct {
		name    string
		call    m
		environ func(here, elsewhere string) []string
		want    []string // calls to the first service, and to the second
	}{
		{"this server", get, nil, []string{"OURS eu-west-1 ssm GetParameter"}},
		{"role on this server", role, nil, []string{"OURS eu-west-1 sts AssumeRole", "ROLE eu-west-1 ssm GetParameter"}},
		{"another region", m{"service": "SSM", "action": "getParameter", "parameters": m{"Name": "/a"}, "region": "ap-south-1"}, nil,
			[]string{"OURS ap-south-1 ssm GetParameter"}},
		{"service not emulated here", there, nil, []string{"OURS eu-west-1 dynamodb ListTables"}},
		{"service at another endpoint", there, func(_, elsewhere string) []string { return []string{"AWS_ENDPOINT_URL=" + elsewhere} },
			[]string{"elsewhere: OURS eu-west-1 dynamodb ListTables"}},
		{"service emulated here and at another endpoint", get, func(_, elsewhere string) []string { return []string{"AWS_ENDPOINT_URL=" + elsewhere} },
			[]string{"OURS eu-west-1 ssm GetParameter"}},
		{"endpoint of one service", get, func(_, elsewhere string) []string {
			return []string{"AWS_ENDPOINT_URL_SSM=" + elsewhere, "AWS_ACCESS_KEY_ID=THEIRS", "AWS_SECRET_ACCESS_KEY=x", "AWS_SESSION_TOKEN=t"}
		}, []string{"elsewhere: THEIRS eu-west-1 ssm GetParameter"}},
		{"keys from a profile", get, func(_, elsewhere string) []string {
			return []string{"AWS_ENDPOINT_URL_SSM=" + elsewhere, "AWS_PROFILE=work"}
		}, []string{"elsewhere: WORK eu-west-1 ssm GetParameter"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			here, elsewhere := newServices(t, assume), newServices(t, parameter)
			surroundings(t, "[profile work]\naws_access_key_id = WORK\naws_secret_access_key = w\n", map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
			var environ []string
			if test.environ != nil {
				environ = test.environ(here.url, elsewhere.url)
			}
			env := functionenv.Variables(functionenv.Config{Environ: environ, URL: here.url, Key: functionenv.Key{ID: "OURS", Secret: "s"}})
			if profile := env["AWS_PROFILE"]; profile != "" { // as in the environment of the process
				t.Setenv("AWS_PROFILE", profile)
				t.Setenv("AWS_ACCESS_KEY_ID", "")
				t.Setenv("AWS_SECRET_ACCESS_KEY", "")
			}
			answer := newKit(t, AWS{All: true, Env: func(string) map[string]string { return env }}).handle("r1", m{"ResourceProperties": m{"Create": asText(t, test.call)}})
			if answer["Status"] != "SUCCESS" {
				t.Errorf("answered %v", answer)
			}
			asked := here.requests()
			for _, line := range elsewhere.requests() {
				asked = append(asked, fmt.Sprint("elsewhere: ", line))
			}
			if diff := cmp.Diff(test.want, asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
