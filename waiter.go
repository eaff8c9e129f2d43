package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
	"github.com/pintle-dev/pintle/wire"
)

// Waiter keeps requests whose operations are in progress, and calls [Server.Resume] for each until it is answered. With a
// Waiter, a waiting request does not need a process that waits. Its methods must be safe for concurrent use.
//
// A waiter may also implement [RunningWaiter] or [EventWaiter].
type Waiter interface {
	// Wait takes a request over. When it returns nil, p must be stored durably: nothing else has the request then. If a
	// request with the same Key is already waiting, it keeps that one and returns nil. After an error the server waits in
	// place, as without a waiter.
	Wait(ctx context.Context, p Pending) error
	// Waits reports whether the request with that [Pending.Key] is waiting. The server calls it for every incoming
	// request, so that a repeated delivery neither runs the handler again nor starts a second wait. After an error the
	// server handles the request.
	Waits(ctx context.Context, key string) (bool, error)
}

// ResumeFunc is the type of [Server.Resume].
type ResumeFunc func(ctx context.Context, p Pending) (next *Pending, err error)

// RunningWaiter is a [Waiter] that works in this process. [Run] runs it in parallel with the server.
type RunningWaiter interface {
	Waiter
	// Run resumes waiting requests, including those from an earlier process of the program, until the context ends. It
	// then returns nil, after all calls of resume have returned. An error ends the program.
	Run(ctx context.Context, resume ResumeFunc) error
}

// EventWaiter is a [Waiter] that receives Lambda events: from a state machine or a schedule.
type EventWaiter interface {
	Waiter
	// Event handles an event if it belongs to the waiter, and returns the result of the function. ok is false for any
	// other event: that is a request.
	Event(ctx context.Context, event []byte, resume ResumeFunc) (result []byte, ok bool, err error)
}

// Pending is a request that waits. All of it except Key, After and Until is secret: it contains the response URL and the
// data of the template and the provider. Its printed form leaves those out.
type Pending struct {
	// Key identifies the request. It consists of hexadecimal digits and is the same for every delivery of the request and
	// for the whole wait.
	Key string
	// Event is the original request document.
	Event json.RawMessage
	// State is the state that this package needs to continue: JSON, at most [wire.MaxPending] bytes.
	State json.RawMessage
	// After is how long to wait from now before [Server.Resume]; never negative.
	After time.Duration
	// Until is when the wait times out. Call Resume at that time at the latest, so that it answers with a failure.
	Until time.Time
	// Reason describes the progress to people, without secrets. It may be empty.
	Reason string
}

// pendingVersion is the version of the encoding of Pending. Records of another version are rejected: their meaning may
// differ.
const pendingVersion = 1

// maxPendingText is the size of the largest encoded Pending in bytes.
const maxPendingText = wire.MaxRequest + wire.MaxPending + 64<<10

// pendingText is the stored form of Pending.
type pendingText struct {
	Version int             `json:"version"`
	Key     string          `json:"key"`
	Event   json.RawMessage `json:"event"`
	State   json.RawMessage `json:"state"`
	After   int64           `json:"afterMilliseconds"`
	Until   time.Time       `json:"until"`
	Reason  string          `json:"reason,omitempty"`
}

// ErrInvalidPending is wrapped by the errors of [ParsePending] and [Server.Resume] about a record that they cannot use.
var ErrInvalidPending = errors.New("the record of the pending request cannot be used")

// Encode returns the record as JSON, to be stored and read by [ParsePending]. The JSON is secret.
func (p Pending) Encode() ([]byte, error) {
	text, err := clearjson.Encode(pendingText{pendingVersion, p.Key, p.Event, p.State, p.After.Milliseconds(), p.Until, p.Reason})
	if err != nil {
		return nil, errors.New("encode pending: event or state is not JSON") // the original error may quote them
	}
	return text, nil
}

// ParsePending reads a record written by [Pending.Encode]. A record of another version is rejected with an error that
// wraps [ErrInvalidPending]. Unknown members are ignored. No error quotes the record.
func ParsePending(text []byte) (Pending, error) {
	if len(text) > maxPendingText {
		return Pending{}, fmt.Errorf("%w: it is %d bytes long, %d are allowed", ErrInvalidPending, len(text), maxPendingText)
	}
	var version struct{ Version json.RawMessage }
	if json.Unmarshal(text, &version) != nil {
		return Pending{}, fmt.Errorf("%w: it is not a JSON object", ErrInvalidPending)
	}
	if err := checkVersion(version.Version, pendingVersion); err != nil {
		return Pending{}, err
	}
	var in pendingText
	if json.Unmarshal(text, &in) != nil {
		return Pending{}, fmt.Errorf("%w: its members have the wrong types", ErrInvalidPending)
	}
	p := Pending{in.Key, in.Event, in.State, time.Duration(in.After) * time.Millisecond, in.Until, in.Reason}
	if in.After < 0 || in.After > wire.MaxWaitingAfter.Milliseconds() {
		return Pending{}, fmt.Errorf("%w: afterMilliseconds is out of range", ErrInvalidPending)
	}
	return p, p.check()
}

// checkVersion rejects any version except want.
func checkVersion(raw json.RawMessage, want int) error {
	switch {
	case len(raw) == 0:
		return fmt.Errorf("%w: it has no version", ErrInvalidPending)
	case string(raw) != fmt.Sprint(want):
		return fmt.Errorf("%w: it has the version %.20q, and this program reads %d. Run the program that wrote it until its requests are finished",
			ErrInvalidPending, bytes.Trim(raw, `"`), want)
	}
	return nil
}

func (p Pending) check() error {
	switch {
	case p.Key == "":
		return fmt.Errorf("%w: it has no key", ErrInvalidPending)
	case len(p.Event) == 0:
		return fmt.Errorf("%w: it has no event", ErrInvalidPending)
	case len(p.State) == 0 || string(p.State) == "null":
		return fmt.Errorf("%w: it has no state", ErrInvalidPending)
	case len(p.State) > wire.MaxPending:
		return fmt.Errorf("%w: its state is %d bytes long, %d are allowed", ErrInvalidPending, len(p.State), wire.MaxPending)
	}
	return nil
}

// MarshalJSON is [Pending.Encode].
func (p Pending) MarshalJSON() ([]byte, error) { return p.Encode() }

// UnmarshalJSON is [ParsePending].
func (p *Pending) UnmarshalJSON(text []byte) (err error) {
	*p, err = ParsePending(text)
	return err
}

// String returns the key and the times, but neither the event nor the state.
func (p Pending) String() string {
	return fmt.Sprintf("pending %s, again after %v, until %s", p.Key, p.After, p.Until.Format(time.RFC3339))
}

// GoString is [Pending.String], so that no verb of fmt shows the secrets.
func (p Pending) GoString() string { return p.String() }

// LogValue is [Pending.String].
func (p Pending) LogValue() slog.Value { return slog.StringValue(p.String()) }
