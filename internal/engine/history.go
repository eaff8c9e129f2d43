package engine

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Limits of the history of an execution.
const (
	// mostEvents is the maximum number of events of an execution. Source: AWS Step Functions, quotas, execution event
	// history size.
	mostEvents = 25_000
	// keptEvents is the number of newest events that are stored, and keptData the maximum size of their data in
	// bytes. Each step writes the row of the execution.
	keptEvents = 1000
	keptData   = asl.MaxData
	// maxHistory bounds the size of a stored history in bytes when it is read. Real ones are far smaller.
	maxHistory = 16 << 20
)

// HistoryEvent is an event of an execution's history. Its data may be secret.
type HistoryEvent struct {
	asl.Event
	// ID counts from 1, the start. Previous is the event that led to this one; 0 for the start and the first state.
	ID, Previous int
	// At is the time of the event, to the millisecond.
	At time.Time
	// Cut is set if the data were dropped.
	Cut bool
}

// history is the stored part of the events of an execution. The start and the end are not in it, because the row
// itself has them.
type history struct {
	// Last is the number of the newest event.
	Last int `json:"last"`
	// Events are the newest events, oldest first.
	Events []recorded `json:"events"`
}

// recorded is an event in the row of its execution. Its data are texts, so that they stay unchanged to the byte.
type recorded struct {
	At       int64         `json:"at"` // milliseconds since 1970
	Type     asl.EventType `json:"type"`
	State    string        `json:"state,omitempty"`
	Input    string        `json:"in,omitempty"`
	Output   string        `json:"out,omitempty"`
	Error    string        `json:"error,omitempty"`
	Cause    string        `json:"cause,omitempty"`
	Function string        `json:"function,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	Cut      bool          `json:"cut,omitempty"`
}

func record(e *asl.Event, at time.Time) recorded {
	return recorded{
		At: at.UnixMilli(), Type: e.Type, State: e.State, Input: string(e.Input), Output: string(e.Output), Error: e.Error, Cause: e.Cause,
		Function: e.Function, Timeout: e.Timeout,
	}
}

// event returns the event with its number.
func (e *recorded) event(id int) HistoryEvent {
	h := HistoryEvent{ID: id, Previous: id - 1, At: time.UnixMilli(e.At).UTC(), Cut: e.Cut, Event: asl.Event{
		Type: e.Type, State: e.State, Error: e.Error, Cause: e.Cause, Function: e.Function, Timeout: e.Timeout,
	}}
	if id == 2 { // the first state
		h.Previous = 0
	}
	if e.Input != "" {
		h.Input = json.RawMessage(e.Input)
	}
	if e.Output != "" {
		h.Output = json.RawMessage(e.Output)
	}
	return h
}

func (e *recorded) size() int { return len(e.Input) + len(e.Output) + len(e.Error) + len(e.Cause) }

// add adds events, and drops events and data beyond the limits.
func (h *history) add(events []recorded) {
	h.Last += len(events)
	h.Events = append(h.Events, events...)
	h.Events = h.Events[max(0, len(h.Events)-keptEvents):]
	left := keptData
	for i := len(h.Events) - 1; i >= 0; i-- {
		e := &h.Events[i]
		if left -= e.size(); left >= 0 || e.size() == 0 {
			continue
		}
		left = 0
		*e = recorded{At: e.At, Type: e.Type, State: e.State, Function: e.Function, Timeout: e.Timeout, Cut: true}
	}
}

// text encodes the history for storage. It compresses, because the tries of a task are similar.
func (h *history) text() string {
	var b bytes.Buffer
	packed, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		err = json.NewEncoder(packed).Encode(h)
	}
	if err == nil {
		err = packed.Close()
	}
	if err != nil {
		panic("the history of an execution cannot be written") // it is JSON, and the buffer has no limit
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// historyText returns the stored history of an execution; empty for none, as in rows of earlier versions.
func historyText(body *store.RequestBody) string {
	text, _ := body.Properties.Get("History")
	return text.Text()
}

// historyOf decodes the history of an execution.
func historyOf(body *store.RequestBody) (history, error) {
	h := history{Last: 1}
	text := historyText(body)
	if text == "" {
		return h, nil
	}
	packed := flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	plain, err := io.ReadAll(io.LimitReader(packed, maxHistory))
	if err != nil || json.Unmarshal(plain, &h) != nil {
		return history{Last: 1}, errors.New("the history of an execution cannot be read") // the error could quote the data
	}
	return h, nil
}

// workOf returns the properties of an execution's row: the payload of its task, and its history.
func workOf(payload, history string) value.Value {
	var members []value.Member
	for _, m := range []struct{ key, text string }{{"Payload", payload}, {"History", history}} {
		if m.text != "" {
			members = append(members, value.Member{Key: m.key, Value: value.SecretStr(m.text)})
		}
	}
	return value.Object(members...)
}

// ExecutionHistory returns an execution and its stored events, oldest first: the start, the newest thousand events
// between, and the end. It returns [store.ErrNotFound] like [StateMachines.Execution].
func (m StateMachines) ExecutionHistory(ctx context.Context, arn string) (MachineExecution, []HistoryEvent, error) {
	row, err := m.executionRow(ctx, arn)
	if err != nil {
		return MachineExecution{}, nil, err
	}
	x, err := machineExecutionOf(&row)
	if err != nil {
		return x, nil, err
	}
	h, err := historyOf(row.Body)
	if err != nil {
		return x, nil, err
	}
	events := []HistoryEvent{{Event: asl.Event{Type: asl.EventExecutionStarted, Input: x.Input}, ID: 1, At: x.Started}}
	first := h.Last - len(h.Events) + 1
	for i := range h.Events {
		events = append(events, h.Events[i].event(first+i))
	}
	next := HistoryEvent{ID: h.Last + 1, Previous: h.Last, At: x.Stopped}
	switch x.Status {
	case store.ExecutionRunning:
		if row.State != store.RequestWaiting || row.Delivered.IsZero() {
			return x, events, nil
		}
		next.At = row.Delivered
		switch events[len(events)-1].Type { //nolint:exhaustive // others are not followed by the start of a task
		case asl.EventLambdaScheduled:
			next.Type = asl.EventLambdaStarted
		case asl.EventTaskScheduled:
			next.Type = asl.EventTaskStarted
		default:
			return x, events, nil
		}
	case store.ExecutionSucceeded:
		next.Event = asl.Event{Type: asl.EventExecutionSucceeded, Output: x.Output}
	case store.ExecutionFailed:
		next.Event = asl.Event{Type: asl.EventExecutionFailed, Error: x.Error, Cause: x.Cause}
	case store.ExecutionTimedOut:
		next.Type = asl.EventExecutionTimedOut
	case store.ExecutionAborted:
		next.Event = asl.Event{Type: asl.EventExecutionAborted, Error: x.Error, Cause: x.Cause}
	}
	return x, append(events, next), nil
}

// executionRow returns the row of an execution.
func (m StateMachines) executionRow(ctx context.Context, arn string) (store.Request, error) {
	if !isExecution(wire.RequestID(arn)) {
		return store.Request{}, store.ErrNotFound
	}
	row, err := m.store.Request(ctx, wire.RequestID(arn))
	if err == nil && row.Type != store.TypeExecution {
		err = store.ErrNotFound
	}
	return row, err
}
