package serverless_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/serverless"
)

// translator skips the test if no Python on this machine has the translator. That of cfn-lint has it, unless a script of
// pyenv or the like stands for it.
func translator(t *testing.T) {
	require.Tool(t, "cfn-lint")
	if _, err := serverless.Expand(t.Context(), event("{}")); errors.Is(err, serverless.ErrNoTranslator) {
		if strings.Contains(os.Getenv(require.Variable), "cfn-lint") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// python makes a shell script the only Python.
func python(t *testing.T, script string) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

func event(resources string) serverless.Event {
	return serverless.Event{
		Region: "eu-west-1", AccountID: "123456789012",
		Fragment: json.RawMessage(`{"Parameters": {"Stage": {"Type": "String"}, "Password": {"Type": "String", "NoEcho": "true", "Default": "none"}}, "Resources": ` + resources + `}`),
		Values:   map[string]any{"Stage": "live"},
	}
}

const function = `{"F": {"Type": "AWS::Serverless::Function", "Properties": {"Runtime": "python3.13", "Handler": "index.handler", "InlineCode": "x",
	"Policies": ["AWSLambdaExecute", {"SQSPollerPolicy": {"QueueName": "q"}}], "AutoPublishAlias": {"Ref": "Stage"}}},
	"L": {"Type": "AWS::Serverless::LayerVersion", "Properties": {"ContentUri": "s3://b/k", "LayerName": {"Ref": "Password"}}}}`

func TestExpand(t *testing.T) {
	translator(t)
	fragment, err := serverless.Expand(t.Context(), event(function))
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Parameters map[string]struct{ Default string }
		Resources  map[string]struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(fragment, &made); err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, r := range made.Resources {
		types = append(types, r.Type)
	}
	slices.Sort(types)
	want := []string{"AWS::IAM::Role", "AWS::Lambda::Alias", "AWS::Lambda::Function", "AWS::Lambda::LayerVersion", "AWS::Lambda::Version"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	policies, _ := made.Resources["FRole"].Properties["ManagedPolicyArns"].([]any)
	if !slices.Contains(policies, any("arn:aws:iam::aws:policy/AWSLambdaExecute")) {
		t.Errorf("the role has the managed policies %v", policies)
	}
	if !strings.Contains(string(fragment), `"LayerName": {"Ref": "Password"}`) || made.Parameters["Password"].Default != "none" {
		t.Errorf("a parameter with NoEcho was replaced by its default: %s", fragment)
	}
}

func TestExpandRefuses(t *testing.T) {
	translator(t)
	for name, test := range map[string]struct{ resources, want string }{
		"property": {
			`{"F": {"Type": "AWS::Serverless::Function", "Properties": {"Foo": 1}}}`,
			"Invalid Serverless Application Specification document. Number of errors found: 1. Resource with id [F] is invalid. property Foo not defined for resource of type AWS::Serverless::Function",
		},
		"repository": {
			`{"A": {"Type": "AWS::Serverless::Application", "Properties": {"Location": {"ApplicationId": "arn", "SemanticVersion": "1.0.0"}}}}`,
			"Resource with id [A] is invalid. Pintle cannot fetch applications from the Serverless Application Repository: use the URL of a template as its Location.",
		},
		"number": {`{"F": {"Type": "T", "Properties": {"N": 1e400}}}`, "ValueError: Out of range float values are not JSON compliant"},
		"local code": {
			`{"F": {"Type": "AWS::Serverless::Function", "Properties": {"Runtime": "python3.13", "Handler": "a.b", "CodeUri": "./src"}}}`,
			"Invalid Serverless Application Specification document. Number of errors found: 1. Resource with id [F] is invalid. 'CodeUri' is not a valid S3 Uri of the form 's3://bucket/key' with optional versionId query parameter.",
		},
	} {
		_, err := serverless.Expand(t.Context(), event(test.resources))
		invalid, ok := errors.AsType[*serverless.Invalid](err)
		if !ok || !strings.HasPrefix(invalid.Text, test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestMacro(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{`echo '{"fragment": {"Resources": {}}}'`, `{"requestId":"r","status":"success","fragment":{"Resources":{}}}`},
		{`echo '{"error": "bad"}'`, `{"requestId":"r","status":"failure","errorMessage":"bad"}`},
		{`echo '{"error": "it is not a valid S3 Uri of the form x."}'`, `{"requestId":"r","status":"failure","errorMessage":"it is not a valid S3 Uri of the form x. ` +
			`Upload local code first: sam deploy, sam package and aws cloudformation package do that."}`},
	} {
		python(t, test.script)
		reply, err := serverless.Macro(t.Context(), []byte(`{"requestId": "r", "fragment": {}, "region": "us-east-1"}`))
		if err != nil || string(reply) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.script, reply, err, test.want)
		}
	}
}

func TestPython(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	t.Setenv("PGPASSWORD", "hunter2")
	out := filepath.Join(t.TempDir(), "environment")
	t.Setenv("PYTHON_OUT", out)
	const install = "python3 -m pip install aws-sam-translator"
	for name, test := range map[string]struct{ script, want string }{
		"not installed": {`echo '{}'`, install},
		"broken":        {`echo '{"broken": "No module named boto3"}'`, "cannot import it: No module named boto3"},
		"fails":         {`echo 'secret' >&2; exit 3`, install + ", or put"},
		"no JSON":       {`echo x`, "its output is not valid JSON"},
		"too long":      {`head -c 7000000 /dev/zero`, "longer than 6291456 bytes"},
		"environment":   {`env > "$PYTHON_OUT"; echo '{}'`, install},
	} {
		python(t, "PATH=/usr/bin:/bin\n"+test.script)
		_, err := serverless.Expand(t.Context(), event("{}"))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	given, err := os.ReadFile(out)
	if err != nil || strings.Contains(string(given), "hunter2") || !strings.Contains(string(given), "AWS_DEFAULT_REGION=eu-west-1\n") {
		t.Errorf("the translator has the environment %s, %v", given, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := serverless.Expand(t.Context(), event("{}")); !errors.Is(err, serverless.ErrNoTranslator) {
		t.Errorf("without Python: %v", err)
	}
}

// TestInterpreters checks that the Python of another program is used if python3 fails, and how a program names it.
func TestInterpreters(t *testing.T) {
	for _, first := range []string{
		"#!%s\n", "#!%s -E\n", "#!/bin/sh\n'''exec' \"%s\" \"$0\" \"$@\"\n", "#!/bin/sh\n'''exec' %s \"$0\" \"$@\"\n",
	} {
		python(t, "exit 1")
		dir := os.Getenv("PATH")
		other := filepath.Join(t.TempDir(), "python3.13")
		for path, text := range map[string]string{
			other: "#!/bin/sh\necho '{\"fragment\": {}}'", filepath.Join(dir, "cfn-lint"): fmt.Sprintf(first, other),
		} {
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := serverless.Expand(t.Context(), event("{}")); err != nil || string(got) != "{}" {
			t.Errorf("%q: %s, %v", first, got, err)
		}
	}
}

func TestExpandCancelled(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	t.Setenv("PYTHON_STARTED", started)
	python(t, "PATH=/usr/bin:/bin\ntouch \"$PYTHON_STARTED\"; sleep 600") // in a process of its own, like that of a shim
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := serverless.Expand(ctx, event("{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the error of the context", err)
	}
}
