package pintle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// lateGrace is how long a request is still resumed after the service has stopped listening, so that its operation
	// can finish.
	lateGrace = time.Minute
	// lateLimit is the maximum lateness of a request that is still resumed. Response URLs have expired by then.
	lateLimit = time.Hour
	// clockSkew is the largest expected difference between two clocks.
	clockSkew = 2 * time.Second
)

// cdkCreateFailed is the equivalent of [CreateFailed] in the CDK's provider framework. A resource may have this ID
// from before its provider was rewritten with this package.
const cdkCreateFailed PhysicalID = "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED"

// Resume polls the operation of a waiting request: once, or a few times if the pauses are short. If the operation is
// done, has failed or has run out of time, Resume answers at the response URL and returns nil. The caller can then
// delete the record. Otherwise it returns the record to store instead of the given one, with the time of the next
// call. For a replacement it also returns a record when only sending the answer is left, so that the answer is stored
// first. The same record may be resumed twice, concurrently or after it was answered: the service uses the first
// answer.
//
// A record that cannot be used, because another version of the program wrote it, is answered as FAILED if it contains
// a response URL. After an error the given record remains valid: call Resume again after a pause. If retrying cannot
// help, the error wraps [ErrInvalidPending]. It wraps [ErrHandlerStuck] in the same cases as the error of
// [Server.ServeEvent]. The context's deadline is when the process must be done; without one it is 15 minutes from
// now.
func (s *Server) Resume(ctx context.Context, p Pending) (next *Pending, err error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = s.clock.Now().Add(15 * time.Minute)
	}
	ctx = context.WithoutCancel(ctx)
	w, refused := parseWait(p.State)
	// Once the service has the new ID of a replacement, that ID is the resource. A crash after the answer could lead
	// to another poll; an error of that would delete the resource. So the answer is stored in the record before it is
	// sent.
	twice := refused == nil && w.Replaces && w.Body == nil
	a, err := s.resume(ctx, delivery{text: p.Event, key: p.Key, deadline: deadline, resumed: w, refused: refused})
	switch {
	case err != nil:
	case a.waiting != nil:
		next = &Pending{p.Key, p.Event, a.waiting.State, a.waiting.After, a.waiting.Until, a.waiting.Reason}
	case a.body != nil && twice:
		next = &Pending{Key: p.Key, Event: p.Event, Until: w.Until}
		next.State, err = clearjson.Encode(wait{Version: waitVersion, Began: w.Began, Until: w.Until, Replaces: true, Body: a.body})
	case a.body != nil:
		err = s.send(ctx, a)
	}
	if a.running != nil {
		err = errors.Join(err, s.join(ctx, a.running, deadline))
	}
	if err != nil {
		return nil, err
	}
	return next, nil
}

// hostedResume is Resume for an engine that hosts this program. problem is the parse error of the event, if any.
func (s *Server) hostedResume(ctx context.Context, r wire.Resume, problem error, deadline time.Time) ([]byte, <-chan struct{}, error) {
	if problem != nil {
		return nil, nil, &badEventError{problem}
	}
	event, err := r.Request.Encode()
	if err != nil {
		return nil, nil, &badEventError{err}
	}
	w, refused := parseWait(r.Pending)
	skew := min(clockSkew, w.Until.Sub(w.Began)/10)
	if !r.Until.IsZero() && r.Until.Before(w.Until) {
		w.Until = r.Until
	}
	// The provider must answer the last poll, even if the clock of the engine's database is ahead of this one.
	if now := s.clock.Now(); refused == nil && w.Until.Sub(now) <= skew {
		w.Until = now
	}
	// The engine does not resume a request that it has the answer to.
	a, err := s.resume(ctx, delivery{text: event, deadline: deadline, hosted: true, resumed: w, refused: refused})
	switch {
	case err != nil:
		return nil, a.running, err
	case a.waiting != nil:
		result, err := waitingReply(a.waiting)
		return result, a.running, err
	case a.body == nil:
		return nothing, nil, nil
	}
	return nothing, a.running, s.send(ctx, a)
}

// waitingReply returns the reply of a hosted program to a request that waits.
func waitingReply(p *Pending) ([]byte, error) {
	w := wire.Waiting{After: p.After, Until: p.Until, Reason: p.Reason, Pending: p.State}
	var made struct {
		ID       PhysicalID
		Replaces bool
	}
	if json.Unmarshal(p.State, &made) == nil && !made.Replaces && checkID(made.ID, wire.MaxPhysicalID, nil) == "" {
		w.PhysicalResourceID = made.ID
	}
	return w.Encode()
}

// resume polls the operation of a request. If the request is too old, the result has neither an answer nor a wait.
func (s *Server) resume(ctx context.Context, d delivery) (answered, error) {
	w := d.resumed
	if d.refused != nil {
		w.Began = s.clock.Now() // the real time is unknown
	}
	r, err := wire.ParseRequest(d.text)
	if err != nil {
		return answered{}, fmt.Errorf("%w: %w", ErrInvalidPending, err)
	}
	if s.clock.Now().After(w.Began.Add(s.listens(r) + lateLimit)) {
		log := requestLog(slog.New(s.log.Handler()), r)
		log.Error("the wait is abandoned: the service no longer accepts the answer", "began", w.Began, "physicalId", w.ID)
		return answered{}, nil
	}
	return s.take(ctx, d)
}

// refuse answers a request that cannot be resumed.
func (s *Server) refuse(a answered, d delivery, hide *redact.Secrets) (answered, error) {
	a.log.Error("the request cannot be resumed", "error", d.refused)
	o := outcome{answer: d.resumed.made(a.request.RequestType, a.request.PhysicalResourceID), err: d.refused}
	if o.answer.ID == "" && a.request.RequestType == Create {
		o.answer.ID = PhysicalID(a.request.RequestID) // something was made, so a Delete must follow
	}
	return s.encode(a, settle(a.request, o, hide), o.answer, hide)
}

// made returns the answer to a failure before the handler was called: the ID of the resource that was made, and whether
// it replaces the old one. kind and present are the type and the physical ID of the request.
func (w *wait) made(kind RequestType, present PhysicalID) Answer {
	if w.Replaces {
		return Answer{} // the resource stays the old one
	}
	return Answer{ID: w.ID, Replaces: w.replacing(kind, present)}
}

// handOver passes a wait to the waiter or the engine. It returns nil if that failed.
func (s *Server) handOver(ctx context.Context, a answered, hide *redact.Secrets, w *handover, d delivery, key string) *Pending {
	state, err := clearjson.Encode(w.next)
	if err != nil { // the handler encoded it successfully before
		a.log.Error("the wait cannot be encoded", "error", err)
		return nil
	}
	p := &Pending{Key: key, Event: d.text, State: state, After: w.after, Until: w.next.Until, Reason: w.next.progress(hide)}
	if d.resumed == nil && !d.hosted {
		bounded, stop := s.clock.WithDeadline(ctx, a.by)
		defer stop()
		if err := s.waiter.Wait(bounded, *p); err != nil {
			a.log.Error("the waiter does not take the request, so it is waited for here", "error", err)
			return nil
		}
	}
	a.log.Info("waiting", "tries", w.next.Tries, "after", p.After.Round(time.Millisecond), "until", p.Until, "progress", p.Reason)
	return p
}

// again returns the wait of a request that was handed over before, unchanged.
func (s *Server) again(state json.RawMessage, key string, event []byte) *Pending {
	p := &Pending{Key: key, Event: event, State: state, Until: s.clock.Now()}
	if w, err := parseWait(state); err == nil {
		p.Until = w.Until
	}
	return p
}

// arrival is the note of the latest request of a resource.
type arrival struct {
	RequestID wire.RequestID
	Type      RequestType
	ID        PhysicalID
	At        time.Time
}

func arrivalKey(r wire.Request) string {
	return storeKey("arrival", string(r.StackID), string(r.LogicalResourceID))
}

// arrive stores a note of the request.
func (s *Server) arrive(ctx context.Context, a answered) {
	r := a.request
	text, err := clearjson.Encode(arrival{r.RequestID, r.RequestType, r.PhysicalResourceID, a.start})
	if err == nil {
		err = s.store.Put(ctx, arrivalKey(r), text, keepFor)
	}
	if err != nil {
		a.log.Warn("the store does not take a note of the request", "error", err)
	}
}

// overtaken returns a later request of the resource, because of which the service no longer expects this answer. The
// service sends another request of a resource only after it has the answer to the last one or has timed out.
// overtaken returns nil if the store knows of no later request.
func (s *Server) overtaken(ctx context.Context, a answered, began time.Time) *arrival {
	text, ok, err := s.store.Get(ctx, arrivalKey(a.request))
	if err != nil {
		a.log.Warn("the store cannot be read for a later request of the resource", "error", err)
	}
	var last arrival
	if !ok || err != nil || json.Unmarshal(text, &last) != nil || last.RequestID == a.request.RequestID || last.At.Before(began) {
		return nil
	}
	return &last
}

func (l *arrival) err() error {
	return fmt.Errorf("abandoned: the service has since sent another request for the resource, the %s %s", l.Type, l.RequestID)
}

// leaves reports whether the later request is a Delete of a resource other than the one that was made.
func (l *arrival) leaves(made PhysicalID) bool {
	return l != nil && l.Type == Delete && made != "" && l.ID != made
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
