package cdk_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestDrift tests cdk drift and the construct Secret.
func TestDrift(t *testing.T) {
	a := newApp(t, "drift")
	made := a.deploys(nil)["Drift"]
	secret, err := a.cloud.call("secrets-manager", "getSecretValue", map[string]any{"SecretId": made["Secret"]})
	if err != nil {
		t.Fatal(err)
	}
	_, password, _ := strings.Cut(secret["SecretString"], `"password":"`)
	password = strings.TrimSuffix(password, `"}`)
	stored, err := a.cloud.call("SSM", "getParameter", map[string]any{"Name": "/drift/copy"})
	if err != nil || stored["Parameter.Value"] != password || len(password) != 32 {
		t.Errorf("the parameter has %d characters, the secret's password %d, %v", len(stored["Parameter.Value"]), len(password), err)
	}
	if out := a.does(nil, "drift", "--fail"); !strings.Contains(out, "No drift detected") {
		t.Errorf("cdk drift:\n%s", out)
	}
	if _, err := a.cloud.call("SSM", "putParameter", map[string]any{"Name": "/drift/oven", "Value": "220", "Overwrite": true}); err != nil {
		t.Fatal(err)
	}
	out, err := a.cdk(nil, "drift", "--fail")
	if err == nil {
		t.Error("cdk drift --fail succeeds")
	}
	for _, want := range []string{"[~] AWS::SSM::Parameter Oven", "[-] 180", "[+] 220", "1 resource has drifted"} {
		if !strings.Contains(out, want) {
			t.Errorf("cdk drift does not print %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, password) {
		t.Errorf("cdk drift prints the secret:\n%s", out)
	}
	var archive bytes.Buffer
	zipped := zip.NewWriter(&archive)
	file, err := zipped.Create("index.py")
	if err == nil {
		_, err = file.Write([]byte(`def handler(e, c): return "changed"`))
	}
	if err = errors.Join(err, zipped.Close()); err != nil {
		t.Fatal(err)
	}
	code := map[string]any{"FunctionName": "drift-greeter", "ZipFile": archive.Bytes()}
	if _, err := a.cloud.call("Lambda", "updateFunctionCode", code); err != nil {
		t.Fatal(err)
	}
	out, _ = a.cdk(nil, "drift")
	for _, want := range []string{"[~] AWS::Lambda::Function Greeter", "CodeSha256 ", "2 resources have drifted"} {
		if !strings.Contains(out, want) {
			t.Errorf("cdk drift does not print %q:\n%s", want, out)
		}
	}
	a.deploys(nil, "--revert-drift")
	said, err := a.cloud.call("Lambda", "invoke", map[string]any{"FunctionName": "drift-greeter"})
	if err != nil || !strings.Contains(said["Payload"], "declared") {
		t.Errorf("after --revert-drift the function returns %v, %v", said, err)
	}
	if out := a.does(nil, "drift", "--fail"); !strings.Contains(out, "No drift detected") {
		t.Errorf("cdk drift after --revert-drift:\n%s", out)
	}
	a.destroys()
}
