package pintle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// PollPolicy configures when, and for how long, a [Poller] is polled.
type PollPolicy struct {
	// Interval is the pause between two calls of Poll. Zero means one second, then two, four, up to thirty.
	Interval time.Duration
	// Timeout is how long the operation may take, from the arrival of its request, before it fails with "Operation timed
	// out". Zero means 30 minutes. The service stops listening after the ServiceTimeout of the resource, an hour by
	// default, so the shorter of the two applies. Without a [Waiter], the timeout of the function applies too.
	Timeout time.Duration
}

// ErrInProgress is the error of a [Handler] made by [New] whose operation is in progress and can be handed over to a
// [Waiter]. The server does not treat it as a failure. A handler that wraps another one must return it unchanged. The
// server calls it again for the same request when the operation is polled.
var ErrInProgress = errors.New("the operation is in progress")

// The pauses between two polls double from the first to the longest.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// shortPause is the longest pause spent in place although the wait could be handed over.
	shortPause = 500 * time.Millisecond
	// patience is the limit for the sum of such pauses. Half of the remaining time is another limit.
	patience = 5 * time.Second
)

const defaultPollTimeout = 30 * time.Minute

func (p PollPolicy) check() error {
	if p.Interval < 0 || p.Timeout < 0 {
		return fmt.Errorf("a PollPolicy cannot have the interval %v and the timeout %v", p.Interval, p.Timeout)
	}
	if p.Timeout > 0 && p.Interval > p.Timeout {
		return fmt.Errorf("the interval of the PollPolicy, %v, is longer than its timeout, %v", p.Interval, p.Timeout)
	}
	return nil
}

// pause returns how long to wait after the given number of polls.
func (p PollPolicy) pause(tries int) time.Duration {
	pause := p.Interval
	if pause == 0 {
		pause = longestPause
		if tries <= 5 {
			pause = min(firstPause<<(tries-1), longestPause)
		}
	}
	return pause*3/4 + rand.N(pause/2+1) // with jitter, because many resources of one stack start together
}

// handover describes how a request waits. Requests derived from one request share it.
type handover struct {
	able    bool      // a waiter or the engine can take the wait over
	began   time.Time // when the request arrived
	limit   time.Time // when the service stops listening, minus the time to send the answer
	resumed *wait     // the resumed wait; nil for a new request
	// overtaken is a later request of the resource, because of which the service no longer expects this answer; nil:
	// none.
	overtaken *arrival

	// Results of the handler:
	next  *wait         // the wait that continues; nil if none does
	after time.Duration // until the next poll
}

// waitVersion is the version of the encoding of wait.
const waitVersion = 1

// wait is all that is needed to continue a request. It is the State of a [Pending].
type wait struct {
	Version int             `json:"version"`
	Began   time.Time       `json:"began"`
	Until   time.Time       `json:"until"`
	Tries   int             `json:"tries"`
	State   json.RawMessage `json:"state,omitempty"` // the author's state
	// Replaces means that the operation is the Create that answers an Update. Noted means that the store has a note of
	// it.
	Replaces bool `json:"replaces,omitempty"`
	Noted    bool `json:"noted,omitempty"`
	// The answer so far, with secrets in clear text.
	ID         PhysicalID                 `json:"id,omitempty"`
	Replacing  *bool                      `json:"replacing,omitempty"` // [Response.Replaces]; nil in records of earlier versions
	Reason     string                     `json:"reason,omitempty"`
	Reported   bool                       `json:"reported,omitempty"` // Reason is the progress, not the reason of the operation
	NoEcho     bool                       `json:"noEcho,omitempty"`
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	Secrets    []string                   `json:"secrets,omitempty"` // to be redacted
	// Body is the complete answer, which only has to be sent.
	Body json.RawMessage `json:"body,omitempty"`
}

// parseWait reads the State of a [Pending]. With an error, it also returns the fields that it could read.
func parseWait(text json.RawMessage) (*wait, error) {
	w := &wait{}
	var version struct{ Version json.RawMessage }
	if json.Unmarshal(text, &version) != nil {
		return w, fmt.Errorf("%w: its state is not a JSON object", ErrInvalidPending)
	}
	if err := checkVersion(version.Version, waitVersion); err != nil {
		var known struct {
			ID        PhysicalID
			Replaces  bool
			Replacing *bool
		}
		if json.Unmarshal(text, &known) == nil {
			w.ID, w.Replaces, w.Replacing = known.ID, known.Replaces, known.Replacing
		}
		return w, err
	}
	if json.Unmarshal(text, w) != nil {
		return w, fmt.Errorf("%w: the members of its state have the wrong types", ErrInvalidPending)
	}
	if w.Tries < 0 || w.Began.IsZero() || w.Until.IsZero() {
		return w, fmt.Errorf("%w: its state lacks the times", ErrInvalidPending)
	}
	return w, nil
}

// newWait starts the wait for the operation of a request.
func newWait(r *Request, policy PollPolicy) *wait {
	timeout := cmp.Or(policy.Timeout, defaultPollTimeout)
	if r.wait == nil { // the request was made by a test
		began := r.time().Now()
		return &wait{Version: waitVersion, Began: began, Until: began.Add(timeout)}
	}
	w := &wait{Version: waitVersion, Began: r.wait.began, Until: r.wait.began.Add(timeout)}
	if r.wait.limit.Before(w.Until) {
		w.Until = r.wait.limit
	}
	return w
}

// replacing reports whether the new resource replaces the resource of a request of that type and physical ID. In records
// of earlier versions, a different ID implies that.
func (w *wait) replacing(kind RequestType, present PhysicalID) bool {
	if w.Replacing != nil {
		return *w.Replacing
	}
	return kind == Update && w.ID != "" && w.ID != present
}

// answer returns the answer to the request so far.
func (w *wait) answer(r *Request) Answer {
	a := Answer{ID: w.ID, Replaces: w.replacing(r.Type, r.ID), Reason: w.Reason, NoEcho: w.NoEcho}
	for name, raw := range w.Attributes {
		if a.Attributes == nil {
			a.Attributes = map[string]any{}
		}
		a.Attributes[name] = raw
	}
	return a
}

// keep stores the answer so far in w.
func (w *wait) keep(a Answer) error {
	w.ID, w.Replacing, w.Reason, w.NoEcho, w.Attributes = a.ID, &a.Replaces, a.Reason, a.NoEcho, nil
	for name, value := range a.Attributes {
		raw, secrets, err := clearJSON(value)
		if err != nil {
			return fmt.Errorf("the attributes cannot be encoded: %w", err)
		}
		if w.Attributes == nil {
			w.Attributes = map[string]json.RawMessage{}
		}
		w.Attributes[name] = raw
		w.hide(secrets)
		w.NoEcho = w.NoEcho || len(secrets) > 0
	}
	return nil
}

// keepState encodes and stores the author's state. Nil keeps the stored one.
func (w *wait) keepState(state any) error {
	if state == nil {
		return nil
	}
	raw, secrets, err := clearJSON(state)
	if err != nil {
		return fmt.Errorf("the State for Poll cannot be encoded: %w", err)
	}
	w.State = raw
	w.hide(secrets)
	return nil
}

// hide adds texts to redact in output.
func (w *wait) hide(secrets []string) {
	for _, secret := range secrets {
		if !slices.Contains(w.Secrets, secret) {
			w.Secrets = append(w.Secrets, secret)
		}
	}
}

// await calls look until the operation is done, fails, or runs out of time. It returns [ErrInProgress] if the wait is to
// be handed over; the handover of the request then has the wait. look completes the answer and returns how long to wait;
// zero means the default.
func (r *Request) await(ctx context.Context, policy PollPolicy, w *wait, answer *Answer,
	look func(context.Context) (done bool, after time.Duration, err error)) error {
	clock := r.time()
	patient := clock.Now().Add(patience)
	if half := clock.Now().Add(r.deadline.Sub(clock.Now()) / 2); !r.deadline.IsZero() && half.Before(patient) {
		patient = half // the rest is for a slow poll and the handover
	}
	for {
		w.Tries++
		done, after, err := look(ctx)
		if done || err != nil {
			return err
		}
		if after <= 0 {
			after = policy.pause(w.Tries)
		}
		now := clock.Now()
		able := r.wait != nil && r.wait.able
		// Sleeping past the deadline would only delay the answer.
		if !now.Add(after).Before(w.Until) || !able && !r.deadline.IsZero() && !now.Add(after).Before(r.deadline) {
			return timedOut(now.Sub(w.Began), w.Tries, answer.Reason)
		}
		// A short pause is not worth a handover, unless the pauses add up.
		if able && (after > shortPause || now.Add(after).After(patient)) {
			return r.handOver(w, answer, after)
		}
		if clock.Sleep(ctx, after) != nil {
			return timedOut(clock.Now().Sub(w.Began), w.Tries, answer.Reason)
		}
	}
}

func timedOut(took time.Duration, tries int, last string) error {
	if last != "" {
		last = ": " + last
	}
	return fmt.Errorf("Operation timed out: not ready after %v, asked %d times%s", //nolint:staticcheck // the message that CDK users know
		took.Round(time.Millisecond), tries, last)
}

// handOver leaves the wait to the server.
func (r *Request) handOver(w *wait, answer *Answer, after time.Duration) error {
	if err := w.keep(*answer); err != nil {
		return err
	}
	text, err := clearjson.Encode(w)
	if err != nil {
		return fmt.Errorf("encode the wait: %w", err)
	}
	if len(text) > wire.MaxPending {
		return fmt.Errorf("the data kept during the wait have %d bytes, %d are allowed: the state takes %d of them; "+
			"keep the name of a place where it is instead", len(text), wire.MaxPending, len(w.State))
	}
	r.wait.next, r.wait.after = w, min(after, wire.MaxWaitingAfter)
	return ErrInProgress
}

// progress returns the progress of the wait for people, without secrets.
func (w *wait) progress(hide *redact.Secrets) string {
	return shorten(redacted(hide, w.Reason), wire.MaxWaitingReason)
}

// shorten cleans a text for people and shortens it to a number of bytes, with "…" at the end if anything is missing.
func shorten(text string, most int) string {
	if text = wire.CleanText(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("…")], "") + "…"
	}
	return text
}
