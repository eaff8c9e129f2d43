package store

import (
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Event is one event of a stack or a resource, as shown to people. It holds no secret.
type Event struct {
	ID       string          `json:"id"`
	Logical  wire.LogicalID  `json:"logical"`
	Physical wire.PhysicalID `json:"physical"`
	Type     string          `json:"type"`
	// An event of a stack sets Kind and Phase; an event of a resource sets Verb and Progress.
	Kind     Kind     `json:"kind,omitempty"`
	Phase    Phase    `json:"phase,omitempty"`
	Verb     Verb     `json:"verb,omitempty"`
	Progress Progress `json:"progress,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	// Properties is the masked JSON of the resource's properties; empty if the event has none.
	Properties string `json:"properties,omitempty"`
	// Request is the request with which a resource failed; empty for all other events.
	Request wire.RequestID `json:"request,omitempty"`
	// Operation and Token are the operation's id and the client's token.
	Operation string    `json:"operation"`
	Token     string    `json:"token,omitempty"`
	Time      time.Time `json:"time"`
}

// EventCursor is the position of an event row in its stack's history. Positions are compared by Operation, then Number;
// both count from 1.
type EventCursor struct {
	Operation int
	Number    int
}

// EventRow is the events of one transition, oldest first.
type EventRow struct {
	Place  EventCursor
	Events []Event
}

// Audit is an occurrence that changes nothing in the stack's history but should be recorded, such as a late or second
// answer, or an answer given by an operator. It holds no secret.
type Audit struct {
	Time    time.Time      `json:"time"`
	Request wire.RequestID `json:"request,omitempty"`
	Logical wire.LogicalID `json:"logical,omitempty"`
	// Text says what happened.
	Text string `json:"text"`
}
