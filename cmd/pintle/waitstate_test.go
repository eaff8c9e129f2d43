package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestKilledInAWaitState kills the server while an execution of a state machine is in a Wait state. The execution continues after the
// restart and waits once.
func TestKilledInAWaitState(t *testing.T) {
	s := serve(t, t.TempDir())
	definition := `{"StartAt": "Before", "States": {"Before": {"Type": "Wait", "Seconds": 3, "Next": "After"}, "After": {"Type": "Succeed"}}}`
	s.create("waits", fmt.Sprintf(`{"Resources": {"M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {
		"RoleArn": "arn:aws:iam::000000000000:role/waiter", "DefinitionString": %q}}}, "Outputs": {"Arn": {"Value": {"Ref": "M"}}}}`, definition))
	s.settled("waits")
	machines, _ := s.states(t, "ListStateMachines", map[string]any{})["stateMachines"].([]any)
	if len(machines) != 1 {
		t.Fatalf("state machines %v", machines)
	}
	machine, _ := machines[0].(map[string]any)
	run := s.states(t, "StartExecution", map[string]any{"stateMachineArn": machine["stateMachineArn"], "input": `{"kept": true}`})
	execution := map[string]any{"executionArn": run["executionArn"]}
	entered := func() int {
		return strings.Count(fmt.Sprint(s.states(t, "GetExecutionHistory", execution)), "WaitStateEntered")
	}
	s.until("the execution is in the Wait state", func() bool { return entered() > 0 })
	s.kill()
	s.start()
	s.until("the execution has ended", func() bool { return s.states(t, "DescribeExecution", execution)["status"] != "RUNNING" })
	got := s.states(t, "DescribeExecution", execution)
	if got["status"] != "SUCCEEDED" || got["output"] != `{"kept": true}` && got["output"] != `{"kept":true}` {
		t.Errorf("the execution is %v", got)
	}
	if n := entered(); n != 1 {
		t.Errorf("the Wait state was entered %d times", n)
	}
}

// states calls Step Functions.
func (s *served) states(t *testing.T, action string, in map[string]any) (out map[string]any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AWSStepFunctions."+action)
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261126/us-east-1/states/aws4_request, "+
		"SignedHeaders=host, Signature="+strings.Repeat("0", 64))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s", action, response.Status, text)
	}
	return out
}
