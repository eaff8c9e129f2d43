package bootstrap_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// TestSDKOfVersion2 checks that version 2 of AWS's SDK for Node, which does not support endpoint variables, uses them.
func TestSDKOfVersion2(t *testing.T) {
	require.Tool(t, "node")
	program, err := bootstrap.Node.Install(t.TempDir(), "node")
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	if err := os.MkdirAll(filepath.Join(modules, "aws-sdk"), 0o700); err != nil {
		t.Fatal(err)
	}
	const sdk = `exports.config = {sns: {endpoint: 'set before'}, update(of) { Object.assign(this, of); }}; exports.Lambda = class {};`
	if err := os.WriteFile(filepath.Join(modules, "aws-sdk", "index.js"), []byte(sdk), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(environ ...string) string {
		t.Helper()
		cmd := exec.Command(program.Interpreter, "-e", `
require(process.argv[1]).start();
const {endpoint, lambda, stepfunctions, eventbridge, s3, sns} = require('aws-sdk').config;
console.log(JSON.stringify({endpoint, lambda, stepfunctions, eventbridge, s3, sns}));`, filepath.Join(filepath.Dir(program.Modules), "sdk.cjs"))
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "NODE_PATH=" + modules}, environ...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	const untouched = `{"sns":{"endpoint":"set before"}}`
	for _, test := range []struct {
		environ []string
		want    string
	}{
		{nil, untouched},
		{[]string{"AWS_ENDPOINT_URL=http://a", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true"}, untouched},
		{
			[]string{
				"AWS_ENDPOINT_URL=http://a", "AWS_ENDPOINT_URL_LAMBDA=http://b", "AWS_ENDPOINT_URL_SFN=http://c", "AWS_ENDPOINT_URL_EVENTBRIDGE=http://d",
				"AWS_ENDPOINT_URL_S3=http://e", "AWS_ENDPOINT_URL_SNS=http://f",
			},
			`{"endpoint":"http://a","lambda":{"endpoint":"http://b"},"stepfunctions":{"endpoint":"http://c"},"eventbridge":{"endpoint":"http://d"},` +
				`"s3":{"s3ForcePathStyle":true,"endpoint":"http://e"},"sns":{"endpoint":"set before"}}`,
		},
	} {
		if diff := cmp.Diff(test.want+"\n", run(test.environ...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.environ, diff)
		}
	}
}

// TestBundledSDKOfVersion2 checks that calls of a copy of AWS's SDK that is part of the handler's file, and so cannot be configured
// when it is loaded, go to the endpoints too.
func TestBundledSDKOfVersion2(t *testing.T) {
	handlers := require.Handlers(t)
	program, err := bootstrap.Node.Install(t.TempDir(), "node")
	if err != nil {
		t.Fatal(err)
	}
	bundled := filepath.Join(t.TempDir(), "bundled") // a name that does not give the SDK away
	if err := os.Symlink(filepath.Join(handlers, "node_modules", "aws-sdk"), bundled); err != nil {
		t.Fatal(err)
	}
	serve := func(name string, called *[]string) string {
		var mu sync.Mutex
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			*called = append(*called, fmt.Sprint(r.Host, " ", r.Method, " ", r.URL, " ", r.FormValue("Action"), r.Header.Get("X-Amz-Target")))
			w.Header().Set("Content-Type", "text/xml")
			if r.Header.Get("X-Amz-Target") != "" {
				_, _ = w.Write([]byte(`{"TableNames": ["` + name + `"]}`))
				return
			}
			_, _ = w.Write([]byte(`<R xmlns="x"><GetCallerIdentityResult><Account>` + name + `</Account></GetCallerIdentityResult><GetUserResult><User><UserName>` + name + `</UserName></User></GetUserResult></R>`))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	var general, own []string
	generalURL, ownURL := serve("general", &general), serve("own", &own)
	cmd := exec.Command(program.Interpreter, "-e", `
require(process.argv[1]);
const AWS = require(process.argv[2]);
const config = {region: 'eu-west-1', maxRetries: 0};
(async () => {
  const user = (await new AWS.IAM(config).getUser().promise()).User.UserName;
  const {Account} = await new AWS.STS({...config, stsRegionalEndpoints: 'regional'}).getCallerIdentity().promise();
  const [table] = (await new AWS.DynamoDB(config).listTables().promise()).TableNames;
  console.log(JSON.stringify({user, Account, table}));
})().catch((error) => { console.log(error); process.exitCode = 1; });`, filepath.Join(filepath.Dir(program.Modules), "reroute.cjs"), bundled)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE=1",
		"AWS_ENDPOINT_URL=" + generalURL + "/base/", "AWS_ENDPOINT_URL_DYNAMODB=" + ownURL,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(`{"user":"general","Account":"general","table":"own"}`+"\n", string(out)); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"iam.amazonaws.com POST /base/ GetUser",
		"sts.eu-west-1.amazonaws.com POST /base/ GetCallerIdentity",
		"dynamodb.eu-west-1.amazonaws.com POST / DynamoDB_20120810.ListTables",
	}
	if diff := cmp.Diff(want, slices.Concat(general, own)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestEndpointOfCall checks which requests of https are calls of AWS that go to an endpoint.
func TestEndpointOfCall(t *testing.T) {
	require.Tool(t, "node")
	program, err := bootstrap.Node.Install(t.TempDir(), "node")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program.Interpreter, "-e", `
const {endpointOf} = require(process.argv[1]);
const signed = (service) => ({authorization: 'AWS4-HMAC-SHA256 Credential=ID/20260102/us-east-1/' + service + '/aws4_request, SignedHeaders=host, Signature=0'});
for (const [host, headers] of [
  ['logs.us-east-1.amazonaws.com', signed('logs')], ['s3.us-gov-west-1.amazonaws.com', signed('s3')], ['api.ecr.cn-north-1.amazonaws.com.cn', signed('ecr')],
  ['iam.amazonaws.com', {Authorization: 'Bearer x'}], ['checkip.amazonaws.com', {}], ['checkip.amazonaws.com', undefined],
  ['a1b2.execute-api.us-east-1.amazonaws.com', signed('execute-api')], ['search-x.us-east-1.es.amazonaws.com', signed('es')],
  ['iam.amazonaws.com.example.com', signed('iam')], ['s3.amazonaws.com', signed('s3')],
]) console.log(host, String(endpointOf(host, headers)));
process.env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS = 'true';
console.log('ignored', String(endpointOf('iam.amazonaws.com', signed('iam'))));`, filepath.Join(filepath.Dir(program.Modules), "reroute.cjs"))
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "AWS_ENDPOINT_URL=http://a", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS=http://b", "AWS_ENDPOINT_URL_S3=https://s3.amazonaws.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const want = `logs.us-east-1.amazonaws.com http://b/
s3.us-gov-west-1.amazonaws.com https://s3.amazonaws.com/
api.ecr.cn-north-1.amazonaws.com.cn http://a/
iam.amazonaws.com null
checkip.amazonaws.com null
checkip.amazonaws.com null
a1b2.execute-api.us-east-1.amazonaws.com null
search-x.us-east-1.es.amazonaws.com null
iam.amazonaws.com.example.com null
s3.amazonaws.com null
ignored null
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}
