//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/pintle-dev/pintle/awscall"
)

// candidate is a program that makes calls.
type candidate struct {
	name    string
	command []string
	env     []string
	events  bool // a function that gets events; otherwise it makes the call and exits
	warm    bool // it honours callsVariable, to make several calls
}

// callsVariable makes this program make that many calls, after warmVariable calls to warm up. It prints the
// microseconds per call and its memory.
const (
	callsVariable = "CALLCOST_CALLS"
	warmVariable  = "CALLCOST_WARM"
)

const botoCalls = `
import os, time, boto3
ssm = boto3.client("ssm")
def calls(n):
    for _ in range(n):
        assert ssm.get_parameter(Name="/a", WithDecryption=True)["Parameter"]["Value"] == "value"
calls(int(os.environ["CALLCOST_WARM"]))
began = time.perf_counter()
n = int(os.environ["CALLCOST_CALLS"])
calls(n)
print((time.perf_counter() - began) * 1e6 / n)
`

// find returns the candidates. The others are compared with the first.
func find(ctx context.Context, root, tmp, cdk, function string, s *stage) ([]*candidate, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	node, err := output(ctx, "node", "-p", "process.execPath")
	if err != nil {
		return nil, err
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "AWS_ENDPOINT_URL=" + s.url, "AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(s.url, "http://"),
		"AWS_REGION=eu-west-1", "AWS_DEFAULT_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true", "ALLOW=all"}
	found := []*candidate{
		{name: "this provider, as a function", command: []string{function}, env: env, events: true},
		{name: "the CDK's handler, under Node", command: []string{node, filepath.Join(root, "tools/cdk/runtime.js"), cdk}, env: env, events: true},
		{name: "a program with `awscall`", command: []string{self}, env: env, warm: true},
	}
	// Measure Python itself, without a launcher that first looks for the right version.
	python, err := output(ctx, "python3", "-c", "import sys, boto3; print(sys.executable)")
	if err != nil {
		fmt.Fprintln(os.Stderr, "callcost: without boto3 and the AWS CLI:", err)
		return found, nil
	}
	found = append(found, &candidate{name: "boto3", command: []string{python, "-c", botoCalls}, env: env, warm: true})
	cli := filepath.Join(filepath.Dir(python), "aws")
	if _, err := os.Stat(cli); err != nil {
		fmt.Fprintln(os.Stderr, "callcost: without the AWS CLI:", err)
		return found, nil
	}
	return append(found, &candidate{name: "`aws ssm get-parameter`", command: []string{cli, "ssm", "get-parameter", "--name", "/a", "--with-decryption"}, env: env}), nil
}

// makeCalls makes the calls when this program is a candidate.
func makeCalls(ctx context.Context) error {
	client, err := awscall.New(awscall.Config{Region: os.Getenv("AWS_REGION"), Endpoint: os.Getenv("AWS_ENDPOINT_URL"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}, nil
		})})
	if err != nil {
		return err
	}
	calls := func(n int) error {
		for range n {
			out, err := client.Call(ctx, "SSM", "getParameter", map[string]any{"Name": "/a", "WithDecryption": true})
			if err != nil {
				return err
			}
			if awscall.Flatten(out)["Parameter.Value"] != "value" {
				return errors.New("the result is another")
			}
		}
		return nil
	}
	n, err := strconv.Atoi(os.Getenv(callsVariable))
	if err != nil {
		return err
	}
	warm, err := strconv.Atoi(os.Getenv(warmVariable))
	if err != nil {
		return err
	}
	if err := calls(warm); err != nil {
		return err
	}
	began := time.Now()
	if err := calls(n); err != nil {
		return err
	}
	fmt.Println(float64(time.Since(began).Microseconds())/float64(n), peak("self"))
	return nil
}
