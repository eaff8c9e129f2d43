package delivery_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// builtin is a native type whose behaviour depends on the logical ID.
type builtin struct{ hangs chan struct{} }

func (builtin) Schema() *native.Schema { return &native.Schema{Name: "Test::Builtin"} }

func (b builtin) Serve(ctx context.Context, r *store.Request) (native.Result, error) {
	result := native.Result{PhysicalID: "made"}
	switch r.Logical {
	case "Fails":
		return result, errors.New("no luck with hunter2&more")
	case "Panics":
		panic("hunter2&more")
	case "Hangs":
		close(b.hangs)
		<-ctx.Done()
		return result, ctx.Err()
	}
	return result, nil
}

func nativeRequest(logical wire.LogicalID) store.Request {
	r := request("a", 1, "")
	r.Logical, r.Body.Token, r.Body.ResourceType = logical, value.Value{}, "Test::Builtin"
	return r
}

func TestNative(t *testing.T) {
	types, err := native.New(builtin{})
	if err != nil {
		t.Fatal(err)
	}
	made := native.Result{PhysicalID: "made"}
	awaits := nativeRequest("Waits")
	awaits.Body.Await = &store.Await{Count: 1}
	deleted := awaits
	deleted.Type = wire.Delete
	other := nativeRequest("Works")
	other.Type, other.Body.ResourceType = wire.Delete, "Test::Other"
	for name, test := range map[string]struct {
		r    store.Request
		want delivery.Outcome
	}{
		"works":        {nativeRequest("Works"), delivery.Provided{Result: made}},
		"fails":        {nativeRequest("Fails"), delivery.Provided{Result: made, Failure: "no luck with *****"}},
		"waits":        {awaits, delivery.Awaiting{Result: made}},
		"is deleted":   {deleted, delivery.Provided{Result: made}},
		"unknown type": {other, delivery.Provided{Failure: "resource type Test::Other is not native in this version of Pintle"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, func(c *delivery.Config, _ *world) { c.Native = types })
			w.Dispatch([]store.Request{test.r})
			if diff := cmp.Diff(reported{"a", test.want}, w.next(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("panics", func(t *testing.T) {
		w := start(t, func(c *delivery.Config, _ *world) { c.Native = types })
		w.Dispatch([]store.Request{nativeRequest("Panics")})
		got, ok := w.next(t).Outcome.(delivery.Provided)
		if want := "resource type Test::Builtin broke down, which is a fault of Pintle; its log says more"; !ok || got.Failure != want {
			t.Errorf("outcome %+v", got)
		}
	})
}

// TestNativeIsInterrupted checks that a request interrupted by a stop gets no report. The next owner of the row handles
// it again.
func TestNativeIsInterrupted(t *testing.T) {
	hangs := make(chan struct{})
	types, err := native.New(builtin{hangs})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *delivery.Config, _ *world) { c.Native, c.Drain = types, 1 })
	w.Dispatch([]store.Request{nativeRequest("Hangs")})
	<-hangs
	w.stop()
	<-w.ended
	select {
	case got := <-w.outcomes:
		t.Errorf("reported %+v", got)
	default:
	}
}
