package engine

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// timers manages rows that become due at a time and involve no provider.
type timers struct{ *decision }

// limit sets the time limit of the new operation; 0 means none.
func (d timers) limit(minutes int) {
	if minutes > 0 {
		const longest = math.MaxInt64 / int64(time.Minute) // about 292 years
		d.start(time.Duration(min(int64(minutes), longest)) * time.Minute)
	}
}

// start starts the timer of the operation. The timer is a row, so it outlives the node.
func (d timers) start(limit time.Duration) {
	d.add(store.TypeTimer, limit)
}

// add adds a row to the operation that involves no provider and becomes due after a time.
func (d timers) add(kind wire.RequestType, after time.Duration) {
	r := &store.Request{
		ID: wire.RequestID(d.newID()), Stack: d.stack.Key, Operation: d.op.Number, Type: kind,
		State: store.RequestDelayed, Due: d.now.Add(after), Created: d.now,
		Body: &store.RequestBody{Dialect: d.dialect.Name(), StackID: d.stack.ID, Region: d.stack.Region},
	}
	d.requests[r.ID] = r
	d.changeRequest(r)
	d.newReq.add(r.ID)
}

// tie adds the row that regularly synchronizes the new operation with its parent.
func (d timers) tie() { d.add(store.TypeTie, tiePause) }

// stop settles the timer of the operation, if it has one. The view is whole.
func (d timers) stop() {
	for _, id := range sortedKeys(d.requests) {
		if r := d.requests[id]; r.Type == store.TypeTimer && r.State != store.RequestSettled {
			d.settle(r, "stopped")
		}
	}
}

func (d timers) settle(r *store.Request, ending string) {
	r.State, r.Due, r.Ending, r.Settled = store.RequestSettled, zeroTime, ending, d.now
	d.changeRequest(r)
}

var zeroTime time.Time

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
