package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// refusedWith compares the error of a call with a ROS code and message.
func refusedWith(t *testing.T, err error, code engine.Code, message string) {
	t.Helper()
	reported, ok := engine.InputError(err)
	if !ok || reported.Code != code || reported.Message != message {
		t.Errorf("the error is %#v, want %s: %s", err, code, message)
	}
}

const (
	rosCreateStarted = `S CREATE_IN_PROGRESS "Stack CREATE started"`
	rosCreateDone    = `S CREATE_COMPLETE "Stack CREATE completed successfully"`
	rosUpdateStarted = `S UPDATE_IN_PROGRESS "Stack UPDATE started"`
	rosUpdateDone    = `S UPDATE_COMPLETE "Stack UPDATE completed successfully"`
	rosRollbackDone  = `S ROLLBACK_COMPLETE "Stack ROLLBACK completed successfully"`
	rosCreateUndone  = `S CREATE_ROLLBACK_COMPLETE "Stack CREATE_ROLLBACK completed successfully"`
	rosDeleteStarted = `S DELETE_IN_PROGRESS "Stack DELETE started"`
	rosDeleteDone    = `S DELETE_COMPLETE "Stack DELETE completed successfully"`
	otherToken       = "acs:fc:cn-hangzhou:123456789012:functions/other"
	otherTokenJSON   = `"ServiceToken": "` + otherToken + `"`
)

// TestROSCreateFails checks that the rollback of a create deletes the ID in the answer, or sends no ID if there was
// none.
func TestROSCreateFails(t *testing.T) {
	for _, test := range []struct{ name, id, answered string }{
		{"with an id", "a", success("a")},
		{"without an id", "", `"Status": "SUCCESS", "PhysicalResourceId": null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newROS(t, engine.Config{})
			w.must(w.begin(engine.CreateStack{Template: oneROS(`"K": 1`)}))
			id := w.refuses("C", test.id, "no room")
			w.answer(w.take("C"), test.answered)
			why := `CustomResourceFailed: resources.C: no room (RequestId: ` + string(id) + `)`
			w.happened([]string{
				rosCreateStarted,
				`C CREATE_IN_PROGRESS id=`,
				`C CREATE_FAILED id=` + test.id + ` "` + why + `"`,
				`S CREATE_ROLLBACK_IN_PROGRESS "Resource CREATE failed: ` + why + `"`,
				`C DELETE_IN_PROGRESS id=` + test.id,
				`C DELETE_COMPLETE id=` + test.id,
				rosCreateUndone,
			}, `-> Create C id= {"K":1}`, `-> Delete C id=`+test.id+` {"K":1}`)
		})
	}
}

// TestROSDeleteNeedsTheID checks that only a Delete without an ID may be answered without one.
func TestROSDeleteNeedsTheID(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(""), "C=a")
	w.must(w.remove(engine.DeleteStack{}))
	r := w.take("C")
	w.answer(r, `"Status": "SUCCESS"`)
	if s := w.row(); w.rosStatus() != "DELETE_FAILED" || !strings.HasPrefix(s.Reason, "Resource DELETE failed: InvalidResponse: resources.C: ") {
		t.Errorf("the stack is %s: %s", w.rosStatus(), s.Reason)
	}
}

func TestROSUpdateFails(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
	w.must(w.change(engine.UpdateStack{Template: oneROS(`"K": 2`), Options: engine.Options{DisableRollback: true}}))
	id := w.refuses("C", "b", "not now") // the ID in a failure is ignored
	w.succeed("C", "a")
	why := `CustomResourceFailed: resources.C: not now (RequestId: ` + string(id) + `)`
	w.happened([]string{
		rosUpdateStarted,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_FAILED id=a "` + why + `"`,
		`S ROLLBACK_IN_PROGRESS "Resource UPDATE failed: ` + why + `"`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_COMPLETE id=a`,
		rosRollbackDone,
	}, `-> Update C id=a {"K":2} was {"K":1}`, `-> Update C id=a {"K":1} was {"K":2}`)
}

// TestROSUpdateAfterRollbackFailed checks that a stack can be updated after a failed rollback, and returns to its
// last complete state if that update fails too.
func TestROSUpdateAfterRollbackFailed(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
	w.must(w.change(engine.UpdateStack{Template: oneROS(`"K": 2`)}))
	w.refuses("C", "a", "r")
	w.refuses("C", "a", "r")
	if status := w.rosStatus(); status != "ROLLBACK_FAILED" {
		t.Fatal(status)
	}
	w.must(w.change(engine.UpdateStack{Template: oneROS(`"K": 3`)}))
	w.refuses("C", "a", "r")
	w.succeed("C", "a")
	if status := w.rosStatus(); status != "ROLLBACK_COMPLETE" {
		t.Fatal(status)
	}
	if diff := cmp.Diff([]string{
		`-> Update C id=a {"K":2} was {"K":1}`, `-> Update C id=a {"K":1} was {"K":2}`,
		`-> Update C id=a {"K":3} was {"K":2}`, `-> Update C id=a {"K":1} was {"K":3}`,
	}, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestROSIDChange(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
		w.must(w.change(engine.UpdateStack{Template: oneROS(`"K": 2`)}))
		r := w.take("C")
		w.answer(r, success("b"))
		w.succeed("C", "a")
		why := `PhysicalResourceIdChanged: resources.C: the answer to the Update has the PhysicalResourceId \"b\", and the resource is \"a\": ` +
			`an update cannot replace it. The provider has to answer with the id of the request (RequestId: ` + string(r.ID) + `)`
		w.happened([]string{
			rosUpdateStarted,
			`C UPDATE_IN_PROGRESS id=a`,
			`C UPDATE_FAILED id=a "` + why + `"`,
			`S ROLLBACK_IN_PROGRESS "Resource UPDATE failed: ` + why + `"`,
			`C UPDATE_IN_PROGRESS id=a`,
			`C UPDATE_COMPLETE id=a`,
			rosRollbackDone,
		}, `-> Update C id=a {"K":2} was {"K":1}`, `-> Update C id=a {"K":1} was {"K":2}`)
	})
	t.Run("ignored", func(t *testing.T) {
		w := standing(t, engine.Config{RosIDChange: engine.IDChangeIgnored}, oneROS(`"K": 1`), "C=a")
		w.must(w.change(engine.UpdateStack{Template: oneROS(`"K": 2`)}))
		w.succeed("C", "b")
		w.happened([]string{rosUpdateStarted, `C UPDATE_IN_PROGRESS id=a`, `C UPDATE_COMPLETE id=a`, rosUpdateDone},
			`-> Update C id=a {"K":2} was {"K":1}`)
		audit, err := w.store.Audit(w.ctx, w.row().Key, 10)
		w.must(err)
		if len(audit) != 1 || !strings.Contains(audit[0].Text, `"b", which was ignored: the resource stays "a"`) {
			t.Errorf("on record is %+v", audit)
		}
	})
}

func TestROSTokenIsNotUpdated(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
	to := rosBody(map[string]string{"C": rosResource(`"K": 1`, otherTokenJSON)})
	w.must(w.change(engine.UpdateStack{Template: to}))
	const why = `NotSupported: resources.C: ServiceToken cannot be updated. Keep it, or update the stack with ReplacementOption Enabled: ` +
		`the resource is then deleted and created again`
	w.happened([]string{
		rosUpdateStarted,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_FAILED id=a "` + why + `"`,
		`S ROLLBACK_IN_PROGRESS "Resource UPDATE failed: ` + why + `"`,
		`C UPDATE_COMPLETE id=a`,
		rosRollbackDone,
	})
}

// TestROSReplace checks that ReplacementOption deletes the old resource first.
func TestROSReplace(t *testing.T) {
	from := func(k string) string {
		return rosBody(map[string]string{"C": rosResource(`"K": 1`, ""), "D": rosResource(`"Of": {"Ref": "C"}, "K": `+k, "")})
	}
	to := func(k string) string {
		return rosBody(map[string]string{"C": rosResource(`"K": 1`, otherTokenJSON), "D": rosResource(`"Of": {"Ref": "C"}, "K": `+k, "")})
	}
	replaced := []string{
		rosUpdateStarted,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=a`,
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_COMPLETE id=b`,
		`D UPDATE_IN_PROGRESS id=d`,
	}
	sent := []string{`-> Delete C id=a {"K":1}`, `-> Create C id= {"K":1}`, `-> Update D id=d {"Of":"b","K":2} was {"Of":"a","K":1}`}
	t.Run("succeeds", func(t *testing.T) {
		w := standing(t, engine.Config{}, from("1"), "C=a", "D=d")
		w.must(w.change(engine.UpdateStack{Template: to("2"), Replace: true}))
		old := w.inbox[0]
		w.succeed("C", "a")
		if fresh := w.inbox[0]; old.Body.Token.Text() != rosToken || fresh.Body.Token.Text() != otherToken {
			t.Errorf("the Delete went to %s, the Create to %s", old.Body.Token, fresh.Body.Token)
		}
		w.succeed("C", "b")
		w.succeed("D", "d")
		w.happened(append(replaced[:6:6], `D UPDATE_COMPLETE id=d`, rosUpdateDone), sent...)
	})
	t.Run("is rolled back", func(t *testing.T) {
		w := standing(t, engine.Config{}, from("1"), "C=a", "D=d")
		w.must(w.change(engine.UpdateStack{Template: to("2"), Replace: true}))
		w.succeed("C", "a")
		w.succeed("C", "b")
		id := w.refuses("D", "d", "r")
		w.succeed("C", "b")
		w.succeed("C", "c")
		w.succeed("D", "d")
		why := `CustomResourceFailed: resources.D: r (RequestId: ` + string(id) + `)`
		w.happened(append(replaced[:6:6],
			`D UPDATE_FAILED id=d "`+why+`"`,
			`S ROLLBACK_IN_PROGRESS "Resource UPDATE failed: `+why+`"`,
			`C DELETE_IN_PROGRESS id=b`,
			`C DELETE_COMPLETE id=b`,
			`C CREATE_IN_PROGRESS id=`,
			`C CREATE_COMPLETE id=c`,
			`D UPDATE_IN_PROGRESS id=d`,
			`D UPDATE_COMPLETE id=d`,
			rosRollbackDone,
		), append(sent[:3:3], `-> Delete C id=b {"K":1}`, `-> Create C id= {"K":1}`,
			`-> Update D id=d {"Of":"c","K":1} was {"Of":"b","K":2}`)...)
	})
	t.Run("the Create fails", func(t *testing.T) {
		w := standing(t, engine.Config{}, from("1"), "C=a", "D=d")
		w.must(w.change(engine.UpdateStack{Template: to("1"), Replace: true}))
		w.succeed("C", "a")
		w.refuses("C", "", "r")
		w.answer(w.take("C"), `"Status": "SUCCESS"`)
		w.succeed("C", "c")
		w.succeed("D", "d")
		if status := w.rosStatus(); status != "ROLLBACK_COMPLETE" {
			t.Error(status)
		}
		if diff := cmp.Diff([]string{
			`-> Delete C id=a {"K":1}`, `-> Create C id= {"K":1}`, `-> Delete C id= {"K":1}`, `-> Create C id= {"K":1}`,
			`-> Update D id=d {"Of":"c","K":1} was {"Of":"a","K":1}`,
		}, w.sent); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
	// A failed Delete leaves the resource in an unknown state, so it is deleted again, and then created again.
	t.Run("the Delete fails", func(t *testing.T) {
		w := standing(t, engine.Config{}, from("1"), "C=a", "D=d")
		w.must(w.change(engine.UpdateStack{Template: to("1"), Replace: true}))
		w.refuses("C", "a", "r")
		w.succeed("C", "a")
		w.succeed("C", "c")
		w.succeed("D", "d")
		if status := w.rosStatus(); status != "ROLLBACK_COMPLETE" {
			t.Error(status)
		}
		if diff := cmp.Diff([]string{
			`-> Delete C id=a {"K":1}`, `-> Delete C id=a {"K":1}`, `-> Create C id= {"K":1}`,
			`-> Update D id=d {"Of":"c","K":1} was {"Of":"a","K":1}`,
		}, w.sent); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
	two := func(token, more string) string {
		return rosBody(map[string]string{"C": rosResource("", token), "D": rosResource("", more)})
	}
	t.Run("no request sent yet", func(t *testing.T) {
		w := standing(t, engine.Config{}, two("", ""), "C=a", "D=d")
		w.must(w.change(engine.UpdateStack{Template: two(otherTokenJSON, `, "Size": 1`), Replace: true}))
		const why = "StackValidationFailed: resources.D: Size is not a property of a custom resource, which has ServiceToken, Timeout, Parameters " +
			"and HttpConfig; put the values for its provider under Parameters"
		w.happened([]string{
			rosUpdateStarted,
			`C DELETE_IN_PROGRESS id=a`,
			`D UPDATE_IN_PROGRESS id=d`,
			`D UPDATE_FAILED id=d "` + why + `"`,
			`C UPDATE_FAILED id=a "Cancelled: resources.C: the update was cancelled, because another resource failed or the operation was cancelled"`,
			`S ROLLBACK_IN_PROGRESS "Resource UPDATE failed: ` + why + `"`,
			`C UPDATE_COMPLETE id=a`,
			`D UPDATE_COMPLETE id=d`,
			rosRollbackDone,
		})
	})
	t.Run("the Delete is cancelled", func(t *testing.T) {
		for _, test := range []struct {
			answer string
			sent   []string
		}{
			{success("a"), []string{`-> Create C id= {}`}},
			{`"Status": "FAILED", "Reason": "r"`, []string{`-> Delete C id=a {}`, `-> Create C id= {}`}},
		} {
			w := standing(t, engine.Config{}, rosBody(map[string]string{"C": rosResource("", ""), "D": rosResource(`"K": 1`, "")}), "C=a", "D=d")
			w.must(w.change(engine.UpdateStack{Replace: true, Template: rosBody(map[string]string{
				"C": rosResource("", otherTokenJSON), "D": rosResource(`"K": 2`, ""),
			})}))
			c := w.take("C")
			w.accept(c)
			w.refuses("D", "d", "r")
			w.succeed("D", "d")
			w.sent = nil
			w.must(w.engine.Answer(w.ctx, c.ID, []byte(document(c, test.answer)), 0))
			if len(test.sent) > 1 {
				w.succeed("C", "a")
			}
			w.succeed("C", "c")
			if diff := cmp.Diff(test.sent, w.sent); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if status := w.rosStatus(); status != "ROLLBACK_COMPLETE" {
				t.Error(status)
			}
		}
	})
}

func TestROSTaint(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
	refusedWith(t, w.change(engine.UpdateStack{Template: oneROS(`"K": 1`), Taint: []wire.LogicalID{"X"}}),
		engine.CodeResourceNotFound, "The Resource (X) could not be found in Stack S.")
	w.must(w.change(engine.UpdateStack{Template: oneROS(`"K": 1`), Taint: []wire.LogicalID{"C"}}))
	w.succeed("C", "a")
	w.succeed("C", "b")
	w.happened([]string{
		rosUpdateStarted,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=a`,
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_COMPLETE id=b`,
		rosUpdateDone,
	}, `-> Delete C id=a {"K":1}`, `-> Create C id= {"K":1}`)
}

// TestROSTimeoutAlone checks that a change of only Timeout and HttpConfig is stored for the next request, and that no
// request is sent.
func TestROSTimeoutAlone(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
	w.must(w.change(engine.UpdateStack{Template: rosBody(map[string]string{
		"C": rosResource(`"K": 1`, `, "Timeout": "90", "HttpConfig": {"SignKey": "hush"}`),
	})}))
	w.happened([]string{rosUpdateStarted, rosUpdateDone})
	w.must(w.remove(engine.DeleteStack{}))
	r := w.take("C")
	key, _ := r.Body.HTTPConfig.Get("SignKey")
	if r.Body.Timeout != 90*time.Second || key.Text() != "hush" || !key.Secret() {
		t.Errorf("timeout %s, HttpConfig %s", r.Body.Timeout, r.Body.HTTPConfig.JSON())
	}
}

func TestROSSyncTimesOut(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: rosBody(map[string]string{
		"C": rosResource("", `"ServiceToken": "web[sync]:https://example.com/", "Timeout": 100`),
	}), Options: engine.Options{DisableRollback: true}}))
	r := w.take("C")
	if r.Body.Timeout != 10*time.Second {
		t.Errorf("timeout %s", r.Body.Timeout)
	}
	w.accept(r)
	w.pass(10 * time.Second)
	why := `Timeout: resources.C: the provider did not answer in time (RequestId: ` + string(r.ID) + `)`
	w.happened([]string{
		rosCreateStarted,
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_FAILED id= "` + why + `"`,
		`S CREATE_FAILED "Resource CREATE failed: ` + why + `"`,
	}, `-> Create C id= {}`)
}

// TestROSTimeoutCountsTheSending has a Timeout of 10 s and a provider that needs 6 s to accept the request, which
// leaves it 4 s.
func TestROSTimeoutCountsTheSending(t *testing.T) {
	for took, left := range map[time.Duration]time.Duration{0: 10 * time.Second, 6 * time.Second: 4 * time.Second, 11 * time.Second: 0} {
		w := newROS(t, engine.Config{})
		w.must(w.begin(engine.CreateStack{Template: rosBody(map[string]string{"C": rosResource("", `, "Timeout": 10`)}), Options: engine.Options{DisableRollback: true}}))
		r := w.take("C")
		w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted, Took: took}))
		if left > 0 {
			w.pass(left - time.Millisecond)
			if got := w.rosStatus(); got != "CREATE_IN_PROGRESS" {
				t.Errorf("%s to accept: %s before its time is over", took, got)
			}
		}
		w.pass(time.Millisecond)
		if got := w.rosStatus(); got != "CREATE_FAILED" {
			t.Errorf("%s to accept: %s", took, got)
		}
	}
}

// TestROSUpdateExpires checks that TimeoutInMinutes also applies to updates.
func TestROSUpdateExpires(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
	w.must(w.change(engine.UpdateStack{Template: rosBody(map[string]string{"C": rosResource(`"K": 2`, `, "Timeout": 43200`)}), TimeoutMinutes: 10}))
	r := w.take("C")
	w.accept(r)
	w.pass(10 * time.Minute)
	w.must(w.engine.Answer(w.ctx, r.ID, []byte(document(r, success("a"))), 0))
	w.succeed("C", "a")
	w.happened([]string{
		rosUpdateStarted,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_FAILED id=a "Cancelled: resources.C: the update was cancelled, because another resource failed or the operation was cancelled"`,
		`S ROLLBACK_IN_PROGRESS "Stack UPDATE failed: Timeout: TimeoutInMinutes are over"`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_COMPLETE id=a`,
		rosRollbackDone,
	}, `-> Update C id=a {"K":2} was {"K":1}`, `-> Update C id=a {"K":1} was {"K":2}`)
}

func TestROSRetain(t *testing.T) {
	template := rosBody(map[string]string{"A": rosResource("", ""), "B": rosResource("", "", `"DeletionPolicy": "Retain"`), "C": rosResource("", "")})
	t.Run("by name", func(t *testing.T) {
		w := standing(t, engine.Config{}, template, "A=a", "B=b", "C=c")
		refusedWith(t, w.remove(engine.DeleteStack{Retain: []wire.LogicalID{"X", "Y"}}),
			engine.CodeResourceNotFound, "The Resource (X, Y) could not be found in Stack S.")
		w.must(w.remove(engine.DeleteStack{Retain: []wire.LogicalID{"C"}}))
		w.succeed("A", "a")
		w.happened([]string{
			rosDeleteStarted,
			`A DELETE_IN_PROGRESS id=a`,
			`B DELETE_COMPLETE id=b "retained: its DeletionPolicy keeps it"`,
			`C DELETE_COMPLETE id=c "retained: the delete of the stack retained it on request"`,
			`A DELETE_COMPLETE id=a`,
			rosDeleteDone,
		}, `-> Delete A id=a {}`)
	})
	t.Run("all", func(t *testing.T) {
		w := standing(t, engine.Config{}, template, "A=a", "B=b", "C=c")
		w.must(w.remove(engine.DeleteStack{RetainAll: true}))
		if len(w.inbox) != 0 || w.rosStatus() != "DELETE_COMPLETE" {
			t.Errorf("%d requests, and the stack is %s", len(w.inbox), w.rosStatus())
		}
	})
	t.Run("replaced", func(t *testing.T) {
		kept := func(token string) string {
			return rosBody(map[string]string{"B": rosResource("", token, `"DeletionPolicy": "Retain"`)})
		}
		w := standing(t, engine.Config{}, kept(""), "B=b")
		w.must(w.change(engine.UpdateStack{Template: kept(otherTokenJSON), Replace: true}))
		w.succeed("B", "c")
		w.happened([]string{
			rosUpdateStarted,
			`B DELETE_COMPLETE id=b "retained: its DeletionPolicy keeps it"`,
			`B CREATE_IN_PROGRESS id=`,
			`B CREATE_COMPLETE id=c`,
			rosUpdateDone,
		}, `-> Create B id= {}`)
	})
}

func TestROSContinueCreate(t *testing.T) {
	template := rosBody(map[string]string{
		"A": rosResource("", ""), "B": rosResource(`"Of": {"Ref": "A"}`, ""), "C": rosResource(`"Of": {"Ref": "B"}`, ""),
	})
	failed := func(t *testing.T) *rosWorld {
		t.Helper()
		w := newROS(t, engine.Config{})
		w.must(w.begin(engine.CreateStack{Template: template, Options: engine.Options{DisableRollback: true}}))
		w.succeed("A", "a")
		w.refuses("B", "b", "r")
		if status := w.rosStatus(); status != "CREATE_FAILED" {
			t.Fatal(status)
		}
		rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 1000)
		w.must(err)
		for _, row := range rows {
			w.mark += len(row.Events)
		}
		w.sent = nil
		return w
	}
	goOn := func(w *rosWorld, in engine.ContinueCreate) error {
		in.Stack = w.rosRef()
		_, err := w.engine.ContinueCreate(w.ctx, in)
		return err
	}
	t.Run("recreate", func(t *testing.T) {
		w := failed(t)
		refusedWith(t, w.change(engine.UpdateStack{Template: template}), engine.CodeNotSupported,
			"A stack in status CREATE_FAILED to be updated is not supported. Go on with its creation by ContinueCreateStack, or delete it.")
		w.must(goOn(w, engine.ContinueCreate{}))
		w.succeed("B", "b")
		w.succeed("B", "b2")
		w.succeed("C", "c")
		w.happened([]string{
			rosCreateStarted,
			`B DELETE_IN_PROGRESS id=b`,
			`B DELETE_COMPLETE id=b`,
			`B CREATE_IN_PROGRESS id=`,
			`B CREATE_COMPLETE id=b2`,
			`C CREATE_IN_PROGRESS id=`,
			`C CREATE_COMPLETE id=c`,
			rosCreateDone,
		}, `-> Delete B id=b {"Of":"a"}`, `-> Create B id= {"Of":"a"}`, `-> Create C id= {"Of":"b2"}`)
		refusedWith(t, goOn(w, engine.ContinueCreate{}), engine.CodeNotSupported,
			"ContinueCreateStack of stack S in status CREATE_COMPLETE is not supported: only a creation that failed can be gone on with.")
	})
	t.Run("named", func(t *testing.T) {
		w := failed(t)
		w.must(goOn(w, engine.ContinueCreate{Recreate: []wire.LogicalID{"A"}}))
		w.succeed("A", "a")
		w.succeed("A", "a2")
		w.succeed("B", "b")
		w.refuses("B", "b3", "again")
		if status := w.rosStatus(); status != "CREATE_FAILED" {
			t.Error(status)
		}
		w.must(goOn(w, engine.ContinueCreate{Template: rosBody(map[string]string{"B": rosResource("", "")})}))
		w.succeed("B", "b3")
		w.succeed("B", "b4")
		w.succeed("A", "a2") // the template does not declare it any more
		if diff := cmp.Diff([]string{
			`-> Delete A id=a {}`, `-> Create A id= {}`, `-> Delete B id=b {"Of":"a"}`, `-> Create B id= {"Of":"a2"}`,
			`-> Delete B id=b3 {"Of":"a2"}`, `-> Create B id= {}`, `-> Delete A id=a2 {}`,
		}, w.sent); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if status := w.rosStatus(); status != "CREATE_COMPLETE" {
			t.Error(status)
		}
	})
	t.Run("ignore", func(t *testing.T) {
		w := failed(t)
		w.must(goOn(w, engine.ContinueCreate{Mode: engine.ContinueIgnore}))
		w.happened([]string{rosCreateStarted, `S CREATE_COMPLETE "Stack CREATE completed successfully, without the resources that failed"`})
		w.must(w.remove(engine.DeleteStack{}))
		w.succeed("B", "b")
		w.succeed("A", "a")
		if status := w.rosStatus(); status != "DELETE_COMPLETE" {
			t.Error(status)
		}
	})
}

func TestROSRefusals(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: oneROS(""), TerminationProtection: true, Options: engine.Options{Token: "t"}}))
	first := w.id
	w.must(w.begin(engine.CreateStack{Template: oneROS(""), Options: engine.Options{Token: "t"}})) // the same request
	if w.id != first {
		t.Errorf("the same request made %s and %s", first, w.id)
	}
	refusedWith(t, w.begin(engine.CreateStack{Template: oneROS("")}), engine.CodeStackExists, "The Stack (S) already exists.")
	w.id = first
	const busy = "Stack S already has an action (CREATE) in progress."
	refusedWith(t, w.change(engine.UpdateStack{Template: oneROS("")}), engine.CodeActionInProgress, busy)
	refusedWith(t, w.remove(engine.DeleteStack{}), engine.CodeActionInProgress, busy)
	w.succeed("C", "a")
	refusedWith(t, w.change(engine.UpdateStack{Template: oneROS("")}), engine.CodeNotSupported, "Update the completely same stack is not supported.")
	refusedWith(t, w.change(engine.UpdateStack{Template: oneROS(`"K": 1`), Options: engine.Options{Token: "t"}}), engine.CodeTokenUsed,
		"The ClientToken t was used for another request on stack S.")
	refusedWith(t, w.remove(engine.DeleteStack{}), engine.CodeNotSupported,
		"Delete of stack S with deletion protection is not supported. Disable its protection by SetDeletionProtection first.")
	refusedWith(t, w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.rosRef()}), engine.CodeNotSupported,
		"CancelUpdateStack of stack S in status CREATE_COMPLETE is not supported: only an update can be cancelled, and as long as it changes resources.")
	_, err := w.engine.Protect(w.ctx, w.rosRef(), false)
	w.must(err)
	w.must(w.remove(engine.DeleteStack{}))
	w.succeed("C", "a")
	w.must(w.remove(engine.DeleteStack{})) // it is deleted
	refusedWith(t, w.change(engine.UpdateStack{Template: oneROS("")}), engine.CodeStackNotFound, "The Stack ("+string(w.id)+") could not be found.")
	w.id = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	refusedWith(t, w.remove(engine.DeleteStack{}), engine.CodeStackNotFound, "The Stack ("+string(w.id)+") could not be found.")
	if _, err := w.engine.Find(w.ctx, w.rosRef()); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

// TestROSProperties checks that invalid properties fail the resource, with all problems at once.
func TestROSProperties(t *testing.T) {
	for _, test := range []struct{ name, properties, want string }{
		{"unknown", `, "Size": 1`, "Size is not a property of a custom resource, which has ServiceToken, Timeout, Parameters and HttpConfig; put the values for its provider under Parameters"},
		{"no token", `"ServiceToken": ""`, "ServiceToken must be a string that is not empty"},
		{"long token", `"ServiceToken": "web:https://` + strings.Repeat("x", 510) + `"`, "ServiceToken has 522 bytes, at most 512 are allowed"},
		{"timeout", `, "Timeout": 43201`, `Timeout must be a whole number of seconds from 1 to 43200, got "43201"`},
		{"no number", `, "Timeout": "soon"`, `Timeout must be a whole number of seconds from 1 to 43200, got "soon"`},
		{"content type", `, "HttpConfig": {"ContentType": "text/plain"}`, "HttpConfig.ContentType must be application/json or application/x-www-form-urlencoded"},
		{"key", `, "HttpConfig": {"SignKey": ""}`, "HttpConfig.SignKey must be a string of 1 to 128 characters"},
		{"headers", `, "HttpConfig": {"Headers": {"X-A": 1}}`, "HttpConfig.Headers must be a map of strings, and X-A is none"},
		{"member", `, "HttpConfig": {"Key": "x"}`, "HttpConfig has no Key: it has SignKey, ContentType and Headers"},
		{"two", `, "A": 1, "Timeout": 0`, "A is not a property of a custom resource, which has ServiceToken, Timeout, Parameters and HttpConfig; " +
			"put the values for its provider under Parameters; Timeout must be a whole number of seconds from 1 to 43200, got \"0\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newROS(t, engine.Config{})
			w.must(w.begin(engine.CreateStack{Template: rosBody(map[string]string{"C": rosResource("", test.properties)})}))
			want := "Resource CREATE failed: StackValidationFailed: resources.C: " + test.want
			reason := ""
			rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 100)
			w.must(err)
			for _, row := range rows {
				for _, e := range row.Events {
					if e.Phase == store.PhaseRevert {
						reason = e.Reason
					}
				}
			}
			if diff := cmp.Diff(want, reason); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestROSSecrets checks that a signing key, or a password in a provider's URL, is masked in the provider's texts.
func TestROSSecrets(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{
		Template: rosBody(map[string]string{"C": rosResource("",
			`"ServiceToken": {"Fn::Join": ["", ["web:https://u:", {"Ref": "P"}, "@example.com"]]}, "HttpConfig": {"SignKey": "hush-key"}`)},
			`"Parameters": {"P": {"Type": "String", "NoEcho": true}}`),
		Options: engine.Options{Parameters: []engine.Parameter{{Key: "P", Value: "hush-word"}}, DisableRollback: true},
	}))
	w.refuses("C", "", "no match for hush-key at web:https://u:hush-word@example.com")
	rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 100)
	w.must(err)
	if text := fmt.Sprint(rows, w.row().Reason); w.rosStatus() != "CREATE_FAILED" || strings.Contains(text, "hush") {
		t.Error(text)
	}
}

// TestROSHeadersAreSecrets checks that headers and parameters of calls to a provider's URL are secret by their names.
// They are redacted in whole and in part, also in previews.
func TestROSHeadersAreSecrets(t *testing.T) {
	w := newROS(t, engine.Config{})
	template := func(token string) string {
		return rosBody(map[string]string{"C": rosResource("", `"ServiceToken": "web:https://u:hush-pass@example.com/h?a=b&access_token=hush-query", `+
			`"HttpConfig": {"Headers": {"Authorization": "Bearer `+token+`", "Proxy-Authorization": "Basic dTpodXNoLXdvcmQ=", "X-More": "seen"}}`)})
	}
	w.must(w.begin(engine.CreateStack{Template: template("hush-token"), Options: engine.Options{DisableRollback: true}}))
	r := w.take("C")
	config, _ := r.Body.HTTPConfig.Get("Headers")
	if diff := cmp.Diff(`{"Authorization":"Bearer hush-token","Proxy-Authorization":"Basic dTpodXNoLXdvcmQ=","X-More":"seen"}`, string(config.JSON())); diff != "" {
		t.Error(diff)
	}
	w.inbox = append(w.inbox, r)
	w.refuses("C", "", "no hush-token, no hush-word, no hush-query, no hush-pass, seen")
	rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 100)
	w.must(err)
	if text := fmt.Sprint(rows, w.row().Reason); strings.Contains(text, "hush") || !strings.Contains(text, "seen") {
		t.Error(text)
	}
	preview, err := w.engine.Preview(w.ctx, engine.PreviewStack{
		Stack: engine.Ref{Account: rosAccount, Region: rosRegion, Stack: "T"}, Dialect: engine.ROS, Template: template("hush-token"),
	})
	w.must(err)
	if text := fmt.Sprint(preview.Changes[0].After); strings.Contains(text, "hush-token") || strings.Contains(text, "dTpo") || !strings.Contains(text, "seen") {
		t.Error(text)
	}
}

// TestROSNotificationRecord checks that the audit list has each notification that was not delivered, without the keys
// in its URL.
func TestROSNotificationRecord(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: oneROS(""), Options: engine.Options{
		NotificationARNs: []string{"web:https://u:hush@example.com/robot?access_token=hush"},
	}}))
	w.succeed("C", "c")
	for _, r := range w.inbox {
		w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Refused, Text: "gone, says hush of https://u:hush@example.com"}))
	}
	audit, err := w.store.Audit(w.ctx, w.row().Key, 100)
	w.must(err)
	if len(audit) != 1 || audit[0].Text != "a notification to https://example.com/robot was not delivered: gone, says ***** of https://u:*****@example.com" {
		t.Errorf("%+v", audit)
	}
}

// TestROSAttributes checks that Fn::GetAtt returns all of Data for Outputs, and any JSON value for a key.
func TestROSAttributes(t *testing.T) {
	template := rosBody(map[string]string{
		"C": rosResource("", ""),
		"D": rosResource(`"All": {"Fn::GetAtt": ["C", "Outputs"]}, "N": {"Fn::GetAtt": ["C", "n"]}, "L": {"Fn::GetAtt": ["C", "l"]}`, ""),
	})
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: template}))
	w.answer(w.take("C"), success("a")+`, "Data": {"n": 1.50, "l": [true, {"k": "v"}]}`)
	w.succeed("D", "d")
	if diff := cmp.Diff([]string{
		`-> Create C id= {}`, `-> Create D id= {"All":{"n":1.50,"l":[true,{"k":"v"}]},"N":1.50,"L":[true,{"k":"v"}]}`,
	}, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w.must(w.change(engine.UpdateStack{Template: strings.ReplaceAll(template, `"n"`, `"none"`)}))
	for _, row := range []string{"InvalidTemplateAttribute: resources.D: The Referenced Attribute (C none) is incorrect."} {
		found := false
		rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 100)
		w.must(err)
		for _, r := range rows {
			for _, e := range r.Events {
				found = found || e.Reason == row
			}
		}
		if !found {
			t.Errorf("no event says %s", row)
		}
	}
}

// TestROSParallelism checks that the number of resources in progress stays within the client's limit.
func TestROSParallelism(t *testing.T) {
	resources := map[string]string{}
	for _, id := range []string{"A", "B", "C", "D", "E"} {
		resources[id] = rosResource("", "")
	}
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: rosBody(resources), Options: engine.Options{Parallelism: 2}}))
	for _, id := range []string{"A", "B", "C", "D", "E"} {
		if len(w.inbox) > 2 {
			t.Errorf("%d requests at once", len(w.inbox))
		}
		w.succeed(id, strings.ToLower(id))
	}
	if status := w.rosStatus(); status != "CREATE_COMPLETE" {
		t.Error(status)
	}
	w.must(w.remove(engine.DeleteStack{Parallelism: 1}))
	for _, id := range []string{"A", "B", "C", "D", "E"} {
		if len(w.inbox) != 1 {
			t.Errorf("%d requests at once", len(w.inbox))
		}
		w.succeed(id, strings.ToLower(id))
	}
	if status := w.rosStatus(); status != "DELETE_COMPLETE" {
		t.Error(status)
	}
}

// TestROSExpected checks the resources that have not been started, in a create or update that is in progress or
// failed without a rollback.
func TestROSExpected(t *testing.T) {
	w := newROS(t, engine.Config{})
	expected := func(want ...string) {
		t.Helper()
		list, err := w.engine.Expected(w.ctx, w.row())
		w.must(err)
		var got []string
		for _, i := range list {
			got = append(got, fmt.Sprint(i.Logical, " ", i.Body.Type, " ", engine.ROS.ResourceStatus(i.Verb, i.Progress)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", w.rosStatus(), diff)
		}
	}
	after := func(name string) string { return `"DependsOn": "` + name + `"` }
	first := map[string]string{
		"A": rosResource("", ""), "M": rosResource("", "", after("A"), `"Count": 2`),
		"N": rosResource("", "", `"Condition": "Never"`), "Z": rosResource("", "", after("M")),
	}
	never := `"Conditions": {"Never": {"Fn::Equals": [1, 2]}}`
	w.must(w.begin(engine.CreateStack{Template: rosBody(first, never), Options: engine.Options{DisableRollback: true}}))
	expected("A Custom::Thing CREATE_IN_PROGRESS", "M[0] Custom::Thing INIT_COMPLETE", "M[1] Custom::Thing INIT_COMPLETE", "Z Custom::Thing INIT_COMPLETE")
	w.succeed("A", "a")
	w.succeed("M[0]", "m0")
	w.refuses("M[1]", "", "no room")
	expected("A Custom::Thing CREATE_COMPLETE", "M[0] Custom::Thing CREATE_COMPLETE", "M[1] Custom::Thing CREATE_FAILED", "Z Custom::Thing INIT_COMPLETE")
	w.must(w.remove(engine.DeleteStack{}))
	list, err := w.engine.Expected(w.ctx, w.row())
	w.must(err)
	for _, i := range list { // a resource that never existed is not deleted
		if i.Logical == "Z" {
			t.Errorf("%s is among those of a delete", i.Logical)
		}
	}

	w = standing(t, engine.Config{}, rosBody(map[string]string{"A": rosResource(`"K": 1`, ""), "Gone": rosResource("", "")}), "A=a", "Gone=g")
	w.must(w.change(engine.UpdateStack{Template: rosBody(map[string]string{"A": rosResource(`"K": 2`, ""), "New": rosResource("", "", after("A"))})}))
	expected("A Custom::Thing UPDATE_IN_PROGRESS", "Gone Custom::Thing CREATE_COMPLETE", "New Custom::Thing INIT_COMPLETE")
	w.refuses("A", "a", "not now")
	expected("A Custom::Thing UPDATE_IN_PROGRESS", "Gone Custom::Thing CREATE_COMPLETE") // rolling back, without New
	w.succeed("A", "a")
	expected("A Custom::Thing UPDATE_COMPLETE", "Gone Custom::Thing CREATE_COMPLETE")
}
