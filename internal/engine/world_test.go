package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	account = "123456789012"
	region  = "us-east-1"
	token   = "arn:aws:sns:us-east-1:84969EXAMPLE:CRTest"
)

// world is an engine on an in-memory store, with a clock that only the test moves. Requests from the engine wait in
// inbox until the test plays the provider.
type world struct {
	executed store.ChangeSetID // the change set that was executed last
	t        *testing.T
	ctx      context.Context
	now      time.Time
	store    store.Store
	engine   *engine.Engine
	ids      int
	inbox    []store.Request
	sent     []string
}

func newWorld(t *testing.T, fidelity engine.Fidelity) *world { return newWorldOf(t, fidelity, nil) }

func newWorldOf(t *testing.T, fidelity engine.Fidelity, types *native.Registry) *world {
	t.Helper()
	return newWorldWith(t, engine.Config{Fidelity: fidelity, Native: types})
}

// newWorldWith returns a world whose engine has more settings.
func newWorldWith(t *testing.T, config engine.Config) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	var err error
	if w.store, err = memory.New(memory.Config{Now: func() time.Time { return w.now }}); err != nil {
		t.Fatal(err)
	}
	config.Store, config.Alone = w.store, true
	config.Dispatch = func(ready []store.Request) { w.inbox = append(w.inbox, ready...) }
	if config.NewID == nil {
		config.NewID = func() string {
			w.ids++
			return fmt.Sprintf("id-%d", w.ids)
		}
	}
	if w.engine, err = engine.Open(w.ctx, config); err != nil {
		t.Fatal(err)
	}
	return w
}

// resource returns a custom resource for a template. attributes is JSON members without braces, e.g. `"DependsOn":
// "A"`.
func resource(properties string, attributes ...string) string {
	if properties != "" {
		properties = ", " + properties
	}
	more := ""
	for _, a := range attributes {
		more += ", " + a
	}
	return `{"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `"` + properties + `}` + more + `}`
}

// body returns a template of resources, with further sections as JSON members.
func body(resources map[string]string, sections ...string) string {
	var members []string
	for _, id := range slices.Sorted(mapKeys(resources)) {
		members = append(members, `"`+id+`": `+resources[id])
	}
	text := `{"Resources": {` + strings.Join(members, ", ") + `}`
	for _, s := range sections {
		text += ", " + s
	}
	return text + "}"
}

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (w *world) create(template string, parameters ...engine.Parameter) error {
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "S"}, Template: template,
		Options: engine.Options{Parameters: parameters},
	})
	return err
}

func (w *world) update(template string, parameters ...engine.Parameter) error {
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{
		Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Template: template,
		Options: engine.Options{Parameters: parameters},
	})
	return err
}

func (w *world) delete() {
	w.t.Helper()
	w.must(w.deleteStack(engine.DeleteStack{}))
}

func (w *world) deleteStack(in engine.DeleteStack) error {
	in.Stack = w.ref()
	_, err := w.engine.Delete(w.ctx, in)
	return err
}

func (w *world) continueRollback(in engine.ContinueRollback) error {
	in.Stack = w.ref()
	_, err := w.engine.ContinueRollback(w.ctx, in)
	return err
}

// ref returns a reference to the newest stack.
func (w *world) ref() engine.Ref {
	w.t.Helper()
	return engine.Ref{Account: account, Region: region, Stack: string(w.stack().ID)}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// stack returns the newest stack, deleted or not.
func (w *world) stack() store.Stack {
	w.t.Helper()
	stacks, err := w.store.Stacks(w.ctx, account, region, true, 0, 1)
	w.must(err)
	if len(stacks) == 0 {
		w.t.Fatal("there is no stack")
	}
	return stacks[0]
}

func (w *world) status() string {
	s := w.stack()
	return engine.CloudFormation.StackStatus(s.Kind, s.Phase)
}

// take returns the first dispatched request of a logical ID. It does not wait.
func (w *world) take(logical string) store.Request {
	w.t.Helper()
	for i, r := range w.inbox {
		if string(r.Logical) == logical {
			w.inbox = slices.Delete(w.inbox, i, i+1)
			w.sent = append(w.sent, sentLine(r))
			return r
		}
	}
	w.t.Fatalf("no request for %s was sent; waiting are %d others\n%s", logical, len(w.inbox), w.history())
	return store.Request{}
}

func sentLine(r store.Request) string {
	line := fmt.Sprintf("-> %s %s id=%s %s", r.Type, r.Logical, r.Body.PhysicalID, short(r.Body.Properties.JSON()))
	if r.Type == wire.Update {
		line += " was " + short(r.Body.OldProperties.JSON())
	}
	return line
}

// short removes the service token, which all properties have.
func short(properties []byte) string {
	text := strings.ReplaceAll(string(properties), `"ServiceToken":"`+token+`",`, "")
	return strings.ReplaceAll(text, `"ServiceToken":"`+token+`"`, "")
}

// answer plays the provider of one request. members are those of the response document in addition to the copied
// ones.
func (w *world) answer(r store.Request, members string) {
	w.t.Helper()
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted}))
	w.must(w.engine.Answer(w.ctx, r.ID, []byte(document(r, members)), 0))
}

func document(r store.Request, members string) string {
	return fmt.Sprintf(`{"StackId": %q, "RequestId": %q, "LogicalResourceId": %q, %s}`, r.Body.StackID, r.ID, r.Logical, members)
}

func (w *world) succeed(logical, id string) { w.t.Helper(); w.answer(w.take(logical), success(id)) }

func (w *world) fail(logical, id, reason string) {
	w.t.Helper()
	w.answer(w.take(logical), fmt.Sprintf(`"Status": "FAILED", "PhysicalResourceId": %q, "Reason": %q`, id, reason))
}

func success(id string) string {
	return fmt.Sprintf(`"Status": "SUCCESS", "PhysicalResourceId": %q`, id)
}

// accept reports that the provider has the request.
func (w *world) accept(r store.Request) {
	w.t.Helper()
	w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted}))
}

// pass moves the clock and fires due requests.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(d)
	w.must(w.engine.Fire(w.ctx))
}

// events returns the events, one line each.
func (w *world) events() []string {
	w.t.Helper()
	var lines []string
	rows, err := w.store.Events(w.ctx, w.stack().Key, store.EventCursor{}, 1000)
	w.must(err)
	slices.Reverse(rows)
	for _, row := range rows {
		for _, e := range row.Events {
			lines = append(lines, eventLine(e))
		}
	}
	return lines
}

func eventLine(e store.Event) string {
	who, status, id := string(e.Logical), "", " id="+string(e.Physical)
	if e.Phase != "" {
		who, id = "S", ""
		status = engine.CloudFormation.StackStatus(e.Kind, e.Phase)
	} else {
		status = engine.CloudFormation.ResourceStatus(e.Verb, e.Progress)
	}
	line := who + " " + status + id
	if e.Reason != "" {
		line += fmt.Sprintf(" %q", e.Reason)
	}
	return line
}

// invented returns the ID that the engine generated for a resource whose Create was cancelled.
func (w *world) invented(logical string) string {
	w.t.Helper()
	for _, line := range w.events() {
		if id, ok := strings.CutPrefix(line, logical+" CREATE_FAILED id="); ok {
			id, _, _ = strings.Cut(id, " ")
			return id
		}
	}
	w.t.Fatalf("no Create of %s was cancelled:\n%s", logical, w.history())
	return ""
}

func (w *world) history() string { return strings.Join(w.events(), "\n") }

// want compares the events after the first skip ones, and then all sent requests, if any are given.
func (w *world) want(skip int, events []string, sent ...string) {
	w.t.Helper()
	got := w.events()
	if skip > len(got) {
		w.t.Fatalf("only %d events:\n%s", len(got), w.history())
	}
	if diff := cmp.Diff(events, got[skip:]); diff != "" {
		w.t.Errorf("events (-want +got):\n%s", diff)
	}
	if len(sent) > 0 {
		if diff := cmp.Diff(sent, w.sent); diff != "" {
			w.t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
	if len(w.inbox) > 0 {
		w.t.Errorf("a request is still to be taken: %s", sentLine(w.inbox[0]))
	}
}

// properties returns the ResourceProperties of the newest event of a logical ID that has some.
func (w *world) properties(logical string) map[string]any {
	w.t.Helper()
	rows, err := w.store.Events(w.ctx, w.stack().Key, store.EventCursor{}, 1000)
	w.must(err)
	for _, row := range rows {
		for _, e := range slices.Backward(row.Events) {
			if string(e.Logical) == logical && e.Properties != "" {
				var m map[string]any
				w.must(json.Unmarshal([]byte(e.Properties), &m))
				return m
			}
		}
	}
	return nil
}
