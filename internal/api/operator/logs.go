package operator

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Logs is the answer of stacks/{name}/logs?request=ID, oldest first.
type Logs struct {
	Lines []string `json:"lines"`
}

// LogQuery says which lines of a stack are wanted.
type LogQuery struct {
	// Resource is the logical ID of a resource or function; empty means all.
	Resource wire.LogicalID
	// After is the Next of an answer, whose lines came before; empty means from the first.
	After string
	// Tail asks for so many of the last lines; zero means from the first. After comes before it.
	Tail int
}

// LogPage is the answer of stacks/{name}/logs, oldest first.
type LogPage struct {
	Lines []LogLine `json:"lines"`
	// Next is the value of after for the next query. More says that there are more lines now.
	Next string `json:"next,omitempty"`
	More bool   `json:"more,omitempty"`
}

// LogLine is a line that a provider or function printed, scrubbed.
type LogLine struct {
	Time    time.Time      `json:"time"`
	Logical wire.LogicalID `json:"logicalId"`
	// Function is the function of the stack that printed it for the resource, if it is another one.
	Function wire.LogicalID `json:"function,omitempty"`
	// Request is the request that it was printed for; empty for another call of a function.
	Request wire.RequestID `json:"request,omitempty"`
	Text    string         `json:"text"`
}

// logs answers with the last lines of one request, or without one with the stored lines of the stack.
func (f *handler) logs(r *http.Request) (any, error) {
	stack, err := f.stack(r)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	if id := wire.RequestID(query.Get("request")); id != "" {
		return f.requestLogs(r, stack, id)
	}
	in := LogQuery{Resource: wire.LogicalID(query.Get("resource")), After: query.Get("after")}
	if tail := query.Get("tail"); tail != "" {
		if in.Tail, err = strconv.Atoi(tail); err != nil || in.Tail < 1 {
			return nil, &Error{http.StatusBadRequest, "tail must be a number of lines"}
		}
	}
	if f.Hooks.StackLogs == nil {
		return LogPage{Lines: []LogLine{}}, nil
	}
	return f.Hooks.StackLogs(r.Context(), stack, in)
}

func (f *handler) requestLogs(r *http.Request, stack store.Stack, id wire.RequestID) (any, error) {
	row, err := f.Rows.Request(r.Context(), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.Stack != stack.Key {
		return nil, &Error{http.StatusNotFound, "stack " + stack.Name + " has no request " + string(id)}
	} else if err != nil {
		return nil, err
	}
	out := Logs{Lines: []string{}}
	if f.Hooks.Logs != nil {
		lines, err := f.Hooks.Logs(r.Context(), id)
		if err != nil {
			return nil, err
		}
		out.Lines = append(out.Lines, lines...)
	}
	return out, nil
}
