package server_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/store"
)

// TestParameters tests the Parameter Store API from a client's view.
func TestParameters(t *testing.T) {
	w := newWorld(t, nil)
	client, err := awscall.New(awscall.Config{
		Region: region, Endpoint: w.url, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	w.must(err)
	call := func(action string, in map[string]any) map[string]any {
		t.Helper()
		out, err := client.Call(t.Context(), "ssm", action, in)
		w.must(err)
		return out
	}
	refused := func(action string, in map[string]any, code, message string) {
		t.Helper()
		_, err := client.Call(t.Context(), "ssm", action, in)
		var answered *awscall.Error
		if !errors.As(err, &answered) || answered.Code != code || !strings.Contains(answered.Message, message) {
			t.Errorf("%s %v: %v, want %s %s", action, in, err, code, message)
		}
	}
	type m = map[string]any
	value := func(name string) any {
		t.Helper()
		return call("GetParameter", m{"Name": name, "WithDecryption": true})["Parameter"].(m)["Value"]
	}
	if got := value("/cdk-bootstrap/hnb659fds/version"); got != "33" {
		t.Errorf("the version of the bootstrap stack is %v", got)
	}
	refused("GetParameter", m{"Name": "/a"}, "ParameterNotFound", "/a")
	out := call("PutParameter", m{"Name": "/a", "Value": "one", "Type": "String", "Description": "d"})
	if diff := cmp.Diff(m{"Version": int64(1), "Tier": "Standard"}, out); diff != "" {
		t.Error(diff)
	}
	refused("PutParameter", m{"Name": "/a", "Value": "two", "Type": "String"}, "ParameterAlreadyExists", "set the overwrite option")
	if got := call("PutParameter", m{"Name": "/a", "Value": "two", "Overwrite": true})["Version"]; got != int64(2) {
		t.Errorf("version %v", got)
	}
	p := call("GetParameter", m{"Name": "/a:1"})["Parameter"].(m)
	delete(p, "LastModifiedDate")
	want := m{
		"Name": "/a", "Type": "String", "Value": "one", "Version": int64(1), "Selector": ":1", "DataType": "text",
		"ARN": "arn:aws:ssm:" + region + ":000000000000:parameter/a",
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	refused("GetParameter", m{"Name": "/a:7"}, "ParameterVersionNotFound", "version 7 of /a")
	call("PutParameter", m{"Name": "/s", "Value": "hunter2", "Type": "SecureString"})
	if got := value("/s"); got != "hunter2" {
		t.Errorf("the secret is %v", got)
	}
	all := call("GetParameters", m{"Names": []any{"/a", "/s", "/none"}})
	if list := all["Parameters"].([]any); len(list) != 2 || strings.Contains(list[1].(m)["Value"].(string), "hunter2") {
		t.Errorf("without decryption: %v", list)
	}
	if diff := cmp.Diff([]any{"/none"}, all["InvalidParameters"]); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		in            m
		code, message string
	}{
		{m{"Name": "/x", "Value": "v"}, "ValidationException", "A parameter type is required"},
		{m{"Name": "x y", "Value": "v", "Type": "String"}, "ValidationException", "letters, numbers"},
		{m{"Name": "/aws/x", "Value": "v", "Type": "String"}, "AccessDeniedException", "reserved"},
		{m{"Name": "a/b", "Value": "v", "Type": "String"}, "ValidationException", "fully qualified"},
		{m{"Name": "/a/", "Value": "v", "Type": "String"}, "ValidationException", "slash"},
		{m{"Name": strings.Repeat("/a", 16), "Value": "v", "Type": "String"}, "HierarchyLevelLimitExceededException", "15 levels"},
		{m{"Name": "/x", "Value": strings.Repeat("v", 4097), "Type": "String"}, "ValidationException", "maximum parameter value of 4096"},
		{m{"Name": "/x", "Value": "v", "Type": "Text"}, "UnsupportedParameterType", ""},
		{m{"Name": "/x", "Value": "v", "Type": "String", "AllowedPattern": "^[0-9]+$"}, "ParameterPatternMismatchException", "[0-9]"},
		{m{"Name": "/x", "Value": "v", "Type": "String", "AllowedPattern": "("}, "InvalidAllowedPatternException", ""},
		{m{"Name": "/x", "Value": "v", "Type": "String", "Tier": "Cheap"}, "ValidationException", "Intelligent-Tiering"},
	} {
		refused("PutParameter", c.in, c.code, c.message)
	}
	call("PutParameter", m{"Name": "/x", "Value": strings.Repeat("v", 8192), "Type": "StringList", "Tier": "Advanced"})
	call("DeleteParameter", m{"Name": "/x"})
	refused("DeleteParameter", m{"Name": "/x"}, "ParameterNotFound", "/x")
	refused("DescribeParameters", nil, "UnknownOperationException", "DescribeParameters")

	// Like the CDK when it shares values between regions: tag used parameters, and delete many at once.
	parameter := func(name string, more m) m {
		more["ResourceType"], more["ResourceId"] = "Parameter", name
		return more
	}
	call("PutParameter", m{"Name": "/t", "Value": "v", "Type": "String", "Tags": []any{m{"Key": "a", "Value": "b"}}})
	call("AddTagsToResource", parameter("/t", m{"Tags": []any{m{"Key": "aws-cdk:strong-ref:s", "Value": "true"}}}))
	tags := func() any {
		t.Helper()
		return call("ListTagsForResource", parameter("/t", m{}))["TagList"]
	}
	if diff := cmp.Diff([]any{m{"Key": "a", "Value": "b"}, m{"Key": "aws-cdk:strong-ref:s", "Value": "true"}}, tags()); diff != "" {
		t.Error(diff)
	}
	call("RemoveTagsFromResource", parameter("/t", m{"TagKeys": []any{"a", "none"}}))
	if diff := cmp.Diff([]any{m{"Key": "aws-cdk:strong-ref:s", "Value": "true"}}, tags()); diff != "" {
		t.Error(diff)
	}
	refused("PutParameter", m{"Name": "/t", "Value": "w", "Overwrite": true, "Tags": []any{m{"Key": "a", "Value": "b"}}}, "ValidationException", "can't be used together")
	refused("AddTagsToResource", parameter("/none", m{"Tags": []any{m{"Key": "a", "Value": "b"}}}), "InvalidResourceId", "")
	refused("AddTagsToResource", m{"ResourceType": "Document", "ResourceId": "d", "Tags": []any{}}, "InvalidResourceType", "")
	var many []any
	for i := range 50 {
		many = append(many, m{"Key": fmt.Sprint(i), "Value": ""})
	}
	refused("AddTagsToResource", parameter("/t", m{"Tags": many}), "TooManyTagsError", "50")
	if n := len(tags().([]any)); n != 1 {
		t.Errorf("after what was refused there are %d tags", n)
	}
	out = call("DeleteParameters", m{"Names": []any{"/t", "/none"}})
	if diff := cmp.Diff(m{"DeletedParameters": []any{"/t"}, "InvalidParameters": []any{"/none"}}, out); diff != "" {
		t.Error(diff)
	}
	call("PutParameter", m{"Name": "/t", "Value": "v", "Type": "String"})
	if n := len(tags().([]any)); n != 0 {
		t.Errorf("made anew it has %d tags", n)
	}
	refused("DeleteParameters", m{"Names": []any{}}, "ValidationException", "between 1 and 10")
	if text := w.log.String(); strings.Contains(text, "hunter2") {
		t.Errorf("the log has a secret: %s", text)
	}
}

// TestParametersOfStacks checks that clients see both the passed name and the value that was read.
func TestParametersOfStacks(t *testing.T) {
	const name, key = "/cdk-bootstrap/hnb659fds/version", "BootstrapVersion"
	const body = `{"Parameters": {"BootstrapVersion": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "` + name + `"}},
		"Rules": {"R": {"Assertions": [{"Assert": {"Fn::Not": [{"Fn::Contains": [["1", "2"], {"Ref": "BootstrapVersion"}]}]}, "AssertDescription": "too old"}]}},
		"Resources": {"A": {"Type": "Custom::A", "Properties": {"ServiceToken": "x", "V": {"Ref": "BootstrapVersion"}}}}}`
	w := newWorld(t, nil)
	client := w.client()
	_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(body)})
	w.must(err)
	stacks, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("s")})
	w.must(err)
	want := []types.Parameter{{ParameterKey: aws.String(key), ParameterValue: aws.String(name), ResolvedValue: aws.String("33")}}
	same := cmpopts.IgnoreUnexported(types.Parameter{})
	if diff := cmp.Diff(want, stacks.Stacks[0].Parameters, same); diff != "" {
		t.Error(diff)
	}
	_, err = client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("t"), ChangeSetName: aws.String("c"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: aws.String(body),
	})
	w.must(err)
	set, err := client.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{StackName: aws.String("t"), ChangeSetName: aws.String("c")})
	w.must(err)
	if diff := cmp.Diff(want, set.Parameters, same); diff != "" {
		t.Error(diff)
	}
	summary, err := client.GetTemplateSummary(t.Context(), &cloudformation.GetTemplateSummaryInput{TemplateBody: aws.String(body)})
	w.must(err)
	if p := summary.Parameters[0]; *p.ParameterType != "AWS::SSM::Parameter::Value<String>" || *p.DefaultValue != name {
		t.Errorf("the summary has %s, %s", *p.ParameterType, *p.DefaultValue)
	}
	_, err = ssm.NewOwn(w.store).Put(t.Context(), store.Parameter{
		ParameterKey: store.ParameterKey{Account: "000000000000", Region: region, Name: name}, Type: store.ParameterString, Value: "2",
	}, false)
	w.must(err)
	_, err = client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("u"), TemplateBody: aws.String(body)})
	if err == nil || !strings.Contains(err.Error(), "ValidationError: Template validation error: Rule R failed: too old") {
		t.Errorf("an old version: %v", err)
	}
}

const parametersScript = `
import boto3, botocore.exceptions
ssm = boto3.client("ssm")
assert ssm.put_parameter(Name="/b/c", Value="v", Type="String")["Version"] == 1
try:
    ssm.put_parameter(Name="/b/c", Value="w", Type="String")
    assert False
except ssm.exceptions.ParameterAlreadyExists:
    pass
assert ssm.put_parameter(Name="/b/c", Value="w", Overwrite=True)["Version"] == 2
p = ssm.get_parameter(Name="/b/c")["Parameter"]
assert (p["Value"], p["Version"], p["LastModifiedDate"].year) >= ("w", 2, 2020), p
got = ssm.get_parameters(Names=["/b/c:1", "/none"])
assert got["Parameters"][0]["Value"] == "v" and got["InvalidParameters"] == ["/none"], got
ssm.delete_parameter(Name="/b/c")
try:
    ssm.get_parameter(Name="/b/c")
    assert False
except ssm.exceptions.ParameterNotFound:
    print("done")
`

// TestParametersWithBoto3 tests the API with the unmodified boto3.
func TestParametersWithBoto3(t *testing.T) {
	python := require.Python(t, "boto3")
	w := newWorld(t, nil)
	cmd := exec.CommandContext(t.Context(), python, "-c", parametersScript)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL_SSM="+w.url, "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET", "AWS_DEFAULT_REGION="+region,
		"AWS_EC2_METADATA_DISABLED=true")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "done\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestParametersWithAWSCLI tests the API with the AWS CLI.
func TestParametersWithAWSCLI(t *testing.T) {
	tool := require.Tool(t, "aws")
	w := newWorld(t, nil)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tool, append([]string{"ssm"}, args...)...)
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL_SSM="+w.url, "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET", "AWS_DEFAULT_REGION="+region,
			"AWS_EC2_METADATA_DISABLED=true")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("aws ssm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("put-parameter", "--name", "/d", "--value", "x", "--type", "SecureString")
	if got := run("get-parameter", "--name", "/d", "--with-decryption", "--query", "Parameter.Value", "--output", "text"); got != "x" {
		t.Errorf("the value is %q", got)
	}
	run("delete-parameter", "--name", "/d")
}
