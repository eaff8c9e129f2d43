package delivery

import (
	"encoding/json"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// Outcome is what became of sending a request. The set is closed: [Accepted], [Answered], [Refused], [Died], [Provided],
// [Awaiting], [Waiting], [Silent], [Returned], and [Poll] around those of a request that asks again.
type Outcome interface{ outcome() }

// Accepted says that the provider has the request; its answer will come by the response URL.
type Accepted struct {
	// Local says that a process of this node executes the request, so that it dies with the node. One that is not, after one
	// that was, says that the process is done with it.
	Local bool
	// Within, of Local, is the longest that the process may take, its initialization included; zero if that is not known.
	Within time.Duration
	// Once says that the request must not be sent again.
	Once bool
	// Took is how long it took from the first try until a service of ROS had the request, zero for less than a second: the time
	// that the service has for its answer began with that try.
	Took time.Duration
}

// Answered says that an HTTP provider answered in the body of its HTTP response.
type Answered struct {
	// Body is the response document, unread: at most [MaxAnswer] bytes. More than wire.MaxResponse bytes mean that the
	// answer is too long and that its end is missing here.
	Body []byte
	// Size, of an answer to ROS that is too long, is how many bytes it has, as far as that is known; else 0. The Body is then as
	// many bytes as are allowed and one more.
	Size int
}

// Refused says that the request will never be answered.
type Refused struct {
	// Text says why, in the words of the service, the provider or the connection where they have any. It is redacted.
	Text string
	// Delivered says that the request may have reached the provider all the same.
	Delivered bool
}

// Died says that the process that was given the request ended, failed or ran out of time. It may have answered the
// response URL before.
type Died struct {
	// Text says what happened to it. It is redacted.
	Text string
	// Log is the end of what it printed, redacted.
	Log []string
	// Delivered is false if no process ever got the request.
	Delivered bool
	// Error and Cause, of the task of an execution, are its failure as executions know it: data, which are secret and neither
	// redacted nor cut.
	Error, Cause string
}

// Provided says that a native type has done what the request asks, or has failed at it.
type Provided struct {
	// Result is what there is now, as far as it went.
	Result native.Result
	// Failure says why it failed; empty if it did not. It is redacted.
	Failure string
}

// Awaiting says that a native type has done its part of a Create, which signals end.
type Awaiting struct{ Result native.Result }

// Waiting says that the process that was given the request has done its part for now, and that the provider is to be asked
// again: see wire.Waiting.
type Waiting struct {
	After time.Duration
	Until time.Time
	// Reason says how far it is. It is redacted.
	Reason string
	// ID, of a Create, is what there is so far, empty if that is not known.
	ID wire.PhysicalID
	// Pending is what it is to be asked with, a secret.
	Pending json.RawMessage
}

// Silent says that the handler of a request returned, and that no answer has come. It is reported again when what may still
// answer has changed.
type Silent struct {
	// Awaits says what may still answer, in words for people; empty if nothing is known that may. It is redacted.
	Awaits string
	// Settle is how long an answer may still take if nothing is known that may send one.
	Settle time.Duration
	// Until is when what may still answer has to have done so, if it is the process: at the end of the provider's own timeout.
	// Zero means that only the request's timeout limits it.
	Until time.Time
	// Over says that nothing of the request runs in a process of this node any more.
	Over bool
	// Later says that the handler is made to return first: its answer comes from what it called, or from elsewhere.
	Later bool
	// Document says that the handler returned a response document instead of sending it.
	Document bool
}

// Returned says that a macro, or the function of an execution's task, has returned.
type Returned struct {
	// Body is what it returned, unread: at most [MaxReturned] bytes.
	Body []byte
}

// Poll is what became of one try to ask a provider again, or of a try of an execution's task: the outcome of a request of the
// type store.TypeIsComplete or store.TypeExecution.
type Poll struct {
	// For is the request that waits, or the execution.
	For wire.RequestID
	// Try is the try that was sent.
	Try int
	// Outcome is [Accepted], [Refused], [Died], [Waiting], [Silent] or [Returned].
	Outcome Outcome
}

func (Accepted) outcome() {}
func (Answered) outcome() {}
func (Refused) outcome()  {}
func (Died) outcome()     {}
func (Provided) outcome() {}
func (Awaiting) outcome() {}
func (Waiting) outcome()  {}
func (Silent) outcome()   {}
func (Returned) outcome() {}
func (Poll) outcome()     {}
