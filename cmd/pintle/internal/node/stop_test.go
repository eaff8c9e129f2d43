package node_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
)

// TestFunctionsOutliveDrain checks that functions stay callable while a stopping node waits for deliveries in flight. Otherwise the
// processes would report failures that are none.
func TestFunctionsOutliveDrain(t *testing.T) {
	arrived, answer := make(chan struct{}, 1), make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-answer
	}))
	defer provider.Close()
	defer release()
	dir := t.TempDir()
	n, stop := start(t, node.Config{Lock: acquire(t, dir), Role: node.Server, AllowPrivate: true, Cloud: true})
	keys := credentials.NewStaticCredentialsProvider(n.Record().Owner.ID, n.Record().Owner.Secret, "")
	functions := lambda.New(lambda.Options{
		BaseEndpoint: aws.String(n.Record().URL), Region: "us-east-1", Credentials: keys, RetryMaxAttempts: 1,
	})
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	if _, err := archive.Create("index.js"); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := functions.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: aws.String("f"), Runtime: types.RuntimeNodejs22x, Handler: aws.String("index.handler"),
		Role: aws.String("arn:aws:iam::000000000000:role/r"), Code: &types.FunctionCode{ZipFile: code.Bytes()},
	}); err != nil {
		t.Fatal(err)
	}
	stacks := cloudformation.New(cloudformation.Options{BaseEndpoint: aws.String(n.Record().URL), Region: "us-east-1", Credentials: keys})
	template := fmt.Sprintf(`{"Resources": {"R": {"Type": "Custom::R", "Properties": {"ServiceToken": %q}}}}`, provider.URL)
	if _, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: &template}); err != nil {
		t.Fatal(err)
	}
	<-arrived
	var stopped sync.WaitGroup
	stopped.Go(stop)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(filepath.Join(dir, "engine.json")); err != nil {
			break // it stops: no one is to find it any more
		}
	}
	for range 3 {
		if _, err := functions.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("f"), InvocationType: types.InvocationTypeEvent}); err != nil {
			t.Error(err)
		}
	}
	release()
	stopped.Wait()
}
