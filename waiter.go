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

// Waiter takes requests over whose operations go on: it keeps them and has [Server.Resume] ask about them, again and
// again, until they are answered. With one, a request that waits needs no process that waits with it. Its methods are
// called by many goroutines at once.
//
// A waiter may have more methods: those of [RunningWaiter] and [EventWaiter].
type Waiter interface {
	// Wait takes a request over. What it was given must outlive a crash when it returns nil: nothing else knows of the
	// request then. If a request with the same Key waits already, it keeps that and returns nil. After an error the
	// request is waited for in place, as without a waiter.
	Wait(ctx context.Context, p Pending) error
	// Waits reports whether the request with that [Pending.Key] is waiting now. It is asked about every request that
	// comes, so that one that is delivered again neither runs its handler again nor begins a second wait. After an error
	// the request is handled.
	Waits(ctx context.Context, key string) (bool, error)
}

// ResumeFunc is [Server.Resume].
type ResumeFunc func(ctx context.Context, p Pending) (next *Pending, err error)

// RunningWaiter is a [Waiter] that works in this process. [Run] runs it beside what it serves.
type RunningWaiter interface {
	Waiter
	// Run resumes what waits, also from an earlier life of the program, until the context ends; then it returns nil, with
	// no call of resume at work. An error ends the program.
	Run(ctx context.Context, resume ResumeFunc) error
}

// EventWaiter is a [Waiter] that Lambda events come for: from a state machine, or a schedule.
type EventWaiter interface {
	Waiter
	// Event deals with an event if it is the waiter's, and returns what the function shall return. ok is false for
	// any other: that is a request.
	Event(ctx context.Context, event []byte, resume ResumeFunc) (result []byte, ok bool, err error)
}

// Pending is a request that waits. All of it but Key, After and Until is secret: the response URL is in it, and
// whatever the template and the provider have. It prints without that.
type Pending struct {
	// Key names the request: hexadecimal digits, the same for every delivery of it, and for the whole wait.
	Key string
	// Event is the request document as it came.
	Event json.RawMessage
	// State is what this package needs to go on: JSON, at most [wire.MaxPending] bytes.
	State json.RawMessage
	// After is how long to wait before [Server.Resume]; from now, never negative.
	After time.Duration
	// Until is when the wait is given up. Resume is to be called then at the latest, to answer that.
	Until time.Time
	// Reason tells people how far it is, without secrets. It may be empty.
	Reason string
}

// pendingVersion is that of the encoding of Pending. A record of another version is refused: it may mean something else.
const pendingVersion = 1

// maxPendingText is the size of the largest encoded Pending in bytes.
const maxPendingText = wire.MaxRequest + wire.MaxPending + 64<<10

// pendingText is Pending as it is stored.
type pendingText struct {
	Version int             `json:"version"`
	Key     string          `json:"key"`
	Event   json.RawMessage `json:"event"`
	State   json.RawMessage `json:"state"`
	After   int64           `json:"afterMilliseconds"`
	Until   time.Time       `json:"until"`
	Reason  string          `json:"reason,omitempty"`
}

// ErrInvalidPending is in the error of [ParsePending] and [Server.Resume] about a record that they cannot use.
var ErrInvalidPending = errors.New("not a record of a wait that this version can use")

// Encode returns the record as JSON, to be stored and read by [ParsePending]. It is a secret.
func (p Pending) Encode() ([]byte, error) {
	text, err := clearjson.Encode(pendingText{pendingVersion, p.Key, p.Event, p.State, p.After.Milliseconds(), p.Until, p.Reason})
	if err != nil {
		return nil, errors.New("encode pending: event or state is not JSON") // the error may quote them
	}
	return text, nil
}

// ParsePending reads what [Pending.Encode] wrote. A record of another version is refused with an error that wraps
// [ErrInvalidPending] and says so; members that are not known are passed over. No error quotes the record.
func ParsePending(text []byte) (Pending, error) {
	if len(text) > maxPendingText {
		return Pending{}, fmt.Errorf("%w: it is %d bytes long, %d are allowed", ErrInvalidPending, len(text), maxPendingText)
	}
	var version struct{ Version json.RawMessage }
	if json.Unmarshal(text, &version) != nil {
		return Pending{}, fmt.Errorf("%w: it is no JSON object", ErrInvalidPending)
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

// checkVersion refuses a version that is not the one wanted.
func checkVersion(raw json.RawMessage, want int) error {
	switch {
	case len(raw) == 0:
		return fmt.Errorf("%w: it has no version", ErrInvalidPending)
	case string(raw) != fmt.Sprint(want):
		return fmt.Errorf("%w: its version is %.20q, want %d; another version of the program wrote it, have that finish it",
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

// String tells when, and shows neither event nor state.
func (p Pending) String() string {
	return fmt.Sprintf("pending %s, again after %v, until %s", p.Key, p.After, p.Until.Format(time.RFC3339))
}

// GoString is [Pending.String], so that no verb of fmt shows the secrets.
func (p Pending) GoString() string { return p.String() }

// LogValue is [Pending.String].
func (p Pending) LogValue() slog.Value { return slog.StringValue(p.String()) }
