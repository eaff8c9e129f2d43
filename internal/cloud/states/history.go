package states

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/store"
)

type historyInput struct {
	ARN     string `json:"executionArn"`
	Reverse bool   `json:"reverseOrder"`
	Results int    `json:"maxResults"`
	Token   string `json:"nextToken"`
	Data    *bool  `json:"includeExecutionData"`
}

type historyOutput struct {
	Events []historyEvent `json:"events"`
	Token  string         `json:"nextToken,omitempty"`
}

// historyEvent is an event in API output. At most one of the details is set.
type historyEvent struct {
	At       *stamp `json:"timestamp"`
	Type     string `json:"type"`
	ID       int    `json:"id"`
	Previous int    `json:"previousEventId"`

	Started   *eventDetails `json:"executionStartedEventDetails,omitempty"`
	Succeeded *eventDetails `json:"executionSucceededEventDetails,omitempty"`
	Failed    *eventDetails `json:"executionFailedEventDetails,omitempty"`
	TimedOut  *eventDetails `json:"executionTimedOutEventDetails,omitempty"`
	Aborted   *eventDetails `json:"executionAbortedEventDetails,omitempty"`
	Entered   *eventDetails `json:"stateEnteredEventDetails,omitempty"`
	Exited    *eventDetails `json:"stateExitedEventDetails,omitempty"`

	LambdaScheduled *eventDetails `json:"lambdaFunctionScheduledEventDetails,omitempty"`
	LambdaSucceeded *eventDetails `json:"lambdaFunctionSucceededEventDetails,omitempty"`
	LambdaFailed    *eventDetails `json:"lambdaFunctionFailedEventDetails,omitempty"`
	LambdaTimedOut  *eventDetails `json:"lambdaFunctionTimedOutEventDetails,omitempty"`

	TaskScheduled *eventDetails `json:"taskScheduledEventDetails,omitempty"`
	TaskStarted   *eventDetails `json:"taskStartedEventDetails,omitempty"`
	TaskSucceeded *eventDetails `json:"taskSucceededEventDetails,omitempty"`
	TaskFailed    *eventDetails `json:"taskFailedEventDetails,omitempty"`
	TaskTimedOut  *eventDetails `json:"taskTimedOutEventDetails,omitempty"`
}

// eventDetails are the details of an event of any type.
type eventDetails struct {
	Name          string     `json:"name,omitempty"`
	ResourceType  string     `json:"resourceType,omitempty"`
	Resource      string     `json:"resource,omitempty"`
	Region        string     `json:"region,omitempty"`
	Parameters    string     `json:"parameters,omitempty"`
	Input         string     `json:"input,omitempty"`
	InputDetails  *truncated `json:"inputDetails,omitempty"`
	Output        string     `json:"output,omitempty"`
	OutputDetails *truncated `json:"outputDetails,omitempty"`
	Error         string     `json:"error,omitempty"`
	Cause         string     `json:"cause,omitempty"`
	Timeout       int        `json:"timeoutInSeconds,omitempty"`
	Role          string     `json:"roleArn,omitempty"`
}

// truncated reports whether data was dropped from the store.
type truncated struct {
	Truncated bool `json:"truncated"`
}

// historyToken is the prefix of a GetExecutionHistory token, before the last event of the page and the name of the
// execution.
const historyToken = "history:"

func (f *handler) history(ctx context.Context, in historyInput) (out historyOutput, err error) {
	limit, err := checkResults(in.Results)
	if err == nil {
		err = f.checkExecution(ctx, in.ARN)
	}
	if err != nil {
		return out, err
	}
	x, events, err := f.Engine.ExecutionHistory(ctx, in.ARN)
	if errors.Is(err, store.ErrNotFound) {
		return out, noExecution(in.ARN)
	} else if err != nil {
		return out, err
	}
	if in.Reverse {
		slices.Reverse(events)
	}
	if in.Token != "" {
		last, ok := readHistoryToken(in.Token, x.Name)
		if !ok {
			return out, invalidToken()
		}
		events = slices.DeleteFunc(events, func(e engine.HistoryEvent) bool {
			return in.Reverse && e.ID >= last || !in.Reverse && e.ID <= last
		})
	}
	if len(events) > limit {
		events = events[:limit]
		out.Token = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s%d:%s", historyToken, events[limit-1].ID, x.Name))
	}
	role := ""
	m, err := f.ownMachine(ctx, nameOf(x.Machine))
	switch {
	case err == nil:
		role = m.Of.Role
	case !errors.Is(err, registry.ErrNotFound):
		return out, err
	}
	out.Events = make([]historyEvent, len(events))
	for i := range events {
		out.Events[i] = writeEvent(&events[i], in.Data == nil || *in.Data, x.Machine, role)
	}
	return out, nil
}

// readHistoryToken returns the last event of the previous page from a token for the named execution.
func readHistoryToken(token, name string) (last int, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, false
	}
	var of string
	n, err := fmt.Sscanf(string(text), historyToken+"%d:%s", &last, &of)
	return last, err == nil && n == 2 && of == name
}

// nameOf returns the name at the end of an ARN.
func nameOf(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

// writeEvent converts an event for output, with or without the data of states and functions.
func writeEvent(e *engine.HistoryEvent, data bool, machine, role string) historyEvent {
	out := historyEvent{At: stampOf(e.At), Type: string(e.Type), ID: e.ID, Previous: e.Previous}
	d := &eventDetails{Name: e.State, Error: e.Error, Cause: e.Cause}
	if data {
		d.Input, d.Output = string(e.Input), string(e.Output)
	}
	input := func() {
		if data {
			d.InputDetails = &truncated{e.Cut}
		}
	}
	output := func() {
		if data {
			d.OutputDetails = &truncated{e.Cut}
		}
	}
	switch e.Type {
	case asl.EventExecutionStarted:
		input()
		d.Role = role
		out.Started = d
	case asl.EventExecutionSucceeded:
		output()
		out.Succeeded = d
	case asl.EventExecutionFailed:
		out.Failed = d
	case asl.EventExecutionTimedOut:
		out.TimedOut = d
	case asl.EventExecutionAborted:
		out.Aborted = d
	case asl.EventLambdaScheduled:
		input()
		d.Resource, d.Timeout = e.Function, int(e.Timeout.Seconds())
		out.LambdaScheduled = d
	case asl.EventLambdaStarted: // has no details
	case asl.EventLambdaSucceeded:
		output()
		out.LambdaSucceeded = d
	case asl.EventLambdaFailed:
		out.LambdaFailed = d
	case asl.EventLambdaTimedOut:
		out.LambdaTimedOut = d
	case asl.EventTaskScheduled:
		d.Input, d.Timeout, d.Region = "", int(e.Timeout.Seconds()), strings.Split(machine, ":")[3]
		d.Parameters = invokeParameters(e, data)
		out.TaskScheduled = invoked(d)
	case asl.EventTaskStarted:
		out.TaskStarted = invoked(d)
	case asl.EventTaskSucceeded:
		output()
		out.TaskSucceeded = invoked(d)
	case asl.EventTaskFailed:
		out.TaskFailed = invoked(d)
	case asl.EventTaskTimedOut:
		out.TaskTimedOut = invoked(d)
	default:
		if strings.HasSuffix(string(e.Type), "StateEntered") {
			input()
			out.Entered = d
		} else {
			output()
			out.Exited = d
		}
	}
	return out
}

// invoked adds the details that all lambda:invoke events share.
func invoked(d *eventDetails) *eventDetails {
	d.ResourceType, d.Resource = "lambda", "invoke"
	return d
}

// invokeParameters returns the parameters of lambda:invoke.
func invokeParameters(e *engine.HistoryEvent, data bool) string {
	parameters := struct {
		FunctionName string
		Payload      json.RawMessage `json:",omitempty"`
	}{FunctionName: e.Function}
	if data {
		parameters.Payload = e.Input
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return "{}"
	}
	return string(text)
}
