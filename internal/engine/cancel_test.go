package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

func (w *world) cancelUpdate(token string) error {
	return w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: w.ref(), Token: token})
}

// updating returns a world in the middle of an update: A is updated, B and N are in progress, and C has not started.
func updating(t *testing.T, options engine.Options) *world {
	t.Helper()
	template := func(k string, more map[string]string) string {
		resources := map[string]string{
			"A": resource(`"K": "` + k + `"`), "B": resource(`"K": "`+k+`"`, `"DependsOn": "A"`),
			"C": resource(`"K": "`+k+`"`, `"DependsOn": "B"`),
		}
		for id, r := range more {
			resources[id] = r
		}
		return body(resources)
	}
	w := created(t, template("v", nil), "A=a", "B=b", "C=c")
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: w.ref(), Template: template("w", map[string]string{"N": resource("")}), Options: options,
	})
	w.must(err)
	w.succeed("A", "a")
	return w
}

// TestCancelUpdate checks that a cancel stops running resources, rolls back updated ones, and reports no event for
// those that never started. Later answers determine the resources to undo.
func TestCancelUpdate(t *testing.T) {
	for name, options := range map[string]engine.Options{
		"rollback": {Token: "update"}, "no rollback if it fails": {Token: "update", DisableRollback: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := updating(t, options)
			b, n := w.take("B"), w.take("N")
			w.accept(b)
			w.accept(n)
			skip := len(w.events())
			w.must(w.cancelUpdate("cancel"))
			w.must(w.cancelUpdate("cancel")) // the same request again
			wantCode(t, w.cancelUpdate("again"), engine.CodeValidation, "CancelUpdateStack cannot be called from current stack status")
			w.succeed("A", "a")
			if len(w.inbox) > 0 {
				t.Errorf("asked for while the cancelled one is still out: %s", sentLine(w.inbox[0]))
			}
			w.answer(b, success("b"))
			w.succeed("B", "b")
			w.answer(n, success("real"))
			w.succeed("N", "real")
			w.want(skip, []string{
				`B UPDATE_FAILED id=b "Resource update cancelled"`,
				`N CREATE_FAILED id=` + w.invented("N") + ` "Resource creation cancelled"`,
				`S UPDATE_ROLLBACK_IN_PROGRESS "Stack update cancelled"`,
				`A UPDATE_IN_PROGRESS id=a`,
				`A UPDATE_COMPLETE id=a`,
				`B UPDATE_IN_PROGRESS id=b`,
				`B UPDATE_COMPLETE id=b`,
				`S UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS`,
				`N DELETE_IN_PROGRESS id=real`,
				`N DELETE_COMPLETE id=real`,
				`S UPDATE_ROLLBACK_COMPLETE`,
			},
				`-> Update A id=a {"K":"w"} was {"K":"v"}`, `-> Update B id=b {"K":"w"} was {"K":"v"}`, `-> Create N id= {}`,
				`-> Update A id=a {"K":"v"} was {"K":"w"}`, `-> Update B id=b {"K":"v"} was {"K":"w"}`, `-> Delete N id=real {}`,
			)
		})
	}
}

// TestCancelTokens checks that the events of the rollback have the token of the cancel, and that the token is used
// up.
func TestCancelTokens(t *testing.T) {
	w := updating(t, engine.Options{Token: "update"})
	wantCode(t, w.cancelUpdate("update"), engine.CodeTokenAlreadyExists, "update")
	w.must(w.cancelUpdate("cancel"))
	w.answer(w.take("B"), success("b"))
	w.answer(w.take("N"), success("n"))
	w.succeed("A", "a")
	w.succeed("B", "b")
	w.succeed("N", "n")
	rows, err := w.store.Events(w.ctx, w.stack().Key, store.EventCursor{}, 1000)
	w.must(err)
	tokens := map[string]bool{}
	for _, row := range rows {
		for _, e := range row.Events {
			if e.Phase != "" && e.Kind == store.KindUpdate {
				tokens[string(e.Phase)+" "+e.Token] = true
			}
		}
	}
	want := map[string]bool{"apply update": true, "revert cancel": true, "revert-cleanup cancel": true, "reverted cancel": true}
	if diff := cmp.Diff(want, tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	_, err = w.engine.Update(w.ctx, engine.UpdateStack{Stack: w.ref(), Template: one(""), Options: engine.Options{Token: "cancel"}})
	wantCode(t, err, engine.CodeTokenAlreadyExists, "cancel")
}

func TestCancelRefusals(t *testing.T) {
	const status = "CancelUpdateStack cannot be called from current stack status"
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(one(`"K": "v"`)))
	wantCode(t, w.cancelUpdate(""), engine.CodeValidation, status)
	w.succeed("C", "a")
	wantCode(t, w.cancelUpdate(""), engine.CodeValidation, status)
	w.must(w.update(one(`"K": "w"`)))
	w.succeed("C", "b")
	wantCode(t, w.cancelUpdate(""), engine.CodeValidation, status) // the clean-up is in progress
	err := w.engine.CancelUpdate(w.ctx, engine.CancelUpdate{Stack: engine.Ref{Account: account, Region: region, Stack: "ghost"}})
	wantCode(t, err, engine.CodeValidation, "Stack [ghost] does not exist")
}
