package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// OutcomeKind is the class of a delivery's outcome.
type OutcomeKind int

// The kinds. The zero kind is invalid.
const (
	// Accepted: the provider has the request, and will answer at the response URL.
	Accepted OutcomeKind = iota + 1
	// Answered: the provider answered in the body of its reply.
	Answered
	// Refused: the provider did not accept the request, and no answer will come.
	Refused
	// Died: the provider's process ended, or reported an error, before it answered.
	Died
	// TimedOut: the provider did not answer in time. The engine detects this itself.
	TimedOut
	// Provided: a native type has served the request, or has failed to.
	Provided
	// Awaiting: a native type has done its part, and signals will end the request.
	Awaiting
	// Waiting: the provider's process has done its part for now, and the engine has to poll the provider.
	Waiting
	// Silent: the provider's handler returned without an answer. It may be reported twice: first with a description
	// of what may still answer, and again when an answer has become impossible.
	Silent
	// Returned: a macro, or the function of an execution's task, has returned.
	Returned
)

// String returns the word that is stored with a settled request.
func (k OutcomeKind) String() string {
	switch k {
	case Accepted:
		return "accepted"
	case Answered:
		return "answered"
	case Refused:
		return "refused"
	case Died:
		return "died"
	case TimedOut:
		return "timed out"
	case Provided:
		return "provided"
	case Awaiting:
		return "awaiting"
	case Waiting:
		return "waiting"
	case Silent:
		return "silent"
	case Returned:
		return "returned"
	}
	return "unknown"
}

// Outcome is a report on one request.
type Outcome struct {
	Kind OutcomeKind
	// Local, with Accepted, means that a process of this node executes the request and dies with the node. A second
	// Accepted without Local means that the request outlives the node: the process is done, and something that it
	// started elsewhere will answer.
	Local bool
	// Within, with Accepted and Local, is the time limit of the process, including its initialization; zero if it is
	// unknown.
	Within time.Duration
	// Took, with Accepted, is the part of the answer time that has already passed.
	Took time.Duration
	// AtOnce, with Accepted, means that the mark must not be delayed, so that the request is not sent again if
	// possible.
	AtOnce bool
	// Body, with Returned, is the result of the macro or function. With Answered it is the response document,
	// possibly truncated; Size is then its full length. A Size of 0 means that Body is complete.
	Body []byte
	Size int
	// Result, with Provided and Awaiting, is the result of the native type.
	Result native.Result
	// Held, with Provided, means that the nested stack waits at its clean-up for a release.
	Held bool
	// Over, with Silent, means that no part of the request runs on this node any more, so the request outlives the
	// node.
	Over bool
	// Later, with Silent, means that the handler is designed to return before it answers, which need not be recorded.
	Later bool
	// Document, with Silent, means that the handler returned a response document, which is not read.
	Document bool
	// After, with Silent, is how long an answer may still take if nothing is known that may send one; Text describes
	// the possible senders. Until is their deadline, zero for none. With Waiting, After is the pause before the next
	// poll, from 0.1 s to an hour. Until is then the time at which the provider wants the request to fail, zero for
	// never. ID, of a Create, is the physical ID so far, empty if unknown. Pending is the JSON that the next poll
	// sends back, a secret.
	After   time.Duration
	Until   time.Time
	ID      wire.PhysicalID
	Pending []byte
	// Try is the number of the reported try of a poll or an execution; otherwise 0.
	Try int
	// Error and Cause, with Died and Refused, describe the failure of an execution's task. They are data of the
	// execution, complete and secret. Without an Error, the failure is Pintle's own, and Text is its cause.
	Error, Cause string
	// Text, with Refused and Died, is the failure for people. With Silent it describes what may still answer, empty
	// for nothing. With Provided it is the reason for a failure, empty for success. With Waiting it is the progress,
	// possibly empty. Log are the last lines that the process wrote, redacted.
	Text string
	Log  []string
	// Delivered, with Refused and Died, means that the request may have reached the provider, so there may be a
	// resource to delete.
	Delivered bool

	// hidden are secrets that no row contains and that must not get into one. withheld means that they are unknown.
	hidden   []string
	withheld bool
	// imports are the imports of a change set with macros. The attempts of the decision share it.
	imports *importRequest
}

// Fidelity is how closely the engine follows the behaviour of the real service.
type Fidelity string

// The fidelities.
const (
	// FidelityPintle improves on the service's shortcomings, see docs/protocol.md. It is the default.
	FidelityPintle Fidelity = "pintle"
	// FidelityAWS behaves like AWS.
	FidelityAWS Fidelity = "aws"
)

const (
	// defaultCleanupPause is the time between two attempts of a clean-up Delete.
	defaultCleanupPause = 60 * time.Second
	// defaultCancelledWait is how long a Delete waits for the answer to the Create that was cancelled before it.
	defaultCancelledWait = 5 * time.Minute
	// defaultMacroTimeout is the time limit of a macro: the maximum run time of a function in AWS Lambda.
	defaultMacroTimeout = 15 * time.Minute
	// leastWait and mostWait bound the pause before the next poll of a provider.
	leastWait, mostWait = 100 * time.Millisecond, time.Hour
	// cleanupTries is the number of attempts of a clean-up Delete before the resource is abandoned. Source:
	// CloudFormation, troubleshooting.
	cleanupTries = 3
)
