package lambdaapi_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/lambda/lambdaapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

const arn = "arn:aws:lambda:us-east-1:000000000000:function:"

// newServer returns the URL of an API.
func newServer(t *testing.T) string {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var f *lambda.Functions
	runtime, err := local.New(local.Config{
		Done: func(id string, o local.Outcome) { f.Done(id, o) }, CacheDir: dir, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err = lambda.New(lambda.Config{
		Catalog: registry.New(rows), Runtime: runtime, CodeDir: filepath.Join(dir, "code"), CacheDir: filepath.Join(dir, "unpacked"),
		Now: func() time.Time { return time.Date(2026, 11, 22, 1, 2, 3, 4e6, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		runtime.Close()
		f.Close()
	})
	face, err := lambdaapi.New(lambdaapi.Config{Functions: f, Caller: func(ctx context.Context) (api.Caller, bool) {
		id, ok := sigv4.FromContext(ctx)
		return api.Caller{Account: id.Account, Region: id.Region}, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := sigv4.New(sigv4.Config{Dev: true, MaxBody: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := verifier.Verify(r)
		if err != nil {
			t.Error(err)
		}
		face.ServeHTTP(w, r.WithContext(sigv4.WithIdentity(r.Context(), id)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func newClient(t *testing.T) *sdk.Client {
	return sdk.New(sdk.Options{
		BaseEndpoint: aws.String(newServer(t)), Region: "us-east-1", RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
	})
}

func pack(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const echo = "exports.handler = async (e) => { console.log('here'); if (e.fail) throw new Error('no'); return {e, V: process.env.V1} }"

// TestLife tests the life cycle of a function with the SDK for Go.
func TestLife(t *testing.T) {
	require.Tool(t, "node")
	c := newClient(t)
	ctx := t.Context()
	created, err := c.CreateFunction(ctx, &sdk.CreateFunctionInput{
		FunctionName: aws.String("f"), Runtime: types.RuntimeNodejs22x, Role: aws.String("arn:aws:iam::000000000000:role/r"),
		Handler: aws.String("index.handler"), Code: &types.FunctionCode{ZipFile: pack(t, "index.js", echo)}, Timeout: aws.Int32(30),
		Environment: &types.Environment{Variables: map[string]string{"V1": "a"}}, Tags: map[string]string{"k": "v"},
		LoggingConfig: &types.LoggingConfig{LogFormat: types.LogFormatJson, ApplicationLogLevel: types.ApplicationLogLevelError},
	})
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		Name, ARN, Runtime, Handler, Version, State, Modified, Format string
		Timeout, Memory                                               int32
		Variables                                                     map[string]string
	}
	want := short{"f", arn + "f", "nodejs22.x", "index.handler", "$LATEST", "Active", "2026-11-22T01:02:03.004+0000", "JSON", 30, 128, map[string]string{"V1": "a"}}
	if diff := cmp.Diff(want, short{
		*created.FunctionName, *created.FunctionArn, string(created.Runtime), *created.Handler, *created.Version, string(created.State),
		*created.LastModified, string(created.LoggingConfig.LogFormat), *created.Timeout, *created.MemorySize, created.Environment.Variables,
	}); diff != "" {
		t.Error(diff)
	}

	invoke := func(in sdk.InvokeInput) *sdk.InvokeOutput {
		t.Helper()
		if in.FunctionName == nil {
			in.FunctionName = aws.String("f")
		}
		out, err := c.Invoke(ctx, &in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := invoke(sdk.InvokeInput{Payload: []byte(`{"a":1}`), LogType: types.LogTypeTail})
	log, err := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult))
	if err != nil || out.StatusCode != 200 || out.FunctionError != nil || *out.ExecutedVersion != "$LATEST" || string(out.Payload) != `{"e":{"a":1},"V":"a"}` ||
		!strings.HasPrefix(string(log), "START RequestId: ") {
		t.Errorf("%+v %v", out, err)
	}
	out = invoke(sdk.InvokeInput{FunctionName: aws.String(arn + "f"), Payload: []byte(`{"fail":1}`)})
	if *out.FunctionError != "Unhandled" || out.LogResult != nil || !strings.HasPrefix(string(out.Payload), `{"errorType":"Error","errorMessage":"no","trace":[`) {
		t.Errorf("%+v %s", out, out.Payload)
	}
	if out := invoke(sdk.InvokeInput{InvocationType: types.InvocationTypeEvent}); out.StatusCode != 202 || len(out.Payload) != 0 {
		t.Errorf("%+v", out)
	}
	if out := invoke(sdk.InvokeInput{InvocationType: types.InvocationTypeDryRun}); out.StatusCode != 204 {
		t.Errorf("%+v", out)
	}

	if err := sdk.NewFunctionActiveV2Waiter(c).Wait(ctx, &sdk.GetFunctionInput{FunctionName: aws.String("f")}, time.Second); err != nil {
		t.Error(err)
	}
	got, err := c.GetFunction(ctx, &sdk.GetFunctionInput{FunctionName: aws.String("f"), Qualifier: aws.String("$LATEST")})
	if err != nil || *got.Configuration.FunctionArn != arn+"f:$LATEST" || got.Tags["k"] != "v" || *got.Code.RepositoryType != "S3" {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := c.UpdateFunctionConfiguration(ctx, &sdk.UpdateFunctionConfigurationInput{
		FunctionName: aws.String("f"), MemorySize: aws.Int32(256), Environment: &types.Environment{Variables: map[string]string{"V1": "b"}},
		RevisionId: created.RevisionId,
	}); err != nil {
		t.Fatal(err)
	}
	_, err = c.UpdateFunctionConfiguration(ctx, &sdk.UpdateFunctionConfigurationInput{FunctionName: aws.String("f"), RevisionId: created.RevisionId})
	if _, ok := errors.AsType[*types.PreconditionFailedException](err); !ok {
		t.Errorf("an old revision: %v", err)
	}
	updated, err := c.UpdateFunctionCode(ctx, &sdk.UpdateFunctionCodeInput{
		FunctionName: aws.String("f"), ZipFile: pack(t, "index.js", "exports.handler = async () => process.env.V1 + process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), Publish: true,
	})
	if err != nil || *updated.Version != "1" || *updated.FunctionArn != arn+"f:1" || *updated.CodeSha256 == *created.CodeSha256 {
		t.Fatalf("%+v %v", updated, err)
	}
	if out := invoke(sdk.InvokeInput{Qualifier: aws.String("1")}); string(out.Payload) != `"b256"` || *out.ExecutedVersion != "1" {
		t.Errorf("%+v %s", out, out.Payload)
	}
	version, err := c.PublishVersion(ctx, &sdk.PublishVersionInput{FunctionName: aws.String("f")})
	if err != nil || *version.Version != "1" {
		t.Errorf("%+v %v", version, err)
	}
	versions, err := c.ListVersionsByFunction(ctx, &sdk.ListVersionsByFunctionInput{FunctionName: aws.String("f")})
	if err != nil || len(versions.Versions) != 2 {
		t.Errorf("%+v %v", versions, err)
	}
	if _, err := c.PutFunctionConcurrency(ctx, &sdk.PutFunctionConcurrencyInput{FunctionName: aws.String("f"), ReservedConcurrentExecutions: aws.Int32(0)}); err != nil {
		t.Error(err)
	}
	_, err = c.Invoke(ctx, &sdk.InvokeInput{FunctionName: aws.String("f")})
	if many, ok := errors.AsType[*types.TooManyRequestsException](err); !ok || many.Reason != types.ThrottleReasonReservedFunctionConcurrentInvocationLimitExceeded {
		t.Errorf("nothing may run: %v", err)
	}
	if _, err := c.DeleteFunctionConcurrency(ctx, &sdk.DeleteFunctionConcurrencyInput{FunctionName: aws.String("f")}); err != nil {
		t.Error(err)
	}

	for _, id := range []string{"s1", "s2"} {
		added, err := c.AddPermission(ctx, &sdk.AddPermissionInput{
			FunctionName: aws.String("f"), StatementId: aws.String(id), Action: aws.String("lambda:InvokeFunction"), Principal: aws.String("sns.amazonaws.com"),
			SourceArn: aws.String("arn:aws:sns:us-east-1:000000000000:t"),
		})
		if err != nil || *added.Statement != `{"Action":"lambda:InvokeFunction","Condition":{"ArnLike":{"AWS:SourceArn":"arn:aws:sns:us-east-1:000000000000:t"}},`+
			`"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Resource":"`+arn+`f","Sid":"`+id+`"}` {
			t.Errorf("%v %v", added, err)
		}
	}
	policy, err := c.GetPolicy(ctx, &sdk.GetPolicyInput{FunctionName: aws.String("f")})
	if err != nil || strings.Count(*policy.Policy, `"Sid"`) != 2 {
		t.Errorf("%+v %v", policy, err)
	}
	if _, err := c.RemovePermission(ctx, &sdk.RemovePermissionInput{FunctionName: aws.String("f"), StatementId: aws.String("s1")}); err != nil {
		t.Error(err)
	}
	if _, err := c.DeleteFunction(ctx, &sdk.DeleteFunctionInput{FunctionName: aws.String("f")}); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListFunctions(ctx, &sdk.ListFunctionsInput{FunctionVersion: types.FunctionVersionAll})
	if err != nil || len(list.Functions) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := c.GetPolicy(ctx, &sdk.GetPolicyInput{FunctionName: aws.String("f")}); err == nil {
		t.Error("the policy is still there")
	}
}

func TestErrors(t *testing.T) {
	c := newClient(t)
	ctx := t.Context()
	create := func(change func(*sdk.CreateFunctionInput)) error {
		in := &sdk.CreateFunctionInput{
			FunctionName: aws.String("f"), Runtime: types.RuntimeNodejs22x, Role: aws.String("r"), Handler: aws.String("index.handler"),
			Code: &types.FunctionCode{ZipFile: pack(t, "index.js", "")},
		}
		change(in)
		_, err := c.CreateFunction(ctx, in)
		return err
	}
	if err := create(func(*sdk.CreateFunctionInput) {}); err != nil {
		t.Fatal(err)
	}
	name := aws.String("none")
	for text, call := range map[string]func() error{
		"ResourceNotFoundException 404: Function not found: " + arn + "none": func() error {
			_, err := c.Invoke(ctx, &sdk.InvokeInput{FunctionName: name})
			return err
		},
		"ResourceNotFoundException 404: Function not found: " + arn + "none:7": func() error {
			_, err := c.GetFunctionConfiguration(ctx, &sdk.GetFunctionConfigurationInput{FunctionName: name, Qualifier: aws.String("7")})
			return err
		},
		"ResourceConflictException 409: Function already exist: f": func() error { return create(func(*sdk.CreateFunctionInput) {}) },
		"InvalidParameterValueException 400: " + lambda.NoImages: func() error {
			return create(func(in *sdk.CreateFunctionInput) { in.PackageType = types.PackageTypeImage })
		},
		"ValidationException 400: 1 validation error detected: Value '0' at 'timeout' failed to satisfy constraint: Member must have value greater than or equal to 1": func() error {
			return create(func(in *sdk.CreateFunctionInput) { in.Timeout = aws.Int32(0) })
		},
		"InvalidRequestContentException 400: Could not parse request body into json: Could not parse payload into json": func() error {
			_, err := c.Invoke(ctx, &sdk.InvokeInput{FunctionName: aws.String("f"), Payload: []byte("{")})
			return err
		},
		"RequestTooLargeException 413: 6291457 byte payload is too large for the RequestResponse invocation type (limit 6291456 bytes)": func() error {
			_, err := c.Invoke(ctx, &sdk.InvokeInput{FunctionName: aws.String("f"), Payload: bytes.Repeat([]byte("1"), 6<<20+1)})
			return err
		},
		"RequestTooLargeException 413: 1048577 byte payload is too large for the Event invocation type (limit 1048576 bytes)": func() error {
			_, err := c.Invoke(ctx, &sdk.InvokeInput{FunctionName: aws.String("f"), InvocationType: "Event", Payload: bytes.Repeat([]byte("1"), 1<<20+1)})
			return err
		},
		"ResourceNotFoundException 404: Statement s is not found in resource policy.": func() error {
			_, err := c.RemovePermission(ctx, &sdk.RemovePermissionInput{FunctionName: aws.String("f"), StatementId: aws.String("s")})
			return err
		},
		"ResourceNotFoundException 404: The resource you requested does not exist.": func() error {
			_, err := c.GetLayerVersionByArn(ctx, &sdk.GetLayerVersionByArnInput{Arn: aws.String("arn:aws:lambda:us-east-1:000000000000:layer:l:1")})
			return err
		},
		"UnknownOperationException 404: The local Lambda API does not support GET /2016-08-19/account-settings. AWS_ENDPOINT_URL_LAMBDA of the server's environment names one that does.": func() error {
			_, err := c.GetAccountSettings(ctx, &sdk.GetAccountSettingsInput{})
			return err
		},
	} {
		err := call()
		reported, known := errors.AsType[smithy.APIError](err)
		status, answered := errors.AsType[*smithyhttp.ResponseError](err)
		if !known || !answered {
			t.Errorf("%v, want %s", err, text)
			continue
		}
		got := fmt.Sprintf("%s %d: %s", reported.ErrorCode(), status.HTTPStatusCode(), reported.ErrorMessage())
		if diff := cmp.Diff(text, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLayers(t *testing.T) {
	require.Tool(t, "node")
	c := newClient(t)
	ctx := t.Context()
	published, err := c.PublishLayerVersion(ctx, &sdk.PublishLayerVersionInput{
		LayerName: aws.String("l"), Content: &types.LayerVersionContentInput{ZipFile: pack(t, "nodejs/node_modules/m/index.js", "exports.x = 'layer'")},
		CompatibleRuntimes: []types.Runtime{types.RuntimeNodejs22x},
	})
	if err != nil || *published.LayerVersionArn != "arn:aws:lambda:us-east-1:000000000000:layer:l:1" || published.Version != 1 {
		t.Fatalf("%+v %v", published, err)
	}
	created, err := c.CreateFunction(ctx, &sdk.CreateFunctionInput{
		FunctionName: aws.String("f"), Runtime: types.RuntimeNodejs22x, Role: aws.String("r"), Handler: aws.String("index.handler"),
		Code: &types.FunctionCode{ZipFile: pack(t, "index.js", "exports.handler = async () => require('m').x")}, Layers: []string{*published.LayerVersionArn},
	})
	if err != nil || len(created.Layers) != 1 || *created.Layers[0].Arn != *published.LayerVersionArn {
		t.Fatalf("%+v %v", created, err)
	}
	if out, err := c.Invoke(ctx, &sdk.InvokeInput{FunctionName: aws.String("f")}); err != nil || string(out.Payload) != `"layer"` {
		t.Errorf("%+v %v", out, err)
	}
	got, err := c.GetLayerVersion(ctx, &sdk.GetLayerVersionInput{LayerName: aws.String("l"), VersionNumber: aws.Int64(1)})
	if err != nil || *got.Content.CodeSha256 != *published.Content.CodeSha256 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := c.DeleteLayerVersion(ctx, &sdk.DeleteLayerVersionInput{LayerName: aws.String("l"), VersionNumber: aws.Int64(1)}); err != nil {
		t.Error(err)
	}
	if out, err := c.Invoke(ctx, &sdk.InvokeInput{FunctionName: aws.String("f")}); err != nil || string(out.Payload) != `"layer"` {
		t.Errorf("without the layer: %+v %v", out, err)
	}
}

// TestCLI tests the AWS CLI, which uses another SDK.
func TestCLI(t *testing.T) {
	tool := require.Tool(t, "aws")
	require.Tool(t, "python3")
	url, dir := newServer(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.zip"), pack(t, "index.py", "def handler(event, context): return event"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.json"), []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tool, append([]string{"lambda", "--endpoint-url", url, "--region", "us-east-1", "--output", "text"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_PAGER=", "AWS_CONFIG_FILE=/dev/null", "AWS_MAX_ATTEMPTS=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "failed: " + strings.TrimSpace(string(out))
		}
		return strings.TrimSpace(string(out))
	}
	if got := run("create-function", "--function-name", "f", "--runtime", "python3.13", "--handler", "index.handler", "--role",
		"arn:aws:iam::000000000000:role/r", "--zip-file", "fileb://f.zip", "--query", "FunctionArn"); got != arn+"f" {
		t.Fatal(got)
	}
	if got := run("invoke", "--function-name", "f", "--payload", "fileb://in.json", "--query", "StatusCode", "out.json"); got != "200" {
		t.Error(got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "out.json")); err != nil || string(text) != `{"a": 1}` {
		t.Errorf("%s %v", text, err)
	}
	if got := run("wait", "function-active-v2", "--function-name", "f"); got != "" {
		t.Error(got)
	}
	if got := run("list-functions", "--query", "Functions[].FunctionName"); got != "f" {
		t.Error(got)
	}
	if got := run("delete-function", "--function-name", "f"); strings.HasPrefix(got, "failed") {
		t.Error(got)
	}
	want := "(ResourceNotFoundException) when calling the GetFunction operation: Function not found: " + arn + "f"
	if got := run("get-function", "--function-name", "f"); !strings.Contains(got, want) {
		t.Error(got)
	}
}

// TestLayersOfAnotherAccount checks that layers of another account cannot be read or removed.
func TestLayersOfAnotherAccount(t *testing.T) {
	c := newClient(t)
	ctx := t.Context()
	theirs := aws.String("arn:aws:lambda:us-east-1:222222222222:layer:l")
	_, got := c.GetLayerVersion(ctx, &sdk.GetLayerVersionInput{LayerName: theirs, VersionNumber: aws.Int64(1)})
	_, gotByARN := c.GetLayerVersionByArn(ctx, &sdk.GetLayerVersionByArnInput{Arn: aws.String(*theirs + ":1")})
	_, deleted := c.DeleteLayerVersion(ctx, &sdk.DeleteLayerVersionInput{LayerName: theirs, VersionNumber: aws.Int64(1)})
	for what, err := range map[string]error{"get": got, "get by ARN": gotByARN, "delete": deleted} {
		var reported smithy.APIError
		if !errors.As(err, &reported) || reported.ErrorCode() != "AccessDeniedException" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
