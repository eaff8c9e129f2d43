package lambda_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// services implements services with four protocols, and records their calls.
type services struct {
	url string

	mu    sync.Mutex
	asked []string
}

func newServices(t *testing.T) *services {
	s := &services{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	parts := strings.Split(strings.Split(scope, ",")[0]+"////", "/")
	service := parts[2] + "/" + parts[3]
	parameters := r.URL.Query()
	parameters.Del("x-id")                                           // added by the installed SDK
	uri := cmp.Or(strings.TrimSuffix(r.URL.EscapedPath(), "/"), "/") // not all clients add it after a bucket
	if len(parameters) > 0 {
		uri += "?" + strings.TrimSuffix(strings.ReplaceAll(parameters.Encode()+"&", "=&", "&"), "&")
	}
	if form, err := url.ParseQuery(string(body)); err == nil && form.Has("Action") {
		body = []byte(form.Encode())
	}
	asked := strings.Join(strings.Fields(fmt.Sprint(service, " ", r.Method, " ", uri, " ", r.Header.Get("X-Amz-Target"), " ", string(body))), " ")
	s.mu.Lock()
	s.asked = append(s.asked, asked)
	s.mu.Unlock()
	answer := func(status int, text string) {
		w.Header().Set("X-Amzn-Requestid", "R-1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client has the answer or fails
	}
	query := r.URL.Query()
	switch {
	case strings.HasSuffix(service, "/s3") && r.Method == http.MethodHead:
		answer(http.StatusNotFound, "")
	case strings.HasSuffix(service, "/s3") && query.Has("list-type") && query.Get("continuation-token") == "":
		answer(http.StatusOK, `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken><Contents><Key>a</Key><Size>3</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents></ListBucketResult>`)
	case strings.HasSuffix(service, "/s3") && query.Has("list-type"):
		answer(http.StatusOK, `<ListBucketResult><IsTruncated>false</IsTruncated><CommonPrefixes><Prefix>b</Prefix></CommonPrefixes></ListBucketResult>`)
	case strings.HasSuffix(service, "/s3") && query.Has("versions") && query.Get("key-marker") == "":
		answer(http.StatusOK, `<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker><NextVersionIdMarker>v1</NextVersionIdMarker><Version><Key>a</Key><VersionId>v1</VersionId><Size>3</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Version></ListVersionsResult>`)
	case strings.HasSuffix(service, "/s3") && query.Has("versions"):
		answer(http.StatusOK, `<ListVersionsResult><IsTruncated>false</IsTruncated><DeleteMarker><Key>b</Key></DeleteMarker></ListVersionsResult>`)
	case strings.HasSuffix(service, "/s3") && r.Method == http.MethodGet && r.URL.Path == "/bucket/key":
		answer(http.StatusOK, "ä\nb")
	case strings.HasSuffix(service, "/s3") && r.Method == http.MethodPut:
		answer(http.StatusOK, "")
	case strings.HasSuffix(service, "/s3"):
		answer(http.StatusNotFound, `<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>`)
	case strings.HasSuffix(service, "/ec2"):
		answer(http.StatusBadRequest, `<Response><Errors><Error><Code>InvalidPermission.NotFound</Code><Message>The specified rule does not exist</Message></Error></Errors><RequestID>R-1</RequestID></Response>`)
	case strings.HasSuffix(service, "/iam"):
		answer(http.StatusOK, `<CreateOpenIDConnectProviderResponse><CreateOpenIDConnectProviderResult><OpenIDConnectProviderArn>arn:oidc</OpenIDConnectProviderArn></CreateOpenIDConnectProviderResult></CreateOpenIDConnectProviderResponse>`)
	case strings.HasSuffix(service, "/route53"):
		answer(http.StatusOK, `<ListResourceRecordSetsResponse><ResourceRecordSets><ResourceRecordSet><Name>x.</Name><Type>A</Type><TTL>60</TTL></ResourceRecordSet></ResourceRecordSets><IsTruncated>false</IsTruncated><MaxItems>1</MaxItems></ListResourceRecordSetsResponse>`)
	case strings.HasSuffix(service, "/dynamodb"):
		answer(http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}`)
	case strings.HasSuffix(service, "/lambda"):
		answer(http.StatusOK, `{"ok":true}`)
	default:
		answer(http.StatusOK, `{}`)
	}
}

// calls returns the calls since the last time.
func (s *services) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// bundle is the beginning of an esbuild module, the format of the CDK's own handlers.
const bundle = `
const copy = (to, from) => { for (const name of Object.getOwnPropertyNames(from)) if (!(name in to)) Object.defineProperty(to, name, {get: () => from[name]}); return to }
const toESM = (mod) => copy(Object.create(Object.getPrototypeOf(mod)), mod)
const s3 = toESM(require('@aws-sdk/client-s3')), ec2 = require('@aws-sdk/client-ec2'), ddb = require('@aws-sdk/client-dynamodb')
`

// TestBuiltInSDK checks that a handler that calls AWS needs no package, and gets the same results as with AWS's own.
func TestBuiltInSDK(t *testing.T) {
	require.Tool(t, "node")
	t.Run("built in", func(t *testing.T) { testSDK(t, "") })
	t.Run("installed", func(t *testing.T) { testSDK(t, filepath.Join(require.CDK(t), "node_modules")) })
}

// testSDK calls services with packages from a directory, or with the built-in ones.
func testSDK(t *testing.T, modules string) {
	w, s := newWorld(t, func(c *lambda.Config) {
		if modules != "" {
			c.Modules = []string{modules}
		}
	}), newServices(t)
	code := `
const {IAM} = require('@aws-sdk/client-iam'), r53 = require('@aws-sdk/client-route-53'), {LambdaClient, InvokeCommand} = require('@aws-sdk/client-lambda')
const {Readable} = require('stream')
exports.handler = async () => {
  const config = {endpoint: '` + s.url + `', region: 'eu-west-1', forcePathStyle: true, requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED'}
  const client = new s3.S3Client(config), out = {}
  const pages = []
  for await (const page of s3.paginateListObjectsV2({client}, {Bucket: 'bucket'})) pages.push([page.Contents && page.Contents.map((c) => [c.Key, c.Size, c.LastModified]), page.CommonPrefixes])
  out.pages = pages
  const got = await client.send(new s3.GetObjectCommand({Bucket: 'bucket', Key: 'key'}))
  out.body = await got.Body.transformToString()
  out.bytes = [...await (await new s3.S3(config).getObject({Bucket: 'bucket', Key: 'key'})).Body.transformToByteArray()]
  await client.send(new s3.PutObjectCommand({Bucket: 'bucket', Key: 'k', Body: Buffer.from('xy'), Metadata: {a: 'b'}}))
  out.none = await client.send(new s3.GetBucketTaggingCommand({Bucket: 'none'})).catch((e) => [e.name, e.message, e.Code, e instanceof s3.NoSuchKey, e instanceof s3.S3ServiceException, e.$fault, e.$metadata.httpStatusCode])
  out.head = await client.send(new s3.HeadObjectCommand({Bucket: 'bucket', Key: 'none'})).catch((e) => [e.name, e instanceof s3.NotFound])
  out.rule = await new ec2.EC2(config).revokeSecurityGroupIngress({GroupId: 'sg-1', IpPermissions: [{IpProtocol: '-1'}]}).catch((e) => [e.name, e.Code])
  out.oidc = (await new IAM(config).createOpenIDConnectProvider({Url: 'https://x', ClientIDList: ['a'], ThumbprintList: ['b']})).OpenIDConnectProviderArn
  out.records = (await new r53.Route53(config).listResourceRecordSets({HostedZoneId: '/hostedzone/Z1', MaxItems: 1})).ResourceRecordSets.map((r) => [r.Name, r.Type, r.TTL])
  out.table = await new ddb.DynamoDB(config).describeTable({TableName: 't'}).catch((e) => [e instanceof ddb.ResourceNotFoundException, e.name])
  out.payload = (await new LambdaClient(config).send(new InvokeCommand({FunctionName: 'f', Payload: Buffer.from('{}')}))).Payload.transformToString()
  out.callback = await new Promise((resolve) => new s3.S3(config).getObject({Bucket: 'bucket', Key: 'key'}, (e, o) => { resolve(Boolean(o.Body)); o.Body.resume() }))
  return out
}
`
	w.create("caller", node("index.handler"), registry.Code{Zip: pack(t, map[string]string{"index.js": bundle + code})})
	want := `{"pages":[[[["a",3,"2026-01-02T03:04:05.000Z"]],null],[null,[{"Prefix":"b"}]]],` +
		`"body":"ä\nb","bytes":[195,164,10,98],` +
		`"none":["NoSuchBucket","The specified bucket does not exist","NoSuchBucket",false,true,"client",404],"head":["NotFound",true],` +
		`"rule":["InvalidPermission.NotFound","InvalidPermission.NotFound"],"oidc":"arn:oidc","records":[["x.","A",60]],` +
		`"table":[true,"ResourceNotFoundException"],"payload":"{\"ok\":true}","callback":true}`
	if diff := gocmp.Diff(want, w.invoke("caller", "{}")); diff != "" {
		t.Errorf("%s\n%s", diff, strings.Join(w.logged(), "\n"))
	}
	asked := []string{
		"eu-west-1/s3 GET /bucket?list-type=2",
		"eu-west-1/s3 GET /bucket?continuation-token=n&list-type=2",
		"eu-west-1/s3 GET /bucket/key",
		"eu-west-1/s3 GET /bucket/key",
		"eu-west-1/s3 PUT /bucket/k xy",
		"eu-west-1/s3 GET /none?tagging",
		"eu-west-1/s3 HEAD /bucket/none",
		"eu-west-1/ec2 POST / Action=RevokeSecurityGroupIngress&GroupId=sg-1&IpPermissions.1.IpProtocol=-1&Version=2016-11-15",
		"eu-west-1/iam POST / Action=CreateOpenIDConnectProvider&ClientIDList.member.1=a&ThumbprintList.member.1=b&Url=https%3A%2F%2Fx&Version=2010-05-08",
		"eu-west-1/route53 GET /2013-04-01/hostedzone/Z1/rrset?maxitems=1",
		`eu-west-1/dynamodb POST / DynamoDB_20120810.DescribeTable {"TableName":"t"}`,
		"eu-west-1/lambda POST /2015-03-31/functions/f/invocations {}",
		"eu-west-1/s3 GET /bucket/key",
	}
	if diff := gocmp.Diff(asked, s.calls()); diff != "" {
		t.Errorf("calls: %s", diff)
	}
}

// TestBuiltInSDKReportsUnsupportedFeatures checks that the built-in SDK reports unsupported features, with a remedy.
func TestBuiltInSDKReportsUnsupportedFeatures(t *testing.T) {
	require.Tool(t, "node")
	w, s := newWorld(t, nil), newServices(t)
	code := `
const {Readable} = require('stream')
exports.handler = async () => {
  const config = {endpoint: '` + s.url + `', region: 'eu-west-1'}
  const client = new s3.S3Client(config), out = {}
  for (const [name, use] of Object.entries({
    enumeration: () => s3.StorageClass.GLACIER, stack: () => client.middlewareStack.add(), action: () => client.send(new s3.GetNothingCommand({})),
    waiter: () => s3.waitUntilNothing({client, maxWaitTime: 1}, {}),
    service: () => new (require('@aws-sdk/client-nothing').NothingClient)(config).send(new s3.GetObjectCommand({})),
    region: () => new s3.S3Client({...config, region: 'a.b/c'}).send(new s3.GetObjectCommand({Bucket: 'b', Key: 'k'})),
    parameter: () => client.send(new s3.GetObjectCommand({Bucket: 'b', Key: ''})),
    stream: () => client.send(new s3.PutObjectCommand({Bucket: 'bucket', Key: 'k', Body: Readable.from([Buffer.from('x'), Buffer.from('y')])})),
    instances: () => [client instanceof s3.S3Client, new s3.S3(config) instanceof s3.S3, new s3.NoSuchKey({message: 'm', $metadata: {}}) instanceof s3.NoSuchKey].join(),
  })) out[name] = await (async () => use())().then((v) => typeof v === 'string' ? v : 'done', (e) => e.message)
  return out
}
`
	w.create("caller", node("index.handler"), registry.Code{Zip: pack(t, map[string]string{"index.js": bundle + code})})
	want := `{"enumeration":"Pintle's built-in @aws-sdk/client-s3 has no StorageClass.GLACIER: install the package, e.g. npm install @aws-sdk/client-s3",` +
		`"stack":"Pintle's built-in @aws-sdk/client-s3 has no middlewareStack: install the package, e.g. npm install @aws-sdk/client-s3",` +
		`"action":"the AWS service s3 has no action \"GetNothing\"",` +
		`"waiter":"Pintle's built-in @aws-sdk/client-s3 has no waitUntilNothing: install the package, e.g. npm install @aws-sdk/client-s3",` +
		`"service":"there is no AWS service \"@aws-sdk/client-nothing\"",` +
		`"region":"awscall: a region has letters, digits and hyphens only, like eu-west-1",` +
		`"parameter":"s3 GetObject: parameter Key: it is part of the request's address and has to be given","stream":"done","instances":"true,true,true"}`
	if diff := gocmp.Diff(want, w.invoke("caller", "{}")); diff != "" {
		t.Errorf("%s\n%s", diff, strings.Join(w.logged(), "\n"))
	}
	if diff := gocmp.Diff([]string{"eu-west-1/s3 PUT /bucket/k xy"}, s.calls()); diff != "" {
		t.Errorf("calls: %s", diff)
	}
}

// TestBuiltInSDKOfModules checks that modules can import the built-in SDK by name, as a namespace, and dynamically.
func TestBuiltInSDKOfModules(t *testing.T) {
	require.Tool(t, "node")
	w, s := newWorld(t, nil), newServices(t)
	code := `
import {S3Client as Client, GetObjectCommand, NoSuchBucket} from '@aws-sdk/client-s3'
import * as ec2 from '@aws-sdk/client-ec2'
import {fromEnv} from '@aws-sdk/credential-providers'
export const handler = async () => {
  const {LambdaClient, InvokeCommand} = await import('@aws-sdk/client-lambda')
  const config = {endpoint: '` + s.url + `', region: 'eu-west-1', credentials: fromEnv()}
  const got = await new Client(config).send(new GetObjectCommand({Bucket: 'bucket', Key: 'key'}))
  const none = await new Client(config).send(new GetObjectCommand({Bucket: 'none', Key: 'key'})).catch((e) => e instanceof NoSuchBucket)
  const rule = await new ec2.EC2Client(config).send(new ec2.RevokeSecurityGroupEgressCommand({GroupId: 'sg-1'})).catch((e) => e.name)
  const invoked = await new LambdaClient(config).send(new InvokeCommand({FunctionName: 'f'}))
  return [await got.Body.transformToString(), none, rule, invoked.StatusCode]
}
`
	w.create("caller", node("index.handler"), registry.Code{Zip: pack(t, map[string]string{"index.mjs": code})})
	if got := w.invoke("caller", "{}"); got != `["ä\nb",true,"InvalidPermission.NotFound",200]` {
		t.Errorf("%s\n%s", got, strings.Join(w.logged(), "\n"))
	}
}

// TestBuiltInBoto3 checks that Python functions have boto3 even if the interpreter does not.
func TestBuiltInBoto3(t *testing.T) {
	interpreter := require.Tool(t, "python3")
	venv := filepath.Join(t.TempDir(), "venv") // has only the standard library
	if out, err := exec.Command(interpreter, "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", filepath.Join(venv, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	w, s := newWorld(t, nil), newServices(t)
	code := `
import boto3, io, json
from botocore.config import Config
from botocore.exceptions import ClientError

def told(f):
    try:
        f()
    except Exception as error:
        return [type(error).__name__, str(error)]

def handler(event, context):
    settings = dict(endpoint_url="` + s.url + `", region_name="eu-west-1", config=Config(retries={"max_attempts": 1}))
    s3 = boto3.client("s3", **settings)
    out = {}
    pages = s3.get_paginator("list_object_versions").paginate(Bucket="bucket")
    out["pages"] = [[[v["Key"], v["Size"], v["LastModified"].isoformat()] for v in page.get("Versions", [])] for page in pages]
    out["body"] = s3.get_object(Bucket="bucket", Key="key")["Body"].read().decode()
    out["lines"] = [line.decode() for line in s3.get_object(Bucket="bucket", Key="key")["Body"].iter_lines()]
    s3.put_object(Bucket="bucket", Key="k", Body=b"xy")
    s3.upload_fileobj(io.BytesIO(b"z"), "bucket", "k")
    try:
        s3.get_bucket_tagging(Bucket="none")
    except s3.exceptions.NoSuchBucket as error:
        out["none"] = [str(error), error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"], isinstance(error, ClientError)]
    try:
        s3.head_object(Bucket="bucket", Key="none")
    except ClientError as error:
        out["head"] = error.response["Error"]["Code"]
    out["payload"] = json.loads(boto3.Session().client("lambda", **settings).invoke(FunctionName="f", Payload="{}")["Payload"].read())
    ec2 = boto3.client("ec2", **settings)
    out["rule"] = told(lambda: ec2.revoke_security_group_ingress(GroupId="sg-1", IpPermissions=[]))
    out["action"] = told(s3.get_nothing)
    out["resource"] = told(lambda: boto3.resource("s3"))
    out["waiter"] = told(lambda: s3.get_waiter("nothing"))
    return out
`
	w.create("caller", python("index.handler"), inline(code))
	want := `{"pages": [[["a", 3, "2026-01-02T03:04:05+00:00"]], []], "body": "\u00e4\nb", "lines": ["\u00e4", "b"], ` +
		`"none": ["An error occurred (NoSuchBucket) when calling the GetBucketTagging operation: The specified bucket does not exist", "NoSuchBucket", 404, true], "head": "404", ` +
		`"payload": {"ok": true}, ` +
		`"rule": ["InvalidPermission.NotFound", "An error occurred (InvalidPermission.NotFound) when calling the RevokeSecurityGroupIngress operation: The specified rule does not exist"], ` +
		`"action": ["BotoCoreError", "the AWS service s3 has no action \"getnothing\""], ` +
		`"resource": ["NotImplementedError", "Pintle's built-in boto3 has no resources: install the package, e.g. python3 -m pip install boto3"], ` +
		`"waiter": ["NotImplementedError", "Pintle's built-in boto3 has no waiter nothing: install the package, e.g. python3 -m pip install boto3"]}`
	if diff := gocmp.Diff(want, w.invoke("caller", "{}")); diff != "" {
		t.Errorf("%s\n%s", diff, strings.Join(w.logged(), "\n"))
	}
	w.create("table", python("index.handler"), inline("import boto3\nfrom boto3.dynamodb.conditions import Key\ndef handler(event, context): pass"))
	if got := w.invoke("table", "{}"); !strings.Contains(got, `needs the Python module \"boto3.dynamodb\"`) || !strings.Contains(got, "pip install") {
		t.Error(got)
	}
}
