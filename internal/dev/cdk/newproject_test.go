package cdk_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestNewProject checks that a new AWS project has a construct for its provider, and that an app deploys it with a
// generated construct for the resource. The other options configure the function.
func TestNewProject(t *testing.T) {
	require.Tool(t, "node")
	require.Tool(t, "zip")
	p := &program{t: t, dir: filepath.Join(t.TempDir(), "site"), tools: require.CDKLanguages(t), cdk: require.CDKCLI(t)}
	clone := absolute(t, "../../..")
	create := exec.Command(pintle(t), "new", "site", "--aws", "--pintle", clone)
	create.Dir = filepath.Dir(p.dir)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("pintle new: %v\n%s", err, out)
	}
	p.run("sh", "build.sh", runtime.GOARCH)
	p.run(pintle(t), "generate", "cdk", ".", "--out", "cdk")
	p.copy("testdata/generated/project.ts", "project.ts")
	p.compile(p.cdk, "project.ts")

	var options struct {
		Resources map[string]struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(p.run("node", "project.js", "options"), &options); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, r := range options.Resources {
		switch r.Type {
		case "AWS::Lambda::Function":
			for _, key := range []string{"FunctionName", "Role", "Timeout", "MemorySize", "VpcConfig", "KmsKeyArn", "LoggingConfig"} {
				got[key] = r.Properties[key]
			}
		case "AWS::StepFunctions::StateMachine":
			got["MachineLogs"] = r.Properties["LoggingConfiguration"]
		}
	}
	want := decoded(t, `{
		"FunctionName": "sites", "Role": "arn:aws:iam::000000000000:role/sites", "Timeout": 60, "MemorySize": 256,
		"VpcConfig": {"SecurityGroupIds": ["sg-1"], "SubnetIds": ["subnet-1"]}, "KmsKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k",
		"LoggingConfig": {"ApplicationLogLevel": "DEBUG", "LogFormat": "JSON", "LogGroup": "sites"}, "MachineLogs": null
	}`)
	if !cmp.Equal(got, want) {
		t.Errorf("the options differ: %s", cmp.Diff(want, got))
	}

	if runtime.GOOS != "linux" {
		t.Log("not deployed: build.sh builds for Linux, and the server could not run it here")
		return
	}
	a := &app{t: t, cloud: newCloud(t), source: filepath.Join(p.dir, "project.js"), dir: p.dir, tools: p.cdk}
	name := fmt.Sprint("cdk-", os.Getpid())
	for _, text := range []string{"one", "two"} {
		path := a.deploys([]string{"name=" + name, "text=" + text})["site"]["Path"]
		if held, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(held)) != text {
			t.Fatalf("the site has %q, want %s: %v", held, text, err)
		}
	}
	a.does([]string{"name=" + name, "text=two"}, "destroy", "--all", "--force")
}
