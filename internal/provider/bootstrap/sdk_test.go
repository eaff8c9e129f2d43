package bootstrap_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
