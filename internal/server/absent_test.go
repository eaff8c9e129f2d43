package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/smithy-go"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestAbsent checks that clients of services that this server does not have get a readable error, in all protocols.
func TestAbsent(t *testing.T) {
	w := newWorld(t, nil)
	client, err := awscall.New(awscall.Config{
		Region: "eu-west-1", Endpoint: w.url, MaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	w.must(err)
	for service, test := range map[string]struct {
		action, variable string
		params           map[string]any
	}{
		"iam":        {"listOpenIDConnectProviders", "IAM", nil},
		"ec2":        {"describeAvailabilityZones", "EC2", nil},
		"dynamodb":   {"describeTable", "DYNAMODB", map[string]any{"TableName": "table"}},
		"ecr":        {"describeRepositories", "ECR", nil},
		"acm":        {"listCertificates", "ACM", nil},
		"route53":    {"listResourceRecordSets", "ROUTE_53", map[string]any{"HostedZoneId": "Z1"}},
		"cloudfront": {"getInvalidation", "CLOUDFRONT", map[string]any{"DistributionId": "D", "Id": "I"}},
		"eks":        {"describeCluster", "EKS", map[string]any{"name": "cluster"}},
		"apigateway": {"getRestApis", "API_GATEWAY", nil},
		"synthetics": {"getCanary", "SYNTHETICS", map[string]any{"Name": "canary"}},
		"opensearch": {"updateDomainConfig", "OPENSEARCH", map[string]any{"DomainName": "domain"}},
		"cognito-idp": {"describeUserPoolClient", "COGNITO_IDENTITY_PROVIDER",
			map[string]any{"UserPoolId": "eu-west-1_x", "ClientId": "c"}},
		"emr-containers":      {"describeVirtualCluster", "EMR_CONTAINERS", map[string]any{"id": "i"}},
		"cloudwatch":          {"listMetrics", "CLOUDWATCH", nil},
		"application-signals": {"listServices", "APPLICATION_SIGNALS", map[string]any{"StartTime": 0, "EndTime": 1}},
	} {
		t.Run(service, func(t *testing.T) {
			_, err := client.Call(t.Context(), service, test.action, test.params)
			failed, ok := errors.AsType[*awscall.Error](err)
			if !ok || failed.Code != "InvalidAction" || failed.Status != http.StatusBadRequest ||
				!names(failed.Message, "AWS_ENDPOINT_URL_"+test.variable) {
				t.Errorf("%v, want InvalidAction with AWS_ENDPOINT_URL_%s", err, test.variable)
			}
		})
	}
}

// names reports whether a message contains a variable as a word.
func names(message, variable string) bool {
	return slices.Contains(strings.Fields(message), variable)
}

// TestAbsentBoto3 checks the errors of boto3 for services that this server does not have.
func TestAbsentBoto3(t *testing.T) {
	python := require.Python(t, "boto3")
	w := newWorld(t, nil)
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "absent.py"), w.url).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	protocols := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		var said struct{ Service, Method, Protocol, Variable, Code, Message string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		protocols[said.Protocol] = true
		if said.Code != "InvalidAction" || !names(said.Message, said.Variable) {
			t.Errorf("%s.%s (%s) reports %q: %s, want InvalidAction with %s",
				said.Service, said.Method, said.Protocol, said.Code, said.Message, said.Variable)
		}
	}
	for _, protocol := range []string{"query", "ec2", "json", "rest-json", "rest-xml", "smithy-rpc-v2-cbor"} {
		if !protocols[protocol] {
			t.Errorf("no service was called with the protocol %s", protocol)
		}
	}
}

// TestAbsentGo checks the same for clients of the SDK for Go.
func TestAbsentGo(t *testing.T) {
	w := newWorld(t, nil)
	config := aws.Config{
		BaseEndpoint: &w.url, Region: region, HTTPClient: awshttp.Client(), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	}
	_, err := sns.NewFromConfig(config).ListTopics(t.Context(), nil)
	failed, ok := errors.AsType[smithy.APIError](err)
	if !ok || failed.ErrorCode() != "InvalidAction" || !names(failed.ErrorMessage(), "AWS_ENDPOINT_URL_SNS") {
		t.Errorf("SNS: %v", err)
	}
	_, err = lambda.NewFromConfig(config).ListFunctions(t.Context(), nil)
	failed, ok = errors.AsType[smithy.APIError](err)
	if !ok || failed.ErrorCode() != "InvalidAction" || !names(failed.ErrorMessage(), "AWS_ENDPOINT_URL_LAMBDA") {
		t.Errorf("Lambda: %v", err)
	}
}

// TestAbsentJava checks the same for clients of the SDK for Java, with a service for each protocol.
func TestAbsentJava(t *testing.T) {
	java, sdk := require.Tool(t, "java"), filepath.Join(require.Java(t), "sdk")
	w := newWorld(t, nil)
	args := []string{"-cp", filepath.Join(sdk, "*"), filepath.Join("testdata", "Absent.java"), w.url}
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), java, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		said := strings.SplitN(line, "\t", 3)
		if len(said) != 3 || said[1] != "InvalidAction" || !names(said[2], "AWS_ENDPOINT_URL_"+said[0]) {
			t.Errorf("%q, want InvalidAction with the variable of the service", said)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d services, want 5:\n%s", len(lines), out)
	}
}
