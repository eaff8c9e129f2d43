package engine

import (
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// mostFailures is how many tries in a row may come to nothing before a request that waits has failed.
	mostFailures = 3
	// failurePause is the least pause after a try that came to nothing.
	failurePause = time.Second
	// lastWords is how long a provider may take that is asked for the last time, at the end of the time that it had given
	// itself: what it says then is known to be its answer, and what there is to delete.
	lastWords = time.Minute
	// notServedFor is how long a node that cannot ask a provider leaves it to those that may.
	notServedFor = time.Minute
)

// waits notes that the provider of a request is not done, and when it is to be asked again. The request keeps waiting for its
// answer until its own deadline, but with nobody: what is to be asked, and with what, is a row of its own.
func (m *machine) waits(r *store.Request, outcome Outcome) error {
	r.Executor = 0 // should this node die, nothing dies with it
	m.changeRequest(r)
	body := *r.Body
	body.Asked = r.Type
	row := &store.Request{
		ID: wire.RequestID(m.newID()), Stack: m.stack.Key, Operation: r.Operation, Logical: r.Logical, Instance: r.Instance,
		Type: store.TypeIsComplete, Created: m.now, Body: &body,
		Wait: &store.Wait{For: r.ID, Deadline: r.Due},
	}
	m.requests[row.ID] = row
	m.newReq.add(row.ID)
	m.takeWaiting(row, outcome)
	return m.rest(r, row)
}

// takeWaiting puts down what a provider has said that is not done.
func (m *machine) takeWaiting(row *store.Request, outcome Outcome) {
	// What a Create has made so far is what there is to delete if no answer comes. Of an Update, the resource stays what it is
	// until it has succeeded.
	if i := m.instances[row.Instance]; i != nil && row.Body.Asked == wire.Create && outcome.ID != "" && i.PhysicalID != outcome.ID {
		i.PhysicalID = outcome.ID
		m.changeInstance(i)
	}
	wait, body := *row.Wait, *row.Body
	wait.Try++
	wait.Failures = 0
	wait.After = min(max(outcome.After, leastWait), mostWait)
	wait.Until = outcome.Until.UTC().Truncate(time.Millisecond) // as precise as the time of the store
	if r := m.requests[wait.For]; r != nil && r.Cancelled {
		wait.Until = lessTime(r, &wait)
	}
	wait.Reason = cut(m.scrub(row, outcome.Text), wire.MaxWaitingReason)
	row.Wait = &wait
	if pending := value.SecretStr(string(outcome.Pending)); !pending.Equal(body.Pending) {
		body.Pending = pending
		row.Body = &body
		m.newReq.add(row.ID)
	}
}

// lessTime returns when the provider of a request that was cancelled is to be asked for the last time: before the request
// times out, for by its answer it is known what there is.
func lessTime(r *store.Request, wait *store.Wait) time.Time {
	return minTime(wait.End(), r.Due.Add(-lastWords))
}

// hurry makes what asks the provider of a request again know that it was cancelled.
func (m *machine) hurry(r *store.Request) {
	row := m.waiting(r)
	if row == nil {
		return
	}
	wait := *row.Wait
	wait.Until = lessTime(r, &wait)
	row.Wait = &wait
	if row.State == store.RequestDelayed {
		row.Due = minTime(row.Due, wait.Until)
	}
	m.changeRequest(row)
}

// cut returns the beginning of a text, at most that many bytes long, with "…" at the end if it is not all.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// rest delays a row until its provider is to be asked again. If it has been asked for the last time, what waits has failed.
func (m *machine) rest(r, row *store.Request) error {
	end, pause := row.Wait.End(), row.Wait.After
	if row.Wait.Failures > 0 {
		pause = max(pause, failurePause)
	}
	row.State, row.Owner, row.Executor = store.RequestDelayed, 0, 0
	row.Due = minTime(m.now.Add(pause), end)
	m.changeRequest(row)
	if last := !row.Delivered.Before(end); last || !m.now.Before(row.Wait.Deadline) {
		return m.overdue(r, row)
	}
	return nil
}

// askAgain makes a row ready whose pause is over.
func (m *machine) askAgain(row *store.Request) error {
	r := m.requests[row.Wait.For]
	switch {
	case r == nil:
		m.withdraw(row)
		return nil
	case !m.now.Before(row.Wait.Deadline):
		return m.overdue(r, row)
	}
	row.State, row.Owner, row.Due = store.RequestReady, m.node(), zeroTime
	m.madeReady.add(row.ID)
	m.changeRequest(row)
	return nil
}

// polled takes what became of a try.
func (m *machine) polled(row *store.Request, outcome Outcome) error {
	if outcome.Kind == Accepted { // the view holds nothing else
		if row.State == store.RequestReady {
			row.State, row.Owner, row.Delivered, row.Silence = store.RequestWaiting, 0, m.now, nil
			row.Due = minTime(row.Wait.Deadline, maxTime(row.Wait.End(), m.now).Add(lastWords))
			if outcome.Local {
				row.Executor = m.node()
			}
			m.changeRequest(row)
		}
		return nil
	}
	r := m.requests[row.Wait.For]
	if r == nil {
		m.withdraw(row)
		return nil
	}
	switch outcome.Kind {
	case Waiting:
		m.takeWaiting(row, outcome)
		return m.rest(r, row)
	case Refused, Died:
		wait := *row.Wait
		wait.Try++
		wait.Failures++
		row.Wait = &wait
		if wait.Failures < mostFailures {
			return m.rest(r, row)
		}
		outcome.Delivered = true // the request itself was
		return m.finish(r, outcome.Kind.String(), m.judge(r, outcome))
	case Silent:
		m.silent(row, outcome)
	case TimedOut:
		if row.Silence.Settles() {
			return m.finish(r, endedSilent, m.silence(r, row.Silence))
		}
		return m.overdue(r, row)
	case Accepted, Answered, Provided, Awaiting, Returned:
	}
	return nil // nobody answers a row that asks again
}

// waitTimedOut is the reason of what was not done in its provider's own time. Source: aws-cdk, provider framework.
const waitTimedOut = "Operation timed out"

// overdue fails a request whose provider was not done in the time that it had given itself, or that the request has.
func (m *machine) overdue(r, row *store.Request) error {
	v := verdict{reason: m.failure(failedInTime, r.Logical, waitTimedOut+m.lastSaid(r, ": ")), reached: true}
	if !row.Wait.End().Before(row.Wait.Deadline) {
		v = m.judge(r, Outcome{Kind: TimedOut})
	}
	return m.finish(r, TimedOut.String(), v)
}

// lastSaid is what to add to the reason of a request that timed out while it waited: what its provider said last, behind a
// lead; empty if there is nothing to add.
func (m *machine) lastSaid(r *store.Request, lead string) string {
	row := m.waiting(r)
	if row == nil || row.Wait.Reason == "" || m.fidelity == FidelityAWS {
		return ""
	}
	return lead + row.Wait.Reason
}

// waiting returns the row that asks the provider of a request again; nil if there is none.
func (m *machine) waiting(r *store.Request) *store.Request {
	for _, row := range m.requests { // there is one at most
		if row.Type == store.TypeIsComplete && row.Wait.For == r.ID && row.State != store.RequestSettled {
			return row
		}
	}
	return nil
}

// stopAsking ends what asks the provider of a request again, because the request is settled.
func (m *machine) stopAsking(r *store.Request) {
	if row := m.waiting(r); row != nil {
		m.withdraw(row)
	}
}

// withdraw ends a row that asks again. What was pending is not kept: it may be large, and nobody needs the secret any more.
func (m *machine) withdraw(row *store.Request) {
	body := *row.Body
	body.Pending = value.Value{}
	row.Body = &body
	m.newReq.add(row.ID)
	row.State, row.Owner, row.Executor, row.Due = store.RequestSettled, 0, 0, zeroTime
	row.Ending, row.Settled = "withdrawn", m.now
	m.changeRequest(row)
	delete(m.madeReady, row.ID)
}

// leaveToOthers reports whether this node is to leave a row to other nodes, because its provider is not known here. A node
// that has left it long enough asks all the same, so that the failure says what is missing.
func (e *Engine) leaveToOthers(row *store.Request, now time.Time) bool {
	return row.Type == store.TypeIsComplete && row.State == store.RequestDelayed && e.serves != nil && !e.turns.alone() &&
		now.Before(row.Due.Add(notServedFor)) && now.Before(row.Wait.Deadline) && !e.serves(row.Body.ServiceToken())
}
