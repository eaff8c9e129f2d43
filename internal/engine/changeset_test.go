package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
)

const noChanges = "The submitted information didn't contain changes. Submit different information to create a change set."

func named(stack string) engine.Ref {
	return engine.Ref{Account: account, Region: region, Stack: stack}
}

// planned creates a change set of stack S.
func (w *world) planned(in engine.CreateChangeSet) (engine.ChangeSet, error) {
	w.t.Helper()
	if in.Stack.Stack == "" {
		in.Stack = named("S")
	}
	made, err := w.engine.CreateChangeSet(w.ctx, in)
	if err != nil {
		return engine.ChangeSet{}, err
	}
	return w.set(string(made.ID)), nil
}

func (w *world) set(name string) engine.ChangeSet {
	w.t.Helper()
	set, err := w.engine.ChangeSet(w.ctx, engine.ChangeSetRef{Ref: named("S"), Name: name})
	w.must(err)
	return set
}

func (w *world) execute(name string, more ...func(*engine.ExecuteChangeSet)) error {
	in := engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{Ref: named("S"), Name: name}}
	for _, m := range more {
		m(&in)
	}
	set, _ := w.engine.ChangeSet(w.ctx, in.ChangeSet) // without one there is nothing to execute either
	_, err := w.engine.ExecuteChangeSet(w.ctx, in)
	if err == nil {
		w.executed = set.ID
	}
	return err
}

func (w *world) remove(name string) error {
	return w.engine.DeleteChangeSet(w.ctx, engine.ChangeSetRef{Ref: named("S"), Name: name})
}

// sets returns the name, status and execution status of the change set that was executed last, which only its ID
// finds, and of those that the stack lists.
func (w *world) sets() []string {
	w.t.Helper()
	list, err := w.engine.ChangeSets(w.ctx, w.stack())
	w.must(err)
	if id := w.executed; id != "" {
		executed, err := w.engine.ChangeSet(w.ctx, engine.ChangeSetRef{Ref: engine.Ref{Account: account, Region: region}, Name: string(id)})
		if reported, ok := engine.InputError(err); !ok || reported.Code != engine.CodeChangeSetNotFound {
			w.must(err)
			list = append([]engine.ChangeSet{executed}, list...)
		}
	}
	var lines []string
	for _, c := range list {
		lines = append(lines, c.Name+" "+engine.CloudFormation.ChangeSetStatus(c.State)+" "+engine.CloudFormation.ExecutionStatus(c.Execution))
	}
	return lines
}

func (w *world) wantSets(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.sets()); diff != "" {
		w.t.Errorf("change sets (-want +got):\n%s", diff)
	}
}

func changed(t *testing.T, c engine.ChangeSet) string {
	t.Helper()
	changes, err := c.Changes()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, change := range changes {
		words = append(words, string(change.Action)+" "+change.LogicalID)
	}
	return strings.Join(words, ", ")
}

func TestChangeSetCreatesStack(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	set, err := w.planned(engine.CreateChangeSet{Name: "first", Kind: store.KindCreate, Template: one(`"K": "v"`), Description: "d"})
	w.must(err)
	if got := changed(t, set); got != "Add C" || set.Reason != "" || set.Description != "d" || !set.Created.Equal(w.now) {
		t.Errorf("%s: %+v", got, set.ChangeSet)
	}
	if want := "arn:aws:cloudformation:us-east-1:123456789012:changeSet/first/id-"; !strings.HasPrefix(string(set.ID), want) {
		t.Errorf("id %s, want %s…", set.ID, want)
	}
	w.want(0, []string{`S REVIEW_IN_PROGRESS "User Initiated"`})
	if s := w.stack(); s.ChangeSet != "" || !s.Updated.IsZero() || s.Description != "" || s.Revision != 0 || s.Reason != "User Initiated" {
		t.Errorf("a stack in review: %+v", s)
	}

	// It cannot be updated.
	wantCode(t, w.update(one("")), engine.CodeValidation, "is in REVIEW_IN_PROGRESS state and can not be updated.")
	_, err = w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: one("")})
	wantCode(t, err, engine.CodeValidation, "is in REVIEW_IN_PROGRESS state and can not be updated.")
	_, err = w.engine.Rollback(w.ctx, engine.RollbackStack{Stack: named("S")})
	wantCode(t, err, engine.CodeValidation, "cannot be called from current stack status")

	// The stack accepts more sets, and one of them is executed.
	id := string(w.stack().ID)
	set, err = w.planned(engine.CreateChangeSet{Stack: named(id), Name: "second", Kind: store.KindCreate, Template: one(`"K": "w"`)})
	w.must(err)
	w.wantSets("first CREATE_COMPLETE AVAILABLE", "second CREATE_COMPLETE AVAILABLE")
	w.must(w.execute("second"))
	w.wantSets("second CREATE_COMPLETE EXECUTE_IN_PROGRESS")
	wantCode(t, w.remove("second"), engine.CodeChangeSetStatus, "cannot be deleted in its current execution status of [EXECUTE_IN_PROGRESS]")
	wantCode(t, w.execute("second"), engine.CodeChangeSetStatus, "cannot be executed in its current execution status of [EXECUTE_IN_PROGRESS]")
	wantCode(t, w.execute("first"), engine.CodeChangeSetNotFound, "ChangeSet [first] does not exist")
	w.succeed("C", "c")
	w.wantSets("second CREATE_COMPLETE EXECUTE_COMPLETE")
	w.want(1, []string{
		`S CREATE_IN_PROGRESS "User Initiated"`, "C CREATE_IN_PROGRESS id=", `C CREATE_IN_PROGRESS id=c "Resource creation Initiated"`,
		"C CREATE_COMPLETE id=c", "S CREATE_COMPLETE",
	}, `-> Create C id= {"K":"w"}`)
	if s := w.stack(); s.ChangeSet != set.ID || s.Updated.IsZero() || string(s.ID) != id {
		t.Errorf("a stack made by %s: %+v", set.ID, s)
	}
	_, err = w.planned(engine.CreateChangeSet{Name: "third", Kind: store.KindCreate, Template: one("")})
	wantCode(t, err, engine.CodeValidation, "Stack [S] already exists and cannot be created again with the changeSet [third].")

	// The ID finds the set after its stack is deleted.
	w.delete()
	w.succeed("C", "c")
	outlived, err := w.engine.ChangeSet(w.ctx, engine.ChangeSetRef{Ref: named(""), Name: string(set.ID)})
	if w.must(err); outlived.Execution != engine.ExecutionSucceeded {
		t.Errorf("the execution of a deleted stack's change set: %s", outlived.Execution)
	}
	if s := w.stack(); s.ChangeSet != "" || s.Live {
		t.Errorf("a deleted stack: %+v", s)
	}
}

func TestDeleteChangeSetOfStackInReview(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	_, err := w.planned(engine.CreateChangeSet{Name: "c", Kind: store.KindCreate, Template: one("")})
	w.must(err)
	w.must(w.remove("c"))
	w.must(w.remove("c")) // already deleted
	w.wantSets()
	if w.status() != "REVIEW_IN_PROGRESS" {
		t.Errorf("the stack went with its change set: %s", w.status())
	}
	_, err = w.planned(engine.CreateChangeSet{Name: "c", Kind: store.KindCreate, Template: one("")})
	w.must(err)
	w.delete()
	if s := w.stack(); s.Live || w.status() != "DELETE_COMPLETE" {
		t.Errorf("%s, live %t", w.status(), s.Live)
	}
	if rows, err := w.store.ChangeSets(w.ctx, w.stack().Key); len(rows) > 0 || err != nil {
		t.Errorf("%d change sets outlive their stack (%v)", len(rows), err)
	}
	w.must(w.create(one(""))) // the name is free
}

func TestChangeSetUpdatesStack(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=c")
	set, err := w.planned(engine.CreateChangeSet{
		Name: "u", Kind: store.KindUpdate, Template: one(`"K": "w"`),
		Options: engine.Options{Tags: []store.Tag{{Key: "t", Value: "1"}}, Capabilities: []string{"CAPABILITY_IAM"}, RoleARN: "arn:aws:iam::1:role/r"},
	})
	w.must(err)
	if got := changed(t, set); got != "Modify C" {
		t.Errorf("changes: %s", got)
	}
	if len(w.inbox) > 0 || w.status() != "CREATE_COMPLETE" || w.stack().RoleARN != "" || w.stack().Capabilities != nil {
		t.Errorf("planning did something: %+v", w.stack())
	}
	_, err = w.planned(engine.CreateChangeSet{Name: "other", Kind: store.KindUpdate, Template: one(`"K": "x"`)})
	w.must(err)
	w.must(w.execute("u", func(in *engine.ExecuteChangeSet) { in.Token = "go" }))
	w.must(w.execute("u", func(in *engine.ExecuteChangeSet) { in.Token = "go" })) // the same call again
	w.succeed("C", "c")
	w.must(w.execute("u", func(in *engine.ExecuteChangeSet) { in.Token = "go" }))
	w.want(5, []string{
		`S UPDATE_IN_PROGRESS "User Initiated"`, "C UPDATE_IN_PROGRESS id=c", "C UPDATE_COMPLETE id=c",
		"S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "S UPDATE_COMPLETE",
	})
	w.wantSets("u CREATE_COMPLETE EXECUTE_COMPLETE")
	s := w.stack()
	revision, err := w.engine.Revision(w.ctx, s)
	w.must(err)
	if s.ChangeSet != set.ID || s.RoleARN == "" || len(s.Capabilities) != 1 || len(revision.Tags) != 1 || revision.Template != one(`"K": "w"`) {
		t.Errorf("the inputs of the set are not the stack's: %+v %+v", s, revision)
	}

	// Another operation of the stack makes the pending set obsolete. The result of the executed one remains known.
	_, err = w.planned(engine.CreateChangeSet{Name: "late", Kind: store.KindUpdate, Template: one(`"K": "late"`)})
	w.must(err)
	wantCode(t, w.execute("late", func(in *engine.ExecuteChangeSet) { in.Token = "go" }), engine.CodeTokenAlreadyExists, "go")
	w.must(w.update(one(`"K": "direct"`)))
	w.wantSets("u CREATE_COMPLETE EXECUTE_COMPLETE", "late CREATE_COMPLETE OBSOLETE")
	w.succeed("C", "c")
	w.wantSets("u CREATE_COMPLETE EXECUTE_COMPLETE", "late CREATE_COMPLETE OBSOLETE")
	wantCode(t, w.execute("late"), engine.CodeChangeSetStatus, "cannot be executed in its current execution status of [OBSOLETE]")
	w.must(w.remove("late"))
	w.must(w.remove("u"))
	w.wantSets()
}

// TestChangeSetExecutedAgain checks that executing a set again reports the status of the set's own operation,
// regardless of later operations.
func TestChangeSetExecutedAgain(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=c")
	_, err := w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: one(`"K": "w"`)})
	w.must(err)
	w.must(w.execute("u"))
	w.succeed("C", "c")
	w.must(w.update(one(`"K": "x"`)))
	wantCode(t, w.execute("u"), engine.CodeChangeSetStatus, "in its current execution status of [EXECUTE_COMPLETE]")
	w.fail("C", "c", "no")
	w.succeed("C", "c")
	wantCode(t, w.execute("u"), engine.CodeChangeSetStatus, "in its current execution status of [EXECUTE_COMPLETE]")
}

// TestChangeSetTokens checks that the token of an execution is not that of the update or create that it starts.
func TestChangeSetTokens(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	_, err := w.planned(engine.CreateChangeSet{Name: "c", Kind: store.KindCreate, Template: one(`"K": "v"`)})
	w.must(err)
	token := func(in *engine.ExecuteChangeSet) { in.Token = "made" }
	w.must(w.execute("c", token))
	_, err = w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: one(""), Options: engine.Options{Token: "made"},
	})
	wantCode(t, err, engine.CodeAlreadyExists, "Stack [S] already exists")
	w.succeed("C", "c")
	_, err = w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: one(`"K": "w"`)})
	w.must(err)
	w.must(w.execute("u", func(in *engine.ExecuteChangeSet) { in.Token = "go" }))
	w.succeed("C", "c")
	update := engine.UpdateStack{Stack: named("S"), Template: one(`"K": "x"`), Options: engine.Options{Token: "go"}}
	_, err = w.engine.Update(w.ctx, update)
	wantCode(t, err, engine.CodeTokenAlreadyExists, "ClientRequestToken go was used for another operation on stack S")
	w.must(w.remove("u"))
	_, err = w.engine.Update(w.ctx, update)
	wantCode(t, err, engine.CodeTokenAlreadyExists, "ClientRequestToken go was used for another operation on stack S")
}

// TestChangeSetCreatesAgain checks that a set cannot create an existing stack, under any name.
func TestChangeSetCreatesAgain(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	in := engine.CreateChangeSet{Name: "c", Kind: store.KindCreate, Template: one(`"K": "v"`), Options: engine.Options{Token: "t"}}
	set, err := w.planned(in)
	w.must(err)
	update := in
	update.Kind = store.KindUpdate
	_, err = w.planned(update)
	wantCode(t, err, engine.CodeAlreadyExists, "ChangeSet c cannot be created due to a mismatch with existing attribute ChangeSetType")
	w.must(w.execute("c"))
	w.succeed("C", "c")
	again, err := w.planned(in) // the same request again
	w.must(err)
	if again.ID != set.ID {
		t.Errorf("%s besides %s", again.ID, set.ID)
	}
	for _, other := range []engine.CreateChangeSet{
		{Name: "c", Kind: store.KindCreate, Template: one(`"K": "v"`)},
		{Name: "c", Kind: store.KindCreate, Template: one(`"K": "w"`), Options: engine.Options{Token: "t"}},
		{Name: "d", Kind: store.KindCreate, Template: one(`"K": "v"`)},
	} {
		_, err = w.planned(other)
		wantCode(t, err, engine.CodeValidation, "Stack [S] already exists and cannot be created again with the changeSet ["+other.Name+"].")
	}
}

func TestChangeSetFails(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=c")
	for _, test := range []struct{ name, onFailure, want string }{
		{"back", "", "UPDATE_ROLLBACK_COMPLETE"}, {"rollback", "ROLLBACK", "UPDATE_ROLLBACK_COMPLETE"}, {"left", "DO_NOTHING", "UPDATE_FAILED"},
	} {
		_, err := w.planned(engine.CreateChangeSet{Name: test.name, Kind: store.KindUpdate, Template: one(`"K": "w"`), OnFailure: test.onFailure})
		w.must(err)
		no := false
		err = w.execute(test.name, func(in *engine.ExecuteChangeSet) { in.DisableRollback = &no })
		if test.onFailure != "" {
			wantCode(t, err, engine.CodeValidation, "You cannot specify DisableRollback for ChangeSet [")
			err = w.execute(test.name)
		}
		w.must(err)
		w.fail("C", "c", "no")
		if test.want == "UPDATE_ROLLBACK_COMPLETE" {
			w.succeed("C", "c")
		}
		if w.status() != test.want {
			t.Errorf("%s: %s, want %s", test.name, w.status(), test.want)
		}
		w.wantSets(test.name + " CREATE_COMPLETE EXECUTE_FAILED")
	}
	// A stack that was left as it failed accepts another attempt, but only with rollback disabled.
	set, err := w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: one(`"K": "v"`)})
	w.must(err)
	if got := changed(t, set); got != "Modify C" || set.State != store.ChangeSetAvailable {
		t.Errorf("changes of a retry: %s %s", got, set.State)
	}
	wantCode(t, w.execute("u"), engine.CodeValidation, "This stack is currently in a non-terminal [UPDATE_FAILED] state.")
	yes := true
	w.must(w.execute("u", func(in *engine.ExecuteChangeSet) { in.DisableRollback = &yes }))
	w.succeed("C", "c")
	w.wantSets("u CREATE_COMPLETE EXECUTE_COMPLETE")
	_, err = w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: one(""), OnFailure: "DELETE"})
	wantCode(t, err, engine.CodeValidation, "OnStackFailure DELETE is for change sets of type CREATE only.")
}

func TestChangeSetDeletesOnFailure(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	plan := func(template string) {
		_, err := w.planned(engine.CreateChangeSet{Name: "c", Kind: store.KindCreate, Template: template, OnFailure: "DELETE"})
		w.must(err)
		w.must(w.execute("c"))
	}
	gone := func() {
		t.Helper()
		list, err := w.engine.ChangeSets(w.ctx, w.stack())
		if w.status() != "DELETE_COMPLETE" || len(list) > 0 || err != nil {
			t.Errorf("%s, %d change sets (%v)\n%s", w.status(), len(list), err, w.history())
		}
	}
	plan(one(""))
	w.fail("C", "c", "no")
	w.succeed("C", "c")
	gone()
	w.now = w.now.Add(1e9)
	plan(`{"Resources": {"C": {"Type": "Custom::Thing", "Properties": {"K": 1}}}}`) // it fails before any request is sent
	gone()
}

func TestChangeSetWithoutChanges(t *testing.T) {
	before := body(map[string]string{"C": resource(`"K": "v"`, `"DeletionPolicy": "Delete"`)}, `"Parameters": {"P": {"Type": "String", "Default": "d"}}`)
	for _, test := range []struct {
		name, template string
		options        engine.Options
		want           string // the changes, or the reason of a failure
	}{
		{"the same", before, engine.Options{}, noChanges},
		{"a policy", strings.Replace(before, `"Delete"`, `"Retain"`, 1), engine.Options{}, noChanges},
		{"an output", strings.TrimSuffix(before, "}") + `, "Outputs": {"O": {"Value": "v"}}}`, engine.Options{}, ""},
		{"a tag", before, engine.Options{Tags: []store.Tag{{Key: "k", Value: "v"}}}, ""},
		{"unused parameter", before, engine.Options{Parameters: []engine.Parameter{{Key: "P", Value: "e"}}}, ""},
		{"metadata and a policy", strings.Replace(before, `"DeletionPolicy": "Delete"`, `"DeletionPolicy": "Retain", "Metadata": {"M": 1}`, 1), engine.Options{}, "Modify C"},
	} {
		w := created(t, before, "C=c")
		set, err := w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: test.template, Options: test.options})
		w.must(err)
		if test.want == noChanges {
			if set.Reason != noChanges {
				t.Errorf("%s: reason %q", test.name, set.Reason)
			}
			w.wantSets("u FAILED UNAVAILABLE")
			wantCode(t, w.execute("u"), engine.CodeChangeSetStatus, "ChangeSet ["+string(set.ID)+"] cannot be executed in its current status of [FAILED]")
			continue
		}
		if got := changed(t, set); got != test.want || set.Reason != "" {
			t.Errorf("%s: changes %q, reason %q", test.name, got, set.Reason)
		}
		w.must(w.execute("u"))
		if w.status() != "UPDATE_COMPLETE" || len(w.inbox) > 0 {
			t.Errorf("%s: %s", test.name, w.status())
		}
	}
}

func TestChangeSetNames(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=c")
	in := engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: one(`"K": "w"`), Options: engine.Options{Token: "t"}}
	set, err := w.planned(in)
	w.must(err)
	again, err := w.planned(in)
	w.must(err)
	if again.ID != set.ID {
		t.Errorf("the same request once more made %s besides %s", again.ID, set.ID)
	}
	for _, test := range []struct {
		attribute string
		change    func(*engine.CreateChangeSet)
	}{
		{"Template", func(in *engine.CreateChangeSet) { in.Template = one(`"K": "x"`) }},
		{"Tags", func(in *engine.CreateChangeSet) { in.Tags = []store.Tag{{Key: "k"}} }},
		{"Capabilities", func(in *engine.CreateChangeSet) { in.Capabilities = []string{"CAPABILITY_IAM"} }},
		{"RoleARN", func(in *engine.CreateChangeSet) { in.RoleARN = "arn:r" }},
		{"NotificationARNs", func(in *engine.CreateChangeSet) { in.NotificationARNs = []string{"arn:n"} }},
		{"Description", func(in *engine.CreateChangeSet) { in.Description = "d" }},
		{"OnStackFailure", func(in *engine.CreateChangeSet) { in.OnFailure = "ROLLBACK" }},
		{"IncludeNestedStacks", func(in *engine.CreateChangeSet) { in.IncludeNested = true }},
	} {
		other := in
		test.change(&other)
		_, err := w.planned(other)
		wantCode(t, err, engine.CodeAlreadyExists, "ChangeSet u cannot be created due to a mismatch with existing attribute "+test.attribute)
	}
	in.Token = "another"
	_, err = w.planned(in)
	wantCode(t, err, engine.CodeAlreadyExists, "ChangeSet [u] already exists")

	for name, want := range map[string]string{"nobody": "ChangeSet [nobody] does not exist", string(set.ID) + "x": "does not exist"} {
		_, err := w.engine.ChangeSet(w.ctx, engine.ChangeSetRef{Ref: named("S"), Name: name})
		wantCode(t, err, engine.CodeChangeSetNotFound, want)
		wantCode(t, w.execute(name), engine.CodeChangeSetNotFound, want)
		w.must(w.remove(name))
	}
	_, err = w.engine.ChangeSet(w.ctx, engine.ChangeSetRef{Ref: named(""), Name: "u"})
	wantCode(t, err, engine.CodeValidation, "StackName must be specified if ChangeSetName is not specified as an ARN.")
	_, err = w.engine.ChangeSet(w.ctx, engine.ChangeSetRef{Ref: named("ghost"), Name: "u"})
	wantCode(t, err, engine.CodeValidation, "Stack [ghost] does not exist")
	elsewhere := engine.ChangeSetRef{Ref: engine.Ref{Account: account, Region: "eu-west-1"}, Name: string(set.ID)}
	_, err = w.engine.ChangeSet(w.ctx, elsewhere)
	wantCode(t, err, engine.CodeChangeSetNotFound, "does not exist")
	_, err = w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{Stack: named("ghost"), Name: "u", Kind: store.KindUpdate, Template: one("")})
	wantCode(t, err, engine.CodeValidation, "Stack [ghost] does not exist")
	_, err = w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{Stack: named("ghost"), Name: "u", Kind: store.KindCreate, UsePrevious: true})
	wantCode(t, err, engine.CodeValidation, "has no previous template")
}

// TestChangeSetLimit checks that the limit removes sets that failed because nothing changed, and keeps those that can
// be executed.
func TestChangeSetLimit(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=c")
	for i := range 100 {
		template := one(`"K": "w"`)
		if i == 50 || i == 60 {
			template = one(`"K": "v"`)
		}
		_, err := w.planned(engine.CreateChangeSet{Name: fmt.Sprint("u", i), Kind: store.KindUpdate, Template: template})
		w.must(err)
		w.now = w.now.Add(1e9)
	}
	for i := 100; i < 102; i++ {
		_, err := w.planned(engine.CreateChangeSet{Name: fmt.Sprint("u", i), Kind: store.KindUpdate, Template: one(`"K": "w"`)})
		w.must(err)
	}
	list := strings.Join(w.sets(), "\n") + "\n"
	if strings.Contains(list, "FAILED") || strings.Count(list, "AVAILABLE\n") != 100 {
		t.Errorf("left are:\n%s", list)
	}
	_, err := w.planned(engine.CreateChangeSet{Name: "more", Kind: store.KindUpdate, Template: one("")})
	wantCode(t, err, engine.CodeLimitExceeded, "Stack [S] has 100 change sets")
}

// TestChangeSetKeepsSecrets checks that the inputs of a set are frozen, including secrets, and that no secret is
// shown.
func TestChangeSetKeepsSecrets(t *testing.T) {
	text := body(map[string]string{
		"A": resource(`"Secret": {"Ref": "P"}, "Text": {"Fn::Sub": "is ${P}"}`), "B": resource(`"Of": {"Fn::GetAtt": ["A", "token"]}`),
	}, `"Parameters": {"P": {"Type": "String", "NoEcho": true}, "Q": {"Type": "String", "Default": "q"}}`)
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(text, engine.Parameter{Key: "P", Value: "first-hush"}))
	w.answer(w.take("A"), success("a")+`, "NoEcho": true, "Data": {"token": "tok-hush"}`)
	w.succeed("B", "b")
	set, err := w.planned(engine.CreateChangeSet{
		Name: "u", Kind: store.KindUpdate, UsePrevious: true,
		Options: engine.Options{Parameters: []engine.Parameter{{Key: "P", Value: "second-hush"}}},
	})
	w.must(err)
	if text := string(set.Body.Changes) + set.Reason; strings.Contains(text, "hush") || !strings.Contains(text, "****") || !strings.Contains(text, "*****") {
		t.Errorf("changes: %s", text)
	}
	if got := changed(t, set); got != "Modify A, Modify B" {
		t.Errorf("changes: %s", got)
	}
	if !set.Body.Revision.Parameters.HasSecret() {
		t.Error("the frozen parameter is open")
	}
	w.must(w.execute("u"))
	r := w.take("A")
	if v, _ := r.Body.Properties.Get("Text"); v.Text() != "is second-hush" || !v.Secret() {
		t.Errorf("the provider got %s", v)
	}
}

// TestChangeSetWarns checks that a set warns if its execution will fail.
func TestChangeSetWarns(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=c")
	for name, test := range map[string]struct{ template, want string }{
		"token":   {strings.Replace(one(`"K": "v"`), "CRTest", "Other", 1), `C: ServiceToken cannot be changed: the update of this resource will fail with "Modifying service token is not allowed`},
		"timeout": {one(`"K": "v", "ServiceTimeout": 9999`), "C: "},
		"missing": {body(map[string]string{"C": resource(`"K": "v"`), "D": resource(`"X": {"Fn::GetAtt": ["C", "none"]}`)}), "D: CustomResource attribute error: Vendor response doesn't contain none attribute"},
	} {
		set, err := w.planned(engine.CreateChangeSet{Name: name, Kind: store.KindUpdate, Template: test.template})
		w.must(err)
		if want := "[WARN] The execution of this change set is going to fail. " + test.want; !strings.HasPrefix(set.Reason, want) {
			t.Errorf("%s: %q, want %q…", name, set.Reason, want)
		}
	}
	w.must(w.engine.SetPolicy(w.ctx, named("S"), `{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "Update:Modify", "Resource": "*"}]}`))
	set, err := w.planned(engine.CreateChangeSet{Name: "policy", Kind: store.KindUpdate, Template: body(map[string]string{"D": resource("")})})
	w.must(err)
	if want := "C: Action denied by stack policy"; !strings.Contains(set.Reason, want) {
		t.Errorf("policy: %q, want %q", set.Reason, want)
	}
	// The execution fails as predicted.
	w.must(w.execute("token"))
	if w.status() != "UPDATE_ROLLBACK_COMPLETE" || len(w.inbox) > 0 {
		t.Errorf("%s\n%s", w.status(), w.history())
	}
}

// TestChangeSetWarnsOfWhatIsCertain checks that a set does not warn of denials by the stack policy for uncertain
// changes, or for resources that it does not protect.
func TestChangeSetWarnsOfWhatIsCertain(t *testing.T) {
	follower := func(attributes ...string) map[string]string {
		return map[string]string{"A": resource(`"K": "v"`), "B": resource(`"Of": {"Ref": "A"}`, attributes...)}
	}
	w := created(t, body(follower()), "A=a", "B=b")
	w.must(w.engine.SetPolicy(w.ctx, named("S"), `{"Statement": [
		{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"},
		{"Effect": "Deny", "Principal": "*", "Action": "Update:*", "Resource": ["LogicalResourceId/B", "LogicalResourceId/N"]}]}`))
	change := follower(`"DeletionPolicy": "Retain"`, `"Metadata": {"M": 1}`)
	change["A"] = resource(`"K": "w"`)
	set, err := w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: body(change)})
	w.must(err)
	if changed(t, set) != "Modify A, Modify B" || set.Reason != "" {
		t.Errorf("%s: %q", changed(t, set), set.Reason)
	}
	w.must(w.execute("u"))
	w.succeed("A", "a")
	if w.status() != "UPDATE_COMPLETE" {
		t.Errorf("%s\n%s", w.status(), w.history())
	}

	// N never belonged to a complete stack.
	change["N"], change["O"] = resource(""), resource("")
	_, err = w.planned(engine.CreateChangeSet{Name: "n", Kind: store.KindUpdate, Template: body(change), OnFailure: "DO_NOTHING"})
	w.must(err)
	w.must(w.execute("n"))
	w.succeed("N", "n")
	w.fail("O", "o", "no")
	delete(change, "N")
	delete(change, "O")
	set, err = w.planned(engine.CreateChangeSet{Name: "o", Kind: store.KindUpdate, Template: body(change), OnFailure: "DO_NOTHING"})
	w.must(err)
	if got := changed(t, set); got != "Remove N, Remove O" || set.Reason != "" {
		t.Errorf("%s: %q", got, set.Reason)
	}
	w.must(w.execute("o"))
	w.succeed("N", "n")
	w.succeed("O", "o")
	if w.status() != "UPDATE_COMPLETE" {
		t.Errorf("%s\n%s", w.status(), w.history())
	}
}

// TestChangeSetWarnsBriefly checks that a set with many problems only lists some of them.
func TestChangeSetWarnsBriefly(t *testing.T) {
	resources := map[string]string{}
	for i := range 9 {
		resources[fmt.Sprint("R", i)] = resource(`"X": {"Fn::GetAtt": ["C", "` + strings.Repeat("ä", 400) + `"]}`)
	}
	resources["C"] = resource(`"K": "v"`)
	w := created(t, one(`"K": "v"`), "C=c")
	set, err := w.planned(engine.CreateChangeSet{Name: "u", Kind: store.KindUpdate, Template: body(resources)})
	w.must(err)
	if len(set.Reason) > 2000 || !strings.HasSuffix(set.Reason, "ä…; and 4 more.") || !utf8.ValidString(set.Reason) {
		t.Errorf("%d bytes: %s", len(set.Reason), set.Reason)
	}
	changes, err := set.Changes()
	w.must(err)
	for _, c := range changes {
		if !strings.Contains(c.Problem, strings.Repeat("ä", 400)) {
			t.Errorf("%s: %q", c.LogicalID, c.Problem)
		}
	}
}

func TestPreview(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	preview := func(template string) engine.Preview {
		t.Helper()
		p, err := w.engine.Preview(w.ctx, engine.PreviewStack{Stack: named("S"), Template: template})
		w.must(err)
		return p
	}
	p := preview(one(`"K": {"Ref": "AWS::StackId"}`))
	if want := "arn:aws:cloudformation:us-east-1:123456789012:stack/S/" + template.Unknown; p.Kind != store.KindCreate || len(p.Changes) != 1 || *text(p, "K") != want {
		t.Errorf("a stack that is not there: %+v", p)
	}
	if stacks, err := w.store.Stacks(w.ctx, account, region, true, 0, 9); len(stacks) > 0 || err != nil {
		t.Fatalf("it left %d stacks (%v)", len(stacks), err)
	}
	_, err := w.planned(engine.CreateChangeSet{Name: "c", Kind: store.KindCreate, Template: one("")})
	w.must(err)
	if p = preview(one("")); p.Kind != store.KindCreate {
		t.Errorf("a stack in review: %+v", p)
	}
	w.must(w.execute("c"))
	_, err = w.engine.Preview(w.ctx, engine.PreviewStack{Stack: named("S"), Template: one("")})
	wantCode(t, err, engine.CodeValidation, "is in CREATE_IN_PROGRESS state and can not be updated.")
	w.fail("C", "c", "no")
	w.succeed("C", "c")
	if p = preview(one("")); p.Kind != store.KindCreate || len(p.Changes) != 1 || w.status() != "ROLLBACK_COMPLETE" {
		t.Errorf("a stack whose create was rolled back, %s: %+v", w.status(), p)
	}
	w.delete()
	w.executed = ""

	w.now = w.now.Add(1e9)
	w.must(w.create(one(`"K": "v"`)))
	w.succeed("C", "c")
	if p = preview(one(`"K": "v"`)); p.Kind != store.KindUpdate || !p.Unchanged || len(p.Changes) > 0 {
		t.Errorf("nothing new: %+v", p)
	}
	if p = preview(one(`"K": "w"`)); p.Unchanged || len(p.Changes) != 1 || len(p.Changes[0].Details) != 1 || len(w.inbox) > 0 {
		t.Errorf("something new: %+v", p)
	}
	if s := w.stack(); s.Operation != 1 || w.sets() != nil {
		t.Errorf("a preview left something behind: %+v", s)
	}
}

func text(p engine.Preview, property string) *string {
	properties, _ := p.Changes[0].After.Get("Properties")
	v, _ := properties.Get(property)
	text := v.Text()
	return &text
}

// concurrent makes the engine safe for many goroutines. It returns a function that counts the requests dispatched
// since.
func (w *world) concurrent() func() int {
	w.t.Helper()
	var sent atomic.Int64
	var err error
	w.engine, err = engine.Open(w.ctx, engine.Config{
		Store: w.store, Alone: true, Dispatch: func(ready []store.Request) { sent.Add(int64(len(ready))) },
	})
	w.must(err)
	return func() int { return int(sent.Load()) }
}

// TestChangeSetRace checks that only one of two concurrent executions of a stack's sets succeeds.
func TestChangeSetRace(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=c")
	for _, name := range []string{"a", "b"} {
		_, err := w.planned(engine.CreateChangeSet{Name: name, Kind: store.KindUpdate, Template: one(`"K": "` + name + `"`)})
		w.must(err)
	}
	sent := w.concurrent()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = w.execute([]string{"a", "b"}[i%2]) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		var reported *engine.Error
		if err == nil {
			won++
		} else if !errors.As(err, &reported) || reported.Code != engine.CodeChangeSetNotFound && reported.Code != engine.CodeChangeSetStatus {
			t.Error(err)
		}
	}
	if won != 1 || sent() != 1 {
		t.Errorf("%d executions began, %d requests were sent", won, sent())
	}
}

// TestChangeSetCreationRace checks that equal concurrent requests create one set.
func TestChangeSetCreationRace(t *testing.T) {
	w := created(t, one(`"K": "v"`), "C=c")
	in := engine.CreateChangeSet{
		Stack: named("S"), Name: "u", Kind: store.KindUpdate, Template: one(`"K": "w"`), Options: engine.Options{Token: "t"},
	}
	w.concurrent()
	var wg sync.WaitGroup
	made := make([]engine.Planned, 8)
	errs := make([]error, len(made))
	for i := range made {
		wg.Go(func() { made[i], errs[i] = w.engine.CreateChangeSet(w.ctx, in) })
	}
	wg.Wait()
	for i := range made {
		if errs[i] != nil || made[i] != made[0] {
			t.Errorf("%+v, %v; want %+v", made[i], errs[i], made[0])
		}
	}
	w.wantSets("u CREATE_COMPLETE AVAILABLE")
}
