package engine_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

var allFaults = flag.Bool("faults.all", false, "TestFaultTable tries everything on every store, PostgreSQL included; that takes minutes")

// TestFaultTable runs each scenario once undisturbed. Then it runs the scenario on every store, once for every write
// and every fault that can hit that write. The result must be the same as without the fault. Faults that do not reach
// the store are the same on every store, so the test tries them on one.
func TestFaultTable(t *testing.T) {
	databases := map[string]func(*testing.T) faultDatabase{
		"memory": func(*testing.T) faultDatabase { return &inMemory{} },
		"sqlite": func(t *testing.T) faultDatabase { return &inSQLite{t: t} },
	}
	if *allFaults {
		server := pgtest.Start(t, pgtest.Options{})
		databases["postgres"] = func(t *testing.T) faultDatabase { return &inPostgres{dsn: server.Database(t)} }
	}
	for _, name := range slices.Sorted(maps.Keys(databases)) {
		for _, scenario := range faultScenarios {
			t.Run(name+"/"+scenario.name, func(t *testing.T) {
				t.Parallel()
				clean := &faultWorld{t: t, scenario: scenario, database: databases[name](t)}
				want := clean.ends()
				if t.Failed() {
					return
				}
				if len(want) == 0 || len(scenario.ends) > 0 && !slices.Contains(want, scenario.ends) {
					t.Fatalf("undisturbed it comes to\n%s\nwant %q", lines(want), scenario.ends)
				}
				done := 0
				for at := 1; at <= clean.writes; at++ {
					for _, f := range slices.Sorted(maps.Keys(faults)) {
						if name != "memory" && !*allFaults && (f == isRefused || f == isDeadBefore) {
							continue
						}
						title := fmt.Sprintf("write %d of %d %s", at, clean.writes, faults[f])
						t.Run(title, func(t *testing.T) {
							w := &faultWorld{t: t, scenario: scenario, database: databases[name](t), fault: f, at: at}
							got := w.ends()
							if diff := cmp.Diff(want, got); diff != "" {
								t.Errorf("%s (-undisturbed +got):\n%s", w.hit, diff)
							}
							if w.hit == "" {
								t.Error("nothing happened to it")
							}
						})
						done++
					}
				}
				t.Logf("%d writes, %d faults", clean.writes, done)
			})
		}
	}
}

func lines(list []string) (text string) {
	for _, line := range list {
		text += line + "\n"
	}
	return text
}

// faultScenario is a client's calls and the behaviour of the providers.
type faultScenario struct {
	name  string
	calls []faultCall
	// does are the exceptions in a provider's behaviour, "fail", "hang" or "replace", by "Create A", or by "Create A
	// 2" for the second one only. By "Create A" it may also be "wait": a process that is done only after three polls.
	does map[string]string
	// ends is a line of the result.
	ends string
}

// faultCall is a call of a client, which repeats it until it is accepted.
type faultCall struct {
	do func(context.Context, *engine.Engine) error
	// meanwhile makes the call while the previous operation is in progress and can only wait, not after it has
	// finished.
	meanwhile bool
}

var faultRef = engine.Ref{Account: account, Region: region, Stack: "S"}

func createsStack(template string, options engine.Options) faultCall {
	options.Token = "create"
	return faultCall{do: func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Create(ctx, engine.CreateStack{
			Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: template, Options: options,
		})
		return err
	}}
}

func updatesStack(template, token string) faultCall {
	return faultCall{do: func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Update(ctx, engine.UpdateStack{Stack: faultRef, Template: template, Options: engine.Options{Token: token}})
		return err
	}}
}

func deletesStack() faultCall {
	return faultCall{do: func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Delete(ctx, engine.DeleteStack{Stack: faultRef, Token: "delete"})
		return err
	}}
}

var (
	faultFirst = body(map[string]string{
		"A": resource(`"P": "1"`), "B": resource(`"P": {"Fn::GetAtt": ["A", "Secret"]}`), "C": resource(`"P": {"Ref": "B"}`),
	}, `"Outputs": {"Id": {"Value": {"Ref": "C"}}}`)
	// A and B change, C is removed, D is added.
	faultSecond = body(map[string]string{
		"A": resource(`"P": "2"`), "B": resource(`"P": {"Ref": "A"}`), "D": resource(`"P": {"Ref": "B"}`),
	}, `"Outputs": {"Id": {"Value": {"Ref": "D"}}}`)
)

// faultTrade returns a template that imports name, and exports the ID of its resource.
func faultTrade(name string) string {
	return body(map[string]string{"A": resource(`"P": ` + imported(name))}, exporting([3]string{"Id", `{"Ref": "A"}`, "id"}))
}

// creates, updates and deletes return calls for another stack.
func creates(name, template string) faultCall {
	return faultCall{do: func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Create(ctx, engine.CreateStack{
			Name: store.StackName{Account: account, Region: region, Name: name}, Template: template, Options: engine.Options{Token: "create-" + name},
		})
		return err
	}}
}

func updates(name, template string) faultCall {
	return faultCall{do: func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Update(ctx, engine.UpdateStack{
			Stack: engine.Ref{Account: account, Region: region, Stack: name}, Template: template, Options: engine.Options{Token: "update-" + name},
		})
		return err
	}}
}

func deletes(name string) faultCall {
	return faultCall{do: func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Delete(ctx, engine.DeleteStack{Stack: engine.Ref{Account: account, Region: region, Stack: name}, Token: "delete-" + name})
		return err
	}}
}

var faultScenarios = []faultScenario{
	{name: "import, export and update of an imported output", calls: []faultCall{
		creates("Net", still([3]string{"O", `"1"`, "name"}, [3]string{"P", `"2"`, "other"})),
		createsStack(faultTrade("name"), engine.Options{}), creates("App", still([3]string{"O", imported("id"), ""})),
		updates("Net", still([3]string{"O", `"changed"`, "name"}, [3]string{"P", `"2"`, "other"})),
		updatesStack(faultTrade("other"), "update")},
		ends: "export id of S = \"A-1\" [App]"},
	{name: "import of a missing export, and delete of the exporter", calls: []faultCall{
		creates("Net", still([3]string{"O", `"1"`, "name"})), createsStack(faultTrade("name"), engine.Options{}),
		updatesStack(faultTrade("nothing"), "update"), deletesStack(), deletes("Net")},
		ends: "event S DELETE_COMPLETE"},
	{name: "create", calls: []faultCall{createsStack(faultFirst, engine.Options{})},
		ends: "event S CREATE_COMPLETE"},
	{name: "create that fails", calls: []faultCall{createsStack(faultFirst, engine.Options{})},
		does: map[string]string{"Create C": "fail"},
		ends: "event S ROLLBACK_COMPLETE"},
	{name: "create that fails without a rollback, and is rolled back", calls: []faultCall{
		createsStack(faultFirst, engine.Options{DisableRollback: true}),
		{do: func(ctx context.Context, e *engine.Engine) error {
			_, err := e.Rollback(ctx, engine.RollbackStack{Stack: faultRef, Token: "rollback"})
			return err
		}}},
		does: map[string]string{"Create C": "fail"},
		ends: "event S ROLLBACK_COMPLETE"},
	{name: "create that hangs", calls: []faultCall{createsStack(faultFirst, engine.Options{})},
		does: map[string]string{"Create B": "hang"},
		ends: "event S ROLLBACK_COMPLETE"},
	{name: "create and delete that wait", calls: []faultCall{createsStack(faultFirst, engine.Options{}), deletesStack()},
		does: map[string]string{"Create B": "wait", "Delete B": "wait"},
		ends: "event S DELETE_COMPLETE"},
	{name: "update that is cancelled while it waits", calls: []faultCall{
		createsStack(faultFirst, engine.Options{}), updatesStack(faultSecond, "update"),
		{meanwhile: true, do: func(ctx context.Context, e *engine.Engine) error {
			return e.CancelUpdate(ctx, engine.CancelUpdate{Stack: faultRef, Token: "cancel"})
		}}},
		does: map[string]string{"Update B": "wait"},
		ends: "event S UPDATE_ROLLBACK_COMPLETE"},
	{name: "update and delete", calls: []faultCall{
		createsStack(faultFirst, engine.Options{}), updatesStack(faultSecond, "update"), deletesStack()},
		does: map[string]string{"Update A": "replace"},
		ends: "event S DELETE_COMPLETE"},
	{name: "update that fails", calls: []faultCall{createsStack(faultFirst, engine.Options{}), updatesStack(faultSecond, "update")},
		does: map[string]string{"Update A": "replace", "Create D": "fail"},
		ends: "event S UPDATE_ROLLBACK_COMPLETE"},
	{name: "update that is cancelled", calls: []faultCall{
		createsStack(faultFirst, engine.Options{}), updatesStack(faultSecond, "update"),
		{meanwhile: true, do: func(ctx context.Context, e *engine.Engine) error {
			return e.CancelUpdate(ctx, engine.CancelUpdate{Stack: faultRef, Token: "cancel"})
		}}},
		does: map[string]string{"Update B 1": "hang"},
		ends: "event S UPDATE_ROLLBACK_COMPLETE"},
	{name: "rollback that fails, and is continued", calls: []faultCall{
		createsStack(faultFirst, engine.Options{}), updatesStack(faultSecond, "update"),
		{do: func(ctx context.Context, e *engine.Engine) error {
			_, err := e.ContinueRollback(ctx, engine.ContinueRollback{Stack: faultRef, Token: "continue"})
			return err
		}}},
		does: map[string]string{"Create D": "fail", "Update A 2": "fail"},
		ends: "event S UPDATE_ROLLBACK_COMPLETE"},
	{name: "clean-up that fails", calls: []faultCall{createsStack(faultFirst, engine.Options{}), updatesStack(faultSecond, "update")},
		does: map[string]string{"Delete C": "fail"},
		ends: "instance C orphan C-3 {\"P\":\"B-2\"}"},
	{name: "delete that fails", calls: []faultCall{createsStack(faultFirst, engine.Options{}), deletesStack()},
		does: map[string]string{"Delete A": "fail"},
		ends: "event S DELETE_FAILED \"The following resource(s) failed to delete: [A]. \""},
}
