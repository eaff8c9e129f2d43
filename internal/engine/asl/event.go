package asl

import (
	"encoding/json"
	"time"
)

// EventType is the type of an event of an execution's history, as Step Functions spells it.
type EventType string

// The event types of tasks, and the suffixes of the types for entering and leaving a state. Those begin with the
// state's kind, e.g. WaitStateEntered.
const (
	EventLambdaScheduled EventType = "LambdaFunctionScheduled"
	EventLambdaStarted   EventType = "LambdaFunctionStarted"
	EventLambdaSucceeded EventType = "LambdaFunctionSucceeded"
	EventLambdaFailed    EventType = "LambdaFunctionFailed"
	EventLambdaTimedOut  EventType = "LambdaFunctionTimedOut"
	EventTaskScheduled   EventType = "TaskScheduled"
	EventTaskStarted     EventType = "TaskStarted"
	EventTaskSucceeded   EventType = "TaskSucceeded"
	EventTaskFailed      EventType = "TaskFailed"
	EventTaskTimedOut    EventType = "TaskTimedOut"
	stateEntered                   = "StateEntered"
	stateExited                    = "StateExited"
)

// The types of the first and the last event of an execution. No [Move] contains them.
const (
	EventExecutionStarted   EventType = "ExecutionStarted"
	EventExecutionSucceeded EventType = "ExecutionSucceeded"
	EventExecutionFailed    EventType = "ExecutionFailed"
	EventExecutionTimedOut  EventType = "ExecutionTimedOut"
	EventExecutionAborted   EventType = "ExecutionAborted"
)

// Event is an entry in the history of an execution, without number and time. Its texts are data, and may be secret.
// Source: AWS Step Functions API Reference, HistoryEvent.
type Event struct {
	Type EventType
	// State is the state that was entered or left.
	State string
	// Input and Output are those of a state or function, as JSON.
	Input  json.RawMessage
	Output json.RawMessage
	Error  string
	Cause  string
	// Function is the function that is called.
	Function string
	// Timeout is the time limit of the function; zero if the state sets none.
	Timeout time.Duration
}

// trail collects the events of a move.
type trail struct{ events []Event }

func (t *trail) add(e Event) { t.events = append(t.events, e) }

// ends returns a move with the events that led to it.
func (t *trail) ends(m Move) Move {
	m.Events = t.events
	return m
}

func (t *trail) entered(s *state, name string, input json.RawMessage) {
	t.add(Event{Type: EventType(string(s.kind) + stateEntered), State: name, Input: input})
}

func (t *trail) exited(s *state, name string, output json.RawMessage) {
	t.add(Event{Type: EventType(string(s.kind) + stateExited), State: name, Output: output})
}

// of returns the type of a task's event, which differs between a function and lambda:invoke.
func (s *state) of(function, invoke EventType) EventType {
	if s.invoke {
		return invoke
	}
	return function
}

func (t *trail) scheduled(s *state, task *Task) {
	t.add(Event{Type: s.of(EventLambdaScheduled, EventTaskScheduled), Function: task.Function, Input: task.Payload, Timeout: task.Timeout})
}

func (t *trail) started(s *state) { t.add(Event{Type: s.of(EventLambdaStarted, EventTaskStarted)}) }

func (t *trail) succeeded(s *state, output json.RawMessage) {
	t.add(Event{Type: s.of(EventLambdaSucceeded, EventTaskSucceeded), Output: output})
}

func (t *trail) failed(s *state, f Failure) {
	e := Event{Type: s.of(EventLambdaFailed, EventTaskFailed), Error: f.Error, Cause: f.Cause}
	if f.Error == ErrorTimeout {
		e.Type = s.of(EventLambdaTimedOut, EventTaskTimedOut)
	}
	t.add(e)
}
