package states_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/states"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	account = "000000000000"
	region  = "eu-west-1"
	machine = "arn:aws:states:eu-west-1:000000000000:stateMachine:waiter"
	marn    = "arn:aws:states:eu-west-1:000000000000:execution:waiter:"
	task    = `{"StartAt": "A", "States": {"A": {"Type": "Task", "End": true, "Resource": "arn:aws:lambda:eu-west-1:000000000000:function:F"}}}`
)

// world is an API over a real engine and catalog. Its functions return their input at once, or throw it if it is an
// object with an errorType.
type world struct {
	url    string
	engine *engine.Engine
	rows   store.Store
	log    *bytes.Buffer
	now    time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{log: &bytes.Buffer{}, now: time.Date(2026, 11, 22, 10, 0, 0, 250e6, time.UTC)}
	rows, err := memory.New(memory.Config{Now: func() time.Time { return w.now }})
	must(t, err)
	ids := 0
	w.rows = rows
	w.engine, err = engine.Open(t.Context(), engine.Config{Store: rows, Alone: true, NewID: func() string { ids++; return fmt.Sprintf("id-%d", ids) }})
	must(t, err)
	started, err := w.engine.Create(t.Context(), engine.CreateStack{
		Name:     store.StackName{Account: account, Region: region, Name: "S"},
		Template: `{"Resources": {"A": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "arn:aws:sns:eu-west-1:000000000000:T"}}}}`,
	})
	must(t, err)
	things := registry.New(rows)
	for name, of := range map[string]registry.Machine{
		"waiter": {Definition: task, Role: "arn:aws:iam::000000000000:role/r", Stack: started.StackID, Made: w.now,
			Logging: json.RawMessage(`{"Level": "ERROR", "IncludeExecutionData": "false", "Destinations": [{"CloudWatchLogsLogGroup": {"LogGroupArn": "arn:g"}}]}`)},
		"broken": {Definition: `{"StartAt": "hush"}`, Stack: started.StackID, Made: w.now},
		"lost":   {Definition: task, Stack: "arn:aws:cloudformation:eu-west-1:000000000000:stack/gone/1", Made: w.now},
	} {
		_, err := things.Machines.Put(t.Context(), registry.Item[registry.Machine]{Scope: registry.Scope{Account: account, Region: region}, Name: name, Of: of})
		must(t, err)
	}
	face, err := states.New(states.Config{
		Machines: things.Machines, Engine: w.engine, Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Caller: func(context.Context) (api.Caller, bool) {
			return api.Caller{Account: account, Region: region}, true
		},
	})
	must(t, err)
	server := httptest.NewServer(face)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// returns ends the task of an execution.
func (w *world) returns(t *testing.T, name string, outcome engine.Outcome) {
	t.Helper()
	r, err := w.rows.Request(t.Context(), wire.RequestID(marn+name))
	must(t, err)
	outcome.Try = r.Execution.Try
	must(t, w.engine.Report(t.Context(), r.ID, outcome))
}

// call returns the status and the body of a call.
func (w *world) call(t *testing.T, action, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, strings.NewReader(body))
	must(t, err)
	r.Header.Set("X-Amz-Target", "AWSStepFunctions."+action)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	response, err := http.DefaultClient.Do(r)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	if kind := response.Header.Get("Content-Type"); kind != "application/x-amz-json-1.0" || response.Header.Get("X-Amzn-RequestId") == "" {
		t.Errorf("%s: the headers are %v", action, response.Header)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, text)
}

func TestCalls(t *testing.T) {
	w := newWorld(t)
	fault := func(code, format string, args ...any) string {
		text, err := json.Marshal(map[string]string{"__type": code, "message": fmt.Sprintf(format, args...)})
		must(t, err)
		return "400 " + string(text)
	}
	long := strings.Repeat("x", 262_143)
	about := func(name, members string) string {
		return `200 {"executionArn":"` + marn + name + `","stateMachineArn":"` + machine + `","name":"` + name + `",` + members +
			`"redriveCount":0,"redriveStatus":"NOT_REDRIVABLE","redriveStatusReason":"This version of Pintle redrives no executions."}`
	}
	for _, step := range []struct {
		action, body, want string
		before             func()
	}{
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `", "name": "a", "input": "{\"n\": 1.50}"}`, want: `200 {"executionArn":"` + marn + `a","startDate":1795341600.250}`},
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `", "name": "a", "input": "{\"n\": 1.50}"}`, want: `200 {"executionArn":"` + marn + `a","startDate":1795341600.250}`},
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `", "name": "a"}`, want: fault("ExecutionAlreadyExists", "Execution Already Exists: '%sa'", marn)},
		{action: "DescribeExecution", body: `{"executionArn": "` + marn + `a"}`,
			want: about("a", `"status":"RUNNING","startDate":1795341600.250,"input":"{\"n\": 1.50}","inputDetails":{"included":true},`)},
		{action: "DescribeExecution", body: `{"executionArn": "` + marn + `a"}`,
			before: func() {
				w.now = w.now.Add(time.Second)
				w.returns(t, "a", engine.Outcome{Kind: engine.Returned, Body: []byte(`{"m": 2.0}`)})
			},
			want: about("a", `"status":"SUCCEEDED","startDate":1795341600.250,"stopDate":1795341601.250,"input":"{\"n\": 1.50}","inputDetails":{"included":true},"output":"{\"m\": 2.0}","outputDetails":{"included":true},`)},
		{action: "DescribeExecution", body: `{"executionArn": "` + marn + `a", "includedData": "METADATA_ONLY"}`,
			want: about("a", `"status":"SUCCEEDED","startDate":1795341600.250,"stopDate":1795341601.250,`)},
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `", "name": "b"}`, want: `200 {"executionArn":"` + marn + `b","startDate":1795341601.250}`},
		{action: "DescribeExecution", body: `{"executionArn": "` + marn + `b"}`,
			before: func() { w.returns(t, "b", engine.Outcome{Kind: engine.Died, Error: "E", Cause: `{"a":1}`}) },
			want:   about("b", `"status":"FAILED","startDate":1795341601.250,"stopDate":1795341601.250,"input":"{}","inputDetails":{"included":true},"error":"E","cause":"{\"a\":1}",`)},
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `", "name": "c"}`, want: `200 {"executionArn":"` + marn + `c","startDate":1795341601.250}`},
		{action: "StopExecution", body: `{"executionArn": "` + marn + `c", "error": "E", "cause": "C"}`, want: `200 {"stopDate":1795341601.250}`},
		{action: "ListExecutions", body: `{"stateMachineArn": "` + machine + `", "maxResults": 2}`,
			want: `200 {"executions":[{"executionArn":"` + marn + `c","stateMachineArn":"` + machine + `","name":"c","status":"ABORTED","startDate":1795341601.250,"stopDate":1795341601.250,"redriveCount":0},` +
				`{"executionArn":"` + marn + `b","stateMachineArn":"` + machine + `","name":"b","status":"FAILED","startDate":1795341601.250,"stopDate":1795341601.250,"redriveCount":0}],` +
				`"nextToken":"YXJuOmF3czpzdGF0ZXM6ZXUtd2VzdC0xOjAwMDAwMDAwMDAwMDpleGVjdXRpb246d2FpdGVyOmI"}`},
		{action: "ListExecutions", body: `{"stateMachineArn": "` + machine + `", "nextToken": "YXJuOmF3czpzdGF0ZXM6ZXUtd2VzdC0xOjAwMDAwMDAwMDAwMDpleGVjdXRpb246d2FpdGVyOmI"}`,
			want: `200 {"executions":[{"executionArn":"` + marn + `a","stateMachineArn":"` + machine + `","name":"a","status":"SUCCEEDED","startDate":1795341600.250,"stopDate":1795341601.250,"redriveCount":0}]}`},
		{action: "ListExecutions", body: `{"stateMachineArn": "` + machine + `", "statusFilter": "RUNNING"}`, want: `200 {"executions":[]}`},
		{action: "ListExecutions", body: `{"stateMachineArn": "` + machine + `", "nextToken": "what"}`, want: fault("InvalidToken", "Invalid Token: 'Invalid token'")},
		{action: "ListExecutions", body: `{"stateMachineArn": "` + machine + `", "statusFilter": "DONE"}`,
			want: fault("ValidationException", "1 validation error detected: Value 'DONE' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value set: [RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE]")},
		{action: "DescribeStateMachine", body: `{"stateMachineArn": "` + machine + `", "includedData": "METADATA_ONLY"}`,
			want: `200 {"stateMachineArn":"` + machine + `","name":"waiter","status":"ACTIVE","definition":"","roleArn":"arn:aws:iam::000000000000:role/r","type":"STANDARD","creationDate":1795341600.250,` +
				`"loggingConfiguration":{"destinations":[{"cloudWatchLogsLogGroup":{"logGroupArn":"arn:g"}}],"includeExecutionData":false,"level":"ERROR"}}`},
		{action: "ListStateMachines", body: `{"maxResults": 2}`,
			want: `200 {"stateMachines":[{"stateMachineArn":"` + strings.Replace(machine, "waiter", "broken", 1) + `","name":"broken","type":"STANDARD","creationDate":1795341600.250},` +
				`{"stateMachineArn":"` + strings.Replace(machine, "waiter", "lost", 1) + `","name":"lost","type":"STANDARD","creationDate":1795341600.250}],"nextToken":"bWFjaGluZTpsb3N0"}`},
		{action: "ListStateMachines", body: `{"nextToken": "bWFjaGluZTpsb3N0"}`,
			want: `200 {"stateMachines":[{"stateMachineArn":"` + machine + `","name":"waiter","type":"STANDARD","creationDate":1795341600.250}]}`},
		{action: "ListStateMachines", body: `{"nextToken": "YQ"}`, want: fault("InvalidToken", "Invalid Token: 'Invalid token'")},
		{action: "ListStateMachines", body: `{"maxResults": 1001}`,
			want: fault("ValidationException", "1 validation error detected: Value '1001' at 'maxResults' failed to satisfy constraint: Member must have value between 0 and 1000")},
		{action: "DescribeStateMachineForExecution", body: `{"executionArn": "` + marn + `a", "includedData": "METADATA_ONLY"}`,
			want: `200 {"stateMachineArn":"` + machine + `","name":"waiter","definition":"","roleArn":"arn:aws:iam::000000000000:role/r","updateDate":1795341600.250,` +
				`"loggingConfiguration":{"destinations":[{"cloudWatchLogsLogGroup":{"logGroupArn":"arn:g"}}],"includeExecutionData":false,"level":"ERROR"}}`},
		{action: "DescribeStateMachineForExecution", body: `{"executionArn": "` + marn + `zz"}`, want: fault("ExecutionDoesNotExist", "Execution Does Not Exist: '%szz'", marn)},
		{action: "GetExecutionHistory", body: `{"executionArn": "` + marn + `a"}`,
			want: `200 {"events":[{"timestamp":1795341600.250,"type":"ExecutionStarted","id":1,"previousEventId":0,"executionStartedEventDetails":{"input":"{\"n\": 1.50}","inputDetails":{"truncated":false},"roleArn":"arn:aws:iam::000000000000:role/r"}},` +
				`{"timestamp":1795341600.250,"type":"TaskStateEntered","id":2,"previousEventId":0,"stateEnteredEventDetails":{"name":"A","input":"{\"n\": 1.50}","inputDetails":{"truncated":false}}},` +
				`{"timestamp":1795341600.250,"type":"LambdaFunctionScheduled","id":3,"previousEventId":2,"lambdaFunctionScheduledEventDetails":{"resource":"arn:aws:lambda:eu-west-1:000000000000:function:F","input":"{\"n\": 1.50}","inputDetails":{"truncated":false}}},` +
				`{"timestamp":1795341601.250,"type":"LambdaFunctionStarted","id":4,"previousEventId":3},` +
				`{"timestamp":1795341601.250,"type":"LambdaFunctionSucceeded","id":5,"previousEventId":4,"lambdaFunctionSucceededEventDetails":{"output":"{\"m\": 2.0}","outputDetails":{"truncated":false}}},` +
				`{"timestamp":1795341601.250,"type":"TaskStateExited","id":6,"previousEventId":5,"stateExitedEventDetails":{"name":"A","output":"{\"m\": 2.0}","outputDetails":{"truncated":false}}},` +
				`{"timestamp":1795341601.250,"type":"ExecutionSucceeded","id":7,"previousEventId":6,"executionSucceededEventDetails":{"output":"{\"m\": 2.0}","outputDetails":{"truncated":false}}}]}`},
		{action: "GetExecutionHistory", body: `{"executionArn": "` + marn + `b", "reverseOrder": true, "maxResults": 2, "includeExecutionData": false}`,
			want: `200 {"events":[{"timestamp":1795341601.250,"type":"ExecutionFailed","id":6,"previousEventId":5,"executionFailedEventDetails":{"error":"E","cause":"{\"a\":1}"}},` +
				`{"timestamp":1795341601.250,"type":"LambdaFunctionFailed","id":5,"previousEventId":4,"lambdaFunctionFailedEventDetails":{"error":"E","cause":"{\"a\":1}"}}],"nextToken":"aGlzdG9yeTo1OmI"}`},
		{action: "GetExecutionHistory", body: `{"executionArn": "` + marn + `b", "reverseOrder": true, "nextToken": "aGlzdG9yeTo1OmI", "maxResults": 1, "includeExecutionData": false}`,
			want: `200 {"events":[{"timestamp":1795341601.250,"type":"LambdaFunctionStarted","id":4,"previousEventId":3}],"nextToken":"aGlzdG9yeTo0OmI"}`},
		{action: "GetExecutionHistory", body: `{"executionArn": "` + marn + `a", "nextToken": "aGlzdG9yeTo1OmI"}`, want: fault("InvalidToken", "Invalid Token: 'Invalid token'")},
		{action: "GetExecutionHistory", body: `{"executionArn": "` + marn + `a", "nextToken": "YQ"}`, want: fault("InvalidToken", "Invalid Token: 'Invalid token'")},
		{action: "GetExecutionHistory", body: `{"executionArn": "` + marn + `a", "maxResults": -1}`,
			want: fault("ValidationException", "1 validation error detected: Value '-1' at 'maxResults' failed to satisfy constraint: Member must have value between 0 and 1000")},
		{action: "GetExecutionHistory", body: `{"executionArn": "` + marn + `zz"}`, want: fault("ExecutionDoesNotExist", "Execution Does Not Exist: '%szz'", marn)},
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `x"}`, want: fault("StateMachineDoesNotExist", "State Machine Does Not Exist: '%sx'", machine)},
		{action: "StartExecution", body: `{"stateMachineArn": "` + strings.Replace(machine, account, "111111111111", 1) + `"}`,
			want: fault("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", strings.Replace(machine, account, "111111111111", 1))},
		{action: "StartExecution", body: `{"stateMachineArn": "what"}`, want: fault("InvalidArn", "Invalid Arn: 'what'")},
		{action: "StartExecution", body: `{"stateMachineArn": "` + strings.Replace(machine, "waiter", "lost", 1) + `"}`,
			want: fault("StateMachineDeleting", "State Machine is being deleted: '%s'", strings.Replace(machine, "waiter", "lost", 1))},
		{action: "StartExecution", body: `{"stateMachineArn": "` + strings.Replace(machine, "waiter", "broken", 1) + `"}`,
			want: fault("ValidationException", `Invalid State Machine Definition: 'StartAt "hush" is not a state'`)},
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `", "name": "a b"}`, want: fault("InvalidName", "Invalid Name: 'a b'")},
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `", "input": "{"}`, want: fault("InvalidExecutionInput", "Invalid State Machine Execution Input: 'it is not JSON'")},
		{action: "StartExecution", body: `{"stateMachineArn": "` + machine + `", "input": "\"` + long + `\""}`,
			want: fault("ValidationException", "1 validation error detected: Value at 'input' failed to satisfy constraint: Member must have length less than or equal to 262144")},
		{action: "StartExecution", body: `{"stateMachineArn": 1}`, want: fault("SerializationException", "stateMachineArn can not be a number")},
		{action: "StartExecution", body: `{`, want: fault("SerializationException", "the body is not JSON")},
		{action: "StartExecution", body: strings.Repeat(" ", 2<<20+1), want: `413 {"__type":"RequestEntityTooLarge","message":"A body has 2097152 bytes at most."}`},
		{action: "DescribeExecution", body: `{"executionArn": "` + marn + `zz"}`, want: fault("ExecutionDoesNotExist", "Execution Does Not Exist: '%szz'", marn)},
		{action: "DescribeExecution", body: `{"executionArn": "` + machine + `"}`, want: fault("InvalidArn", "Invalid Arn: '%s'", machine)},
		{action: "StopExecution", body: `{"executionArn": "` + strings.Replace(marn, account, "111111111111", 1) + `a"}`,
			want: fault("ExecutionDoesNotExist", "Execution Does Not Exist: '%sa'", strings.Replace(marn, account, "111111111111", 1))},
		{action: "CreateActivity", body: `{}`, want: fault("UnknownOperationException", "This version of Pintle answers DescribeExecution, DescribeStateMachine, "+
			"DescribeStateMachineForExecution, GetExecutionHistory, ListExecutions, ListStateMachines, ListTagsForResource, StartExecution and StopExecution, not \"CreateActivity\". Set AWS_ENDPOINT_URL_SFN to the address of a server that does.")},
	} {
		if step.before != nil {
			step.before()
		}
		if diff := cmp.Diff(step.want, w.call(t, step.action, step.body)); diff != "" {
			t.Errorf("%s %.200s (-want +got):\n%s", step.action, step.body, diff)
		}
	}
	if w.log.Len() > 0 {
		t.Errorf("it logs %s", w.log)
	}
}

func TestBoto3(t *testing.T) {
	python := require.Python(t, "boto3")
	w := newWorld(t)
	const script = `
import boto3, os, json
c = boto3.client("stepfunctions", endpoint_url=os.environ["URL"])
m = os.environ["MACHINE"]
first = c.start_execution(stateMachineArn=m, name="a", input='{"n": 1}')
assert first["startDate"].timestamp() == 1795341600.250, first
assert c.start_execution(stateMachineArn=m, name="a", input='{"n": 1}')["executionArn"] == first["executionArn"]
x = c.describe_execution(executionArn=first["executionArn"])
assert x["status"] == "RUNNING" and x["input"] == '{"n": 1}' and "stopDate" not in x, x
try:
    c.start_execution(stateMachineArn=m, name="a")
    assert False
except c.exceptions.ExecutionAlreadyExists as e:
    pass
for n in range(4):
    c.start_execution(stateMachineArn=m)
assert len(list(c.get_paginator("list_executions").paginate(stateMachineArn=m, PaginationConfig={"PageSize": 2}))) == 3
c.stop_execution(executionArn=first["executionArn"], error="E", cause="C")
x = c.describe_execution(executionArn=first["executionArn"])
assert (x["status"], x["error"], x["cause"]) == ("ABORTED", "E", "C"), x
assert len(c.list_executions(stateMachineArn=m, statusFilter="RUNNING")["executions"]) == 4
d = c.describe_state_machine(stateMachineArn=m)
assert json.loads(d["definition"])["StartAt"] == "A" and d["loggingConfiguration"]["level"] == "ERROR", d
d = c.describe_state_machine_for_execution(executionArn=first["executionArn"])
assert json.loads(d["definition"])["StartAt"] == "A" and d["updateDate"].timestamp() == 1795341600.250, d
h = c.get_execution_history(executionArn=first["executionArn"])["events"]
assert [(e["id"], e["previousEventId"], e["type"]) for e in h] == [(1, 0, "ExecutionStarted"), (2, 0, "TaskStateEntered"),
    (3, 2, "LambdaFunctionScheduled"), (4, 3, "ExecutionAborted")], h
assert h[0]["executionStartedEventDetails"] == {"input": '{"n": 1}', "inputDetails": {"truncated": False}, "roleArn": "arn:aws:iam::000000000000:role/r"}, h
assert h[3]["executionAbortedEventDetails"] == {"error": "E", "cause": "C"} and h[3]["timestamp"].timestamp() == 1795341600.250, h
h = c.get_paginator("get_execution_history").paginate(executionArn=first["executionArn"], reverseOrder=True, includeExecutionData=False, PaginationConfig={"PageSize": 3})
h = [page["events"] for page in h]
assert [[e["id"] for e in page] for page in h] == [[4, 3, 2], [1]] and "hush" not in str(h) and '"n"' not in str(h), h
pages = list(c.get_paginator("list_state_machines").paginate(PaginationConfig={"PageSize": 1}))
assert [m["name"] for page in pages for m in page["stateMachines"]] == ["broken", "lost", "waiter"], pages
for call, error in (
    (lambda: c.describe_execution(executionArn=first["executionArn"] + "x"), c.exceptions.ExecutionDoesNotExist),
    (lambda: c.describe_state_machine(stateMachineArn=m + "x"), c.exceptions.StateMachineDoesNotExist),
    (lambda: c.start_execution(stateMachineArn=m, input="{"), c.exceptions.InvalidExecutionInput),
    (lambda: c.start_execution(stateMachineArn="what"), c.exceptions.InvalidArn),
    (lambda: c.list_executions(stateMachineArn=m, nextToken="what"), c.exceptions.InvalidToken),
):
    try:
        call()
        assert False, error
    except error as e:
        assert e.response["ResponseMetadata"]["HTTPStatusCode"] == 400
`
	run(t, w, exec.CommandContext(t.Context(), python, "-c", script))
}

func TestCLI(t *testing.T) {
	cli := require.Tool(t, "aws")
	w := newWorld(t)
	out := run(t, w, exec.CommandContext(t.Context(), cli, "stepfunctions", "start-execution", "--endpoint-url", w.url, "--state-machine-arn", machine, "--name", "a", "--query", "executionArn"))
	if want := `"` + marn + `a"`; out != want {
		t.Errorf("it says %s, want %s", out, want)
	}
}

func run(t *testing.T, w *world, command *exec.Cmd) string {
	t.Helper()
	command.Env = append(os.Environ(), "URL="+w.url, "MACHINE="+machine, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_DEFAULT_REGION="+region, "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=*", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestNew(t *testing.T) {
	if _, err := states.New(states.Config{}); err == nil {
		t.Error("a face of nothing was made")
	}
}
