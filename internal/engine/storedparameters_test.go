package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

// cupboard is a parameter store, and the secrets that requests were sent with.
type cupboard struct {
	texts   map[string]string
	read    []string // the names that were read
	err     error
	secrets map[wire.RequestID][]string
	lost    error
}

func (s *cupboard) stored(_ context.Context, account, region string, names []string) (map[string]template.Stored, error) {
	s.read = append(s.read, account+" "+region+" "+strings.Join(names, ","))
	found := make(map[string]template.Stored)
	for name, text := range maps.All(s.texts) {
		if slices.Contains(names, name) {
			found[name] = template.Stored{State: template.StoredText, Value: text}
		}
	}
	return found, s.err
}

func (s *cupboard) hidden(_ context.Context, id wire.RequestID) ([]string, error) {
	return s.secrets[id], s.lost
}

func newCupboardWorld(t *testing.T, s *cupboard) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	var err error
	w.store, err = memory.New(memory.Config{Now: func() time.Time { return w.now }})
	w.must(err)
	w.engine, err = engine.Open(w.ctx, engine.Config{
		Store: w.store, Alone: true, Stored: s.stored, Hidden: s.hidden,
		Dispatch: func(ready []store.Request) { w.inbox = append(w.inbox, ready...) },
		NewID: func() string {
			w.ids++
			return fmt.Sprintf("id-%d", w.ids)
		},
	})
	w.must(err)
	return w
}

func (w *world) revision() store.Revision {
	w.t.Helper()
	r, err := w.engine.Revision(w.ctx, w.stack())
	w.must(err)
	return r
}

const storedP = `"Parameters": {"P": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/p"}}`

func storedTemplate() string {
	return body(map[string]string{"C": resource(`"K": {"Ref": "P"}`)}, storedP)
}

func (w *world) property(r store.Request, name string) string {
	v, _ := r.Body.Properties.Get(name)
	return v.Text()
}

// TestStoredParameter checks that the engine reads the value before an operation and keeps it for that operation. The
// previous value is the name, and the engine reads its value again.
func TestStoredParameter(t *testing.T) {
	s := &cupboard{texts: map[string]string{"/p": "one", "/q": "q"}}
	w := newCupboardWorld(t, s)
	wantCode(t, w.create(storedTemplate(), engine.Parameter{Key: "P", Value: "/none"}), engine.CodeValidation,
		"Unable to fetch parameters [/none] from parameter store for this account.")
	w.must(w.create(storedTemplate()))
	r := w.take("C")
	if got := w.property(r, "K"); got != "one" {
		t.Errorf("sent %q", got)
	}
	w.answer(r, success("a"))
	if diff := cmp.Diff([]string{account + " " + region + " /none", account + " " + region + " /p"}, s.read); diff != "" {
		t.Error(diff)
	}
	if got := w.revision(); got.Parameters.String() != `{"P":"/p"}` || engine.StoredValues(&got).String() != `{"P":"one"}` {
		t.Errorf("kept %s, %s", got.Parameters, engine.StoredValues(&got))
	}
	same := engine.Parameter{Key: "P", UsePrevious: true}
	wantCode(t, w.update(storedTemplate(), same), engine.CodeValidation, "No updates are to be performed.")

	s.texts["/p"] = "two"
	w.must(w.update(storedTemplate(), same))
	r = w.take("C")
	old, _ := r.Body.OldProperties.Get("K")
	if got := w.property(r, "K"); got != "two" || old.Text() != "one" {
		t.Errorf("sent %q, before %s", got, old)
	}
	// A rollback uses the value that was read for the revision it restores.
	s.texts["/p"] = "three"
	w.answer(r, `"Status": "FAILED", "PhysicalResourceId": "a", "Reason": "no"`)
	r = w.take("C")
	if got := w.property(r, "K"); got != "one" {
		t.Errorf("rolled back to %q", got)
	}
	w.answer(r, success("a"))
}

// TestStoredParameterOfChangeSet checks that a change set keeps the values that were read at its creation.
func TestStoredParameterOfChangeSet(t *testing.T) {
	s := &cupboard{texts: map[string]string{"/p": "one"}}
	w := newCupboardWorld(t, s)
	_, err := w.planned(engine.CreateChangeSet{Name: "c", Kind: store.KindCreate, Template: storedTemplate()})
	w.must(err)
	s.texts["/p"] = "two"
	w.must(w.execute("c"))
	if got := w.property(w.take("C"), "K"); got != "one" {
		t.Errorf("sent %q", got)
	}
	if len(s.read) != 1 {
		t.Errorf("read %q", s.read)
	}
}

// TestStoredParameterMeanwhile checks that a decision is repeated with the values that it turns out to need.
func TestStoredParameterMeanwhile(t *testing.T) {
	s := &cupboard{texts: map[string]string{"/p": "one"}}
	w := newCupboardWorld(t, s)
	s.err = errors.New("the store does not answer")
	wantCode(t, w.create(storedTemplate()), engine.CodeValidation,
		"Unable to fetch parameters [/p] from parameter store for this account. the store does not answer")
	if stacks, _ := w.store.Stacks(w.ctx, account, region, true, 0, 9); len(stacks) > 0 {
		t.Errorf("there is a stack: %v", stacks)
	}
	without := newWorld(t, engine.FidelityPintle)
	wantCode(t, without.create(storedTemplate()), engine.CodeValidation, "Unable to fetch parameters [/p] from parameter store for this account.")
}

// TestHiddenSecrets checks that no part of an answer that contains a secret that only delivery knows is stored in
// clear text.
func TestHiddenSecrets(t *testing.T) {
	const secret = "hunter2\"x"
	for _, lost := range []error{nil, errors.New("no such secret")} {
		s := &cupboard{secrets: map[wire.RequestID][]string{}, lost: lost}
		w := newCupboardWorld(t, s)
		outputs := `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["A", "Said"]}}}`
		w.must(w.create(body(map[string]string{"A": resource(`"K": "{{resolve:ssm-secure:/k}}"`), "B": resource(`"K": "{{resolve:ssm-secure:/k}}"`, `"DependsOn": "A"`)}, outputs)))
		a := w.take("A")
		s.secrets[a.ID] = []string{secret}
		w.answer(a, `"Status": "SUCCESS", "PhysicalResourceId": "a", "Data": {"Said": "it is hunter2\"x!", "Else": "open"}`)
		b := w.take("B")
		s.secrets[b.ID] = []string{secret}
		w.answer(b, `"Status": "FAILED", "PhysicalResourceId": "b", "Reason": "wrong password hunter2\"x for x"`)
		history := w.history()
		if strings.Contains(history, "hunter2") || lost == nil && !strings.Contains(history, "wrong password *****") || lost != nil && !strings.Contains(history, "is withheld") {
			t.Errorf("events:\n%s", history)
		}
		instances, err := w.store.Instances(w.ctx, w.stack().Key)
		w.must(err)
		for _, i := range instances {
			if v, ok := i.Body.Data.Get("Said"); ok && !v.Secret() {
				t.Errorf("%s is no secret", v)
			}
			if v, ok := i.Body.Data.Get("Else"); ok && v.Secret() != (lost != nil) {
				t.Errorf("secrecy of %s: %t", v, v.Secret())
			}
			if got, _ := i.Body.Properties.Get("K"); got.Text() != "{{resolve:ssm-secure:/k}}" {
				t.Errorf("the row has %s", got)
			}
		}
	}
}
