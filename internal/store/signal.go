package store

import (
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Signal is what someone told a resource that waits to be told.
type Signal struct {
	// ID is the sender's own name for it. A resource has one signal of a name.
	ID string `json:"id"`
	// Failed says that it tells of a failure, else of a success.
	Failed bool `json:"failed,omitempty"`
	// Reason and Data are the sender's, either may be empty.
	Reason string `json:"reason,omitempty"`
	Data   string `json:"data,omitempty"`
	// Warning says that it is of a warning, of ROS: it counts as a signal, but is not a success.
	Warning bool `json:"warning,omitempty"`
	// JSON says that Data is JSON, else it is a text.
	JSON bool `json:"json,omitempty"`
}

// Value returns the data. JSON that cannot be read is its text.
func (s Signal) Value() value.Value {
	if s.JSON {
		if v, err := value.Parse([]byte(s.Data)); err == nil {
			return v
		}
	}
	return value.Str(s.Data)
}

// Await says what ends a request: signals, or time.
type Await struct {
	// Count is how many successes are wanted.
	Count int `json:"count"`
	// Handle is the resource that takes the signals, and From the request whose answer made it; both are empty if the
	// signals are sent to the request's own resource.
	Handle wire.LogicalID `json:"handle,omitempty"`
	From   wire.RequestID `json:"from,omitempty"`
	// Pause says that no signals are awaited: the request succeeds when its time is over.
	Pause bool `json:"pause,omitempty"`
}
