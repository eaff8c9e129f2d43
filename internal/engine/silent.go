package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// endedSilent is how a request ends whose handler returned and never answered.
	endedSilent = "returned without an answer"
	// mostSettle bounds the settle time that a [Silent] asks for.
	mostSettle = time.Hour
	// textSilent is the reason of such a failure. The command line recognises it by its beginning.
	textSilent = wire.TextReturned + " to its ResponseURL, and nothing here may still send one. Usual causes: an early return, an exception that " +
		"was caught and not reported, or an asynchronous call that was not awaited."
	// textDocument is the reason if the handler returned what it should have sent.
	textDocument = wire.TextReturned + " to its ResponseURL: it returned the response instead, and nothing reads what a handler returns. " +
		"Send that document to ResponseURL before the handler returns."
	// awaitsAWS is what a request awaits whose handler returned silently, when the engine does as AWS does.
	awaitsAWS = "with --fidelity aws it waits for its timeout, as AWS does"
)

// silent notes that the handler of a request, or of a try of one, has returned although no answer came. If nothing may
// still answer, the request now ends after the settle time; a request in its settle time stays in it. A later answer still
// counts until then. What is made to return first, such as a handler that polls, is not put on the audit list, nor counted.
func (m *machine) silent(r *store.Request, outcome Outcome) {
	if r.State != store.RequestWaiting || r.Silence.Settles() {
		return
	}
	if outcome.Over {
		r.Executor = 0 // should this node die, nothing dies with it
	}
	silence := store.Silence{Since: m.now, Awaits: m.scrub(r, outcome.Text), Document: outcome.Document}
	if m.environment.fidelity == FidelityAWS && silence.Awaits == "" {
		silence.Awaits = awaitsAWS
	}
	if silence.Awaits != "" && !outcome.Until.IsZero() && m.environment.fidelity != FidelityAWS {
		silence.Until = outcome.Until.Add(min(max(outcome.After, 0), mostSettle))
	}
	if r.Silence != nil {
		silence.Since = r.Silence.Since
	} else if !outcome.Later {
		m.tellSilent(r, silence.Awaits)
	}
	if silence.Awaits == "" {
		r.Due = minTime(r.Due, m.now.Add(min(max(outcome.After, 0), mostSettle)))
	}
	r.Silence = &silence
	m.changeRequest(r)
}

// tellSilent records that a handler returned silently, and why it is waited for nevertheless.
func (m *machine) tellSilent(r *store.Request, awaits string) {
	text := "the provider's handler returned without an answer"
	if awaits != "" {
		text += "; one may still come: " + awaits
	}
	m.audit(r, text)
	m.observed(func(o Observer, dialect string) { o.Silent(dialect) })
}

// silence is the verdict on a request whose handler, or that of the last try, returned and never answered.
func (m *machine) silence(r *store.Request, found *store.Silence) verdict {
	text := textSilent
	if found != nil && found.Document {
		text = textDocument
	}
	text += " (RequestId: " + string(r.ID) + ")"
	return verdict{reason: m.failure(failedInSilence, r.Logical, text), reached: true}
}
