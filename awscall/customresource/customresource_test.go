package customresource_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/awscall/customresource"
	"github.com/pintle-dev/pintle/wire"
)

type m = map[string]any

// service selects its response by the target of JSON services, or the action of Query services, and records its requests.
type service struct {
	url     string
	answers map[string]string // values that begin with ! are errors

	mu    sync.Mutex
	asked []string
	keys  []string // access keys that signed
}

func newService(t *testing.T, answers map[string]string) *service {
	t.Helper()
	s := &service{answers: answers}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		name := r.Header.Get("X-Amz-Target")
		if name == "" {
			_, name, _ = strings.Cut(string(body), "Action=")
			name, _, _ = strings.Cut(name, "&")
		}
		name = name[strings.LastIndexByte(name, '.')+1:]
		_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		key, _, _ = strings.Cut(key, "/aws4_request")
		s.mu.Lock()
		s.asked = append(s.asked, name+" "+string(body))
		s.keys = append(s.keys, key)
		s.mu.Unlock()
		answer, failed := strings.CutPrefix(s.answers[name], "!")
		if failed {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *service) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func newProvider(t *testing.T, s *service, config customresource.Config) pintle.Handler {
	t.Helper()
	client, err := awscall.New(awscall.Config{Region: "eu-west-1", Endpoint: s.url, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("OWN", "secret", "")})
	if err != nil {
		t.Fatal(err)
	}
	config.Client = client
	config = config.WithNow(func() time.Time { return time.UnixMilli(1234) })
	p, err := customresource.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(t *testing.T, kind pintle.RequestType, id string, properties m, log io.Writer) *pintle.Request {
	t.Helper()
	raw, err := json.Marshal(properties)
	if err != nil {
		t.Fatal(err)
	}
	if log == nil {
		log = io.Discard
	}
	r := &pintle.Request{Type: kind, StackID: "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1", RequestID: "r", LogicalID: "Logical",
		ID: pintle.PhysicalID(id), RawProperties: raw, RawOldProperties: json.RawMessage("{}")}
	return r.WithLog(slog.New(slog.NewTextHandler(log, nil)))
}

// asText returns a call as text, in the CDK's form.
func asText(t *testing.T, call any) string {
	t.Helper()
	raw, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var answers = map[string]string{
	"GetParameter":         `{"Parameter":{"ARN":"arn:p","Name":"/a","Value":"v","Version":7,"LastModifiedDate":1}}`,
	"PutParameter":         `{"Version":1,"Tier":"Standard"}`,
	"DeleteParameter":      `{}`,
	"DescribeParameters":   `{"Parameters":[` + strings.Repeat(`{"Name":"/a","Description":"`+strings.Repeat("x", 300)+`"},`, 30) + `{"Name":"/z"}]}`,
	"GetParameters":        `!{"__type":"ParameterNotFound","message":"There is no such parameter."}`,
	"AssumeRole":           `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
	"VerifyDomainIdentity": `<VerifyDomainIdentityResponse><VerifyDomainIdentityResult><VerificationToken>token</VerificationToken></VerifyDomainIdentityResult></VerifyDomainIdentityResponse>`,
}

func TestHandle(t *testing.T) {
	get := m{"service": "SSM", "action": "getParameter", "parameters": m{"Name": "/a", "WithDecryption": true}}
	with := func(call m, more m) m {
		out := m{}
		for name, v := range call {
			out[name] = v
		}
		for name, v := range more {
			out[name] = v
		}
		return out
	}
	tests := []struct {
		name       string
		kind       pintle.RequestType
		id         string
		properties m
		want       pintle.Answer
		err        string // a part of the error
		asked      []string
	}{
		{name: "as text", kind: pintle.Create, properties: m{"Create": asText(t, with(get, m{"physicalResourceId": m{"id": "fixed"}})), "InstallLatestAwsSdk": "true"},
			want: pintle.Answer{ID: "fixed", Attributes: m{"region": "eu-west-1", "Parameter.ARN": "arn:p", "Parameter.Name": "/a", "Parameter.Value": "v", "Parameter.Version": int64(7)}},
			asked: []string{
				`GetParameter {"Name":"/a","WithDecryption":true}`}},
		{name: "object with values converted to strings", kind: pintle.Create, properties: m{"Create": m{"service": "SSM", "action": "getParameter", "parameters": m{"Name": "/a", "WithDecryption": "true"}, "outputPaths": []string{"Parameter.V"}}},
			want:  pintle.Answer{ID: "Logical", Attributes: m{"Parameter.Value": "v", "Parameter.Version": int64(7)}},
			asked: []string{`GetParameter {"Name":"/a","WithDecryption":true}`}},
		{name: "Create is Update", kind: pintle.Create, properties: m{"Update": asText(t, with(get, m{"physicalResourceId": m{"responsePath": "Parameter.Version"}, "outputPath": "region"}))},
			want: pintle.Answer{ID: "7", Attributes: m{"region": "eu-west-1"}}, asked: []string{`GetParameter {"Name":"/a","WithDecryption":true}`}},
		{name: "no paths", kind: pintle.Update, id: "old", properties: m{"Update": asText(t, with(get, m{"outputPaths": []string{}, "apiVersion": "2014-11-06"}))},
			want: pintle.Answer{ID: "old", Attributes: m{}}, asked: []string{`GetParameter {"Name":"/a","WithDecryption":true}`}},
		{name: "empty path is ignored", kind: pintle.Update, id: "old", properties: m{"Update": asText(t, with(get, m{"outputPath": "", "outputPaths": []string{"Parameter.Value"}}))},
			want: pintle.Answer{ID: "old", Attributes: m{"Parameter.Value": "v"}}, asked: []string{`GetParameter {"Name":"/a","WithDecryption":true}`}},
		{name: "the region as the ID", kind: pintle.Create, properties: m{"Create": asText(t, with(get, m{"physicalResourceId": m{"responsePath": "region"}, "outputPath": "Parameter.Value"}))},
			want: pintle.Answer{ID: "eu-west-1", Attributes: m{"Parameter.Value": "v"}}, asked: []string{`GetParameter {"Name":"/a","WithDecryption":true}`}},
		{name: "the version of the API as the ID", kind: pintle.Create, properties: m{"Create": asText(t, with(get, m{"physicalResourceId": m{"responsePath": "apiVersion"}, "apiVersion": "2014-11-06", "outputPath": "Parameter.Value"}))},
			want: pintle.Answer{ID: "2014-11-06", Attributes: m{"Parameter.Value": "v"}}, asked: []string{`GetParameter {"Name":"/a","WithDecryption":true}`}},
		{name: "no call", kind: pintle.Update, id: "old", properties: m{"Create": asText(t, get)}, want: pintle.Answer{ID: "old"}},
		{name: "no call for Delete", kind: pintle.Delete, id: "old", properties: m{"Create": asText(t, get)}},
		{name: "the physical ID in parameters", kind: pintle.Delete, id: "/the/id",
			properties: m{"Delete": asText(t, m{"service": "SSM", "action": "deleteParameter", "parameters": m{"Name": "PHYSICAL:RESOURCEID:"}})},
			asked:      []string{`DeleteParameter {"Name":"/the/id"}`}},
		{name: "separate ID for Delete", kind: pintle.Delete, id: "/the/id",
			properties: m{"Delete": asText(t, m{"service": "SSM", "action": "deleteParameter", "physicalResourceId": m{"id": "other"}, "parameters": m{"Name": "PHYSICAL:RESOURCEID:"}})},
			asked:      []string{`DeleteParameter {"Name":"other"}`}},
		{name: "a response path of Delete", kind: pintle.Delete, id: "id", properties: m{"Delete": asText(t, m{"service": "SSM", "action": "deleteParameter", "physicalResourceId": m{"responsePath": "None"}, "parameters": m{"Name": "n"}})},
			asked: []string{`DeleteParameter {"Name":"n"}`}},
		{name: "not inside a text", kind: pintle.Update, id: "id", properties: m{"Update": asText(t, m{"service": "ssm", "action": "putParameter",
			"parameters": m{"Name": "x PHYSICAL:RESOURCEID:", "Tags": []any{m{"Key": "PHYSICAL:RESOURCEID:"}}}, "region": "us-east-1"})},
			want:  pintle.Answer{ID: "id", Attributes: m{"region": "us-east-1", "Version": int64(1), "Tier": "Standard"}},
			asked: []string{`PutParameter {"Name":"x PHYSICAL:RESOURCEID:","Tags":[{"Key":"id"}]}`}},
		{name: "an error that is ignored", kind: pintle.Update, id: "old", properties: m{"Update": asText(t, m{"service": "SSM", "action": "getParameters", "ignoreErrorCodesMatching": "NotFound"})},
			want: pintle.Answer{ID: "old"}, asked: []string{"GetParameters {}"}},
		{name: "an error", kind: pintle.Update, id: "old", properties: m{"Update": asText(t, m{"service": "SSM", "action": "getParameters", "ignoreErrorCodesMatching": "^Found"})},
			err: "There is no such parameter. (ssm GetParameters: ParameterNotFound)", asked: []string{"GetParameters {}"}},
		{name: "an unknown action may be ignored", kind: pintle.Update, id: "old", properties: m{"Update": asText(t, m{"service": "SSM", "action": "getNothing", "ignoreErrorCodesMatching": ".*"})}, want: pintle.Answer{ID: "old"}},
		{name: "unknown action", kind: pintle.Create, properties: m{"Create": asText(t, m{"service": "SSM", "action": "getParametre"})},
			err: `Unable to find command named: GetParametreCommand for action: GetParametre in service package @aws-sdk/client-ssm: the AWS service ssm has no action "getParametre": did you mean GetParameter?`},
		{name: "unknown service", kind: pintle.Create, properties: m{"Create": asText(t, m{"service": "SSN", "action": "x", "ignoreErrorCodesMatching": ".*"})}, err: `Package @aws-sdk/client-ssn does not exist. there is no AWS service "SSN": did you mean ssm?`},
		{name: "no such path", kind: pintle.Create, properties: m{"Create": asText(t, with(get, m{"physicalResourceId": m{"responsePath": "Parameter.Arn"}}))},
			err: "its response has no Parameter.Arn for the physical ID; it has Parameter.ARN, Parameter.Name, Parameter.Value, Parameter.Version; what the call made stays", asked: []string{`GetParameter {"Name":"/a","WithDecryption":true}`}},
		{name: "too long", kind: pintle.Create, properties: m{"Create": asText(t, m{"service": "SSM", "action": "describeParameters"})}, want: pintle.Answer{ID: "Logical"},
			err: `choose the attributes that are needed by outputPaths, such as "outputPaths": ["Parameters.0.Name", "Parameters.1.Name", "Parameters.10.Name"]`, asked: []string{"DescribeParameters {}"}},
		{name: "a response path and ignored errors", kind: pintle.Create, properties: m{"Create": asText(t, with(get, m{"physicalResourceId": m{"responsePath": "a"}, "ignoreErrorCodesMatching": "x"}))}, err: "Create: physicalResourceId.responsePath cannot be used with ignoreErrorCodesMatching"},
		{name: "look-around", kind: pintle.Create, properties: m{"Create": asText(t, with(get, m{"ignoreErrorCodesMatching": "(?!x)"}))}, err: "Create: ignoreErrorCodesMatching is not a supported regular expression"},
		{name: "external ID without a role", kind: pintle.Create, properties: m{"Create": asText(t, with(get, m{"externalId": "x"}))}, err: "ExternalId can only be provided when assumedRoleArn is specified"},
		{name: "no JSON", kind: pintle.Create, properties: m{"Create": "{secret"}, err: "Create: it is not a JSON object of a call, nor the text of one"},
		{name: "no action", kind: pintle.Create, properties: m{"Create": m{"service": "ssm"}}, err: "Create: a call needs service and action"},
		{name: "invalid region", kind: pintle.Create, properties: m{"Create": asText(t, with(get, m{"region": "evil.example/"}))}, err: "a region has letters, digits and hyphens only"},
		{name: "a role", kind: pintle.Create, properties: m{"Create": asText(t, m{"service": "SES", "action": "verifyDomainIdentity", "parameters": m{"Domain": "d"}, "physicalResourceId": m{"responsePath": "VerificationToken"},
			"assumedRoleArn": "arn:aws:iam::1:role/r", "externalId": "e", "outputPaths": []string{"V"}})},
			want: pintle.Answer{ID: "token", Attributes: m{"VerificationToken": "token"}},
			asked: []string{"AssumeRole Action=AssumeRole&ExternalId=e&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=1234-Logical&Version=2011-06-15",
				"VerifyDomainIdentity Action=VerifyDomainIdentity&Domain=d&Version=2010-12-01"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newService(t, answers)
			p := newProvider(t, s, customresource.Config{AllowAll: true})
			var log bytes.Buffer
			got, err := p.Handle(t.Context(), request(t, test.kind, test.id, test.properties, &log))
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("error %v\nwant  %s", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.asked, s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if strings.Contains(log.String(), "arn:p") || strings.Contains(log.String(), "xxxx") || err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("a value shows: %s %v", &log, err)
			}
		})
	}
}

func TestRoleSigns(t *testing.T) {
	s := newService(t, answers)
	p := newProvider(t, s, customresource.Config{AllowAll: true})
	call := asText(t, m{"service": "SSM", "action": "getParameter", "parameters": m{"Name": "a"}, "assumedRoleArn": "arn:aws:iam::1:role/r", "region": "us-west-2", "logApiResponseData": false})
	var log bytes.Buffer
	if _, err := p.Handle(t.Context(), request(t, pintle.Create, "", m{"Create": call}, &log)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"OWN/", "ROLE/"} {
		if !strings.HasPrefix(s.keys[i], want) || !strings.Contains(s.keys[i], "/us-west-2/") {
			t.Errorf("request %d is signed by %s", i, s.keys[i])
		}
	}
	if strings.Contains(log.String(), "Parameter.Value") {
		t.Errorf("the log has what logApiResponseData hides:\n%s", &log)
	}
}

// A role that cannot be assumed is an error of the call: ignoreErrorCodesMatching also applies to it.
func TestRoleErrorIsIgnored(t *testing.T) {
	denied := map[string]string{"AssumeRole": `!<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>You may not.</Message></Error></ErrorResponse>`}
	for pattern, want := range map[string]string{"": "the role cannot be assumed: You may not.", "^AccessDenied$": "", "NotFound": "the role cannot be assumed: You may not."} {
		s := newService(t, denied)
		call := m{"Delete": m{"service": "ssm", "action": "deleteParameter", "parameters": m{"Name": "a"}, "assumedRoleArn": "arn:aws:iam::1:role/r", "ignoreErrorCodesMatching": pattern}}
		_, err := newProvider(t, s, customresource.Config{AllowAll: true}).Handle(t.Context(), request(t, pintle.Delete, "id", call, nil))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
		if len(s.requests()) != 1 {
			t.Errorf("%q: asked %v", pattern, s.requests())
		}
	}
}

func TestAllow(t *testing.T) {
	rules := []customresource.Rule{
		{Calls: "SSM:getParameter"},
		{Calls: "ssm:Put*", Regions: []string{"eu-*"}},
		{Calls: "ses:*", Roles: []string{"arn:aws:iam::1:role/deploy/*"}},
	}
	for _, test := range []struct {
		rules                         []customresource.Rule
		service, action, region, role string
		ok                            bool
	}{
		{nil, "ssm", "getParameter", "", "", false},
		{rules, "@aws-sdk/client-ssm", "GetParameterCommand", "us-east-1", "", true},
		{rules, "ssm", "getParameters", "", "", false},
		{rules, "ssm", "putParameter", "eu-central-1", "", true},
		{rules, "ssm", "putParameter", "us-east-1", "", false},
		{rules, "ssm", "getParameter", "", "arn:aws:iam::1:role/deploy/x", false},
		{rules, "ses", "verifyDomainIdentity", "", "arn:aws:iam::1:role/deploy/a/b", true},
		{rules, "ses", "verifyDomainIdentity", "", "arn:aws:iam::2:role/deploy/a", false},
		{[]customresource.Rule{{Calls: "*:*"}}, "ssm", "deleteParameter", "", "", true},
	} {
		s := newService(t, answers)
		p := newProvider(t, s, customresource.Config{Allow: test.rules})
		call := m{"service": test.service, "action": test.action, "region": test.region, "assumedRoleArn": test.role, "parameters": m{"Name": "n", "Domain": "d"}, "ignoreErrorCodesMatching": ".*"}
		_, err := p.Handle(t.Context(), request(t, pintle.Create, "", m{"Create": call}, nil))
		if (err == nil) != test.ok || err != nil && !strings.Contains(err.Error(), "is not allowed by this provider") {
			t.Errorf("%s:%s %s %s: %v", test.service, test.action, test.region, test.role, err)
		}
		if !test.ok && len(s.requests()) > 0 {
			t.Errorf("%s:%s: asked %v", test.service, test.action, s.requests())
		}
	}
	own := request(t, pintle.Create, "", m{"Create": m{"service": "ssm", "action": "getParameter", "parameters": m{"Name": "n"}}}, nil)
	for account, want := range map[string]string{own.Account: "", "999999999999": "for stacks of account " + own.Account} {
		p := newProvider(t, newService(t, answers), customresource.Config{Allow: []customresource.Rule{{Calls: "ssm:*", Accounts: []string{account}}}})
		if _, err := p.Handle(t.Context(), own); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a rule for %s: %v, want %q", account, err, want)
		}
	}
	client, err := awscall.New(awscall.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("k", "s", "")})
	if err != nil {
		t.Fatal(err)
	}
	for _, calls := range []string{"", "ssm", "ssm:", "nothing:*", "ssm:nothing", "ssm:get?", "*:[a"} {
		if _, err := customresource.New(customresource.Config{Client: client, Allow: []customresource.Rule{{Calls: calls}}}); err == nil {
			t.Errorf("the rule %q is taken", calls)
		}
	}
}

// An answer that just fits is accepted. For a longer one, this package reports the error before package pintle does so
// with fewer details.
func TestFits(t *testing.T) {
	s := newService(t, map[string]string{"GetParameter": `{"Parameter":{"Value":"` + strings.Repeat("<", wire.MaxResponse-300) + `"}}`})
	p := newProvider(t, s, customresource.Config{AllowAll: true})
	call := m{"Create": m{"service": "ssm", "action": "getParameter", "parameters": m{"Name": "a"}}}
	if a, err := p.Handle(t.Context(), request(t, pintle.Create, "", call, nil)); err != nil || len(a.Attributes) != 2 {
		t.Errorf("%v, %d attributes", err, len(a.Attributes))
	}
}

func FuzzProperties(f *testing.F) {
	f.Add(`{"Create":"{\"service\":\"SSM\",\"action\":\"getParameter\",\"parameters\":{\"Name\":\"PHYSICAL:RESOURCEID:\"},\"physicalResourceId\":{\"id\":1}}"}`)
	f.Add(`{"Update":{"service":"s3","action":"x","ignoreErrorCodesMatching":"a+","outputPaths":["a"]},"Create":""}`)
	f.Add(`{"Delete":null}`)
	client, err := awscall.New(awscall.Config{Region: "eu-west-1", Endpoint: "http://127.0.0.1:1", MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("k", "s", "")})
	if err != nil {
		f.Fatal(err)
	}
	p, err := customresource.New(customresource.Config{Client: client}) // it allows no calls, so nothing is sent
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, properties string) {
		for _, kind := range []pintle.RequestType{pintle.Create, pintle.Update, pintle.Delete} {
			a, err := p.Handle(t.Context(), &pintle.Request{Type: kind, LogicalID: "L", ID: "id", RawProperties: json.RawMessage(properties)})
			if err != nil && (a.ID != "" || a.Attributes != nil) {
				t.Errorf("an answer beside the error: %+v, %v", a, err)
			}
		}
	})
}
