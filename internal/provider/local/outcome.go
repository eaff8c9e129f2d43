package local

import (
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/wire"
)

// OutcomeKind is the kind of result of an event. The set is closed.
type OutcomeKind uint8

// The kinds of results. The zero OutcomeKind is invalid.
const (
	// Returned: the handler returned a value. It is unknown whether it answered at the response URL.
	Returned OutcomeKind = iota + 1
	// Errored: the handler reported an error, see Type and Message, or violated the rules of the Runtime API.
	Errored
	// Exited: the process exited while it handled the event, see ExitCode. A Go panic is exit code 2.
	Exited
	// Crashed: a signal ended the process while it handled the event, see Signal.
	Crashed
	// TimedOut: the event exceeded its time. If a process had received it, that process was killed.
	TimedOut
	// InitFailed: no process received the event, because its program could not be built or started, or because the
	// process exited, reported an error or hung before it asked for its first event.
	InitFailed
	// Stopped: the runtime was closed, or the event was cancelled.
	Stopped
	// Waiting: the handler is not done and asks to be polled, see Outcome.Waiting.
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

// Outcome is the result of an event. All texts for people are redacted.
type Outcome struct {
	Kind OutcomeKind
	// Delivered means that a process received the event and may have acted on it.
	Delivered bool
	// Invocation is the request ID that the process saw, as context.aws_request_id. It is empty if the event was not
	// delivered.
	Invocation string
	// Type is the error type that the handler reported, at most 256 bytes; for [Errored] and [InitFailed].
	Type string
	// Message describes what happened, at most 4 KiB: the handler's error message if it reported one, otherwise a text
	// of this package. It is empty for [Returned].
	Message string
	// ExitCode is the process's exit code, for [Exited] and an [InitFailed] whose process exited; else 0.
	ExitCode int
	// Signal is the name of the signal that ended the process, for [Crashed] and an [InitFailed] with such a process;
	// else empty.
	Signal string
	// Result is the handler's result, for [Returned], or its error report as posted, for [Errored] and [InitFailed]. It
	// has at most 6 MiB and is set only if [Event.WantResult] was set. It is not redacted, because it goes to the
	// caller of the function.
	Result []byte
	// Waiting says when and with which state to poll. It is nil unless the Kind is [Waiting]. All of it is redacted
	// except Pending, which is the handler's own secret. The reason is not truncated.
	Waiting *wire.Waiting
	// Over, for [Returned], means that the process does no more work for the event, because it is a cloud function,
	// which stops when its handler returns. For other providers this is unknown.
	Over bool
	// Inside, for [Returned], means that a [ServeFunc] has returned. It sends the answer by itself.
	Inside bool
	// Document, for [Returned], means that the handler returned a response document, which Lambda ignores too.
	Document bool
	// Work, for [Returned], describes the remaining work of the process for the event, such as "1 thread", or returns
	// "". It may be called repeatedly, but not concurrently. It takes up to a second unless ctx ends. Nil means that
	// the process has no such work or that it is unknown: see Over and Inside.
	Work func(ctx context.Context) string
	// Log is the end of the process's output since it received the event (since its start, if this was its first): at
	// most 20 lines and 4 KiB. For a failed build, it is the end of the build's output.
	Log []string
}

// String returns a short description without the log: "exited: the process exited with code 3 …".
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
