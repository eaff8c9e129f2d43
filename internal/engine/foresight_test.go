package engine_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

var foresightSeeds = flag.Uint64("foresight.seeds", 120, "how many lives TestForesight runs")

// TestForesight executes change sets between random templates, and compares the requests with the predicted changes.
func TestForesight(t *testing.T) {
	reached := map[string]int{}
	for seed := range *foresightSeeds {
		f := newForesight(t, seed, reached)
		f.live()
		if t.Failed() {
			t.Fatalf("seed %d; its history:\n%s", seed, strings.Join(f.log, "\n"))
		}
	}
	t.Log(reached)
	for _, what := range []string{
		"Add", "Modify", "Remove", "Retain", "may", "may, and was not", "unsettled", "problem", "replaced", "not replaced",
		"static value", "denied", "unknown value", "unchanged", "True", "Conditional", "False", "CREATE_COMPLETE", "UPDATE_COMPLETE",
		"UPDATE_FAILED", "UPDATE_ROLLBACK_COMPLETE",
	} {
		if reached[what] == 0 {
			t.Errorf("%q was never reached", what)
		}
	}
}

// foresight is one run of TestForesight on one stack.
type foresight struct {
	*waiting
	rng     *rand.Rand
	reached map[string]int
	log     []string
	count   int
	// last are the resources of the previous template.
	last  map[string]string
	given []engine.Parameter
	// failing are the resources whose provider fails.
	failing map[wire.LogicalID]bool
	// asked are the requests of an operation before its first failure, by logical ID.
	asked map[wire.LogicalID][]store.Request
	// left are the superseded instances at the start of an operation.
	left map[int]bool
	// made are the resources of the providers by ID, each with its number of updates.
	made map[wire.PhysicalID]int
}

func newForesight(t *testing.T, seed uint64, reached map[string]int) *foresight {
	types, err := native.New(shelf{})
	if err != nil {
		t.Fatal(err)
	}
	return &foresight{
		waiting: &waiting{world: newWorldOf(t, engine.FidelityPintle, types), types: types},
		rng:     rand.New(rand.NewPCG(seed, 7)), reached: reached, made: map[wire.PhysicalID]int{},
	}
}

func (f *foresight) chance(percent int) bool { return f.rng.IntN(100) < percent }

func (f *foresight) note(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func (f *foresight) live() {
	kind := store.KindCreate
	for n := range 5 {
		in := engine.CreateChangeSet{
			Name: fmt.Sprint("n", n), Kind: kind, Stack: named("S"), Template: f.template(),
			Options: engine.Options{DisableRollback: f.chance(40), Parameters: f.parameters()},
		}
		if kind == store.KindUpdate && f.stack().Phase == store.PhaseFailed {
			in.DisableRollback = true
		}
		if kind == store.KindUpdate && f.chance(20) {
			f.must(f.engine.SetPolicy(f.ctx, named("S"), f.policy()))
		}
		f.note("template %s\nparameters %v", in.Template, in.Parameters)
		drawn, drawnErr := f.engine.Preview(f.ctx, engine.PreviewStack{Stack: named("S"), Options: in.Options, Template: in.Template})
		set, err := f.planned(in)
		if reported := (*engine.Error)(nil); errors.As(err, &reported) {
			f.note("refused: %v", err)
			if strings.Contains(err.Error(), "state and can not be updated") {
				return
			}
			continue
		}
		f.must(err)
		f.must(drawnErr)
		changes, err := set.Changes()
		f.must(err)
		if kind == store.KindUpdate {
			if a, _ := json.Marshal(drawn.Changes); len(drawn.Changes)+len(changes) > 0 && string(a) != string(set.Body.Changes) {
				f.t.Errorf("a preview says\n%s\nthe change set\n%s", a, set.Body.Changes)
			}
		}
		if strings.Contains(string(set.Body.Changes)+set.Reason, "hush") {
			f.t.Errorf("a secret is shown: %s\n%s", set.Body.Changes, set.Reason)
		}
		for _, c := range changes {
			text, _ := json.Marshal(c)
			f.note("foreseen %s", text)
		}
		if set.State == store.ChangeSetFailed {
			f.note("no changes")
			f.reached["unchanged"]++
			continue
		}
		before := f.instancesNow()
		f.failing, f.asked = map[wire.LogicalID]bool{}, map[wire.LogicalID][]store.Request{}
		for _, c := range changes {
			if f.chance(6) {
				f.failing[wire.LogicalID(c.LogicalID)] = true
			}
		}
		f.now = f.now.Add(1e9)
		f.must(f.execute(in.Name))
		f.serveThings()
		f.note("%s", f.status())
		f.reached[f.status()]++
		f.check(changes, before)
		if f.t.Failed() {
			f.note("%s", f.history())
			return
		}
		kind = store.KindUpdate
		if s := f.status(); s == "ROLLBACK_COMPLETE" || s == "UPDATE_ROLLBACK_FAILED" || s == "CREATE_FAILED" {
			return
		}
	}
}

// instancesNow returns the current instances by logical ID.
func (f *foresight) instancesNow() map[string]store.Instance {
	f.t.Helper()
	rows, err := f.store.Instances(f.ctx, f.stack().Key)
	f.must(err)
	now := map[string]store.Instance{}
	f.left = map[int]bool{}
	for _, i := range rows {
		f.left[i.Number] = i.Role != store.RoleCurrent
		if i.Role == store.RoleCurrent {
			now[string(i.Logical)] = i
		}
	}
	return now
}

// serveThings answers all requests.
func (f *foresight) serveThings() {
	for len(f.inbox) > 0 {
		r := f.take(string(f.inbox[f.rng.IntN(len(f.inbox))].Logical))
		f.note("%s", f.sent[len(f.sent)-1])
		// A plan does not include an instance that an earlier operation replaced and did not clean up.
		earlier := r.Type == wire.Delete && f.left[r.Instance]
		if phase := f.stack().Phase; !earlier && (phase == store.PhaseApply || phase == store.PhaseCleanup) {
			f.asked[r.Logical] = append(f.asked[r.Logical], r)
		}
		if r.Body.Native() {
			f.report(r)
			continue
		}
		if f.failing[r.Logical] && r.Type != wire.Delete {
			delete(f.failing, r.Logical)
			f.answer(r, fmt.Sprintf(`"Status": "FAILED", "PhysicalResourceId": %q, "Reason": "no"`, f.id(r, false)))
			continue
		}
		id := f.id(r, f.chance(30))
		f.made[id]++
		secret := ""
		if f.chance(50) {
			secret = `"NoEcho": true, `
		}
		f.answer(r, fmt.Sprintf(`%s, %s"Data": {"att": "%s-%d", "fix": "fix-%s", "hid": "%s"}`, success(string(id)), secret, id, f.made[id], id,
			map[bool]string{true: "hush-data", false: "open"}[secret != ""]))
	}
}

func (f *foresight) id(r store.Request, another bool) wire.PhysicalID {
	if r.Body.PhysicalID != "" && (!another || r.Type == wire.Delete) {
		return r.Body.PhysicalID
	}
	f.count++
	return wire.PhysicalID(fmt.Sprintf("thing-%d", f.count))
}

// check compares the requests with the predicted changes.
func (f *foresight) check(changes []plan.Change, before map[string]store.Instance) {
	succeeded := f.stack().Phase == store.PhaseSucceeded
	seen := map[wire.LogicalID]bool{}
	for i := range changes {
		c := &changes[i]
		seen[wire.LogicalID(c.LogicalID)] = true
		f.reached[string(c.Action)]++
		f.checkChange(c, before[c.LogicalID], succeeded)
	}
	for logical, requests := range f.asked {
		if !seen[logical] {
			f.t.Errorf("nothing was foreseen of %s, and it got: %s", logical, sentLine(requests[0]))
		}
	}
}

func (f *foresight) checkChange(c *plan.Change, was store.Instance, succeeded bool) {
	requests := f.asked[wire.LogicalID(c.LogicalID)]
	asked := func(kind wire.RequestType) *store.Request {
		i := slices.IndexFunc(requests, func(r store.Request) bool { return r.Type == kind })
		if i < 0 {
			return nil
		}
		return &requests[i]
	}
	if c.Problem != "" {
		f.reached["problem"]++
		if strings.Contains(c.Problem, "stack policy") {
			f.reached["denied"]++
		}
		if succeeded {
			f.t.Errorf("%s was to fail: %s", c.LogicalID, c.Problem)
		}
		return
	}
	create, update, remove := asked(wire.Create), asked(wire.Update), asked(wire.Delete)
	switch c.Action {
	case plan.Add, plan.Import:
		if succeeded && create == nil || update != nil {
			f.t.Errorf("%s was to be created", c.LogicalID)
		}
		if create != nil {
			f.checkSent(c, create)
		}
	case plan.Remove:
		f.reached[c.PolicyAction]++
		if string(was.PhysicalID) != c.PhysicalID {
			f.t.Errorf("%s was %s, and %s was to be removed", c.LogicalID, was.PhysicalID, c.PhysicalID)
		}
		if create != nil || update != nil {
			f.t.Errorf("%s was to be removed", c.LogicalID)
		}
		if succeeded && was.Reached && (remove != nil) != (c.PolicyAction == "Delete") {
			f.t.Errorf("%s was to come to %s", c.LogicalID, c.PolicyAction)
		}
	case plan.Modify:
		f.checkModified(c, was, succeeded, create, update)
	}
}

func (f *foresight) checkModified(c *plan.Change, was store.Instance, succeeded bool, create, update *store.Request) {
	sent := update
	if was.Body.Type == "Test::Shelf" && create != nil {
		sent = create
	}
	unsettled := !was.Body.Attempted.IsNull()
	f.reached[string(c.Replacement)]++
	certain := slices.Contains(c.Certain(), plan.Properties)
	if unsettled != c.Again {
		f.t.Errorf("%s is updated again: %t, foreseen %t", c.LogicalID, unsettled, c.Again)
	}
	switch {
	case unsettled:
		f.reached["unsettled"]++
	case !certain && slices.Contains(c.Scope, plan.Properties):
		f.reached["may"]++
	}
	switch {
	case !slices.Contains(c.Scope, plan.Properties):
		if sent != nil {
			f.t.Errorf("of %s %v was to change, and it got %s", c.LogicalID, c.Scope, sentLine(*sent))
		}
		return
	case sent == nil && succeeded && certain:
		f.t.Errorf("%s was to be updated", c.LogicalID)
		return
	case sent == nil:
		if succeeded {
			f.reached["may, and was not"]++
		}
		return
	}
	if create == nil && was.Body.Type == "Custom::Thing" && c.Replacement != plan.ReplacementConditional {
		f.t.Errorf("only the provider knows whether %s is replaced: %s", c.LogicalID, c.Replacement)
	}
	if was.Body.Type == "Test::Shelf" && (c.Replacement == plan.ReplacementTrue && create == nil || c.Replacement == plan.ReplacementFalse && create != nil) {
		f.t.Errorf("replacement of %s: %s", c.LogicalID, c.Replacement)
	}
	f.checkSent(c, sent)
	now := f.instancesNow()[c.LogicalID]
	if !succeeded || now.Number == was.Number {
		f.reached["not replaced"]++
		return
	}
	f.reached["replaced"]++
	kept := !slices.ContainsFunc(f.asked[was.Logical], func(r store.Request) bool { return r.Type == wire.Delete && r.Instance == was.Number })
	if kept != c.KeepsReplaced {
		f.t.Errorf("%s was replaced: kept %t, foreseen %t", c.LogicalID, kept, c.KeepsReplaced)
	}
}

// checkSent compares a predicted change with the request that the provider got.
func (f *foresight) checkSent(c *plan.Change, r *store.Request) {
	after, _ := c.After.Get(plan.Properties)
	if !f.same(after, r.Body.Properties.Masked()) {
		f.t.Errorf("of %s was foreseen\n%s, and it got\n%s", c.LogicalID, after.JSON(), r.Body.Properties.Masked().JSON())
	}
	for _, d := range c.Details {
		if d.Attribute != plan.Properties || d.After == nil || strings.Contains(*d.After, plan.Unknown) {
			continue
		}
		got := r.Body.Properties
		for _, key := range strings.Split(d.Path, "/")[2:] {
			if got.Kind() == value.List {
				at, err := strconv.Atoi(key)
				f.must(err)
				got = got.Items()[at]
				continue
			}
			got, _ = got.Get(key)
		}
		want := got.String()
		if got.IsScalar() {
			want = got.Masked().Text()
		}
		f.reached["static value"]++
		if want != *d.After {
			f.t.Errorf("%s of %s was foreseen to be %s, and is %s", d.Path, c.LogicalID, *d.After, want)
		}
	}
}

// same compares a value with its prediction.
func (f *foresight) same(foreseen, got value.Value) bool {
	switch {
	case foreseen.Kind() == value.String && foreseen.Text() == plan.Unknown:
		f.reached["unknown value"]++
		return true
	case foreseen.Kind() != got.Kind() || len(foreseen.Items()) != len(got.Items()):
		return false
	case got.Kind() == value.List:
		for i, item := range got.Items() {
			if !f.same(foreseen.Items()[i], item) {
				return false
			}
		}
		return true
	case got.Kind() == value.Map:
		for _, m := range got.Members() {
			if was, ok := foreseen.Get(m.Key); !ok || !f.same(was, m.Value) {
				return false
			}
		}
		for _, m := range foreseen.Members() { // an unknown value may turn out to be AWS::NoValue
			if _, ok := got.Get(m.Key); !ok && !(m.Value.Kind() == value.String && m.Value.Text() == plan.Unknown) {
				return false
			}
		}
		return true
	}
	return foreseen.Equal(got)
}
