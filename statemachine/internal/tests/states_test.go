package tests_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// machine is the part of the Amazon States Language that definitions use. Anything else is an error here.
type machine struct {
	Comment string
	StartAt string
	States  map[string]state
}

type state struct {
	Type, Next, Default, SecondsPath, Resource, Error, Cause string
	TimeoutSeconds                                           int
	Retry                                                    []struct {
		ErrorEquals                                   []string
		IntervalSeconds, MaxDelaySeconds, MaxAttempts int
		BackoffRate                                   float64
	}
	Choices []struct{ Variable, StringEquals, Next string }
}

// execution runs a machine without real pauses.
type execution struct {
	machine machine
	invoke  func(resource string, payload []byte) (result []byte, failure string)
	history []string // everything that a reader of the execution sees
	paused  []int    // seconds
	retried []int    // seconds
}

func (x *execution) note(event string, values ...any) {
	x.history = append(x.history, event+" "+fmt.Sprint(values...))
}

// run runs to the end and returns "SUCCEEDED" or the error.
func (x *execution) run(input []byte) string {
	x.note("ExecutionStarted", string(input))
	name := x.machine.StartAt
	for {
		if len(input) > 256<<10 {
			return "States.DataLimitExceeded"
		}
		if len(x.history) > 1000 { // 25,000 in Step Functions
			return "States.Runtime: the history is too long"
		}
		s, ok := x.machine.States[name]
		if !ok {
			return "States.Runtime: no state " + name
		}
		x.note("StateEntered", name, string(input))
		next := s.Next
		switch s.Type {
		case "Wait":
			seconds, ok := at(input, s.SecondsPath).(float64)
			if !ok || seconds < 0 || seconds != math.Trunc(seconds) {
				return "States.Runtime: seconds"
			}
			x.paused = append(x.paused, int(seconds))
		case "Task":
			result, failure := x.task(s, input)
			if failure != "" {
				return failure
			}
			input = result
		case "Choice":
			next = s.Default
			for _, c := range s.Choices {
				if at(input, c.Variable) == c.StringEquals {
					next = c.Next
					break
				}
			}
		case "Succeed":
			return "SUCCEEDED"
		case "Fail":
			return s.Error
		default:
			return "States.Runtime: type " + s.Type
		}
		x.note("StateExited", name, string(input))
		name = next
	}
}

// task invokes the function, and retries as the state says.
func (x *execution) task(s state, input []byte) ([]byte, string) {
	for attempt := 0; ; attempt++ {
		x.note("LambdaFunctionScheduled", string(input))
		result, failure := x.invoke(s.Resource, input)
		if failure == "" {
			x.note("LambdaFunctionSucceeded", string(result))
			return result, ""
		}
		x.note("LambdaFunctionFailed", failure)
		if len(s.Retry) != 1 || !slices.Contains(s.Retry[0].ErrorEquals, "States.ALL") || attempt == s.Retry[0].MaxAttempts {
			return nil, failure
		}
		pause := float64(s.Retry[0].IntervalSeconds) * math.Pow(s.Retry[0].BackoffRate, float64(attempt))
		x.retried = append(x.retried, int(min(pause, float64(s.Retry[0].MaxDelaySeconds))))
	}
}

// at returns the value at a path like $.a.b.
func at(document []byte, path string) any {
	var value any
	if json.Unmarshal(document, &value) != nil {
		return nil
	}
	for _, name := range strings.Split(strings.TrimPrefix(path, "$."), ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}
