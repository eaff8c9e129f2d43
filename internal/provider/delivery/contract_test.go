package delivery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// taker accepts every event for Thing.
type taker struct{ events chan local.Event }

func (taker) Match(wire.ServiceToken) (delivery.Provider, bool) {
	return delivery.Provider{Name: "Thing"}, true
}

func (taker) Cancel(string, time.Duration) {}

func (t taker) Invoke(_ string, event local.Event) error {
	event.Started(time.Minute)
	t.events <- event
	return nil
}

// TestContractFollowsTheToken checks that the token decides the contract, and that the handler gets the token.
func TestContractFollowsTheToken(t *testing.T) {
	taken := taker{make(chan local.Event, 1)}
	w := start(t, func(c *delivery.Config, _ *world) { c.Local = taken })
	for token, want := range map[string]bootstrap.Contract{
		"acs:fc:cn-beijing:1234567890123456:functions/Thing": bootstrap.FC,
		localFunction: bootstrap.Lambda,
	} {
		w.Dispatch([]store.Request{request("a"+want.String(), 1, token)})
		event := <-taken.events
		if diff := cmp.Diff([]any{want, token}, []any{event.Contract, event.FunctionARN}); diff != "" {
			t.Error(diff)
		}
	}
}

// limited accepts every event for a provider with a timeout and a new process.
type limited struct{ taker }

func (limited) Match(wire.ServiceToken) (delivery.Provider, bool) {
	return delivery.Provider{Name: "Thing", Timeout: 3 * time.Second}, true
}

func (l limited) Invoke(_ string, event local.Event) error {
	event.Started(63 * time.Second)
	l.events <- event
	return nil
}

// TestWithinCountsInitialization checks that a new process may exceed its timeout by the time of its initialization.
func TestWithinCountsInitialization(t *testing.T) {
	w := start(t, func(c *delivery.Config, _ *world) { c.Local = limited{taker{make(chan local.Event, 1)}} })
	w.Dispatch([]store.Request{request("a", 1, localFunction)})
	if diff := cmp.Diff(reported{"a", delivery.Accepted{Local: true, Within: 63 * time.Second}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}
