// Package asl interprets the part of the Amazon States Language that waiters use: Task, Choice, Wait, Pass, Succeed
// and Fail states, with Retry and Catch. It is pure: a [Machine] returns the next move of an execution, and the
// engine stores the execution, calls the function and waits.
//
// [Parse] returns a [Machine]. It rejects a definition that it does not support, with an error that names the state,
// instead of behaving differently from Step Functions. Data are JSON texts and stay unchanged, including numbers.
// Only an object that a path changes is encoded again.
//
// Source: the Amazon States Language, version 1.0; AWS Step Functions Developer Guide, "Handling errors in Step Functions
// workflows".
package asl

import (
	"encoding/json"
	"fmt"
	"time"
)

// Bounds. Source: AWS Step Functions, quotas.
const (
	// MaxData is the maximum size in bytes of the input, the output and the data between two states of an execution.
	MaxData = 256 << 10
	// MaxDefinition is the maximum size of a definition in bytes.
	MaxDefinition = 1 << 20
	// maxName is the maximum number of characters in the name of a state.
	maxName = 80
	// maxPasses is the number of consecutive states without a task that an execution may pass through. More are a
	// loop.
	maxPasses = 1000
	// longest bounds every time, in seconds. It is about three years.
	longest = 99_999_999
)

// The names of the errors that the language defines.
const (
	ErrorAll               = "States.ALL"
	ErrorTaskFailed        = "States.TaskFailed"
	ErrorTimeout           = "States.Timeout"
	ErrorRuntime           = "States.Runtime"
	ErrorDataLimitExceeded = "States.DataLimitExceeded"
	ErrorResultPath        = "States.ResultPathMatchFailure"
	ErrorNoChoiceMatched   = "States.NoChoiceMatched"
)

// Machine is a checked definition. It is immutable and safe for concurrent use. [Parse] returns one.
type Machine struct {
	start   string
	timeout time.Duration
	states  map[string]*state
}

// Timeout returns the time limit of an execution; zero means no limit.
func (m *Machine) Timeout() time.Duration { return m.timeout }

// Position is the state of an execution: a state whose task is pending or running, or a Wait state.
type Position struct {
	State string
	// Input is the input of the state, as JSON.
	Input json.RawMessage
	// Tries counts the retries of each of the state's retriers since the execution entered the state, in their order.
	// Nil means that there was no retry.
	Tries []int
}

// Task is a call of a function.
type Task struct {
	// Function is the function's ARN. With lambda:invoke it may also be a name or a partial ARN.
	Function string
	// Payload is the input of the function, as JSON.
	Payload json.RawMessage
	// Timeout is the time limit of the task; zero means the default.
	Timeout time.Duration
}

// Failure is an error of an execution. Both texts are data, and may be secret.
type Failure struct {
	// Error is the error's name, e.g. "States.Timeout" or the errorType of a function's error.
	Error string `json:"Error"`
	// Cause is the details. For a function's error it is the whole error as JSON, never truncated.
	Cause string `json:"Cause"`
}

// Move is the next step of an execution: a Task after a pause, the wait of a Wait state, or the end.
type Move struct {
	// Position is the new position. At the end, its state is the last one.
	Position Position
	// Task is the task to run; nil if the execution waits or has finished.
	Task *Task
	// Waits is set in a Wait state. [Machine.Waited] returns the next move after After has passed, or at Until.
	Waits bool
	// After is the pause before the task, or the wait of the Wait state.
	After time.Duration
	// Until is the end of a wait with a timestamp, possibly in the past. It is zero if After applies.
	Until time.Time
	// Output is the output of a successful execution, as JSON.
	Output json.RawMessage
	// Failure is the error of a failed execution; nil for any other.
	Failure *Failure
	// Events are the events that led to this move, oldest first. The start and the end of the execution are not
	// included.
	Events []Event
}

// Begin returns the first move of an execution. input must be JSON.
func (m *Machine) Begin(input json.RawMessage) Move {
	var t trail
	return t.ends(m.enter(&t, m.start, input))
}

// Returned returns the move after a task has returned. A nil result means null.
func (m *Machine) Returned(at Position, result json.RawMessage) Move {
	s := m.states[at.State]
	if s == nil {
		return lost(at)
	}
	var t trail
	t.started(s)
	return t.ends(m.returned(&t, s, at, result))
}

func (m *Machine) returned(t *trail, s *state, at Position, result json.RawMessage) Move {
	if len(result) == 0 {
		result = json.RawMessage("null")
	}
	switch {
	case len(result) > MaxData:
		f := tooLarge(s)
		t.failed(s, f)
		return m.failed(t, s, at, f)
	case !json.Valid(result):
		f := Failure{ErrorRuntime, "What the function of the state '" + at.State + "' returned is not JSON."}
		t.failed(s, f)
		return m.failed(t, s, at, f)
	}
	if s.invoke {
		result = fmt.Appendf(nil, `{"ExecutedVersion":"$LATEST","Payload":%s,"StatusCode":200}`, result)
	}
	t.succeeded(s, result)
	return m.leave(t, s, at, result)
}

// Waited returns the move after the wait of a Wait state.
func (m *Machine) Waited(at Position) Move {
	s := m.states[at.State]
	if s == nil || s.kind != kindWait {
		return lost(at)
	}
	var t trail
	next, data, failure := s.pass(at.State, at.Input)
	if failure != nil {
		return Move{Position: at, Failure: failure}
	}
	t.exited(s, at.State, data)
	if next == "" {
		return t.ends(Move{Position: at, Output: data})
	}
	return t.ends(m.enter(&t, next, data))
}

// Retried returns the events of the next try of a task. The caller records them when the pause of [Move] has passed.
func (m *Machine) Retried(at Position) []Event {
	var t trail
	if s := m.states[at.State]; s != nil && s.kind == kindTask {
		if task, failure := s.task(at.Input); failure == nil {
			t.scheduled(s, task)
		}
	}
	return t.events
}

// Failed returns the move after a task has failed or could not run.
func (m *Machine) Failed(at Position, f Failure) Move {
	s := m.states[at.State]
	if s == nil {
		return lost(at)
	}
	var t trail
	t.started(s)
	t.failed(s, f)
	return t.ends(m.failed(&t, s, at, f))
}

// failed returns the move after a Task state failed: its task, or the processing of its input or output.
func (m *Machine) failed(t *trail, s *state, at Position, f Failure) Move {
	tries := make([]int, len(s.retry))
	copy(tries, at.Tries)
	for n, r := range s.retry {
		if !r.catches(f.Error) {
			continue
		}
		if tries[n] >= r.attempts {
			break
		}
		after := r.pause(tries[n])
		tries[n]++
		again := Position{State: at.State, Input: at.Input, Tries: tries}
		task, failure := s.task(at.Input)
		if failure != nil {
			return Move{Position: again, Failure: failure}
		}
		if after == 0 {
			t.scheduled(s, task)
		}
		return Move{Position: again, Task: task, After: after}
	}
	for _, c := range s.catch {
		if !c.catches(f.Error) {
			continue
		}
		caught, err := encode(f)
		if err == nil {
			caught, err = c.result.put(at.Input, caught)
		}
		if err != nil {
			return Move{Position: at, Failure: &Failure{ErrorResultPath, err.Error()}}
		}
		if len(caught) > MaxData {
			return Move{Position: at, Failure: new(tooLarge(s))}
		}
		t.exited(s, at.State, caught)
		return m.enter(t, c.next, caught)
	}
	return Move{Position: at, Failure: &f}
}

// leave leaves a state that has a result. A path that does not match is a failure of the state, which may be caught.
func (m *Machine) leave(t *trail, s *state, at Position, result json.RawMessage) Move {
	data, failure := s.output(at.Input, result)
	switch {
	case failure != nil:
		return m.failed(t, s, at, *failure)
	case len(data) > MaxData:
		return m.failed(t, s, at, tooLarge(s))
	}
	t.exited(s, at.State, data)
	if s.next == "" {
		return Move{Position: at, Output: data}
	}
	return m.enter(t, s.next, data)
}

// enter enters a state and passes through all states that take no time.
func (m *Machine) enter(t *trail, name string, data json.RawMessage) Move {
	for range maxPasses {
		at, s := Position{State: name, Input: data}, m.states[name]
		t.entered(s, name, data)
		switch s.kind {
		case kindTask:
			task, failure := s.task(data)
			if failure != nil {
				return m.failed(t, s, at, *failure)
			}
			t.scheduled(s, task)
			return Move{Position: at, Task: task}
		case kindFail:
			return Move{Position: at, Failure: &Failure{s.failure.Error, s.failure.Cause}}
		case kindWait:
			input, failure := s.effective(data)
			if failure != nil {
				return Move{Position: at, Failure: failure}
			}
			after, until, failure := s.wait.of(name, input)
			if failure != nil {
				return Move{Position: at, Failure: failure}
			}
			return Move{Position: at, Waits: true, After: after, Until: until}
		case kindChoice, kindPass, kindSucceed:
			next, out, failure := s.pass(name, data)
			if failure != nil {
				return Move{Position: at, Failure: failure}
			}
			t.exited(s, name, out)
			if next == "" {
				return Move{Position: at, Output: out}
			}
			name, data = next, out
		}
	}
	return Move{Position: Position{State: name, Input: data}, Failure: &Failure{ErrorRuntime,
		fmt.Sprintf("The execution went through %d states in a row without a task.", maxPasses)}}
}

// pass passes through a state that takes no time. It returns the next state, or an empty name at the end.
func (s *state) pass(name string, data json.RawMessage) (next string, out json.RawMessage, failure *Failure) {
	result, failure := s.effective(data)
	if failure != nil {
		return "", nil, failure
	}
	next = s.next
	if s.kind == kindChoice {
		if next, failure = s.choose(name, result); failure != nil {
			return "", nil, failure
		}
	}
	if s.result != nil {
		result = s.result
	}
	if out, failure = s.output(data, result); failure != nil {
		return "", nil, failure
	}
	if len(out) > MaxData {
		return "", nil, new(tooLarge(s))
	}
	return next, out, nil
}

// effective returns the part of the state's input that InputPath selects.
func (s *state) effective(data json.RawMessage) (json.RawMessage, *Failure) {
	input, err := s.inputPath.get(data)
	if err != nil {
		return nil, &Failure{ErrorRuntime, err.Error()}
	}
	return input, nil
}

// task returns the task of the state.
func (s *state) task(input json.RawMessage) (*Task, *Failure) {
	payload, err := s.inputPath.get(input)
	if err == nil && s.invoke {
		if s.constant != nil {
			payload = s.constant
		} else {
			payload, err = s.payload.get(payload)
		}
	}
	if err != nil {
		return nil, &Failure{ErrorRuntime, err.Error()}
	}
	return &Task{Function: s.function, Payload: payload, Timeout: s.timeout}, nil
}

// output applies ResultPath to the result and OutputPath to the combined data.
func (s *state) output(input, result json.RawMessage) (json.RawMessage, *Failure) {
	data, err := s.resultPath.put(input, result)
	if err != nil {
		return nil, &Failure{ErrorResultPath, err.Error()}
	}
	if data, err = s.outputPath.get(data); err != nil {
		return nil, &Failure{ErrorRuntime, err.Error()}
	}
	return data, nil
}

// lost fails an execution whose state the machine does not have.
func lost(at Position) Move {
	return Move{Position: at, Failure: &Failure{ErrorRuntime, "The definition has no state '" + at.State + "'."}}
}

// tooLarge returns the failure with Step Functions' text.
func tooLarge(s *state) Failure {
	return Failure{ErrorDataLimitExceeded, "The state/task '" + s.resource + "' returned a result with a size exceeding the maximum number of bytes service limit."}
}
