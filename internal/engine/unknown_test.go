package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

func newRecording(t *testing.T) *waiting {
	t.Helper()
	types, err := native.CloudFormation(native.Config{SignalURL: func(wire.ResponseKey, string) (string, error) { return "http://127.0.0.1:1/", nil }})
	if err != nil {
		t.Fatal(err)
	}
	w := &waiting{types: types}
	w.world = newWorldWith(t, engine.Config{Fidelity: engine.FidelityPintle, Native: types, UnknownTypes: engine.UnknownRecorded})
	return w
}

func topic(name string) string {
	return `{"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "` + name + `", "Fifo": false}}`
}

// TestRecordedTypes checks that a resource of a type without a provider is a record, with an ID, attributes,
// properties and a remark.
func TestRecordedTypes(t *testing.T) {
	w := newRecording(t)
	outputs := `"Outputs": {"Ref": {"Value": {"Ref": "T"}}, "Arn": {"Value": {"Fn::GetAtt": ["T", "TopicArn"]}}, ` +
		`"Name": {"Value": {"Fn::Sub": "${T.TopicName}"}}}`
	custom := resource(`"Topic": {"Fn::GetAtt": ["T", "TopicArn"]}`)
	w.must(w.create(body(map[string]string{"T": topic("a"), "C": custom}, outputs)))
	w.serve("T")
	sent := w.take("C")
	instances, err := w.engine.Resources(w.ctx, w.stack())
	w.must(err)
	var id string
	for _, i := range instances {
		if i.Logical == "T" {
			id = string(i.PhysicalID)
		}
	}
	if !strings.HasPrefix(id, "S-T-") || len(id) != len("S-T-")+12 {
		t.Errorf("physical id %q", id)
	}
	arn := "arn:aws:sns:us-east-1:123456789012:topic/" + id
	if got, _ := sent.Body.Properties.Get("Topic"); got.Text() != arn {
		t.Errorf("the provider was sent %s, want %s", got, arn)
	}
	w.answer(sent, success("c"))
	got := map[string]string{}
	for _, o := range w.stack().OutputValues.Members() {
		got[o.Key] = o.Value.Text()
	}
	if diff := cmp.Diff(map[string]string{"Ref": id, "Arn": arn, "Name": id + ".TopicName"}, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if want := `T CREATE_COMPLETE id=` + id + ` "Recorded only: nothing is created in AWS for AWS::SNS::Topic"`; !strings.Contains(w.history(), want) {
		t.Errorf("no event %s in\n%s", want, w.history())
	}

	at := len(w.events())
	w.must(w.update(body(map[string]string{"T": topic("b"), "C": custom}, outputs)))
	w.serveAll()
	w.want(at, `S UPDATE_IN_PROGRESS "User Initiated"`, `T UPDATE_IN_PROGRESS id=`+id,
		`T UPDATE_COMPLETE id=`+id, // the remark appears once
		`S UPDATE_COMPLETE_CLEANUP_IN_PROGRESS`, `S UPDATE_COMPLETE`)

	w.must(w.update(body(map[string]string{"C": resource(`"Topic": "none"`)})))
	w.succeed("C", "c")
	w.serveAll()
	want := `T DELETE_COMPLETE id=` + id
	if w.status() != "UPDATE_COMPLETE" || !strings.Contains(w.history(), want) {
		t.Errorf("no event %s in\n%s", want, w.history())
	}
}

// TestTypeOfTheOtherCloud checks that a type of the other cloud is rejected, even if types without a provider are
// recorded.
func TestTypeOfTheOtherCloud(t *testing.T) {
	w := newRecording(t)
	err := w.create(body(map[string]string{"F": `{"Type": "ALIYUN::FC::Function"}`}))
	if err == nil || !strings.Contains(err.Error(), "ALIYUN::FC::Function is of Alibaba Cloud") {
		t.Errorf("the error is %v", err)
	}
}
