package engine_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// tree is a world with nested stacks: S is the root, and templates are stored by the names in their URLs.
type tree struct {
	*world
	types     *native.Registry
	templates map[string]string
}

func newTree(t *testing.T) *tree { return newTreeOf(t, engine.FidelityPintle) }

func newTreeOf(t *testing.T, fidelity engine.Fidelity) *tree {
	t.Helper()
	f := &tree{templates: map[string]string{}}
	types, err := native.New(native.Stack(
		func(_ context.Context, url string) (string, error) {
			if text, ok := f.templates[url]; ok {
				return text, nil
			}
			return "", errors.New("TemplateURL must be a supported URL.")
		},
		func(ctx context.Context, r *store.Request, template func(context.Context) (string, error)) (native.Result, bool, error) {
			return f.engine.Nest(ctx, r, template)
		},
	))
	if err != nil {
		t.Fatal(err)
	}
	f.types, f.world = types, newWorldOf(t, fidelity, types)
	return f
}

// nestedIn returns a nested stack with a template. more is JSON members of its properties.
func nestedIn(url string, more ...string) string {
	return `{"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "` + url + `"` + strings.Join(append([]string{""}, more...), ", ") + `}}`
}

// nest serves requests for nested stacks, as delivery does, and leaves those for providers in the inbox.
func (f *tree) nest() {
	f.t.Helper()
	for {
		at := slices.IndexFunc(f.inbox, func(r store.Request) bool { return r.Body.Native() })
		if at < 0 {
			return
		}
		r := f.inbox[at]
		f.inbox = slices.Delete(f.inbox, at, at+1)
		f.serveNested(r)
	}
}

func (f *tree) serveNested(r store.Request) {
	f.t.Helper()
	outcome, ok := nestedOutcome(f.ctx, f.types, &r)
	if ok {
		f.must(f.engine.Report(f.ctx, r.ID, outcome))
	}
}

// nestedOutcome serves a request as delivery does; false if it has to be served again.
func nestedOutcome(ctx context.Context, types *native.Registry, r *store.Request) (engine.Outcome, bool) {
	result, err := types.Serve(ctx, r)
	switch {
	case errors.Is(err, native.ErrAgain):
		return engine.Outcome{}, false
	case err != nil:
		return engine.Outcome{Kind: engine.Provided, Result: result, Text: err.Error(), Delivered: true}, true
	case result.Pending && r.Type == wire.Create:
		return engine.Outcome{Kind: engine.Awaiting, Result: result, Delivered: true}, true
	case result.Pending:
		return engine.Outcome{Kind: engine.Accepted, Delivered: true}, true
	}
	return engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true}, true
}

// say answers for the provider of a resource of any of the stacks.
func (f *tree) say(logical, members string) {
	f.t.Helper()
	f.nest()
	f.answer(f.take(logical), members)
	f.nest()
}

func (f *tree) ok(logical, id string) { f.t.Helper(); f.say(logical, success(id)) }

func (f *tree) bad(logical, id string) {
	f.t.Helper()
	f.say(logical, fmt.Sprintf(`"Status": "FAILED", "PhysicalResourceId": %q, "Reason": "no"`, id))
}

// named returns the newest stack whose name has a prefix: S is the root, S-A- the one nested as A.
func (f *tree) named(prefix string) store.Stack {
	f.t.Helper()
	stacks, err := f.store.Stacks(f.ctx, account, region, true, 0, 100)
	f.must(err)
	for _, s := range stacks {
		if s.Name == prefix || strings.HasPrefix(s.Name, prefix) && strings.HasSuffix(prefix, "-") && strings.Count(s.Name, "-") == strings.Count(prefix, "-") {
			return s
		}
	}
	f.t.Fatalf("there is no stack %s", prefix)
	return store.Stack{}
}

func (f *tree) is(prefix, status string) {
	f.t.Helper()
	s := f.named(prefix)
	if got := engine.CloudFormation.StackStatus(s.Kind, s.Phase); got != status {
		f.t.Errorf("%s is %s, want %s (%s)", prefix, got, status, s.Reason)
	}
}

// reported returns the events of a stack after the first skip ones, without the random part of names.
func (f *tree) reported(prefix string, skip int) []string {
	f.t.Helper()
	rows, err := f.store.Events(f.ctx, f.named(prefix).Key, store.EventCursor{}, 1000)
	f.must(err)
	slices.Reverse(rows)
	var lines []string
	for _, row := range rows {
		for _, e := range row.Events {
			lines = append(lines, f.anonymous(eventLine(e)))
		}
	}
	return lines[min(skip, len(lines)):]
}

// anonymous replaces the IDs of nested stacks with their logical names.
func (f *tree) anonymous(line string) string {
	stacks, err := f.store.Stacks(f.ctx, account, region, true, 0, 100)
	f.must(err)
	for _, s := range stacks {
		if s.Parent != "" {
			line = strings.ReplaceAll(line, string(s.ID), "<"+s.Name[:strings.LastIndex(s.Name, "-")]+">")
		}
	}
	return said.ReplaceAllString(invented.ReplaceAllString(line, "id=?"), `"$1"`)
}

var (
	invented = regexp.MustCompile(`id=S-\S+`)
	said     = regexp.MustCompile(`"Received response status \[FAILED\] from custom resource. Message returned: (.*) \(RequestId: .*\)"`)
)

func (f *tree) wantEvents(prefix string, skip int, want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.reported(prefix, skip)); diff != "" {
		f.t.Errorf("events of %s (-want +got):\n%s", prefix, diff)
	}
}

// stand creates a root with the nested stacks in f.templates. Every provider succeeds with the name of its resource.
func (f *tree) stand(root string) {
	f.t.Helper()
	f.must(f.create(root))
	f.easily()
	f.is("S", "CREATE_COMPLETE")
}

// easily answers all requests with success until none is left.
func (f *tree) easily() {
	f.t.Helper()
	for f.nest(); len(f.inbox) > 0; f.nest() {
		r := f.inbox[0]
		id := string(r.Logical)
		if r.Type != wire.Create {
			id = string(r.Body.PhysicalID)
		}
		f.ok(string(r.Logical), id)
	}
}

const childOutputs = `"Outputs": {"Id": {"Value": {"Ref": "C"}}, "Given": {"Value": {"Ref": "P"}}}`
const childParameter = `"Parameters": {"P": {"Type": "String", "Default": "d"}}`

func TestNestedCreate(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")}, childOutputs, childParameter)
	f.must(f.create(body(map[string]string{
		"A": nestedIn("child", `"Parameters": {"P": "a"}`),
		"B": resource(`"Of": {"Fn::GetAtt": ["A", "Outputs.Id"]}, "Given": {"Fn::GetAtt": ["A", "Outputs.Given"]}, "A": {"Ref": "A"}`),
	})))
	f.ok("C", "c")
	r := f.take("B")
	if got := f.anonymous(short(r.Body.Properties.JSON())); got != `{"Of":"c","Given":"a","A":"<S-A>"}` {
		t.Errorf("B gets %s", got)
	}
	f.answer(r, success("b"))
	f.wantEvents("S", 0, `S CREATE_IN_PROGRESS "User Initiated"`, `A CREATE_IN_PROGRESS id=`,
		`A CREATE_IN_PROGRESS id=<S-A> "Resource creation Initiated"`, `A CREATE_COMPLETE id=<S-A>`,
		`B CREATE_IN_PROGRESS id=`, `B CREATE_IN_PROGRESS id=b "Resource creation Initiated"`, `B CREATE_COMPLETE id=b`, `S CREATE_COMPLETE`)
	child, root := f.named("S-A-"), f.named("S")
	if child.Parent != root.ID || child.Root != root.ID || child.Depth != 1 || len(child.Name) != len("S-A-")+12 {
		t.Errorf("the nested stack %s is in %s, whose root is %s, at %d", child.Name, child.Parent, child.Root, child.Depth)
	}
	f.remove("S")
	f.easily()
	f.is("S", "DELETE_COMPLETE")
	f.is("S-A-", "DELETE_COMPLETE")
}

// remove deletes the stack with that name.
func (f *tree) remove(name string) {
	f.t.Helper()
	_, err := f.engine.Delete(f.ctx, engine.DeleteStack{Stack: engine.Ref{Account: account, Region: region, Stack: string(f.named(name).ID)}})
	f.must(err)
}

func TestNestedCreateFails(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")})
	f.must(f.create(body(map[string]string{"A": nestedIn("child"), "B": nestedIn("none")})))
	f.nest()
	f.nest()
	f.ok("C", "c") // it was cancelled, and its answer has the ID
	f.ok("C", "c")
	f.wantEvents("S", 0, `S CREATE_IN_PROGRESS "User Initiated"`, `A CREATE_IN_PROGRESS id=`, `B CREATE_IN_PROGRESS id=`,
		`A CREATE_IN_PROGRESS id=<S-A> "Resource creation Initiated"`,
		`B CREATE_FAILED id= "TemplateURL must be a supported URL."`,
		`A CREATE_FAILED id=<S-A> "Resource creation cancelled"`,
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [B, A]. Rollback requested by user."`,
		`B DELETE_COMPLETE id=`, `A DELETE_IN_PROGRESS id=<S-A>`, `A DELETE_COMPLETE id=<S-A>`, `S ROLLBACK_COMPLETE`)
	f.wantEvents("S-A-", 0, `S CREATE_IN_PROGRESS "User Initiated"`, `C CREATE_IN_PROGRESS id=`,
		`C CREATE_FAILED id=? "Resource creation cancelled"`, `S CREATE_FAILED "The following resource(s) failed to create: [C]. "`,
		`S DELETE_IN_PROGRESS "User Initiated"`, `C DELETE_IN_PROGRESS id=c`, `C DELETE_COMPLETE id=c`, `S DELETE_COMPLETE`)
}

func TestNestedChildFails(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")})
	f.must(f.create(body(map[string]string{"A": nestedIn("child")})))
	f.bad("C", "c")
	f.ok("C", "c")
	f.wantEvents("S", 0, `S CREATE_IN_PROGRESS "User Initiated"`, `A CREATE_IN_PROGRESS id=`,
		`A CREATE_IN_PROGRESS id=<S-A> "Resource creation Initiated"`,
		`A CREATE_FAILED id=<S-A> "Embedded stack <S-A> was not successfully created: The following resource(s) failed to create: [C]. "`,
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [A]. Rollback requested by user."`,
		`A DELETE_IN_PROGRESS id=<S-A>`, `A DELETE_COMPLETE id=<S-A>`, `S ROLLBACK_COMPLETE`)
	f.is("S-A-", "DELETE_COMPLETE")
}

// TestNestedWaitsForTheRoot checks that a nested stack keeps the resources that it has replaced until the root has
// succeeded.
func TestNestedWaitsForTheRoot(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource(`"V": 1`)}, childOutputs, childParameter)
	root := func(v string) string {
		return body(map[string]string{
			"A": nestedIn("child"), "B": resource(`"V": ` + v + `, "Of": {"Fn::GetAtt": ["A", "Outputs.Id"]}`),
		})
	}
	f.stand(root("1"))
	at, childAt := len(f.reported("S", 0)), len(f.reported("S-A-", 0))
	f.templates["child"] = body(map[string]string{"C": resource(`"V": 2`)}, childOutputs, childParameter)
	f.must(f.update(root("2")))
	f.ok("C", "c2")
	f.is("S-A-", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
	f.ok("B", "B")
	if r := f.take("C"); r.Type != wire.Delete || r.Body.PhysicalID != "C" {
		t.Errorf("asked for %s", sentLine(r))
	} else {
		f.answer(r, success("C"))
	}
	f.wantEvents("S", at, `S UPDATE_IN_PROGRESS "User Initiated"`, `A UPDATE_IN_PROGRESS id=<S-A>`, `A UPDATE_COMPLETE id=<S-A>`,
		`B UPDATE_IN_PROGRESS id=B`, `B UPDATE_COMPLETE id=B`, `S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_COMPLETE`)
	f.wantEvents("S-A-", childAt, `S UPDATE_IN_PROGRESS "User Initiated"`, `C UPDATE_IN_PROGRESS id=C`,
		`C UPDATE_IN_PROGRESS id=c2 "Requested update required the provider to create a new physical resource"`,
		`C UPDATE_COMPLETE id=c2`, `S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `C DELETE_IN_PROGRESS id=C`, `C DELETE_COMPLETE id=C`, `S UPDATE_COMPLETE`)

	at = len(f.reported("S", 0))
	childAt = len(f.reported("S-A-", 0))
	f.must(f.update(root("2"))) // nothing has changed
	f.easily()
	f.wantEvents("S", at, `S UPDATE_IN_PROGRESS "User Initiated"`, `A UPDATE_IN_PROGRESS id=<S-A>`, `A UPDATE_COMPLETE id=<S-A>`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_COMPLETE`)
	if more := f.reported("S-A-", childAt); len(more) > 0 {
		t.Errorf("the nested stack reports %q", more)
	}
}

// TestNestedStackIsRolledBackWithRoot checks that a failure elsewhere rolls back a nested stack that has succeeded, and restores
// replaced resources.
func TestNestedStackIsRolledBackWithRoot(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource(`"V": 1`)}, childOutputs, childParameter)
	root := func(v string) string {
		return body(map[string]string{
			"A": nestedIn("child"), "B": resource(`"V": ` + v + `, "Of": {"Fn::GetAtt": ["A", "Outputs.Id"]}`),
		})
	}
	f.stand(root("1"))
	at, childAt := len(f.reported("S", 0)), len(f.reported("S-A-", 0))
	f.templates["child"] = body(map[string]string{"C": resource(`"V": 2`), "D": resource("")}, childOutputs, childParameter)
	f.must(f.update(root("2")))
	f.ok("C", "c2")
	f.ok("D", "d")
	f.bad("B", "B")
	r := f.take("C")
	if got := sentLine(r); got != `-> Update C id=c2 {"V":"1"} was {"V":"2"}` {
		t.Error(got)
	}
	f.answer(r, success("C"))
	f.ok("B", "B")
	f.easily()
	f.wantEvents("S", at, `S UPDATE_IN_PROGRESS "User Initiated"`, `A UPDATE_IN_PROGRESS id=<S-A>`, `A UPDATE_COMPLETE id=<S-A>`,
		`B UPDATE_IN_PROGRESS id=B`, `B UPDATE_FAILED id=B "no"`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The following resource(s) failed to update: [B]."`,
		`A UPDATE_IN_PROGRESS id=<S-A>`, `A UPDATE_COMPLETE id=<S-A>`, `B UPDATE_IN_PROGRESS id=B`, `B UPDATE_COMPLETE id=B`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_ROLLBACK_COMPLETE`)
	f.wantEvents("S-A-", childAt, `S UPDATE_IN_PROGRESS "User Initiated"`, `C UPDATE_IN_PROGRESS id=C`, `D CREATE_IN_PROGRESS id=`,
		`C UPDATE_IN_PROGRESS id=c2 "Requested update required the provider to create a new physical resource"`,
		`C UPDATE_COMPLETE id=c2`, `D CREATE_IN_PROGRESS id=d "Resource creation Initiated"`, `D CREATE_COMPLETE id=d`,
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`,
		`S UPDATE_ROLLBACK_IN_PROGRESS "The update of the parent stack is rolled back."`, `C UPDATE_IN_PROGRESS id=c2`,
		`C UPDATE_IN_PROGRESS id=C "Requested update required the provider to create a new physical resource"`, `C UPDATE_COMPLETE id=C`,
		`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`, `C DELETE_IN_PROGRESS id=c2`, `D DELETE_IN_PROGRESS id=d`,
		`C DELETE_COMPLETE id=c2`, `D DELETE_COMPLETE id=d`, `S UPDATE_ROLLBACK_COMPLETE`)
}

// TestNestedStackWaitsForRollbackOfRoot checks that a nested stack of a failed root without a rollback waits until the root is rolled back.
func TestNestedStackWaitsForRollbackOfRoot(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource(`"V": 1`)}, childOutputs, childParameter)
	root := func(v string) string {
		return body(map[string]string{"A": nestedIn("child"), "B": resource(`"V": ` + v + `, "Of": {"Fn::GetAtt": ["A", "Outputs.Id"]}`)})
	}
	f.stand(root("1"))
	f.templates["child"] = body(map[string]string{"C": resource(`"V": 2`)}, childOutputs, childParameter)
	_, err := f.engine.Update(f.ctx, engine.UpdateStack{
		Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Template: root("2"), Options: engine.Options{DisableRollback: true},
	})
	f.must(err)
	f.ok("C", "c2")
	f.bad("B", "B")
	f.is("S", "UPDATE_FAILED")
	f.is("S-A-", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")

	_, err = f.engine.Update(f.ctx, engine.UpdateStack{ // again, with the same result
		Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Template: root("3"), Options: engine.Options{DisableRollback: true},
	})
	f.must(err)
	f.nest()
	f.bad("B", "B")
	f.is("S", "UPDATE_FAILED")
	_, err = f.engine.Rollback(f.ctx, engine.RollbackStack{Stack: engine.Ref{Account: account, Region: region, Stack: "S"}})
	f.must(err)
	f.ok("C", "C")
	f.easily()
	f.is("S", "UPDATE_ROLLBACK_COMPLETE")
	f.is("S-A-", "UPDATE_ROLLBACK_COMPLETE")
}

// TestNestedContinue checks that the root continues the failed rollback of a nested stack and skips one of its
// resources.
func TestNestedContinue(t *testing.T) {
	for _, name := range []string{"A.C", "by its name"} {
		f := newTree(t)
		f.templates["child"] = body(map[string]string{"C": resource(`"V": 1`), "D": resource(`"V": 1`)})
		f.stand(body(map[string]string{"A": nestedIn("child")}))
		f.templates["child"] = body(map[string]string{"C": resource(`"V": 2`), "D": resource(`"V": 2, "Of": {"Ref": "C"}`)})
		f.must(f.update(body(map[string]string{"A": nestedIn("child")})))
		f.ok("C", "C")
		f.bad("D", "D")
		f.bad("C", "C")
		f.ok("D", "D")
		f.is("S-A-", "UPDATE_ROLLBACK_FAILED")
		f.is("S", "UPDATE_ROLLBACK_FAILED")
		if name != "A.C" {
			name = f.named("S-A-").Name + ".C"
		}
		in := engine.ContinueRollback{Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Skip: []wire.LogicalID{"X.C"}}
		if _, err := f.engine.ContinueRollback(f.ctx, in); err == nil {
			t.Error("a resource of a stack that is not there is skipped")
		}
		in.Skip = []wire.LogicalID{wire.LogicalID(name)}
		_, err := f.engine.ContinueRollback(f.ctx, in)
		f.must(err)
		f.easily()
		f.is("S", "UPDATE_ROLLBACK_COMPLETE")
		f.is("S-A-", "UPDATE_ROLLBACK_COMPLETE")
	}
}

func TestNestedCancelled(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource(`"V": 1`)})
	f.stand(body(map[string]string{"A": nestedIn("child")}))
	f.templates["child"] = body(map[string]string{"C": resource(`"V": 2`)})
	f.must(f.update(body(map[string]string{"A": nestedIn("child")})))
	f.nest()
	r := f.take("C")
	f.accept(r)
	f.must(f.engine.CancelUpdate(f.ctx, engine.CancelUpdate{Stack: engine.Ref{Account: account, Region: region, Stack: "S"}}))
	f.is("S-A-", "UPDATE_ROLLBACK_IN_PROGRESS")
	f.must(f.engine.Answer(f.ctx, r.ID, []byte(document(r, success("C"))), 0))
	f.easily()
	f.is("S", "UPDATE_ROLLBACK_COMPLETE")
	f.is("S-A-", "UPDATE_ROLLBACK_COMPLETE")
}

func TestNestedTimeout(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")})
	f.must(f.create(body(map[string]string{"A": nestedIn("child", `"TimeoutInMinutes": 2`)})))
	f.nest()
	f.accept(f.take("C"))
	f.pass(3 * time.Minute)
	f.pass(10 * time.Minute)
	f.easily()
	f.is("S", "ROLLBACK_COMPLETE")
	if reported := strings.Join(f.reported("S", 0), "\n"); !strings.Contains(reported, `was not successfully created: Stack creation time exceeded the specified timeout. "`) {
		t.Error(reported)
	}
}

// TestNestedSecrets checks that a value that is secret in the parent is secret in a nested stack, and the other way
// round.
func TestNestedSecrets(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource(`"K": {"Ref": "P"}`)}, childOutputs, childParameter)
	root := body(map[string]string{
		"A": nestedIn("child", `"Parameters": {"P": {"Ref": "K"}}`), "B": resource(`"Given": {"Fn::GetAtt": ["A", "Outputs.Given"]}`),
	}, `"Parameters": {"K": {"Type": "String", "NoEcho": true}}`, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["A", "Outputs.Given"]}}}`)
	f.must(f.create(root, engine.Parameter{Key: "K", Value: "hush-hush"}))
	f.nest()
	if r := f.inbox[0]; !strings.Contains(string(r.Body.Properties.JSON()), "hush-hush") {
		t.Errorf("C gets %s", r.Body.Properties.JSON())
	}
	f.easily()
	f.is("S", "CREATE_COMPLETE")
	for _, name := range []string{"S", "S-A-"} {
		s := f.named(name)
		if reported := strings.Join(f.reported(name, 0), "\n") + s.OutputValues.String(); strings.Contains(reported, "hush") {
			t.Errorf("%s tells: %s", name, reported)
		}
		rows, err := f.store.Events(f.ctx, s.Key, store.EventCursor{}, 100)
		f.must(err)
		for _, row := range rows {
			for _, e := range row.Events {
				if strings.Contains(e.Properties, "hush") {
					t.Errorf("an event shows %s", e.Properties)
				}
			}
		}
	}
}

func TestNestedRefused(t *testing.T) {
	deep := map[string]string{"deep": body(map[string]string{"A": nestedIn("self")}), "self": body(map[string]string{"A": nestedIn("self")})}
	for n := range 12 {
		deep[fmt.Sprint("d", n)] = body(map[string]string{"A": nestedIn(fmt.Sprint("d", n+1))})
	}
	tests := map[string]struct{ root, reason string }{
		"in itself":   {body(map[string]string{"A": nestedIn("deep")}), "it would nest itself without end"},
		"too deep":    {body(map[string]string{"A": nestedIn("d0")}), "Stacks may be nested 10 deep, and this one would be nested in 11"},
		"no template": {body(map[string]string{"A": nestedIn("none")}), "TemplateURL must be a supported URL."},
		"parameter":   {body(map[string]string{"A": nestedIn("leaf", `"Parameters": {"Q": "q"}`)}), "Parameters: [Q] do not exist in the template"},
		"object": {body(map[string]string{"A": nestedIn("leaf", `"Parameters": {"P": {"a": "b"}}`)}),
			"Value of property Parameters must be an object with String (or simple type) properties"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newTree(t)
			f.templates = deep
			f.templates["leaf"] = body(map[string]string{"C": resource("")}, childParameter)
			f.must(f.create(tt.root))
			f.easily()
			f.is("S", "ROLLBACK_COMPLETE")
			var reasons []string
			stacks, err := f.store.Stacks(f.ctx, account, region, true, 0, 100)
			f.must(err)
			for _, s := range stacks {
				rows, err := f.store.Events(f.ctx, s.Key, store.EventCursor{}, 100)
				f.must(err)
				for _, row := range rows {
					for _, e := range row.Events {
						reasons = append(reasons, e.Reason)
					}
				}
				if s.Parent != "" && s.Live {
					t.Errorf("%s is left behind", s.Name)
				}
			}
			if !slices.ContainsFunc(reasons, func(r string) bool { return strings.Contains(r, tt.reason) }) {
				t.Errorf("reasons %q, want one with %q", reasons, tt.reason)
			}
		})
	}
}

// TestNestedProtected checks that a client's delete of a nested stack depends on the root's termination protection.
func TestNestedProtected(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")})
	f.stand(body(map[string]string{"A": nestedIn("child")}))
	ref := func(name string) engine.Ref {
		return engine.Ref{Account: account, Region: region, Stack: string(f.named(name).ID)}
	}
	if _, err := f.engine.Protect(f.ctx, ref("S-A-"), true); err == nil {
		t.Error("a nested stack is protected by itself")
	}
	_, err := f.engine.Protect(f.ctx, ref("S"), true)
	f.must(err)
	_, err = f.engine.Delete(f.ctx, engine.DeleteStack{Stack: ref("S-A-")})
	if err == nil || !strings.Contains(err.Error(), "cannot be deleted while TerminationProtection is enabled") {
		t.Errorf("error %v", err)
	}
	_, err = f.engine.Protect(f.ctx, ref("S"), false)
	f.must(err)
	f.remove("S-A-")
	f.easily()
	f.is("S-A-", "DELETE_COMPLETE")
	f.remove("S") // and the root can still be deleted
	f.easily()
	f.is("S", "DELETE_COMPLETE")
}

// TestNestedAgain checks that a report changes nothing if it is repeated, or comes from a node with outdated state.
func TestNestedAgain(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")})
	f.must(f.create(body(map[string]string{"A": nestedIn("child")})))
	r := f.inbox[0]
	f.inbox = nil
	for range 2 { // the first report is lost
		if outcome, ok := nestedOutcome(f.ctx, f.types, &r); !ok || outcome.Kind != engine.Awaiting {
			t.Fatalf("outcome %+v", outcome)
		}
	}
	f.serveNested(r)
	f.ok("C", "c")
	f.is("S", "CREATE_COMPLETE")
	if _, ok := nestedOutcome(f.ctx, f.types, &r); ok {
		t.Error("a request that is settled is served")
	}
	stacks, err := f.store.Stacks(f.ctx, account, region, true, 0, 100)
	f.must(err)
	if len(stacks) != 2 {
		t.Errorf("there are %d stacks", len(stacks))
	}
	f.pass(time.Minute) // the tie ends
	open, err := f.store.Requests(f.ctx, f.named("S-A-").Key)
	f.must(err)
	if len(open) > 0 {
		t.Errorf("%s is still open", open[0].Type)
	}
}

// TestNestedDeleteAdopted checks that a parent adopts the delete of a nested stack that a client started, and learns
// the result from the tie.
func TestNestedDeleteAdopted(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")})
	f.stand(body(map[string]string{"A": nestedIn("child")}))
	f.pass(time.Minute)
	f.remove("S-A-")
	f.remove("S")
	f.nest()
	open, err := f.store.Requests(f.ctx, f.named("S-A-").Key)
	f.must(err)
	if !slices.ContainsFunc(open, func(r store.Request) bool { return r.Type == store.TypeTie }) {
		t.Error("there is no tie between the two")
	}
	f.easily()
	f.is("S-A-", "DELETE_COMPLETE")
	f.is("S", "DELETE_COMPLETE")
}

// TestNestedTooLate checks that the engine deletes a nested stack that was started by a node that had been declared
// dead.
func TestNestedTooLate(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")})
	f.must(f.create(body(map[string]string{"A": nestedIn("child")})))
	r := f.inbox[0]
	f.inbox = nil
	// Another node settles the request while the template is fetched.
	fetched := f.templates["child"]
	_, waits, err := f.engine.Nest(f.ctx, &r, func(context.Context) (string, error) {
		f.must(f.engine.Report(f.ctx, r.ID, engine.Outcome{Kind: engine.Provided, Text: "no template", Delivered: true}))
		return fetched, nil
	})
	if err != nil || !waits {
		t.Fatalf("waits %v, %v", waits, err)
	}
	f.is("S", "ROLLBACK_COMPLETE")
	f.accept(f.take("C"))
	for range 20 {
		f.pass(time.Minute)
		for len(f.inbox) > 0 {
			f.ok("C", "c")
		}
	}
	f.is("S-A-", "DELETE_COMPLETE")
}

// TestNestedPreview checks that a preview lists a nested stack that may change although its declaration does not, and
// the resources that read its outputs.
func TestNestedPreview(t *testing.T) {
	f := newTree(t)
	f.templates["child"] = body(map[string]string{"C": resource("")}, childOutputs, childParameter)
	root := func(p string) string {
		return body(map[string]string{
			"A": nestedIn("child", `"Parameters": {"P": "`+p+`"}`), "B": resource(`"Of": {"Fn::GetAtt": ["A", "Outputs.Id"]}, "A": {"Ref": "A"}`),
		})
	}
	f.stand(root("p"))
	for p, source := range map[string]plan.Source{"p": plan.Automatic, "q": plan.DirectModification} {
		drawn, err := f.engine.Preview(f.ctx, engine.PreviewStack{
			Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Template: root(p),
		})
		f.must(err)
		if drawn.Unchanged || len(drawn.Changes) != 2 {
			t.Fatalf("%s: %+v", p, drawn)
		}
		a, b := drawn.Changes[0], drawn.Changes[1]
		if a.Details[0].Source != source || a.Replacement != plan.ReplacementFalse || a.May() != (p == "p") {
			t.Errorf("%s: A %+v", p, a)
		}
		if len(b.Details) != 1 || b.Details[0].Path != "/Properties/Of" || !b.Details[0].Dynamic || b.Details[0].Cause != "A.Outputs.Id" {
			t.Errorf("%s: B %+v", p, b)
		}
	}
}
