package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Deadlines returns the times at which the requests that providers hold will fail. open contains unsettled requests
// of one stack, all or some of them; missing ones can only make a deadline later. A request fails at the earliest of
//
//   - the end of its own time, or of the settle time after its handler returned without an answer,
//   - the end of the maximum settle time, if the handler's process is still running,
//   - the time limit of the provider's process, if a node runs it,
//   - the end of the time for which the engine polls the provider,
//   - the time limit of its operation.
//
// A request that its provider does not hold has no deadline, and neither has one that waits for a nested stack.
func Deadlines(open []store.Request) map[wire.RequestID]time.Time {
	limits := map[int]time.Time{} // of operations
	asked := map[wire.RequestID]*store.Request{}
	for i := range open {
		switch r := &open[i]; {
		case r.Type == store.TypeTimer && r.State == store.RequestDelayed:
			limits[r.Operation] = r.Due
		case r.Wait != nil && r.Type == store.TypeIsComplete:
			asked[r.Wait.For] = r
		}
	}
	deadlines := map[wire.RequestID]time.Time{}
	for i := range open {
		r := &open[i]
		if !r.Asks() || r.State != store.RequestWaiting || withNested(r) {
			continue
		}
		at := r.Due
		try := asked[r.ID]
		if r.Within > 0 && r.Executor != 0 && r.Silence == nil && try == nil {
			at = minTime(at, r.Delivered.Add(r.Within))
		}
		if r.Silence != nil && !r.Silence.Until.IsZero() {
			at = minTime(at, r.Silence.Until)
		}
		if try != nil {
			at = minTime(at, maxTime(try.Wait.End(), try.Due))
		}
		if limit, ok := limits[r.Operation]; ok && !r.Cancelled {
			at = minTime(at, limit)
		}
		deadlines[r.ID] = at
	}
	return deadlines
}

// withNested reports whether a request waits for a nested stack. Such a request is due in a hundred years, so it is
// recognized without its body.
func withNested(r *store.Request) bool {
	const ages = 10 * 365 * 24 * time.Hour
	return r.Body != nil && r.Body.Aim != "" || r.Due.Sub(r.Created) > ages
}

// Standing explains to people why the provider has not answered a request: its handler has returned. It is empty
// if the row has nothing to report.
func Standing(r *store.Request) string {
	const returned = "its handler returned without an answer"
	switch {
	case r.State != store.RequestWaiting || r.Silence == nil:
		return ""
	case r.Silence.Settles():
		return returned + ", and nothing here may still send one"
	}
	return returned + "; one may still come: " + r.Silence.Awaits
}
