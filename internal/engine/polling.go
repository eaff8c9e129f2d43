package engine

import (
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// mostFailures is the number of consecutive failed tries after which a waiting request fails.
	mostFailures = 3
	// failurePause is the minimum pause after a failed try.
	failurePause = time.Second
	// lastWords is the time limit of the last poll, which is made at the end of the provider's own time limit. Its
	// result is the provider's final answer, and identifies the resource to delete.
	lastWords = time.Minute
	// notServedFor is how long a node that cannot poll a provider leaves that to other nodes.
	notServedFor = time.Minute
)

// polling polls a provider until its work is done.
type polling struct{ *decision }

// start records that the provider of a request is not done, and schedules the next poll. The request keeps waiting
// until its own deadline. The poll is a row of its own.
func (d polling) start(r *store.Request, outcome Outcome) error {
	r.Executor = 0 // should this node die, nothing dies with it
	d.changeRequest(r)
	body := *r.Body
	body.Asked = r.Type
	row := &store.Request{
		ID: wire.RequestID(d.newID()), Stack: d.stack.Key, Operation: r.Operation, Logical: r.Logical, Instance: r.Instance,
		Type: store.TypeIsComplete, Created: d.now, Body: &body,
		Wait: &store.Wait{For: r.ID, Deadline: r.Due},
	}
	d.requests[row.ID] = row
	d.newReq.add(row.ID)
	d.record(row, outcome)
	return d.pause(r, row)
}

// record stores the report of a provider that is not done.
func (d polling) record(row *store.Request, outcome Outcome) {
	// If no answer comes, the rollback of a Create deletes the resource reported so far. An Update does not change
	// the resource until it has succeeded.
	if i := d.instances[row.Instance]; i != nil && row.Body.Asked == wire.Create && outcome.ID != "" && i.PhysicalID != outcome.ID {
		i.PhysicalID = outcome.ID
		d.changeInstance(i)
	}
	wait, body := *row.Wait, *row.Body
	wait.Try++
	wait.Failures = 0
	wait.After = min(max(outcome.After, leastWait), mostWait)
	wait.Until = outcome.Until.UTC().Truncate(time.Millisecond) // as precise as the store
	if r := d.requests[wait.For]; r != nil && r.Cancelled {
		wait.Until = lessTime(r, &wait)
	}
	wait.Reason = cut(d.redact(row, outcome.Text), wire.MaxWaitingReason)
	row.Wait = &wait
	if pending := value.SecretStr(string(outcome.Pending)); !pending.Equal(body.Pending) {
		body.Pending = pending
		row.Body = &body
		d.newReq.add(row.ID)
	}
}

// cut returns a text shortened to a number of bytes, with "…" at the end if anything is missing.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// pause delays a poll until its next try. After the last try, the request fails.
func (d polling) pause(r, row *store.Request) error {
	end, pause := row.Wait.End(), row.Wait.After
	if row.Wait.Failures > 0 {
		pause = max(pause, failurePause)
	}
	row.State, row.Owner, row.Executor = store.RequestDelayed, 0, 0
	row.Due = minTime(d.now.Add(pause), end)
	d.changeRequest(row)
	if last := !row.Delivered.Before(end); last || !d.now.Before(row.Wait.Deadline) {
		return d.timeOut(r, row)
	}
	return nil
}

// send makes a poll ready after its pause.
func (d polling) send(row *store.Request) error {
	r := d.requests[row.Wait.For]
	switch {
	case r == nil:
		pollRequests(d).withdraw(row)
		return nil
	case !d.now.Before(row.Wait.Deadline):
		return d.timeOut(r, row)
	}
	row.State, row.Owner, row.Due = store.RequestReady, d.node(), zeroTime
	d.madeReady.add(row.ID)
	d.changeRequest(row)
	return nil
}

// report handles the outcome of a poll.
func (d polling) report(row *store.Request, outcome Outcome) error {
	if outcome.Kind == Accepted { // the view has no other rows
		if row.State == store.RequestReady {
			row.State, row.Owner, row.Delivered, row.Silence = store.RequestWaiting, 0, d.now, nil
			row.Due = minTime(row.Wait.Deadline, maxTime(row.Wait.End(), d.now).Add(lastWords))
			if outcome.Local {
				row.Executor = d.node()
			}
			d.changeRequest(row)
		}
		return nil
	}
	r := d.requests[row.Wait.For]
	if r == nil {
		pollRequests(d).withdraw(row)
		return nil
	}
	switch outcome.Kind {
	case Waiting:
		d.record(row, outcome)
		return d.pause(r, row)
	case Refused, Died:
		wait := *row.Wait
		wait.Try++
		wait.Failures++
		row.Wait = &wait
		if wait.Failures < mostFailures {
			return d.pause(r, row)
		}
		outcome.Delivered = true // the request itself was delivered
		return requests(d).settle(r, outcome.Kind.String(), answers(d).resultOf(r, outcome))
	case Silent:
		silence(d).record(row, outcome)
	case TimedOut:
		if row.Silence.Settles() {
			return requests(d).settle(r, endedSilent, silence(d).resultOf(r, row.Silence))
		}
		return d.timeOut(r, row)
	case Accepted, Answered, Provided, Awaiting, Returned:
	}
	return nil // polls get no answers
}

// waitTimedOut is the reason if a provider did not finish within its own time limit. Source: aws-cdk, provider
// framework.
const waitTimedOut = "Operation timed out"

// timeOut fails a request whose provider did not finish within its own time limit, or within that of the request.
func (d polling) timeOut(r, row *store.Request) error {
	v := result{reason: d.failure(failedInTime, r.Logical, waitTimedOut+pollRequests(d).lastSaid(r, ": ")), reached: true}
	if !row.Wait.End().Before(row.Wait.Deadline) {
		v = answers(d).resultOf(r, Outcome{Kind: TimedOut})
	}
	return requests(d).settle(r, TimedOut.String(), v)
}
