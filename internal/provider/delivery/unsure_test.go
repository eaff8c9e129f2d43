package delivery_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// atLast are processes that match a token only after some lookups.
type atLast struct {
	processes
	left *atomic.Int64
}

func (a atLast) Match(token wire.ServiceToken) (delivery.Provider, bool) {
	if a.left.Add(-1) >= 0 {
		return delivery.Provider{Unsure: true}, true
	}
	return a.processes.Match(token)
}

// TestUnsure checks that a request is not sent anywhere, and not to AWS in particular, before it is known which
// provider serves its token.
func TestUnsure(t *testing.T) {
	for name, r := range map[string]store.Request{"request": request("r", 1, localTask), "task": taskRequest(localTask, 1)} {
		t.Run(name, func(t *testing.T) {
			server, calls := fakeAWS(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) })
			configureAWS(t, server.URL, "AKIDEXAMPLE")
			here := atLast{processes{make(chan local.Event, 1)}, new(atomic.Int64)}
			here.left.Store(2)
			w := start(t, func(c *delivery.Config, w *world) {
				c.Local, c.Poll = here, 10*time.Millisecond
				w.table.add(r)
			})
			w.Dispatch([]store.Request{r})
			event := <-here.events
			got := w.next(t).Outcome
			if poll, ok := got.(delivery.Poll); ok {
				got = poll.Outcome
			}
			if diff := cmp.Diff(delivery.Outcome(delivery.Accepted{Local: true}), got); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", event.ID, diff)
			}
			if len(calls) > 0 {
				t.Error("AWS was asked")
			}
		})
	}
}
