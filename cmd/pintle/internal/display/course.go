package display

import (
	"strings"
	"time"
)

// Event is an event of a stack as it is shown.
type Event struct {
	Time     time.Time
	Logical  string
	Physical string
	Type     string
	Status   string
	Reason   string
	// Own says that it is the stack's own.
	Own bool
}

// Waiting is a request that is not settled.
type Waiting struct {
	Logical string
	// Type is the type of the request, such as Create. Provider is the name of its provider; empty if unknown.
	Type, Provider string
	// Since is when it came to its provider; zero if it has not.
	Since time.Time
	// Left is the time until it fails; negative if its time does not run yet.
	Left time.Duration
	// Progress is the reason for a delay, or "".
	Progress string
	// Silent says that its provider's handler returned without an answer.
	Silent bool
	// Answer is the command that answers instead of the provider, or "".
	Answer string
}

// failsIn words the time until a request fails.
func (w Waiting) failsIn() string {
	if w.Left < 0 {
		return ""
	}
	return "fails in " + Span(w.Left)
}

// Watcher shows the course of an operation. Its methods are called by one goroutine.
type Watcher interface {
	// Events takes new events, oldest first.
	Events(events []Event)
	// Tick updates the pending requests. It is called periodically.
	Tick(now time.Time, waiting []Waiting)
	// End leaves the terminal in order.
	End()
}

// inProgress and bad classify a status.
func inProgress(status string) bool { return strings.HasSuffix(status, "_IN_PROGRESS") }

func bad(status string) bool {
	return strings.HasSuffix(status, "_FAILED") || strings.Contains(status, "ROLLBACK")
}

// firstLine returns the first line of a text, cleaned.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return Clean(line)
}
