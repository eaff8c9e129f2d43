package pintle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// budget divides the time until a deadline. The handler's context ends at handler, and the package abandons the
// handler at watchdog. The answer can be sent until send. The rest is for the runtime.
type budget struct{ handler, watchdog, send, deadline time.Time }

func newBudget(now, deadline time.Time) budget {
	left := deadline.Sub(now)
	reserve := min(max(left/5, 200*time.Millisecond), 5*time.Second, left/2)
	watchdog := deadline.Add(-reserve)
	return budget{watchdog.Add(-reserve / 2), watchdog, deadline.Add(-reserve / 5), deadline}
}

// outcome is the result of asking a handler.
type outcome struct {
	answer Answer
	err    error
	// running is closed when an abandoned handler returns; nil if the handler was not abandoned.
	running <-chan struct{}
}

// ask calls the handler and waits for it until the watchdog. The goroutine it starts ends with the handler; the
// caller waits for an abandoned one.
func ask(ctx context.Context, h Handler, r *Request, b budget) outcome {
	clock := r.time()
	start := clock.Now()
	watched, stop := clock.WithDeadline(ctx, b.watchdog)
	defer stop()
	ctx, cancel := clock.WithDeadline(ctx, b.handler)
	defer cancel()
	result := make(chan outcome, 1)
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		o := outcome{err: errors.New("the handler ended its goroutine without an answer")} // by runtime.Goexit
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: fmt.Errorf("panic: %v", p)}
				r.Log().Error("panic in the handler", "panic", fmt.Sprint(p), "trace", string(debug.Stack()))
			}
			result <- o
		}()
		answer, err := h.Handle(ctx, r)
		o = outcome{answer: answer, err: err}
	}()
	select {
	case o := <-result:
		if o.err != nil && ctx.Err() != nil {
			o.err = fmt.Errorf("ran out of time: %w", o.err)
		}
		return o
	case <-watched.Done():
		return outcome{running: returned, err: fmt.Errorf("ran out of time: the handler did not return within %v; "+
			"give it more time (the timeout of the function, ServiceTimeout in the template), or make it respect its context",
			clock.Now().Sub(start).Round(time.Millisecond))}
	}
}

// settle makes the wire response of an outcome, except for its Data: the status, the physical ID and the reason.
func settle(r wire.Request, o outcome, hide *redact.Secrets) wire.Response {
	w := wire.ResponseTo(r, wire.Success)
	w.Reason = o.answer.Reason
	id := o.answer.ID
	if r.RequestType == Delete && errors.Is(o.err, ErrGone) {
		o.err = nil
	}
	if r.RequestType == Read {
		w.State, _ = o.answer.State.(*wire.State)
		id = ""
		switch {
		case errors.Is(o.err, ErrGone):
			w.State, o.err = &wire.State{Gone: true}, nil
		case o.err == nil && w.State == nil:
			o.err = errNoRead // a handler that wraps the provider dropped its answer
		}
	}
	if o.err != nil {
		w.Status = wire.Failed
		if w.Reason == "" {
			w.Reason = o.err.Error()
		}
		if w.Reason == "" {
			w.Reason = fmt.Sprintf("the handler failed with an error that has no text, a %T", o.err)
		}
		w.State = nil
	}
	if problem := checkID(id, r.Dialect.MaxPhysicalID(), hide); problem != "" {
		w = fail(w, problem)
		id = ""
		if r.RequestType == Create { // something was made: the handler must get the Delete
			id = PhysicalID(r.RequestID)
		}
	}
	switch r.RequestType {
	case Create:
		switch {
		case id != "":
			w.PhysicalResourceID = id
		case o.err != nil && o.running == nil:
			w.PhysicalResourceID = CreateFailed
		default:
			w.PhysicalResourceID = PhysicalID(r.RequestID)
		}
	case Update:
		switch {
		case id == "" || id == r.PhysicalResourceID:
		case r.Dialect == wire.ROS: // see settleROS
		case o.answer.Replaces:
			w.PhysicalResourceID = id
		case o.err != nil: // the resource keeps its ID, and the handler's error is the reason
		default: // with another ID, the service would delete the live resource
			w = fail(w, notReplaced(r.PhysicalResourceID, id, hide))
		}
	case Delete:
		if id != "" && r.PhysicalResourceID != "" && id != r.PhysicalResourceID {
			w = fail(w, fmt.Sprintf("a Delete cannot change the physical ID, the handler answered %q to the Delete of %q",
				id, r.PhysicalResourceID))
		}
	case Read, Plan: // they do not change the ID
	}
	if r.Dialect == wire.ROS {
		w = settleROS(w, r, id)
	}
	w.Reason = wire.CleanText(redacted(hide, w.Reason))
	if w.Reason == "" && w.Status == wire.Failed {
		w.Reason = "the handler failed with an error that has no text to show"
	}
	return w
}

// notReplaced is the reason of an Update that returned another ID without a replacement. It masks the secrets in that ID
// before it cuts the ID, because part of a secret would remain.
func notReplaced(was, is PhysicalID, hide *redact.Secrets) string {
	return fmt.Sprintf("the Update of %q returned another physical ID, %.200q, without Replaces. The service would then delete %[1]q, so "+
		"the resource keeps its ID. If the Update made a new resource, set Replaces in the response or make the property immutable; "+
		"otherwise return the ID of the request, or none", was, redacted(hide, string(is)))
}

// fail returns w as FAILED because of a problem with the handler's answer. If w already failed, its reason follows
// the problem.
func fail(w wire.Response, problem string) wire.Response {
	if w.Status == wire.Failed {
		problem += "; and the request failed: " + w.Reason
	}
	w.Status, w.Reason, w.NoEcho, w.Data, w.State = wire.Failed, problem, false, nil, nil
	return w
}

// checkID describes the problem with a physical ID from a handler. It returns "" for a valid ID. It masks the secrets in
// the ID before it cuts the ID.
func checkID(id PhysicalID, most int, hide *redact.Secrets) string {
	shown := redacted(hide, string(id))
	if len(id) > most {
		return fmt.Sprintf("the physical ID from the handler is %d bytes long, %d are allowed: %.40q…",
			len(id), most, shown)
	}
	if !utf8.ValidString(string(id)) {
		return fmt.Sprintf("the physical ID from the handler is not UTF-8: %.40q", shown)
	}
	for _, c := range id {
		if c < ' ' || c == 0xFFFE || c == 0xFFFF {
			return fmt.Sprintf("the physical ID from the handler holds the control character %q: %.40q", c, shown)
		}
	}
	return ""
}

// unanswerable returns the response to a request that could not be read. It returns false if the request lacks the
// fields that an answer needs.
func unanswerable(r wire.Request, problem error) (wire.Response, bool) {
	if r.ResponseURL == "" && r.Dialect == wire.CloudFormation || r.StackID == "" || r.RequestID == "" || r.LogicalResourceID == "" {
		return wire.Response{}, false
	}
	w := wire.ResponseTo(r, wire.Failed)
	if w.PhysicalResourceID == "" {
		w.PhysicalResourceID = CreateFailed
	}
	w.Reason = wire.CleanText(wire.Redact(problem.Error()))
	return w, true
}

// requestLog returns a logger whose lines name the operation, the resource and the request. Only the first line names
// the stack.
func requestLog(log *slog.Logger, r wire.Request) *slog.Logger {
	return log.With(logType, string(r.RequestType), logResource, string(r.LogicalResourceID), logRequest, string(r.RequestID))
}
