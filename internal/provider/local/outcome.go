package local

import (
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/wire"
)

// OutcomeKind is how an event ended. The set is closed.
type OutcomeKind uint8

// The ends of an event. The zero OutcomeKind is none of them.
const (
	// Returned: the handler returned a value. Whether it answered the response URL is not known.
	Returned OutcomeKind = iota + 1
	// Errored: the handler reported an error, see Type and Message, or broke the Runtime API's rules.
	Errored
	// Exited: the process ended by itself while it handled the event, see ExitCode. A Go panic is exit code 2.
	Exited
	// Crashed: a signal ended the process while it handled the event, see Signal.
	Crashed
	// TimedOut: the event took longer than allowed. If it had been delivered, its process was killed.
	TimedOut
	// InitFailed: no process got the event, because its program could not be built or started, or the process ended,
	// reported an error or fell silent before it asked for its first event.
	InitFailed
	// Stopped: the runtime was closed.
	Stopped
	// Waiting: the handler returned that it is not done and wants to be asked again, see Outcome.Waiting.
	Waiting
)

// String returns a word for the kind, e.g. "timed out".
func (k OutcomeKind) String() string {
	switch k {
	case Returned:
		return "returned"
	case Errored:
		return "errored"
	case Exited:
		return "exited"
	case Crashed:
		return "crashed"
	case TimedOut:
		return "timed out"
	case InitFailed:
		return "init failed"
	case Stopped:
		return "stopped"
	case Waiting:
		return "waiting"
	}
	return fmt.Sprintf("outcome %d", uint8(k))
}

// Outcome is how an event ended. Every text in it that is for people is redacted.
type Outcome struct {
	Kind OutcomeKind
	// Delivered says that the event was handed to a process, which may have acted on it.
	Delivered bool
	// Invocation is the request ID that the process knows the event by, as context.aws_request_id; empty if it was not delivered.
	Invocation string
	// Type is the error type that the handler reported, at most 256 bytes; for [Errored] and [InitFailed].
	Type string
	// Message says what happened, at most 4 KiB: what the handler reported if it did, a sentence of ours otherwise.
	// Empty for [Returned].
	Message string
	// ExitCode is the process's exit code, for [Exited] and an [InitFailed] whose process exited; else 0.
	ExitCode int
	// Signal names the signal that ended the process, for [Crashed] and such an [InitFailed]; else empty.
	Signal string
	// Result is what the handler returned, for [Returned], or the report of its error as it was posted, for [Errored] and
	// [InitFailed] if there was one; at most 6 MiB, and only when [Event.WantResult] was set. It is not redacted: who is
	// called answers to the caller.
	Result []byte
	// Waiting is when to ask again, and with what; for [Waiting], else nil. Only what is pending in it is not redacted: it is
	// the handler's own secret. Its reason is not cut.
	Waiting *wire.Waiting
	// Over, of [Returned], says that nothing of the event continues in the process: it is a function of Lambda, which is stopped when it
	// has returned. Of any other provider that is not known.
	Over bool
	// Inside, of [Returned], says that a [ServeFunc] has returned, which answers by itself.
	Inside bool
	// Document, of [Returned], says that the handler returned a response document, which Lambda does not read either.
	Document bool
	// Work, of [Returned], returns what the process still does for the event, such as "1 thread"; empty for nothing. It may be
	// called again and again, by one goroutine at a time, and takes up to a second unless ctx ends. Nil means that this cannot
	// be known, or that there is nothing: see Over and Inside.
	Work func(ctx context.Context) string
	// Log is the end of what the process printed since it got the event (since its start, if this was its first): at
	// most 20 lines and 4 KiB. For a program that could not be built it is the end of the build's output.
	Log []string
}

// String returns the outcome in a few words, without its log: "exited: the process exited with code 3 …".
func (o Outcome) String() string {
	switch {
	case o.Message == "" && o.Type == "":
		return o.Kind.String()
	case o.Type == "":
		return fmt.Sprintf("%s: %s", o.Kind, o.Message)
	case o.Message == "":
		return fmt.Sprintf("%s: %s", o.Kind, o.Type)
	}
	return fmt.Sprintf("%s: %s: %s", o.Kind, o.Type, o.Message)
}

const stoppedMessage = "the engine stopped before the event ended"
