package store

import "github.com/pintle-dev/pintle/wire"

// Signal is what somebody told a resource that waits to be told.
type Signal struct {
	// ID is the sender's own name for it. A resource has one signal of a name.
	ID string `json:"id"`
	// Failed says that it tells of a failure, else of a success.
	Failed bool `json:"failed,omitempty"`
	// Reason and Data are the sender's, either may be empty.
	Reason string `json:"reason,omitempty"`
	Data   string `json:"data,omitempty"`
}

// Await says which signals end a request.
type Await struct {
	// Count is how many successes are wanted.
	Count int `json:"count"`
	// Handle is the resource that takes the signals, and From the request whose answer made it; both are empty if the
	// signals are sent to the request's own resource.
	Handle wire.LogicalID `json:"handle,omitempty"`
	From   wire.RequestID `json:"from,omitempty"`
}
