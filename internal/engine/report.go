package engine

import (
	"context"
	"strconv"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Answer takes a response document that came by the response URL of a request. When it returns nil the answer is
// durable, whatever it says: an answer that is invalid, late or the second one is recorded, not refused. It returns
// [store.ErrNotFound] for a request that never was.
//
// body may be the beginning of a longer document: size is then its length, 0 if body is all there is.
func (e *Engine) Answer(ctx context.Context, id wire.RequestID, body []byte, size int) error {
	return e.Report(ctx, id, Outcome{Kind: Answered, Body: body, Size: size, Delivered: true})
}

// Report takes what became of a request's delivery. When it returns nil that is durable, or the request is settled and it says
// nothing any more. [Accepted] may take as long as [Config.Linger].
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
		e.log.Warn("what became of a sending is void: the request was sent before, or taken over by another node",
			"request", id, "outcome", outcome.Kind)
	}
	return err
}

// Hidden returns the secrets that a request was sent with and that are in no row. Its error says that they cannot be read;
// what is answered is withheld then. It is called outside of decisions.
type Hidden func(ctx context.Context, id wire.RequestID) ([]string, error)

// hide adds to an outcome what must not be shown of it.
func (e *Engine) hide(ctx context.Context, id wire.RequestID, outcome *Outcome) {
	if e.hidden == nil || outcome.Kind == Accepted {
		return
	}
	secrets, err := e.hidden(ctx, id)
	if err != nil {
		e.log.Warn("what a provider says is withheld: the secrets that it was given cannot be read to be looked for",
			"request", id, "error", err)
	}
	outcome.hidden, outcome.withheld = secrets, err != nil
}

// reports handles what is reported of a request: that it was accepted, answered, refused, and so on.
type reports struct{ *decision }

// take takes the outcome of the request in view and continues the stack. It returns false if it changed nothing, because the request
// was settled before.
func (d reports) take(outcome Outcome) (bool, error) {
	if t := d.view.Request.Type; t == store.TypeTimer || t == store.TypeTie {
		return false, store.ErrNotFound // no provider was asked
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
		nestedRequests(d).wait(request) // it ends when the nested stack's operation does
		return true, nil
	}
	if outcome.Kind == TimedOut && request.Body.Await != nil {
		_, err := signals(d).check(request, true)
		return true, err
	}
	return true, requests(d).settle(request, outcome.Kind.String(), answers(d).resultOf(request, outcome))
}

// stale reports whether an outcome is void because another node has taken the request over. This node was declared
// dead, and the outcome of its own delivery says nothing about the other node's. Answers count from any sender, and
// so do the results of native types.
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
	d.void = d.void || r.Type == store.TypeIsComplete && outcome.Try != r.Wait.Try // said of a try before
	return d.void
}

// lateOnRecord is how many answers to a request are kept after it was settled: anyone who has its URL can send any number.
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
