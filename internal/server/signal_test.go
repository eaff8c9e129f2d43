package server_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const waits = `{"Resources": {
	"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
	"Wait": {"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": {"Ref": "Handle"}, "Timeout": 600, "Count": 2}}},
	"Outputs": {"URL": {"Value": {"Ref": "Handle"}}, "Data": {"Value": {"Fn::GetAtt": ["Wait", "Data"]}}}}`

// provide serves the native types like package delivery.
func (w *world) provide() {
	w.t.Helper()
	for {
		w.mu.Lock()
		inbox := w.inbox
		w.inbox = nil
		w.mu.Unlock()
		if len(inbox) == 0 {
			return
		}
		for _, r := range inbox {
			result, err := w.types.Serve(w.t.Context(), &r)
			w.must(err)
			var outcome delivery.Outcome = delivery.Provided{Result: result}
			if r.Type == wire.Create && r.Body.Await != nil {
				outcome = delivery.Awaiting{Result: result}
			}
			w.must(w.engine.Report(w.t.Context(), r.ID, reported(outcome)))
		}
	}
}

// TestSignals checks that a handle's URL only accepts signals. Every caller that can describe the stack can read this
// URL.
func TestSignals(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.client().CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("waits"), TemplateBody: aws.String(waits)})
	w.must(err)
	w.provide()
	detail, err := w.client().DescribeStackResource(t.Context(), &cloudformation.DescribeStackResourceInput{
		StackName: aws.String("waits"), LogicalResourceId: aws.String("Handle"),
	})
	w.must(err)
	url := *detail.StackResourceDetail.PhysicalResourceId
	good := func(id string) string { return `{"Status": "SUCCESS", "UniqueId": "` + id + `", "Data": "d"}` }

	stack, err := w.engine.Find(t.Context(), engine.Ref{Account: "000000000000", Region: region, Stack: "waits"})
	w.must(err)
	instances, err := w.store.Instances(t.Context(), stack.Key)
	w.must(err)
	made := store.Request{ID: instances[0].Body.AnsweredBy, Logical: "Handle", Body: &store.RequestBody{StackID: stack.ID}}
	answerURL := w.responseURL(made)
	for _, test := range []struct {
		name, method, url, body string
		status                  int
		says                    string
	}{
		{"signature of another handle", http.MethodPut, url[:len(url)-8] + "00000000", good("a"), 403, "SignatureDoesNotMatch"},
		{"a response URL", http.MethodPut, strings.Replace(answerURL, "/response/", "/signal/", 1), good("a"), 403, "SignatureDoesNotMatch"},
		{"as a response URL", http.MethodPut, strings.Replace(url, "/signal/", "/response/", 1), good("a"), 403, "SignatureDoesNotMatch"},
		{"another method", http.MethodPost, url, good("a"), 405, "MethodNotAllowed"},
		{"garbage", http.MethodPut, url, "SUCCESS", 400, "must be a JSON object"},
		{"too long", http.MethodPut, url, good("a") + strings.Repeat(" ", 1<<20), 400, "longer than 16384 bytes"},
		{"the longest", http.MethodPut, url, good("a") + strings.Repeat(" ", 16<<10-len(good("a"))), 200, ""},
		{"repeated", http.MethodPut, url, good("a"), 200, ""},
	} {
		if status, _, body := w.putAs(test.method, test.url, test.body); status != test.status || !strings.Contains(body, test.says) {
			t.Errorf("%s: %d %s", test.name, status, body)
		}
	}
	if got := w.status("waits"); got != "CREATE_IN_PROGRESS" {
		t.Errorf("the stack is %s", got)
	}
	if status, _, body := w.put(url, good("b")); status != 200 || body != "" || w.status("waits") != "CREATE_COMPLETE" {
		t.Errorf("%d %s, the stack is %s", status, body, w.status("waits"))
	}
	out, err := w.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("waits")})
	w.must(err)
	shown := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		shown[*o.OutputKey] = *o.OutputValue
	}
	if shown["URL"] != "*****" || shown["Data"] != `{"a":"d","b":"d"}` {
		t.Errorf("outputs %v", shown)
	}
	_, err = w.client().DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("waits")})
	w.must(err)
	w.provide()
	if status, _, body := w.put(url, good("c")); status != 404 || !strings.Contains(body, "NoSuchKey") {
		t.Errorf("a handle that is gone: %d %s", status, body)
	}
	if log := w.log.String(); strings.Contains(log, url[len(url)-64:]) {
		t.Errorf("the log holds the signature:\n%s", log)
	}
}

func (w *world) putAs(method, target, body string) (int, http.Header, string) {
	w.t.Helper()
	return w.send(method, target, body, http.Header{"Content-Type": {""}})
}

// TestSignalResourceByTheCLI signals a wait condition with a CreationPolicy, using the unmodified AWS CLI.
func TestSignalResourceByTheCLI(t *testing.T) {
	tool := require.Tool(t, "aws")
	w := newClientWorld(t)
	environment := w.environment()
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), tool, append([]string{"cloudformation"}, args...)...)
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := run(args...)
		if err != nil {
			t.Fatalf("aws %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	signal := func(id, status string) []string {
		return []string{"signal-resource", "--stack-name", "s", "--logical-resource-id", "Wait", "--unique-id", id, "--status", status}
	}
	must("create-stack", "--stack-name", "s", "--template-body", `{"Resources": {"Wait": {
		"Type": "AWS::CloudFormation::WaitCondition", "CreationPolicy": {"ResourceSignal": {"Timeout": "PT1H", "Count": "2"}}}}}`)
	must(signal("one", "SUCCESS")...)
	if out, err := run(signal("one", "SUCCESS")...); err == nil || !strings.Contains(out, "(ValidationError)") ||
		!strings.Contains(out, "Signal with ID one for resource Wait already exists. Signals may only be updated with a FAILURE status.") {
		t.Errorf("the same signal again: %v\n%s", err, out)
	}
	must(signal("two", "SUCCESS")...)
	must("wait", "stack-create-complete", "--stack-name", "s")
	events := must("describe-stack-events", "--stack-name", "s", "--query", "StackEvents[].ResourceStatusReason", "--output", "text")
	for _, want := range []string{"Received SUCCESS signal with UniqueId one", "Received SUCCESS signal with UniqueId two"} {
		if !strings.Contains(events, want) {
			t.Errorf("no event says %q:\n%s", want, events)
		}
	}
	if out, err := run(signal("three", "FAILURE")...); err == nil || !strings.Contains(out, "is in CREATE_COMPLETE state and can not be signaled.") {
		t.Errorf("a signal too late: %v\n%s", err, out)
	}
}
