package statemachine

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/seal"
)

// Limits of Step Functions, and values derived from them; see the package.
const (
	maxPayload = 256 << 10 // of the input or output of a state, in bytes
	minSeconds = 2
	maxSeconds = 24 * 60 * 60
	maxRecord  = 1 << 20 // of an uncompressed record; more than pintle.ParsePending accepts
)

// The states of a wait, on which the machine branches.
const (
	waiting = "waiting"
	done    = "done"
	useless = "useless" // the record cannot be used, so the request cannot be answered
)

// envelope is the input of an execution, the event for the function and its result.
type envelope struct {
	Wait *envelopeWait `json:"pintleWait"`
}

type envelopeWait struct {
	Version int    `json:"version"`
	State   string `json:"state"`
	Seconds int    `json:"seconds"`
	Key     string `json:"key"`
	Sealed  []byte `json:"sealed,omitempty"`
}

const envelopeVersion = 1

// record returns the input that contains an encrypted wait.
func (w *Waiter) record(ctx context.Context, p pintle.Pending) ([]byte, error) {
	box, err := w.keys(ctx)
	if err != nil {
		return nil, err
	}
	text, err := p.Encode()
	if err != nil {
		return nil, fmt.Errorf("state machine: %w", err)
	}
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestCompression)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("state machine: pack a wait: %w", err)
	}
	input, err := json.Marshal(envelope{&envelopeWait{
		Version: envelopeVersion, State: waiting, Seconds: seconds(p), Key: p.Key, Sealed: box.Seal(packed.Bytes(), place(p.Key)),
	}})
	if err != nil {
		return nil, fmt.Errorf("state machine: %w", err)
	}
	if len(input) > maxPayload {
		return nil, fmt.Errorf("state machine: what is to be kept of the request is %d bytes long, packed and sealed, and an execution carries %d: "+
			"the properties or the state of the provider are too large", len(input), maxPayload)
	}
	return input, nil
}

// place returns the context that a record is bound to, so that no record can answer another request.
func place(key string) string { return "state machine/" + key }

// seconds returns how long the machine waits.
func seconds(p pintle.Pending) int {
	pause := min(p.After, time.Until(p.Until))
	return max(minSeconds, min(maxSeconds, int((pause+time.Second-1)/time.Second)))
}

// open decrypts a record. Its errors wrap [pintle.ErrInvalidPending], except errors about a key, which the function may
// still get.
func (w *Waiter) open(ctx context.Context, in *envelopeWait) (pintle.Pending, error) {
	if in.Version != envelopeVersion {
		return pintle.Pending{}, fmt.Errorf("%w: its envelope has the version %d, want %d", pintle.ErrInvalidPending, in.Version, envelopeVersion)
	}
	box, err := w.keys(ctx)
	if err != nil {
		return pintle.Pending{}, err
	}
	packed, err := box.Open(in.Sealed, place(in.Key))
	switch {
	case errors.Is(err, seal.ErrKey):
		return pintle.Pending{}, fmt.Errorf("state machine: the record of a wait: %w", err)
	case err != nil:
		return pintle.Pending{}, fmt.Errorf("%w: %w", pintle.ErrInvalidPending, err)
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxRecord))
	if err != nil {
		return pintle.Pending{}, fmt.Errorf("%w: it cannot be unpacked", pintle.ErrInvalidPending)
	}
	return pintle.ParsePending(text)
}

// parseEnvelope parses an event. An event that is not from the machine has no Wait.
func parseEnvelope(event []byte) (in envelope) {
	if len(event) > maxPayload+1024 || json.Unmarshal(event, &in) != nil {
		return envelope{}
	}
	return in
}

// Event implements [pintle.EventWaiter]. The machine's events have a member pintleWait. An error fails the invocation,
// and the machine sends the same event again after a pause.
func (w *Waiter) Event(ctx context.Context, event []byte, resume pintle.ResumeFunc) (result []byte, ok bool, err error) {
	in := parseEnvelope(event)
	if in.Wait == nil {
		return nil, false, nil
	}
	next, err := w.resume(ctx, in.Wait, resume)
	var out []byte
	switch {
	case errors.Is(err, pintle.ErrInvalidPending):
		w.log.Error("a wait is dropped", "wait", in.Wait.Key, "error", err)
		out, err = ended(in.Wait, useless)
	case err != nil:
		return nil, true, err
	case next == nil:
		out, err = ended(in.Wait, done)
	default:
		next.Key = in.Wait.Key
		out, err = w.record(ctx, *next)
	}
	return out, true, err
}

func (w *Waiter) resume(ctx context.Context, in *envelopeWait, resume pintle.ResumeFunc) (*pintle.Pending, error) {
	p, err := w.open(ctx, in)
	if err != nil {
		return nil, err
	}
	return resume(ctx, p)
}

// ended returns the result after which the machine ends.
func ended(in *envelopeWait, state string) ([]byte, error) {
	return json.Marshal(envelope{&envelopeWait{Version: envelopeVersion, State: state, Key: in.Key}})
}
