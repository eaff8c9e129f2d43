package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

type pair struct {
	Key   string
	Value string
}

type stackOutput struct {
	OutputKey   string
	OutputValue string
	ExportName  string `query:",omitempty"`
}

type stackView struct {
	StackID               string `query:"StackId"`
	StackName             string
	CreationTime          time.Time
	DeletionTime          *time.Time
	StackStatus           string
	StackStatusReason     string `query:",omitempty"`
	DisableRollback       bool
	RollbackConfiguration struct{}
	DriftInformation      struct{ StackDriftStatus string }
	NotificationARNs      []string
	Tags                  []pair
	Outputs               []stackOutput `query:",omitempty"`
	TimeoutInMinutes      *int32
}

type describeOutput struct {
	Stacks    []stackView
	NextToken string `query:",omitempty"`
}

type createInput struct {
	StackName    string `query:",required" pattern:"[a-zA-Z][-a-zA-Z0-9]*"`
	TemplateBody *string
	Parameters   []struct {
		ParameterKey     string
		ParameterValue   string
		UsePreviousValue *bool
	}
	Capabilities          []string `enum:"CAPABILITY_IAM,CAPABILITY_NAMED_IAM"`
	NotificationARNs      []string
	Tags                  []pair
	TimeoutInMinutes      *int32
	DisableRollback       bool
	RollbackConfiguration *struct {
		RollbackTriggers []struct{ Arn, Type string }
	}
}

// face is an API with three operations. It records the creates.
type face struct {
	mu      sync.Mutex
	created []createInput
}

// reason contains characters that are difficult in XML.
const reason = "a <b> & \"c\" 'd'\r\nπ ]]> \x1b[31mred"

func (f *face) serve(t *testing.T) string {
	t.Helper()
	s, err := query.New(query.Config{Name: "cloudformation", Namespace: namespace, Version: "2010-05-15"})
	if err != nil {
		t.Fatal(err)
	}
	query.Handle(s, "CreateStack", func(_ context.Context, in createInput) (struct {
		StackID string `query:"StackId"`
	}, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.created = append(f.created, in)
		return struct {
			StackID string `query:"StackId"`
		}{"arn:" + in.StackName}, nil
	})
	query.Handle(s, "DescribeStacks", func(_ context.Context, in struct{ StackName string }) (describeOutput, error) {
		if in.StackName == "gone" {
			return describeOutput{}, query.Validation("Stack with id %s does not exist", in.StackName)
		}
		view := stackView{
			StackID: "arn:s", StackName: "s", CreationTime: time.Date(2026, 11, 21, 10, 38, 42, 123e6, time.UTC),
			StackStatus: "CREATE_COMPLETE", StackStatusReason: reason, TimeoutInMinutes: new(int32(5)),
			Outputs: []stackOutput{{OutputKey: "k", OutputValue: "v"}, {OutputKey: "e", OutputValue: "", ExportName: "x"}},
		}
		view.DriftInformation.StackDriftStatus = "NOT_CHECKED"
		return describeOutput{Stacks: []stackView{view}, NextToken: "more"}, nil
	})
	query.Handle(s, "DeleteStack", func(context.Context, struct{ StackName string }) (query.None, error) { return query.None{}, nil })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

func TestSDKForGo(t *testing.T) {
	var f face
	client := cloudformation.New(cloudformation.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(f.serve(t)), RetryMaxAttempts: 1, HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("s"), TemplateBody: aws.String("{\"a\": \"+ &=%é\"}\r\n"),
		Parameters: []types.Parameter{{ParameterKey: aws.String("p"), ParameterValue: aws.String("")}, {ParameterKey: aws.String("q"), UsePreviousValue: aws.Bool(true)}},
		Tags:       []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}, NotificationARNs: []string{},
		Capabilities: []types.Capability{types.CapabilityCapabilityIam}, TimeoutInMinutes: aws.Int32(5), DisableRollback: aws.Bool(true),
		RollbackConfiguration: &types.RollbackConfiguration{RollbackTriggers: []types.RollbackTrigger{{Arn: aws.String("a"), Type: aws.String("t")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]createInput{wantCreated()}, f.created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}

	described, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		t.Fatal(err)
	}
	want := []types.Stack{{
		StackId: aws.String("arn:s"), StackName: aws.String("s"), CreationTime: aws.Time(time.Date(2026, 11, 21, 10, 38, 42, 123e6, time.UTC)),
		StackStatus: types.StackStatusCreateComplete, StackStatusReason: aws.String("a <b> & \"c\" 'd'\r\nπ ]]> [31mred"), DisableRollback: aws.Bool(false),
		RollbackConfiguration: &types.RollbackConfiguration{}, DriftInformation: &types.StackDriftInformation{StackDriftStatus: types.StackDriftStatusNotChecked},
		NotificationARNs: []string{}, Tags: []types.Tag{}, TimeoutInMinutes: aws.Int32(5),
		Outputs: []types.Output{{OutputKey: aws.String("k"), OutputValue: aws.String("v")}, {OutputKey: aws.String("e"), OutputValue: aws.String(""), ExportName: aws.String("x")}},
	}}
	if diff := cmp.Diff(want, described.Stacks, cmpopts.IgnoreUnexported(types.Stack{}, types.RollbackConfiguration{}, types.StackDriftInformation{}, types.Output{})); diff != "" {
		t.Errorf("described (-want +got):\n%s", diff)
	}
	if aws.ToString(described.NextToken) != "more" {
		t.Errorf("NextToken %q", aws.ToString(described.NextToken))
	}
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("s")}); err != nil {
		t.Error(err)
	}
	_, err = client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("gone")})
	refused, ok := errors.AsType[smithy.APIError](err)
	if !ok || refused.ErrorCode() != "ValidationError" || refused.ErrorMessage() != "Stack with id gone does not exist" || refused.ErrorFault() != smithy.FaultUnknown {
		t.Errorf("error %v", err)
	}
}

// wantCreated is the create that all clients send.
func wantCreated() createInput {
	want := createInput{
		StackName: "s", TemplateBody: new("{\"a\": \"+ &=%é\"}\r\n"), Capabilities: []string{"CAPABILITY_IAM"}, NotificationARNs: []string{},
		Tags: []pair{{"k", "v"}}, TimeoutInMinutes: new(int32(5)), DisableRollback: true,
	}
	want.Parameters = append(want.Parameters, struct {
		ParameterKey     string
		ParameterValue   string
		UsePreviousValue *bool
	}{ParameterKey: "p"}, struct {
		ParameterKey     string
		ParameterValue   string
		UsePreviousValue *bool
	}{ParameterKey: "q", UsePreviousValue: new(true)})
	want.RollbackConfiguration = &struct {
		RollbackTriggers []struct{ Arn, Type string }
	}{[]struct{ Arn, Type string }{{"a", "t"}}}
	return want
}

const botoScript = `
import boto3, botocore.config, botocore.exceptions, json, sys
client = boto3.client("cloudformation", endpoint_url=sys.argv[1], region_name="eu-west-1",
    aws_access_key_id="test", aws_secret_access_key="test",
    config=botocore.config.Config(proxies={}, retries={"total_max_attempts": 1}))
out = {"created": client.create_stack(StackName="s", TemplateBody='{"a": "+ &=%\u00e9"}\r\n',
    Parameters=[{"ParameterKey": "p", "ParameterValue": ""}, {"ParameterKey": "q", "UsePreviousValue": True}],
    Tags=[{"Key": "k", "Value": "v"}], NotificationARNs=[], Capabilities=["CAPABILITY_IAM"], TimeoutInMinutes=5, DisableRollback=True,
    RollbackConfiguration={"RollbackTriggers": [{"Arn": "a", "Type": "t"}]})["StackId"]}
described = client.describe_stacks()
out["metadata"] = described.pop("ResponseMetadata")["HTTPStatusCode"]
out["described"] = described
out["deleted"] = sorted(client.delete_stack(StackName="s"))
try:
    client.describe_stacks(StackName="gone")
except botocore.exceptions.ClientError as e:
    out["error"] = e.response["Error"]
json.dump(out, sys.stdout, default=lambda t: t.isoformat())
`

func TestBoto3(t *testing.T) {
	python := require.Python(t, "boto3")
	var f face
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", botoScript, f.serve(t))
	cmd.Env = append(os.Environ(), "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if diff := cmp.Diff([]createInput{wantCreated()}, f.created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	var got any
	if err := json.Unmarshal(printed, &got); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	want := object{
		"created":  "arn:s",
		"metadata": 200.0,
		"described": object{"NextToken": "more", "Stacks": []any{object{
			"StackId": "arn:s", "StackName": "s", "CreationTime": "2026-11-21T10:38:42.123000+00:00", "StackStatus": "CREATE_COMPLETE",
			"StackStatusReason": "a <b> & \"c\" 'd'\r\nπ ]]> [31mred", "DisableRollback": false, "RollbackConfiguration": object{},
			"DriftInformation": object{"StackDriftStatus": "NOT_CHECKED"}, "NotificationARNs": []any{}, "Tags": []any{}, "TimeoutInMinutes": 5.0,
			"Outputs": []any{object{"OutputKey": "k", "OutputValue": "v"}, object{"OutputKey": "e", "OutputValue": "", "ExportName": "x"}},
		}}},
		"deleted": []any{"ResponseMetadata"},
		"error":   object{"Type": "Sender", "Code": "ValidationError", "Message": "Stack with id gone does not exist"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("boto3 (-want +got):\n%s", diff)
	}
}
