package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// The tests in this file are transcripts of the real service. docs/protocol.md describes where a history differs from
// the real one.

func one(properties string) string { return body(map[string]string{"C": resource(properties)}) }

var createdC = []string{
	`S CREATE_IN_PROGRESS "User Initiated"`,
	`C CREATE_IN_PROGRESS id=`,
	`C CREATE_IN_PROGRESS id=a "Resource creation Initiated"`,
	`C CREATE_COMPLETE id=a`,
	`S CREATE_COMPLETE`,
}

// created returns a world with a complete stack of a template, whose resources have the given IDs.
func created(t *testing.T, template string, ids ...string) *world {
	t.Helper()
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(template))
	for _, pair := range ids {
		logical, id, _ := strings.Cut(pair, "=")
		w.succeed(logical, id)
	}
	if w.status() != "CREATE_COMPLETE" {
		t.Fatalf("the stack is not created:\n%s", w.history())
	}
	w.sent = nil
	return w
}

func TestTranscriptA(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one(`"N": 10000000, "L": [1.0, true]`)))
	w.succeed("C", "a")
	w.want(0, createdC, `-> Create C id= {"N":"10000000","L":["1.0","true"]}`)
}

func TestTranscriptB(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one(`"K": "v"`)))
	r := w.take("C")
	w.answer(r, `"Status": "FAILED", "PhysicalResourceId": "a", "Reason": "r"`)
	w.succeed("C", "a")
	w.want(0, []string{
		`S CREATE_IN_PROGRESS "User Initiated"`,
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_FAILED id=a "Received response status [FAILED] from custom resource. Message returned: r (RequestId: ` + string(r.ID) + `)"`,
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [C]. Rollback requested by user."`,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=a`,
		`S ROLLBACK_COMPLETE`,
	}, `-> Create C id= {"K":"v"}`, `-> Delete C id=a {"K":"v"}`)
}

// TestTranscriptC checks that the answer to the running Create has the ID for the Delete. The real service sends the
// Delete with a generated ID, and leaks the resource.
func TestTranscriptC(t *testing.T) {
	template := body(map[string]string{"C": resource(""), "X": resource("")})
	failed := []string{
		`S CREATE_IN_PROGRESS "User Initiated"`,
		`C CREATE_IN_PROGRESS id=`,
		`X CREATE_IN_PROGRESS id=`,
		`X CREATE_FAILED id=x "Received response status [FAILED] from custom resource. Message returned: r (RequestId: Q)"`,
		`C CREATE_FAILED id=GENERATED "Resource creation cancelled"`,
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [X, C]. Rollback requested by user."`,
	}
	for _, test := range []struct {
		fidelity engine.Fidelity
		deleted  string
	}{{engine.FidelityPintle, "real"}, {engine.FidelityAWS, "GENERATED"}} {
		t.Run(string(test.fidelity), func(t *testing.T) {
			w := newWorld(t, test.fidelity)
			w.must(w.create(template))
			c, x := w.take("C"), w.take("X")
			w.accept(c)
			w.answer(x, `"Status": "FAILED", "PhysicalResourceId": "x", "Reason": "r"`)
			var generated string
			for _, line := range w.events() {
				if strings.Contains(line, "cancelled") {
					generated, _, _ = strings.Cut(strings.TrimPrefix(line, "C CREATE_FAILED id="), " ")
				}
			}
			if !strings.HasPrefix(generated, "S-C-") || len(generated) != len("S-C-")+12 {
				t.Errorf("generated id %q", generated)
			}
			w.succeed("X", "x")
			if test.fidelity == engine.FidelityPintle {
				if len(w.inbox) != 0 {
					t.Error("the Delete did not wait for the Create's answer")
				}
				w.answer(c, success("real"))
				w.succeed("C", "real")
			} else {
				w.succeed("C", "x")
				w.answer(c, success("real")) // dropped
			}
			var got []string
			for _, line := range w.events() {
				line = strings.ReplaceAll(line, generated, "GENERATED")
				got = append(got, strings.ReplaceAll(line, string(x.ID)+")", "Q)"))
			}
			if diff := cmp.Diff(failed, got[:6]); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if last := got[len(got)-2:]; last[0] != "C DELETE_COMPLETE id="+test.deleted || last[1] != "S ROLLBACK_COMPLETE" {
				t.Errorf("the last events are %q", last)
			}
		})
	}
}

func TestTranscriptD(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	w.must(w.update(one(`"K": "w"`)))
	w.succeed("C", "a")
	w.want(len(createdC), []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_COMPLETE id=a`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_COMPLETE`,
	}, `-> Update C id=a {"K":"w"} was {"K":"v"}`)
}

var replacedC = []string{
	`S UPDATE_IN_PROGRESS "User Initiated"`,
	`C UPDATE_IN_PROGRESS id=a`,
	`C UPDATE_IN_PROGRESS id=b "Requested update required the provider to create a new physical resource"`,
	`C UPDATE_COMPLETE id=b`,
}

func TestTranscriptE(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	w.must(w.update(one(`"K": "w"`)))
	w.succeed("C", "b")
	w.succeed("C", "a")
	w.want(len(createdC), append(replacedC[:4:4],
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=a`,
		`S UPDATE_COMPLETE`,
	), `-> Update C id=a {"K":"w"} was {"K":"v"}`, `-> Delete C id=a {"K":"v"}`)
}

func TestTranscriptEReachesDependants(t *testing.T) {
	template := func(k string) string {
		return body(map[string]string{
			"C": resource(`"K": "` + k + `"`),
			"D": resource(`"Of": {"Ref": "C"}`),
			"E": resource(`"Same": {"Fn::GetAtt": ["C", "att"]}`),
		})
	}
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(template("v")))
	data := `, "Data": {"att": 7}`
	w.answer(w.take("C"), success("a")+data)
	w.succeed("D", "d")
	w.succeed("E", "e")
	w.sent = nil
	n := len(w.events())
	w.must(w.update(template("w")))
	w.answer(w.take("C"), success("b")+data)
	w.succeed("D", "d") // E gets no request, because the attribute that it reads has not changed
	w.succeed("C", "a")
	w.want(n, append(replacedC[:4:4],
		`D UPDATE_IN_PROGRESS id=d`,
		`D UPDATE_COMPLETE id=d`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=a`,
		`S UPDATE_COMPLETE`,
	), `-> Update C id=a {"K":"w"} was {"K":"v"}`, `-> Update D id=d {"Of":"b"} was {"Of":"a"}`, `-> Delete C id=a {"K":"v"}`)
}

func TestTranscriptF(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	w.must(w.update(one(`"K": "w"`)))
	w.succeed("C", "b")
	for range 3 {
		w.fail("C", "a", "r")
		w.pass(time.Minute)
	}
	got := w.events()[len(createdC)+5:]
	deletes := 0
	for _, line := range got[:len(got)-1] {
		if strings.HasPrefix(line, `C DELETE_FAILED id=a "Received response status [FAILED]`) {
			deletes++
		}
	}
	if deletes != 3 {
		t.Errorf("%d failed Deletes, want 3:\n%s", deletes, strings.Join(got, "\n"))
	}
	if last := got[len(got)-1]; last != `S UPDATE_COMPLETE "Update successful. One or more resources could not be deleted."` {
		t.Errorf("last event %s", last)
	}
	instances, err := w.store.Instances(w.ctx, w.stack().Key)
	w.must(err)
	if i := instances[0]; i.Role != store.RoleOrphan || i.PhysicalID != "a" {
		t.Errorf("the resource that could not be deleted is %s %s, want the orphan a", i.Role, i.PhysicalID)
	}
	if len(w.inbox) > 0 {
		t.Errorf("a fourth try: %s", sentLine(w.inbox[0]))
	}
}

func TestTranscriptG(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	w.must(w.update(one(`"K": "w"`)))
	r := w.take("C")
	w.answer(r, `"Status": "FAILED", "PhysicalResourceId": "a", "Reason": "r"`)
	w.succeed("C", "a")
	w.want(len(createdC), []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_FAILED id=a "Received response status [FAILED] from custom resource. Message returned: r (RequestId: ` + string(r.ID) + `)"`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [C]."`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_COMPLETE id=a`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	}, `-> Update C id=a {"K":"w"} was {"K":"v"}`, `-> Update C id=a {"K":"v"} was {"K":"w"}`)
	w.must(w.update(one(`"K": "x"`))) // the stack can be updated again, from its old state
	w.succeed("C", "a")
	if last := w.sent[len(w.sent)-1]; last != `-> Update C id=a {"K":"x"} was {"K":"v"}` {
		t.Errorf("the next update sent %s", last)
	}
}

// transcriptH returns the world after the rollback has failed.
func transcriptH(t *testing.T) *world {
	t.Helper()
	w := created(t, one(`"K": "v"`), "C=a")
	w.must(w.update(one(`"K": "w"`)))
	first, second := w.refuse("C", "a"), w.refuse("C", "a")
	failed := []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_FAILED id=a ` + first,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [C]."`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_FAILED id=a ` + second,
		`S UPDATE_ROLLBACK_FAILED "The following resource(s) failed to update: [C]."`,
	}
	sent := []string{`-> Update C id=a {"K":"w"} was {"K":"v"}`, `-> Update C id=a {"K":"v"} was {"K":"w"}`}
	w.want(len(createdC), failed, sent...)
	return w
}

func TestTranscriptH(t *testing.T) {
	again := []string{`S UPDATE_ROLLBACK_IN_PROGRESS "User Initiated"`}
	done := []string{`C UPDATE_COMPLETE id=a`, `S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_ROLLBACK_COMPLETE`}
	for name, in := range map[string]engine.ContinueRollback{
		"skipped": {Skip: []wire.LogicalID{"C"}}, "forced": {Force: true}, "tried again": {},
	} {
		t.Run(name, func(t *testing.T) {
			w := transcriptH(t)
			n, sent, events := len(w.events()), len(w.sent), slices.Concat(again, done)
			w.must(w.continueRollback(in))
			if name == "tried again" {
				w.succeed("C", "a")
				events = slices.Concat(again, []string{`C UPDATE_IN_PROGRESS id=a`}, done)
				if last := w.sent[len(w.sent)-1]; last != `-> Update C id=a {"K":"v"} was {"K":"w"}` {
					t.Errorf("sent %s", last)
				}
			} else if len(w.sent) != sent {
				t.Errorf("sent %s", w.sent[sent:])
			}
			w.want(n, events)
			w.must(w.update(one(`"K": "x"`))) // it has its old state, as far as the stack knows
			w.succeed("C", "a")
			if last := w.sent[len(w.sent)-1]; last != `-> Update C id=a {"K":"x"} was {"K":"v"}` {
				t.Errorf("the next update sent %s", last)
			}
		})
	}
}

func TestTranscriptHDeleted(t *testing.T) {
	w := transcriptH(t)
	w.delete()
	w.succeed("C", "a")
	if w.status() != "DELETE_COMPLETE" {
		t.Errorf("status %s:\n%s", w.status(), w.history())
	}
}

func TestTranscriptI(t *testing.T) {
	for _, test := range []struct{ policy, event string }{
		{`"DeletionPolicy": "Delete"`, ``},
		{`"DeletionPolicy": "Retain"`, `C DELETE_SKIPPED id=a`},
		{`"DeletionPolicy": "RetainExceptOnCreate"`, `C DELETE_SKIPPED id=a`},
	} {
		w := created(t, body(map[string]string{"C": resource("", test.policy), "K": resource("")}), "C=a", "K=k")
		n := len(w.events())
		w.must(w.update(body(map[string]string{"K": resource("")})))
		events := []string{`S UPDATE_IN_PROGRESS "User Initiated"`, `S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`}
		if test.event != "" {
			events = append(events, test.event)
		} else {
			w.succeed("C", "a")
			events = append(events, `C DELETE_IN_PROGRESS id=a`, `C DELETE_COMPLETE id=a`)
		}
		w.want(n, append(events, `S UPDATE_COMPLETE`))
	}
}

func TestTranscriptJ(t *testing.T) {
	w := created(t, one(""), "C=a")
	w.delete()
	reason := w.refuse("C", "a")
	w.want(len(createdC), []string{
		`S DELETE_IN_PROGRESS "User Initiated"`,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_FAILED id=a ` + reason,
		`S DELETE_FAILED "The following resource(s) failed to delete: [C]. "`,
	}, `-> Delete C id=a {}`)
	n := len(w.events())
	w.must(w.deleteStack(engine.DeleteStack{Retain: []wire.LogicalID{"C"}}))
	w.want(n, []string{
		`S DELETE_IN_PROGRESS "User Initiated"`,
		`C DELETE_SKIPPED id=a`,
		`S DELETE_COMPLETE`,
	}, `-> Delete C id=a {}`)
	if w.stack().Live {
		t.Error("the stack is deleted and lives")
	}
}

func TestTranscriptK(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one(`"ServiceTimeout": 2`)))
	r := w.take("C")
	w.accept(r)
	w.pass(time.Second)
	if w.status() != "CREATE_IN_PROGRESS" {
		t.Fatalf("a second before its time the stack is %s", w.status())
	}
	w.pass(time.Second)
	del := w.take("C")
	w.accept(del)
	w.pass(2 * time.Second)
	id := string(del.Body.PhysicalID)
	silence := func(q store.Request) string {
		return `"CloudFormation did not receive a response from your Custom Resource. Please check your logs for requestId [` +
			string(q.ID) + `]. If you are using the Python cfn-response module, you may need to update your Lambda function code ` +
			`so that CloudFormation can attach the updated version."`
	}
	w.want(0, []string{
		`S CREATE_IN_PROGRESS "User Initiated"`,
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_FAILED id=` + id + ` ` + silence(r),
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [C]. Rollback requested by user."`,
		`C DELETE_IN_PROGRESS id=` + id,
		`C DELETE_FAILED id=` + id + ` ` + silence(del),
		`S ROLLBACK_FAILED "The following resource(s) failed to delete: [C]. "`,
	}, `-> Create C id= {"ServiceTimeout":"2"}`, `-> Delete C id=`+id+` {"ServiceTimeout":"2"}`)
	if !strings.HasPrefix(id, "S-C-") {
		t.Errorf("invented id %q", id)
	}
	w.must(w.engine.Answer(w.ctx, r.ID, []byte(document(r, success("late"))), 0))
	audit, err := w.store.Audit(w.ctx, w.stack().Key, 10)
	w.must(err)
	if len(audit) != 1 || !strings.Contains(audit[0].Text, `SUCCESS, physical id "late"`) {
		t.Errorf("the late answer left %v in the audit", audit)
	}
}

func TestTranscriptL(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"C": resource(""), "X": resource(`"P": {"Fn::GetAtt": ["C", "K"]}`)})))
	r := w.take("C")
	w.answer(r, success("a"))
	w.succeed("C", "a")
	w.want(0, []string{
		`S CREATE_IN_PROGRESS "User Initiated"`,
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_IN_PROGRESS id=a "Resource creation Initiated"`,
		`C CREATE_COMPLETE id=a`,
		`X CREATE_IN_PROGRESS id=`,
		`X CREATE_FAILED id= "CustomResource attribute error: Vendor response doesn't contain K attribute in object ` +
			string(w.stack().ID) + `|C|` + string(r.ID) + `"`,
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [X]. Rollback requested by user."`,
		`X DELETE_COMPLETE id=`,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=a`,
		`S ROLLBACK_COMPLETE`,
	})
}

func TestTranscriptM(t *testing.T) {
	w := created(t, one(""), "C=a")
	w.must(w.update(strings.ReplaceAll(one(""), "CRTest", "Other")))
	w.want(len(createdC), []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_FAILED id=a "Modifying service token is not allowed."`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [C]."`,
		`C UPDATE_COMPLETE id=a`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_ROLLBACK_COMPLETE`,
	})
}
