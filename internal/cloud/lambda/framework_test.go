package lambda_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// folder returns a zip file of the CDK's code, as an app uploads it.
func folder(t *testing.T, name string) registry.Code {
	t.Helper()
	dir := filepath.Join(require.CDK(t), name)
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return registry.Code{Zip: pack(t, files)}
}

// answers receives the responses of functions to custom resource requests, and their new executions.
type answers struct {
	url        string
	got        chan map[string]any
	executions chan string
}

// answersOf makes the world's server accept responses at a fixed path, and executions.
func answersOf(w *world) answers {
	a := answers{url: w.url + "/response/1?X-Amz-Signature=0123456789abcdef0123456789abcdef", got: make(chan map[string]any, 10), executions: make(chan string, 10)}
	w.mux.HandleFunc("PUT /response/1", func(rw http.ResponseWriter, r *http.Request) {
		var answer map[string]any
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || r.URL.RawQuery != "X-Amz-Signature=0123456789abcdef0123456789abcdef" {
			w.t.Errorf("an answer at %s: %v", r.URL, err)
		}
		a.got <- answer
	})
	w.mux.HandleFunc("POST /{$}", func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if target := r.Header.Get("X-Amz-Target"); target != "AWSStepFunctions.StartExecution" {
			w.t.Errorf("a call of %s", target)
		}
		a.executions <- string(body)
		_, _ = io.WriteString(rw, `{"executionArn":"arn:e","startDate":1.5}`)
	})
	return a
}

func (a answers) event(change map[string]any) string {
	event := map[string]any{
		"RequestType": "Create", "ResponseURL": a.url, "StackId": "arn:stack", "RequestId": "r-1", "LogicalResourceId": "Thing",
		"ResourceType": "Custom::Thing", "ResourceProperties": map[string]any{"ServiceToken": "arn:t", "A": "b"},
	}
	for name, value := range change {
		event[name] = value
	}
	text, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestFramework runs the CDK's provider framework as shipped, over user functions, without any npm package.
func TestFramework(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, nil)
	a := answersOf(w)
	users := `
let asked = 0
exports.onEvent = async (event) => {
  console.log('onEvent ' + event.RequestType + ' ' + event.ResourceProperties.A)
  if (event.ResourceProperties.A === 'fail') throw new Error('no quota')
  return {PhysicalResourceId: 'thing', Data: {From: 'onEvent'}}
}
exports.isComplete = async (event) => ({IsComplete: event.ResourceProperties.A !== 'never' && ++asked > 1, Data: asked > 1 ? {Also: 'isComplete'} : undefined})
`
	arn := func(name string) string {
		return lambda.Reference{Scope: home, Name: name}.ARN()
	}
	w.create("user-on-event", node("index.onEvent"), inline(users))
	w.create("user-is-complete", node("index.isComplete"), inline(users))
	framework := func(name, handler string, waiter bool) {
		of := node("framework." + handler)
		of.LogFormat, of.LogLevel, of.Timeout = "JSON", "FATAL", 900
		of.Environment = map[string]string{"USER_ON_EVENT_FUNCTION_ARN": arn("user-on-event")}
		if waiter {
			of.Environment["USER_IS_COMPLETE_FUNCTION_ARN"] = arn("user-is-complete")
			of.Environment["WAITER_STATE_MACHINE_ARN"] = "arn:aws:states:us-east-1:000000000000:stateMachine:waiter"
		}
		w.create(name, of, folder(t, "framework"))
	}
	framework("on-event", "onEvent", false)
	framework("begin", "onEvent", true)
	framework("is-complete", "isComplete", true)
	framework("on-timeout", "onTimeout", true)

	want := map[string]any{
		"Status": "SUCCESS", "Reason": "SUCCESS", "StackId": "arn:stack", "RequestId": "r-1", "PhysicalResourceId": "thing",
		"LogicalResourceId": "Thing", "Data": map[string]any{"From": "onEvent"},
	}
	if got := w.invoke("on-event", a.event(nil)); got != "null" {
		t.Fatalf("%s\n%s", got, strings.Join(w.logged(), "\n"))
	}
	if diff := cmp.Diff(want, <-a.got); diff != "" {
		t.Error(diff)
	}
	// The framework logs nothing, and the log of the user's function belongs to the request.
	if diff := cmp.Diff([]string{"r-1 user-on-event: onEvent Create b"}, w.logged()); diff != "" {
		t.Error(diff)
	}

	// A user's error is in the response, with its stack trace.
	if got := w.invoke("on-event", a.event(map[string]any{"ResourceProperties": map[string]any{"A": "fail"}})); got != "null" {
		t.Fatal(got)
	}
	failed := <-a.got
	reason, _ := failed["Reason"].(string)
	if failed["Status"] != "FAILED" || failed["PhysicalResourceId"] != "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED" ||
		!strings.HasPrefix(reason, "Error: no quota\n\nLogs: /aws/lambda/user-on-event\n\n    at ") && !strings.HasPrefix(reason, "no quota\n\nLogs: /aws/lambda/user-on-event\n\n    at ") {
		t.Errorf("%v", failed)
	}

	// With isComplete, the framework starts an execution, polls by throwing an error, and ends with the thrown error.
	if got := w.invoke("begin", a.event(nil)); got != "null" {
		t.Fatal(got)
	}
	var execution struct{ StateMachineArn, Input string }
	if err := json.Unmarshal([]byte(<-a.executions), &execution); err != nil {
		t.Fatal(err)
	}
	if execution.StateMachineArn != "arn:aws:states:us-east-1:000000000000:stateMachine:waiter" {
		t.Errorf("%+v", execution)
	}
	again := w.invoke("is-complete", execution.Input)
	report, thrown := strings.CutPrefix(again, "Unhandled ")
	var retry struct{ ErrorType, ErrorMessage string }
	if err := json.Unmarshal([]byte(report), &retry); err != nil || !thrown || retry.ErrorType != "Error" || retry.ErrorMessage != execution.Input {
		t.Fatalf("not complete: %s (%v)\nwant %s", again, err, execution.Input)
	}
	if got := w.invoke("is-complete", execution.Input); got != "null" {
		t.Fatal(got)
	}
	want["Data"] = map[string]any{"From": "onEvent", "Also": "isComplete"}
	if diff := cmp.Diff(want, <-a.got); diff != "" {
		t.Error(diff)
	}
	cause, err := json.Marshal(map[string]string{"Error": "Error", "Cause": report})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.invoke("on-timeout", string(cause)); got != "null" {
		t.Fatal(got)
	}
	if got := <-a.got; got["Status"] != "FAILED" || got["Reason"] != "Operation timed out" {
		t.Errorf("%v", got)
	}
}

// TestCoreEntrypoint runs the entry point that the CDK puts in front of its own handlers.
func TestCoreEntrypoint(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, nil)
	a := answersOf(w)
	entry, err := os.ReadFile(filepath.Join(require.CDK(t), "core", "nodejs-entrypoint-handler", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	w.create("core", node("__entrypoint__.handler"), registry.Code{Zip: pack(t, map[string]string{
		"__entrypoint__.js": string(entry), "index.js": "exports.handler = async (event) => ({Data: {A: event.ResourceProperties.A}})",
	})})
	if got := w.invoke("core", a.event(nil)); got != "null" {
		t.Fatal(got)
	}
	if got := <-a.got; got["Status"] != "SUCCESS" || got["PhysicalResourceId"] != "r-1" || !cmp.Equal(got["Data"], map[string]any{"A": "b"}) {
		t.Errorf("%v", got)
	}
}

// TestInlineResponse checks that inline code finds the modules that Lambda provides for it.
func TestInlineResponse(t *testing.T) {
	require.Tool(t, "node")
	require.Tool(t, "python3")
	w := newWorld(t, nil)
	a := answersOf(w)
	w.create("node", node("index.handler"), inline("const r = require('cfn-response'); exports.handler = (e, c) => r.send(e, c, r.SUCCESS, {A: e.ResourceProperties.A}, 'id')"))
	w.create("module", node("index.handler"), inline("import r from 'cfn-response'\nexport const handler = (e, c) => r.send(e, c, r.SUCCESS, {A: e.ResourceProperties.A}, 'id')"))
	w.create("python", python("index.handler"), inline("import cfnresponse as r\ndef handler(e, c): r.send(e, c, r.SUCCESS, {'A': e['ResourceProperties']['A']}, 'id')"))
	for _, name := range []string{"node", "module", "python"} {
		if got := w.invoke(name, a.event(nil)); strings.HasPrefix(got, "Unhandled") {
			t.Fatalf("%s: %s", name, got)
		}
		if got := <-a.got; got["Status"] != "SUCCESS" || got["PhysicalResourceId"] != "id" || !cmp.Equal(got["Data"], map[string]any{"A": "b"}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, line := range w.logged() {
		if strings.Contains(line, "0123456789abcdef") {
			t.Errorf("a signature shows: %s", line)
		}
	}
}

// TestStandIns calls all forms of the SDK stand-ins, with their errors. An SDK that is installed next to the
// function's code takes precedence.
func TestStandIns(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, nil)
	w.create("echo", node("index.handler"), inline("exports.handler = async (e, c) => { if (e.fail) throw new Error('no'); return {e, arn: c.invokedFunctionArn} }"))
	code := `
import {Lambda, LambdaClient, InvokeCommand, GetFunctionCommand, waitUntilFunctionActiveV2} from '@aws-sdk/client-lambda'
import {SFNClient, StartExecutionCommand} from '@aws-sdk/client-sfn'
const text = (o) => [o.StatusCode, o.FunctionError, o.ExecutedVersion, Buffer.from(o.Payload).toString(), o.Payload.transformToString().length > 0]
export const handler = async () => {
  const lambda = new Lambda({}), client = new LambdaClient({region: 'us-east-1'})
  const out = {}
  out.method = text(await lambda.invoke({FunctionName: 'echo', Payload: JSON.stringify({ü: 1})}))
  out.command = text(await client.send(new InvokeCommand({FunctionName: 'arn:aws:lambda:us-east-1:000000000000:function:echo', Qualifier: '$LATEST', Payload: Buffer.from('{"fail":1}')})))
  out.callback = await new Promise((resolve) => lambda.invoke({FunctionName: 'echo'}, (error, o) => resolve(text(o))))
  out.event = (await lambda.invoke({FunctionName: 'echo', InvocationType: 'Event', Payload: '{}'})).StatusCode
  out.tail = Buffer.from((await lambda.invoke({FunctionName: 'echo', LogType: 'Tail'})).LogResult, 'base64').toString().startsWith('START RequestId: ')
  out.state = (await client.send(new GetFunctionCommand({FunctionName: 'echo'}))).Configuration.State
  out.waited = (await waitUntilFunctionActiveV2({client, maxWaitTime: 10}, {FunctionName: 'echo'})).state
  out.error = await lambda.invoke({FunctionName: 'none'}).catch((e) => [e.name, e.message, e.$metadata.httpStatusCode, e.$fault])
  const started = await new SFNClient({}).send(new StartExecutionCommand({stateMachineArn: 'm', input: '{}'}))
  out.started = [started.executionArn, started.startDate.toISOString()]
  return out
}
`
	a := answersOf(w)
	w.create("caller", node("index.handler"), inline(code))
	want := `{"method":[200,null,"$LATEST","{\"e\":{\"ü\":1},\"arn\":\"arn:aws:lambda:us-east-1:000000000000:function:echo\"}",true],` +
		`"command":[200,"Unhandled","$LATEST","{\"errorType\":\"Error\",\"errorMessage\":\"no\",\"trace\":[\"Error: no\",\"    at exports.handler (PATH/index.js:1:55)\"]}",true],` +
		`"callback":[200,null,"$LATEST","{\"e\":{},\"arn\":\"arn:aws:lambda:us-east-1:000000000000:function:echo\"}",true],` +
		`"event":202,"tail":true,"state":"Active","waited":"SUCCESS",` +
		`"error":["ResourceNotFoundException","Function not found: arn:aws:lambda:us-east-1:000000000000:function:none",404,"client"],` +
		`"started":["arn:e","1970-01-01T00:00:01.500Z"]}`
	echo, err := w.Get(t.Context(), home, "echo")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(w.invoke("caller", "{}"), filepath.Join(w.cache, "unpacked", echo.Of.Code), "PATH")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, strings.Join(w.logged(), "\n"))
	}
	<-a.executions

	installed := map[string]string{"node_modules/@aws-sdk/client-lambda/index.js": "exports.Lambda = 'installed'"}
	installed["index.js"] = "exports.handler = async () => require('@aws-sdk/client-lambda').Lambda"
	w.create("common", node("index.handler"), registry.Code{Zip: pack(t, installed)})
	installed["index.js"] = "exports.handler = async () => (await import('@aws-sdk/client-lambda')).Lambda"
	w.create("later", node("index.handler"), registry.Code{Zip: pack(t, installed)})
	for _, name := range []string{"common", "later"} {
		if got := w.invoke(name, "{}"); got != `"installed"` {
			t.Errorf("%s: %s", name, got)
		}
	}
}
