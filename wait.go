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

// PollPolicy is when a [Poller] is polled, and for how long.
type PollPolicy struct {
	// Interval is the pause between two calls of Poll. Zero means one second, then two, four, up to thirty.
	Interval time.Duration
	// Timeout is how long the operation may take, from the arrival of its request, before it fails with "Operation timed
	// out". Zero means 30 minutes. The service stops listening after the ServiceTimeout of the resource, an hour by
	// default, so the shorter of the two counts. Where nothing keeps the wait, the timeout of the function counts too.
	Timeout time.Duration
}

// ErrInProgress is the error of a [Handler] made by [New] whose operation is in progress and can be handed over to a
// [Waiter]. The server does not treat it as a failure. A handler that wraps another one must return it unchanged; the server
// calls it again for the same request when the operation is polled.
var ErrInProgress = errors.New("the operation is in progress")

// The pauses between two questions: doubled from the first to the longest.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// shortPause is the longest that is spent in place though the wait could be handed over.
	shortPause = 500 * time.Millisecond
	// patience is for how long that is done, but for no more than half of the time that there is.
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

// pause returns how long to wait after that many questions.
func (p PollPolicy) pause(tries int) time.Duration {
	pause := p.Interval
	if pause == 0 {
		pause = longestPause
		if tries <= 5 {
			pause = min(firstPause<<(tries-1), longestPause)
		}
	}
	return pause*3/4 + rand.N(pause/2+1) // with jitter: many resources of one stack begin together
}

// handover is how a request waits. Those that are made of a request for parts of its work share it.
type handover struct {
	able    bool      // somebody would take the wait over
	began   time.Time // when the request arrived
	limit   time.Time // when the service stops listening, less what the answer needs
	resumed *wait     // what is resumed; nil for a request that is new
	// overtaken is the later request of the resource because of which nobody listens for the answer; nil if there is none.
	overtaken *arrival

	// What the handler leaves:
	next  *wait         // the wait that goes on; nil if none does
	after time.Duration // until the next question
}

// waitVersion is that of the encoding of wait.
const waitVersion = 1

// wait is all that is needed to go on with a request: it is the state of a [Pending].
type wait struct {
	Version int             `json:"version"`
	Began   time.Time       `json:"began"`
	Until   time.Time       `json:"until"`
	Tries   int             `json:"tries"`
	State   json.RawMessage `json:"state,omitempty"` // the author's
	// Replaces says that the operation is the Create by which an Update is answered, Noted that there is a note of it.
	Replaces bool `json:"replaces,omitempty"`
	Noted    bool `json:"noted,omitempty"`
	// The answer so far, secrets in clear.
	ID         PhysicalID                 `json:"id,omitempty"`
	Replacing  *bool                      `json:"replacing,omitempty"` // [Response.Replaces]; nil in records of earlier versions
	Reason     string                     `json:"reason,omitempty"`
	Reported   bool                       `json:"reported,omitempty"` // Reason is the progress, not that of the operation
	NoEcho     bool                       `json:"noEcho,omitempty"`
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	Secrets    []string                   `json:"secrets,omitempty"` // to be kept out of texts
	// Body is the whole answer: what is left is to send it.
	Body json.RawMessage `json:"body,omitempty"`
}

// parseWait reads the state of a [Pending]. What could be read is returned beside an error.
func parseWait(text json.RawMessage) (*wait, error) {
	w := &wait{}
	var version struct{ Version json.RawMessage }
	if json.Unmarshal(text, &version) != nil {
		return w, fmt.Errorf("%w: its state is no JSON object", ErrInvalidPending)
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

// newWait begins to wait for the operation of a request.
func newWait(r *Request, policy PollPolicy) *wait {
	timeout := cmp.Or(policy.Timeout, defaultPollTimeout)
	if r.wait == nil { // made by hand
		began := r.time().Now()
		return &wait{Version: waitVersion, Began: began, Until: began.Add(timeout)}
	}
	w := &wait{Version: waitVersion, Began: r.wait.began, Until: r.wait.began.Add(timeout)}
	if r.wait.limit.Before(w.Until) {
		w.Until = r.wait.limit
	}
	return w
}

// replacing reports whether what was made replaces the resource of the request, which has that type and physical ID. In
// records of earlier versions another ID says so.
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

// keep takes the answer so far.
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

// keepState puts the state of the author into the form in which it is stored. Nil keeps what is there.
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

// hide keeps texts out of what is printed.
func (w *wait) hide(secrets []string) {
	for _, secret := range secrets {
		if !slices.Contains(w.Secrets, secret) {
			w.Secrets = append(w.Secrets, secret)
		}
	}
}

// await asks look until the operation is done, fails, or its time runs out. It returns [ErrInProgress] if the wait is to be
// handed over; the request then has it. look completes the answer, and says how long to wait: zero for the usual.
func (r *Request) await(ctx context.Context, policy PollPolicy, w *wait, answer *Answer,
	look func(context.Context) (done bool, after time.Duration, err error)) error {
	clock := r.time()
	patient := clock.Now().Add(patience)
	if half := clock.Now().Add(r.deadline.Sub(clock.Now()) / 2); !r.deadline.IsZero() && half.Before(patient) {
		patient = half // the rest is for a question that takes long, and to hand over
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
		// To sleep through the deadline would only make the answer late.
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
	return fmt.Errorf("Operation timed out: not ready after %v, asked %d times%s", //nolint:staticcheck // the words that users of the CDK know
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
		return fmt.Errorf("what is to be kept while it is waited for is %d bytes long, %d are allowed: the state takes %d of them; "+
			"keep the name of a place where it is instead", len(text), wire.MaxPending, len(w.State))
	}
	r.wait.next, r.wait.after = w, min(after, wire.MaxWaitingAfter)
	return ErrInProgress
}

// progress is what the wait says about itself to people.
func (w *wait) progress(hide *redact.Secrets) string {
	text := wire.CleanText(redacted(hide, w.Reason))
	if len(text) > wire.MaxWaitingReason {
		text = strings.ToValidUTF8(text[:wire.MaxWaitingReason-len("…")], "") + "…"
	}
	return text
}
