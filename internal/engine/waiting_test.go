package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

// executes plays a process of this node that has got a request.
func (w *world) executes(r store.Request) {
	w.t.Helper()
	w.report(r, engine.Outcome{Kind: engine.Accepted, Local: true})
}

// waits plays a process that has got a request or a poll, and reports that it is not done.
func (w *world) waits(r store.Request, after time.Duration, pending string) {
	w.t.Helper()
	w.executes(r)
	w.report(r, notDone(after, pending))
}

func notDone(after time.Duration, pending string) engine.Outcome {
	return engine.Outcome{Kind: engine.Waiting, After: after, Pending: []byte(pending), Text: "is at " + pending}
}

func (w *world) report(r store.Request, outcome engine.Outcome) {
	w.t.Helper()
	if r.Wait != nil {
		outcome.Try = r.Wait.Try
	}
	w.must(w.engine.Report(w.ctx, r.ID, outcome))
}

// try takes the next poll for a request.
func (w *world) try(r store.Request) store.Request {
	w.t.Helper()
	for i, row := range w.inbox {
		if row.Type == store.TypeIsComplete && row.Wait.For == r.ID {
			w.inbox = append(w.inbox[:i:i], w.inbox[i+1:]...)
			return row
		}
	}
	w.t.Fatalf("%s is not asked about again", r.ID)
	return store.Request{}
}

// rows returns the visible state of a stack's unsettled requests, with their polls.
func (w *world) rows() (lines []string) {
	w.t.Helper()
	open, err := w.store.Requests(w.ctx, w.stack().Key)
	w.must(err)
	for _, r := range open {
		line := fmt.Sprintf("%s %s", r.Type, r.State)
		if r.Wait != nil {
			line += fmt.Sprintf(" try %d, %d failed, %s", r.Wait.Try, r.Wait.Failures, r.Wait.Reason)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestWaiting(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource(`"P": "1"`), "B": resource("", `"DependsOn": "A"`)})))
	a := w.take("A")
	w.waits(a, 5*time.Second, `{"n": 1}`)
	if diff := cmp.Diff([]string{"Create waiting", `IsComplete delayed try 1, 0 failed, is at {"n": 1}`}, w.rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	w.pass(4 * time.Second)
	if len(w.inbox) > 0 {
		t.Fatal("it is asked before its time")
	}
	w.pass(time.Second)
	try := w.try(a)
	if got := try.Body.Pending.Text(); got != `{"n": 1}` || !try.Body.Pending.Secret() || try.Body.Asked != wire.Create ||
		string(try.Body.Properties.JSON()) != string(a.Body.Properties.JSON()) {
		t.Errorf("asked with %s, secret %t, about a %s of %s", got, try.Body.Pending.Secret(), try.Body.Asked, try.Body.Properties)
	}
	w.waits(try, time.Minute, `{"n": 2}`)
	w.pass(59 * time.Second)
	if len(w.inbox) > 0 {
		t.Fatal("it is asked before its time")
	}
	w.pass(time.Second)
	try = w.try(a)
	if try.Wait.Try != 2 || try.Body.Pending.Text() != `{"n": 2}` {
		t.Errorf("try %d with %s", try.Wait.Try, try.Body.Pending.Text())
	}
	w.executes(try)
	w.must(w.engine.Answer(w.ctx, a.ID, []byte(document(a, success("a"))), 0))
	w.report(try, notDone(time.Second, `3`)) // the report has become useless
	w.succeed("B", "b")
	w.must(w.store.Apply(w.ctx, store.Target{Request: try.ID}, func(v *store.View) (store.Delta, error) {
		if v.Request.State != store.RequestSettled || !v.Request.Body.Pending.IsNull() || v.Request.Body.Properties.IsNull() {
			t.Errorf("when nobody is asked any more, %s is kept", v.Request.Body.Pending.Text())
		}
		return store.Delta{}, nil
	}))
	w.want(0, []string{
		`S CREATE_IN_PROGRESS "User Initiated"`,
		`A CREATE_IN_PROGRESS id=`,
		`A CREATE_IN_PROGRESS id=a "Resource creation Initiated"`,
		`A CREATE_COMPLETE id=a`,
		`B CREATE_IN_PROGRESS id=`,
		`B CREATE_IN_PROGRESS id=b "Resource creation Initiated"`,
		`B CREATE_COMPLETE id=b`,
		`S CREATE_COMPLETE`,
	})
	w.quiet()
}

func TestWaitingPauses(t *testing.T) {
	for _, test := range []struct{ after, want time.Duration }{
		{0, 100 * time.Millisecond}, {-time.Hour, 100 * time.Millisecond}, {time.Second, time.Second}, {12 * time.Hour, time.Hour},
	} {
		w := newWorld(t, engine.FidelityPintle)
		w.must(w.create(body(map[string]string{"A": resource("")})))
		w.waits(w.take("A"), test.after, `{}`)
		_, next, err := w.store.Due(w.ctx, 0)
		w.must(err)
		if got := next.Sub(w.now); got != test.want {
			t.Errorf("after %v it is asked after %v, want %v", test.after, got, test.want)
		}
	}
}

// TestWaitingReason checks the stored text about a provider's progress: a secret is not cut in two.
func TestWaitingReason(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource("")}, noEchoP), engine.Parameter{Key: "P", Value: "5ec2e7"}))
	a := w.take("A")
	w.waits(a, time.Second, `1`)
	for n := range 12 {
		w.pass(time.Second)
		try := w.try(a)
		w.executes(try)
		said := notDone(time.Second, `1`)
		said.Text = strings.Repeat("x", wire.MaxWaitingReason-n) + "5ec2e7, and so on"
		w.report(try, said)
		line := w.rows()[1]
		if reason := line[strings.Index(line, "x"):]; strings.Contains(reason, "5") || len(reason) != wire.MaxWaitingReason {
			t.Errorf("%d before the end: %d bytes, …%s", n, len(reason), reason[len(reason)-12:])
		}
	}
}

// TestWaitEndsAfterReportWithID checks a wait that ends without an answer after a report with an ID. The rollback of a Create
// deletes the reported resource. An Update keeps the old one instead of an incomplete replacement.
func TestWaitEndsAfterReportWithID(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource(`"P": "1"`)})))
	a := w.take("A")
	w.executes(a)
	said := notDone(time.Minute, `1`)
	said.ID = "first"
	w.report(a, said)
	w.pass(time.Minute)
	try := w.try(a)
	w.executes(try)
	said.ID = "second"
	w.report(try, said)
	w.must(w.engine.Answer(w.ctx, a.ID, []byte(document(a, success("third"))), 0))
	w.must(w.update(body(map[string]string{"A": resource(`"P": "2"`)})))
	a = w.take("A")
	w.executes(a)
	w.report(a, said)
	w.pass(time.Hour)
	if back := w.take("A"); back.Type != wire.Update || back.Body.PhysicalID != "third" {
		t.Errorf("%s of %s", back.Type, back.Body.PhysicalID)
	}
	w = newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource("")})))
	a = w.take("A")
	w.executes(a)
	w.report(a, said)
	w.pass(time.Hour)
	if gone := w.take("A"); gone.Type != wire.Delete || gone.Body.PhysicalID != "second" {
		t.Errorf("%s of %s", gone.Type, gone.Body.PhysicalID)
	}
}

// TestWaitingEnds covers the other ends of a wait: afterwards no poll and no row remain open.
func TestWaitingEnds(t *testing.T) {
	const said = ` Its provider said last: is at "x"`
	silent := statusreason.TimedOut("id-4")
	for _, test := range []struct {
		name     string
		fidelity engine.Fidelity
		does     func(w *world, a store.Request)
		want     string // the reason of the failure, or of the stack
	}{
		{"its ServiceTimeout", engine.FidelityPintle, func(w *world, _ store.Request) { w.pass(time.Hour) }, silent + said},
		{"its ServiceTimeout, on AWS", engine.FidelityAWS, func(w *world, _ store.Request) { w.pass(time.Hour) }, silent},
		{"provider's own deadline", engine.FidelityPintle, func(w *world, a store.Request) {
			w.pass(time.Minute)
			try := w.try(a)
			w.executes(try)
			o := notDone(time.Minute, `"y"`)
			o.Until = w.now.Add(30 * time.Second)
			w.report(try, o)
			w.pass(29 * time.Second)
			if len(w.inbox) > 0 {
				w.t.Error("it is asked before its time is over")
			}
			w.pass(time.Second)
			last := w.try(a)
			w.executes(last)
			o.Text = "not yet"
			w.report(last, o)
		}, `Operation timed out: not yet`},
		{"provider's own deadline expires during a poll", engine.FidelityPintle, func(w *world, a store.Request) {
			w.pass(time.Minute)
			try := w.try(a)
			w.executes(try)
			o := notDone(time.Minute, `"y"`)
			o.Until = w.now.Add(90 * time.Second)
			w.report(try, o)
			w.pass(time.Minute)
			try = w.try(a)
			w.executes(try)
			w.pass(40 * time.Second)
			w.report(try, o) // and gets one last poll
			w.pass(0)
			last := w.try(a)
			w.executes(last)
			w.report(last, o)
		}, `Operation timed out: is at "y"`},
		{"provider answers FAILED at its own deadline", engine.FidelityPintle, func(w *world, a store.Request) {
			w.pass(time.Minute)
			try := w.try(a)
			w.executes(try)
			o := notDone(time.Minute, `"y"`)
			o.Until = w.now.Add(30 * time.Second)
			w.report(try, o)
			w.pass(30 * time.Second)
			w.executes(w.try(a))
			w.pass(59 * time.Second)
			w.must(w.engine.Answer(w.ctx, a.ID, []byte(document(a, `"Status": "FAILED", "Reason": "my own time", "PhysicalResourceId": "a"`)), 0))
		}, "my own time"},
		{"provider dies in the last poll", engine.FidelityPintle, func(w *world, a store.Request) {
			w.pass(time.Minute)
			try := w.try(a)
			w.executes(try)
			o := notDone(time.Minute, `"y"`)
			o.Until = w.now.Add(30 * time.Second)
			w.report(try, o)
			w.pass(30 * time.Second)
			last := w.try(a)
			w.executes(last)
			w.report(last, engine.Outcome{Kind: engine.Died, Text: "exit code 3", Delivered: true})
		}, `Operation timed out: is at "y"`},
		{"provider's own deadline passes during a poll that never returns", engine.FidelityPintle, func(w *world, a store.Request) {
			w.pass(time.Minute)
			try := w.try(a)
			w.executes(try)
			o := notDone(time.Minute, `"y"`)
			o.Until = w.now.Add(2 * time.Minute)
			w.report(try, o)
			w.pass(time.Minute)
			w.executes(w.try(a))
			w.pass(time.Minute) // and the last poll
			if w.status() != "CREATE_IN_PROGRESS" {
				w.t.Errorf("status %s", w.status())
			}
			w.pass(time.Minute)
		}, `Operation timed out: is at "y"`},
		{"provider's own deadline already passed", engine.FidelityAWS, func(w *world, a store.Request) {
			w.pass(time.Minute)
			try := w.try(a)
			w.executes(try)
			o := notDone(time.Minute, `"y"`)
			o.Until = w.now
			w.report(try, o)
		}, `Operation timed out`},
		{"a try that runs into its ServiceTimeout", engine.FidelityPintle, func(w *world, a store.Request) {
			w.pass(time.Minute)
			w.executes(w.try(a))
			w.pass(time.Hour)
		}, silent + said},
		{"answered by hand", engine.FidelityPintle, func(w *world, _ store.Request) {
			_, err := w.engine.Respond(w.ctx, engine.Respond{Stack: w.ref(), Logical: "A", Status: wire.Failed, By: "me"})
			w.must(err)
		}, "answered by hand"},
		{"an answer between two tries", engine.FidelityPintle, func(w *world, a store.Request) {
			w.must(w.engine.Answer(w.ctx, a.ID, []byte(document(a, `"Status": "FAILED", "Reason": "no", "PhysicalResourceId": "a"`)), 0))
		}, "no"},
		{"answer while the poll is being sent", engine.FidelityPintle, func(w *world, a store.Request) {
			w.pass(time.Minute)
			try := w.try(a)
			w.must(w.engine.Answer(w.ctx, a.ID, []byte(document(a, `"Status": "FAILED", "Reason": "no", "PhysicalResourceId": "a"`)), 0))
			w.waits(try, time.Second, `1`)
		}, "no"},
		{"the third process in a row that dies", engine.FidelityAWS, func(w *world, a store.Request) {
			for n := range 5 {
				w.pass(time.Minute)
				try := w.try(a)
				if n == 1 { // it answers, so the count of deaths restarts
					w.waits(try, time.Minute, `"x"`)
					continue
				}
				w.executes(try)
				w.report(try, engine.Outcome{Kind: engine.Died, Text: "exit code 3", Delivered: true, Log: []string{"oh no"}})
				if n < 4 && w.status() != "CREATE_IN_PROGRESS" {
					w.t.Fatalf("failed after death %d", n)
				}
			}
		}, "exit code 3\nLast lines of its log:\noh no"},
		{"no process", engine.FidelityPintle, func(w *world, a store.Request) {
			for range 3 {
				w.pass(time.Minute)
				w.report(w.try(a), engine.Outcome{Kind: engine.Refused, Text: "no process"})
			}
		}, "no process"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.fidelity)
			w.must(w.create(body(map[string]string{"A": resource("")})))
			a := w.take("A")
			w.waits(a, time.Minute, `"x"`)
			test.does(w, a)
			line := ""
			for _, event := range w.events() {
				if strings.HasPrefix(event, "A CREATE_FAILED") {
					line = event
				}
			}
			want := fmt.Sprintf("%q", test.want)
			if !strings.Contains(line, strings.Trim(want, `"`)) || test.fidelity == engine.FidelityAWS && !strings.HasSuffix(line, want) {
				t.Errorf("%s, want %s", line, want)
			}
			for _, r := range w.inbox {
				if r.Type == store.TypeIsComplete {
					t.Error("it is asked again")
				}
			}
			w.inbox = nil
			if diff := cmp.Diff([]string{"Delete ready"}, w.rows()); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReportsFromFormerOwnersAreIgnored checks reports on a poll from nodes that no longer have it.
func TestReportsFromFormerOwnersAreIgnored(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource("")})))
	a := w.take("A")
	w.report(a, notDone(time.Second, `0`)) // not accepted yet: it is ready, and will be sent
	w.waits(a, time.Second, `1`)
	w.report(a, notDone(time.Second, `2`)) // again, because the result of the commit was lost
	w.report(a, engine.Outcome{Kind: engine.Died, Text: "exit code 3", Delivered: true})
	want := []string{"Create waiting", "IsComplete delayed try 1, 0 failed, is at 1"}
	if diff := cmp.Diff(want, w.rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	w.pass(time.Second)
	first := w.try(a)
	w.waits(first, time.Second, `3`)
	w.pass(time.Second)
	second := w.try(a)
	for _, o := range []engine.Outcome{
		{Kind: engine.Accepted, Local: true}, {Kind: engine.Refused, Text: "no"}, {Kind: engine.Died, Text: "no"}, notDone(time.Hour, `4`),
	} {
		w.report(first, o)
	}
	want = []string{"Create waiting", "IsComplete ready try 2, 0 failed, is at 3"}
	if diff := cmp.Diff(want, w.rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	w.executes(second)
	w.report(first, notDone(time.Hour, `5`))
	w.report(first, engine.Outcome{Kind: engine.Died, Text: "no"})
	want = []string{"Create waiting", "IsComplete waiting try 2, 0 failed, is at 3"}
	if diff := cmp.Diff(want, w.rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestWaitingCancelled checks a sibling that fails. The engine keeps polling the provider for a limited time, because
// the answer identifies the resource to delete.
func TestWaitingCancelled(t *testing.T) {
	two := body(map[string]string{"A": resource(""), "B": resource("")})
	t.Run("answers", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.must(w.create(two))
		a := w.take("A")
		w.waits(a, time.Minute, `1`)
		w.fail("B", "b", "no")
		w.succeed("B", "b")
		w.pass(time.Minute)
		try := w.try(a)
		w.executes(try)
		w.must(w.engine.Answer(w.ctx, a.ID, []byte(document(a, success("real"))), 0))
		gone := w.take("A")
		if gone.Type != wire.Delete || gone.Body.PhysicalID != "real" {
			t.Errorf("%s of %s", gone.Type, gone.Body.PhysicalID)
		}
		w.waits(gone, time.Minute, `2`) // a Delete may wait too
		w.pass(time.Minute)
		w.executes(w.try(gone))
		w.must(w.engine.Answer(w.ctx, gone.ID, []byte(document(gone, success("real"))), 0))
		if got := w.status(); got != "ROLLBACK_COMPLETE" {
			t.Errorf("status = %s", got)
		}
		w.quiet()
	})
	t.Run("does not", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.must(w.create(two))
		a := w.take("A")
		w.waits(a, time.Minute, `1`)
		w.fail("B", "b", "no")
		w.succeed("B", "b")
		for range 4 {
			w.pass(time.Minute)
			w.waits(w.try(a), time.Minute, `1`)
		}
		w.pass(time.Minute)
		w.succeed("A", w.invented("A"))
		if got := w.status(); got != "ROLLBACK_COMPLETE" {
			t.Errorf("status = %s", got)
		}
		w.quiet()
	})
	t.Run("is polled once more before it is abandoned", func(t *testing.T) {
		for _, before := range []bool{true, false} { // it is cancelled
			w := newWorld(t, engine.FidelityPintle)
			w.must(w.create(two))
			a := w.take("A")
			if before {
				w.executes(a)
				w.fail("B", "b", "no")
				w.report(a, notDone(time.Hour, `1`))
			} else {
				w.waits(a, time.Hour, `1`)
				w.fail("B", "b", "no")
			}
			w.succeed("B", "b")
			w.pass(4*time.Minute - time.Second)
			if len(w.inbox) > 0 {
				t.Fatal("it is asked before its time")
			}
			w.pass(time.Second)
			try := w.try(a)
			if got := try.Wait.End(); !got.Equal(w.now) {
				t.Errorf("it is asked until %v, at %v", got, w.now)
			}
			w.executes(try)
			w.must(w.engine.Answer(w.ctx, a.ID, []byte(document(a, `"Status": "FAILED", "Reason": "time", "PhysicalResourceId": "real"`)), 0))
			w.succeed("A", "real")
			if got := w.status(); got != "ROLLBACK_COMPLETE" {
				t.Errorf("status = %s", got)
			}
			w.quiet()
		}
	})
	t.Run("is not polled, but has reported the resource", func(t *testing.T) {
		for _, fidelity := range []engine.Fidelity{engine.FidelityPintle, engine.FidelityAWS} {
			w := newWorld(t, fidelity)
			w.must(w.create(two))
			a := w.take("A")
			w.executes(a)
			said := notDone(time.Minute, `1`)
			said.ID = "real"
			if fidelity == engine.FidelityPintle { // it is cancelled before, and has a generated ID by then
				w.fail("B", "b", "no")
				w.report(a, said)
			} else {
				w.report(a, said)
				w.fail("B", "b", "no")
			}
			w.succeed("B", "b")
			w.pass(5 * time.Minute)
			w.succeed("A", "real")
			if got := w.status(); got != "ROLLBACK_COMPLETE" {
				t.Errorf("%s: status = %s", fidelity, got)
			}
		}
	})
	t.Run("on AWS", func(t *testing.T) {
		w := newWorld(t, engine.FidelityAWS)
		w.must(w.create(two))
		w.waits(w.take("A"), time.Minute, `1`)
		w.fail("B", "b", "no")
		w.succeed("B", "b")
		w.succeed("A", w.invented("A"))
		if got := w.status(); got != "ROLLBACK_COMPLETE" {
			t.Errorf("status = %s", got)
		}
		w.quiet()
	})
}

// TestWaitingTakenOver checks a node that dies while its process has a poll: another node polls with the same number.
func TestWaitingTakenOver(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource("")})))
	a := w.take("A")
	w.waits(a, time.Second, `1`)
	second := w.another(nil)
	if len(w.inbox) > 0 {
		t.Fatal("what waits is not with a process, and was taken over")
	}
	w.pass(time.Second)
	try := w.try(a)
	w.executes(try)
	w.another(nil)
	left, err := w.store.Claim(w.ctx, w.engine.Node(), 10, nil)
	w.must(err)
	if len(left) != 1 || left[0].ID != try.ID || left[0].Wait.Try != 1 || left[0].Body.Pending.Text() != `1` {
		t.Fatalf("taken over: %v", left)
	}
	try.Wait = left[0].Wait
	w.must(second.Report(w.ctx, try.ID, engine.Outcome{Kind: engine.Waiting, Try: 1, Pending: []byte(`2`)})) // a dead node
	if diff := cmp.Diff([]string{"Create waiting", "IsComplete ready try 1, 0 failed, is at 1"}, w.rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	w.waits(left[0], time.Second, `3`)
	w.pass(time.Second)
	if got := w.try(a); got.Wait.Try != 2 || got.Body.Pending.Text() != `3` {
		t.Errorf("try %d with %s", got.Wait.Try, got.Body.Pending.Text())
	}
}

// another starts an engine that replaces the world's, and returns the previous one.
func (w *world) another(serves func(wire.ServiceToken) bool) *engine.Engine {
	w.t.Helper()
	before := w.engine
	var err error
	w.engine, err = engine.Open(w.ctx, engine.Config{
		Store: w.store, Alone: true, Serves: serves,
		Dispatch: func(ready []store.Request) { w.inbox = append(w.inbox, ready...) },
		NewID: func() string {
			w.ids++
			return fmt.Sprintf("id-%d", w.ids)
		},
	})
	w.must(err)
	return before
}

// TestWaitingAmongNodes checks that a node without the provider's process leaves polls to a node that has it, and
// otherwise polls itself.
func TestWaitingAmongNodes(t *testing.T) {
	for _, others := range []bool{true, false} {
		t.Run(fmt.Sprint("the other one has it ", others), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rows, err := memory.New(memory.Config{})
				if err != nil {
					t.Fatal(err)
				}
				var engines []*engine.Engine
				var mu sync.Mutex
				asked := make([]int, 2)
				var sent []store.Request
				for n := range 2 {
					e, err := engine.Open(t.Context(), engine.Config{
						Store: rows, Serves: func(wire.ServiceToken) bool { return n == 1 && others },
						Dispatch: func(ready []store.Request) {
							mu.Lock()
							defer mu.Unlock()
							for _, r := range ready {
								if r.Type == store.TypeIsComplete {
									asked[n]++
								} else {
									sent = append(sent, r)
								}
							}
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					ctx, stop := context.WithCancel(t.Context())
					done := make(chan error)
					go func() { done <- e.Run(ctx) }()
					defer func() {
						stop()
						if err := <-done; err != nil {
							t.Error(err)
						}
					}()
					engines = append(engines, e)
				}
				time.Sleep(15 * time.Second) // they know each other
				const stacks = 20
				for n := range stacks {
					begin(t, engines[1], fmt.Sprint("s", n), one(""))
				}
				mu.Lock()
				all := slices.Clone(sent)
				mu.Unlock()
				for n, r := range all {
					said := notDone(time.Minute, `1`)
					if n%2 == 0 { // it is polled for the last time
						said.Until = time.Now().Add(time.Minute)
					}
					for _, outcome := range []engine.Outcome{{Kind: engine.Accepted, Local: true}, said} {
						if err := engines[1].Report(t.Context(), r.ID, outcome); err != nil {
							t.Fatal(err)
						}
					}
				}
				after := func(d time.Duration) []int {
					time.Sleep(d)
					synctest.Wait()
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(asked)
				}
				if got := after(time.Minute + 10*time.Second); others && !slices.Equal(got, []int{0, stacks}) || !others && got[0]+got[1] > 0 {
					t.Errorf("the nodes asked %v times", got)
				}
				if got := after(time.Minute); got[0]+got[1] != stacks {
					t.Errorf("in the end the nodes asked %v times", got)
				}
			})
		})
	}
}
