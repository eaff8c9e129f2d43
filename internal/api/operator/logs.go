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

// LogQuery selects log lines of a stack.
type LogQuery struct {
	// Resource is the logical ID of a resource or function. Empty means all.
	Resource wire.LogicalID
	// After is the Next of the previous page. Empty means from the first line.
	After string
	// Tail selects that many of the last lines. Zero means from the first line. If After is set, Tail is ignored.
	Tail int
}

// LogPage is the answer of stacks/{name}/logs, oldest first.
type LogPage struct {
	Lines []LogLine `json:"lines"`
	// Next is the value of after in the next query. More means that more lines exist now.
	Next string `json:"next,omitempty"`
	More bool   `json:"more,omitempty"`
}

// LogLine is a redacted line that a provider or function printed.
type LogLine struct {
	Time    time.Time      `json:"time"`
	Logical wire.LogicalID `json:"logicalId"`
	// Function is the function of the stack that printed the line, if it is not the resource itself.
	Function wire.LogicalID `json:"function,omitempty"`
	// Request is the request that the line belongs to. It is empty for other calls of a function.
	Request wire.RequestID `json:"request,omitempty"`
	Text    string         `json:"text"`
}

// logs returns the last lines of one request, or without a request the stored lines of the stack.
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
