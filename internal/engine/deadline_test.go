package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestDeadlines checks that the deadline is the earliest of all limits.
func TestDeadlines(t *testing.T) {
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	waiting := store.Request{
		ID: "a", Type: wire.Create, State: store.RequestWaiting, Operation: 1, Created: start, Delivered: start, Due: at(60), Executor: 1,
	}
	change := func(f func(r *store.Request)) store.Request {
		r := waiting
		f(&r)
		return r
	}
	limit := store.Request{ID: "t", Type: store.TypeTimer, State: store.RequestDelayed, Operation: 1, Due: at(10)}
	other := store.Request{ID: "t", Type: store.TypeTimer, State: store.RequestDelayed, Operation: 2, Due: at(10)}
	try := store.Request{
		ID: "p", Type: store.TypeIsComplete, State: store.RequestDelayed, Due: at(1), Wait: &store.Wait{For: "a", Until: at(5), Deadline: at(60)},
	}
	within := func(r *store.Request) { r.Within = 15 * time.Minute }
	for _, test := range []struct {
		name string
		open []store.Request
		want time.Time
	}{
		{"its own timeout", []store.Request{waiting}, at(60)},
		{"the process's", []store.Request{change(within)}, at(15)},
		{"no process any more", []store.Request{change(func(r *store.Request) { within(r); r.Executor = 0 })}, at(60)},
		{"its handler returned", []store.Request{change(func(r *store.Request) { within(r); r.Silence = &store.Silence{} })}, at(60)},
		{"its process works on", []store.Request{change(func(r *store.Request) {
			within(r)
			r.Silence = &store.Silence{Awaits: "1 thread", Until: at(16)}
		})}, at(16)},
		{"the operation's", []store.Request{change(within), limit}, at(10)},
		{"another operation's", []store.Request{waiting, other}, at(60)},
		{"cancelled by the operation's", []store.Request{change(func(r *store.Request) { r.Cancelled = true }), limit}, at(60)},
		{"asked again", []store.Request{change(within), limit, try}, at(5)},
		{"not there yet", []store.Request{change(func(r *store.Request) { r.State = store.RequestReady })}, time.Time{}},
		{"with a nested stack", []store.Request{change(func(r *store.Request) { r.Due = start.AddDate(100, 0, 0) })}, time.Time{}},
	} {
		if got := engine.Deadlines(test.open)["a"]; !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestWithin checks that the time limit of a provider's process is stored only if it is shorter than the request's,
// and only in the mode in which the end of the process counts.
func TestWithin(t *testing.T) {
	for _, test := range []struct {
		fidelity engine.Fidelity
		within   time.Duration
		want     time.Duration
	}{
		{engine.FidelityPintle, 15 * time.Minute, 15 * time.Minute},
		{engine.FidelityPintle, 2 * time.Hour, 0},
		{engine.FidelityAWS, 15 * time.Minute, 0},
	} {
		w := newWorld(t, test.fidelity)
		w.must(w.create(body(map[string]string{"A": resource("")})))
		a := w.take("A")
		w.report(a, engine.Outcome{Kind: engine.Accepted, Local: true, Within: test.within})
		if got := w.stored(a).Within; got != test.want {
			t.Errorf("fidelity %s, %s: %s, want %s", test.fidelity, test.within, got, test.want)
		}
	}
}

// TestSettledRequestsAreReported checks that the engine reports every settled request, and whether an answer settled it, to the
// code that runs processes.
func TestSettledRequestsAreReported(t *testing.T) {
	var reported []string
	w := newWorldWith(t, engine.Config{Settled: func(id wire.RequestID, answered bool) { reported = append(reported, fmt.Sprint(id, " ", answered)) }})
	w.must(w.create(body(map[string]string{"A": resource(""), "B": resource("")})))
	a, b := w.take("A"), w.take("B")
	w.executes(a)
	w.executes(b)
	w.answer(a, success("a"))
	w.pass(time.Hour) // which times out b
	want := []string{fmt.Sprint(a.ID, " true"), fmt.Sprint(b.ID, " false")}
	if diff := cmp.Diff(want, reported[:min(len(reported), 2)]); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}
