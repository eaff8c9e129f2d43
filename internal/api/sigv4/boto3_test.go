package sigv4_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

const botoScript = `
import boto3, botocore.config, botocore.exceptions, botocore.parsers, sys
def client(service):
    return boto3.client(service, endpoint_url=sys.argv[1], region_name="eu-west-1",
        aws_access_key_id=sys.argv[2], aws_secret_access_key=sys.argv[3],
        config=botocore.config.Config(proxies={}, retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}))
def call(f, **args):
    try:
        f(**args)
    except (botocore.exceptions.ClientError, botocore.parsers.ResponseParserError):
        pass # the server answers with nothing; what it found is checked there
call(client("cloudformation").list_stacks, StackStatusFilter=["CREATE_COMPLETE"])
call(client("sts").get_caller_identity)
call(client("lambda").invoke, FunctionName="arn:aws:lambda:eu-west-1:123456789012:function:f", Payload=b"{}")
call(client("lambda").list_functions, Marker="a/b c+d~")
call(client("s3").put_object, Bucket="bucket", Key="a b/../c//\u00e9:+~", Body=b"object")
call(client("s3").list_objects_v2, Bucket="bucket", Prefix="a b/+")
`

func TestVerifyBoto3(t *testing.T) {
	python := require.Python(t, "boto3")
	type seen struct {
		Service string
		Err     string
	}
	var mu sync.Mutex
	var got []seen
	v, err := sigv4.New(sigv4.Config{Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id, err := v.Verify(r)
		if _, readErr := io.Copy(io.Discard, r.Body); err == nil {
			err = readErr
		}
		mu.Lock()
		defer mu.Unlock()
		s := seen{Service: id.Service}
		if err != nil {
			s.Err = r.RequestURI + ": " + err.Error()
		}
		got = append(got, s)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", botoScript, server.URL, keyID, secret)
	cmd.Env = append(os.Environ(), "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1")
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []seen{{Service: "cloudformation"}, {Service: "sts"}, {Service: "lambda"}, {Service: "lambda"}, {Service: "s3"}, {Service: "s3"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
