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

// taker takes every event for Thing.
type taker struct{ events chan local.Event }

func (taker) Match(wire.ServiceToken) (delivery.Provider, bool) {
	return delivery.Provider{Name: "Thing"}, true
}

func (taker) Cancel(string, time.Duration) {}

func (t taker) Invoke(_ string, event local.Event) error {
	event.Started()
	t.events <- event
	return nil
}

// Whose functions a provider is called like follows its token, which the handler is told too.
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
