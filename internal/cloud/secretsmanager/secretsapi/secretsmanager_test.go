package secretsapi_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager/secretsapi"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

const region = "eu-west-1"

// start serves the API and returns its URL and its log.
func start(t *testing.T) (url string, log *strings.Builder) {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	log = &strings.Builder{}
	service, err := secretsapi.New(secretsapi.Config{
		Secrets: secretsmanager.New(registry.New(rows).Secrets, nil), Log: slog.New(slog.NewTextHandler(log, nil)),
		Caller: func(context.Context) (api.Caller, bool) {
			return api.Caller{Account: "123456789012", Region: region}, true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return server.URL, log
}

type m = map[string]any

// TestErrors checks the codes and texts of errors. Source of the codes: Secrets Manager API Reference. The texts
// agree with those of moto 5.2 where it has the error.
func TestErrors(t *testing.T) {
	url, log := start(t)
	client, err := awscall.New(awscall.Config{
		Region: region, Endpoint: url, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func(action string, in m) m {
		t.Helper()
		out, err := client.Call(t.Context(), "secretsmanager", action, in)
		if err != nil {
			t.Fatal(action, err)
		}
		return out
	}
	call("CreateSecret", m{"Name": "a", "SecretString": "hunter2", "Tags": []any{m{"Key": "k", "Value": "v"}}})
	call("CreateSecret", m{"Name": "empty"})
	call("CreateSecret", m{"Name": "gone", "SecretBinary": []byte("hunter2")})
	call("DeleteSecret", m{"SecretId": "gone"})
	const long = "0123456789abcdef0123456789abcdef"
	for _, of := range []struct {
		action string
		in     m
		want   string
	}{
		{"GetSecretValue", m{"SecretId": "none"}, "ResourceNotFoundException: Secrets Manager can't find the specified secret."},
		{"GetSecretValue", m{"SecretId": "empty"}, "ResourceNotFoundException: Secrets Manager can't find the specified secret value for staging label: AWSCURRENT"},
		{"GetSecretValue", m{"SecretId": "a", "VersionId": long}, "ResourceNotFoundException: Secrets Manager can't find the specified secret value for VersionId: " + long},
		{"GetSecretValue", m{"SecretId": "gone"}, "InvalidRequestException: You can't perform this operation on the secret because it was marked for deletion."},
		{"PutSecretValue", m{"SecretId": "gone", "SecretString": "hunter2"}, "InvalidRequestException: You can't perform this operation on the secret because it was marked for deletion."},
		{"CreateSecret", m{"Name": "a", "SecretString": "hunter2"}, "ResourceExistsException: The operation failed because the secret a already exists."},
		{"CreateSecret", m{"Name": "gone"}, "InvalidRequestException: You can't create this secret because a secret with this name is already scheduled for deletion."},
		{"CreateSecret", m{"Name": "a b"}, "ValidationException: Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!"},
		{"PutSecretValue", m{"SecretId": "a"}, "InvalidRequestException: You must provide either SecretString or SecretBinary."},
		{"PutSecretValue", m{"SecretId": "a", "SecretString": "hunter2", "SecretBinary": []byte("hunter2")}, "InvalidParameterException: You can't specify both a binary secret value and a string secret value in the same secret."},
		{"PutSecretValue", m{"SecretId": "a", "SecretString": "hunter2", "ClientRequestToken": "short"}, "InvalidParameterException: ClientRequestToken must be 32-64 characters long."},
		{"DeleteSecret", m{"SecretId": "a", "RecoveryWindowInDays": 6}, "InvalidParameterException: The RecoveryWindowInDays value must be between 7 and 30 days (inclusive)."},
		{"DeleteSecret", m{"SecretId": "a", "RecoveryWindowInDays": 7, "ForceDeleteWithoutRecovery": true}, "InvalidParameterException: You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays."},
		{"GetRandomPassword", m{"PasswordLength": 2}, "InvalidParameterException: Password length is too short based on the required types."},
		{"ListSecrets", m{"NextToken": "x"}, "InvalidNextTokenException: The NextToken is not one that ListSecrets returned: start again without it."},
		{"ListSecrets", m{"Filters": []any{m{"Key": "primary-region", "Values": []any{"x"}}}}, "ValidationException: This version of Pintle filters"},
		{"RotateSecret", m{"SecretId": "a"}, "UnknownOperationException: This version of Pintle answers CreateSecret, "},
	} {
		_, err := client.Call(t.Context(), "secretsmanager", of.action, of.in)
		if err == nil || !strings.Contains(err.Error(), of.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s %v:\n got %v\nwant %s", of.action, of.in, err, of.want)
		}
	}
	names := func(in m) (list []any) {
		t.Helper()
		for _, i := range call("ListSecrets", in)["SecretList"].([]any) {
			list = append(list, i.(m)["Name"])
		}
		return list
	}
	filter := func(key string, values ...any) m {
		return m{"Filters": []any{m{"Key": key, "Values": values}}, "IncludePlannedDeletion": true}
	}
	for _, of := range []struct {
		in   m
		want []any
	}{
		{nil, []any{"a", "empty"}}, {m{"IncludePlannedDeletion": true}, []any{"a", "empty", "gone"}}, {m{"MaxResults": 1}, []any{"a"}},
		{filter("name", "e", "g"), []any{"empty", "gone"}}, {filter("name", "!a"), []any{"empty", "gone"}}, {filter("tag-key", "k"), []any{"a"}},
	} {
		if diff := cmp.Diff(of.want, names(of.in)); diff != "" {
			t.Errorf("%v: %s", of.in, diff)
		}
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log has a secret: %s", log)
	}
}

const script = `
import boto3
sm = boto3.client("secretsmanager")
made = sm.create_secret(Name="app/db", Description="d", SecretString='{"password": "one"}', Tags=[{"Key": "a", "Value": "b"}])
assert made["ARN"].startswith("arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-") and len(made["ARN"].rsplit("-", 1)[1]) == 6, made
got = sm.get_secret_value(SecretId="app/db")
assert (got["SecretString"], got["VersionStages"], got["VersionId"], got["ARN"]) == ('{"password": "one"}', ["AWSCURRENT"], made["VersionId"], made["ARN"]), got
assert got["CreatedDate"].year >= 2020
put = sm.put_secret_value(SecretId=made["ARN"], SecretString="two")
assert put["VersionStages"] == ["AWSCURRENT"], put
assert sm.get_secret_value(SecretId=made["ARN"][:-7], VersionStage="AWSPREVIOUS")["SecretString"] == '{"password": "one"}'
updated = sm.update_secret(SecretId="app/db", Description="e", SecretString="three")
described = sm.describe_secret(SecretId="app/db")
assert described["Description"] == "e" and described["Tags"] == [{"Key": "a", "Value": "b"}], described
assert described["VersionIdsToStages"] == {updated["VersionId"]: ["AWSCURRENT"], put["VersionId"]: ["AWSPREVIOUS"]}, described
assert "two" not in str(described) and "three" not in str(described)
assert len(sm.list_secret_version_ids(SecretId="app/db", IncludeDeprecated=True)["Versions"]) == 3
assert len(sm.list_secret_version_ids(SecretId="app/db")["Versions"]) == 2
sm.tag_resource(SecretId="app/db", Tags=[{"Key": "c", "Value": "d"}])
sm.untag_resource(SecretId="app/db", TagKeys=["a"])
assert sm.describe_secret(SecretId="app/db")["Tags"] == [{"Key": "c", "Value": "d"}]
for i in range(5):
    sm.create_secret(Name=f"list/{i}", SecretBinary=b"\x00\x01")
pages = sm.get_paginator("list_secrets").paginate(PaginationConfig={"PageSize": 2})
names = [s["Name"] for page in pages for s in page["SecretList"]]
assert names == ["app/db"] + [f"list/{i}" for i in range(5)], names
assert sm.get_secret_value(SecretId="list/0")["SecretBinary"] == b"\x00\x01"
assert len(sm.get_random_password(PasswordLength=20, ExcludePunctuation=True)["RandomPassword"]) == 20
gone = sm.delete_secret(SecretId="app/db", RecoveryWindowInDays=7)
assert 6 <= (gone["DeletionDate"] - described["CreatedDate"]).days <= 7, gone
try:
    sm.get_secret_value(SecretId="app/db")
    assert False
except sm.exceptions.InvalidRequestException:
    pass
sm.restore_secret(SecretId="app/db")
assert sm.get_secret_value(SecretId="app/db")["SecretString"] == "three"
sm.delete_secret(SecretId="app/db", ForceDeleteWithoutRecovery=True)
try:
    sm.describe_secret(SecretId="app/db")
    assert False
except sm.exceptions.ResourceNotFoundException:
    print("done")
`

func environment(url string) []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL_SECRETS_MANAGER="+url, "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET",
		"AWS_DEFAULT_REGION="+region, "AWS_EC2_METADATA_DISABLED=true")
}

func TestBoto3(t *testing.T) {
	python := require.Python(t, "boto3")
	url, _ := start(t)
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Env = environment(url)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "done\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAWSCLI(t *testing.T) {
	tool := require.Tool(t, "aws")
	url, _ := start(t)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tool, append([]string{"secretsmanager"}, args...)...)
		cmd.Env = environment(url)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("aws secretsmanager %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("create-secret", "--name", "s", "--secret-string", "one")
	run("put-secret-value", "--secret-id", "s", "--secret-string", "two")
	if got := run("get-secret-value", "--secret-id", "s", "--version-stage", "AWSPREVIOUS", "--query", "SecretString", "--output", "text"); got != "one" {
		t.Errorf("the secret is %s", got)
	}
	run("delete-secret", "--secret-id", "s", "--force-delete-without-recovery")
	if got := run("list-secrets", "--query", "SecretList", "--output", "json"); got != "[]" {
		t.Errorf("the secrets are %s", got)
	}
}
