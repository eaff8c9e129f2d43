package store

import (
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Signal is a signal that was sent to a waiting resource.
type Signal struct {
	// ID is the sender's name for the signal. A resource keeps one signal of each name.
	ID string `json:"id"`
	// Failed says that it reports a failure; otherwise it reports a success.
	Failed bool `json:"failed,omitempty"`
	// Reason and Data come from the sender. Either may be empty.
	Reason string `json:"reason,omitempty"`
	Data   string `json:"data,omitempty"`
	// Warning says that it reports a warning (ROS only). It counts as a signal, but not as a success.
	Warning bool `json:"warning,omitempty"`
	// JSON says that Data is JSON; otherwise it is plain text.
	JSON bool `json:"json,omitempty"`
}

// Value returns the data. Invalid JSON is returned as text.
func (s Signal) Value() value.Value {
	if s.JSON {
		if v, err := value.Parse([]byte(s.Data)); err == nil {
			return v
		}
	}
	return value.Str(s.Data)
}

// Await says what ends a request: signals, or a pause.
type Await struct {
	// Count is the required number of successes.
	Count int `json:"count"`
	// Handle is the resource that receives the signals, and From the request whose answer created it. Both are empty if
	// the signals are sent to the request's own resource.
	Handle wire.LogicalID `json:"handle,omitempty"`
	From   wire.RequestID `json:"from,omitempty"`
	// Pause says that no signals are awaited: the request succeeds when its time is up.
	Pause bool `json:"pause,omitempty"`
}
