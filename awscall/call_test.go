package awscall_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
)

func TestCall(t *testing.T) {
	type m = map[string]any
	type a = []any
	tests := []struct {
		name            string
		service, action string
		params          m
		reply           reply
		want            m
		asked           seen   // without headers
		header          string // of the request, as "Name: value"
	}{
		{
			name: "json", service: "SSM", action: "getParameter", params: m{"Name": "/a", "WithDecryption": "true"},
			reply: reply{body: `{"Parameter":{"Name":"/a","Value":"v","Version":3,"LastModifiedDate":1.5},"Other":1}`},
			want:  m{"Parameter": m{"Name": "/a", "Value": "v", "Version": int64(3), "LastModifiedDate": time.Unix(1, 5e8).UTC()}},
			asked: seen{Method: "POST", Path: "/", Body: `{"Name":"/a","WithDecryption":true}`, Service: "ssm", Region: "eu-west-1"}, header: "X-Amz-Target: AmazonSSM.GetParameter",
		},
		{
			name: "json, a union with bytes", service: "@aws-sdk/client-dynamodb", action: "PutItemCommand",
			params: m{"TableName": "t", "Item": m{"id": m{"S": "1"}, "n": m{"N": 3}, "b": m{"B": "é"}}},
			reply:  reply{body: `{"Attributes":{"b":{"B":"w6k="},"none":{"NULL":true}}}`},
			want:   m{"Attributes": m{"b": m{"B": []byte("é")}, "none": m{"NULL": true}}},
			asked:  seen{Method: "POST", Path: "/", Body: `{"TableName":"t","Item":{"b":{"B":"w6k="},"id":{"S":"1"},"n":{"N":"3"}}}`, Service: "dynamodb", Region: "eu-west-1"},
		},
		{
			name: "rest-json, stream as text", service: "lambda", action: "invoke", params: m{"FunctionName": "f/x", "Payload": `{"a":1}`, "InvocationType": "RequestResponse"},
			reply: reply{body: `{"b":2}`, header: map[string]string{"X-Amz-Executed-Version": "$LATEST"}},
			want:  m{"Payload": []byte(`{"b":2}`), "StatusCode": int64(200), "ExecutedVersion": "$LATEST"},
			asked: seen{Method: "POST", Path: "/2015-03-31/functions/f%2Fx/invocations", Body: `{"a":1}`, Service: "lambda", Region: "eu-west-1"}, header: "X-Amz-Invocation-Type: RequestResponse",
		},
		{
			name: "rest-json, a payload that is not parsed", service: "lambda", action: "invoke", params: m{"FunctionName": "f"},
			reply: reply{body: strings.Repeat("[", 600)},
			want:  m{"Payload": []byte(strings.Repeat("[", 600)), "StatusCode": int64(200)},
			asked: seen{Method: "POST", Path: "/2015-03-31/functions/f/invocations", Service: "lambda", Region: "eu-west-1"},
		},
		{
			name: "rest-json, no body", service: "lambda", action: "DeleteFunction", params: m{"FunctionName": "f", "Qualifier": "a b&c"},
			reply: reply{status: 204}, want: m{"StatusCode": int64(204)},
			asked: seen{Method: "DELETE", Path: "/2015-03-31/functions/f", Query: "Qualifier=a%20b%26c", Service: "lambda", Region: "eu-west-1"},
		},
		{
			name: "api gateway", service: "APIGateway", action: "getRestApi", params: m{"restApiId": "x"},
			reply: reply{body: `{"id":"x","createdDate":1}`}, want: m{"id": "x", "createdDate": time.Unix(1, 0).UTC()},
			asked: seen{Method: "GET", Path: "/restapis/x", Service: "apigateway", Region: "eu-west-1"}, header: "Accept: application/json",
		},
		{
			name: "query", service: "sts", action: "assumeRole", params: m{"RoleArn": "arn:r", "RoleSessionName": "s", "DurationSeconds": "900"},
			reply: reply{body: `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>k</AccessKeyId><Expiration>2026-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`},
			want:  m{"Credentials": m{"AccessKeyId": "k", "Expiration": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}},
			asked: seen{Method: "POST", Path: "/", Body: "Action=AssumeRole&DurationSeconds=900&RoleArn=arn%3Ar&RoleSessionName=s&Version=2011-06-15", Service: "sts", Region: "eu-west-1"},
		},
		{
			name: "ec2", service: "ec2", action: "describeRegions", params: m{"RegionNames": a{"a", "b"}},
			reply: reply{body: `<DescribeRegionsResponse><regionInfo><item><regionName>a</regionName></item></regionInfo></DescribeRegionsResponse>`},
			want:  m{"Regions": a{m{"RegionName": "a"}}},
			asked: seen{Method: "POST", Path: "/", Body: "Action=DescribeRegions&RegionName.1=a&RegionName.2=b&Version=2016-11-15", Service: "ec2", Region: "eu-west-1"},
		},
		{
			name: "route 53, prefix of an id", service: "Route53", action: "getHostedZone", params: m{"Id": "/hostedzone/Z1"},
			reply: reply{body: `<GetHostedZoneResponse><HostedZone><Id>/hostedzone/Z1</Id><Config><PrivateZone>false</PrivateZone></Config></HostedZone><VPCs/></GetHostedZoneResponse>`},
			want:  m{"HostedZone": m{"Id": "/hostedzone/Z1", "Config": m{"PrivateZone": false}}, "VPCs": a{}},
			asked: seen{Method: "GET", Path: "/2013-04-01/hostedzone/Z1", Service: "route53", Region: "eu-west-1"},
		},
		{
			name: "s3, a key", service: "s3", action: "putObject", params: m{"Bucket": "bucket", "Key": "folder/a b+é//x", "Body": "é", "Metadata": m{"k": "v"}},
			reply: reply{header: map[string]string{"ETag": `"e"`}}, want: m{"ETag": `"e"`},
			asked:  seen{Method: "PUT", Path: "/bucket/folder/a%20b%2B%C3%A9//x", Body: "é", Service: "s3", Region: "eu-west-1"},
			header: "X-Amz-Checksum-Crc32: DgSNPg==",
		},
		{
			name: "s3, an object is text", service: "s3", action: "getObject", params: m{"Bucket": "bucket", "Key": "k"},
			reply: reply{body: "<Error>this is content</Error>", header: map[string]string{"Content-Type": "a/b", "Expires": "Thu, 01 Jan 1970 00:00:01 GMT"}},
			want:  m{"Body": "<Error>this is content</Error>", "ContentLength": int64(30), "ContentType": "a/b", "Expires": time.Unix(1, 0).UTC()},
			asked: seen{Method: "GET", Path: "/bucket/k", Service: "s3", Region: "eu-west-1"},
		},
		{
			name: "s3, an empty object is text", service: "s3", action: "getObject", params: m{"Bucket": "bucket", "Key": "k"},
			want:  m{"Body": "", "ContentLength": int64(0)},
			asked: seen{Method: "GET", Path: "/bucket/k", Service: "s3", Region: "eu-west-1"},
		},
		{
			name: "s3, location of a bucket", service: "s3", action: "getBucketLocation", params: m{"Bucket": "bucket"},
			reply: reply{body: `<?xml version="1.0" encoding="UTF-8"?><LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/">eu-west-1</LocationConstraint>`},
			want:  m{"LocationConstraint": "eu-west-1"},
			asked: seen{Method: "GET", Path: "/bucket", Query: "location=", Service: "s3", Region: "eu-west-1"},
		},
		{
			name: "s3, bucket in the client's region", service: "s3", action: "createBucket", params: m{"Bucket": "bucket"},
			reply: reply{header: map[string]string{"Location": "/bucket"}}, want: m{"Location": "/bucket"},
			asked: seen{Method: "PUT", Path: "/bucket", Service: "s3", Region: "eu-west-1",
				Body: `<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>`},
		},
		{
			name: "s3, checksum required", service: "s3", action: "putBucketVersioning", params: m{"Bucket": "bucket", "ChecksumAlgorithm": "SHA256", "VersioningConfiguration": m{"Status": "Enabled"}},
			want: m{}, header: "X-Amz-Sdk-Checksum-Algorithm: SHA256",
			asked: seen{Method: "PUT", Path: "/bucket", Query: "versioning=", Service: "s3", Region: "eu-west-1",
				Body: `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>`},
		},
		{
			name: "glacier", service: "glacier", action: "uploadArchive", params: m{"vaultName": "v", "body": "x"}, want: m{},
			asked:  seen{Method: "POST", Path: "/-/vaults/v/archives", Body: "x", Service: "glacier", Region: "eu-west-1"},
			header: "X-Amz-Sha256-Tree-Hash: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
		},
		{
			name: "unsigned operation", service: "cognito-identity", action: "getId", params: m{"IdentityPoolId": "p"}, reply: reply{body: `{"IdentityId":"i"}`}, want: m{"IdentityId": "i"},
			asked: seen{Method: "POST", Path: "/", Body: `{"IdentityPoolId":"p"}`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t, test.reply)
			got, err := newClient(t, awscall.Config{Endpoint: f.url}).Call(t.Context(), test.service, test.action, test.params)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			asked := f.asked()
			if len(asked) != 1 {
				t.Fatalf("%d requests", len(asked))
			}
			header := asked[0].Header
			asked[0].Header = nil
			if diff := cmp.Diff(test.asked, asked[0]); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if name, value, ok := strings.Cut(test.header, ": "); ok && header.Get(name) != value {
				t.Errorf("%s is %q, want %q", name, header.Get(name), value)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name            string
		service, action string
		params          map[string]any
		reply           reply
		want            awscall.Error
	}{
		{name: "json", service: "ssm", action: "GetParameter", params: map[string]any{"Name": "a"},
			reply: reply{status: 400, header: map[string]string{"X-Amzn-RequestId": "r-1"}, body: `{"__type":"com.amazonaws.ssm#ParameterNotFound","message":"no"}`},
			want:  awscall.Error{Service: "ssm", Action: "GetParameter", Code: "ParameterNotFound", Message: "no", Status: 400, RequestID: "r-1"}},
		{name: "rest-json, by header", service: "lambda", action: "GetFunction", params: map[string]any{"FunctionName": "f"},
			reply: reply{status: 404, header: map[string]string{"X-Amzn-ErrorType": "ResourceNotFoundException:http://x/"}, body: `{"Message":"gone","Type":"User"}`},
			want:  awscall.Error{Service: "lambda", Action: "GetFunction", Code: "ResourceNotFoundException", Message: "gone", Status: 404}},
		{name: "query, whose code is not the name", service: "sns", action: "GetTopicAttributes", params: map[string]any{"TopicArn": "t"},
			reply: reply{status: 404, body: `<ErrorResponse><Error><Type>Sender</Type><Code>NotFound</Code><Message>no topic</Message></Error><RequestId>r</RequestId></ErrorResponse>`},
			want:  awscall.Error{Service: "sns", Action: "GetTopicAttributes", Code: "NotFoundException", WireCode: "NotFound", Message: "no topic", Status: 404}},
		{name: "query-compatible error", service: "sqs", action: "GetQueueUrl", params: map[string]any{"QueueName": "q"},
			reply: reply{status: 400, header: map[string]string{"X-Amzn-Query-Error": "AWS.SimpleQueueService.NonExistentQueue;Sender"}, body: `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no queue"}`},
			want:  awscall.Error{Service: "sqs", Action: "GetQueueUrl", Code: "QueueDoesNotExist", Message: "no queue", Status: 400}},
		{name: "ec2", service: "ec2", action: "DeleteVpc", params: map[string]any{"VpcId": "v"},
			reply: reply{status: 400, body: `<Response><Errors><Error><Code>InvalidVpcID.NotFound</Code><Message>no vpc</Message></Error></Errors><RequestID>r</RequestID></Response>`},
			want:  awscall.Error{Service: "ec2", Action: "DeleteVpc", Code: "InvalidVpcID.NotFound", Message: "no vpc", Status: 400}},
		{name: "s3", service: "s3", action: "GetObject", params: map[string]any{"Bucket": "bucket", "Key": "k"},
			reply: reply{status: 404, header: map[string]string{"X-Amz-Request-Id": "r"}, body: `<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>no key</Message></Error>`},
			want:  awscall.Error{Service: "s3", Action: "GetObject", Code: "NoSuchKey", Message: "no key", Status: 404, RequestID: "r"}},
		{name: "s3, no body", service: "s3", action: "HeadObject", params: map[string]any{"Bucket": "bucket", "Key": "k"},
			reply: reply{status: 404}, want: awscall.Error{Service: "s3", Action: "HeadObject", Code: "NotFound", Message: "404 Not Found", Status: 404}},
		{name: "response not from AWS", service: "ssm", action: "GetParameter", params: map[string]any{"Name": "a"},
			reply: reply{status: 403, body: "<html>a proxy</html>"}, want: awscall.Error{Service: "ssm", Action: "GetParameter", Code: "UnknownError", Message: "403 Forbidden", Status: 403}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t, test.reply)
			_, err := newClient(t, awscall.Config{Endpoint: f.url}).Call(t.Context(), test.service, test.action, test.params)
			var got *awscall.Error
			if !errors.As(err, &got) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(f.asked()); n != 1 {
				t.Errorf("%d requests for an error that stays", n)
			}
		})
	}
}

// tokenForm matches an idempotency token that every service accepts: Secrets Manager requires 32 to 64 characters.
var tokenForm = regexp.MustCompile(`"ClientRequestToken":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`)

func TestRetries(t *testing.T) {
	throttled := reply{status: 400, body: `{"__type":"ThrottlingException","message":"slow"}`}
	clock := &still{}
	f := newFake(t, throttled, reply{status: 500}, reply{body: `{}`})
	if _, err := newClient(t, awscall.Config{Endpoint: f.url}.WithClock(clock)).Call(t.Context(), "ssm", "PutParameter", map[string]any{"Name": "a"}); err != nil {
		t.Error(err)
	}
	if n := len(f.asked()); n != 3 || clock.slept != 2 {
		t.Errorf("%d requests, %d waits", n, clock.slept)
	}
	f = newFake(t, throttled, throttled)
	_, err := newClient(t, awscall.Config{Endpoint: f.url, MaxAttempts: 2}).Call(t.Context(), "ssm", "PutParameter", map[string]any{"Name": "a"})
	var failed *awscall.Error
	if !errors.As(err, &failed) || failed.Code != "ThrottlingException" || len(f.asked()) != 2 {
		t.Errorf("%d requests, %v", len(f.asked()), err)
	}
	// The idempotency token of a retry stays the same.
	f = newFake(t, throttled, reply{body: `{}`})
	if _, err := newClient(t, awscall.Config{Endpoint: f.url}).Call(t.Context(), "secretsmanager", "createSecret", map[string]any{"Name": "a"}); err != nil {
		t.Error(err)
	}
	if asked := f.asked(); len(asked) != 2 || asked[0].Body != asked[1].Body || !tokenForm.MatchString(asked[0].Body) {
		t.Errorf("%v", asked)
	}
}

// One client can make many calls at once.
func TestConcurrent(t *testing.T) {
	f := newFake(t)
	c := newClient(t, awscall.Config{Endpoint: f.url})
	var group sync.WaitGroup
	for i := range 24 {
		service := []string{"ssm", "lambda", "sts", "s3"}[i%4]
		action := []string{"listCommands", "listFunctions", "getCallerIdentity", "listBuckets"}[i%4]
		group.Go(func() {
			var failed *awscall.Error
			if _, err := c.WithRegion([]string{"eu-west-1", "us-east-1"}[i%2]).Call(t.Context(), service, action, nil); err != nil && errors.As(err, &failed) {
				t.Errorf("%s: %v", service, err)
			}
		})
	}
	group.Wait()
	if n := len(f.asked()); n != 24 {
		t.Errorf("%d requests", n)
	}
}

// A copy that fails late has already answered 200; it is retried.
func TestErrorInSuccessfulResponse(t *testing.T) {
	f := newFake(t, reply{body: `<?xml version="1.0"?><Error><Code>InternalError</Code><Message>late</Message></Error>`},
		reply{body: `<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>`})
	got, err := newClient(t, awscall.Config{Endpoint: f.url}).Call(t.Context(), "s3", "copyObject", map[string]any{"Bucket": "b1b", "Key": "k", "CopySource": "a/b"})
	if err != nil || cmp.Diff(map[string]any{"CopyObjectResult": map[string]any{"ETag": `"e"`}}, got) != "" || len(f.asked()) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestClockSkew(t *testing.T) {
	f := newFake(t, reply{status: 403, header: map[string]string{"Date": noon.Add(time.Hour).Format(http.TimeFormat)}, body: `{"__type":"InvalidSignatureException","message":"Signature expired"}`}, reply{body: `{}`})
	_, err := newClient(t, awscall.Config{Endpoint: f.url}).Call(t.Context(), "ssm", "PutParameter", map[string]any{"Name": "a"})
	asked := f.asked()
	if err != nil || len(asked) != 2 || asked[1].Header.Get("X-Amz-Date") != "20261121T130000Z" {
		t.Errorf("%v, %d requests", err, len(asked))
	}
	f.refused = nil // the client signs an hour ahead of the fake's clock
}

func TestRefusals(t *testing.T) {
	c := newClient(t, awscall.Config{Endpoint: "http://127.0.0.1:1", Strict: true})
	for _, test := range []struct {
		service, action string
		params          map[string]any
		want            string
	}{
		{"ssn", "getParameter", nil, `there is no AWS service "ssn": did you mean ssm?`},
		{"ssm", "getParametr", nil, `the AWS service ssm has no action "getParametr": did you mean GetParameter?`},
		{"sdb", "ListDomains", nil, "sdb ListDomains is not supported: the service takes only version 2 of AWS signatures"},
		{"codecatalyst", "ListSpaces", nil, "codecatalyst ListSpaces is not supported: the service takes only bearer tokens"},
		{"lambda", "InvokeWithResponseStream", nil, "lambda InvokeWithResponseStream is not supported: it works by an event stream, which one answer cannot hold"},
		{"kinesis", "subscribeToShard", nil, "kinesis SubscribeToShard is not supported: it works by an event stream, which one answer cannot hold"},
		{"s3", "getObject", map[string]any{"Bucket": "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap", "Key": "k"}, ""},
		{"lambda", "getFunction", nil, "lambda GetFunction: parameter FunctionName: it is part of the request's address and has to be given"},
		{"s3", "deleteBucket", nil, "s3 DeleteBucket: parameter Bucket: it is part of the request's address and has to be given"},
		{"lambda", "getFunction", map[string]any{"FunctionName": ".."}, "lambda GetFunction: parameter FunctionName: it is part of the request's path, so no part of it may be . or .."},
		{"ssm", "getParameter", map[string]any{"Nam": "secret"}, "ssm GetParameter: parameter Nam: there is no such parameter: did you mean Name?"},
		{"ssm", "getParameter", map[string]any{"Name": []any{"secret"}}, "ssm GetParameter: parameter Name: it has to be a string, and is a list"},
		{"ssm", "addTagsToResource", map[string]any{"Tags": []any{map[string]any{"Key": "a"}, map[string]any{"Key": map[string]any{}}}}, "ssm AddTagsToResource: parameter Tags[1].Key: it has to be a string, and is an object"},
		{"ssm", "describeParameters", map[string]any{"MaxResults": "secret"}, "ssm DescribeParameters: parameter MaxResults: it has to be a whole number, and is text that does not read so or does not fit 32 bits"},
		{"s3control", "getAccessPoint", map[string]any{"AccountId": "evil.example/", "Name": "n"}, ""},
	} {
		_, err := c.Call(t.Context(), test.service, test.action, test.params)
		if err == nil || test.want != "" && err.Error() != test.want {
			t.Errorf("%s %s: %v\nwant %s", test.service, test.action, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s %s: the error quotes a value: %v", test.service, test.action, err)
		}
	}
	if _, err := c.WithRegion("evil.example/").Call(t.Context(), "ssm", "getParameter", nil); err == nil || !strings.Contains(err.Error(), "a region has letters") {
		t.Errorf("region: %v", err)
	}
}

func TestBounds(t *testing.T) {
	f := newFake(t, reply{body: `{"Parameter":{"Value":"` + strings.Repeat("x", 2000) + `"}}`}, reply{body: `{"ScalableTargets":` + strings.Repeat("[", 100000)})
	c := newClient(t, awscall.Config{Endpoint: f.url, MaxResponse: 1000})
	_, err := c.Call(t.Context(), "ssm", "getParameter", map[string]any{"Name": "a"})
	var large *awscall.ResponseTooLargeError
	if !errors.As(err, &large) || large.Limit != 1000 {
		t.Errorf("too large: %v", err)
	}
	_, err = newClient(t, awscall.Config{Endpoint: f.url}).Call(t.Context(), "ssm", "getParameter", map[string]any{"Name": "a"})
	if err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("too deep: %v", err)
	}
}

// A service that rejects a signature may quote all the signed text, including the session token.
func TestSecretsAreRedacted(t *testing.T) {
	const token = "FwoGZXIvYXdzEXAMPLE+/="
	echo := reply{status: 403, body: `{"__type":"SignatureDoesNotMatch","message":"The canonical string should have been x-amz-security-token:` + token + ` ` + secret + `"}`}
	f := newFake(t, echo)
	_, err := newClient(t, awscall.Config{Endpoint: f.url, Credentials: static{token}}).Call(t.Context(), "ssm", "getParameter", map[string]any{"Name": "a"})
	f.refused = nil // the fake does not know the token
	if err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "*****") {
		t.Errorf("%v", err)
	}
	_, err = newClient(t, awscall.Config{Endpoint: "http://127.0.0.1:1", MaxAttempts: 1}).Call(t.Context(), "lambda", "listFunctions", map[string]any{"Marker": "secret"})
	var sending *awscall.SendError
	if !errors.As(err, &sending) || strings.Contains(err.Error(), "Marker") {
		t.Errorf("%v", err)
	}
}

// An object is compared with the checksum in the response, if that covers the whole object.
func TestObjectIsVerified(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		header map[string]string
		fails  string
	}{
		{"right", 200, map[string]string{"X-Amz-Checksum-Crc32": "qK2r7A=="}, ""},
		{"right, another", 200, map[string]string{"X-Amz-Checksum-Sha256": "KVjUFtCKpaRy17UJA2y36v1UKt2EUn5moUXqZMtM3HU="}, ""},
		{"wrong", 200, map[string]string{"X-Amz-Checksum-Crc32": "AAAAAA=="}, "the CRC32 of the object differs from the one that S3 reports"},
		{"checksum of the parts", 200, map[string]string{"X-Amz-Checksum-Crc32": "AAAAAA==-2"}, ""},
		{"checksum of a range", 206, map[string]string{"X-Amz-Checksum-Crc32": "AAAAAA=="}, ""},
		{"unknown algorithm", 200, map[string]string{"X-Amz-Checksum-New": "AAAAAA=="}, ""},
	} {
		f := newFake(t, reply{status: test.status, header: test.header, body: "object"})
		out, err := newClient(t, awscall.Config{Endpoint: f.url}).Call(t.Context(), "s3", "getObject", map[string]any{"Bucket": "bucket", "Key": "k"})
		var sending *awscall.SendError
		if test.fails == "" && (err != nil || out["Body"] != "object") || test.fails != "" && (!errors.As(err, &sending) || !strings.Contains(err.Error(), test.fails)) {
			t.Errorf("%s: %v, %v", test.name, out, err)
		}
		if asked := f.asked(); len(asked) != 1 || asked[0].Header.Get("X-Amz-Checksum-Mode") != "ENABLED" {
			t.Errorf("%s: %v", test.name, asked)
		}
	}
}
