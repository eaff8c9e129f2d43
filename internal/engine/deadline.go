package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Deadlines returns when the requests in a list fail that their providers have. open is the requests of one stack that are
// not settled, all of them or some: what is missing can only make a deadline later. A request fails at the earliest of
//
//   - the end of its own time, or of the settle time after a handler that returned without an answer,
//   - the end of that settle time at the latest, if the process of the handler still works,
//   - the end of the time that the provider's own process has, if one of a node executes it,
//   - the time at which a provider that is asked again gives up,
//   - the time limit of its operation.
//
// A request that is not with its provider has no deadline, nor has one that waits for a nested stack.
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

// withNested reports whether a request waits for a nested stack: it is due in a hundred years, whether or not its body is read.
func withNested(r *store.Request) bool {
	const ages = 10 * 365 * 24 * time.Hour
	return r.Body != nil && r.Body.Aim != "" || r.Due.Sub(r.Created) > ages
}

// Standing says in words for people why a request that its provider has is not answered, as far as its row tells: that the
// handler has returned. It is empty if there is nothing to say.
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
