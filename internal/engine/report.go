package engine

import (
	"context"
	"strconv"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Answer accepts a response document that arrived at the response URL of a request. When it returns nil, the answer
// is durable with any content: an invalid, late or repeated answer is recorded, not rejected. It returns
// [store.ErrNotFound] for a request that never existed.
//
// body may be the beginning of a longer document. size is then the full length, and otherwise 0.
func (e *Engine) Answer(ctx context.Context, id wire.RequestID, body []byte, size int) error {
	return e.Report(ctx, id, Outcome{Kind: Answered, Body: body, Size: size, Delivered: true})
}

// Report handles the outcome of a request's delivery. When it returns nil, the outcome is durable, or has no effect
// because the request is settled. [Accepted] may take as long as [Config.Linger].
func (e *Engine) Report(ctx context.Context, id wire.RequestID, outcome Outcome) error {
	target := store.Target{Request: id, Alone: outcome.Kind == Accepted || isExecution(id)}
	if !isExecution(id) {
		e.hide(ctx, id, &outcome)
		if e.linger.lingers(&outcome) && e.linger.settled(ctx, id) {
			return nil
		}
	}
	if outcome.Kind == Returned {
		outcome.imports = &importRequest{unattended: true}
	}
	void, settled := false, false
	err := e.apply(ctx, target, func(d *decision) error {
		_, err := reports{d}.take(outcome)
		void = d.void
		r := d.requests[id]
		settled = outcome.Kind == Answered && (r == nil || r.State == store.RequestSettled)
		return err
	})
	if settled && err == nil {
		e.linger.settle(id)
	}
	if void && err == nil {
		e.log.Warn("the outcome of a delivery is ignored: the request was sent before, or taken over by another node",
			"request", id, "outcome", outcome.Kind)
	}
	return err
}

// Hidden returns the secrets that a request was sent with and that no row contains. An error means that they cannot
// be read; the engine then withholds the answer. Hidden is called outside of decisions.
type Hidden func(ctx context.Context, id wire.RequestID) ([]string, error)

// hide adds the secrets to an outcome that must not be shown.
func (e *Engine) hide(ctx context.Context, id wire.RequestID, outcome *Outcome) {
	if e.hidden == nil || outcome.Kind == Accepted {
		return
	}
	secrets, err := e.hidden(ctx, id)
	if err != nil {
		e.log.Warn("the text of a provider is withheld: the secrets in its request cannot be read now",
			"request", id, "error", err)
	}
	outcome.hidden, outcome.withheld = secrets, err != nil
}

// reports handles reports on a request: that it was accepted, answered, refused, and so on.
type reports struct{ *decision }

// take applies the outcome of the request in view and continues the stack. It returns false if it changed nothing
// because the request was already settled.
func (d reports) take(outcome Outcome) (bool, error) {
	if t := d.view.Request.Type; t == store.TypeTimer || t == store.TypeTie {
		return false, store.ErrNotFound // no provider has it
	}
	request := d.requests[d.view.Request.ID]
	d.hidden = outcome.hidden
	switch {
	case request == nil && !d.view.Request.Asks():
		return false, nil
	case request == nil:
		d.recordLate(d.view.Request, outcome)
		return false, nil
	case request.Type == store.TypeExecution:
		return true, executions(d).report(request, outcome)
	case d.stale(request, outcome):
		return false, nil
	case request.Type == store.TypeNotification:
		notifications(d).settle(request, outcome)
		return true, nil
	case request.Type == store.TypeDisown:
		if outcome.Kind == Accepted {
			return false, nil
		}
		importing(d).disowned(request, outcome)
		return true, nil
	case request.Type == store.TypeIsComplete:
		return true, polling(d).report(request, outcome)
	case request.Type == store.TypeMacro:
		return true, macros(d).report(request, outcome)
	case request.Type == store.TypeRead:
		return true, reads(d).report(request, outcome)
	}
	if outcome.Kind == Accepted {
		requests(d).accept(request, outcome)
		return true, nil
	}
	if outcome.Kind == Awaiting {
		return true, signals(d).wait(request, outcome)
	}
	if outcome.Kind == Waiting {
		return true, polling(d).start(request, outcome)
	}
	if outcome.Kind == Silent {
		silence(d).record(request, outcome)
		return true, nil
	}
	if outcome.Kind == TimedOut && request.Silence.Settles() {
		return true, requests(d).settle(request, endedSilent, silence(d).resultOf(request, request.Silence))
	}
	if outcome.Kind == TimedOut && request.Body.Aim != "" {
		nestedRequests(d).wait(request) // it ends with the nested stack's operation
		return true, nil
	}
	if outcome.Kind == TimedOut && request.Body.Await != nil {
		_, err := signals(d).check(request, true)
		return true, err
	}
	return true, requests(d).settle(request, outcome.Kind.String(), answers(d).resultOf(request, outcome))
}

// stale reports whether an outcome is void because another node has taken over the request. This node was declared
// dead, and the outcome of its own delivery says nothing about the other node's. Answers are valid from any sender,
// and so are the results of native types.
func (d reports) stale(r *store.Request, outcome Outcome) bool {
	own := r.State == store.RequestReady && r.Owner == d.node()
	executed := r.State == store.RequestWaiting && r.Executor == d.node()
	switch outcome.Kind {
	case Accepted:
		d.void = !own && (outcome.Local || !executed)
	case Refused:
		d.void = !own
	case Died:
		d.void = !own && !executed
	case Waiting:
		d.void = !executed
	case Silent:
		d.void = !executed && (r.State != store.RequestWaiting || r.Executor != 0)
	case Answered, Provided, Awaiting, TimedOut, Returned:
		return false
	}
	d.void = d.void || r.Type == store.TypeIsComplete && outcome.Try != r.Wait.Try // the outcome of an earlier try
	return d.void
}

// lateOnRecord is the number of answers that are recorded for a settled request, because anyone with the URL can send
// more.
const lateOnRecord = 10

// recordLate records an answer to a settled request. It changes nothing else.
func (d reports) recordLate(r *store.Request, outcome Outcome) {
	if outcome.Kind != Answered {
		return
	}
	got := answers(d).read(r, outcome)
	d.tellAnswer(r, outcome, &got)
	if r.Late >= lateOnRecord {
		return
	}
	again := *r
	again.Late++
	again.Body = nil
	d.delta.Requests = append(d.delta.Requests, again)
	text := "answer to a request that was settled before (" + r.Ending + ")"
	status := "FAILED"
	switch {
	case got.problem != "":
		status = "invalid"
	case got.success:
		status = "SUCCESS"
	}
	d.audit(r, text+": "+status+", physical id "+strconv.Quote(d.redact(r, string(got.id), got.data)))
}
