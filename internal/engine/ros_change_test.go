package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// changeLines returns changes, one line each.
func changeLines(t *testing.T, changes []engine.Change) []string {
	t.Helper()
	var lines []string
	for _, c := range changes {
		line := fmt.Sprintf("%s %s %s", c.Action, c.LogicalID, c.Replacement)
		for _, d := range c.Details {
			line += " " + d.Path
		}
		if c.Problem != "" {
			line += " !" + c.Problem
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// TestROSPreview checks that a preview shows replacements, which the provider cannot decide in ROS, and declarations
// outside Parameters.
func TestROSPreview(t *testing.T) {
	template := func(properties, k string) string {
		return rosBody(map[string]string{"C": rosResource(`"K": `+k, properties), "D": rosResource(`"Of": {"Ref": "C"}`, "")})
	}
	w := standing(t, engine.Config{}, template("", "1"), "C=a", "D=d")
	for _, test := range []struct {
		name    string
		in      engine.PreviewStack
		want    []string
		changed bool
	}{
		{"nothing", engine.PreviewStack{Template: template("", "1")}, nil, false},
		{"parameters", engine.PreviewStack{Template: template("", "2")}, []string{"Modify C False /Properties/Parameters/K"}, true},
		{"timeout", engine.PreviewStack{Template: template(`, "Timeout": 9`, "1")}, []string{"Modify C False /Properties/Timeout"}, true},
		{"token", engine.PreviewStack{Template: template(otherTokenJSON, "1")}, []string{
			`Modify C False /Properties/ServiceToken !ServiceToken cannot be changed: the update of this resource will fail with "` +
				`ServiceToken cannot be updated. Keep it, or update the stack with ReplacementOption Enabled: the resource is then deleted and created again"`,
			"Modify D False /Properties/Parameters/Of",
		}, true},
		{"replaced", engine.PreviewStack{Template: template(otherTokenJSON, "1"), Replace: true}, []string{
			"Modify C True /Properties/ServiceToken", "Modify D False /Properties/Parameters/Of",
		}, true},
		{"tainted", engine.PreviewStack{Template: template("", "1"), Taint: []wire.LogicalID{"C"}}, []string{
			"Modify C True", "Modify D False /Properties/Parameters/Of",
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.in.Stack = w.rosRef()
			got, err := w.engine.Preview(w.ctx, test.in)
			w.must(err)
			if diff := cmp.Diff(test.want, changeLines(t, got.Changes)); diff != "" || got.Unchanged == test.changed {
				t.Errorf("unchanged %v, changes (-want +got):\n%s", got.Unchanged, diff)
			}
		})
	}
	got, err := w.engine.Preview(w.ctx, engine.PreviewStack{
		Stack: engine.Ref{Account: rosAccount, Region: rosRegion, Stack: "New"}, Dialect: engine.ROS,
		Template: rosBody(map[string]string{"C": rosResource(`"K": 1.50`, `, "HttpConfig": {"SignKey": "hush"}`)}),
	})
	w.must(err)
	if after := got.Changes[0].After.String(); got.Kind != store.KindCreate || !strings.Contains(after, `"Timeout":60,"Parameters":{"K":1.50}`) || strings.Contains(after, "hush") {
		t.Errorf("%s: %s", got.Kind, after)
	}
}

func TestROSChangeSets(t *testing.T) {
	w := newROS(t, engine.Config{})
	ref := engine.Ref{Account: rosAccount, Region: rosRegion, Stack: "S"}
	planned, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Stack: ref, Dialect: engine.ROS, Name: "first", Kind: store.KindCreate, Template: oneROS(`"K": 1`),
	})
	w.must(err)
	w.id = planned.StackID
	if status := w.rosStatus(); status != "REVIEW_IN_PROGRESS" || strings.Contains(string(planned.ID), "arn:") {
		t.Errorf("the stack is %s, the set %s", status, planned.ID)
	}
	refusedWith(t, w.change(engine.UpdateStack{Template: oneROS("")}), engine.CodeNotSupported,
		"A stack in status REVIEW_IN_PROGRESS to be updated is not supported. Execute the change set that is to create it, or delete it.")
	set := func(id store.ChangeSetID) engine.ChangeSetRef {
		return engine.ChangeSetRef{Ref: engine.Ref{Account: rosAccount, Region: rosRegion, ByID: true}, Name: string(id)}
	}
	execute := func(in engine.ExecuteChangeSet) {
		t.Helper()
		_, err := w.engine.ExecuteChangeSet(w.ctx, in)
		w.must(err)
	}
	execute(engine.ExecuteChangeSet{ChangeSet: set(planned.ID), Caller: "42"})
	if r := w.inbox[0]; r.Body.Caller != "42" {
		t.Errorf("the caller is %q", r.Body.Caller)
	}
	w.succeed("C", "a")
	_, err = w.engine.ExecuteChangeSet(w.ctx, engine.ExecuteChangeSet{ChangeSet: set(planned.ID)})
	refusedWith(t, err, engine.CodeNotSupported, "The ChangeSet (first) in execution status StatusEnum.EXECUTE_COMPLETE to be executed is not supported.")

	same, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Stack: w.rosRef(), Name: "same", Kind: store.KindUpdate, Template: oneROS(`"K": 1`),
	})
	w.must(err)
	shown, err := w.engine.ChangeSet(w.ctx, set(same.ID))
	w.must(err)
	if status := engine.ROS.ChangeSetStatus(shown.State); status != "CREATE_FAILED" || shown.Reason == "" {
		t.Errorf("a set that changes nothing is %s: %s", status, shown.Reason)
	}
	replace, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Stack: w.rosRef(), Name: "replace", Kind: store.KindUpdate, Replace: true,
		Template: rosBody(map[string]string{"C": rosResource(`"K": 1`, otherTokenJSON)}),
	})
	w.must(err)
	execute(engine.ExecuteChangeSet{ChangeSet: set(replace.ID)})
	w.succeed("C", "a")
	w.succeed("C", "b")
	if status := w.rosStatus(); status != "UPDATE_COMPLETE" {
		t.Error(status)
	}
	_, err = w.engine.ChangeSet(w.ctx, set("8acc3dcd-cf48-4fa1-863e-7c767b61fe42"))
	refusedWith(t, err, engine.CodeChangeSetNotFound, "The ChangeSet 8acc3dcd-cf48-4fa1-863e-7c767b61fe42 could not be found.")
}

// TestROSChangeSetPolicy checks that a change set keeps the stack policy of its creation, which applies to later
// updates.
func TestROSChangeSetPolicy(t *testing.T) {
	w := standing(t, engine.Config{}, rosBody(map[string]string{"C": rosResource("", ""), "D": rosResource("", "")}), "C=c", "D=d")
	create := func(in engine.CreateChangeSet) (engine.Planned, error) {
		in.Stack, in.Kind = w.rosRef(), store.KindUpdate
		return w.engine.CreateChangeSet(w.ctx, in)
	}
	_, err := create(engine.CreateChangeSet{Name: "bad", Template: oneROS(""), Options: engine.Options{Policy: "{"}})
	if reported, ok := engine.InputError(err); !ok || reported.Code != engine.CodeStackValidationFailed {
		t.Errorf("a policy that is none: %v", err)
	}
	const policy = `{"Statement": [{"Effect": "Deny", "Action": "Update:Delete", "Principal": "*", "Resource": "*"},
		{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}`
	set, err := create(engine.CreateChangeSet{
		Name: "set", Template: rosBody(map[string]string{"C": rosResource(`"K": 1`, ""), "D": rosResource("", "")}),
		Options: engine.Options{Policy: policy},
	})
	w.must(err)
	_, err = w.engine.ExecuteChangeSet(w.ctx, engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{
		Ref: engine.Ref{Account: rosAccount, Region: rosRegion, ByID: true}, Name: string(set.ID),
	}})
	w.must(err)
	w.succeed("C", "c")
	w.must(w.change(engine.UpdateStack{Template: oneROS(`"K": 1`)}))
	if reason := w.reasonOf(store.PhaseRevert); !strings.HasPrefix(reason, "Resource UPDATE failed: StackPolicyValidationFailed: resources.D: ") {
		t.Errorf("the reason is %q", reason)
	}
}

// TestROSChangeSetTwice checks that a repeated request for a change set has to match in everything, and that the
// error codes are those of ROS.
func TestROSChangeSetTwice(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
	create := func(in engine.CreateChangeSet) (engine.Planned, error) {
		in.Stack, in.Kind, in.Name, in.Token = w.rosRef(), store.KindUpdate, "set", "t"
		if in.Template == "" {
			in.Template = oneROS(`"K": 2`)
		}
		return w.engine.CreateChangeSet(w.ctx, in)
	}
	first, err := create(engine.CreateChangeSet{})
	w.must(err)
	again, err := create(engine.CreateChangeSet{})
	w.must(err)
	if first != again {
		t.Errorf("the same request made %v and %v", first, again)
	}
	for attribute, in := range map[string]engine.CreateChangeSet{
		"Template":          {Template: oneROS(`"K": 3`)},
		"ReplacementOption": {Replace: true},
		"TaintResources":    {Taint: []wire.LogicalID{"C"}},
		"TimeoutInMinutes":  {TimeoutMinutes: 10},
		"Parallelism":       {Options: engine.Options{Parallelism: 1}},
		"StackPolicyBody":   {Options: engine.Options{Policy: `{"Statement": []}`}},
	} {
		_, err := create(in)
		refusedWith(t, err, engine.CodeChangeSetExists, "ChangeSet set cannot be created due to a mismatch with existing attribute "+attribute)
	}
	_, err = w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Stack: engine.Ref{Account: rosAccount, Region: rosRegion, Stack: "S"}, Dialect: engine.ROS, Name: "new", Kind: store.KindCreate, Template: oneROS(""),
	})
	refusedWith(t, err, engine.CodeStackExists, "The Stack (S) already exists.")
}

func TestROSCancelUpdate(t *testing.T) {
	w := standing(t, engine.Config{}, oneROS(`"K": 1`), "C=a")
	w.must(w.change(engine.UpdateStack{Template: oneROS(`"K": 2`)}))
	w.must(w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.rosRef()}))
	w.succeed("C", "a") // the answer to the cancelled request
	w.succeed("C", "a")
	w.happened([]string{
		rosUpdateStarted,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_FAILED id=a "Cancelled: resources.C: the update was cancelled, because another resource failed or the operation was cancelled"`,
		`S ROLLBACK_IN_PROGRESS "Stack UPDATE cancelled"`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_COMPLETE id=a`,
		rosRollbackDone,
	}, `-> Update C id=a {"K":2} was {"K":1}`, `-> Update C id=a {"K":1} was {"K":2}`)
}

// TestROSStackOutputs checks that another stack's outputs are read by the stack's name or ID, and only in the same
// account.
func TestROSStackOutputs(t *testing.T) {
	ids := 0
	w := newROS(t, engine.Config{NewID: func() string {
		ids++
		return fmt.Sprintf("8acc3dcd-cf48-4fa1-863e-%012d", ids)
	}})
	create := func(account, name, template string) engine.Started {
		t.Helper()
		started, err := w.engine.Create(w.ctx, engine.CreateStack{
			Name: store.StackName{Account: account, Region: rosRegion, Name: name}, Dialect: engine.ROS, Template: template,
		})
		w.must(err)
		return started
	}
	other := create(rosAccount, "Other", rosBody(map[string]string{"O": rosResource("", "")}, `"Outputs": {"V": {"Value": {"Fn::GetAtt": ["O", "Outputs"]}}}`))
	w.answer(w.take("O"), success("o")+`, "Data": {"n": 1.50}`)
	foreign := create("0000999999999999", "Other", rosBody(map[string]string{"O": rosResource("", "")}, `"Outputs": {"V": {"Value": "hush"}}`))
	w.succeed("O", "o")
	w.sent = nil
	create(rosAccount, "S", rosBody(map[string]string{"C": rosResource(fmt.Sprintf(
		`"A": {"Fn::GetStackOutput": [%q, "V"]}, "B": {"Fn::GetStackOutput": ["Other", "V"]}, "C": {"Fn::GetStackOutput": [%q, "V"]}`,
		other.StackID, foreign.StackID), "")}))
	w.succeed("C", "c")
	if diff := cmp.Diff([]string{`-> Create C id= {"A":{"n":1.50},"B":{"n":1.50}}`}, w.sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestROSRespond checks that a person may answer for a provider in ROS too.
func TestROSRespond(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: oneROS("")}))
	w.accept(w.take("C"))
	_, err := w.engine.Respond(w.ctx, engine.Respond{Stack: w.rosRef(), Logical: "C", Status: wire.Success, NoEcho: true, By: "test"})
	if err == nil || !strings.Contains(err.Error(), "ROS has no NoEcho") {
		t.Errorf("secret attributes: error %v", err)
	}
	done, err := w.engine.Respond(w.ctx, engine.Respond{
		Stack: w.rosRef(), Logical: "C", Status: wire.Success, Data: []byte(`{"n": 1}`), By: "test",
	})
	w.must(err)
	if status := w.rosStatus(); status != "CREATE_COMPLETE" || !strings.HasPrefix(string(done.PhysicalID), "S-C-") {
		t.Errorf("the stack is %s, the id %q", status, done.PhysicalID)
	}
}

// TestROSRespondKeepsAttributes checks that an answer by hand to an Update keeps the attributes in ROS too, and must
// have those that others read.
func TestROSRespondKeepsAttributes(t *testing.T) {
	w := newROS(t, engine.Config{})
	two := func(k, of string) string {
		return rosBody(map[string]string{
			"C": rosResource(`"K": "`+k+`"`, ""), "D": rosResource(`"K": {"Fn::GetAtt": ["C", "`+of+`"]}`, ""),
		})
	}
	answer := func(in engine.Respond) error {
		in.Stack, in.Logical, in.Status, in.By = w.rosRef(), "C", wire.Success, "test"
		_, err := w.engine.Respond(w.ctx, in)
		return err
	}
	w.must(w.begin(engine.CreateStack{Template: two("v", "Outputs")})) // all of them, with any names
	w.accept(w.take("C"))
	w.must(answer(engine.Respond{Data: []byte(`{"n": 1}`)}))
	w.succeed("D", "d")
	w.must(w.change(engine.UpdateStack{Template: two("w", "n")}))
	w.accept(w.take("C"))
	w.must(answer(engine.Respond{}))
	w.succeed("D", "d")
	if status := w.rosStatus(); status != "UPDATE_COMPLETE" {
		t.Fatalf("the stack is %s", status)
	}
	w.must(w.change(engine.UpdateStack{Template: two("x", "m")}))
	w.accept(w.take("C"))
	if err := answer(engine.Respond{}); err == nil || !strings.Contains(err.Error(), "The answer lacks the attribute m, read by resource D.") {
		t.Errorf("error %v", err)
	}
	w.must(answer(engine.Respond{Set: []byte(`{"m": null}`)})) // a valid value in ROS
	w.succeed("D", "d")
	if status := w.rosStatus(); status != "UPDATE_COMPLETE" {
		t.Errorf("the stack is %s", status)
	}
}

// rosShelf is a shelf of Alibaba Cloud.
type rosShelf struct{ shelf }

// Schema implements [native.Type].
func (t rosShelf) Schema() *native.Schema {
	s := t.shelf.Schema()
	s.Name, s.Dialect = "ALIYUN::Test::Shelf", wire.ROS
	return s
}

// TestROSNative checks that a change that a native type cannot make replaces the resource only if the client allows
// it. The old resource is deleted first.
func TestROSNative(t *testing.T) {
	types, err := native.New(rosShelf{})
	if err != nil {
		t.Fatal(err)
	}
	template := func(properties string) string {
		return rosBody(map[string]string{"A": `{"Type": "ALIYUN::Test::Shelf", "Properties": {` + properties + `}}`})
	}
	w := newROS(t, engine.Config{Native: types})
	serve := func() { (&waiting{world: w.world, types: types}).serve("A") }
	w.must(w.begin(engine.CreateStack{Template: template(`"Name": "a"`)}))
	serve()
	w.must(w.change(engine.UpdateStack{Template: template(`"Name": "a", "Width": 3`)}))
	serve()
	if status := w.rosStatus(); status != "UPDATE_COMPLETE" {
		t.Fatal(status)
	}
	w.sent = nil
	for _, to := range []string{`"Name": "b", "Width": 3`, `"Name": "a", "Width": 3, "Owner": "me"`} {
		preview, err := w.engine.Preview(w.ctx, engine.PreviewStack{Stack: w.rosRef(), Template: template(to)})
		w.must(err)
		w.must(w.change(engine.UpdateStack{Template: template(to)}))
		if s := w.row(); w.rosStatus() != "ROLLBACK_COMPLETE" || len(w.inbox) > 0 || preview.Changes[0].Problem == "" {
			t.Errorf("%s: the stack is %s, and foreseen was %q", to, w.rosStatus(), preview.Changes[0].Problem+s.Reason)
		}
	}
	w.must(w.change(engine.UpdateStack{Template: template(`"Name": "b", "Owner": "me"`), Replace: true}))
	if w.inbox[0].Type != wire.Delete {
		t.Errorf("the first request is a %s", w.inbox[0].Type)
	}
	serve()
	serve()
	if status := w.rosStatus(); status != "UPDATE_COMPLETE" || w.current("A") != "b" {
		t.Errorf("the stack is %s, and A is %q", status, w.current("A"))
	}
}

// reasonOf returns the reason of the newest event of the stack in a phase.
func (w *rosWorld) reasonOf(phase store.Phase) string {
	w.t.Helper()
	rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 1000)
	w.must(err)
	for _, row := range rows { // newest first
		for _, e := range slices.Backward(row.Events) {
			if e.Phase == phase {
				return e.Reason
			}
		}
	}
	return ""
}

// current returns the ID of a logical ID's current instance.
func (w *rosWorld) current(logical string) string {
	w.t.Helper()
	list, err := w.engine.Resources(w.ctx, w.row())
	w.must(err)
	for _, i := range list {
		if string(i.Logical) == logical {
			return string(i.PhysicalID)
		}
	}
	return ""
}
