package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/statemachine"
)

const (
	waiterMachine = "arn:aws:states:us-east-1:123456789012:stateMachine:waiter"
	isComplete    = "arn:aws:lambda:us-east-1:123456789012:function:isComplete"
	onTimeout     = "arn:aws:lambda:us-east-1:123456789012:function:onTimeout"
)

// waiter returns the definition that CDK's provider framework creates.
func waiter(attempts int) string {
	return fmt.Sprintf(`{"StartAt":"framework-isComplete-task","States":{"framework-isComplete-task":{"End":true,"Retry":[{"ErrorEquals":`+
		`["States.ALL"],"IntervalSeconds":5,"MaxAttempts":%d,"BackoffRate":1}],"Catch":[{"ErrorEquals":["States.ALL"],"Next":`+
		`"framework-onTimeout-task"}],"Type":"Task","Resource":%q},"framework-onTimeout-task":{"End":true,"Type":"Task","Resource":%q}}}`,
		attempts, isComplete, onTimeout)
}

// machineWorld returns a world with a stack that has a state machine.
func machineWorld(t *testing.T) *world {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource("")})))
	w.succeed("A", "a-1")
	return w
}

func (w *world) startExecution(definition, name, input string) (engine.MachineExecution, error) {
	return w.engine.StartExecution(w.ctx, engine.MachineExecution{
		Machine: waiterMachine, Stack: w.stack().ID, Definition: definition, Name: name, Input: json.RawMessage(input),
	})
}

func (w *world) execution(arn string) engine.MachineExecution {
	w.t.Helper()
	x, err := w.engine.Execution(w.ctx, arn)
	w.must(err)
	return x
}

// call takes the dispatched task, and checks the function that it calls.
func (w *world) call(function string) store.Request {
	w.t.Helper()
	r := w.take(waiterMachine)
	if got := r.Body.Token.Text(); got != function {
		w.t.Fatalf("%s is called, want %s", got, function)
	}
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted, Local: true, Try: r.Execution.Try}))
	return r
}

func payload(r store.Request) string {
	v, _ := r.Body.Properties.Get("Payload")
	return v.Text()
}

func (w *world) taskReturns(r store.Request, result string) {
	w.t.Helper()
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Returned, Body: []byte(result), Try: r.Execution.Try}))
}

func (w *world) taskThrows(r store.Request, kind, cause string) {
	w.t.Helper()
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Died, Error: kind, Cause: cause, Try: r.Execution.Try}))
}

// TestWaiterSucceeds runs CDK's waiter: the function throws while the work is not done, and is called again with the
// same event.
func TestWaiterSucceeds(t *testing.T) {
	w := machineWorld(t)
	input := `{"n": 1.50, "ResponseURL": "https://x/?X-Amz-Signature=0"}`
	started, err := w.startExecution(waiter(3), "", input)
	w.must(err)
	if want := "arn:aws:states:us-east-1:123456789012:execution:waiter:" + started.Name; started.ARN != want || started.Name == "" || !started.Started.Equal(w.now) {
		t.Errorf("it is %s, started at %s", started.ARN, started.Started)
	}
	for range 3 {
		r := w.call(isComplete)
		if payload(r) != input {
			t.Errorf("it is called with %s", payload(r))
		}
		w.taskThrows(r, "Retry", `{"errorMessage":"not done"}`)
		w.pass(4999 * time.Millisecond)
		if len(w.inbox) > 0 {
			t.Fatal("it is asked again too early")
		}
		w.pass(time.Millisecond)
	}
	if x := w.execution(started.ARN); x.Status != store.ExecutionRunning || x.Output != nil || x.State != "framework-isComplete-task" {
		t.Errorf("while it runs it is %+v", x)
	}
	w.taskReturns(w.call(isComplete), `{"done": 2.0}`)
	want := engine.MachineExecution{
		ARN: started.ARN, Machine: waiterMachine, Stack: w.stack().ID, Name: started.Name, Definition: waiter(3), Input: json.RawMessage(input),
		Status: store.ExecutionSucceeded, State: "framework-isComplete-task", Output: json.RawMessage(`{"done": 2.0}`),
		Started: started.Started, Stopped: w.now,
	}
	if diff := cmp.Diff(want, w.execution(started.ARN)); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
	if w.status() != "CREATE_COMPLETE" || len(w.events()) != 5 {
		t.Errorf("the stack took notice: %s\n%s", w.status(), w.history())
	}
}

// TestWaiterTimesOut checks that a catcher gets the complete error of a function that throws too often.
func TestWaiterTimesOut(t *testing.T) {
	w := machineWorld(t)
	started, err := w.startExecution(waiter(2), "w", `{}`)
	w.must(err)
	cause := `{"errorType":"Retry","errorMessage":"` + strings.Repeat("x", 100_000) + `"}`
	for range 3 {
		w.taskThrows(w.call(isComplete), "Retry", cause)
		w.pass(5 * time.Second)
	}
	r := w.call(onTimeout)
	var caught map[string]string
	w.must(json.Unmarshal([]byte(payload(r)), &caught))
	if diff := cmp.Diff(map[string]string{"Error": "Retry", "Cause": cause}, caught); diff != "" {
		t.Errorf("what was caught (-want +got):\n%s", diff)
	}
	w.taskThrows(r, "Oops", cause)
	x := w.execution(started.ARN)
	if x.Status != store.ExecutionFailed || x.Error != "Oops" || len(x.Cause) == 0 || len(x.Cause) > 32<<10 || x.State != "framework-onTimeout-task" {
		t.Errorf("it ended %s, %s, with a cause of %d bytes", x.Status, x.Error, len(x.Cause))
	}
}

func TestExecutionNames(t *testing.T) {
	w := machineWorld(t)
	first, err := w.startExecution(waiter(1), "w", `{"a":1}`)
	w.must(err)
	again, err := w.startExecution(waiter(1), "w", `{"a":1}`)
	w.must(err)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same name and input are another execution:\n%s", diff)
	}
	if len(w.inbox) != 1 {
		t.Errorf("%d tasks are to be done, want 1", len(w.inbox))
	}
	if _, err := w.startExecution(waiter(1), "w", `{"a":2}`); !errors.Is(err, engine.ErrExecutionExists) {
		t.Errorf("another input: %v", err)
	}
	w.taskReturns(w.call(isComplete), `1`)
	if _, err := w.startExecution(waiter(1), "w", `{"a":1}`); !errors.Is(err, engine.ErrExecutionExists) {
		t.Errorf("a name that was used: %v", err)
	}
	var bad *asl.DefinitionError
	for name, err := range map[string]error{
		"too long": func() error {
			_, err := w.startExecution(waiter(1), "long", `"`+strings.Repeat("x", asl.MaxData)+`"`)
			return err
		}(),
		"no JSON": func() error { _, err := w.startExecution(waiter(1), "bad", `{`); return err }(),
	} {
		if !errors.Is(err, engine.ErrExecutionData) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.startExecution(`{}`, "x", `{}`); !errors.As(err, &bad) {
		t.Errorf("a definition of nothing: %v", err)
	}
	if _, err := w.engine.Execution(w.ctx, first.ARN+"x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := w.engine.Execution(w.ctx, "id-1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a request that is none: %v", err)
	}
}

// TestOnlyCurrentTryCounts checks that only the report on the current try counts, and only from the node that has
// it.
func TestOnlyCurrentTryCounts(t *testing.T) {
	w := machineWorld(t)
	started, err := w.startExecution(waiter(5), "w", `{}`)
	w.must(err)
	first := w.call(isComplete)
	w.taskThrows(first, "Retry", "")
	w.taskThrows(first, "Retry", "") // once more
	w.taskReturns(first, `"late"`)
	w.pass(5 * time.Second)
	w.taskReturns(first, `"late"`)
	if x := w.execution(started.ARN); x.Status != store.ExecutionRunning {
		t.Fatalf("what was said of the first try counts: %s", x.Status)
	}
	second := w.call(isComplete)
	if second.Execution.Try != 2 || second.Execution.Tries[0] != 1 {
		t.Errorf("the second try is %+v", second.Execution)
	}
	if err := w.engine.Answer(w.ctx, second.ID, []byte(`{}`), 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an answer was taken: %v", err)
	}
	w.taskReturns(second, `"done"`)
	w.taskThrows(second, "Retry", "")
	if x := w.execution(started.ARN); x.Status != store.ExecutionSucceeded || string(x.Output) != `"done"` {
		t.Errorf("it ended %+v", x)
	}
}

func TestStopExecution(t *testing.T) {
	w := machineWorld(t)
	started, err := w.startExecution(waiter(5), "w", `{}`)
	w.must(err)
	r := w.call(isComplete)
	stopped, err := w.engine.StopExecution(w.ctx, started.ARN, "Why", "because")
	w.must(err)
	w.taskReturns(r, `1`)
	again, err := w.engine.StopExecution(w.ctx, started.ARN, "Other", "")
	w.must(err)
	if diff := cmp.Diff(stopped, again); diff != "" || stopped.Status != store.ExecutionAborted || stopped.Error != "Why" || stopped.Cause != "because" {
		t.Errorf("it is %+v, and when it is stopped again:\n%s", stopped, diff)
	}
	if _, err := w.engine.StopExecution(w.ctx, started.ARN+"x", "", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestExecutionsEndWithTheirMachine checks that executions end with their machine, or at the end of the stack's
// delete at the latest.
func TestExecutionsEndWithTheirMachine(t *testing.T) {
	w := machineWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		_, err := w.startExecution(waiter(5), name, `{}`)
		w.must(err)
	}
	w.taskReturns(w.call(isComplete), `1`)
	w.must(w.engine.AbortExecutions(w.ctx, waiterMachine))
	statuses := func(status store.ExecutionStatus) string {
		list, err := w.engine.Executions(w.ctx, waiterMachine, status, "", 10)
		w.must(err)
		var text []string
		for _, x := range list {
			text = append(text, x.Name+" "+string(x.Status))
		}
		return strings.Join(text, ", ")
	}
	if got, want := statuses(""), "c ABORTED, b ABORTED, a SUCCEEDED"; got != want {
		t.Errorf("they are %s, want %s", got, want)
	}
	if got, want := statuses(store.ExecutionSucceeded), "a SUCCEEDED"; got != want {
		t.Errorf("they are %s, want %s", got, want)
	}
	w.inbox = nil
	w.delete()
	deletion := w.take("A")
	d, err := w.startExecution(waiter(5), "d", `{}`)
	w.must(err)
	w.taskThrows(w.call(isComplete), "Retry", "")
	if got, want := statuses(store.ExecutionRunning), "d RUNNING"; got != want {
		t.Errorf("they are %s, want %s", got, want)
	}
	w.answer(deletion, success("a-1"))
	if x := w.execution(d.ARN); x.Status != store.ExecutionAborted || x.Stopped.IsZero() || w.status() != "DELETE_COMPLETE" {
		t.Errorf("it outlives its stack: %+v, %s", x, w.status())
	}
	if _, err := w.startExecution(waiter(5), "e", `{}`); !errors.Is(err, engine.ErrMachineGone) {
		t.Errorf("one was started in a stack that is deleted: %v", err)
	}
}

func TestExecutionsRunOutOfTime(t *testing.T) {
	const task = `{"StartAt": "A", "TimeoutSeconds": 60, "States": {
		"A": {"Type": "Task", "Resource": "` + isComplete + `", "TimeoutSeconds": 10, "Next": "B",
			"Retry": [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 1}],
			"Catch": [{"ErrorEquals": ["States.Timeout"], "ResultPath": "$.caught", "Next": "B"}]},
		"B": {"Type": "Task", "Resource": "` + onTimeout + `", "End": true}}}`
	w := machineWorld(t)
	started, err := w.startExecution(task, "w", `{"n": 1.50}`)
	w.must(err)
	w.call(isComplete)
	w.pass(10 * time.Second)
	w.pass(time.Second)
	w.call(isComplete)
	w.pass(10 * time.Second)
	r := w.call(onTimeout)
	if want := `{"caught":{"Error":"States.Timeout","Cause":""},"n":1.50}`; payload(r) != want {
		t.Errorf("what goes on is %s, want %s", payload(r), want)
	}
	w.pass(39 * time.Second)
	if x := w.execution(started.ARN); x.Status != store.ExecutionTimedOut || !x.Stopped.Equal(started.Started.Add(time.Minute)) {
		t.Errorf("it is %+v", x)
	}
	w.taskReturns(r, `1`)
	if x := w.execution(started.ARN); x.Status != store.ExecutionTimedOut {
		t.Errorf("it is %+v", x)
	}
}

// TestExecutionIsTakenOver checks that the work of a dead node is repeated as the same try.
func TestExecutionIsTakenOver(t *testing.T) {
	w := machineWorld(t)
	started, err := w.startExecution(waiter(5), "w", `{}`)
	w.must(err)
	before := w.call(isComplete)
	after, err := engine.Open(w.ctx, engine.Config{Store: w.store, Alone: true})
	w.must(err)
	ready, err := w.store.Claim(w.ctx, after.Node(), 10, nil)
	w.must(err)
	if len(ready) != 1 || ready[0].ID != before.ID || ready[0].Execution.Try != before.Execution.Try || payload(ready[0]) != `{}` {
		t.Fatalf("the next node finds %+v", ready)
	}
	w.taskThrows(before, "Retry", "") // from a node that is dead
	if r, err := w.store.Request(w.ctx, before.ID); err != nil || r.State != store.RequestReady || r.Execution.Try != 1 {
		t.Errorf("it is %+v, %v", r, err)
	}
	w.must(after.Report(w.ctx, before.ID, engine.Outcome{Kind: engine.Returned, Body: []byte(`7`), Try: 1}))
	if x := w.execution(started.ARN); x.Status != store.ExecutionSucceeded || string(x.Output) != `7` {
		t.Errorf("it is %+v", x)
	}
}

// TestExecutionWaits runs the state machine of pintle statemachine: it waits as long as its input says, calls the
// function, and waits again.
func TestExecutionWaits(t *testing.T) {
	definition, err := statemachine.Definition(isComplete)
	if err != nil {
		t.Fatal(err)
	}
	w := machineWorld(t)
	started, err := w.startExecution(string(definition), "w", `{"pintleWait": {"state": "waiting", "seconds": 5}}`)
	w.must(err)
	for _, pause := range []time.Duration{5 * time.Second, 3 * time.Second} {
		w.pass(pause - time.Millisecond)
		if x := w.execution(started.ARN); len(w.inbox) > 0 || x.State != "Pause" {
			t.Fatalf("after less than %s it is at %s", pause, x.State)
		}
		w.pass(time.Millisecond)
		w.taskReturns(w.call(isComplete), `{"pintleWait": {"state": "waiting", "seconds": 3}}`)
	}
	w.pass(3 * time.Second)
	w.taskReturns(w.call(isComplete), `{"pintleWait": {"state": "done"}}`)
	if x := w.execution(started.ARN); x.Status != store.ExecutionSucceeded || x.State != "Done" || string(x.Output) != `{"pintleWait": {"state": "done"}}` {
		t.Errorf("it ended as %+v", x)
	}
}

// TestExecutionWaitsUntil covers the ends of a wait: a timestamp, a past timestamp, and a stop before the timestamp.
func TestExecutionWaitsUntil(t *testing.T) {
	w := machineWorld(t)
	const until = `{"StartAt": "W", "TimeoutSeconds": 60, "States": {"W": {"Type": "Wait", "TimestampPath": "$", "End": true}}}`
	at := func(after time.Duration) string { return `"` + w.now.Add(after).Format(time.RFC3339Nano) + `"` }
	arns := map[string]string{}
	for name, input := range map[string]string{"past": at(-time.Hour), "soon": at(10 * time.Second), "late": at(time.Hour), "stopped": at(time.Hour)} {
		x, err := w.startExecution(until, name, input)
		w.must(err)
		arns[name] = x.ARN
	}
	_, err := w.engine.StopExecution(w.ctx, arns["stopped"], "", "")
	w.must(err)
	statuses := func() string {
		var list []string
		for _, name := range []string{"past", "soon", "late", "stopped"} {
			list = append(list, string(w.execution(arns[name]).Status))
		}
		return strings.Join(list, " ")
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "SUCCEEDED RUNNING RUNNING ABORTED"},
		{10 * time.Second, "SUCCEEDED SUCCEEDED RUNNING ABORTED"},
		{50 * time.Second, "SUCCEEDED SUCCEEDED TIMED_OUT ABORTED"},
	} {
		w.pass(step.after)
		if got := statuses(); got != step.want {
			t.Errorf("after another %s they are %s, want %s", step.after, got, step.want)
		}
	}
}

// TestExecutionEventLimit checks that an execution that never calls a function still ends.
func TestExecutionEventLimit(t *testing.T) {
	w := machineWorld(t)
	const passes = 900 // states with two events each
	states := map[string]any{"W": map[string]any{"Type": "Wait", "Seconds": 1, "Next": "P0"}}
	for n := range passes {
		states[fmt.Sprint("P", n)] = map[string]any{"Type": "Pass", "Next": fmt.Sprint("P", n+1)}
	}
	states[fmt.Sprint("P", passes)] = map[string]any{"Type": "Pass", "Next": "W"}
	text, err := json.Marshal(map[string]any{"StartAt": "W", "States": states})
	w.must(err)
	started, err := w.startExecution(string(text), "w", `{"n": 1.50}`)
	w.must(err)
	for range 14 {
		w.pass(time.Second)
	}
	x, events, err := w.engine.ExecutionHistory(w.ctx, started.ARN)
	w.must(err)
	if x.Status != store.ExecutionFailed || x.Error != asl.ErrorRuntime || x.Cause != "The execution reached the maximum number of history events (25000)." {
		t.Errorf("it ended as %+v", x)
	}
	if len(events) != 1002 || events[1].ID != events[1001].ID-1000 || events[0].Type != asl.EventExecutionStarted || events[1001].Type != asl.EventExecutionFailed {
		t.Errorf("it has %d events, from %+v and %+v to %+v", len(events), events[0], events[1], events[len(events)-1])
	}
}

// TestExecutionHistory covers all events of an execution and their times.
func TestExecutionHistory(t *testing.T) {
	const definition = `{"StartAt": "W", "States": {
		"W": {"Type": "Wait", "Seconds": 5, "Next": "A"},
		"A": {"Type": "Task", "Resource": "` + isComplete + `", "TimeoutSeconds": 10, "Next": "C", "Retry": [{"ErrorEquals": ["Retry"], "IntervalSeconds": 2, "MaxAttempts": 1}],
			"Catch": [{"ErrorEquals": ["States.Timeout"], "ResultPath": "$.caught", "Next": "B"}]},
		"B": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "F", "Payload": {"m": 2.0}}, "OutputPath": "$.Payload", "Next": "C"},
		"C": {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": true, "Next": "S"}], "Default": "F"},
		"S": {"Type": "Succeed"}, "F": {"Type": "Fail", "Error": "E", "Cause": "C"}}}`
	w := machineWorld(t)
	began := w.now
	history := func(arn string) []string {
		_, events, err := w.engine.ExecutionHistory(w.ctx, arn)
		w.must(err)
		lines := make([]string, len(events))
		for i, e := range events {
			lines[i] = strings.TrimRight(fmt.Sprintf("%d<%d %s %s %s in=%s out=%s %s %s", e.ID, e.Previous, e.At.Sub(began), e.Type, e.State, e.Input, e.Output, e.Error, e.Cause), " ")
		}
		return lines
	}
	x, err := w.startExecution(definition, "x", `{"n": 1.50}`)
	w.must(err)
	w.pass(5 * time.Second)
	first := w.take(waiterMachine)
	w.now = w.now.Add(time.Second)
	w.must(w.engine.Report(w.ctx, first.ID, engine.Outcome{Kind: engine.Accepted, Local: true, Try: first.Execution.Try}))
	running := history(x.ARN)
	want := []string{
		`1<0 0s ExecutionStarted  in={"n": 1.50} out=`,
		`2<0 0s WaitStateEntered W in={"n": 1.50} out=`,
		`3<2 5s WaitStateExited W in= out={"n": 1.50}`,
		`4<3 5s TaskStateEntered A in={"n": 1.50} out=`,
		`5<4 5s LambdaFunctionScheduled  in={"n": 1.50} out=`,
		`6<5 6s LambdaFunctionStarted  in= out=`,
	}
	if diff := cmp.Diff(want, running); diff != "" {
		t.Errorf("while it runs (-want +got):\n%s", diff)
	}
	w.now = w.now.Add(time.Second)
	w.taskThrows(first, "Retry", `{"x": "<"}`)
	w.pass(2 * time.Second)
	w.call(isComplete)
	w.pass(10 * time.Second)
	w.taskReturns(w.call("arn:aws:lambda:us-east-1:123456789012:function:F"), `null`)
	want = append(want,
		`7<6 7s LambdaFunctionFailed  in= out= Retry {"x": "<"}`,
		`8<7 9s LambdaFunctionScheduled  in={"n": 1.50} out=`,
		`9<8 9s LambdaFunctionStarted  in= out=`,
		`10<9 19s LambdaFunctionTimedOut  in= out= States.Timeout`,
		`11<10 19s TaskStateExited A in= out={"caught":{"Error":"States.Timeout","Cause":""},"n":1.50}`,
		`12<11 19s TaskStateEntered B in={"caught":{"Error":"States.Timeout","Cause":""},"n":1.50} out=`,
		`13<12 19s TaskScheduled  in={"m": 2.0} out=`,
		`14<13 19s TaskStarted  in= out=`,
		`15<14 19s TaskSucceeded  in= out={"ExecutedVersion":"$LATEST","Payload":null,"StatusCode":200}`,
		`16<15 19s TaskStateExited B in= out=null`,
		`17<16 19s ChoiceStateEntered C in=null out=`,
		`18<17 19s ChoiceStateExited C in= out=null`,
		`19<18 19s SucceedStateEntered S in=null out=`,
		`20<19 19s SucceedStateExited S in= out=null`,
		`21<20 19s ExecutionSucceeded  in= out=null`,
	)
	if diff := cmp.Diff(want, history(x.ARN)); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
	began = w.now
	y, err := w.startExecution(definition, "y", `{"n": 1.50}`)
	w.must(err)
	w.pass(5 * time.Second)
	w.taskReturns(w.call(isComplete), `1`)
	want = []string{`10<9 5s ChoiceStateExited C in= out=1`, `11<10 5s FailStateEntered F in=1 out=`, `12<11 5s ExecutionFailed  in= out= E C`}
	if got := history(y.ARN); len(got) != 12 || cmp.Diff(want, got[9:]) != "" {
		t.Errorf("a failure: %v", got)
	}
	z, err := w.startExecution(definition, "z", `1`)
	w.must(err)
	_, err = w.engine.StopExecution(w.ctx, z.ARN, "Why", "because")
	w.must(err)
	if got, want := history(z.ARN), `3<2 5s ExecutionAborted  in= out= Why because`; len(got) != 3 || got[2] != want {
		t.Errorf("one that is stopped: %v", got)
	}
	if _, _, err := w.engine.ExecutionHistory(w.ctx, z.ARN+"x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestExecutionHistoryIsBounded checks that large data are kept only for the newest events.
func TestExecutionHistoryIsBounded(t *testing.T) {
	w := machineWorld(t)
	x, err := w.startExecution(waiter(5), "x", `"`+strings.Repeat("x", 100_000)+`"`)
	w.must(err)
	for range 5 {
		w.taskThrows(w.call(isComplete), "Retry", strings.Repeat("y", 1000))
		w.pass(5 * time.Second)
	}
	_, events, err := w.engine.ExecutionHistory(w.ctx, x.ARN)
	w.must(err)
	data, cut := 0, 0
	for _, e := range events[1:] {
		data += len(e.Input) + len(e.Cause)
		if e.Cut {
			cut++
		}
	}
	if data > asl.MaxData || data < asl.MaxData/2 || cut == 0 || len(events) != 2+5*3+1 {
		t.Errorf("%d events keep %d bytes, and %d none", len(events), data, cut)
	}
}

func TestExecutionWithoutTasks(t *testing.T) {
	w := machineWorld(t)
	x, err := w.startExecution(`{"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": {"n": 1.0}, "Next": "B"}, "B": {"Type": "Succeed"}}}`, "w", `{}`)
	w.must(err)
	if x.Status != store.ExecutionSucceeded || string(x.Output) != `{"n": 1.0}` || x.Stopped.IsZero() || len(w.inbox) > 0 {
		t.Errorf("it is %+v", x)
	}
}

func TestFunctionsOfExecutions(t *testing.T) {
	w := machineWorld(t)
	for function, want := range map[string]string{
		"F": "arn:aws:lambda:us-east-1:123456789012:function:F", "F:live": "arn:aws:lambda:us-east-1:123456789012:function:F:live",
		"999999999999:function:F":                          "arn:aws:lambda:us-east-1:999999999999:function:F",
		"arn:aws:lambda:eu-west-1:999999999999:function:F": "arn:aws:lambda:eu-west-1:999999999999:function:F",
	} {
		_, err := w.startExecution(`{"StartAt": "A", "States": {"A": {"Type": "Task", "End": true, "Resource": "arn:aws:states:::lambda:invoke",
			"Parameters": {"FunctionName": "`+function+`", "Payload": {"fixed": 1.0}}, "OutputPath": "$.Payload"}}}`, "", `{"n": 1}`)
		w.must(err)
		r := w.call(want)
		if payload(r) != `{"fixed": 1.0}` {
			t.Errorf("it is called with %s", payload(r))
		}
		w.taskReturns(r, `2.50`)
		if x := w.execution(string(r.ID)); string(x.Output) != `2.50` || string(x.Input) != `{"n": 1}` {
			t.Errorf("it is %+v", x)
		}
	}
}

// TestExecutionIsDurable checks that the next process continues a wait after the first one is killed, and that the
// file contains no data in clear text.
func TestExecutionIsDurable(t *testing.T) {
	keys, err := store.NewKeys(store.Key{ID: "k", Secret: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pintle.db")
	w := newWorld(t, engine.FidelityPintle)
	open := func() {
		w.inbox = nil
		w.store, err = sqlite.Open(w.ctx, sqlite.Config{Path: path, Codec: store.NewCodec(keys), Now: func() time.Time { return w.now }})
		w.must(err)
		w.engine, err = engine.Open(w.ctx, engine.Config{Store: w.store, Alone: true, Dispatch: func(ready []store.Request) { w.inbox = append(w.inbox, ready...) }})
		w.must(err)
	}
	open()
	w.must(w.create(body(map[string]string{"A": resource("")})))
	input := `{"hush": "hunter2", "n": 1.50}`
	started, err := w.startExecution(waiter(3), "", input)
	w.must(err)
	w.inbox = w.inbox[1:] // the stack's own
	w.taskThrows(w.call(isComplete), "Retry", `{"errorMessage":"hunter2"}`)
	w.must(w.store.Close())
	open()
	w.pass(5 * time.Second)
	r := w.call(isComplete)
	if payload(r) != input || r.Execution.Try != 2 {
		t.Errorf("it is called with %s in try %d", payload(r), r.Execution.Try)
	}
	w.must(w.store.Close())
	open()
	ready, err := w.store.Claim(w.ctx, w.engine.Node(), 10, nil)
	w.must(err)
	at := slices.IndexFunc(ready, func(r store.Request) bool { return r.Type == store.TypeExecution })
	if at < 0 || ready[at].Execution.Try != 2 || payload(ready[at]) != input {
		t.Fatalf("what it was doing when it was killed is not there to be done again: %+v", ready)
	}
	w.taskReturns(ready[at], `{"hush": "hunter2"}`)
	if x := w.execution(started.ARN); x.Status != store.ExecutionSucceeded || string(x.Output) != `{"hush": "hunter2"}` || string(x.Input) != input {
		t.Errorf("it is %+v", x)
	}
	waiting, err := w.startExecution(`{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 60, "End": true}}}`, "", input)
	w.must(err)
	w.pass(20 * time.Second)
	w.must(w.store.Close())
	w.now = w.now.Add(20 * time.Second)
	open()
	w.pass(20*time.Second - time.Millisecond)
	if x := w.execution(waiting.ARN); x.Status != store.ExecutionRunning {
		t.Errorf("it waits too short: %+v", x)
	}
	w.pass(time.Millisecond)
	if x := w.execution(waiting.ARN); x.Status != store.ExecutionSucceeded || string(x.Output) != input {
		t.Errorf("it is %+v", x)
	}
	w.must(w.store.Close())
	files, err := filepath.Glob(path + "*")
	w.must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		w.must(err)
		if bytes.Contains(text, []byte("hunter2")) || bytes.Contains(text, []byte("framework-onTimeout-task")) {
			t.Errorf("%s has the data of an execution in clear", file)
		}
	}
}
