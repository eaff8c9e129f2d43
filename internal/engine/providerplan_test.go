package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// forecasts are providers that plan. It implements engine.ProviderPlans.
type forecasts struct {
	answer func(context.Context, engine.PlanQuestion) wire.Planned
	// declare may fail the question for the declaration; nil does not.
	declare func(context.Context, wire.ServiceToken) error

	mu         sync.Mutex
	asked      []string
	busy, most int
}

func (f *forecasts) Plans(ctx context.Context, token wire.ServiceToken) (engine.DeclaredTypes, error) {
	if f.declare != nil {
		if err := f.declare(ctx, token); err != nil {
			return nil, err
		}
	}
	return func(resourceType string) bool { return resourceType == "Custom::Thing" }, nil
}

func (f *forecasts) Plan(ctx context.Context, q engine.PlanQuestion) wire.Planned {
	size := func(text string) string { return strings.TrimSpace(strings.Trim(text, `"`)) }
	now, _ := q.Properties.Get("Size")
	was, _ := q.Old.Get("Size")
	key, _ := q.Properties.Get("Key")
	f.mu.Lock()
	f.busy++
	f.most = max(f.most, f.busy)
	f.asked = append(f.asked, fmt.Sprintf("%s %q: %s %s from %s", q.Logical, q.PhysicalID, size(now.Text()), key.Text(), size(was.Text())))
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busy--
	}()
	return f.answer(ctx, q)
}

// questions returns what was asked, sorted, and forgets it.
func (f *forecasts) questions() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	slices.Sort(asked)
	return asked
}

func newForecasts(t *testing.T, f *forecasts) *world {
	t.Helper()
	return newWorldWith(t, engine.Config{Plans: f, PlanWithin: time.Minute})
}

const secretKey = "the key of the test"

// sized returns a template with a thing of a size, one that depends on it, and one whose provider does not plan.
func sized(size int) string {
	return body(map[string]string{
		"C": resource(fmt.Sprintf(`"Size": %d, "Key": "%s"`, size, secretKey)),
		"D": resource(`"Of": {"Ref": "C"}`),
		"E": strings.Replace(resource(fmt.Sprintf(`"Size": %d`, size)), "Custom::Thing", "Custom::Other", 1),
	})
}

// TestChangeSetAsksProviders checks what a change set makes of the plans of providers.
func TestChangeSetAsksProviders(t *testing.T) {
	for name, test := range map[string]struct {
		answer      wire.Planned
		status      store.ChangeSetState
		reason      string
		replacement plan.Replacement
	}{
		"replaces": {wire.Planned{Change: wire.Replace, Reason: "it cannot shrink"}, store.ChangeSetAvailable, "[INFO] C must be replaced: it cannot shrink.", plan.ReplacementTrue},
		"in place": {wire.Planned{Change: wire.InPlace}, store.ChangeSetAvailable, "", plan.ReplacementFalse},
		"refuses":  {wire.Planned{Change: wire.Refuse, Reason: "no quota."}, store.ChangeSetFailed, "Providers refuse the change. C: no quota.", ""},
		"cannot":   {wire.Planned{Error: "panic"}, store.ChangeSetAvailable, "", plan.ReplacementConditional},
	} {
		t.Run(name, func(t *testing.T) {
			f := &forecasts{answer: func(context.Context, engine.PlanQuestion) wire.Planned { return test.answer }}
			w := newForecasts(t, f)
			w.must(w.create(sized(5)))
			w.createThings()
			if asked := f.questions(); asked != nil {
				t.Errorf("a deploy asked %q", asked)
			}
			set, err := w.planned(engine.CreateChangeSet{Kind: store.KindUpdate, Name: "n", Template: sized(3)})
			w.must(err)
			if set.State != test.status || set.Reason != test.reason {
				t.Errorf("got %s %q, want %s %q", set.State, set.Reason, test.status, test.reason)
			}
			// D depends on C, so its properties are unknown.
			want := []string{`C "id-of-C": 3 ` + secretKey + ` from 5`}
			if asked := f.questions(); !slices.Equal(asked, want) {
				t.Errorf("asked %q, want %q", asked, want)
			}
			changes, err := set.Changes()
			w.must(err)
			if test.status == store.ChangeSetFailed {
				if len(changes) != 0 || w.execute("n") == nil {
					t.Errorf("a refused change set can be executed, or has changes: %v", changes)
				}
				return
			}
			for _, c := range changes {
				switch c.LogicalID {
				case "C":
					if c.Replacement != test.replacement || (test.replacement == plan.ReplacementTrue) != (c.PolicyAction == "ReplaceAndDelete") {
						t.Errorf("C: %s %s, want %s", c.Replacement, c.PolicyAction, test.replacement)
					}
				case "D":
					if c.Unplanned != "its properties are unknown until C is done" {
						t.Errorf("D is unplanned because %q", c.Unplanned)
					}
				case "E":
					if c.Replacement != plan.ReplacementConditional || c.Unplanned != "" {
						t.Errorf("E: %s %q", c.Replacement, c.Unplanned)
					}
				}
			}
		})
	}
}

// TestPlanRefusesACreate checks a change set for a stack that does not exist, and that no secret is shown.
func TestPlanRefusesACreate(t *testing.T) {
	f := &forecasts{answer: func(_ context.Context, q engine.PlanQuestion) wire.Planned {
		key, _ := q.Properties.Get("Key")
		return wire.Planned{Change: wire.Refuse, Reason: "no quota for " + key.Text()}
	}}
	w := newForecasts(t, f)
	set, err := w.planned(engine.CreateChangeSet{
		Kind: store.KindCreate, Name: "n", Template: body(map[string]string{"C": resource(`"Size": 3, "Key": {"Ref": "P"}`)}, noEchoP),
		Options: engine.Options{Parameters: []engine.Parameter{{Key: "P", Value: secretKey}}},
	})
	w.must(err)
	if want := "Providers refuse the change. C: no quota for *****."; set.State != store.ChangeSetFailed || set.Reason != want {
		t.Errorf("got %s %q, want %q", set.State, set.Reason, want)
	}
	if asked := f.questions(); !slices.Equal(asked, []string{`C "": 3 ` + secretKey + ` from `}) {
		t.Errorf("asked %q", asked)
	}
}

// TestPreviewAsksProviders checks that a preview asks only if it is requested, and writes nothing.
func TestPreviewAsksProviders(t *testing.T) {
	f := &forecasts{answer: func(context.Context, engine.PlanQuestion) wire.Planned {
		return wire.Planned{Change: wire.Replace, Reason: "it cannot shrink"}
	}}
	w := newForecasts(t, f)
	w.must(w.create(sized(5)))
	w.createThings()
	before := fmt.Sprint(w.stack(), w.history())
	for _, ask := range []bool{false, true} {
		drawn, err := w.engine.Preview(w.ctx, engine.PreviewStack{Stack: named("S"), Template: sized(3), Ask: ask})
		w.must(err)
		if got := drawn.Changes[0]; (got.Reason == "it cannot shrink") != ask {
			t.Errorf("ask %t: %+v", ask, got)
		}
		if asked := f.questions(); (len(asked) == 1) != ask {
			t.Errorf("ask %t: asked %q", ask, asked)
		}
	}
	if after := fmt.Sprint(w.stack(), w.history()); after != before || len(w.inbox) > 0 {
		t.Errorf("a preview has changed the stack or sent a request:\n%s\n%s\n%v", before, after, w.inbox)
	}
}

// TestPlansAreBounded checks the number of providers that are asked at once, and the time that they have.
func TestPlansAreBounded(t *testing.T) {
	all := map[string]string{}
	for n := range 30 {
		all[fmt.Sprintf("C%d", n)] = resource(fmt.Sprintf(`"Size": %d`, n))
	}
	f := &forecasts{answer: func(ctx context.Context, _ engine.PlanQuestion) wire.Planned {
		<-ctx.Done()
		return wire.Planned{Error: "late"}
	}}
	w := newWorldWith(t, engine.Config{Plans: f, PlanWithin: 50 * time.Millisecond})
	set, err := w.planned(engine.CreateChangeSet{Kind: store.KindCreate, Name: "n", Template: body(all)})
	w.must(err)
	if set.State != store.ChangeSetAvailable || set.Reason != "" || f.most != 8 {
		t.Errorf("%s %q, %d at once", set.State, set.Reason, f.most)
	}
}

// createThings answers all requests with success.
func (w *world) createThings() {
	w.t.Helper()
	for len(w.inbox) > 0 {
		logical := string(w.inbox[0].Logical)
		w.succeed(logical, "id-of-"+logical)
	}
}

// TestPlansOfForcedUpdates checks that a preview asks the providers of resources that get an Update although nothing changed.
func TestPlansOfForcedUpdates(t *testing.T) {
	f := &forecasts{answer: func(context.Context, engine.PlanQuestion) wire.Planned {
		return wire.Planned{Change: wire.Replace, Reason: "it is gone"}
	}}
	w := newForecasts(t, f)
	w.must(w.create(sized(5)))
	w.createThings()
	out, err := w.engine.Preview(w.ctx, engine.PreviewStack{
		Stack: named("S"), Template: sized(5), Ask: true, Again: []wire.LogicalID{"C", "E"},
	})
	w.must(err)
	if asked, want := f.questions(), []string{`C "id-of-C": 5 ` + secretKey + ` from 5`}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	for _, c := range out.Changes {
		if c.LogicalID == "C" && (c.Replacement != plan.ReplacementTrue || c.Reason != "it is gone" || c.PolicyAction != "ReplaceAndDelete") {
			t.Errorf("got %+v", c)
		}
		if c.LogicalID == "E" && (c.Replacement != plan.ReplacementConditional || !c.Again) {
			t.Errorf("got %+v", c)
		}
	}
}

// TestPlansOfUnknownProviders checks that a provider that cannot be asked for its schema is reported, that others plan nevertheless, and
// that all are asked at once, each of them once.
func TestPlansOfUnknownProviders(t *testing.T) {
	const most = 8
	var mu sync.Mutex
	asked := map[wire.ServiceToken]int{}
	all := make(chan struct{})
	f := &forecasts{
		answer: func(context.Context, engine.PlanQuestion) wire.Planned { return wire.Planned{Change: wire.InPlace} },
		declare: func(ctx context.Context, token wire.ServiceToken) error {
			mu.Lock()
			if asked[token]++; len(asked) == most {
				close(all)
			}
			mu.Unlock()
			select {
			case <-all:
			case <-ctx.Done():
				t.Errorf("%d providers are asked at once, want %d", len(asked), most)
			}
			if strings.HasSuffix(string(token), "-3") {
				return errors.New("it was killed with hush-hush")
			}
			return nil
		},
	}
	w := newWorldWith(t, engine.Config{Plans: f, PlanWithin: 10 * time.Second})
	resources := map[string]string{}
	for n := range most {
		for _, half := range []string{"A", "B"} {
			resources[fmt.Sprintf("%s%d", half, n)] = strings.Replace(resource(`"Key": {"Ref": "P"}`), token, fmt.Sprintf("%s-%d", token, n), 1)
		}
	}
	set, err := w.planned(engine.CreateChangeSet{
		Kind: store.KindCreate, Name: "n", Template: body(resources, noEchoP),
		Options: engine.Options{Parameters: []engine.Parameter{{Key: "P", Value: "hush-hush"}}},
	})
	w.must(err)
	changes, err := set.Changes()
	w.must(err)
	for _, c := range changes {
		want := ""
		if strings.HasSuffix(c.LogicalID, "3") {
			want = "it was killed with *****"
		}
		if c.Unplanned != want {
			t.Errorf("%s is unplanned because %q, want %q", c.LogicalID, c.Unplanned, want)
		}
	}
	for token, times := range asked {
		if times != 1 {
			t.Errorf("%s was asked %d times", token, times)
		}
	}
	if asked := f.questions(); len(changes) != 2*most || len(asked) != 2*most-2 {
		t.Errorf("%d changes, asked %q", len(changes), asked)
	}
}
