package engine_test

import (
	"errors"
	"maps"
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

// rosWaiting is a world whose ROS stack may have native resources.
type rosWaiting struct {
	*rosWorld
	types *native.Registry
	keys  map[wire.LogicalID]responseurl.ResponseKey
}

func newROSWaiting(t *testing.T) *rosWaiting {
	t.Helper()
	w := &rosWaiting{keys: map[wire.LogicalID]responseurl.ResponseKey{}}
	var err error
	w.types, err = native.CloudFormation(native.Config{
		SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "", errors.New("not of ROS") },
		ROSSignalURL: func(key responseurl.ResponseKey, stack string) (string, error) {
			w.keys[key.LogicalID] = key
			return "http://127.0.0.1:1/ros/signal?stackname=" + stack + "&signature=0123456789abcdef", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.rosWorld = newROS(t, engine.Config{Native: w.types})
	return w
}

// serve plays package delivery for all requests in the inbox.
func (w *rosWaiting) serve() {
	w.t.Helper()
	for len(w.inbox) > 0 {
		r := w.take(string(w.inbox[0].Logical))
		if !r.Body.Native() {
			w.answer(r, success("made"))
			continue
		}
		result, err := w.types.Serve(w.ctx, &r)
		outcome := engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true}
		switch {
		case err != nil:
			outcome.Text = err.Error()
		case r.Body.Await != nil:
			outcome.Kind = engine.Awaiting
		}
		w.must(w.engine.Report(w.ctx, r.ID, outcome))
	}
	w.sent = nil
}

func (w *rosWaiting) signal(body string) error {
	return w.engine.SignalROS(w.ctx, w.keys["H"], []byte(body))
}

// outputs returns the outputs of the stack as texts, secrets masked.
func (w *rosWaiting) outputs() map[string]string {
	shown := map[string]string{}
	for _, m := range w.row().OutputValues.Masked().Members() {
		shown[m.Key] = m.Value.Text()
	}
	return shown
}

// history returns the events, one line each.
func (w *rosWaiting) history() string {
	w.t.Helper()
	rows, err := w.store.Events(w.ctx, w.row().Key, store.EventCursor{}, 1000)
	w.must(err)
	slices.Reverse(rows)
	var lines []string
	for _, row := range rows {
		for _, e := range row.Events {
			lines = append(lines, eventLine(e))
		}
	}
	return strings.Join(lines, "\n")
}

func rosCondition(handle, properties string) string {
	return rosBody(map[string]string{
		"H": `{"Type": "ALIYUN::ROS::WaitConditionHandle", "Properties": {` + handle + `}}`,
		"W": `{"Type": "ALIYUN::ROS::WaitCondition", "Properties": {"Handle": {"Ref": "H"}, "Timeout": 60` + properties + `}}`,
	}, `"Outputs": {"Data": {"Value": {"Fn::GetAtt": ["W", "Data"]}}, "Errors": {"Value": {"Fn::GetAtt": ["W", "ErrorData"]}},
		"Joined": {"Value": {"Fn::GetAtt": ["W", "JoinedErrorData"]}}, "Last": {"Value": {"Fn::GetAtt": ["W", "LastData"]}},
		"Curl": {"Value": {"Fn::GetAtt": ["H", "CurlCli"]}}}`)
}

func TestROSWaitCondition(t *testing.T) {
	for name, test := range map[string]struct {
		properties string
		signals    []string
		outputs    map[string]string // of a complete stack, otherwise nil
		reason     string            // of a failed stack
	}{
		"no body": {"", []string{""}, map[string]string{"Data": `{"1":""}`}, ""},
		"numbered": {`, "Count": 3`, []string{`{"data": "a"}`, `{"Status": "Success", "Data": "b"}`, `{"status": " SUCCESS "}`},
			map[string]string{"Data": `{"1":"a","2":"b","3":""}`}, ""},
		"the same id twice": {`, "Count": 2`, []string{`{"id": "x", "data": "old"}`, `{"id": "x", "data": "new"}`, `{"id": "y"}`},
			map[string]string{"Data": `{"x":"new","y":""}`}, ""},
		"data of any type": {"", []string{`{"data": {"a": [1]}}`}, map[string]string{"Data": `{"1":{"a":[1]}}`}, ""},
		"a warning": {`, "Count": 2`, []string{`{"status": "WARNING", "data": "disk is full"}`, `{}`},
			map[string]string{"Data": `{"2":""}`, "Errors": `{"1":"disk is full"}`, "Joined": "disk is full"}, ""},
		"warnings only": {"", []string{`{"status": "WARNING"}`}, nil, "ResourceFailed: resources.W: WaitConditionFailure: all signals are warnings"},
		"a failure": {`, "Count": 5`, []string{`{"status": "FAILURE", "id": "x", "reason": "no disk"}`}, nil,
			"ResourceFailed: resources.W: WaitConditionFailure: received a FAILURE signal with id x: no disk"},
		"no signals expected": {`, "Count": 0`, nil, map[string]string{"Data": "{}"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newROSWaiting(t)
			w.must(w.begin(engine.CreateStack{Template: rosCondition("", test.properties)}))
			w.serve()
			for _, body := range test.signals {
				w.must(w.signal(body))
			}
			w.serve()
			if test.outputs == nil {
				if got := w.rosStatus(); got != "CREATE_ROLLBACK_COMPLETE" || !strings.Contains(w.history(), test.reason) {
					t.Errorf("the stack is %s:\n%s", got, w.history())
				}
				return
			}
			want := map[string]string{"Errors": "{}", "Joined": "", "Last": "{}", "Curl": "*****"}
			maps.Copy(want, test.outputs)
			if diff := cmp.Diff(want, w.outputs()); diff != "" {
				t.Errorf("the stack is %s, outputs (-want +got):\n%s", w.rosStatus(), diff)
			}
		})
	}
}

// TestROSWaitConditionTimesOut checks that the time of a condition starts when it starts to wait.
func TestROSWaitConditionTimesOut(t *testing.T) {
	w := newROSWaiting(t)
	w.must(w.begin(engine.CreateStack{Template: rosCondition("", `, "Count": 2`)}))
	w.serve()
	w.must(w.signal(`{"reason": "half way"}`))
	w.pass(time.Minute)
	w.serve()
	for _, want := range []string{
		"received signal 1 (1 of 2): half way", "Timeout: resources.W: WaitConditionTimeout: 1 of 2 signals received",
	} {
		if !strings.Contains(w.history(), want) {
			t.Errorf("no event says %q:\n%s", want, w.history())
		}
	}
	if err := w.signal(""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a signal to a handle that was rolled back: %v", err)
	}
}

// TestROSWaitConditionUpdates checks that an update waits for the signals that are missing, depending on the mode of
// the handle.
func TestROSWaitConditionUpdates(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string // of the handle
		signals       int    // after the update has started
		data, last    string
	}{
		"all are kept":    {"", "", 1, `{"1":"","2":"","3":""}`, `{"1":"","2":""}`},
		"up to the count": {`"Count": 2`, `"Count": 1`, 2, `{"1":"","2":"","3":""}`, `{"1":"","2":""}`},
		"none is kept":    {`"Mode": "Increment"`, `"Mode": "Increment"`, 3, `{"1":"","2":"","3":""}`, `{"1":"","2":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newROSWaiting(t)
			w.must(w.begin(engine.CreateStack{Template: rosCondition(test.before, `, "Count": 2`)}))
			w.serve()
			w.must(w.signal(""))
			w.must(w.signal(""))
			url := w.keys["H"]
			w.must(w.change(engine.UpdateStack{Template: rosCondition(test.after, `, "Count": 3`)}))
			w.serve()
			if w.keys["H"] != url {
				t.Errorf("the update made another handle: %v, was %v", w.keys["H"], url)
			}
			for i := range test.signals {
				if status := w.rosStatus(); status != "UPDATE_IN_PROGRESS" {
					t.Fatalf("after %d signals the stack is %s: %s", i, status, w.history())
				}
				w.must(w.signal(""))
			}
			if got := w.outputs(); w.rosStatus() != "UPDATE_COMPLETE" || got["Data"] != test.data || got["Last"] != test.last {
				t.Errorf("the stack is %s, outputs %v", w.rosStatus(), got)
			}
		})
	}
	t.Run("an id that is not a number", func(t *testing.T) {
		w := newROSWaiting(t)
		w.must(w.begin(engine.CreateStack{Template: rosCondition(`"Count": 1`, "")}))
		w.serve()
		w.must(w.signal(`{"id": "x"}`))
		w.must(w.change(engine.UpdateStack{Template: rosCondition(`"Count": 2`, "")}))
		w.serve()
		if !strings.Contains(w.history(), "which is not a number") || w.rosStatus() != "ROLLBACK_COMPLETE" {
			t.Errorf("the stack is %s:\n%s", w.rosStatus(), w.history())
		}
	})
}

// TestROSWaitConditionIsCancelled checks that a rollback does not wait for a resource that waits for signals.
func TestROSWaitConditionIsCancelled(t *testing.T) {
	w := newROSWaiting(t)
	w.must(w.begin(engine.CreateStack{Template: rosCondition("", "")}))
	w.serve()
	w.must(w.signal(""))
	failing := strings.Replace(rosCondition("", `, "Count": 2`), `"Resources": {`, `"Resources": {"C": `+rosResource("", "")+`, `, 1)
	w.must(w.change(engine.UpdateStack{Template: failing}))
	for _, logical := range []string{"W", "C"} {
		i := slices.IndexFunc(w.inbox, func(r store.Request) bool { return r.Logical == wire.LogicalID(logical) })
		if i < 0 {
			t.Fatalf("%s is not asked for", logical)
		}
		if logical == "C" {
			w.refuses("C", "", "no")
			continue
		}
		r := w.take(logical)
		w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Awaiting, Delivered: true}))
	}
	w.serve()
	if got := w.outputs(); w.rosStatus() != "ROLLBACK_COMPLETE" || got["Data"] != `{"1":""}` {
		t.Errorf("the stack is %s, outputs %v\n%s", w.rosStatus(), got, w.history())
	}
}

// TestROSSleep checks that each kind of request takes its declared time, and that no other resource waits longer.
func TestROSSleep(t *testing.T) {
	sleep := func(trigger string, more ...string) string {
		resources := map[string]string{
			"A": `{"Type": "ALIYUN::ROS::Sleep", "Properties": {"CreateDuration": 10, "UpdateDuration": 20, "UpdateRollbackDuration": 30,
				"DeleteDuration": 40, "Triggers": {"version": "` + trigger + `"}}}`,
		}
		for _, text := range more {
			resources["C"] = text
		}
		return rosBody(resources)
	}
	w := newROSWaiting(t)
	step := func(status string, before time.Duration) {
		t.Helper()
		w.serve()
		w.pass(before - time.Second)
		if w.rosStatus() == status {
			t.Fatalf("%s a second too early:\n%s", status, w.history())
		}
		w.pass(time.Second)
		w.serve()
		if got := w.rosStatus(); got != status {
			t.Fatalf("the stack is %s and not %s:\n%s", got, status, w.history())
		}
	}
	w.must(w.begin(engine.CreateStack{Template: sleep("1")}))
	step("CREATE_COMPLETE", 10*time.Second)
	w.must(w.change(engine.UpdateStack{Template: sleep("2")}))
	step("UPDATE_COMPLETE", 20*time.Second)
	if err := w.engine.SignalResource(w.ctx, engine.SignalResource{Stack: w.rosRef(), Logical: "A", ID: "1"}); err == nil {
		t.Error("a sleep takes signals")
	}

	w.must(w.change(engine.UpdateStack{Template: sleep("3", rosResource("", "", `"DependsOn": "A"`))}))
	w.serve()
	w.pass(20 * time.Second)
	w.refuses("C", "", "no")
	step("ROLLBACK_COMPLETE", 30*time.Second)

	w.must(w.change(engine.UpdateStack{Template: strings.Replace(sleep("2"), `"UpdateDuration": 20`, `"UpdateDuration": 5`, 1)}))
	w.serve()
	if got := w.rosStatus(); got != "UPDATE_COMPLETE" { // no trigger has changed
		t.Errorf("the stack is %s:\n%s", got, w.history())
	}
	w.must(w.remove(engine.DeleteStack{}))
	step("DELETE_COMPLETE", 40*time.Second)
}

// TestROSRandomString checks that the string consists of the requested character classes, and stays the same.
func TestROSRandomString(t *testing.T) {
	w := newROSWaiting(t)
	random := func(properties string) string {
		return rosBody(map[string]string{"R": `{"Type": "ALIYUN::RandomString", "Properties": {` + properties + `}}`},
			`"Outputs": {"Ref": {"Value": {"Ref": "R"}}, "Value": {"Value": {"Fn::GetAtt": ["R", "value"]}}, "N": {"Value": "1"}}`)
	}
	const asked = `"length": 6, "character_classes": [{"class": "digits", "min": 2}], "character_sequences": [{"sequence": "xé", "min": 3}]`
	w.must(w.begin(engine.CreateStack{Template: random(asked)}))
	w.serve()
	made := w.outputs()
	counts := map[bool]int{}
	for _, r := range made["Value"] {
		if !strings.ContainsRune("0123456789xé", r) {
			t.Errorf("%q is of no class that was asked for", r)
		}
		counts[strings.ContainsRune("xé", r)]++
	}
	if made["Ref"] != made["Value"] || counts[true] < 3 || counts[false] < 2 || counts[true]+counts[false] != 6 {
		t.Errorf("outputs %v of a stack that is %s", made, w.rosStatus())
	}
	w.must(w.change(engine.UpdateStack{Template: strings.Replace(random(asked), `"N": {"Value": "1"}`, `"N": {"Value": "2"}`, 1)}))
	w.serve()
	if got := w.outputs(); got["Value"] != made["Value"] {
		t.Errorf("an update that does not change it makes %s of %s", got["Value"], made["Value"])
	}
	w.must(w.change(engine.UpdateStack{Template: random(asked + `, "salt": "1"`), Replace: true}))
	w.serve()
	if got := w.outputs(); got["Value"] == made["Value"] || w.rosStatus() != "UPDATE_COMPLETE" {
		t.Errorf("another salt leaves %s; the stack is %s: %s", got["Value"], w.rosStatus(), w.history())
	}
}
