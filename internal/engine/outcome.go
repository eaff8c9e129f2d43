package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// OutcomeKind is what became of the delivery of a request.
type OutcomeKind int

// The kinds. The zero kind is invalid.
const (
	// Accepted: the provider has the request, and its answer will come by the response URL.
	Accepted OutcomeKind = iota + 1
	// Answered: the provider answered in the body of its reply.
	Answered
	// Refused: the request was not taken, and no answer will come.
	Refused
	// Died: the provider's process ended, or reported an error, before it answered.
	Died
	// TimedOut: the provider did not answer in time. The engine finds that out itself.
	TimedOut
	// Provided: a native type has done what the request asks, or has failed at it.
	Provided
	// Awaiting: a native type has done its part, and signals end the request.
	Awaiting
	// Waiting: the provider's process has done its part for now, and the provider is to be asked again.
	Waiting
	// Silent: the provider's handler returned, and no answer has come. It may be reported twice: first with what may still
	// answer, and again when that no longer may.
	Silent
	// Returned: a macro, or the function of an execution's task, has returned.
	Returned
)

// String returns the word kept with a settled request.
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

// Outcome is what is reported of one request.
type Outcome struct {
	Kind OutcomeKind
	// Local, of Accepted, says that a process of this node executes the request and dies with it. Accepted again and not so, it
	// outlives the node: the process is done, and the answer comes from something that it began elsewhere.
	Local bool
	// Within, of Accepted and Local, is the longest that the process may take, its initialization included; zero if that is not known.
	Within time.Duration
	// Took, of Accepted, is how much of the time for the answer has passed already.
	Took time.Duration
	// AtOnce, of Accepted, says that the mark of it is not to be held back: the request must not be sent again if that can be helped.
	AtOnce bool
	// Body, of Returned, is what the macro or function returned, and of Answered the response document as it came, or so much of it as was read; Size is then how long it
	// really was. 0 says that Body is all of it.
	Body []byte
	Size int
	// Result, of Provided and Awaiting, is what there is now.
	Result native.Result
	// Held, of Provided, says that what there is is a nested stack which waits at a clean-up to be released.
	Held bool
	// Over, of Silent, says that nothing of the request runs on this node any more, so that it outlives the node.
	Over bool
	// Later, of Silent, says that the handler is made to return first, which is nothing to record.
	Later bool
	// Document, of Silent, says that the handler returned a response document, which is not read.
	Document bool
	// After, of Silent, is how long an answer may still take if nothing is known that may send one: the Text says what may. Until is
	// when that has to be done, zero for never. Of Waiting it is how long to wait before the provider is asked again, within 0.1 s and
	// an hour; Until is when it wants to be given up, zero for never; ID, of a Create, is what there is so far, empty if that is not known; Pending is
	// the JSON that it wants to be asked with, a secret.
	After   time.Duration
	Until   time.Time
	ID      wire.PhysicalID
	Pending []byte
	// Try says which try it is that is reported of, if the request is one that asks again or an execution; else 0.
	Try int
	// Error and Cause, of Died and Refused, are how a task of an execution has failed: data of the execution, whole and
	// secret. Without an Error it is one of ours, and the Text its cause.
	Error, Cause string
	// Text, of Refused and Died, is what to tell people; of Silent what may still answer, empty for nothing; of Provided why it failed, empty if it did not; of Waiting how far it
	// is, empty for nothing. Log are the last lines the process wrote, redacted.
	Text string
	Log  []string
	// Delivered, of Refused and Died, says that the request may have reached the provider, and so that there may be
	// something to delete.
	Delivered bool

	// hidden are secrets that are in no row and must not come into one. withheld says that they are not known.
	hidden   []string
	withheld bool
	// imports are what a change set with macros imports. Tries of the decision share it.
	imports *importRequest
}

// Fidelity is how closely the engine keeps to what the real service does.
type Fidelity string

// The fidelities.
const (
	// FidelityPintle improves where the service hurts, see docs/protocol.md. It is the default.
	FidelityPintle Fidelity = "pintle"
	// FidelityAWS does as AWS does.
	FidelityAWS Fidelity = "aws"
)

const (
	// defaultCleanupPause is the time between two tries of a clean-up Delete.
	defaultCleanupPause = 60 * time.Second
	// defaultCancelledWait is how long a Delete waits for the answer of the Create that was cancelled before it.
	defaultCancelledWait = 5 * time.Minute
	// defaultMacroTimeout is how long a macro may take to return: as long as a function of AWS Lambda may run.
	defaultMacroTimeout = 15 * time.Minute
	// leastWait and mostWait bound the pause before a provider is asked again.
	leastWait, mostWait = 100 * time.Millisecond, time.Hour
	// cleanupTries is how often a clean-up Delete is tried before the resource is given up.
	// Source: CloudFormation, troubleshooting.
	cleanupTries = 3
)
