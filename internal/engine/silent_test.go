package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
	"github.com/pintle-dev/pintle/internal/store"
)

const settleTime = 5 * time.Second

// returned returns the outcome of a handler that returns without an answer; awaits describes what may still answer.
func returned(awaits string) engine.Outcome {
	return engine.Outcome{Kind: engine.Silent, After: settleTime, Text: awaits}
}

// stored returns a request in its current state.
func (w *world) stored(r store.Request) store.Request {
	w.t.Helper()
	row, err := w.store.Request(w.ctx, r.ID)
	w.must(err)
	return row
}

// creating returns a world that executes the Create of A, with a time limit of an hour.
func creating(t *testing.T, config engine.Config) (*world, store.Request) {
	t.Helper()
	w := newWorldWith(t, config)
	w.must(w.create(body(map[string]string{"A": resource("")})))
	a := w.take("A")
	w.executes(a)
	return w, a
}

func TestSilent(t *testing.T) {
	t.Run("fails after the settle time", func(t *testing.T) {
		reported := &diary{}
		w, a := creating(t, engine.Config{Observer: reported})
		w.report(a, returned(""))
		w.report(a, returned("")) // repeated, because delivery does not know that it was recorded
		row := w.stored(a)
		if row.State != store.RequestWaiting || !row.Silence.Settles() || !row.Due.Equal(w.now.Add(settleTime)) || row.Executor != w.engine.Node() {
			t.Fatalf("%+v", row)
		}
		w.pass(settleTime - time.Millisecond)
		if got := w.stored(a); got.State != store.RequestWaiting {
			t.Fatalf("it has ended too early: %s", got.Ending)
		}
		w.pass(time.Millisecond)
		if got := w.stored(a); got.Ending != "returned without an answer" {
			t.Errorf("it ended as %q", got.Ending)
		}
		if h := w.history(); !strings.Contains(h, statusreason.Returned) || !strings.Contains(h, "(RequestId: "+string(a.ID)+")") {
			t.Errorf("the history does not say why:\n%s", h)
		}
		w.succeed("A", "a") // the Delete
		if w.status() != "ROLLBACK_COMPLETE" {
			t.Errorf("the stack is in %s", w.status())
		}
		want := []string{
			"cloudformation began create", "cloudformation silent", "cloudformation failed silent", "cloudformation answered success",
			"cloudformation ended create reverted 5s",
		}
		if diff := cmp.Diff(want, reported.lines); diff != "" {
			t.Errorf("observed (-want +got):\n%s", diff)
		}
	})
	t.Run("an answer in the settle time counts", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		w.report(a, returned(""))
		w.pass(settleTime - time.Second)
		w.answer(a, success("a"))
		w.pass(time.Hour)
		if w.status() != "CREATE_COMPLETE" {
			t.Errorf("the stack is in %s", w.status())
		}
	})
	t.Run("it returned the response", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		outcome := returned("")
		outcome.Document = true
		w.report(a, outcome)
		w.pass(settleTime)
		if h := w.history(); !strings.Contains(h, statusreason.Returned+" to its ResponseURL: it returned the response instead") {
			t.Errorf("the history does not say what to do:\n%s", h)
		}
	})
	t.Run("answer after the failure counts as late", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		w.report(a, returned(""))
		w.pass(settleTime)
		w.answer(a, success("too-late"))
		if got := w.stored(a); got.Late != 1 || got.Ending != "returned without an answer" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("something may still answer", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		due := w.stored(a).Due
		since := w.now
		w.report(a, returned("1 thread still runs"))
		if got := w.stored(a); !got.Due.Equal(due) || got.Silence.Settles() || got.Silence.Awaits != "1 thread still runs" {
			t.Fatalf("%+v", got)
		}
		w.pass(10 * time.Minute)
		w.report(a, returned("2 threads still run"))
		w.report(a, returned("")) // their work has finished
		w.report(a, returned("again"))
		if got := w.stored(a); !got.Due.Equal(w.now.Add(settleTime)) || !got.Silence.Settles() || !got.Silence.Since.Equal(since) {
			t.Fatalf("%+v", got)
		}
		w.pass(settleTime)
		if got := w.stored(a); got.Ending != "returned without an answer" {
			t.Errorf("it ended as %q", got.Ending)
		}
	})
	t.Run("remaining work has its own limit", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		due, until := w.stored(a).Due, w.now.Add(15*time.Minute)
		w.report(a, engine.Outcome{Kind: engine.Silent, After: settleTime, Text: "1 thread still runs", Until: until})
		got := w.stored(a)
		if !got.Due.Equal(due) || !got.Silence.Until.Equal(until.Add(settleTime)) {
			t.Fatalf("%+v", got)
		}
		if at := engine.Deadlines([]store.Request{got})[a.ID]; !at.Equal(until.Add(settleTime)) {
			t.Errorf("it is said to fail at %s", at)
		}
		w.pass(15 * time.Minute)
		w.report(a, returned(""))
		w.pass(settleTime)
		if got := w.stored(a); got.Ending != "returned without an answer" {
			t.Errorf("it ended as %q", got.Ending)
		}
	})
	t.Run("return after a hand-over is not recorded", func(t *testing.T) {
		reported := &diary{}
		w, a := creating(t, engine.Config{Observer: reported})
		outcome := returned("it called EventBridge")
		outcome.Later = true
		w.report(a, outcome)
		if got := w.stored(a); got.Silence == nil || got.Silence.Awaits != "it called EventBridge" {
			t.Errorf("%+v", got)
		}
		w.answer(a, success("a"))
		list, err := w.store.Audit(w.ctx, w.stack().Key, 10)
		w.must(err)
		if len(list) != 0 || slices.Contains(reported.lines, "cloudformation silent") {
			t.Errorf("on record are %v and %q", list, reported.lines)
		}
	})
	t.Run("timeout before the settle time", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		w.report(a, returned("it called Lambda"))
		w.pass(time.Hour)
		if got, h := w.stored(a), w.history(); got.Ending != "timed out" || !strings.Contains(h, "Its handler had returned without an answer.") {
			t.Errorf("it ended as %q:\n%s", got.Ending, h)
		}
	})
	t.Run("as AWS", func(t *testing.T) {
		w, a := creating(t, engine.Config{Fidelity: engine.FidelityAWS})
		due := w.stored(a).Due
		w.report(a, returned(""))
		if got := w.stored(a); !got.Due.Equal(due) || !strings.Contains(got.Silence.Awaits, "as AWS does") {
			t.Errorf("%+v", got)
		}
		w.pass(time.Hour)
		if h := w.history(); strings.Contains(h, "returned without") {
			t.Errorf("AWS does not say so:\n%s", h)
		}
	})
	t.Run("secrets are removed", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		w.report(a, returned("it calls https://x.test/?X-Amz-Signature=0123456789abcdef"))
		if got := w.stored(a); strings.Contains(got.Silence.Awaits, "0123456789abcdef") {
			t.Errorf("%q", got.Silence.Awaits)
		}
	})
}

// TestSilentUpdateAndDelete checks that a Delete and an Update fail like a Create.
func TestSilentUpdateAndDelete(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource("")})))
	w.succeed("A", "a")
	w.must(w.update(body(map[string]string{"A": resource(`"P": "1"`)})))
	update := w.take("A")
	w.executes(update)
	w.report(update, returned(""))
	w.pass(settleTime)
	w.succeed("A", "a") // rolled back
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("the stack is in %s", w.status())
	}
	w.delete()
	gone := w.take("A")
	w.executes(gone)
	w.report(gone, returned(""))
	w.pass(settleTime)
	if w.status() != "DELETE_FAILED" {
		t.Errorf("the stack is in %s", w.status())
	}
}

// TestSilentCancelled checks that the rollback does not wait longer for a cancelled request whose handler returned
// silently.
func TestSilentCancelled(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource(""), "B": resource("")})))
	a := w.take("A")
	w.executes(a)
	w.fail("B", "b", "no luck")
	w.report(a, returned(""))
	w.pass(settleTime)
	w.succeed("A", "") // the Delete
	if got := w.stored(a); got.Ending != "returned without an answer" {
		t.Errorf("it ended as %q", got.Ending)
	}
}

// TestSilentTry checks that a poll that returns silently ends its request in the same way.
func TestSilentTry(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource("")})))
	a := w.take("A")
	w.waits(a, time.Second, `1`)
	w.pass(time.Second)
	try := w.try(a)
	w.executes(try)
	w.report(try, returned(""))
	w.report(store.Request{ID: try.ID, Wait: &store.Wait{Try: 9}}, returned("of another try"))
	w.pass(settleTime)
	if got := w.stored(a); got.Ending != "returned without an answer" {
		t.Errorf("it ended as %q", got.Ending)
	}
	if diff := cmp.Diff([]string{"Delete ready"}, w.rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestSilentTakenOver checks that nothing is lost if a node dies in the settle time. The work of its process is sent
// again with its full time, and the next node settles requests that run on no node.
func TestSilentTakenOver(t *testing.T) {
	t.Run("the process died", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		w.report(a, returned(""))
		first := w.another(nil)
		w.pass(settleTime)
		if got := w.stored(a); got.State != store.RequestReady {
			t.Fatalf("it is %s", got.State)
		}
		w.must(first.Report(w.ctx, a.ID, returned(""))) // the dead node reports
		w.executes(a)
		if got := w.stored(a); got.Silence != nil || !got.Due.Equal(w.now.Add(time.Hour)) {
			t.Errorf("%+v", got)
		}
		w.must(first.Report(w.ctx, a.ID, returned("")))
		if got := w.stored(a); got.Silence != nil {
			t.Errorf("void, and yet: %+v", got)
		}
		w.answer(a, success("a"))
		if w.status() != "CREATE_COMPLETE" {
			t.Errorf("the stack is in %s", w.status())
		}
	})
	t.Run("no process died", func(t *testing.T) {
		w, a := creating(t, engine.Config{})
		over := returned("")
		over.Over = true
		w.report(a, over)
		w.another(nil)
		if got := w.stored(a); got.State != store.RequestWaiting || got.Executor != 0 || !got.Silence.Settles() {
			t.Fatalf("%+v", got)
		}
		w.pass(settleTime)
		if got := w.stored(a); got.Ending != "returned without an answer" {
			t.Errorf("it ended as %q", got.Ending)
		}
	})
}

// TestSilentROS checks the same in ROS stacks.
func TestSilentROS(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: oneROS(`"K": 1`)}))
	c := w.take("C")
	w.executes(c)
	w.report(c, returned(""))
	w.pass(settleTime)
	w.answer(w.take("C"), `"Status": "SUCCESS", "PhysicalResourceId": null`)
	if got := w.reasonOf(store.PhaseRevert); !strings.Contains(got, "NoResponse: resources.C: "+statusreason.Returned) {
		t.Errorf("the stack does not say why: %s", got)
	}
	if w.rosStatus() != "CREATE_ROLLBACK_COMPLETE" {
		t.Errorf("the stack is in %s", w.rosStatus())
	}
}
