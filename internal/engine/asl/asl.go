// Package asl interprets the part of the Amazon States Language that waiters use: Task, Choice, Wait, Pass, Succeed
// and Fail states, with Retry and Catch. It is pure: a [Machine] says what an execution does next, and the engine
// keeps the execution's row, calls the function and waits.
//
// [Parse] returns a [Machine]. It rejects a definition that it does not support, with an error that names the state,
// rather than behave differently from Step Functions. Data are JSON texts and stay unchanged, including numbers. Only
// an object that a path takes apart is encoded again.
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
	// MaxData is how long the input, the output or the data between two states of an execution may be, in bytes.
	MaxData = 256 << 10
	// MaxDefinition is how long a definition may be, in bytes.
	MaxDefinition = 1 << 20
	// maxName is how many characters the name of a state may have.
	maxName = 80
	// maxPasses is how many states without a task an execution may go through at a time: more are a circle.
	maxPasses = 1000
	// longest bounds every time, in seconds: about three years.
	longest = 99_999_999
)

// The names of errors that the language itself has.
const (
	ErrorAll               = "States.ALL"
	ErrorTaskFailed        = "States.TaskFailed"
	ErrorTimeout           = "States.Timeout"
	ErrorRuntime           = "States.Runtime"
	ErrorDataLimitExceeded = "States.DataLimitExceeded"
	ErrorResultPath        = "States.ResultPathMatchFailure"
	ErrorNoChoiceMatched   = "States.NoChoiceMatched"
)

// Machine is a definition that was checked. It does not change, and may be used concurrently. Make one with [Parse].
type Machine struct {
	start   string
	timeout time.Duration
	states  map[string]*state
}

// Timeout is how long an execution may take; zero means no limit.
func (m *Machine) Timeout() time.Duration { return m.timeout }

// Position is where an execution is: at a state whose task is to be done, or is being done, or at a Wait state.
type Position struct {
	State string
	// Input is what came into the state: JSON.
	Input json.RawMessage
	// Tries counts how often each of the state's retriers was used since the execution came to it, in their order; nil is
	// never.
	Tries []int
}

// Task is what a state asks of a function.
type Task struct {
	// Function is the function's ARN or, as lambda:invoke has it, its name or a part of an ARN.
	Function string
	// Payload is what it is called with: JSON.
	Payload json.RawMessage
	// Timeout is how long it may take; zero says nothing.
	Timeout time.Duration
}

// Failure is an error as executions know it. Both texts are data, and may be secret.
type Failure struct {
	// Error is the error's name, e.g. "States.Timeout" or the errorType of a function's error.
	Error string `json:"Error"`
	// Cause says more. Of a function's error it is the whole error, JSON as a text: it is never cut.
	Cause string `json:"Cause"`
}

// Move is what an execution does next: it does the Task after a pause, or waits in a Wait state, or it has ended.
type Move struct {
	// Position is where it is now. Once it has ended, its state is the last one.
	Position Position
	// Task is what is to be done there; nil if the execution waits or has ended.
	Task *Task
	// Waits is set in a Wait state: [Machine.Waited] returns the next move, once After has passed or it is Until.
	Waits bool
	// After is how long to wait, before the task or in the Wait state.
	After time.Duration
	// Until is when the wait of a Wait state ends that has a timestamp; it may be past. Zero if After counts.
	Until time.Time
	// Output is what came of an execution that succeeded: JSON.
	Output json.RawMessage
	// Failure is why it failed; nil if it did not.
	Failure *Failure
	// Events are what the execution has gone through to get here, oldest first. Its start and its end are not among them.
	Events []Event
}

// Begin returns the first move of an execution. input must be JSON.
func (m *Machine) Begin(input json.RawMessage) Move {
	var t trail
	return t.ends(m.enter(&t, m.start, input))
}

// Returned returns the move after a task has returned; nothing is null.
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

// Retried returns the event of the next try of a task, which happens when the pause of [Move] is over.
func (m *Machine) Retried(at Position) []Event {
	var t trail
	if s := m.states[at.State]; s != nil && s.kind == kindTask {
		if task, failure := s.task(at.Input); failure == nil {
			t.scheduled(s, task)
		}
	}
	return t.events
}

// Failed returns the move after a task has failed, or could not be done.
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

// failed returns the move after a failure of a Task state, in its task or in what was to be done before or after that.
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

// leave goes on from a state that has a result. Paths that lead nowhere are failures of the state, which may be caught.
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

// enter goes to a state, and through all that do nothing.
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

// pass goes through a state that takes no time, and returns the next one, which is empty for the end.
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

// effective returns what InputPath takes of the input of the state.
func (s *state) effective(data json.RawMessage) (json.RawMessage, *Failure) {
	input, err := s.inputPath.get(data)
	if err != nil {
		return nil, &Failure{ErrorRuntime, err.Error()}
	}
	return input, nil
}

// task returns what the state asks for.
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

// output puts a result where the state wants it, and takes what goes on.
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

// lost ends an execution whose state its machine does not have.
func lost(at Position) Move {
	return Move{Position: at, Failure: &Failure{ErrorRuntime, "The definition has no state '" + at.State + "'."}}
}

// tooLarge is Step Functions' text.
func tooLarge(s *state) Failure {
	return Failure{ErrorDataLimitExceeded, "The state/task '" + s.resource + "' returned a result with a size exceeding the maximum number of bytes service limit."}
}
