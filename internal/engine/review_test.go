package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// The tests in this file cover former bugs.

const noEchoP = `"Parameters": {"P": {"Type": "String", "NoEcho": true}}`

// shown returns all texts about a stack that people can read.
func (w *world) shown() string {
	w.t.Helper()
	audit, err := w.store.Audit(w.ctx, w.stack().Key, 100)
	w.must(err)
	instances, err := w.store.Instances(w.ctx, w.stack().Key)
	w.must(err)
	text := fmt.Sprint(w.stack().Reason, w.stack().OutputValues, audit, w.history())
	for _, i := range instances {
		text += fmt.Sprint(i.Reason, i.Body.Properties)
	}
	return text
}

func TestNoTextContainsSecrets(t *testing.T) {
	const secret = `tell "nobody"`
	of := func(properties string, outputs ...string) string {
		return body(map[string]string{"C": resource(properties)}, append(outputs, noEchoP)...)
	}
	for name, test := range map[string]struct{ template, answer string }{
		"the name of an attribute": {template: body(map[string]string{
			"C": resource(""), "D": resource(`"K": {"Fn::GetAtt": ["C", {"Ref": "P"}]}`)}, noEchoP), answer: success("c")},
		"the name of an output's attribute": {template: of("",
			`"Outputs": {"O": {"Value": {"Fn::GetAtt": ["C", {"Ref": "P"}]}}}`), answer: success("c")},
		"a timeout": {template: strings.Replace(of(`"ServiceTimeout": 1`), `: 1`, `: {"Fn::Sub": "a secret that is too long to be shown: ${P}"}`, 1)},
		"a reason that prints JSON": {template: of(`"K": {"Ref": "P"}`),
			answer: `"Status": "FAILED", "PhysicalResourceId": "c", "Reason": "event: {\"K\": \"tell \\\"nobody\\\"\"}"`},
		"a reason with a colour in it": {template: of(`"K": {"Ref": "P"}`),
			answer: `"Status": "FAILED", "PhysicalResourceId": "c", "Reason": "tell\u001b \"nobody\""`},
		"reason that contains the data": {template: of(""),
			answer: `"Status": "FAILED", "PhysicalResourceId": "c", "NoEcho": true, "Data": {"k": "tell nobody"}, "Reason": "tell nobody"`},
		"invalid answer that contains the data": {template: of(""),
			answer: `"Status": "SUCCESS", "NoEcho": true, "Data": {"k": "tell nobody"}, "Reason": "tell nobody"`},
		"a status": {template: of(`"K": {"Ref": "P"}`), answer: `"Status": "tell \"nobody\"", "PhysicalResourceId": "c"`},
	} {
		for _, fidelity := range fidelities {
			w := newWorld(t, fidelity)
			w.must(w.create(test.template, engine.Parameter{Key: "P", Value: secret}))
			if test.answer != "" {
				w.answer(w.take("C"), test.answer)
			}
			if got := w.shown(); strings.Contains(got, "nobody") || strings.Contains(got, "secret") {
				t.Errorf("%s, %s: a secret is shown:\n%s", name, fidelity, got)
			}
			if !strings.Contains(w.history(), "ROLLBACK_IN_PROGRESS") {
				t.Errorf("%s, %s: nothing failed:\n%s", name, fidelity, w.history())
			}
		}
	}
}

// TestSecretsOfNeighboursAreMasked checks that a secret that a provider got as part of a longer text is masked on its
// own.
func TestSecretsOfNeighboursAreMasked(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"C": resource(""), "D": resource(`"URL": {"Fn::Sub": "db://u:${C.key}@h"}`)})))
	w.answer(w.take("C"), success("c")+`, "NoEcho": true, "Data": {"key": "battery staple"}`)
	w.fail("D", "d", "login with battery staple failed")
	if got := w.shown(); strings.Contains(got, "battery") || !strings.Contains(got, "login with ***** failed") {
		t.Errorf("%s", got)
	}
}

// TestCancelledRequestIsHandedOverOnce checks that a ready request that is cancelled is not dispatched again.
func TestCancelledRequestIsHandedOverOnce(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"C": resource(""), "X": resource("")})))
	c := w.take("C") // not accepted yet
	w.fail("X", "x", "r")
	w.succeed("X", "x")
	if len(w.inbox) > 0 {
		t.Errorf("handed over again: %s", sentLine(w.inbox[0]))
	}
	w.answer(c, success("c"))
	w.succeed("C", "c")
	if w.status() != "ROLLBACK_COMPLETE" {
		t.Error(w.history())
	}
}

// TestPointlessRequestsAreNotSent checks that no request is sent that the same decision makes pointless.
func TestPointlessRequestsAreNotSent(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource(""), "X": resource(`"ServiceTimeout": 0`)})))
	if w.status() != "ROLLBACK_COMPLETE" || len(w.inbox) > 0 {
		t.Errorf("%d requests were sent:\n%s", len(w.inbox), w.history())
	}
	if !strings.Contains(w.history(), `"Resource creation cancelled"`) {
		t.Error(w.history())
	}

	w = created(t, body(map[string]string{"A": resource(`"K": 1`), "X": resource("")}), "A=a", "X=x")
	w.must(w.update(body(map[string]string{"A": resource(`"K": 2`), "X": resource(`"ServiceTimeout": 0`)})))
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" || len(w.inbox) > 0 {
		t.Errorf("%d requests were sent:\n%s", len(w.inbox), w.history())
	}
}

// TestTimeoutGoesWithTheProperties checks that a Delete has the ServiceTimeout of the deleted properties.
func TestTimeoutGoesWithTheProperties(t *testing.T) {
	w := created(t, one(`"ServiceTimeout": 600`), "C=a")
	w.must(w.update(one(`"ServiceTimeout": 2`)))
	w.must(w.engine.Report(w.ctx, w.take("C").ID, engine.Outcome{Kind: engine.Refused, Text: "no"}))
	w.must(w.update(one(`"ServiceTimeout": 3`)))
	w.succeed("C", "b")
	r := w.take("C")
	if r.Type != wire.Delete || r.Body.Timeout != 10*time.Minute {
		t.Errorf("%s with a timeout of %v, want 10 minutes", sentLine(r), r.Body.Timeout)
	}
}

// TestUnsentResourceIsNotRetained checks that a resource that no provider knows is not retained.
func TestUnsentResourceIsNotRetained(t *testing.T) {
	broken := body(map[string]string{"C": resource(""), "D": resource(`"ServiceTimeout": 0`, `"DeletionPolicy": "Retain"`)})
	retained := func(w *world) {
		t.Helper()
		instances, err := w.store.Instances(w.ctx, w.stack().Key)
		w.must(err)
		for _, i := range instances {
			if i.Role == store.RoleRetained {
				t.Errorf("%s %q was retained:\n%s", i.Logical, i.PhysicalID, w.history())
			}
		}
	}
	w := created(t, one(""), "C=a")
	w.must(w.update(broken))
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Error(w.history())
	}
	retained(w)

	w = newWorld(t, engine.FidelityPintle)
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name:     store.StackName{Account: account, Region: region, Name: "S"},
		Template: strings.Replace(broken, `"C": `+resource("")+`, `, "", 1), Options: engine.Options{DisableRollback: true},
	})
	w.must(err)
	w.delete()
	if w.status() != "DELETE_COMPLETE" {
		t.Error(w.history())
	}
	retained(w)
}

// TestDeleteAfterFailedRollback checks that a delete after a failed rollback keeps resources that UpdateReplacePolicy
// protects, and includes the resources of both templates, also in a second attempt.
func TestDeleteAfterFailedRollback(t *testing.T) {
	keep := `"UpdateReplacePolicy": "Retain"`
	w := created(t, body(map[string]string{"C": resource(`"K": 1`, keep), "Y": resource(`"K": 1`)}), "C=a", "Y=y")
	w.must(w.update(body(map[string]string{
		"C": resource(`"K": 2`, keep), "Y": resource(`"K": 2`, `"DependsOn": ["C", "N"]`),
		"M": resource("", `"DeletionPolicy": "Retain"`), "N": resource(`"M": {"Ref": "M"}`),
	})))
	w.succeed("C", "b")
	w.succeed("M", "m")
	w.succeed("N", "n")
	w.fail("Y", "y", "r")
	w.fail("C", "b", "r") // its old properties were requested
	w.succeed("Y", "y")
	if w.status() != "UPDATE_ROLLBACK_FAILED" {
		t.Fatal(w.history())
	}
	w.delete()
	w.succeed("C", "b")
	w.succeed("Y", "y")
	w.fail("N", "n", "r")
	if w.status() != "DELETE_FAILED" {
		t.Fatal(w.history())
	}
	w.delete()
	w.succeed("N", "n")
	if w.status() != "DELETE_COMPLETE" || len(w.inbox) > 0 {
		t.Fatalf("%d requests are left:\n%s", len(w.inbox), w.history())
	}
	instances, err := w.store.Instances(w.ctx, w.stack().Key)
	w.must(err)
	var kept []string
	for _, i := range instances {
		if i.Role == store.RoleRetained {
			kept = append(kept, string(i.PhysicalID))
		}
	}
	slices.Sort(kept)
	if !slices.Equal(kept, []string{"a", "m"}) {
		t.Errorf("retained are %q, want a and m:\n%s", kept, w.history())
	}
}

// TestEventsInOneMillisecond checks that events have distinct IDs and ordered times, regardless of the clock.
func TestEventsInOneMillisecond(t *testing.T) {
	w := created(t, body(map[string]string{"C": resource(`"K": 1`), "X": resource(`"K": 1`, `"DependsOn": "C"`)}), "C=a", "X=x")
	w.must(w.update(body(map[string]string{"C": resource(`"K": 2`), "X": resource(`"K": 2`, `"DependsOn": "C"`)})))
	w.succeed("C", "b")
	w.fail("X", "x", "r")
	w.now = w.now.Add(-time.Hour)
	w.succeed("C", "a") // the loser is current again
	w.succeed("X", "x")
	w.succeed("C", "b")
	w.delete()
	w.succeed("X", "x")
	w.succeed("C", "a")
	rows, err := w.store.Events(w.ctx, w.stack().Key, store.EventCursor{}, 1000)
	w.must(err)
	slices.Reverse(rows)
	ids := map[string]bool{}
	var last time.Time
	for _, row := range rows {
		for _, e := range row.Events {
			if ids[e.ID] {
				t.Errorf("two events have the id %s", e.ID)
			}
			if e.Time.Before(last) {
				t.Errorf("%s is at %v, the event before it at %v", eventLine(e), e.Time, last)
			}
			ids[e.ID], last = true, e.Time
		}
	}
}

// TestOutputsAfterRollback checks that outputs have the new ID of a restored resource.
func TestOutputsAfterRollback(t *testing.T) {
	outputs := `"Outputs": {"O": {"Value": {"Ref": "C"}}}`
	template := func(k string) string {
		return body(map[string]string{"C": resource(`"K": ` + k), "X": resource(`"K": `+k, `"DependsOn": "C"`)}, outputs)
	}
	w := created(t, template("1"), "C=a", "X=x")
	w.must(w.update(template("2")))
	w.succeed("C", "b")
	w.fail("X", "x", "r")
	w.succeed("C", "c")
	w.succeed("X", "x")
	w.succeed("C", "a")
	w.succeed("C", "b")
	if got, _ := w.stack().OutputValues.Get("O"); got.Text() != "c" || w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("the output is %q, want c:\n%s", got.Text(), w.history())
	}
}

// TestStackWithoutResources checks a stack without resources.
func TestStackWithoutResources(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"C": resource("", `"Condition": "Never"`)},
		`"Conditions": {"Never": {"Fn::Equals": ["a", "b"]}}`)))
	if w.status() != "CREATE_COMPLETE" {
		t.Error(w.history())
	}
	w.delete()
	if w.status() != "DELETE_COMPLETE" {
		t.Error(w.history())
	}
}

// TestFencedNode checks that a node that was declared dead, but is still running, cannot change a request that
// another node has taken over. It cannot report that it has sent the request, that it could not, or that its process
// died.
func TestFencedNode(t *testing.T) {
	for _, outcome := range []engine.Outcome{
		{Kind: engine.Accepted, Local: true}, {Kind: engine.Refused, Text: "no route"}, {Kind: engine.Died, Text: "exited", Delivered: true},
	} {
		// by is the report of the node that took over, before the first node reports: nothing, or that its process or
		// a provider elsewhere has the request.
		for _, by := range []string{"nobody", "process", "elsewhere"} {
			w := newWorld(t, engine.FidelityPintle)
			w.must(w.create(one("")))
			r := w.take("C")
			other, err := engine.Open(w.ctx, engine.Config{Store: w.store, Alone: true}) // takes over
			w.must(err)
			if by != "nobody" {
				w.must(other.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted, Local: by == "process"}))
			}
			before, err := w.store.Request(w.ctx, r.ID)
			w.must(err)
			w.must(w.engine.Report(w.ctx, r.ID, outcome))
			after, err := w.store.Request(w.ctx, r.ID)
			w.must(err)
			if after.State != before.State || after.Owner != before.Owner || after.Executor != before.Executor {
				t.Errorf("%v by the old node, accepted by %s: the request was %s and is %s", outcome.Kind, by, before.State, after.State)
			}
			if by == "elsewhere" {
				continue
			}
			w.must(other.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Died, Text: "exited", Delivered: true}))
			if after, err = w.store.Request(w.ctx, r.ID); err != nil || after.State != store.RequestSettled {
				t.Errorf("the new node's word counts for nothing: the request is %s, error %v", after.State, err)
			}
		}
	}
}

// TestHandedOverWorkIsNotRestarted checks that work that a process has started elsewhere and handed over, such as an
// execution, is not started again when the node dies. Work that the process is still doing is.
func TestHandedOverWorkIsNotRestarted(t *testing.T) {
	for _, done := range []bool{false, true} {
		w := newWorld(t, engine.FidelityPintle)
		w.must(w.create(one("")))
		r := w.take("C")
		w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted, Local: true}))
		if done {
			w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted}))
		}
		var again []store.Request
		other, err := engine.Open(w.ctx, engine.Config{Store: w.store, Alone: true, Dispatch: func(list []store.Request) { again = append(again, list...) }})
		w.must(err)
		row, err := w.store.Request(w.ctx, r.ID)
		w.must(err)
		want := store.RequestReady
		if done {
			want = store.RequestWaiting
		}
		if row.State != want || done && (row.Executor != 0 || row.Due.IsZero() || len(again) > 0) {
			t.Errorf("done: %v, then the request is %s, executed by %d, due %v, dispatched %d times", done, row.State, row.Executor, row.Due, len(again))
		}
		w.engine = other
		w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted})) // from a node that no longer exists
		w.answer(r, success("C-1"))
		if w.status() != "CREATE_COMPLETE" {
			t.Error(w.history())
		}
	}
}
