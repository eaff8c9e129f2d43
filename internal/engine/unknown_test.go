package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
)

func newRecording(t *testing.T) *waiting {
	t.Helper()
	types, err := native.CloudFormation(native.Config{SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "http://127.0.0.1:1/", nil }})
	if err != nil {
		t.Fatal(err)
	}
	w := &waiting{types: types}
	w.world = newWorldWith(t, engine.Config{Fidelity: engine.FidelityPintle, Native: types, UnknownTypes: engine.UnknownRecorded})
	return w
}

func topic(display string) string {
	return `{"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "name", "DisplayName": "` + display + `"}}`
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
	if diff := cmp.Diff(map[string]string{"Ref": id, "Arn": arn, "Name": "name"}, got); diff != "" {
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

// TestRecordedName checks that the physical ID of a recorded resource is its declared name where AWS uses that, and that changes
// replace the resources that AWS replaces.
func TestRecordedName(t *testing.T) {
	w := newRecording(t)
	table := func(name, more string) string {
		return body(map[string]string{
			"T": `{"Type": "AWS::DynamoDB::Table", "Properties": {` + name + more + `}}`,
			"C": `{"Type": "Custom::C", "Properties": {"ServiceToken": "p", "Table": {"Ref": "T"}, "Mode": {"Fn::GetAtt": ["T", "BillingMode"]}}}`,
		})
	}
	const name, mode = `"TableName": "books"`, `, "BillingMode": "PROVISIONED"`
	w.must(w.create(table(name, mode)))
	w.serve("T")
	sent := w.take("C")
	for property, want := range map[string]string{"Table": "books", "Mode": "PROVISIONED"} {
		if got, _ := sent.Body.Properties.Get(property); got.Text() != want {
			t.Errorf("the provider was sent the %s %s, want %s", property, got, want)
		}
	}
	w.answer(sent, success("c"))

	at := len(w.events())
	w.must(w.update(table(name, mode+`, "ImportSourceSpecification": {"InputFormat": "CSV"}`)))
	w.serveAll()
	if want := "T UPDATE_FAILED id=books \"CloudFormation cannot update a stack when a custom-named resource requires replacing. " +
		"Rename books and update the stack again.\""; !strings.Contains(strings.Join(w.events()[at:], "\n"), want) {
		t.Errorf("no event %s in\n%s", want, w.history())
	}
	at = len(w.events())
	w.must(w.update(table(`"TableName": "films"`, mode)))
	w.serve("T")
	sent = w.take("C")
	if got, _ := sent.Body.Properties.Get("Table"); got.Text() != "films" {
		t.Errorf("the provider was sent the table %s", got)
	}
	w.answer(sent, success("c"))
	w.serveAll()
	w.must(w.update(table(``, mode[2:])))
	w.serve("T")
	sent = w.take("C")
	if got, _ := sent.Body.Properties.Get("Table"); !strings.HasPrefix(got.Text(), "S-T-") {
		t.Errorf("the provider was sent the table %s", got)
	}
	w.answer(sent, success("c"))
	w.serveAll()
	for _, want := range []string{"T DELETE_COMPLETE id=books", "T DELETE_COMPLETE id=films"} {
		if !strings.Contains(strings.Join(w.events()[at:], "\n"), want) {
			t.Errorf("no event %s in\n%s", want, w.history())
		}
	}
}

// TestRecordedSecretName checks that a declared name that is a secret does not become a physical ID.
func TestRecordedSecretName(t *testing.T) {
	w := newRecording(t)
	w.must(w.create(`{"Parameters": {"P": {"Type": "String", "NoEcho": true, "Default": "swordfish"}}, "Resources": {` +
		`"U": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": {"Ref": "P"}}}}}`))
	w.serveAll()
	if history := w.history(); strings.Contains(history, "swordfish") || !strings.Contains(history, "U CREATE_COMPLETE id=S-U-") {
		t.Errorf("%s", history)
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
