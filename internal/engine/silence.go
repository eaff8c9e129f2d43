package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
	"github.com/pintle-dev/pintle/internal/store"
)

const (
	// endedSilent is the ending of a request whose handler returned and never answered.
	endedSilent = "returned without an answer"
	// mostSettle bounds the settle time that a [Silent] outcome requests.
	mostSettle = time.Hour
	// textSilent is the reason for such a failure. The command line recognizes it by its beginning.
	textSilent = statusreason.Returned + " to its ResponseURL, and nothing here may still send one. Usual causes: an early return, an exception that " +
		"was caught and not reported, or an asynchronous call that was not awaited."
	// textDocument is the reason if the handler returned the response instead of sending it.
	textDocument = statusreason.Returned + " to its ResponseURL: it returned the response instead, and nothing reads what a handler returns. " +
		"Send that document to ResponseURL before the handler returns."
	// awaitsAWS is the reason why a silent request waits with [FidelityAWS].
	awaitsAWS = "with --fidelity aws it waits for its timeout, as AWS does"
)

// silence handles handlers that return without an answer.
type silence struct{ *decision }

// record records that the handler of a request, or of one attempt, returned without an answer. If no answer is
// possible any more, the request now ends after the settle time. A request in its settle time stays in it. An answer
// until then still counts. A handler that is designed to return first, such as one that polls, is neither audited nor
// counted.
func (d silence) record(r *store.Request, outcome Outcome) {
	if r.State != store.RequestWaiting || r.Silence.Settles() {
		return
	}
	if outcome.Over {
		r.Executor = 0 // should this node die, nothing dies with it
	}
	silence := store.Silence{Since: d.now, Awaits: d.redact(r, outcome.Text), Document: outcome.Document}
	if d.environment.fidelity == FidelityAWS && silence.Awaits == "" {
		silence.Awaits = awaitsAWS
	}
	if silence.Awaits != "" && !outcome.Until.IsZero() && d.environment.fidelity != FidelityAWS {
		silence.Until = outcome.Until.Add(min(max(outcome.After, 0), mostSettle))
	}
	if r.Silence != nil {
		silence.Since = r.Silence.Since
	} else if !outcome.Later {
		d.announce(r, silence.Awaits)
	}
	if silence.Awaits == "" {
		r.Due = minTime(r.Due, d.now.Add(min(max(outcome.After, 0), mostSettle)))
	}
	r.Silence = &silence
	d.changeRequest(r)
}

// announce records that a handler returned silently, and why the engine still waits for an answer.
func (d silence) announce(r *store.Request, awaits string) {
	text := "the provider's handler returned without an answer"
	if awaits != "" {
		text += "; one may still come: " + awaits
	}
	d.audit(r, text)
	d.observed(func(o Observer, dialect string) { o.Silent(dialect) })
}

// resultOf returns the result of a request whose handler, or that of its last poll, returned and never answered.
func (d silence) resultOf(r *store.Request, found *store.Silence) result {
	text := textSilent
	if found != nil && found.Document {
		text = textDocument
	}
	text += " (RequestId: " + string(r.ID) + ")"
	return result{reason: d.failure(failedInSilence, r.Logical, text), reached: true}
}
