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

// TestMoto makes the AWS calls of the CDK's documentation against moto, a stand-in that keeps what it is told, and looks at what it
// holds then. The scripts share one; each has names of its own. They have one more command:
//
//	moto [-as ROLE] SERVICE ACTION PARAMS [PATH WANT]
//
// calls an action with parameters in JSON and wants it to succeed, and the value at the path of its flattened result to be the
// wanted one. The path "error" is the code of a call that fails. Negated, it wants another value.
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
