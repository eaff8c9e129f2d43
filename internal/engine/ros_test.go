package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	rosAccount = "0000123456789012"
	rosRegion  = "cn-hangzhou"
	rosToken   = "acs:fc:cn-hangzhou:123456789012:functions/provider"
)

// rosWorld is a world with one ROS stack.
type rosWorld struct {
	*world
	id   wire.StackID
	mark int
}

func newROS(t *testing.T, config engine.Config) *rosWorld {
	t.Helper()
	return &rosWorld{world: newWorldWith(t, config)}
}

// rosResource returns a custom resource: its Parameters as JSON members, then further properties, then further
// attributes.
func rosResource(parameters, properties string, attributes ...string) string {
	if !strings.Contains(properties, `"ServiceToken"`) {
		properties = `"ServiceToken": "` + rosToken + `"` + properties
	}
	text := `{"Type": "Custom::Thing", "Properties": {"Parameters": {` + parameters + `}, ` + properties + `}`
	for _, a := range attributes {
		text += ", " + a
	}
	return text + "}"
}

func rosBody(resources map[string]string, sections ...string) string {
	return body(resources, append([]string{`"ROSTemplateFormatVersion": "2015-09-01"`}, sections...)...)
}

func oneROS(parameters string) string {
	return rosBody(map[string]string{"C": rosResource(parameters, "")})
}

func (w *rosWorld) begin(in engine.CreateStack) error {
	in.Name = store.StackName{Account: rosAccount, Region: rosRegion, Name: "S"}
	in.Dialect = engine.ROS
	started, err := w.engine.Create(w.ctx, in)
	w.id = started.StackID
	return err
}

func (w *rosWorld) rosRef() engine.Ref {
	return engine.Ref{Account: rosAccount, Region: rosRegion, Stack: string(w.id), ByID: true}
}

func (w *rosWorld) change(in engine.UpdateStack) error {
	in.Stack = w.rosRef()
	_, err := w.engine.Update(w.ctx, in)
	return err
}

func (w *rosWorld) remove(in engine.DeleteStack) error {
	in.Stack = w.rosRef()
	_, err := w.engine.Delete(w.ctx, in)
	return err
}

func (w *rosWorld) row() store.Stack {
	w.t.Helper()
	s, err := w.engine.Find(w.ctx, w.rosRef())
	w.must(err)
	return s
}

func (w *rosWorld) rosStatus() string {
	s := w.row()
	return engine.ROS.StackStatus(s.Kind, s.Phase)
}

// happened compares the events since the last call, and the requests that were sent.
func (w *rosWorld) happened(events []string, sent ...string) {
	w.t.Helper()
	rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 1000)
	w.must(err)
	slices.Reverse(rows)
	var lines []string
	for _, row := range rows {
		for _, e := range row.Events {
			line := "S " + engine.ROS.StackStatus(e.Kind, e.Phase)
			if e.Phase == "" {
				line = string(e.Logical) + " " + engine.ROS.ResourceStatus(e.Verb, e.Progress) + " id=" + string(e.Physical)
			}
			if e.Reason != "state changed" {
				line += fmt.Sprintf(" %q", e.Reason)
			}
			lines = append(lines, line)
		}
	}
	if diff := cmp.Diff(events, lines[min(w.mark, len(lines)):]); diff != "" {
		w.t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sent, w.sent); diff != "" {
		w.t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(w.inbox) > 0 {
		w.t.Errorf("a request is still to be taken: %s", sentLine(w.inbox[0]))
	}
	w.mark, w.sent = len(lines), nil
}

// refuses plays a provider that fails with an ID, "" for none.
func (w *rosWorld) refuses(logical, id, reason string) wire.RequestID {
	w.t.Helper()
	r := w.take(logical)
	members := fmt.Sprintf(`"Status": "FAILED", "Reason": %q`, reason)
	if id != "" {
		members += fmt.Sprintf(`, "PhysicalResourceId": %q`, id)
	}
	w.answer(r, members)
	return r.ID
}

// standing returns a world with a complete stack of a template.
func standing(t *testing.T, config engine.Config, template string, ids ...string) *rosWorld {
	t.Helper()
	w := newROS(t, config)
	w.must(w.begin(engine.CreateStack{Template: template}))
	for _, pair := range ids {
		logical, id, _ := strings.Cut(pair, "=")
		w.succeed(logical, id)
	}
	if status := w.rosStatus(); status != "CREATE_COMPLETE" {
		t.Fatalf("the stack is %s: %s", status, w.row().Reason)
	}
	w.sent = nil
	rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 1000)
	w.must(err)
	for _, row := range rows {
		w.mark += len(row.Events)
	}
	return w
}

func TestROSCreateUpdateDelete(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: oneROS(`"N": 7, "L": [true, 1.50]`), Options: engine.Options{Caller: "42"}}))
	r := w.inbox[0]
	type sent struct{ ID, StackID, StackName, Account, Caller, Region, Token string }
	want := sent{strings.ToUpper(string(r.ID)), string(w.id), "S", rosAccount, "42", rosRegion, rosToken}
	got := sent{string(r.ID), string(r.Body.StackID), r.Body.StackName, r.Body.Account, r.Body.Caller, r.Body.Region, r.Body.Token.Text()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	if r.Body.Timeout != time.Minute || r.Body.Dialect != "ros" {
		t.Errorf("timeout %s, dialect %s", r.Body.Timeout, r.Body.Dialect)
	}
	w.succeed("C", "a")
	w.happened([]string{
		`S CREATE_IN_PROGRESS "Stack CREATE started"`,
		`C CREATE_IN_PROGRESS id=`,
		`C CREATE_COMPLETE id=a`,
		`S CREATE_COMPLETE "Stack CREATE completed successfully"`,
	}, `-> Create C id= {"N":7,"L":[true,1.50]}`)

	w.must(w.change(engine.UpdateStack{Template: oneROS(`"N": 8`)}))
	w.succeed("C", "a")
	w.happened([]string{
		`S UPDATE_IN_PROGRESS "Stack UPDATE started"`,
		`C UPDATE_IN_PROGRESS id=a`,
		`C UPDATE_COMPLETE id=a`,
		`S UPDATE_COMPLETE "Stack UPDATE completed successfully"`,
	}, `-> Update C id=a {"N":8} was {"N":7,"L":[true,1.50]}`)

	w.must(w.remove(engine.DeleteStack{}))
	w.succeed("C", "a")
	w.happened([]string{
		`S DELETE_IN_PROGRESS "Stack DELETE started"`,
		`C DELETE_IN_PROGRESS id=a`,
		`C DELETE_COMPLETE id=a`,
		`S DELETE_COMPLETE "Stack DELETE completed successfully"`,
	}, `-> Delete C id=a {"N":8}`)
}
