package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const signature = "X-Amz-Signature=0123456789abcdef"

// waiting is a world whose stacks may have wait conditions.
type waiting struct {
	*world
	types *native.Registry
	// keys are the newest keys in the handles' URLs, by logical ID.
	keys map[wire.LogicalID]responseurl.ResponseKey
}

func newWaiting(t *testing.T, fidelity engine.Fidelity) *waiting {
	t.Helper()
	w := &waiting{keys: map[wire.LogicalID]responseurl.ResponseKey{}}
	var err error
	w.types, err = native.CloudFormation(native.Config{SignalURL: func(key responseurl.ResponseKey, _ string) (string, error) {
		w.keys[key.LogicalID] = key
		return "http://127.0.0.1:1/signal/" + strings.ReplaceAll(key.String(), "|", "%7C") + "?" + signature, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.world = newWorldOf(t, fidelity, w.types)
	return w
}

// serve plays package delivery for the request of a native resource.
func (w *waiting) serve(logical string) store.Request {
	w.t.Helper()
	r := w.take(logical)
	w.report(r)
	return r
}

func (w *waiting) report(r store.Request) {
	w.t.Helper()
	if !r.Body.Native() {
		w.t.Fatalf("the request of %s has a service token", r.Logical)
	}
	result, err := w.types.Serve(w.ctx, &r)
	outcome := engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true}
	switch {
	case err != nil:
		outcome.Text = err.Error()
	case r.Type == wire.Create && r.Body.Await != nil:
		outcome.Kind = engine.Awaiting
	}
	w.must(w.engine.Report(w.ctx, r.ID, outcome))
}

// serveAll serves all requests until none is left.
func (w *waiting) serveAll() {
	w.t.Helper()
	for len(w.inbox) > 0 {
		w.serve(string(w.inbox[0].Logical))
	}
}

// signal sends a signal to the URL of a handle.
func (w *waiting) signal(handle, status, id, more string) error {
	if more != "" {
		more = ", " + more
	}
	return w.engine.Signal(w.ctx, w.keys[wire.LogicalID(handle)], []byte(fmt.Sprintf(`{"Status": %q, "UniqueId": %q%s}`, status, id, more)))
}

func (w *waiting) signalResource(logical, id string, failed bool) error {
	return w.engine.SignalResource(w.ctx, engine.SignalResource{
		Stack: engine.Ref{Account: account, Region: region, Stack: "S"}, Logical: wire.LogicalID(logical), ID: id, Failed: failed,
	})
}

// want compares the events after the first skip ones, with the stack's ARN abbreviated and the IDs of handles
// replaced by their names.
func (w *waiting) want(skip int, events ...string) {
	w.t.Helper()
	got := w.events()
	for i, line := range got {
		got[i] = strings.ReplaceAll(line, string(w.stack().ID), "ARN")
		if strings.Contains(line, "abcdef") {
			w.t.Errorf("an event holds a signature: %s", line)
		}
		for id, key := range w.keys {
			got[i] = strings.ReplaceAll(got[i], "http://127.0.0.1:1/signal/ARN%7C"+string(id)+"%7C"+string(key.RequestID), string(id)+"-URL")
		}
	}
	if diff := cmp.Diff(events, got[min(skip, len(got)):]); diff != "" {
		w.t.Errorf("events (-want +got):\n%s", diff)
	}
}

const (
	handle = `{"Type": "AWS::CloudFormation::WaitConditionHandle"}`
	data   = `"Outputs": {"Data": {"Value": {"Fn::GetAtt": ["W", "Data"]}}}`
)

func condition(properties string) string {
	if properties != "" {
		properties = ", " + properties
	}
	return `{"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": {"Ref": "H"}, "Timeout": "60"` + properties + `}}`
}

const policy = `{"Type": "AWS::CloudFormation::WaitCondition", "CreationPolicy": {"ResourceSignal": {"Count": 2, "Timeout": "PT1M"}}}`

var waitCreated = []string{
	`S CREATE_IN_PROGRESS "User Initiated"`,
	`H CREATE_IN_PROGRESS id=`,
	`H CREATE_IN_PROGRESS id=H-URL "Resource creation Initiated"`,
	`H CREATE_COMPLETE id=H-URL`,
	`W CREATE_IN_PROGRESS id=`,
	`W CREATE_IN_PROGRESS id=ARN/H "Resource creation Initiated"`,
}

var waitRolledBack = []string{
	`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [W]. Rollback requested by user."`,
	`W DELETE_IN_PROGRESS id=ARN/H`,
	`W DELETE_COMPLETE id=ARN/H`,
	`H DELETE_IN_PROGRESS id=H-URL`,
	`H DELETE_COMPLETE id=H-URL`,
	`S ROLLBACK_COMPLETE`,
}

func TestWaitCondition(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"H": handle, "W": condition(`"Count": 2`)}, data)))
	w.serveAll()
	w.must(w.signal("H", "SUCCESS", "a", `"Data": "one \"quoted\"", "Reason": "because"`))
	w.must(w.signal("H", "SUCCESS", "a", `"Data": "again"`))
	w.must(w.signal("H", "FAILURE", "a", ""))
	w.want(0, waitCreated...)
	w.must(w.signal("H", "SUCCESS", "b", ""))
	w.want(0, append(slices.Clone(waitCreated), `W CREATE_COMPLETE id=ARN/H`, `S CREATE_COMPLETE`)...)
	if got, _ := w.stack().OutputValues.Get("Data"); got.Text() != `{"a":"one \"quoted\"","b":""}` {
		t.Errorf("Data is %s", got.Text())
	}
	if properties := w.properties("W"); properties["Handle"] != "*****" || properties["Count"] != "2" {
		t.Errorf("the event shows %v", properties)
	}
	w.delete()
	w.serveAll()
	if w.status() != "DELETE_COMPLETE" {
		t.Errorf("the stack is not deleted:\n%s", w.history())
	}
	if err := w.signal("H", "SUCCESS", "c", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a signal to a handle that is gone: %v", err)
	}
}

func TestWaitConditionFails(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"H": handle, "W": condition(`"Count": 2`)}, data)))
	w.serveAll()
	w.must(w.signal("H", "SUCCESS", "a", ""))
	w.must(w.signal("H", "FAILURE", "b", `"Reason": "see http://127.0.0.1/x?`+signature+`"`))
	w.serveAll()
	w.want(0, slices.Concat(waitCreated, []string{
		`W CREATE_FAILED id=ARN/H "WaitCondition received failed message: 'see http://127.0.0.1/x?X-Amz-Signature=REDACTED' for uniqueId: b"`,
	}, waitRolledBack)...)
}

func TestWaitConditionTimesOut(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"H": handle, "W": condition(`"Count": "2"`)}, data)))
	w.serveAll()
	w.pass(59 * time.Second)
	w.must(w.signal("H", "SUCCESS", "a", ""))
	w.want(0, waitCreated...)
	w.pass(2 * time.Second)
	w.serveAll()
	w.want(0, slices.Concat(waitCreated, []string{
		`W CREATE_FAILED id=ARN/H "WaitCondition timed out. Received 1 conditions when expecting 2"`,
	}, waitRolledBack)...)
}

// TestEarlySignals checks that a signal may arrive before any resource waits for it, and before the waiting resource
// was served.
func TestEarlySignals(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"H": handle, "C": resource(`"URL": {"Ref": "H"}`), "W": `{"DependsOn": "C", ` +
		strings.TrimPrefix(condition(`"Count": 2`), "{")}, data)))
	w.serve("H")
	r := w.take("C")
	if url, _ := r.Body.Properties.Get("URL"); !strings.HasSuffix(url.Text(), signature) {
		t.Errorf("the provider got %q, not the whole URL", url.Text())
	}
	if properties := w.properties("C"); properties["URL"] != "*****" {
		t.Errorf("the event shows %v", properties)
	}
	w.must(w.signal("H", "SUCCESS", "a", ""))
	w.answer(r, success("c"))
	asked := w.take("W")
	w.must(w.signal("H", "SUCCESS", "b", ""))
	w.report(asked)
	if w.status() != "CREATE_COMPLETE" {
		t.Errorf("the stack is not created:\n%s", w.history())
	}
	w.report(asked) // from a node that does not know the result
	if n := strings.Count(w.history(), "W CREATE_COMPLETE"); n != 1 {
		t.Errorf("it was created %d times", n)
	}
}

// TestSharedHandle checks that one handle can serve several conditions, including one that gets its URL indirectly.
func TestSharedHandle(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{
		"H": handle, "W": condition(""), "V": condition(`"Count": 2`),
		"C": resource(`"URL": {"Ref": "H"}`),
		"X": `{"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": {"Fn::GetAtt": ["C", "url"]}, "Timeout": 5, "Count": 2}}`,
	}, data)))
	w.serve("H")
	r := w.take("C")
	url, _ := r.Body.Properties.Get("URL")
	w.answer(r, success("c")+`, "Data": {"url": "`+url.Text()+`"}`)
	w.serveAll()
	w.must(w.signal("H", "SUCCESS", "a", ""))
	if !slices.Contains(w.events(), "W CREATE_COMPLETE id="+string(w.stack().ID)+"/H") || w.status() != "CREATE_IN_PROGRESS" {
		t.Errorf("not W alone is there after one signal:\n%s", w.history())
	}
	w.must(w.signal("H", "SUCCESS", "b", ""))
	if w.status() != "CREATE_COMPLETE" {
		t.Errorf("the stack is not created:\n%s", w.history())
	}
}

func TestNoCountIsNoWait(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"H": handle, "W": condition(`"Count": 0`)}, data)))
	w.serveAll()
	if got, _ := w.stack().OutputValues.Get("Data"); w.status() != "CREATE_COMPLETE" || got.Text() != "{}" {
		t.Errorf("Data is %s:\n%s", got.Text(), w.history())
	}
}

func TestNotAHandle(t *testing.T) {
	for name, value := range map[string]string{
		"literal":     `"http://127.0.0.1:1/signal/arn:aws:x%7CH%7Cid-1"`,
		"no url":      `"%zz"`,
		"a custom":    `{"Ref": "C"}`,
		"never there": `{"Fn::Sub": "http://127.0.0.1:1/signal/${AWS::StackId}|H|id-1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaiting(t, engine.FidelityPintle)
			w.must(w.create(body(map[string]string{
				"C": resource(""), "W": `{"Type": "AWS::CloudFormation::WaitCondition", "DependsOn": "C", "Properties": {"Handle": ` + value + `, "Timeout": 1}}`,
			})))
			w.succeed("C", "c")
			for len(w.inbox) > 0 {
				if w.inbox[0].Body.Native() {
					w.serve(string(w.inbox[0].Logical))
				} else {
					w.succeed(string(w.inbox[0].Logical), "c")
				}
			}
			if !strings.Contains(w.history(), `"Value of property Handle must be the Ref of a AWS::CloudFormation::WaitConditionHandle`) ||
				w.status() != "ROLLBACK_COMPLETE" {
				t.Errorf("events:\n%s", w.history())
			}
		})
	}
}

// TestWaitIsCancelled checks that a sibling's failure ends the wait at once, because no answer has to be waited for.
func TestWaitIsCancelled(t *testing.T) {
	for _, fidelity := range []engine.Fidelity{engine.FidelityPintle, engine.FidelityAWS} {
		for _, served := range []bool{true, false} {
			w := newWaiting(t, fidelity)
			w.must(w.create(body(map[string]string{"H": handle, "W": condition(""), "X": resource("")})))
			w.serve("H")
			late := w.take("W")
			if served {
				w.report(late)
			}
			w.fail("X", "x", "r")
			if !served {
				w.report(late)
			}
			w.must(w.signal("H", "SUCCESS", "a", ""))
			w.succeed("X", "x")
			w.serveAll()
			if w.status() != "ROLLBACK_COMPLETE" || !strings.Contains(w.history(), `W CREATE_FAILED`) ||
				!strings.Contains(w.history(), `"Resource creation cancelled"`) || strings.Contains(w.history(), "W CREATE_COMPLETE") {
				t.Errorf("%s, served %t:\n%s", fidelity, served, w.history())
			}
		}
	}
}

func TestSignalResource(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"W": policy}, data)))
	created := []string{
		`S CREATE_IN_PROGRESS "User Initiated"`,
		`W CREATE_IN_PROGRESS id=`,
		`W CREATE_IN_PROGRESS id=ARN/W "Resource creation Initiated"`,
		`W CREATE_IN_PROGRESS id=ARN/W "Received SUCCESS signal with UniqueId a"`,
	}
	w.serveAll()
	w.must(w.signalResource("W", "a", false))
	refused(t, w.signalResource("W", "a", false),
		"Signal with ID a for resource W already exists. Signals may only be updated with a FAILURE status.")
	refused(t, w.signalResource("Nobody", "a", false), "Resource Nobody does not exist for stack S")
	w.want(0, created...)
	w.must(w.signalResource("W", "b", false))
	w.want(0, append(created, `W CREATE_IN_PROGRESS id=ARN/W "Received SUCCESS signal with UniqueId b"`,
		`W CREATE_COMPLETE id=ARN/W`, `S CREATE_COMPLETE`)...)
	if got, _ := w.stack().OutputValues.Get("Data"); got.Text() != `{"a":"","b":""}` {
		t.Errorf("Data is %s", got.Text())
	}
	refused(t, w.signalResource("W", "c", false), "Stack:"+string(w.stack().ID)+" is in CREATE_COMPLETE state and can not be signaled.")
}

func TestSignalResourceFails(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"W": policy}, data)))
	r := w.take("W")
	w.must(w.signalResource("W", "a", false)) // before it starts to wait
	w.must(w.signalResource("W", "a", true))
	w.report(r)
	w.serveAll()
	w.want(2, `W CREATE_IN_PROGRESS id= "Received SUCCESS signal with UniqueId a"`,
		`W CREATE_IN_PROGRESS id= "Received FAILURE signal with UniqueId a"`,
		`W CREATE_IN_PROGRESS id=ARN/W "Resource creation Initiated"`,
		`W CREATE_FAILED id=ARN/W "Received FAILURE signal with UniqueId a"`,
		`S ROLLBACK_IN_PROGRESS "The following resource(s) failed to create: [W]. Rollback requested by user."`,
		`W DELETE_IN_PROGRESS id=ARN/W`,
		`W DELETE_COMPLETE id=ARN/W`,
		`S ROLLBACK_COMPLETE`)
}

func TestSignalResourceTimesOut(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"W": policy, "H": handle, "V": strings.Replace(condition(""), "60", "600", 1)}, data)))
	w.serveAll()
	w.must(w.signalResource("W", "a", false))
	refused(t, w.signalResource("V", "a", false), "Resource V is not waiting for signals. Only a WaitCondition with a CreationPolicy does, "+
		"while it is being created; one with a Handle is signaled at the URL that is the handle's Ref.")
	w.pass(time.Minute)
	w.serveAll()
	if !strings.Contains(w.history(), `"Failed to receive 1 resource signal(s) within the specified duration"`) || w.status() != "ROLLBACK_COMPLETE" {
		t.Errorf("events:\n%s", w.history())
	}
}

func TestSignalsAreBounded(t *testing.T) {
	w := newWaiting(t, engine.FidelityPintle)
	w.must(w.create(body(map[string]string{"H": handle})))
	w.serveAll()
	for i := range native.MaxSignals {
		w.must(w.signal("H", "SUCCESS", fmt.Sprint(i), ""))
	}
	full := "H has as many signals as it can keep: 1000, of 262144 bytes together"
	refused(t, w.signal("H", "SUCCESS", "more", ""), full)
	w.must(w.signal("H", "SUCCESS", "0", "")) // the handle exists

	w.must(w.update(body(map[string]string{"I": handle})))
	w.serveAll()
	large := `"Data": "` + strings.Repeat("x", native.MaxSignalData) + `", "Reason": "` + strings.Repeat("y", native.MaxSignalData) + `"`
	for i := range native.MaxSignalBytes / (2*native.MaxSignalData + 2) {
		w.must(w.signal("I", "SUCCESS", fmt.Sprint(i), large))
	}
	refused(t, w.signal("I", "SUCCESS", "more", large), strings.Replace(full, "H", "I", 1))
	refused(t, w.signal("I", "OK", "a", ""), "the signal's Status must be SUCCESS or FAILURE")

	elsewhere := w.keys["I"]
	elsewhere.StackID += "x"
	if err := w.engine.Signal(w.ctx, elsewhere, []byte(`{"Status": "SUCCESS", "UniqueId": "a"}`)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a signal to another stack: %v", err)
	}
}

// refused checks the text of an error that the client can fix.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if input, ok := engine.InputError(err); !ok || input.Message != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
