package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
)

// still returns a template with outputs only, because its only resource has a false condition. An output is key,
// value and export name.
func still(outputs ...[3]string) string {
	return body(map[string]string{"N": resource("", `"Condition": "No"`)}, `"Conditions": {"No": {"Fn::Equals": ["a", "b"]}}`, exporting(outputs...))
}

// exporting returns a section of outputs. A value is JSON.
func exporting(outputs ...[3]string) string {
	members := make([]string, len(outputs))
	for i, o := range outputs {
		members[i] = fmt.Sprintf(`%q: {"Value": %s`, o[0], o[1])
		if o[2] != "" {
			members[i] += fmt.Sprintf(`, "Export": {"Name": %q}`, o[2])
		}
		members[i] += "}"
	}
	return `"Outputs": {` + strings.Join(members, ", ") + "}"
}

func imported(name string) string { return `{"Fn::ImportValue": "` + name + `"}` }

func (w *world) createNamed(name, template string, options engine.Options) error {
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: name}, Template: template, Options: options,
	})
	return err
}

func (w *world) updateNamed(name, template string) error {
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: engine.Ref{Account: account, Region: region, Stack: name}, Template: template,
	})
	return err
}

func (w *world) deleteNamed(name string) error {
	_, err := w.engine.Delete(w.ctx, engine.DeleteStack{Stack: engine.Ref{Account: account, Region: region, Stack: name}})
	return err
}

func (w *world) named(name string) store.Stack {
	w.t.Helper()
	stack, err := w.store.LiveStack(w.ctx, store.StackName{Account: account, Region: region, Name: name})
	w.must(err)
	return stack
}

// is checks the state of a stack and its reason.
func (w *world) is(name, status, reason string) {
	w.t.Helper()
	s := w.named(name)
	if got := engine.CloudFormation.StackStatus(s.Kind, s.Phase); got != status || s.Reason != reason {
		w.t.Errorf("%s is %s %q, want %s %q", name, got, s.Reason, status, reason)
	}
}

// course returns the stack's own events.
func (w *world) course(name string) []string {
	w.t.Helper()
	rows, err := w.store.Events(w.ctx, w.named(name).Key, store.EventCursor{}, 1000)
	w.must(err)
	var lines []string
	for i := range rows {
		for _, e := range rows[len(rows)-1-i].Events {
			if e.Phase != "" {
				lines = append(lines, strings.TrimPrefix(eventLine(e), "S "))
			}
		}
	}
	return lines
}

// trade compares all exports, each with its value and importers.
func (w *world) trade(want ...string) {
	w.t.Helper()
	exports, err := w.store.Exports(w.ctx, account, region, "", 100)
	w.must(err)
	var got []string
	for _, e := range exports {
		importers, err := w.store.Importers(w.ctx, account, region, e.Name, "", 100)
		w.must(err)
		got = append(got, fmt.Sprintf("%s of %s = %s %v", e.Name, e.StackName, e.Value.Masked().Text(), importers))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("exports (-want +got):\n%s", diff)
	}
}

func TestImport(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.createNamed("Net", still([3]string{"Vpc", `"vpc-1"`, "net-Vpc"}, [3]string{"Own", `"x"`, ""}), engine.Options{}))
	w.must(w.createNamed("App", body(map[string]string{"C": resource(`"In": ` + imported("net-Vpc"))}), engine.Options{}))
	w.trade("net-Vpc of Net = vpc-1 [App]") // from the start
	w.succeed("C", "c")
	w.is("App", "CREATE_COMPLETE", "")
	if diff := cmp.Diff([]string{`-> Create C id= {"In":"vpc-1"}`}, w.sent); diff != "" {
		t.Error(diff)
	}
	w.must(w.createNamed("Other", still([3]string{"O", imported("net-Vpc"), "again"}), engine.Options{}))
	w.trade("again of Other = vpc-1 []", "net-Vpc of Net = vpc-1 [App Other]")

	// An export in use cannot change.
	w.must(w.updateNamed("Net", still([3]string{"Vpc", `"vpc-2"`, "net-Vpc"})))
	w.is("Net", "UPDATE_ROLLBACK_COMPLETE", "")
	w.must(w.updateNamed("Net", still([3]string{"Vpc", `"vpc-1"`, "net-Vpc-2"})))
	want := []string{
		`CREATE_IN_PROGRESS "User Initiated"`, "CREATE_COMPLETE",
		`UPDATE_IN_PROGRESS "User Initiated"`,
		`UPDATE_ROLLBACK_IN_PROGRESS "Export net-Vpc cannot be updated as it is in use by App and Other. Rollback requested by user."`,
		"UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE",
		`UPDATE_IN_PROGRESS "User Initiated"`,
		`UPDATE_ROLLBACK_IN_PROGRESS "Export net-Vpc cannot be deleted as it is in use by App and Other. Rollback requested by user."`,
		"UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE",
	}
	if diff := cmp.Diff(want, w.course("Net")); diff != "" {
		t.Error(diff)
	}
	w.trade("again of Other = vpc-1 []", "net-Vpc of Net = vpc-1 [App Other]")
	// Other outputs may change, and so may the key of the exported output.
	w.must(w.updateNamed("Net", still([3]string{"Named", `"vpc-1"`, "net-Vpc"}, [3]string{"More", `"m"`, "more"})))
	w.is("Net", "UPDATE_COMPLETE", "")
	w.trade("again of Other = vpc-1 []", "more of Net = m []", "net-Vpc of Net = vpc-1 [App Other]")
	wantCode(t, w.deleteNamed("Net"), engine.CodeValidation,
		"Delete canceled. Cannot delete export net-Vpc as it is in use by App and Other.")
	w.is("Net", "UPDATE_COMPLETE", "")

	w.must(w.updateNamed("Other", still([3]string{"O", `"mine"`, ""})))
	w.trade("more of Net = m []", "net-Vpc of Net = vpc-1 [App]")
	w.must(w.deleteNamed("App"))
	w.trade("more of Net = m []", "net-Vpc of Net = vpc-1 [App]") // until App is deleted
	w.succeed("C", "c")
	w.trade("more of Net = m []", "net-Vpc of Net = vpc-1 []")
	w.must(w.deleteNamed("Net"))
	w.trade()
}

func TestImportOfMissingExport(t *testing.T) {
	template := body(map[string]string{"C": resource(`"In": ` + imported("gone"))})
	for _, test := range []struct {
		name    string
		in      engine.CreateStack
		status  string
		history []string
	}{
		{"", engine.CreateStack{}, "ROLLBACK_COMPLETE", []string{
			`CREATE_IN_PROGRESS "User Initiated"`, `ROLLBACK_IN_PROGRESS "No export named gone found. Rollback requested by user."`, "ROLLBACK_COMPLETE",
		}},
		{"left", engine.CreateStack{Options: engine.Options{DisableRollback: true}}, "CREATE_FAILED", []string{
			`CREATE_IN_PROGRESS "User Initiated"`, `CREATE_FAILED "No export named gone found"`,
		}},
		{"deleted", engine.CreateStack{DeleteOnFailure: true, TimeoutMinutes: 1}, "DELETE_COMPLETE", []string{
			`CREATE_IN_PROGRESS "User Initiated"`, `DELETE_IN_PROGRESS "No export named gone found. Delete requested by user."`, "DELETE_COMPLETE",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, engine.FidelityPintle)
			in := test.in
			in.Name, in.Template = store.StackName{Account: account, Region: region, Name: "App"}, template
			_, err := w.engine.Create(w.ctx, in)
			w.must(err)
			if got := w.status(); got != test.status {
				t.Errorf("it is %s, want %s", got, test.status)
			}
			want := make([]string, len(test.history))
			for i, line := range test.history {
				want[i] = "S " + line
			}
			w.want(0, want)
			if test.status == "CREATE_FAILED" { // and it may be retried
				w.must(w.createNamed("Net", still([3]string{"O", `"v"`, "gone"}), engine.Options{}))
				_, err := w.engine.Update(w.ctx, engine.UpdateStack{
					Stack:    engine.Ref{Account: account, Region: region, Stack: "App"},
					Template: template, Options: engine.Options{DisableRollback: true},
				})
				w.must(err)
				w.succeed("C", "c")
				w.is("App", "UPDATE_COMPLETE", "")
				w.trade("gone of Net = v [App]")
			}
		})
	}
}

// TestImportsOfAFailedUpdate checks that a failed update restores the previous imports, and holds both while it runs.
func TestImportsOfAFailedUpdate(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.createNamed("Net", still([3]string{"A", `"a"`, "a"}, [3]string{"B", `"b"`, "b"}), engine.Options{}))
	app := func(name string) string { return body(map[string]string{"C": resource(`"In": ` + imported(name))}) }
	w.must(w.createNamed("App", app("a"), engine.Options{}))
	w.succeed("C", "c")
	w.must(w.updateNamed("App", app("b")))
	w.trade("a of Net = a [App]", "b of Net = b [App]")
	w.fail("C", "c", "no")
	w.trade("a of Net = a [App]", "b of Net = b [App]")
	w.succeed("C", "c")
	w.is("App", "UPDATE_ROLLBACK_COMPLETE", "")
	w.trade("a of Net = a [App]", "b of Net = b []")
	w.must(w.updateNamed("App", app("missing")))
	w.is("App", "UPDATE_ROLLBACK_COMPLETE", "")
	w.trade("a of Net = a [App]", "b of Net = b []")
	if got := w.course("App"); !strings.Contains(strings.Join(got, "\n"), `UPDATE_ROLLBACK_IN_PROGRESS "No export named missing found. Rollback requested by user."`) {
		t.Errorf("received: %q", got)
	}
	w.must(w.updateNamed("App", app("b")))
	w.succeed("C", "c")
	w.is("App", "UPDATE_COMPLETE", "")
	w.trade("a of Net = a []", "b of Net = b [App]")
	want := []string{
		`-> Create C id= {"In":"a"}`, `-> Update C id=c {"In":"b"} was {"In":"a"}`,
		`-> Update C id=c {"In":"a"} was {"In":"b"}`, `-> Update C id=c {"In":"b"} was {"In":"a"}`,
	}
	if diff := cmp.Diff(want, w.sent); diff != "" {
		t.Error(diff)
	}
}

func TestExportNameInUse(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.createNamed("One", still([3]string{"O", `"1"`, "name"}), engine.Options{}))
	w.must(w.createNamed("Two", still([3]string{"O", `"2"`, "name"}), engine.Options{}))
	w.is("Two", "ROLLBACK_COMPLETE", "")
	w.must(w.createNamed("Three", still([3]string{"O", `"3"`, "own"}), engine.Options{}))
	w.must(w.updateNamed("Three", still([3]string{"O", `"3"`, "own"}, [3]string{"P", `"3"`, "name"})))
	w.is("Three", "UPDATE_ROLLBACK_COMPLETE", "")
	w.must(w.createNamed("Four", still([3]string{"O", `"4"`, "twice"}, [3]string{"P", `"4"`, "twice"}), engine.Options{}))
	w.is("Four", "ROLLBACK_COMPLETE", "")
	for name, want := range map[string]string{
		"Two":   `ROLLBACK_IN_PROGRESS "Export with name name is already exported by stack One. Rollback requested by user."`,
		"Three": `UPDATE_ROLLBACK_IN_PROGRESS "Export with name name is already exported by stack One. Rollback requested by user."`,
		"Four":  `ROLLBACK_IN_PROGRESS "Export with name twice is already exported by stack Four. Rollback requested by user."`,
	} {
		if got := strings.Join(w.course(name), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s received\n%s\nwant\n%s", name, got, want)
		}
	}
	w.trade("name of One = 1 []", "own of Three = 3 []")
	w.must(w.deleteNamed("One"))
	w.must(w.updateNamed("Three", still([3]string{"O", `"3"`, "own"}, [3]string{"P", `"3"`, "name"})))
	w.trade("name of Three = 3 []", "own of Three = 3 []")
}

// TestReplacementOfImportedResource checks that replacing a resource whose ID is imported is rolled back, with the old
// export.
func TestReplacementOfImportedResource(t *testing.T) {
	net := func(k string) string {
		return body(map[string]string{"C": resource(`"K": "` + k + `"`)}, exporting([3]string{"Id", `{"Ref": "C"}`, "id"}))
	}
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.createNamed("Net", net("1"), engine.Options{}))
	w.succeed("C", "a")
	w.must(w.createNamed("App", still([3]string{"O", imported("id"), ""}), engine.Options{}))
	w.must(w.updateNamed("Net", net("2")))
	w.succeed("C", "b")
	w.trade("id of Net = a [App]")
	w.succeed("C", "z") // the provider does not return to a either
	w.trade("id of Net = a [App]")
	for len(w.inbox) > 0 {
		w.succeed("C", "x")
	}
	w.is("Net", "UPDATE_ROLLBACK_COMPLETE", "")
	w.trade("id of Net = a [App]")
	if v, _ := w.named("Net").OutputValues.Get("Id"); v.Text() != "a" {
		t.Errorf("the output is %s, the export is not", v)
	}
}

func TestImportOfASecret(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	net := body(map[string]string{"N": resource("", `"Condition": "No"`)}, `"Conditions": {"No": {"Fn::Equals": ["a", "b"]}}`,
		`"Parameters": {"P": {"Type": "String", "NoEcho": true}}`, exporting([3]string{"Key", `{"Ref": "P"}`, "key"}))
	w.must(w.createNamed("Net", net, engine.Options{Parameters: []engine.Parameter{{Key: "P", Value: "hush-hush"}}}))
	w.now = w.now.Add(time.Second)
	w.must(w.createNamed("App", body(map[string]string{"C": resource(`"In": ` + imported("key"))}, exporting([3]string{"O", imported("key"), "again"})), engine.Options{}))
	r := w.take("C")
	if in, _ := r.Body.Properties.Get("In"); in.Text() != "hush-hush" || !in.Secret() {
		t.Errorf("the provider is sent %s", in)
	}
	w.answer(r, `"Status": "FAILED", "PhysicalResourceId": "c", "Reason": "I was sent hush-hush"`)
	w.succeed("C", "c")
	if history := w.history(); strings.Contains(history, "hush") || !strings.Contains(history, "I was sent ") {
		t.Errorf("the secret is shown:\n%s", history)
	}
	if shown := fmt.Sprint(w.properties("C")); strings.Contains(shown, "hush") {
		t.Error("the secret is shown:", shown)
	}
	w.must(w.createNamed("App2", still([3]string{"O", imported("key"), "again"}), engine.Options{}))
	w.trade("again of App2 = **** []", "key of Net = **** [App2]")
}

func TestStackOutput(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	read := func(members string) string {
		return body(map[string]string{"C": resource(`"In": {"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Vpc"` + members + `}}`)})
	}
	w.must(w.createNamed("Net", still([3]string{"Vpc", `"vpc-1"`, ""}), engine.Options{}))
	w.must(w.createNamed("App", read(""), engine.Options{}))
	w.succeed("C", "c")
	wantCode(t, w.updateNamed("App", read("")), engine.CodeValidation, "No updates are to be performed.")
	w.must(w.updateNamed("Net", still([3]string{"Vpc", `"vpc-2"`, ""}))) // no stack imports it
	w.is("Net", "UPDATE_COMPLETE", "")
	w.must(w.updateNamed("App", read("")))
	w.succeed("C", "c")
	w.is("App", "UPDATE_COMPLETE", "")
	want := []string{`-> Create C id= {"In":"vpc-1"}`, `-> Update C id=c {"In":"vpc-2"} was {"In":"vpc-1"}`}
	if diff := cmp.Diff(want, w.sent); diff != "" {
		t.Error(diff)
	}
	for members, reason := range map[string]string{
		`, "Region": "eu-west-1"`:                              "No output Vpc of a stack Net found in eu-west-1. ",
		`, "RoleArn": "arn:aws:iam::210987654321:role/Reader"`: "Fn::GetStackOutput with the RoleArn arn:aws:iam::210987654321:role/Reader: only stacks of the account 123456789012 can be read. ",
	} {
		w.must(w.updateNamed("App", read(members)))
		w.is("App", "UPDATE_ROLLBACK_COMPLETE", "")
		if got := strings.Join(w.course("App"), "\n"); !strings.Contains(got, `UPDATE_ROLLBACK_IN_PROGRESS "`+reason+`Rollback requested by user."`) {
			t.Errorf("received:\n%s", got)
		}
	}
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: "eu-west-1", Name: "Net"}, Template: still([3]string{"Vpc", `"vpc-9"`, ""}),
	})
	w.must(err)
	w.must(w.updateNamed("App", read(`, "Region": "eu-west-1", "RoleArn": "arn:aws:iam::123456789012:role/Reader"`)))
	w.take("C")
	if last := w.sent[len(w.sent)-1]; last != `-> Update C id=c {"In":"vpc-9"} was {"In":"vpc-2"}` {
		t.Error(last)
	}
	w.must(w.deleteNamed("Net"))
}

func TestDeleteOfImportedExport(t *testing.T) {
	w := newWorld(t, engine.FidelityAWS)
	w.must(w.createNamed("Net", still([3]string{"O", `"v"`, "name"}), engine.Options{}))
	w.must(w.createNamed("App", still([3]string{"O", imported("name"), ""}), engine.Options{}))
	w.must(w.deleteNamed("Net"))
	const reason = "Delete canceled. Cannot delete export name as it is in use by App."
	w.is("Net", "CREATE_COMPLETE", reason)
	if diff := cmp.Diff([]string{`CREATE_IN_PROGRESS "User Initiated"`, "CREATE_COMPLETE", `CREATE_COMPLETE "` + reason + `"`}, w.course("Net")); diff != "" {
		t.Error(diff)
	}
	w.trade("name of Net = v [App]")
	w.must(w.deleteNamed("App"))
	w.must(w.deleteNamed("Net"))
	w.trade()
}

// TestImportFromDeletedStack checks that a stack's exports end when its delete begins, so that no stack imports from
// one that is being deleted.
func TestImportFromDeletedStack(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.createNamed("Net", body(map[string]string{"C": resource("")}, exporting([3]string{"O", `"v"`, "name"})), engine.Options{}))
	w.succeed("C", "c")
	w.must(w.deleteNamed("Net"))
	w.must(w.createNamed("App", still([3]string{"O", imported("name"), ""}), engine.Options{}))
	w.is("App", "ROLLBACK_COMPLETE", "")
	w.fail("C", "c", "no")
	w.is("Net", "DELETE_FAILED", "The following resource(s) failed to delete: [C]. ")
	w.trade()
	w.must(w.deleteNamed("App"))
	w.must(w.deleteNamed("Net"))
	w.succeed("C", "c")
}

func TestImportFromItself(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.createNamed("Net", still([3]string{"O", `"v"`, "name"}), engine.Options{}))
	w.must(w.updateNamed("Net", still([3]string{"O", `"v"`, "name"}, [3]string{"P", imported("name"), ""})))
	w.is("Net", "UPDATE_ROLLBACK_COMPLETE", "")
	w.must(w.deleteNamed("Net"))
}

// TestImportInAChangeSet checks that a change set shows the current import and missing ones, and is executed with the
// values at that time.
func TestImportInAChangeSet(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	plan := func(set, template string) engine.ChangeSet {
		ref := engine.Ref{Account: account, Region: region, Stack: "App"}
		_, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
			Stack: ref, Name: set, Kind: store.KindCreate, Template: template,
		})
		w.must(err)
		row, err := w.engine.ChangeSet(w.ctx, engine.ChangeSetRef{Ref: ref, Name: set})
		w.must(err)
		return row
	}
	app := body(map[string]string{"C": resource(`"In": ` + imported("name"))})
	set := plan("first", app)
	const warning = "[WARN] The execution of this change set is going to fail. "
	if set.State != store.ChangeSetAvailable || set.Reason != "" { // clients that ask for values get the service's text
		t.Errorf("%s %q", set.State, set.Reason)
	}
	lacking, err := set.Changes()
	w.must(err)
	if lacking[0].Import != "name" || !strings.Contains(lacking[0].After.String(), `"In":"`+template.Unknown+`"`) {
		t.Errorf("import %q, after %s", lacking[0].Import, lacking[0].After)
	}
	if set := plan("outputs", still([3]string{"O", imported("name"), ""})); set.Reason != warning+"No export named name found." {
		t.Errorf("%q", set.Reason)
	}
	w.must(w.createNamed("Net", still([3]string{"O", `"1"`, "name"}), engine.Options{}))
	set = plan("second", app)
	changes, err := set.Changes()
	w.must(err)
	if in, _ := changes[0].After.Get("Properties"); set.Reason != "" || !strings.Contains(in.String(), `"In":"1"`) {
		t.Errorf("%q %s", set.Reason, in)
	}
	w.trade("name of Net = 1 []")
	w.must(w.updateNamed("Net", still([3]string{"O", `"2"`, "name"})))
	_, err = w.engine.ExecuteChangeSet(w.ctx, engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{
		Ref: engine.Ref{Account: account, Region: region, Stack: "App"}, Name: "second",
	}})
	w.must(err)
	w.succeed("C", "c")
	w.is("App", "CREATE_COMPLETE", "")
	w.trade("name of Net = 2 [App]")
	if diff := cmp.Diff([]string{`-> Create C id= {"In":"2"}`}, w.sent); diff != "" {
		t.Error(diff)
	}
}
