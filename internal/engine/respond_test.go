package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// respond answers for the provider of a resource, with SUCCESS by default.
func (w *world) respond(in engine.Respond) (engine.Responded, error) {
	in.Stack, in.By = w.ref(), "key K of account A"
	if in.Status == "" {
		in.Status = wire.Success
	}
	return w.engine.Respond(w.ctx, in)
}

// audits returns the texts of the audit list, oldest first.
func (w *world) audits() []string {
	w.t.Helper()
	list, err := w.store.Audit(w.ctx, w.stack().Key, 100)
	w.must(err)
	var texts []string
	for _, entry := range slices.Backward(list) {
		texts = append(texts, string(entry.Logical)+" "+entry.Text)
	}
	return texts
}

// TestRespond checks that a person can finish a request for its provider, in both modes. The provider's later answer
// is only recorded.
func TestRespond(t *testing.T) {
	for _, fidelity := range fidelities {
		t.Run(string(fidelity), func(t *testing.T) {
			w := newWorld(t, fidelity)
			w.must(w.create(body(map[string]string{"C": resource(""), "D": resource(`"K": {"Fn::GetAtt": ["C", "key"]}`)})))
			c := w.take("C")
			w.accept(c)
			done, err := w.respond(engine.Respond{Logical: "C", PhysicalID: "mine", Data: []byte(`{"key": "k"}`), Reason: "made by hand"})
			w.must(err)
			if diff := cmp.Diff(engine.Responded{Request: c.ID, Type: wire.Create, PhysicalID: "mine", Origin: engine.IDGiven}, done); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			w.answer(c, success("real"))
			w.succeed("D", "d")
			w.want(0, []string{
				`S CREATE_IN_PROGRESS "User Initiated"`,
				`C CREATE_IN_PROGRESS id=`,
				`C CREATE_IN_PROGRESS id=mine "Resource creation Initiated"`,
				`C CREATE_COMPLETE id=mine`,
				`D CREATE_IN_PROGRESS id=`,
				`D CREATE_IN_PROGRESS id=d "Resource creation Initiated"`,
				`D CREATE_COMPLETE id=d`,
				`S CREATE_COMPLETE`,
			}, `-> Create C id= {}`, `-> Create D id= {"K":"k"}`)
			if diff := cmp.Diff([]string{
				`C answered by hand with SUCCESS, physical id "mine" (given), by key K of account A: made by hand`,
				`C answer to a request that was settled before (answered by hand): SUCCESS, physical id "real"`,
			}, w.audits()); diff != "" {
				t.Errorf("audit list (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRespondChoosesTheID checks the default ID of an answer: the resource's ID, or a generated one.
func TestRespondChoosesTheID(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one(`"K": "v"`)))
	w.accept(w.take("C"))
	made, err := w.respond(engine.Respond{Logical: "C"})
	w.must(err)
	if made.Origin != engine.IDGenerated || !strings.HasPrefix(string(made.PhysicalID), "S-C-") {
		t.Errorf("created as %q, which is %s", made.PhysicalID, made.Origin)
	}
	w.must(w.update(one(`"K": "w"`)))
	w.accept(w.take("C"))
	kept, err := w.respond(engine.Respond{Logical: "C"})
	w.must(err)
	if kept.Origin != engine.IDKept || kept.PhysicalID != made.PhysicalID || kept.Type != wire.Update || w.status() != "UPDATE_COMPLETE" {
		t.Errorf("%+v, %s", kept, w.status())
	}
	w.delete()
	w.accept(w.take("C"))
	_, err = w.respond(engine.Respond{Logical: "C", Status: wire.Failed})
	w.must(err)
	if want := "Message returned: answered by hand (RequestId: "; w.status() != "DELETE_FAILED" || !strings.Contains(w.history(), want) {
		t.Errorf("%s, want the reason to have %q:\n%s", w.status(), want, w.history())
	}
	w.delete()
	w.accept(w.take("C"))
	_, err = w.respond(engine.Respond{Logical: "C"})
	w.must(err)
	if w.status() != "DELETE_COMPLETE" {
		t.Error(w.status())
	}
}

// TestRespondKeepsAttributes checks that an Update keeps the resource's attributes and their secrecy unless the
// answer has others.
func TestRespondKeepsAttributes(t *testing.T) {
	kept := `{"Data":{"a":"1","b":{"c":["2"]}},"NoEcho":false}`
	for name, test := range map[string]struct {
		noEcho bool
		in     engine.Respond
		want   string
	}{
		"no values given":      {false, engine.Respond{}, kept},
		"another id":           {false, engine.Respond{PhysicalID: "other"}, kept},
		"secret":               {true, engine.Respond{}, `{"Data":{"a":"1","b":{"c":["2"]}},"NoEcho":true}`},
		"one set":              {false, engine.Respond{Set: []byte(`{"a":"7"}`)}, `{"Data":{"a":"7","b":{"c":["2"]}},"NoEcho":false}`},
		"secret, one set":      {true, engine.Respond{Set: []byte(`{"d":"7"}`)}, `{"Data":{"a":"1","b":{"c":["2"]},"d":"7"},"NoEcho":true}`},
		"all given":            {true, engine.Respond{Data: []byte(`{"d":"7"}`)}, `{"Data":{"d":"7"},"NoEcho":false}`},
		"none":                 {false, engine.Respond{Data: []byte(`{}`)}, `{"Data":{},"NoEcho":false}`},
		"all removed, one set": {false, engine.Respond{Data: []byte(`{}`), Set: []byte(`{"d":"7"}`)}, `{"Data":{"d":"7"},"NoEcho":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.FidelityPintle)
			w.must(w.create(one(`"K": "v"`)))
			w.accept(w.take("C"))
			_, err := w.respond(engine.Respond{Logical: "C", PhysicalID: "x", Data: []byte(`{"a":"1","b":{"c":["2"]}}`), NoEcho: test.noEcho})
			w.must(err)
			w.must(w.update(one(`"K": "w"`)))
			w.accept(w.take("C"))
			test.in.Logical = "C"
			_, err = w.respond(test.in)
			w.must(err)
			resources, err := w.engine.Resources(w.ctx, w.stack())
			w.must(err)
			body := resources[0].Body
			if got := fmt.Sprintf(`{"Data":%s,"NoEcho":%t}`, body.Data.JSON(), body.NoEcho); got != test.want ||
				body.NoEcho != body.Data.HasSecret() {
				t.Errorf("%s, secret: %t, want %s", got, body.Data.HasSecret(), test.want)
			}
		})
	}
}

// TestRespondLacksAttributes checks that a success without attributes that others read is rejected unless it is
// forced, because it would fail the stack.
func TestRespondLacksAttributes(t *testing.T) {
	reads := `{"Conditions": {"No": {"Fn::Equals": ["a", "b"]}}, "Resources": {"C": ` + resource(`"K": "v"`) + `,
		"D": ` + resource(`"K": {"Fn::GetAtt": ["C", "key"]}, "L": {"Fn::If": ["No", {"Fn::GetAtt": ["C", "never"]}, "x"]}`) + `},
		"Outputs": {"O": {"Value": {"Fn::Sub": "${C.key}-${C.url}"}}, "P": {"Condition": "No", "Value": {"Fn::GetAtt": ["C", "never"]}}}}`
	const key, url = "the attribute key, read by resource D, output O", "the attribute url, read by output O"
	refused := func(w *world, in engine.Respond, lacks string) {
		t.Helper()
		in.Logical = "C"
		before := w.history()
		_, err := w.respond(in)
		wantCode(t, err, engine.CodeValidation, "The answer lacks "+lacks+". The stack would fail. Add what is missing, or force the answer. Nothing was changed.")
		if w.history() != before || len(w.audits()) > 0 {
			t.Errorf("something changed:\n%s\n%s", w.history(), w.audits())
		}
	}
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(reads))
	w.accept(w.take("C"))
	refused(w, engine.Respond{}, key+"; "+url)
	refused(w, engine.Respond{Data: []byte(`{"key": "k", "url": null}`)}, url)
	refused(w, engine.Respond{Set: []byte(`{"url": "u"}`)}, key)
	_, err := w.respond(engine.Respond{Logical: "C", Set: []byte(`{"url": "u", "key": "k"}`)})
	w.must(err)
	w.succeed("D", "d")
	if w.status() != "CREATE_COMPLETE" {
		t.Fatal(w.history())
	}
	// An answer to an Update may omit the attributes that the resource keeps, and a failure needs none.
	w.must(w.update(strings.Replace(reads, `"K": "v"`, `"K": "w"`, 1)))
	w.accept(w.take("C"))
	if _, err = w.respond(engine.Respond{Logical: "C"}); err != nil || w.status() != "UPDATE_COMPLETE" {
		t.Fatalf("%v\n%s", err, w.history())
	}
	w.must(w.update(strings.Replace(reads, `"K": "v"`, `"K": "x"`, 1)))
	w.accept(w.take("C"))
	_, err = w.respond(engine.Respond{Logical: "C", Status: wire.Failed})
	w.must(err)

	w = newWorld(t, engine.FidelityPintle)
	w.must(w.create(reads))
	w.accept(w.take("C"))
	done, err := w.respond(engine.Respond{Logical: "C", Data: []byte(`{"key": "k"}`), Force: true})
	w.must(err)
	if got := engine.DescribeReads(done.Lacks); got != url {
		t.Errorf("it lacks %s", got)
	}
	w.succeed("D", "d")
	if !strings.Contains(w.history(), "CREATE_FAILED") && !strings.Contains(w.history(), "ROLLBACK_IN_PROGRESS") {
		t.Error(w.history())
	}
}

// TestRespondLacksInRollback checks that an answer during the rollback of an update needs the attributes that the old
// template reads. No resource reads those of a cancelled one.
func TestRespondLacksInRollback(t *testing.T) {
	template := func(k, attribute, fails string) string {
		return body(map[string]string{
			"C": resource(`"K": "` + k + `"`), "D": resource(`"K": {"Fn::GetAtt": ["C", "` + attribute + `"]}`), "X": resource(`"K": "` + fails + `"`),
		})
	}
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(template("v", "before", "1")))
	w.accept(w.take("C"))
	_, err := w.respond(engine.Respond{Logical: "C", PhysicalID: "c", Data: []byte(`{"before": "b"}`)})
	w.must(err)
	w.succeed("D", "d")
	w.succeed("X", "x")
	w.must(w.update(template("w", "after", "2")))
	w.accept(w.take("C"))
	_, err = w.respond(engine.Respond{Logical: "C", Data: []byte(`{"after": "a"}`)})
	w.must(err)
	w.fail("X", "x", "r")
	w.succeed("D", "d")
	c := w.take("C")
	w.accept(c)
	_, err = w.respond(engine.Respond{Logical: "C"})
	wantCode(t, err, engine.CodeValidation, "The answer lacks the attribute before, read by resource D. The stack would fail.")
	_, err = w.respond(engine.Respond{Logical: "C", Set: []byte(`{"before": "b"}`)})
	w.must(err)
	w.succeed("X", "x")
	w.succeed("D", "d")
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" {
		t.Error(w.history())
	}
}

// TestRespondToCancelled checks that the answer to a cancelled request says which resource to delete.
func TestRespondToCancelled(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"C": resource(""), "X": resource("")})))
	w.accept(w.take("C"))
	w.fail("X", "x", "r")
	_, err := w.respond(engine.Respond{Logical: "C", PhysicalID: "real"})
	w.must(err)
	w.succeed("X", "x")
	if r := w.take("C"); r.Type != wire.Delete || r.Body.PhysicalID != "real" {
		t.Errorf("%s", sentLine(r))
	}
}

func TestRespondRefusals(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	ghost := engine.Respond{Stack: engine.Ref{Account: account, Region: region, Stack: "ghost"}, Logical: "C", Status: wire.Success}
	_, err := w.engine.Respond(w.ctx, ghost)
	wantCode(t, err, engine.CodeValidation, "Stack [ghost] does not exist")

	w.must(w.create(body(map[string]string{"C": resource(""), "D": resource(`"K": {"Ref": "C"}`)}, noEchoP),
		engine.Parameter{Key: "P", Value: "hush"}))
	c := w.take("C")
	refuse := func(in engine.Respond, want string) {
		t.Helper()
		before := w.history()
		_, err := w.respond(in)
		wantCode(t, err, engine.CodeValidation, want)
		if w.history() != before || len(w.audits()) > 0 {
			t.Errorf("%q changed something:\n%s\n%s", want, w.history(), w.audits())
		}
	}
	refuse(engine.Respond{Logical: "C"}, "The Create of C is still on its way to the provider. It can be answered once its provider has it.")
	refuse(engine.Respond{Logical: "D"}, "Stack S does not wait for resource D. It waits for no provider.")
	w.accept(c)
	refuse(engine.Respond{Logical: "D"}, "Stack S does not wait for resource D. It waits for Create of C ("+string(c.ID)+").")
	refuse(engine.Respond{Logical: "C", Request: "other"}, "Stack S does not wait for request other of resource C. It waits for Create of C (")
	refuse(engine.Respond{Logical: "C", Status: "DONE"}, "Invalid Response object: 'DONE' is not a valid ResponseStatus")
	refuse(engine.Respond{Logical: "C", PhysicalID: wire.PhysicalID(strings.Repeat("x", 1025))}, "Invalid PhysicalResourceId")
	refuse(engine.Respond{Logical: "C", PhysicalID: "a\x00b"}, "control characters")
	refuse(engine.Respond{Logical: "C", Data: []byte(`["a"]`)}, "The attributes are not a JSON object. Nothing was changed.")
	refuse(engine.Respond{Logical: "C", Data: []byte(`{"a": hunter2}`)}, "The attributes are not a JSON object. Nothing was changed.")
	refuse(engine.Respond{Logical: "C", Data: []byte(`{"a": "` + strings.Repeat("x", 4096) + `"}`)}, "Response object is too long")

	_, err = w.respond(engine.Respond{Logical: "C", Request: c.ID})
	w.must(err)
	w.accept(w.take("D"))
	_, err = w.respond(engine.Respond{Logical: "C"})
	wantCode(t, err, engine.CodeValidation, "Stack S does not wait for resource C.")

	// A clean-up that waits for its next try cannot be answered either.
	w = created(t, one(`"K": "v"`), "C=a")
	w.must(w.update(one(`"K": "w"`)))
	w.succeed("C", "b")
	w.fail("C", "a", "r")
	refuse(engine.Respond{Logical: "C"}, "The Delete of C is to be sent again at 10:01:00 UTC.")
	w.pass(time.Minute)
	w.accept(w.take("C"))
	_, err = w.respond(engine.Respond{Logical: "C"})
	w.must(err)
	if w.status() != "UPDATE_COMPLETE" || strings.Contains(w.history(), "could not be deleted") {
		t.Error(w.history())
	}
}

// TestRespondDoesNotGuess checks that an answer is rejected if a resource has two requests, which should not happen.
func TestRespondDoesNotGuess(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one("")))
	c := w.take("C")
	w.accept(c)
	w.must(w.store.Apply(w.ctx, store.Target{Request: c.ID}, func(v *store.View) (store.Delta, error) {
		second := v.Requests[c.ID]
		second.ID = "second"
		return store.Delta{Requests: []store.Request{second}}, nil
	}))
	_, err := w.respond(engine.Respond{Logical: "C"})
	wantCode(t, err, engine.CodeValidation, "Resource C of stack S has more than one request that is not settled: "+
		fmt.Sprintf("Create of C (%s), Create of C (second)", c.ID))
	_, err = w.respond(engine.Respond{Logical: "C", Request: c.ID})
	w.must(err)
}

// TestRespondLeavesTheTimer checks that a person cannot answer the timer of a create.
func TestRespondLeavesTheTimer(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.createWithin(1, false, false, one(""))
	_, err := w.respond(engine.Respond{})
	wantCode(t, err, engine.CodeValidation, "Stack S does not wait for resource . It waits for no provider.")
	w.accept(w.take("C"))
	_, err = w.respond(engine.Respond{Logical: "C", PhysicalID: "c"})
	w.must(err)
	w.pass(time.Minute)
	if w.status() != "CREATE_COMPLETE" {
		t.Error(w.history())
	}
}

// TestRespondHidesSecrets checks that secrets are also redacted in an answer by hand.
func TestRespondHidesSecrets(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"C": resource(`"K": {"Ref": "P"}`)}, noEchoP), engine.Parameter{Key: "P", Value: "battery"}))
	w.accept(w.take("C"))
	_, err := w.respond(engine.Respond{Logical: "C", Status: wire.Failed, PhysicalID: "c-staple", NoEcho: true,
		Data: []byte(`{"k": "staple"}`), Reason: "battery and staple: https://h/?X-Amz-Signature=abcdef0123"})
	w.must(err)
	if got := w.shown(); strings.Contains(got, "battery") || strings.Contains(got, "and staple") || strings.Contains(got, "abcdef0123") {
		t.Errorf("a secret is shown:\n%s", got)
	}
	if got := strings.Join(w.audits(), ""); strings.Contains(got, "staple") {
		t.Errorf("a secret is on the audit list: %s", got)
	}
}
