package cdkprovider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/clock"
)

// lambdaService is a Lambda service that sends its replies in order.
type lambdaService struct {
	*httptest.Server
	replies  []reply
	requests []*http.Request
	bodies   []string
}

type reply struct {
	status     int
	kind, body string // the error type of the service; for 200, of the function
}

func newLambdaService(t *testing.T, replies ...reply) *lambdaService {
	t.Helper()
	s := &lambdaService{replies: replies}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		now := s.replies[min(len(s.requests), len(s.replies)-1)]
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
		switch {
		case now.status == http.StatusOK && now.kind != "":
			w.Header().Set("X-Amz-Function-Error", now.kind)
		case now.kind != "":
			w.Header().Set("X-Amzn-Errortype", now.kind+":http://internal.amazon.com/coral/")
		}
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.body)
	}))
	t.Cleanup(s.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": s.URL, "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "",
		"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_SESSION_TOKEN": "5e55",
	} {
		t.Setenv(name, value)
	}
	return s
}

func TestLambdaFunction(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replies []reply
		want    string // the result or the error
		calls   int
	}{
		{"a result", []reply{{200, "", `{"A":1}`}}, `{"A":1}`, 1},
		{"nothing", []reply{{200, "", ""}}, "", 1},
		{"an error of Node", []reply{{200, "Unhandled", `{"errorType":"Error","errorMessage":"no quota","trace":["Error: no quota","at index.js:7"]}`}},
			"no quota\n\nLogs: /aws/lambda/on-event [Error: no quota at index.js:7]", 1},
		{"an error of Python", []reply{{200, "Unhandled", `{"errorMessage":"no quota","errorType":"E","stackTrace":["  File a.py"]}`}},
			"no quota\n\nLogs: /aws/lambda/on-event [  File a.py]", 1},
		{"an error of Go", []reply{{200, "Unhandled", `{"errorMessage":"no quota","stackTrace":[{"line":7}]}`}},
			"no quota\n\nLogs: /aws/lambda/on-event [map[line:7]]", 1},
		{"an error without a message", []reply{{200, "Unhandled", `oops`}}, "error\n\nLogs: /aws/lambda/on-event []", 1},
		{"throttled", []reply{{429, "TooManyRequestsException", `{"message":"Rate exceeded"}`}, {200, "", "{}"}}, "{}", 2},
		{"always throttled", []reply{{429, "TooManyRequestsException", `{"Message":"Rate exceeded"}`}},
			"invoke arn:aws:lambda:eu-west-1:123456789012:function:on-event:live: 429 Too Many Requests TooManyRequestsException: Rate exceeded", invokeTries},
		{"down", []reply{{500, "ServiceException", ""}, {503, "", ""}, {200, "", "{}"}}, "{}", 3},
		{"not active yet", []reply{{409, "ResourceConflictException", `{"Message":"The function is currently in the following state: Pending"}`},
			{502, "ResourceNotReadyException", "{}"}, {502, "ResourceNotReadyException", "{}"}, {502, "ResourceNotReadyException", "{}"},
			{502, "ResourceNotReadyException", "{}"}, {502, "ResourceNotReadyException", "{}"}, {502, "ResourceNotReadyException", "{}"},
			{502, "ResourceNotReadyException", "{}"}, {200, "", "{}"}}, "{}", 9},
		{"missing", []reply{{404, "ResourceNotFoundException", `{"Message":"Function not found"}`}},
			"invoke arn:aws:lambda:eu-west-1:123456789012:function:on-event:live: 404 Not Found ResourceNotFoundException: Function not found", 1},
		{"broken for good", []reply{{502, "InvalidRuntimeException", `{"Message":"no such runtime"}`}},
			"invoke arn:aws:lambda:eu-west-1:123456789012:function:on-event:live: 502 Bad Gateway InvalidRuntimeException: no such runtime", 1},
		{"a redirect", []reply{{302, "", ""}}, "invoke arn:aws:lambda:eu-west-1:123456789012:function:on-event:live: 302 Found : ", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newLambdaService(t, tt.replies...)
			clk := &fastClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
			f, err := LambdaFunction("arn:aws:lambda:eu-west-1:123456789012:function:on-event:live", testConfig(clk))
			if err != nil {
				t.Fatal(err)
			}
			result, err := f(t.Context(), []byte(`{"a":1}`))
			got := string(result)
			if err != nil {
				got = err.Error()
				if failed, ok := errors.AsType[*FunctionError](err); ok {
					got += fmt.Sprint(" ", failed.Trace)
				}
			}
			if got != tt.want || len(s.requests) != tt.calls {
				t.Errorf("%q after %d calls\nwant %q after %d", got, len(s.requests), tt.want, tt.calls)
			}
			r := s.requests[0]
			if r.URL.EscapedPath() != "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-west-1%3A123456789012%3Afunction%3Aon-event%3Alive/invocations" ||
				r.Method != http.MethodPost || r.Header.Get("X-Amz-Invocation-Type") != "RequestResponse" || r.Header.Get("X-Amz-Security-Token") != "5e55" ||
				!strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKID/20260102/eu-west-1/lambda/aws4_request, "+
					"SignedHeaders=content-type;host;x-amz-date;x-amz-invocation-type;x-amz-security-token, ") || s.bodies[0] != `{"a":1}` {
				t.Errorf("%s %s\n%v\n%s", r.Method, r.URL, r.Header, s.bodies[0])
			}
		})
	}
}

// The wait for a function that never becomes active is limited, also by the time of the request.
func TestLambdaFunctionNeverActive(t *testing.T) {
	s := newLambdaService(t, reply{502, "ResourceNotReadyException", ""})
	clk := &fastClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	start := clk.Now()
	f, err := LambdaFunction("on-event", testConfig(clk))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "ResourceNotReadyException") {
		t.Errorf("error %v", err)
	}
	if took := clk.Now().Sub(start); took < activeWithin || took > activeWithin+10*time.Second {
		t.Errorf("it took %v", took)
	}
	calls := len(s.requests)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f(ctx, nil); err == nil || len(s.requests) != calls {
		t.Errorf("error %v after %d calls", err, len(s.requests)-calls)
	}
}

func TestLambdaFunctionConfig(t *testing.T) {
	for _, bad := range []string{"", "a b", "arn:aws:sns:eu-west-1:123456789012:topic", "arn:aws:lambda:eu-west-1:1:function:f", "../f", strings.Repeat("x", 141)} {
		if _, err := LambdaFunction(bad, LambdaConfigFromEnvironment()); err == nil {
			t.Errorf("%q is a function", bad)
		}
	}
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_LAMBDA", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	try := func(id string, c LambdaConfig) string {
		t.Helper()
		env := LambdaConfigFromEnvironment()
		env.Endpoint, env.clock = cmp.Or(c.Endpoint, env.Endpoint), clock.System{}
		c = env
		f := lambdaFunction{LambdaConfig: c, id: id}
		parts := functionName.FindStringSubmatch(id)
		f.partition, f.region, f.name = parts[1], parts[2], parts[3]
		r, err := f.request(t.Context(), nil)
		if err != nil {
			return err.Error()
		}
		return r.URL.String()
	}
	for n, want := range []string{
		"there is no region: set AWS_REGION", "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
		"https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/f/invocations",
		"http://127.0.0.1:4566/base/2015-03-31/functions/f/invocations",
	} {
		switch n {
		case 1:
			t.Setenv("AWS_DEFAULT_REGION", "eu-west-1")
		case 2:
			t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
		case 3:
			t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566/base/")
		}
		if got := try("f", LambdaConfig{}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for id, want := range map[string]string{
		"arn:aws-cn:lambda:cn-north-1:123456789012:function:f": "https://lambda.cn-north-1.amazonaws.com.cn/2015-03-31/functions/arn%3Aaws-cn%3Alambda%3Acn-north-1%3A123456789012%3Afunction%3Af/invocations",
		"123456789012:function:f:$LATEST":                      "https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/123456789012%3Afunction%3Af%3A%24LATEST/invocations",
	} {
		t.Setenv("AWS_ENDPOINT_URL", "")
		if got := try(id, LambdaConfig{}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := try("f", LambdaConfig{Endpoint: "ftp://x"}); got != "the endpoint of Lambda is not an http or https URL" {
		t.Error(got)
	}
}

func testConfig(c clock.Clock) LambdaConfig {
	config := LambdaConfigFromEnvironment()
	config.clock = c
	return config
}

// Two Lambda functions form one provider.
func TestRemoteLambda(t *testing.T) {
	s := newLambdaService(t, reply{200, "", `{"PhysicalResourceId":"new"}`}, reply{200, "", `{"IsComplete":false}`}, reply{200, "", `{"IsComplete":true,"Data":{"A":1}}`})
	clk := &fastClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var functions []Function
	for _, name := range []string{"on-event", "is-complete"} {
		f, err := LambdaFunction(name, testConfig(clk))
		if err != nil {
			t.Fatal(err)
		}
		functions = append(functions, f)
	}
	w := newWorld(t, NewRemote(functions[0], functions[1]))
	if got, want := w.ask(t, pintle.Create, "", `{"P":"1"}`, ""), `SUCCESS new {"A":1}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for n, want := range []string{"on-event", "is-complete", "is-complete"} {
		if got := s.requests[n].URL.Path; got != "/2015-03-31/functions/"+want+"/invocations" || strings.Contains(s.bodies[n], "5ec2e7") {
			t.Errorf("call %d: %s\n%s", n, got, s.bodies[n])
		}
	}
}
