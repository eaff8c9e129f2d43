package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/mototest"
)

// TestMoto makes the AWS calls of the CDK's documentation against moto, a stateful stand-in, and checks its state
// afterwards. The scripts share one moto; each uses its own names. They have an additional command:
//
//	moto [-as ROLE] SERVICE ACTION PARAMS [PATH WANT]
//
// calls an action with parameters in JSON. The call must succeed, and the value at PATH of the flattened result must be
// WANT. The path "error" is the error code of a failed call. Negated, the value must differ.
func TestMoto(t *testing.T) {
	url := mototest.New(t)
	runScriptsIn(t, filepath.Join("testdata", "moto"), func(env *testscript.Env) {
		env.Setenv("AWS_ENDPOINT_URL", url)
		env.Setenv("AWS_ACCESS_KEY_ID", "OWN")
		env.Setenv("AWS_SECRET_ACCESS_KEY", "own-secret-key")
		env.Setenv("AWS_REGION", "eu-west-1")
	})
}

func askMoto(ts *testscript.TestScript, neg bool, args []string) {
	role := ""
	if len(args) > 2 && args[0] == "-as" {
		role, args = args[1], args[2:]
	}
	if len(args) != 3 && len(args) != 5 || neg && len(args) == 3 {
		ts.Fatalf("usage: moto [-as ROLE] SERVICE ACTION PARAMS [PATH WANT]")
	}
	var params map[string]any
	ts.Check(json.Unmarshal([]byte(args[2]), &params))
	client, err := awscall.New(awscall.Config{Region: ts.Getenv("AWS_REGION"), Endpoint: ts.Getenv("AWS_ENDPOINT_URL"),
		Credentials: credentials.NewStaticCredentialsProvider("OWN", "own-secret-key", "")})
	ts.Check(err)
	if role != "" {
		client, err = assume(client, role)
		ts.Check(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := client.Call(ctx, args[0], args[1], params)
	flat := awscall.Flatten(out)
	var failed *awscall.Error
	if wanted := len(args) == 5 && args[3] == "error"; wanted && errors.As(err, &failed) {
		flat["error"] = failed.Code
	} else {
		ts.Check(err)
	}
	if len(args) == 3 {
		return
	}
	got := ""
	if v := flat[args[3]]; v != nil {
		got = fmt.Sprint(v)
	}
	if (got == args[4]) == neg {
		ts.Fatalf("%s %s: %s is %q, want %q (negated: %t); it has %v", args[0], args[1], args[3], got, args[4], neg, flat)
	}
}

// assume returns a client in the role's account.
func assume(client *awscall.Client, role string) (*awscall.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := client.Call(ctx, "sts", "AssumeRole", map[string]any{"RoleArn": role, "RoleSessionName": "test"})
	if err != nil {
		return nil, err
	}
	flat := awscall.Flatten(out)
	text := func(name string) string { return fmt.Sprint(flat["Credentials."+name]) }
	return client.WithCredentials(credentials.NewStaticCredentialsProvider(text("AccessKeyId"), text("SecretAccessKey"), text("SessionToken"))), nil
}
