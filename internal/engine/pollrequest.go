package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// pollRequests manages the rows of polls.
type pollRequests struct{ *decision }

// of returns the row that polls for a request, or nil.
func (d pollRequests) of(r *store.Request) *store.Request {
	for _, row := range d.requests { // there is at most one
		if row.Type == store.TypeIsComplete && row.Wait.For == r.ID && row.State != store.RequestSettled {
			return row
		}
	}
	return nil
}

// lastSaid returns text to append to the reason of a request that timed out while it waited: lead and the provider's
// last report, or "".
func (d pollRequests) lastSaid(r *store.Request, lead string) string {
	row := d.of(r)
	if row == nil || row.Wait.Reason == "" || d.fidelity == FidelityAWS {
		return ""
	}
	return lead + row.Wait.Reason
}

// lessTime returns the time of the last poll for a cancelled request. It is before the request times out, because the
// result identifies the resource to delete.
func lessTime(r *store.Request, wait *store.Wait) time.Time {
	return minTime(wait.End(), r.Due.Add(-lastWords))
}

// shorten moves the last poll of a cancelled request forward.
func (d pollRequests) shorten(r *store.Request) {
	row := d.of(r)
	if row == nil {
		return
	}
	wait := *row.Wait
	wait.Until = lessTime(r, &wait)
	row.Wait = &wait
	if row.State == store.RequestDelayed {
		row.Due = minTime(row.Due, wait.Until)
	}
	d.changeRequest(row)
}

// stop ends the polling of a settled request.
func (d pollRequests) stop(r *store.Request) {
	if row := d.of(r); row != nil {
		d.withdraw(row)
	}
}

// withdraw ends a poll. It drops the pending data, which may be large and secret.
func (d pollRequests) withdraw(row *store.Request) {
	body := *row.Body
	body.Pending = value.Value{}
	row.Body = &body
	d.newReq.add(row.ID)
	row.State, row.Owner, row.Executor, row.Due = store.RequestSettled, 0, 0, zeroTime
	row.Ending, row.Settled = "withdrawn", d.now
	d.changeRequest(row)
	delete(d.madeReady, row.ID)
}
