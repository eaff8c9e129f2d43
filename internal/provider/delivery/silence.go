package delivery

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// DefaultLook is the time between a silent return and the first check whether the answer has come and whether the
	// process is still working. An answer that the handler sends last without waiting for it has usually arrived by
	// then.
	DefaultLook = time.Second
	// looksEvery times DefaultLook is the pause between further checks.
	looksEvery = 3
)

// Reasons, in words, why an answer may still come after a handler has returned without one.
const (
	awaitsLater  = "pintle.yaml says that its answers come later"
	awaitsCalled = "it called Lambda, Step Functions, SNS or EventBridge of this server, which may lead to an answer"
	awaitsWork   = "its process still works on it: "
)

// silent is a handler's return without an answer that this node knows of. It is reported as [Silent] after a pause,
// possibly more than once.
type silent struct {
	provider Provider
	over     bool                         // the process executes no part of it any more
	document bool                         // the handler returned the answer instead of sending it
	work     func(context.Context) string // describes the remaining work; nil if it cannot be observed
	hide     *redactor
}

func (silent) outcome() {}

// DefaultAfterAnswer is how long a handler may continue after its request was answered. It may need the time for logs,
// clean-up and its own records. Then its process is ended. A handler that needs more time has to answer last.
const DefaultAfterAnswer = 10 * time.Second

// Settled informs the delivery that a request is settled, by an answer or in another way. The delivery then stops
// reporting on a handler that returned without an answer. It ends a process that still handles the request: at once, or
// after Config.AfterAnswer if the process may have answered. With Config.FidelityAWS the process continues, as on
// Lambda. The engine calls Settled. It never blocks, and it ignores unknown requests.
func (d *Delivery) Settled(id wire.RequestID, answered bool) {
	if !d.runs.settle(id) || d.config.FidelityAWS {
		return
	}
	grace := time.Duration(0)
	if answered {
		grace = d.config.AfterAnswer
	}
	d.config.Local.Cancel(string(id), grace)
}

// listen reports a silent return when no answer has come after a pause. It continues until no source of an answer is
// left, the request is settled, or soft ends.
func (d *Delivery) listen(soft, hard context.Context, e end, s silent) {
	defer d.runs.leaveSilent(e.of.about, e.settled)
	pause := d.config.Look
	if !s.over && !wait(soft, e.settled, pause) {
		return
	}
	until := s.until(e)
	for said, first := "", true; !isClosed(e.settled) && soft.Err() == nil; first = false {
		awaits, lasting := d.awaits(soft, e, s)
		if soft.Err() != nil || isClosed(e.settled) {
			return
		}
		if first || awaits != said {
			d.config.Log.Debug("a handler returned without an answer", "provider", s.provider.Name, "request", e.of.about, "awaits", awaits)
			outcome := Silent{Awaits: awaits, Settle: local.Settle, Over: s.over, Document: s.document}
			switch {
			case !lasting:
				outcome.Until = until
			case awaits != "":
				outcome.Later = true
			}
			d.report(hard, e.of, outcome)
			said = awaits
		}
		next := looksEvery * pause
		if !until.IsZero() {
			next = min(next, max(time.Until(until), 0))
		}
		if awaits == "" || lasting || !wait(soft, e.settled, next) {
			return
		}
	}
}

// until returns the time by which a process whose handler has returned must be finished: the end of the provider's
// timeout. Zero means unknown.
func (s silent) until(e end) time.Time {
	if s.provider.Timeout <= 0 || e.began.IsZero() {
		return time.Time{}
	}
	return e.began.Add(s.provider.Timeout)
}

// awaits describes the possible source of an answer, and reports whether that is final. The work of a process counts
// only until its timeout. Otherwise, a thread or a child process that a handler started permanently would block the
// request.
func (d *Delivery) awaits(ctx context.Context, e end, s silent) (text string, lasting bool) {
	switch {
	case s.provider.Later:
		return awaitsLater, true
	case d.config.CalledOut(s.provider.Name, e.began):
		return awaitsCalled, true
	case s.work == nil:
		return "", true
	}
	if until := s.until(e); !until.IsZero() && !time.Now().Before(until) {
		return "", true
	}
	if work := s.work(ctx); work != "" {
		return awaitsWork + s.hide.text(work), false
	}
	return "", true
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
