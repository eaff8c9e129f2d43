package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// HeaderWaits is a header in the reply to the Runtime API's call "next". With the value [Waits], it says that the engine
// keeps waits for operations in progress. The program may then reply to the event with a [Waiting], and the event may be
// a [Resume]. Without the header, neither is allowed.
const (
	HeaderWaits = "Pintle-Waits"
	Waits       = "true"
)

// Limits of the documents of a wait.
const (
	// MaxPending is the size of the largest state of a wait in bytes, inclusive.
	MaxPending = 256 << 10
	// MaxWaitingReason is the length of the longest progress text in bytes, inclusive.
	MaxWaitingReason = 1024
	// MaxWaitingAfter is the longest pause before a request is polled again: the longest time that any service waits for
	// an answer. A longer pause is reduced to this.
	MaxWaitingAfter = 12 * time.Hour
	// maxWaiting limits the whole document. The texts in it may take six bytes a character.
	maxWaiting = MaxPending + 8*(MaxWaitingReason+MaxPhysicalID)
	// maxResume limits the whole document.
	maxResume = MaxRequest + MaxPending + 4<<10
)

const (
	waitingKey = "pintleWaiting"
	resumeKey  = "pintleResume"
)

// ErrWaitingDocument is wrapped by every error about an invalid [Waiting] or [Resume]. No such error quotes the contents
// of the document.
var ErrWaitingDocument = errors.New("the document of a pending operation is not valid")

// Waiting is the reply of a program to a request whose operation is in progress:
//
//	{"pintleWaiting":{"afterSeconds":1.5,"until":"2026-01-02T15:04:05Z","reason":"copying","pending":{…}}}
//
// The engine stores it and later calls again with a [Resume].
type Waiting struct {
	// After is how long to wait before the next call, 0 to [MaxWaitingAfter].
	After time.Duration
	// Until is when the program will stop waiting. It is never zero.
	Until time.Time
	// Reason describes the progress to people, without control characters and in at most [MaxWaitingReason] bytes. It may
	// be empty. [ParseWaiting] returns it unshortened: redact secrets before you shorten it, or part of a secret remains.
	Reason string
	// PhysicalResourceID is the ID of the resource that a Create has made so far. If the wait ends without an answer, the
	// Delete has this ID. It has at most [MaxPhysicalID] bytes, without control characters. It may be empty.
	PhysicalResourceID PhysicalID
	// Pending is the state that the program needs to continue: any JSON but null, at most [MaxPending] bytes. It is
	// secret.
	Pending json.RawMessage
}

// Encode returns the document. It shortens a reason that is too long, and returns an error for any other problem.
func (w Waiting) Encode() ([]byte, error) {
	w.Pending = cleanUTF8(w.Pending) // this may make it longer
	if err := checkPending(w.Pending); err != nil {
		return nil, err
	}
	if w.Until.IsZero() || w.Until.Year() > 9999 || w.Until.Year() < 0 {
		return nil, waitingProblem("until is not set")
	}
	if w.After < 0 || w.After > MaxWaitingAfter {
		return nil, waitingProblem("after is %v, want 0 to %v", w.After, MaxWaitingAfter)
	}
	if problem := idProblem(w.PhysicalResourceID); problem != nil {
		return nil, problem
	}
	var inner objectWriter
	seconds, err := json.Marshal(w.After.Seconds())
	if err != nil {
		return nil, fmt.Errorf("encode waiting: %w", err)
	}
	inner.raw("afterSeconds", seconds)
	inner.text("until", w.Until.UTC().Format(time.RFC3339Nano), true)
	inner.text("reason", cutText(CleanText(w.Reason), MaxWaitingReason), false)
	inner.text("physicalResourceId", string(w.PhysicalResourceID), false)
	inner.raw("pending", w.Pending)
	return wrap(waitingKey, &inner)
}

// ParseWaiting parses the reply of a program. If the reply does not contain pintleWaiting, ok is false and err is nil:
// other programs may reply anything. Unknown members are ignored. The error wraps [ErrWaitingDocument].
func ParseWaiting(reply []byte) (w Waiting, ok bool, err error) {
	raw, _, ok, err := unwrap(reply, waitingKey, maxWaiting)
	if !ok || err != nil {
		return Waiting{}, ok, err
	}
	var in struct {
		AfterSeconds *float64        `json:"afterSeconds"`
		Until        *time.Time      `json:"until"`
		Reason       string          `json:"reason"`
		ID           PhysicalID      `json:"physicalResourceId"`
		Pending      json.RawMessage `json:"pending"`
	}
	if json.Unmarshal(raw, &in) != nil { // its error may quote secrets
		return Waiting{}, true, waitingProblem("%s is not an object with a number afterSeconds, a time until in RFC 3339, a text reason and a text physicalResourceId", waitingKey)
	}
	switch {
	case in.AfterSeconds == nil:
		return Waiting{}, true, waitingProblem("afterSeconds is missing")
	case *in.AfterSeconds < 0:
		return Waiting{}, true, waitingProblem("afterSeconds is negative")
	case in.Until == nil || in.Until.IsZero():
		return Waiting{}, true, waitingProblem("until is missing")
	case in.Until.UTC().Year() < 0 || in.Until.UTC().Year() > 9999: // because of its offset
		return Waiting{}, true, waitingProblem("until is out of range")
	}
	if err := idProblem(in.ID); err != nil {
		return Waiting{}, true, err
	}
	if err := checkPending(in.Pending); err != nil {
		return Waiting{}, true, err
	}
	w = Waiting{After: MaxWaitingAfter, Until: in.Until.UTC(), Reason: in.Reason, PhysicalResourceID: in.ID, Pending: in.Pending}
	if *in.AfterSeconds < MaxWaitingAfter.Seconds() {
		w.After = time.Duration(math.Round(*in.AfterSeconds * float64(time.Second)))
	}
	return w, true, nil
}

// String returns the times, but not the state.
func (w Waiting) String() string {
	return fmt.Sprintf("waiting, again after %v, until %s", w.After, w.Until.Format(time.RFC3339))
}

// GoString is [Waiting.String], so that no verb of fmt shows the state.
func (w Waiting) GoString() string { return w.String() }

// LogValue is [Waiting.String].
func (w Waiting) LogValue() slog.Value { return slog.StringValue(w.String()) }

// Resume is the event by which an engine polls a waiting request:
//
//	{"pintleResume":{"pending":{…},"try":3,"until":"2026-01-02T15:04:05Z"},"request":{…}}
//
// The program answers the request at its response URL, or replies with another [Waiting].
type Resume struct {
	// Pending is the Pending of the last [Waiting], unchanged.
	Pending json.RawMessage
	// Try counts these events for one request from 1.
	Try int
	// Until is the time of the engine's last poll: the Until of the last [Waiting], or earlier if the request was
	// cancelled. A program that is not done by then should answer with a failure and the ID of the resource so far. Zero
	// means unknown.
	Until time.Time
	// Request is the original request, with a response URL that is valid now.
	Request Request
}

// Encode returns the event.
func (r Resume) Encode() ([]byte, error) {
	r.Pending = cleanUTF8(r.Pending)
	if err := checkPending(r.Pending); err != nil {
		return nil, err
	}
	if r.Try < 1 {
		return nil, waitingProblem("try is %d, want 1 or more", r.Try)
	}
	request, err := r.Request.Encode()
	if err != nil {
		return nil, err
	}
	var inner, outer objectWriter
	inner.raw("pending", r.Pending)
	inner.raw("try", fmt.Append(nil, r.Try))
	if until := r.Until.UTC(); !until.IsZero() && until.Year() >= 0 && until.Year() <= 9999 {
		inner.text("until", until.Format(time.RFC3339Nano), true)
	}
	text, err := inner.bytes()
	if err != nil {
		return nil, fmt.Errorf("encode resume: %w", err)
	}
	outer.raw(resumeKey, text)
	outer.raw("request", request)
	return outer.bytes()
}

// ParseResume parses an event. If the event does not contain pintleResume, ok is false and err is nil: it is a request.
// The error wraps [ErrWaitingDocument], or is a [RequestError] about the request. With the latter, ParseResume also
// returns the parts of the request that it could read. Unknown members are ignored.
func ParseResume(event []byte) (r Resume, ok bool, err error) {
	raw, fields, ok, err := unwrap(event, resumeKey, maxResume)
	if !ok || err != nil {
		return Resume{}, ok, err
	}
	var in struct {
		Pending json.RawMessage `json:"pending"`
		Try     int             `json:"try"`
		Until   time.Time       `json:"until"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return Resume{}, true, waitingProblem("%s is not an object with a whole number try and a time until in RFC 3339", resumeKey)
	}
	if in.Try < 1 {
		return Resume{}, true, waitingProblem("try is missing or less than 1")
	}
	if err := checkPending(in.Pending); err != nil {
		return Resume{}, true, err
	}
	r = Resume{Pending: in.Pending, Try: in.Try, Until: in.Until.UTC()}
	r.Request, err = ParseRequest(fields["request"])
	return r, true, err
}

// String describes the request and does not show the state.
func (r Resume) String() string { return fmt.Sprintf("resume %d of %s", r.Try, r.Request) }

// GoString is [Resume.String], so that no verb of fmt shows the state.
func (r Resume) GoString() string { return r.String() }

// LogValue is [Resume.String].
func (r Resume) LogValue() slog.Value { return slog.StringValue(r.String()) }

// unwrap returns the member that identifies the kind of a document, and all members.
func unwrap(document []byte, key string, most int) (raw json.RawMessage, fields map[string]json.RawMessage, ok bool, err error) {
	// Most documents have no such member, and this check avoids parsing them. An escaped key does not count.
	if !bytes.Contains(document, []byte(`"`+key+`"`)) {
		return nil, nil, false, nil
	}
	if fields, err = readObject(document); err != nil || fields[key] == nil {
		return nil, nil, false, nil //nolint:nilerr // a document of another program
	}
	if len(document) > most {
		return nil, nil, true, waitingProblem("it is %d bytes long, %d are allowed", len(document), most)
	}
	return fields[key], fields, true, nil
}

// wrap returns an object with one member.
func wrap(key string, inner *objectWriter) ([]byte, error) {
	text, err := inner.bytes()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", key, err)
	}
	var outer objectWriter
	outer.raw(key, text)
	return outer.bytes()
}

func checkPending(pending json.RawMessage) error {
	switch {
	case !isSet(bytes.TrimSpace(pending)):
		return waitingProblem("pending is missing")
	case len(pending) > MaxPending:
		return waitingProblem("pending is %d bytes long, %d are allowed", len(pending), MaxPending)
	case !json.Valid(pending):
		return waitingProblem("pending is not JSON")
	}
	return nil
}

func idProblem(id PhysicalID) error {
	switch {
	case len(id) > MaxPhysicalID:
		return waitingProblem("physicalResourceId is %d bytes long, %d are allowed", len(id), MaxPhysicalID)
	case !utf8.ValidString(string(id)), strings.ContainsFunc(string(id), func(c rune) bool { return c < ' ' }):
		return waitingProblem("physicalResourceId holds control characters, or is not UTF-8")
	}
	return nil
}

func waitingProblem(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrWaitingDocument}, args...)...)
}

// cutText truncates a text to the given number of bytes, with "…" at the end if it was cut.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
