package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// taskLimit bounds a try of a task whose state has no timeout. It is longer than the maximum run time of a
	// function, so it ends only tries that can no longer report.
	taskLimit = 20 * time.Minute
	// maxCause is the maximum size in bytes of the stored cause of a failed execution. A catcher gets the whole
	// cause. Source: AWS Step Functions, DescribeExecution.
	maxCause = 32 << 10
	maxError = 256
)

// frozen is the definition and the input of an execution at its start.
type frozen struct{ definition, input string }

func frozenOf(body *store.RequestBody) frozen {
	definition, _ := body.OldProperties.Get("Definition")
	input, _ := body.OldProperties.Get("Input")
	return frozen{definition.Text(), input.Text()}
}

func (f frozen) value() value.Value {
	return value.Object(value.Member{Key: "Definition", Value: value.SecretStr(f.definition)}, value.Member{Key: "Input", Value: value.SecretStr(f.input)})
}

// executionData is the pending data of an execution. For a running one, it is the input of its state if that is a
// Wait state or if the task's payload differs from it. For a finished one, it is the result.
type executionData struct {
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`
	Cause  string `json:"cause,omitempty"`
}

func dataOf(body *store.RequestBody) (data executionData, err error) {
	if body.Pending.IsNull() {
		return data, nil
	}
	if json.Unmarshal([]byte(body.Pending.Text()), &data) != nil {
		return data, errors.New("the data of an execution cannot be read") // the error could quote the data
	}
	return data, nil
}

func (d executionData) value() value.Value {
	if d == (executionData{}) {
		return value.Value{}
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("an execution's data are not JSON") // they were checked before
	}
	return value.SecretStr(string(text))
}

func payloadOf(body *store.RequestBody) string {
	payload, _ := body.Properties.Get("Payload")
	return payload.Text()
}

// executions runs executions of state machines.
type executions struct{ *decision }

// start adds the row of an execution unless it exists. The view contains the stack, and the request if it exists.
func (d executions) start(id wire.RequestID, in *MachineExecution, states *asl.Machine) (store.Request, error) {
	if r := d.view.Request; r != nil {
		if r.Stack == d.stack.Key && r.Type == store.TypeExecution && r.State != store.RequestSettled && frozenOf(r.Body).input == string(in.Input) {
			return *r, nil
		}
		return store.Request{}, ErrExecutionExists
	}
	if !d.stack.Live {
		return store.Request{}, ErrMachineGone
	}
	r := &store.Request{
		ID: id, Stack: d.stack.Key, Operation: d.op.Number, Logical: wire.LogicalID(in.Machine), Type: store.TypeExecution, Created: d.now,
		Execution: &store.Execution{Name: in.Name, Status: store.ExecutionRunning},
		Body: &store.RequestBody{
			Dialect: d.dialect.Name(), StackID: d.stack.ID, Region: d.stack.Region, Trace: d.trace, Properties: value.Object(),
			OldProperties: frozen{in.Definition, string(in.Input)}.value(),
		},
	}
	if limit := states.Timeout(); limit > 0 {
		r.Execution.Deadline = d.now.Add(limit)
	}
	d.requests[r.ID] = r
	d.newReq.add(r.ID)
	d.move(r, states.Begin(in.Input))
	return *r, nil
}

// move applies the next move of the state machine.
func (d executions) move(r *store.Request, move asl.Move) {
	x := *r.Execution
	x.State, x.Tries = move.Position.State, move.Position.Tries
	r.Execution = &x
	if !d.record(r, move.Events) {
		return
	}
	switch {
	case move.Failure != nil:
		d.end(r, store.ExecutionFailed, executionData{Error: move.Failure.Error, Cause: move.Failure.Cause})
		return
	case move.Task == nil && !move.Waits:
		d.end(r, store.ExecutionSucceeded, executionData{Output: string(move.Output)})
		return
	}
	x.Try++
	if x.Waits = move.Waits; x.Waits {
		d.wait(r, move)
		return
	}
	d.call(r, move)
	r.Executor, r.Delivered = 0, zeroTime
	d.changeRequest(r)
	if move.After > 0 {
		delete(d.madeReady, r.ID)
		r.State, r.Owner, r.Due = store.RequestDelayed, 0, d.bound(r, d.now.Add(move.After))
		return
	}
	d.deliver(r)
}

// wait puts an execution in a Wait state. The row's due time is the end of the wait, so a restart does not lengthen
// it.
func (d executions) wait(r *store.Request, move asl.Move) {
	due := d.now.Add(move.After)
	if !move.Until.IsZero() {
		due = maxTime(move.Until, d.now)
	}
	body := *r.Body
	body.Properties, body.Pending = workOf("", historyText(&body)), executionData{Input: string(move.Position.Input)}.value()
	r.Body = &body
	d.newReq.add(r.ID)
	r.State, r.Owner, r.Executor, r.Delivered, r.Due = store.RequestDelayed, 0, 0, zeroTime, d.bound(r, due)
	d.changeRequest(r)
	delete(d.madeReady, r.ID)
}

// call prepares the next try of a task.
func (d executions) call(r *store.Request, move asl.Move) {
	body := *r.Body
	body.Token = value.Str(functionARN(r, move.Task.Function))
	body.Timeout = taskLimit
	if move.Task.Timeout > 0 {
		body.Timeout = move.Task.Timeout
	}
	if deadline := r.Execution.Deadline; !deadline.IsZero() {
		body.Timeout = max(min(body.Timeout, deadline.Sub(d.now.Add(move.After))), time.Millisecond)
	}
	payload, data := string(move.Task.Payload), executionData{}
	if payload != string(move.Position.Input) {
		data.Input = string(move.Position.Input)
	}
	body.Properties, body.Pending = workOf(payload, historyText(&body)), data.value()
	r.Body = &body
	d.newReq.add(r.ID)
}

// functionARN returns the ARN of the function of a task, whose name may have any form that lambda:invoke accepts.
func functionARN(r *store.Request, function string) string {
	if strings.HasPrefix(function, "arn:") {
		return function
	}
	fields := strings.SplitN(string(r.Logical), ":", 6) // arn, partition, states, region, account
	if len(fields) < 6 {
		return function
	}
	if account, name, ok := strings.Cut(function, ":function:"); ok {
		fields[4], function = account, name
	}
	return strings.Join([]string{"arn", fields[1], "lambda", fields[3], fields[4], "function", function}, ":")
}

// deliver makes the task of an execution ready for delivery.
func (d executions) deliver(r *store.Request) {
	r.State, r.Owner, r.First, r.Due = store.RequestReady, d.node(), d.node(), zeroTime
	d.changeRequest(r)
	d.madeReady.add(r.ID)
}

// bound returns a time, or the deadline of the execution if that is earlier.
func (d executions) bound(r *store.Request, at time.Time) time.Time {
	if deadline := r.Execution.Deadline; !deadline.IsZero() {
		return minTime(at, deadline)
	}
	return at
}

// expired reports whether the deadline of the execution has passed.
func (d executions) expired(r *store.Request) bool {
	return !r.Execution.Deadline.IsZero() && !d.now.Before(r.Execution.Deadline)
}

// report handles the outcome of one try of a task. It ignores the outcome of an earlier try.
func (d executions) report(r *store.Request, outcome Outcome) error {
	own := r.State == store.RequestReady && r.Owner == d.node()
	executed := r.State == store.RequestWaiting && r.Executor == d.node()
	switch outcome.Kind {
	case Answered, Provided, Awaiting, Waiting, Silent, TimedOut:
		return store.ErrNotFound // no provider answers an execution
	case Accepted:
		d.void = !own
	case Refused, Died:
		d.void = !own && !executed
	case Returned: // the task is done, whichever node reports it
	}
	if d.void = d.void || outcome.Try != r.Execution.Try; d.void {
		return nil
	}
	switch outcome.Kind {
	case Accepted:
		r.State, r.Owner, r.Delivered = store.RequestWaiting, 0, d.now
		r.Due = d.bound(r, d.now.Add(r.Body.Timeout))
		if outcome.Local {
			r.Executor = d.node()
		}
		d.changeRequest(r)
	case Returned:
		d.advance(r, func(states *asl.Machine, at asl.Position) asl.Move { return states.Returned(at, outcome.Body) })
	case Refused, Died:
		failure := asl.Failure{Error: outcome.Error, Cause: outcome.Cause}
		if failure.Error == "" {
			failure = asl.Failure{Error: "Lambda.Unknown", Cause: outcome.Text}
		}
		d.advance(r, func(states *asl.Machine, at asl.Position) asl.Move { return states.Failed(at, failure) })
	case Answered, TimedOut, Provided, Awaiting, Waiting, Silent:
	}
	return nil
}

// due continues an execution whose pause or wait has passed, or whose task timed out.
func (d executions) due(r *store.Request) {
	switch {
	case d.expired(r):
		d.end(r, store.ExecutionTimedOut, executionData{})
	case r.State == store.RequestDelayed && r.Execution.Waits:
		d.advance(r, func(states *asl.Machine, at asl.Position) asl.Move { return states.Waited(at) })
	case r.State == store.RequestDelayed:
		d.retry(r)
	default:
		d.advance(r, func(states *asl.Machine, at asl.Position) asl.Move {
			return states.Failed(at, asl.Failure{Error: asl.ErrorTimeout})
		})
	}
}

// advance continues an execution whose task has finished.
func (d executions) advance(r *store.Request, next func(*asl.Machine, asl.Position) asl.Move) {
	if d.expired(r) {
		d.end(r, store.ExecutionTimedOut, executionData{})
		return
	}
	if states, at, ok := d.position(r); ok {
		d.move(r, next(states, at))
	}
}

// retry sends the task of an execution again after its pause.
func (d executions) retry(r *store.Request) {
	states, at, ok := d.position(r)
	if ok && d.record(r, states.Retried(at)) {
		d.deliver(r)
	}
}

// position returns the state machine of an execution and the execution's position in it. If either cannot be read, it
// fails the execution and returns false.
func (d executions) position(r *store.Request) (*asl.Machine, asl.Position, bool) {
	states, err := asl.Parse(frozenOf(r.Body).definition)
	data, broken := dataOf(r.Body)
	if err = errors.Join(err, broken); err != nil { // a newer version wrote it
		d.end(r, store.ExecutionFailed, executionData{Error: asl.ErrorRuntime, Cause: err.Error()})
		return nil, asl.Position{}, false
	}
	at := asl.Position{State: r.Execution.State, Input: json.RawMessage(data.Input), Tries: r.Execution.Tries}
	if data.Input == "" {
		at.Input = json.RawMessage(payloadOf(r.Body))
	}
	return states, at, true
}

// record adds events to the history of an execution. If there are too many, it fails the execution and returns false.
func (d executions) record(r *store.Request, events []asl.Event) bool {
	h, err := historyOf(r.Body)
	if err != nil { // a newer version wrote it
		d.end(r, store.ExecutionFailed, executionData{Error: asl.ErrorRuntime, Cause: err.Error()})
		return false
	}
	if h.Last+len(events) >= mostEvents {
		d.end(r, store.ExecutionFailed, executionData{
			Error: asl.ErrorRuntime, Cause: fmt.Sprintf("The execution reached the maximum number of history events (%d).", mostEvents),
		})
		return false
	}
	list := make([]recorded, len(events))
	for i := range events {
		at, kind := d.now, events[i].Type
		if (kind == asl.EventLambdaStarted || kind == asl.EventTaskStarted) && !r.Delivered.IsZero() {
			at = r.Delivered
		}
		list[i] = record(&events[i], at)
	}
	h.add(list)
	body := *r.Body
	body.Properties = workOf(payloadOf(&body), h.text())
	r.Body = &body
	d.newReq.add(r.ID)
	return true
}

// end settles a running execution. It drops the data of the pending task.
func (d executions) end(r *store.Request, status store.ExecutionStatus, data executionData) {
	data.Error, data.Cause = cut(data.Error, maxError), cut(data.Cause, maxCause)
	x, body := *r.Execution, *r.Body
	x.Status, x.Tries, x.Waits = status, nil, false
	body.Properties, body.Pending = workOf("", historyText(&body)), data.value()
	r.Execution, r.Body = &x, &body
	d.newReq.add(r.ID)
	r.State, r.Owner, r.Executor, r.Due = store.RequestSettled, 0, 0, zeroTime
	r.Ending, r.Settled = strings.ToLower(string(status)), d.now
	d.changeRequest(r)
	delete(d.madeReady, r.ID)
}

// abortAll aborts the running executions of a stack that is deleted. The view is whole.
func (d executions) abortAll() {
	for _, id := range sortedKeys(d.requests) {
		if r := d.requests[id]; r.Type == store.TypeExecution && r.State != store.RequestSettled {
			d.end(r, store.ExecutionAborted, executionData{})
		}
	}
}
