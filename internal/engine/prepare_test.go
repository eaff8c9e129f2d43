package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// macros registers macros whose functions the test plays.
func (w *world) macros(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.must(w.store.PutProvider(w.ctx, store.Provider{Name: store.ServedMacro(name), Definition: []byte("{}")}))
	}
}

// macro takes the request of a macro.
func (w *world) macro(name string) store.Request {
	w.t.Helper()
	r := w.take("")
	if r.Type != store.TypeMacro || r.Body.ResourceType != name {
		w.t.Fatalf("a %s for %s was sent, not for the macro %s", r.Type, r.Body.ResourceType, name)
	}
	return r
}

// returns plays the function of a macro.
func (w *world) returns(r store.Request, reply string) {
	w.t.Helper()
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted, Local: true}))
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Returned, Body: []byte(reply)}))
}

func replying(r store.Request, fragment string) string {
	return fmt.Sprintf(`{"requestId": %q, "status": "SUCCESS", "fragment": %s}`, r.ID, fragment)
}

// expanding returns the options of a client that acknowledges macros.
func expanding(parameters ...engine.Parameter) engine.Options {
	return engine.Options{Parameters: parameters, Capabilities: []string{"CAPABILITY_AUTO_EXPAND"}}
}

func (w *world) createExpanding(text string, more func(*engine.CreateStack), parameters ...engine.Parameter) error {
	in := engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: text, Options: expanding(parameters...),
	}
	if more != nil {
		more(&in)
	}
	_, err := w.engine.Create(w.ctx, in)
	return err
}

func (w *world) updateExpanding(text string, parameters ...engine.Parameter) error {
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Template: text, Options: expanding(parameters...),
	})
	return err
}

const twoMacros = `{"Transform": ["Whole", {"Name": "Last", "Parameters": {"A": {"Ref": "P"}}}],
	"Parameters": {"P": {"Type": "String", "Default": "d"}, "Secret": {"Type": "String", "NoEcho": true}, "L": {"Type": "CommaDelimitedList", "Default": "a,b"}},
	"Resources": {"A": {"Type": "Placeholder", "Properties": {"Fn::Transform": {"Name": "Inner", "Parameters": {"X": 1}}, "Y": {"Ref": "P"}}}}}`

// TestMacros runs three macros, innermost first, and continues with their output.
func TestMacros(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.macros("Whole", "Last", "Inner")
	w.must(w.createExpanding(twoMacros, nil, engine.Parameter{Key: "Secret", Value: "hush"}))
	if got := w.status(); got != "CREATE_IN_PROGRESS" {
		t.Errorf("while macros run the stack is in %s", got)
	}
	inner := w.macro("Inner")
	want := `{"region":"us-east-1","accountId":"123456789012","fragment":{"Y":{"Ref":"P"}},"transformId":"123456789012::Inner",` +
		`"params":{"X":1},"requestId":"` + string(inner.ID) + `","templateParameterValues":{"L":["a","b"],"P":"d","Secret":"hush"}}`
	if diff := cmp.Diff(want, string(inner.Body.Properties.JSON())); diff != "" {
		t.Error(diff)
	}
	if shown := inner.Body.Properties.String(); strings.Contains(shown, "hush") {
		t.Errorf("the secret is shown: %s", shown)
	}
	w.returns(inner, replying(inner, `{"P": {"Ref": "P"}, "S": {"Ref": "Secret"}}`))
	whole := w.macro("Whole")
	fragment, _ := whole.Body.Properties.Get("fragment")
	made, _ := fragment.Get("Resources")
	if diff := cmp.Diff(`{"A":{"Type":"Placeholder","Properties":{"P":{"Ref":"P"},"S":{"Ref":"Secret"}}}}`, made.String()); diff != "" {
		t.Error(diff)
	}
	if _, there := fragment.Get("Transform"); there {
		t.Error("the fragment has the section Transform")
	}
	w.returns(whole, replying(whole, strings.ReplaceAll(fragment.String(), `"Properties":{`, `"Properties":{"ServiceToken":"`+token+`",`)))
	last := w.macro("Last")
	if params, _ := last.Body.Properties.Get("params"); params.String() != `{"A":{"Ref":"P"}}` {
		t.Errorf("the parameters are %s", params)
	}
	fragment, _ = last.Body.Properties.Get("fragment")
	w.returns(last, replying(last, strings.ReplaceAll(fragment.String(), "Placeholder", "Custom::Thing")))
	r := w.take("A")
	if got := short(r.Body.Properties.JSON()); got != `{"P":"d","S":"hush"}` {
		t.Errorf("the resource has %s", got)
	}
	w.answer(r, success("a"))
	w.want(0, []string{
		`S CREATE_IN_PROGRESS "User Initiated"`, `S CREATE_IN_PROGRESS "Transformation succeeded"`,
		`A CREATE_IN_PROGRESS id=`, `A CREATE_IN_PROGRESS id=a "Resource creation Initiated"`, `A CREATE_COMPLETE id=a`, `S CREATE_COMPLETE`,
	})
	revision, err := w.engine.Revision(w.ctx, w.stack())
	w.must(err)
	if revision.Template != twoMacros || revision.Unprepared || !strings.Contains(revision.Processed, "Custom::Thing") || strings.Contains(revision.Processed, "hush") {
		t.Errorf("the revision has %s, made to %s", revision.Template, revision.Processed)
	}

	// The previous template is the processed one, so no macro is called.
	_, err = w.engine.Update(w.ctx, engine.UpdateStack{Stack: w.ref(), UsePrevious: true, Options: expanding(
		engine.Parameter{Key: "P", Value: "e"}, engine.Parameter{Key: "Secret", UsePrevious: true},
	)})
	w.must(err)
	w.succeed("A", "a")
	if w.status() != "UPDATE_COMPLETE" {
		t.Errorf("the stack is in %s", w.status())
	}

	// An update calls the macros again, and is rolled back if one fails.
	w.must(w.updateExpanding(strings.ReplaceAll(twoMacros, `"Y"`, `"Z"`), engine.Parameter{Key: "Secret", Value: "hush"}))
	if w.status() != "UPDATE_IN_PROGRESS" {
		t.Errorf("the stack is in %s", w.status())
	}
	skip := len(w.events())
	r = w.macro("Inner")
	w.returns(r, fmt.Sprintf(`{"requestId": %q, "status": "failure", "errorMessage": "no hush"}`, r.ID))
	w.want(skip, []string{
		`S UPDATE_ROLLBACK_IN_PROGRESS "Transform 123456789012::Inner failed with: no *****. Rollback requested by user."`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_ROLLBACK_COMPLETE`,
	})
	if again, err := w.engine.Revision(w.ctx, w.stack()); err != nil || again.Processed != revision.Processed {
		t.Errorf("the revision is another one, %v", err)
	}

	// With another reply the update continues.
	w.must(w.updateExpanding(strings.ReplaceAll(twoMacros, `"Y"`, `"Z"`), engine.Parameter{Key: "Secret", Value: "hush"}))
	for _, name := range []string{"Inner", "Whole", "Last"} {
		r := w.macro(name)
		made := `{"ServiceToken": "` + token + `", "New": true}`
		if fragment, _ := r.Body.Properties.Get("fragment"); name != "Inner" {
			made = strings.ReplaceAll(fragment.String(), "Placeholder", "Custom::Thing")
		}
		w.returns(r, replying(r, made))
	}
	w.succeed("A", "a")
	if w.status() != "UPDATE_COMPLETE" {
		t.Errorf("the stack is in %s\n%s", w.status(), w.history())
	}
	w.delete()
	w.succeed("A", "a")
	if w.status() != "DELETE_COMPLETE" {
		t.Errorf("the stack is in %s", w.status())
	}
}

const oneMacro = `{"Transform": "M", "Resources": {"A": 1}}`

// TestMacroFails covers every failure of a macro, with the real service's text and Pintle's details.
func TestMacroFails(t *testing.T) {
	ok := func(r store.Request, fragment string) engine.Outcome {
		return engine.Outcome{Kind: engine.Returned, Body: []byte(replying(r, fragment))}
	}
	says := func(text string) func(store.Request) engine.Outcome {
		return func(r store.Request) engine.Outcome {
			return engine.Outcome{Kind: engine.Returned, Body: []byte(strings.ReplaceAll(text, "ID", string(r.ID)))}
		}
	}
	const malformed = "Received malformed response from transform 123456789012::M"
	tests := []struct {
		name       string
		outcome    func(r store.Request) engine.Outcome
		want, more string
	}{
		{"its message", says(`{"requestId": "ID", "status": "failed", "errorMessage": "no"}`), "Transform 123456789012::M failed with: no", ""},
		{"no message", says(`{"requestId": "ID", "status": "failed"}`), "Transform 123456789012::M failed without an error message.", " (its status was failed)"},
		{"no JSON", says(`oops`), malformed, " (its result is not an object with requestId, status and fragment)"},
		{"nothing", says(``), malformed, " (its result is not an object with requestId, status and fragment)"},
		{"a list", says(`[]`), malformed, " (its result is not an object with requestId, status and fragment)"},
		{"no status", says(`{"requestId": "ID", "fragment": {}}`), malformed, " (it returned no status)"},
		{"another request", says(`{"requestId": "x", "status": "success", "fragment": {}}`), malformed, " (its requestId is not that of the request)"},
		{"no fragment", says(`{"requestId": "ID", "status": "success"}`), malformed, " (it returned no fragment)"},
		{"no object", func(r store.Request) engine.Outcome { return ok(r, `"text"`) }, "Template format error: unsupported structure.", ""},
		{"a macro", func(r store.Request) engine.Outcome { return ok(r, `{"Resources": {"A": {"Fn::Transform": "M"}}}`) },
			`Transform 123456789012::M failed with: the result calls a macro at "/Resources/A/Fn::Transform": macros run once, and not in their results`, ""},
		{"no resources", func(r store.Request) engine.Outcome { return ok(r, `{}`) }, "Template format error: At least one Resources member must be defined.", ""},
		{"a cycle", func(r store.Request) engine.Outcome {
			return ok(r, body(map[string]string{"A": resource("", `"DependsOn": "B"`), "B": resource("", `"DependsOn": "A"`)}))
		}, "Circular dependency between resources: [A, B]", ""},
		{"too deep", says(`{"requestId": "ID", "status": "success", "fragment": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`),
			malformed, " (lists and objects are nested too deeply in its result)"},
		{"its death", func(store.Request) engine.Outcome {
			return engine.Outcome{Kind: engine.Died, Text: "the process exited", Log: []string{"KeyError"}}
		}, malformed, " (the process exited\nLast lines of its log:\nKeyError)"},
		{"a refusal", func(store.Request) engine.Outcome {
			return engine.Outcome{Kind: engine.Refused, Text: "no such function"}
		},
			"Failed to execute transform 123456789012::M", " (no such function)"},
	}
	for _, test := range tests {
		for fidelity, more := range map[engine.Fidelity]string{engine.FidelityAWS: "", engine.FidelityPintle: test.more} {
			t.Run(test.name+" "+string(fidelity), func(t *testing.T) {
				w := newWorld(t, fidelity)
				w.macros("M")
				w.must(w.createExpanding(oneMacro, nil))
				r := w.macro("M")
				w.must(w.engine.Report(w.ctx, r.ID, test.outcome(r)))
				w.want(0, []string{
					`S CREATE_IN_PROGRESS "User Initiated"`,
					fmt.Sprintf("S ROLLBACK_IN_PROGRESS %q", test.want+". Rollback requested by user."+more),
					`S ROLLBACK_COMPLETE`,
				})
				w.delete()
				if w.status() != "DELETE_COMPLETE" {
					t.Errorf("the stack is in %s", w.status())
				}
			})
		}
	}
}

// TestLongMacroTextsAreTruncated covers texts that are shortened; no partial secret may remain.
func TestLongMacroTextsAreTruncated(t *testing.T) {
	const secret = "hunter2hunter2hunter2hunter2hunter2"
	text := `{"Transform": "M", "Parameters": {"P": {"Type": "String", "NoEcho": true}}, "Resources": {"A": 1}}`
	long := func(length int) string { return strings.Repeat("x", length-20) + secret + strings.Repeat("y", 100_000) }
	for name, reply := range map[string]string{
		"a message": `"status": "no", "errorMessage": "` + strings.Repeat("-", 4_040) + long(40) + `"`,
		"a status":  `"status": "` + long(100) + `"`,
		"a key":     `"status": "success", "fragment": {"` + long(4_090) + `": 1, "` + long(4_090) + `": 2}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.FidelityPintle)
			w.macros("M")
			w.must(w.createExpanding(text, nil, engine.Parameter{Key: "P", Value: secret}))
			r := w.macro("M")
			w.returns(r, fmt.Sprintf(`{"requestId": %q, %s}`, r.ID, reply))
			for _, event := range w.events() {
				if strings.Contains(event, "hunter") || len(event) > 10_000 {
					t.Errorf("%d bytes: %.300s … %s", len(event), event, event[max(len(event)-300, 0):])
				}
			}
			if w.status() != "ROLLBACK_COMPLETE" {
				t.Errorf("the stack is in %s", w.status())
			}
		})
	}
}

// TestMacroFailsOtherwise covers the alternatives to the rollback of a create.
func TestMacroFailsOtherwise(t *testing.T) {
	tests := []struct {
		name string
		in   func(*engine.CreateStack)
		want []string
	}{
		{"left", func(in *engine.CreateStack) { in.DisableRollback = true }, []string{
			`S CREATE_FAILED "Transform 123456789012::M failed with: no"`,
		}},
		{"deleted", func(in *engine.CreateStack) { in.DeleteOnFailure = true }, []string{
			`S DELETE_IN_PROGRESS "Transform 123456789012::M failed with: no. Delete requested by user."`, `S DELETE_COMPLETE`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, engine.FidelityPintle)
			w.macros("M")
			w.must(w.createExpanding(oneMacro, test.in))
			r := w.macro("M")
			w.returns(r, fmt.Sprintf(`{"requestId": %q, "status": "", "errorMessage": "no"}`, r.ID))
			w.want(1, test.want)
		})
	}
}

// TestMacroAgain retries operations whose macros failed, and rolls one back.
func TestMacroAgain(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.macros("M")
	left := func(in *engine.CreateStack) { in.DisableRollback = true }
	w.must(w.createExpanding(oneMacro, left))
	fails := func() {
		t.Helper()
		r := w.macro("M")
		w.returns(r, fmt.Sprintf(`{"requestId": %q, "status": "", "errorMessage": "no"}`, r.ID))
	}
	update := func() {
		t.Helper()
		options := expanding()
		options.DisableRollback = true
		_, err := w.engine.Update(w.ctx, engine.UpdateStack{Stack: w.ref(), Template: oneMacro, Options: options})
		w.must(err)
	}
	fails()
	update()
	fails()
	if w.status() != "UPDATE_FAILED" {
		t.Fatalf("the stack is in %s", w.status())
	}
	update()
	r := w.macro("M")
	w.returns(r, replying(r, body(map[string]string{"A": resource(""), "B": resource("", `"DependsOn": "A"`)})))
	w.succeed("A", "a")
	w.fail("B", "b", "no")
	update()
	w.must(w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.ref()}))
	w.macro("M") // its function runs, but no operation waits for it
	if w.status() != "UPDATE_FAILED" {
		t.Fatalf("the stack is in %s", w.status())
	}
	_, err := w.engine.Rollback(w.ctx, engine.RollbackStack{Stack: w.ref()})
	w.must(err)
	w.succeed("B", "b")
	w.succeed("A", "a")
	if w.status() != "ROLLBACK_COMPLETE" {
		t.Errorf("the stack is in %s\n%s", w.status(), w.history())
	}
}

// TestMacroStopped stops operations while a macro runs. Its later reply changes nothing.
func TestMacroStopped(t *testing.T) {
	const stood = `{"Resources": {"A": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `"}}}}`
	tests := []struct {
		name   string
		update bool
		stop   func(w *world) error
		want   []string
	}{
		{"cancelled", true, func(w *world) error { return w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.ref()}) }, []string{
			`S UPDATE_ROLLBACK_IN_PROGRESS "Stack update cancelled"`, `S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_ROLLBACK_COMPLETE`,
		}},
		{"deleted", false, func(w *world) error { return w.deleteStack(engine.DeleteStack{Token: "t"}) }, []string{
			`S DELETE_IN_PROGRESS "User Initiated"`, `S DELETE_COMPLETE`,
		}},
		{"out of time", false, func(w *world) error { w.pass(time.Minute); return nil }, []string{
			`S ROLLBACK_IN_PROGRESS "Stack creation time exceeded the specified timeout. Rollback requested by user."`, `S ROLLBACK_COMPLETE`,
		}},
		{"silent", false, func(w *world) error { w.pass(30 * time.Second); return nil }, []string{
			`S ROLLBACK_IN_PROGRESS "Failed to execute transform 123456789012::M. Rollback requested by user. (it has not returned within 20s)"`, `S ROLLBACK_COMPLETE`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorldWith(t, engine.Config{MacroTimeout: 20 * time.Second})
			w.macros("M")
			if test.update {
				w.must(w.create(stood))
				w.succeed("A", "a")
				w.must(w.updateExpanding(oneMacro))
			} else {
				w.must(w.createExpanding(oneMacro, func(in *engine.CreateStack) { in.TimeoutMinutes = 1 }))
			}
			r := w.macro("M")
			if test.name != "out of time" {
				w.accept(r)
			}
			skip := len(w.events())
			w.must(test.stop(w))
			w.returns(r, replying(r, stood))
			w.want(skip, test.want)
			open, err := w.store.Requests(w.ctx, w.stack().Key)
			if err != nil || len(open) > 0 {
				t.Errorf("%d requests are open, %v", len(open), err)
			}
		})
	}
	t.Run("update is not deleted", func(t *testing.T) {
		w := newWorld(t, engine.FidelityPintle)
		w.macros("M")
		w.must(w.create(stood))
		w.succeed("A", "a")
		w.must(w.updateExpanding(oneMacro))
		if err := w.deleteStack(engine.DeleteStack{}); err == nil {
			t.Error("a stack at work is deleted")
		}
	})
}

// TestMacroDiesWithItsNode checks that the macro is called again with the same ID, and that one reply is used.
func TestMacroDiesWithItsNode(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.macros("M")
	w.must(w.createExpanding(oneMacro, nil))
	r := w.macro("M")
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted, Local: true}))
	other, err := engine.Open(w.ctx, engine.Config{Store: w.store, Alone: true})
	w.must(err)
	again, err := w.store.Claim(w.ctx, other.Node(), 10, nil)
	w.must(err)
	if len(again) != 1 || again[0].ID != r.ID || again[0].Body.Properties.String() != r.Body.Properties.String() {
		t.Fatalf("%d requests are taken over", len(again))
	}
	reply := []byte(replying(r, body(map[string]string{"A": resource("")})))
	for range 3 {
		w.must(other.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Returned, Body: reply}))
	}
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Died, Text: "late"}))
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted}))
	open, err := w.store.Requests(w.ctx, w.stack().Key)
	if err != nil || len(open) != 1 || open[0].Logical != "A" {
		t.Errorf("open are %d requests, %v", len(open), err)
	}
	settled, err := w.store.Request(w.ctx, r.ID)
	if err != nil || settled.State != store.RequestSettled || !settled.Body.Pending.IsNull() {
		t.Errorf("the macro's is %s and holds what was pending: %v", settled.State, err)
	}
	if w.status() != "CREATE_IN_PROGRESS" {
		t.Errorf("the stack is in %s", w.status())
	}
}

func TestMacroRefused(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.macros("M")
	w.must(w.store.PutProvider(w.ctx, store.Provider{
		Name: store.HeldMacro(account, region, "Held"), Holder: "x", Definition: []byte(`{"function": "arn:aws:lambda:us-east-1:123456789012:function:held"}`),
	}))
	w.must(w.store.PutProvider(w.ctx, store.Provider{Name: store.HeldMacro(account, "eu-west-1", "There"), Holder: "x", Definition: []byte(`{}`)}))
	for text, want := range map[string]string{
		`{"Transform": "None", "Resources": {}}`:                              "ValidationError: No transform named 123456789012::None found.",
		`{"Transform": "There", "Resources": {}}`:                             "ValidationError: No transform named 123456789012::There found.",
		`{"Transform": "210987654321::M", "Resources": {}}`:                   "ValidationError: No transform named 210987654321::M found.",
		`{"Transform": "a b", "Resources": {}}`:                               "ValidationError: No transform named 123456789012::a b found.",
		`{"Transform": ["M", {"Parameters": {}}], "Resources": {}}`:           "ValidationError: Key Name of transform definition must be a string.",
		`{"Transform": "M", "Parameters": {"P": {"Type": "String"}}, "R": 1}`: "ValidationError: Parameters: [P] must have values",
	} {
		err := w.createExpanding(text, nil)
		var reported *engine.Error
		if !errors.As(err, &reported) || string(reported.Code)+": "+reported.Message != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	err := w.create(oneMacro)
	var reported *engine.Error
	if !errors.As(err, &reported) || reported.Code != engine.CodeInsufficientRights || reported.Message != "Requires capabilities : [CAPABILITY_AUTO_EXPAND]" {
		t.Errorf("without the capability: %v", err)
	}
	w.must(w.createExpanding(`{"Transform": "123456789012::Held", "Resources": {}}`, nil))
	r := w.macro("123456789012::Held")
	if id, _ := r.Body.Properties.Get("transformId"); r.Body.ServiceToken() != "arn:aws:lambda:us-east-1:123456789012:function:held" || id.Text() != "123456789012::Held" {
		t.Errorf("%s is asked, %s", r.Body.ServiceToken(), id)
	}
}

// TestMacroChangeSet creates change sets with macros, which run once.
func TestMacroChangeSet(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.macros("M")
	plan := func(name string, kind store.Kind, text string) {
		t.Helper()
		_, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
			Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Name: name, Kind: kind, Template: text,
		})
		w.must(err)
	}
	is := func(name string, status, execution, reason string, changes int) {
		t.Helper()
		set, err := w.engine.ChangeSet(w.ctx, engine.ChangeSetRef{Ref: w.ref(), Name: name})
		w.must(err)
		list, err := set.Changes()
		got := fmt.Sprintf("%s %s %q %d", engine.CloudFormation.ChangeSetStatus(set.State), engine.CloudFormation.ExecutionStatus(set.Execution), set.Reason, len(list))
		if want := fmt.Sprintf("%s %s %q %d", status, execution, reason, changes); err != nil || got != want {
			t.Errorf("the change set %s is %s, want %s, %v", name, got, want, err)
		}
	}
	execute := func(name string) error {
		_, err := w.engine.ExecuteChangeSet(w.ctx, engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{Ref: w.ref(), Name: name}})
		return err
	}
	plan("one", store.KindCreate, oneMacro)
	is("one", "CREATE_IN_PROGRESS", "UNAVAILABLE", "", 0)
	if err := execute("one"); err == nil || !strings.Contains(err.Error(), "current status of [CREATE_IN_PROGRESS]") {
		t.Errorf("it is executed while it is made: %v", err)
	}
	r := w.macro("M")
	w.returns(r, replying(r, body(map[string]string{"A": resource(`"V": 1`)})))
	is("one", "CREATE_COMPLETE", "AVAILABLE", "", 1)
	w.must(execute("one"))
	w.succeed("A", "a")
	w.want(0, []string{
		`S REVIEW_IN_PROGRESS "User Initiated"`, `S CREATE_IN_PROGRESS "User Initiated"`, `A CREATE_IN_PROGRESS id=`,
		`A CREATE_IN_PROGRESS id=a "Resource creation Initiated"`, `A CREATE_COMPLETE id=a`, `S CREATE_COMPLETE`,
	})
	revision, err := w.engine.Revision(w.ctx, w.stack())
	if err != nil || revision.Template != oneMacro || !strings.Contains(revision.Processed, "Custom::Thing") {
		t.Errorf("the revision is %+v, %v", revision, err)
	}

	plan("same", store.KindUpdate, oneMacro)
	r = w.macro("M")
	w.returns(r, replying(r, body(map[string]string{"A": resource(`"V": 1`)})))
	is("same", "FAILED", "UNAVAILABLE", "No updates are to be performed.", 0)
	plan("fails", store.KindUpdate, oneMacro)
	r = w.macro("M")
	w.returns(r, fmt.Sprintf(`{"requestId": %q, "status": "no", "errorMessage": "why"}`, r.ID))
	is("fails", "FAILED", "UNAVAILABLE", "Transform 123456789012::M failed with: why.", 0)
	plan("none", store.KindUpdate, `{"Transform": "None", "Resources": {}}`)
	is("none", "FAILED", "UNAVAILABLE", "No transform named 123456789012::None found.", 0)

	// A deleted set is not completed, and a set whose stack has changed fails.
	plan("gone", store.KindUpdate, oneMacro)
	r = w.macro("M")
	w.must(w.engine.DeleteChangeSet(w.ctx, engine.ChangeSetRef{Ref: w.ref(), Name: "gone"}))
	w.returns(r, replying(r, body(map[string]string{"A": resource(`"V": 2`)})))
	plan("late", store.KindUpdate, oneMacro)
	r = w.macro("M")
	w.must(w.update(body(map[string]string{"A": resource(`"V": 3`)})))
	w.succeed("A", "a")
	w.returns(r, replying(r, body(map[string]string{"A": resource(`"V": 2`)})))
	is("late", "FAILED", "UNAVAILABLE", "The stack was changed while the macros of this change set ran. Create the change set again.", 0)
	plan("two", store.KindUpdate, oneMacro)
	r = w.macro("M")
	w.returns(r, replying(r, body(map[string]string{"A": resource(`"V": 2`)})))
	is("two", "CREATE_COMPLETE", "AVAILABLE", "", 1)
	plan("open", store.KindUpdate, oneMacro)
	open := w.macro("M")
	w.must(execute("two"))
	w.succeed("A", "a")
	w.returns(open, replying(open, body(map[string]string{"A": resource(`"V": 9`)})))
	w.delete()
	w.succeed("A", "a")
	if w.status() != "DELETE_COMPLETE" {
		t.Errorf("the stack is in %s", w.status())
	}
}

// TestInclude includes snippets, with and without macros.
func TestInclude(t *testing.T) {
	snippets := map[string]string{"s3://b/one": "A:\n  Type: Custom::Thing\n  Properties: {ServiceToken: " + token + ", V: {Ref: P}}\n", "s3://b/props": `{"W": 1}`}
	w := newWorldWith(t, engine.Config{Snippet: func(_ context.Context, location string) (string, error) {
		if text, ok := snippets[location]; ok {
			return text, nil
		}
		return "", errors.New("S3 bucket [x] does not exist.")
	}})
	w.macros("M")
	const text = `{"Parameters": {"P": {"Type": "String", "Default": "one"}},
		"Resources": {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": {"Fn::Sub": "s3://b/${P}"}}}}}`
	w.must(w.createExpanding(text, nil))
	w.succeed("A", "a")
	revision, err := w.engine.Revision(w.ctx, w.stack())
	w.must(err)
	want := `{"Parameters":{"P":{"Type":"String","Default":"one"}},"Resources":{"A":{"Type":"Custom::Thing","Properties":{"ServiceToken":"` + token + `","V":{"Ref":"P"}}}}}`
	if diff := cmp.Diff(want, revision.Processed); diff != "" || revision.Template != text {
		t.Error(diff)
	}
	if err := w.updateExpanding(text); err == nil || err.Error() != "No updates are to be performed." {
		t.Errorf("an update to the same: %v", err)
	}
	if err := w.updateExpanding(text, engine.Parameter{Key: "P", Value: "x"}); err == nil || err.Error() != "Transform AWS::Include failed with: S3 bucket [x] does not exist." {
		t.Errorf("a snippet that is not there: %v", err)
	}
	const both = `{"Transform": "M", "Resources": {"A": {"Type": "Custom::Thing", "Metadata": {"Fn::Transform": "M"}, "Properties": {
		"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://b/props"}}, "ServiceToken": "` + token + `"}}}}`
	w.must(w.updateExpanding(both))
	delete(snippets, "s3://b/props") // it is fetched once, before any macro is called
	r := w.macro("M")
	w.returns(r, replying(r, `{"m": 1}`))
	r = w.macro("M")
	fragment, _ := r.Body.Properties.Get("fragment")
	if !strings.Contains(fragment.String(), `"W":1`) {
		t.Errorf("the macro gets %s", fragment)
	}
	w.returns(r, replying(r, fragment.String()))
	w.succeed("A", "a")
	if w.status() != "UPDATE_COMPLETE" {
		t.Errorf("the stack is in %s", w.status())
	}
	drawn, err := w.engine.Preview(w.ctx, engine.PreviewStack{Stack: w.ref(), Template: text})
	if err != nil || len(drawn.Changes) != 1 {
		t.Errorf("a preview has %d changes, %v", len(drawn.Changes), err)
	}
	if _, err := w.engine.Preview(w.ctx, engine.PreviewStack{Stack: w.ref(), Template: oneMacro}); err == nil || !strings.Contains(err.Error(), "only when its macros have run: [M]") {
		t.Errorf("a preview of macros: %v", err)
	}
}

// TestMacroEventIsSealed checks the event of a function, and that the store does not contain it in clear text.
func TestMacroEventIsSealed(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.macros("Whole", "Last", "Inner")
	w.must(w.createExpanding(twoMacros, nil, engine.Parameter{Key: "Secret", Value: "hush"}))
	r := w.macro("Inner")
	var plain struct{ Dialect string }
	text, err := json.Marshal(r.Body)
	w.must(err)
	w.must(json.Unmarshal(text, &plain))
	if strings.Contains(string(text), "hush") || len(r.Body.Properties.Secrets()) != 1 || r.Body.Pending.Secrets() == nil {
		t.Errorf("the row holds the secret in clear: %s", text)
	}
	if r.Asks() || r.Type == wire.Create || r.Body.Token.Kind() != value.String {
		t.Errorf("it is a request for a provider: %+v", r)
	}
}
