package delivery

import (
	"encoding/json"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// Outcome is the result of sending a request. The set is closed: [Accepted], [Answered], [Refused], [Died], [Provided],
// [Awaiting], [Waiting], [Silent], [Returned], and [Poll], which wraps the outcomes of polls and executions.
type Outcome interface{ outcome() }

// Accepted means that the provider has the request. The answer comes through the response URL.
type Accepted struct {
	// Local means that a process of this node executes the request, so it is lost if the node dies. An Accepted without
	// Local after one with it means that the process has finished with the request.
	Local bool
	// Within is the maximum time of the local process, including its initialization. Zero means unknown.
	Within time.Duration
	// Once means that the request must not be sent again.
	Once bool
	// Took is the time between the first attempt and the acceptance by a ROS service, zero if it is less than a second.
	// The service's time for its answer began with the first attempt.
	Took time.Duration
}

// Answered means that an HTTP provider answered in the body of its HTTP response.
type Answered struct {
	// Body is the unparsed response document of at most [MaxAnswer] bytes. If it has more than wire.MaxResponse bytes,
	// the answer is too long and truncated.
	Body []byte
	// Size is the size of a truncated answer to ROS in bytes, as far as it is known, else 0. The Body then has one byte
	// more than the limit.
	Size int
}

// Refused means that the request will never be answered.
type Refused struct {
	// Text is the reason, in the words of the service, the provider or the connection if possible. It is redacted.
	Text string
	// Delivered means that the request may have reached the provider anyway.
	Delivered bool
}

// Died means that the process with the request exited, failed or ran out of time. It may have sent an answer before
// that.
type Died struct {
	// Text describes what happened. It is redacted.
	Text string
	// Log is the end of the process's output, redacted.
	Log []string
	// Delivered is false if no process received the request.
	Delivered bool
	// Error and Cause are the failure of an execution's task, as executions report it. They are secret data, neither
	// redacted nor truncated.
	Error, Cause string
}

// Provided means that a native type has completed the request, or has failed.
type Provided struct {
	// Result is the current state of the resource, possibly incomplete.
	Result native.Result
	// Failure is the reason of a failure, or empty. It is redacted.
	Failure string
}

// Awaiting means that a native type has done its part of a Create, and that signals will complete it.
type Awaiting struct{ Result native.Result }

// Waiting means that the process has done its part for now, and that the provider is to be polled. See wire.Waiting.
type Waiting struct {
	After time.Duration
	Until time.Time
	// Reason describes the progress. It is redacted.
	Reason string
	// ID is the physical ID of a Create so far, empty if unknown.
	ID wire.PhysicalID
	// Pending is the state to send with the next poll. It is secret.
	Pending json.RawMessage
}

// Silent means that the handler of a request returned and that no answer has come. It is reported again when the
// possible source of an answer changes.
type Silent struct {
	// Awaits describes the possible source of the answer in words. It is empty if no source is known. It is redacted.
	Awaits string
	// Settle is how long an answer may still take if no possible source is known.
	Settle time.Duration
	// Until is the time by which the process must have sent its answer: the end of the provider's own timeout. Zero
	// means that only the request's timeout applies.
	Until time.Time
	// Over means that no process of this node executes any part of the request any more.
	Over bool
	// Later means that the handler is designed to return first, and that a called service or another system sends the
	// answer.
	Later bool
	// Document means that the handler returned a response document instead of sending it.
	Document bool
}

// Returned means that a macro, or the function of an execution's task, has returned.
type Returned struct {
	// Body is the unparsed result of at most [MaxReturned] bytes.
	Body []byte
}

// Poll is the outcome of a poll of a waiting provider, or of a try of an execution's task. Its request has the type
// store.TypeIsComplete or store.TypeExecution.
type Poll struct {
	// For is the ID of the waiting request, or of the execution.
	For wire.RequestID
	// Try is the number of the try that was sent.
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
