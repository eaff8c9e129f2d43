package builtin

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall/customresource"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

func TestIsAWS(t *testing.T) {
	for token, want := range map[wire.ServiceToken]bool{
		"arn:aws:lambda:eu-west-1:123456789012:function:stack-AWS679f53fac002430cb0da5b7982bd22872D164C4C-abcdefgh":    true,
		"arn:aws-cn:lambda:cn-north-1:123456789012:function:AWS679f53fac002430cb0da5b7982bd2287":                       true,
		"arn:aws:lambda:eu-west-1:123456789012:function:stack-AWS679f53fac002430cb0da5b7982bd22872D164C4C-abcdefgh:L1": true,
		"arn:aws:lambda:eu-west-1:123456789012:function:my-custom-name":                                                false,
		"arn:aws:lambda:eu-west-1:123456789012:function:aws":                                                           false,
		"https://example.com/AWS679f53fac002430cb0da5b7982bd2287":                                                      false,
		"AWS679f53fac002430cb0da5b7982bd2287":                                                                          false,
		"":                                                                                                             false,
	} {
		if got := IsAWS(token); got != want {
			t.Errorf("%s: %t", token, got)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		allow []project.Allow
		want  string // in the error
	}{
		{nil, ""},
		{[]project.Allow{{Calls: "ssm:GetParameter"}, {Calls: "*:*"}, {Calls: "S3:list*", Regions: []string{"eu-*"}, Roles: []string{"arn:aws:iam::*:role/x"}}}, ""},
		{[]project.Allow{{Calls: "ssm"}}, "a rule is service:action"},
		{[]project.Allow{{Calls: "smm:GetParameter"}}, "did you mean ssm?"},
		{[]project.Allow{{Calls: "ssm:GetParametre"}}, "did you mean GetParameter?"},
		{[]project.Allow{{Calls: "ssm:*", Regions: []string{"eu-?"}}}, "only * is special"},
	} {
		err := AWS{Allow: test.allow}.Check()
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "customresource")) {
			t.Errorf("%v: %v, want %q", test.allow, err, test.want)
		}
	}
}

func parameter(string, *http.Request, string) (int, string) {
	return http.StatusOK, `{"Parameter":{"Name":"/a","Value":"v"}}`
}

var get = m{"service": "SSM", "action": "getParameter", "parameters": m{"Name": "/a"}}

func TestHandled(t *testing.T) {
	for _, test := range []struct {
		name  string
		aws   AWS
		call  m
		want  string // status, then data or reason
		asked []string
	}{
		{name: "no call is allowed", call: get, want: "FAILED the call ssm:GetParameter in us-east-1 is not allowed by this provider"},
		{name: "the default region", aws: AWS{Allow: []project.Allow{{Calls: "ssm:GetParameter"}}}, call: get,
			want: "SUCCESS us-east-1 v", asked: []string{"OWN us-east-1 ssm GetParameter"}},
		{name: "the engine's region", aws: AWS{Allow: []project.Allow{{Calls: "*:*"}}, Region: "eu-north-1"}, call: get,
			want: "SUCCESS eu-north-1 v", asked: []string{"OWN eu-north-1 ssm GetParameter"}},
		{name: "the call's region", aws: AWS{Allow: []project.Allow{{Calls: "*:*", Regions: []string{"ap-*"}}}},
			call: m{"service": "SSM", "action": "getParameter", "parameters": m{"Name": "/a"}, "region": "ap-south-1"},
			want: "SUCCESS ap-south-1 v", asked: []string{"OWN ap-south-1 ssm GetParameter"}},
		{name: "a region that is not allowed", aws: AWS{Allow: []project.Allow{{Calls: "*:*", Regions: []string{"ap-*"}}}}, call: get,
			want: "FAILED the call ssm:GetParameter in us-east-1 is not allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServices(t, parameter)
			surroundings(t, "[default]\nregion = sa-east-1\n", map[string]string{"AWS_ENDPOINT_URL": s.url})
			answer := newKit(t, test.aws).handle("r1", m{"ResourceProperties": m{"Create": asText(t, test.call)}})
			got := fmt.Sprintf("%v %v", answer["Status"], answer["Reason"])
			if data, ok := answer["Data"].(map[string]any); ok && answer["Status"] == "SUCCESS" {
				got = fmt.Sprintf("SUCCESS %v %v", data["region"], data["Parameter.Value"])
			}
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if diff := cmp.Diff(test.asked, s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTimeout checks that a slow call fails while its event still has time to report that.
func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	s := newServices(t, func(_ string, r *http.Request, _ string) (int, string) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return http.StatusOK, "{}"
	})
	t.Cleanup(func() { close(release) })
	surroundings(t, "", map[string]string{"AWS_ENDPOINT_URL": s.url})
	answer := newKit(t, AWS{Allow: []project.Allow{{Calls: "*:*"}}, Timeout: time.Millisecond}).handle("r1", m{"ResourceProperties": m{"Create": get}})
	if reason := fmt.Sprint(answer["Reason"]); answer["Status"] != "FAILED" || !strings.Contains(reason, "deadline exceeded") {
		t.Errorf("answered %v", answer)
	}
	for set, want := range map[time.Duration]time.Duration{0: customresource.DefaultTimeout + margin, 5 * time.Second: 5*time.Second + margin} {
		p, err := AWS{Timeout: set}.Provider("x")
		if err != nil || p.Timeout != want || p.Name != "x" {
			t.Errorf("%v: %s, %v, %v", set, p.Name, p.Timeout, err)
		}
	}
}

// TestConfigurationFixed checks that an invalid configuration fails requests until it is fixed.
func TestConfigurationFixed(t *testing.T) {
	s := newServices(t, parameter)
	surroundings(t, "", map[string]string{"AWS_ENDPOINT_URL": "localhost:1"})
	k := newKit(t, AWS{Allow: []project.Allow{{Calls: "*:*"}}})
	create := m{"ResourceProperties": m{"Create": get}}
	if reason := fmt.Sprint(k.handle("r1", create)["Reason"]); !strings.HasPrefix(reason, "AWS configuration of the server: ") || !strings.Contains(reason, "an endpoint is a URL") {
		t.Errorf("reason %s", reason)
	}
	t.Setenv("AWS_ENDPOINT_URL", s.url)
	if answer := k.handle("r2", create); answer["Status"] != "SUCCESS" {
		t.Errorf("answered %v", answer)
	}
}
