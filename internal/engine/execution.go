package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// taskLimit is how long a try may take whose state does not say: longer than a function may run, so that it ends only what
	// nobody hears of any more.
	taskLimit = 20 * time.Minute
	// maxCause is how long the cause is, in bytes, that is kept of an execution which has failed. What is caught is whole.
	// Source: AWS Step Functions, DescribeExecution.
	maxCause = 32 << 10
	maxError = 256
)

// frozen is what an execution was started with.
type frozen struct{ definition, input string }

func frozenOf(body *store.RequestBody) frozen {
	definition, _ := body.OldProperties.Get("Definition")
	input, _ := body.OldProperties.Get("Input")
	return frozen{definition.Text(), input.Text()}
}

func (f frozen) value() value.Value {
	return value.Object(value.Member{Key: "Definition", Value: value.SecretStr(f.definition)}, value.Member{Key: "Input", Value: value.SecretStr(f.input)})
}

// executionData is what is pending of an execution: of one that runs the input of its state, if that is a Wait state or its task is
// called with something else, and of one that has ended what came of it.
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
		return data, errors.New("the data of an execution cannot be read") // the error could quote it
	}
	return data, nil
}

func (d executionData) value() value.Value {
	if d == (executionData{}) {
		return value.Value{}
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("an execution's data are no JSON") // they were checked
	}
	return value.SecretStr(string(text))
}

func payloadOf(body *store.RequestBody) string {
	payload, _ := body.Properties.Get("Payload")
	return payload.Text()
}

// startExecution makes the row of an execution, unless there is one. The view is of the stack, and of the request if it is there.
func (m *machine) startExecution(id wire.RequestID, in *MachineExecution, states *asl.Machine) (store.Request, error) {
	if r := m.view.Request; r != nil {
		if r.Stack == m.stack.Key && r.Type == store.TypeExecution && r.State != store.RequestSettled && frozenOf(r.Body).input == string(in.Input) {
			return *r, nil
		}
		return store.Request{}, ErrExecutionExists
	}
	if !m.stack.Live {
		return store.Request{}, ErrMachineGone
	}
	r := &store.Request{
		ID: id, Stack: m.stack.Key, Operation: m.op.Number, Logical: wire.LogicalID(in.Machine), Type: store.TypeExecution, Created: m.now,
		Execution: &store.Execution{Name: in.Name, Status: store.ExecutionRunning},
		Body: &store.RequestBody{
			Dialect: m.dialect.Name(), StackID: m.stack.ID, Region: m.stack.Region, Trace: m.trace, Properties: value.Object(),
			OldProperties: frozen{in.Definition, string(in.Input)}.value(),
		},
	}
	if limit := states.Timeout(); limit > 0 {
		r.Execution.Deadline = m.now.Add(limit)
	}
	m.requests[r.ID] = r
	m.newReq.add(r.ID)
	m.moveExecution(r, states.Begin(in.Input))
	return *r, nil
}

// moveExecution does what a machine says is next.
func (m *machine) moveExecution(r *store.Request, move asl.Move) {
	x := *r.Execution
	x.State, x.Tries = move.Position.State, move.Position.Tries
	r.Execution = &x
	if !m.recordEvents(r, move.Events) {
		return
	}
	switch {
	case move.Failure != nil:
		m.endExecution(r, store.ExecutionFailed, executionData{Error: move.Failure.Error, Cause: move.Failure.Cause})
		return
	case move.Task == nil && !move.Waits:
		m.endExecution(r, store.ExecutionSucceeded, executionData{Output: string(move.Output)})
		return
	}
	x.Try++
	if x.Waits = move.Waits; x.Waits {
		m.waitExecution(r, move)
		return
	}
	m.callFunction(r, move)
	r.Executor, r.Delivered = 0, zeroTime
	m.changeRequest(r)
	if move.After > 0 {
		delete(m.madeReady, r.ID)
		r.State, r.Owner, r.Due = store.RequestDelayed, 0, m.inTime(r, m.now.Add(move.After))
		return
	}
	m.readyExecution(r)
}

// waitExecution has an execution wait in a Wait state. The row's due time is when the wait ends, so a restart does not lengthen it.
func (m *machine) waitExecution(r *store.Request, move asl.Move) {
	due := m.now.Add(move.After)
	if !move.Until.IsZero() {
		due = maxTime(move.Until, m.now)
	}
	body := *r.Body
	body.Properties, body.Pending = workOf("", historyText(&body)), executionData{Input: string(move.Position.Input)}.value()
	r.Body = &body
	m.newReq.add(r.ID)
	r.State, r.Owner, r.Executor, r.Delivered, r.Due = store.RequestDelayed, 0, 0, zeroTime, m.inTime(r, due)
	m.changeRequest(r)
	delete(m.madeReady, r.ID)
}

// callFunction puts down what the next try is.
func (m *machine) callFunction(r *store.Request, move asl.Move) {
	body := *r.Body
	body.Token = value.Str(functionARN(r, move.Task.Function))
	body.Timeout = taskLimit
	if move.Task.Timeout > 0 {
		body.Timeout = move.Task.Timeout
	}
	if deadline := r.Execution.Deadline; !deadline.IsZero() {
		body.Timeout = max(min(body.Timeout, deadline.Sub(m.now.Add(move.After))), time.Millisecond)
	}
	payload, data := string(move.Task.Payload), executionData{}
	if payload != string(move.Position.Input) {
		data.Input = string(move.Position.Input)
	}
	body.Properties, body.Pending = workOf(payload, historyText(&body)), data.value()
	r.Body = &body
	m.newReq.add(r.ID)
}

// functionARN returns the ARN of a function that a task of an execution names as lambda:invoke may.
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

// readyExecution has the task of an execution delivered.
func (m *machine) readyExecution(r *store.Request) {
	r.State, r.Owner, r.First, r.Due = store.RequestReady, m.node(), m.node(), zeroTime
	m.changeRequest(r)
	m.madeReady.add(r.ID)
}

// inTime returns a time, or when the execution is out of time if that is earlier.
func (m *machine) inTime(r *store.Request, at time.Time) time.Time {
	if deadline := r.Execution.Deadline; !deadline.IsZero() {
		return minTime(at, deadline)
	}
	return at
}

// outOfTime reports whether the execution is.
func (m *machine) outOfTime(r *store.Request) bool {
	return !r.Execution.Deadline.IsZero() && !m.now.Before(r.Execution.Deadline)
}

// stepped takes what became of a try of an execution's task. Of a try before it says nothing any more.
func (m *machine) stepped(r *store.Request, outcome Outcome) error {
	own := r.State == store.RequestReady && r.Owner == m.node()
	executed := r.State == store.RequestWaiting && r.Executor == m.node()
	switch outcome.Kind {
	case Answered, Provided, Awaiting, Waiting, Silent, TimedOut:
		return store.ErrNotFound // an execution is nobody's to answer
	case Accepted:
		m.void = !own
	case Refused, Died:
		m.void = !own && !executed
	case Returned: // it is done, whoever says so
	}
	if m.void = m.void || outcome.Try != r.Execution.Try; m.void {
		return nil
	}
	switch outcome.Kind {
	case Accepted:
		r.State, r.Owner, r.Delivered = store.RequestWaiting, 0, m.now
		r.Due = m.inTime(r, m.now.Add(r.Body.Timeout))
		if outcome.Local {
			r.Executor = m.node()
		}
		m.changeRequest(r)
	case Returned:
		m.step(r, func(states *asl.Machine, at asl.Position) asl.Move { return states.Returned(at, outcome.Body) })
	case Refused, Died:
		failure := asl.Failure{Error: outcome.Error, Cause: outcome.Cause}
		if failure.Error == "" {
			failure = asl.Failure{Error: "Lambda.Unknown", Cause: outcome.Text}
		}
		m.step(r, func(states *asl.Machine, at asl.Position) asl.Move { return states.Failed(at, failure) })
	case Answered, TimedOut, Provided, Awaiting, Waiting, Silent:
	}
	return nil
}

// executionDue continues an execution whose pause or wait is over, or whose task is out of time.
func (m *machine) executionDue(r *store.Request) {
	switch {
	case m.outOfTime(r):
		m.endExecution(r, store.ExecutionTimedOut, executionData{})
	case r.State == store.RequestDelayed && r.Execution.Waits:
		m.step(r, func(states *asl.Machine, at asl.Position) asl.Move { return states.Waited(at) })
	case r.State == store.RequestDelayed:
		m.retryTask(r)
	default:
		m.step(r, func(states *asl.Machine, at asl.Position) asl.Move {
			return states.Failed(at, asl.Failure{Error: asl.ErrorTimeout})
		})
	}
}

// step goes on with an execution whose task has ended.
func (m *machine) step(r *store.Request, next func(*asl.Machine, asl.Position) asl.Move) {
	if m.outOfTime(r) {
		m.endExecution(r, store.ExecutionTimedOut, executionData{})
		return
	}
	if states, at, ok := m.positionOf(r); ok {
		m.moveExecution(r, next(states, at))
	}
}

// retryTask has the task of an execution tried again whose pause is over.
func (m *machine) retryTask(r *store.Request) {
	states, at, ok := m.positionOf(r)
	if ok && m.recordEvents(r, states.Retried(at)) {
		m.readyExecution(r)
	}
}

// positionOf returns where an execution is in its machine. If that cannot be read it ends the execution and returns false.
func (m *machine) positionOf(r *store.Request) (*asl.Machine, asl.Position, bool) {
	states, err := asl.Parse(frozenOf(r.Body).definition)
	data, broken := dataOf(r.Body)
	if err = errors.Join(err, broken); err != nil { // it was written by a version that knows more
		m.endExecution(r, store.ExecutionFailed, executionData{Error: asl.ErrorRuntime, Cause: err.Error()})
		return nil, asl.Position{}, false
	}
	at := asl.Position{State: r.Execution.State, Input: json.RawMessage(data.Input), Tries: r.Execution.Tries}
	if data.Input == "" {
		at.Input = json.RawMessage(payloadOf(r.Body))
	}
	return states, at, true
}

// endExecution ends an execution that runs. What it was working on is not kept.
func (m *machine) endExecution(r *store.Request, status store.ExecutionStatus, data executionData) {
	data.Error, data.Cause = cut(data.Error, maxError), cut(data.Cause, maxCause)
	x, body := *r.Execution, *r.Body
	x.Status, x.Tries, x.Waits = status, nil, false
	body.Properties, body.Pending = workOf("", historyText(&body)), data.value()
	r.Execution, r.Body = &x, &body
	m.newReq.add(r.ID)
	r.State, r.Owner, r.Executor, r.Due = store.RequestSettled, 0, 0, zeroTime
	r.Ending, r.Settled = strings.ToLower(string(status)), m.now
	m.changeRequest(r)
	delete(m.madeReady, r.ID)
}

// abortExecutions ends the executions that still run, with their stack. The view is whole.
func (m *machine) abortExecutions() {
	for _, id := range sortedKeys(m.requests) {
		if r := m.requests[id]; r.Type == store.TypeExecution && r.State != store.RequestSettled {
			m.endExecution(r, store.ExecutionAborted, executionData{})
		}
	}
}
