package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// diary is an observer that records its calls.
type diary struct{ lines []string }

func (d *diary) note(words ...any) {
	d.lines = append(d.lines, strings.TrimSpace(fmt.Sprintln(words...)))
}

func (d *diary) Began(dialect string, kind store.Kind) { d.note(dialect, "began", kind) }
func (d *diary) Ended(dialect string, kind store.Kind, phase store.Phase, took time.Duration) {
	d.note(dialect, "ended", kind, phase, took)
}
func (d *diary) Answered(dialect string, answer engine.AnswerKind) {
	d.note(dialect, "answered", answer)
}
func (d *diary) Failed(dialect string, cause engine.Cause) { d.note(dialect, "failed", cause) }
func (d *diary) Silent(dialect string)                     { d.note(dialect, "silent") }
func (d *diary) TookOver(requests int)                     { d.note("took over", requests) }

// TestObserver checks that an observer is notified of each event once.
func TestObserver(t *testing.T) {
	reported := &diary{}
	w := newWorldWith(t, engine.Config{Fidelity: engine.FidelityPintle, Observer: reported})
	wants := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, reported.lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		reported.lines = nil
	}
	w.must(w.create(body(map[string]string{"A": resource("")})))
	a := w.take("A")
	w.accept(a)
	w.now = w.now.Add(time.Minute)
	w.answer(a, success("a"))
	w.answer(a, success("a"))
	wants("a create", "cloudformation began create", "cloudformation answered success",
		"cloudformation ended create succeeded 1m0s", "cloudformation answered duplicate")

	// An update whose answers are each invalid in a different way, and its rollback.
	for _, test := range []struct {
		body string
		want engine.AnswerKind
	}{
		{"{", engine.AnswerInvalid}, {strings.Repeat(" ", wire.MaxResponse+1), engine.AnswerOversize},
	} {
		w.must(w.update(body(map[string]string{"A": resource(`"P": "` + string(test.want) + `"`)})))
		a = w.take("A")
		w.accept(a)
		w.must(w.engine.Answer(w.ctx, a.ID, []byte(test.body), 0))
		w.succeed("A", "a")
		wants("an answer that is "+string(test.want), "cloudformation began update", "cloudformation answered "+string(test.want),
			"cloudformation failed answer", "cloudformation answered success", "cloudformation ended update reverted 0s")
	}

	// A delete that fails, is left, and is finished by hand; then the provider answers after all.
	w.delete()
	a = w.take("A")
	w.accept(a)
	w.answer(a, `"Status": "FAILED", "Reason": "no", "PhysicalResourceId": "a"`)
	wants("a delete that failed", "cloudformation began delete", "cloudformation answered failed", "cloudformation failed provider",
		"cloudformation ended delete failed 0s")
	w.delete()
	a = w.take("A")
	w.accept(a)
	_, err := w.respond(engine.Respond{Logical: "A"})
	w.must(err)
	w.answer(a, success("a"))
	wants("an answer by hand", "cloudformation began delete", "cloudformation answered by-hand",
		"cloudformation ended delete succeeded 0s", "cloudformation answered duplicate")
}

// TestObserverOfTakeOver checks that the observer gets the number of requests that were taken over.
func TestObserverOfTakeOver(t *testing.T) {
	w := newWorld(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"A": resource(""), "B": resource("")})))
	reported := &diary{}
	if _, err := engine.Open(w.ctx, engine.Config{Store: w.store, Alone: true, Observer: reported}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"took over 2"}, reported.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
