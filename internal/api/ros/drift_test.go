package ros_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/ros"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// newReading returns a world whose providers support Read for resources of the type Custom::Readable.
func newReading(t *testing.T) *world {
	w := newWorld(t)
	detector := drift.New(nil, w.store, nil)
	detector.Ask(w.engine)
	w.open(func(config *ros.Config) { config.Drift = detector })
	return w
}

const readables = `{"ROSTemplateFormatVersion": "2015-09-01", "Parameters": {"Password": {"Type": "String", "NoEcho": true}}, "Resources": {
	"A": {"Type": "Custom::Readable", "Properties": {"ServiceToken": "web:http://localhost/", "Timeout": 60, "Parameters": {
		"Size": 5, "Text": "a", "Tags": {"x": "1", "y": "2"}, "Password": {"Ref": "Password"}, "Key": "in the template", "Unread": "u"}}},
	"B": {"Type": "Custom::Readable", "Properties": {"ServiceToken": "web:http://localhost/", "Parameters": {"Password": {"Ref": "Password"}}}},
	"C": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "web:http://localhost/"}}}}`

const sameA = `{"properties": {"Size": 5, "Text": "a", "Tags": {"x": "1", "y": "2"}, "Password": "hunter2", "Key": "in the template"}, "secret": ["Key"]}`

// createReadables creates a stack of resources whose physical IDs are their logical ones in lower case.
func (w *world) createReadables() string {
	w.t.Helper()
	id := w.call("CreateStack", "StackName", "s", "TemplateBody", readables,
		"Parameters.1.ParameterKey", "Password", "Parameters.1.ParameterValue", "hunter2")["StackId"].(string)
	for range 3 {
		w.succeed(strings.ToLower(string(w.next().Logical)))
	}
	return id
}

// readAnswers answers the Reads that wait with the states by logical ID. It returns the requests.
func (w *world) readAnswers(states map[wire.LogicalID]string) (asked []string) {
	w.t.Helper()
	for w.waiting() > 0 {
		next := w.next()
		w.answer("SUCCESS", fmt.Sprintf(`"PhysicalResourceId": %q, "PintleState": %s`, next.Body.PhysicalID, states[next.Logical]))
		asked = append(asked, fmt.Sprintf("%s %s %s", next.Type, next.Logical, next.Body.PhysicalID))
	}
	slices.Sort(asked)
	return asked
}

// state returns members of an object as one text.
func state(of object, members ...string) string {
	var texts []string
	for _, m := range members {
		texts = append(texts, fmt.Sprint(of[m]))
	}
	return strings.Join(texts, ", ")
}

// summary lists resources with their status and differences.
func summary(reply object) (lines []string) {
	for _, item := range reply["ResourceDrifts"].([]any) {
		r := item.(object)
		lines = append(lines, state(r, "LogicalResourceId", "PhysicalResourceId", "ResourceType", "ResourceDriftStatus"))
		for _, d := range r["PropertyDifferences"].([]any) {
			lines = append(lines, "  "+state(d.(object), "DifferenceType", "PropertyPath", "ExpectedValue", "ActualValue"))
		}
	}
	return lines
}

// TestDrift checks that providers that declare a Read get one, and that every action reports the result, without
// secrets.
func TestDrift(t *testing.T) {
	w := newReading(t)
	id := w.createReadables()
	detection := w.call("DetectStackDrift", "StackId", id, "ClientToken", "once")["DriftDetectionId"].(string)
	const members = "DriftDetectionStatus, StackDriftStatus, DriftedStackResourceCount, DriftDetectionStatusReason"
	status := func() string {
		return state(w.call("GetStackDriftDetectionStatus", "DriftDetectionId", detection), strings.Split(members, ", ")...)
	}
	if got := status(); got != "DETECTION_IN_PROGRESS, <nil>, <nil>, <nil>" {
		t.Errorf("before the answers: %s", got)
	}
	if got := state(w.call("GetStack", "StackId", id), "StackDriftStatus", "DriftDetectionTime", "CheckedStackResourceCount"); got != "NOT_CHECKED, <nil>, <nil>" {
		t.Errorf("before the answers: GetStack %s", got)
	}
	w.call("DetectStackDrift", "StackId", id) // does not repeat pending Reads
	asked := w.readAnswers(map[wire.LogicalID]string{
		"A": `{"properties": {"Size": 6, "Text": "", "Tags": {"x": "1", "z": "3"}, "Password": "hunter3", "Key": "swordfish", "Undeclared": "hunter2"}, "secret": ["Key"]}`,
		"B": `{"gone": true}`,
	})
	if diff := cmp.Diff([]string{"Read A a", "Read B b"}, asked); diff != "" {
		t.Error(diff)
	}
	if got := status(); got != "DETECTION_COMPLETE, DRIFTED, 2, Detect stack drift successfully" {
		t.Error(got)
	}
	list := w.call("ListStackResourceDrifts", "StackId", id)
	if diff := cmp.Diff([]string{
		"A, a, Custom::Readable, MODIFIED",
		"  NOT_EQUAL, /Parameters/Size, 5, 6",
		"  REMOVE, /Parameters/Text, a, null",
		"  REMOVE, /Parameters/Tags/y, 2, null",
		"  ADD, /Parameters/Tags/z, null, 3",
		"  NOT_EQUAL, /Parameters/Password, ****, ****",
		"  NOT_EQUAL, /Parameters/Key, *****, *****",
		"B, b, Custom::Readable, DELETED",
		"C, c, Custom::Thing, NOT_CHECKED",
	}, summary(list)); diff != "" {
		t.Error(diff)
	}
	first := list["ResourceDrifts"].([]any)[0].(object)
	for member, want := range map[string]string{
		"ExpectedProperties": `{"Parameters":{"Size":5,"Text":"a","Tags":{"x":"1","y":"2"},"Password":"****","Key":"*****"}}`,
		"ActualProperties":   `{"Parameters":{"Size":6,"Tags":{"x":"1","z":"3"},"Password":"****","Key":"*****"}}`,
		"StackId":            id,
	} {
		if first[member] != want {
			t.Errorf("%s is %v, want %s", member, first[member], want)
		}
	}
	stack := w.call("GetStack", "StackId", id)
	if got := state(stack, "StackDriftStatus", "CheckedStackResourceCount", "NotCheckedStackResourceCount"); got != "DRIFTED, 2, 1" {
		t.Errorf("GetStack: %s", got)
	}
	stacks := w.call("ListStacks")
	listed := stacks["Stacks"].([]any)[0].(object)
	if listed["StackDriftStatus"] != "DRIFTED" || listed["DriftDetectionTime"] != stack["DriftDetectionTime"] {
		t.Errorf("ListStacks: %v", listed)
	}
	resources := w.call("ListStackResources", "StackId", id)
	if got := names(resources["Resources"], "ResourceDriftStatus"); got != "MODIFIED DELETED NOT_CHECKED" {
		t.Errorf("ListStackResources: %s", got)
	}
	one := w.call("GetStackResource", "StackId", id, "LogicalResourceId", "A")
	for where, at := range map[string]any{
		"GetStack": stack["DriftDetectionTime"], "GetStackResource": one["DriftDetectionTime"], "ListStackResourceDrifts": first["DriftDetectionTime"],
		"GetStackDriftDetectionStatus": w.call("GetStackDriftDetectionStatus", "DriftDetectionId", detection)["DriftDetectionTime"],
	} {
		if text, _ := at.(string); !clock.MatchString(text) {
			t.Errorf("the DriftDetectionTime of %s is %v", where, at)
		}
	}
	everything, err := json.Marshal([]object{list, stack, stacks, resources, one})
	w.must(err)
	entry, err := w.store.Entry(t.Context(), store.EntryKey{Account: account, Region: region, Kind: "drift", Name: "s"})
	w.must(err)
	for _, secret := range []string{"hunter2", "hunter3", "swordfish", "in the template"} {
		// The template itself is in no reply.
		if strings.Contains(string(everything)+string(entry.Definition), secret) {
			t.Errorf("a reply shows %s: %s %s", secret, everything, entry.Definition)
		}
	}
}

// TestDriftPages checks the pages and the filter of ListStackResourceDrifts.
func TestDriftPages(t *testing.T) {
	w := newReading(t)
	id := w.createReadables()
	if got := summary(w.call("ListStackResourceDrifts", "StackId", id)); len(got) != 3 || strings.Count(strings.Join(got, " "), "NOT_CHECKED") != 3 {
		t.Errorf("before a detection: %v", got)
	}
	w.call("DetectStackDrift", "StackId", id, "LogicalResourceId.1", "B", "LogicalResourceId.2", "A")
	w.readAnswers(map[wire.LogicalID]string{"A": sameA, "B": `{"gone": true}`})
	var got []string
	for token := ""; ; {
		reply := w.call("ListStackResourceDrifts", "StackId", id, "MaxResults", "1", "NextToken", token)
		got = append(got, names(reply["ResourceDrifts"], "LogicalResourceId"))
		if token, _ = reply["NextToken"].(string); token == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"A", "B", "C"}, got); diff != "" {
		t.Error(diff)
	}
	for filter, want := range map[string]string{"IN_SYNC": "A", "DELETED": "B", "NOT_CHECKED": "C", "MODIFIED": ""} {
		if got := names(w.call("ListStackResourceDrifts", "StackId", id, "ResourceDriftStatus.1", filter)["ResourceDrifts"], "LogicalResourceId"); got != want {
			t.Errorf("%s: %s, want %s", filter, got, want)
		}
	}
}

// TestDriftOfOneResource waits for the provider of the resource.
func TestDriftOfOneResource(t *testing.T) {
	w := newReading(t)
	id := w.createReadables()
	detect := func(answer string) object {
		done := make(chan object)
		go func() {
			defer close(done)
			_, reply := w.ask("DetectStackResourceDrift", "StackId", id, "LogicalResourceId", "A")
			done <- reply
		}()
		for {
			if w.waiting() > 0 {
				w.answer("SUCCESS", answer)
			}
			select {
			case reply := <-done:
				return reply
			default:
			}
		}
	}
	for _, of := range []struct{ answer, want string }{
		{`"PhysicalResourceId": "a", "PintleState": ` + sameA, "IN_SYNC, [], <nil>"},
		{`"PhysicalResourceId": "a", "PintleState": {"gone": true}`, "DELETED, [], <nil>"},
		{`"PhysicalResourceId": "a"`, "NOT_CHECKED, [], the provider answered SUCCESS without the state of the resource"},
	} {
		got := detect(of.answer)
		if text := state(got, "ResourceDriftStatus", "PropertyDifferences", "Problem"); text != of.want || got["LogicalResourceId"] != "A" {
			t.Errorf("%s: %v, want %s", of.answer, got, of.want)
		}
	}
	// The whole stack was not checked.
	if got := w.call("GetStack", "StackId", id)["StackDriftStatus"]; got != "NOT_CHECKED" {
		t.Errorf("GetStack: %v", got)
	}
}

// TestDriftOfSlowProvider checks that DetectStackResourceDrift answers before clients time out.
func TestDriftOfSlowProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newReading(t)
		defer w.store.Close()
		id := w.createReadables()
		got := w.refused("DetectStackResourceDrift", "StackId", id, "LogicalResourceId", "A")
		if want := "409 ActionInProgress: The provider of the Resource (A) has not answered the drift detection yet."; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		w.readAnswers(map[wire.LogicalID]string{"A": `{"properties": {"Size": 6}}`})
		if got := names(w.call("ListStackResourceDrifts", "StackId", id)["ResourceDrifts"], "ResourceDriftStatus"); got != "MODIFIED NOT_CHECKED NOT_CHECKED" {
			t.Errorf("after the answer: %s", got)
		}
	})
}

// TestFailedDetections checks that failures are reported in terms that ROS has: its resources are never UNKNOWN.
func TestFailedDetections(t *testing.T) {
	w := newReading(t)
	id := w.createReadables()
	detect := func() (detection object, problems string) {
		made := w.call("DetectStackDrift", "StackId", id)["DriftDetectionId"].(string)
		for w.waiting() > 0 {
			if w.next().Logical == "A" {
				w.fail("no access with hunter2")
				continue
			}
			w.answer("SUCCESS", `"PhysicalResourceId": "b", "PintleState": {"properties": {}}`)
		}
		drifts := w.call("ListStackResourceDrifts", "StackId", id)["ResourceDrifts"]
		return w.call("GetStackDriftDetectionStatus", "DriftDetectionId", made), names(drifts, "ResourceDriftStatus") + ": " + names(drifts, "Problem")
	}
	got, problems := detect()
	if text := state(got, "DriftDetectionStatus", "StackDriftStatus", "DriftedStackResourceCount", "DriftDetectionStatusReason"); text !=
		"DETECTION_FAILED, NOT_CHECKED, 0, Failed to detect drift. A: the provider answered FAILED: no access with *****" {
		t.Error(text)
	}
	if want := "NOT_CHECKED IN_SYNC NOT_CHECKED: the provider answered FAILED: no access with ***** <nil> <nil>"; problems != want {
		t.Errorf("%s, want %s", problems, want)
	}
	if text := state(w.call("GetStack", "StackId", id), "StackDriftStatus", "DriftDetectionTime", "CheckedStackResourceCount"); text != "NOT_CHECKED, <nil>, <nil>" {
		t.Errorf("GetStack: %s", text)
	}
	if got := names(w.call("ListStackResources", "StackId", id)["Resources"], "ResourceDriftStatus"); got != "NOT_CHECKED IN_SYNC NOT_CHECKED" {
		t.Errorf("ListStackResources: %s", got)
	}

	w.silent = errors.New("the provider panics")
	got, problems = detect()
	if text := state(got, "DriftDetectionStatus", "StackDriftStatus", "DriftDetectionStatusReason"); text !=
		"DETECTION_COMPLETE, NOT_CHECKED, Not all resources were checked. A: the provider panics; B: the provider panics; C: the provider panics" {
		t.Error(text)
	}
	if want := "NOT_CHECKED NOT_CHECKED NOT_CHECKED: the provider panics the provider panics the provider panics"; problems != want {
		t.Errorf("%s, want %s", problems, want)
	}
}

// TestDriftOfUncheckedStack checks that a stack without resources that support drift detection is in sync after one.
func TestDriftOfUncheckedStack(t *testing.T) {
	w := newReading(t)
	id := w.create("s", "")
	detection := w.call("DetectStackDrift", "StackId", id)["DriftDetectionId"].(string)
	got := state(w.call("GetStackDriftDetectionStatus", "DriftDetectionId", detection),
		"DriftDetectionStatus", "StackDriftStatus", "DriftedStackResourceCount", "DriftDetectionStatusReason")
	if want := "DETECTION_COMPLETE, IN_SYNC, 0, No resource of the stack supports drift detection: custom resources do if their providers have a Read."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := state(w.call("GetStack", "StackId", id), "StackDriftStatus", "CheckedStackResourceCount", "NotCheckedStackResourceCount"); got != "IN_SYNC, 0, 1" {
		t.Errorf("GetStack: %s", got)
	}
	status, reply := w.ask("DetectStackResourceDrift", "StackId", id, "LogicalResourceId", "A")
	if reply["Message"] != "Drift detection of a resource of type Custom::Thing is not supported." || status != 400 || reply["Recommend"] == "" {
		t.Errorf("%d %v", status, reply)
	}
}

// TestDriftAfterChanges checks that an operation ends the result of the stack, and those of the resources that it
// changes, even if they are pending.
func TestDriftAfterChanges(t *testing.T) {
	w := newReading(t)
	id := w.createReadables()
	detection := w.call("DetectStackDrift", "StackId", id)["DriftDetectionId"].(string)
	w.mu.Lock()
	reads := w.inbox
	w.inbox = nil
	w.mu.Unlock()
	w.call("UpdateStack", "StackId", id, "UsePreviousParameters", "true", "TemplateBody", strings.Replace(readables, `"Size": 5`, `"Size": 7`, 1))
	busy := "409 ActionInProgress: Stack s already has an action (UPDATE) in progress."
	for _, call := range [][]string{{"DetectStackDrift", "StackId", id}, {"DetectStackResourceDrift", "StackId", id, "LogicalResourceId", "B"}} {
		if got := w.refused(call[0], call[1:]...); got != busy {
			t.Errorf("%s: %s", call[0], got)
		}
	}
	w.succeed("a")
	w.mu.Lock()
	w.inbox = reads
	w.mu.Unlock()
	w.readAnswers(map[wire.LogicalID]string{"A": sameA, "B": `{"properties": {}}`})
	if got := names(w.call("ListStackResourceDrifts", "StackId", id)["ResourceDrifts"], "ResourceDriftStatus"); got != "NOT_CHECKED IN_SYNC NOT_CHECKED" {
		t.Error(got)
	}
	got := state(w.call("GetStackDriftDetectionStatus", "DriftDetectionId", detection),
		"DriftDetectionStatus", "StackDriftStatus", "DriftDetectionStatusReason")
	if want := "DETECTION_COMPLETE, NOT_CHECKED, The stack was changed after this detection: call DetectStackDrift again."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := w.call("GetStack", "StackId", id)["StackDriftStatus"]; got != "NOT_CHECKED" {
		t.Errorf("GetStack: %v", got)
	}
}

// TestDriftOfChangedResource checks that an update ends the wait for the provider of a resource.
func TestDriftOfChangedResource(t *testing.T) {
	w := newReading(t)
	id := w.createReadables()
	done := make(chan object)
	go func() {
		defer close(done)
		_, reply := w.ask("DetectStackResourceDrift", "StackId", id, "LogicalResourceId", "A")
		done <- reply
	}()
	for w.waiting() == 0 {
		runtime.Gosched()
	}
	w.mu.Lock()
	w.inbox = nil // the Read
	w.mu.Unlock()
	w.call("UpdateStack", "StackId", id, "UsePreviousParameters", "true", "TemplateBody", strings.Replace(readables, `"Size": 5`, `"Size": 7`, 1))
	w.succeed("a")
	got := <-done
	if text := state(got, "ResourceDriftStatus", "Problem"); text != "NOT_CHECKED, The resource was changed during the detection: detect its drift again." {
		t.Error(got)
	}
}

// TestRefusedDetections checks the errors of the actions on drift.
func TestRefusedDetections(t *testing.T) {
	w := newReading(t)
	id := w.createReadables()
	failed := w.call("CreateStack", "StackName", "f", "TemplateBody", plain(""), "DisableRollback", "true")["StackId"].(string)
	w.fail("no disk")
	deleted := w.create("d", "")
	w.call("DeleteStack", "StackId", deleted)
	w.succeed("a")
	const none = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	for _, of := range []struct {
		action string
		pairs  []string
		want   string
	}{
		{"DetectStackDrift", []string{"StackId", none}, "404 StackNotFound: The Stack (" + none + ") could not be found."},
		{"DetectStackDrift", []string{"StackId", deleted}, "404 StackNotFound: The Stack (" + deleted + ") could not be found."},
		{"DetectStackDrift", []string{"StackId", failed}, "400 NotSupported: Drift detection of a stack in status CREATE_FAILED is not supported."},
		{"DetectStackDrift", []string{"StackId", id, "LogicalResourceId.1", "X"}, "404 ResourceNotFound: The Resource (X) could not be found in Stack s."},
		{"DetectStackDrift", []string{"StackId", id, "ClientToken", "ä"}, "400 InvalidParameter: "},
		{"DetectStackResourceDrift", []string{"StackId", id, "LogicalResourceId", "X"}, "404 ResourceNotFound: The Resource (X) could not be found in Stack s."},
		{"DetectStackResourceDrift", []string{"StackId", id}, "400 MissingParameter: "},
		{"GetStackDriftDetectionStatus", []string{"DriftDetectionId", none}, "404 DriftDetectionNotFound: The Drift Detection (" + none + ") could not be found."},
		{"GetStackDriftDetectionStatus", nil, "400 MissingParameter: "},
		{"ListStackResourceDrifts", []string{"StackId", none}, "404 StackNotFound: "},
		{"ListStackResourceDrifts", []string{"StackId", id, "ResourceDriftStatus.1", "UNKNOWN"}, "400 InvalidParameter: "},
		{"ListStackResourceDrifts", []string{"StackId", id, "MaxResults", "101"}, "400 InvalidParameter: "},
		{"ListStackResourceDrifts", []string{"StackId", id, "NextToken", "nonsense"},
			"400 InvalidParameter: The specified parameter NextToken is invalid, it is not one that ListStackResourceDrifts has returned."},
	} {
		if got := w.refused(of.action, of.pairs...); !strings.HasPrefix(got, of.want) {
			t.Errorf("%s %v: %s, want %s", of.action, of.pairs, got, of.want)
		}
	}
	// A detection belongs to its region.
	detection := w.call("DetectStackDrift", "StackId", id)["DriftDetectionId"].(string)
	if got := w.refused("GetStackDriftDetectionStatus", "DriftDetectionId", detection, "RegionId", "cn-beijing"); !strings.HasPrefix(got, "404 DriftDetectionNotFound") {
		t.Errorf("of another region: %s", got)
	}
}
