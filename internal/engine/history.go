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

// Bounds of the history of an execution.
const (
	// mostEvents is how many events an execution may have. Source: AWS Step Functions, quotas, execution event history size.
	mostEvents = 25_000
	// keptEvents is how many of the newest events are kept, and keptData how many bytes of their data. The row of an execution is
	// written at each step.
	keptEvents = 1000
	keptData   = asl.MaxData
	// maxHistory bounds what is read of a history, in bytes: far more than is ever written.
	maxHistory = 16 << 20
)

// HistoryEvent is an event of an execution's history. Its data may be secret.
type HistoryEvent struct {
	asl.Event
	// ID counts from 1, which is the start. Previous is the event that led to it, 0 for the start and the first state.
	ID, Previous int
	// At is when it happened, to the millisecond.
	At time.Time
	// Cut says that its data are not kept any more.
	Cut bool
}

// history is what is kept of the events of an execution that runs or has ended, without its start and its end, which the row itself
// has.
type history struct {
	// Last is the number of the newest event.
	Last int `json:"last"`
	// Events are the newest ones, oldest first.
	Events []recorded `json:"events"`
}

// recorded is an event in the row of its execution. Its data are texts, so that they stay as they are to the letter.
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

// add adds events, and drops what is too old to be kept.
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

// text returns the history as it is kept: compressed, because the tries of a task are much alike.
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
		panic("the history of an execution cannot be written") // it is JSON, and the buffer takes it
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// historyText returns the history of an execution as it is kept; empty for none, as in rows of earlier versions.
func historyText(body *store.RequestBody) string {
	text, _ := body.Properties.Get("History")
	return text.Text()
}

// historyOf reads the history of an execution.
func historyOf(body *store.RequestBody) (history, error) {
	h := history{Last: 1}
	text := historyText(body)
	if text == "" {
		return h, nil
	}
	packed := flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	plain, err := io.ReadAll(io.LimitReader(packed, maxHistory))
	if err != nil || json.Unmarshal(plain, &h) != nil {
		return history{Last: 1}, errors.New("the history of an execution cannot be read") // the error could quote it
	}
	return h, nil
}

// workOf returns the properties of the row of an execution: what its task is called with, and its history.
func workOf(payload, history string) value.Value {
	var members []value.Member
	for _, m := range []struct{ key, text string }{{"Payload", payload}, {"History", history}} {
		if m.text != "" {
			members = append(members, value.Member{Key: m.key, Value: value.SecretStr(m.text)})
		}
	}
	return value.Object(members...)
}

// ExecutionHistory returns an execution and the events of its history that are kept, oldest first: its start, the newest thousand in
// between, and its end. It returns [store.ErrNotFound] as [StateMachines.Execution] does.
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
