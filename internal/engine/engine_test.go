package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

func wantCode(t *testing.T, err error, code engine.Code, message string) {
	t.Helper()
	input, ok := engine.InputError(err)
	if !ok || input.Code != code || !strings.Contains(input.Message, message) {
		t.Errorf("got %v, want %s %q", err, code, message)
	}
}

// TestFailedUpdateWithAnotherID checks that a failed Update with another ID changes the ID of the resource for the
// rollback.
func TestFailedUpdateWithAnotherID(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=a")
	w.must(w.update(one(`"K": "w"`)))
	w.fail("C", "b", "half way")
	w.succeed("C", "a") // the rollback Update, answered with the old ID: b is the loser
	w.succeed("C", "b")
	want := []string{
		`-> Update C id=a {"K":"w"} was {"K":"v"}`,
		`-> Update C id=b {"K":"v"} was {"K":"w"}`,
		`-> Delete C id=b {"K":"w"}`,
	}
	w.want(len(w.events()), []string{}, want...)
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("status %s:\n%s", w.status(), w.history())
	}
}

// TestReplacementIsRolledBack checks that the clean-up of a rollback deletes the new instance and never the old one.
func TestReplacementIsRolledBack(t *testing.T) {
	template := func(k string) string {
		return body(map[string]string{"C": resource(`"K": "` + k + `"`), "X": resource(`"K": "`+k+`"`, `"DependsOn": "C"`)})
	}
	w := created(t, template("v"), "C=a", "X=x")
	w.must(w.update(template("w")))
	w.succeed("C", "b")
	w.fail("X", "x", "r")
	w.succeed("C", "a") // sent to b, answered with a
	w.succeed("X", "x")
	w.succeed("C", "b")
	want := []string{
		`-> Update C id=a {"K":"w"} was {"K":"v"}`,
		`-> Update X id=x {"K":"w"} was {"K":"v"}`,
		`-> Update C id=b {"K":"v"} was {"K":"w"}`,
		`-> Update X id=x {"K":"v"} was {"K":"w"}`,
		`-> Delete C id=b {"K":"w"}`,
	}
	w.want(len(w.events()), []string{}, want...)
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("status %s:\n%s", w.status(), w.history())
	}
}

func TestDeletesGoAgainstTheDependencies(t *testing.T) {
	w := created(t, body(map[string]string{
		"A": resource(""), "B": resource(`"R": {"Ref": "A"}`), "C": resource("", `"DependsOn": ["A", "B"]`), "D": resource(""),
	}), "A=a", "D=d", "B=b", "C=c")
	w.delete()
	w.succeed("C", "c")
	w.succeed("B", "b")
	w.succeed("A", "a")
	w.succeed("D", "d")
	if w.status() != "DELETE_COMPLETE" {
		t.Errorf("status %s:\n%s", w.status(), w.history())
	}
	w.must(w.create(one(""))) // the name is free at once
}

// TestRefusedCreateNeedsNoDelete checks that a resource whose Create never reached the provider is not deleted.
func TestRefusedCreateNeedsNoDelete(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	w.must(w.engine.Report(w.ctx, w.take("C").ID, engine.Outcome{Kind: engine.Refused, Text: "no such function"}))
	w.want(1, []string{
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_FAILED id= "no such function"`,
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [C]. Rollback requested by user."`,
		`C DELETE_COMPLETE id=`,
		`S ROLLBACK_COMPLETE`,
	})
}

func TestDeadProviderReasonHasLastLines(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	r := w.take("C")
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{
		Kind: engine.Died, Text: "provider CRTest exited with status 3", Log: []string{"one", "two"}, Delivered: true,
	}))
	w.take("C")
	w.want(2, []string{
		`C CREATE_FAILED id=` + string(deletedID(t, w)) + ` "provider CRTest exited with status 3\nLast lines of its log:\none\ntwo"`,
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [C]. Rollback requested by user."`,
		`C DELETE_IN_PROGRESS id=` + string(deletedID(t, w)),
	})
}

func deletedID(t *testing.T, w *world) wire.PhysicalID {
	t.Helper()
	instances, err := w.store.Instances(w.ctx, w.stack().Key)
	w.must(err)
	return instances[0].PhysicalID
}

func TestInvalidAnswers(t *testing.T) {
	for _, test := range []struct{ name, members, aws, more string }{
		{"no id", `"Status": "SUCCESS", "Reason": "why"`, "Invalid PhysicalResourceId", "why"},
		{"too long", success("a") + `, "Pad": "` + strings.Repeat("x", 5000) + `"`, "Response object is too long.", "bytes"},
		{"status", `"Status": "DONE", "PhysicalResourceId": "a"`, "Invalid Response object: 'DONE' is not a valid ResponseStatus", ""},
	} {
		for _, fidelity := range []engine.Fidelity{engine.FidelityAWS, engine.FidelityPintle} {
			w := newWorld(t, fidelity)
			w.must(w.create(one("")))
			w.answer(w.take("C"), test.members)
			reason := ""
			for _, line := range w.events() {
				if strings.HasPrefix(line, "C CREATE_FAILED") {
					_, reason, _ = strings.Cut(line, ` "`)
					reason = strings.TrimSuffix(reason, `"`)
				}
			}
			if !strings.HasPrefix(reason, test.aws) {
				t.Errorf("%s, %s: reason %q does not begin with %q", test.name, fidelity, reason, test.aws)
			}
			if fidelity == engine.FidelityAWS && reason != test.aws {
				t.Errorf("%s, %s: reason %q, want %q", test.name, fidelity, reason, test.aws)
			}
			if fidelity == engine.FidelityPintle && !strings.Contains(reason, test.more) {
				t.Errorf("%s, %s: reason %q does not hold %q", test.name, fidelity, reason, test.more)
			}
		}
	}
}

func TestAnswersCountOnce(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	r := w.take("C")
	w.answer(r, success("a"))
	n := len(w.events())
	w.must(w.engine.Answer(w.ctx, r.ID, []byte(document(r, success("b"))), 0))
	w.must(w.engine.Answer(w.ctx, r.ID, []byte("rubbish"), 0))
	w.want(n, []string{})
	audit, err := w.store.Audit(w.ctx, w.stack().Key, 10)
	w.must(err)
	if len(audit) != 2 {
		t.Errorf("%d entries in the audit, want 2", len(audit))
	}
	for range 30 {
		w.must(w.engine.Answer(w.ctx, r.ID, []byte("rubbish"), 0))
	}
	if audit, err = w.store.Audit(w.ctx, w.stack().Key, 100); err != nil || len(audit) != 10 {
		t.Errorf("%d entries in the audit after many more, want 10; %v", len(audit), err)
	}
	if err := w.engine.Answer(w.ctx, "never", nil, 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an answer to a request that never was: %v, want ErrNotFound", err)
	}
}

// TestAnswerBeforeAccepted checks that an answer is accepted even if it arrives before the report of the delivery.
func TestAnswerBeforeAccepted(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	r := w.take("C")
	w.must(w.engine.Answer(w.ctx, r.ID, []byte(document(r, success("a"))), 0))
	w.accept(r)
	w.pass(2 * time.Hour)
	w.want(0, createdC)
}

func TestSecretsAreMasked(t *testing.T) {
	const secret = "correct horse"
	template := body(map[string]string{
		"C": resource(`"Password": {"Ref": "P"}, "Joined": {"Fn::Sub": "pw=${P}"}`),
		"D": resource(`"From": {"Fn::GetAtt": ["C", "key"]}`),
	}, `"Parameters": {"P": {"Type": "String", "NoEcho": true}}`,
		`"Outputs": {"K": {"Value": {"Fn::GetAtt": ["C", "key"]}}, "P": {"Value": {"Ref": "P"}}}`)
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(template, engine.Parameter{Key: "P", Value: secret}))
	r := w.take("C")
	if got, _ := r.Body.Properties.Get("Joined"); got.Text() != "pw="+secret {
		t.Errorf("the provider was sent %q", got.Text())
	}
	w.answer(r, success("a")+`, "NoEcho": true, "Data": {"key": "battery staple"}`)
	d := w.take("D")
	if got, _ := d.Body.Properties.Get("From"); got.Text() != "battery staple" {
		t.Errorf("the provider was sent %q", got.Text())
	}
	w.answer(d, `"Status": "FAILED", "PhysicalResourceId": "d", "Reason": "key battery staple is no good, nor is correct horse"`)
	if got := w.properties("C")["Password"]; got != "****" {
		t.Errorf("Password is shown as %q, want ****", got)
	}
	if got := w.properties("D")["From"]; got != "*****" {
		t.Errorf("From is shown as %q, want *****", got)
	}
	if all := w.history() + fmt.Sprint(w.properties("C"), w.properties("D")); strings.Contains(all, secret) || strings.Contains(all, "battery staple") {
		t.Errorf("a secret is shown:\n%s", all)
	}
	if !strings.Contains(w.history(), "key ***** is no good") {
		t.Errorf("the reason lost more than the secret:\n%s", w.history())
	}
}

func TestTokens(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	in := engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: one(""), Options: engine.Options{Token: "t1"},
	}
	first, err := w.engine.Create(w.ctx, in)
	w.must(err)
	again, err := w.engine.Create(w.ctx, in)
	w.must(err)
	if first != again {
		t.Errorf("the same request with the same token began %v and %v", first, again)
	}
	in.Token = "t2"
	_, err = w.engine.Create(w.ctx, in)
	wantCode(t, err, engine.CodeAlreadyExists, "Stack [S] already exists")
	w.succeed("C", "a")
	_, err = w.engine.Delete(w.ctx, engine.DeleteStack{Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Token: "t1"})
	wantCode(t, err, engine.CodeTokenAlreadyExists, "t1")
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	wantCode(t, w.update(one("")), engine.CodeValidation, "Stack [S] does not exist")
	wantCode(t, w.create(`{"Resources": {}}`), engine.CodeValidation, "At least one Resources member must be defined.")
	wantCode(t, w.create(strings.ReplaceAll(one(""), "Custom::Thing", "AWS::S3::Bucket")), engine.CodeValidation,
		"Template format error: Unrecognized resource types: [AWS::S3::Bucket]")
	wantCode(t, w.create(body(map[string]string{"A": resource("", `"DependsOn": "B"`), "B": resource("", `"DependsOn": "A"`)})),
		engine.CodeValidation, "Circular dependency between resources: [A, B]")
	w.must(w.create(one("")))
	wantCode(t, w.update(one(`"K": 1`)), engine.CodeValidation, "is in CREATE_IN_PROGRESS state and can not be updated.")
	w.succeed("C", "a")
	wantCode(t, w.update(one("")), engine.CodeValidation, "No updates are to be performed.")
	wantCode(t, w.update(strings.ReplaceAll(one(""), "Custom::Thing", "Custom::Other")), engine.CodeValidation,
		"Update of resource type is not permitted")
	wantCode(t, w.update(body(map[string]string{"C": resource("", `"DeletionPolicy": "Retain"`)})), engine.CodeValidation,
		"No updates are to be performed.") // a policy alone is not a change
	w.must(w.update(body(map[string]string{"C": resource("")}, `"Outputs": {"O": {"Value": {"Ref": "C"}}}`)))
	if w.status() != "UPDATE_COMPLETE" {
		t.Errorf("an update of the outputs alone left the stack in %s", w.status())
	}
}

func TestMissingServiceToken(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(`{"Resources": {"C": {"Type": "Custom::Thing", "Properties": {"ServiceTimeout": 5}}, "D": {"Type": "Custom::Thing",
		"Properties": {"ServiceToken": "` + token + `", "ServiceTimeout": 3601}}}}`))
	if got := w.history(); !strings.Contains(got, "C CREATE_FAILED id= \"Value of property ServiceToken") || w.status() != "ROLLBACK_COMPLETE" {
		t.Errorf("%s", got)
	}
}

func TestDisableRollback(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name:     store.StackName{Account: account, Region: region, Name: "S"},
		Template: body(map[string]string{"C": resource(""), "X": resource("")}), Options: engine.Options{DisableRollback: true},
	})
	w.must(err)
	w.fail("X", "x", "r")
	w.succeed("C", "a") // it is not cancelled, because resources that can succeed do
	if got := w.events(); got[len(got)-1] != `S CREATE_FAILED "The following resource(s) failed to create: [X]. "` {
		t.Errorf("last event %s", got[len(got)-1])
	}
}

func TestOutputsThatFailRollBack(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"C": resource("")}, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["C", "none"]}}}`)))
	w.succeed("C", "a")
	w.succeed("C", "a")
	if got := w.history(); !strings.Contains(got, `S ROLLBACK_IN_PROGRESS "CustomResource attribute error: Vendor response doesn't contain none attribute`) ||
		w.status() != "ROLLBACK_COMPLETE" {
		t.Errorf("%s", got)
	}
}

func TestResourcesShown(t *testing.T) {
	w := created(t, body(map[string]string{"C": resource(`"K": 1`), "D": resource("")}), "C=a", "D=d")
	w.must(w.update(one(`"K": 2`)))
	w.succeed("C", "b")
	for w.status() != "UPDATE_COMPLETE" {
		r := w.inbox[0]
		w.succeed(string(r.Logical), string(r.Body.PhysicalID))
	}
	shown := func() string {
		list, err := w.engine.Resources(w.ctx, w.stack())
		w.must(err)
		text := ""
		for _, i := range list {
			text += fmt.Sprintf("%s %s %s; ", i.Logical, i.PhysicalID, engine.CloudFormation.ResourceStatus(i.Verb, i.Progress))
		}
		return text
	}
	if got := shown(); got != "C b UPDATE_COMPLETE; " {
		t.Errorf("after the update: %s", got)
	}
	w.delete()
	w.succeed("C", "b")
	if got := shown(); got != "C b DELETE_COMPLETE; " {
		t.Errorf("after the delete: %s", got)
	}
}

// TestRunFiresTimeouts checks that Run fires a timeout on its own, and stops when its context ends.
func TestRunFiresTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var sent []store.Request
		e, err := engine.Open(t.Context(), engine.Config{Store: db, Alone: true, Dispatch: func(ready []store.Request) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, ready...)
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		started, err := e.Create(ctx, engine.CreateStack{
			Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: one(`"ServiceTimeout": 2`),
		})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for i := range 2 { // the Create, then the Delete
			synctest.Wait()
			mu.Lock()
			r := sent[i]
			mu.Unlock()
			if err := e.Report(ctx, r.ID, engine.Outcome{Kind: engine.Accepted}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2*time.Second + time.Millisecond) // of synctest's clock
		}
		synctest.Wait()
		stack, err := e.Find(ctx, engine.Ref{Account: account, Region: region, Stack: string(started.StackID)})
		if err != nil {
			t.Fatal(err)
		}
		if status := engine.CloudFormation.StackStatus(stack.Kind, stack.Phase); status != "ROLLBACK_FAILED" {
			t.Errorf("after %v the stack is %s", time.Since(begun), status)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestTruncatedAnswerReportsFullLength checks that the reason has the full length of a document that was only read in part.
func TestTruncatedAnswerReportsFullLength(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	w.must(w.engine.Answer(w.ctx, w.take("C").ID, []byte(strings.Repeat("x", wire.MaxResponse+1)), 5123))
	if !strings.Contains(w.history(), "Response object is too long. The response has 5123 bytes, 4096 are allowed.") {
		t.Errorf("the reason does not have the length:\n%s", w.history())
	}
}

func TestMismatches(t *testing.T) {
	const taken = "; Pintle accepted it, because the response URL identifies the request"
	own := func(r store.Request) (stack, request string) { return string(r.Body.StackID), string(r.ID) }
	fields := func(stack, request, logical, rest string) string {
		return fmt.Sprintf(`{"StackId": %q, "RequestId": %q, "LogicalResourceId": %q, %s}`, stack, request, logical, rest)
	}
	for _, test := range []struct {
		name   string
		answer func(r store.Request) string // the answer to the Create; nil is a valid one
		delete string                       // the ID in the answer to the Delete; empty for none
		want   func(r store.Request) string
	}{
		{"none", nil, "", nil},
		{"StackId", func(r store.Request) string { _, id := own(r); return fields("other", id, "C", success("a")) }, "",
			func(r store.Request) string {
				return fmt.Sprintf(`the answer has StackId "other" instead of %q`, r.Body.StackID)
			}},
		{"RequestId", func(r store.Request) string { stack, _ := own(r); return fields(stack, "other", "C", success("a")) }, "",
			func(r store.Request) string {
				return fmt.Sprintf(`the answer has RequestId "other" instead of %q`, r.ID)
			}},
		{"LogicalResourceId", func(r store.Request) string { stack, id := own(r); return fields(stack, id, "D", success("a")) }, "",
			func(store.Request) string { return `the answer has LogicalResourceId "D" instead of "C"` }},
		{"no IDs", func(store.Request) string { return "{" + success("a") + "}" }, "",
			func(store.Request) string { return "the answer has no StackId, no RequestId, no LogicalResourceId" }},
		{"a failure", func(r store.Request) string {
			stack, id := own(r)
			return fields(stack, id, "D", `"Status": "FAILED", "PhysicalResourceId": "a", "Reason": "no"`)
		}, "", func(store.Request) string { return `the answer has LogicalResourceId "D" instead of "C"` }},
		{"long, with control characters", func(r store.Request) string {
			stack, id := own(r)
			return fmt.Sprintf(`{"StackId": %q, "RequestId": %q, "LogicalResourceId": "\u001b[31m%s", %s}`, stack, id, strings.Repeat("x", 500), success("a"))
		}, "", func(store.Request) string {
			return `the answer has LogicalResourceId "[31m` + strings.Repeat("x", 96) + `…" instead of "C"`
		}},
		{"a response URL and a secret", func(r store.Request) string {
			stack, id := own(r)
			return fields(stack, id, "https://x.example/?X-Amz-Signature=0123456789abcdef hush-hush", success("a")+
				`, "NoEcho": true, "Data": {"k": "hush-hush"}`)
		}, "", func(store.Request) string {
			return `the answer has LogicalResourceId "https://x.example/?X-Amz-Signature=REDACTED *****" instead of "C"`
		}},
		{"the id of a Delete", nil, "b", func(store.Request) string { return `the answer has PhysicalResourceId "b" instead of "a"` }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, engine.FidelityPintle)
			w.must(w.create(one("")))
			r := w.take("C")
			if test.answer == nil {
				w.answer(r, success("a"))
			} else {
				w.must(w.engine.Answer(w.ctx, r.ID, []byte(test.answer(r)), 0))
			}
			if test.delete != "" {
				w.delete()
				r = w.take("C")
				w.answer(r, success(test.delete))
			}
			var want, got []string
			if test.want != nil {
				want = append(want, test.want(r)+taken)
			}
			audit, err := w.store.Audit(w.ctx, w.stack().Key, 10)
			w.must(err)
			for _, entry := range audit {
				got = append(got, entry.Text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("audit list (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMismatchesOfRead checks that the audit list has the wrong copies in the answer to a Read, and that its state still counts.
func TestMismatchesOfRead(t *testing.T) {
	w := newWorldWith(t, engine.Config{Reads: func(context.Context, wire.ServiceToken) (engine.DeclaredTypes, error) {
		return func(string) bool { return true }, nil
	}})
	w.must(w.create(one("")))
	w.succeed("C", "a")
	all, err := w.engine.Resources(w.ctx, w.stack())
	w.must(err)
	if _, _, err := w.engine.Read(w.ctx, w.stack(), all); err != nil {
		t.Fatal(err)
	}
	r := w.take("C")
	w.accept(r)
	w.must(w.engine.Answer(w.ctx, r.ID, fmt.Appendf(nil, `{"StackId": %q, "RequestId": "other", "LogicalResourceId": "C", %s, "PintleState": {"gone": true}}`,
		r.Body.StackID, success("a")), 0))
	read, err := w.store.Request(w.ctx, r.ID)
	w.must(err)
	if text := read.Body.Pending.Text(); !strings.Contains(text, `"DELETED"`) {
		t.Errorf("the result is %s", text)
	}
	audit, err := w.store.Audit(w.ctx, w.stack().Key, 10)
	w.must(err)
	want := fmt.Sprintf("the answer has RequestId %q instead of %q; Pintle accepted it, because the response URL identifies the request", "other", r.ID)
	if len(audit) != 1 || audit[0].Text != want || audit[0].Request != r.ID {
		t.Errorf("audit list %+v, want %s", audit, want)
	}
}

// TestROSMismatchOfFailure checks that a failed answer with wrong copies keeps its provider's reason, and that the
// audit list has the differences.
func TestROSMismatchOfFailure(t *testing.T) {
	w := newROS(t, engine.Config{Fidelity: engine.FidelityAWS})
	w.must(w.begin(engine.CreateStack{Template: oneROS("")}))
	w.must(w.engine.Answer(w.ctx, w.take("C").ID, []byte(`{"Status": "FAILED", "PhysicalResourceId": "a", "Reason": "disk is full"}`), 0))
	w.answer(w.take("C"), success("a")) // the Delete
	if got := w.reasonOf(store.PhaseRevert); !strings.Contains(got, "disk is full") {
		t.Errorf("the reason is %q", got)
	}
	audit, err := w.store.Audit(w.ctx, w.row().Key, 10)
	w.must(err)
	if len(audit) != 1 || !strings.HasPrefix(audit[0].Text, "the answer has no StackId, no RequestId, no LogicalResourceId;") {
		t.Errorf("audit list %v", audit)
	}
}

// TestROSMismatches checks copies that ROS documents as required, and the ID, which it requires in all answers.
func TestROSMismatches(t *testing.T) {
	for fidelity, status := range map[engine.Fidelity]string{engine.FidelityPintle: "CREATE_COMPLETE", engine.FidelityAWS: "CREATE_ROLLBACK_COMPLETE"} {
		w := newROS(t, engine.Config{Fidelity: fidelity})
		w.must(w.begin(engine.CreateStack{Template: oneROS("")}))
		w.must(w.engine.Answer(w.ctx, w.take("C").ID, []byte("{"+success("a")+"}"), 0))
		if fidelity == engine.FidelityAWS {
			w.answer(w.take("C"), success("a")) // the Delete
		}
		if w.rosStatus() != status {
			t.Errorf("%s: the stack is %s", fidelity, w.rosStatus())
		}
		if fidelity != engine.FidelityAWS {
			continue
		}
		const reason = "InvalidResponse: resources.C: the answer has no StackId, no RequestId, no LogicalResourceId. Copy these fields"
		if got := w.reasonOf(store.PhaseRevert); !strings.Contains(got, reason) {
			t.Errorf("the reason is %q", got)
		}
	}
}

// TestSignatureInPieces checks that a signature is redacted even if a control character splits its name.
func TestSignatureInPieces(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	w.fail("C", "a", "PUT http://h/response/k?X-Amz-Sig\x01nature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef failed")
	if got := w.history(); strings.Contains(got, "0123456789abcdef") {
		t.Errorf("the reason shows a signature:\n%s", got)
	}
}
