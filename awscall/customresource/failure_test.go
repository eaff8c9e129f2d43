package customresource_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/awscall/customresource"
)

// transport answers every request itself, so no request leaves the test.
type transport func(r *http.Request, body string) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(text)
	}
	return t(r, body)
}

func says(r *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

func through(t *testing.T, way transport, config customresource.Config) pintle.Handler {
	t.Helper()
	client, err := awscall.New(awscall.Config{Region: "eu-west-1", MaxAttempts: 1, HTTP: &http.Client{Transport: way},
		Credentials: credentials.NewStaticCredentialsProvider("OWN", "secret", "")})
	if err != nil {
		t.Fatal(err)
	}
	config.Client = client
	p, err := customresource.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A Create with an unknown result is deleted by its ID, if it had one before the answer.
func TestUndecided(t *testing.T) {
	busy := func(r *http.Request, _ string) (*http.Response, error) {
		return says(r, 503, `{"__type":"ServiceUnavailable","message":"later"}`), nil
	}
	lost := func(*http.Request, string) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	refused := func(r *http.Request, _ string) (*http.Response, error) {
		return says(r, 400, `{"__type":"ParameterAlreadyExists","message":"it is there"}`), nil
	}
	large := func(r *http.Request, _ string) (*http.Response, error) {
		return says(r, 200, strings.Repeat(" ", awscall.DefaultMaxResponse+1)), nil
	}
	roleBusy := func(r *http.Request, body string) (*http.Response, error) {
		if strings.Contains(body, "AssumeRole") {
			return says(r, 500, ""), nil
		}
		return nil, errors.New("it is called")
	}
	put := m{"service": "ssm", "action": "putParameter", "parameters": m{"Name": "a"}, "physicalResourceId": m{"id": "mine"}}
	byPath := m{"service": "ssm", "action": "putParameter", "parameters": m{"Name": "a"}, "physicalResourceId": m{"responsePath": "Version"}}
	asRole := m{"service": "ssm", "action": "putParameter", "parameters": m{"Name": "a"}, "physicalResourceId": m{"id": "mine"}, "assumedRoleArn": "arn:aws:iam::1:role/r"}
	for _, test := range []struct {
		name string
		way  transport
		kind pintle.RequestType
		call m
		want pintle.PhysicalID
	}{
		{"busy", busy, pintle.Create, put, "mine"},
		{"lost", lost, pintle.Create, put, "mine"},
		{"created, response too large", large, pintle.Create, put, "mine"},
		{"refused", refused, pintle.Create, put, ""},
		{"no ID is known", lost, pintle.Create, byPath, ""},
		{"the role is not there", roleBusy, pintle.Create, asRole, ""},
		{"an Update keeps its ID", busy, pintle.Update, put, ""},
		{"a Delete too", busy, pintle.Delete, put, ""},
	} {
		p := through(t, test.way, customresource.Config{AllowAll: true})
		got, err := p.Handle(t.Context(), request(t, test.kind, "old", m{string(test.kind): test.call}, nil))
		if err == nil || got.ID != test.want || got.Attributes != nil {
			t.Errorf("%s: %+v, %v; want the ID %q", test.name, got, err, test.want)
		}
	}
	t.Run("connection refused", func(t *testing.T) {
		s := newService(t, nil)
		gone := newProvider(t, &service{url: "http://127.0.0.1:1"}, customresource.Config{AllowAll: true})
		if got, err := gone.Handle(t.Context(), request(t, pintle.Create, "", m{"Create": put}, nil)); err == nil || got.ID != "" {
			t.Errorf("%+v, %v", got, err)
		}
		if len(s.requests()) > 0 {
			t.Error("asked")
		}
	})
}

// The CDK's handler assumes a role in the call, so that error can also be ignored.
func TestRoleIgnored(t *testing.T) {
	way := func(r *http.Request, body string) (*http.Response, error) {
		if !strings.Contains(body, "AssumeRole") {
			return nil, errors.New("it is called")
		}
		return says(r, 403, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>`), nil
	}
	p := through(t, way, customresource.Config{AllowAll: true})
	for pattern, ignored := range map[string]bool{"AccessDenied": true, "NotFound": false, "": false} {
		call := m{"service": "ssm", "action": "deleteParameter", "parameters": m{"Name": "a"}, "assumedRoleArn": "arn:aws:iam::1:role/r", "ignoreErrorCodesMatching": pattern}
		_, err := p.Handle(t.Context(), request(t, pintle.Delete, "id", m{"Delete": call}, nil))
		if (err == nil) != ignored || err != nil && !strings.Contains(err.Error(), "the role cannot be assumed: not you (sts AssumeRole: AccessDenied)") {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// The regions of a rule apply to the final region of a call.
func TestRegionsHold(t *testing.T) {
	for _, test := range []struct {
		service, action string
		params          m
		moved           string // the region that S3 reports for the bucket
		want            []string
	}{
		{service: "sqs", action: "sendMessage", params: m{"QueueUrl": "https://sqs.us-east-1.amazonaws.com/1/q", "MessageBody": "x"}},
		{service: "sqs", action: "sendMessage", params: m{"QueueUrl": "https://sqs.eu-central-1.amazonaws.com/1/q", "MessageBody": "x"}, want: []string{"sqs.eu-central-1.amazonaws.com"}},
		{service: "s3", action: "getObject", params: m{"Bucket": "arn:aws:s3:us-east-1:123456789012:accesspoint/ap", "Key": "k"}},
		{service: "s3", action: "getObject", params: m{"Bucket": "bucket", "Key": "k"}, moved: "us-east-1", want: []string{"bucket.s3.eu-west-1.amazonaws.com"}},
		{service: "s3", action: "getObject", params: m{"Bucket": "bucket", "Key": "k"}, moved: "eu-central-1", want: []string{"bucket.s3.eu-west-1.amazonaws.com", "bucket.s3.eu-central-1.amazonaws.com"}},
	} {
		var hosts []string
		way := func(r *http.Request, _ string) (*http.Response, error) {
			hosts = append(hosts, r.URL.Host)
			answer := says(r, 200, "")
			if test.moved != "" && len(hosts) == 1 {
				answer = says(r, 301, "")
				answer.Header.Set("X-Amz-Bucket-Region", test.moved)
			}
			return answer, nil
		}
		p := through(t, way, customresource.Config{Allow: []customresource.Rule{{Calls: "*:*", Regions: []string{"eu-*"}}}})
		call := m{"service": test.service, "action": test.action, "parameters": test.params, "ignoreErrorCodesMatching": ".*"}
		_, err := p.Handle(t.Context(), request(t, pintle.Create, "", m{"Create": call}, nil))
		if denied := "in us-east-1 is not allowed by this provider"; strings.Contains(fmt.Sprint(test.params, test.moved), "us-east-1") != strings.Contains(fmt.Sprint(err), denied) {
			t.Errorf("%v %s: %v", test.params, test.moved, err)
		}
		if diff := cmp.Diff(test.want, hosts); diff != "" {
			t.Errorf("%v %s (-want +got):\n%s", test.params, test.moved, diff)
		}
	}
}

// The log of the request names the parameters that were left out.
func TestOmittedParametersAreLogged(t *testing.T) {
	s := newService(t, answers)
	var log bytes.Buffer
	call := m{"service": "SSM", "action": "getParameter", "parameters": m{"Name": "/a", "Nonsense": "hush"}, "assumedRoleArn": "arn:aws:iam::1:role/r"}
	if _, err := newProvider(t, s, customresource.Config{AllowAll: true}).Handle(t.Context(), request(t, pintle.Create, "", m{"Create": call}, &log)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"parameters that the action does not have are left out", "parameters=Nonsense", "msg=calling service=ssm action=GetParameter region=eu-west-1 role=arn:aws:iam::1:role/r"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "hush") {
		t.Errorf("the log has a value:\n%s", &log)
	}
}
