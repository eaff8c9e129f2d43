package awscall_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
)

// aws1 answers for all hosts of AWS, so no request leaves the machine.
type aws1 struct {
	answer func(*http.Request) (int, http.Header, string)

	mu   sync.Mutex
	seen []string // method, URL and the scope of the signature
}

func (a *aws1) RoundTrip(r *http.Request) (*http.Response, error) {
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, "/aws4_request")
	if parts := strings.Split(scope, "/"); len(parts) == 4 {
		scope = " " + parts[2] + "/" + parts[3]
	}
	a.mu.Lock()
	a.seen = append(a.seen, r.Method+" "+r.URL.String()+scope)
	a.mu.Unlock()
	status, header, body := 200, http.Header{}, ""
	if a.answer != nil {
		status, header, body = a.answer(r)
	}
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

// Calls go to the hosts of AWS, with signatures for them.
func TestHosts(t *testing.T) {
	type m = map[string]any
	tests := []struct {
		service, action string
		params          m
		config          awscall.Config
		want            string
	}{
		{"ssm", "getParameter", m{"Name": "a"}, awscall.Config{}, "POST https://ssm.eu-west-1.amazonaws.com/ eu-west-1/ssm"},
		{"ssm", "getParameter", m{"Name": "a"}, awscall.Config{Region: "cn-north-1"}, "POST https://ssm.cn-north-1.amazonaws.com.cn/ cn-north-1/ssm"},
		{"ssm", "getParameter", m{"Name": "a"}, awscall.Config{Region: "us-east-1", FIPS: true}, "POST https://ssm-fips.us-east-1.amazonaws.com/ us-east-1/ssm"},
		{"lambda", "getFunction", m{"FunctionName": "f"}, awscall.Config{DualStack: true}, "GET https://lambda.eu-west-1.api.aws/2015-03-31/functions/f eu-west-1/lambda"},
		{"route53", "getHostedZone", m{"Id": "Z"}, awscall.Config{}, "GET https://route53.amazonaws.com/2013-04-01/hostedzone/Z us-east-1/route53"},
		{"iam", "getUser", nil, awscall.Config{}, "POST https://iam.amazonaws.com/ us-east-1/iam"},
		{"sts", "getCallerIdentity", nil, awscall.Config{}, "POST https://sts.eu-west-1.amazonaws.com/ eu-west-1/sts"},
		{"s3", "getObject", m{"Bucket": "bucket", "Key": "a b"}, awscall.Config{}, "GET https://bucket.s3.eu-west-1.amazonaws.com/a%20b eu-west-1/s3"},
		{"s3", "getObject", m{"Bucket": "dotted.bucket", "Key": "k"}, awscall.Config{}, "GET https://s3.eu-west-1.amazonaws.com/dotted.bucket/k eu-west-1/s3"},
		{"s3", "getObject", m{"Bucket": "bucket", "Key": "k"}, awscall.Config{PathStyle: true}, "GET https://s3.eu-west-1.amazonaws.com/bucket/k eu-west-1/s3"},
		{"s3", "listBuckets", nil, awscall.Config{}, "GET https://s3.eu-west-1.amazonaws.com/ eu-west-1/s3"},
		{"s3", "getObject", m{"Bucket": "arn:aws:s3:us-west-2:123456789012:accesspoint/ap", "Key": "k"}, awscall.Config{}, "GET https://ap-123456789012.s3-accesspoint.us-west-2.amazonaws.com/k us-west-2/s3"},
		{"s3", "getObject", m{"Bucket": "bucket", "Key": "k"}, awscall.Config{Endpoint: "http://localhost:4566/base/"}, "GET http://localhost:4566/base/bucket/k eu-west-1/s3"},
		{"s3control", "getAccessPoint", m{"AccountId": "123456789012", "Name": "n"}, awscall.Config{}, "GET https://123456789012.s3-control.eu-west-1.amazonaws.com/v20180820/accesspoint/n eu-west-1/s3"},
		{"s3control", "getAccessPoint", m{"AccountId": "123456789012", "Name": "n"}, awscall.Config{Endpoint: "http://localhost:1"}, "GET http://localhost:1/v20180820/accesspoint/n eu-west-1/s3"},
		{"sfn", "startSyncExecution", m{"stateMachineArn": "a"}, awscall.Config{}, "POST https://sync-states.eu-west-1.amazonaws.com/ eu-west-1/states"},
		{"sqs", "sendMessage", m{"QueueUrl": "https://sqs.us-west-2.amazonaws.com/1/q", "MessageBody": "x"}, awscall.Config{}, "POST https://sqs.us-west-2.amazonaws.com/ us-west-2/sqs"},
		{"sqs", "sendMessage", m{"QueueUrl": "https://evil.example/sqs.us-west-2.amazonaws.com/q", "MessageBody": "x"}, awscall.Config{}, "POST https://sqs.eu-west-1.amazonaws.com/ eu-west-1/sqs"},
		{"sqs", "sendMessage", m{"QueueUrl": "https://sqs.evil.example.amazonaws.com/q", "MessageBody": "x"}, awscall.Config{}, "POST https://sqs.eu-west-1.amazonaws.com/ eu-west-1/sqs"},
		{"ssm", "getParameter", m{"Name": "a"}, awscall.Config{Endpoint: "http://localhost:1", Endpoints: map[string]string{"SimpleSystemsManagement": ""}}, ""},
		{"ssm", "getParameter", m{"Name": "a"}, awscall.Config{Endpoint: "http://localhost:1", Endpoints: map[string]string{"@aws-sdk/client-ssm": "http://localhost:2"}}, "POST http://localhost:2/ eu-west-1/ssm"},
		{"ssm", "getParameter", m{"Name": "a"}, awscall.Config{Credentials: aws.AnonymousCredentials{}}, "POST https://ssm.eu-west-1.amazonaws.com/"},
	}
	for _, test := range tests {
		hosts := &aws1{}
		test.config.HTTP = &http.Client{Transport: hosts}
		if test.want == "" {
			test.config.Region, test.config.Credentials = "eu-west-1", static{}
			if _, err := awscall.New(test.config); err == nil {
				t.Errorf("%v is taken", test.config.Endpoints)
			}
			continue
		}
		if _, err := newClient(t, test.config).Call(t.Context(), test.service, test.action, test.params); err != nil {
			var failed *awscall.Error
			if !errors.As(err, &failed) && len(hosts.seen) == 0 {
				t.Errorf("%s %s: %v", test.service, test.action, err)
				continue
			}
		}
		if diff := cmp.Diff([]string{test.want}, hosts.seen); diff != "" {
			t.Errorf("%s %s %v (-want +got):\n%s", test.service, test.action, test.params, diff)
		}
	}
}

func TestBucketElsewhere(t *testing.T) {
	hosts := &aws1{answer: func(r *http.Request) (int, http.Header, string) {
		if strings.Contains(r.URL.Host, "us-west-2") {
			return 200, nil, "object"
		}
		return 301, http.Header{"X-Amz-Bucket-Region": {"us-west-2"}, "Location": {"https://evil.example/"}}, "<Error><Code>PermanentRedirect</Code><Message>go</Message></Error>"
	}}
	c := newClient(t, awscall.Config{HTTP: &http.Client{Transport: hosts}, MaxAttempts: 1})
	got, err := c.Call(t.Context(), "s3", "getObject", map[string]any{"Bucket": "bucket", "Key": "k"})
	if err != nil || got["Body"] != "object" {
		t.Errorf("%v, %v", got, err)
	}
	want := []string{"GET https://bucket.s3.eu-west-1.amazonaws.com/k eu-west-1/s3", "GET https://bucket.s3.us-west-2.amazonaws.com/k us-west-2/s3"}
	if diff := cmp.Diff(want, hosts.seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	hosts = &aws1{answer: func(*http.Request) (int, http.Header, string) {
		return 301, http.Header{"X-Amz-Bucket-Region": {"evil.example/"}}, ""
	}}
	c = newClient(t, awscall.Config{HTTP: &http.Client{Transport: hosts}})
	if _, err := c.Call(t.Context(), "s3", "headBucket", map[string]any{"Bucket": "bucket"}); err == nil || len(hosts.seen) != 1 {
		t.Errorf("%v, %v", err, hosts.seen)
	}
}

func TestDiscovery(t *testing.T) {
	address := "cell.timestream.eu-west-1.amazonaws.com"
	hosts := &aws1{answer: func(r *http.Request) (int, http.Header, string) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeEndpoints") {
			return 200, nil, `{"Endpoints":[{"Address":"` + address + `","CachePeriodInMinutes":5}]}`
		}
		return 200, nil, `{}`
	}}
	c := newClient(t, awscall.Config{HTTP: &http.Client{Transport: hosts}})
	for range 2 {
		if _, err := c.Call(t.Context(), "timestream-write", "listDatabases", nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"POST https://ingest.timestream.eu-west-1.amazonaws.com/ eu-west-1/timestream", "POST https://cell.timestream.eu-west-1.amazonaws.com/ eu-west-1/timestream",
		"POST https://cell.timestream.eu-west-1.amazonaws.com/ eu-west-1/timestream"}
	if diff := cmp.Diff(want, hosts.seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	address = "evil.example"
	if _, err := newClient(t, awscall.Config{HTTP: &http.Client{Transport: hosts}}).Call(t.Context(), "timestream-query", "cancelQuery", map[string]any{"QueryId": "q"}); err == nil || !strings.Contains(err.Error(), "outside AWS") {
		t.Errorf("%v", err)
	}
}

// TestNames checks the names of services that a CDK app may use, and their names in the AWS CLI.
func TestNames(t *testing.T) {
	c := newClient(t, awscall.Config{})
	for _, test := range []struct{ service, action, want string }{
		{"SSM", "getParameter", "ssm GetParameter"},
		{"ssm", "GetParameterCommand", "ssm GetParameter"},
		{"ssm", "sendCommand", "ssm SendCommand"},
		{"ssm", "SendCommandCommand", "ssm SendCommand"},
		{"ecs", "executeCommand", "ecs ExecuteCommand"},
		{"IoT", "createCommand", "iot CreateCommand"},
		{"@aws-sdk/client-sfn", "startExecution", "stepfunctions StartExecution"},
		{"StepFunctions", "startExecution", "stepfunctions StartExecution"},
		{"CognitoIdentityServiceProvider", "adminGetUser", "cognito-idp AdminGetUser"},
		{"cognito-identity-provider", "adminGetUser", "cognito-idp AdminGetUser"},
		{"ELBv2", "describeLoadBalancers", "elbv2 DescribeLoadBalancers"},
		{"ELB", "describeLoadBalancers", "elb DescribeLoadBalancers"},
		{"ES", "describeElasticsearchDomain", "es DescribeElasticsearchDomain"},
		{"DMS", "describeConnections", "dms DescribeConnections"},
		{"CloudWatchLogs", "putRetentionPolicy", "logs PutRetentionPolicy"},
		{"cloudwatch-logs", "putRetentionPolicy", "logs PutRetentionPolicy"},
		{"CloudWatchEvents", "putRule", "events PutRule"},
		{"eventbridge", "putRule", "events PutRule"},
		{"CUR", "describeReportDefinitions", "cur DescribeReportDefinitions"},
		{"Route53", "changeResourceRecordSets", "route53 ChangeResourceRecordSets"},
		{"APIGatewayV2", "getApis", "apigatewayv2 GetApis"},
		{"Lambda", "Invoke", "lambda Invoke"},
		{"IotData", "publish", "iot-data Publish"},
		{"TranscribeService", "listVocabularies", "transcribe ListVocabularies"},
		{"LexRuntime", "postText", "lex-runtime PostText"},
		{"ForecastService", "listDatasets", "forecast ListDatasets"},
	} {
		service, action, err := c.Name(test.service, test.action)
		if got := service + " " + action; err != nil || got != test.want {
			t.Errorf("%s %s is %s, %v; want %s", test.service, test.action, got, err, test.want)
		}
	}
	if n := len(c.Services()); n < 400 {
		t.Errorf("%d services", n)
	}
	if actions, err := c.Actions("sts"); err != nil || !strings.Contains(strings.Join(actions, " "), "AssumeRole AssumeRoleWithSAML") {
		t.Errorf("%v, %v", actions, err)
	}
}

// A model newer than the bundle does not require a new release of the program.
func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	write := func(service, id, prefix string) {
		t.Helper()
		folder := filepath.Join(dir, service, "2026-01-01")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		text := `{"metadata":{"serviceId":"` + id + `","protocol":"json","jsonVersion":"1.1","targetPrefix":"X","endpointPrefix":"` + prefix + `","signatureVersion":"v4"},
			"operations":{"DoNew":{"http":{"method":"POST","requestUri":"/"},"input":{"shape":"In"}}},"shapes":{"In":{"type":"structure","members":{"A":{"shape":"N"}}},"N":{"type":"integer"}}}`
		if err := os.WriteFile(filepath.Join(folder, "service-2.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("brandnew", "Brand New", "brand")
	write("ssm", "SSM", "ssm")
	hosts := &aws1{}
	c := newClient(t, awscall.Config{Models: dir, HTTP: &http.Client{Transport: hosts}})
	for _, service := range []string{"brand-new", "BrandNew", "ssm"} {
		if _, err := c.Call(t.Context(), service, "doNew", map[string]any{"A": "1"}); err != nil {
			t.Errorf("%s: %v", service, err)
		}
	}
	want := []string{"POST https://brand.eu-west-1.amazonaws.com/ eu-west-1/brand", "POST https://brand.eu-west-1.amazonaws.com/ eu-west-1/brand", "POST https://ssm.eu-west-1.amazonaws.com/ eu-west-1/ssm"}
	if diff := cmp.Diff(want, hosts.seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := awscall.New(awscall.Config{Region: "a", Credentials: static{}, Models: filepath.Join(dir, "none")}); err == nil {
		t.Error("a folder that is not there is taken")
	}
}

func TestNew(t *testing.T) {
	for name, config := range map[string]awscall.Config{
		"no credentials":     {Region: "eu-west-1"},
		"no region":          {Credentials: static{}},
		"a region with more": {Credentials: static{}, Region: "a.b"},
		"a bad endpoint":     {Credentials: static{}, Region: "a", Endpoint: "localhost"},
		"a user":             {Credentials: static{}, Region: "a", Endpoint: "http://a@localhost"},
		"negative":           {Credentials: static{}, Region: "a", MaxAttempts: -1},
	} {
		if _, err := awscall.New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFlatten(t *testing.T) {
	got := awscall.Flatten(map[string]any{"A": map[string]any{"B": []any{int64(1), nil, []byte{0xff, 'a'}, map[string]any{}}, "T": noon}, "E": []any{}, "F": 1.5, "Y": true})
	want := map[string]any{"A.B.0": int64(1), "A.B.1": nil, "A.B.2": "\uFFFDa", "F": 1.5, "Y": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{ // like the decoders of browsers
		"a\xff\xffb": "a\uFFFD\uFFFDb", "\xc3b": "\uFFFDb", "\xe2\x82c": "\uFFFDc", "\xe2\x82": "\uFFFD", "\xf0\x9f\x98": "\uFFFD", "\xf0\x9f\x98\x80": "😀",
		"\xe0\x80\x80": "\uFFFD\uFFFD\uFFFD", "\xed\xa0\x80": "\uFFFD\uFFFD\uFFFD", "\xf0\x9f\xe2\x82\xac": "\uFFFD€", "\xef\xbf\xbd": "\uFFFD",
	} {
		if got := awscall.Flatten(map[string]any{"T": text, "B": []byte(text)}); got["T"] != want || got["B"] != want {
			t.Errorf("%q: %q, %q, want %q", text, got["T"], got["B"], want)
		}
	}
}

// A call can leave its region in three ways, and the check is called for each.
func TestWithRegionCheck(t *testing.T) {
	type m = map[string]any
	hosts := &aws1{answer: func(r *http.Request) (int, http.Header, string) {
		if strings.HasPrefix(r.URL.Host, "moved.s3.eu-west-1") {
			return 301, http.Header{"X-Amz-Bucket-Region": {"us-west-2"}}, ""
		}
		return 200, nil, ""
	}}
	c := newClient(t, awscall.Config{HTTP: &http.Client{Transport: hosts}, MaxAttempts: 1})
	denied := errors.New("not there")
	var asked []string
	for _, test := range []struct {
		service, action string
		params          m
		want            string // the region passed to the check
	}{
		{"sqs", "sendMessage", m{"QueueUrl": "https://sqs.us-west-2.amazonaws.com/1/q", "MessageBody": "x"}, "us-west-2"},
		{"sqs", "sendMessage", m{"QueueUrl": "https://sqs.eu-west-1.amazonaws.com/1/q", "MessageBody": "x"}, ""},
		{"s3", "getObject", m{"Bucket": "arn:aws:s3:us-west-2:123456789012:accesspoint/ap", "Key": "k"}, "us-west-2"},
		{"s3", "getObject", m{"Bucket": "arn:aws:s3:eu-west-1:123456789012:accesspoint/ap", "Key": "k"}, ""},
		{"s3", "getObject", m{"Bucket": "moved", "Key": "k"}, "us-west-2"},
		{"s3control", "getAccessPoint", m{"AccountId": "123456789012", "Name": "arn:aws:s3-outposts:us-west-2:123456789012:outpost/op-1/accesspoint/ap"}, "us-west-2"},
		{"iam", "getUser", nil, ""}, // a global service: signatures are always for us-east-1
		{"route53", "getHostedZone", m{"Id": "Z"}, ""},
	} {
		for _, answer := range []error{nil, denied} {
			asked, hosts.seen = nil, nil
			_, err := c.WithRegionCheck(func(region string) error {
				asked = append(asked, region)
				return answer
			}).Call(t.Context(), test.service, test.action, test.params)
			if got := strings.Join(asked, " "); answer != nil && got != test.want || answer == nil && !strings.HasPrefix(got, test.want) {
				t.Errorf("%s %v: asked about %q, want %q", test.service, test.params, got, test.want)
			}
			if want := answer != nil && test.want != ""; errors.Is(err, denied) != want {
				t.Errorf("%s %v: %v, answered %v", test.service, test.params, err, answer)
			}
			for _, sent := range hosts.seen {
				if answer != nil && strings.Contains(sent, "us-west-2") {
					t.Errorf("%s %v: sent %s", test.service, test.params, sent)
				}
			}
		}
	}
}

func TestServiceID(t *testing.T) {
	c := newClient(t, awscall.Config{})
	got := map[string]string{}
	for _, name := range []string{"s3", "DynamoDB", "elbv2", "apigateway", "@aws-sdk/client-sfn"} {
		id, err := c.ServiceID(name)
		if err != nil {
			t.Error(err)
		}
		got[name] = id
	}
	want := map[string]string{"s3": "S3", "DynamoDB": "DynamoDB", "elbv2": "Elastic Load Balancing v2", "apigateway": "API Gateway", "@aws-sdk/client-sfn": "SFN"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var unknown *awscall.UnknownServiceError
	if _, err := c.ServiceID("none"); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
}

// The error about an invalid endpoint names the service of that endpoint.
func TestEndpointRefused(t *testing.T) {
	for _, test := range []struct {
		config awscall.Config
		want   string
	}{
		{awscall.Config{Endpoint: "localhost:4566"}, "awscall: an endpoint is a URL"},
		{awscall.Config{Endpoints: map[string]string{"dynamodb": "ftp://localhost"}}, "awscall: dynamodb: an endpoint is a URL"},
	} {
		test.config.Region, test.config.Credentials = "eu-west-1", static{}
		if _, err := awscall.New(test.config); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
