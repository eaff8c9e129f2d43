package asl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine/asl"
)

const (
	f = "arn:aws:lambda:us-east-1:123456789012:function:F"
	g = "arn:aws:lambda:us-east-1:123456789012:function:G:live"
)

// walk runs an execution with the outcomes of its tasks in order, each "=RESULT" or "!ERROR CAUSE". It returns a line
// for each move.
func walk(t *testing.T, definition, input string, outcomes ...string) []string {
	t.Helper()
	m, err := asl.Parse(definition)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	move := m.Begin(json.RawMessage(input))
	for n := 0; ; n++ {
		for waits := 0; move.Waits && waits < 5; waits++ {
			line := fmt.Sprintf("%s waits %s", move.Position.State, move.After)
			if !move.Until.IsZero() {
				line = fmt.Sprintf("%s waits until %s", move.Position.State, move.Until.Format(time.RFC3339Nano))
			}
			lines = append(lines, line)
			move = m.Waited(move.Position)
		}
		switch {
		case move.Failure != nil:
			return append(lines, fmt.Sprintf("%s failed: %s: %s", move.Position.State, move.Failure.Error, move.Failure.Cause))
		case move.Waits:
			return lines
		case move.Task == nil:
			return append(lines, fmt.Sprintf("%s ended with %s", move.Position.State, move.Output))
		}
		lines = append(lines, fmt.Sprintf("%s after %s calls %s(%s)", move.Position.State, move.After, move.Task.Function[len(f)-1:], move.Task.Payload))
		if n == len(outcomes) {
			return lines
		}
		// A row stores a position as JSON.
		text, err := json.Marshal(move.Position)
		if err != nil {
			t.Fatal(err)
		}
		var at asl.Position
		if err := json.Unmarshal(text, &at); err != nil {
			t.Fatal(err)
		}
		if result, ok := strings.CutPrefix(outcomes[n], "="); ok {
			move = m.Returned(at, json.RawMessage(result))
			continue
		}
		name, cause, _ := strings.Cut(outcomes[n][1:], " ")
		move = m.Failed(at, asl.Failure{Error: name, Cause: cause})
	}
}

func TestWalks(t *testing.T) {
	waiter := `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "` + f + `", "End": true,
		"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 5, "MaxAttempts": 2, "BackoffRate": 1}],
		"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}]}, "B": {"Type": "Task", "Resource": "` + g + `", "End": true}}}`
	task := func(fields string) string {
		return `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "` + f + `", "End": true` + fields + `}}}`
	}
	retriers := task(`, "Retry": [{"ErrorEquals": ["X", "Y"], "IntervalSeconds": 2, "MaxAttempts": 3, "BackoffRate": 3.5, "MaxDelaySeconds": 20},
		{"ErrorEquals": ["Z"], "MaxAttempts": 0}, {"ErrorEquals": ["States.TaskFailed"]}]`)
	large := `"` + strings.Repeat("x", asl.MaxData-1) + `"`
	tests := map[string]struct {
		definition, input string
		outcomes, want    []string
	}{
		"succeeds after retries": {waiter, `{"n":1.50}`, []string{`!Retry {"a":1}`, "!Other", `={"x": 1e3}`},
			[]string{`A after 0s calls F({"n":1.50})`, `A after 5s calls F({"n":1.50})`, `A after 5s calls F({"n":1.50})`, `A ended with {"x": 1e3}`}},
		"caught after the last retry": {waiter, `1`, []string{"!a", "!b", `!c {"errorMessage":"<x>"}`, "=2"},
			[]string{`A after 0s calls F(1)`, `A after 5s calls F(1)`, `A after 5s calls F(1)`,
				`B after 0s calls G:live({"Error":"c","Cause":"{\"errorMessage\":\"<x>\"}"})`, `B ended with 2`}},
		"catching state fails": {waiter, `1`, []string{"!a", "!b", "!c", "!d why"},
			[]string{`A after 0s calls F(1)`, `A after 5s calls F(1)`, `A after 5s calls F(1)`, `B after 0s calls G:live({"Error":"c","Cause":""})`, `B failed: d: why`}},
		"each retrier has its own count": {retriers, `1`, []string{"!X", "!V", "!Y", "!V", "!X", "!V", "!X"},
			[]string{`A after 0s calls F(1)`, `A after 2s calls F(1)`, `A after 1s calls F(1)`, `A after 7s calls F(1)`, `A after 2s calls F(1)`,
				`A after 20s calls F(1)`, `A after 4s calls F(1)`, `A failed: X: `}},
		"no retrier matches":     {retriers, `1`, []string{"!Z why"}, []string{`A after 0s calls F(1)`, `A failed: Z: why`}},
		"timeout is not retried": {retriers, `1`, []string{"!States.Timeout"}, []string{`A after 0s calls F(1)`, `A failed: States.Timeout: `}},
		"no result":              {task(""), `1`, []string{"="}, []string{`A after 0s calls F(1)`, `A ended with null`}},
		"no JSON":                {waiter, `1`, []string{"=what"}, []string{`A after 0s calls F(1)`, `A failed: States.Runtime: What the function of the state 'A' returned is not JSON.`}},
		"result too large": {waiter, `1`, []string{"=" + large}, []string{`A after 0s calls F(1)`,
			`A failed: States.DataLimitExceeded: The state/task '` + f + `' returned a result with a size exceeding the maximum number of bytes service limit.`}},
		"result too large, caught by name": {`{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "` + f + `", "End": true,
			"Catch": [{"ErrorEquals": ["States.DataLimitExceeded"], "Next": "B", "ResultPath": null}]}, "B": {"Type": "Succeed"}}}`,
			`1`, []string{"=" + large}, []string{`A after 0s calls F(1)`, `B ended with 1`}},
		"paths": {`{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "` + f + `", "InputPath": "$.in", "ResultPath": "$.out.x", "OutputPath": "$.out", "Next": "P"},
			"P": {"Type": "Pass", "Result": {"c": 1.0}, "ResultPath": "$.p", "Next": "S"}, "S": {"Type": "Succeed", "InputPath": "$.p"}}}`,
			`{"in": {"n": 1.50}, "out": {"y": 2.0}}`, []string{"=3.0"}, []string{`A after 0s calls F({"n": 1.50})`, `S ended with {"c":1.0}`}},
		"no input and no result": {task(`, "InputPath": null, "ResultPath": null`), `{"n": 1.50}`, []string{"=3"},
			[]string{`A after 0s calls F({})`, `A ended with {"n":1.50}`}},
		"missing input path": {task(`, "InputPath": "$.a.b"`), `{"a": 1}`, nil,
			[]string{`A failed: States.Runtime: Invalid path '$.a.b': there is no "b" in the state's data.`}},
		"result path that is not an object": {task(`, "ResultPath": "$.a.b"`), `{"a": 1}`, []string{"=3"},
			[]string{`A after 0s calls F({"a": 1})`, `A failed: States.ResultPathMatchFailure: Unable to apply ReferencePath $.b: what is there is no object.`}},
		"lambda:invoke": {`{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": true,
			"Parameters": {"FunctionName": "` + f + `", "Qualifier": "live", "Payload.$": "$.x"}}}}`, `{"x": [1.0]}`, []string{"=2.0"},
			[]string{`A after 0s calls F:live([1.0])`, `A ended with {"ExecutedVersion":"$LATEST","Payload":2.0,"StatusCode":200}`}},
		"fail":   {`{"StartAt": "A", "States": {"A": {"Type": "Fail", "Error": "E", "Cause": "C"}}}`, `1`, nil, []string{"A failed: E: C"}},
		"circle": {`{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "A"}}}`, `1`, nil, []string{"A failed: States.Runtime: The execution went through 1000 states in a row without a task."}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := walk(t, test.definition, test.input, test.outcomes...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%.2000s", diff)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	m, err := asl.Parse(`{"StartAt": "A", "TimeoutSeconds": 90, "States": {"A": {"Type": "Task", "Resource": "` + f + `", "TimeoutSeconds": 7, "End": true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Begin(json.RawMessage("1")).Task.Timeout; got != 7*time.Second || m.Timeout() != 90*time.Second {
		t.Errorf("a task has %s, and all of it %s", got, m.Timeout())
	}
}

func TestProblems(t *testing.T) {
	state := func(fields string) string { return `{"StartAt": "A", "States": {"A": {` + fields + `}}}` }
	task := `"Type": "Task", "Resource": "` + f + `", "End": true`
	for definition, want := range map[string]string{
		``:   "the definition is not JSON, from byte 0 on",
		`[]`: "the definition is not a JSON object",
		`{}`: `StartAt "" is not a state`,
		`{"StartAt": "A", "States": {}, "Extra": 1}`: `the definition has the field "Extra", which is not supported; supported are Comment, Version, QueryLanguage, StartAt, TimeoutSeconds, States`,
		`{"StartAt": 1}`:                                                     "the definition has a number for StartAt",
		`{"QueryLanguage": "JSONata"}`:                                       `QueryLanguage "JSONata" is not supported, JSONPath is`,
		state(`"Type": "Map", "End": true`):                                  `state 'A': Type "Map" is not supported; supported are Task, Choice, Wait, Pass, Succeed and Fail`,
		state(`"Type": "Task"`):                                              `state 'A': it needs either Next or End: true; state 'A': Resource "" is not supported: a task calls a Lambda function, by its ARN or by arn:aws:states:::lambda:invoke`,
		state(task + `, "HeartbeatSeconds": 1`):                              `state 'A': it has the field "HeartbeatSeconds", which is not supported; supported are Type, Comment, QueryLanguage, Resource, Next, End, TimeoutSeconds, InputPath, OutputPath, ResultPath, Parameters, Retry, Catch`,
		state(task + `, "Next": "B"`):                                        "state 'A': it needs either Next or End: true",
		state(`"Type": "Pass", "Next": "B"`):                                 `state 'A': Next leads to "B", which is not a state`,
		state(task + `, "InputPath": "$..a"`):                                `state 'A': InputPath "$..a" is not supported: paths are $ or, of members of objects, such as $.Detail.Name`,
		state(task + `, "Parameters": {}`):                                   "state 'A': Parameters are supported with the Resource arn:aws:states:::lambda:invoke only",
		state(task + `, "Retry": [{"ErrorEquals": [], "MaxAttempts": 1.5}]`): "state 'A': Retry[0] needs ErrorEquals with the names of errors; state 'A': Retry[0].MaxAttempts is 1.5, and must be a whole number from 0 to 99999999",
		state(task + `, "Retry": [{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["X"], "BackoffRate": 0.5}]`):                                                  "state 'A': Retry[0]: States.ALL must stand alone, and in the last one; state 'A': Retry[1].BackoffRate is 0.5, and must be 1 or more",
		state(task + `, "Catch": [{"ErrorEquals": ["X"]}]`):                                                                                                       "state 'A': Catch[0] needs Next",
		state(`"Type": "Task", "End": true, "Resource": "arn:aws:states:::sqs:sendMessage"`):                                                                      `state 'A': Resource "arn:aws:states:::sqs:sendMessage" is not supported: a task calls a Lambda function, by its ARN or by arn:aws:states:::lambda:invoke`,
		state(`"Type": "Task", "End": true, "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "F", "Payload": {"a": [{"x.$": "$"}]}}`): `state 'A': Parameters.Payload has a field that ends in ".$", which is not supported: give all of it as Payload.$`,
		`{"StartAt": "A", "States": {"A": {` + task + `}, "B": {` + task + `}}}`:                                                                                  "state 'B': it cannot be reached from StartAt",
		`{"StartAt": "A", "States": {"A": 1}}`:                                                                                                                    "state 'A': it is not an object with a Type",
		`{"StartAt": "", "States": {"": {}}}`:                                                                                                                     "the name of a state has 1 to 80 characters, not 0",
	} {
		_, err := asl.Parse(definition)
		if err == nil {
			t.Errorf("%s\nwas taken, want %s", definition, want)
		} else if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", definition, diff)
		}
	}
}

// TestUnsupported checks which definitions may be valid for Step Functions, and which are not.
func TestUnsupported(t *testing.T) {
	state := func(fields string) string { return `{"StartAt": "A", "States": {"A": {` + fields + `}}}` }
	task := `"Type": "Task", "Resource": "` + f + `", "End": true`
	for definition, want := range map[string]bool{
		state(`"Type": "Map", "ItemProcessor": {}, "End": true`):                                             true,
		state(`"Type": "Task", "Resource": "arn:aws:states:::emr-containers:startJobRun.sync", "End": true`): true,
		state(`"Type": "Task", "QueryLanguage": "JSONata", "Arguments": {}, "End": true`):                    true,
		`{"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {"Type": "Map"}}}`:                     true,
		state(task + `, "ResultSelector": {}`):                                                               true,
		state(task + `, "InputPath": "$.a[0]"`):                                                              true,
		state(task + `, "InputPath": "a"`):                                                                   false,
		state(task + `, "Resultselector": {}`):                                                               false,
		state(`"Type": "Task", "Resource": "function", "End": true`):                                         false,
		state(`"Type": "Loop", "End": true`):                                                                 false,
		state(`"Type": "Map", "End": true}, "B": {"Type": "Pass"`):                                           false,
	} {
		_, err := asl.Parse(definition)
		bad, ok := errors.AsType[*asl.DefinitionError](err)
		if !ok || bad.Unsupported != want {
			t.Errorf("%s: %v, want unsupported %t", definition, err, want)
		}
	}
}

// FuzzParse checks that every accepted definition can run, and that each move ends or has a task.
func FuzzParse(f *testing.F) {
	const fn = "arn:aws:lambda:us-east-1:123456789012:function:F"
	for _, seed := range []string{
		`{"StartAt":"A","States":{"A":{"End":true,"Retry":[{"ErrorEquals":["States.ALL"],"IntervalSeconds":5,"MaxAttempts":2,"BackoffRate":1}],"Catch":[{"ErrorEquals":["States.ALL"],"Next":"B"}],"Type":"Task","Resource":"` + fn + `"},"B":{"End":true,"Type":"Task","Resource":"` + fn + `"}}}`,
		`{"StartAt":"A","TimeoutSeconds":5,"States":{"A":{"Type":"Pass","Result":{"a":1},"ResultPath":"$.x.y","OutputPath":"$.x","Next":"B"},"B":{"Type":"Succeed","InputPath":null}}}`,
		`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"F","Payload.$":"$.a"},"Next":"A"}}}`,
		`{"StartAt":"A","States":{"A":{"Type":"Fail","Error":"E"}}}`, `{"States":{"A":null}}`,
		`{"StartAt":"A","States":{"A":{"Type":"Choice","Default":"B","Choices":[{"Or":[{"Variable":"$.a.x","NumericLessThan":2},{"Not":{"Variable":"$.a","IsPresent":true}}],"Next":"B"},` +
			`{"Variable":"$.a.y","StringMatches":"a*\\\\*","Next":"A"}]},"B":{"Type":"Wait","SecondsPath":"$.a.x","Next":"A"}}}`,
		`{"StartAt":"A","States":{"A":{"Type":"Wait","Timestamp":"2026-01-31T12:00:00Z","InputPath":"$.a","End":true}}}`,
	} {
		f.Add(seed, `{"a": {"x": 1.50}}`)
	}
	f.Fuzz(func(t *testing.T, definition, data string) {
		m, err := asl.Parse(definition)
		if err != nil {
			if err.Error() == "" {
				t.Error("it is refused without a word")
			}
			return
		}
		if !json.Valid([]byte(data)) {
			return
		}
		move := m.Begin(json.RawMessage(data))
		for n := range 20 {
			switch {
			case move.Failure != nil:
				if move.Output != nil || move.Task != nil {
					t.Fatalf("it has failed, and goes on: %+v", move)
				}
				return
			case move.Waits:
				if move.Task != nil || move.Output != nil || move.After < 0 {
					t.Fatalf("it waits and goes on: %+v", move)
				}
				move = m.Waited(move.Position)
				continue
			case move.Task == nil:
				if !json.Valid(move.Output) || len(move.Output) > asl.MaxData && len(data) <= asl.MaxData {
					t.Fatalf("it ends with %d bytes: %.100s", len(move.Output), move.Output)
				}
				return
			case !json.Valid(move.Task.Payload), move.Task.Timeout < 0, move.After < 0:
				t.Fatalf("it goes on with %+v", move)
			}
			if n%2 == 0 {
				move = m.Failed(move.Position, asl.Failure{Error: "E", Cause: data})
			} else {
				move = m.Returned(move.Position, json.RawMessage(data))
			}
		}
	})
}
