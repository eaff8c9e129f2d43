package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/pintle-dev/pintle/internal/base/trace"
)

// A client's trace continues in the work that its call causes: at providers, in the log and in the audit log. A client
// without a trace gets one.
func TestTraceFromTheCallToTheProvider(t *testing.T) {
	asked := make(chan string, 10)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var document struct{ RequestType, LogicalResourceId string }
		if err := json.NewDecoder(r.Body).Decode(&document); err != nil {
			t.Error(err)
		}
		asked <- document.RequestType + " " + document.LogicalResourceId + " " + r.Header.Get("traceparent")
		fmt.Fprint(w, `{"Status": "SUCCESS", "PhysicalResourceId": "thing"}`)
	}))
	t.Cleanup(provider.Close)
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.log")
	server := serve(t, filepath.Join(dir, "data"), "--audit-log", log)
	client, parent := server.client(), trace.New()
	_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("s"), Capabilities: []types.Capability{types.CapabilityCapabilityIam},
		TemplateBody: aws.String(fmt.Sprintf(`{"Resources": {"Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": %q}}}}`, provider.URL)),
	}, func(o *cloudformation.Options) {
		o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("Traceparent", string(parent)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := <-asked, "Create Thing "+string(parent); got != want {
		t.Errorf("the provider was asked %q, want %q", got, want)
	}
	if status := server.settled("s"); status != types.StackStatusCreateComplete {
		t.Fatal(status)
	}
	if _, err := client.DeleteStack(context.WithoutCancel(t.Context()), &cloudformation.DeleteStackInput{StackName: aws.String("s")}); err != nil {
		t.Fatal(err)
	}
	got := <-asked
	own := trace.Parse(strings.TrimPrefix(got, "Delete Thing "))
	if own == "" || own.ID() == parent.ID() {
		t.Errorf("the provider was asked %q, want a trace of its own", got)
	}
	server.until("the log has the traces", func() bool {
		text := server.output()
		return strings.Contains(text, "trace="+parent.ID()) && strings.Contains(text, "trace="+own.ID())
	})
	text, err := os.ReadFile(log)
	if err != nil || strings.Count(string(text), `"trace":"`+parent.ID()+`"`) != 1 || strings.Count(string(text), `"trace":"`+own.ID()+`"`) != 1 {
		t.Errorf("the audit log is %s, error %v", text, err)
	}
}
